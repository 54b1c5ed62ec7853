/* Methods of others against recorded numbers, and what each is by its definition: where a term of its loss
 * decides, the policy follows it. */
#include "check.h"
#include "mawam/verify.h"

typedef struct {
    char failed[4096];
} lines;

static void collect(void *context, const char *check, double error, double tolerance, bool ok) {
    lines *l = context;
    const size_t used = strlen(l->failed);
    if (!ok)
        snprintf(l->failed + used, sizeof l->failed - used, "\n  %s: error %.3g, tolerance %.3g", check,
                 error, tolerance);
}

static void recorded_numbers(void **state) {
    (void)state;
    lines seen = {""};
    mw_verify report = {.line = collect, .context = &seen};
    mw_error error = {0};
    CHECK_OK(mw_verify_baselines(TEST_DATA "/baselines", &report, &error), error);
    if (report.failed) fail_msg("%d of %d checks:%s", report.failed, report.checks, seen.failed);
    assert_true(report.checks >= 22); /* none of a file was skipped */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
