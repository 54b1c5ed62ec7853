/* Scoring by imagination; see rollout.h. A whole rollout is one run of the pool: workers meet at the model's
 * own barriers, and each keeps its share of the weights in its cache from step to step. */
#include "model/rollout.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    mw_scorer base;
    mw_rollout_world world;
    mw_pool *pool;
    int max_rows;
    mw_arena arena;
    float *state[2], *act, *reward; /* [b][n][o] twice, [b][n][d], [b][n] */
} rollout_scorer;

typedef struct {
    rollout_scorer *scorer;
    float *scores, *paths;
    const float *obs, *actions;
    int count, horizon;
} rollout;

static void rollout_body(void *context, int worker) {
    const rollout *r = context;
    rollout_scorer *s = r->scorer;
    const mw_model_shape *c = &s->world.shape;
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
        s->world.step(s->world.work, now, s->act, next, s->reward, r->count, worker);
        for (size_t b = first; b < first + share; b++) {
            for (int a = 0; a < c->agents; a++) r->scores[b] += s->reward[b * (size_t)c->agents + (size_t)a];
            if (r->paths)
                memcpy(r->paths + (b * (size_t)r->horizon + (size_t)h) * joint_obs, next + b * joint_obs,
                       joint_obs * sizeof *next);
        }
    }
}

mw_status mw_rollout_score(mw_scorer *base, const mw_scoring *scoring, mw_error *error) {
    rollout_scorer *s = (rollout_scorer *)base;
    const mw_model_shape *c = &s->world.shape;
    const int most = s->max_rows, horizon = scoring->horizon;
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

size_t mw_rollout_bytes(const mw_scorer *base) {
    const rollout_scorer *s = (const rollout_scorer *)base;
    return s->arena.size + s->world.bytes;
}

void mw_rollout_destroy(mw_scorer *base) {
    rollout_scorer *s = (rollout_scorer *)base;
    s->world.free(s->world.work);
    mw_arena_free(&s->arena);
    free(s);
}

static void carve(rollout_scorer *s) {
    const mw_model_shape *c = &s->world.shape;
    const size_t b = (size_t)s->max_rows;
    for (int i = 0; i < 2; i++) s->state[i] = mw_arena_floats(&s->arena, b * (size_t)(c->agents * c->obs));
    s->act = mw_arena_floats(&s->arena, b * (size_t)(c->agents * c->act));
    s->reward = mw_arena_floats(&s->arena, b * (size_t)c->agents);
}

mw_status mw_rollout_scorer_create(mw_scorer **out, const mw_scorer_class *kind,
                                   const mw_rollout_world *world, int max_rows, mw_pool *pool,
                                   mw_error *error) {
    rollout_scorer *s = calloc(1, sizeof *s);
    *out = NULL;
    if (!s) {
        world->free(world->work);
        return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a scorer");
    }
    *s = (rollout_scorer){.base = {kind}, .world = *world, .pool = pool, .max_rows = max_rows};
    carve(s);
    const mw_status status = mw_arena_create(&s->arena, s->arena.used, error);
    if (status != MW_OK) {
        mw_rollout_destroy(&s->base);
        return status;
    }
    carve(s);
    *out = &s->base;
    return MW_OK;
}
