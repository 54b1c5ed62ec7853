/* The stages behind the diagnosis: routing, the comparison of selectors, sweeps. They lie beside the
 * summaries in files that single commands write too, and each can be continued; see chain.h. */
#include "core/file.h"
#include "data/dataset.h"
#include "eval/eval.h"
#include "mawam/sweep.h"
#include "study/chain.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a comparison adds to the bundle, and who then plays. */
#define SELECTORS "mono,independent,q,direct"
#define COMPARED  "reactive,random,paper,ceiling," SELECTORS

/* Sweeps play one seed of their own, so that the study's are seen by its arms alone. */
enum { SWEEPS = 5, SWEEP_SEEDS_BEHIND = 100 };

static mw_status with_bundle(mw_chain *c,
                             mw_status (*work)(mw_chain *chain, const mw_bundle *bundle, mw_error *error),
                             mw_error *error) {
    mw_bundle *bundle;
    MW_TRY(mw_bundle_load(&bundle, c->bundle, error));
    const mw_status status = work(c, bundle, error);
    mw_bundle_free(bundle);
    return status;
}

/* ---- options ---- */

static mw_routing_options routing_options(const mw_chain *c) {
    mw_routing_options o;
    mw_routing_options_init(&o, sizeof o);
    o.anchors = c->options->anchors;
    o.threads = c->options->threads;
    o.stop = c->options->stop;
    return o;
}

static mw_eval_options compared_options(const mw_chain *c) {
    mw_eval_options e = mw_chain_eval_options(c);
    mw_error never;
    mw_arms_parse(COMPARED, &e.arms, &never);
    return e;
}

static mw_eval_options sweep_options(const mw_chain *c) {
    mw_eval_options e = mw_chain_eval_options(c);
    e.arms = 0;
    e.first_seed += SWEEP_SEEDS_BEHIND;
    e.seeds = 1;
    return e;
}

static mw_preset_field preset_field(const mw_preset *preset, const char *name) {
    mw_preset_field field;
    for (int i = 0; mw_preset_field_at(preset, i, &field); i++)
        if (!strcmp(field.name, name)) return field;
    return (mw_preset_field){.value = "1"};
}

/* Horizons as far as the policy generates. */
static void sweep_axes(const mw_chain *c, const char *axes[SWEEPS], char horizons[16]) {
    const long generated = strtol(preset_field(&c->preset, "flow.generated").value, NULL, 10);
    snprintf(horizons, 16, "H=1..%d", generated < 8 ? (int)generated : 8);
    axes[0] = "M=1,2,4,8,16";
    axes[1] = horizons;
    axes[2] = "K=1..5";
    axes[3] = "caution=0,0.1,0.25,0.5,1";
    axes[4] = "recombine=0,1,2,4";
}

/* Every selector gets as many steps as the world model that it is compared with. */
static mw_status selector_preset(const mw_chain *c, mw_preset *preset, unsigned *only, mw_error *error) {
    const mw_preset_field steps = preset_field(&c->preset, "rwm.steps");
    *preset = c->preset;
    MW_TRY(mw_model_classes_parse(SELECTORS, only, error));
    for (int i = 0; mw_model_class_at(i); i++) {
        char assignment[2 * MW_WORD + 2];
        if (!(*only & 1u << i)) continue;
        snprintf(assignment, sizeof assignment, "%.40s.steps=%.40s", mw_model_class_at(i)->name, steps.value);
        MW_TRY(mw_preset_set(preset, assignment, error));
    }
    preset->parts |= *only;
    return mw_preset_check(preset, error);
}

/* ---- routing ---- */

static json_t *routing_inputs(const mw_chain *c) {
    const mw_routing_options o = routing_options(c);
    return json_pack("{s:i, s:i, s:i, s:I}", "transitions", o.transitions, "consecutive", o.consecutive,
                     "anchors", o.anchors, "seed", (json_int_t)o.seed);
}

static mw_status routing_of(mw_chain *c, const mw_bundle *bundle, mw_error *error) {
    mw_dataset d;
    mw_routing *r = NULL;
    const mw_routing_options options = routing_options(c);
    json_t *root;
    MW_TRY(mw_dataset_open(&d, c->data, error));
    mw_status status = mw_dataset_check(&d, error);
    if (status == MW_OK) status = mw_routing_run(&r, bundle, &d, &options, error);
    mw_dataset_close(&d);
    MW_TRY(status);
    snprintf(c->note, sizeof c->note, "NMI of context %.3f, of agent %.3f; %.1f effective experts",
             r->trained.statistics.context.corrected, r->trained.statistics.agent.corrected,
             r->trained.statistics.effective_experts);
    const char *command = c->options->command ? c->options->command : "";
    status = mw_routing_save(bundle, r, command, c->files[MW_STUDY_ROUTING], error);
    mw_routing_free(r);
    MW_TRY(status);
    MW_TRY(mw_json_read(&root, c->files[MW_STUDY_ROUTING], error));
    return mw_chain_write(c, MW_STUDY_ROUTING, root, error);
}

static mw_status routing_run(mw_chain *c, mw_error *error) {
    return with_bundle(c, routing_of, error);
}

const mw_stage mw_stage_routing = {
    .name = "routing", .folder = "routing", .analysis = true, .inputs = routing_inputs, .run = routing_run};

/* ---- selectors ---- */

static json_t *selectors_inputs(const mw_chain *c) {
    mw_preset preset;
    mw_error error;
    unsigned only;
    const mw_eval_options e = compared_options(c);
    if (selector_preset(c, &preset, &only, &error) != MW_OK) return NULL;
    return json_pack("{s:o, s:o, s:i}", "settings", mw_preset_json(&preset), "eval", mw_chain_eval_inputs(&e),
                     "anchors", c->options->anchors);
}

/* Training and evaluation take about as long as each other. */
static void train_progress(void *context, const mw_training_progress *p) {
    mw_chain *c = context;
    char note[64];
    if (!c->progress) return;
    snprintf(note, sizeof note, "%.20s %ld/%ld", p->part, p->step, p->steps);
    c->progress(c->context, p->total > 0 ? 0.5 * p->done / p->total : 0, note);
}

static void play_progress(void *context, int arm, long done, long total) {
    mw_chain *c = context;
    const unsigned arms = compared_options(c).arms, before = arms & ((1u << arm) - 1);
    const double share = __builtin_popcount(before) + (double)done / (double)total;
    if (c->progress) c->progress(c->context, 0.5 + 0.5 * share / __builtin_popcount(arms), mw_arm_name(arm));
}

/* The bundle that is compared may have been trained again by another revision, which its settings, data and
 * seed do not tell. */
static bool of_same_base(const mw_chain *c) {
    mw_bundle *base = NULL, *compared_bundle = NULL;
    mw_error error;
    bool same = mw_bundle_load(&base, c->bundle, &error) == MW_OK &&
                mw_bundle_load(&compared_bundle, c->selectors_bundle, &error) == MW_OK;
    for (int i = 0; same && i < base->count; i++) {
        const mw_bundle_part *part = mw_bundle_find(compared_bundle, base->parts[i].model->kind->name);
        same = part && !strcmp(part->provenance.revision, base->parts[i].provenance.revision);
    }
    mw_bundle_free(base);
    mw_bundle_free(compared_bundle);
    return same;
}

/* What is there already is kept; its checkpoint is continued. */
static mw_status train_selectors(mw_chain *c, mw_error *error) {
    mw_preset preset;
    mw_training_report r;
    unsigned only;
    bool plan;
    MW_TRY(selector_preset(c, &preset, &only, error));
    if (mw_chain_kept_parts(c, &preset, c->selectors_bundle, &plan) == preset.parts && plan &&
        of_same_base(c))
        return MW_OK;
    unlink(c->selectors_bundle);
    const mw_training_request request = {.preset = &preset,
                                         .output = c->selectors_bundle,
                                         .only = only,
                                         .with = c->bundle,
                                         .progress = train_progress};
    return mw_chain_train(c, request, &r, error);
}

static mw_status selectors_run(mw_chain *c, mw_error *error) {
    mw_bundle *bundle;
    mw_eval_result r = {0};
    mw_eval_options options = compared_options(c);
    options.progress = play_progress;
    options.context = c;
    MW_TRY(train_selectors(c, error));
    MW_TRY(mw_bundle_load(&bundle, c->selectors_bundle, error));
    json_t *root = json_object();
    mw_status status = mw_eval_run(&r, bundle, &options, error);
    if (status == MW_OK) json_object_set_new(root, "eval", mw_eval_json(&r));
    json_object_set_new(root, "training", mw_chain_training_json(c->selectors_bundle));
    if (status == MW_OK && c->options->anchors) status = mw_chain_same_state(c, bundle, false, root, error);
    size_t used = 0;
    c->note[0] = 0;
    for (int a = 0; status == MW_OK && a < MW_ARMS; a++)
        if (r.arm[a].played && used < sizeof c->note)
            used += (size_t)snprintf(c->note + used, sizeof c->note - used, "%s%s %.4g", used ? ", " : "",
                                     mw_arm_name(a), r.arm[a].total);
    mw_eval_result_clear(&r);
    mw_bundle_free(bundle);
    if (status == MW_OK) return mw_chain_write(c, MW_STUDY_SELECTORS, root, error);
    json_decref(root);
    return status;
}

const mw_stage mw_stage_selectors = {.name = "selectors",
                                     .folder = "selectors",
                                     .analysis = true,
                                     .plays = compared_options,
                                     .inputs = selectors_inputs,
                                     .run = selectors_run};

/* ---- sweeps ---- */

static json_t *sweeps_inputs(const mw_chain *c) {
    const mw_eval_options e = sweep_options(c);
    const char *axes[SWEEPS];
    char horizons[16];
    json_t *list = json_array();
    sweep_axes(c, axes, horizons);
    for (int i = 0; i < SWEEPS; i++) json_array_append_new(list, json_string(axes[i]));
    return json_pack("{s:o, s:o}", "sweeps", list, "eval", mw_chain_eval_inputs(&e));
}

static void sweep_progress(void *context, const char *setting, const char *value, int done, int total,
                           double left) {
    mw_chain *c = context;
    char note[64];
    (void)left;
    snprintf(note, sizeof note, "%.20s=%.20s", setting, value);
    if (c->progress) c->progress(c->context, (double)done / total, note);
}

static mw_status sweeps_of(mw_chain *c, const mw_bundle *bundle, mw_error *error) {
    const mw_eval_options e = sweep_options(c);
    mw_sweep_options o;
    const char *axes[SWEEPS];
    char *text, horizons[16];
    json_t *root;
    mw_sweep_options_init(&o, sizeof o);
    sweep_axes(c, axes, horizons);
    o.sweeps = axes;
    o.count = SWEEPS;
    o.eval = &e;
    o.path = c->files[MW_STUDY_SWEEPS];
    o.command = c->options->command;
    o.progress = sweep_progress;
    o.context = c;
    o.overwrite = true; /* what is out of date */
    MW_TRY(mw_sweep_run(&text, bundle, &o, error));
    free(text); /* the file has it with all digits */
    MW_TRY(mw_json_read(&root, c->files[MW_STUDY_SWEEPS], error));
    snprintf(c->note, sizeof c->note, "%d points on the front of return against time",
             (int)json_array_size(json_object_get(root, "front")));
    return mw_chain_write(c, MW_STUDY_SWEEPS, root, error);
}

static mw_status sweeps_run(mw_chain *c, mw_error *error) {
    return with_bundle(c, sweeps_of, error);
}

const mw_stage mw_stage_sweeps = {.name = "sweeps",
                                  .folder = "sweeps",
                                  .analysis = true,
                                  .plays = sweep_options,
                                  .inputs = sweeps_inputs,
                                  .run = sweeps_run};
