/* Every command that prints a table: for people it fits 100 columns, as comma-separated values every line has
 * the fields of the first, and as JSON it parses. The same commands for all, so that none is forgotten; and
 * every help text fits as well. */
#include "program.h"

#include <jansson.h>

#define TINY                                                                                                 \
    "--budget quick --threads 1 --quiet --set flow.dim=16 --set flow.mults=1,1,1 --set flow.steps=3 --set "  \
    "flow.batch=6 --set inverse.steps=3 --set inverse.hidden=16 --set rwm.hidden=16 --set rwm.steps=3 "      \
    "--set rwm.batch=32"
#define FEW "--seeds 1 --episodes 1 --arms reactive,plan --timed 1 --threads 1 --M 2 --K 1 --quiet"

/* What is printed, and a column that its comma-separated values have. */
static const struct {
    const char *command, *column;
    bool long_work; /* seen once, with --csv */
} tables[] = {
    {"env list", "episode_limit", false},
    {"env describe 3m", "unit", false},
    {"env describe spread", "unit", false},
    {"env play 3m --episodes 4", "win_rate", false},
    {"behavior list 3m --episodes 2 --threads 1", "std", false},
    {"behavior eval %/spread.safetensors --episodes 2 --threads 1", "file", false},
    {"data info %/spread-random", "step_change", false},
    {"data make spread-medium -o % --transitions 50 --threads 1 --overwrite --quiet", "episodes", false},
    {"bundle info spread-medium", "parameters", false},
    {"bundle info 2ant-medium", "parameters", false},
    {"bundle info %/packed.safetensors", "parameters", false},
    {"eval %/tiny.safetensors " FEW, "gain_low", false},
    {"eval %/packed.safetensors " FEW, "gain_low", false},
    {"zoo", "gain_low", false},
    {"eval 3m-medium " FEW, "won_std", false},
    {"eval %/tiny.safetensors --sweep H=1,2 " FEW, "return_low", false},
    {"diagnose %/tiny.safetensors %/spread-random --anchors 2 --snippets 16 --M 2 --K 1 --threads 1",
     "rollout_mse", false},
    {"diagnose --routing %/tiny.safetensors %/spread-random --transitions 64 --consecutive 64 --anchors 2 "
     "--threads 1",
     "untrained", false},
    {"bench --seconds 0.01 --M 2 --threads 1", "share_of_peak", false},
    {"bench --cost %/tiny.safetensors --threads 1 --quiet", "generate", true},
    {"verify env @/tests/data/mpe", "tolerance", false},
    {"verify @/tests/data/net", "tolerance", false},
};

enum { TABLES = sizeof tables / sizeof *tables, WIDEST = 100 };

static int make_data(void **state) {
    if (scratch_setup(state) != 0) return -1;
    program_expect(0, "data make spread-random -o % --transitions 500 --threads 1", "spread-random");
    program_expect(0, "train %/spread-random -o %/tiny.safetensors " TINY, "written after");
    program_expect(0, "bundle pack %/tiny.safetensors -o %/packed.safetensors", "MB, packed from 0");
    char command[512]; /* a short name, for a table that shows it */
    snprintf(command, sizeof command, "cp '%s/behaviors/spread-medium.safetensors' '%s/spread.safetensors'",
             SOURCE_DIR, scratch_folder);
    return system(command);
}

/* Columns of UTF-8 text; continuation bytes take none. */
static int columns_of(const char *line, size_t length) {
    int columns = 0;
    for (size_t i = 0; i < length; i++) columns += ((unsigned char)line[i] & 0xc0) != 0x80;
    return columns;
}

static void expect_narrow(const char *command) {
    for (const char *line = program_output; *line;) {
        const size_t length = strcspn(line, "\n");
        if (columns_of(line, length) > WIDEST)
            fail_msg("mawam %s: more than %d columns: %.*s", command, WIDEST, (int)length, line);
        line += length + (line[length] == '\n');
    }
}

static int fields_of(const char *line, size_t length) {
    int fields = 1;
    bool quoted = false;
    for (size_t i = 0; i < length; i++) {
        quoted ^= line[i] == '"';
        fields += !quoted && line[i] == ',';
    }
    return fields;
}

static void expect_csv(const char *command, const char *column) {
    const size_t head = strcspn(program_output, "\n");
    const int fields = fields_of(program_output, head);
    int rows = 0;
    const char *found = strstr(program_output, column);
    if (!found || found > program_output + head)
        fail_msg("mawam %s --csv: no column %s in: %.*s", command, column, (int)head, program_output);
    for (const char *line = program_output + head + 1; *line; rows++) {
        const size_t length = strcspn(line, "\n");
        if (fields_of(line, length) != fields)
            fail_msg("mawam %s --csv: not %d fields: %.*s", command, fields, (int)length, line);
        line += length + (line[length] == '\n');
    }
    if (rows < 1) fail_msg("mawam %s --csv: no rows", command);
}

static void every_table(void **state) {
    (void)state;
    for (int i = 0; i < TABLES; i++) {
        char command[512];
        json_error_t error;
        snprintf(command, sizeof command, "%s --csv --json", tables[i].command);
        program_expect(2, command, "only one of --csv");
        snprintf(command, sizeof command, "%s --csv", tables[i].command);
        program_expect(0, command, tables[i].column);
        expect_csv(tables[i].command, tables[i].column);
        if (tables[i].long_work) continue;
        program_expect(0, tables[i].command, "");
        expect_narrow(tables[i].command);
        snprintf(command, sizeof command, "%s --json", tables[i].command);
        program_expect(0, command, "");
        json_t *value = json_loads(program_output, 0, &error);
        if (!value) fail_msg("mawam %s: line %d: %s", command, error.line, error.text);
        json_decref(value);
    }
}

static void episodes_and_intervals_are_named(void **state) {
    (void)state;
    program_expect(0, "eval %/tiny.safetensors " FEW, "1 seed from 1000 x 1 episode = 1 of each arm");
    program_expect(0, "eval %/tiny.safetensors " FEW, "interval over episodes");
    program_expect(0, "eval %/tiny.safetensors --sweep H=1,2 " FEW,
                   "seeds x episodes for every value: 1 x 1");
    assert_non_null(strstr(program_output, "front of return against time:\n  horizon="));
    program_expect(0, "eval %/tiny.safetensors --sweep H=1,2 " FEW " --timed 0", "");
    assert_null(strstr(program_output, "front"));
    program_expect(0, "demo %/tiny.safetensors --episodes 1 --threads 1 --M 2 -o %/demo",
                   "1 episode cannot tell planning from the policy alone, ");
    assert_null(strstr(program_output, "95% interval"));
    assert_non_null(strstr(program_output, "; an interval takes 8."));
    assert_null(strstr(program_output, "nan"));
    assert_non_null(strstr(program_output, "planning among candidates as drawn"));
    program_expect(0,
                   "demo %/tiny.safetensors --episodes 1 --threads 1 --M 2 -o %/demo --action_offset 0 "
                   "--temperature 0 --warm_start off",
                   "if the simulator itself judged");
    assert_null(strstr(program_output, "planning among candidates as drawn")); /* which planning does then */
    program_expect(0, "demo %/tiny.safetensors %/packed.safetensors --episodes 1 --threads 1 --M 2 -o %/demo",
                   "-2: 1 episode cannot tell"); /* of one setting, with pictures of their own */
    program_expect(0, "env play spread --episodes 3", "3 episodes, seed 0; +-: standard error");
    program_expect(0, "behavior list spread --episodes 2 --threads 1",
                   "2 episodes of each; std: over episodes");
}

/* Every number of a feature has come through: an empty field, or an end of the line after a comma, is one
 * that has not. */
static void features_are_whole(void **state) {
    (void)state;
    program_expect(0, "data info %/spread-random --csv", "\nfeature,17,");
    for (const char *line = program_output; (line = strstr(line, "\nfeature,")); line++) {
        const size_t length = strcspn(line + 1, "\n");
        const char *empty = strstr(line, ",,");
        if ((empty && empty < line + length) || line[length] == ',') fail_msg("%.*s", (int)length, line + 1);
    }
}

/* A score of -0.045 with one digit. */
static void zeros_have_no_sign(void **state) {
    (void)state;
    program_expect(0, "data make tag-random -o % --transitions 100 --seed 134 --threads 1", " 0.0 ");
    assert_null(strstr(program_output, "-0.0 "));
}

/* All commands, as the help itself lists them. */
static void help_fits(void **state) {
    (void)state;
    char words[64][32], command[128], inner[64][32];
    int count = 0, checked = 0;
    program_expect(0, "--help", "commands:");
    expect_narrow("--help");
    for (const char *at = strstr(program_output, "commands:\n"); at && (at = strstr(at, "\n  ")); at++)
        if (sscanf(at, " %31[a-z]", words[count]) == 1) count++;
    assert_true(count >= 11);
    for (int i = 0; i < count; i++, checked++) {
        int inside = 0;
        snprintf(command, sizeof command, "%.31s --help", words[i]);
        program_expect(0, command, "usage: ");
        expect_narrow(command);
        for (const char *at = strstr(program_output, "\ncommands:\n"); at && (at = strstr(at, "\n  ")); at++)
            if (sscanf(at, " %31[a-z]", inner[inside]) == 1) inside++;
        for (int j = 0; j < inside; j++, checked++) {
            snprintf(command, sizeof command, "%.31s %.31s --help", words[i], inner[j]);
            program_expect(0, command, "usage: ");
            expect_narrow(command);
        }
    }
    assert_true(checked > 25);
    program_expect(0, "diagnose --routing --help", "usage: ");
    expect_narrow("diagnose --routing --help");
}

/* The names of columns come with the first row. */
static void nothing_of_what_failed(void **state) {
    (void)state;
    static const char *const commands[][2] = {
        {"data make 3m-medium -o % --behaviors %/none", "episodes"},
        {"data make 3m-medium -o % --behaviors %/none --csv", "episodes"},
        {"behavior eval %/none", "length"},
        {"verify env %/none", "tolerance"},
        {"demo spread-medium -o %/demo --horizon 100 --quiet", "who plays"}};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        program_expect(1, commands[i][0], "mawam: ");
        if (strstr(program_output, commands[i][1])) fail_msg("%s: %s", commands[i][0], program_output);
    }
    program_expect(0, "zoo", "high *\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_table),        cmocka_unit_test(episodes_and_intervals_are_named),
        cmocka_unit_test(features_are_whole), cmocka_unit_test(zeros_have_no_sign),
        cmocka_unit_test(help_fits),          cmocka_unit_test(nothing_of_what_failed),
    };
    return cmocka_run_group_tests(tests, make_data, scratch_teardown);
}
