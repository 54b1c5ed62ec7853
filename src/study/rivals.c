/* The stages in which others play beside a setting's bundle: models that are added to it, trained on the same
 * data, and then arms on the same episodes, as selectors of its candidates or as baselines that play by
 * themselves. One table says what each comparison takes; see chain.h. */
#include "core/names.h"
#include "eval/eval.h"
#include "study/chain.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    mw_study_stage stage;
    const char *models;   /* NULL: all that play by themselves */
    const char *arms;     /* who plays besides them */
    const char *steps_of; /* the model whose number of steps all of them get; NULL: their own */
    bool ranking;         /* they are also compared in one state */
} comparison;

static const comparison comparisons[MW_RIVALS] = {
    [MW_RIVALS_SELECTORS] = {MW_STUDY_SELECTORS, "mono,independent,q,direct", "reactive,random,paper,ceiling",
                             "rwm", true},
    [MW_RIVALS_BASELINES] = {MW_STUDY_BASELINES, NULL, "reactive", NULL, false},
};

/* ---- what it takes ---- */

/* Of the models that suit the task. */
static unsigned models_of(const mw_chain *c, const comparison *k) {
    const mw_model_class *class;
    unsigned models = 0;
    mw_error never;
    if (k->models) mw_model_classes_parse(k->models, &models, &never);
    for (int i = 0; !k->models && (class = mw_model_class_at(i)); i++)
        if (class->policy && !(class->real_only && c->discrete)) models |= 1u << i;
    return models;
}

static mw_status preset_of(const mw_chain *c, const comparison *k, mw_preset *preset, mw_error *error) {
    const unsigned models = models_of(c, k);
    *preset = c->preset;
    for (int i = 0; k->steps_of && mw_model_class_at(i); i++) {
        char steps[2 * MW_WORD + 2];
        if (!(models & 1u << i)) continue;
        snprintf(steps, sizeof steps, "%.40s.steps", k->steps_of);
        const mw_preset_field field = mw_chain_setting(c, steps);
        snprintf(steps, sizeof steps, "%.40s.steps=%.40s", mw_model_class_at(i)->name, field.value);
        MW_TRY(mw_preset_set(preset, steps, error));
    }
    preset->parts |= models;
    return mw_preset_check(preset, error);
}

static mw_eval_options options_of(const mw_chain *c, const comparison *k) {
    mw_eval_options e = mw_chain_eval_options(c);
    char models[MW_NAMES_TEXT], arms[MW_NAMES_TEXT + 64];
    mw_error never;
    mw_names_text(models, mw_model_class_name, models_of(c, k), ",");
    snprintf(arms, sizeof arms, "%.60s,%s", k->arms, models);
    mw_arms_parse(arms, &e.arms, &never);
    return e;
}

static json_t *inputs_of(const mw_chain *c, const comparison *k) {
    mw_preset preset;
    mw_error error;
    const mw_eval_options e = options_of(c, k);
    if (preset_of(c, k, &preset, &error) != MW_OK) return NULL;
    return json_pack("{s:o, s:o, s:i}", "settings", mw_preset_json(&preset), "eval", mw_chain_eval_inputs(&e),
                     "anchors", k->ranking ? c->options->anchors : 0);
}

/* ---- training and play, which take about as long as each other ---- */

typedef struct {
    mw_chain *chain;
    unsigned arms;
} listener;

static void train_progress(void *context, const mw_training_progress *p) {
    mw_chain *c = context;
    char note[64];
    if (!c->progress) return;
    snprintf(note, sizeof note, "%.20s %ld/%ld", p->part, p->step, p->steps);
    c->progress(c->context, p->total > 0 ? 0.5 * p->done / p->total : 0, note);
}

static void play_progress(void *context, int arm, long done, long total) {
    const listener *l = context;
    const unsigned before = l->arms & ((1u << arm) - 1);
    const double share = __builtin_popcount(before) + (double)done / (double)total;
    if (l->chain->progress)
        l->chain->progress(l->chain->context, 0.5 + 0.5 * share / __builtin_popcount(l->arms),
                           mw_arm_name(arm));
}

/* The bundle that is compared may have been trained again by another revision, which its settings, data and
 * seed do not tell. */
static bool of_same_base(const mw_chain *c, const char *path) {
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

/* What is there already is kept; its checkpoint is continued. */
static mw_status train(mw_chain *c, const comparison *k, const char *path, mw_error *error) {
    mw_preset preset;
    mw_training_report r;
    bool plan;
    MW_TRY(preset_of(c, k, &preset, error));
    if (mw_chain_kept_parts(c, &preset, path, &plan) == preset.parts && plan && of_same_base(c, path))
        return MW_OK;
    unlink(path);
    const mw_training_request request = {
        .preset = &preset,
        .output = path,
        .options = {.only = models_of(c, k), .with = c->bundle, .progress = train_progress}};
    return mw_chain_train(c, request, &r, error);
}

static mw_status run(mw_chain *c, const comparison *k, mw_error *error) {
    const char *name = mw_study_stage_name(k->stage);
    mw_bundle *bundle;
    mw_eval_result r = {0};
    mw_eval_options options = options_of(c, k);
    listener l = {c, options.arms};
    char path[700];
    options.progress = play_progress;
    options.context = &l;
    /* beside the bundle: SETTING.selectors.safetensors */
    snprintf(path, sizeof path, "%.*s.%s.safetensors", (int)(strrchr(c->bundle, '.') - c->bundle), c->bundle,
             name);
    MW_TRY(train(c, k, path, error));
    MW_TRY(mw_bundle_load(&bundle, path, error));
    json_t *root = json_object();
    mw_status status = mw_eval_run(&r, bundle, &options, error);
    if (status == MW_OK) json_object_set_new(root, "eval", mw_eval_json(&r));
    json_object_set_new(root, "training", mw_chain_training_json(path));
    if (status == MW_OK && k->ranking && c->options->anchors)
        status = mw_chain_same_state(c, bundle, false, root, error);
    if (status == MW_OK) mw_chain_note_arms(c, &r);
    mw_eval_result_clear(&r);
    mw_bundle_free(bundle);
    if (status == MW_OK) return mw_chain_write(c, k->stage, root, error);
    json_decref(root);
    return status;
}

/* ---- the two stages ---- */

static mw_eval_options selectors_play(const mw_chain *c) {
    return options_of(c, &comparisons[MW_RIVALS_SELECTORS]);
}

static json_t *selectors_inputs(const mw_chain *c) {
    return inputs_of(c, &comparisons[MW_RIVALS_SELECTORS]);
}

static mw_status selectors_run(mw_chain *c, mw_error *error) {
    return run(c, &comparisons[MW_RIVALS_SELECTORS], error);
}

static mw_eval_options baselines_play(const mw_chain *c) {
    return options_of(c, &comparisons[MW_RIVALS_BASELINES]);
}

static json_t *baselines_inputs(const mw_chain *c) {
    return inputs_of(c, &comparisons[MW_RIVALS_BASELINES]);
}

static mw_status baselines_run(mw_chain *c, mw_error *error) {
    return run(c, &comparisons[MW_RIVALS_BASELINES], error);
}

const mw_stage mw_stage_selectors = {.name = "selectors",
                                     .folder = "selectors",
                                     .analysis = true,
                                     .plays = selectors_play,
                                     .inputs = selectors_inputs,
                                     .run = selectors_run};

const mw_stage mw_stage_baselines = {.name = "baselines",
                                     .folder = "baselines",
                                     .analysis = true,
                                     .plays = baselines_play,
                                     .inputs = baselines_inputs,
                                     .run = baselines_run};
