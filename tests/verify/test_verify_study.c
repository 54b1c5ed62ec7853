/* Recorded statistics of a small made-up study with its own families: all of them agree, a spoiled one is
 * noticed, and a file that is no such record is refused. */
#include "check.h"
#include "core/tensor/safetensors.h"
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
    "\"sign_tests\":[{\"positive\":10,\"negative\":0,\"zero\":1,\"p\":0.001953125},"
    "{\"positive\":0,\"negative\":30,\"zero\":0,\"p\":1.862645149230957e-09}],"
    "\"two_factor\":{\"headroom\":[1,0,null],\"median_headroom\":0.5,\"median_top2\":0.7,\"cells\":{"
    "\"reliability_low_headroom_low\":{\"count\":1,\"mean_gain\":-5},"
    "\"reliability_low_headroom_high\":{\"count\":0,\"mean_gain\":null},"
    "\"reliability_high_headroom_low\":{\"count\":0,\"mean_gain\":null},"
    "\"reliability_high_headroom_high\":{\"count\":1,\"mean_gain\":50}}},"
    "\"quality\":{\"order\":{\"x\":[\"high\",\"low\"],\"y\":[\"only\"]},\"tiers\":{"
    "\"best\":{\"count\":1,\"mean_gain\":-5},\"middle\":{\"count\":0,\"mean_gain\":null},"
    "\"worst\":{\"count\":1,\"mean_gain\":50}},\"worst_above_best\":1,\"tasks\":1,\"sign_p\":1.0},"
    "\"influence_match\":{\"true\":[[[0,1],[3,0]]],\"predicted\":[[[0,2],[2,0]]],\"result\":{"
    "\"effects\":2,\"true_mean\":2,\"predicted_mean\":2,\"pearson\":null,\"spearman\":null,"
    "\"normalized_error\":0.5,\"cosine_mean\":0.894427190999916}},"
    "\"selectors\":{\"table\":[{\"runs\":{\"rwm\":[1,3],\"other\":[2],\"third\":[4]},"
    "\"mean\":{\"rwm\":2,\"other\":2,\"third\":4},"
    "\"deviation\":{\"rwm\":1.4142135623730951,\"other\":null,\"third\":null},\"best\":\"third\","
    "\"strongest_alternative\":\"third\"}],\"rwm_best\":0,"
    "\"strongest_alternative\":{\"other\":0,\"third\":1}}}";

#define FIRST  "{\"M\":1,\"generate\":3,\"score\":1,\"total\":4,\"share\":25}"
#define SECOND "{\"M\":2,\"generate\":4,\"score\":1,\"total\":5,\"share\":20}"

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
    assert_int_equal(report.checks, 12);
    assert_int_equal(report.failed, 0);
}

static void spoiled_numbers_fail(void **state) {
    (void)state;
    static const char *const spoiled[][2] = {{"\"median_gain\":25.0", "\"median_gain\":25.1"},
                                             {"\"p\":0.001953125", "\"p\":0.00196"},
                                             {"\"best\":\"third\"", "\"best\":\"other\""},
                                             {"\"rwm_best\":0", "\"rwm_best\":1"},
                                             /* small probabilities, and what has no counterpart */
                                             {"\"negative\":30", "\"negative\":31"},
                                             {"[1,0,null]", "[1,0,null,0]"},
                                             {"\"y\":[\"only\"]", "\"y\":[\"only\",\"more\"]"},
                                             {"\"y\":[\"only\"]", "\"y\":[\"only\"],\"z\":[\"more\"]"},
                                             {"\"mean\":{", "\"mean\":{\"fourth\":3,"},
                                             {"\"deviation\":{", "\"deviation\":{\"mono\":3,"},
                                             {"{\"other\":0", "{\"fourth\":1,\"other\":0"}};
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

/* Of two agents' graphs mawam tells no correlation; what a record tells must be so. */
static void graphs_of_two(void **state) {
    (void)state;
    static const struct {
        const char *correlation, *difference, *effects;
        int failed;
    } cases[] = {{"-1", "1", "-1", 0},  {"null", "null", "null", 0}, {"1", "1", "-1", 1},
                 {"-1", "0", "-1", 1},  {"0.3", "1", "-1", 1},       {"-1", "1", "1", 1},
                 {"1", "0", "null", 1}, {"-1", "null", "-1", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[4096];
        mw_verify report;
        mw_error error = {0};
        snprintf(text, sizeof text,
                 "{" SETTINGS ",\"graphs\":[{\"agents\":2,\"routing_cosine\":[[1,0.5],[0.5,1]],"
                 "\"routing_flow\":[[0.5,0.5],[0.25,0.75]],\"influence\":[[1,0.5],[1,1]],\"compared\":{"
                 "\"cosine_symmetric\":{\"entries\":1,\"correlation\":null,\"difference_minmax\":null,"
                 "\"difference_max\":0},"
                 "\"flow_offdiagonal\":{\"entries\":2,\"correlation\":%s,\"difference_minmax\":%s,"
                 "\"difference_max\":0.5},"
                 "\"flow_all\":{\"entries\":4,\"correlation\":0,\"difference_minmax\":0.5,"
                 "\"difference_max\":0.2916666666666667}}}],"
                 "\"influence_match\":{\"true\":[[[0,1],[3,0]]],\"predicted\":[[[0,3],[2,0]]],\"result\":{"
                 "\"effects\":2,\"true_mean\":2,\"predicted_mean\":2.5,\"pearson\":%s,\"spearman\":%s,"
                 "\"normalized_error\":0.75,\"cosine_mean\":0.7893522173763263}}}",
                 cases[i].correlation, cases[i].difference, cases[i].effects, cases[i].effects);
        CHECK_OK(verify(text, &report, &error), error);
        assert_int_equal(report.checks, 2);
        if (report.failed != cases[i].failed) fail_msg("case %zu: %d checks fail", i, report.failed);
    }
}

/* The tables whose inputs lie in tensors: rows without times and another number of resamples are noticed. */
static void tables_with_tensors(void **state) {
    (void)state;
    static const struct {
        const char *text, *axes;
        int failed;
    } cases[] = {{"\"resamples\":2},\"cost\":[" FIRST "," SECOND "]", "setting, M in 1 2, step", 0},
                 {"\"resamples\":2},\"cost\":[" FIRST "," SECOND "]", "as usual", 0},
                 {"\"resamples\":2},\"cost\":[" FIRST "," SECOND "]", "setting, M in 1 4, step", 1},
                 {"\"resamples\":3},\"cost\":[" FIRST "," SECOND "]", "as usual", 1},
                 {"\"resamples\":2},\"cost\":[" FIRST "," SECOND "," SECOND "]", "as usual", 1}};
    const int32_t index[2][2] = {{0, 0}, {1, 1}};
    const float times[2][2] = {{3, 1}, {4, 1}}; /* of one setting, repeat and step */
    const mw_tensor resamples = {"in.index", MW_I32, 2, {2, 2}, 4, index},
                    cost = {"in.times", MW_F32, 5, {1, 2, 1, 1, 2}, 4, times};
    mw_error error = {0};
    CHECK_OK(mw_safetensors_write(scratch("bootstrap.safetensors"), &resamples, 1, NULL, 0, &error), error);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[4096];
        mw_verify report;
        const mw_meta axes = {"axes", cases[i].axes};
        CHECK_OK(mw_safetensors_write(scratch("cost.safetensors"), &cost, 1, &axes, 1, &error), error);
        snprintf(text, sizeof text,
                 "{" SETTINGS ",\"bootstrap\":{\"values\":[1,3],\"mean\":2,\"low\":1.05,"
                 "\"high\":2.95,%s}",
                 cases[i].text);
        CHECK_OK(verify(text, &report, &error), error);
        assert_int_equal(report.checks, 4);
        assert_int_equal(report.failed, cases[i].failed);
    }
    remove(scratch("bootstrap.safetensors"));
    remove(scratch("cost.safetensors"));
}

static void other_files_are_refused(void **state) {
    (void)state;
    mw_verify report;
    mw_error error = {0};
    CHECK_FAILS(verify("{\"settings\": 3}", &report, &error), MW_ERR_FORMAT, error, "'settings' must be");
    CHECK_FAILS(verify("{\"settings\": [{}]}", &report, &error), MW_ERR_FORMAT, error, "family");
    CHECK_FAILS(verify("{" SETTINGS ",\"influence_match\":{\"true\":[[[0,1],[3,0]]],\"predicted\":[]}}",
                       &report, &error),
                MW_ERR_FORMAT, error, "1 true and 0 predicted anchors");
    assert_int_equal(mkdir(scratch("nowhere"), 0777), 0);
    CHECK_FAILS(mw_verify_diagnostics(scratch("nowhere"), &report, &error), MW_ERR_FORMAT, error,
                "no recorded diagnostics");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_numbers),       cmocka_unit_test(spoiled_numbers_fail),
        cmocka_unit_test(selectors_in_any_order), cmocka_unit_test(graphs_of_two),
        cmocka_unit_test(tables_with_tensors),    cmocka_unit_test(other_files_are_refused),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
