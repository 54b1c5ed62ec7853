/* The whole study on two settings with tiny networks: every part that the report shows is made where it reads
 * it, kept when nothing changed, and refused where seeds would be played again. */
#include "core/file.h"
#include "core/json.h"
#include "plan/bundle.h"
#include "report/sources.h"
#include "scratch.h"
#include "study/played.h"
#include "study/run.h"

static const char *const tiny[] = {"flow.dim=16",
                                   "flow.steps=8",
                                   "flow.batch=4",
                                   "rwm.steps=6",
                                   "rwm.batch=8",
                                   "rwm.hidden=8",
                                   "inverse.hidden=8",
                                   "inverse.steps=8",
                                   "inverse.batch=4",
                                   "mono.hidden=8",
                                   "mono.batch=8",
                                   "independent.hidden=8",
                                   "independent.batch=8",
                                   "q.hidden=8",
                                   "q.batch=8",
                                   "direct.hidden=8",
                                   "direct.batch=8",
                                   "bc.hidden=8",
                                   "bc.steps=6",
                                   "bc.batch=4",
                                   "td3bc.hidden=8",
                                   "td3bc.steps=6",
                                   "td3bc.batch=4",
                                   "plan.target=0.9",
                                   "flow.forecast=8",
                                   "flow.forecast_batch=8",
                                   "advantage.steps=8",
                                   "advantage.hidden=8",
                                   "advantage.features=4",
                                   "value.steps=8",
                                   "value.hidden=8"};
enum { TINY = sizeof tiny / sizeof *tiny };

/* What happened, one letter a stage: d(one), k(ept), F(ailed); a space between settings. */
typedef struct {
    char letters[128], failure[400];
    char longer[200]; /* what was trained there */
    int last;
    double left; /* after the first training: all other jobs are still to come */
} events;
static events seen;
static mw_stop_flag halt;
static mw_study_stage halts_at = MW_STUDY_STAGES;

static void listen(void *context, const mw_study_event *e) {
    (void)context;
    const size_t length = strlen(seen.letters);
    if (e->stage == halts_at && e->what == MW_STUDY_STARTS) halt = 1;
    if (e->what == MW_STUDY_STARTS || e->what == MW_STUDY_RUNS || length + 3 > sizeof seen.letters) return;
    if (e->what == MW_STUDY_FAILED) snprintf(seen.failure, sizeof seen.failure, "%s", e->note);
    snprintf(seen.letters + length, sizeof seen.letters - length, "%s%s", e->index != seen.last ? " " : "",
             e->what == MW_STUDY_DONE   ? "d"
             : e->what == MW_STUDY_KEPT ? "k"
                                        : "F");
    if (e->what == MW_STUDY_DONE && e->stage == MW_STUDY_TRAIN && !strncmp(e->setting, "longer/", 7))
        snprintf(seen.longer, sizeof seen.longer, "%s", e->note);
    if (e->index == 1 && e->stage == MW_STUDY_DIAGNOSE) seen.left = e->left;
    seen.last = e->index;
}

static int expect(const mw_study_options *o, const char *letters) {
    mw_error error;
    int failed;
    seen = (events){0};
    CHECK_OK(mw_study_run(o, &failed, &error), error);
    assert_string_equal(seen.letters, letters);
    return failed;
}

static mw_study_options options(void) {
    static const mw_setting *settings[2];
    static char folder[128];
    mw_error error;
    mw_study_options o;
    mw_study_options_init(&o, sizeof o);
    CHECK_OK(mw_setting_find(&settings[0], "tag-medium", &error), error);
    CHECK_OK(mw_setting_find(&settings[1], "3m-medium", &error), error);
    snprintf(folder, sizeof folder, "%s/whole", scratch_folder);
    o.folder = folder;
    o.settings = settings;
    o.count = 2;
    o.assignments = tiny;
    o.assignment_count = TINY;
    o.behaviors = SOURCE_DIR "/behaviors";
    o.threads = 1;
    o.transitions = 600;
    o.training_seeds = 2;
    o.seeds = 2;
    static const int two[] = {2};
    o.family_episodes = two;
    o.family_count = 1;
    o.episodes = 1;
    o.timed = 1;
    o.anchors = 2;
    o.snippets = 8;
    CHECK_OK(mw_model_classes_parse("bc,td3bc", &o.baselines, &error), error); /* the others would take long */
    o.command = "test";
    o.progress = listen;
    o.stop = &halt;
    return o;
}

static const char *const written[] = {
    "results/tag-medium",         "results/3m-medium",         "paper/results/3m-medium",
    "paper/routing/tag-medium",   "longer/results/tag-medium", "seeds/1/results/3m-medium",
    "routing/3m-medium",          "selectors/tag-medium",      "baselines/bc/tag-medium",
    "baselines/td3bc/tag-medium", "sweeps/3m-medium",          "cost"};

static json_t *result(const char *name) {
    char path[128];
    json_t *root;
    mw_error error;
    snprintf(path, sizeof path, "whole/%s.json", name);
    CHECK_OK(mw_json_read(&root, scratch(path), &error), error);
    return root;
}

static void test_stages(void **state) {
    (void)state;
    mw_study_options o = options();
    assert_int_equal(expect(&o, "dddddddd dddddddd kdddd kdddd kddd kdd kdd d"), 0);
    assert_true(isfinite(seen.left) && seen.left > 0);
    assert_non_null(strstr(seen.longer, "flow kept")); /* a branch trains only what its base does not have */
    o.resume = true;
    assert_int_equal(expect(&o, "kkkkkkkk kkkkkkkk kkkkk kkkkk kkkk kkk kkk k"), 0);
    for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
        json_t *root = result(written[i]);
        const json_t *stamp = json_object_get(root, "study");
        if (!stamp) stamp = json_object_get(root, "provenance");
        assert_string_equal(json_string_value(json_object_get(stamp, "revision")), mw_revision());
        json_decref(root);
    }
}

/* Seeds, episodes, arms and steps are those of the protocol and the options. */
static void test_protocol(void **state) {
    (void)state;
    json_t *summary = result("results/tag-medium"), *selectors = result("selectors/tag-medium"),
           *sweeps = result("sweeps/3m-medium"), *other = result("seeds/1/results/3m-medium"),
           *paper = result("paper/results/3m-medium"), *baselines = result("baselines/bc/3m-medium");
    const json_t *eval = json_object_get(summary, "eval"), *compared = json_object_get(selectors, "eval");
    assert_int_equal(json_integer_value(json_object_get(eval, "first_seed")), 21000);
    assert_int_equal(json_integer_value(json_object_get(eval, "episodes")), 2);
    assert_int_equal(json_object_size(json_object_get(eval, "arms")), MW_ARM_STANDARD);
    assert_int_equal(json_object_size(json_object_get(compared, "arms")), 8);
    assert_non_null(json_object_get(json_object_get(compared, "arms"), "direct"));
    const json_t *same = json_object_get(json_object_get(selectors, "same_state"), "scorers");
    assert_non_null(json_object_get(same, "independent"));
    const json_t *settings =
        json_object_get(json_object_get(json_object_get(selectors, "study"), "inputs"), "settings");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(settings, "q"), "steps")), 6);
    /* nothing of the setting's bundle: the baseline alone is trained, and plays */
    assert_int_equal(json_object_size(mw_json_at(baselines, "eval.arms")), 1);
    assert_true(isfinite(mw_json_number(baselines, "eval.arms.bc.return")));
    assert_int_equal(json_object_size(json_object_get(baselines, "training")), 1);
    assert_non_null(mw_json_at(baselines, "training.bc.revision"));
    assert_string_equal(json_string_value(mw_json_at(baselines, "training.bc.data")),
                        json_string_value(mw_json_at(other, "data.checksum")));
    assert_int_equal(json_integer_value(json_object_get(json_object_get(sweeps, "inputs"), "first_seed")),
                     21100);
    /* whoever wrote it, a file names its bundle as the summary does */
    json_t *swept = result("results/3m-medium"), *routing = result("routing/3m-medium");
    const char *bundle = json_string_value(json_object_get(swept, "bundle"));
    assert_string_equal(json_string_value(json_object_get(sweeps, "bundle")), bundle);
    assert_string_equal(json_string_value(json_object_get(routing, "bundle")), bundle);
    assert_string_equal(json_string_value(mw_json_at(sweeps, "study.bundle")), bundle);
    json_decref(swept);
    json_decref(routing);
    static char record[1 << 15]; /* a sweep's seed is taken too */
    record[scratch_read(scratch("whole/stages.jsonl"), record, sizeof record - 1)] = 0;
    assert_non_null(strstr(record, "\"first_seed\":21100"));
    const json_t *horizon = json_object_get(json_object_get(sweeps, "sweeps"), "horizon");
    assert_int_equal(json_array_size(json_object_get(horizon, "points")), 3); /* as far as it generates */
    assert_string_equal(json_string_value(json_object_get(json_object_get(other, "provenance"), "seed")),
                        "1");
    assert_string_equal(json_string_value(json_object_get(paper, "method")), "paper");
    json_decref(summary);
    json_decref(selectors);
    json_decref(sweeps);
    json_decref(other);
    json_decref(paper);
    json_decref(baselines);
    mw_study_options o = options();
    o.episodes = o.family_count = 0;
    assert_int_equal(mw_study_episodes(&o, "mpe"), 40);
    assert_int_equal(mw_study_episodes(&o, "battle"), 160);
    assert_int_equal(mw_study_episodes(&o, "ant"), 16);
}

/* All 30 by both methods, five with the paper's steps, nine middle ones twice more, ten compared, three
 * swept. */
static void test_scope(void **state) {
    (void)state;
    static mw_study_job jobs[MW_STUDY_JOBS];
    mw_study_options o;
    mw_study_options_init(&o, sizeof o);
    int counts[MW_STUDY_STAGES] = {0};
    const int n = mw_study_jobs(jobs, &o);
    assert_int_equal(n, 30 + 30 + 5 + 2 * 9);
    for (int i = 60; i < 65; i++) {
        assert_string_equal(jobs[i].folder, "longer");
        assert_string_equal(jobs[i].base, "paper");
        mw_preset preset;
        mw_error error;
        CHECK_OK(mw_run_preset(&preset, &jobs[i], &o, &error), error);
        json_t *settings = mw_preset_json(&preset);
        CHECK_NEAR(mw_json_number(settings, "rwm.steps"), 100000, 0);
        json_decref(settings);
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < MW_STUDY_STAGES; k++) counts[k] += (jobs[i].stages >> k) & 1;
    assert_int_equal(counts[MW_STUDY_EVAL], n);
    assert_int_equal(counts[MW_STUDY_ROUTING], 60);
    assert_int_equal(counts[MW_STUDY_SELECTORS], 10);
    assert_int_equal(counts[MW_STUDY_BASELINES], 30);
    assert_int_equal(counts[MW_STUDY_SWEEPS], 3);
    o.parts = 1u << MW_STUDY_PART_SEEDS; /* the main job need not be there again */
    o.baselines = 0;
    assert_int_equal(mw_study_jobs(jobs, &o), 2 * 9);
    assert_string_equal(jobs[0].folder, "seeds/1");
    o.parts |= 1u << MW_STUDY_PART_ROUTING;
    assert_int_equal(mw_study_jobs(jobs, &o), 30 + 2 * 9);
    o.parts = 0;
    o.baselines = 0;
    o.method = "paper";
    o.training_seeds = 1;
    assert_int_equal(mw_study_jobs(jobs, &o), 30 + 5);
    o.budget = MW_BUDGET_QUICK;
    assert_int_equal(mw_study_jobs(jobs, &o), 30);
}

static const char *revision_in(const json_t *root, const char *path) {
    return json_string_value(mw_json_at(root, path));
}

/* What another build made is told of in the summary, and is no part of what selectors are compared with. */
static void test_mixture(void **state) {
    (void)state;
    static const char *const names[] = {"whole/bundles/tag-medium.selectors.safetensors",
                                        "whole/selectors/tag-medium.json", "whole/results/tag-medium.json"};
    mw_error error;
    mw_bundle *bundle;
    CHECK_OK(mw_bundle_load(&bundle, scratch(names[0]), &error), error);
    snprintf(mw_bundle_find(bundle, "flow")->provenance.revision, MW_WORD, "v0");
    CHECK_OK(mw_bundle_save(bundle, scratch(names[0]), false, &error), error);
    mw_bundle_free(bundle);
    json_t *eval = result("eval/tag-medium");
    json_object_set_new(eval, "revision", json_string("v0"));
    CHECK_OK(mw_json_write(eval, scratch("whole/eval/tag-medium.json"), &error), error);
    json_decref(eval);
    assert_int_equal(remove(scratch(names[1])) | remove(scratch(names[2])), 0);
    mw_study_options o = options();
    o.resume = true;
    o.count = 1;
    o.parts = 1u << MW_STUDY_PART_MAIN | 1u << MW_STUDY_PART_SELECTORS;
    o.baselines = 0;
    assert_int_equal(expect(&o, "kkkkd"), 0);
    json_t *summary = result("results/tag-medium"), *selectors = result("selectors/tag-medium");
    assert_string_equal(revision_in(summary, "revisions.eval"), "v0");
    assert_string_equal(revision_in(summary, "revisions.diagnose"), mw_revision());
    assert_string_equal(revision_in(selectors, "training.flow.revision"), mw_revision());
    assert_string_equal(revision_in(selectors, "training.q.revision"), mw_revision());
    json_decref(summary);
    json_decref(selectors);
}

static char warning[500];

static void hear(void *context, mw_log_level level, const char *message) {
    (void)context;
    if (level == MW_LOG_WARNING) snprintf(warning, sizeof warning, "%s", message);
}

/* Going on with another build is told at the start. */
static void test_other_revision(void **state) {
    (void)state;
    mw_study_options o = options();
    o.resume = true;
    mw_log_set(hear, NULL);
    expect(&o, "kkkkkkkk kkkkkkkk kkkkk kkkkk kkkk kkk kkk k");
    assert_string_equal(warning, "");
    FILE *record = fopen(scratch("whole/stages.jsonl"), "a");
    assert_true(record && fputs("{\"setting\":\"tag-medium\",\"revision\":\"v0\"}\n", record) >= 0 &&
                fclose(record) == 0);
    expect(&o, "kkkkkkkk kkkkkkkk kkkkk kkkkk kkkk kkk kkk k");
    assert_non_null(strstr(warning, "revision v0 has worked in"));
    mw_log_set(NULL, NULL);
}

/* The cost is of all bundles in the folder, whichever settings are asked for; a stop in it is no failure. */
static void test_cost(void **state) {
    (void)state;
    mw_error error;
    int failed;
    mw_study_options o = options();
    o.resume = true;
    o.count = 1;
    o.parts = 1u << MW_STUDY_PART_MAIN | 1u << MW_STUDY_PART_COST;
    o.baselines = 0;
    assert_int_equal(expect(&o, "kkkk k"), 0);
    o.threads = 2; /* other times */
    halts_at = MW_STUDY_COST;
    CHECK_FAILS(mw_study_run(&o, &failed, &error), MW_ERR_INTERRUPTED, error, "");
    assert_int_equal(failed, 0);
    halts_at = MW_STUDY_STAGES;
    halt = 0;
    assert_int_equal(expect(&o, "kkkk d"), 0);
    json_t *cost = result("cost");
    assert_int_equal(json_array_size(mw_json_at(cost, "cost.settings")), 2);
    json_decref(cost);
}

/* Other weights on the same seeds are refused, on others they play; the same weights may play more. */
static void test_played_once(void **state) {
    (void)state;
    mw_error error;
    int failed;
    mw_study_options o = options();
    o.resume = true;
    o.count = 1;
    o.parts = 1u << MW_STUDY_PART_MAIN;
    o.baselines = 0;
    o.family_episodes = (const int[]){3};
    assert_int_equal(expect(&o, "kkdk"), 0);
    /* a play that the record has lost is recorded again where its result is kept */
    assert_int_equal(truncate(scratch("whole/stages.jsonl"), 0), 0);
    assert_int_equal(expect(&o, "kkkk"), 0);
    o.seed = 7; /* said before it is trained */
    assert_int_equal(expect(&o, "dF"), 1);
    assert_true(mw_file_exists(scratch("whole/bundles/tag-medium.safetensors")));
    assert_non_null(strstr(seen.failure, "seeds 21000 to 21001 are played once"));
    o.first_seed = 21001; /* one in common */
    assert_int_equal(expect(&o, "kF"), 1);
    o.first_seed = 21002;
    assert_int_equal(expect(&o, "kddd"), 0);
    for (int again = 0; again < 2; again++) { /* routing is of the bundle before, until it is asked for */
        json_t *summary = result("results/tag-medium"), *routing = result("routing/tag-medium");
        assert_int_equal(
            !strcmp(json_string_value(json_object_get(summary, "bundle")), mw_source_bundle(routing)), again);
        json_decref(summary);
        json_decref(routing);
        o.parts = 1u << MW_STUDY_PART_MAIN | 1u << MW_STUDY_PART_ROUTING;
    o.baselines = 0;
        assert_int_equal(expect(&o, again ? "kkkkk" : "kkkkd"), 0);
    }
    o.parts = 1u << MW_STUDY_PART_MAIN | 1u << MW_STUDY_PART_SELECTORS; /* selectors take seeds of their own
    o.baselines = 0;
                                                                         */
    assert_int_equal(expect(&o, "kkkkd"), 0);
    const char *wider[TINY + 1] = {0};
    memcpy(wider, tiny, sizeof tiny);
    wider[TINY] = "q.hidden=16";
    o.assignments = wider;
    o.assignment_count = TINY + 1;
    assert_int_equal(expect(&o, "kkkkF"), 1);
    assert_non_null(strstr(seen.failure, "of tag-medium selectors has played them"));
    o.assignments = tiny;
    o.assignment_count = TINY;
    o.parts = 1u << MW_STUDY_PART_MAIN;
    o.baselines = 0;
    o.first_seed = 21000;
    o.play_again = true;
    assert_int_equal(expect(&o, "kkdk"), 0);
    o.play_again = false;
    o.first_seed = 21010; /* seeds count as played from the beginning on */
    halts_at = MW_STUDY_EVAL;
    CHECK_FAILS(mw_study_run(&o, &failed, &error), MW_ERR_INTERRUPTED, error, "");
    halts_at = MW_STUDY_STAGES;
    halt = 0;
    o.seed = 8;
    assert_int_equal(expect(&o, "dF"), 1);
    assert_non_null(strstr(seen.failure, "seeds 21010 to 21011 are played once"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scope),          cmocka_unit_test(test_stages), cmocka_unit_test(test_protocol),
        cmocka_unit_test(test_other_revision), cmocka_unit_test(test_cost),   cmocka_unit_test(test_mixture),
        cmocka_unit_test(test_played_once)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
