/* The study's run on tiny networks and very little data: what is finished is kept, what changed is done
 * again, failures stay within their setting, interruptions can be continued. */
#include "core/file.h"
#include "core/json.h"
#include "core/tensor/safetensors.h"
#include "plan/bundle.h"
#include "cli/program.h"

static const char *const tiny[] = {"flow.dim=16",     "flow.steps=8",   "flow.batch=4",     "rwm.steps=8",
                                   "rwm.batch=8",     "rwm.hidden=8",   "inverse.hidden=8", "inverse.steps=8",
                                   "inverse.batch=4", "plan.target=0.9"};
enum { TINY = sizeof tiny / sizeof *tiny };

/* What happened, one letter a stage: d(one), k(ept), F(ailed). */
typedef struct {
    char letters[64];
    char failure[256];
    mw_study_stage stop_at; /* request a stop when this stage starts */
    bool stopping;
    volatile sig_atomic_t stop;
    double left;
} events;

static void listen(void *context, const mw_study_event *e) {
    events *seen = context;
    const size_t length = strlen(seen->letters);
    const char letter = e->what == MW_STUDY_DONE ? 'd' : e->what == MW_STUDY_KEPT ? 'k' : 'F';
    if (e->what == MW_STUDY_FAILED) snprintf(seen->failure, sizeof seen->failure, "%s", e->note);
    if (e->what == MW_STUDY_STARTS && seen->stopping && e->stage == seen->stop_at) seen->stop = 1;
    if (e->what == MW_STUDY_DONE) seen->left = e->left;
    if (e->what != MW_STUDY_STARTS && e->what != MW_STUDY_RUNS && length + 1 < sizeof seen->letters)
        seen->letters[length] = letter;
}

static const mw_setting *found[4];
static events seen;

static mw_study_options options_of(const char *folder, const char *const *names, int count) {
    mw_error error;
    mw_study_options o;
    mw_study_options_init(&o, sizeof o);
    for (int i = 0; i < count; i++) CHECK_OK(mw_setting_find(&found[i], names[i], &error), error);
    static char path[128], nothing[128]; /* scratch's own do not last */
    snprintf(path, sizeof path, "%s/%s", scratch_folder, folder);
    snprintf(nothing, sizeof nothing, "%s/nothing", scratch_folder);
    seen = (events){0};
    o.folder = path;
    o.settings = found;
    o.count = count;
    o.assignments = tiny;
    o.assignment_count = TINY;
    o.behaviors = nothing;
    o.threads = 1;
    o.transitions = 500;
    o.arms = 1u << 0 | 1u << 2;
    o.seeds = 2;
    o.episodes = 1;
    o.timed = 2;
    o.anchors = 2;
    o.snippets = 8;
    o.command = "test";
    o.parts = 1u << MW_STUDY_PART_MAIN;
    o.play_again = true;
    o.stop = &seen.stop;
    o.progress = listen;
    o.context = &seen;
    return o;
}

static void expect(const mw_study_options *o, const char *letters) {
    mw_error error;
    int failed;
    memset(seen.letters, 0, sizeof seen.letters);
    CHECK_OK(mw_study_run(o, &failed, &error), error);
    assert_int_equal(failed, 0);
    assert_string_equal(seen.letters, letters);
}

static int lines_of(const char *path) {
    static char text[1 << 16];
    int count = 0;
    text[scratch_read(scratch(path), text, sizeof text - 1)] = 0;
    for (const char *c = text; *c; c++) count += *c == '\n';
    return count;
}

static const char *const spread[] = {"spread-random"};

static void test_resume(void **state) {
    (void)state;
    mw_error error;
    int failed;
    mw_study_options o = options_of("study", spread, 1);
    expect(&o, "dddd");
    CHECK_NEAR(seen.left, 0, 0);
    assert_int_equal(lines_of("study/stages.jsonl"), 5);
    CHECK_FAILS(mw_study_run(&o, &failed, &error), MW_ERR_ARGUMENT, error, "'resume' continues it");
    o.resume = true;
    expect(&o, "kkkk");
    assert_int_equal(lines_of("study/stages.jsonl"), 5);
    FILE *record = fopen(scratch("study/stages.jsonl"), "a"); /* a crash within a line */
    assert_true(record && fputs("{\"sett", record) >= 0 && fclose(record) == 0);
    o.episodes = 2;
    expect(&o, "kkdk");
    assert_int_equal(lines_of("study/stages.jsonl"), 7);
    o.snippets = 16;
    expect(&o, "kkkd");
    o.assignment_count = TINY - 1; /* the target is the data's own: another bundle */
    expect(&o, "kddd");
    o.seed = 5;
    expect(&o, "dddd");
    expect(&o, "kkkk");
    /* files that are gone or damaged */
    assert_int_equal(remove(scratch("study/results/spread-random.json")), 0);
    expect(&o, "kkkk");
    assert_true(mw_file_exists(scratch("study/results/spread-random.json")));
    scratch_write(scratch("study/eval/spread-random.json"), "{", 1);
    expect(&o, "kkdk");
    scratch_write(scratch("study/bundles/spread-random.safetensors"), "????????????", 12);
    memset(seen.letters, 0, sizeof seen.letters);
    CHECK_OK(mw_study_run(&o, &failed, &error), error);
    assert_memory_equal(seen.letters, "kd", 2); /* to the same bits, unless it took another time */
    assert_int_equal(remove(scratch("study/data/spread-random/rewards.npy")), 0);
    expect(&o, "dkkk"); /* the same data comes back, so nothing else has to follow */
    FILE *column = fopen(scratch("study/data/spread-random/rewards.npy"), "r+b");
    assert_true(column && fseek(column, -3, SEEK_END) == 0 && fputc('?', column) == '?' &&
                fclose(column) == 0);
    expect(&o, "dkkk"); /* a byte is enough to be noticed */
}

/* The weights of one part, as the bundle's file has them. */
static uint64_t weights_of(const char *bundle, const char *part) {
    mw_safetensors file;
    mw_error error;
    uint64_t hash = MW_HASH_START;
    CHECK_OK(mw_safetensors_open(&file, scratch(bundle), &error), error);
    int count = 0;
    for (size_t i = 0; i < file.tensor_count; i++) {
        const mw_tensor *t = &file.tensors[i];
        if (strncmp(t->name, part, strlen(part))) continue;
        hash = mw_hash(hash, t->data, mw_dtype_size(t->type) * t->count);
        count++;
    }
    assert_true(count > 10);
    mw_safetensors_close(&file);
    return hash;
}

/* A setting of the world model changes: the policy is kept, and the bundle is what a new training gives. */
static void test_kept_parts(void **state) {
    (void)state;
    static const char *const bundle = "parts/bundles/spread-random.safetensors",
                             *const fresh = "fresh/bundles/spread-random.safetensors";
    static const char *changed[TINY + 2];
    memcpy(changed, tiny, sizeof tiny);
    changed[TINY] = "rwm.steps=9";
    mw_study_options o = options_of("parts", spread, 1);
    o.anchors = o.snippets = 0;
    expect(&o, "dddd");
    const uint64_t policy = weights_of(bundle, "flow."), world = weights_of(bundle, "rwm.");
    o.resume = true;
    o.assignments = changed;
    o.assignment_count = TINY + 1;
    seen.stopping = true; /* and stopped at once */
    seen.stop_at = MW_STUDY_TRAIN;
    mw_error error;
    int failed;
    assert_int_equal(mw_study_run(&o, &failed, &error), MW_ERR_INTERRUPTED);
    assert_true(mw_file_exists(scratch("parts/bundles/spread-random.safetensors.before")));
    seen.stopping = false;
    seen.stop = 0;
    expect(&o, "kddd");
    assert_true(weights_of(bundle, "flow.") == policy && weights_of(bundle, "rwm.") != world);
    assert_false(mw_file_exists(scratch("parts/bundles/spread-random.safetensors.before")));
    json_t *root;
    CHECK_OK(mw_json_read(&root, scratch("parts/results/spread-random.json"), &error), error);
    const json_t *training = json_object_get(root, "training");
    assert_true(json_is_real(json_object_get(json_object_get(training, "flow"), "seconds")));
    json_decref(root);
    mw_study_options anew = options_of("fresh", spread, 1);
    anew.anchors = anew.snippets = 0;
    anew.assignments = changed;
    anew.assignment_count = TINY + 1;
    expect(&anew, "dddd");
    assert_true(weights_of(fresh, "flow.") == policy);
    assert_true(weights_of(fresh, "rwm.") == weights_of(bundle, "rwm."));
    /* a setting of the policy: the world model is kept; a checkpoint of other settings is not continued */
    const uint64_t kept_world = weights_of(fresh, "rwm.");
    changed[TINY + 1] = "flow.steps=9";
    anew.assignment_count = TINY + 2;
    seen.stopping = true;
    seen.stop_at = MW_STUDY_TRAIN;
    anew.resume = true;
    assert_int_equal(mw_study_run(&anew, &failed, &error), MW_ERR_INTERRUPTED);
    seen.stopping = false;
    seen.stop = 0;
    changed[TINY + 1] = "flow.steps=10";
    expect(&anew, "kddd");
    assert_true(weights_of(fresh, "flow.") != policy && weights_of(fresh, "rwm.") == kept_world);
    assert_false(mw_file_exists(scratch("fresh/bundles/spread-random.safetensors.before")));
    CHECK_OK(mw_json_read(&root, scratch("fresh/results/spread-random.json"), &error), error);
    training = json_object_get(root, "training");
    assert_true(json_is_real(json_object_get(json_object_get(training, "rwm"), "seconds")));
    json_decref(root);
    /* a setting of the planner: both are kept, and the bundle is told */
    const uint64_t last_policy = weights_of(fresh, "flow.");
    static const char *planning[TINY + 4];
    memcpy(planning, changed, sizeof changed);
    planning[TINY + 2] = "plan.action_offset=0.25";
    planning[TINY + 3] = "plan.warm_start=off";
    anew.assignments = planning;
    anew.assignment_count = TINY + 4;
    expect(&anew, "kddd");
    assert_true(weights_of(fresh, "flow.") == last_policy && weights_of(fresh, "rwm.") == kept_world);
    mw_bundle *told;
    CHECK_OK(mw_bundle_load(&told, scratch(fresh), &error), error);
    CHECK_NEAR(told->plan.action_offset, 0.25, 0);
    assert_false(told->plan.warm_start);
    mw_bundle_free(told);
    CHECK_OK(mw_json_read(&root, scratch("fresh/results/spread-random.json"), &error), error);
    training = json_object_get(root, "training");
    assert_true(json_is_real(json_object_get(json_object_get(training, "flow"), "seconds")));
    assert_true(json_is_real(json_object_get(json_object_get(training, "rwm"), "seconds")));
    json_decref(root);
    anew.assignments = changed;
    anew.assignment_count = TINY + 2;
    expect(&anew, "kddd");
    /* an error that is given, and then measured again */
    planning[TINY + 2] = "plan.return_error=5";
    anew.assignments = planning;
    anew.assignment_count = TINY + 3;
    expect(&anew, "kddd");
    expect(&anew, "kkkk");
    anew.assignments = changed;
    anew.assignment_count = TINY + 2;
    expect(&anew, "kddd");
    expect(&anew, "kkkk");
    /* stopped after a change that is then taken back: the bundle of before is the current one again */
    changed[TINY + 1] = "flow.steps=11";
    seen.stopping = true;
    assert_int_equal(mw_study_run(&anew, &failed, &error), MW_ERR_INTERRUPTED);
    seen.stopping = false;
    seen.stop = 0;
    changed[TINY + 1] = "flow.steps=10";
    expect(&anew, "kkkk");
}

static void test_summary(void **state) {
    (void)state;
    json_t *root;
    mw_error error;
    const char *text;
    CHECK_OK(mw_json_read(&root, scratch("study/results/spread-random.json"), &error), error);
    CHECK_OK(mw_json_get_string(root, "setting", "summary", &text, &error), error);
    assert_string_equal(text, "spread-random");
    const json_t *arms = json_object_get(json_object_get(root, "eval"), "arms");
    assert_int_equal(json_object_size(arms), 2);
    assert_true(json_is_real(json_object_get(json_object_get(arms, "plan"), "return")));
    const json_t *data = json_object_get(root, "data"), *training = json_object_get(root, "training");
    assert_int_equal(json_integer_value(json_object_get(data, "steps")), 500);
    assert_true(json_is_real(json_object_get(data, "score")));
    const json_t *flow = json_object_get(training, "flow"), *rwm = json_object_get(training, "rwm");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(flow, "configuration"), "dim")), 16);
    const json_t *details[] = {json_object_get(flow, "details"), json_object_get(rwm, "details")};
    assert_true(json_is_real(json_object_get(json_object_get(details[0], "held"), "flow")));
    assert_true(json_is_real(json_object_get(json_object_get(details[1], "held"), "reward")));
    assert_int_equal(json_array_size(json_object_get(json_object_get(root, "snippets"), "horizons")), 16);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(root, "same_state"), "anchors")), 2);
    assert_true(json_is_number(json_object_get(json_object_get(root, "seconds"), "train")));
    CHECK_OK(mw_json_get_string(json_object_get(root, "provenance"), "command", "provenance", &text, &error),
             error);
    assert_string_equal(text, "test");
    json_decref(root);
}

/* No behaviour of spread-medium is there: its failure is recorded and the next setting runs. */
static void test_failure(void **state) {
    (void)state;
    static const char *const names[] = {"tag-random", "spread-medium"};
    mw_error error;
    int failed;
    mw_study_options o = options_of("broken", names, 2);
    o.anchors = o.snippets = 0;
    o.behaviors = "nowhere\xe9"; /* messages and commands need not be UTF-8 */
    o.command = "test\xe9";
    CHECK_OK(mw_study_run(&o, &failed, &error), error);
    assert_int_equal(failed, 1);
    assert_string_equal(seen.letters, "Fdddd");
    assert_non_null(strstr(seen.failure, "spread-medium.safetensors"));
    assert_int_equal(lines_of("broken/stages.jsonl"), 6);
    assert_true(mw_file_exists(scratch("broken/results/tag-random.json")));
    assert_false(mw_file_exists(scratch("broken/results/spread-medium.json")));
    static const char *const wrong[] = {"flow.dim=banana"};
    o.assignments = wrong;
    o.assignment_count = 1;
    o.folder = scratch("never");
    CHECK_FAILS(mw_study_run(&o, &failed, &error), MW_ERR_ARGUMENT, error, "flow.dim");
    assert_false(mw_file_exists(scratch("never")));
}

/* A stop within training and within the evaluation; the end is the same as without. */
static void test_interruption(void **state) {
    (void)state;
    mw_error error;
    int failed;
    for (mw_study_stage stage = MW_STUDY_TRAIN; stage <= MW_STUDY_EVAL; stage++) {
        mw_study_options o = options_of("stopped", spread, 1);
        o.resume = true;
        seen.stopping = true;
        seen.stop_at = stage;
        assert_int_equal(mw_study_run(&o, &failed, &error), MW_ERR_INTERRUPTED);
        assert_string_equal(seen.letters, stage == MW_STUDY_TRAIN ? "d" : "kd");
        assert_false(mw_file_exists(scratch("stopped/results/spread-random.json")));
    }
    mw_study_options o = options_of("stopped", spread, 1);
    o.resume = true;
    o.drop_data = true;
    expect(&o, "kkdd");
    assert_false(mw_file_exists(scratch("stopped/data/spread-random")));
    expect(&o, "kkkk"); /* finished without its data */
    o.episodes = 3;
    o.drop_data = false;
    expect(&o, "dkdk");
}

/* ---- as a user runs it ---- */

static int run(const char *arguments) {
    char command[2048];
    snprintf(command, sizeof command, "'%s' study %s", MAWAM_PROGRAM, arguments);
    return program_shell(command);
}

static void test_program(void **state) {
    (void)state;
    char arguments[600];
    assert_int_equal(run("--help"), 0);
    assert_int_equal(run("run --help"), 0);
    assert_int_equal(run("run no-such"), 2);
    assert_non_null(strstr(program_output, "no setting 'no-such'"));
    assert_int_equal(run("run --budget slow"), 2);
    assert_int_equal(run("run --arms psychic"), 2);
    assert_int_equal(run("run --parts main,soul"), 2);
    assert_int_equal(run("run --episodes chess=3"), 2);
    assert_int_equal(run("run --episodes mpe=2,battle=0"), 2);
    snprintf(arguments, sizeof arguments, "run spread-random --dir %s", scratch("study"));
    assert_int_equal(run(arguments), 1);
    assert_non_null(strstr(program_output, "holds results of an earlier run"));
    /* options of a stage that fails are named as they are typed too */
    snprintf(arguments, sizeof arguments,
             "run spread-random --dir %s --parts main --resume --seed 99 --seeds 2 --transitions 500",
             scratch("study"));
    assert_int_equal(run(arguments), 1);
    assert_non_null(strstr(program_output, "; --first-seed chooses others, --play-again repeats these"));
    snprintf(arguments, sizeof arguments, "run spread-medium --parts main --dir %s --behaviors %s",
             scratch("failing"), scratch("nothing"));
    assert_int_equal(run(arguments), 1);
    assert_non_null(strstr(program_output, "1 failure in settings or baselines"));
    snprintf(arguments, sizeof arguments, "report --dir %s --dir %s -o %s", scratch("study"),
             scratch("broken"), scratch("report"));
    assert_int_equal(run(arguments), 0);
    assert_non_null(strstr(program_output, "2 of 30 settings"));
    assert_true(mw_file_exists(scratch("report/index.html")));
    snprintf(arguments, sizeof arguments, "report --dir %s -o %s", scratch("empty"), scratch("report"));
    assert_int_equal(run(arguments), 1);
    assert_non_null(strstr(program_output, "no summaries"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resume),       cmocka_unit_test(test_summary),
        cmocka_unit_test(test_failure),      cmocka_unit_test(test_kept_parts),
        cmocka_unit_test(test_interruption), cmocka_unit_test(test_program),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
