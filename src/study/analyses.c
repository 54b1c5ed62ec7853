/* Stages behind the diagnosis that only look at the bundle: routing, sweeps. Their files lie beside the
 * summaries, single commands write such files too, and each can be continued; see run.h. */
#include "core/file.h"
#include "data/dataset.h"
#include "eval/eval.h"
#include "mawam/sweep.h"
#include "study/run.h"

#include <stdlib.h>
#include <string.h>

/* Sweeps play one seed of their own, so that the study's are seen by its arms alone. */
enum { SWEEPS = 5, SWEEP_SEEDS_BEHIND = 100 };

static mw_status with_bundle(mw_run *c,
                             mw_status (*work)(mw_run *run, const mw_bundle *bundle, mw_error *error),
                             mw_error *error) {
    mw_bundle *bundle;
    MW_TRY(mw_bundle_load(&bundle, c->bundle, error));
    const mw_status status = work(c, bundle, error);
    mw_bundle_free(bundle);
    return status;
}

/* ---- options ---- */

static mw_routing_options routing_options(const mw_run *c) {
    mw_routing_options o;
    mw_routing_options_init(&o, sizeof o);
    o.anchors = c->options->anchors;
    o.threads = c->options->threads;
    o.stop = c->options->stop;
    return o;
}

static mw_eval_options sweep_options(const mw_run *c) {
    mw_eval_options e = mw_run_eval_options(c);
    e.arms = 0;
    e.first_seed += SWEEP_SEEDS_BEHIND;
    e.seeds = 1;
    return e;
}

/* Horizons as far as the policy generates. */
static void sweep_axes(const mw_run *c, const char *axes[SWEEPS], char horizons[16]) {
    const long generated = strtol(mw_run_setting(c, "flow.generated").value, NULL, 10);
    snprintf(horizons, 16, "H=1..%d", generated < 8 ? (int)generated : 8);
    axes[0] = "M=1,2,4,8,16";
    axes[1] = horizons;
    axes[2] = "K=1..5";
    axes[3] = "caution=0,0.1,0.25,0.5,1";
    axes[4] = "recombine=0,1,2,4";
}

/* ---- routing ---- */

static json_t *routing_inputs(const mw_run *c) {
    const mw_routing_options o = routing_options(c);
    return json_pack("{s:i, s:i, s:i, s:I}", "transitions", o.transitions, "consecutive", o.consecutive,
                     "anchors", o.anchors, "seed", (json_int_t)o.seed);
}

static mw_status routing_of(mw_run *c, const mw_bundle *bundle, mw_error *error) {
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
    return mw_run_write(c, MW_STUDY_ROUTING, root, error);
}

static mw_status routing_run(mw_run *c, mw_error *error) {
    return with_bundle(c, routing_of, error);
}

const mw_stage mw_stage_routing = {
    .name = "routing", .folder = "routing", .analysis = true, .inputs = routing_inputs, .run = routing_run};

/* ---- sweeps ---- */

static json_t *sweeps_inputs(const mw_run *c) {
    const mw_eval_options e = sweep_options(c);
    const char *axes[SWEEPS];
    char horizons[16];
    json_t *list = json_array();
    sweep_axes(c, axes, horizons);
    for (int i = 0; i < SWEEPS; i++) json_array_append_new(list, json_string(axes[i]));
    return json_pack("{s:o, s:o}", "sweeps", list, "eval", mw_run_eval_inputs(&e));
}

static void sweep_progress(void *context, const char *setting, const char *value, int done, int total,
                           double left) {
    mw_run *c = context;
    char note[64];
    (void)left;
    snprintf(note, sizeof note, "%.20s=%.20s", setting, value);
    if (c->progress) c->progress(c->context, (double)done / total, note);
}

static mw_status sweeps_of(mw_run *c, const mw_bundle *bundle, mw_error *error) {
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
    return mw_run_write(c, MW_STUDY_SWEEPS, root, error);
}

static mw_status sweeps_run(mw_run *c, mw_error *error) {
    return with_bundle(c, sweeps_of, error);
}

const mw_stage mw_stage_sweeps = {.name = "sweeps",
                                  .folder = "sweeps",
                                  .analysis = true,
                                  .plays = sweep_options,
                                  .inputs = sweeps_inputs,
                                  .run = sweeps_run};
