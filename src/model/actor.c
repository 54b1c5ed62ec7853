/* Heads of policies; see actor.h. */
#include "model/actor.h"

#include "core/math.h"
#include "core/rng.h"
#include "nn/categorical.h"

#include <stdlib.h>

mw_view mw_view_of(const mw_units *units, const mw_model_shape *shape, bool joint) {
    mw_view v = {.units = *units, .agents = shape->agents, .obs = shape->obs, .joint = joint};
    v.seen = (joint ? shape->agents : 1) * shape->obs;
    v.inputs = v.seen + shape->agents;
    return v;
}

void mw_view_fill(const mw_view *v, const float *values, const float *obs, float *x, size_t stride) {
    for (int agent = 0; agent < v->agents; agent++, x += stride) {
        mw_units_apply(&v->units, values, v->joint ? obs : obs + agent * v->obs, x, v->seen);
        for (int i = 0; i < v->agents; i++) x[v->seen + i] = i == agent;
    }
}

/* ---- losses ---- */

double mw_clone_real(float *out, const float *act, int d, float share) {
    double sum = 0;
    for (int k = 0; k < d; k++) {
        const float mean = (float)mw_tanh((double)out[k]), off = mean - act[k];
        sum += (double)(off * off);
        out[k] = 2 * share * off * (1 - mean * mean);
    }
    return sum;
}

double mw_clone_index(float *out, float *prob, const uint8_t *legal, int32_t act, int d, float share) {
    const float logit = out[act];
    float *p = prob ? prob : out; /* each is read before it is written */
    const float log = logit - mw_categorical_softmax(p, out, legal, d);
    for (int k = 0; k < d; k++) out[k] = legal[k] ? share * (p[k] - (k == act)) : 0;
    return -(double)log;
}

void mw_tanh_forward(float *out, size_t count) {
    for (size_t i = 0; i < count; i++) out[i] = (float)mw_tanh((double)out[i]);
}

void mw_tanh_backward(float *gradient, const float *act, size_t count) {
    for (size_t i = 0; i < count; i++) gradient[i] *= 1 - act[i] * act[i];
}

/* ---- play ---- */

typedef struct {
    mw_policy base;
    const mw_model *model;
    mw_actor_head head;
    int envs;
    mw_arena arena;
    mw_mlp_acts acts;
    float *x; /* [n][inputs] of one environment */
} playing;

static void take_room(playing *p) {
    const int n = p->model->shape.agents;
    mw_mlp_acts_take(p->head.mlp, &p->acts, &p->arena, n, false);
    p->x = mw_arena_floats(&p->arena, (size_t)(n * p->head.view.inputs));
}

void mw_head_policy_destroy(mw_policy *base) {
    mw_arena_free(&((playing *)base)->arena);
    free(base);
}

mw_status mw_head_policy_create(mw_policy **out, const mw_policy_class *kind,
                                const mw_policy_context *context, const mw_actor_head *head,
                                mw_error *error) {
    playing *p = calloc(1, sizeof *p);
    *out = NULL;
    if (!p) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a policy");
    *p = (playing){.base = {kind}, .model = context->model, .head = *head, .envs = context->envs};
    take_room(p);
    const mw_status status = mw_arena_create(&p->arena, p->arena.used, error);
    if (status != MW_OK) {
        mw_head_policy_destroy(&p->base);
        return status;
    }
    take_room(p);
    *out = &p->base;
    return MW_OK;
}

/* The joint action of one environment. */
static void decide(playing *p, const mw_policy_call *call, int env) {
    const mw_model *model = p->model;
    const int n = model->shape.agents, d = model->shape.act;
    const size_t joint = (size_t)(n * model->shape.obs), acts = (size_t)(n * d), at = (size_t)env;
    mw_view_fill(&p->head.view, model->values, call->obs + at * joint, p->x, (size_t)p->head.view.inputs);
    const float *out = mw_mlp_forward(p->head.mlp, &p->acts, p->x, model->values, model->packed, n);
    for (size_t k = 0; !model->shape.discrete && k < acts; k++)
        call->real[at * acts + k] = (float)mw_tanh((double)out[k]);
    for (int i = 0; model->shape.discrete && i < n; i++) {
        const uint8_t *legal = call->legal ? call->legal + at * acts + i * d : NULL;
        mw_rng rng = mw_rng_make(0, MW_RNG_POLICY, call->episode[env], call->step[env], (uint64_t)i);
        call->index[env * n + i] = p->head.decide == MW_DECIDE_BEST
                                       ? mw_categorical_best(out + i * d, legal, d)
                                       : mw_categorical_pick(out + i * d, legal, d, mw_rng_float(&rng));
    }
}

mw_status mw_head_policy_act(mw_policy *base, const mw_policy_call *call, mw_error *error) {
    playing *p = (playing *)base;
    (void)error;
    for (int env = 0; env < p->envs; env++)
        if (!call->active || call->active[env]) decide(p, call, env);
    return MW_OK;
}
