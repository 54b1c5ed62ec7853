/* Measurements of speed; see mawam/bench.h. Inputs are random numbers: time does not depend on what the
 * weights know. */
#include "core/clock.h"
#include "core/options.h"
#include "core/rng.h"
#include "nn/gemm.h"
#include "model/flow/preset.h"
#include "model/flow/sampler.h"
#include "model/flow/trainer.h"
#include "plan/scorer.h"
#include "model/rwm/trainer.h"

#include <stdlib.h>
#include <string.h>

#define MAX_RUNS 400

/* Everything the measurements need; freed together. */
typedef struct {
    const mw_task_shape *shape;
    mw_pool *pool, *single;
    mw_policy_net policy;
    mw_world_net world;
    mw_arena arena;
    float *policy_values, *policy_packed, *world_values, *world_packed;
    float *noise, *context, *target, *out, *obs, *actions, *scores;
    mw_sampler *sampler;
    mw_scorer *scorer;
    mw_policy_trainer *policy_trainer;
    mw_world_trainer *world_trainer;
    mw_flow_batch flow;
    mw_transition_batch transitions;
    int count, steps, horizon;
} bench;

typedef void work_fn(bench *b);

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median seconds of one call: a few unmeasured ones first, then for about `seconds`, at least five. */
static double median_seconds(bench *b, work_fn *work, double seconds) {
    double times[MAX_RUNS], started = mw_clock_seconds();
    int runs = 0;
    work(b);
    while (mw_clock_seconds() - started < seconds / 10) work(b);
    started = mw_clock_seconds();
    while (runs < MAX_RUNS && (runs < 5 || mw_clock_seconds() - started < seconds)) {
        double start = mw_clock_seconds();
        work(b);
        times[runs++] = mw_clock_seconds() - start;
    }
    qsort(times, (size_t)runs, sizeof *times, ascending);
    return times[runs / 2];
}

/* ---- the machine's rate ---- */

#define PEAK_SIZE 512

typedef struct {
    mw_pool *pool;
    float *areas; /* per worker: a, packed b, c */
    double seconds[64];
} peak_context;

static void peak_body(void *context, int worker) {
    peak_context *p = context;
    float *a = p->areas + (size_t)worker * 3 * PEAK_SIZE * PEAK_SIZE, *b = a + PEAK_SIZE * PEAK_SIZE,
          *c = b + PEAK_SIZE * PEAK_SIZE;
    mw_pool_barrier(p->pool);
    const double start = mw_clock_seconds();
    for (int i = 0; i < 4; i++) mw_gemm_packed(c, a, b, NULL, PEAK_SIZE, PEAK_SIZE, PEAK_SIZE);
    mw_pool_barrier(p->pool);
    p->seconds[worker] = mw_clock_seconds() - start;
}

/* Best rate seen over some runs, GFLOP/s of all workers together. */
static mw_status measure_peak(mw_pool *pool, double seconds, double *peak, mw_error *error) {
    const int threads = mw_pool_threads(pool);
    const size_t floats = (size_t)threads * 3 * PEAK_SIZE * PEAK_SIZE;
    peak_context p = {pool, aligned_alloc(MW_ALIGN, floats * sizeof(float)), {0}};
    if (!p.areas) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate %zu floats", floats);
    for (size_t i = 0; i < floats; i++) p.areas[i] = (float)(i % 17) * 0.1f - 0.8f;
    const double started = mw_clock_seconds();
    do {
        mw_pool_run(pool, peak_body, &p);
        const double rate = 4.0 * threads * 2e-9 * PEAK_SIZE * PEAK_SIZE * PEAK_SIZE / p.seconds[0];
        if (rate > *peak) *peak = rate;
    } while (mw_clock_seconds() - started < seconds);
    free(p.areas);
    return MW_OK;
}

/* ---- what is measured ---- */

static void score(bench *b) {
    mw_scorer_score(b->scorer, b->scores, NULL, b->obs, b->actions, b->count, b->horizon);
}

static void generate(bench *b, bool sequential) {
    mw_sampler_options options = {b->steps, 1.2f, sequential};
    mw_sampler_run(b->sampler, &options, b->out, b->noise, b->context, b->target, b->count, NULL);
}
static void generate_batched(bench *b) {
    generate(b, false);
}
static void generate_sequential(bench *b) {
    generate(b, true);
}
static void train_world(bench *b) {
    mw_world_trainer_step(b->world_trainer, &b->transitions, true);
}
static void train_policy(bench *b) {
    mw_policy_trainer_step(b->policy_trainer, &b->flow, true);
}

/* ---- set-up ---- */

#define WORLD_BATCH  256
#define POLICY_BATCH 64
#define SHARDS       4

static float *random_floats(bench *b, size_t count, bool uniform) {
    float *at = mw_arena_floats(&b->arena, count);
    if (at) {
        mw_rng rng = mw_rng_make(1, MW_RNG_BENCH, b->arena.used, 0, 0);
        if (uniform)
            for (size_t i = 0; i < count; i++) at[i] = mw_rng_float(&rng);
        else
            mw_rng_fill_normal(&rng, at, count);
    }
    return at;
}

static void carve(bench *b, const mw_bench_options *o) {
    const mw_policy_config *c = &b->policy.config;
    const size_t joint = (size_t)(c->agents * c->obs), act = (size_t)(c->agents * b->shape->act),
                 count = (size_t)b->count;
    const size_t time = (size_t)c->time;
    b->policy_values = mw_arena_floats(&b->arena, b->policy.params.total);
    b->policy_packed = mw_arena_floats(&b->arena, b->policy.params.packed);
    b->world_values = mw_arena_floats(&b->arena, b->world.params.total);
    b->world_packed = mw_arena_floats(&b->arena, b->world.params.packed);
    b->noise = random_floats(b, count * time * joint, false);
    b->context = random_floats(b, count * (size_t)c->context * joint, false);
    b->target = random_floats(b, count, true);
    b->out = mw_arena_floats(&b->arena, count * time * joint);
    b->obs = random_floats(b, count * joint, false);
    b->actions = random_floats(b, count * (size_t)b->horizon * act, false);
    b->scores = mw_arena_floats(&b->arena, count);
    if (!o->train) return;
    float *lambda = random_floats(b, POLICY_BATCH, true), *rho = mw_arena_floats(&b->arena, POLICY_BATCH);
    float *keep = mw_arena_floats(&b->arena, POLICY_BATCH);
    for (int i = 0; rho && i < POLICY_BATCH; i++) {
        rho[i] = 0.5f * lambda[i];
        keep[i] = 1;
    }
    b->flow = (mw_flow_batch){POLICY_BATCH,
                              random_floats(b, POLICY_BATCH * time * joint, false),
                              random_floats(b, POLICY_BATCH * time * joint, false),
                              rho,
                              lambda,
                              random_floats(b, POLICY_BATCH, true),
                              keep,
                              0,
                              NULL};
    b->transitions =
        (mw_transition_batch){.count = WORLD_BATCH,
                              .obs = random_floats(b, WORLD_BATCH * joint, false),
                              .act = random_floats(b, WORLD_BATCH * act, false),
                              .next_obs = random_floats(b, WORLD_BATCH * joint, false),
                              .reward = random_floats(b, (size_t)(WORLD_BATCH * c->agents), false)};
}

static mw_status set_up(bench *b, const mw_bench_options *o, mw_error *error) {
    const mw_preset *preset = mw_preset_find(o->preset);
    if (!(b->shape = mw_task_shape_find(o->task)))
        return mw_fail(error, MW_ERR_ARGUMENT, "unknown task '%.64s'", o->task);
    if (!preset) return mw_fail(error, MW_ERR_ARGUMENT, "unknown preset '%.64s'", o->preset);
    const mw_policy_config config = mw_preset_policy(preset, b->shape);
    mw_world_config world = o->paper_world ? mw_world_config_paper() : mw_world_config_default();
    world.agents = b->shape->agents;
    world.obs = b->shape->obs;
    world.act = b->shape->act;
    b->count = o->envs * o->candidates;
    b->steps = o->steps;
    b->horizon = o->horizon ? o->horizon : b->shape->horizon;
    MW_TRY(mw_pool_create(&b->pool, o->threads, error));
    MW_TRY(mw_policy_net_make(&b->policy, &config, error));
    MW_TRY(mw_world_net_make(&b->world, &world, error));
    bench measured = {
        .shape = b->shape, .policy = b->policy, .world = b->world, .count = b->count, .horizon = b->horizon};
    carve(&measured, o);
    MW_TRY(mw_arena_create(&b->arena, measured.arena.used, error));
    carve(b, o);
    mw_params_init(&b->policy.params, b->policy_values, 1);
    mw_params_init(&b->world.params, b->world_values, 1);
    mw_policy_net_pack(&b->policy, b->policy_values, b->policy_packed, false, 0, 1);
    mw_world_net_pack(&b->world, b->world_values, b->world_packed, false, 0, 1);
    MW_TRY(mw_sampler_create(&b->sampler, &b->policy, b->policy_values, b->policy_packed, b->pool, error));
    MW_TRY(mw_world_scorer_create(&b->scorer, &b->world, b->world_values, b->world_packed, b->count, b->pool,
                                  error));
    if (!o->train) return MW_OK;
    const mw_adam adam = {1e-4f, 0.9f, 0.999f, 1e-8f, 10, 0};
    MW_TRY(mw_policy_trainer_create(&b->policy_trainer, &b->policy, &adam, 0.995f, POLICY_BATCH, 0, SHARDS,
                                    b->pool, error));
    MW_TRY(mw_world_trainer_create(&b->world_trainer, &b->world, &adam, 0, WORLD_BATCH, b->pool, error));
    mw_params_init(&b->policy.params, mw_policy_trainer_optimizer(b->policy_trainer)->values, 1);
    mw_params_init(&b->world.params, mw_world_trainer_optimizer(b->world_trainer)->values, 1);
    return MW_OK;
}

static void tear_down(bench *b) {
    mw_world_trainer_free(b->world_trainer);
    mw_policy_trainer_free(b->policy_trainer);
    mw_scorer_free(b->scorer);
    mw_sampler_free(b->sampler);
    mw_world_net_free(&b->world);
    mw_policy_net_free(&b->policy);
    mw_arena_free(&b->arena);
    mw_pool_free(b->single);
    mw_pool_free(b->pool);
}

static mw_status measure(bench *b, const mw_bench_options *o, mw_bench_report *report, mw_error *error) {
    const double generation = b->steps * mw_policy_net_flops(&b->policy, 2 * b->count);
    const size_t sampler = mw_sampler_bytes(b->sampler), scorer = b->scorer->kind->bytes(b->scorer);
    const struct {
        const char *name;
        work_fn *work;
        double flops;
        size_t bytes;
        bool train;
    } table[MW_BENCH_ITEMS] = {
        [MW_BENCH_SCORE] = {"score", score, b->horizon * mw_world_net_flops(&b->world, b->count), scorer,
                            false},
        [MW_BENCH_GENERATE] = {"generate", generate_batched, generation, sampler, false},
        [MW_BENCH_SEQUENTIAL] = {"generate sequentially", generate_sequential, generation, sampler, false},
        [MW_BENCH_TRAIN_WORLD] = {"train world step", train_world,
                                  mw_world_trainer_flops(&b->world, WORLD_BATCH),
                                  o->train ? mw_world_trainer_bytes(b->world_trainer) : 0, true},
        [MW_BENCH_TRAIN_POLICY] = {"train policy step", train_policy,
                                   mw_policy_trainer_flops(&b->policy, POLICY_BATCH, POLICY_BATCH, 0),
                                   o->train ? mw_policy_trainer_bytes(b->policy_trainer) : 0, true},
    };
    report->threads = mw_pool_threads(b->pool);
    report->horizon = b->horizon;
    report->world_parameters = mw_params_scalars(&b->world.params);
    report->policy_parameters = mw_params_scalars(&b->policy.params);
    MW_TRY(mw_pool_create(&b->single, 1, error));
    MW_TRY(measure_peak(b->single, o->seconds / 2, &report->peak_one, error));
    MW_TRY(measure_peak(b->pool, o->seconds / 2, &report->peak, error));
    for (int i = 0; i < MW_BENCH_ITEMS; i++) {
        mw_bench_item *item = &report->item[i];
        item->name = table[i].name;
        item->bytes = table[i].bytes;
        item->measured = o->train || !table[i].train;
        if (!item->measured) continue;
        const double seconds = median_seconds(b, table[i].work, o->seconds);
        item->ms = 1e3 * seconds;
        item->gflops = 1e-9 * table[i].flops / seconds;
    }
    MW_TRY(measure_peak(b->pool, o->seconds / 2, &report->peak, error)); /* the machine may have been busy
                                                                            before */
    for (int i = 0; i < MW_BENCH_ITEMS; i++)
        report->item[i].share =
            report->item[i].gflops / (i == MW_BENCH_SEQUENTIAL ? report->peak_one : report->peak);
    return MW_OK;
}

static const mw_bench_options defaults = {.size = sizeof defaults,
                                          .task = "spread",
                                          .preset = "compact",
                                          .envs = 1,
                                          .candidates = 8,
                                          .steps = 3,
                                          .seconds = 1};

void mw_bench_options_init(mw_bench_options *options, size_t size) {
    mw_options_fill(options, size, &defaults, sizeof defaults);
}

mw_status mw_bench_run(const mw_bench_options *given, mw_bench_report *report, mw_error *error) {
    bench b = {0};
    mw_bench_options options = defaults;
    *report = (mw_bench_report){0};
    MW_TRY(mw_options_take(&options, sizeof options, given, "mw_bench_options_init", error));
    if (options.envs < 1 || options.candidates < 1 || options.steps < 1 || options.horizon < 0)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "cannot measure %d environments x %d candidates, %d sampling steps, horizon %d",
                       options.envs, options.candidates, options.steps, options.horizon);
    mw_status status = set_up(&b, &options, error);
    if (status == MW_OK) status = measure(&b, &options, report, error);
    tear_down(&b);
    return status;
}
