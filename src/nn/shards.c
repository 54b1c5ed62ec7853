/* Training in shards; see shards.h. */
#include "nn/shards.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ROWS (1 << 22) /* 64 times the largest batch that settings allow */

mw_status mw_shards_create(mw_shards *s, size_t total, size_t packed, const mw_adam *adam, float decay,
                           int max_rows, int count, mw_pool *pool, mw_shards_carve *carve, void *context,
                           mw_error *error) {
    *s = (mw_shards){.pool = pool, .threads = mw_pool_threads(pool)};
    if (max_rows < 1 || max_rows > MAX_ROWS || count < 1 || count > MAX_ROWS)
        return mw_fail(error, MW_ERR_ARGUMENT, "a batch of %d rows in %d shards cannot be trained", max_rows,
                       count);
    s->size = (max_rows + count - 1) / count;
    MW_TRY(mw_optimizer_create(&s->optimizer, adam, decay, total, count, error));
    MW_TRY(mw_arena_create(&s->own, packed * sizeof *s->packed, error));
    s->packed = mw_arena_floats(&s->own, packed);
    s->loss = calloc((size_t)count, sizeof *s->loss);
    s->areas = calloc((size_t)s->threads, sizeof *s->areas);
    if (!s->loss || !s->areas) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a trainer");
    for (int worker = 0; worker < s->threads && worker < count; worker++) { /* no shard is left for others */
        mw_arena measured = {0};
        carve(context, &measured, worker);
        MW_TRY(mw_arena_create(&s->areas[worker], measured.used, error));
        carve(context, &s->areas[worker], worker);
    }
    return MW_OK;
}

void mw_shards_free(mw_shards *s) {
    for (int worker = 0; s->areas && worker < s->threads; worker++) mw_arena_free(&s->areas[worker]);
    mw_optimizer_free(&s->optimizer);
    free(s->areas);
    free(s->loss);
    mw_arena_free(&s->own);
    *s = (mw_shards){0};
}

size_t mw_shards_bytes(const mw_shards *s) {
    size_t bytes = s->optimizer.arena.size + s->own.size;
    for (int worker = 0; worker < s->threads; worker++) bytes += s->areas[worker].size;
    return bytes;
}

typedef struct {
    mw_shards *shards;
    int rows;
    mw_step what;
    mw_shards_pack *pack;
    mw_shards_part *part;
    void *context;
} step_context;

static void step_body(void *context, int worker) {
    const step_context *c = context;
    mw_shards *s = c->shards;
    mw_optimizer *o = &s->optimizer;
    c->pack(c->context, worker);
    mw_pool_barrier(s->pool);
    for (int shard = worker; shard < o->shards; shard += s->threads) {
        const int begin = shard * s->size, end = begin + s->size < c->rows ? begin + s->size : c->rows;
        float *grads = c->what == MW_STEP_LOSS ? NULL : o->grads + (size_t)shard * o->total;
        if (grads) memset(grads, 0, o->total * sizeof *grads);
        s->loss[shard] = begin < end ? c->part(c->context, worker, begin, end, grads) : 0;
    }
    mw_pool_barrier(s->pool);
    if (c->what == MW_STEP_UPDATE)
        mw_optimizer_step(o, s->pool, worker);
    else if (c->what == MW_STEP_GRADIENT && worker == 0)
        mw_optimizer_sum(o);
}

double mw_shards_step(mw_shards *s, int rows, mw_step what, mw_shards_pack *pack, mw_shards_part *part,
                      void *context) {
    mw_pool_run(s->pool, step_body, &(step_context){s, rows, what, pack, part, context});
    double loss = 0;
    for (int shard = 0; shard < s->optimizer.shards; shard++) loss += s->loss[shard];
    return loss;
}
