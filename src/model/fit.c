/* Learning by minibatches; see fit.h. */
#include "model/fit.h"

#include "data/transition.h"

#include <stdlib.h>
#include <string.h>

enum { SHARDS = 4 };

/* ---- steps ---- */

static void carve_area(void *context, mw_arena *arena, int worker) {
    const mw_fit *f = context;
    f->kind->carve(f, f->areas + (size_t)worker * f->kind->area, arena, f->shards.size);
}

static void pack_step(void *context, int worker) {
    const mw_fit *f = context;
    if (worker > 0) return;
    f->model->kind->pack(f->model, f->shards.optimizer.values, f->shards.packed, true);
    if (f->kind->before) f->kind->before(f);
}

static double shard_loss(void *context, int worker, int begin, int end, float *grads) {
    const mw_fit *f = context;
    double *losses = f->losses[begin / f->shards.size];
    f->kind->loss(f, f->batch, f->areas + (size_t)worker * f->kind->area, begin, end, grads, losses);
    return mw_training_part_loss(&f->part, losses);
}

void mw_fit_run(mw_fit *f, const void *slot, mw_step what, double *losses) {
    if (f->kind->run) {
        f->kind->run(f, slot, what, losses);
        return;
    }
    f->batch = slot;
    memset(f->losses, 0, SHARDS * sizeof *f->losses);
    mw_shards_step(&f->shards, f->settings->batch, what, pack_step, shard_loss, f);
    for (int i = 0; i < f->part.losses; i++) {
        losses[i] = 0;
        for (int shard = 0; shard < SHARDS; shard++) losses[i] += f->losses[shard][i];
    }
}

static mw_status advance(mw_training_part *part, double *losses, mw_error *error) {
    mw_fit *f = (mw_fit *)part;
    const mw_fit_settings *s = f->settings;
    (void)error;
    part->optimizer->adam.rate =
        (float)s->rate * mw_schedule(part->step, s->warmup, part->steps, (float)s->final);
    mw_fit_run(f, mw_prefetch_next(f->prefetch), MW_STEP_UPDATE, losses);
    return MW_OK;
}

/* Twice undoes itself. */
static void swap_average(mw_optimizer *o) {
    float *values = o->values;
    o->values = o->average;
    o->average = values;
}

/* With the weights that planning uses. */
static void validate(mw_training_part *part, double *losses) {
    mw_fit *f = (mw_fit *)part;
    const bool averaged = part->optimizer->average && !part->keeps_last;
    memset(losses, 0, MW_LOSSES * sizeof *losses);
    if (averaged) swap_average(part->optimizer);
    for (int k = 0; k < f->held_batches; k++) {
        double one[MW_LOSSES] = {0};
        f->kind->fill(f, f->slots[2], (uint64_t)k, true);
        mw_fit_run(f, f->slots[2], MW_STEP_LOSS, one);
        for (int i = 0; i < part->losses; i++) losses[i] += 1.0 / f->held_batches * one[i];
    }
    if (averaged) swap_average(part->optimizer);
}

/* ---- its life ---- */

static void prefetch_fill(void *context, uint64_t step, void *batch) {
    const mw_fit *f = context;
    f->kind->fill(f, batch, step, false);
}

static mw_status start(mw_training_part *part, mw_error *error) {
    mw_fit *f = (mw_fit *)part;
    return mw_prefetch_create(&f->prefetch, prefetch_fill, f, f->slots[0], f->slots[1], (uint64_t)part->step,
                              error);
}

static void stop(mw_training_part *part) {
    mw_fit *f = (mw_fit *)part;
    mw_prefetch_free(f->prefetch);
    f->prefetch = NULL;
}

static void destroy(mw_training_part *part) {
    mw_fit *f = (mw_fit *)part;
    stop(part);
    for (int i = 0; i < 3; i++) {
        if (f->slots[i]) f->kind->slot_close(f->slots[i]);
        free(f->slots[i]);
    }
    if (f->kind->close && f->state) f->kind->close(f);
    mw_shards_free(&f->shards);
    free(f->areas);
    free(f->losses);
    free(f->state);
    mw_arena_free(&f->best);
    free(f);
}

static mw_status open_shards(mw_fit *f, mw_error *error) {
    const mw_params *params = f->model->params;
    f->areas = calloc((size_t)mw_pool_threads(f->data->pool), f->kind->area);
    f->losses = calloc(SHARDS, sizeof *f->losses);
    if (!f->areas || !f->losses) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a trainer");
    MW_TRY(mw_shards_create(&f->shards, params->total, params->packed, &f->adam, f->average,
                            f->settings->batch, SHARDS, f->data->pool, carve_area, f, error));
    f->part.optimizer = &f->shards.optimizer;
    return MW_OK;
}

static mw_status build(mw_fit *f, mw_error *error) {
    const mw_fit_class *kind = f->kind;
    const size_t total = f->model->params->total;
    f->state = calloc(1, kind->state ? kind->state : 1);
    if (!f->state) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a trainer");
    if (kind->open) MW_TRY(kind->open(f, error));
    if (kind->loss) MW_TRY(open_shards(f, error));
    for (int i = 0; i < 3; i++) {
        f->slots[i] = calloc(1, kind->slot);
        if (!f->slots[i]) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a batch");
        MW_TRY(kind->slot_open(f, f->slots[i], error));
    }
    if (kind->keeps_best) {
        MW_TRY(mw_arena_create(&f->best, total * sizeof *f->part.best_values, error));
        f->part.best_values = mw_arena_floats(&f->best, total);
    }
    mw_optimizer *o = f->part.optimizer;
    mw_params_init(f->model->params, o->values, 3 * f->data->seed + (uint64_t)kind->stream);
    if (kind->initialise) kind->initialise(f, o->values);
    if (o->average) memcpy(o->average, o->values, total * sizeof *o->values);
    f->target = o->average;
    if (f->held_batches > 0) f->part.validate = validate;
    return MW_OK;
}

mw_status mw_fit_create(mw_training_part **out, const mw_model *model, const mw_training_data *data,
                        mw_error *error) {
    const mw_fit_class *kind = model->kind->fit;
    mw_fit *f = calloc(1, sizeof *f);
    *out = NULL;
    if (!f) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate the training of the %s", model->kind->name);
    f->kind = kind;
    f->model = model;
    f->data = data;
    f->settings = (const mw_fit_settings *)(const void *)(model->config.bytes + kind->settings);
    f->adam = (mw_adam){.beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-8f, .clip = (float)f->settings->clip};
    f->held_batches = data->split.held.transitions > 0 ? kind->held_batches : 0;
    f->part = (mw_training_part){.name = model->kind->name,
                                 .losses = kind->losses,
                                 .minimised = kind->minimised,
                                 .total = model->params->total,
                                 .steps = f->settings->steps,
                                 .start = start,
                                 .advance = advance,
                                 .stop = stop,
                                 .destroy = destroy};
    memcpy(f->part.loss_names, kind->loss_names, sizeof f->part.loss_names);
    const mw_status status = build(f, error);
    if (status != MW_OK) {
        destroy(&f->part);
        return status;
    }
    *out = &f->part;
    return MW_OK;
}

/* ---- batches of joint transitions ---- */

mw_status mw_fit_transitions_open(const mw_fit *f, void *slot, mw_error *error) {
    return mw_transition_rows_create(slot, &f->data->dataset->spec, f->settings->batch, error);
}

void mw_fit_transitions_close(void *slot) {
    mw_transition_rows_free(slot);
}

void mw_fit_transitions_fill(const mw_fit *f, void *slot, uint64_t step, bool held) {
    const mw_training_data *d = f->data;
    mw_transition_fill(slot, f->settings->batch, d->dataset, held ? &d->split.held : &d->split.train, d->seed,
                       step, held ? MW_BATCH_VALIDATION : MW_BATCH_WORLD);
}
