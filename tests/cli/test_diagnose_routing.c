/* mawam diagnose --routing: tables of at most 100 columns, JSON, and a page that needs nothing else. */
#include "core/json.h"
#include "dataset/fixture.h"
#include "program.h"
#include "random_bundle.h"

static int run(const char *arguments) {
    char line[1024];
    snprintf(line, sizeof line, "'%s' diagnose %s", MAWAM_PROGRAM, arguments);
    return program_shell(line);
}

static int count_of(const char *text, const char *what) {
    int count = 0;
    for (const char *at = text; (at = strstr(at, what)); at++) count++;
    return count;
}

static void narrow_tables(void) {
    for (const char *line = program_output; *line;) {
        const size_t length = strcspn(line, "\n");
        if (length > 100) fail_msg("a line of %zu columns: %.*s", length, (int)length, line);
        line += length + (line[length] == '\n');
    }
}

static void command_line(void **state) {
    (void)state;
    mw_error error;
    char line[512];
    mw_bundle *bundle = random_bundle((mw_bundle_info){.task = "maze",
                                                       .rules = "maze-1",
                                                       .quality = "<b>",
                                                       .agents = FIXTURE_AGENTS,
                                                       .obs = FIXTURE_OBS,
                                                       .act = FIXTURE_ACT,
                                                       .discrete = true,
                                                       .episode_limit = FIXTURE_LIMIT},
                                      4);
    CHECK_OK(mw_bundle_save(bundle, scratch("bundle"), false, &error), error);
    mw_bundle_free(bundle);
    fixture_make(scratch("maze"), true, true, 60);
    assert_int_equal(run("--routing --help"), 0);
    narrow_tables();
    assert_int_equal(run("--routing"), 2);
    assert_int_equal(run("--routing x"), 2);
    assert_int_equal(run("--routing x y --data z"), 2);
    assert_int_equal(run("--routing /nonexistent y"), 1);
    snprintf(line, sizeof line, "--routing %s --data %s --anchors 0 --page %s --json=%s", scratch("bundle"),
             scratch("maze"), scratch("page.html"), scratch("result.json"));
    if (run(line)) fail_msg("%s", program_output);
    narrow_tables();
    assert_non_null(strstr(program_output, "leave one expert out"));
    assert_non_null(strstr(program_output, "shared"));
    json_t *value;
    CHECK_OK(mw_json_read(&value, scratch("result.json"), &error), error);
    const json_t *trained = json_object_get(json_object_get(value, "routing"), "trained");
    assert_int_equal(json_array_size(json_object_get(trained, "increase")), 4); /* three and the shared one */
    assert_non_null(json_object_get(value, "provenance"));
    json_decref(value);
    program_output[scratch_read(scratch("page.html"), program_output, sizeof program_output - 1)] = 0;
    assert_int_equal(count_of(program_output, "<svg "), count_of(program_output, "</svg>"));
    assert_int_equal(count_of(program_output, "<svg "), 9);
    assert_int_equal(count_of(program_output, "data:text/csv"), 10); /* every figure and the table */
    assert_int_equal(count_of(program_output, "<b>"), 0);            /* words from files are escaped */
    assert_int_equal(count_of(program_output, "http"), 0);
    assert_int_equal(count_of(program_output, ": nan"), 0);
    scratch_remove(scratch("maze"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(command_line)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
