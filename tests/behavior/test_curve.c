/* Learning curves from files that are not what a learner wrote. */
#include "scratch.h"

#include "behavior/learn/curve.h"

static void refuse(const char *lines, const char *text) {
    mw_error error;
    scratch_write(scratch("curve.jsonl"), lines, strlen(lines));
    CHECK_FAILS(mw_curve_draw(scratch("curve.jsonl"), scratch("curve.svg"), "t", &error), MW_ERR_FORMAT,
                error, text);
    double seconds;
    CHECK_FAILS(mw_curve_rewind(scratch("curve.jsonl"), 10, &seconds, &error), MW_ERR_FORMAT, error, text);
}

static void draw(const char *lines) {
    mw_error error;
    scratch_write(scratch("curve.jsonl"), lines, strlen(lines));
    CHECK_OK(mw_curve_draw(scratch("curve.jsonl"), scratch("curve.svg"), "t", &error), error);
}

static void hostile_lines(void **state) {
    (void)state;
    refuse("{\"iteration\": 1, \"steps\": -1e308, \"return\": 1}\n", "line 1: 'steps' must be a number");
    refuse("{\"steps\": 1, \"return\": 1}\n{\"steps\": 1e300, \"return\": 1}\n", "line 2: 'steps'");
    refuse("{\"steps\": \"7\", \"return\": 1}\n", "'steps'");
    refuse("{\"steps\": 7, \"return\": 1e200}\n", "'return'");
    refuse("{\"steps\": 7, \"seconds\": -1}\n", "'seconds'");
    refuse("{\"steps\": 7,\n", "line 1");
    draw("{\"steps\": 0, \"return\": 1}\n{\"steps\": 0, \"return\": 2}\n");
    draw("{\"steps\": 1, \"return\": 1e17}\n{\"steps\": 900, \"return\": 1.0000000000000002e17}\n");
    draw("{\"steps\": 1, \"return\": -1e100}\n{\"steps\": 1e15, \"return\": 1e100}\n");
    draw("");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(hostile_lines)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
