/* The study's run over all settings: order, what is finished, what is recorded, one task alone; see
 * mawam/study.h. What is done with a step is in work.c, the stages themselves in run.c. */
#include "core/clock.h"
#include "core/file.h"
#include "core/numbers.h"
#include "core/options.h"
#include "data/dataset.h"
#include "study/costs.h"
#include "study/work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const mw_study_options defaults = {.size = sizeof defaults,
                                          .folder = "study",
                                          .budget = MW_BUDGET_FULL,
                                          .anchors = 64,
                                          .snippets = 2000,
                                          .first_seed = MW_STUDY_FIRST_SEED,
                                          .training_seeds = 3};

void mw_study_options_init(mw_study_options *options, size_t size) {
    mw_options_fill(options, size, &defaults, sizeof defaults);
}

/* ---- the folder ---- */

static mw_status refuse(const char *folder, mw_error *error) {
    return mw_fail(error, MW_ERR_ARGUMENT,
                   "'%.300s' holds results of an earlier run; 'resume' continues it, or name another "
                   "folder",
                   folder);
}

static mw_status make_folder(const mw_work *s, const mw_study_job *job, const char *name, mw_error *error) {
    char folder[512];
    snprintf(folder, sizeof folder, "%s%s%s/%s", s->options->folder, *job->folder ? "/" : "", job->folder,
             name);
    return mw_dir_make(folder, error);
}

static mw_status make_folders(const mw_work *s, mw_error *error) {
    for (int i = 0; i < s->count; i++) {
        const mw_study_job *job = &s->jobs[i];
        MW_TRY(make_folder(s, job, "results", error));
        for (int k = 0; k < MW_STUDY_COST; k++)
            if (job->stages & 1u << k && (k != MW_STUDY_DATA || !*job->folder))
                MW_TRY(make_folder(s, job, mw_stage_of((mw_study_stage)k)->folder, error));
        for (int m = 0; m < MW_KINDS; m++) {
            char name[96];
            if (!(job->baselines & 1u << m)) continue;
            snprintf(name, sizeof name, "%s/%s", mw_stage_of(MW_STUDY_BASELINES)->folder,
                     mw_model_class_name(m));
            MW_TRY(make_folder(s, job, name, error));
        }
    }
    return MW_OK;
}

static mw_status open_folder(mw_work *s, mw_error *error) {
    char path[512];
    const mw_study_options *o = s->options;
    const bool resume = o->resume || o->task;
    if (strlen(o->folder) > 400)
        return mw_fail(error, MW_ERR_ARGUMENT, "'%.40s...' is too long a path", o->folder);
    MW_TRY(mw_dir_make(o->folder, error)); /* "" is no folder: what goes below it would go to the root */
    snprintf(path, sizeof path, "%s/results", o->folder);
    if (!resume && mw_file_exists(path)) return refuse(o->folder, error);
    snprintf(path, sizeof path, "%s/stages.jsonl", o->folder);
    if (!resume && mw_file_exists(path)) return refuse(o->folder, error);
    MW_TRY(make_folders(s, error));
    MW_TRY(mw_journal_open(&s->journal, o->folder, !o->task, mw_work_remember, s, error));
    mw_work_warn(s);
    return MW_OK;
}

/* ---- one setting ---- */

static bool is_analysis(const mw_work *s, int at) {
    return mw_stage_of(s->steps[at].stage)->analysis;
}

static bool has_main(const mw_work *s) {
    return s->jobs[s->index].stages & 1u << MW_STUDY_TRAIN;
}

/* Everything is there, although its dataset was dropped. */
static bool finished_without_data(mw_work *s) {
    char recorded[600];
    snprintf(recorded, sizeof recorded, "%s/dataset.json", s->run.data);
    if (mw_file_exists(recorded) || (has_main(s) && !mw_run_summarized(&s->run))) return false;
    for (int k = 0; k < s->step_count; k++) {
        if (!is_analysis(s, k)) continue;
        mw_work_take(s, k);
        if (!mw_run_current(&s->run, s->step.stage)) return false;
    }
    return true;
}

/* Another job may still need the data; it comes after this one. */
static bool last_of_setting(const mw_work *s) {
    for (int i = s->index + 1; i < s->count; i++)
        if (s->jobs[i].place == s->jobs[s->index].place) return false;
    return true;
}

/* The analyses of a job: a baseline that fails leaves the others to go on. */
static mw_status run_analyses(mw_work *s, int at, mw_error *error) {
    const int failed = s->failed;
    bool ran;
    for (; at < s->step_count; at++) {
        const mw_status status = mw_work_step(s, at, &ran, error);
        if (status == MW_OK) continue;
        if (s->step.baseline < 0 || mw_work_interrupted(s, status, error)) return status;
        const mw_error failure = *error;
        MW_TRY(mw_work_failure(s, &failure, error));
    }
    if (s->failed == failed && s->options->drop_data && last_of_setting(s)) mw_dataset_remove(s->run.data);
    return MW_OK;
}

static mw_status summarize(mw_work *s, bool ran, mw_error *error) {
    mw_status status = MW_OK;
    MW_TRY(mw_work_mark(s, &s->jobs[s->index], (mw_step){MW_STUDY_SUMMARY, -1}, error));
    const bool kept = !ran && mw_run_current(&s->run, MW_STUDY_SUMMARY);
    if (!kept) {
        status = mw_mark_begin(&s->mark, error);
        if (status == MW_OK) status = mw_run_stage(&s->run, MW_STUDY_SUMMARY, error);
    }
    if (status == MW_OK) status = mw_work_done(s, kept, error);
    mw_mark_release(&s->mark);
    return status;
}

/* The summary is written as soon as what it is made of is there, before the analyses. */
static mw_status run_steps(mw_work *s, mw_error *error) {
    bool ran = false;
    int at = 0;
    if (finished_without_data(s)) {
        for (; at < s->step_count; at++) MW_TRY(mw_work_keep(s, at, error));
        return MW_OK;
    }
    for (; at < s->step_count && !is_analysis(s, at); at++) MW_TRY(mw_work_step(s, at, &ran, error));
    if (has_main(s)) MW_TRY(summarize(s, ran, error));
    return run_analyses(s, at, error);
}

static mw_status run_setting(mw_work *s, mw_error *error) {
    s->step_count = mw_study_steps(s->steps, &s->jobs[s->index]);
    s->at = 0;
    s->step = s->steps[0];
    s->started = mw_clock_seconds();
    mw_status status = mw_run_start(&s->run, s->options, &s->jobs[s->index], error);
    s->run.progress = mw_work_within;
    s->run.context = s;
    if (status == MW_OK) status = run_steps(s, error);
    mw_run_free(&s->run);
    return status;
}

/* ---- all of them ---- */

static mw_status make_cost(mw_work *s, mw_costs *costs, mw_error *error) {
    MW_TRY(mw_mark_begin(&s->mark, error));
    mw_work_tell(s, MW_STUDY_STARTS, 0, 0, "");
    costs->progress = mw_work_within;
    costs->context = s;
    MW_TRY(mw_costs_run(costs, error));
    const double seconds = mw_clock_seconds() - s->started;
    MW_TRY(mw_work_record(s, NULL, seconds, error));
    mw_work_tell(s, MW_STUDY_DONE, 1, seconds, "");
    return MW_OK;
}

static mw_status make_marked_cost(mw_work *s, mw_error *error) {
    bool current;
    mw_costs costs;
    MW_TRY(mw_work_mark(s, NULL, s->step, error));
    mw_status status = mw_costs_start(&costs, s->options, &current, error);
    if (status == MW_OK && costs.count && current)
        mw_work_tell(s, MW_STUDY_KEPT, 1, 0, "");
    else if (status == MW_OK && costs.count)
        status = make_cost(s, &costs, error);
    const bool kept = !costs.count || current;
    mw_costs_free(&costs);
    if (status == MW_OK) status = mw_work_done(s, kept, error);
    mw_mark_release(&s->mark);
    return status;
}

/* Once, when there are bundles; a failure is one of the run's. */
static mw_status run_cost(mw_work *s, mw_error *error) {
    s->step = (mw_step){MW_STUDY_COST, -1};
    s->started = mw_clock_seconds();
    if (!mw_study_wants(s->options, MW_STUDY_PART_COST)) return MW_OK;
    const mw_status status = make_marked_cost(s, error);
    if (status == MW_OK) return MW_OK;
    if (mw_work_interrupted(s, status, error)) return MW_ERR_INTERRUPTED;
    const mw_error failure = *error;
    return mw_work_failure(s, &failure, error);
}

static mw_status run_all(mw_work *s, mw_error *error) {
    for (; s->index < s->count; s->index++) {
        const mw_status status = run_setting(s, error);
        if (status == MW_OK) continue;
        if (mw_work_interrupted(s, status, error)) return MW_ERR_INTERRUPTED;
        const mw_error failure = *error;
        MW_TRY(mw_work_failure(s, &failure, error));
    }
    return run_cost(s, error);
}

/* ---- one of them ---- */

/* What the task is made of must be there, and of these settings. */
static mw_status check_needs(mw_work *s, mw_step step, mw_error *error) {
    const mw_study_job *job = &s->jobs[0];
    for (int k = 0; !mw_stage_of((mw_study_stage)k)->analysis; k++) {
        const bool needed = k == MW_STUDY_DATA ? step.stage != MW_STUDY_DATA
                            : k == MW_STUDY_TRAIN
                                ? step.stage > MW_STUDY_TRAIN && !mw_stage_of(step.stage)->alone
                                : step.stage == MW_STUDY_SUMMARY && job->stages & 1u << k;
        if (!needed || mw_run_current(&s->run, (mw_study_stage)k)) continue;
        char name[160];
        mw_task_name(name, job, (mw_step){(mw_study_stage)k, -1});
        return mw_fail(error, MW_ERR_MISMATCH,
                       "task '%s' needs '%s', which is not done in '%.200s' with these settings",
                       s->options->task, name, s->options->folder);
    }
    return MW_OK;
}

static mw_status run_one(mw_work *s, mw_error *error) {
    const mw_step step = s->step;
    int at = 0;
    bool ran;
    s->run.progress = mw_work_within;
    s->run.context = s;
    s->step_count = mw_study_steps(s->steps, &s->jobs[0]);
    while (at < s->step_count && mw_study_step_index(s->steps[at]) != mw_study_step_index(step)) at++;
    if (at == s->step_count) s->steps[s->step_count++] = step; /* the summary */
    for (int k = 0; k < MW_STUDY_STAGES; k++) s->run.seconds[k] = s->known.of[0][k];
    MW_TRY(check_needs(s, step, error));
    return mw_work_step(s, at, &ran, error);
}

static mw_status run_task(mw_work *s, mw_error *error) {
    if (s->step.stage == MW_STUDY_COST) return run_cost(s, error);
    mw_status status = mw_run_start(&s->run, s->options, &s->jobs[0], error);
    if (status == MW_OK) status = run_one(s, error);
    mw_run_free(&s->run);
    if (status == MW_OK) return MW_OK;
    if (mw_work_interrupted(s, status, error)) return MW_ERR_INTERRUPTED;
    const mw_error failure = *error;
    return mw_work_failure(s, &failure, error);
}

/* The task's job is the only one then, and the cost's none. */
static mw_status choose_task(mw_work *s, mw_error *error) {
    mw_graph *g;
    const char *name = s->options->task;
    if (s->options->drop_data)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "'drop_data' and 'task' exclude each other: other tasks may need the data");
    mw_status status = mw_graph_make(&g, s->options, error);
    const int found = status == MW_OK ? mw_graph_find(g, name) : -1;
    if (status == MW_OK && found < 0)
        status = mw_fail(
            error, MW_ERR_ARGUMENT,
            "there is no task '%.100s' with these settings and parts; a plan shows which there are", name);
    if (status == MW_OK) {
        const mw_task *t = &g->tasks[found];
        s->count = t->job >= 0;
        if (t->job >= 0) s->jobs[0] = g->jobs[t->job];
        s->step = t->step;
    }
    mw_graph_free(g);
    return status;
}

/* ---- the run ---- */

/* The study's arrays, and what can be refused before anything is written. */
static mw_status prepare(mw_work *s, mw_error *error) {
    const mw_study_options *o = s->options;
    mw_seconds_forget(&s->known);
    MW_TRY(mw_study_baselines_check(o, error));
    s->count = mw_study_jobs(s->jobs, o);
    if (s->count == 0)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "nothing to do: none of these settings has any of these parts");
    if (o->task) MW_TRY(choose_task(s, error));
    for (int i = 0; i < s->count; i++) {
        mw_preset preset;
        MW_TRY(mw_run_preset(&preset, &s->jobs[i], o, error));
    }
    return MW_OK;
}

mw_status mw_study_options_check(mw_study_options *options, const mw_study_options *given, mw_error *error) {
    *options = defaults;
    MW_TRY(mw_options_take(options, sizeof *options, MW_FIELD_END(mw_study_options, context), given,
                           "mw_study_options_init", error));
    MW_TRY(mw_options_texts(options->assignments, options->assignment_count, "assignments", error));
    if (options->training_seeds < 1 || options->training_seeds > MW_STUDY_SEEDS)
        return mw_fail(error, MW_ERR_ARGUMENT, "training seeds are 1 to %d, not %d", MW_STUDY_SEEDS,
                       options->training_seeds);
    if (options->first_seed > INT64_MAX / 2) /* said before hours of training; sweeps go on behind it */
        return mw_fail(error, MW_ERR_ARGUMENT, "the first seed is %llu; it must be less than 2^62",
                       (unsigned long long)options->first_seed);
    return MW_OK;
}

mw_status mw_study_run(const mw_study_options *given, int *failed, mw_error *error) {
    MW_PLAIN_NUMBERS;
    mw_error local;
    mw_study_options options;
    MW_NEED(failed);
    *failed = 0;
    if (!error) error = &local;
    MW_TRY(mw_study_options_check(&options, given, error));
    mw_work *s = calloc(1, sizeof *s);
    if (!s) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a study");
    s->options = &options;
    s->journal.file = s->journal.guard = -1;
    s->started = mw_clock_seconds();
    mw_status status = prepare(s, error);
    if (status == MW_OK) status = open_folder(s, error);
    if (status == MW_OK) status = options.task ? run_task(s, error) : run_all(s, error);
    *failed = s->failed;
    mw_journal_close(&s->journal);
    mw_played_free(&s->played);
    free(s);
    return status;
}
