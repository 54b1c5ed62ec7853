/* Paired episodes over arms; see eval.h. Episodes wait in a queue; an environment that has finished one takes
 * the next, so that the planner's batches stay full. */
#include "eval/eval.h"

#include "behavior/settings.h"
#include "core/clock.h"
#include "core/numbers.h"
#include "core/options.h"
#include "eval/worlds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const mw_eval_options defaults = {
    .size = sizeof defaults, .first_seed = MW_EVAL_FIRST_SEED, .seeds = 5, .timed = 60};

void mw_eval_options_init(mw_eval_options *options, size_t size) {
    mw_options_fill(options, size, &defaults, sizeof defaults);
}

mw_status mw_eval_options_take(mw_eval_options *options, const mw_eval_options *given, mw_error *error) {
    *options = defaults;
    MW_TRY(mw_options_take(options, sizeof *options, MW_FIELD_END(mw_eval_options, context), given,
                           "mw_eval_options_init", error));
    MW_TRY(mw_options_texts(options->assignments, options->assignment_count, "assignments", error));
    for (int i = 0; i < options->assignment_count; i++)
        if (!strncmp(options->assignments[i], "quantile=", 9))
            return mw_fail(error, MW_ERR_ARGUMENT,
                           "quantile is for training, which finds the target with it; set the target");
    return MW_OK;
}

/* ---- one arm on some environments ---- */

typedef struct {
    int arm;
    const mw_eval_options *options;
    mw_pool *pool; /* steps environments */
    mw_worlds worlds;
    mw_controller *controller;
    double seconds; /* of the last decision */
} player;

static void player_free(player *p) {
    mw_controller_free(p->controller);
    mw_worlds_free(&p->worlds);
    mw_pool_free(p->pool);
}

/* How an arm plays, by the plan that all start from. */
static mw_status arm_plan(mw_plan_settings *plan, const mw_plan_settings *all, int index, mw_arm *arm,
                          mw_error *error) {
    mw_arm_at(index, arm);
    *plan = *all;
    return mw_fields_assign(mw_plan_fields, plan, arm->settings, "", error);
}

static mw_status player_build(player *p, const mw_bundle *bundle, const mw_plan_settings *plan, int envs,
                              mw_error *error) {
    const mw_eval_options *o = p->options;
    mw_arm arm;
    MW_TRY(mw_pool_create(&p->pool, o->threads, error));
    MW_TRY(mw_worlds_create(&p->worlds, bundle, o->world, o->accept_rules, envs, p->pool, error));
    mw_controller_request request = {.bundle = bundle,
                                     .envs = p->worlds.envs,
                                     .env_options = o->world,
                                     .count = envs,
                                     .threads = o->threads,
                                     .behaviors = o->behaviors};
    MW_TRY(arm_plan(&request.plan, plan, p->arm, &arm, error));
    return mw_controller_create(&p->controller, arm.controller, &request, error);
}

static mw_status player_create(player *p, const mw_bundle *bundle, const mw_eval_result *result, int arm,
                               int envs, mw_error *error) {
    *p = (player){.arm = arm, .options = &result->options};
    mw_status status = player_build(p, bundle, &result->plan, envs, error);
    if (status != MW_OK) player_free(p);
    return status;
}

/* Actions for all active environments. */
static mw_status decide(player *p, mw_error *error) {
    mw_worlds *s = &p->worlds;
    const double started = mw_clock_seconds();
    MW_TRY(p->controller->kind->act(p->controller, s->obs, s->legal, s->active, s->real, s->index, error));
    p->seconds = mw_clock_seconds() - started;
    return MW_OK;
}

/* What generating and scoring took of it; a controller that does neither has it all in the first. */
static mw_planner_times times_of(const player *p) {
    const mw_controller *c = p->controller;
    return c->kind->times ? c->kind->times(c) : (mw_planner_times){.generate = p->seconds};
}

/* ---- all episodes ---- */

/* Episode k of the queue starts in environment e. */
static void start(player *p, mw_eval_episode *episodes, int e, long k) {
    const mw_eval_options *o = p->options;
    const mw_episode_seeds seeds =
        mw_episode_seeds_of(o->first_seed + (uint64_t)(k / o->episodes), k % o->episodes);
    episodes[k] = (mw_eval_episode){.world = seeds.world};
    mw_worlds_begin(&p->worlds, p->controller, e, seeds);
}

/* Different joint first actions among an environment's candidates; NAN: fewer than two were drawn. */
static double count_distinct(const player *p, int e) {
    const mw_env_info *i = p->worlds.info;
    const mw_candidates c = p->controller->kind->candidates
                                ? p->controller->kind->candidates(p->controller, e)
                                : (mw_candidates){0};
    const size_t first = (size_t)(i->agents * i->act_size), plan = first * (size_t)c.horizon;
    int distinct = 0;
    if (!i->discrete || c.count < 2) return NAN;
    for (int m = 0; m < c.count; m++) {
        int k = 0;
        while (k < m &&
               memcmp(c.actions + (size_t)k * plan, c.actions + (size_t)m * plan, first * sizeof(float)))
            k++;
        distinct += k == m;
    }
    return distinct;
}

static mw_status play_queue(player *p, mw_eval_report *report, long *playing, mw_error *error) {
    const mw_eval_options *o = p->options;
    const long total = (long)o->seeds * o->episodes;
    mw_worlds *s = &p->worlds;
    long next = 0, done = 0;
    for (int e = 0; e < s->count && next < total; e++) {
        playing[e] = next;
        start(p, report->episodes, e, next++);
    }
    while (done < total) {
        MW_TRY(decide(p, error));
        MW_TRY(mw_worlds_step(s, p->controller, error));
        for (int e = 0; e < s->count; e++) {
            if (!s->active[e]) continue;
            mw_eval_episode *episode = &report->episodes[playing[e]];
            episode->total += mw_worlds_reward(s, e);
            episode->length = s->last[e].step;
            episode->won = s->last[e].won;
            report->decisions++;
            report->distinct += count_distinct(p, e);
            if (!mw_worlds_over(s, e)) continue;
            done++;
            s->active[e] = 0;
            playing[e] = next;
            if (next < total) start(p, report->episodes, e, next++);
        }
        if (o->progress) o->progress(o->context, p->arm, done, total);
        if (mw_stopped(o->stop))
            return mw_fail(error, MW_ERR_INTERRUPTED, "stopped after %ld of %ld episodes of the %s arm", done,
                           total, mw_arm_name(p->arm));
    }
    return MW_OK;
}

static mw_status play_arm(mw_eval_result *result, const mw_bundle *bundle, int arm, mw_error *error) {
    const mw_eval_options *o = &result->options;
    mw_eval_report *report = &result->arm[arm];
    player p;
    MW_TRY(player_create(&p, bundle, result, arm, o->envs, error));
    report->episodes = calloc((size_t)o->seeds * (size_t)o->episodes, sizeof *report->episodes);
    long *playing = calloc((size_t)o->envs, sizeof *playing);
    const double start = mw_clock_seconds();
    mw_status status =
        report->episodes && playing
            ? play_queue(&p, report, playing, error)
            : mw_fail(error, MW_ERR_MEMORY, "cannot keep %d x %d episodes", o->seeds, o->episodes);
    report->seconds = mw_clock_seconds() - start;
    report->distinct /= (double)report->decisions;
    report->played = status == MW_OK;
    free(playing);
    player_free(&p);
    return status;
}

/* An arm before this one that does the same, as `paper` and `plan` do where the bundle plans as the paper;
 * -1: none. */
static int twin_of(const mw_eval_result *result, int arm) {
    mw_plan_settings mine, other;
    mw_arm a, b;
    mw_error ignored;
    if (arm_plan(&mine, &result->plan, arm, &a, &ignored) != MW_OK) return -1;
    for (int k = 0; k < arm; k++)
        if (result->arm[k].played && arm_plan(&other, &result->plan, k, &b, &ignored) == MW_OK &&
            !strcmp(a.controller, b.controller) && !mw_fields_difference(mw_plan_fields, &mine, &other))
            return k;
    return -1;
}

/* What the same decisions in the same episodes come to need not be played twice. */
static mw_status repeat_arm(mw_eval_result *result, int arm, int twin, mw_error *error) {
    const size_t bytes =
        (size_t)result->options.seeds * (size_t)result->options.episodes * sizeof *result->arm[arm].episodes;
    result->arm[arm] = result->arm[twin];
    result->arm[arm].episodes = malloc(bytes);
    result->arm[arm].played = result->arm[arm].episodes;
    if (!result->arm[arm].played) return mw_fail(error, MW_ERR_MEMORY, "cannot keep the episodes of an arm");
    memcpy(result->arm[arm].episodes, result->arm[twin].episodes, bytes);
    result->arm[arm].seconds = 0; /* they were spent once */
    result->arm[arm].decisions = 0;
    return MW_OK;
}

/* ---- the time of a decision ---- */

enum { WARM_UP = 10 };

static mw_latency latency(double *ms, int count) {
    mw_sort(ms, count);
    return (mw_latency){mw_quantile(ms, count, 0.5), mw_quantile(ms, count, 0.95)};
}

static mw_status time_queue(player *p, mw_eval_report *report, double *ms, int count, mw_error *error) {
    mw_worlds *s = &p->worlds;
    long episode = 0;
    mw_worlds_begin(s, p->controller, 0, mw_episode_seeds_of(p->options->first_seed, episode++));
    for (int i = -WARM_UP; i < count; i++) {
        const mw_stop_flag *stop = p->options->stop;
        if (mw_stopped(stop))
            return mw_fail(error, MW_ERR_INTERRUPTED, "stopped while timing the %s arm", mw_arm_name(p->arm));
        MW_TRY(decide(p, error));
        if (i >= 0) {
            const mw_planner_times times = times_of(p);
            ms[i] = 1e3 * times.generate;
            ms[count + i] = 1e3 * times.score;
            ms[2 * count + i] = 1e3 * (times.generate + times.score);
        }
        MW_TRY(mw_worlds_step(s, p->controller, error));
        if (mw_worlds_over(s, 0))
            mw_worlds_begin(s, p->controller, 0, mw_episode_seeds_of(p->options->first_seed, episode++));
    }
    report->generation = latency(ms, count);
    report->scoring = latency(ms + count, count);
    report->decision = latency(ms + 2 * count, count);
    return MW_OK;
}

static mw_status time_arm(mw_eval_result *result, const mw_bundle *bundle, int arm, mw_error *error) {
    const int count = result->options.timed;
    mw_eval_report *report = &result->arm[arm];
    report->generation = report->scoring = report->decision = (mw_latency){NAN, NAN};
    if (count <= 0) return MW_OK;
    player p;
    double *ms = calloc(3 * (size_t)count, sizeof *ms);
    if (!ms) return mw_fail(error, MW_ERR_MEMORY, "cannot time %d decisions", count);
    mw_status status = player_create(&p, bundle, result, arm, 1, error);
    if (status == MW_OK) {
        status = time_queue(&p, report, ms, count, error);
        player_free(&p);
    }
    free(ms);
    return status;
}

/* ---- summaries ---- */

typedef enum { TOTAL, WON, LENGTH } quantity;

static double of_episode(const mw_eval_episode *episode, quantity what) {
    return what == TOTAL ? episode->total : what == WON ? episode->won : episode->length;
}

/* Mean over episodes and standard deviation over seeds; each seed has equally many episodes. */
static double summarise(const mw_eval_options *o, const mw_eval_report *report, quantity what,
                        double *seed_means, double *std) {
    for (int s = 0; s < o->seeds; s++) {
        double sum = 0;
        for (int i = 0; i < o->episodes; i++)
            sum += of_episode(&report->episodes[(long)s * o->episodes + i], what);
        seed_means[s] = sum / o->episodes;
    }
    if (std) *std = mw_std(seed_means, o->seeds);
    return mw_mean(seed_means, o->seeds);
}

static void summarise_arm(mw_eval_result *result, mw_eval_report *report, double *seed_means) {
    const mw_eval_options *o = &result->options;
    /* the scales of tag and world belong to their default prey */
    const mw_scale *scale = o->world && o->world->prey_file ? NULL : mw_scale_of(result->info.task);
    report->total = summarise(o, report, TOTAL, seed_means, &report->total_std);
    report->length = summarise(o, report, LENGTH, seed_means, NULL);
    report->won = report->won_std = report->score = report->score_std = NAN;
    if (mw_family_find(result->info.family)->counts_wins)
        report->won = summarise(o, report, WON, seed_means, &report->won_std);
    if (scale) {
        report->score = mw_score(result->info.task, report->total);
        report->score_std = report->total_std * 100 / (scale->expert - scale->random);
    }
}

static mw_status compare_arm(mw_eval_result *result, mw_eval_report *report, mw_error *error) {
    const mw_eval_report *reactive = &result->arm[MW_ARM_REACTIVE];
    const long count = (long)result->options.seeds * result->options.episodes;
    const bool scaled = isfinite(report->score);
    mw_interval relative;
    report->gain = (mw_interval){NAN, NAN, NAN};
    report->relative_gain = report->relative_low = report->relative_high = report->oracle_share = NAN;
    if (!reactive->played || report == reactive) return MW_OK;
    double *difference = malloc(2 * (size_t)count * sizeof *difference);
    if (!difference) return mw_fail(error, MW_ERR_MEMORY, "cannot compare %ld episodes", count);
    double *base = difference + count;
    const double zero = scaled ? mw_scale_of(result->info.task)->random : 0; /* of what is reported */
    for (long k = 0; k < count; k++) {
        difference[k] = report->episodes[k].total - reactive->episodes[k].total;
        base[k] = reactive->episodes[k].total - zero;
    }
    report->gain = mw_mean_interval(difference, count);
    const mw_status status = mw_ratio_interval(&relative, difference, base, count, error);
    free(difference);
    MW_TRY(status);
    const double ours = scaled ? report->score : report->total;
    const double other = scaled ? reactive->score : reactive->total;
    report->relative_gain = (ours - other) / fabs(other);
    report->relative_low = relative.low;
    report->relative_high = relative.high;
    return MW_OK;
}

/* A share of a gain that may be none says nothing. */
static void share_oracle(mw_eval_result *result) {
    const mw_eval_report *reactive = &result->arm[MW_ARM_REACTIVE], *oracle = &result->arm[MW_ARM_ORACLE];
    if (!reactive->played || !oracle->played || !(oracle->gain.low > 0)) return;
    for (int a = 0; a < MW_ARMS; a++) {
        mw_eval_report *report = &result->arm[a];
        if (report->played && report != reactive && report != oracle)
            report->oracle_share = (report->total - reactive->total) / (oracle->total - reactive->total);
    }
}

static mw_status summarise_all(mw_eval_result *result, mw_error *error) {
    double *seed_means = malloc((size_t)result->options.seeds * sizeof *seed_means);
    if (!seed_means) return mw_fail(error, MW_ERR_MEMORY, "cannot summarise");
    mw_status status = MW_OK;
    for (int a = 0; a < MW_ARMS; a++)
        if (result->arm[a].played) summarise_arm(result, &result->arm[a], seed_means);
    for (int a = 0; a < MW_ARMS && status == MW_OK; a++)
        if (result->arm[a].played) status = compare_arm(result, &result->arm[a], error);
    share_oracle(result);
    free(seed_means);
    return status;
}

/* ---- the whole ---- */

/* The standard arms that the bundle can serve; where it has nothing to plan with, its models that play by
 * themselves. */
static mw_status choose_arms(unsigned *arms, const mw_bundle *bundle, mw_error *error) {
    mw_arm arm;
    for (int a = 0; a < MW_ARM_STANDARD; a++)
        if (mw_arm_available(a, bundle)) *arms |= 1u << a;
    for (int a = MW_ARM_STANDARD; !mw_bundle_draws(bundle) && mw_arm_at(a, &arm); a++)
        if (mw_bundle_model(bundle, arm.controller)) *arms |= 1u << a;
    return *arms ? MW_OK
                 : mw_fail(error, MW_ERR_ARGUMENT,
                           "this bundle has no %s to draw candidates with, and no model that plays by itself",
                           mw_bundle_role(bundle, MW_ROLE_PROPOSER) ? "inverse dynamics" : "flow");
}

/* Checks what was asked for and fills in what was left to the bundle and the protocol. */
static mw_status resolve(mw_eval_result *result, const mw_bundle *bundle, mw_error *error) {
    mw_eval_options *o = &result->options;
    mw_env *env;
    MW_TRY(mw_env_create(&env, bundle->info.task, o->world, error));
    mw_status status = mw_bundle_expect(bundle, mw_env_describe(env), o->accept_rules, error);
    result->info = *mw_env_describe(env);
    result->bundle = bundle->info;
    result->info.task = result->bundle.task; /* the environment's strings go with it */
    snprintf(result->rules, sizeof result->rules, "%s", mw_env_describe(env)->rules);
    result->info.rules = result->rules;
    result->info.summary = NULL;
    mw_env_free(env);
    MW_TRY(status);
    if (!o->episodes) o->episodes = mw_family_find(result->info.family)->episodes;
    result->plan = bundle->plan;
    for (int i = 0; i < o->assignment_count; i++)
        MW_TRY(mw_fields_assign(mw_plan_fields, &result->plan, o->assignments[i], "", error));
    if (!o->arms) MW_TRY(choose_arms(&o->arms, bundle, error));
    if (o->seeds < 1 || o->episodes < 1 || (long)o->seeds * o->episodes > 10000000)
        return mw_fail(error, MW_ERR_ARGUMENT, "there must be 1 to 10000000 episodes; got %d seeds x %d",
                       o->seeds, o->episodes);
    if (o->first_seed > (uint64_t)INT64_MAX - (uint64_t)o->seeds) /* files hold signed numbers */
        return mw_fail(error, MW_ERR_ARGUMENT, "the first seed is %llu; it must be less than 2^63 - %d",
                       (unsigned long long)o->first_seed, o->seeds);
    const int total = o->seeds * o->episodes;
    const int room = MW_PLANNER_ROWS / result->plan.candidates;
    if (!o->envs) o->envs = room < 32 ? room : 32;
    if (o->envs > total) o->envs = total;
    return MW_OK;
}

/* Can every arm play? Known before the first episode. */
static mw_status check_arms(const mw_eval_result *result, const mw_bundle *bundle, mw_error *error) {
    for (int a = 0; a < MW_ARMS; a++) {
        player p;
        if (!(result->options.arms >> a & 1)) continue;
        MW_TRY(player_create(&p, bundle, result, a, 1, error));
        player_free(&p);
    }
    return MW_OK;
}

static mw_status prepare(mw_eval_result *result, const mw_bundle *bundle, const mw_eval_options *options,
                         mw_error *error) {
    *result = (mw_eval_result){0};
    MW_TRY(mw_eval_options_take(&result->options, options, error));
    MW_NEED(bundle);
    MW_TRY(resolve(result, bundle, error));
    return check_arms(result, bundle, error);
}

mw_status mw_eval_check(const mw_bundle *bundle, const mw_eval_options *options, mw_error *error) {
    mw_eval_result unused;
    return prepare(&unused, bundle, options, error);
}

mw_status mw_eval_run(mw_eval_result *result, const mw_bundle *bundle, const mw_eval_options *options,
                      mw_error *error) {
    mw_status status = prepare(result, bundle, options, error);
    for (int a = 0; a < MW_ARMS && status == MW_OK; a++) {
        if (!(result->options.arms >> a & 1)) continue;
        const int twin = twin_of(result, a);
        status = twin < 0 ? play_arm(result, bundle, a, error) : repeat_arm(result, a, twin, error);
        if (status == MW_OK && twin < 0) status = time_arm(result, bundle, a, error);
    }
    if (status == MW_OK) status = summarise_all(result, error);
    if (status != MW_OK) mw_eval_result_clear(result);
    return status;
}

void mw_eval_result_clear(mw_eval_result *result) {
    for (int a = 0; a < MW_ARMS; a++) free(result->arm[a].episodes);
    *result = (mw_eval_result){0};
}

/* ---- as users see it ---- */

const char *mw_eval_accepted(const mw_eval_result *r) {
    return strcmp(r->bundle.rules, r->rules) ? r->bundle.rules : NULL;
}

mw_status mw_bundle_evaluate(mw_eval_result **out, const mw_bundle *bundle, const mw_eval_options *options,
                             mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED_AS(out, "result");
    mw_eval_result *result = *out = malloc(sizeof *result);
    if (!result) return mw_fail(error, MW_ERR_MEMORY, "out of memory for an evaluation");
    const mw_status status = mw_eval_run(result, bundle, options, error);
    if (status == MW_OK) return MW_OK;
    free(result);
    *out = NULL;
    return status;
}

void mw_eval_result_free(mw_eval_result *result) {
    if (result) mw_eval_result_clear(result);
    free(result);
}

mw_eval_summary mw_eval_describe(const mw_eval_result *r) {
    return (mw_eval_summary){.task = r->bundle.task,
                             .rules = r->rules,
                             .accepted_rules = mw_eval_accepted(r),
                             .packed_of = r->bundle.packing.bits ? r->bundle.packing.of : NULL,
                             .quality = r->bundle.quality,
                             .family = r->info.family,
                             .arms = r->options.arms,
                             .first_seed = r->options.first_seed,
                             .seeds = r->options.seeds,
                             .episodes = r->options.episodes,
                             .plan = r->plan};
}

const mw_eval_report *mw_eval_arm(const mw_eval_result *result, int arm) {
    return arm >= 0 && arm < MW_ARMS ? &result->arm[arm] : NULL;
}
