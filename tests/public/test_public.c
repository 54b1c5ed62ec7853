/* The public interface as users meet it: options of other sizes and by default, wrong requests, settings, a
 * dataset. What holds for all options alike is in test_options.c. */
#include "check.h"

#include <mawam/mawam.h>

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
    CHECK_FAILS(mw_study_report(&(const char *){"nowhere"}, 1, "nowhere", false, NULL, &error), MW_ERR_IO,
                error, "no summaries in nowhere");
    mw_measure_options play;
    mw_measure_options_init(&play, sizeof play);
    play.noise = NAN;
    CHECK_FAILS(mw_behavior_play("spread", NULL, &play, &measure, &error), MW_ERR_ARGUMENT, error, "noise");
    play.noise = -1;
    play.episodes = 0;
    CHECK_FAILS(mw_behavior_play("spread", NULL, &play, &measure, &error), MW_ERR_ARGUMENT, error,
                "episodes is 0");
    mw_import_options import;
    mw_import_options_init(&import, sizeof import);
    import.agents = -3;
    CHECK_FAILS(mw_dataset_import("omar", "nothing", "nowhere", "toy", &import, &imported, &error),
                MW_ERR_ARGUMENT, error, "-3 agents");
    mw_make_options make;
    mw_make_result made;
    mw_make_options_init(&make, sizeof make);
    make.transitions = -1;
    CHECK_FAILS(mw_dataset_make("spread-random", "nowhere", &make, &made, &error), MW_ERR_ARGUMENT, error,
                "transitions is -1");
    char path[8];
    CHECK_FAILS(mw_data_find(path, sizeof path, "bundles", "spread-medium.safetensors", &error),
                MW_ERR_ARGUMENT, error, "8 bytes have no room");
    CHECK_FAILS(mw_data_path(path, sizeof path, "bundles", "a/longer/path", &error), MW_ERR_ARGUMENT, error,
                "8 bytes have no room");
    mw_learn_preset preset = *mw_learn_preset_find("spread");
    mw_learn_options learn;
    mw_learn_options_init(&learn, sizeof learn);
    learn.preset = &preset;
    CHECK_FAILS(mw_behavior_learn("tag", "nowhere", &learn, &error), MW_ERR_MISMATCH, error, "'spread'");
}

/* A bundle that comes with mawam is loaded by its short name, as the program and Python do. */
static void shipped_by_name(void **state) {
    (void)state;
    static const char *const names[] = {"spread-medium", "spread-medium.safetensors",
                                        SOURCE_DIR "/bundles/spread-medium.safetensors"};
    mw_error error;
    mw_bundle *bundle;
    setenv("MAWAM_DATA", SOURCE_DIR, 1);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(mw_bundle_load(&bundle, names[i], &error), error);
        assert_string_equal(mw_bundle_describe(bundle).task, "spread");
        mw_bundle_free(bundle);
    }
    CHECK_FAILS(mw_bundle_load(&bundle, "spread-none", &error), MW_ERR_IO, error,
                "there is no bundles/spread-none");
    unsetenv("MAWAM_DATA");
}

/* What a failing function was to create is NULL, whatever was wrong, and freeing that does nothing. */
static void nothing_made(void **state) {
    (void)state;
    static char other; /* what the pointers hold before */
    mw_error error;
    mw_bundle *bundle = (void *)&other;
    mw_planner *planner = (void *)&other;
    mw_routes *routes = (void *)&other;
    mw_env *env = (void *)&other;
    mw_env_batch *batch = (void *)&other;
    mw_replay *replay = (void *)&other;
    mw_dataset *dataset = (void *)&other;
    mw_data_report *report = (void *)&other;
    mw_dataset_writer *writer = (void *)&other;
    mw_eval_result *result = (void *)&other;
    assert_int_equal(mw_bundle_load(&bundle, NULL, &error), MW_ERR_ARGUMENT);
    assert_int_equal(mw_planner_create(&planner, NULL, NULL, &error), MW_ERR_ARGUMENT);
    assert_int_equal(mw_routes_create(&routes, NULL, &error), MW_ERR_ARGUMENT);
    assert_int_equal(mw_env_create(&env, NULL, NULL, &error), MW_ERR_ARGUMENT);
    assert_int_equal(mw_env_batch_create(&batch, NULL, NULL, 1, 1, &error), MW_ERR_ARGUMENT);
    assert_int_equal(mw_replay_create(&replay, NULL, "", &error), MW_ERR_ARGUMENT);
    assert_int_equal(mw_dataset_load(&dataset, NULL, &error), MW_ERR_ARGUMENT);
    assert_int_equal(mw_data_report_create(&report, NULL, NULL, &error), MW_ERR_ARGUMENT);
    assert_int_equal(mw_dataset_writer_open(&writer, NULL, NULL, false, &error), MW_ERR_ARGUMENT);
    assert_int_equal(mw_bundle_evaluate(&result, NULL, NULL, &error), MW_ERR_ARGUMENT);
    assert_true(!bundle && !planner && !routes && !env && !batch && !replay && !dataset && !report &&
                !writer && !result);
    mw_bundle_free(bundle), mw_planner_free(planner), mw_routes_free(routes), mw_env_free(env);
    mw_env_batch_free(batch), mw_replay_free(replay), mw_dataset_free(dataset);
    mw_data_report_free(report), mw_dataset_writer_abandon(writer), mw_eval_result_free(result);
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
    options.assignments = &good;
    options.only = 1u << 31;
    CHECK_FAILS(mw_train_options_check(&options, "spread", &error), MW_ERR_ARGUMENT, error,
                "bits of no model");
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
        cmocka_unit_test(other_sizes),    cmocka_unit_test(defaults),
        cmocka_unit_test(wrong_requests), cmocka_unit_test(shipped_by_name),
        cmocka_unit_test(nothing_made),   cmocka_unit_test(training_settings),
        cmocka_unit_test(dataset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
