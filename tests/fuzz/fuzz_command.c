/* The command line: words between zero bytes, the first of which choose the subcommand. Two `--help` follow,
 * of which an option can swallow only one: every subcommand reads all the words with its own table of
 * options, and then explains itself instead of setting to work. */
#include "fuzz.h"

#include "cli/cli.h"

static const mw_command commands[] = {
    {"behavior", "", mw_cli_behavior}, {"bench", "", mw_cli_bench}, {"bundle", "", mw_cli_bundle},
    {"data", "", mw_cli_data},         {"demo", "", mw_cli_demo},   {"diagnose", "", mw_cli_diagnose},
    {"env", "", mw_cli_env},           {"eval", "", mw_cli_eval},   {"live", "", mw_cli_live},
    {"study", "", mw_cli_study},       {"train", "", mw_cli_train}, {"verify", "", mw_cli_verify},
    {"zoo", "", mw_cli_zoo},           {NULL, NULL, NULL},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { WORDS = 100 };
    static char program[] = "mawam", help[] = "--help";
    static FILE *nowhere;
    char text[2048], *words[WORDS + 4] = {program};
    int count = 1;
    if (!nowhere) FUZZ_EXPECT((nowhere = fopen("/dev/null", "w")));
    if (size >= sizeof text) return 0;
    memcpy(text, data, size);
    text[size] = 0;
    for (char *word = text; word < text + size && count < WORDS; word += strlen(word) + 1)
        words[count++] = word;
    words[count++] = help;
    words[count++] = help;
    FILE *const shown = stdout, *const complaints = stderr;
    stdout = stderr = nowhere;
    const int code = mw_cli_dispatch(commands, "", count, words);
    stdout = shown;
    stderr = complaints;
    FUZZ_EXPECT(code == 0 || code == 2);
    fuzz_accepted += code == 0;
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    return fuzz_mutate_numbers(data, size, most, seed);
}
