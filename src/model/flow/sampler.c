/* Guided sampling; see sampler.h. Each worker takes a contiguous share of the candidates and carries small
 * chunks of it through all K steps, so that activations stay in its cache and workers never wait for each
 * other. */
#include "model/flow/sampler.h"

#include <stdlib.h>
#include <string.h>

/* Rows of the network's batch at a time. A candidate is two of them, with and without the condition, or with
 * a guidance of 1, where the latter does not count, one. */
enum { ROWS = 8 };

typedef struct {
    mw_arena arena;
    mw_flow_acts *acts;
    float *x;    /* [T][ROWS*n][o] */
    float *view; /* [ROWS*n][mw_flow_view_width] */
} worker_area;

struct mw_sampler {
    const mw_flow_net *net;
    const float *values, *packed;
    mw_pool *pool;
    worker_area *areas;
    int threads;
};

typedef struct {
    mw_sampler *sampler;
    const mw_sampler_options *options;
    float *out;
    const float *noise, *context, *target;
    int count;
} sampling;

static void carve(worker_area *area, const mw_flow_net *net) {
    const mw_flow_config *c = &net->config;
    area->acts = mw_flow_acts_take(net, &area->arena, ROWS, false);
    area->x = mw_arena_floats(&area->arena, (size_t)c->time * ROWS * (size_t)(c->agents * c->obs));
    area->view = mw_arena_floats(&area->arena, ROWS * (size_t)(c->agents * mw_flow_view_width(c)));
}

mw_status mw_sampler_create(mw_sampler **out, const mw_flow_net *net, const float *values,
                            const float *packed, mw_pool *pool, mw_error *error) {
    *out = NULL;
    mw_sampler *sampler = calloc(1, sizeof *sampler);
    if (!sampler) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a sampler");
    *sampler = (mw_sampler){net, values, packed, pool, NULL, mw_pool_threads(pool)};
    sampler->areas = calloc((size_t)sampler->threads, sizeof *sampler->areas);
    mw_status status = sampler->areas ? MW_OK : mw_fail(error, MW_ERR_MEMORY, "cannot allocate a sampler");
    for (int i = 0; i < sampler->threads && status == MW_OK; i++) {
        worker_area measured = {0};
        carve(&measured, net);
        status = mw_arena_create(&sampler->areas[i].arena, measured.arena.used, error);
        if (status == MW_OK) carve(&sampler->areas[i], net);
    }
    if (status != MW_OK) {
        mw_sampler_free(sampler);
        return status;
    }
    *out = sampler;
    return MW_OK;
}

void mw_sampler_free(mw_sampler *sampler) {
    if (!sampler) return;
    for (int i = 0; sampler->areas && i < sampler->threads; i++) mw_arena_free(&sampler->areas[i].arena);
    free(sampler->areas);
    free(sampler);
}

size_t mw_sampler_bytes(const mw_sampler *sampler) {
    size_t bytes = 0;
    for (int i = 0; i < sampler->threads; i++) bytes += sampler->areas[i].arena.size;
    return bytes;
}

/* x[t][j*n..][o], t < steps, from batch-major from[count][steps_from][n][o]. */
static void to_time_major(float *x, const float *from, int steps, int steps_from, int count, size_t joint) {
    for (int t = 0; t < steps; t++)
        for (int j = 0; j < count; j++)
            memcpy(x + ((size_t)t * (size_t)count + (size_t)j) * joint,
                   from + ((size_t)j * (size_t)steps_from + (size_t)t) * joint, joint * sizeof *x);
}

static int halves_of(const sampling *job) {
    return job->options->guidance == 1 ? 1 : 2;
}

static void sample_chunk(const sampling *job, worker_area *area, int first, int count) {
    const mw_sampler *sampler = job->sampler;
    const mw_flow_config *c = &sampler->net->config;
    const size_t joint = (size_t)(c->agents * c->obs), step = (size_t)count * joint;
    const int time = c->time, steps = job->options->steps;
    const float *context = job->context + (size_t)first * (size_t)c->context * joint;
    const int halves = halves_of(job);
    int bin[ROWS];
    float level[ROWS], target[ROWS], keep[ROWS];
    for (int j = 0; j < halves * count; j++) {
        target[j] = job->target[first + j % count];
        keep[j] = j < count;
    }
    float *x = area->x, *input = mw_flow_input(area->acts);
    to_time_major(x, job->noise + (size_t)first * (size_t)time * joint, time, time, count, joint);
    for (int k = steps; k >= 1; k--) {
        to_time_major(x, context, c->context, c->context, count, joint);
        for (int t = 0; t < halves * time; t++) /* both halves see the same trajectories */
            memcpy(input + (size_t)t * step, x + (size_t)(t / halves) * step, step * sizeof *x);
        for (int j = 0; j < halves * count; j++) {
            bin[j] = (c->bins * k - 1) / steps;
            level[j] = (float)k / (float)steps;
        }
        const float *u = mw_flow_forward(sampler->net, area->acts, sampler->values, sampler->packed, bin,
                                         level, target, keep, halves * count);
        for (int t = c->context; t < time; t++) {
            const float *with = u + (size_t)(halves * t) * step, *without = with + step;
            float *at = x + (size_t)t * step;
            for (size_t i = 0; i < step && halves == 1; i++) at[i] -= with[i] / (float)steps;
            for (size_t i = 0; i < step && halves == 2; i++)
                at[i] -= (without[i] + job->options->guidance * (with[i] - without[i])) / (float)steps;
        }
    }
    for (int j = 0; c->forecast && j < count; j++)
        mw_flow_view(sampler->net, area->view + j * c->agents * mw_flow_view_width(c),
                     context + (size_t)((j + 1) * c->context - 1) * joint, target[j]);
    const float *expected =
        mw_flow_expect(sampler->net, area->acts, sampler->values, sampler->packed, area->view, count);
    for (int j = 0; j < count; j++) {
        float *out = job->out + (size_t)(first + j) * (size_t)time * joint;
        for (int t = 0; t < time; t++)
            memcpy(out + (size_t)t * joint,
                   t < c->context ? context + ((size_t)j * (size_t)c->context + (size_t)t) * joint
                                  : x + (size_t)t * step + (size_t)j * joint,
                   joint * sizeof *out);
        mw_flow_to_obs(sampler->net, out,
                       expected ? expected + (size_t)j * (size_t)(time - c->context) * joint : NULL);
    }
}

static void sample_share(void *context, int worker) {
    const sampling *job = context;
    const int most = ROWS / halves_of(job);
    int begin, end;
    mw_pool_share(job->sampler->pool, worker, job->count, 1, &begin, &end);
    for (int first = begin; first < end; first += most)
        sample_chunk(job, &job->sampler->areas[worker], first, end - first < most ? end - first : most);
}

mw_status mw_sampler_run(mw_sampler *sampler, const mw_sampler_options *options, float *out,
                         const float *noise, const float *context, const float *target, int count,
                         mw_error *error) {
    if (options->steps < 1 || options->steps > sampler->net->config.bins)
        return mw_fail(error, MW_ERR_ARGUMENT, "sampling steps K are 1 to %d; got %d",
                       sampler->net->config.bins, options->steps);
    if (count < 0) return mw_fail(error, MW_ERR_ARGUMENT, "cannot sample %d candidates", count);
    sampling job = {sampler, options, out, noise, context, target, count};
    if (options->sequential)
        for (int j = 0; j < count; j++) sample_chunk(&job, &sampler->areas[0], j, 1);
    else
        mw_pool_run(sampler->pool, sample_share, &job);
    return MW_OK;
}
