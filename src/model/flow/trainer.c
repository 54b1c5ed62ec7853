/* Training of the proposer; see trainer.h. */
#include "model/flow/trainer.h"

#include "nn/shards.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One worker's part of the arena in mw_shards. */
typedef struct {
    mw_flow_acts *acts;
    float *tau;            /* [shard][T][n][o]: the shard's trajectories as the flow sees them */
    float *far, *gradient; /* velocities at lambda of the rows that need them; gradient: [T][shard*n][o] */
    int *bin, *rows;
    float *level, *target, *keep;
    mw_mlp_acts forecast;
    float *view, *dforecast; /* [rows of the forecast][mw_flow_view_width], [the same][T - C][o] */
} worker_area;

struct mw_flow_trainer {
    const mw_flow_net *net;
    mw_shards shards;
    worker_area *areas;
    const mw_flow_batch *batch; /* of the step under way */
    int max_forecasts;
    double *forecast_loss; /* per shard */
};

static void carve(void *context, mw_arena *arena, int worker) {
    mw_flow_trainer *t = context;
    const mw_flow_config *c = &t->net->config;
    const int size = t->shards.size;
    const size_t all = (size_t)c->time * (size_t)size * (size_t)(c->agents * c->obs);
    worker_area *area = &t->areas[worker];
    area->acts = mw_flow_acts_take(t->net, arena, size, true);
    area->tau = mw_arena_floats(arena, all);
    area->far = mw_arena_floats(arena, all);
    area->gradient = mw_arena_floats(arena, all);
    area->bin = mw_arena_take(arena, (size_t)size, sizeof *area->bin);
    area->rows = mw_arena_take(arena, (size_t)size, sizeof *area->rows);
    area->level = mw_arena_floats(arena, (size_t)size);
    area->target = mw_arena_floats(arena, (size_t)size);
    area->keep = mw_arena_floats(arena, (size_t)size);
    if (!c->forecast) return;
    const size_t rows = (size_t)t->max_forecasts * (size_t)c->agents, own = (size_t)size * (size_t)c->agents;
    mw_mlp_acts_take(&t->net->forecast, &area->forecast, arena, (int)rows, true);
    area->view = mw_arena_floats(arena, (rows > own ? rows : own) * (size_t)mw_flow_view_width(c));
    area->dforecast = mw_arena_floats(arena, rows * (size_t)(c->time - c->context) * (size_t)c->obs);
}

mw_status mw_flow_trainer_create(mw_flow_trainer **out, const mw_flow_net *net, const mw_adam *adam,
                                 float decay, int max_batch, int max_forecasts, int shards, mw_pool *pool,
                                 mw_error *error) {
    const mw_group whole = mw_group_whole(adam, decay, net->params.total);
    const mw_shards_shape shape = {.total = net->params.total,
                                   .packed = net->params.packed,
                                   .groups = &whole,
                                   .group_count = 1,
                                   .max_rows = max_batch,
                                   .count = shards};
    *out = NULL;
    mw_flow_trainer *t = calloc(1, sizeof *t);
    if (!t) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a trainer");
    t->net = net;
    t->max_forecasts = max_forecasts;
    t->areas = calloc((size_t)mw_pool_threads(pool), sizeof *t->areas);
    t->forecast_loss = calloc((size_t)(shards > 0 ? shards : 1), sizeof *t->forecast_loss);
    mw_status status = t->areas && t->forecast_loss
                           ? mw_shards_create(&t->shards, &shape, pool, carve, t, error)
                           : mw_fail(error, MW_ERR_MEMORY, "cannot allocate a trainer");
    if (status != MW_OK) {
        mw_flow_trainer_free(t);
        return status;
    }
    *out = t;
    return MW_OK;
}

void mw_flow_trainer_free(mw_flow_trainer *t) {
    if (!t) return;
    mw_shards_free(&t->shards);
    free(t->areas);
    free(t->forecast_loss);
    free(t);
}

mw_optimizer *mw_flow_trainer_optimizer(mw_flow_trainer *t) {
    return &t->shards.optimizer;
}

size_t mw_flow_trainer_bytes(const mw_flow_trainer *t) {
    return mw_shards_bytes(&t->shards);
}

static int bin_of(float s, int bins) {
    int bin = (int)ceilf((float)bins * s) - 1;
    return bin < 0 ? 0 : bin >= bins ? bins - 1 : bin;
}

/* The network's input for rows[count] of the batch: the context clean, the rest at flow time lambda. tau
 * holds the trajectories from row `begin` on. */
static void fill_input(const mw_flow_config *c, const mw_flow_batch *batch, const float *tau, int begin,
                       const int *rows, int count, float *input) {
    const size_t joint = (size_t)(c->agents * c->obs), segment = (size_t)c->time * joint;
    for (int t = 0; t < c->time; t++)
        for (int j = 0; j < count; j++) {
            const float *clean = tau + (size_t)(rows[j] - begin) * segment + (size_t)t * joint;
            const float *noise = batch->noise + (size_t)rows[j] * segment + (size_t)t * joint;
            const float lambda = t < c->context ? 0 : batch->lambda[rows[j]];
            float *x = input + ((size_t)t * (size_t)count + (size_t)j) * joint;
            for (size_t i = 0; i < joint; i++) x[i] = (1 - lambda) * clean[i] + lambda * noise[i];
        }
}

static const float *forward(mw_flow_trainer *t, worker_area *area, const mw_flow_batch *batch,
                            const float *time, int begin, int count) {
    for (int j = 0; j < count; j++) {
        const int row = area->rows[j];
        area->bin[j] = bin_of(time[row], t->net->config.bins);
        area->level[j] = batch->lambda[row];
        area->target[j] = batch->target[row];
        area->keep[j] = batch->keep[row];
    }
    fill_input(&t->net->config, batch, area->tau, begin, area->rows, count, mw_flow_input(area->acts));
    return mw_flow_forward(t->net, area->acts, t->shards.optimizer.values, t->shards.packed, area->bin,
                           area->level, area->target, area->keep, count);
}

/* What the forecast sees of the shard's rows, and their trajectories as the flow sees them. */
static void fill_tau(mw_flow_trainer *t, worker_area *area, int begin, int end) {
    const mw_flow_config *c = &t->net->config;
    const size_t joint = (size_t)(c->agents * c->obs), segment = (size_t)c->time * joint,
                 ahead = (size_t)(c->time - c->context) * joint,
                 rows = (size_t)(c->agents * mw_flow_view_width(c));
    memcpy(area->tau, t->batch->trajectory + (size_t)begin * segment,
           (size_t)(end - begin) * segment * sizeof *area->tau);
    for (int j = 0; c->forecast && j < end - begin; j++)
        mw_flow_view(t->net, area->view + (size_t)j * rows,
                     area->tau + (size_t)j * segment + (size_t)(c->context - 1) * joint,
                     t->batch->target[begin + j]);
    const float *expected = mw_flow_expect(t->net, area->acts, t->shards.optimizer.values, t->shards.packed,
                                           area->view, end - begin);
    for (int j = 0; j < end - begin; j++)
        mw_flow_from_obs(t->net, area->tau + (size_t)j * segment,
                         expected ? expected + (size_t)j * ahead : NULL);
}

/* The forecast's own loss and gradient on rows [begin, end) of its batch. */
static double forecast_loss(mw_flow_trainer *t, worker_area *area, int begin, int end, float *grads) {
    const mw_flow_config *c = &t->net->config;
    const int n = c->agents, o = c->obs, ahead = c->time - c->context, count = end - begin,
              width = mw_flow_view_width(c);
    const size_t joint = (size_t)(n * o), segment = (size_t)(1 + ahead) * joint;
    if (count < 1) return 0;
    for (int j = 0; j < count; j++)
        mw_flow_view(t->net, area->view + (size_t)j * (size_t)(n * width),
                     t->batch->outlook + (size_t)(begin + j) * segment,
                     c->forecast_return ? t->batch->outlook_target[begin + j] : 0);
    const float *expected = mw_mlp_forward(&t->net->forecast, &area->forecast, area->view,
                                           t->shards.optimizer.values, t->shards.packed, count * n);
    const float scale = (float)(2 / ((double)t->batch->forecasts * ahead * (double)joint));
    double sum = 0;
    for (int q = 0; q < count * n; q++) {
        const float *now = t->batch->outlook + (size_t)(begin + q / n) * segment + (size_t)(q % n * o);
        for (int k = 0; k < ahead; k++) {
            const float *then = now + (size_t)(k + 1) * joint;
            const size_t at = ((size_t)q * (size_t)ahead + (size_t)k) * (size_t)o;
            float square = 0;
            for (int i = 0; i < o; i++) {
                const float d = expected[at + (size_t)i] - (then[i] - now[i]);
                area->dforecast[at + (size_t)i] = scale * d;
                square += d * d;
            }
            sum += square;
        }
    }
    if (grads)
        mw_mlp_backward(&t->net->forecast, &area->forecast, NULL, grads, area->dforecast, area->view,
                        t->shards.packed, count * n);
    return sum * scale / 2;
}

/* Loss and gradient of rows [begin, end): V = u_rho + (lambda - rho) * stopgrad(u_lambda - u_rho), target
 * noise - tau. */
static double shard_loss(void *context, int worker, int begin, int end, float *grads) {
    mw_flow_trainer *t = context;
    worker_area *area = &t->areas[worker];
    const mw_flow_batch *batch = t->batch;
    const mw_flow_config *c = &t->net->config;
    const size_t joint = (size_t)(c->agents * c->obs);
    const size_t segment = (size_t)c->time * joint;
    int apart = 0, far = 0;
    fill_tau(t, area, begin, end);
    for (int row = begin; row < end; row++)
        if (batch->lambda[row] != batch->rho[row]) area->rows[apart++] = row;
    if (apart) {
        const float *u = forward(t, area, batch, batch->lambda, begin, apart);
        memcpy(area->far, u, (size_t)c->time * (size_t)apart * joint * sizeof *u);
    }
    for (int row = begin; row < end; row++) area->rows[row - begin] = row;
    const int count = end - begin;
    const float *near = forward(t, area, batch, batch->rho, begin, count);
    const double positions = (double)batch->count * (c->time - c->context) * (double)joint;
    const float scale = (float)(2 / positions);
    double sum = 0;
    for (int j = 0; j < count; j++) {
        const int row = begin + j;
        const float gap = batch->lambda[row] - batch->rho[row];
        for (int step = 0; step < c->time; step++) {
            const size_t at = ((size_t)step * (size_t)count + (size_t)j) * joint;
            const float *noise = batch->noise + (size_t)row * segment + (size_t)step * joint;
            const float *tau = area->tau + (size_t)j * segment + (size_t)step * joint;
            const float *ul = area->far + ((size_t)step * (size_t)apart + (size_t)far) * joint;
            float square = 0;
            for (size_t i = 0; i < joint; i++) {
                float v = near[at + i] + (gap != 0 ? gap * (ul[i] - near[at + i]) : 0);
                float d = step < c->context ? 0 : v - (noise[i] - tau[i]);
                area->gradient[at + i] = scale * d;
                square += d * d;
            }
            sum += square;
        }
        far += gap != 0;
    }
    if (grads)
        mw_flow_backward(t->net, area->acts, grads, area->gradient, t->shards.optimizer.values,
                         t->shards.packed, area->target, area->keep, count);
    const long forecasts = batch->forecasts; /* shared out as the rows are */
    t->forecast_loss[begin / t->shards.size] = forecast_loss(t, area, (int)(forecasts * begin / batch->count),
                                                             (int)(forecasts * end / batch->count), grads);
    return sum / positions;
}

static void pack(void *context, int worker) {
    mw_flow_trainer *t = context;
    mw_flow_net_pack(t->net, t->shards.optimizer.values, t->shards.packed, true, worker, t->shards.threads);
}

double mw_flow_trainer_step(mw_flow_trainer *t, const mw_flow_batch *batch, mw_step what) {
    assert(batch->count <= t->shards.size * t->shards.optimizer.shards);
    assert(batch->forecasts <= (t->net->config.forecast ? t->max_forecasts : 0));
    if (batch->count < 1) return 0;
    t->batch = batch;
    memset(t->forecast_loss, 0, (size_t)t->shards.optimizer.shards * sizeof *t->forecast_loss);
    const mw_shards_turn turn = {.pack = pack, .part = shard_loss};
    return mw_shards_step(&t->shards, batch->count, what, &turn, t);
}

double mw_flow_trainer_forecast(const mw_flow_trainer *t) {
    double loss = 0;
    for (int shard = 0; shard < t->shards.optimizer.shards; shard++) loss += t->forecast_loss[shard];
    return loss;
}

double mw_flow_trainer_flops(const mw_flow_net *net, int count, int apart, int forecasts) {
    return 3 * mw_flow_net_flops(net, count) + mw_flow_net_flops(net, apart) +
           3 * mw_mlp_flops(&net->forecast, forecasts * net->config.agents);
}
