/* Inverse dynamics: structure and training; see inverse.h. */
#include "model/inverse.h"

#include "nn/ops.h"
#include "nn/shards.h"

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
    if (c->layers < 1 || c->layers >= MW_MLP_LAYERS || c->ids < 0 || c->ids > 32)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "inverse dynamics of %d hidden layers for %d agents is not possible; there are 1 to "
                       "%d and 0 to 32",
                       c->layers, c->ids, MW_MLP_LAYERS - 1);
    int sizes[MW_MLP_LAYERS + 1] = {mw_inverse_inputs(c)};
    for (int i = 1; i <= c->layers; i++) sizes[i] = c->hidden;
    sizes[c->layers + 1] = c->act;
    net->mlp = mw_mlp_make(&net->params, "net", sizes, c->layers + 1, MW_RELU);
    if (!net->params.failed) return MW_OK;
    mw_inverse_net_free(net);
    return mw_fail(error, MW_ERR_MEMORY, "cannot allocate the inverse dynamics' parameter table");
}

void mw_inverse_net_free(mw_inverse_net *net) {
    mw_params_free(&net->params);
}

void mw_inverse_row(const mw_inverse_config *c, float *row, const float *now, const float *next, int agent) {
    const size_t o = (size_t)c->obs;
    memcpy(row, now, o * sizeof *row);
    memcpy(row + o, next, o * sizeof *row);
    for (int k = 0; k < c->ids; k++) row[2 * o + (size_t)k] = (float)(k == agent);
}

/* One worker's part of the arena in mw_shards. */
typedef struct {
    mw_mlp_acts acts;
    float *gradient; /* [rows][d] */
} worker_area;

struct mw_inverse_trainer {
    const mw_inverse_net *net;
    mw_shards shards;
    worker_area *areas;
    const mw_inverse_batch *batch; /* of the step under way */
    float total_weight;
};

static void carve(void *context, mw_arena *arena, int worker) {
    mw_inverse_trainer *t = context;
    worker_area *area = &t->areas[worker];
    if (worker >= t->shards.optimizer.shards) return; /* it never has a shard to work on */
    mw_mlp_acts_take(&t->net->mlp, &area->acts, arena, t->shards.size, true);
    area->gradient = mw_arena_floats(arena, (size_t)t->shards.size * (size_t)t->net->config.act);
}

mw_status mw_inverse_trainer_create(mw_inverse_trainer **out, const mw_inverse_net *net, const mw_adam *adam,
                                    float decay, int max_rows, int shards, mw_pool *pool, mw_error *error) {
    *out = NULL;
    mw_inverse_trainer *t = calloc(1, sizeof *t);
    if (!t) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a trainer");
    t->net = net;
    t->areas = calloc((size_t)mw_pool_threads(pool), sizeof *t->areas);
    mw_status status = t->areas ? mw_shards_create(&t->shards, net->params.total, net->params.packed, adam,
                                                   decay, max_rows, shards, pool, carve, t, error)
                                : mw_fail(error, MW_ERR_MEMORY, "cannot allocate a trainer");
    if (status != MW_OK) {
        mw_inverse_trainer_free(t);
        return status;
    }
    *out = t;
    return MW_OK;
}

void mw_inverse_trainer_free(mw_inverse_trainer *t) {
    if (!t) return;
    mw_shards_free(&t->shards);
    free(t->areas);
    free(t);
}

mw_optimizer *mw_inverse_trainer_optimizer(mw_inverse_trainer *t) {
    return &t->shards.optimizer;
}

/* Weighted loss of rows [begin, end), and its gradient. */
static double shard_loss(void *context, int worker, int begin, int end, float *grads) {
    mw_inverse_trainer *t = context;
    worker_area *area = &t->areas[worker];
    const mw_inverse_batch *batch = t->batch;
    const mw_inverse_config *c = &t->net->config;
    const float *x = batch->pair + (size_t)begin * (size_t)mw_inverse_inputs(c);
    const float *out = mw_mlp_forward(&t->net->mlp, &area->acts, x, t->shards.optimizer.values,
                                      t->shards.packed, end - begin);
    double loss = 0;
    for (int row = begin; row < end; row++) {
        const size_t at = (size_t)(row - begin) * (size_t)c->act, from = (size_t)row * (size_t)c->act;
        const float scale = batch->weight[row] / t->total_weight;
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
    if (grads)
        mw_mlp_backward(&t->net->mlp, &area->acts, NULL, grads, area->gradient, x, t->shards.packed,
                        end - begin);
    return loss;
}

static void pack(void *context, int worker) {
    mw_inverse_trainer *t = context;
    if (worker == 0) mw_mlp_pack(&t->net->mlp, t->shards.optimizer.values, t->shards.packed, true);
}

double mw_inverse_trainer_step(mw_inverse_trainer *t, const mw_inverse_batch *batch, mw_step what) {
    assert(batch->count <= t->shards.size * t->shards.optimizer.shards);
    if (batch->count < 1) return 0;
    float total = 0;
    for (int row = 0; row < batch->count; row++) total += batch->weight[row];
    t->batch = batch;
    t->total_weight = total > 0 ? total : 1;
    return mw_shards_step(&t->shards, batch->count, what, pack, shard_loss, t);
}
