/* Inverse dynamics: structure and training; see inverse.h. */
#include "policy/inverse.h"

#include "nn/ops.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

mw_status mw_inverse_net_make(mw_inverse_net *net, const mw_inverse_config *c, mw_error *error) {
    *net = (mw_inverse_net){.config = *c};
    if (c->obs < 1 || c->obs > 4096 || c->act < 1 || c->act > 4096 || c->hidden < 1 || c->hidden > 4096)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "inverse dynamics of sizes obs %d, act %d, hidden %d is not possible; each "
                       "must be 1 to 4096",
                       c->obs, c->act, c->hidden);
    net->mlp =
        mw_mlp_make(&net->params, "inverse", (int[]){2 * c->obs, c->hidden, c->hidden, c->act}, 3, MW_RELU);
    if (!net->params.failed) return MW_OK;
    mw_inverse_net_free(net);
    return mw_fail(error, MW_ERR_MEMORY, "cannot allocate the inverse dynamics' parameter table");
}

void mw_inverse_net_free(mw_inverse_net *net) {
    mw_params_free(&net->params);
}

typedef struct {
    mw_arena arena;
    mw_mlp_acts acts;
    float *gradient; /* [rows][d] */
} worker_area;

struct mw_inverse_trainer {
    const mw_inverse_net *net;
    mw_pool *pool;
    int threads, shard_size;
    mw_optimizer optimizer;
    float *packed;
    double *loss;
    worker_area *areas;
};

static void carve(worker_area *area, const mw_inverse_net *net, int rows) {
    mw_mlp_acts_take(&net->mlp, &area->acts, &area->arena, rows, true);
    area->gradient = mw_arena_floats(&area->arena, (size_t)rows * (size_t)net->config.act);
}

mw_status mw_inverse_trainer_create(mw_inverse_trainer **out, const mw_inverse_net *net, const mw_adam *adam,
                                    float decay, int max_rows, int shards, mw_pool *pool, mw_error *error) {
    *out = NULL;
    if (max_rows < 1 || shards < 1)
        return mw_fail(error, MW_ERR_ARGUMENT, "a batch of %d rows in %d shards cannot be trained", max_rows,
                       shards);
    mw_inverse_trainer *t = calloc(1, sizeof *t);
    if (!t) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a trainer");
    t->net = net;
    t->pool = pool;
    t->threads = mw_pool_threads(pool);
    t->shard_size = (max_rows + shards - 1) / shards;
    mw_status status = mw_optimizer_create(&t->optimizer, adam, decay, net->params.total, shards, error);
    if (status == MW_OK) {
        t->packed = aligned_alloc(MW_ALIGN, net->params.packed * sizeof *t->packed);
        t->loss = calloc((size_t)shards, sizeof *t->loss);
        t->areas = calloc((size_t)t->threads, sizeof *t->areas);
        if (!t->packed || !t->loss || !t->areas)
            status = mw_fail(error, MW_ERR_MEMORY, "cannot allocate a trainer");
    }
    for (int i = 0; i < t->threads && status == MW_OK; i++) {
        worker_area measured = {0};
        carve(&measured, net, t->shard_size);
        status = mw_arena_create(&t->areas[i].arena, measured.arena.used, error);
        if (status == MW_OK) carve(&t->areas[i], net, t->shard_size);
    }
    if (status != MW_OK) {
        mw_inverse_trainer_free(t);
        return status;
    }
    *out = t;
    return MW_OK;
}

void mw_inverse_trainer_free(mw_inverse_trainer *t) {
    if (!t) return;
    for (int i = 0; t->areas && i < t->threads; i++) mw_arena_free(&t->areas[i].arena);
    mw_optimizer_free(&t->optimizer);
    free(t->areas);
    free(t->loss);
    free(t->packed);
    free(t);
}

mw_optimizer *mw_inverse_trainer_optimizer(mw_inverse_trainer *t) {
    return &t->optimizer;
}

/* Weighted loss of rows [begin, end), and its gradient. */
static double shard_loss(mw_inverse_trainer *t, worker_area *area, const mw_inverse_batch *batch, int begin,
                         int end, float total_weight, float *grads) {
    const mw_inverse_config *c = &t->net->config;
    const float *x = batch->pair + (size_t)begin * 2 * (size_t)c->obs;
    const float *out =
        mw_mlp_forward(&t->net->mlp, &area->acts, x, t->optimizer.values, t->packed, end - begin);
    double loss = 0;
    for (int row = begin; row < end; row++) {
        const size_t at = (size_t)(row - begin) * (size_t)c->act, from = (size_t)row * (size_t)c->act;
        const float scale = batch->weight[row] / total_weight;
        if (scale == 0)
            memset(area->gradient + at, 0, (size_t)c->act * sizeof *area->gradient);
        else if (c->discrete)
            loss += scale * mw_cross_entropy(area->gradient + at, out + at,
                                             batch->legal ? batch->legal + from : NULL, batch->index[row],
                                             c->act, scale);
        else
            loss += scale / (float)c->act *
                    mw_mse(area->gradient + at, out + at, batch->real + from, c->act, scale / (float)c->act);
    }
    mw_mlp_backward(&t->net->mlp, &area->acts, NULL, grads, area->gradient, x, t->packed, end - begin);
    return loss;
}

typedef struct {
    mw_inverse_trainer *trainer;
    const mw_inverse_batch *batch;
    float total_weight;
    bool update;
} step_context;

static void step_body(void *context, int worker) {
    const step_context *c = context;
    mw_inverse_trainer *t = c->trainer;
    mw_optimizer *o = &t->optimizer;
    if (worker == 0) mw_mlp_pack(&t->net->mlp, o->values, t->packed, true);
    mw_pool_barrier(t->pool);
    for (int shard = worker; shard < o->shards; shard += t->threads) {
        int begin = shard * t->shard_size, end = begin + t->shard_size;
        if (end > c->batch->count) end = c->batch->count;
        float *grads = o->grads + (size_t)shard * o->total;
        memset(grads, 0, o->total * sizeof *grads);
        t->loss[shard] =
            begin < end ? shard_loss(t, &t->areas[worker], c->batch, begin, end, c->total_weight, grads) : 0;
    }
    mw_pool_barrier(t->pool);
    if (c->update)
        mw_optimizer_step(o, t->pool, worker);
    else if (worker == 0)
        mw_optimizer_sum(o);
}

double mw_inverse_trainer_step(mw_inverse_trainer *t, const mw_inverse_batch *batch, bool update) {
    assert(batch->count <= t->shard_size * t->optimizer.shards);
    if (batch->count < 1) return 0;
    float total = 0;
    for (int row = 0; row < batch->count; row++) total += batch->weight[row];
    mw_pool_run(t->pool, step_body, &(step_context){t, batch, total > 0 ? total : 1, update});
    double loss = 0;
    for (int shard = 0; shard < t->optimizer.shards; shard++) loss += t->loss[shard];
    return loss;
}
