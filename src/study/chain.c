/* The stages of one setting; see chain.h. */
#include "study/chain.h"

#include "behavior/collect.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/machine/cpu.h"
#include "core/tensor/safetensors.h"
#include "env/env.h"
#include "eval/calibrate.h"
#include "eval/eval.h"
#include "report/table.h"
#include "train/train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static mw_status behavior_checksum(mw_chain *c, mw_error *error) {
    char path[1024];
    if (c->setting->kind == MW_TIER_RANDOM) return MW_OK;
    MW_TRY(mw_behavior_path(path, sizeof path, c->options->behaviors, c->setting, error));
    return hash_file(&c->behavior, path, error);
}

static mw_status find_rules(mw_chain *c, mw_error *error) {
    mw_env *env;
    MW_TRY(mw_env_create(&env, c->setting->task, NULL, error));
    snprintf(c->rules, sizeof c->rules, "%s", mw_env_describe(env)->rules);
    mw_env_free(env);
    return MW_OK;
}

mw_status mw_chain_preset(mw_preset *preset, const char *method, const char *task,
                          const mw_study_options *options, mw_error *error) {
    MW_TRY(mw_preset_choose(preset, method, task, options->budget, error));
    for (int i = 0; i < options->assignment_count; i++)
        MW_TRY(mw_preset_set(preset, options->assignments[i], error));
    return mw_preset_check(preset, error);
}

mw_eval_options mw_chain_eval_options(const mw_chain *c) {
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

json_t *mw_chain_eval_inputs(const mw_eval_options *e) {
    json_t *arms = json_array();
    for (int a = 0; a < MW_ARMS; a++)
        if (e->arms & 1u << a) json_array_append_new(arms, json_string(mw_arm_name(a)));
    return json_pack("{s:o, s:I, s:i, s:i, s:i}", "arms", arms, "first_seed", (json_int_t)e->first_seed,
                     "seeds", e->seeds, "episodes", e->episodes, "timed", e->timed);
}

static mw_status describe_inputs(mw_chain *c, mw_error *error) {
    char behavior[17], seed[24], training[24];
    const mw_eval_options e = mw_chain_eval_options(c);
    hex(behavior, c->behavior);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)c->options->seed);
    snprintf(training, sizeof training, "%llu", (unsigned long long)c->line->seed);
    json_t *settings = mw_preset_json(&c->preset);
    mw_same_state_options same;
    mw_same_state_options_init(&same, sizeof same);
    c->inputs = json_pack(
        "{s:{s:s, s:s, s:s, s:s, s:I}, s:{s:s, s:o*}, s:o*, s:{s:i, s:i, s:I}}", "data", "setting", c->name,
        "rules", c->rules, "behavior", behavior, "seed", seed, "transitions", (json_int_t)c->transitions,
        "train", "seed", training, "settings", settings, "eval", mw_chain_eval_inputs(&e), "diagnose",
        "anchors", c->options->anchors, "snippets", c->options->snippets, "seed", (json_int_t)same.seed);
    for (int s = MW_STUDY_ROUTING; s < MW_STUDY_COST; s++)
        if (c->line->stages & 1u << s)
            json_object_set_new(c->inputs, mw_study_stage_name((mw_study_stage)s),
                                mw_analysis_inputs(c, (mw_study_stage)s));
    return c->inputs && settings ? MW_OK : mw_fail(error, MW_ERR_MEMORY, "cannot describe %s", c->name);
}

/* Data are shared by all lines of a setting; everything else lies in the line's own folder. */
static void name_files(mw_chain *c) {
    char root[440];
    const char *folder = c->options->folder, *line = c->line->folder;
    snprintf(root, sizeof root, "%.400s%s%s", folder, *line ? "/" : "", line);
    snprintf(c->data, sizeof c->data, "%.400s/data/%s", folder, c->name);
    snprintf(c->bundle, sizeof c->bundle, "%s/bundles/%s.safetensors", root, c->name);
    snprintf(c->earlier_bundle, sizeof c->earlier_bundle, "%.600s.before", c->bundle);
    snprintf(c->eval, sizeof c->eval, "%s/eval/%s.json", root, c->name);
    snprintf(c->diagnose, sizeof c->diagnose, "%s/diagnose/%s.json", root, c->name);
    snprintf(c->result, sizeof c->result, "%s/results/%s.json", root, c->name);
    snprintf(c->routing, sizeof c->routing, "%s/routing/%s.json", root, c->name);
    snprintf(c->selectors, sizeof c->selectors, "%s/selectors/%s.json", root, c->name);
    snprintf(c->selectors_bundle, sizeof c->selectors_bundle, "%s/bundles/%s.selectors.safetensors", root,
             c->name);
    snprintf(c->sweeps, sizeof c->sweeps, "%s/sweeps/%s.json", root, c->name);
}

mw_status mw_chain_start(mw_chain *c, const mw_study_options *options, const mw_study_line *line,
                         mw_error *error) {
    const mw_setting *setting = mw_setting_at(line->place);
    *c = (mw_chain){
        .options = options, .line = line, .setting = setting, .family = mw_study_family(setting->task)};
    for (int s = 0; s < MW_STUDY_STAGES; s++) c->seconds[s] = NAN;
    mw_setting_name(setting, c->name, sizeof c->name);
    if (strlen(options->folder) > 400)
        return mw_fail(error, MW_ERR_ARGUMENT, "'%.40s...' is too long a path", options->folder);
    name_files(c);
    c->transitions = options->transitions ? options->transitions : setting->transitions;
    snprintf(c->data_command, sizeof c->data_command,
             "mawam data make %s -o DIR --transitions %ld --seed %llu", c->name, c->transitions,
             (unsigned long long)options->seed);
    MW_TRY(mw_chain_preset(&c->preset, line->method, setting->task, options, error));
    MW_TRY(find_rules(c, error));
    MW_TRY(behavior_checksum(c, error));
    return describe_inputs(c, error);
}

void mw_chain_free(mw_chain *c) {
    json_decref(c->inputs);
    c->inputs = NULL;
}

/* ---- data ---- */

/* The command pins seed and number of transitions; the behaviour and the rules are compared as well. Damaged
 * data are made again. */
static bool data_current(mw_chain *c) {
    mw_dataset d;
    mw_error error;
    if (mw_dataset_open(&d, c->data, &error) != MW_OK) return false;
    const mw_dataset_spec *s = &d.spec;
    const bool same = !strcmp(s->task, c->setting->task) && !strcmp(s->quality, c->setting->quality) &&
                      !strcmp(s->rules, c->rules) && !strcmp(s->command, c->data_command) &&
                      s->source_count == 1 && s->sources[0].checksum == c->behavior &&
                      mw_dataset_check(&d, &error) == MW_OK;
    mw_dataset_close(&d);
    return same;
}

static void data_progress(void *context, long steps, long total) {
    mw_chain *c = context;
    if (c->progress) c->progress(c->context, (double)steps / (double)total, "");
}

static mw_status data_run(mw_chain *c, mw_error *error) {
    mw_collect_result r;
    const mw_collect_request request = {.setting = c->setting,
                                        .behaviors = c->options->behaviors,
                                        .folder = c->data,
                                        .transitions = c->transitions,
                                        .seed = c->options->seed,
                                        .threads = c->options->threads,
                                        .overwrite = true,
                                        .command = c->data_command,
                                        .stop = c->options->stop,
                                        .progress = data_progress,
                                        .context = c};
    MW_TRY(mw_collect(&request, &r, error));
    snprintf(c->note, sizeof c->note, "%ld episodes, return %.4g +- %.3g, score %.4g", r.episodes, r.mean,
             r.std, mw_score(c->setting->task, r.mean));
    return MW_OK;
}

/* ---- training ---- */

void mw_chain_find_checksum(mw_chain *c) {
    uint64_t hash;
    mw_error error;
    c->checksum[0] = 0;
    if (hash_file(&hash, c->bundle, &error) == MW_OK) hex(c->checksum, hash);
}

/* Data, split and seed that parts must be of, and the preset settled on the data; false: it cannot be read.
 */
static bool find_origin(const mw_chain *c, const mw_preset *preset, mw_provenance *origin,
                        mw_preset *settled) {
    mw_dataset d;
    mw_error error;
    char checksum[17];
    if (mw_dataset_open(&d, c->data, &error) != MW_OK) return false;
    *settled = *preset;
    const bool found = mw_dataset_checksum(checksum, &d, &error) == MW_OK &&
                       mw_training_settle(settled, &d, c->line->seed, &error) == MW_OK;
    mw_dataset_close(&d);
    if (found) mw_provenance_init(origin, checksum, c->line->seed, preset->held_out, 1);
    return found;
}

unsigned mw_chain_kept_parts(const mw_chain *c, const mw_preset *preset, const char *path, bool *plan) {
    mw_bundle *bundle;
    mw_error error;
    mw_provenance origin;
    mw_preset settled;
    unsigned kept = 0;
    *plan = false;
    if (!mw_file_exists(path) || mw_bundle_load(&bundle, path, &error) != MW_OK) return 0;
    if (find_origin(c, preset, &origin, &settled)) {
        for (int i = 0; mw_model_class_at(i); i++) {
            const mw_bundle_part *part = mw_bundle_find(bundle, mw_model_class_at(i)->name);
            if (settled.parts & 1u << i && part && mw_training_same(&settled, part, &origin)) kept |= 1u << i;
        }
        *plan = !mw_fields_difference(mw_plan_fields, &settled.plan, &bundle->plan);
        mw_provenance_free(&origin);
    }
    mw_bundle_free(bundle);
    return kept;
}

/* All settings count here, those of planning too: the bundle holds them. */
static bool is_current(const mw_chain *c, const char *path) {
    bool plan;
    return mw_chain_kept_parts(c, &c->preset, path, &plan) == c->preset.parts && plan;
}

static bool train_current(mw_chain *c) {
    if (!mw_file_exists(c->bundle) && is_current(c, c->earlier_bundle)) rename(c->earlier_bundle, c->bundle);
    if (!is_current(c, c->bundle)) return false;
    unlink(c->earlier_bundle);
    mw_chain_find_checksum(c);
    return true;
}

static void train_progress(void *context, const mw_training_progress *p) {
    mw_chain *c = context;
    char note[96];
    if (!c->progress) return;
    snprintf(note, sizeof note, "%s %ld/%ld: %s %.3g", p->part, p->step, p->steps, p->loss_names[0],
             p->means[0]);
    c->progress(c->context, p->total > 0 ? p->done / p->total : 0, note);
}

/* A checkpoint of the same training is continued, anything else is started anew; of a bundle that does not
 * belong here any more, what would come out the same is kept. */
static mw_status train_run(mw_chain *c, mw_error *error) {
    mw_dataset d;
    mw_training_report r;
    const double started = mw_clock_seconds();
    MW_TRY(mw_dataset_open(&d, c->data, error));
    mw_training_request request = {.dataset = &d,
                                   .preset = &c->preset,
                                   .output = c->bundle,
                                   .seed = c->line->seed,
                                   .threads = c->options->threads,
                                   .resume = true,
                                   .replace = true,
                                   .command = c->options->command,
                                   .stop = c->options->stop,
                                   .progress = train_progress,
                                   .context = c};
    mw_status status = MW_OK;
    if (mw_file_exists(c->bundle) && rename(c->bundle, c->earlier_bundle) != 0)
        status = mw_fail(error, MW_ERR_IO, "cannot rename '%s'", c->bundle);
    bool plan;
    const unsigned kept = status == MW_OK ? mw_chain_kept_parts(c, &c->preset, c->earlier_bundle, &plan) : 0;
    if (kept) {
        request.with = c->earlier_bundle;
        request.only = c->preset.parts & ~kept;
        request.nothing = !request.only;
    }
    if (status == MW_OK) status = mw_training_run(&request, &r, error);
    if (status == MW_OK) unlink(c->earlier_bundle);
    mw_dataset_close(&d);
    MW_TRY(status);
    c->earlier = fmax(0, r.seconds - (mw_clock_seconds() - started));
    mw_chain_find_checksum(c);
    size_t used = 0;
    for (int i = 0; i < r.count && used < sizeof c->note; i++)
        used += (size_t)snprintf(c->note + used, sizeof c->note - used, "%sheld-out %s %.3g",
                                 used ? ", " : "", r.part[i].loss_names[0], r.part[i].held[0]);
    for (int i = 0; mw_model_class_at(i) && used < sizeof c->note; i++)
        if (kept & 1u << i)
            used += (size_t)snprintf(c->note + used, sizeof c->note - used, "%s%s kept", used ? ", " : "",
                                     mw_model_class_at(i)->name);
    return MW_OK;
}

/* ---- evaluation and diagnosis: files that name their bundle and their inputs ---- */

bool mw_chain_file_current(const mw_chain *c, const char *path, mw_study_stage stage) {
    json_t *root;
    mw_error error;
    if (!mw_file_exists(path) || mw_json_read(&root, path, &error) != MW_OK) return false;
    const json_t *stamp = stage >= MW_STUDY_ROUTING ? json_object_get(root, "study") : root;
    const char *bundle = json_string_value(json_object_get(stamp, "bundle"));
    const json_t *inputs = json_object_get(c->inputs, mw_study_stage_name(stage));
    const bool same =
        bundle && !strcmp(bundle, c->checksum) && json_equal(json_object_get(stamp, "inputs"), inputs);
    json_decref(root);
    return same;
}

mw_status mw_chain_file_write(const mw_chain *c, const char *path, mw_study_stage stage, json_t *root,
                              mw_error *error) {
    const char *name = mw_study_stage_name(stage);
    if (!root) return mw_fail(error, MW_ERR_MEMORY, "cannot describe the %s stage", name);
    json_t *stamp = stage >= MW_STUDY_ROUTING ? json_object() : json_incref(root);
    json_object_set_new(stamp, "setting", json_string(c->name));
    json_object_set_new(stamp, "bundle", json_string(c->checksum));
    json_object_set_new(stamp, "revision", json_string(mw_revision()));
    json_object_set(stamp, "inputs", json_object_get(c->inputs, name));
    if (stamp != root) json_object_set(root, "study", stamp);
    json_decref(stamp);
    const mw_status status = mw_json_write(root, path, error);
    json_decref(root);
    return status;
}

void mw_chain_player(const mw_chain *c, char out[17]) {
    mw_safetensors file;
    mw_bundle *bundle;
    mw_error error;
    uint64_t hash = MW_HASH_START;
    out[0] = 0;
    if (mw_safetensors_open(&file, c->bundle, &error) != MW_OK) return;
    for (size_t i = 0; i < file.tensor_count; i++) {
        const mw_tensor *t = &file.tensors[i];
        hash = mw_hash(mw_hash(hash, t->name, strlen(t->name)), t->data, mw_dtype_size(t->type) * t->count);
    }
    mw_safetensors_close(&file);
    if (mw_bundle_load(&bundle, c->bundle, &error) != MW_OK) return;
    json_t *plan = mw_fields_json(mw_plan_fields, &bundle->plan);
    char *text = json_dumps(plan, JSON_COMPACT);
    if (text) hex(out, mw_hash(hash, text, strlen(text)));
    free(text);
    json_decref(plan);
    mw_bundle_free(bundle);
}

static void eval_progress(void *context, int arm, long done, long total) {
    mw_chain *c = context;
    const unsigned arms = mw_chain_eval_options(c).arms, before = arms & ((1u << arm) - 1);
    const double all = __builtin_popcount(arms), share = (double)done / (double)total;
    if (c->progress)
        c->progress(c->context, ((double)__builtin_popcount(before) + share) / all, mw_arm_name(arm));
}

static void eval_note(mw_chain *c, const mw_eval_result *r) {
    size_t used = 0;
    c->note[0] = 0;
    for (int a = 0; a < MW_ARMS; a++) {
        const mw_eval_report *arm = &r->arm[a];
        if (!arm->played || used >= sizeof c->note) continue;
        used += (size_t)snprintf(c->note + used, sizeof c->note - used, "%s%s %.4g", used ? ", " : "",
                                 mw_arm_name(a), isfinite(arm->score) ? arm->score : arm->total);
    }
}

static mw_status eval_run(mw_chain *c, mw_error *error) {
    mw_bundle *bundle;
    mw_eval_result r = {0};
    mw_eval_options options = mw_chain_eval_options(c);
    options.progress = eval_progress;
    options.context = c;
    MW_TRY(mw_bundle_load(&bundle, c->bundle, error));
    mw_status status = mw_eval_run(&r, bundle, &options, error);
    if (status == MW_OK) {
        json_t *root = json_object();
        json_object_set_new(root, "eval", mw_eval_json(&r));
        status = mw_chain_file_write(c, c->eval, MW_STUDY_EVAL, root, error);
        eval_note(c, &r);
    }
    mw_eval_result_clear(&r);
    mw_bundle_free(bundle);
    return status;
}

mw_status mw_chain_same_state(mw_chain *c, const mw_bundle *bundle, bool planned, json_t *root,
                              mw_error *error) {
    mw_same_state r = {0};
    mw_same_state_options options;
    mw_same_state_options_init(&options, sizeof options);
    options.anchors = c->options->anchors;
    options.threads = c->options->threads;
    options.planned = planned;
    options.stop = c->options->stop;
    MW_TRY(mw_same_state_run(&r, bundle, &options, error));
    json_object_set_new(root, planned ? "same_state_planned" : "same_state", mw_same_state_json(&r));
    if (!planned)
        snprintf(c->note, sizeof c->note, "same state: normalised regret %.3f (random %.3f)",
                 r.judge[0].ranking.normalized_regret, r.random_normalized_regret);
    mw_same_state_free(&r);
    return MW_OK;
}

static mw_status snippets(mw_chain *c, const mw_bundle *bundle, json_t *root, mw_error *error) {
    mw_dataset d;
    mw_snippets r = {0};
    mw_snippet_options options;
    mw_snippet_options_init(&options, sizeof options, bundle);
    options.count = c->options->snippets;
    options.threads = c->options->threads;
    options.stop = c->options->stop;
    MW_TRY(mw_dataset_open(&d, c->data, error));
    mw_status status = mw_dataset_check(&d, error);
    if (status == MW_OK) status = mw_snippets_run(&r, bundle, &d, &options, error);
    mw_dataset_close(&d);
    MW_TRY(status);
    json_object_set_new(root, "snippets", mw_snippets_json(&r));
    const int h = r.horizons < 8 ? r.horizons : 8;
    const size_t used = strlen(c->note);
    if (h > 0)
        snprintf(c->note + used, sizeof c->note - used, "%ssnippets: Spearman %.3f at H=%d", used ? "; " : "",
                 r.ranking[h - 1].spearman, h);
    return MW_OK;
}

static mw_status diagnose_run(mw_chain *c, mw_error *error) {
    mw_bundle *bundle;
    json_t *root = json_object();
    mw_status status = mw_bundle_load(&bundle, c->bundle, error);
    if (status == MW_OK) {
        if (c->options->anchors) status = mw_chain_same_state(c, bundle, false, root, error);
        if (status == MW_OK && c->options->anchors && !mw_plan_as_drawn(&bundle->plan))
            status = mw_chain_same_state(c, bundle, true, root, error);
        if (status == MW_OK && c->options->snippets) status = snippets(c, bundle, root, error);
        mw_bundle_free(bundle);
    }
    if (status == MW_OK) return mw_chain_file_write(c, c->diagnose, MW_STUDY_DIAGNOSE, root, error);
    json_decref(root);
    return status;
}

/* ---- all of them ---- */

bool mw_chain_current(mw_chain *c, mw_study_stage stage) {
    switch (stage) {
    case MW_STUDY_DATA:
        return data_current(c);
    case MW_STUDY_TRAIN:
        return train_current(c);
    case MW_STUDY_EVAL:
        return mw_chain_file_current(c, c->eval, stage);
    case MW_STUDY_DIAGNOSE:
        return mw_chain_file_current(c, c->diagnose, stage);
    default:
        return mw_chain_file_current(c, mw_analysis_path(c, stage), stage);
    }
}

mw_status mw_chain_run(mw_chain *c, mw_study_stage stage, mw_error *error) {
    c->note[0] = 0;
    c->earlier = 0;
    switch (stage) {
    case MW_STUDY_DATA:
        return data_run(c, error);
    case MW_STUDY_TRAIN:
        return train_run(c, error);
    case MW_STUDY_EVAL:
        return eval_run(c, error);
    case MW_STUDY_DIAGNOSE:
        return diagnose_run(c, error);
    default:
        return mw_analysis_run(c, stage, error);
    }
}
