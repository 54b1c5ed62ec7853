/* The stages that train models beside a setting's bundle and play them as arms on the same episodes.
 * Selectors are added to the bundle and judge its candidates, all in one stage. Baselines play by themselves:
 * each has a bundle, a file and inputs of its own, which depend on nothing but the data, so that one can come
 * later and leave everything else as it is. See run.h. */
#include "core/names.h"
#include "eval/eval.h"
#include "study/run.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- what is trained, and who plays ---- */

static const char selectors[] = "mono,independent,q,direct",
                  beside_selectors[] = "reactive,random,paper,ceiling";

static unsigned selector_models(void) {
    unsigned models = 0;
    mw_error never;
    mw_model_classes_parse(selectors, &models, &never);
    return models;
}

/* The study's settings, and for every selector the world model's number of steps. */
static mw_status selectors_preset(const mw_run *c, mw_preset *preset, mw_error *error) {
    const unsigned models = selector_models();
    const mw_preset_field field = mw_run_setting(c, "rwm.steps");
    *preset = c->preset;
    for (int i = 0; mw_model_class_at(i); i++) {
        char steps[2 * MW_WORD + 2];
        if (!(models & 1u << i)) continue;
        snprintf(steps, sizeof steps, "%.40s.steps=%.40s", mw_model_class_at(i)->name, field.value);
        MW_TRY(mw_preset_set(preset, steps, error));
    }
    preset->parts |= models;
    return mw_preset_check(preset, error);
}

static mw_eval_options selectors_play(const mw_run *c) {
    mw_eval_options e = mw_run_eval_options(c);
    char arms[sizeof selectors + sizeof beside_selectors];
    mw_error never;
    snprintf(arms, sizeof arms, "%s,%s", beside_selectors, selectors);
    mw_arms_parse(arms, &e.arms, &never);
    return e;
}

/* SETTING.selectors.safetensors, beside the setting's. */
static void selectors_bundle(const mw_run *c, char path[720]) {
    snprintf(path, 720, "%.*s.selectors.safetensors", (int)(strrchr(c->bundle, '.') - c->bundle), c->bundle);
}

static const char *baseline_name(const mw_run *c) {
    return mw_model_class_name(c->baseline);
}

/* The baseline's own settings, and those of what it needs: no part and no plan of the study touches it, and
 * nothing plans. */
static mw_status baseline_preset(const mw_run *c, mw_preset *preset, mw_error *error) {
    *preset = c->preset;
    preset->parts = mw_model_class_parts(c->baseline);
    mw_fields_defaults(mw_plan_fields, &preset->plan);
    return mw_preset_check(preset, error);
}

static mw_eval_options baseline_play(const mw_run *c) {
    mw_eval_options e = mw_run_eval_options(c);
    mw_error never;
    mw_arms_parse(baseline_name(c), &e.arms, &never);
    return e;
}

/* Beside its result: baselines/NAME/SETTING.safetensors. */
static void baseline_bundle(const mw_run *c, char path[720]) {
    const char *file = c->files[MW_STUDY_BASELINES];
    snprintf(path, 720, "%.*s.safetensors", (int)(strrchr(file, '.') - file), file);
}

/* ---- what they depend on ---- */

static json_t *selectors_inputs(const mw_run *c) {
    mw_preset preset;
    mw_error error;
    const mw_eval_options e = selectors_play(c);
    if (selectors_preset(c, &preset, &error) != MW_OK) return NULL;
    return json_pack("{s:o, s:o, s:i}", "settings", mw_preset_json(&preset), "eval", mw_run_eval_inputs(&e),
                     "anchors", c->options->anchors);
}

static json_t *baseline_inputs(const mw_run *c) {
    mw_preset preset;
    mw_error error;
    if (c->baseline < 0 || baseline_preset(c, &preset, &error) != MW_OK) return NULL;
    const mw_eval_options e = baseline_play(c);
    json_t *settings = mw_preset_json(&preset);
    json_object_del(settings, "method"); /* of the study */
    json_object_del(settings, "plan");   /* there is none */
    char seed[24];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)c->job->seed);
    return json_pack("{s:O, s:s, s:o, s:o}", "data", json_object_get(c->inputs, "data"), "seed", seed,
                     "settings", settings, "eval", mw_run_eval_inputs(&e));
}

/* ---- training and play, each half of what is shown of a stage ---- */

static void train_progress(void *context, const mw_training_progress *p) {
    mw_run *c = context;
    char note[64];
    if (!c->progress) return;
    snprintf(note, sizeof note, "%.20s %ld/%ld", p->part, p->step, p->steps);
    c->progress(c->context, p->total > 0 ? 0.5 * p->done / p->total : 0, note);
}

typedef struct {
    mw_run *run;
    unsigned arms;
} listener;

static void play_progress(void *context, int arm, long done, long total) {
    const listener *l = context;
    const unsigned before = l->arms & ((1u << arm) - 1);
    const double share = __builtin_popcount(before) + (double)done / (double)total;
    if (l->run->progress)
        l->run->progress(l->run->context, 0.5 + 0.5 * share / __builtin_popcount(l->arms), mw_arm_name(arm));
}

/* All parts are there as this training would make them. */
static bool is_trained(const mw_run *c, const mw_preset *preset, const char *path, bool *plan) {
    return mw_run_kept_parts(c, preset, path, plan) == preset->parts;
}

/* The bundle that selectors are added to may have been trained again by another revision, which its settings,
 * data and seed do not tell. */
static bool of_same_base(const mw_run *c, const char *path) {
    mw_bundle *base = NULL, *whole = NULL;
    mw_error error;
    bool same =
        mw_bundle_load(&base, c->bundle, &error) == MW_OK && mw_bundle_load(&whole, path, &error) == MW_OK;
    for (int i = 0; same && i < base->count; i++) {
        const mw_bundle_part *part = mw_bundle_find(whole, base->parts[i].model->kind->name);
        same = part && !strcmp(part->provenance.revision, base->parts[i].provenance.revision);
    }
    mw_bundle_free(base);
    mw_bundle_free(whole);
    return same;
}

static mw_trained selectors_trained(mw_run *c) {
    mw_preset preset;
    mw_error error;
    bool plan;
    char path[720];
    selectors_bundle(c, path);
    if (selectors_preset(c, &preset, &error) != MW_OK || !is_trained(c, &preset, path, &plan) || !plan)
        return MW_TRAINED_NOT;
    return of_same_base(c, path) ? MW_TRAINED : MW_TRAINED_BEFORE;
}

static mw_trained baseline_trained(mw_run *c) {
    mw_preset preset;
    mw_error error;
    bool plan; /* nothing plans */
    char path[720];
    baseline_bundle(c, path);
    return baseline_preset(c, &preset, &error) == MW_OK && is_trained(c, &preset, path, &plan)
               ? MW_TRAINED
               : MW_TRAINED_NOT;
}

/* What is there is replaced; its checkpoint is continued. */
static mw_status train(mw_run *c, const mw_preset *preset, const char *path, mw_train_options options,
                       mw_error *error) {
    mw_training_report r = {0};
    options.progress = train_progress;
    unlink(path);
    const mw_status status = mw_run_train(
        c, (mw_training_request){.preset = preset, .output = path, .options = options}, &r, error);
    mw_training_report_free(&r);
    return status;
}

static mw_status selectors_train(mw_run *c, mw_error *error) {
    mw_preset preset;
    char path[720];
    selectors_bundle(c, path);
    MW_TRY(selectors_preset(c, &preset, error));
    return train(c, &preset, path, (mw_train_options){.only = selector_models(), .with = c->bundle}, error);
}

static mw_status baseline_train(mw_run *c, mw_error *error) {
    mw_preset preset;
    char path[720];
    baseline_bundle(c, path);
    MW_TRY(baseline_preset(c, &preset, error));
    return train(c, &preset, path, (mw_train_options){0}, error);
}

/* Plays the arms with the stage's bundle; ranking: its judges are also compared in one state. */
static mw_status play(mw_run *c, mw_study_stage stage, mw_eval_options options, bool ranking,
                      mw_error *error) {
    mw_bundle *bundle;
    mw_eval_result r = {0};
    listener l = {c, options.arms};
    char path[720];
    options.progress = play_progress;
    options.context = &l;
    mw_run_bundle(c, stage, path);
    MW_TRY(mw_bundle_load(&bundle, path, error));
    json_t *root = json_object();
    mw_status status = mw_eval_run(&r, bundle, &options, error);
    if (status == MW_OK) json_object_set_new(root, "eval", mw_eval_json(&r));
    json_object_set_new(root, "training", mw_run_training_json(path));
    if (status == MW_OK && ranking) status = mw_run_same_state(c, bundle, false, root, error);
    if (status == MW_OK) mw_run_note_arms(c, &r);
    mw_eval_result_clear(&r);
    mw_bundle_free(bundle);
    if (status == MW_OK) return mw_run_write(c, stage, root, error);
    json_decref(root);
    return status;
}

static mw_status selectors_run(mw_run *c, mw_error *error) {
    return play(c, MW_STUDY_SELECTORS, selectors_play(c), c->options->anchors > 0, error);
}

static mw_status baseline_run(mw_run *c, mw_error *error) {
    return play(c, MW_STUDY_BASELINES, baseline_play(c), false, error);
}

const mw_stage mw_stage_selectors = {.name = "selectors",
                                     .folder = "selectors",
                                     .analysis = true,
                                     .plays = selectors_play,
                                     .inputs = selectors_inputs,
                                     .run = selectors_run,
                                     .bundle = selectors_bundle,
                                     .trained = selectors_trained,
                                     .train = selectors_train};

const mw_stage mw_stage_baselines = {.name = "baselines",
                                     .folder = "baselines",
                                     .analysis = true,
                                     .alone = true,
                                     .plays = baseline_play,
                                     .inputs = baseline_inputs,
                                     .run = baseline_run,
                                     .bundle = baseline_bundle,
                                     .trained = baseline_trained,
                                     .train = baseline_train};
