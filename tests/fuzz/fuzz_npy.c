/* NumPy arrays: every element that a header claims is there. */
#include "fuzz.h"

#include "core/tensor/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    mw_error error;
    mw_npy npy;
    if (mw_npy_read(&npy, mw_map_over(data, size), "input", &error) != MW_OK) return 0;
    FUZZ_EXPECT(npy.count * mw_dtype_size(npy.type) <= size);
    double *values = malloc((npy.count + 1) * sizeof *values);
    if (values) mw_dtype_to_doubles(npy.type, npy.data, npy.count, values);
    free(values);
    mw_npy_close(&npy);
    fuzz_accepted++;
    if (!fuzz_rarely(data, size)) return 0;
    FUZZ_EXPECT(mw_npy_open(&npy, fuzz_file(data, size), &error) == MW_OK);
    mw_npy_close(&npy);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    return fuzz_mutate_npy(data, size, most, seed);
}
