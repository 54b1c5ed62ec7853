/* Safetensors: all tensors are inside the file, and what is read can be written and read again. */
#include "fuzz.h"

#include "core/tensor/safetensors.h"

static void write_again(const mw_safetensors *file) {
    mw_error error;
    mw_safetensors again;
    if (mw_safetensors_write(fuzz_path("x"), file->tensors, file->tensor_count, file->metadata,
                             file->metadata_count, &error) != MW_OK)
        return;
    FUZZ_EXPECT(mw_safetensors_open(&again, fuzz_path("x"), &error) == MW_OK);
    FUZZ_EXPECT(again.tensor_count == file->tensor_count);
    mw_safetensors_close(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    mw_error error;
    mw_safetensors file;
    if (mw_safetensors_read(&file, mw_map_over(data, size), "input", &error) != MW_OK) return 0;
    for (size_t i = 0; i < file.tensor_count; i++) {
        const mw_tensor *t = &file.tensors[i];
        float *values = malloc((t->count + 1) * sizeof *values);
        if (values) mw_dtype_to_floats(t->type, t->data, t->count, values);
        free(values);
        FUZZ_EXPECT(mw_safetensors_find(&file, t->name));
    }
    for (size_t i = 0; i < file.metadata_count; i++) {
        long value;
        mw_safetensors_meta_int(&file, file.metadata[i].key, -5, 1 << 20, &value, &error);
    }
    if (fuzz_rarely(data, size)) write_again(&file);
    fuzz_accepted++;
    mw_safetensors_close(&file);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    return fuzz_mutate_safetensors(data, size, most, seed);
}
