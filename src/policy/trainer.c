/* Training of the proposer; see trainer.h. */
#include "policy/trainer.h"

#include "nn/ops.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    mw_arena arena;
    mw_policy_acts *acts;
    float *far, *gradient; /* velocities at lambda of the rows that need them; gradient: [T][shard*n][o] */
    int *bin, *rows;
    float *target, *keep;
} worker_area;

struct mw_policy_trainer {
    const mw_policy_net *net;
    mw_pool *pool;
    int threads, shard_size;
    mw_optimizer optimizer;
    float *packed;
    double *loss; /* per shard */
    worker_area *areas;
};

static void carve(worker_area *area, const mw_policy_net *net, int size) {
    const size_t all = (size_t)(net->config.time * size * net->config.agents * net->config.obs);
    area->acts = mw_policy_acts_take(net, &area->arena, size, true);
    area->far = mw_arena_floats(&area->arena, all);
    area->gradient = mw_arena_floats(&area->arena, all);
    area->bin = mw_arena_take(&area->arena, (size_t)size, sizeof *area->bin);
    area->rows = mw_arena_take(&area->arena, (size_t)size, sizeof *area->rows);
    area->target = mw_arena_floats(&area->arena, (size_t)size);
    area->keep = mw_arena_floats(&area->arena, (size_t)size);
}

mw_status mw_policy_trainer_create(mw_policy_trainer **out, const mw_policy_net *net, const mw_adam *adam,
                                   float decay, int max_batch, int shards, mw_pool *pool, mw_error *error) {
    *out = NULL;
    if (max_batch < 1 || shards < 1)
        return mw_fail(error, MW_ERR_ARGUMENT, "a batch of %d in %d shards cannot be trained", max_batch,
                       shards);
    mw_policy_trainer *t = calloc(1, sizeof *t);
    if (!t) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a trainer");
    t->net = net;
    t->pool = pool;
    t->threads = mw_pool_threads(pool);
    t->shard_size = (max_batch + shards - 1) / shards;
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
        mw_policy_trainer_free(t);
        return status;
    }
    *out = t;
    return MW_OK;
}

void mw_policy_trainer_free(mw_policy_trainer *t) {
    if (!t) return;
    for (int i = 0; t->areas && i < t->threads; i++) mw_arena_free(&t->areas[i].arena);
    mw_optimizer_free(&t->optimizer);
    free(t->areas);
    free(t->loss);
    free(t->packed);
    free(t);
}

mw_optimizer *mw_policy_trainer_optimizer(mw_policy_trainer *t) {
    return &t->optimizer;
}

size_t mw_policy_trainer_bytes(const mw_policy_trainer *t) {
    size_t bytes = t->optimizer.arena.size + t->net->params.packed * sizeof *t->packed;
    for (int i = 0; i < t->threads; i++) bytes += t->areas[i].arena.size;
    return bytes;
}

static int bin_of(float s, int bins) {
    int bin = (int)ceilf((float)bins * s) - 1;
    return bin < 0 ? 0 : bin >= bins ? bins - 1 : bin;
}

/* The network's input for rows[count] of the batch: the context clean, the rest at flow time lambda. */
static void fill_input(const mw_policy_config *c, const mw_flow_batch *batch, const int *rows, int count,
                       float *input) {
    const size_t joint = (size_t)(c->agents * c->obs);
    for (int t = 0; t < c->time; t++)
        for (int j = 0; j < count; j++) {
            const size_t from = ((size_t)rows[j] * (size_t)c->time + (size_t)t) * joint;
            const float *tau = batch->trajectory + from, *noise = batch->noise + from;
            const float lambda = t < c->context ? 0 : batch->lambda[rows[j]];
            float *x = input + ((size_t)t * (size_t)count + (size_t)j) * joint;
            for (size_t i = 0; i < joint; i++) x[i] = (1 - lambda) * tau[i] + lambda * noise[i];
        }
}

static const float *forward(mw_policy_trainer *t, worker_area *area, const mw_flow_batch *batch,
                            const float *time, int count) {
    for (int j = 0; j < count; j++) {
        const int row = area->rows[j];
        area->bin[j] = bin_of(time[row], t->net->config.bins);
        area->target[j] = batch->target[row];
        area->keep[j] = batch->keep[row];
    }
    fill_input(&t->net->config, batch, area->rows, count, mw_policy_input(area->acts));
    return mw_policy_forward(t->net, area->acts, t->optimizer.values, t->packed, area->bin, area->target,
                             area->keep, count);
}

/* Loss and gradient of rows [begin, end): V = u_rho + (lambda - rho) * stopgrad(u_lambda - u_rho), target
 * noise - tau. */
static double shard_loss(mw_policy_trainer *t, worker_area *area, const mw_flow_batch *batch, int begin,
                         int end, float *grads) {
    const mw_policy_config *c = &t->net->config;
    const size_t joint = (size_t)(c->agents * c->obs);
    int apart = 0, far = 0;
    for (int row = begin; row < end; row++)
        if (batch->lambda[row] != batch->rho[row]) area->rows[apart++] = row;
    if (apart) {
        const float *u = forward(t, area, batch, batch->lambda, apart);
        memcpy(area->far, u, (size_t)(c->time * apart) * joint * sizeof *u);
    }
    for (int row = begin; row < end; row++) area->rows[row - begin] = row;
    const int count = end - begin;
    const float *near = forward(t, area, batch, batch->rho, count);
    const double positions = (double)batch->count * (c->time - c->context) * (double)joint;
    const float scale = (float)(2 / positions);
    double sum = 0;
    for (int j = 0; j < count; j++) {
        const int row = begin + j;
        const float gap = batch->lambda[row] - batch->rho[row];
        for (int step = 0; step < c->time; step++) {
            const size_t at = ((size_t)step * (size_t)count + (size_t)j) * joint;
            const size_t from = ((size_t)row * (size_t)c->time + (size_t)step) * joint;
            const float *ul = area->far + ((size_t)step * (size_t)apart + (size_t)far) * joint;
            float square = 0;
            for (size_t i = 0; i < joint; i++) {
                float v = near[at + i] + (gap != 0 ? gap * (ul[i] - near[at + i]) : 0);
                float d = step < c->context ? 0 : v - (batch->noise[from + i] - batch->trajectory[from + i]);
                area->gradient[at + i] = scale * d;
                square += d * d;
            }
            sum += square;
        }
        far += gap != 0;
    }
    mw_policy_backward(t->net, area->acts, grads, area->gradient, t->optimizer.values, t->packed,
                       area->target, area->keep, count);
    return sum / positions;
}

typedef struct {
    mw_policy_trainer *trainer;
    const mw_flow_batch *batch;
    bool update;
} step_context;

static void step_body(void *context, int worker) {
    const step_context *c = context;
    mw_policy_trainer *t = c->trainer;
    mw_optimizer *o = &t->optimizer;
    mw_policy_net_pack(t->net, o->values, t->packed, true, worker, t->threads);
    mw_pool_barrier(t->pool);
    for (int shard = worker; shard < o->shards; shard += t->threads) {
        int begin = shard * t->shard_size, end = begin + t->shard_size;
        if (end > c->batch->count) end = c->batch->count;
        float *grads = o->grads + (size_t)shard * o->total;
        memset(grads, 0, o->total * sizeof *grads);
        t->loss[shard] = begin < end ? shard_loss(t, &t->areas[worker], c->batch, begin, end, grads) : 0;
    }
    mw_pool_barrier(t->pool);
    if (c->update)
        mw_optimizer_step(o, t->pool, worker);
    else if (worker == 0)
        mw_optimizer_sum(o);
}

double mw_policy_trainer_step(mw_policy_trainer *t, const mw_flow_batch *batch, bool update) {
    assert(batch->count <= t->shard_size * t->optimizer.shards);
    if (batch->count < 1) return 0;
    mw_pool_run(t->pool, step_body, &(step_context){t, batch, update});
    double loss = 0;
    for (int shard = 0; shard < t->optimizer.shards; shard++) loss += t->loss[shard];
    return loss;
}

double mw_policy_trainer_flops(const mw_policy_net *net, int count, int apart) {
    return 3 * mw_policy_net_flops(net, count) + mw_policy_net_flops(net, apart);
}
