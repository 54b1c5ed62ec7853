/* The study's run over all settings: order, what is finished, what is recorded, how long it will take; see
 * mawam/study.h. The stages themselves are in chain.c. */
#include "core/clock.h"
#include "core/file.h"
#include "core/options.h"
#include "data/dataset.h"
#include "study/chain.h"
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

const char *mw_study_stage_name(mw_study_stage stage) {
    static const char *const names[] = {"data", "train", "eval", "diagnose"};
    return names[stage];
}

static const mw_study_options defaults = {
    .size = sizeof defaults, .folder = "study", .budget = MW_BUDGET_FULL, .anchors = 64, .snippets = 2000};

void mw_study_options_init(mw_study_options *options, size_t size) {
    mw_options_fill(options, size, &defaults, sizeof defaults);
}

typedef struct {
    const mw_study_options *options;
    const mw_setting *settings[MW_TABLE_ROWS];
    int places[MW_TABLE_ROWS]; /* of the settings in their own table */
    int count, index;
    double known[MW_TABLE_ROWS][MW_STUDY_STAGES]; /* seconds, by place; NaN: not known */
    int log;                                      /* stages.jsonl, open for appending and locked */
    mw_chain chain;
    mw_study_stage stage;
    double started; /* clock at the start of the stage */
} study;

/* ---- the record of stages ---- */

static int place_of(const char *name) {
    char known[64];
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        mw_setting_name(mw_setting_at(i), known, sizeof known);
        if (!strcmp(known, name)) return i;
    }
    return -1;
}

/* A line that was cut by a crash is passed over. */
static void remember(study *s, const char *line) {
    json_t *root;
    mw_error ignored;
    if (mw_json_parse(&root, line, strlen(line), "a line", &ignored) != MW_OK) return;
    const char *name = json_string_value(json_object_get(root, "setting"));
    const char *stage = json_string_value(json_object_get(root, "stage"));
    const json_t *seconds = json_object_get(root, "seconds");
    const int place = name ? place_of(name) : -1;
    for (int i = 0; place >= 0 && stage && i < MW_STUDY_STAGES; i++)
        if (!strcmp(stage, mw_study_stage_name((mw_study_stage)i)) && json_is_number(seconds) &&
            !json_object_get(root, "error"))
            s->known[place][i] = json_number_value(seconds);
    json_decref(root);
}

static mw_status read_record(study *s, const char *path, mw_error *error) {
    char *text, *rest;
    MW_TRY(mw_file_read_text(path, &text, NULL, error));
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        remember(s, line);
    free(text);
    return MW_OK;
}

static mw_status record(study *s, const char *message, double seconds, mw_error *error) {
    char now[32];
    const time_t clock = time(NULL);
    struct tm parts;
    gmtime_r(&clock, &parts);
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", &parts);
    json_t *root = json_pack("{s:s, s:s, s:f, s:s, s:s, s:s*}", "setting", s->chain.name, "stage",
                             mw_study_stage_name(s->stage), "seconds", round(100 * seconds) / 100, "finished",
                             now, "mawam", mw_version(), "error", message);
    char *text = root ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(root);
    if (!text) return mw_fail(error, MW_ERR_MEMORY, "cannot record a stage");
    const size_t length = strlen(text);
    text[length] = '\n'; /* in place of the zero; the text is written by length */
    const ssize_t written = write(s->log, text, length + 1);
    free(text);
    if (written != (ssize_t)length + 1 || fsync(s->log) != 0)
        return mw_fail(error, MW_ERR_IO, "cannot append to %.400s/stages.jsonl: %s", s->options->folder,
                       strerror(errno));
    return MW_OK;
}

/* ---- the folder ---- */

static mw_status refuse(const char *folder, mw_error *error) {
    return mw_fail(error, MW_ERR_ARGUMENT,
                   "'%.300s' holds results of an earlier run; continue it with --resume, or name another "
                   "folder with --dir",
                   folder);
}

static mw_status open_folder(study *s, mw_error *error) {
    static const char *const parts[] = {"data", "bundles", "eval", "diagnose", "results"};
    char path[512];
    const mw_study_options *o = s->options;
    if (strlen(o->folder) > 400)
        return mw_fail(error, MW_ERR_ARGUMENT, "'%.40s...' is too long a path", o->folder);
    snprintf(path, sizeof path, "%s/results", o->folder);
    if (!o->resume && mw_file_exists(path)) return refuse(o->folder, error);
    snprintf(path, sizeof path, "%s/stages.jsonl", o->folder);
    const bool there = mw_file_exists(path);
    if (there && !o->resume) return refuse(o->folder, error);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char folder[512];
        snprintf(folder, sizeof folder, "%s/%s", o->folder, parts[i]);
        MW_TRY(mw_dir_make(folder, error));
    }
    s->log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (s->log < 0) return mw_fail(error, MW_ERR_IO, "cannot open '%s': %s", path, strerror(errno));
    if (flock(s->log, LOCK_EX | LOCK_NB) != 0)
        return mw_fail(error, MW_ERR_IO, "another study is running in '%.300s'", o->folder);
    return there ? read_record(s, path, error) : MW_OK;
}

/* ---- how long ---- */

static double mean_known(const study *s, mw_study_stage stage, const char *task, const char *family) {
    double sum = 0;
    int count = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_setting *setting = mw_setting_at(i);
        if (isnan(s->known[i][stage]) || (task && strcmp(setting->task, task)) ||
            (family && strcmp(mw_study_family(setting->task), family)))
            continue;
        sum += s->known[i][stage];
        count++;
    }
    return count ? sum / count : NAN;
}

static double expected(const study *s, int place, mw_study_stage stage) {
    const char *task = mw_setting_at(place)->task;
    double seconds = mean_known(s, stage, task, NULL);
    if (isnan(seconds)) seconds = mean_known(s, stage, NULL, mw_study_family(task));
    return isnan(seconds) ? mean_known(s, stage, NULL, NULL) : seconds;
}

/* Stages that are recorded count as done; that they are still current is looked at when their turn comes. */
static double seconds_left(const study *s, double done, double spent) {
    double left = 0;
    for (int i = s->index; i < s->count; i++)
        for (int k = i == s->index ? (int)s->stage : 0; k < MW_STUDY_STAGES; k++) {
            const bool now = i == s->index && k == (int)s->stage;
            if (!now && !isnan(s->known[s->places[i]][k])) continue;
            double whole = now && done > 0.02 ? spent / done : expected(s, s->places[i], (mw_study_stage)k);
            left += now ? fmax(0, whole - spent) : whole;
        }
    return left;
}

/* ---- one setting ---- */

static void tell(const study *s, mw_study_what what, double done, double seconds, const char *note) {
    if (!s->options->progress) return;
    s->options->progress(s->options->context, &(mw_study_event){.what = what,
                                                                .setting = s->chain.name,
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

static mw_status run_stage(study *s, bool *ran, mw_error *error) {
    double *known = &s->known[s->places[s->index]][s->stage];
    s->started = mw_clock_seconds();
    if (mw_chain_current(&s->chain, s->stage)) {
        tell(s, MW_STUDY_KEPT, 1, 0, "");
    } else {
        if (stopped(s)) return mw_fail(error, MW_ERR_INTERRUPTED, "stopped");
        tell(s, MW_STUDY_STARTS, 0, 0, "");
        MW_TRY(mw_chain_run(&s->chain, s->stage, error));
        *known = mw_clock_seconds() - s->started + s->chain.earlier;
        MW_TRY(record(s, NULL, *known, error));
        tell(s, MW_STUDY_DONE, 1, *known, s->chain.note);
        *ran = true;
    }
    s->chain.seconds[s->stage] = *known;
    return MW_OK;
}

static mw_status run_stages(study *s, mw_error *error) {
    bool ran = false;
    char recorded[600];
    snprintf(recorded, sizeof recorded, "%s/dataset.json", s->chain.data);
    if (!mw_file_exists(recorded) && mw_chain_summarized(&s->chain)) { /* its dataset was dropped */
        for (; s->stage < MW_STUDY_STAGES; s->stage++) tell(s, MW_STUDY_KEPT, 1, 0, "");
        return MW_OK;
    }
    for (; s->stage < MW_STUDY_STAGES; s->stage++) MW_TRY(run_stage(s, &ran, error));
    s->stage = MW_STUDY_DIAGNOSE;
    if (ran || !mw_chain_summarized(&s->chain)) MW_TRY(mw_chain_summarize(&s->chain, error));
    if (s->options->drop_data) mw_dataset_remove(s->chain.data);
    return MW_OK;
}

static mw_status run_setting(study *s, mw_error *error) {
    s->stage = MW_STUDY_DATA;
    mw_status status = mw_chain_start(&s->chain, s->options, s->settings[s->index], error);
    s->chain.progress = within_stage;
    s->chain.context = s;
    if (status == MW_OK) status = run_stages(s, error);
    mw_chain_free(&s->chain);
    return status;
}

/* ---- all of them ---- */

/* In the order of the table, which goes from cheap to expensive, each once. */
static void choose_settings(study *s) {
    const mw_study_options *o = s->options;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        bool wanted = o->count == 0;
        for (int k = 0; k < o->count; k++) wanted |= o->settings[k] == mw_setting_at(i);
        if (!wanted) continue;
        s->places[s->count] = i;
        s->settings[s->count++] = mw_setting_at(i);
    }
}

static mw_status run_all(study *s, int *failed, mw_error *error) {
    mw_error trouble = {0};
    for (; s->index < s->count; s->index++) {
        const mw_status status = run_setting(s, error);
        if (status == MW_OK) continue;
        if (status == MW_ERR_INTERRUPTED || stopped(s)) {
            error->status = MW_ERR_INTERRUPTED;
            return MW_ERR_INTERRUPTED;
        }
        ++*failed;
        tell(s, MW_STUDY_FAILED, 0, mw_clock_seconds() - s->started, error->message);
        if (record(s, error->message, mw_clock_seconds() - s->started, &trouble) != MW_OK) {
            *error = trouble;
            return trouble.status;
        }
    }
    return MW_OK;
}

mw_status mw_study_run(const mw_study_options *given, int *failed, mw_error *error) {
    mw_error local;
    mw_study_options options = defaults;
    MW_NEED(failed);
    *failed = 0;
    if (!error) error = &local;
    MW_TRY(mw_options_take(&options, sizeof options, MW_FIELD_END(mw_study_options, context), given,
                           "mw_study_options_init", error));
    study *s = calloc(1, sizeof *s);
    if (!s) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a study");
    s->options = &options;
    s->log = -1;
    s->started = mw_clock_seconds();
    for (int i = 0; i < MW_TABLE_ROWS; i++)
        for (int k = 0; k < MW_STUDY_STAGES; k++) s->known[i][k] = NAN;
    choose_settings(s);
    mw_status status = MW_OK;
    for (int i = 0; status == MW_OK && i < s->count; i++) {
        mw_preset preset;
        status = mw_chain_preset(&preset, s->settings[i]->task, &options, error);
    }
    if (status == MW_OK) status = open_folder(s, error);
    if (status == MW_OK) status = run_all(s, failed, error);
    if (s->log >= 0) close(s->log);
    free(s);
    return status;
}

/* ---- report ---- */

mw_status mw_study_report(const char *const *folders, int count, const char *output, int *present,
                          mw_error *error) {
    MW_NEED(folders);
    MW_NEED(output);
    mw_sources *sources = malloc(sizeof *sources);
    if (!sources) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a report");
    mw_status status = mw_sources_read(sources, folders, count, output, error);
    if (status == MW_OK) {
        status = sources->table.present ? mw_report_write(sources, output, error)
                                        : mw_fail(error, MW_ERR_IO, "no summaries in %.300s/results",
                                                  count > 0 ? folders[0] : "no folder");
        if (present) *present = sources->table.present;
        mw_sources_free(sources);
    }
    free(sources);
    return status;
}
