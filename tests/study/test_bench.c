/* The measurements of speed: they are of the networks that training makes or of the paper's, and of no more
 * than what was asked for, on any number of threads. */
#include "check.h"
#include "core/json.h"
#include "model/flow/flow.h"
#include "model/rwm/rwm.h"
#include "study/sizes.h"
#include "train/preset.h"

static mw_bench_options few(const char *task, unsigned items) {
    mw_bench_options options;
    mw_bench_options_init(&options, sizeof options);
    options.task = task;
    options.candidates = 2;
    options.steps = options.threads = 1;
    options.items = items;
    options.seconds = 0.01;
    return options;
}

/* A number of the report's sizes: of a network, or of the whole where `part` is NULL. */
static int size_of(const mw_bench_report *report, const char *part, const char *name) {
    json_t *sizes = json_loads(report->sizes, 0, NULL);
    const json_t *value = json_object_get(part ? json_object_get(sizes, part) : sizes, name);
    if (!json_is_integer(value) && !json_is_boolean(value)) fail_msg("%s lacks %s", report->sizes, name);
    const int number = json_is_integer(value) ? (int)json_integer_value(value) : json_is_true(value);
    json_decref(sizes);
    return number;
}

static void trained_networks(void **state) {
    (void)state;
    mw_error error = {0};
    mw_bench_report report;
    mw_bench_options options = few("2ant", (1u << MW_BENCH_ITEMS) - 1);
    options.threads = 17;
    CHECK_OK(mw_bench_run(&options, &report, &error), error);
    const mw_preset preset = mw_preset_of("2ant", MW_BUDGET_FULL);
    mw_flow_settings flow;
    mw_rwm_settings rwm;
    memcpy(&flow, &preset.config[mw_model_class_index("flow")], sizeof flow);
    memcpy(&rwm, &preset.config[mw_model_class_index("rwm")], sizeof rwm);
    assert_int_equal(report.threads, 17);
    assert_int_equal(size_of(&report, "policy", "dim"), flow.dim);
    assert_int_equal(size_of(&report, "policy", "time"), flow.context + flow.generated);
    assert_int_equal(size_of(&report, "policy", "forecast"), flow.forecast);
    assert_int_equal(size_of(&report, "world", "concat_agents"), rwm.concat_agents);
    assert_int_equal(size_of(&report, "world", "shared"), rwm.shared);
    assert_int_equal(size_of(&report, NULL, "obs"), mw_task_shape_find(options.task)->obs);
    assert_int_equal(report.horizon, preset.plan.horizon);
    assert_int_equal(size_of(&report, NULL, "forecast_batch"), flow.forecast_batch);
    assert_true(report.peak > 0 && report.peak_one > 0);
    for (int i = 0; i < MW_BENCH_ITEMS; i++)
        if (!report.item[i].measured || !(report.item[i].ms > 0) || !(report.item[i].gflops > 0))
            fail_msg("%s: %g ms, %g GFLOP/s", report.item[i].name, report.item[i].ms, report.item[i].gflops);
}

static void paper_networks(void **state) {
    (void)state;
    mw_error error = {0};
    mw_bench_report report;
    mw_bench_options options = few("3m", 1u << MW_BENCH_SCORE);
    options.paper = true;
    CHECK_OK(mw_bench_run(&options, &report, &error), error);
    assert_int_equal(size_of(&report, "policy", "dim"), 128);
    assert_int_equal(size_of(&report, "policy", "time"),
                     mw_task_shape_find(options.task)->context + mw_task_shape_find(options.task)->generated);
    assert_false(size_of(&report, "world", "standardise"));
    assert_int_equal(size_of(&report, "world", "slots"), mw_world_config_paper().slots);
    for (int i = 0; i < MW_BENCH_ITEMS; i++) assert_int_equal(report.item[i].measured, i == MW_BENCH_SCORE);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(trained_networks), cmocka_unit_test(paper_networks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
