/* OMAR folders of up to two agents. */
#include "fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const kinds[] = {"obs", "acs", "rews", "dones", "next_obs"};
    const fuzz_files f = fuzz_unpack(data, size);
    for (int i = 0; i < 10; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s_%d.npy", kinds[i / 2], i % 2);
        fuzz_put(name, i < f.count ? f.data[i] : NULL, i < f.count ? f.size[i] : 0);
    }
    fuzz_import(mw_import_omar, fuzz_path(""));
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    return fuzz_mutate_files(data, size, most, seed, fuzz_mutate_npy);
}
