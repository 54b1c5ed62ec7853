/* What planning costs: four environments play on, and generation and scoring of every step are timed; see
 * mawam/bench.h and cost.h. Environments, choice and the clock itself are left out. */
#include "study/cost.h"

#include "core/clock.h"
#include "core/json.h"
#include "core/numbers.h"
#include "core/options.h"
#include "eval/worlds.h"
#include "mawam/bench.h"
#include "model/flow/flow.h"
#include "plan/planner.h"
#include "plan/scorers.h"

#include <stdlib.h>
#include <string.h>

enum { COUNTS = 5, BATCHED_AT = 3 /* M=8 */, SEED = 3000 };

#define GUIDANCE                                                                                             \
    1.2 /* the paper's, whatever the bundle's own: a guidance of 1 would need no pass without the condition  \
         */

static const int counts[COUNTS] = {1, 2, 4, 8, 16};

static const mw_cost_options defaults = {.size = sizeof defaults,
                                         .envs = 4,
                                         .sampling_steps = 3,
                                         .horizon = 8,
                                         .repeats = 3,
                                         .warm_up = 10,
                                         .timed = 30};

void mw_cost_options_init(mw_cost_options *options, size_t size) {
    mw_options_fill(options, size, &defaults, sizeof defaults);
}

mw_cost_point mw_cost_mean(const double *times, int settings, int m, int repeats, int steps, int which) {
    double sum[2] = {0};
    for (int s = 0; s < settings; s++)
        for (int r = 0; r < repeats; r++) {
            const double *at =
                times + ((size_t)(s * m + which) * (size_t)repeats + (size_t)r) * (size_t)steps * 2;
            double mean[2] = {0};
            for (int i = 0; i < 2 * steps; i++) mean[i % 2] += at[i] / steps;
            for (int k = 0; k < 2; k++) sum[k] += mean[k] / repeats / settings;
        }
    return (mw_cost_point){.generate = sum[0],
                           .score = sum[1],
                           .total = sum[0] + sum[1],
                           .share = 100 * sum[1] / (sum[0] + sum[1])};
}

/* ---- one planner in its worlds ---- */

typedef struct {
    const mw_cost_options *options;
    const mw_bundle *bundle;
    mw_pool *pool;
    mw_worlds worlds;
    mw_planner *planner;
    long episodes; /* begun so far */
} scene;

static void begin(scene *s, int e) {
    const mw_episode_seeds seeds = mw_episode_seeds_of(SEED, s->episodes++);
    mw_worlds_begin(&s->worlds, NULL, e, seeds);
    mw_planner_begin(s->planner, e, seeds.controller, NULL);
}

static void scene_free(scene *s) {
    mw_planner_free(s->planner);
    mw_worlds_free(&s->worlds);
    mw_pool_free(s->pool);
}

static int horizon_of(const mw_cost_options *o, const mw_bundle *bundle) {
    const mw_model *flow = mw_bundle_role(bundle, MW_ROLE_PROPOSER);
    const int generated = flow ? mw_flow_settings_of(flow)->generated : o->horizon;
    return generated < o->horizon ? generated : o->horizon;
}

static mw_status scene_create(scene *s, int candidates, bool sequential, int threads, mw_error *error) {
    const mw_cost_options *o = s->options;
    const char *judge = mw_scorer_imagining(s->bundle);
    mw_planner_options p;
    if (!judge) return mw_fail(error, MW_ERR_ARGUMENT, "this bundle has no world model to score with");
    MW_TRY(mw_pool_create(&s->pool, threads, error));
    MW_TRY(mw_worlds_create(&s->worlds, s->bundle, NULL, false, o->envs, s->pool, error));
    mw_planner_options_init(&p, sizeof p, s->bundle);
    p.envs = o->envs;
    p.threads = threads;
    p.sequential = sequential;
    MW_TRY(mw_fields_assign(mw_plan_fields, &p.plan, MW_AS_DRAWN " choice=best", "", error));
    snprintf(p.plan.scorer, sizeof p.plan.scorer, "%s", judge);
    p.plan.candidates = candidates;
    p.plan.sampling_steps = o->sampling_steps;
    p.plan.horizon = horizon_of(o, s->bundle);
    p.plan.guidance = GUIDANCE;
    MW_TRY(mw_planner_create(&s->planner, s->bundle, &p, error));
    for (int e = 0; e < o->envs; e++) begin(s, e);
    return MW_OK;
}

/* One real step; times[2] in milliseconds. */
static mw_status step(scene *s, double *times, mw_error *error) {
    mw_worlds *w = &s->worlds;
    const mw_stop_flag *stop = s->options->stop;
    if (mw_stopped(stop)) return mw_fail(error, MW_ERR_INTERRUPTED, "stopped while measuring the cost");
    MW_TRY(mw_planner_propose(s->planner, w->obs, w->legal, w->active, error));
    MW_TRY(mw_planner_score(s->planner, error));
    const mw_planner_times t = mw_planner_last_times(s->planner);
    times[0] = 1e3 * t.generate;
    times[1] = 1e3 * t.score;
    mw_planner_choose(s->planner, w->real, w->index);
    MW_TRY(mw_worlds_step(w, NULL, error));
    for (int e = 0; e < w->count; e++) {
        mw_planner_reward(s->planner, e, (float)mw_worlds_reward(w, e), NULL);
        if (mw_worlds_over(w, e)) begin(s, e);
    }
    return MW_OK;
}

/* times[repeats][timed][2] */
static mw_status measure(const mw_cost_options *o, const mw_bundle *bundle, int candidates, bool sequential,
                         int threads, double *times, mw_error *error) {
    mw_status status = MW_OK;
    for (int r = 0; r < o->repeats && status == MW_OK; r++) {
        scene s = {.options = o, .bundle = bundle};
        double unused[2];
        status = scene_create(&s, candidates, sequential, threads, error);
        for (int i = 0; i < o->warm_up && status == MW_OK; i++) status = step(&s, unused, error);
        for (int i = 0; i < o->timed && status == MW_OK; i++)
            status = step(&s, times + 2 * (r * o->timed + i), error);
        scene_free(&s);
    }
    return status;
}

/* ---- sequential against batched ---- */

/* Do both schedules propose the same, to the bit? */
static mw_status compare(const mw_cost_options *o, const mw_bundle *bundle, int candidates, bool *equal,
                         mw_error *error) {
    scene pair[2] = {{.options = o, .bundle = bundle}, {.options = o, .bundle = bundle}};
    mw_status status = MW_OK;
    for (int k = 0; k < 2 && status == MW_OK; k++) {
        status = scene_create(&pair[k], candidates, k == 1, o->threads, error);
        const mw_worlds *w = &pair[k].worlds;
        if (status == MW_OK) status = mw_planner_propose(pair[k].planner, w->obs, w->legal, w->active, error);
    }
    *equal = status == MW_OK;
    const size_t size = (size_t)(candidates * horizon_of(o, bundle) * bundle->info.agents * bundle->info.act);
    for (int e = 0; e < o->envs && *equal; e++)
        *equal = !memcmp(mw_planner_actions(pair[0].planner, e), mw_planner_actions(pair[1].planner, e),
                         size * sizeof(float));
    for (int k = 0; k < 2; k++) scene_free(&pair[k]);
    return status;
}

static mw_status batching(json_t **out, const mw_cost_options *o, const mw_bundle *bundle, int threads,
                          mw_error *error) {
    double *times = calloc((size_t)(2 * o->repeats * o->timed), sizeof *times), ms[2];
    bool equal = false;
    mw_status status = times ? compare(o, bundle, counts[BATCHED_AT], &equal, error)
                             : mw_fail(error, MW_ERR_MEMORY, "cannot keep the times");
    for (int k = 0; k < 2 && status == MW_OK; k++) {
        status = measure(o, bundle, counts[BATCHED_AT], k == 0, threads, times, error);
        ms[k] = mw_cost_mean(times, 1, 1, o->repeats, o->timed, 0).generate;
    }
    free(times);
    MW_TRY(status);
    if (!equal)
        return mw_fail(error, MW_ERR_NUMERIC, "%s: candidates depend on the schedule", bundle->info.task);
    *out = json_pack("{s:i, s:f, s:f, s:f, s:b}", "M", counts[BATCHED_AT], "sequential", ms[0], "batched",
                     ms[1], "ratio", ms[0] / ms[1], "equal", equal);
    return MW_OK;
}

/* ---- all settings ---- */

static json_t *point_json(mw_cost_point p, int candidates) {
    return json_pack("{s:i, s:f, s:f, s:f, s:f}", "M", candidates, "generate", p.generate, "score", p.score,
                     "total", p.total, "share", p.share);
}

static json_t *points_json(const mw_cost_options *o, const double *times, int settings) {
    json_t *points = json_array();
    for (int m = 0; m < COUNTS; m++)
        json_array_append_new(
            points, point_json(mw_cost_mean(times, settings, COUNTS, o->repeats, o->timed, m), counts[m]));
    return points;
}

/* times[COUNTS][repeats][timed][2] of one bundle; M=8 on one thread beside them. */
static mw_status run_setting(json_t **out, const mw_cost_options *o, const mw_bundle *bundle, double *times,
                             mw_error *error) {
    const size_t one = (size_t)(2 * o->repeats * o->timed);
    json_t *schedules[2] = {NULL, NULL};
    char name[2 * MW_WORD + 1];
    double *single = calloc(one, sizeof *single);
    mw_status status = single ? MW_OK : mw_fail(error, MW_ERR_MEMORY, "cannot keep the times");
    for (int m = 0; m < COUNTS && status == MW_OK; m++)
        status = measure(o, bundle, counts[m], false, o->threads, times + (size_t)m * one, error);
    if (status == MW_OK) status = measure(o, bundle, counts[BATCHED_AT], false, 1, single, error);
    if (status == MW_OK) status = batching(&schedules[0], o, bundle, o->threads, error);
    if (status == MW_OK) status = batching(&schedules[1], o, bundle, 1, error);
    snprintf(name, sizeof name, "%s-%s", bundle->info.task, bundle->info.quality);
    if (status == MW_OK)
        *out = json_pack("{s:s, s:s, s:i, s:i, s:o, s:o, s:o, s:o}", "setting", name, "method",
                         bundle->info.method, "agents", bundle->info.agents, "H", horizon_of(o, bundle),
                         "points", points_json(o, times, 1), "one_thread",
                         point_json(mw_cost_mean(single, 1, 1, o->repeats, o->timed, 0), counts[BATCHED_AT]),
                         "batching", schedules[0], "batching_one_thread", schedules[1]);
    else
        json_decref(schedules[0]);
    free(single);
    return status;
}

static mw_status run_all(json_t **out, const mw_cost_options *o, const mw_bundle *const *bundles, int count,
                         double *times, mw_error *error) {
    const size_t each = (size_t)(COUNTS * 2 * o->repeats * o->timed);
    json_t *settings = json_array();
    mw_status status = MW_OK;
    const double started = mw_clock_seconds();
    for (int i = 0; i < count && status == MW_OK; i++) {
        json_t *setting = NULL;
        status = run_setting(&setting, o, bundles[i], times + (size_t)i * each, error);
        if (status != MW_OK) break;
        json_array_append_new(settings, setting);
        if (o->progress)
            o->progress(o->context, bundles[i]->info.task, i + 1, count,
                        (mw_clock_seconds() - started) / (i + 1) * (count - i - 1));
    }
    mw_pool *pool = NULL;
    if (status == MW_OK) status = mw_pool_create(&pool, o->threads, error);
    if (status == MW_OK) {
        char cpu[128];
        mw_cpu_model(cpu, sizeof cpu);
        *out = json_pack("{s:s, s:s, s:s, s:s, s:o, s:i, s:{s:i, s:i, s:i, s:i, s:i, s:i, s:f, s:O, s:o}}",
                         "mawam", mw_version(), "revision", mw_revision(), "cpu", cpu, "level", mw_cpu_name(),
                         "command", mw_json_words(o->command), "threads", mw_pool_threads(pool), "cost",
                         "envs", o->envs, "K", o->sampling_steps, "H", o->horizon, "repeats", o->repeats,
                         "warm_up", o->warm_up, "timed", o->timed, "guidance", GUIDANCE, "settings", settings,
                         "mean", points_json(o, times, count));
        if (!*out) status = mw_fail(error, MW_ERR_MEMORY, "cannot describe the cost");
    }
    mw_pool_free(pool);
    json_decref(settings);
    return status;
}

mw_status mw_cost_run(char **json, const mw_bundle *const *bundles, int count, const mw_cost_options *given,
                      mw_error *error) {
    MW_PLAIN_NUMBERS;
    mw_cost_options o = defaults;
    json_t *root = NULL;
    MW_NEED(json);
    *json = NULL;
    MW_TRY(mw_options_take(&o, sizeof o, MW_FIELD_END(mw_cost_options, context), given,
                           "mw_cost_options_init", error));
    MW_NEED(bundles);
    if (count < 1 || count > 64 || o.envs < 1 || o.envs > 256 || o.repeats < 1 || o.repeats > 100 ||
        o.timed < 1 || o.timed > 10000 || o.warm_up < 0 || o.warm_up > 10000)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "the cost is of 1 to 64 bundles, 256 environments, 100 repeats, 10000 steps");
    for (int i = 0; i < count; i++) MW_NEED(bundles[i]);
    double *times = calloc((size_t)(count * COUNTS * 2) * (size_t)(o.repeats * o.timed), sizeof *times);
    if (!times) return mw_fail(error, MW_ERR_MEMORY, "cannot keep the times");
    mw_status status = run_all(&root, &o, bundles, count, times, error);
    free(times);
    if (status == MW_OK && !(*json = json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(6))))
        status = mw_fail(error, MW_ERR_MEMORY, "cannot write the cost");
    if (status != MW_OK) mw_json_failed(); /* what could not be built is told by the status */
    json_decref(root);
    return status;
}
