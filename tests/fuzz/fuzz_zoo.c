/* Results of a setting as `mawam zoo` reads them: the input is the file that belongs to the only bundle there
 * is. */
#include "small_bundle.h"

#include "cli/cli.h"

static void prepare(void) {
    mw_error error;
    const mw_bundle_info info = small_bundle_info(false);
    setenv("MAWAM_DATA", fuzz_path(""), 1);
    FUZZ_EXPECT(mw_dir_make(fuzz_path("bundles"), &error) == MW_OK);
    FUZZ_EXPECT(mw_dir_make(fuzz_path("results/settings"), &error) == MW_OK);
    save_small_bundle(fuzz_path("bundles/own.safetensors"), &info, (small_bundle_parts){.bare = true});
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char name[] = "zoo", show[] = "--json", *words[] = {name, show, NULL};
    static FILE *nowhere;
    if (!nowhere) {
        FUZZ_EXPECT((nowhere = fopen("/dev/null", "w")));
        prepare();
    }
    fuzz_put("results/settings/own.json", data, size);
    FILE *const shown = stdout, *const complaints = stderr;
    stdout = stderr = nowhere;
    const int code = mw_cli_zoo(2, words);
    stdout = shown;
    stderr = complaints;
    FUZZ_EXPECT(code == 0 || code == 1);
    fuzz_accepted += code == 0 && size > 0;
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    return fuzz_mutate_numbers(data, size, most, seed);
}
