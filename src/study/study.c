/* The study's run over all settings: order, what is finished, what is recorded, how long it will take; see
 * mawam/study.h. The stages themselves are in run.c. */
#include "core/clock.h"
#include "core/file.h"
#include "core/log.h"
#include "core/numbers.h"
#include "core/options.h"
#include "data/dataset.h"
#include "plan/provenance.h"
#include "report/report.h"
#include "study/run.h"
#include "study/costs.h"
#include "study/played.h"
#include "study/seconds.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

_Static_assert((int)MW_STUDY_SEEDS == (int)MW_SOURCES_SEEDS + 1, "reports take all training seeds");

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

typedef struct {
    const mw_study_options *options;
    mw_study_job jobs[MW_STUDY_JOBS];
    int count, index;
    mw_seconds known; /* by job and step */
    mw_played played;
    char other[64]; /* a revision that worked here before and is not this one; "": none */
    int log;        /* stages.jsonl, open for appending and locked */
    mw_run run;
    mw_step steps[MW_STUDY_STEPS]; /* of the present job */
    int step_count, at;
    mw_step step;   /* that is being done */
    double started; /* clock at its start */
    int failed;     /* settings, and baselines of others */
} study;

/* ---- the record of stages ---- */

static int job_of(const study *s, const char *label) {
    for (int i = 0; i < s->count; i++)
        if (!strcmp(s->jobs[i].label, label)) return i;
    return -1;
}

/* By the names of a stage and, if it has some, of a baseline. */
static bool find_step(mw_step *step, const char *stage, const char *baseline) {
    *step = (mw_step){MW_STUDY_DATA, baseline ? mw_model_class_index(baseline) : -1};
    if (!stage || (baseline && step->baseline < 0)) return false;
    while (step->stage < MW_STUDY_STAGES && strcmp(stage, mw_study_stage_name(step->stage)))
        step->stage = (mw_study_stage)(step->stage + 1);
    return step->stage < MW_STUDY_STAGES;
}

static const char *baseline_name(const study *s) {
    return mw_model_class_name(s->step.baseline); /* NULL: the stage has none */
}

/* A line that was cut by a crash is passed over. */
static mw_status remember(study *s, const char *text, mw_error *error) {
    json_t *root;
    const mw_status read = mw_json_parse(&root, text, strlen(text), "a line", error);
    if (read != MW_OK) return read == MW_ERR_MEMORY ? read : MW_OK;
    const char *label = json_string_value(json_object_get(root, "setting"));
    const char *stage = json_string_value(json_object_get(root, "stage"));
    const char *revision = json_string_value(json_object_get(root, "revision"));
    if (revision && strcmp(revision, mw_revision())) snprintf(s->other, sizeof s->other, "%s", revision);
    const json_t *seconds = json_object_get(root, "seconds");
    const int job = label ? job_of(s, label) : -1;
    mw_step step;
    if (job >= 0 && find_step(&step, stage, json_string_value(json_object_get(root, "baseline"))) &&
        json_is_number(seconds) && !json_object_get(root, "error"))
        s->known.of[job][mw_study_step_index(step)] = json_number_value(seconds);
    const mw_status status = mw_played_recall(&s->played, root, error);
    json_decref(root);
    return status;
}

static mw_status read_record(study *s, const char *path, mw_error *error) {
    char *text, *rest;
    MW_TRY(mw_file_read_text(path, &text, NULL, error));
    mw_status status = MW_OK;
    for (char *line = strtok_r(text, "\n", &rest); line && status == MW_OK;
         line = strtok_r(NULL, "\n", &rest))
        status = remember(s, line, error);
    free(text);
    if (s->other[0])
        mw_log(MW_LOG_WARNING,
               "revision %s has worked in '%.300s' before this one, %s: a report will name both", s->other,
               s->options->folder, mw_revision());
    return status;
}

static const char *label_of(const study *s) {
    return s->index < s->count ? s->jobs[s->index].label : "all";
}

static mw_status cannot_append(const study *s, mw_error *error) {
    return mw_fail(error, MW_ERR_IO, "cannot append to %.400s/stages.jsonl: %s", s->options->folder,
                   strerror(errno));
}

/* What a crash or a full disk left of a line must not swallow the next one. */
static mw_status end_line(const study *s, mw_error *error) {
    char last;
    const off_t size = lseek(s->log, 0, SEEK_END);
    if (size < 1 || (pread(s->log, &last, 1, size - 1) == 1 && last == '\n')) return MW_OK;
    return write(s->log, "\n", 1) == 1 ? MW_OK : cannot_append(s, error);
}

/* A stage that has finished, or failed with a message; or, before it is begun, what it plays. */
static mw_status record(study *s, const char *message, const mw_play *play, double seconds, mw_error *error) {
    char now[32];
    const time_t clock = time(NULL);
    struct tm parts;
    gmtime_r(&clock, &parts);
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", &parts);
    json_t *root =
        json_pack("{s:s, s:s, s:s*, s:o*, s:s, s:s, s:s, s:o*}", "setting", label_of(s), "stage",
                  mw_study_stage_name(s->step.stage), "baseline", baseline_name(s), "seconds",
                  json_real(round(100 * seconds) / 100), play ? "taken" : "finished", now, "mawam",
                  mw_version(), "revision", mw_revision(), "error", message ? mw_json_words(message) : NULL);
    if (play) json_object_set_new(root, "played", mw_play_json(play));
    char *text = json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(root);
    if (!text) return mw_fail(error, MW_ERR_MEMORY, "cannot record a stage");
    const size_t length = strlen(text);
    text[length] = '\n'; /* in place of the zero; the text is written by length */
    mw_status status = end_line(s, error);
    errno = ENOSPC; /* what a short write means, which itself tells nothing */
    if (status == MW_OK && (write(s->log, text, length + 1) != (ssize_t)length + 1 || fsync(s->log) != 0))
        status = cannot_append(s, error);
    free(text);
    return status;
}

/* ---- the folder ---- */

static mw_status refuse(const char *folder, mw_error *error) {
    return mw_fail(error, MW_ERR_ARGUMENT,
                   "'%.300s' holds results of an earlier run; 'resume' continues it, or name another "
                   "folder",
                   folder);
}

static mw_status make_folder(const study *s, const mw_study_job *job, const char *name, mw_error *error) {
    char folder[512];
    snprintf(folder, sizeof folder, "%s%s%s/%s", s->options->folder, *job->folder ? "/" : "", job->folder,
             name);
    return mw_dir_make(folder, error);
}

static mw_status make_folders(const study *s, mw_error *error) {
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

static mw_status open_folder(study *s, mw_error *error) {
    char path[512];
    const mw_study_options *o = s->options;
    if (strlen(o->folder) > 400)
        return mw_fail(error, MW_ERR_ARGUMENT, "'%.40s...' is too long a path", o->folder);
    MW_TRY(mw_dir_make(o->folder, error)); /* "" is no folder: what goes below it would go to the root */
    snprintf(path, sizeof path, "%s/results", o->folder);
    if (!o->resume && mw_file_exists(path)) return refuse(o->folder, error);
    snprintf(path, sizeof path, "%s/stages.jsonl", o->folder);
    const bool there = mw_file_exists(path);
    if (there && !o->resume) return refuse(o->folder, error);
    MW_TRY(make_folders(s, error));
    s->log = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (s->log < 0) return mw_fail(error, MW_ERR_IO, "cannot open '%s': %s", path, strerror(errno));
    if (flock(s->log, LOCK_EX | LOCK_NB) != 0)
        return mw_fail(error, MW_ERR_IO, "another study is running in '%.300s'", o->folder);
    return there ? read_record(s, path, error) : MW_OK;
}

/* ---- one setting ---- */

static double seconds_left(const study *s, double done, double spent) {
    return mw_seconds_left(&s->known, s->jobs, s->count, s->index, s->at, done, spent);
}

static void tell(const study *s, mw_study_what what, double done, double seconds, const char *note) {
    if (!s->options->progress) return;
    s->options->progress(s->options->context, &(mw_study_event){.what = what,
                                                                .setting = label_of(s),
                                                                .index = s->index,
                                                                .count = s->count,
                                                                .stage = s->step.stage,
                                                                .baseline = baseline_name(s),
                                                                .done = done,
                                                                .seconds = seconds,
                                                                .left = seconds_left(s, done, seconds),
                                                                .note = note});
}

static void within_stage(void *context, double done, const char *note) {
    const study *s = context;
    tell(s, MW_STUDY_RUNS, done, mw_clock_seconds() - s->started, note);
}

static bool stopped(const study *s) {
    return mw_stopped(s->options->stop);
}

/* A stage that was asked to stop has not failed, whatever it says. */
static bool interrupted(const study *s, mw_status status, mw_error *error) {
    if (status != MW_ERR_INTERRUPTED && !stopped(s)) return false;
    error->status = MW_ERR_INTERRUPTED;
    return true;
}

/* The seeds of a step and who plays them; player NULL: the step's bundle. */
static mw_play play_of(const study *s, mw_step step, const char *player) {
    const mw_stage *stage = mw_stage_of(step.stage);
    const mw_eval_options e = stage->plays(&s->run);
    mw_play play = {.first = e.first_seed, .count = e.seeds};
    mw_play_label(&play, label_of(s), stage->name, mw_model_class_name(step.baseline));
    if (player)
        snprintf(play.player, sizeof play.player, "%s", player);
    else
        mw_run_player(&s->run, step.stage, play.player);
    return play;
}

/* Seeds are taken on record before they are played, so that nothing that happens later frees them again.
 * Other weights or another plan than those that have them are refused, unless they have played already. */
static mw_status take_seeds(study *s, bool kept, mw_error *error) {
    if (!mw_stage_of(s->step.stage)->plays) return MW_OK;
    const mw_play play = play_of(s, s->step, NULL);
    if (mw_played_has(&s->played, &play)) return MW_OK;
    if (!kept && !s->options->play_again) MW_TRY(mw_played_check(&s->played, &play, error));
    MW_TRY(record(s, NULL, &play, NAN, error));
    return mw_played_add(&s->played, &play, error);
}

/* A bundle that is about to be replaced by another one: whoever plays then cannot have the seeds that this
 * one has played. Said before hours of training, with the bundle still there. Without one, training may
 * arrive at the same weights. */
static mw_status foresee_seeds(const study *s, mw_error *error) {
    char path[720];
    const bool whole = s->step.stage == MW_STUDY_TRAIN;
    mw_run_bundle(&s->run, s->step.stage, path);
    if (s->options->play_again || !mw_file_exists(path)) return MW_OK;
    for (int k = 0; k < s->step_count; k++) {
        const mw_stage *stage = mw_stage_of(s->steps[k].stage);
        if (!stage->plays || (whole ? stage->alone : k != s->at)) continue;
        const mw_play play = play_of(s, s->steps[k], "another");
        MW_TRY(mw_played_check(&s->played, &play, error));
    }
    return MW_OK;
}

static mw_status keep_step(study *s, mw_error *error) {
    MW_TRY(take_seeds(s, true, error));
    tell(s, MW_STUDY_KEPT, 1, 0, "");
    return MW_OK;
}

/* What the stage trains for itself comes first: seeds are taken for the weights that play them. */
static mw_status do_step(study *s, mw_error *error) {
    if (stopped(s)) return mw_fail(error, MW_ERR_INTERRUPTED, "stopped");
    const mw_trained trained = mw_run_trained(&s->run, s->step.stage);
    if (s->step.stage == MW_STUDY_TRAIN || trained == MW_TRAINED_NOT) MW_TRY(foresee_seeds(s, error));
    tell(s, MW_STUDY_STARTS, 0, 0, "");
    if (trained != MW_TRAINED) MW_TRY(mw_run_train_own(&s->run, s->step.stage, error));
    MW_TRY(take_seeds(s, false, error));
    return mw_run_stage(&s->run, s->step.stage, error);
}

static void take_step(study *s, int at) {
    s->at = at;
    s->step = s->steps[at];
    mw_run_take(&s->run, s->step);
}

static mw_status run_step(study *s, int at, bool *ran, mw_error *error) {
    take_step(s, at);
    double *known = &s->known.of[s->index][mw_study_step_index(s->step)];
    s->started = mw_clock_seconds();
    if (mw_run_current(&s->run, s->step.stage)) {
        MW_TRY(keep_step(s, error));
    } else {
        MW_TRY(do_step(s, error));
        *known = mw_clock_seconds() - s->started + s->run.earlier;
        MW_TRY(record(s, NULL, NULL, *known, error));
        tell(s, MW_STUDY_DONE, 1, *known, s->run.note);
        *ran = true;
    }
    s->run.seconds[s->step.stage] = *known;
    return MW_OK;
}

/* A failure is told and recorded, and the study goes on. */
static mw_status note_failure(study *s, const mw_error *failure, mw_error *error) {
    const double seconds = mw_clock_seconds() - s->started;
    s->failed++;
    tell(s, MW_STUDY_FAILED, 0, seconds, failure->message);
    return record(s, failure->message, NULL, seconds, error);
}

static bool is_analysis(const study *s, int at) {
    return mw_stage_of(s->steps[at].stage)->analysis;
}

static bool has_main(const study *s) {
    return s->jobs[s->index].stages & 1u << MW_STUDY_TRAIN;
}

/* Everything is there, although its dataset was dropped. */
static bool finished_without_data(study *s) {
    char recorded[600];
    snprintf(recorded, sizeof recorded, "%s/dataset.json", s->run.data);
    if (mw_file_exists(recorded) || (has_main(s) && !mw_run_summarized(&s->run))) return false;
    for (int k = 0; k < s->step_count; k++) {
        if (!is_analysis(s, k)) continue;
        take_step(s, k);
        if (!mw_run_current(&s->run, s->step.stage)) return false;
    }
    return true;
}

/* Another job may still need the data; it comes after this one. */
static bool last_of_setting(const study *s) {
    for (int i = s->index + 1; i < s->count; i++)
        if (s->jobs[i].place == s->jobs[s->index].place) return false;
    return true;
}

/* The analyses of a job: a baseline that fails leaves the others to go on. */
static mw_status run_analyses(study *s, int at, mw_error *error) {
    const int failed = s->failed;
    bool ran;
    for (; at < s->step_count; at++) {
        const mw_status status = run_step(s, at, &ran, error);
        if (status == MW_OK) continue;
        if (s->step.baseline < 0 || interrupted(s, status, error)) return status;
        const mw_error failure = *error;
        MW_TRY(note_failure(s, &failure, error));
    }
    if (s->failed == failed && s->options->drop_data && last_of_setting(s)) mw_dataset_remove(s->run.data);
    return MW_OK;
}

/* The summary is written as soon as what it is made of is there, before the analyses. */
static mw_status run_steps(study *s, mw_error *error) {
    bool ran = false;
    int at = 0;
    if (finished_without_data(s)) {
        for (; at < s->step_count; at++) {
            take_step(s, at);
            MW_TRY(keep_step(s, error));
        }
        return MW_OK;
    }
    for (; at < s->step_count && !is_analysis(s, at); at++) MW_TRY(run_step(s, at, &ran, error));
    if (has_main(s) && (ran || !mw_run_summarized(&s->run))) MW_TRY(mw_run_summarize(&s->run, error));
    return run_analyses(s, at, error);
}

static mw_status run_setting(study *s, mw_error *error) {
    s->step_count = mw_study_steps(s->steps, &s->jobs[s->index]);
    s->at = 0;
    s->step = s->steps[0];
    s->started = mw_clock_seconds();
    mw_status status = mw_run_start(&s->run, s->options, &s->jobs[s->index], error);
    s->run.progress = within_stage;
    s->run.context = s;
    if (status == MW_OK) status = run_steps(s, error);
    mw_run_free(&s->run);
    return status;
}

/* ---- all of them ---- */

/* Once, when there are bundles; a failure is one of the run's. */
static mw_status run_cost(study *s, mw_error *error) {
    bool current;
    s->step = (mw_step){MW_STUDY_COST, -1};
    s->started = mw_clock_seconds();
    if (!mw_study_wants(s->options, MW_STUDY_PART_COST)) return MW_OK;
    mw_costs costs;
    mw_status status = mw_costs_start(&costs, s->options, &current, error);
    if (status == MW_OK && costs.count && current) {
        tell(s, MW_STUDY_KEPT, 1, 0, "");
    } else if (status == MW_OK && costs.count) {
        tell(s, MW_STUDY_STARTS, 0, 0, "");
        costs.progress = within_stage;
        costs.context = s;
        status = mw_costs_run(&costs, error);
        const double seconds = mw_clock_seconds() - s->started;
        if (status == MW_OK) status = record(s, NULL, NULL, seconds, error);
        if (status == MW_OK) tell(s, MW_STUDY_DONE, 1, seconds, "");
    }
    mw_costs_free(&costs);
    if (status == MW_OK) return MW_OK;
    if (interrupted(s, status, error)) return MW_ERR_INTERRUPTED;
    const mw_error failure = *error;
    return note_failure(s, &failure, error);
}

static mw_status run_all(study *s, mw_error *error) {
    for (; s->index < s->count; s->index++) {
        const mw_status status = run_setting(s, error);
        if (status == MW_OK) continue;
        if (interrupted(s, status, error)) return MW_ERR_INTERRUPTED;
        const mw_error failure = *error;
        MW_TRY(note_failure(s, &failure, error));
    }
    return run_cost(s, error);
}

/* The study's arrays, and what can be refused before anything is written. */
static mw_status prepare(study *s, mw_error *error) {
    const mw_study_options *o = s->options;
    mw_seconds_forget(&s->known);
    MW_TRY(mw_study_baselines_check(o, error));
    s->count = mw_study_jobs(s->jobs, o);
    if (s->count == 0)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "nothing to do: none of these settings has any of these parts");
    for (int i = 0; i < s->count; i++) {
        mw_preset preset;
        MW_TRY(mw_run_preset(&preset, &s->jobs[i], o, error));
    }
    return MW_OK;
}

mw_status mw_study_run(const mw_study_options *given, int *failed, mw_error *error) {
    MW_PLAIN_NUMBERS;
    mw_error local;
    mw_study_options options = defaults;
    MW_NEED(failed);
    *failed = 0;
    if (!error) error = &local;
    MW_TRY(mw_options_take(&options, sizeof options, MW_FIELD_END(mw_study_options, context), given,
                           "mw_study_options_init", error));
    MW_TRY(mw_options_texts(options.assignments, options.assignment_count, "assignments", error));
    if (options.training_seeds < 1 || options.training_seeds > MW_STUDY_SEEDS)
        return mw_fail(error, MW_ERR_ARGUMENT, "training seeds are 1 to %d, not %d", MW_STUDY_SEEDS,
                       options.training_seeds);
    if (options.first_seed > INT64_MAX / 2) /* said before hours of training; sweeps go on behind it */
        return mw_fail(error, MW_ERR_ARGUMENT, "the first seed is %llu; it must be less than 2^62",
                       (unsigned long long)options.first_seed);
    study *s = calloc(1, sizeof *s);
    if (!s) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a study");
    s->options = &options;
    s->log = -1;
    s->started = mw_clock_seconds();
    mw_status status = prepare(s, error);
    if (status == MW_OK) status = open_folder(s, error);
    if (status == MW_OK) status = run_all(s, error);
    *failed = s->failed;
    if (s->log >= 0) close(s->log);
    mw_played_free(&s->played);
    free(s);
    return status;
}

/* ---- report ---- */

mw_status mw_study_report(const char *const *folders, int count, const char *output, bool overwrite,
                          int *present, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED(folders);
    MW_NEED(output);
    mw_sources *sources = malloc(sizeof *sources);
    if (!sources) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a report");
    mw_status status = mw_sources_read(sources, folders, count, output, error);
    if (status == MW_OK) {
        status =
            sources->table.present
                ? mw_report_write(sources, output, overwrite, error)
                : mw_fail(error, MW_ERR_IO, "no summaries in %.300s, neither in results/ nor in settings/",
                          count > 0 ? folders[0] : "no folder");
        if (present) *present = sources->table.present;
        mw_sources_free(sources);
    }
    free(sources);
    return status;
}
