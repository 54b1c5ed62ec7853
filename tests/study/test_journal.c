/* The record of a study among several writers, the marks of tasks, and plans and states as texts. */
#include "core/file.h"
#include "core/json.h"
#include "scratch.h"
#include "study/graph.h"
#include "study/journal.h"
#include "study/mark.h"

#include <sys/wait.h>

/* ---- the record ---- */

enum { WRITERS = 4, LINES = 40 };

typedef struct {
    int lines, of[WRITERS];
} heard;

static mw_status hear(void *context, const json_t *line, mw_error *error) {
    (void)error;
    heard *h = context;
    const int writer = (int)json_integer_value(json_object_get(line, "writer"));
    /* every writer's own lines come in their order, whole */
    assert_int_equal(json_integer_value(json_object_get(line, "line")), h->of[writer]++);
    h->lines++;
    return MW_OK;
}

/* Between begin and append nobody else writes: the line says how many were there. */
static int write_lines(int writer) {
    heard h = {0};
    mw_journal j;
    mw_error error;
    int own = 0;
    if (mw_journal_open(&j, scratch("shared"), false, hear, &h, &error) != MW_OK) return 1;
    for (; own < LINES; own++) {
        if (mw_journal_begin(&j, &error) != MW_OK) return 2;
        json_t *line = json_pack("{s:i, s:i, s:i}", "writer", writer, "line", own, "before", h.lines + own);
        const mw_status status = mw_journal_append(&j, line, &error);
        mw_journal_end(&j);
        json_decref(line);
        if (status != MW_OK) return 3;
    }
    mw_journal_close(&j);
    return 0;
}

static mw_status hear_order(void *context, const json_t *line, mw_error *error) {
    (void)error;
    int *count = context;
    assert_int_equal(json_integer_value(json_object_get(line, "before")), *count);
    ++*count;
    return MW_OK;
}

static void test_writers(void **state) {
    (void)state;
    pid_t children[WRITERS];
    mw_error error;
    int status, count = 0;
    assert_int_equal(mkdir(scratch("shared"), 0777), 0);
    for (int i = 0; i < WRITERS; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) _exit(write_lines(i));
    }
    for (int i = 0; i < WRITERS; i++) {
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    CHECK_OK(mw_journal_read(scratch("shared"), hear_order, &count, &error), error);
    assert_int_equal(count, WRITERS * LINES);
}

/* Tasks share a folder; whoever works alone has it for himself. */
static void test_alone(void **state) {
    (void)state;
    heard h = {0};
    mw_journal one, two, alone;
    mw_error error;
    assert_int_equal(mkdir(scratch("folder"), 0777), 0);
    CHECK_OK(mw_journal_open(&one, scratch("folder"), false, hear, &h, &error), error);
    CHECK_OK(mw_journal_open(&two, scratch("folder"), false, hear, &h, &error), error);
    CHECK_FAILS(mw_journal_open(&alone, scratch("folder"), true, hear, &h, &error), MW_ERR_IO, error,
                "another study is running");
    mw_journal_close(&alone);
    mw_journal_close(&one);
    mw_journal_close(&two);
    CHECK_OK(mw_journal_open(&alone, scratch("folder"), true, hear, &h, &error), error);
    CHECK_FAILS(mw_journal_open(&one, scratch("folder"), false, hear, &h, &error), MW_ERR_IO, error,
                "another study is running");
    mw_journal_close(&one);
    mw_journal_close(&alone);
}

/* ---- marks ---- */

static void test_marks(void **state) {
    (void)state;
    mw_mark mark, other;
    mw_marked seen;
    mw_error error;
    int status;
    CHECK_OK(mw_mark_take(&mark, scratch("marks"), "paper/x/train", NULL, &error), error);
    mw_mark_look(&seen, scratch("marks"), "paper/x/train");
    assert_true(seen.running && !seen.done && seen.process == (long)getpid() && seen.seconds < 60);
    /* another process waits, unless it is stopped */
    const mw_stop_flag stopped = 1;
    CHECK_FAILS(mw_mark_take(&other, scratch("marks"), "paper/x/train", &stopped, &error), MW_ERR_INTERRUPTED,
                error, "stopped");
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const mw_status taken = mw_mark_take(&other, scratch("marks"), "paper/x/train", NULL, &error);
        _exit(taken == MW_OK && mw_file_exists(other.done) ? 0 : 1);
    }
    usleep(100000);
    CHECK_OK(mw_mark_done(&mark, &error), error);
    mw_mark_release(&mark);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    mw_mark_look(&seen, scratch("marks"), "paper/x/train"); /* the child has ended, however it left its lock
                                                             */
    assert_true(!seen.running && seen.done);
    CHECK_OK(mw_mark_take(&mark, scratch("marks"), "paper/x/train", NULL, &error), error);
    CHECK_OK(mw_mark_begin(&mark, &error), error);
    mw_mark_release(&mark);
    mw_mark_look(&seen, scratch("marks"), "paper/x/train");
    assert_false(seen.done || seen.running);
}

/* ---- the graph ---- */

static void test_needs(void **state) {
    (void)state;
    mw_graph *g;
    mw_error error;
    mw_study_options o;
    mw_study_options_init(&o, sizeof o);
    CHECK_OK(mw_graph_make(&g, &o, &error), error);
    for (int i = 0; i < g->count; i++) {
        const mw_task *t = &g->tasks[i];
        assert_int_equal(mw_graph_find(g, t->name), i); /* names are their own */
        for (int n = 0; n < t->need_count; n++) {
            assert_true(t->needs[n] < i);
            assert_true(g->tasks[t->needs[n]].level < t->level);
        }
    }
    const mw_task *longer = &g->tasks[mw_graph_find(g, "longer/tag-medium/train")];
    assert_int_equal(longer->need_count, 2); /* the data, and the policy that it keeps */
    assert_string_equal(g->tasks[longer->needs[0]].name, "tag-medium/data");
    assert_string_equal(g->tasks[longer->needs[1]].name, "paper/tag-medium/train");
    const mw_task *bc = &g->tasks[mw_graph_find(g, "tag-medium/baselines/bc")];
    assert_int_equal(bc->need_count, 1);
    assert_string_equal(g->tasks[bc->needs[0]].name, "tag-medium/data");
    const mw_task *summary = &g->tasks[mw_graph_find(g, "seeds/1/tag-medium/summary")];
    assert_int_equal(summary->need_count, 1); /* nothing is diagnosed there */
    assert_string_equal(g->tasks[g->count - 1].name, "cost");
    assert_true(mw_graph_find(g, "seeds/1/tag-medium/data") < 0); /* shared */
    mw_graph_free(g);
}

/* ---- texts ---- */

static mw_study_options options(const char *folder) {
    static const mw_setting *setting;
    mw_error error;
    mw_study_options o;
    mw_study_options_init(&o, sizeof o);
    CHECK_OK(mw_setting_find(&setting, "tag-medium", &error), error);
    o.folder = folder;
    o.settings = &setting;
    o.count = 1;
    o.parts = 1u << MW_STUDY_PART_MAIN | 1u << MW_STUDY_PART_COST;
    return o;
}

static void expect_in(const char *text, const char *words) {
    if (!strstr(text, words)) fail_msg("no '%s' in:\n%s", words, text);
}

/* Words of a command survive shell, make and ninja. */
static void test_quoting(void **state) {
    (void)state;
    char *text;
    mw_error error;
    mw_study_options o = options("st");
    o.behaviors = "it's $5 #1";
    CHECK_OK(mw_study_plan(&text, &o, "lines", "/my mawam", NULL, &error), error);
    expect_in(text,
              "\t'/my mawam' study run --dir st --parts main,cost --behaviors 'it'\\''s $5 #1' --threads 1 "
              "--task tag-medium/train\n");
    expect_in(text,
              "cost.json\t'/my mawam' study run --dir st --parts main,cost --behaviors 'it'\\''s $5 #1' "
              "--threads 0 --task cost\n");
    free(text);
    CHECK_OK(mw_study_plan(&text, &o, "make", NULL, NULL, &error), error);
    expect_in(text, "RUN = mawam study run --dir st --parts main,cost --behaviors 'it'\\''s $$5 \\#1'\n");
    expect_in(text, "\nst/tasks/cost.done: st/tasks/tag-medium/summary.done $(PLAN)\n"
                    "\t$(RUN) --threads 0 --task cost\n");
    free(text);
    CHECK_OK(mw_study_plan(&text, &o, "ninja", NULL, NULL, &error), error);
    expect_in(text, "'it'\\''s $$5 #1'\n");
    free(text);
    CHECK_FAILS(mw_study_plan(&text, &o, "yaml", NULL, NULL, &error), MW_ERR_ARGUMENT, error,
                "known: lines, make, ninja, slurm");
    o.folder = "my study";
    CHECK_FAILS(mw_study_plan(&text, &o, "make", NULL, NULL, &error), MW_ERR_ARGUMENT, error, "'my study'");
    assert_null(text);
    o.folder = "st";
    o.drop_data = true;
    CHECK_FAILS(mw_study_plan(&text, &o, "lines", NULL, NULL, &error), MW_ERR_ARGUMENT, error, "drop_data");
}

/* Recorded costs: of the task itself, or else of what is most like it; the largest of an array for Slurm. */
static void test_expected(void **state) {
    (void)state;
    static const char record[] =
        "{\"setting\":\"tag-medium\",\"stage\":\"train\",\"seconds\":1200,\"memory\":2147483648}\n"
        "{\"setting\":\"tag-expert\",\"stage\":\"eval\",\"seconds\":60}\n"
        "{\"setting\":\"tag-medium\",\"stage\":\"diagnose\",\"seconds\":9,\"error\":\"no room\"}\n"
        "{\"setting\":\"tag-medi";
    char *text;
    json_t *root;
    mw_error error;
    assert_int_equal(mkdir(scratch("costs"), 0777), 0);
    scratch_write(scratch("costs/stages.jsonl"), record, sizeof record - 1);
    mw_study_options o = options(scratch("costs"));
    CHECK_OK(mw_study_plan(&text, &o, "lines", NULL, NULL, &error), error);
    expect_in(text, "tag-medium/train\t1\t1\t1200\t2048\ttag-medium/data\t");
    expect_in(text, "tag-medium/eval\t2\t1\t60\tunknown\t");
    expect_in(text, "tag-medium/diagnose\t2\t1\tunknown\tunknown\t");
    free(text);
    CHECK_OK(mw_study_plan(&text, &o, "slurm", NULL, NULL, &error), error);
    expect_in(text, "train=$(submit --job-name=mawam-train --array=");
    expect_in(text, " --cpus-per-task=1 --time=60 --mem=3072M --dependency=aftercorr:$data <<'END'");
    expect_in(text, "cost=$(submit --job-name=mawam-cost --exclusive --dependency=afterok:$data:$train:");
    free(text);
    CHECK_OK(mw_study_status(&text, &o, 2, true, NULL, &error), error);
    CHECK_OK(mw_json_parse(&root, text, strlen(text), "status", &error), error);
    free(text);
    CHECK_NEAR(mw_json_number(root, "left"), 1260, 1e-6); /* one after the other: no second pair of hands
                                                             helps */
    CHECK_NEAR(mw_json_number(root, "failed"), 1, 0);
    CHECK_NEAR(mw_json_number(root, "blocked"), 2, 0); /* the summary, and the cost */
    CHECK_NEAR(mw_json_number(root, "waiting"), 3, 0);
    const json_t *diagnose = json_array_get(json_object_get(root, "tasks"), 3);
    assert_string_equal(json_string_value(json_object_get(diagnose, "error")), "no room");
    json_decref(root);
    CHECK_FAILS(mw_study_status(&text, &o, -1, true, NULL, &error), MW_ERR_ARGUMENT, error, "jobs");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writers), cmocka_unit_test(test_alone),   cmocka_unit_test(test_marks),
        cmocka_unit_test(test_needs),   cmocka_unit_test(test_quoting), cmocka_unit_test(test_expected),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
