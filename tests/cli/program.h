/* The program as a user runs it: commands through the shell, their exit codes and what they print. */
#ifndef MW_TESTS_CLI_PROGRAM_H
#define MW_TESTS_CLI_PROGRAM_H

#include "scratch.h"

#include <sys/wait.h>

static char program_output[1 << 20];

/* Runs a line of the shell; keeps what it prints, errors too, and returns its exit code. */
static inline int program_shell(const char *line) {
    char command[4200];
    snprintf(command, sizeof command, "%.4096s 2>&1", line);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    program_output[fread(program_output, 1, sizeof program_output - 1, pipe)] = 0;
    const int status = pclose(pipe);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Runs "mawam ARGUMENTS" with "%" replaced by the test's folder and "@" by the source tree. */
static inline int program_run(const char *arguments) {
    char command[4096], *end = command;
    end += snprintf(end, 512, "MAWAM_DATA='%s' '%s' ", SOURCE_DIR, MAWAM_PROGRAM);
    for (const char *c = arguments; *c && end < command + 3500; c++) {
        if (*c == '%')
            end += sprintf(end, "%s", scratch_folder);
        else if (*c == '@')
            end += snprintf(end, 400, "%s", SOURCE_DIR);
        else
            *end++ = *c;
    }
    *end = 0;
    return program_shell(command);
}

static inline void program_expect(int code, const char *arguments, const char *text) {
    int seen = program_run(arguments);
    if (seen != code)
        fail_msg("mawam %s: exit code %d, expected %d: %s", arguments, seen, code, program_output);
    if (!strstr(program_output, text)) fail_msg("mawam %s: '%s' lacks '%s'", arguments, program_output, text);
}

#endif
