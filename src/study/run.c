/* The stages of one setting; see run.h. */
#include "study/run.h"

#include "core/file.h"
#include "core/tensor/safetensors.h"
#include "env/env.h"
#include "eval/eval.h"
#include "report/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table ---- */

static const mw_stage cost = {.name = "cost"}; /* of all settings together; see costs.h */

static const mw_stage *const stages[MW_STUDY_STAGES] = {[MW_STUDY_DATA] = &mw_stage_data,
                                                        [MW_STUDY_TRAIN] = &mw_stage_train,
                                                        [MW_STUDY_EVAL] = &mw_stage_eval,
                                                        [MW_STUDY_DIAGNOSE] = &mw_stage_diagnose,
                                                        [MW_STUDY_ROUTING] = &mw_stage_routing,
                                                        [MW_STUDY_SELECTORS] = &mw_stage_selectors,
                                                        [MW_STUDY_BASELINES] = &mw_stage_baselines,
                                                        [MW_STUDY_SWEEPS] = &mw_stage_sweeps,
                                                        [MW_STUDY_COST] = &cost,
                                                        [MW_STUDY_SUMMARY] = &mw_stage_summary};

const mw_stage *mw_stage_of(mw_study_stage stage) {
    return stages[stage];
}

const char *mw_study_stage_name(mw_study_stage stage) {
    return stage < MW_STUDY_STAGES ? stages[stage]->name : NULL;
}

/* ---- what the stages depend on ---- */

static void hex(char out[17], uint64_t value) {
    snprintf(out, 17, "%016llx", (unsigned long long)value);
}

static mw_status hash_file(uint64_t *hash, const char *path, mw_error *error) {
    mw_map map;
    MW_TRY(mw_map_copy(&map, path, error));
    *hash = mw_hash(MW_HASH_START, map.data, map.size);
    mw_map_close(&map);
    return MW_OK;
}

static mw_status behavior_checksum(mw_run *c, mw_error *error) {
    char path[1024];
    if (c->setting->kind == MW_TIER_RANDOM) return MW_OK;
    MW_TRY(mw_behavior_path(path, sizeof path, c->options->behaviors, c->setting, error));
    return hash_file(&c->behavior, path, error);
}

static mw_status find_world(mw_run *c, mw_error *error) {
    mw_env *env;
    MW_TRY(mw_env_create(&env, c->setting->task, NULL, error));
    snprintf(c->rules, sizeof c->rules, "%s", mw_env_describe(env)->rules);
    mw_env_free(env);
    return MW_OK;
}

mw_status mw_run_preset(mw_preset *preset, const mw_study_job *job, const mw_study_options *options,
                        mw_error *error) {
    MW_TRY(mw_preset_choose(preset, job->method, mw_setting_at(job->place)->task,
                            mw_setting_at(job->place)->quality, options->budget, error));
    if (job->assignment) MW_TRY(mw_preset_set(preset, job->assignment, error));
    for (int i = 0; i < options->assignment_count; i++)
        MW_TRY(mw_preset_set(preset, options->assignments[i], error));
    return mw_preset_check(preset, error);
}

mw_eval_options mw_run_eval_options(const mw_run *c) {
    const mw_study_options *o = c->options;
    mw_eval_options e;
    mw_eval_options_init(&e, sizeof e);
    e.arms = o->arms ? o->arms : (1u << MW_ARM_STANDARD) - 1;
    e.behaviors = o->behaviors;
    e.first_seed = o->first_seed;
    if (o->seeds) e.seeds = o->seeds;
    if (o->timed) e.timed = o->timed;
    e.episodes = mw_study_episodes(o, c->family);
    e.threads = o->threads;
    e.stop = o->stop;
    return e;
}

json_t *mw_run_eval_inputs(const mw_eval_options *e) {
    json_t *arms = json_array();
    for (int a = 0; a < MW_ARMS; a++)
        if (e->arms & 1u << a) json_array_append_new(arms, json_string(mw_arm_name(a)));
    return json_pack("{s:o, s:I, s:i, s:i, s:i}", "arms", arms, "first_seed", (json_int_t)e->first_seed,
                     "seeds", e->seeds, "episodes", e->episodes, "timed", e->timed);
}

/* What the summary is made of; analyses describe theirs when their turn comes. */
static mw_status describe_inputs(mw_run *c, mw_error *error) {
    c->inputs = json_object();
    for (int s = 0; !stages[s]->analysis; s++)
        if (json_object_set_new(c->inputs, stages[s]->name, stages[s]->inputs(c)) != 0)
            return mw_fail(error, MW_ERR_MEMORY, "cannot describe %s", c->name);
    return MW_OK;
}

/* Data are shared by all jobs of a setting; everything else lies in the job's own folder. */
static void find_root(const mw_run *c, char root[440]) {
    snprintf(root, 440, "%.400s%s%s", c->options->folder, *c->job->folder ? "/" : "", c->job->folder);
}

/* STAGE/SETTING.json; a baseline's STAGE/NAME/SETTING.json. */
static void name_file(mw_run *c, mw_study_stage stage, const char *baseline) {
    char root[440];
    find_root(c, root);
    snprintf(c->files[stage], sizeof c->files[stage], "%s/%s/%s%s%s.json", root, stages[stage]->folder,
             baseline, *baseline ? "/" : "", c->name);
}

static void name_files(mw_run *c) {
    char root[440];
    const char *folder = c->options->folder;
    find_root(c, root);
    snprintf(c->data, sizeof c->data, "%.400s/data/%s", folder, c->name);
    snprintf(c->bundle, sizeof c->bundle, "%s/bundles/%s.safetensors", root, c->name);
    snprintf(c->earlier_bundle, sizeof c->earlier_bundle, "%.600s.before", c->bundle);
    if (c->job->base)
        snprintf(c->base_bundle, sizeof c->base_bundle, "%.400s/%s/bundles/%s.safetensors", folder,
                 c->job->base, c->name);
    snprintf(c->result, sizeof c->result, "%s/results/%s.json", root, c->name);
    for (int s = 0; s < MW_STUDY_COST; s++) name_file(c, (mw_study_stage)s, "");
}

mw_status mw_run_start(mw_run *c, const mw_study_options *options, const mw_study_job *job, mw_error *error) {
    const mw_setting *setting = mw_setting_at(job->place);
    *c = (mw_run){.options = options,
                  .job = job,
                  .setting = setting,
                  .family = mw_study_family(setting->task),
                  .baseline = -1};
    for (int s = 0; s < MW_STUDY_STAGES; s++) c->seconds[s] = NAN;
    mw_setting_name(setting, c->name, sizeof c->name);
    if (strlen(options->folder) > 400)
        return mw_fail(error, MW_ERR_ARGUMENT, "'%.40s...' is too long a path", options->folder);
    name_files(c);
    c->transitions = options->transitions ? options->transitions : setting->transitions;
    snprintf(c->data_command, sizeof c->data_command,
             "mawam data make %s -o DIR --transitions %ld --seed %llu", c->name, c->transitions,
             (unsigned long long)options->seed);
    MW_TRY(mw_run_preset(&c->preset, job, options, error));
    MW_TRY(find_world(c, error));
    MW_TRY(behavior_checksum(c, error));
    return describe_inputs(c, error);
}

void mw_run_free(mw_run *c) {
    json_decref(c->inputs);
    c->inputs = NULL;
}

mw_preset_field mw_run_setting(const mw_run *c, const char *name) {
    mw_preset_field field;
    for (int i = 0; mw_preset_field_at(&c->preset, i, &field); i++)
        if (!strcmp(field.name, name)) return field;
    return (mw_preset_field){.value = ""};
}

/* ---- the bundle ---- */

static void checksum_of(char out[17], const char *path) {
    uint64_t hash;
    mw_error error;
    out[0] = 0;
    if (hash_file(&hash, path, &error) == MW_OK) hex(out, hash);
}

void mw_run_find_checksum(mw_run *c) {
    checksum_of(c->checksum, c->bundle);
}

void mw_run_bundle(const mw_run *c, mw_study_stage stage, char path[720]) {
    if (stages[stage]->bundle)
        stages[stage]->bundle(c, path);
    else
        snprintf(path, 720, "%s", c->bundle);
}

/* Checksum of the bundle that a stage's file is about. */
static void subject_of(const mw_run *c, mw_study_stage stage, char out[17]) {
    char path[720];
    mw_run_bundle(c, stage, path);
    if (stages[stage]->alone)
        checksum_of(out, path);
    else
        snprintf(out, 17, "%s", c->checksum);
}

/* ---- files of stages ---- */

static bool file_current(const mw_run *c, mw_study_stage stage) {
    json_t *root;
    mw_error error;
    char subject[17];
    subject_of(c, stage, subject);
    if (!mw_file_exists(c->files[stage]) || mw_json_read(&root, c->files[stage], &error) != MW_OK)
        return false;
    const json_t *stamp = stages[stage]->analysis ? json_object_get(root, "study") : root;
    const char *bundle = json_string_value(json_object_get(stamp, "bundle"));
    const json_t *inputs = json_object_get(c->inputs, stages[stage]->name);
    const bool same =
        bundle && !strcmp(bundle, subject) && json_equal(json_object_get(stamp, "inputs"), inputs);
    json_decref(root);
    return same;
}

mw_status mw_run_write(const mw_run *c, mw_study_stage stage, json_t *root, mw_error *error) {
    const char *name = stages[stage]->name;
    char subject[17];
    subject_of(c, stage, subject);
    if (!root) {
        mw_json_failed(); /* told by the status */
        return mw_fail(error, MW_ERR_MEMORY, "cannot describe the %s stage", name);
    }
    json_t *stamp = stages[stage]->analysis ? json_object() : json_incref(root);
    json_object_set_new(stamp, "setting", json_string(c->name));
    json_object_set_new(stamp, "bundle", json_string(subject));
    json_object_set_new(stamp, "revision", json_string(mw_revision()));
    json_object_set(stamp, "inputs", json_object_get(c->inputs, name));
    if (stamp != root) json_object_set(root, "study", stamp);
    json_decref(stamp);
    const mw_status status = mw_json_write(root, c->files[stage], error);
    json_decref(root);
    return status;
}

/* ---- one of them ---- */

void mw_run_take(mw_run *c, mw_step step) {
    const mw_stage *stage = stages[step.stage];
    const char *name = step.baseline < 0 ? "" : mw_model_class_name(step.baseline);
    c->baseline = step.baseline;
    name_file(c, step.stage, name);
    /* what cannot be described is not current, and its run will say why */
    if (stage->analysis) json_object_set_new(c->inputs, stage->name, stage->inputs(c));
}

mw_trained mw_run_trained(mw_run *c, mw_study_stage stage) {
    return stages[stage]->trained ? stages[stage]->trained(c) : MW_TRAINED;
}

mw_status mw_run_train_own(mw_run *c, mw_study_stage stage, mw_error *error) {
    return stages[stage]->train ? stages[stage]->train(c, error) : MW_OK;
}

bool mw_run_current(mw_run *c, mw_study_stage stage) {
    return stages[stage]->current ? stages[stage]->current(c) : file_current(c, stage);
}

mw_status mw_run_stage(mw_run *c, mw_study_stage stage, mw_error *error) {
    c->note[0] = 0;
    c->earlier = 0;
    return stages[stage]->run(c, error);
}

static uint64_t hash_json(uint64_t hash, const json_t *value) {
    char *text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);
    if (text) hash = mw_hash(hash, text, strlen(text));
    free(text);
    return hash;
}

void mw_run_player(const mw_run *c, mw_study_stage stage, char out[17]) {
    char path[720];
    mw_safetensors file;
    mw_bundle *bundle;
    mw_error error;
    uint64_t hash = MW_HASH_START;
    out[0] = 0;
    mw_run_bundle(c, stage, path);
    if (mw_safetensors_open(&file, path, &error) != MW_OK) return;
    for (size_t i = 0; i < file.tensor_count; i++) {
        const mw_tensor *t = &file.tensors[i];
        hash = mw_hash(mw_hash(hash, t->name, strlen(t->name)), t->data, mw_dtype_size(t->type) * t->count);
    }
    mw_safetensors_close(&file);
    if (mw_bundle_load(&bundle, path, &error) != MW_OK) return;
    json_t *plan = mw_bundle_draws(bundle) ? mw_fields_json(mw_plan_fields, &bundle->plan) : NULL;
    hex(out, plan ? hash_json(hash, plan) : hash);
    json_decref(plan);
    mw_bundle_free(bundle);
}
