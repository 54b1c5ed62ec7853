/* Adam and its companions; see adam.h. */
#include "nn/adam.h"

#include "core/math.h"
#include "nn/ops.h"

#include <math.h>

float mw_clip_scale(double norm, float clip) {
    float scale = clip / ((float)norm + 1e-6f);
    return clip > 0 && scale < 1 ? scale : 1;
}

float mw_schedule(long step, long warmup, long total, float floor) {
    if (step < warmup) return (float)(step + 1) / (float)warmup;
    if (total <= warmup || step >= total) return total <= warmup ? 1 : floor;
    double along = (double)(step - warmup) / (double)(total - warmup);
    return (float)(floor + (1 - floor) * 0.5 * (1 + mw_cos(3.141592653589793 * along)));
}

#define BLOCK 4096 /* floats whose squares are summed together */

static void carve(mw_optimizer *o) {
    mw_arena *arena = &o->arena;
    o->values = mw_arena_floats(arena, o->total);
    o->average = o->decay > 0 ? mw_arena_floats(arena, o->total) : NULL;
    o->m = mw_arena_floats(arena, o->total);
    o->v = mw_arena_floats(arena, o->total);
    o->grads = mw_arena_floats(arena, o->total * (size_t)o->shards);
    o->partial = mw_arena_take(arena, o->total / BLOCK + 1, sizeof *o->partial);
}

mw_status mw_optimizer_create(mw_optimizer *optimizer, const mw_adam *adam, float decay, size_t total,
                              int shards, mw_error *error) {
    *optimizer = (mw_optimizer){.adam = *adam, .decay = decay, .total = total, .shards = shards};
    carve(optimizer);
    MW_TRY(mw_arena_create(&optimizer->arena, optimizer->arena.used, error));
    carve(optimizer);
    return MW_OK;
}

void mw_optimizer_free(mw_optimizer *optimizer) {
    mw_arena_free(&optimizer->arena);
}

void mw_optimizer_sum(mw_optimizer *o) {
    for (int shard = 1; shard < o->shards; shard++)
        mw_add(o->grads, o->grads + (size_t)shard * o->total, (long)o->total);
}

void mw_optimizer_step(mw_optimizer *o, mw_pool *pool, int worker) {
    const int blocks = (int)((o->total + BLOCK - 1) / BLOCK);
    int first, last;
    mw_pool_share(pool, worker, blocks, 1, &first, &last);
    for (int block = first; block < last; block++) {
        size_t begin = (size_t)block * BLOCK, end = begin + BLOCK < o->total ? begin + BLOCK : o->total;
        for (int shard = 1; shard < o->shards; shard++)
            mw_add(o->grads + begin, o->grads + (size_t)shard * o->total + begin, (long)(end - begin));
        o->partial[block] = mw_dot(o->grads + begin, o->grads + begin, (long)(end - begin));
    }
    mw_pool_barrier(pool);
    double sum = 0;
    for (int block = 0; block < blocks; block++) sum += o->partial[block];
    const double norm = sqrt(sum);
    const size_t begin = (size_t)first * BLOCK,
                 end = (size_t)last * BLOCK < o->total ? (size_t)last * BLOCK : o->total;
    const bool finite = isfinite(norm); /* all workers see the same sum */
    if (finite) {
        mw_adam_update(&o->adam, o->adam.step + 1, mw_clip_scale(norm, o->adam.clip), o->values, o->grads,
                       o->m, o->v, begin, end);
        if (o->average) mw_ema_update(o->average, o->values, o->decay, begin, end);
    }
    mw_pool_barrier(pool);
    if (worker == 0) {
        o->norm = norm;
        o->adam.step += finite;
    }
}
