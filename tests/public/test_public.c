/* The public interface as users meet it. Options carry their size: filled by their _init function they are
 * taken, never filled they are refused before anything is done, and NULL means the defaults. */
#include "check.h"

#include <mawam/mawam.h>

#define REFUSED(call, init) CHECK_FAILS(call, MW_ERR_ARGUMENT, error, "not initialised; call " init)

static void never_filled(void **state) {
    (void)state;
    mw_error error;
    mw_make_result made;
    mw_import_report imported;
    mw_measure measure;
    mw_bench_report bench;
    REFUSED(mw_dataset_make("spread-medium", "nowhere", &(mw_make_options){0}, &made, &error),
            "mw_make_options_init");
    REFUSED(
        mw_dataset_import("omar", "nothing", "nowhere", "toy", &(mw_import_options){0}, &imported, &error),
        "mw_import_options_init");
    REFUSED(mw_behavior_play("spread", NULL, &(mw_measure_options){0}, &measure, &error),
            "mw_measure_options_init");
    REFUSED(mw_behavior_learn("spread", "nowhere", &(mw_learn_options){0}, &error), "mw_learn_options_init");
    REFUSED(mw_behavior_pick("spread", "nothing", "nowhere", &(mw_pick_options){0}, &error),
            "mw_pick_options_init");
    REFUSED(mw_prey_learn("tag", "nowhere", &(mw_prey_options){0}, &error), "mw_prey_options_init");
    mw_training_report trained;
    REFUSED(mw_bundle_train(NULL, "nowhere", &(mw_train_options){0}, &trained, &error),
            "mw_train_options_init");
    mw_eval_result *result;
    REFUSED(mw_bundle_evaluate(&result, NULL, &(mw_eval_options){0}, &error), "mw_eval_options_init");
    assert_null(result);
    REFUSED(mw_eval_replay(NULL, &(mw_eval_options){0}, "nowhere", &error), "mw_eval_options_init");
    mw_same_state same;
    mw_snippets snippets;
    REFUSED(mw_same_state_run(&same, NULL, &(mw_same_state_options){0}, &error),
            "mw_same_state_options_init");
    REFUSED(mw_snippets_run(&snippets, NULL, NULL, &(mw_snippet_options){0}, &error),
            "mw_snippet_options_init");
    int failed;
    REFUSED(mw_study_run(&(mw_study_options){0}, &failed, &error), "mw_study_options_init");
    REFUSED(mw_bench_run(&(mw_bench_options){0}, &bench, &error), "mw_bench_options_init");
    mw_measure_options longer;
    mw_measure_options_init(&longer, sizeof longer);
    longer.size += 8; /* of a library that is not there yet */
    REFUSED(mw_behavior_play("spread", NULL, &longer, &measure, &error), "mw_measure_options_init");
}

/* Programs compiled with a shorter or longer struct: init writes what there is room for, and not more. */
static void other_sizes(void **state) {
    (void)state;
    union {
        mw_measure_options options;
        unsigned char bytes[sizeof(mw_measure_options) + 16];
    } u;
    memset(&u, 0xAA, sizeof u);
    const size_t shorter = offsetof(mw_measure_options, noise);
    mw_measure_options_init(&u.options, shorter);
    assert_int_equal(u.options.size, shorter);
    assert_int_equal(u.options.episodes, 200);
    for (size_t i = shorter; i < sizeof u; i++) assert_int_equal(u.bytes[i], 0xAA);
    mw_measure_options_init(&u.options, sizeof u);
    assert_int_equal(u.options.size, sizeof u);
    for (size_t i = sizeof u.options; i < sizeof u; i++) assert_int_equal(u.bytes[i], 0);
}

static void defaults(void **state) {
    (void)state;
    mw_error error;
    mw_measure by_default, by_init;
    mw_measure_options options;
    mw_measure_options_init(&options, sizeof options);
    CHECK_OK(mw_behavior_play("spread", NULL, NULL, &by_default, &error), error);
    CHECK_OK(mw_behavior_play("spread", NULL, &options, &by_init, &error), error);
    assert_int_equal(by_default.episodes, 200);
    assert_memory_equal(&by_default, &by_init, sizeof by_init);
}

/* What the interface is told may be wrong in other ways. */
static void wrong_requests(void **state) {
    (void)state;
    mw_error error;
    mw_measure measure;
    mw_import_report imported;
    const char *const file = SOURCE_DIR "/behaviors/3m-good.safetensors";
    CHECK_FAILS(mw_behavior_play("spread", file, NULL, &measure, &error), MW_ERR_MISMATCH, error,
                "does not fit");
    CHECK_FAILS(mw_dataset_import("zip", "nothing", "nowhere", "toy", NULL, &imported, &error),
                MW_ERR_ARGUMENT, error, "'zip'");
    CHECK_FAILS(mw_study_report(&(const char *){"nowhere"}, 1, "nowhere", NULL, &error), MW_ERR_IO, error,
                "no summaries in nowhere");
    mw_learn_preset preset = *mw_learn_preset_find("spread");
    mw_learn_options learn;
    mw_learn_options_init(&learn, sizeof learn);
    learn.preset = &preset;
    CHECK_FAILS(mw_behavior_learn("tag", "nowhere", &learn, &error), MW_ERR_MISMATCH, error, "'spread'");
}

/* Settings of a training are tried before anything is opened. */
static void training_settings(void **state) {
    (void)state;
    mw_error error;
    const char *const good = "rwm.steps=10", *const bad = "rwm.stops=10";
    mw_train_options options;
    mw_train_options_init(&options, sizeof options);
    assert_int_equal(options.budget, MW_BUDGET_FULL);
    options.assignments = &good;
    options.assignment_count = 1;
    CHECK_OK(mw_train_options_check(&options, "spread", &error), error);
    options.assignments = &bad;
    CHECK_FAILS(mw_train_options_check(&options, "spread", &error), MW_ERR_ARGUMENT, error, "stops");
    CHECK_OK(mw_model_classes_parse("flow,rwm", &options.only, &error), error);
    CHECK_FAILS(mw_model_classes_parse("flaw", &options.only, &error), MW_ERR_ARGUMENT, error, "'flaw'");
}

/* A dataset through the public interface: made, described, its columns consistent. */
static void dataset(void **state) {
    (void)state;
    char root[] = "public-data-XXXXXX", folder[64], command[96];
    assert_non_null(mkdtemp(root));
    snprintf(folder, sizeof folder, "%s/spread-random", root);
    mw_error error;
    mw_make_options options;
    mw_make_options_init(&options, sizeof options);
    options.transitions = 100;
    mw_make_result made;
    CHECK_OK(mw_dataset_make("spread-random", folder, &options, &made, &error), error);
    mw_dataset *d;
    CHECK_OK(mw_dataset_load(&d, folder, &error), error);
    CHECK_OK(mw_dataset_check(d, &error), error);
    const mw_dataset_summary s = mw_dataset_describe(d);
    const mw_dataset_columns c = mw_dataset_view(d);
    assert_string_equal(s.spec.task, "spread");
    assert_false(s.imported);
    assert_int_equal(s.steps, made.steps);
    assert_int_equal(c.offsets[s.episodes], s.steps);
    assert_null(c.index);
    double total = 0;
    for (long i = 0; i < s.steps * s.spec.agents; i++) total += c.rewards[i];
    CHECK_NEAR(total / s.spec.agents / (double)s.episodes, made.mean, 1e-3);
    mw_dataset_free(d);
    CHECK_FAILS(mw_dataset_load(&d, "nowhere", &error), MW_ERR_IO, error, "nowhere");
    assert_null(d);
    snprintf(command, sizeof command, "rm -rf %s", root);
    assert_int_equal(system(command), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_filled),   cmocka_unit_test(other_sizes),       cmocka_unit_test(defaults),
        cmocka_unit_test(wrong_requests), cmocka_unit_test(training_settings), cmocka_unit_test(dataset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
