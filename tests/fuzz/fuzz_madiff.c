/* MADiff folders. */
#include "fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"obs.npy",    "actions.npy",   "rewards.npy",  "path_lengths.npy",
                                        "legals.npy", "discounts.npy", "last_obs.npy", "outcomes.npy"};
    const fuzz_files f = fuzz_unpack(data, size);
    for (int i = 0; i < 8; i++)
        fuzz_put(names[i], i < f.count ? f.data[i] : NULL, i < f.count ? f.size[i] : 0);
    fuzz_import(mw_import_madiff, fuzz_path(""));
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    return fuzz_mutate_files(data, size, most, seed, fuzz_mutate_npy);
}
