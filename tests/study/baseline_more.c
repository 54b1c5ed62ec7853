/* A baseline that comes later. The program runs a study; then this one goes on with it, which is another
 * revision and has two copies of behaviour cloning more, a file and a row each, the second for real actions
 * alone: they are trained, played, resumed and shown, and no file that was there is touched. */
#include "cli/program.h"
#include "core/file.h"
#include "core/json.h"
#include "report/table.h"

static const char *const tiny[] = {
    "flow.dim=16", "flow.steps=8", "flow.batch=4", "rwm.steps=8", "rwm.batch=8", "rwm.hidden=8",
    "inverse.hidden=8", "inverse.steps=8", "inverse.batch=4", "plan.target=0.9", "value.steps=8",
    "value.hidden=8", "bc.hidden=8", "bc.steps=40", "bc.batch=4", "advantage.steps=8", "flow.forecast=8",
    "flow.forecast_batch=8", "advantage.hidden=8", "advantage.features=4",
    /* known to this program alone: */
    "copy.hidden=8", "real.hidden=8", "real.steps=40", "real.batch=4", "copy.steps=40", "copy.batch=4"};
enum { TINY = sizeof tiny / sizeof *tiny, OF_COPIES = 6 };

static const char *const settings[] = {"tag-random", "3m-medium"};

/* ---- the files of a folder ---- */

typedef struct {
    char path[300];
    uint64_t bytes;
    struct timespec changed;
} known_file;

static known_file before[200];
static int known_count;

static uint64_t bytes_of(const char *path) {
    static unsigned char bytes[1 << 16];
    uint64_t hash = MW_HASH_START;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, file)) > 0;) hash = mw_hash(hash, bytes, n);
    fclose(file);
    return hash;
}

/* What was done: a task that failed and is then kept is marked as done anew. */
static bool is_record(const char *path) {
    const char *end = strrchr(path, '/');
    return end && (!strcmp(end, "/stages.jsonl") || strstr(path, "/study/tasks/"));
}

static int look(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)place;
    if (kind != FTW_F || is_record(path)) return 0;
    assert_true(known_count < (int)(sizeof before / sizeof *before));
    known_file *f = &before[known_count++];
    snprintf(f->path, sizeof f->path, "%s", path);
    f->bytes = bytes_of(path);
    f->changed = info->st_mtim;
    return 0;
}

/* Everything in the study, but for its record. */
static void remember(void) {
    known_count = 0;
    assert_int_equal(nftw(scratch("study"), look, 8, FTW_PHYS), 0);
}

static void expect_untouched(void) {
    assert_true(known_count > 10);
    for (int i = 0; i < known_count; i++) {
        struct stat now;
        if (stat(before[i].path, &now) != 0 || now.st_mtim.tv_sec != before[i].changed.tv_sec ||
            now.st_mtim.tv_nsec != before[i].changed.tv_nsec || bytes_of(before[i].path) != before[i].bytes)
            fail_msg("%s was touched", before[i].path);
    }
}

/* ---- the study in this program ---- */

static char letters[256], failure[400];
static int failed;
static mw_stop_flag halt;
static bool halts;

/* A letter a stage (done, kept, Failed), and the names of baselines. */
static void listen(void *context, const mw_study_event *e) {
    (void)context;
    const size_t used = strlen(letters);
    if (e->what == MW_STUDY_STARTS && halts && e->baseline && !strcmp(e->baseline, "copy")) halt = 1;
    if (e->what == MW_STUDY_FAILED) snprintf(failure, sizeof failure, "%s", e->note);
    if (e->what == MW_STUDY_STARTS || e->what == MW_STUDY_RUNS) return;
    snprintf(letters + used, sizeof letters - used, "%s%s%c", e->baseline ? e->baseline : "",
             e->baseline ? "-" : "",
             e->what == MW_STUDY_DONE   ? 'd'
             : e->what == MW_STUDY_KEPT ? 'k'
                                        : 'F');
}

static mw_study_options options(void) {
    static const mw_setting *chosen[2];
    static char folder[128];
    mw_study_options o;
    mw_error error;
    mw_study_options_init(&o, sizeof o);
    for (int i = 0; i < 2; i++) CHECK_OK(mw_setting_find(&chosen[i], settings[i], &error), error);
    snprintf(folder, sizeof folder, "%s/study", scratch_folder);
    o.folder = folder;
    o.settings = chosen;
    o.count = 2;
    o.assignments = tiny;
    o.assignment_count = TINY;
    o.behaviors = SOURCE_DIR "/behaviors";
    o.threads = 1;
    o.transitions = 600;
    o.seeds = 2;
    o.episodes = 2;
    o.timed = 1;
    o.anchors = 2;
    o.snippets = 8;
    o.arms = 1u << 0 | 1u << 2;
    o.resume = true;
    o.parts = 1u << MW_STUDY_PART_MAIN | 1u << MW_STUDY_PART_BASELINES;
    CHECK_OK(mw_model_classes_parse("bc,copy,real", &o.baselines, &error), error);
    o.stop = &halt;
    o.progress = listen;
    return o;
}

static void expect(const mw_study_options *o, const char *seen, int failures) {
    mw_error error;
    letters[0] = failure[0] = 0;
    CHECK_OK(mw_study_run(o, &failed, &error), error);
    assert_string_equal(letters, seen);
    assert_int_equal(failed, failures);
}

/* ---- a baseline more ---- */

/* The program, which knows nothing of the copy, with the same options. */
static void test_before(void **state) {
    (void)state;
    char command[4096];
    int used = snprintf(
        command, sizeof command,
        "'%s' study run %s %s --dir %s --parts main,baselines --baselines bc --behaviors %s/behaviors "
        "--threads 1 --transitions 600 --seeds 2 --episodes 2 --anchors 2 --snippets 8 "
        "--arms reactive,plan",
        MAWAM_PROGRAM, settings[0], settings[1], scratch("study"), SOURCE_DIR);
    for (int i = 0; i < TINY - OF_COPIES; i++)
        used += snprintf(command + used, sizeof command - (size_t)used, " --set %s", tiny[i]);
    assert_int_equal(program_shell(command), 0);
    assert_non_null(strstr(program_output, "baselines bc"));
    assert_true(mw_file_exists(scratch("study/baselines/bc/tag-random.json")));
    assert_true(mw_file_exists(scratch("study/baselines/bc/tag-random.safetensors")));
    assert_false(mw_file_exists(scratch("study/baselines/copy")));
}

static json_t *result(const char *name) {
    char path[128];
    json_t *root;
    mw_error error;
    snprintf(path, sizeof path, "study/%s.json", name);
    CHECK_OK(mw_json_read(&root, scratch(path), &error), error);
    return root;
}

/* Only the copies are trained and played; on the same data and episodes it is what it is a copy of. */
static void test_added(void **state) {
    (void)state;
    mw_study_options o = options();
    static char earlier[1 << 16], later[1 << 16];
    o.timed = 0; /* as the program had it */
    remember();
    earlier[scratch_read(scratch("study/stages.jsonl"), earlier, sizeof earlier - 1)] = 0;
    expect(&o, "kkkkbc-kcopy-dreal-dkkkkbc-kcopy-d", 0);
    expect_untouched();
    later[scratch_read(scratch("study/stages.jsonl"), later, sizeof later - 1)] = 0;
    assert_memory_equal(later, earlier, strlen(earlier)); /* which only grows, by the copy's jobs */
    assert_null(strstr(later + strlen(earlier), "\"baseline\":\"bc\""));
    assert_non_null(strstr(later + strlen(earlier), "\"baseline\":\"copy\""));
    remember();
    expect(&o, "kkkkbc-kcopy-kreal-kkkkkbc-kcopy-k", 0);
    expect_untouched();
    for (int i = 0; i < 2; i++) {
        char ours[64], copied[64];
        snprintf(ours, sizeof ours, "baselines/bc/%s", settings[i]);
        snprintf(copied, sizeof copied, "baselines/copy/%s", settings[i]);
        json_t *bc = result(ours), *copy = result(copied);
        const json_t *a = mw_json_at(bc, "eval.arms.bc.episode_returns"),
                     *b = mw_json_at(copy, "eval.arms.copy.episode_returns");
        assert_true(a && json_equal(a, b));
        assert_string_equal(json_string_value(mw_json_at(bc, "training.bc.data")),
                            json_string_value(mw_json_at(copy, "training.copy.data")));
        assert_string_equal(json_string_value(mw_json_at(copy, "study.revision")), "another");
        assert_string_not_equal(json_string_value(mw_json_at(bc, "study.revision")), "another");
        json_decref(bc);
        json_decref(copy);
    }
}

/* The part alone looks at nothing of the setting's bundle, and takes those baselines that are named. */
static void test_alone(void **state) {
    (void)state;
    mw_study_options o = options();
    mw_error error;
    o.timed = 0;
    o.parts = 1u << MW_STUDY_PART_BASELINES;
    remember();
    expect(&o, "kbc-kcopy-kreal-kkbc-kcopy-k", 0);
    CHECK_OK(mw_model_classes_parse("copy", &o.baselines, &error), error);
    expect(&o, "kcopy-kkcopy-k", 0);
    expect_untouched();
    /* interrupted, and continued */
    assert_int_equal(remove(scratch("study/baselines/copy/3m-medium.json")) |
                         remove(scratch("study/baselines/copy/3m-medium.safetensors")),
                     0);
    halts = true;
    CHECK_FAILS(mw_study_run(&o, &failed, &error), MW_ERR_INTERRUPTED, error, "");
    assert_int_equal(failed, 0);
    halts = false;
    halt = 0;
    expect(&o, "kcopy-kkcopy-d", 0);
    CHECK_OK(mw_model_classes_parse("bc,flow", &o.baselines, &error), error);
    CHECK_FAILS(mw_study_run(&o, &failed, &error), MW_ERR_ARGUMENT, error,
                "play by themselves, bc, copy, real, ");
    CHECK_OK(mw_model_classes_parse("real", &o.baselines, &error), error);
    expect(&o, "kreal-k", 0); /* actions of 3m are discrete */
    CHECK_OK(mw_model_classes_parse("bc", &o.baselines, &error), error);
    o.parts = 1u << MW_STUDY_PART_MAIN;
    CHECK_FAILS(mw_study_run(&o, &failed, &error), MW_ERR_ARGUMENT, error, "part baselines");
}

/* A baseline that fails is told, recorded and counted, and the next one goes on. */
static void test_failure(void **state) {
    (void)state;
    mw_study_options o = options();
    char aside[400];
    o.timed = 0;
    o.parts = 1u << MW_STUDY_PART_BASELINES;
    remember();
    snprintf(aside, sizeof aside, "%s", scratch("study/aside"));
    assert_int_equal(rename(scratch("study/baselines/bc/tag-random.json"), aside), 0);
    assert_int_equal(mkdir(scratch("study/baselines/bc/tag-random.json"), 0777), 0);
    assert_int_equal(remove(scratch("study/baselines/copy/tag-random.json")), 0);
    expect(&o, "kbc-Fcopy-dreal-kkbc-kcopy-k", 1);
    assert_non_null(strstr(failure, "tag-random.json"));
    static char record[1 << 16];
    record[scratch_read(scratch("study/stages.jsonl"), record, sizeof record - 1)] = 0;
    assert_non_null(strstr(record, "\"baseline\":\"bc\",\"seconds\":"));
    assert_int_equal(rmdir(scratch("study/baselines/bc/tag-random.json")), 0);
    assert_int_equal(rename(aside, scratch("study/baselines/bc/tag-random.json")), 0);
    expect(&o, "kbc-kcopy-kreal-kkbc-kcopy-k", 0);
}

/* Each baseline has seeds of its own: other weights are refused before they are trained, and nobody else is.
 */
static void test_played_once(void **state) {
    (void)state;
    static const char *changed[TINY];
    mw_study_options o = options();
    memcpy(changed, tiny, sizeof tiny);
    for (int i = 0; i < TINY; i++)
        if (!strcmp(tiny[i], "copy.hidden=8")) changed[i] = "copy.hidden=9";
    o.timed = 0;
    o.assignments = changed;
    remember();
    expect(&o, "kkkkbc-kcopy-Freal-kkkkkbc-kcopy-F", 2);
    assert_non_null(strstr(failure, "of 3m-medium baselines copy has played them"));
    expect_untouched();
    o.play_again = true;
    o.count = 1;
    expect(&o, "kkkkbc-kcopy-dreal-k", 0);
}

static char text[1 << 20];

static void expect_words(const char *page, const char *words) {
    char path[64];
    snprintf(path, sizeof path, "report/%s", page);
    text[scratch_read(scratch(path), text, sizeof text - 1)] = 0;
    if (!strstr(text, words)) fail_msg("%s: no '%s'", page, words);
}

/* Both stand beside the study's own arms, each by the revision that made it; the program, which does not know
 * the copy, still reports the rest. */
static void test_shown(void **state) {
    (void)state;
    mw_error error;
    char from[128], to[128], command[1024], words[200];
    int present;
    snprintf(from, sizeof from, "%s", scratch("study"));
    snprintf(to, sizeof to, "%s", scratch("report"));
    const char *const folders[] = {from};
    json_t *bc = result("baselines/bc/tag-random");
    CHECK_OK(mw_study_report(folders, 1, to, false, &present, &error), error);
    assert_int_equal(present, 2);
    expect_words("main.html", ">bc</th>");
    expect_words("main.html", ">copy</th>");
    expect_words("main.html", "Revision another of mawam trained and played copy, real.");
    snprintf(words, sizeof words, "Revision %s of mawam trained and played bc.",
             json_string_value(mw_json_at(bc, "study.revision")));
    expect_words("main.html", words);
    expect_words("index.html", "Of several revisions");
    expect_words("index.html", "another (baselines/copy, baselines/real)");
    expect_words("origin.html", "baselines/copy");
    assert_true(mw_file_exists(scratch("report/baselines/copy/3m-medium.json")));
    json_decref(bc);
    snprintf(command, sizeof command, "'%s' study report --dir %s -o %s", MAWAM_PROGRAM, from,
             scratch("report-of-the-program"));
    assert_int_equal(program_shell(command), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_before),  cmocka_unit_test(test_added),       cmocka_unit_test(test_alone),
        cmocka_unit_test(test_failure), cmocka_unit_test(test_played_once), cmocka_unit_test(test_shown),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
