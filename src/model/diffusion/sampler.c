/* Guided sampling in a few steps; see diffusion.h. Each worker takes a contiguous share of the segments and
 * carries small chunks of it through all steps, as the flow's sampler does. */
#include "core/pool.h"
#include "model/diffusion/diffusion.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 8 }; /* of the network's batch; a segment is two of them, with and without the return */

/* All but the network's own for ROWS segments; time-major, [T][segments*n]. */
typedef struct {
    mw_arena arena;
    mw_diffusion_area net;
    mw_diffusion_cells one, all; /* of a segment; of the chunk */
    float *x, *held, *clean, *segment;
} worker_area;

struct mw_denoiser {
    const mw_model *model;
    mw_pool *pool;
    worker_area *areas;
};

typedef struct {
    const mw_denoiser *denoiser;
    float *x;
    const float *history, *target;
    const int *shown;
    int count;
} job;

static void cells_take(mw_diffusion_cells *cells, mw_arena *arena, size_t count, size_t width) {
    cells->known = mw_arena_take(arena, count, 1);
    cells->unit = mw_arena_floats(arena, count);
    cells->centre = mw_arena_floats(arena, count * width);
}

static void carve(worker_area *a, const mw_diffusion_net *net) {
    const mw_flow_config *c = &net->trunk.config;
    const size_t cells = (size_t)(c->time * c->agents), width = (size_t)c->obs;
    mw_diffusion_area_take(net, &a->net, &a->arena, ROWS, false);
    cells_take(&a->one, &a->arena, cells, width);
    cells_take(&a->all, &a->arena, ROWS * cells, width);
    a->segment = mw_arena_floats(&a->arena, cells * width);
    a->x = mw_arena_floats(&a->arena, ROWS * cells * width);
    a->held = mw_arena_floats(&a->arena, ROWS * cells * width);
    a->clean = mw_arena_floats(&a->arena, ROWS * cells * width);
}

void mw_denoiser_free(mw_denoiser *d) {
    if (!d) return;
    for (int i = 0; d->areas && i < mw_pool_threads(d->pool); i++) mw_arena_free(&d->areas[i].arena);
    free(d->areas);
    free(d);
}

mw_status mw_denoiser_create(mw_denoiser **out, const mw_model *model, mw_pool *pool, mw_error *error) {
    *out = NULL;
    const int threads = mw_pool_threads(pool);
    mw_denoiser *d = calloc(1, sizeof *d);
    if (!d) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a sampler");
    *d = (mw_denoiser){model, pool, calloc((size_t)threads, sizeof *d->areas)};
    mw_status status = d->areas ? MW_OK : mw_fail(error, MW_ERR_MEMORY, "cannot allocate a sampler");
    for (int i = 0; i < threads && status == MW_OK; i++) {
        worker_area measured = {0};
        carve(&measured, mw_diffusion_net_of(model));
        status = mw_arena_create(&d->areas[i].arena, measured.arena.used, error);
        if (status == MW_OK) carve(&d->areas[i], mw_diffusion_net_of(model));
    }
    if (status != MW_OK) {
        mw_denoiser_free(d);
        return status;
    }
    *out = d;
    return MW_OK;
}

/* to[T][count*n][width] at place j from from[T][n][width]. */
static void spread(void *to, const void *from, const mw_flow_config *c, int j, int count, size_t bytes) {
    const size_t joint = (size_t)c->agents * bytes;
    for (size_t t = 0; t < (size_t)c->time; t++)
        memcpy((char *)to + (t * (size_t)count + (size_t)j) * joint, (const char *)from + t * joint, joint);
}

/* The chunk's noise at its start, and what is known. */
static void start(const job *w, worker_area *a, int first, int count) {
    const mw_diffusion_net *net = mw_diffusion_net_of(w->denoiser->model);
    const mw_flow_config *c = &net->trunk.config;
    const size_t joint = (size_t)(c->agents * c->obs), size = (size_t)c->time * joint,
                 past = (size_t)c->context * joint, wide = (size_t)c->obs * sizeof *a->x;
    for (int j = 0; j < count; j++) {
        const size_t row = (size_t)(first + j);
        memset(a->segment, 0, size * sizeof *a->segment);
        memcpy(a->segment, w->history + row * past, past * sizeof *a->segment);
        mw_diffusion_from_obs(net, &a->one, a->segment, w->shown[row]);
        spread(a->held, a->segment, c, j, count, wide);
        spread(a->all.centre, a->one.centre, c, j, count, wide);
        spread(a->all.unit, a->one.unit, c, j, count, sizeof *a->one.unit);
        spread(a->all.known, a->one.known, c, j, count, 1);
        spread(a->x, w->x + row * size, c, j, count, wide);
    }
    mw_noise_start(a->x, a->x, size * (size_t)count);
}

/* The guided noise of the chunk at a level, in the first of the network's halves. */
static float *predict(const job *w, worker_area *a, int first, int count, int level) {
    const mw_model *model = w->denoiser->model;
    const mw_diffusion_net *net = mw_diffusion_net_of(model);
    const mw_flow_config *c = &net->trunk.config;
    const float guidance = (float)mw_diffusion_settings_of(model)->guidance;
    const int halves = guidance == 1 ? 1 : 2;
    const size_t step = (size_t)(count * c->agents * c->obs);
    float target[ROWS], keep[ROWS], *input = mw_flow_input(a->net.acts), *out = a->net.predicted;
    int levels[ROWS];
    for (int j = 0; j < halves * count; j++) {
        levels[j] = level;
        target[j] = w->target[first + j % count];
        keep[j] = j < count;
    }
    for (int t = 0; t < halves * c->time; t++)
        memcpy(input + (size_t)t * step, a->x + (size_t)(t / halves) * step, step * sizeof *input);
    mw_diffusion_forward(net, &a->net, model->values, model->packed,
                         &(mw_diffusion_given){levels, target, keep}, halves * count);
    for (size_t t = 0; halves == 2 && t < (size_t)c->time; t++)
        mw_noise_guide(out + t * step, out + (2 * t + 1) * step, out + 2 * t * step, guidance, step);
    return out;
}

static void sample_chunk(const job *w, worker_area *a, int first, int count) {
    const mw_model *model = w->denoiser->model;
    const mw_diffusion_net *net = mw_diffusion_net_of(model);
    const mw_flow_config *c = &net->trunk.config;
    const int steps = mw_diffusion_settings_of(model)->sampling_steps;
    const size_t cells = (size_t)(c->time * count * c->agents), width = (size_t)c->obs,
                 joint = (size_t)c->agents * width;
    start(w, a, first, count);
    for (int k = 0; k < steps; k++) {
        const int level = mw_noise_level(k, steps);
        mw_noise_hold(a->x, a->all.known, a->held, cells, width);
        const float *noise = predict(w, a, first, count, level);
        mw_noise_clean(a->clean, a->x, noise, net->schedule.kept[level], a->all.unit, a->all.centre, cells,
                       width);
        mw_noise_mix(a->x, a->clean, noise,
                     k + 1 < steps ? net->schedule.kept[mw_noise_level(k + 1, steps)] : 1, cells * width);
    }
    mw_noise_hold(a->x, a->all.known, a->held, cells, width);
    for (size_t i = 0; i < cells * width; i++) a->x[i] = a->x[i] / a->all.unit[i / width] + a->all.centre[i];
    for (size_t j = 0; j < (size_t)count; j++)
        for (size_t t = 0; t < (size_t)c->time; t++)
            memcpy(w->x + (((size_t)first + j) * (size_t)c->time + t) * joint,
                   a->x + (t * (size_t)count + j) * joint, joint * sizeof *a->x);
}

static void sample_share(void *context, int worker) {
    const job *w = context;
    int begin, end;
    mw_pool_share(w->denoiser->pool, worker, w->count, 1, &begin, &end);
    for (int first = begin; first < end; first += ROWS / 2)
        sample_chunk(w, &w->denoiser->areas[worker], first, end - first < ROWS / 2 ? end - first : ROWS / 2);
}

void mw_denoiser_run(mw_denoiser *d, float *x, const float *history, const int *shown, const float *target,
                     int count) {
    mw_pool_run(d->pool, sample_share, &(job){d, x, history, target, shown, count});
}
