/* Decentralised policies; see actor.h. */
#include "behavior/actor.h"

#include "core/math.h"
#include "nn/categorical.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

mw_mlp mw_actor_layers(mw_params *params, const mw_actor_shape *shape) {
    const int sizes[] = {mw_actor_inputs(shape), shape->hidden, shape->hidden, shape->act};
    return mw_mlp_make(params, "actor", sizes, 3, shape->activation);
}

mw_status mw_actor_create(mw_actor *actor, const mw_actor_shape *shape, mw_error *error) {
    *actor = (mw_actor){.shape = *shape};
    actor->mlp = mw_actor_layers(&actor->params, shape);
    size_t round = MW_ALIGN / sizeof(float), packed = (actor->params.packed + round - 1) / round * round;
    actor->values = aligned_alloc(MW_ALIGN, actor->params.total * sizeof(float));
    actor->packed = aligned_alloc(MW_ALIGN, packed * sizeof(float));
    if (actor->params.failed || !actor->values || !actor->packed) {
        mw_actor_free(actor);
        return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a policy");
    }
    memset(actor->values, 0, actor->params.total * sizeof(float));
    return MW_OK;
}

void mw_actor_free(mw_actor *actor) {
    mw_params_free(&actor->params);
    free(actor->values);
    free(actor->packed);
    actor->values = actor->packed = NULL;
}

void mw_actor_pack(mw_actor *actor) {
    mw_mlp_pack(&actor->mlp, actor->values, actor->packed, false);
}

static void carve(mw_actor_work *work, const mw_mlp *mlp, const mw_actor_shape *shape, int count) {
    int rows = count * shape->agents;
    work->input = mw_arena_floats(&work->arena, (size_t)rows * (size_t)mw_actor_inputs(shape));
    mw_mlp_acts_take(mlp, &work->acts, &work->arena, rows, false);
}

mw_status mw_actor_work_create(mw_actor_work *work, const mw_actor_shape *shape, int count, mw_error *error) {
    mw_params params = {0};
    mw_mlp mlp = mw_actor_layers(&params, shape); /* for its sizes only */
    mw_params_free(&params);
    *work = (mw_actor_work){0};
    carve(work, &mlp, shape, count);
    MW_TRY(mw_arena_create(&work->arena, work->arena.used, error));
    carve(work, &mlp, shape, count);
    return MW_OK;
}

void mw_actor_work_free(mw_actor_work *work) {
    mw_arena_free(&work->arena);
}

const float *mw_actor_forward(const mw_actor *actor, mw_actor_work *work, const float *obs, int count) {
    const mw_actor_shape *s = &actor->shape;
    const int rows = count * s->agents, inputs = mw_actor_inputs(s);
    const float *x = obs;
    if (s->ids) {
        for (int row = 0; row < rows; row++) {
            float *to = work->input + (size_t)row * (size_t)inputs;
            memcpy(to, obs + (size_t)row * (size_t)s->obs, (size_t)s->obs * sizeof *to);
            for (int i = 0; i < s->agents; i++) to[s->obs + i] = i == row % s->agents;
        }
        x = work->input;
    }
    return mw_mlp_forward(&actor->mlp, &work->acts, x, actor->values, actor->packed, rows);
}

void mw_actor_draw_real(float *real, const float *out, int count, float noise, mw_rng *rng) {
    if (noise > 0)
        mw_rng_fill_normal(rng, real, (size_t)count);
    else
        memset(real, 0, (size_t)count * sizeof *real);
    for (int i = 0; i < count; i++)
        real[i] = fminf(fmaxf((float)mw_tanh((double)out[i]) + noise * real[i], -1), 1);
}

int32_t mw_actor_draw_index(const float *logits, const uint8_t *legal, int act, float noise, mw_rng *rng) {
    const float explore = mw_rng_float(rng), u = mw_rng_float(rng);
    return mw_categorical_pick(explore < noise ? NULL : logits, legal, act, u);
}
