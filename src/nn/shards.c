/* Training in shards; see shards.h. */
#include "nn/shards.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ROWS (1 << 22) /* 64 times the largest batch that settings allow */

static int areas_of(const mw_shards *s, int count) {
    return s->apart || s->threads > count ? count : s->threads;
}

mw_status mw_shards_create(mw_shards *s, const mw_shards_shape *shape, mw_pool *pool, mw_shards_carve *carve,
                           void *context, mw_error *error) {
    const int rows = shape->max_rows, count = shape->count;
    *s = (mw_shards){.pool = pool, .threads = mw_pool_threads(pool), .apart = shape->apart};
    if (rows < 1 || rows > MAX_ROWS || count < 1 || count > MAX_ROWS)
        return mw_fail(error, MW_ERR_ARGUMENT, "a batch of %d rows in %d shards cannot be trained", rows,
                       count);
    s->size = (rows + count - 1) / count;
    MW_TRY(mw_optimizer_create(&s->optimizer, shape->groups, shape->group_count, shape->total, count, error));
    MW_TRY(mw_arena_create(&s->own, shape->packed * sizeof *s->packed, error));
    s->packed = mw_arena_floats(&s->own, shape->packed);
    s->loss = calloc((size_t)count, sizeof *s->loss);
    s->areas = calloc((size_t)areas_of(s, count), sizeof *s->areas);
    if (!s->loss || !s->areas) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a trainer");
    for (int area = 0; area < areas_of(s, count); area++) {
        mw_arena measured = {0};
        carve(context, &measured, area);
        MW_TRY(mw_arena_create(&s->areas[area], measured.used, error));
        carve(context, &s->areas[area], area);
    }
    return MW_OK;
}

void mw_shards_free(mw_shards *s) {
    for (int area = 0; s->areas && area < areas_of(s, s->optimizer.shards); area++)
        mw_arena_free(&s->areas[area]);
    mw_optimizer_free(&s->optimizer);
    free(s->areas);
    free(s->loss);
    mw_arena_free(&s->own);
    *s = (mw_shards){0};
}

size_t mw_shards_bytes(const mw_shards *s) {
    size_t bytes = s->optimizer.arena.size + s->own.size;
    for (int area = 0; area < areas_of(s, s->optimizer.shards); area++) bytes += s->areas[area].size;
    return bytes;
}

typedef struct {
    mw_shards *shards;
    int rows;
    mw_step what;
    const mw_shards_turn *turn;
    void *context;
} step_context;

/* One worker's shards. */
static void each_part(const step_context *c, int worker, mw_shards_part *part, bool gradient) {
    mw_shards *s = c->shards;
    mw_optimizer *o = &s->optimizer;
    const mw_group *g = &o->group[c->turn->group];
    for (int shard = worker; shard < o->shards; shard += s->threads) {
        const int begin = shard * s->size, end = begin + s->size < c->rows ? begin + s->size : c->rows;
        float *grads = gradient ? o->grads + (size_t)shard * o->total : NULL;
        if (grads) memset(grads + g->begin, 0, (g->end - g->begin) * sizeof *grads);
        s->loss[shard] = begin < end ? part(c->context, s->apart ? shard : worker, begin, end, grads) : 0;
    }
    mw_pool_barrier(s->pool);
}

static void step_body(void *context, int worker) {
    const step_context *c = context;
    const mw_shards_turn *turn = c->turn;
    mw_shards *s = c->shards;
    turn->pack(c->context, worker);
    mw_pool_barrier(s->pool);
    if (turn->look) each_part(c, worker, turn->look, false);
    if (turn->settle) {
        if (worker == 0) turn->settle(c->context);
        mw_pool_barrier(s->pool);
    }
    each_part(c, worker, turn->part, c->what != MW_STEP_LOSS);
    if (c->what == MW_STEP_UPDATE)
        mw_optimizer_step(&s->optimizer, turn->group, s->pool, worker);
    else if (c->what == MW_STEP_GRADIENT && worker == 0)
        mw_optimizer_sum(&s->optimizer, turn->group);
}

double mw_shards_step(mw_shards *s, int rows, mw_step what, const mw_shards_turn *turn, void *context) {
    mw_pool_run(s->pool, step_body, &(step_context){s, rows, what, turn, context});
    double loss = 0;
    for (int shard = 0; shard < s->optimizer.shards; shard++) loss += s->loss[shard];
    return loss;
}

typedef struct {
    mw_shards *shards;
    unsigned groups;
} follow_context;

static void follow_body(void *context, int worker) {
    const follow_context *c = context;
    mw_optimizer *o = &c->shards->optimizer;
    for (int group = 0; group < o->groups; group++)
        if (c->groups & 1u << group) mw_optimizer_follow(o, group, c->shards->pool, worker);
}

void mw_shards_follow(mw_shards *s, unsigned groups) {
    mw_pool_run(s->pool, follow_body, &(follow_context){s, groups});
}
