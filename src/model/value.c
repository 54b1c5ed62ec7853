/* Value networks: rows, loss and scoring; see value.h. */
#include "model/value.h"

#include "nn/ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SCORED_ROWS = 64 }; /* together, at most */

mw_value_net *mw_value_net_create(mw_model *model) {
    mw_value_net *net = model->net = calloc(1, sizeof *net);
    if (net) model->params = &net->params;
    return net;
}

void mw_value_discard(mw_model *model) {
    if (model->net) mw_params_free(&((mw_value_net *)model->net)->params);
    free(model->net);
}

void mw_value_pack(const mw_model *model, const float *values, float *packed, bool backward) {
    mw_stack_pack(&mw_value_net_of(model)->stack, values, packed, backward);
}

/* ---- training ---- */

void mw_value_row(const mw_dataset *data, mw_place place, int steps, float *x) {
    const size_t joint = (size_t)data->spec.agents * (size_t)data->spec.obs_size;
    memcpy(x, mw_dataset_obs(data, place.episode, place.t), joint * sizeof *x);
    mw_dataset_actions(data, data->offsets[place.episode] + place.t, steps, x + joint);
}

void mw_value_carve(const mw_fit *f, void *area, mw_arena *arena, int rows) {
    mw_value_area *a = area;
    mw_stack_acts_take(&mw_value_net_of(f->model)->stack, &a->acts, arena, rows, true);
}

double mw_value_loss(const mw_fit *f, mw_value_area *area, const float *x, const float *target, int rows,
                     float *grads) {
    const mw_stack *stack = &mw_value_net_of(f->model)->stack;
    const float *values = f->shards.optimizer.values, share = 1 / (float)f->settings->batch;
    float *out = mw_stack_forward(stack, &area->acts, x, values, f->shards.packed, rows);
    const double sum = mw_mse(out, out, target, rows, share);
    if (grads) mw_stack_backward(stack, &area->acts, grads, out, x, values, f->shards.packed, rows, false);
    return sum * (double)share;
}

/* ---- scoring ---- */

typedef struct {
    mw_scorer base;
    const mw_model *model;
    mw_stack_acts acts;
    float *x; /* [rows][inputs] */
    int rows;
    mw_arena arena;
} value_scorer;

static void carve(value_scorer *s) {
    mw_stack_acts_take(&mw_value_net_of(s->model)->stack, &s->acts, &s->arena, s->rows, false);
    s->x = mw_arena_floats(&s->arena, (size_t)s->rows * (size_t)mw_value_inputs(s->model));
}

static mw_status check_horizon(const mw_model *model, int horizon, mw_error *error) {
    const mw_value_net *net = mw_value_net_of(model);
    if (net->whole ? horizon == net->steps : horizon >= net->steps) return MW_OK;
    return mw_fail(error, MW_ERR_ARGUMENT, "this %s is for %d steps, not %d", model->kind->name, net->steps,
                   horizon);
}

mw_status mw_value_score(mw_scorer *base, const mw_scoring *call, mw_error *error) {
    value_scorer *s = (value_scorer *)base;
    const mw_value_net *net = mw_value_net_of(s->model);
    const float *values = s->model->values, mean = net->scaled ? values[net->mean] : 0,
                std = net->scaled ? values[net->std] : 1;
    const mw_model_shape *shape = &s->model->shape;
    const size_t obs = (size_t)(shape->agents * shape->obs), step = (size_t)(shape->agents * shape->act),
                 acts = (size_t)net->steps * step, stride = (size_t)call->horizon * step;
    MW_TRY(check_horizon(s->model, call->horizon, error));
    for (int first = 0; first < call->count; first += s->rows) {
        const int rows = call->count - first < s->rows ? call->count - first : s->rows;
        for (int r = 0; r < rows; r++) {
            float *x = s->x + (size_t)r * (obs + acts);
            memcpy(x, call->obs + (size_t)(first + r) * obs, obs * sizeof *x);
            memcpy(x + obs, call->actions + (size_t)(first + r) * stride, acts * sizeof *x);
        }
        const float *z = mw_stack_forward(&net->stack, &s->acts, s->x, values, s->model->packed, rows);
        for (int r = 0; r < rows; r++) call->scores[first + r] = fmaf(z[r], std, mean);
    }
    return MW_OK;
}

size_t mw_value_scorer_bytes(const mw_scorer *base) {
    return ((const value_scorer *)base)->arena.size;
}

void mw_value_scorer_destroy(mw_scorer *base) {
    mw_arena_free(&((value_scorer *)base)->arena);
    free(base);
}

mw_status mw_value_scorer_create(mw_scorer **out, const mw_scorer_context *context, mw_error *error) {
    *out = NULL;
    MW_TRY(check_horizon(context->model, context->horizon, error));
    value_scorer *s = calloc(1, sizeof *s);
    if (!s) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a scorer");
    *s = (value_scorer){.base = {context->model->kind->scorer},
                        .model = context->model,
                        .rows = context->max_rows < SCORED_ROWS ? context->max_rows : SCORED_ROWS};
    carve(s);
    const mw_status status = mw_arena_create(&s->arena, s->arena.used, error);
    if (status != MW_OK) {
        free(s);
        return status;
    }
    carve(s);
    *out = &s->base;
    return MW_OK;
}
