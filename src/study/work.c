/* One step of a study and what is told of it; see work.h. */
#include "study/work.h"

#include "core/clock.h"
#include "core/log.h"
#include "plan/provenance.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* ---- the record of stages ---- */

static int job_of(const mw_work *s, const char *label) {
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

static const char *baseline_name(const mw_work *s) {
    return mw_model_class_name(s->step.baseline); /* NULL: the stage has none */
}

/* A line of the record, of this process or of another. */
mw_status mw_work_remember(void *context, const json_t *root, mw_error *error) {
    mw_work *s = context;
    const char *label = json_string_value(json_object_get(root, "setting"));
    const char *stage = json_string_value(json_object_get(root, "stage"));
    const char *revision = json_string_value(json_object_get(root, "revision"));
    if (revision && strcmp(revision, mw_revision())) snprintf(s->other, sizeof s->other, "%s", revision);
    const json_t *seconds = json_object_get(root, "seconds");
    const bool failed = json_object_get(root, "error") != NULL;
    const int job = label ? job_of(s, label) : -1;
    mw_step step;
    if (job >= 0 && find_step(&step, stage, json_string_value(json_object_get(root, "baseline")))) {
        if (json_is_number(seconds)) s->broken[job][mw_study_step_index(step)] = failed;
        if (json_is_number(seconds) && !failed)
            s->known.of[job][mw_study_step_index(step)] = json_number_value(seconds);
    }
    return mw_played_recall(&s->played, root, error);
}

void mw_work_warn(const mw_work *s) {
    if (s->other[0])
        mw_log(MW_LOG_WARNING,
               "revision %s has worked in '%.300s' before this one, %s: a report will name both", s->other,
               s->options->folder, mw_revision());
}

static const char *label_of(const mw_work *s) {
    return s->index < s->count ? s->jobs[s->index].label : "all";
}

/* Memory is known of a task that has a process to itself; bytes. */
static json_t *memory_json(const mw_work *s) {
    struct rusage use;
    if (!s->options->task || getrusage(RUSAGE_SELF, &use) != 0) return NULL;
    return json_integer((json_int_t)use.ru_maxrss * 1024);
}

static json_t *line_of(const mw_work *s, const char *message, const mw_play *play, double seconds) {
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
    if (play)
        json_object_set_new(root, "played", mw_play_json(play));
    else
        json_object_set_new(root, "memory", memory_json(s));
    return root;
}

/* A stage that has finished, or failed with a message. */
mw_status mw_work_record(mw_work *s, const char *message, double seconds, mw_error *error) {
    json_t *line = line_of(s, message, NULL, seconds);
    mw_status status = mw_journal_begin(&s->journal, error);
    if (status == MW_OK) {
        status = mw_journal_append(&s->journal, line, error);
        mw_journal_end(&s->journal);
    }
    json_decref(line);
    return status;
}

/* ---- telling ---- */

static double seconds_left(const mw_work *s, double done, double spent) {
    if (s->options->task) return done >= 1 ? 0 : done > 0.02 ? spent / done - spent : NAN;
    return mw_seconds_left(&s->known, s->jobs, s->count, s->index, s->at, done, spent);
}

void mw_work_tell(const mw_work *s, mw_study_what what, double done, double seconds, const char *note) {
    if (!s->options->progress) return;
    s->options->progress(s->options->context, &(mw_study_event){.what = what,
                                                                .setting = label_of(s),
                                                                .index = s->index,
                                                                .count = s->options->task ? 1 : s->count,
                                                                .stage = s->step.stage,
                                                                .baseline = baseline_name(s),
                                                                .done = done,
                                                                .seconds = seconds,
                                                                .left = seconds_left(s, done, seconds),
                                                                .note = note});
}

void mw_work_within(void *context, double done, const char *note) {
    const mw_work *s = context;
    mw_work_tell(s, MW_STUDY_RUNS, done, mw_clock_seconds() - s->started, note);
}

static bool stopped(const mw_work *s) {
    return mw_stopped(s->options->stop);
}

/* A stage that was asked to stop has not failed, whatever it says. */
bool mw_work_interrupted(const mw_work *s, mw_status status, mw_error *error) {
    if (status != MW_ERR_INTERRUPTED && !stopped(s)) return false;
    error->status = MW_ERR_INTERRUPTED;
    return true;
}

/* The seeds of a step and who plays them; player NULL: the step's bundle. */
static mw_play play_of(const mw_work *s, mw_step step, const char *player) {
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
static mw_status take_free_seeds(mw_work *s, const mw_play *play, bool kept, mw_error *error) {
    if (mw_played_has(&s->played, play)) return MW_OK;
    if (!kept && !s->options->play_again) MW_TRY(mw_played_check(&s->played, play, error));
    json_t *line = line_of(s, NULL, play, NAN);
    const mw_status status = mw_journal_append(&s->journal, line, error);
    json_decref(line);
    return status == MW_OK ? mw_played_add(&s->played, play, error) : status;
}

/* Nobody takes others between the look and the record. */
static mw_status take_seeds(mw_work *s, bool kept, mw_error *error) {
    if (!mw_stage_of(s->step.stage)->plays) return MW_OK;
    const mw_play play = play_of(s, s->step, NULL);
    MW_TRY(mw_journal_begin(&s->journal, error));
    const mw_status status = take_free_seeds(s, &play, kept, error);
    mw_journal_end(&s->journal);
    return status;
}

/* A bundle that is about to be replaced by another one: whoever plays then cannot have the seeds that this
 * one has played. Said before hours of training, with the bundle still there. Without one, training may
 * arrive at the same weights. */
static mw_status foresee_seeds(const mw_work *s, mw_error *error) {
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

mw_status mw_work_done(mw_work *s, bool kept, mw_error *error) {
    const int step = mw_study_step_index(s->step);
    const bool enough = kept && !s->options->task && s->index < s->count && !s->broken[s->index][step] &&
                        mw_file_exists(s->mark.done);
    return enough ? MW_OK : mw_mark_done(&s->mark, error);
}

static mw_status keep_step(mw_work *s, mw_error *error) {
    MW_TRY(take_seeds(s, true, error));
    MW_TRY(mw_work_done(s, true, error));
    mw_work_tell(s, MW_STUDY_KEPT, 1, 0, "");
    return MW_OK;
}

/* What the stage trains for itself comes first: seeds are taken for the weights that play them. */
static mw_status do_step(mw_work *s, mw_error *error) {
    if (stopped(s)) return mw_fail(error, MW_ERR_INTERRUPTED, "stopped");
    const mw_trained trained = mw_run_trained(&s->run, s->step.stage);
    if (s->step.stage == MW_STUDY_TRAIN || trained == MW_TRAINED_NOT) MW_TRY(foresee_seeds(s, error));
    MW_TRY(mw_mark_begin(&s->mark, error));
    mw_work_tell(s, MW_STUDY_STARTS, 0, 0, "");
    if (trained != MW_TRAINED) MW_TRY(mw_run_train_own(&s->run, s->step.stage, error));
    MW_TRY(take_seeds(s, false, error));
    return mw_run_stage(&s->run, s->step.stage, error);
}

void mw_work_take(mw_work *s, int at) {
    s->at = at;
    s->step = s->steps[at];
    mw_run_take(&s->run, s->step);
}

mw_status mw_work_mark(mw_work *s, const mw_study_job *job, mw_step step, mw_error *error) {
    char name[160];
    mw_task_name(name, job, step);
    return mw_mark_take(&s->mark, s->options->folder, name, s->options->stop, error);
}

static mw_status make_step(mw_work *s, double *known, mw_error *error) {
    MW_TRY(do_step(s, error));
    *known = mw_clock_seconds() - s->started + s->run.earlier;
    MW_TRY(mw_work_record(s, NULL, *known, error));
    MW_TRY(mw_work_done(s, false, error));
    mw_work_tell(s, MW_STUDY_DONE, 1, *known, s->run.note);
    return MW_OK;
}

mw_status mw_work_step(mw_work *s, int at, bool *ran, mw_error *error) {
    mw_work_take(s, at);
    double *known = &s->known.of[s->index][mw_study_step_index(s->step)];
    MW_TRY(mw_work_mark(s, &s->jobs[s->index], s->step, error));
    s->started = mw_clock_seconds();
    const bool kept = mw_run_current(&s->run, s->step.stage);
    const mw_status status = kept ? keep_step(s, error) : make_step(s, known, error);
    mw_mark_release(&s->mark);
    if (status == MW_OK && !kept) *ran = true;
    if (status == MW_OK) s->run.seconds[s->step.stage] = *known;
    return status;
}

mw_status mw_work_keep(mw_work *s, int at, mw_error *error) {
    mw_work_take(s, at);
    MW_TRY(mw_work_mark(s, &s->jobs[s->index], s->step, error));
    const mw_status status = keep_step(s, error);
    mw_mark_release(&s->mark);
    return status;
}

/* A failure is told and recorded, and the study goes on. */
mw_status mw_work_failure(mw_work *s, const mw_error *failure, mw_error *error) {
    const double seconds = mw_clock_seconds() - s->started;
    s->failed++;
    mw_work_tell(s, MW_STUDY_FAILED, 0, seconds, failure->message);
    return mw_work_record(s, failure->message, seconds, error);
}
