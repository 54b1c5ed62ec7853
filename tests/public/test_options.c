/* One rule for all options of the public interface, tried on every struct: filled by their _init function
 * they are taken, also from programs compiled with a later header; never filled, cut short or with fields set
 * that this library does not know they are refused before anything is done. And what is needed is not NULL.
 */
#include "check.h"

#include <mawam/mawam.h>

typedef struct {
    const char *init;
    size_t size;
    void (*fill)(void *options, size_t size);
    mw_status (*use)(void *options, mw_error *error); /* fails soon after the options are taken */
} kind;

#define FILL(name)                                                                                           \
    static void name##_fill(void *options, size_t size) {                                                    \
        mw_##name##_options_init(options, size);                                                             \
    }
#define FILL_FOR_BUNDLE(name)                                                                                \
    static void name##_fill(void *options, size_t size) {                                                    \
        mw_##name##_options_init(options, size, NULL);                                                       \
    }
FILL(env)
FILL(make)
FILL(import)
FILL(export)
FILL(measure)
FILL(learn)
FILL(pick)
FILL(prey)
FILL(bench)
FILL(eval)
FILL(same_state)
FILL(routing)
FILL(train)
FILL(study)
FILL(sweep)
FILL(cost)
FILL_FOR_BUNDLE(snippet)
FILL_FOR_BUNDLE(planner)

static mw_status env_use(void *options, mw_error *error) {
    mw_env *env = NULL;
    mw_status status = mw_env_create(&env, "spread", options, error);
    if (status == MW_OK) status = mw_fail(error, MW_ERR_UNSUPPORTED, "made");
    mw_env_free(env);
    return status;
}

static mw_status make_use(void *options, mw_error *error) {
    mw_make_result result;
    return mw_dataset_make("nothing", "nowhere", options, &result, error);
}

static mw_status import_use(void *options, mw_error *error) {
    mw_import_report report;
    return mw_dataset_import("zip", "nothing", "nowhere", "toy", options, &report, error);
}

static mw_status export_use(void *options, mw_error *error) {
    return mw_export_hdf5(NULL, "nowhere", options, error);
}

static mw_status measure_use(void *options, mw_error *error) {
    mw_measure measure;
    return mw_behavior_play("nothing", NULL, options, &measure, error);
}

static mw_status learn_use(void *options, mw_error *error) {
    return mw_behavior_learn("nothing", "nowhere", options, error);
}

static mw_status pick_use(void *options, mw_error *error) {
    return mw_behavior_pick("nothing", "nothing", "nowhere", options, error);
}

static mw_status prey_use(void *options, mw_error *error) {
    return mw_prey_learn("nothing", "nowhere", options, error);
}

static mw_status bench_use(void *options, mw_error *error) {
    mw_bench_report report;
    ((mw_bench_options *)options)->task = "nothing";
    return mw_bench_run(options, &report, error);
}

static mw_status eval_use(void *options, mw_error *error) {
    mw_eval_result *result;
    const mw_status status = mw_bundle_evaluate(&result, NULL, options, error);
    assert_null(result);
    return status;
}

static mw_status same_state_use(void *options, mw_error *error) {
    mw_same_state result;
    return mw_same_state_run(&result, NULL, options, error);
}

static mw_status routing_use(void *options, mw_error *error) {
    mw_routing *result;
    return mw_routing_run(&result, NULL, NULL, options, error);
}

static mw_status snippet_use(void *options, mw_error *error) {
    mw_snippets result;
    return mw_snippets_run(&result, NULL, NULL, options, error);
}

static mw_status train_use(void *options, mw_error *error) {
    mw_training_report report;
    return mw_bundle_train(NULL, "nowhere", options, &report, error);
}

static mw_status study_use(void *options, mw_error *error) {
    int failed;
    ((mw_study_options *)options)->folder = "/dev/null/nowhere";
    return mw_study_run(options, &failed, error);
}

static mw_status sweep_use(void *options, mw_error *error) {
    char *json;
    return mw_sweep_run(&json, NULL, options, error);
}

static mw_status cost_use(void *options, mw_error *error) {
    char *json;
    return mw_cost_run(&json, NULL, 0, options, error);
}

static const mw_bundle *bundle; /* a planner's options are taken after the bundle's own */

static mw_status planner_use(void *options, mw_error *error) {
    mw_planner *planner;
    ((mw_planner_options *)options)->envs = -1;
    return mw_planner_create(&planner, bundle, options, error);
}

#define KIND(name)                                                                                           \
    { "mw_" #name "_options_init", sizeof(mw_##name##_options), name##_fill, name##_use }
static const kind kinds[] = {KIND(env),     KIND(make),    KIND(import), KIND(measure), KIND(learn),
                             KIND(pick),    KIND(prey),    KIND(bench),  KIND(eval),    KIND(same_state),
                             KIND(snippet), KIND(routing), KIND(train),  KIND(study),   KIND(planner),
                             KIND(sweep),   KIND(cost),    KIND(export)};
enum { KINDS = sizeof kinds / sizeof *kinds, BEYOND = 64 };

typedef union {
    size_t size;
    max_align_t align;
    unsigned char bytes[4096];
} room;

static void expect(const kind *k, room *options, const char *refusal) {
    mw_error error = {0};
    const mw_status status = k->use(options, &error);
    const bool refused = strstr(error.message, k->init) != NULL;
    if (status == MW_OK || refused != (refusal != NULL) || (refusal && !strstr(error.message, refusal)))
        fail_msg("%s: '%s', expected %s", k->init, error.message, refusal ? refusal : "another failure");
}

static void one_rule(void **state) {
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        const kind *k = &kinds[i];
        room options = {0};
        assert_true(k->size + BEYOND < sizeof options);
        expect(k, &options, "not initialised");
        memset(&options, 0xAA, sizeof options);
        expect(k, &options, "not initialised");
        k->fill(&options, k->size);
        assert_int_equal(options.size, k->size);
        assert_int_equal(options.bytes[k->size], 0xAA); /* init writes no further */
        expect(k, &options, NULL);
        options.size = sizeof(size_t); /* shorter than it ever was */
        expect(k, &options, "not initialised");
        k->fill(&options, k->size + BEYOND); /* a later header, whose new fields are at rest */
        assert_int_equal(options.size, k->size + BEYOND);
        expect(k, &options, NULL);
        options.bytes[k->size + BEYOND - 1] = 1; /* and with one of them set */
        expect(k, &options, "later version");
    }
}

/* Every struct with a size is in the table: a header that gains one without a row here fails. */
static void table_is_whole(void **state) {
    (void)state;
    FILE *lines = popen("cat " SOURCE_DIR "/include/mawam/*.h | grep -c 'of this struct, set by init'", "r");
    int count = 0;
    assert_non_null(lines);
    assert_int_equal(fscanf(lines, "%d", &count), 1);
    pclose(lines);
    assert_int_equal(count, KINDS);
}

/* Lists of settings are as long as they are said to be. */
static void lists_are_whole(void **state) {
    (void)state;
    mw_error error;
    const char *const none = NULL, *const axis = "M=1";
    const struct {
        const char *const *list;
        int count;
        const char *message;
    } cases[] = {{NULL, 1, "1 assignments without a list"},
                 {&axis, -1, "-1 assignments without a list"},
                 {&none, 1, "assignments[0] is NULL"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mw_train_options train;
        mw_eval_options eval;
        mw_same_state_options same;
        mw_study_options study;
        mw_sweep_options sweep;
        mw_eval_result *result;
        mw_same_state found;
        char *text;
        int failed;
        mw_train_options_init(&train, sizeof train);
        mw_eval_options_init(&eval, sizeof eval);
        mw_same_state_options_init(&same, sizeof same);
        mw_study_options_init(&study, sizeof study);
        mw_sweep_options_init(&sweep, sizeof sweep);
        train.assignments = eval.assignments = same.assignments = study.assignments = cases[i].list;
        train.assignment_count = eval.assignment_count = cases[i].count;
        same.assignment_count = study.assignment_count = cases[i].count;
        sweep.sweeps = &axis;
        sweep.count = 1;
        sweep.eval = &eval;
        const char *const message = cases[i].message;
        CHECK_FAILS(mw_train_options_check(&train, "spread", &error), MW_ERR_ARGUMENT, error, message);
        CHECK_FAILS(mw_bundle_evaluate(&result, bundle, &eval, &error), MW_ERR_ARGUMENT, error, message);
        CHECK_FAILS(mw_same_state_run(&found, bundle, &same, &error), MW_ERR_ARGUMENT, error, message);
        CHECK_FAILS(mw_study_run(&study, &failed, &error), MW_ERR_ARGUMENT, error, message);
        CHECK_FAILS(mw_sweep_run(&text, bundle, &sweep, &error), MW_ERR_ARGUMENT, error, message);
        sweep.sweeps = NULL;
        sweep.eval = NULL;
        CHECK_FAILS(mw_sweep_run(&text, bundle, &sweep, &error), MW_ERR_ARGUMENT, error, "without a list");
    }
}

#define NEEDS(call) CHECK_FAILS(call, MW_ERR_ARGUMENT, error, "is NULL")

static void null_is_refused(void **state) {
    (void)state;
    mw_error error;
    mw_bundle *loaded;
    mw_dataset *dataset;
    mw_env *env;
    mw_planner *planner;
    mw_eval_result *result;
    mw_measure measure;
    mw_verify report = {0};
    static const mw_routing routing;
    char *text;
    unsigned set;
    NEEDS(mw_env_create(NULL, "spread", NULL, &error));
    NEEDS(mw_env_create(&env, NULL, NULL, &error));
    NEEDS(mw_env_step(NULL, (mw_action){0}, NULL, NULL, &error));
    NEEDS(mw_env_restore(NULL, NULL, 0, &error));
    NEEDS(mw_env_batch_create(NULL, "spread", NULL, 1, 1, &error));
    NEEDS(mw_env_batch_step(NULL, (mw_action){0}, NULL, NULL, NULL, NULL, &error));
    NEEDS(mw_script_act(NULL, "random", 0, NULL, NULL, &error));
    NEEDS(mw_bundle_load(NULL, "x", &error));
    NEEDS(mw_bundle_load(&loaded, NULL, &error));
    NEEDS(mw_planner_create(NULL, bundle, NULL, &error));
    NEEDS(mw_planner_create(&planner, NULL, NULL, &error));
    NEEDS(mw_planner_act(NULL, NULL, NULL, NULL, NULL, NULL, &error));
    NEEDS(mw_plan_settings_set(NULL, "horizon", "3", &error));
    NEEDS(mw_dataset_load(NULL, "x", &error));
    NEEDS(mw_dataset_load(&dataset, NULL, &error));
    NEEDS(mw_dataset_check(NULL, &error));
    NEEDS(mw_dataset_make("spread-medium", NULL, NULL, NULL, &error));
    NEEDS(mw_dataset_import("omar", "x", "y", "z", NULL, NULL, &error));
    NEEDS(mw_data_report_create(NULL, NULL, NULL, &error));
    NEEDS(mw_export_hdf5(NULL, "x", NULL, &error));
    NEEDS(mw_behavior_play(NULL, NULL, NULL, &measure, &error));
    NEEDS(mw_behavior_learn("spread", NULL, NULL, &error));
    NEEDS(mw_behavior_pick("spread", "x", NULL, NULL, &error));
    NEEDS(mw_prey_learn(NULL, "x", NULL, &error));
    NEEDS(mw_prey_embed(NULL, 0, "x", &error));
    NEEDS(mw_bundle_evaluate(NULL, NULL, NULL, &error));
    NEEDS(mw_bundle_evaluate(&result, NULL, NULL, &error));
    NEEDS(mw_eval_result_save(NULL, "", "x", &error));
    NEEDS(mw_eval_replay(NULL, NULL, NULL, &error));
    NEEDS(mw_same_state_run(NULL, NULL, NULL, &error));
    NEEDS(mw_snippets_run(NULL, NULL, NULL, NULL, &error));
    NEEDS(mw_bundle_train(NULL, "x", NULL, NULL, &error));
    NEEDS(mw_study_run(NULL, NULL, &error));
    NEEDS(mw_study_report(NULL, 0, "x", false, NULL, &error));
    NEEDS(mw_arms_parse(NULL, &set, &error));
    NEEDS(mw_model_classes_parse("flow", NULL, &error));
    NEEDS(mw_bench_run(NULL, NULL, &error));
    NEEDS(mw_replay_create(NULL, NULL, "", &error));
    NEEDS(mw_replay_beside(NULL, NULL, "", &error));
    NEEDS(mw_replay_horizon(NULL, 1, &error));
    NEEDS(mw_verify_env(NULL, &report, &error));
    NEEDS(mw_diagnosis_print(NULL, "", stdout, &error));
    NEEDS(mw_diagnosis_print(&(mw_diagnosis){0}, "", stdout, &error));
    NEEDS(mw_diagnosis_save(&(mw_diagnosis){.bundle = bundle}, "", NULL, &error));
    NEEDS(mw_routing_print(bundle, &routing, "", NULL, &error));
    NEEDS(mw_routing_save(bundle, &routing, NULL, "x", &error));
    NEEDS(mw_routing_page(bundle, &routing, NULL, "x", &error));
    NEEDS(mw_paired_compare(NULL, NULL, NULL, 0, 0, &error));
    NEEDS(mw_sweep_run(&text, NULL, NULL, &error));
    NEEDS(mw_cost_run(&text, &(const mw_bundle *){NULL}, 1, NULL, &error));
    NEEDS(mw_env_recall(NULL, NULL, &error));
    NEEDS(mw_data_find(NULL, 0, "", "", &error));
    NEEDS(mw_data_path(NULL, 0, "", "", &error));
    NEEDS(mw_file_writable(NULL, &error));
    NEEDS(mw_dataset_declare(NULL, "x", NULL, &error));
    NEEDS(mw_dataset_replay(NULL, NULL, 1, NULL, &error));
    NEEDS(mw_dataset_writer_commit(NULL, &error));
    CHECK_FAILS(mw_env_create(NULL, "spread", NULL, &error), MW_ERR_ARGUMENT, error,
                "mw_env_create: env is NULL");
    NEEDS(mw_verify_net("x", NULL, &error));
}

int main(void) {
    mw_error error;
    mw_bundle *loaded;
    if (mw_bundle_load(&loaded, SOURCE_DIR "/bundles/spread-medium.safetensors", &error) != MW_OK)
        return fprintf(stderr, "%s\n", error.message), 1;
    bundle = loaded;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rule),
        cmocka_unit_test(table_is_whole),
        cmocka_unit_test(lists_are_whole),
        cmocka_unit_test(null_is_refused),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mw_bundle_free(loaded);
    return failed;
}
