/* JSON: whatever parses is written and reads back as the same value. */
#include "fuzz.h"

#include "core/json.h"

static void write_again(const json_t *value) {
    mw_error error;
    json_t *again;
    if (mw_json_write(value, fuzz_path("x.json"), &error) != MW_OK) return;
    FUZZ_EXPECT(mw_json_read(&again, fuzz_path("x.json"), &error) == MW_OK);
    FUZZ_EXPECT(json_equal(value, again));
    json_decref(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    mw_error error;
    json_t *value;
    if (mw_json_parse(&value, (const char *)data, size, "input", &error) != MW_OK) return 0;
    if (fuzz_rarely(data, size)) write_again(value);
    fuzz_accepted++;
    json_decref(value);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    return fuzz_mutate_numbers(data, size, most, seed);
}
