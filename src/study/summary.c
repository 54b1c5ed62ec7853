/* The summary of one setting: its data, what every part says of its making, evaluation and diagnosis in one
 * file; see run.h. */
#include "behavior/settings.h"
#include "core/file.h"
#include "core/pool.h"
#include "data/dataset.h"
#include "plan/bundle.h"
#include "study/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool mw_run_summarized(mw_run *c) {
    json_t *root;
    mw_error error;
    bool same = true;
    mw_run_find_checksum(c);
    if (!mw_file_exists(c->result) || mw_json_read(&root, c->result, &error) != MW_OK) return false;
    const char *bundle = json_string_value(json_object_get(root, "bundle"));
    for (int s = 0; !mw_stage_of((mw_study_stage)s)->analysis; s++) {
        const char *name = mw_study_stage_name((mw_study_stage)s);
        same = same && json_equal(mw_json_at(json_object_get(root, "inputs"), name),
                                  json_object_get(c->inputs, name));
    }
    same = same && bundle && c->checksum[0] && !strcmp(bundle, c->checksum);
    json_decref(root);
    return same;
}

static mw_status data_json(json_t **out, const mw_run *c, mw_error *error) {
    mw_dataset d;
    char checksum[17], path[600];
    json_t *root = NULL;
    snprintf(path, sizeof path, "%s/dataset.json", c->data);
    MW_TRY(mw_dataset_open(&d, c->data, error));
    mw_status status = mw_dataset_checksum(checksum, &d, error);
    if (status == MW_OK) status = mw_json_read(&root, path, error);
    if (status == MW_OK) {
        *out = json_pack("{s:{s:f, s:f, s:f, s:f}, s:I, s:I, s:s, s:s, s:s, s:O*}", "return", "mean",
                         d.returns.mean, "std", d.returns.std, "minimum", d.returns.minimum, "maximum",
                         d.returns.maximum, "episodes", (json_int_t)d.episodes, "steps", (json_int_t)d.steps,
                         "checksum", checksum, "command", c->data_command, "note",
                         d.spec.note ? d.spec.note : "", "behaviors", json_object_get(root, "behaviors"));
        if (mw_scale_of(c->setting->task))
            json_object_set_new(*out, "score", json_real(mw_score(c->setting->task, d.returns.mean)));
        if (mw_family_find(c->family)->counts_wins)
            json_object_set_new(*out, "win_rate", json_real(d.returns.won));
    }
    json_decref(root);
    mw_dataset_close(&d);
    return status;
}

json_t *mw_run_training_json(const char *path) {
    mw_bundle *bundle;
    mw_error error;
    json_t *out = json_object();
    if (mw_bundle_load(&bundle, path, &error) != MW_OK) return out;
    for (int i = 0; i < bundle->count; i++) {
        const mw_bundle_part *part = &bundle->parts[i];
        json_t *json = mw_provenance_json(&part->provenance);
        json_object_set_new(json, "configuration",
                            mw_fields_json(part->model->kind->fields, &part->model->config));
        json_object_set_new(out, part->model->kind->name, json);
    }
    mw_bundle_free(bundle);
    return out;
}

static json_t *provenance_json(const mw_run *c) {
    char cpu[128], seed[24];
    mw_pool *pool = NULL;
    mw_error error;
    mw_cpu_model(cpu, sizeof cpu);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)c->job->seed);
    int threads = c->options->threads;
    if (!threads && mw_pool_create(&pool, 0, &error) == MW_OK) threads = mw_pool_threads(pool);
    mw_pool_free(pool);
    return json_pack("{s:o, s:s, s:s, s:s, s:s, s:i, s:s, s:s}", "command",
                     mw_json_words(c->options->command), "mawam", mw_version(), "revision", mw_revision(),
                     "budget", c->options->budget == MW_BUDGET_QUICK ? "quick" : "full", "seed", seed,
                     "threads", threads, "cpu", cpu, "level", mw_cpu_name());
}

/* A stage that was kept may be of another revision than the summary: it is named. */
static mw_status take(json_t *summary, json_t *revisions, const mw_run *c, mw_study_stage stage,
                      const char *const *keys, mw_error *error) {
    json_t *root;
    MW_TRY(mw_json_read(&root, c->files[stage], error));
    for (; *keys; keys++) json_object_set(summary, *keys, json_object_get(root, *keys));
    json_object_set(revisions, mw_study_stage_name(stage), json_object_get(root, "revision"));
    json_decref(root);
    return MW_OK;
}

static mw_status summarize(mw_run *c, mw_error *error) {
    static const char *const eval_keys[] = {"eval", NULL};
    static const char *const diagnose_keys[] = {"same_state", "same_state_planned", "snippets", NULL};
    json_t *data = NULL, *seconds = json_object(), *revisions = json_object();
    mw_status status = data_json(&data, c, error);
    for (int s = 0; !mw_stage_of((mw_study_stage)s)->analysis; s++) /* what comes later is not known yet */
        json_object_set_new(seconds, mw_study_stage_name((mw_study_stage)s),
                            isnan(c->seconds[s]) ? json_null() : json_real(c->seconds[s]));
    json_t *summary = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:o*, s:o}", "setting", c->name,
                                "method", c->preset.method, "task", c->setting->task, "quality",
                                c->setting->quality, "family", c->family, "rules", c->rules, "bundle",
                                c->checksum, "data", data, "training", mw_run_training_json(c->bundle));
    if (status == MW_OK) status = take(summary, revisions, c, MW_STUDY_EVAL, eval_keys, error);
    if (status == MW_OK && c->job->stages & 1u << MW_STUDY_DIAGNOSE)
        status = take(summary, revisions, c, MW_STUDY_DIAGNOSE, diagnose_keys, error);
    json_object_set_new(summary, "revisions", revisions);
    json_object_set_new(summary, "seconds", seconds);
    json_object_set(summary, "inputs", c->inputs);
    json_object_set_new(summary, "provenance", provenance_json(c));
    if (status == MW_OK) status = mw_json_write(summary, c->result, error);
    json_decref(summary);
    return status;
}

/* What it was made of has been made again since, if only to the same end. */
static bool is_older(const char *path, const char *than) {
    struct stat own, other;
    if (stat(path, &own) != 0 || stat(than, &other) != 0) return true;
    return own.st_mtim.tv_sec != other.st_mtim.tv_sec ? own.st_mtim.tv_sec < other.st_mtim.tv_sec
                                                      : own.st_mtim.tv_nsec < other.st_mtim.tv_nsec;
}

static bool is_current(mw_run *c) {
    if (!mw_run_summarized(c)) return false;
    return !is_older(c->result, c->files[MW_STUDY_EVAL]) &&
           (!(c->job->stages & 1u << MW_STUDY_DIAGNOSE) || !is_older(c->result, c->files[MW_STUDY_DIAGNOSE]));
}

const mw_stage mw_stage_summary = {
    .name = "summary", .folder = "results", .current = is_current, .run = summarize};
