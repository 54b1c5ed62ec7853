/* Regression by an MLP; see regress.h. */
#include "nn/regression/regress.h"

#include "core/rng.h"
#include "nn/adam.h"
#include "nn/ops.h"

#include <stdlib.h>
#include <string.h>

#define LAYERS  3
#define AVERAGE 0.995f /* decay of the average of the weights, which predicts */

struct mw_regress {
    mw_regress_options options;
    mw_params params;
    mw_mlp mlp;
    mw_arena arena;
    float *values, *average, *grads, *m, *v, *packed; /* [total]; the last one all matrices */
    float *x, *y, *dy;                                /* a batch */
    mw_mlp_acts acts;
    uint64_t calls;
};

static void carve(mw_regress *r) {
    const size_t total = r->params.total, batch = (size_t)r->options.batch;
    float **arrays[] = {&r->values, &r->average, &r->grads, &r->m, &r->v};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        *arrays[i] = mw_arena_floats(&r->arena, total);
    r->packed = mw_arena_floats(&r->arena, r->params.packed);
    r->x = mw_arena_floats(&r->arena, batch * (size_t)r->options.inputs);
    r->y = mw_arena_floats(&r->arena, batch * (size_t)r->options.outputs);
    r->dy = mw_arena_floats(&r->arena, batch * (size_t)r->options.outputs);
    mw_mlp_acts_take(&r->mlp, &r->acts, &r->arena, r->options.batch, true);
}

static void make_net(mw_regress *r, const mw_regress_options *o) {
    r->options = *o;
    r->mlp = mw_mlp_make(&r->params, "regress", (int[]){o->inputs, o->hidden, o->hidden, o->outputs}, LAYERS,
                         MW_SILU);
}

size_t mw_regress_bytes(const mw_regress_options *options) {
    mw_regress measured = {0};
    make_net(&measured, options);
    carve(&measured);
    mw_params_free(&measured.params);
    return measured.arena.used;
}

mw_status mw_regress_create(mw_regress **out, const mw_regress_options *o, mw_error *error) {
    mw_regress *r = *out = calloc(1, sizeof *r);
    if (!r) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a regression");
    make_net(r, o);
    mw_status status = MW_OK;
    if (r->params.failed) status = mw_fail(error, MW_ERR_MEMORY, "cannot allocate a regression");
    if (status == MW_OK) {
        carve(r);
        status = mw_arena_create(&r->arena, r->arena.used, error);
    }
    if (status != MW_OK) {
        mw_regress_free(r);
        *out = NULL;
        return status;
    }
    carve(r);
    mw_params_init(&r->params, r->values, o->seed);
    memcpy(r->average, r->values, r->params.total * sizeof *r->values);
    return MW_OK;
}

void mw_regress_free(mw_regress *r) {
    if (!r) return;
    mw_params_free(&r->params);
    mw_arena_free(&r->arena);
    free(r);
}

static void draw(mw_regress *r, long step, long rows, mw_regress_row *fill, void *context) {
    mw_rng rng = mw_rng_make(r->options.seed, MW_RNG_REGRESS, r->calls, (uint64_t)step, 0);
    for (int i = 0; i < r->options.batch; i++)
        fill(context, (long)mw_rng_below(&rng, (uint32_t)rows), r->x + (size_t)i * (size_t)r->options.inputs,
             r->y + (size_t)i * (size_t)r->options.outputs);
}

mw_status mw_regress_fit(mw_regress *r, long rows, mw_regress_row *fill, void *context, mw_error *error) {
    const mw_regress_options *o = &r->options;
    const size_t total = r->params.total;
    mw_adam adam = {.beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-8f};
    const long values = (long)o->batch * o->outputs;
    r->calls++;
    memset(r->m, 0, total * sizeof *r->m);
    memset(r->v, 0, total * sizeof *r->v);
    for (long step = 0; step < o->steps; step++) {
        if (mw_stopped(o->stop)) return mw_fail(error, MW_ERR_INTERRUPTED, "stopped in a regression");
        draw(r, step, rows, fill, context);
        mw_mlp_pack(&r->mlp, r->values, r->packed, true);
        const float *out = mw_mlp_forward(&r->mlp, &r->acts, r->x, r->values, r->packed, o->batch);
        mw_mse(r->dy, out, r->y, values, 1 / (float)values);
        memset(r->grads, 0, total * sizeof *r->grads);
        mw_mlp_backward(&r->mlp, &r->acts, NULL, r->grads, r->dy, r->x, r->packed, o->batch);
        adam.rate = o->rate * mw_schedule(step, o->steps / 20, o->steps, 0.01f);
        mw_adam_update(&adam, step + 1, 1, r->values, r->grads, r->m, r->v, 0, total);
        mw_ema_update(r->average, r->values, AVERAGE, 0, total);
    }
    mw_mlp_pack(&r->mlp, r->average, r->packed, false);
    return MW_OK;
}

const float *mw_regress_predict(mw_regress *r, long first, int count, mw_regress_row *fill, void *context) {
    for (int i = 0; i < count; i++)
        fill(context, first + i, r->x + (size_t)i * (size_t)r->options.inputs, NULL);
    return mw_mlp_forward(&r->mlp, &r->acts, r->x, r->average, r->packed, count);
}
