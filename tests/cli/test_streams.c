/* The program and its standard streams: what cannot be printed is an error, and streams that are closed at
 * the start are never mistaken for files. */
#include "dataset/fixture.h"

#include <sys/wait.h>

/* Runs "mawam ..." in the test's folder through the shell and returns its exit code. */
static int run(const char *arguments) {
    char command[1024];
    snprintf(command, sizeof command, "cd '%s' && '%s' %s", scratch_folder, MAWAM_PROGRAM, arguments);
    int status = system(command);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void expect(int code, const char *arguments) {
    int seen = run(arguments);
    if (seen != code) fail_msg("mawam %s: exit code %d, expected %d", arguments, seen, code);
}

static void full_output(void **state) {
    (void)state;
    static const char *const commands[] = {"--version",       "--help",
                                           "env list",        "env list --json",
                                           "env --help",      "env describe 8m --json",
                                           "data info a",     "data info a --json",
                                           "data check a",    "data info --help",
                                           "behavior --help", "train --list-settings"};
    fixture_make(scratch("a"), true, true, 5);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char line[256];
        snprintf(line, sizeof line, "%s >out 2>err", commands[i]);
        expect(0, line);
        snprintf(line, sizeof line, "%s >/dev/full 2>err", commands[i]);
        expect(1, line);
        char text[256] = "";
        scratch_read(scratch("err"), text, sizeof text - 1);
        const char *end = strchr(text, '\n');
        if (strncmp(text, "mawam: cannot ", 14) != 0 || !strstr(text, ": No space left on device\n") ||
            end[1])
            fail_msg("%s: '%s' does not say why in one line", line, text);
        snprintf(line, sizeof line, "%s >&- 2>/dev/null", commands[i]);
        expect(1, line);
    }
}

/* Files opened under closed streams' numbers would receive what is printed. */
static void closed_streams(void **state) {
    (void)state;
    static const char *const closed[] = {"<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"};
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++) {
        char line[256];
        bool silent = strstr(closed[i], ">&-") && strcmp(closed[i], "2>&-");
        snprintf(line, sizeof line,
                 "data import --from madiff '%s/import/madiff/battle' -o d%zu --task toy %s %s", TEST_DATA, i,
                 closed[i], silent || i == 2 ? "" : ">/dev/null");
        expect(silent ? 1 : 0, line);
        snprintf(line, sizeof line, "data check d%zu >/dev/null", i);
        expect(0, line);
        snprintf(line, sizeof line, "data check nothing %s", closed[i]);
        expect(1, line);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(full_output), cmocka_unit_test(closed_streams)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
