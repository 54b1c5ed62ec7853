/* Evaluation: the same episodes for every arm, results that do not depend on how they were computed,
 * statistics against brute force, refusals, and the command's exit codes. */
#include "core/json.h"
#include "core/rng.h"
#include "eval/eval.h"
#include "plan/oracle.h"
#include "eval/worlds.h"
#include "cli/program.h"
#include "train/tiny.h"

static const char *const few[] = {"M=1", "M=2", "M=3", "M=4"}; /* candidates */

static mw_eval_options small_options(void) {
    mw_eval_options o;
    mw_eval_options_init(&o, sizeof o);
    o.first_seed = 7;
    o.seeds = 2;
    o.episodes = 3;
    o.assignments = few + 3;
    o.assignment_count = 1;
    o.envs = 4;
    o.threads = 1;
    o.timed = 0;
    return o;
}

static void check_same(const mw_eval_result *a, const mw_eval_result *b, int arm) {
    const mw_eval_report *x = &a->arm[arm], *y = &b->arm[arm];
    assert_true(x->played && y->played);
    for (int k = 0; k < a->options.seeds * a->options.episodes; k++) {
        assert_memory_equal(&x->episodes[k].total, &y->episodes[k].total, sizeof(double));
        assert_int_equal(x->episodes[k].length, y->episodes[k].length);
        assert_int_equal(x->episodes[k].won, y->episodes[k].won);
        assert_true(x->episodes[k].world == y->episodes[k].world);
    }
    assert_memory_equal(&x->total, &y->total, sizeof(double));
}

/* ---- controls ---- */

/* Random takes one of the candidates that the policy draws, whatever planning does to them. */
static void random_is_as_drawn(void **state) {
    (void)state;
    mw_error error;
    mw_bundle *bundle = tiny_bundle("spread", NULL);
    mw_eval_options options = small_options();
    mw_eval_result r[3];
    options.arms = 1u << MW_ARM_RANDOM | 1u << MW_ARM_REACTIVE;
    for (int k = 0; k < 3; k++) {
        bundle->plan.action_offset = k == 0 ? 0 : 0.9;
        bundle->plan.warm_start = k == 2;
        bundle->plan.temperature = k == 2 ? 1 : 0;
        CHECK_OK(mw_eval_run(&r[k], bundle, &options, &error), error);
        check_same(&r[0], &r[k], MW_ARM_RANDOM);
        check_same(&r[0], &r[k], MW_ARM_REACTIVE);
    }
    assert_true(r[0].arm[MW_ARM_RANDOM].total != r[0].arm[MW_ARM_REACTIVE].total);
    for (int k = 0; k < 3; k++) mw_eval_result_clear(&r[k]);
    mw_bundle_free(bundle);
}

/* Arms that are judged choose the best, whatever planning does with scores. */
static void judged_choose_best(void **state) {
    (void)state;
    mw_error error;
    mw_bundle *bundle = tiny_bundle("spread", NULL);
    mw_eval_options options = small_options();
    mw_eval_result best, first;
    options.arms = 1u << MW_ARM_PLAN | 1u << MW_ARM_PAPER | 1u << MW_ARM_ORACLE;
    CHECK_OK(mw_eval_run(&best, bundle, &options, &error), error);
    bundle->plan.choice = MW_CHOICE_FIRST;
    CHECK_OK(mw_eval_run(&first, bundle, &options, &error), error);
    check_same(&best, &first, MW_ARM_PAPER);
    check_same(&best, &first, MW_ARM_ORACLE);
    assert_true(best.arm[MW_ARM_PLAN].total != first.arm[MW_ARM_PLAN].total);
    mw_eval_result_clear(&best);
    mw_eval_result_clear(&first);
    mw_bundle_free(bundle);
}

static void count_arm(void *context, int arm, long done, long total) {
    ((long *)context)[arm] += done == total;
}

/* Where the bundle plans as the paper does, both arms come to the same and are played once; with caution they
 * differ. */
static void twins(void **state) {
    (void)state;
    mw_error error;
    mw_bundle *bundle = tiny_bundle("3m", NULL);
    mw_eval_options options = small_options();
    mw_eval_result both, alone;
    long played[MW_ARMS] = {0};
    options.arms = 1u << MW_ARM_PLAN | 1u << MW_ARM_PAPER;
    options.progress = count_arm;
    options.context = played;
    CHECK_OK(mw_eval_run(&both, bundle, &options, &error), error);
    assert_true(played[MW_ARM_PLAN] > 0 && played[MW_ARM_PAPER] == 0);
    assert_int_equal(both.arm[MW_ARM_PAPER].decisions, 0); /* none were made for it */
    options.arms = 1u << MW_ARM_PAPER;
    CHECK_OK(mw_eval_run(&alone, bundle, &options, &error), error);
    check_same(&both, &alone, MW_ARM_PAPER);
    assert_ptr_not_equal(both.arm[MW_ARM_PLAN].episodes, both.arm[MW_ARM_PAPER].episodes);
    mw_eval_result_clear(&both);
    mw_eval_result_clear(&alone);
    memset(played, 0, sizeof played);
    bundle->plan.caution = 1e6;
    bundle->plan.return_error = 1;
    options.arms = 1u << MW_ARM_REACTIVE | 1u << MW_ARM_PLAN | 1u << MW_ARM_PAPER;
    CHECK_OK(mw_eval_run(&both, bundle, &options, &error), error);
    assert_true(played[MW_ARM_PAPER] > 0);
    for (int k = 0; k < options.seeds * options.episodes; k++) /* never leaves the policy */
        CHECK_NEAR(both.arm[MW_ARM_PLAN].episodes[k].total, both.arm[MW_ARM_REACTIVE].episodes[k].total, 0);
    mw_eval_result_clear(&both);
    mw_bundle_free(bundle);
}

/* An arm that the bundle has nothing for is known before the others have played. */
static void missing_arm(void **state) {
    (void)state;
    mw_error error;
    mw_bundle *bundle = tiny_bundle("3m", NULL);
    mw_eval_options options = small_options();
    mw_eval_result result;
    long played[MW_ARMS] = {0};
    CHECK_OK(mw_arms_parse("reactive,q", &options.arms, &error), error);
    options.progress = count_arm;
    options.context = played;
    CHECK_FAILS(mw_eval_run(&result, bundle, &options, &error), MW_ERR_ARGUMENT, error, "no part for");
    assert_int_equal(played[MW_ARM_REACTIVE], 0);
    mw_bundle_free(bundle);
}

/* Joint first actions that differ, in an episode played here by hand; none are counted of one candidate or of
 * real actions. */
static void distinct(void **state) {
    (void)state;
    enum { M = 5, N = 3, D = 9 };
    mw_error error;
    mw_bundle *bundle = tiny_bundle("3m", NULL), *real = tiny_bundle("spread", NULL);
    mw_eval_options options = small_options();
    mw_eval_result result;
    double told[2];
    options.seeds = options.episodes = options.envs = 1;
    options.assignment_count = 0;
    options.arms = 1u << MW_ARM_REACTIVE | 1u << MW_ARM_PLAN;
    bundle->plan.candidates = M;
    for (int on = 0; on < 2; on++) {
        bundle->plan.distinct = on;
        CHECK_OK(mw_eval_run(&result, bundle, &options, &error), error);
        assert_true(isnan(result.arm[MW_ARM_REACTIVE].distinct));
        told[on] = result.arm[MW_ARM_PLAN].distinct;
        mw_eval_result_clear(&result);
        mw_env *env;
        mw_planner *planner;
        mw_outcome outcome = {0};
        uint64_t world, policy;
        float obs[N * 33], rewards[N];
        uint8_t legal[N * D];
        int32_t index[N];
        int count = 0;
        CHECK_OK(mw_env_create(&env, "3m", NULL, &error), error);
        CHECK_OK(mw_planner_create(&planner, bundle, NULL, &error), error);
        mw_env_episode_seeds(options.first_seed, 0, &world, &policy);
        mw_env_reset(env, world);
        mw_planner_begin(planner, 0, policy, NULL);
        while (!outcome.terminated && !outcome.truncated) {
            mw_env_observe(env, obs);
            mw_env_legal(env, legal);
            CHECK_OK(mw_planner_act(planner, obs, legal, NULL, NULL, index, &error), error);
            const mw_candidates c = mw_planner_candidates(planner, 0);
            for (int m = 0; m < M; m++) {
                bool again = false;
                for (int k = 0; k < m; k++) {
                    bool same = true;
                    for (int i = 0; i < N * D; i++)
                        same &= c.actions[m * c.horizon * N * D + i] == c.actions[k * c.horizon * N * D + i];
                    again |= same;
                }
                count += !again;
            }
            CHECK_OK(mw_env_step(env, (mw_action){.index = index}, rewards, &outcome, &error), error);
            mw_planner_reward(planner, 0, (rewards[0] + rewards[1] + rewards[2]) / N, NULL);
        }
        CHECK_NEAR(told[on], (double)count / outcome.step, 1e-12);
        mw_planner_free(planner);
        mw_env_free(env);
    }
    print_message("%d candidates, %.2f of them different, %.2f where they shall be\n", M, told[0], told[1]);
    assert_true(told[0] >= 1 && told[1] > told[0] && told[1] <= M);
    CHECK_OK(mw_eval_run(&result, real, &options, &error), error);
    assert_true(isnan(result.arm[MW_ARM_PLAN].distinct));
    mw_eval_result_clear(&result);
    mw_bundle_free(bundle);
    mw_bundle_free(real);
}

/* ---- pairing ---- */

static void pairing_of(const char *task, int episodes, int candidates) {
    mw_error error;
    mw_bundle *made = tiny_bundle(task, NULL), *bundle;
    CHECK_OK(mw_bundle_save(made, scratch("tiny.bundle"), false, &error), error);
    CHECK_OK(mw_bundle_load(&bundle, scratch("tiny.bundle"), &error), error);
    mw_eval_options options = small_options();
    options.episodes = episodes;
    options.assignments = few + candidates - 1;
    mw_eval_result all, other;
    CHECK_OK(mw_eval_run(&all, made, &options, &error), error);
    for (int a = 0; a < MW_ARM_STANDARD; a++)
        for (int k = 0; k < 2 * episodes; k++) {
            const mw_eval_episode *episode = &all.arm[a].episodes[k];
            assert_true(episode->world ==
                        mw_episode_seeds_of(7 + (uint64_t)(k / episodes), k % episodes).world);
            assert_true(episode->length >= 1 && episode->length <= all.info.episode_limit);
        }
    /* loaded from a file, each arm alone, other batches, other threads */
    static const struct { int envs, threads; } ways[] = {{1, 1}, {6, 2}, {3, 2}};
    for (int way = 0; way < 3; way++)
        for (int a = 0; a < MW_ARM_STANDARD; a++) {
            if (way != a % 3 && way != 1) continue;
            options.arms = 1u << a;
            options.envs = ways[way].envs;
            options.threads = ways[way].threads;
            CHECK_OK(mw_eval_run(&other, bundle, &options, &error), error);
            check_same(&all, &other, a);
            mw_eval_result_clear(&other);
        }
    mw_eval_result_clear(&all);
    mw_bundle_free(bundle);
    mw_bundle_free(made);
}

static void pairing_particles(void **state) {
    (void)state;
    pairing_of("spread", 3, 4);
    pairing_of("tag", 2, 2);
}

static void pairing_battles(void **state) {
    (void)state;
    pairing_of("3m", 1, 3);
}

/* Another seed plays other episodes; a later seed of a longer evaluation is the first of a shorter one. */
static void seeds(void **state) {
    (void)state;
    mw_error error;
    mw_bundle *bundle = tiny_bundle("spread", NULL);
    mw_eval_options options = small_options();
    mw_eval_result two, one;
    options.arms = 1u << MW_ARM_RANDOM;
    CHECK_OK(mw_eval_run(&two, bundle, &options, &error), error);
    options.first_seed = 8;
    options.seeds = 1;
    CHECK_OK(mw_eval_run(&one, bundle, &options, &error), error);
    for (int k = 0; k < 3; k++) {
        CHECK_NEAR(one.arm[MW_ARM_RANDOM].episodes[k].total, two.arm[MW_ARM_RANDOM].episodes[3 + k].total, 0);
        assert_true(one.arm[MW_ARM_RANDOM].episodes[k].total != two.arm[MW_ARM_RANDOM].episodes[k].total);
    }
    assert_true(isnan(one.arm[MW_ARM_RANDOM].total_std));
    assert_true(isnan(two.arm[MW_ARM_RANDOM].gain.mean)); /* nothing to compare with */
    mw_eval_result_clear(&two);
    mw_eval_result_clear(&one);
    mw_bundle_free(bundle);
}

/* Reactive is planning with one candidate, and so is random. */
static void one_candidate(void **state) {
    (void)state;
    mw_error error;
    mw_bundle *bundle = tiny_bundle("tag", NULL);
    mw_eval_options options = small_options();
    mw_eval_result result;
    options.assignments = few;
    CHECK_OK(mw_eval_run(&result, bundle, &options, &error), error);
    for (int a = 0; a < MW_ARM_STANDARD; a++) {
        CHECK_NEAR(result.arm[a].total, result.arm[MW_ARM_REACTIVE].total, 0);
        if (a == MW_ARM_REACTIVE) continue;
        CHECK_NEAR(result.arm[a].gain.mean, 0, 0);
        assert_true(isnan(result.arm[a].gain.low) && isnan(result.arm[a].gain.high)); /* of six, all the same
                                                                                       */
    }
    mw_eval_result_clear(&result);
    mw_bundle_free(bundle);
}

/* The ceiling is the oracle among candidates as drawn, whatever the bundle's plan does with them. */
static void ceiling(void **state) {
    (void)state;
    mw_error error;
    mw_bundle *bundle = tiny_bundle("spread", NULL);
    mw_eval_options options = small_options();
    mw_eval_result result;
    double totals[2];
    options.arms = 1u << MW_ARM_ORACLE | 1u << MW_ARM_CEILING;
    for (int shifted = 0; shifted < 2; shifted++) {
        bundle->plan.action_offset = shifted ? 0.5f : 0;
        bundle->plan.warm_start = shifted;
        CHECK_OK(mw_eval_run(&result, bundle, &options, &error), error);
        totals[shifted] = result.arm[MW_ARM_CEILING].total;
        assert_true((result.arm[MW_ARM_ORACLE].total != totals[0]) == shifted);
        mw_eval_result_clear(&result);
    }
    CHECK_NEAR(totals[1], totals[0], 0);
    mw_bundle_free(bundle);
}

/* ---- summaries ---- */

static void summaries(void **state) {
    (void)state;
    mw_error error;
    mw_bundle *bundle = tiny_bundle("spread", NULL);
    mw_eval_options options = small_options();
    options.timed = 5;
    options.episodes = 4; /* fewer than eight have no interval */
    mw_eval_result result;
    CHECK_OK(mw_eval_run(&result, bundle, &options, &error), error);
    const mw_eval_report *reactive = &result.arm[MW_ARM_REACTIVE], *plan = &result.arm[MW_ARM_PLAN],
                         *oracle = &result.arm[MW_ARM_ORACLE];
    double seed_mean[2] = {0}, difference = 0;
    for (int k = 0; k < 8; k++) {
        seed_mean[k / 4] += plan->episodes[k].total / 4;
        difference += (plan->episodes[k].total - reactive->episodes[k].total) / 8;
    }
    CHECK_NEAR(plan->total, (seed_mean[0] + seed_mean[1]) / 2, 1e-9);
    CHECK_NEAR(plan->total_std, fabs(seed_mean[0] - seed_mean[1]) / sqrt(2), 1e-9);
    CHECK_NEAR(plan->score, 100 * (plan->total - 159.8) / 357, 1e-9);
    CHECK_NEAR(plan->score_std, 100 * plan->total_std / 357, 1e-9);
    CHECK_NEAR(plan->gain.mean, difference, 1e-9);
    CHECK_NEAR(plan->relative_gain, (plan->score - reactive->score) / fabs(reactive->score), 1e-12);
    double gains[8], bases[8]; /* in scores */
    mw_interval ratio;
    for (int k = 0; k < 8; k++) {
        gains[k] = (plan->episodes[k].total - reactive->episodes[k].total) * 100 / 357;
        bases[k] = (reactive->episodes[k].total - 159.8) * 100 / 357;
    }
    CHECK_OK(mw_ratio_interval(&ratio, gains, bases, 8, &error), error);
    CHECK_NEAR(ratio.mean, plan->relative_gain, 1e-9);
    assert_int_equal(isnan(ratio.low), isnan(plan->relative_low));
    if (!isnan(ratio.low)) CHECK_NEAR(plan->relative_low, ratio.low, 1e-9);
    if (!isnan(ratio.low)) CHECK_NEAR(plan->relative_high, ratio.high, 1e-9);
    if (oracle->gain.low > 0)
        CHECK_NEAR(plan->oracle_share, difference / oracle->gain.mean, 1e-9);
    else
        assert_true(isnan(plan->oracle_share));
    int others = 0; /* offsets and warm starts do win sometimes */
    for (int k = 0; k < 8; k++)
        others += result.arm[MW_ARM_PAPER].episodes[k].total != plan->episodes[k].total;
    assert_true(others > 0);
    CHECK_NEAR(plan->length, 25, 0);
    assert_true(plan->gain.low <= plan->gain.mean && plan->gain.mean <= plan->gain.high);
    assert_true(isnan(plan->won) && isnan(reactive->gain.mean) && isnan(oracle->oracle_share));
    assert_true(plan->decision.p50 > 0 && plan->decision.p95 >= plan->decision.p50);
    assert_true(plan->decisions == 8 * 25);
    json_t *report = mw_eval_json(&result);
    CHECK_OK(mw_json_write(report, scratch("report.json"), &error), error);
    json_decref(report);
    CHECK_OK(mw_json_read(&report, scratch("report.json"), &error), error);
    const json_t *arm = json_object_get(json_object_get(report, "arms"), "plan");
    CHECK_NEAR(json_number_value(json_object_get(arm, "return")), plan->total, 0);
    assert_int_equal(json_array_size(json_object_get(arm, "episode_returns")), 2);
    CHECK_NEAR(json_number_value(json_object_get(json_object_get(arm, "gain"), "low")), plan->gain.low, 0);
    assert_null(json_object_get(arm, "win_rate"));
    assert_int_equal(json_is_null(json_object_get(json_object_get(arm, "relative_gain_interval"), "low")),
                     isnan(plan->relative_low));
    json_decref(report);
    mw_eval_result_clear(&result);
    mw_bundle_free(bundle);
}

/* A relative gain has its difference's sign, also where what it is relative to is below zero, as in a world
 * that costs. */
static void sign_of_gains(void **state) {
    (void)state;
    static const char *const tasks[] = {"spread", "tag", "world"};
    int below = 0, above = 0, held = 0;
    for (int k = 0; k < 9; k++) {
        mw_error error;
        mw_bundle *bundle = tiny_bundle(tasks[k % 3], NULL);
        mw_eval_options options = small_options();
        mw_eval_result result;
        options.episodes = 4;
        options.first_seed = (uint64_t)(100 + k);
        options.arms = 1u << MW_ARM_REACTIVE | 1u << MW_ARM_PLAN | 1u << MW_ARM_RANDOM;
        CHECK_OK(mw_eval_run(&result, bundle, &options, &error), error);
        const double base = result.arm[MW_ARM_REACTIVE].score;
        for (int a = 0; a < MW_ARM_STANDARD; a++) {
            const mw_eval_report *r = &result.arm[a];
            if (!r->played || a == MW_ARM_REACTIVE || r->gain.mean == 0) continue;
            assert_true((r->relative_gain > 0) == (r->gain.mean > 0));
            assert_true((r->relative_gain > 0) == (r->score > base));
            below += base < 0 && r->gain.mean > 0;
            above += base < 0 && r->gain.mean < 0;
            if (isnan(r->relative_low)) continue;
            assert_true(r->relative_low <= r->relative_gain && r->relative_gain <= r->relative_high);
            assert_true((r->relative_low > 0) == (r->gain.low > 0));
            assert_true((r->relative_high < 0) == (r->gain.high < 0));
            held += base < 0;
        }
        mw_eval_result_clear(&result);
        mw_bundle_free(bundle);
    }
    assert_true(below > 0 && above > 0 && held > 0); /* or nothing was tested */
}

static void statistics(void **state) {
    (void)state;
    mw_error error;
    const double x[5] = {3, -1, 4, 1, 5};
    CHECK_NEAR(mw_mean(x, 5), 2.4, 1e-15);
    CHECK_NEAR(mw_std(x, 5), sqrt(5.8), 1e-15);
    assert_true(isnan(mw_std(x, 1)));
    double sorted[5];
    memcpy(sorted, x, sizeof x);
    mw_sort(sorted, 5);
    CHECK_NEAR(mw_quantile(sorted, 5, 0.5), 3, 0);
    CHECK_NEAR(mw_quantile(sorted, 5, 0.95), 4.8, 1e-12);
    CHECK_NEAR(mw_quantile(sorted, 5, 1), 5, 0);

    /* two values: resampled means are 0, 1/2, 1 with probabilities 1/4, 1/2, 1/4 */
    mw_interval interval, again;
    const double pairs[8] = {0, 1, 0, 1, 0, 1, 0, 1};
    CHECK_OK(mw_bootstrap_mean(&interval, pairs, 8, 2000, 5, &error), error);
    CHECK_NEAR(interval.low, 0.125, 0); /* one or more of 8: 0.965 of the resamples have two to six */
    CHECK_NEAR(interval.high, 0.875, 0);
    /* many values: the interval of the normal distribution, 1.96 standard errors */
    static double values[400];
    mw_rng rng = mw_rng_make(1, MW_RNG_TEST, 0, 0, 0);
    for (int i = 0; i < 400; i++) values[i] = 2 + mw_rng_normal(&rng);
    CHECK_OK(mw_bootstrap_mean(&interval, values, 400, 10000, 5, &error), error);
    CHECK_OK(mw_bootstrap_mean(&again, values, 400, 10000, 5, &error), error);
    assert_memory_equal(&interval, &again, sizeof interval);
    const double half = 1.96 * mw_std(values, 400) / 20;
    CHECK_NEAR(interval.low, mw_mean(values, 400) - half, 0.06 * half);
    CHECK_NEAR(interval.high, mw_mean(values, 400) + half, 0.06 * half);
    interval = mw_mean_interval(values, 400);
    CHECK_NEAR(interval.low, mw_mean(values, 400) - half, 0.03 * half);
    CHECK_NEAR(interval.high, mw_mean(values, 400) + half, 0.03 * half);
    CHECK_OK(mw_bootstrap_mean(&interval, values, 7, 100, 1, &error), error);
    assert_true(isfinite(interval.mean) && isnan(interval.low) && isnan(interval.high));
    CHECK_FAILS(mw_bootstrap_mean(&interval, values, 0, 100, 1, &error), MW_ERR_ARGUMENT, error, "0 values");
}

/* Of a ratio the denominator is uncertain too, and in step with the numerator. */
static void ratios(void **state) {
    (void)state;
    enum { N = 400 };
    static double gain[N], base[N], twice[N];
    mw_error error;
    mw_interval both;
    mw_rng rng = mw_rng_make(2, MW_RNG_TEST, 0, 0, 0);
    for (int i = 0; i < N; i++) {
        base[i] = -8 + 8 * mw_rng_normal(&rng);
        gain[i] = 6 + mw_rng_normal(&rng);
        twice[i] = 2 * base[i];
    }
    CHECK_OK(mw_ratio_interval(&both, gain, base, N, &error), error);
    const mw_interval alone = mw_mean_interval(gain, N);
    const double size = fabs(mw_mean(base, N)), ratio = mw_mean(gain, N) / size;
    CHECK_NEAR(both.mean, ratio, 1e-12);
    /* independent of each other: relative errors add as squares */
    const double half =
        1.96 * ratio * hypot(mw_std(gain, N) / mw_mean(gain, N), mw_std(base, N) / size) / sqrt(N);
    CHECK_NEAR(both.high - both.low, 2 * half, 0.1 * half);
    assert_true(both.high - both.low > 2 * (alone.high - alone.low) / size);
    CHECK_OK(mw_ratio_interval(&both, twice, base, N, &error), error);
    CHECK_NEAR(both.low, -2, 1e-9); /* always twice as low */
    CHECK_NEAR(both.high, -2, 1e-9);
    for (int i = 0; i < N; i++) base[i] += 8; /* about zero: of either sign */
    CHECK_OK(mw_ratio_interval(&both, gain, base, N, &error), error);
    assert_true(isnan(both.low) && isnan(both.high));
}

/* ---- the oracle ---- */

/* The same executions by hand in the environment itself. */
static void oracle_executes(void **state) {
    (void)state;
    enum { M = 5, H = 6 };
    mw_error error;
    static const char *const tasks[] = {"spread", "3m"};
    for (int k = 0; k < 2; k++) {
        mw_env *env;
        mw_oracle *oracle;
        mw_pool *pool;
        CHECK_OK(mw_env_create(&env, tasks[k], NULL, &error), error);
        CHECK_OK(mw_pool_create(&pool, 2, &error), error);
        CHECK_OK(mw_oracle_create(&oracle, tasks[k], NULL, pool, &error), error);
        const mw_env_info *info = mw_env_describe(env);
        const int n = info->agents, d = info->act_size;
        static float actions[M * H * 64];
        static float paths[M * H * 1024], seen[1024];
        float scores[M], real[64], rewards[16];
        int32_t index[16];
        uint8_t legal[256];
        mw_rng rng = mw_rng_make(3, MW_RNG_TEST, 0, 0, 0);
        memset(actions, 0, sizeof actions);
        for (int row = 0; row < M * H * n; row++)
            if (info->discrete)
                actions[row * d + (int)mw_rng_below(&rng, (uint32_t)d)] = 1; /* often illegal */
            else
                for (int a = 0; a < d; a++) actions[row * d + a] = (float)mw_rng_range(&rng, -1.5, 1.5);
        mw_env_reset(env, 11);
        const size_t size = mw_env_snapshot_size(env);
        unsigned char *before = malloc(size), *after = malloc(size);
        mw_env_snapshot(env, before);
        const mw_oracle_job job = {.env = env, .actions = actions, .scores = scores, .paths = paths};
        CHECK_OK(mw_oracle_score(oracle, &job, 1, M, H, &error), error);
        mw_env_snapshot(env, after);
        assert_memory_equal(before, after, size);
        for (int m = 0; m < M; m++) {
            double sum = 0;
            mw_outcome outcome = {0};
            CHECK_OK(mw_env_restore(env, before, size, &error), error);
            for (int h = 0; h < H && !outcome.terminated; h++) {
                const float *action = actions + (m * H + h) * n * d;
                mw_env_legal(env, legal);
                for (int i = 0; i < n; i++)
                    for (int a = 0; a < d; a++) {
                        const float value = action[i * d + a];
                        real[i * d + a] = value > 1 ? 1 : value < -1 ? -1 : value;
                        if (value > 0) index[i] = legal[i * d + a] ? a : legal[i * d + 1] ? 1 : 0;
                    }
                const mw_action joint = {info->discrete ? NULL : real, info->discrete ? index : NULL};
                CHECK_OK(mw_env_step(env, joint, rewards, &outcome, &error), error);
                for (int i = 0; i < n; i++) sum += rewards[i];
                mw_env_observe(env, seen);
                assert_memory_equal(paths + (m * H + h) * n * info->obs_size, seen,
                                    (size_t)(n * info->obs_size) * sizeof *seen);
            }
            CHECK_NEAR(scores[m], (float)sum, 0);
            assert_memory_equal(paths + ((m + 1) * H - 1) * n * info->obs_size, seen, /* past an end, what was
                                                                                         last */
                                (size_t)(n * info->obs_size) * sizeof *seen);
        }
        free(before);
        free(after);
        mw_oracle_free(oracle);
        mw_pool_free(pool);
        mw_env_free(env);
    }
}

/* ---- refusals ---- */

static void refusals(void **state) {
    (void)state;
    mw_error error;
    mw_eval_result result;
    mw_eval_options options = small_options();
    unsigned arms;
    CHECK_OK(mw_arms_parse("oracle,plan", &arms, &error), error);
    assert_int_equal(arms, 1u << MW_ARM_ORACLE | 1u << MW_ARM_PLAN);
    CHECK_FAILS(mw_arms_parse("plan,genius", &arms, &error), MW_ERR_ARGUMENT, error, "'genius'");
    CHECK_FAILS(mw_arms_parse("", &arms, &error), MW_ERR_ARGUMENT, error, "no arm is named");
    mw_bundle *spread = tiny_bundle("spread", NULL);
    options.first_seed = (uint64_t)1 << 63; /* files would have it negative */
    CHECK_FAILS(mw_eval_run(&result, spread, &options, &error), MW_ERR_ARGUMENT, error, "less than 2^63");
    options = small_options();
    mw_bundle_free(spread);
    for (int i = 0; mw_model_class_at(i); i++) { /* the table has room for every judge and player, once */
        const mw_model_class *class = mw_model_class_at(i);
        int found = 0;
        for (int a = 0; mw_arm_name(a); a++) found += !strcmp(mw_arm_name(a), class->name);
        assert_int_equal(found, class->policy || (class->scorer && strcmp(class->name, "rwm")));
    }

    mw_bundle *old = tiny_bundle("spread", "mpe-old-0");
    CHECK_FAILS(mw_eval_run(&result, old, &options, &error), MW_ERR_MISMATCH, error, "mpe-old-0");
    assert_null(result.arm[0].episodes);
    snprintf(old->info.rules, sizeof old->info.rules, "%s", "mpe-omar-1");
    old->info.obs = 17;
    CHECK_FAILS(mw_eval_run(&result, old, &options, &error), MW_ERR_MISMATCH, error, "17 observation");
    old->info.obs = 18;
    snprintf(old->info.task, sizeof old->info.task, "%s", "chess");
    CHECK_FAILS(mw_eval_run(&result, old, &options, &error), MW_ERR_ARGUMENT, error, "chess");
    mw_bundle_free(old);

    mw_bundle *bundle = tiny_bundle("spread", NULL);
    options.assignments = (const char *const[]){"H=99"};
    CHECK_FAILS(mw_eval_run(&result, bundle, &options, &error), MW_ERR_ARGUMENT, error, "99");
    options = small_options();
    options.episodes = -1;
    CHECK_FAILS(mw_eval_run(&result, bundle, &options, &error), MW_ERR_ARGUMENT, error, "episodes");
    mw_replay *replay;
    CHECK_OK(mw_eval_replay(&replay, bundle, &options, &error), error);
    CHECK_FAILS(mw_replay_write(replay, "/nonexistent/page.html", &error), MW_ERR_IO, error, "/nonexistent");
    mw_replay_free(replay);
    options.stop = &(mw_stop_flag){1};
    CHECK_FAILS(mw_eval_replay(&replay, bundle, &options, &error), MW_ERR_INTERRUPTED, error, "step 0");
    assert_null(replay);
    mw_bundle_free(bundle);
}

/* ---- the command ---- */

static int run(const char *command, const char *arguments) {
    char line[1024];
    snprintf(line, sizeof line, "%s %s", command, arguments);
    return program_shell(line);
}

static void command_line(void **state) {
    (void)state;
    mw_error error;
    mw_bundle *bundle = tiny_bundle("3m", NULL), *old = tiny_bundle("spread", "mpe-old-0");
    CHECK_OK(mw_bundle_save(bundle, scratch("3m.bundle"), true, &error), error);
    CHECK_OK(mw_bundle_save(old, scratch("old.bundle"), false, &error), error);
    mw_bundle_free(bundle);
    mw_bundle_free(old);
    static const struct {
        const char *arguments, *text;
        int code;
    } cases[] = {
        {"eval --help", "usage: mawam eval", 0},
        {"eval", "name a bundle", 2},
        {"eval %s --arms plan,genius", "there is no arm 'genius'", 2},
        {"eval %s --seeds 0", "must be a whole number from 1", 2},
        {"eval /nonexistent", "/nonexistent", 1},
        {"eval %s --H 50", "horizon is 50", 1},
        {"eval %s --seeds 2 --episodes 1 --M 2 --timed 2", "oracle", 0},
    };
    char line[512];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(line, sizeof line, cases[i].arguments, scratch("3m.bundle"));
        const int code = run(MAWAM_PROGRAM, line);
        if (code != cases[i].code || !strstr(program_output, cases[i].text))
            fail_msg("%s: exit code %d, printed %s", line, code, program_output);
    }
    snprintf(line, sizeof line, "eval %s", scratch("old.bundle"));
    assert_int_equal(run(MAWAM_PROGRAM, line), 1);
    assert_non_null(strstr(program_output, "trained under rules mpe-old-0"));

    snprintf(line, sizeof line,
             "eval %s --arms plan --seeds 1 --episodes 1 --M 2 --timed 0 --json --replay %s",
             scratch("3m.bundle"), scratch("page.html"));
    if (run(MAWAM_PROGRAM, line)) fail_msg("%s: %s", line, program_output);
    json_t *value = json_loads(program_output, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(value);
    assert_true(
        json_is_number(json_object_get(json_object_get(json_object_get(value, "arms"), "plan"), "win_rate")));
    json_decref(value);
    static char page[4 << 20];
    page[scratch_read(scratch("page.html"), page, sizeof page - 1)] = 0;
    assert_non_null(strstr(page, "\"scores\":["));
    assert_non_null(strstr(page, "\"labels\":["));
}

/* They lie next to the program. */
static const char *example(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%.*s/examples/%s", (int)(strrchr(MAWAM_PROGRAM, '/') - MAWAM_PROGRAM),
             MAWAM_PROGRAM, name);
    return path;
}

/* The examples are outside programs: they see the shared library and the header only. */
static void examples(void **state) {
    (void)state;
    mw_error error;
    mw_bundle *bundle = tiny_bundle("spread", NULL);
    CHECK_OK(mw_bundle_save(bundle, scratch("spread.bundle"), false, &error), error);
    mw_bundle_free(bundle);
    char line[256];
    snprintf(line, sizeof line, "%s 3", scratch("spread.bundle"));
    assert_int_equal(run(example("plan_env"), line), 0);
    assert_non_null(strstr(program_output, "spread-tiny: return "));
    assert_non_null(strstr(program_output, "after 25 steps"));
    snprintf(line, sizeof line, "%s < %s", scratch("spread.bundle"), scratch("obs.txt"));
    char text[1024] = "";
    for (int i = 0; i < 54; i++) snprintf(text + strlen(text), sizeof text - strlen(text), "%g ", 0.01 * i);
    strcat(text, "\n");
    scratch_write(scratch("obs.txt"), text, strlen(text));
    assert_int_equal(run(example("plan_outside"), line), 0);
    float a[6];
    assert_int_equal(sscanf(program_output, "%f %f %f %f %f %f", &a[0], &a[1], &a[2], &a[3], &a[4], &a[5]),
                     6);
    char *const end = text + strlen(text) - 1;
    const struct {
        const char *line, *text;
    } wrong[] = {{"7\n", "expected 54 values; found 54, then '7'"},
                 {"and more\n", "found 54, then 'and more'"},
                 {"\n1 2 3\n", "line 2: expected 54 values; found 3, then ''"},
                 {"\n1 2 3,4\n", "found 3, then ',4'"},
                 {"\ngarbage\n", "found 0, then 'garbage'"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        strcpy(end, wrong[i].line);
        scratch_write(scratch("obs.txt"), text, strlen(text));
        assert_int_equal(run(example("plan_outside"), line), 1);
        assert_non_null(strstr(program_output, wrong[i].text));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics),
        cmocka_unit_test(ratios),
        cmocka_unit_test(oracle_executes),
        cmocka_unit_test(random_is_as_drawn),
        cmocka_unit_test(judged_choose_best),
        cmocka_unit_test(twins),
        cmocka_unit_test(missing_arm),
        cmocka_unit_test(distinct),
        cmocka_unit_test(pairing_particles),
        cmocka_unit_test(pairing_battles),
        cmocka_unit_test(seeds),
        cmocka_unit_test(one_candidate),
        cmocka_unit_test(ceiling),
        cmocka_unit_test(summaries),
        cmocka_unit_test(sign_of_gains),
        cmocka_unit_test(refusals),
        cmocka_unit_test(command_line),
        cmocka_unit_test(examples),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
