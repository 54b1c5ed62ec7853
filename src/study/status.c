/* The state of a study from its files alone: what is done, running, failed and still to do, and how long the
 * rest will take; see mawam/study.h. */
#include "core/numbers.h"
#include "study/expected.h"
#include "study/mark.h"
#include "study/journal.h"
#include "study/work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef enum { WAITING, RUNNING, DONE, FAILED, BLOCKED, STATES } state;
static const char *const state_names[STATES] = {"waiting", "running", "done", "failed", "blocked"};

typedef struct {
    mw_marked mark;
    state state;
    double expected, left; /* seconds; NaN: unknown */
    double end;            /* of the projection: seconds from now */
    char *failure;         /* of its last record, if that was one */
    long long failed;      /* when; 0: unknown */
} task_state;

typedef struct {
    const mw_study_options *options;
    const mw_graph *graph;
    task_state *tasks;
    int counts[STATES];
    int jobs, unknown; /* at a time; tasks of unknown length, which count as nothing */
    double work, left; /* seconds: of all that is to do, and until it is done */
} overview;

/* ---- looking ---- */

static mw_status hear(void *context, const json_t *line, mw_error *error) {
    overview *v = context;
    char name[160];
    const int found = mw_task_of_line(name, line) ? mw_graph_find(v->graph, name) : -1;
    if (found < 0 || json_object_get(line, "played")) return MW_OK;
    const char *message = json_string_value(json_object_get(line, "error"));
    struct tm when = {0};
    const char *finished = json_string_value(json_object_get(line, "finished"));
    const bool told = message && finished && strptime(finished, "%Y-%m-%dT%H:%M:%SZ", &when);
    v->tasks[found].failed = told ? (long long)timegm(&when) : 0;
    free(v->tasks[found].failure);
    v->tasks[found].failure = message ? strdup(message) : NULL;
    return message && !v->tasks[found].failure ? mw_fail(error, MW_ERR_MEMORY, "cannot tell of a failure")
                                               : MW_OK;
}

/* Whether one of those that come before it failed, or waits for one that did. */
static bool is_blocked(const overview *v, const mw_task *t) {
    for (int i = 0; t->job < 0 && i < v->graph->count; i++)
        if (v->tasks[i].state == FAILED) return true;
    for (int n = 0; n < t->need_count; n++) {
        const state s = v->tasks[t->needs[n]].state;
        if (s == FAILED || s == BLOCKED) return true;
    }
    return false;
}

static void look(overview *v, const mw_expected *expected) {
    for (int i = 0; i < v->graph->count; i++) {
        const mw_task *t = &v->graph->tasks[i];
        task_state *s = &v->tasks[i];
        mw_mark_look(&s->mark, v->options->folder, t->name);
        const bool newer = s->failure && s->failed > s->mark.finished; /* than what is there */
        s->state = s->mark.running          ? RUNNING
                   : s->mark.done && !newer ? DONE
                   : s->failure             ? FAILED
                   : is_blocked(v, t)       ? BLOCKED
                                            : WAITING;
        s->expected = mw_expected_seconds(expected, t);
        const double spent = s->mark.running && isfinite(s->mark.seconds) ? s->mark.seconds : 0;
        s->left = s->state == DONE ? 0 : fmax(0, s->expected - spent);
        if (isnan(s->expected) && s->state != DONE) s->left = NAN;
        v->counts[s->state]++;
    }
}

/* ---- how long ---- */

/* When all that comes before a task is done. */
static double ready_at(const overview *v, const mw_task *t) {
    double at = 0;
    for (int i = 0; t->job < 0 && i < v->graph->count; i++) at = fmax(at, v->tasks[i].end);
    for (int n = 0; n < t->need_count; n++) at = fmax(at, v->tasks[t->needs[n]].end);
    return at;
}

static void place(overview *v, double *free_at, int i) {
    task_state *s = &v->tasks[i];
    int least = 0;
    for (int k = 1; k < v->jobs; k++)
        if (free_at[k] < free_at[least]) least = k;
    const double seconds = isnan(s->left) ? 0 : s->left;
    v->unknown += isnan(s->left);
    v->work += seconds;
    s->end = fmax(free_at[least], ready_at(v, &v->graph->tasks[i])) + seconds;
    free_at[least] = s->end;
    v->left = fmax(v->left, s->end);
}

/* Tasks in their order, each on whoever is free first: running ones, then the rest level by level. Failed and
 * blocked ones are taken to be run again. */
static mw_status project(overview *v, mw_error *error) {
    if (v->jobs < 1) v->jobs = v->counts[RUNNING] > 1 ? v->counts[RUNNING] : 1;
    double *free_at = calloc((size_t)v->jobs, sizeof *free_at);
    if (!free_at) return mw_fail(error, MW_ERR_MEMORY, "cannot tell how long a study will take");
    int levels = 0;
    for (int i = 0; i < v->graph->count; i++) {
        if (v->graph->tasks[i].level >= levels) levels = v->graph->tasks[i].level + 1;
        if (v->tasks[i].state == RUNNING) place(v, free_at, i);
    }
    for (int level = 0; level < levels; level++)
        for (int i = 0; i < v->graph->count; i++)
            if (v->graph->tasks[i].level == level && v->tasks[i].state != RUNNING &&
                v->tasks[i].state != DONE)
                place(v, free_at, i);
    free(free_at);
    return MW_OK;
}

/* ---- telling ---- */

static void put_duration(FILE *out, double seconds) {
    if (isnan(seconds))
        fputs("an unknown time", out);
    else if (seconds < 100)
        fprintf(out, "%.0f s", seconds);
    else if (seconds < 5400)
        fprintf(out, "%.0f min", seconds / 60);
    else
        fprintf(out, "%.1f h", seconds / 3600);
}

static void put_text(const overview *v, FILE *out) {
    fprintf(out, "%d tasks", v->graph->count);
    static const state order[STATES] = {DONE, RUNNING, FAILED, BLOCKED, WAITING};
    for (int k = 0; k < STATES; k++)
        fprintf(out, "%s %d %s", k ? "," : ":", v->counts[order[k]], state_names[order[k]]);
    fputc('\n', out);
    for (int i = 0; i < v->graph->count; i++) {
        const task_state *s = &v->tasks[i];
        if (s->state == FAILED) fprintf(out, "failed   %s: %s\n", v->graph->tasks[i].name, s->failure);
        if (s->state != RUNNING) continue;
        fprintf(out, "running  %s: process %ld on %s, for ", v->graph->tasks[i].name, s->mark.process,
                s->mark.host);
        put_duration(out, s->mark.seconds);
        fputs(" of ", out);
        put_duration(out, s->expected);
        fputc('\n', out);
    }
    if (v->counts[DONE] == v->graph->count) return;
    fputs("about ", out);
    put_duration(out, v->unknown && v->work == 0 ? NAN : v->left);
    fprintf(out, " left with %d at a time", v->jobs);
    if (v->unknown)
        fprintf(out, "; %d task%s of unknown length count%s as nothing", v->unknown,
                v->unknown > 1 ? "s" : "", v->unknown > 1 ? "" : "s");
    fputc('\n', out);
}

static json_t *task_json(const overview *v, int i) {
    const task_state *s = &v->tasks[i];
    json_t *task = json_pack("{s:s, s:s, s:o*}", "task", v->graph->tasks[i].name, "state",
                             state_names[s->state], "expected", json_real(s->expected));
    if (s->state == RUNNING) {
        json_object_set_new(task, "host", mw_json_words(s->mark.host));
        json_object_set_new(task, "process", json_integer(s->mark.process));
        json_object_set_new(task, "since", json_string(s->mark.since));
        json_object_set_new(task, "seconds", json_real(s->mark.seconds));
    }
    if (s->state == FAILED) json_object_set_new(task, "error", json_string(s->failure));
    return task;
}

static mw_status put_json(const overview *v, FILE *out, mw_error *error) {
    json_t *root = json_object(), *tasks = json_array();
    for (int k = 0; k < STATES; k++) json_object_set_new(root, state_names[k], json_integer(v->counts[k]));
    json_object_set_new(root, "at_a_time", json_integer(v->jobs));
    json_object_set_new(root, "left", json_real(v->left));
    json_object_set_new(root, "work", json_real(v->work));
    json_object_set_new(root, "unknown", json_integer(v->unknown));
    for (int i = 0; i < v->graph->count; i++) json_array_append_new(tasks, task_json(v, i));
    json_object_set_new(root, "tasks", tasks);
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    json_decref(root);
    if (!text) return mw_fail(error, MW_ERR_MEMORY, "cannot tell of the study");
    fprintf(out, "%s\n", text);
    free(text);
    return MW_OK;
}

/* ---- all of it ---- */

static mw_status make_overview(overview *v, const char *costs, mw_error *error) {
    const char *folder = v->options->folder;
    mw_expected *expected = NULL;
    v->tasks = calloc((size_t)v->graph->count, sizeof *v->tasks);
    if (!v->tasks) return mw_fail(error, MW_ERR_MEMORY, "cannot look at a study");
    mw_status status = mw_expected_read(&expected, v->options, costs ? costs : folder, error);
    if (status == MW_OK) status = mw_journal_read(folder, hear, v, error);
    if (status == MW_OK) {
        look(v, expected);
        status = project(v, error);
    }
    mw_expected_free(expected);
    return status;
}

static void clear(overview *v) {
    for (int i = 0; v->tasks && i < v->graph->count; i++) free(v->tasks[i].failure);
    free(v->tasks);
}

static mw_status tell(char **text, const overview *v, bool json, mw_error *error) {
    size_t size = 0;
    mw_status status = MW_OK;
    FILE *out = open_memstream(text, &size);
    if (!out) return mw_fail(error, MW_ERR_MEMORY, "cannot tell of the study");
    if (json)
        status = put_json(v, out, error);
    else
        put_text(v, out);
    if (fclose(out) != 0 && status == MW_OK)
        status = mw_fail(error, MW_ERR_MEMORY, "cannot tell of the study");
    if (status == MW_OK) return MW_OK;
    free(*text);
    *text = NULL;
    return status;
}

mw_status mw_study_status(char **text, const mw_study_options *given, int jobs, bool json, const char *costs,
                          mw_error *error) {
    MW_PLAIN_NUMBERS;
    mw_study_options options;
    mw_graph *graph = NULL;
    MW_NEED(text);
    *text = NULL;
    MW_TRY(mw_study_options_check(&options, given, error));
    MW_TRY(mw_study_baselines_check(&options, error));
    if (jobs < 0 || jobs > 1000000)
        return mw_fail(error, MW_ERR_ARGUMENT, "'jobs' at a time are 0 to 1000000, not %d", jobs);
    overview v = {.options = &options, .jobs = jobs};
    mw_status status = mw_graph_make(&graph, &options, error);
    v.graph = graph;
    if (status == MW_OK) status = make_overview(&v, costs, error);
    if (status == MW_OK) status = tell(text, &v, json, error);
    if (graph) clear(&v);
    mw_graph_free(graph);
    return status;
}
