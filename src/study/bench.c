/* Measurements of speed; see mawam/bench.h. Inputs are random numbers: time does not depend on what the
 * weights know. */
#include "mawam/bench.h"
#include "core/clock.h"
#include "core/json.h"
#include "core/names.h"
#include "core/numbers.h"
#include "core/options.h"
#include "core/rng.h"
#include "nn/gemm.h"
#include "model/flow/flow.h"
#include "model/flow/sampler.h"
#include "model/flow/trainer.h"
#include "model/rwm/rwm.h"
#include "model/rwm/trainer.h"
#include "study/sizes.h"
#include "train/preset.h"

#include <stdlib.h>
#include <string.h>

#define MAX_RUNS 400

/* Everything the measurements need; freed together. */
typedef struct {
    const mw_task_shape *shape;
    mw_pool *pool, *single;
    mw_flow_net policy;
    mw_world_net world;
    mw_arena arena;
    float *policy_values, *policy_packed, *world_values, *world_packed;
    float *noise, *context, *target, *out, *obs, *actions, *scores;
    mw_sampler *sampler;
    mw_scorer *scorer;
    mw_flow_trainer *policy_trainer;
    mw_world_trainer *world_trainer;
    mw_flow_batch flow;
    mw_transition_batch transitions;
    int count, steps, horizon;
    int policy_batch, world_batch, forecast_batch;
} bench;

typedef void work_fn(bench *b);

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median seconds of one call: a few unmeasured ones first, then for about `seconds`. A call that takes longer
 * than all of it is the only one. */
static double median_seconds(bench *b, work_fn *work, double seconds) {
    double times[MAX_RUNS], started = mw_clock_seconds();
    int runs = 0;
    work(b);
    const double first = mw_clock_seconds() - started;
    if (first > seconds) return first;
    while (mw_clock_seconds() - started < seconds / 10) work(b);
    started = mw_clock_seconds();
    while (runs < MAX_RUNS && (runs == 0 || mw_clock_seconds() - started < seconds)) {
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
    float *areas;   /* per worker: a, packed b, c */
    double seconds; /* until the last of them was done */
} peak_context;

static void peak_body(void *context, int worker) {
    peak_context *p = context;
    float *a = p->areas + (size_t)worker * 3 * PEAK_SIZE * PEAK_SIZE, *b = a + PEAK_SIZE * PEAK_SIZE,
          *c = b + PEAK_SIZE * PEAK_SIZE;
    mw_pool_barrier(p->pool);
    const double start = mw_clock_seconds();
    for (int i = 0; i < 4; i++) mw_gemm_packed(c, a, b, NULL, PEAK_SIZE, PEAK_SIZE, PEAK_SIZE);
    mw_pool_barrier(p->pool);
    if (worker == 0) p->seconds = mw_clock_seconds() - start;
}

/* Best rate seen over some runs, GFLOP/s of all workers together. */
static mw_status measure_peak(mw_pool *pool, double seconds, double *peak, mw_error *error) {
    const int threads = mw_pool_threads(pool);
    const size_t floats = (size_t)threads * 3 * PEAK_SIZE * PEAK_SIZE;
    peak_context p = {pool, aligned_alloc(MW_ALIGN, floats * sizeof(float)), 0};
    if (!p.areas) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate %zu floats", floats);
    for (size_t i = 0; i < floats; i++) p.areas[i] = (float)(i % 17) * 0.1f - 0.8f;
    const double started = mw_clock_seconds();
    do {
        mw_pool_run(pool, peak_body, &p);
        const double rate = 4.0 * threads * 2e-9 * PEAK_SIZE * PEAK_SIZE * PEAK_SIZE / p.seconds;
        if (rate > *peak) *peak = rate;
    } while (mw_clock_seconds() - started < seconds);
    free(p.areas);
    return MW_OK;
}

/* ---- what is measured ---- */

static void score(bench *b) {
    mw_scorer_score(b->scorer,
                    &(mw_scoring){.scores = b->scores,
                                  .paths = NULL,
                                  .obs = b->obs,
                                  .actions = b->actions,
                                  .count = b->count,
                                  .horizon = b->horizon,
                                  .group = 1},
                    NULL);
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
    mw_flow_trainer_step(b->policy_trainer, &b->flow, MW_STEP_UPDATE);
}

/* ---- set-up ---- */

static bool asked(const mw_bench_options *o, int item) {
    return o->items & 1u << item;
}

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
    const mw_flow_config *c = &b->policy.config;
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
    if (!asked(o, MW_BENCH_TRAIN_POLICY) && !asked(o, MW_BENCH_TRAIN_WORLD)) return;
    const size_t rows = (size_t)b->policy_batch, transitions = (size_t)b->world_batch,
                 outlook = (size_t)b->forecast_batch * (1 + time - (size_t)c->context) * joint;
    float *lambda = random_floats(b, rows, true), *rho = mw_arena_floats(&b->arena, rows);
    float *keep = mw_arena_floats(&b->arena, rows);
    for (size_t i = 0; rho && i < rows; i++) {
        rho[i] = 0.5f * lambda[i];
        keep[i] = 1;
    }
    b->flow = (mw_flow_batch){b->policy_batch,
                              random_floats(b, rows * time * joint, false),
                              random_floats(b, rows * time * joint, false),
                              rho,
                              lambda,
                              random_floats(b, rows, true),
                              keep,
                              b->forecast_batch,
                              random_floats(b, outlook, false),
                              random_floats(b, (size_t)b->forecast_batch, true)};
    b->transitions =
        (mw_transition_batch){.count = b->world_batch,
                              .obs = random_floats(b, transitions * joint, false),
                              .act = random_floats(b, transitions * act, false),
                              .next_obs = random_floats(b, transitions * joint, false),
                              .reward = random_floats(b, transitions * (size_t)c->agents, false)};
}

/* Sizes of the networks and of their training steps. */
static const char *task_at(int index) {
    const mw_task_shape *shape = mw_task_shape_at(index);
    return shape ? shape->task : NULL;
}

/* A model as `mawam train` makes it for the task: its structure, without weights. */
static mw_status trained_model(mw_model **model, const mw_model_class *class, const mw_preset *preset,
                               const mw_task_shape *shape, mw_error *error) {
    const mw_model_shape sizes = {shape->agents, shape->obs, shape->act, shape->discrete};
    return mw_model_make(model, class, &preset->config[mw_model_class_index(class->name)], &sizes, error);
}

static mw_status make_networks(bench *b, const mw_bench_options *o, mw_error *error) {
    const mw_task_shape *shape = b->shape;
    const mw_preset preset = mw_preset_of(shape->task, MW_BUDGET_FULL);
    mw_model *flow, *rwm = NULL;
    MW_TRY(trained_model(&flow, &mw_flow_class, &preset, shape, error));
    mw_status status = trained_model(&rwm, &mw_rwm_class, &preset, shape, error);
    if (status == MW_OK) {
        const mw_flow_settings *settings = mw_flow_settings_of(flow);
        mw_flow_config policy = o->paper ? mw_flow_config_paper(shape) : mw_flow_net_of(flow)->config;
        mw_world_config world = o->paper ? mw_world_config_paper() : mw_rwm_net(rwm)->config;
        world.agents = shape->agents;
        world.obs = shape->obs;
        world.act = shape->act;
        b->policy_batch = settings->fit.batch;
        b->world_batch = mw_rwm_settings_of(rwm)->fit.batch;
        b->forecast_batch = policy.forecast ? settings->forecast_batch : 0;
        b->horizon = o->horizon ? o->horizon : o->paper ? shape->horizon : preset.plan.horizon;
        status = mw_flow_net_make(&b->policy, &policy, error);
        if (status == MW_OK) status = mw_world_net_make(&b->world, &world, error);
    }
    mw_model_free(flow);
    mw_model_free(rwm);
    return status;
}

/* As proposers are trained. */
static int shards(void) {
    mw_flow_settings settings;
    mw_fields_defaults(mw_flow_class.fields, &settings);
    return settings.fit.shards;
}

static mw_status set_up(bench *b, const mw_bench_options *o, mw_error *error) {
    if (!(b->shape = mw_task_shape_find(o->task))) return mw_names_unknown(task_at, "task", o->task, error);
    b->count = o->envs * o->candidates;
    b->steps = o->steps;
    MW_TRY(mw_pool_create(&b->pool, o->threads, error));
    MW_TRY(make_networks(b, o, error));
    bench measured = *b;
    carve(&measured, o);
    MW_TRY(mw_arena_create(&b->arena, measured.arena.used, error));
    carve(b, o);
    if (asked(o, MW_BENCH_GENERATE) || asked(o, MW_BENCH_SEQUENTIAL)) { /* the paper's takes a second */
        mw_params_init(&b->policy.params, b->policy_values, 1);
        mw_flow_net_pack(&b->policy, b->policy_values, b->policy_packed, false, 0, 1);
    }
    mw_params_init(&b->world.params, b->world_values, 1);
    mw_world_net_pack(&b->world, b->world_values, b->world_packed, false, 0, 1);
    MW_TRY(mw_sampler_create(&b->sampler, &b->policy, b->policy_values, b->policy_packed, b->pool, error));
    MW_TRY(mw_world_scorer_create(&b->scorer, &b->world, b->world_values, b->world_packed, b->count, b->pool,
                                  error));
    const mw_adam adam = {1e-4f, 0.9f, 0.999f, 1e-8f, 10, 0, 0};
    if (asked(o, MW_BENCH_TRAIN_POLICY)) {
        MW_TRY(mw_flow_trainer_create(&b->policy_trainer, &b->policy, &adam, 0.995f, b->policy_batch,
                                      b->forecast_batch, shards(), b->pool, error));
        mw_params_init(&b->policy.params, mw_flow_trainer_optimizer(b->policy_trainer)->values, 1);
    }
    if (asked(o, MW_BENCH_TRAIN_WORLD)) {
        MW_TRY(
            mw_world_trainer_create(&b->world_trainer, &b->world, &adam, 0, b->world_batch, b->pool, error));
        mw_params_init(&b->world.params, mw_world_trainer_optimizer(b->world_trainer)->values, 1);
    }
    return MW_OK;
}

static void tear_down(bench *b) {
    mw_world_trainer_free(b->world_trainer);
    mw_flow_trainer_free(b->policy_trainer);
    mw_scorer_free(b->scorer);
    mw_sampler_free(b->sampler);
    mw_world_net_free(&b->world);
    mw_flow_net_free(&b->policy);
    mw_arena_free(&b->arena);
    mw_pool_free(b->single);
    mw_pool_free(b->pool);
}

static mw_status write_sizes(const bench *b, char *out, size_t size, mw_error *error) {
    const mw_flow_config *p = &b->policy.config;
    const mw_world_config *w = &b->world.config;
    json_t *sizes = json_pack(
        "{s:i, s:i, s:i, s:i, s:i, s:i, s:{s:i, s:[i,i,i], s:i, s:i, s:i, s:i, s:b}, "
        "s:{s:i, s:i, s:i, s:i, s:i, s:b, s:i, s:i, s:i, s:b, s:b}}",
        "agents", w->agents, "obs", w->obs, "act", w->act, "policy_batch", b->policy_batch, "world_batch",
        b->world_batch, "forecast_batch", b->forecast_batch, "policy", "dim", p->dim, "mults", p->mults[0],
        p->mults[1], p->mults[2], "time", p->time, "context", p->context, "bins", p->bins, "forecast",
        p->forecast, "forecast_return", p->forecast_return, "world", "hidden", w->hidden, "experts",
        w->experts, "slots", w->slots, "reward_experts", w->reward_experts, "top_k", w->top_k, "standardise",
        w->standardise, "reward_features", w->reward_features, "dynamics_features", w->dynamics_features,
        "shared", w->shared, "mean_agents", w->mean_agents, "concat_agents", w->concat_agents);
    char *text = json_dumps(sizes, JSON_COMPACT);
    const bool fits = text && strlen(text) < size;
    if (fits) strcpy(out, text);
    free(text);
    json_decref(sizes);
    return fits ? MW_OK : mw_fail(error, MW_ERR_MEMORY, "cannot describe the networks");
}

static mw_status measure(bench *b, const mw_bench_options *o, mw_bench_report *report, mw_error *error) {
    const double generation = b->steps * mw_flow_net_flops(&b->policy, 2 * b->count);
    const size_t sampler = mw_sampler_bytes(b->sampler), scorer = b->scorer->kind->bytes(b->scorer);
    const struct {
        const char *name;
        work_fn *work;
        double flops;
        size_t bytes;
    } table[MW_BENCH_ITEMS] = {
        [MW_BENCH_SCORE] = {"score", score, b->horizon * mw_world_net_flops(&b->world, b->count), scorer},
        [MW_BENCH_GENERATE] = {"generate", generate_batched, generation, sampler},
        [MW_BENCH_SEQUENTIAL] = {"generate sequentially", generate_sequential, generation, sampler},
        [MW_BENCH_TRAIN_WORLD] = {"train world step", train_world,
                                  mw_world_trainer_flops(&b->world, b->world_batch),
                                  asked(o, MW_BENCH_TRAIN_WORLD) ? mw_world_trainer_bytes(b->world_trainer)
                                                                 : 0},
        [MW_BENCH_TRAIN_POLICY] = {"train policy step", train_policy,
                                   mw_flow_trainer_flops(&b->policy, b->policy_batch, b->policy_batch,
                                                         b->forecast_batch),
                                   asked(o, MW_BENCH_TRAIN_POLICY) ? mw_flow_trainer_bytes(b->policy_trainer)
                                                                   : 0},
    };
    report->threads = mw_pool_threads(b->pool);
    report->horizon = b->horizon;
    MW_TRY(write_sizes(b, report->sizes, sizeof report->sizes, error));
    report->world_parameters = mw_params_scalars(&b->world.params);
    report->policy_parameters = mw_params_scalars(&b->policy.params);
    MW_TRY(mw_pool_create(&b->single, 1, error));
    MW_TRY(measure_peak(b->single, o->seconds / 2, &report->peak_one, error));
    MW_TRY(measure_peak(b->pool, o->seconds / 2, &report->peak, error));
    for (int i = 0; i < MW_BENCH_ITEMS; i++) {
        mw_bench_item *item = &report->item[i];
        item->name = table[i].name;
        item->bytes = table[i].bytes;
        item->measured = asked(o, i);
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
                                          .envs = 1,
                                          .candidates = 8,
                                          .steps = 3,
                                          .items = 1u << MW_BENCH_SCORE | 1u << MW_BENCH_GENERATE |
                                                   1u << MW_BENCH_SEQUENTIAL,
                                          .seconds = 1};

void mw_bench_options_init(mw_bench_options *options, size_t size) {
    mw_options_fill(options, size, &defaults, sizeof defaults);
}

mw_status mw_bench_run(const mw_bench_options *given, mw_bench_report *report, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED(report);
    bench b = {0};
    mw_bench_options options = defaults;
    *report = (mw_bench_report){0};
    MW_TRY(mw_options_take(&options, sizeof options, MW_FIELD_END(mw_bench_options, seconds), given,
                           "mw_bench_options_init", error));
    if (options.envs < 1 || options.candidates < 1 || options.steps < 1 || options.horizon < 0)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "cannot measure %d environments x %d candidates, %d sampling steps, horizon %d",
                       options.envs, options.candidates, options.steps, options.horizon);
    mw_status status = set_up(&b, &options, error);
    if (status == MW_OK) status = measure(&b, &options, report, error);
    tear_down(&b);
    return status;
}
