/* The proposer: gradients of the whole network by differences, the sampler's independence of batches and
 * threads, the trainer's of threads, and what both refuse. Values are checked against recorded numbers in
 * study/test_verify_net.c. */
#include "allocations.h"
#include "differences.h"
#include "model/flow/flow.h"
#include "study/sizes.h"
#include "train/preset.h"
#include "model/flow/sampler.h"
#include "model/flow/trainer.h"
#include "model/rwm/rwm.h"

static const mw_flow_config small = {.agents = 3,
                                     .obs = 5,
                                     .dim = 16,
                                     .mults = {1, 2, 2},
                                     .time = 8,
                                     .context = 3,
                                     .bins = 5,
                                     .project = true};
enum { COUNT = 9, STEP = 3 * 5, SEGMENT = 8 * STEP, CONTEXT = 3 * STEP, FORECASTS = 7 };

/* A network with weights away from their start (where attention is switched off), and data. */
typedef struct {
    mw_flow_net net;
    float *values, *packed;
    float tau[COUNT * SEGMENT], noise[COUNT * SEGMENT], context[COUNT * CONTEXT];
    float target[COUNT], keep[COUNT], rho[COUNT], lambda[COUNT];
} fixture;

static float *floats(size_t count) {
    float *at = aligned_alloc(64, (count * sizeof(float) / 64 + 1) * 64);
    assert_non_null(at);
    memset(at, 0, count * sizeof *at);
    return at;
}

static fixture *make_of(mw_flow_config config) {
    static fixture f;
    mw_error error = {0};
    CHECK_OK(mw_flow_net_make(&f.net, &config, &error), error);
    f.values = floats(f.net.params.total);
    f.packed = floats(f.net.params.packed);
    mw_params_init(&f.net.params, f.values, 30);
    mw_rng rng = mw_rng_make(31, MW_RNG_TEST, 0, 0, 0);
    for (int p = 0; p < f.net.params.count; p++)
        for (size_t i = 0; i < f.net.params.list[p].count; i++)
            f.values[f.net.params.list[p].offset + i] +=
                (float)((strstr(f.net.params.list[p].name, "gamma") ? 0.7 : 0.05) * mw_rng_normal(&rng));
    mw_flow_net_pack(&f.net, f.values, f.packed, true, 0, 1);
    rng = mw_rng_make(32, MW_RNG_TEST, 0, 0, 0);
    mw_rng_fill_normal(&rng, f.tau, COUNT * SEGMENT);
    mw_rng_fill_normal(&rng, f.noise, COUNT * SEGMENT);
    mw_rng_fill_normal(&rng, f.context, COUNT * CONTEXT);
    for (int i = 0; i < COUNT; i++) {
        f.target[i] = mw_rng_float(&rng);
        f.keep[i] = i % 4 != 1;
        f.lambda[i] = mw_rng_float(&rng);
        f.rho[i] = i % 2 ? f.lambda[i] : f.lambda[i] * mw_rng_float(&rng);
    }
    return &f;
}

static fixture *make(bool project) {
    mw_flow_config config = small;
    config.project = project;
    return make_of(config);
}

/* As the presets have it: changes, less a forecast, scaled; told: the forecast sees the return. */
static fixture *make_forecast(bool told) {
    mw_flow_config config = small;
    config.residual = true;
    config.forecast = 7;
    config.scale = 3;
    config.forecast_return = told;
    return make_of(config);
}

static void drop(fixture *f) {
    free(f->values);
    free(f->packed);
    mw_flow_net_free(&f->net);
}

static mw_pool *pool_of(int threads) {
    mw_pool *pool = NULL;
    mw_error error = {0};
    if (threads) CHECK_OK(mw_pool_create(&pool, threads, &error), error);
    return pool;
}

/* ---- the network ---- */

typedef struct {
    fixture *f;
    mw_arena arena;
    mw_flow_acts *acts;
    int count, bin[COUNT];
    float level[COUNT];
    float dvelocity[COUNT * SEGMENT];
} network;

static void network_make(network *k, fixture *f, int count) {
    mw_error error = {0};
    *k = (network){.f = f, .count = count};
    mw_flow_acts_take(&f->net, &k->arena, count, true);
    CHECK_OK(mw_arena_create(&k->arena, k->arena.used, &error), error);
    k->acts = mw_flow_acts_take(&f->net, &k->arena, count, true);
    for (int i = 0; i < count; i++) k->bin[i] = i % small.bins;
    mw_rng rng = mw_rng_make(33, MW_RNG_TEST, 0, 0, 0);
    mw_rng_fill_normal(&rng, k->dvelocity, COUNT * SEGMENT);
}

/* Velocities [t][count*n][o] of trajectories [first, first + count) of tau. */
static const float *velocity(network *k, int first) {
    const fixture *f = k->f;
    for (int t = 0; t < small.time; t++)
        for (int j = 0; j < k->count; j++)
            memcpy(mw_flow_input(k->acts) + (t * k->count + j) * STEP,
                   f->tau + (first + j) * SEGMENT + t * STEP, STEP * sizeof(float));
    return mw_flow_forward(&f->net, k->acts, f->values, f->packed, k->bin, k->level, f->target + first,
                           f->keep + first, k->count);
}

static double objective(void *context) {
    network *k = context;
    double sum = 0;
    mw_flow_net_pack(&k->f->net, k->f->values, k->f->packed, true, 0, 1);
    const float *u = velocity(k, 0);
    for (int i = 0; i < k->count * SEGMENT; i++) sum += (double)u[i] * k->dvelocity[i];
    return sum;
}

/* All weights move at once by 2e-4 each, a distance of about 0.06; the change is a few hundredths, its
 * rounding a few millionths: 1% is asked for. A wrong or missing term in any layer is far larger. */
static void gradient_along_directions(void **state) {
    (void)state;
    static network k;
    for (int project = 0; project < 2; project++) {
        int tensors = 0;
        fixture *f = make(project);
        network_make(&k, f, 4);
        float *grads = floats(f->net.params.total);
        velocity(&k, 0);
        mw_flow_backward(&f->net, k.acts, grads, k.dvelocity, f->values, f->packed, f->target, f->keep,
                         k.count);
        mw_rng rng = mw_rng_make(34, MW_RNG_TEST, 0, 0, 0);
        for (int direction = 0; direction < 6; direction++)
            CHECK_ERROR(differences_along(objective, &k, f->values, grads, f->net.params.total, 2e-4, &rng),
                        1e-2, "project %d, direction %d", project, direction);
        /* and each tensor alone, by a distance of 0.03, where its slope stands out of the rounding */
        for (int p = 0; p < f->net.params.count; p++) {
            const mw_param *param = &f->net.params.list[p];
            float *at = f->values + param->offset;
            const float *slope = grads + param->offset;
            double square = 0;
            for (size_t i = 0; i < param->count; i++) square += (double)slope[i] * slope[i];
            if (sqrt(square / (double)param->count) < 0.03) continue;
            const double step = 0.03 / sqrt((double)param->count);
            CHECK_ERROR(differences_along(objective, &k, at, slope, param->count, step, &rng), 3e-2,
                        "project %d, %s", project, param->name);
            tensors++;
        }
        assert_true(tensors > f->net.params.count / 2);
        free(grads);
        mw_arena_free(&k.arena);
        drop(f);
    }
}

/* Attention without its projection is attention with the identity for W_O: the same velocities and the same
 * gradients of everything else. */
static void no_projection_is_identity(void **state) {
    (void)state;
    static network k;
    static float u[4 * SEGMENT];
    fixture *f = make(false);
    network_make(&k, f, 4);
    mw_params bare = f->net.params;
    float *bare_values = f->values, *bare_grads = floats(bare.total);
    memcpy(u, velocity(&k, 0), sizeof u);
    mw_flow_backward(&f->net, k.acts, bare_grads, k.dvelocity, f->values, f->packed, f->target, f->keep,
                     k.count);
    mw_arena_free(&k.arena);
    free(f->packed);

    f = make(true); /* the fixture is one: the old table and weights were kept above */
    for (int p = 0; p < f->net.params.count; p++) {
        const mw_param *param = &f->net.params.list[p], *same = mw_params_find(&bare, param->name);
        if (same) {
            memcpy(f->values + param->offset, bare_values + same->offset, param->count * sizeof(float));
            continue;
        }
        assert_non_null(strstr(param->name, ".out."));
        for (size_t i = 0; i < param->count; i++)
            f->values[param->offset + i] = param->dims > 1 && i % (size_t)(param->shape[0] + 1) == 0;
    }
    mw_flow_net_pack(&f->net, f->values, f->packed, true, 0, 1);
    network_make(&k, f, 4);
    assert_memory_equal(velocity(&k, 0), u, sizeof u);
    float *grads = floats(f->net.params.total);
    mw_flow_backward(&f->net, k.acts, grads, k.dvelocity, f->values, f->packed, f->target, f->keep, k.count);
    for (int p = 0; p < bare.count; p++)
        assert_memory_equal(grads + mw_params_find(&f->net.params, bare.list[p].name)->offset,
                            bare_grads + bare.list[p].offset, bare.list[p].count * sizeof(float));
    free(grads);
    free(bare_grads);
    free(bare_values);
    mw_params_free(&bare);
    mw_arena_free(&k.arena);
    drop(f);
}

/* With changes, x over its flow time is added to what the network itself says of the future; the context
 * stays as it is. */
static void velocity_of_changes(void **state) {
    (void)state;
    static const float level[] = {0.05F, 0.2F, 0.5F, 0.8F, 1}, gain[] = {10, 5, 2, 1.25F, 1};
    static network k;
    static float u[5 * SEGMENT];
    fixture *f = make(true);
    network_make(&k, f, 5);
    memcpy(k.level, level, sizeof level);
    memcpy(u, velocity(&k, 0), sizeof u);
    f->net.config.residual = true;
    const float *v = velocity(&k, 0), *x = mw_flow_input(k.acts);
    for (int t = 0; t < small.time; t++)
        for (int j = 0; j < k.count; j++)
            for (int i = 0; i < STEP; i++) {
                const int at = (t * k.count + j) * STEP + i;
                assert_float_equal(v[at], u[at] + (t < small.context ? 0 : gain[j] * x[at]), 1e-5);
            }
    f->net.config.residual = false;
    mw_arena_free(&k.arena);
    drop(f);
}

/* The future relative to the present, and back; the context does not move. */
static void observations_and_changes(void **state) {
    (void)state;
    fixture *f = make(true);
    float x[SEGMENT];
    memcpy(x, f->tau, sizeof x);
    mw_flow_from_obs(&f->net, x, NULL); /* without changes nothing happens */
    assert_memory_equal(x, f->tau, sizeof x);
    f->net.config.residual = true;
    mw_flow_from_obs(&f->net, x, NULL);
    assert_memory_equal(x, f->tau, CONTEXT * sizeof *x);
    for (int i = CONTEXT; i < SEGMENT; i++)
        assert_float_equal(x[i], f->tau[i] - f->tau[CONTEXT - STEP + i % STEP], 1e-6);
    mw_flow_to_obs(&f->net, x, NULL);
    for (int i = 0; i < SEGMENT; i++) assert_float_equal(x[i], f->tau[i], 1e-5);
    f->net.config.residual = false;
    drop(f);
}

/* The forecast is an MLP of each agent's last observations, its number and maybe the return; what it expects
 * is left out of the flow, the rest scaled. */
static void check_forecast(bool told) {
    enum { AGENTS = 3, OBS = STEP / AGENTS, AHEAD = (SEGMENT - CONTEXT) / STEP };
    static network k;
    fixture *f = make_forecast(told);
    network_make(&k, f, 2);
    const int width = OBS + AGENTS + told;
    assert_int_equal(mw_flow_view_width(&f->net.config), width);
    float x[SEGMENT], rows[2 * AGENTS * 16];
    for (int j = 0; j < 2; j++)
        mw_flow_view(&f->net, rows + j * AGENTS * width, f->tau + j * SEGMENT + CONTEXT - STEP, f->target[j]);
    const float *expected = mw_flow_expect(&f->net, k.acts, f->values, f->packed, rows, 2);
    for (int q = 0; q < 2 * AGENTS; q++) {
        double in[16] = {0}, out[AHEAD * OBS];
        const float *now = f->tau + q / AGENTS * SEGMENT + CONTEXT - STEP + q % AGENTS * OBS;
        for (int i = 0; i < OBS; i++) in[i] = now[i];
        in[OBS + q % AGENTS] = 1;
        if (told) in[width - 1] = f->target[q / AGENTS];
        for (int l = 0; l < f->net.forecast.layers; l++) {
            const mw_dense *layer = &f->net.forecast.layer[l];
            for (int o = 0; o < layer->out; o++) {
                out[o] = f->values[layer->b + (size_t)o];
                for (int i = 0; i < layer->in; i++)
                    out[o] += in[i] * f->values[layer->w + (size_t)(i * layer->out + o)];
            }
            for (int o = 0; l + 1 < f->net.forecast.layers && o < layer->out; o++)
                in[o] = out[o] / (1 + exp(-out[o]));
        }
        for (int i = 0; i < AHEAD * OBS; i++) assert_float_equal(expected[q * AHEAD * OBS + i], out[i], 1e-5);
    }
    memcpy(x, f->tau, sizeof x);
    mw_flow_from_obs(&f->net, x, expected);
    assert_memory_equal(x, f->tau, CONTEXT * sizeof *x);
    for (int i = CONTEXT; i < SEGMENT; i++) {
        const int agent = i % STEP / OBS, ahead = i / STEP - CONTEXT / STEP;
        const float change = f->tau[i] - f->tau[CONTEXT - STEP + i % STEP];
        assert_float_equal(x[i], 3 * (change - expected[(agent * AHEAD + ahead) * OBS + i % OBS]), 1e-5);
    }
    mw_flow_to_obs(&f->net, x, expected);
    for (int i = 0; i < SEGMENT; i++) assert_float_equal(x[i], f->tau[i], 1e-5);
    mw_arena_free(&k.arena);
    drop(f);
}

static void observations_and_forecasts(void **state) {
    (void)state;
    check_forecast(false);
    check_forecast(true);
}

/* Alone or in a batch: the same bits. Without the condition the target does not matter. */
static void rows_are_independent(void **state) {
    (void)state;
    static network all, one;
    static float u[COUNT * SEGMENT];
    fixture *f = make(true);
    network_make(&all, f, COUNT);
    memcpy(u, velocity(&all, 0), sizeof u);
    network_make(&one, f, 1);
    for (int j = 0; j < COUNT; j++) {
        one.bin[0] = all.bin[j];
        if (!f->keep[j]) f->target[j] = 1000; /* the null condition: it must not be seen */
        const float *alone = velocity(&one, j);
        for (int t = 0; t < small.time; t++)
            assert_memory_equal(alone + t * STEP, u + (t * COUNT + j) * STEP, STEP * sizeof *u);
    }
    one.bin[0] = all.bin[0];
    f->target[0] += 0.5f; /* with the condition it is */
    assert_memory_not_equal(velocity(&one, 0), u, STEP * sizeof *u);
    mw_arena_free(&all.arena);
    mw_arena_free(&one.arena);
    drop(f);
}

static void packing_is_divided(void **state) {
    (void)state;
    fixture *f = make(true);
    const size_t size = f->net.params.packed * sizeof(float);
    float *pieces = floats(f->net.params.packed);
    for (int workers = 1; workers <= 3; workers++) {
        memset(pieces, 0, size);
        for (int worker = 0; worker < workers; worker++)
            mw_flow_net_pack(&f->net, f->values, pieces, true, worker, workers);
        assert_memory_equal(pieces, f->packed, size);
    }
    free(pieces);
    drop(f);
}

/* ---- the sampler ---- */

static mw_sampler *sampler_of(const fixture *f, mw_pool *pool) {
    mw_sampler *sampler;
    mw_error error = {0};
    CHECK_OK(mw_sampler_create(&sampler, &f->net, f->values, f->packed, pool, &error), error);
    return sampler;
}

static void sample(mw_sampler *sampler, const fixture *f, int steps, bool sequential, float *out,
                   const float *noise, int count) {
    mw_error error = {0};
    const mw_sampler_options options = {steps, 1.2f, sequential};
    CHECK_OK(mw_sampler_run(sampler, &options, out, noise, f->context, f->target, count, &error), error);
}

static void schedules_give_the_same_bits(void **state) {
    (void)state;
    static float first[COUNT * SEGMENT], out[COUNT * SEGMENT];
    fixture *f = make(true);
    for (int steps = 1; steps <= small.bins; steps += 2) {
        mw_sampler *plain = sampler_of(f, NULL);
        sample(plain, f, steps, false, first, f->noise, COUNT);
        for (int j = 0; j < COUNT; j++) /* the context comes back untouched */
            assert_memory_equal(first + j * SEGMENT, f->context + j * CONTEXT, CONTEXT * sizeof *first);
        FOR_THREADS(threads) {
            mw_pool *pool = pool_of(threads);
            mw_sampler *sampler = sampler_of(f, pool);
            for (int count = 1; count <= COUNT; count += threads < MANY_THREADS ? 1 : COUNT - 1) {
                memset(out, 0, sizeof out);
                sample(sampler, f, steps, count % 2, out, f->noise, count);
                assert_memory_equal(out, first, (size_t)(count * SEGMENT) * sizeof *out);
            }
            memcpy(out, f->noise, sizeof out); /* in place */
            sample(sampler, f, steps, false, out, out, COUNT);
            assert_memory_equal(out, first, sizeof out);
            mw_sampler_free(sampler);
            mw_pool_free(pool);
        }
        mw_sampler_free(plain);
    }
    drop(f);
}

/* The flow does not see the forecast: with another one, the same noise becomes the same future, moved by
 * the difference of what both expect of the context and the target. */
static void proposals_contain_the_forecast(void **state) {
    (void)state;
    static float with[COUNT * SEGMENT], without[COUNT * SEGMENT];
    static network k;
    fixture *f = make_forecast(true);
    mw_pool *pool = pool_of(2);
    mw_sampler *sampler = sampler_of(f, pool);
    const mw_dense *last = &f->net.forecast.layer[f->net.forecast.layers - 1];
    const int width = mw_flow_view_width(&f->net.config), ahead = SEGMENT - CONTEXT;
    float *rows = floats((size_t)(COUNT * 3 * width)), *expected = floats((size_t)(COUNT * ahead));
    network_make(&k, f, COUNT);
    for (int j = 0; j < COUNT; j++)
        mw_flow_view(&f->net, rows + j * 3 * width, f->context + (j + 1) * CONTEXT - STEP, f->target[j]);
    sample(sampler, f, 3, false, without, f->noise, COUNT);
    memcpy(expected, mw_flow_expect(&f->net, k.acts, f->values, f->packed, rows, COUNT),
           (size_t)(COUNT * ahead) * sizeof *expected);
    for (int i = 0; i < last->out; i++) f->values[last->b + (size_t)i] += (float)(i + 1);
    for (int i = 0; i < last->in * last->out; i++) f->values[last->w + (size_t)i] *= 3;
    mw_flow_net_pack(&f->net, f->values, f->packed, true, 0, 1);
    sample(sampler, f, 3, false, with, f->noise, COUNT);
    const float *other = mw_flow_expect(&f->net, k.acts, f->values, f->packed, rows, COUNT);
    for (int i = 0; i < COUNT * SEGMENT; i++) {
        const int j = i / SEGMENT, t = i % SEGMENT / STEP - CONTEXT / STEP, agent = i % STEP / 5;
        const int at = j * ahead + (agent * ahead / STEP + t) * 5 + i % 5; /* [j][agent][t][o] */
        assert_float_equal(with[i] - without[i], t < 0 ? 0 : other[at] - expected[at], 1e-4);
    }
    free(rows);
    free(expected);
    mw_arena_free(&k.arena);
    mw_sampler_free(sampler);
    mw_pool_free(pool);
    drop(f);
}

/* The same steps written out with single calls of the network. */
static void steps_as_written(void **state) {
    (void)state;
    static network k;
    static float out[COUNT * SEGMENT], x[SEGMENT];
    const int K = 3;
    fixture *f = make(true);
    mw_sampler *sampler = sampler_of(f, NULL);
    sample(sampler, f, K, false, out, f->noise, 2);
    network_make(&k, f, 1);
    for (int j = 0; j < 2; j++) {
        memcpy(x, f->noise + j * SEGMENT, sizeof x);
        for (int step = K; step >= 1; step--) {
            static float u[2][SEGMENT];
            memcpy(x, f->context + j * CONTEXT, CONTEXT * sizeof *x);
            k.bin[0] = (small.bins * step - 1) / K;
            for (int keep = 0; keep < 2; keep++) {
                memcpy(mw_flow_input(k.acts), x, sizeof x);
                memcpy(u[keep],
                       mw_flow_forward(&f->net, k.acts, f->values, f->packed, k.bin, NULL, f->target + j,
                                       &(float){(float)keep}, 1),
                       sizeof x);
            }
            for (int i = 0; i < SEGMENT; i++) x[i] -= (u[0][i] + 1.2f * (u[1][i] - u[0][i])) / (float)K;
        }
        memcpy(x, f->context + j * CONTEXT, CONTEXT * sizeof *x);
        for (int i = 0; i < SEGMENT; i++) CHECK_NEAR(out[j * SEGMENT + i], x[i], 1e-5);
    }
    mw_arena_free(&k.arena);
    mw_sampler_free(sampler);
    drop(f);
}

static void bad_numbers_stay_alone(void **state) {
    (void)state;
    static float clean[COUNT * SEGMENT], out[COUNT * SEGMENT];
    fixture *f = make(true);
    mw_sampler *sampler = sampler_of(f, NULL);
    sample(sampler, f, 3, false, clean, f->noise, COUNT);
    f->noise[2 * SEGMENT + SEGMENT - 1] = NAN;
    sample(sampler, f, 3, false, out, f->noise, COUNT);
    bool spoiled = false;
    for (int i = 0; i < COUNT * SEGMENT; i++)
        if (i / SEGMENT == 2)
            spoiled |= isnan(out[i]);
        else
            assert_true(out[i] == clean[i]);
    assert_true(spoiled);
    mw_sampler_free(sampler);
    drop(f);
}

static void sampler_refuses(void **state) {
    (void)state;
    fixture *f = make(true);
    mw_sampler *sampler = sampler_of(f, NULL);
    mw_error error = {0};
    float out[SEGMENT];
    for (int steps = -1; steps <= 6; steps += steps == 0 ? 6 : 1) {
        const mw_sampler_options options = {.steps = steps, .guidance = 1};
        char text[60];
        snprintf(text, sizeof text, "1 to 5; got %d", steps);
        CHECK_FAILS(mw_sampler_run(sampler, &options, out, f->noise, f->context, f->target, 1, &error),
                    MW_ERR_ARGUMENT, error, text);
    }
    const mw_sampler_options options = {.steps = 1, .guidance = 1};
    CHECK_FAILS(mw_sampler_run(sampler, &options, out, f->noise, f->context, f->target, -1, &error),
                MW_ERR_ARGUMENT, error, "-1 candidates");
    CHECK_OK(mw_sampler_run(sampler, &options, NULL, NULL, NULL, NULL, 0, &error), error);
    mw_sampler_free(sampler);
    drop(f);
}

static void sampling_does_not_allocate(void **state) {
    (void)state;
    if (!COUNTING) skip();
    static float out[COUNT * SEGMENT];
    fixture *f = make(true);
    mw_pool *pool = pool_of(2);
    long before = allocations();
    mw_sampler *sampler = sampler_of(f, pool);
    assert_true(allocations() > before); /* the counter counts */
    before = allocations();
    for (int i = 0; i < 4; i++) sample(sampler, f, 1 + i, i % 2, out, f->noise, COUNT);
    assert_int_equal(allocations(), before);
    mw_sampler_free(sampler);
    mw_pool_free(pool);
    drop(f);
}

/* Work areas of a planner as it is trained, 4 environments x 16 candidates, 2 threads: under 64 MB on every
 * task. */
static void workspace(void **state) {
    (void)state;
    mw_error error = {0};
    mw_pool *pool = pool_of(2);
    for (int i = 0; mw_task_shape_at(i); i++) {
        const mw_task_shape *shape = mw_task_shape_at(i);
        const mw_preset preset = mw_preset_of(shape->task, MW_BUDGET_FULL);
        const mw_model_shape sizes = {shape->agents, shape->obs, shape->act, shape->discrete};
        mw_model *flow, *rwm;
        CHECK_OK(mw_model_make(&flow, &mw_flow_class, &preset.config[mw_model_class_index("flow")], &sizes,
                               &error),
                 error);
        CHECK_OK(
            mw_model_make(&rwm, &mw_rwm_class, &preset.config[mw_model_class_index("rwm")], &sizes, &error),
            error);
        const mw_flow_config config = mw_flow_net_of(flow)->config;
        mw_world_config world = mw_rwm_net(rwm)->config;
        mw_model_free(flow);
        mw_model_free(rwm);
        world.agents = shape->agents;
        world.obs = shape->obs;
        world.act = shape->act;
        mw_flow_net policy;
        mw_world_net net;
        mw_sampler *sampler;
        mw_scorer *scorer;
        CHECK_OK(mw_flow_net_make(&policy, &config, &error), error);
        CHECK_OK(mw_world_net_make(&net, &world, &error), error);
        CHECK_OK(mw_sampler_create(&sampler, &policy, NULL, NULL, pool, &error), error);
        CHECK_OK(mw_world_scorer_create(&scorer, &net, NULL, NULL, 64, pool, &error), error);
        const double megabytes = 1e-6 * (double)(mw_sampler_bytes(sampler) + scorer->kind->bytes(scorer));
        if (megabytes > 64) fail_msg("%s: %.1f MB of work areas", shape->task, megabytes);
        mw_scorer_free(scorer);
        mw_sampler_free(sampler);
        mw_world_net_free(&net);
        mw_flow_net_free(&policy);
    }
    mw_pool_free(pool);
}

/* ---- the trainer ---- */

static mw_flow_trainer *trainer_of(const fixture *f, int max_batch, int shards, mw_pool *pool) {
    mw_flow_trainer *trainer;
    mw_error error = {0};
    const mw_adam adam = {2e-3f, 0.9f, 0.999f, 1e-8f, 10, 0, 0};
    const int forecasts = f->net.config.forecast ? FORECASTS : 0;
    CHECK_OK(
        mw_flow_trainer_create(&trainer, &f->net, &adam, 0.9f, max_batch, forecasts, shards, pool, &error),
        error);
    mw_optimizer *o = mw_flow_trainer_optimizer(trainer);
    memcpy(o->values, f->values, f->net.params.total * sizeof(float));
    memcpy(o->average, f->values, f->net.params.total * sizeof(float));
    return trainer;
}

static mw_flow_batch batch_of(const fixture *f, int count) {
    return (mw_flow_batch){count,     f->tau,    f->noise, f->rho,
                           f->lambda, f->target, f->keep,  f->net.config.forecast ? FORECASTS : 0,
                           f->noise,  f->lambda};
}

static void keep_their_bits(fixture *f) {
    const size_t total = f->net.params.total, size = total * sizeof(float);
    float *values = floats(2 * total), *average = values + total;
    for (int count = COUNT; count >= 2; count -= 7) { /* full, and with an empty last shard */
        const mw_flow_batch batch = batch_of(f, count);
        double losses[3];
        FOR_THREADS(threads) {
            mw_pool *pool = pool_of(threads);
            mw_flow_trainer *trainer = trainer_of(f, COUNT, 3, pool);
            mw_optimizer *o = mw_flow_trainer_optimizer(trainer);
            for (int k = 0; k < 3; k++) {
                const double loss = mw_flow_trainer_step(trainer, &batch, MW_STEP_UPDATE);
                if (threads == 1) losses[k] = loss;
                assert_true(loss == losses[k]);
            }
            if (threads == 1) {
                memcpy(values, o->values, size);
                memcpy(average, o->average, size);
            }
            assert_memory_equal(o->values, values, size);
            assert_memory_equal(o->average, average, size);
            mw_flow_trainer_free(trainer);
            mw_pool_free(pool);
        }
    }
    free(values);
    drop(f);
}

static void steps_keep_their_bits(void **state) {
    (void)state;
    keep_their_bits(make(true));
    keep_their_bits(make_forecast(false));
    keep_their_bits(make_forecast(true));
}

/* The loss from velocities by its definition, and the same gradient from any number of shards. */
static void loss_and_shards(void **state) {
    (void)state;
    static network k;
    fixture *f = make(true);
    const mw_flow_batch batch = batch_of(f, COUNT);
    static float u[2][SEGMENT];
    double expected = 0;
    network_make(&k, f, 1);
    for (int j = 0; j < COUNT; j++) {
        const float lambda = f->lambda[j], rho = f->rho[j];
        for (int pass = 0; pass < 2; pass++) {
            const float at = pass ? lambda : rho;
            const int bin = (int)ceilf(5 * at) - 1;
            k.bin[0] = bin < 0 ? 0 : bin > 4 ? 4 : bin;
            for (int i = 0; i < SEGMENT; i++) {
                const float l = i < CONTEXT ? 0 : lambda;
                mw_flow_input(k.acts)[i] = (1 - l) * f->tau[j * SEGMENT + i] + l * f->noise[j * SEGMENT + i];
            }
            memcpy(u[pass],
                   mw_flow_forward(&f->net, k.acts, f->values, f->packed, k.bin, NULL, f->target + j,
                                   f->keep + j, 1),
                   sizeof u[0]);
        }
        for (int i = CONTEXT; i < SEGMENT; i++) {
            const double v = u[0][i] + ((double)lambda - rho) * ((double)u[1][i] - u[0][i]);
            expected += pow(v - ((double)f->noise[j * SEGMENT + i] - f->tau[j * SEGMENT + i]), 2) /
                        (COUNT * (SEGMENT - CONTEXT));
        }
    }
    mw_arena_free(&k.arena);
    double *first = malloc(f->net.params.total * sizeof *first);
    for (int shards = 1; shards <= 11; shards += 5) { /* up to more shards than rows */
        mw_flow_trainer *trainer = trainer_of(f, COUNT, shards, NULL);
        const float *grads = mw_flow_trainer_optimizer(trainer)->grads;
        CHECK_NEAR(mw_flow_trainer_step(trainer, &batch, MW_STEP_GRADIENT) / expected, 1, 2e-6);
        for (size_t i = 0; shards == 1 && i < f->net.params.total; i++) first[i] = grads[i];
        CHECK_ERROR(differences_relative(grads, first, f->net.params.total), 2e-6, "%d shards", shards);
        assert_memory_equal(mw_flow_trainer_optimizer(trainer)->values, f->values,
                            f->net.params.total * sizeof(float));
        mw_flow_trainer_free(trainer);
    }
    free(first);
    drop(f);
}

/* Where both times are equal the trainer's gradient is that of its loss. */
static double trainer_objective(void *context) {
    void **pair = context;
    return mw_flow_trainer_step(pair[0], pair[1], MW_STEP_GRADIENT);
}

static void gradient_of_the_loss(void **state) {
    (void)state;
    fixture *f = make(true);
    memcpy(f->rho, f->lambda, sizeof f->rho);
    mw_flow_batch batch = batch_of(f, 4);
    mw_flow_trainer *trainer = trainer_of(f, 4, 2, NULL);
    mw_optimizer *o = mw_flow_trainer_optimizer(trainer);
    mw_flow_trainer_step(trainer, &batch, MW_STEP_GRADIENT);
    const size_t total = f->net.params.total;
    float *grads = floats(total);
    memcpy(grads, o->grads, total * sizeof *grads);
    mw_rng rng = mw_rng_make(35, MW_RNG_TEST, 0, 0, 0);
    for (int direction = 0; direction < 4; direction++)
        CHECK_ERROR(differences_along(trainer_objective, (void *[]){trainer, &batch}, o->values, grads, total,
                                      2e-4, &rng),
                    1e-2, "direction %d", direction);
    free(grads);
    mw_flow_trainer_free(trainer);
    drop(f);
}

/* The forecast learns from its own loss and nothing else does, whatever the number of shards. */
static double forecast_objective(void *context) {
    void **pair = context;
    mw_flow_trainer_step(pair[0], pair[1], MW_STEP_GRADIENT);
    return mw_flow_trainer_forecast(pair[0]);
}

static void learn_alone(fixture *f) {
    mw_flow_batch with = batch_of(f, COUNT), without = with;
    without.forecasts = 0;
    const size_t total = f->net.params.total, first = f->net.forecast.layer[0].w;
    float *grads = floats(2 * total), *flow = grads + total;
    for (int shards = 1; shards <= 4; shards++) {
        mw_flow_trainer *trainer = trainer_of(f, COUNT, shards, NULL);
        mw_optimizer *o = mw_flow_trainer_optimizer(trainer);
        mw_flow_trainer_step(trainer, &without, MW_STEP_GRADIENT);
        memcpy(flow, o->grads, total * sizeof *flow);
        assert_true(mw_flow_trainer_forecast(trainer) == 0);
        mw_flow_trainer_step(trainer, &with, MW_STEP_GRADIENT);
        memcpy(grads, o->grads, total * sizeof *grads);
        for (size_t i = 0; i < total; i++)
            if (i < first)
                assert_true(grads[i] == flow[i]);
            else
                assert_true(flow[i] == 0);
        mw_rng rng = mw_rng_make(36, MW_RNG_TEST, 0, 0, 0);
        for (int direction = 0; direction < 4; direction++)
            CHECK_ERROR(differences_along(forecast_objective, (void *[]){trainer, &with}, o->values + first,
                                          grads + first, total - first, 1e-3, &rng),
                        1e-2, "%d shards, direction %d", shards, direction);
        const double before = mw_flow_trainer_forecast(trainer);
        for (int k = 0; k < 300; k++) mw_flow_trainer_step(trainer, &with, MW_STEP_UPDATE);
        assert_true(mw_flow_trainer_forecast(trainer) < 0.8 * before);
        mw_flow_trainer_free(trainer);
    }
    free(grads);
    drop(f);
}

static void forecast_learns_alone(void **state) {
    (void)state;
    learn_alone(make_forecast(false));
    learn_alone(make_forecast(true));
}

static void training_learns(void **state) {
    (void)state;
    fixture *f = make(true);
    mw_pool *pool = pool_of(2);
    const mw_flow_batch batch = batch_of(f, 4);
    mw_flow_trainer *trainer = trainer_of(f, 4, 2, pool);
    const double before = mw_flow_trainer_step(trainer, &batch, MW_STEP_GRADIENT);
    for (int k = 0; k < 120; k++) mw_flow_trainer_step(trainer, &batch, MW_STEP_UPDATE);
    const double after = mw_flow_trainer_step(trainer, &batch, MW_STEP_GRADIENT);
    if (!(after < 0.3 * before)) fail_msg("loss %g after 120 steps, %g before", after, before);
    mw_flow_trainer_free(trainer);
    mw_pool_free(pool);
    drop(f);
}

static void empty_batch(void **state) {
    (void)state;
    fixture *f = make(true);
    const mw_flow_batch batch = batch_of(f, 0);
    mw_flow_trainer *trainer = trainer_of(f, 4, 2, NULL);
    assert_true(mw_flow_trainer_step(trainer, &batch, MW_STEP_UPDATE) == 0);
    assert_memory_equal(mw_flow_trainer_optimizer(trainer)->values, f->values,
                        f->net.params.total * sizeof(float));
    assert_int_equal(mw_flow_trainer_optimizer(trainer)->group[0].adam.step, 0);
    mw_flow_trainer_free(trainer);
    drop(f);
}

static void refusals(void **state) {
    (void)state;
    static const struct {
        mw_flow_config config;
        const char *text;
    } cases[] = {
        {{0, 5, 16, {1, 2, 2}, 8, 3, 5, true, false, 0, 0, false, false}, "flow.agents is 0"},
        {{33, 5, 16, {1, 2, 2}, 8, 3, 5, true, false, 0, 0, false, false}, "flow.agents is 33"},
        {{3, 0, 16, {1, 2, 2}, 8, 3, 5, true, false, 0, 0, false, false}, "flow.obs is 0"},
        {{3, 5, 24, {1, 2, 2}, 8, 3, 5, true, false, 0, 0, false, false}, "flow.dim is 24"},
        {{3, 5, 16, {1, 0, 2}, 8, 3, 5, true, false, 0, 0, false, false}, "flow.mults[1] is 0"},
        {{3, 5, 16, {1, 2, 268435457}, 8, 3, 5, true, false, 0, 0, false, false},
         "flow.mults[2] is 268435457"},
        {{3, 5, 16, {1, 2, 2}, 10, 3, 5, true, false, 0, 0, false, false}, "flow.time is 10"},
        {{3, 5, 16, {1, 2, 2}, 8, 8, 5, true, false, 0, 0, false, false}, "flow.context is 8"},
        {{3, 5, 16, {1, 2, 2}, 8, 3, 0, true, false, 0, 0, false, false}, "flow.bins is 0"},
        {{3, 5, 16, {1, 2, 2}, 8, 3, 5, true, true, -1, 0, false, false}, "flow.forecast is -1"},
        {{3, 5, 16, {1, 2, 2}, 8, 3, 5, true, false, 8, 0, false, false}, "without residual"},
        {{3, 5, 16, {1, 2, 2}, 8, 3, 5, true, true, 8, NAN, false, false}, "flow.scale is nan"},
    };
    mw_error error = {0};
    mw_flow_net net;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_FAILS(mw_flow_net_make(&net, &cases[i].config, &error), MW_ERR_ARGUMENT, error, cases[i].text);
    fixture *f = make(true);
    mw_flow_trainer *trainer;
    const mw_adam adam = {0};
    CHECK_FAILS(mw_flow_trainer_create(&trainer, &f->net, &adam, 0, 0, 0, 1, NULL, &error), MW_ERR_ARGUMENT,
                error, "batch of 0");
    CHECK_FAILS(mw_flow_trainer_create(&trainer, &f->net, &adam, 0, 4, 0, 0, NULL, &error), MW_ERR_ARGUMENT,
                error, "0 shards");
    CHECK_FAILS(mw_flow_trainer_create(&trainer, &f->net, &adam, 0, INT32_MAX, 0, 1, NULL, &error),
                MW_ERR_ARGUMENT, error, "batch of 2147483647");
    drop(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_along_directions),
        cmocka_unit_test(no_projection_is_identity),
        cmocka_unit_test(velocity_of_changes),
        cmocka_unit_test(observations_and_changes),
        cmocka_unit_test(observations_and_forecasts),
        cmocka_unit_test(proposals_contain_the_forecast),
        cmocka_unit_test(forecast_learns_alone),
        cmocka_unit_test(rows_are_independent),
        cmocka_unit_test(packing_is_divided),
        cmocka_unit_test(schedules_give_the_same_bits),
        cmocka_unit_test(steps_as_written),
        cmocka_unit_test(bad_numbers_stay_alone),
        cmocka_unit_test(sampler_refuses),
        cmocka_unit_test(sampling_does_not_allocate),
        cmocka_unit_test(workspace),
        cmocka_unit_test(steps_keep_their_bits),
        cmocka_unit_test(loss_and_shards),
        cmocka_unit_test(gradient_of_the_loss),
        cmocka_unit_test(training_learns),
        cmocka_unit_test(empty_batch),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
