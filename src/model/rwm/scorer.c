/* The routed world model as a scorer: the sum over steps and agents of predicted rewards. A whole rollout is
 * one run of the pool: workers meet at the model's own barriers, and each keeps its share of the experts'
 * weights in its cache from step to step.
 */
#include "model/rwm/rwm.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    mw_scorer base;
    const mw_world_net *net;
    const float *values, *packed;
    mw_pool *pool;
    mw_world_work *work;
    mw_arena arena;
    float *state[2], *act, *reward; /* [b][n][o] twice, [b][n][d], [b][n] */
} world_scorer;

typedef struct {
    world_scorer *scorer;
    float *scores, *paths;
    const float *obs, *actions;
    int count, horizon;
} rollout;

static void rollout_body(void *context, int worker) {
    const rollout *r = context;
    world_scorer *s = r->scorer;
    const mw_world_config *c = &s->net->config;
    const size_t joint_obs = (size_t)(c->agents * c->obs), joint_act = (size_t)(c->agents * c->act);
    int begin, end;
    mw_pool_share(s->pool, worker, r->count, 1, &begin, &end);
    const size_t share = (size_t)(end - begin), first = (size_t)begin;
    memcpy(s->state[0] + first * joint_obs, r->obs + first * joint_obs, share * joint_obs * sizeof *r->obs);
    for (int b = begin; b < end; b++) r->scores[b] = 0;
    for (int h = 0; h < r->horizon; h++) {
        float *now = s->state[h % 2], *next = s->state[(h + 1) % 2];
        for (size_t b = first; b < first + share; b++)
            memcpy(s->act + b * joint_act, r->actions + (b * (size_t)r->horizon + (size_t)h) * joint_act,
                   joint_act * sizeof *s->act);
        mw_world_forward(s->net, s->work, s->values, s->packed, now, s->act, next, s->reward, r->count,
                         worker);
        for (size_t b = first; b < first + share; b++) {
            for (int a = 0; a < c->agents; a++) r->scores[b] += s->reward[b * (size_t)c->agents + (size_t)a];
            if (r->paths)
                memcpy(r->paths + (b * (size_t)r->horizon + (size_t)h) * joint_obs, next + b * joint_obs,
                       joint_obs * sizeof *next);
        }
    }
}

static mw_status score(mw_scorer *base, const mw_scoring *scoring, mw_error *error) {
    world_scorer *s = (world_scorer *)base;
    const mw_world_config *c = &s->net->config;
    const int most = mw_world_work_batch(s->work), horizon = scoring->horizon;
    (void)error;
    for (int first = 0; first < scoring->count; first += most) {
        const size_t at = (size_t)first, steps = at * (size_t)horizon;
        rollout r = {s,
                     scoring->scores + at,
                     scoring->paths ? scoring->paths + steps * (size_t)(c->agents * c->obs) : NULL,
                     scoring->obs + at * (size_t)(c->agents * c->obs),
                     scoring->actions + steps * (size_t)(c->agents * c->act),
                     scoring->count - first < most ? scoring->count - first : most,
                     horizon};
        mw_pool_run(s->pool, rollout_body, &r);
    }
    return MW_OK;
}

static size_t bytes(const mw_scorer *base) {
    const world_scorer *s = (const world_scorer *)base;
    return s->arena.size + mw_world_work_bytes(s->work);
}

static void destroy(mw_scorer *base) {
    world_scorer *s = (world_scorer *)base;
    mw_world_work_free(s->work);
    mw_arena_free(&s->arena);
    free(s);
}

static mw_status create(mw_scorer **scorer, const mw_scorer_context *context, mw_error *error) {
    const mw_model *model = context->model;
    return mw_world_scorer_create(scorer, model->net, model->values, model->packed,
                                  context->max_rows < 128 ? context->max_rows : 128, context->pool, error);
}

const mw_scorer_class mw_rwm_scorer_class = {
    .name = "rwm",
    .help = "return imagined by the routed world model",
    .imagines = true,
    .create = create,
    .score = score,
    .bytes = bytes,
    .destroy = destroy,
};

static void carve(world_scorer *s, size_t b) {
    const mw_world_config *c = &s->net->config;
    for (int i = 0; i < 2; i++) s->state[i] = mw_arena_floats(&s->arena, b * (size_t)(c->agents * c->obs));
    s->act = mw_arena_floats(&s->arena, b * (size_t)(c->agents * c->act));
    s->reward = mw_arena_floats(&s->arena, b * (size_t)c->agents);
}

mw_status mw_world_scorer_create(mw_scorer **out, const mw_world_net *net, const float *values,
                                 const float *packed, int max_batch, mw_pool *pool, mw_error *error) {
    *out = NULL;
    world_scorer *s = calloc(1, sizeof *s);
    if (!s) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a scorer");
    *s = (world_scorer){
        .base = {&mw_rwm_scorer_class}, .net = net, .values = values, .packed = packed, .pool = pool};
    mw_status status = mw_world_work_create(&s->work, net, max_batch, false, pool, error);
    if (status == MW_OK) {
        carve(s, (size_t)max_batch);
        size_t size = s->arena.used;
        status = mw_arena_create(&s->arena, size, error);
    }
    if (status != MW_OK) {
        destroy(&s->base);
        return status;
    }
    carve(s, (size_t)max_batch);
    *out = &s->base;
    return MW_OK;
}
