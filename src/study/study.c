/* The study's run over all settings: order, what is finished, what is recorded, how long it will take; see
 * mawam/study.h. The stages themselves are in chain.c. */
#include "core/clock.h"
#include "core/file.h"
#include "core/log.h"
#include "core/numbers.h"
#include "core/options.h"
#include "data/dataset.h"
#include "plan/provenance.h"
#include "report/report.h"
#include "study/chain.h"
#include "study/costs.h"
#include "study/played.h"

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
    mw_study_line lines[MW_STUDY_LINES];
    int count, index;
    double known[MW_STUDY_LINES][MW_STUDY_STAGES]; /* seconds, by line; NaN: not known */
    mw_played played;
    char other[64]; /* a revision that worked here before and is not this one; "": none */
    int log;        /* stages.jsonl, open for appending and locked */
    mw_chain chain;
    mw_study_stage stage;
    double started; /* clock at the start of the stage */
} study;

/* ---- the record of stages ---- */

static int line_of(const study *s, const char *label) {
    for (int i = 0; i < s->count; i++)
        if (!strcmp(s->lines[i].label, label)) return i;
    return -1;
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
    const int line = label ? line_of(s, label) : -1;
    for (int i = 0; line >= 0 && stage && i < MW_STUDY_STAGES; i++)
        if (!strcmp(stage, mw_study_stage_name((mw_study_stage)i)) && json_is_number(seconds) &&
            !json_object_get(root, "error"))
            s->known[line][i] = json_number_value(seconds);
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
               "revision %s has worked in '%.300s' before this one, %s: a report of both is refused as a "
               "mixture",
               s->other, s->options->folder, mw_revision());
    return status;
}

static const char *label_of(const study *s) {
    return s->index < s->count ? s->lines[s->index].label : "all";
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
    json_t *root = json_pack("{s:s, s:s, s:o*, s:s, s:s, s:s, s:o*}", "setting", label_of(s), "stage",
                             mw_study_stage_name(s->stage), "seconds", json_real(round(100 * seconds) / 100),
                             play ? "taken" : "finished", now, "mawam", mw_version(), "revision",
                             mw_revision(), "error", message ? mw_json_words(message) : NULL);
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

static mw_status make_folder(const study *s, const mw_study_line *line, const char *name, mw_error *error) {
    char folder[512];
    snprintf(folder, sizeof folder, "%s%s%s/%s", s->options->folder, *line->folder ? "/" : "", line->folder,
             name);
    return mw_dir_make(folder, error);
}

static mw_status make_folders(const study *s, mw_error *error) {
    for (int i = 0; i < s->count; i++) {
        const mw_study_line *line = &s->lines[i];
        MW_TRY(make_folder(s, line, "results", error));
        for (int k = 0; k < MW_STUDY_COST; k++)
            if (line->stages & 1u << k && (k != MW_STUDY_DATA || !*line->folder))
                MW_TRY(make_folder(s, line, mw_stage_of((mw_study_stage)k)->folder, error));
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

/* ---- how long ---- */

static bool alike(const mw_study_line *a, const mw_study_line *b) {
    return a->method == b->method && a->assignment == b->assignment;
}

/* Of lines by the same method; family and task NULL: any. */
static double mean_known(const study *s, mw_study_stage stage, const mw_study_line *like, const char *task,
                         const char *family) {
    double sum = 0;
    int count = 0;
    for (int i = 0; i < s->count; i++) {
        const char *other = mw_setting_at(s->lines[i].place)->task;
        if (isnan(s->known[i][stage]) || (like && !alike(like, &s->lines[i])) ||
            (task && strcmp(other, task)) || (family && strcmp(mw_study_family(other), family)))
            continue;
        sum += s->known[i][stage];
        count++;
    }
    return count ? sum / count : NAN;
}

static double expected(const study *s, int index, mw_study_stage stage) {
    const mw_study_line *line = &s->lines[index];
    const char *task = mw_setting_at(line->place)->task, *family = mw_study_family(task);
    double seconds = mean_known(s, stage, line, task, NULL);
    if (isnan(seconds)) seconds = mean_known(s, stage, line, NULL, family);
    if (isnan(seconds)) seconds = mean_known(s, stage, NULL, NULL, family);
    return isnan(seconds) ? mean_known(s, stage, NULL, NULL, NULL) : seconds;
}

/* Stages that are recorded count as done; that they are still current is looked at when their turn comes.
 * What nothing is known of yet counts for nothing, unless nothing at all is known. */
static double seconds_left(const study *s, double done, double spent) {
    double left = 0;
    int unknown = 0, judged = 0;
    for (int i = s->index; i < s->count; i++)
        for (int k = i == s->index ? (int)s->stage : 0; k < MW_STUDY_COST; k++) {
            const bool now = i == s->index && k == (int)s->stage;
            if (!(s->lines[i].stages & 1u << k) || (!now && !isnan(s->known[i][k])) ||
                (k == MW_STUDY_DATA && *s->lines[i].folder))
                continue;
            const double whole = now && done > 0.02 ? spent / done : expected(s, i, (mw_study_stage)k);
            unknown += isnan(whole);
            judged += !isnan(whole);
            if (!isnan(whole)) left += now ? fmax(0, whole - spent) : whole;
        }
    return unknown > judged ? NAN : left;
}

/* ---- one setting ---- */

static void tell(const study *s, mw_study_what what, double done, double seconds, const char *note) {
    if (!s->options->progress) return;
    s->options->progress(s->options->context, &(mw_study_event){.what = what,
                                                                .setting = label_of(s),
                                                                .index = s->index,
                                                                .count = s->count,
                                                                .stage = s->stage,
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
    return s->options->stop && *s->options->stop;
}

/* A stage that was asked to stop has not failed, whatever it says. */
static bool interrupted(const study *s, mw_status status, mw_error *error) {
    if (status != MW_ERR_INTERRUPTED && !stopped(s)) return false;
    error->status = MW_ERR_INTERRUPTED;
    return true;
}

/* Seeds are taken on record before they are played, so that nothing that happens later frees them again.
 * Other weights or another plan than those that have them are refused, unless they have played already. */
static mw_status take_seeds(study *s, bool kept, mw_error *error) {
    if (!mw_stage_of(s->stage)->plays) return MW_OK;
    const mw_eval_options e = mw_stage_of(s->stage)->plays(&s->chain);
    mw_play play = {.first = e.first_seed, .count = e.seeds};
    mw_play_label(&play, label_of(s), mw_study_stage_name(s->stage));
    mw_chain_player(&s->chain, s->stage, play.player);
    if (mw_played_has(&s->played, &play)) return MW_OK;
    if (!kept && !s->options->play_again) MW_TRY(mw_played_check(&s->played, &play, error));
    MW_TRY(record(s, NULL, &play, NAN, error));
    return mw_played_add(&s->played, &play, error);
}

/* A bundle that plays with other settings than before cannot have its line's seeds; said before hours of
 * training, with the bundle still there. Without one, training may arrive at the same weights. */
static mw_status foresee_seeds(const study *s, mw_error *error) {
    if (s->stage != MW_STUDY_TRAIN || s->options->play_again || !mw_file_exists(s->chain.bundle))
        return MW_OK;
    for (int k = 0; k < MW_STUDY_COST; k++) {
        const mw_stage *stage = mw_stage_of((mw_study_stage)k);
        if (!stage->plays || !(s->lines[s->index].stages & 1u << k)) continue;
        const mw_eval_options e = stage->plays(&s->chain);
        mw_play play = {.first = e.first_seed, .count = e.seeds, .player = "another"};
        mw_play_label(&play, label_of(s), mw_study_stage_name((mw_study_stage)k));
        MW_TRY(mw_played_check(&s->played, &play, error));
    }
    return MW_OK;
}

static mw_status keep_stage(study *s, mw_error *error) {
    MW_TRY(take_seeds(s, true, error));
    tell(s, MW_STUDY_KEPT, 1, 0, "");
    return MW_OK;
}

static mw_status run_stage(study *s, bool *ran, mw_error *error) {
    double *known = &s->known[s->index][s->stage];
    s->started = mw_clock_seconds();
    if (mw_chain_current(&s->chain, s->stage)) {
        MW_TRY(keep_stage(s, error));
    } else {
        if (stopped(s)) return mw_fail(error, MW_ERR_INTERRUPTED, "stopped");
        MW_TRY(foresee_seeds(s, error));
        MW_TRY(take_seeds(s, false, error));
        tell(s, MW_STUDY_STARTS, 0, 0, "");
        MW_TRY(mw_chain_run(&s->chain, s->stage, error));
        *known = mw_clock_seconds() - s->started + s->chain.earlier;
        MW_TRY(record(s, NULL, NULL, *known, error));
        tell(s, MW_STUDY_DONE, 1, *known, s->chain.note);
        *ran = true;
    }
    s->chain.seconds[s->stage] = *known;
    return MW_OK;
}

static bool has_stage(const study *s) {
    return s->lines[s->index].stages & 1u << s->stage;
}

/* Everything is there, although its dataset was dropped. */
static bool finished_without_data(study *s) {
    char recorded[600];
    snprintf(recorded, sizeof recorded, "%s/dataset.json", s->chain.data);
    if (mw_file_exists(recorded) || !mw_chain_summarized(&s->chain)) return false;
    for (int k = 0; k < MW_STUDY_COST; k++)
        if (mw_stage_of((mw_study_stage)k)->analysis && s->lines[s->index].stages & 1u << k &&
            !mw_chain_current(&s->chain, (mw_study_stage)k))
            return false;
    return true;
}

/* Another line may still need the data; it comes after this one. */
static bool last_of_setting(const study *s) {
    for (int i = s->index + 1; i < s->count; i++)
        if (s->lines[i].place == s->lines[s->index].place) return false;
    return true;
}

/* The summary is written as soon as what it is made of is there, before the analyses. */
static mw_status run_stages(study *s, mw_error *error) {
    bool ran = false;
    if (finished_without_data(s)) {
        for (; s->stage < MW_STUDY_COST; s->stage++)
            if (has_stage(s)) MW_TRY(keep_stage(s, error));
        return MW_OK;
    }
    for (; !mw_stage_of(s->stage)->analysis; s->stage++)
        if (has_stage(s)) MW_TRY(run_stage(s, &ran, error));
    if (ran || !mw_chain_summarized(&s->chain)) MW_TRY(mw_chain_summarize(&s->chain, error));
    for (; s->stage < MW_STUDY_COST; s->stage++)
        if (has_stage(s)) MW_TRY(run_stage(s, &ran, error));
    if (s->options->drop_data && last_of_setting(s)) mw_dataset_remove(s->chain.data);
    return MW_OK;
}

static mw_status run_setting(study *s, mw_error *error) {
    s->stage = MW_STUDY_DATA;
    mw_status status = mw_chain_start(&s->chain, s->options, &s->lines[s->index], error);
    s->chain.progress = within_stage;
    s->chain.context = s;
    if (status == MW_OK) status = run_stages(s, error);
    mw_chain_free(&s->chain);
    return status;
}

/* ---- all of them ---- */

/* Once, when there are bundles; a failure is one of the run's. */
static mw_status run_cost(study *s, int *failed, mw_error *error) {
    bool current;
    s->stage = MW_STUDY_COST;
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
    ++*failed;
    tell(s, MW_STUDY_FAILED, 0, mw_clock_seconds() - s->started, error->message);
    return record(s, error->message, NULL, 0, error);
}

static mw_status run_all(study *s, int *failed, mw_error *error) {
    mw_error trouble = {0};
    for (; s->index < s->count; s->index++) {
        const mw_status status = run_setting(s, error);
        if (status == MW_OK) continue;
        if (interrupted(s, status, error)) return MW_ERR_INTERRUPTED;
        ++*failed;
        tell(s, MW_STUDY_FAILED, 0, mw_clock_seconds() - s->started, error->message);
        if (record(s, error->message, NULL, mw_clock_seconds() - s->started, &trouble) != MW_OK) {
            *error = trouble;
            return trouble.status;
        }
    }
    return run_cost(s, failed, error);
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
    for (int i = 0; i < MW_STUDY_LINES; i++)
        for (int k = 0; k < MW_STUDY_STAGES; k++) s->known[i][k] = NAN;
    s->count = mw_study_lines(s->lines, &options);
    if (s->count == 0) {
        free(s);
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "nothing to do: none of these settings has any of these parts");
    }
    mw_status status = MW_OK;
    for (int i = 0; status == MW_OK && i < s->count; i++) {
        mw_preset preset;
        const mw_study_line *line = &s->lines[i];
        status = mw_chain_preset(&preset, line, &options, error);
    }
    if (status == MW_OK) status = open_folder(s, error);
    if (status == MW_OK) status = run_all(s, failed, error);
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
