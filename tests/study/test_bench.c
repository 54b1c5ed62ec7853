/* The measurements of speed: they are of the networks that training makes or of the paper's, and of no more
 * than what was asked for, on any number of threads. */
#include "check.h"
#include "study/bench.h"
#include "train/preset.h"

static mw_bench_options few(const char *task, unsigned items) {
    return (mw_bench_options){.shape = mw_task_shape_find(task),
                              .envs = 1,
                              .candidates = 2,
                              .steps = 1,
                              .threads = 1,
                              .items = items,
                              .seconds = 0.01};
}

static void trained_networks(void **state) {
    (void)state;
    mw_error error = {0};
    mw_bench_report report;
    mw_bench_options options = few("2ant", (1u << MW_BENCH_ITEMS) - 1);
    options.threads = 17;
    CHECK_OK(mw_bench_run(&options, &report, &error), error);
    const mw_training_preset preset = mw_training_preset_of("2ant", MW_BUDGET_FULL);
    const mw_world_config world = mw_training_preset_world(&preset);
    assert_int_equal(report.threads, 17);
    assert_int_equal(report.policy.dim, preset.policy.dim);
    assert_int_equal(report.policy.time, preset.policy.context + preset.policy.generated);
    assert_int_equal(report.policy.forecast, preset.policy.forecast);
    assert_int_equal(report.world.everyone, world.everyone);
    assert_int_equal(report.world.shared, world.shared);
    assert_int_equal(report.world.obs, options.shape->obs);
    assert_int_equal(report.horizon, preset.plan.horizon);
    assert_int_equal(report.forecast_batch, preset.policy.forecast_batch);
    assert_true(report.peak > 0 && report.peak_one > 0);
    for (int i = 0; i < MW_BENCH_ITEMS; i++)
        if (!report.item[i].measured || !(report.item[i].ms > 0) || !(report.item[i].gflops > 0))
            fail_msg("%s: %g ms, %g GFLOP/s", mw_bench_item_names[i], report.item[i].ms,
                     report.item[i].gflops);
}

static void paper_networks(void **state) {
    (void)state;
    mw_error error = {0};
    mw_bench_report report;
    mw_bench_options options = few("3m", 1u << MW_BENCH_SCORE);
    options.paper = true;
    CHECK_OK(mw_bench_run(&options, &report, &error), error);
    assert_int_equal(report.policy.dim, 128);
    assert_int_equal(report.policy.time, options.shape->context + options.shape->generated);
    assert_false(report.world.standardise);
    assert_int_equal(report.world.slots, mw_world_config_paper().slots);
    for (int i = 0; i < MW_BENCH_ITEMS; i++) assert_int_equal(report.item[i].measured, i == MW_BENCH_SCORE);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(trained_networks), cmocka_unit_test(paper_networks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
