/* Recorded statistics of a small made-up study with its own families: all of them agree, a spoiled one is
 * noticed, and a file that is no such record is refused. */
#include "check.h"
#include "scratch.h"

#include <sys/stat.h>

#define SETTINGS                                                                                             \
    "\"settings\": ["                                                                                        \
    "{\"family\":\"a\",\"task\":\"x\",\"quality\":\"low\",\"reactive\":10,\"planning\":15,\"random\":10,"    \
    "\"top2\":0.9,\"data_return\":1},"                                                                       \
    "{\"family\":\"a\",\"task\":\"x\",\"quality\":\"high\",\"reactive\":20,\"planning\":19,\"random\":18,"   \
    "\"top2\":0.5,\"data_return\":2},"                                                                       \
    "{\"family\":\"b\",\"task\":\"y\",\"quality\":\"only\",\"reactive\":-4,\"planning\":-3,\"random\":-3,"   \
    "\"top2\":null,\"data_return\":2}]"

static const char good[] =
    "{" SETTINGS ",\"versus_reactive\":{\"all\":{\"settings\":3,\"positive\":2,\"zero\":0,\"negative\":1,"
    "\"mean_delta\":1.6666666666666667,\"aggregate\":14.705882352941177,\"mean_gain\":23.333333333333333,"
    "\"median_gain\":25.0,\"sign_p\":1.0}},"
    "\"sign_tests\":[{\"positive\":10,\"negative\":0,\"zero\":1,\"p\":0.001953125}],"
    "\"selectors\":{\"table\":[{\"runs\":{\"rwm\":[1,3],\"other\":[2],\"third\":[4]},"
    "\"mean\":{\"rwm\":2,\"other\":2,\"third\":4},"
    "\"deviation\":{\"rwm\":1.4142135623730951,\"other\":null,\"third\":null},\"best\":\"third\","
    "\"strongest_alternative\":\"third\"}],\"rwm_best\":0,"
    "\"strongest_alternative\":{\"other\":0,\"third\":1}}}";

static mw_status verify(const char *text, mw_verify *report, mw_error *error) {
    *report = (mw_verify){0};
    scratch_write(scratch("study.json"), text, strlen(text));
    return mw_verify_diagnostics(scratch_folder, report, error);
}

static void recorded_numbers(void **state) {
    (void)state;
    mw_verify report;
    mw_error error = {0};
    CHECK_OK(verify(good, &report, &error), error);
    assert_int_equal(report.checks, 5);
    assert_int_equal(report.failed, 0);
}

static void spoiled_numbers_fail(void **state) {
    (void)state;
    static const char *const spoiled[][2] = {{"\"median_gain\":25.0", "\"median_gain\":25.1"},
                                             {"\"p\":0.001953125", "\"p\":0.00196"},
                                             {"\"best\":\"third\"", "\"best\":\"other\""},
                                             {"\"rwm_best\":0", "\"rwm_best\":1"}};
    for (size_t i = 0; i < sizeof spoiled / sizeof *spoiled; i++) {
        char text[4096];
        mw_verify report;
        mw_error error = {0};
        const char *at = strstr(good, spoiled[i][0]);
        assert_non_null(at);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, spoiled[i][1],
                 at + strlen(spoiled[i][0]));
        CHECK_OK(verify(text, &report, &error), error);
        assert_int_equal(report.failed, 1);
    }
}

/* Rows may name selectors in any order and leave some out; ties go by the paper's order. */
static void selectors_in_any_order(void **state) {
    (void)state;
    mw_verify report;
    mw_error error = {0};
    CHECK_OK(verify("{" SETTINGS ",\"selectors\":{\"table\":["
                    "{\"runs\":{\"direct\":[5],\"mono\":[5],\"rwm\":[1]},"
                    "\"mean\":{\"rwm\":1,\"mono\":5,\"direct\":5},\"deviation\":{},\"best\":\"mono\","
                    "\"strongest_alternative\":\"mono\"},"
                    "{\"runs\":{\"q\":[2],\"direct\":[1]},\"mean\":{\"q\":2,\"direct\":1},\"deviation\":{},"
                    "\"best\":\"q\",\"strongest_alternative\":\"q\"}],\"rwm_best\":0,"
                    "\"strongest_alternative\":{\"mono\":1,\"q\":1}}}",
                    &report, &error),
             error);
    assert_int_equal(report.checks, 3);
    assert_int_equal(report.failed, 0);
}

static void other_files_are_refused(void **state) {
    (void)state;
    mw_verify report;
    mw_error error = {0};
    CHECK_FAILS(verify("{\"settings\": 3}", &report, &error), MW_ERR_FORMAT, error, "'settings' must be");
    CHECK_FAILS(verify("{\"settings\": [{}]}", &report, &error), MW_ERR_FORMAT, error, "family");
    assert_int_equal(mkdir(scratch("nowhere"), 0777), 0);
    CHECK_FAILS(mw_verify_diagnostics(scratch("nowhere"), &report, &error), MW_ERR_FORMAT, error,
                "no recorded diagnostics");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_numbers),
        cmocka_unit_test(spoiled_numbers_fail),
        cmocka_unit_test(selectors_in_any_order),
        cmocka_unit_test(other_files_are_refused),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown_tree);
}
