/* The cost of planning: means as the paper takes them, a run on tiny bundles, and both tables held against
 * recorded ones. */
#include "core/json.h"
#include "core/tensor/safetensors.h"
#include "mawam/bench.h"
#include "mawam/verify.h"
#include "scratch.h"
#include "study/cost.h"
#include "train/tiny.h"

#include <unistd.h>

static void means(void **state) {
    (void)state;
    static const double times[2][1][2][2][2] = {{{{{1, 2}, {3, 2}}, {{5, 4}, {7, 4}}}},
                                                {{{{9, 0}, {9, 0}}, {{1, 2}, {1, 2}}}}};
    const mw_cost_point p = mw_cost_mean(&times[0][0][0][0][0], 2, 1, 2, 2, 0);
    CHECK_NEAR(p.generate, 4.5, 1e-12); /* of 4 and 5 */
    CHECK_NEAR(p.score, 2, 1e-12);      /* of 3 and 1 */
    CHECK_NEAR(p.total, 6.5, 1e-12);
    CHECK_NEAR(p.share, 100 * 2 / 6.5, 1e-12);
}

static void runs(void **state) {
    (void)state;
    mw_error error;
    char *text;
    mw_cost_options o;
    mw_bundle *bundles[2] = {tiny_bundle("spread", NULL), tiny_bundle("3m", NULL)};
    mw_cost_options_init(&o, sizeof o);
    assert_int_equal(o.envs * 1000 + o.repeats * 100 + o.warm_up + o.timed, 4340);
    o.repeats = o.warm_up = 1;
    o.timed = 2;
    o.threads = 1;
    CHECK_OK(mw_cost_run(&text, (const mw_bundle *const *)bundles, 2, &o, &error), error);
    json_t *root = json_loads(text, 0, NULL), *cost = json_object_get(root, "cost");
    assert_int_equal(json_array_size(json_object_get(cost, "settings")), 2);
    assert_int_equal(json_array_size(json_object_get(cost, "mean")), 5);
    for (size_t i = 0; i < 2; i++) {
        const json_t *setting = json_array_get(json_object_get(cost, "settings"), i);
        assert_true(json_is_true(json_object_get(json_object_get(setting, "batching"), "equal")));
        assert_int_equal(json_array_size(json_object_get(setting, "points")), 5);
        assert_true(json_number_value(json_object_get(json_object_get(setting, "one_thread"), "score")) > 0);
    }
    json_decref(root);
    free(text);
    o.envs = 0;
    CHECK_FAILS(mw_cost_run(&text, (const mw_bundle *const *)bundles, 2, &o, &error), MW_ERR_ARGUMENT, error,
                "256 environments");
    for (int i = 0; i < 2; i++) mw_bundle_free(bundles[i]);
}

/* Two states of which the second is constant; one setting, one M, one repeat of one step. */
static void recorded_tables(void **state) {
    (void)state;
    static const float real[] = {1, 2, 3, 5, 5, 5}, guess[] = {1, 3, 2, 3, 2, 1}, times[] = {3, 1};
    const mw_tensor ranking[] = {
        {.name = "in.realized", .type = MW_F32, .dims = 2, .shape = {2, 3}, .count = 6, .data = real},
        {.name = "in.predicted", .type = MW_F32, .dims = 2, .shape = {2, 3}, .count = 6, .data = guess}};
    const mw_tensor cost[] = {
        {.name = "in.times", .type = MW_F32, .dims = 5, .shape = {1, 1, 1, 1, 2}, .count = 2, .data = times}};
    static const char study[] =
        "{\"settings\":[{\"family\":\"a\",\"task\":\"x\",\"quality\":\"q\",\"reactive\":1,\"planning\":1,"
        "\"random\":1,\"top2\":1,\"data_return\":1}],"
        "\"same_state\":{\"top1\":0.5,\"top2\":1,\"spearman_mean\":0.5,\"pair_accuracy_mean\":"
        "0.6666666666666666,\"pair_accuracy_pooled\":0.6666666666666666,\"regret\":0.5,\"normalized_regret\":"
        "0.25,\"random_normalized_regret\":0.25},"
        "\"cost\":[{\"M\":1,\"generate\":3,\"score\":1,\"total\":4,\"share\":%s}]}";
    mw_error error = {0};
    for (int spoiled = 0; spoiled < 2; spoiled++) {
        char text[2048];
        mw_verify report = {0};
        snprintf(text, sizeof text, study, spoiled ? "26" : "25");
        scratch_write(scratch("study.json"), text, strlen(text));
        CHECK_OK(mw_safetensors_write(scratch("same_state.safetensors"), ranking, 2, NULL, 0, &error), error);
        CHECK_OK(mw_safetensors_write(scratch("cost.safetensors"), cost, 1, NULL, 0, &error), error);
        CHECK_OK(mw_verify_diagnostics(scratch_folder, &report, &error), error);
        assert_true(report.checks >= 9);
        assert_int_equal(report.failed, spoiled);
    }
    CHECK_OK(mw_safetensors_write(scratch("cost.safetensors"), ranking, 2, NULL, 0, &error), error);
    mw_verify report = {0};
    CHECK_FAILS(mw_verify_diagnostics(scratch_folder, &report, &error), MW_ERR_FORMAT, error, "in.times");
    unlink(scratch("study.json"));
    unlink(scratch("same_state.safetensors"));
    unlink(scratch("cost.safetensors"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(means), cmocka_unit_test(runs),
                                       cmocka_unit_test(recorded_tables)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
