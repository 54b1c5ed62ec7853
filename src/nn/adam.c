/* Adam and its companions; see adam.h. */
#include "nn/adam.h"

#include "core/math.h"
#include "nn/ops.h"
#include "nn/param.h"

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

static void carve(mw_optimizer *o, bool averaged) {
    mw_arena *arena = &o->arena;
    o->values = mw_arena_floats(arena, o->total);
    o->average = averaged ? mw_arena_floats(arena, o->total) : NULL;
    o->m = mw_arena_floats(arena, o->total);
    o->v = mw_arena_floats(arena, o->total);
    o->grads = mw_arena_floats(arena, o->total * (size_t)o->shards);
    o->partial = mw_arena_take(arena, o->total / BLOCK + 1, sizeof *o->partial);
}

mw_status mw_optimizer_create(mw_optimizer *optimizer, const mw_group *groups, int count, size_t total,
                              int shards, mw_error *error) {
    bool averaged = false;
    *optimizer = (mw_optimizer){.groups = count, .total = total, .shards = shards};
    for (int i = 0; i < count; i++) {
        optimizer->group[i] = groups[i];
        averaged |= groups[i].decay > 0;
    }
    carve(optimizer, averaged);
    MW_TRY(mw_arena_create(&optimizer->arena, optimizer->arena.used, error));
    carve(optimizer, averaged);
    return MW_OK;
}

void mw_optimizer_free(mw_optimizer *optimizer) {
    mw_arena_free(&optimizer->arena);
}

/* Neighbours are added, then neighbouring pairs, and so on: whoever holds an aligned run of shards can sum it
 * alone. */
static void add_shards(mw_optimizer *o, size_t begin, size_t end) {
    for (int span = 1; span < o->shards; span *= 2)
        for (int shard = 0; shard + span < o->shards; shard += 2 * span)
            mw_add(o->grads + (size_t)shard * o->total + begin,
                   o->grads + (size_t)(shard + span) * o->total + begin, (long)(end - begin));
}

void mw_optimizer_sum(mw_optimizer *o, int group) {
    add_shards(o, o->group[group].begin, o->group[group].end);
}

double mw_optimizer_norm(const mw_optimizer *o) {
    double most = 0;
    for (int i = 0; i < o->groups; i++) /* also if it is no number */
        if (!(o->group[i].norm <= most)) most = o->group[i].norm;
    return most;
}

/* The blocks of a group that are a worker's. */
typedef struct {
    int first, last;
    size_t begin, end; /* floats of the table */
} portion;

static size_t block_at(const mw_group *g, int block) {
    const size_t at = g->begin + (size_t)block * BLOCK;
    return at < g->end ? at : g->end;
}

static int blocks_of(const mw_group *g) {
    return (int)((g->end - g->begin + BLOCK - 1) / BLOCK);
}

static portion portion_of(const mw_group *g, mw_pool *pool, int worker) {
    portion p;
    mw_pool_share(pool, worker, blocks_of(g), 1, &p.first, &p.last);
    p.begin = block_at(g, p.first);
    p.end = block_at(g, p.last);
    return p;
}

void mw_optimizer_follow(mw_optimizer *o, int group, mw_pool *pool, int worker) {
    const mw_group *g = &o->group[group];
    const portion p = portion_of(g, pool, worker);
    if (g->decay > 0) mw_ema_update(o->average, o->values, g->decay, p.begin, p.end);
}

/* Rows of the table that are not matrices learn without decay, if the group says so. */
static void update(const mw_optimizer *o, const mw_group *g, float scale, portion p) {
    const mw_params *table = g->matrices;
    mw_adam bare = g->adam;
    bare.decay = 0;
    if (!table)
        mw_adam_update(&g->adam, g->adam.step + 1, scale, o->values, o->grads, o->m, o->v, p.begin, p.end);
    for (int i = 0; table && i < table->count; i++) {
        const mw_param *param = &table->list[i];
        const size_t next = i + 1 < table->count ? param[1].offset : table->total;
        const size_t begin = param->offset > p.begin ? param->offset : p.begin,
                     end = next < p.end ? next : p.end;
        if (begin < end)
            mw_adam_update(param->kind == MW_PARAM_PLAIN ? &bare : &g->adam, g->adam.step + 1, scale,
                           o->values, o->grads, o->m, o->v, begin, end);
    }
}

void mw_optimizer_step(mw_optimizer *o, int group, mw_pool *pool, int worker) {
    mw_group *g = &o->group[group];
    const portion p = portion_of(g, pool, worker);
    for (int block = p.first; block < p.last; block++) {
        const size_t begin = block_at(g, block), end = block_at(g, block + 1);
        add_shards(o, begin, end);
        o->partial[block] = mw_dot(o->grads + begin, o->grads + begin, (long)(end - begin));
    }
    mw_pool_barrier(pool);
    double sum = 0;
    for (int block = 0; block < blocks_of(g); block++) sum += o->partial[block];
    const double norm = sqrt(sum);
    const bool finite = isfinite(norm); /* all workers see the same sum */
    if (finite) {
        update(o, g, mw_clip_scale(norm, g->adam.clip), p);
        if (g->decay > 0 && !g->waits) mw_ema_update(o->average, o->values, g->decay, p.begin, p.end);
    }
    mw_pool_barrier(pool);
    if (worker == 0) {
        g->norm = norm;
        g->adam.step += finite;
    }
}
