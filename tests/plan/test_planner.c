/* The planner and its bundles: same decisions whatever the threads, batch and schedule; legality; choice;
 * files. */
#include "allocations.h"
#include "core/file.h"
#include "model/advantage.h"
#include "model/flow/flow.h"
#include "plan/choice.h"
#include "plan/planner_state.h"
#include "train/tiny.h"
#include "scratch.h"

enum { N = 3, O = 7, D = 4, ENVS = 5, STEPS = 6 };

static mw_bundle *bundle_of(bool discrete) {
    mw_bundle_info info = {.task = "own",
                           .rules = "own-1",
                           .agents = N,
                           .obs = O,
                           .act = D,
                           .discrete = discrete,
                           .episode_limit = 50};
    return random_bundle(info, 11);
}

static mw_planner_options options_of(const mw_bundle *bundle) {
    mw_planner_options options;
    mw_planner_options_init(&options, sizeof options, bundle);
    return options;
}

/* Observations and legality of environment e at step t: a function of both, so that runs can be compared. */
static void observe(float *obs, uint8_t *legal, int e, int t) {
    mw_rng rng = mw_rng_make(5, MW_RNG_TEST, (uint64_t)e, (uint64_t)t, 0);
    mw_rng_fill_normal(&rng, obs, N * O);
    for (int i = 0; i < N * D; i++) legal[i] = mw_rng_below(&rng, 3) > 0;
    for (int a = 0; a < N; a++) legal[a * D + (int)mw_rng_below(&rng, D)] = 1;
}

/* Actions of all environments over some steps, played together (alone < 0) or one environment alone. */
static void play(const mw_bundle *bundle, mw_planner_options options, int alone, float *out) {
    mw_error error;
    mw_planner *planner;
    options.envs = alone < 0 ? ENVS : 1;
    CHECK_OK(mw_planner_create(&planner, bundle, &options, &error), error);
    float obs[ENVS * N * O], real[ENVS * N * D];
    uint8_t legal[ENVS * N * D], active[ENVS];
    int32_t index[ENVS * N];
    for (int e = 0; e < options.envs; e++)
        mw_planner_begin(planner, e, (uint64_t)(alone < 0 ? e : alone), NULL);
    for (int t = 0; t < STEPS; t++) {
        for (int e = 0; e < options.envs; e++) {
            const int which = alone < 0 ? e : alone;
            observe(obs + e * N * O, legal + e * N * D, which, t);
            active[e] = !(which == 2 && t > 3); /* one episode ends early */
        }
        if (alone >= 0 && !active[0]) break;
        CHECK_OK(mw_planner_act(planner, obs, legal, active, real, index, &error), error);
        for (int e = 0; e < options.envs; e++) {
            if (!active[e]) continue;
            float *to = out + ((alone < 0 ? e : alone) * STEPS + t) * N * D;
            for (int i = 0; i < N * D; i++)
                to[i] = bundle->info.discrete ? (float)(index[e * N + i / D] == i % D) : real[e * N * D + i];
            for (int a = 0; bundle->info.discrete && a < N; a++)
                assert_true(legal[(e * N + a) * D + index[e * N + a]]);
            mw_planner_reward(planner, e, 0.5f, NULL);
        }
    }
    mw_planner_free(planner);
}

static void same_decisions(void **state) {
    (void)state;
    for (int kind = 0; kind < 8; kind++) {
        mw_bundle *bundle = bundle_of(kind % 2);
        bundle->plan.return_to_go = kind % 2;
        mw_planner_options options = options_of(bundle);
        options.plan.choice = kind < 6 ? kind / 2 : MW_CHOICE_BEST;
        options.plan.warm_start = kind == 6;
        options.plan.action_offset = kind % 2 ? 0 : 0.2;
        options.plan.temperature = kind == 6 ? 0.5 : 0;
        options.plan.recombine = kind % 4 / 2;
        options.seed = 3;
        options.threads = 1;
        float first[ENVS * STEPS * N * D] = {0}, second[ENVS * STEPS * N * D];
        play(bundle, options, -1, first);
        FOR_THREADS(threads)
        for (int variant = 0; variant < (threads < MANY_THREADS ? 3 : 1); variant++) { /* one by one; alone */
            if (threads >= MANY_THREADS && kind != 0 && kind != 1 && kind != 6) continue;
            memset(second, 0, sizeof second);
            options.threads = threads;
            options.sequential = variant == 1;
            if (variant < 2)
                play(bundle, options, -1, second);
            else
                for (int e = 0; e < ENVS; e++) play(bundle, options, e, second);
            assert_memory_equal(first, second, sizeof first);
        }
        options.seed = 4;
        memset(second, 0, sizeof second);
        play(bundle, options, -1, second);
        if (!bundle->info.discrete) assert_memory_not_equal(first, second, sizeof first);
        mw_bundle_free(bundle);
    }
}

typedef struct {
    float scores[8];
    int expected; /* the candidate that is chosen */
} choice_case;

/* Decides once by each case's scores; executed[count][N * D] receives the actions. */
static void choose_by(mw_planner *planner, const choice_case *cases, int count, float *executed) {
    mw_error error;
    float obs[N * O] = {0.3f};
    for (int c = 0; c < count; c++) {
        CHECK_OK(mw_planner_propose(planner, obs, NULL, NULL, &error), error);
        memcpy(mw_planner_scores(planner, 0), cases[c].scores, sizeof cases[c].scores);
        mw_planner_choose(planner, executed + c * N * D, NULL);
        assert_int_equal(mw_planner_candidates(planner, 0).chosen, cases[c].expected);
    }
}

static void check_executed(mw_planner *planner, const float *executed) {
    const mw_candidates seen = mw_planner_candidates(planner, 0);
    assert_memory_equal(executed, seen.actions + seen.chosen * seen.horizon * N * D, sizeof(float) * N * D);
}

/* What is executed is the first action of the best finite score; ties go to the lowest index. */
static void choice(void **state) {
    (void)state;
    mw_error error;
    mw_bundle *bundle = bundle_of(false);
    mw_planner *planner;
    mw_planner_options options = options_of(bundle);
    CHECK_OK(mw_planner_create(&planner, bundle, &options, &error), error);
    float obs[N * O] = {0.3f}, real[N * D];
    const choice_case cases[] = {{{1, 2, 3, 2, 1, 0, 0, 0}, 2},
                                 {{5, 7, 7, 7, 1, 0, 0, 0}, 1},
                                 {{NAN, -4, INFINITY, -5, -INFINITY, -6, -7, -8}, 1},
                                 {{NAN, NAN, NAN, NAN, NAN, NAN, NAN, -9}, 7},
                                 {{NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN}, 0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        choose_by(planner, &cases[c], 1, real);
        check_executed(planner, real);
    }
    /* the real scores order as the world model says */
    CHECK_OK(mw_planner_act(planner, obs, NULL, NULL, real, NULL, &error), error);
    mw_candidates seen = mw_planner_candidates(planner, 0);
    for (int m = 0; m < seen.count; m++) assert_true(seen.scores[seen.chosen] >= seen.scores[m]);
    for (int i = 0; i < N * O; i++)
        CHECK_NEAR(seen.proposed[i], obs[i], 1e-5); /* begins at the current observation */
    mw_planner_free(planner);
    mw_bundle_free(bundle);
}

/* The policy's own candidate is left only for a score that is higher by more than caution times the error;
 * otherwise it is executed as it is, not a mean. */
static void caution(void **state) {
    (void)state;
    mw_error error;
    mw_bundle *bundle = bundle_of(false);
    mw_planner *planner;
    mw_planner_options options = options_of(bundle);
    options.plan.temperature = 0.5;
    options.plan.caution = 2;
    options.plan.return_error = 1.5;
    CHECK_OK(mw_planner_create(&planner, bundle, &options, &error), error);
    float real[2 * N * D];
    const choice_case cases[] = {{{1, 2, 4.1f, 2, 1, 0, 0, 0}, 2},
                                 {{NAN, 2, 2.1f, 2, 1, 0, 0, 0}, 2},
                                 {{5, 4, 3, 2, 1, 0, 0, 0}, 0},
                                 {{1, 2, 3.9f, 2, 1, 0, 0, 0}, 0}};
    choose_by(planner, cases, 2, real);
    for (int c = 2; c < 4; c++) {
        choose_by(planner, &cases[c], 1, real);
        check_executed(planner, real);
    }
    mw_planner_free(planner);
    options.plan.return_error = NAN;
    assert_int_equal(mw_planner_create(&planner, bundle, &options, &error), MW_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "return_error"));
    mw_bundle_free(bundle);
}

/* The last candidate begins where the executed plan left off; not in a new episode. */
static void warm_start(void **state) {
    (void)state;
    mw_error error;
    enum { STEP = N * D };
    mw_bundle *bundle = bundle_of(false);
    mw_planner *fresh, *planner;
    mw_planner_options options = options_of(bundle);
    assert_true(options.plan.warm_start);
    CHECK_OK(mw_planner_create(&planner, bundle, &options, &error), error);
    options.plan.warm_start = false;
    CHECK_OK(mw_planner_create(&fresh, bundle, &options, &error), error);
    float obs[N * O], real[STEP], plan[8 * STEP];
    uint8_t legal[STEP];
    for (int t = 0; t < 3; t++) { /* 0: nothing to go on with; 1: warm; 2: a new episode */
        if (t == 2) mw_planner_begin(planner, 0, 0, NULL);
        if (t == 2) mw_planner_begin(fresh, 0, 0, NULL);
        observe(obs, legal, 0, t);
        CHECK_OK(mw_planner_act(fresh, obs, NULL, NULL, real, NULL, &error), error);
        CHECK_OK(mw_planner_act(planner, obs, NULL, NULL, real, NULL, &error), error);
        const mw_candidates new = mw_planner_candidates(fresh, 0), old = mw_planner_candidates(planner, 0);
        const int last = 7 * old.horizon * STEP, rest = (old.horizon - 1) * STEP;
        assert_memory_equal(new.actions, old.actions, (size_t)last * sizeof(float));
        if (t == 1) assert_memory_equal(old.actions + last, plan + STEP, (size_t)rest * sizeof(float));
        const int own = t == 1 ? rest : 0; /* what is the candidate's own */
        assert_memory_equal(old.actions + last + own, new.actions + last + own,
                            (size_t)(rest + STEP - own) * sizeof(float));
        memcpy(plan, old.actions + old.chosen * old.horizon * STEP, sizeof(float) * (size_t)(rest + STEP));
    }
    mw_planner_free(planner);
    mw_planner_free(fresh);
    mw_bundle_free(bundle);
}

/* Every candidate but the first is shifted to one side over its whole horizon. A random choice takes one of
 * the candidates it would have. */
static void action_offset(void **state) {
    (void)state;
    mw_error error;
    enum { STEP = N * D };
    mw_bundle *bundle = bundle_of(false);
    mw_planner *plain, *planner, *random;
    mw_planner_options options = options_of(bundle);
    options.plan.action_offset = 0;
    options.plan.warm_start = false;
    CHECK_OK(mw_planner_create(&plain, bundle, &options, &error), error);
    options.plan.action_offset = 0.05;
    CHECK_OK(mw_planner_create(&planner, bundle, &options, &error), error);
    options.plan.choice = MW_CHOICE_RANDOM;
    CHECK_OK(mw_planner_create(&random, bundle, &options, &error), error);
    int shifted = 0, taken = 0;
    for (int t = 0; t < 6; t++) {
        float obs[N * O], real[STEP];
        uint8_t legal[STEP];
        observe(obs, legal, 0, t);
        CHECK_OK(mw_planner_act(plain, obs, NULL, NULL, real, NULL, &error), error);
        CHECK_OK(mw_planner_act(planner, obs, NULL, NULL, real, NULL, &error), error);
        const mw_candidates before = mw_planner_candidates(plain, 0),
                            after = mw_planner_candidates(planner, 0);
        const int length = after.horizon * STEP;
        assert_memory_equal(before.actions, after.actions, (size_t)length * sizeof(float));
        for (int m = 1; m < after.count; m++) {
            const float *was = before.actions + m * length, *is = after.actions + m * length;
            for (int k = STEP; k < length; k++)
                if (fabsf(is[k]) < 1 && fabsf(is[k % STEP]) < 1)
                    CHECK_NEAR(is[k] - was[k], is[k % STEP] - was[k % STEP], 1e-5);
            shifted += memcmp(was, is, (size_t)length * sizeof(float)) != 0;
        }
        CHECK_OK(mw_planner_act(random, obs, NULL, NULL, real, NULL, &error), error);
        const float *one = mw_planner_candidates(random, 0).actions;
        for (int m = 0; m < after.count; m++)
            taken += !memcmp(one, after.actions + m * length, (size_t)length * sizeof(float));
    }
    assert_true(shifted >= 6 * 6);
    assert_true(taken >= 6);
    mw_planner_free(random);
    mw_planner_free(planner);
    mw_planner_free(plain);
    mw_bundle_free(bundle);
}

/* What is executed is a mean of the candidates, weighed by their scores; from the best alone to all alike.
 * Scores that are not finite, and the warm start with it. */
static void temperature(void **state) {
    (void)state;
    mw_error error;
    enum { STEP = N * D };
    const float scores[8] = {3, 1, NAN, 2, -4, 2.5f, INFINITY, 0};
    for (int kind = 0; kind < 3; kind++) {
        const double value = (double)(float[]){1e-5f, 0.7f, 1e5f}[kind];
        mw_bundle *bundle = bundle_of(false);
        mw_planner *planner;
        mw_planner_options options = options_of(bundle);
        options.plan.action_offset = 0.2;
        options.plan.temperature = value;
        CHECK_OK(mw_planner_create(&planner, bundle, &options, &error), error);
        float obs[N * O] = {0.3f}, real[STEP];
        CHECK_OK(mw_planner_propose(planner, obs, NULL, NULL, &error), error);
        memcpy(mw_planner_scores(planner, 0), scores, sizeof scores);
        mw_planner_choose(planner, real, NULL);
        const mw_candidates c = mw_planner_candidates(planner, 0);
        assert_int_equal(c.chosen, 0);
        double mean = 0, square = 0, total = 0, plan[64] = {0};
        for (int m = 0; m < 8; m++) /* six of them are finite */
            if (isfinite(scores[m])) mean += scores[m] / 6, square += scores[m] * scores[m] / 6;
        const double std = sqrt(square - mean * mean);
        for (int m = 0; m < 8; m++) {
            if (!isfinite(scores[m])) continue;
            const double weight = exp((scores[m] - scores[0]) / (std * value));
            total += weight;
            for (int k = 0; k < c.horizon * STEP; k++)
                plan[k] += weight * c.actions[m * c.horizon * STEP + k];
        }
        for (int k = 0; k < STEP; k++) CHECK_NEAR(real[k], plan[k] / total, 1e-5);
        CHECK_OK(mw_planner_propose(planner, obs, NULL, NULL, &error), error);
        const float *rest = mw_planner_actions(planner, 0) + 7 * c.horizon * STEP;
        for (int k = 0; k < (c.horizon - 1) * STEP; k++) CHECK_NEAR(rest[k], plan[STEP + k] / total, 1e-5);
        memset(mw_planner_scores(planner, 0), 0, sizeof scores); /* no difference: all alike */
        mw_planner_choose(planner, real, NULL);
        const float *same = mw_planner_candidates(planner, 0).actions;
        for (int k = 0; k < STEP; k++) {
            double sum = 0;
            for (int m = 0; m < 8; m++) sum += same[m * c.horizon * STEP + k] / 8;
            CHECK_NEAR(real[k], sum, 1e-5);
        }
        mw_planner_free(planner);
        mw_bundle_free(bundle);
    }
}

/* Scorers by name: the advantage of the first joint action, which needs no rollouts unless they are asked
 * for, and its mixture with the imagined return. Saved with the bundle. */
static void scorers(void **state) {
    (void)state;
    mw_error error;
    enum { STEP = N * D };
    mw_bundle *bundle = bundle_of(false), *loaded;
    add_random_model(bundle, "advantage", "features=6", 0);
    const mw_model *model = mw_bundle_model(bundle, "advantage");
    const mw_advantage_net *net = model->net;
    mw_rng rng = mw_rng_make(7, MW_RNG_TEST, 0, 0, 0);
    mw_rng_fill_normal(&rng, model->values, net->params.total);
    /* far outside the range of half precision: stored in single all the same */
    float *weight = model->values + net->weight, kept[STEP];
    memcpy(kept, weight, sizeof kept);
    for (int k = 0; k < 2; k++) {
        weight[0] = k ? 1e6f : kept[0];
        for (size_t i = 0; i < (1 + N * O + 6) * STEP && !k; i++) weight[i] *= 1e-7f;
        CHECK_OK(mw_bundle_save(bundle, scratch("range.safetensors"), true, &error), error);
        CHECK_OK(mw_bundle_load(&loaded, scratch("range.safetensors"), &error), error);
        assert_memory_equal(mw_bundle_model(loaded, "advantage")->values + net->weight, weight, sizeof kept);
        mw_bundle_free(loaded);
        for (size_t i = 0; i < (1 + N * O + 6) * STEP && !k; i++) weight[i] *= 1e7f;
    }
    memcpy(weight, kept, sizeof kept);
    CHECK_OK(mw_bundle_save(bundle, scratch("advantage.safetensors"), false, &error), error);
    CHECK_OK(mw_bundle_load(&loaded, scratch("advantage.safetensors"), &error), error);
    float obs[N * O] = {0.3f, -0.2f}, real[STEP], terms[1 + N * O + 6], gradient[STEP], imagined[8];
    mw_advantage_gradient(net, model->values, obs, terms, gradient);
    for (int kind = 0; kind < 4; kind++) { /* share 0, a quarter, 1, and 1 with rollouts */
        mw_planner *planner;
        mw_planner_options options = options_of(loaded);
        strcpy(options.plan.scorer, (const char *[]){"rwm", "mixture", "advantage", "advantage"}[kind]);
        options.plan.advantage_share = 0.25;
        options.imagine = kind == 3;
        CHECK_OK(mw_planner_create(&planner, loaded, &options, &error), error);
        CHECK_OK(mw_planner_act(planner, obs, NULL, NULL, real, NULL, &error), error);
        const mw_candidates c = mw_planner_candidates(planner, 0);
        const double share = kind == 0 ? 0 : kind == 1 ? 0.25 : 1;
        if (kind == 0) memcpy(imagined, c.scores, sizeof imagined);
        assert_int_equal(c.imagined != NULL, kind != 2);
        for (int m = 0; m < 8; m++) {
            double sum = 0;
            for (int k = 0; k < STEP; k++) sum += (double)gradient[k] * c.actions[m * c.horizon * STEP + k];
            CHECK_NEAR(c.scores[m], (1 - share) * (double)imagined[m] + share * N * sum, 1e-4);
        }
        mw_planner_free(planner);
    }
    mw_bundle_free(loaded);
    mw_bundle_free(bundle);
}

/* Imagined return and fitted Q together, by their share. */
static void mixed_with_q(void **state) {
    (void)state;
    mw_error error;
    mw_bundle *bundle = bundle_of(false);
    add_random_model(bundle, "q", "hidden=8", 0);
    float obs[N * O] = {0.3f, -0.2f}, real[N * D], scores[3][8];
    static const char *const names[] = {"rwm", "q", "q_mixture"};
    for (int k = 0; k < 3; k++) {
        mw_planner *planner;
        mw_planner_options options = options_of(bundle);
        strcpy(options.plan.scorer, names[k]);
        options.plan.advantage_share = 0.25;
        CHECK_OK(mw_planner_create(&planner, bundle, &options, &error), error);
        CHECK_OK(mw_planner_act(planner, obs, NULL, NULL, real, NULL, &error), error);
        memcpy(scores[k], mw_planner_candidates(planner, 0).scores, sizeof scores[k]);
        mw_planner_free(planner);
    }
    for (int m = 0; m < 8; m++)
        CHECK_NEAR(scores[2][m], 0.75 * (double)scores[0][m] + 0.25 * (double)scores[1][m],
                   1e-5 * (1 + fabs((double)scores[1][m])));
    assert_true(scores[1][0] != scores[1][1]);
    mw_bundle_free(bundle);
}

/* Rounding must not lead out of the range of actions, where two candidates lie at the same end of it. */
static void mean_bounds(void **state) {
    (void)state;
    mw_error error;
    mw_bundle *bundle = bundle_of(false);
    mw_planner *planner;
    mw_planner_options options = options_of(bundle);
    options.plan.candidates = 3;
    options.plan.action_offset = 100;
    options.plan.warm_start = false;
    int ends = 0;
    for (int t = 0; t < 100; t++) {
        float obs[N * O] = {0.3f}, real[N * D];
        options.plan.temperature = 0.5 + 0.01 * t;
        CHECK_OK(mw_planner_create(&planner, bundle, &options, &error), error);
        CHECK_OK(mw_planner_propose(planner, obs, NULL, NULL, &error), error);
        memcpy(mw_planner_scores(planner, 0), (float[]){NAN, 1, 2}, 3 * sizeof(float));
        mw_planner_choose(planner, real, NULL);
        for (int k = 0; k < N * D; k++) {
            assert_true(fabsf(real[k]) <= 1);
            ends += fabsf(real[k]) > 0.999f;
        }
        mw_planner_free(planner);
    }
    assert_true(ends > 100);
    mw_bundle_free(bundle);
}

/* What is shown is of the last decision: nothing before the first one of an episode, no rollouts without
 * scores. */
static void nothing_stale(void **state) {
    (void)state;
    mw_error error;
    mw_bundle *bundle = bundle_of(false);
    mw_planner *planner;
    float obs[N * O] = {0.3f}, real[N * D];
    CHECK_OK(mw_planner_create(&planner, bundle, NULL, &error), error);
    CHECK_OK(mw_planner_act(planner, obs, NULL, NULL, real, NULL, &error), error);
    assert_non_null(mw_planner_candidates(planner, 0).imagined);
    CHECK_OK(mw_planner_propose(planner, obs, NULL, NULL, &error), error);
    assert_int_equal(mw_planner_candidates(planner, 0).count, bundle->plan.candidates);
    assert_null(mw_planner_candidates(planner, 0).imagined);
    mw_planner_begin(planner, 0, 1, NULL);
    assert_int_equal(mw_planner_candidates(planner, 0).count, 0);
    CHECK_FAILS(mw_planner_take(planner, 0, 0, real, NULL, &error), MW_ERR_ARGUMENT, error, "no decision");
    CHECK_FAILS(mw_planner_reward(planner, 0, NAN, &error), MW_ERR_NUMERIC, error, "reward is not finite");
    static const int strangers[] = {-1, 1};
    for (int i = 0; i < 2; i++) {
        CHECK_FAILS(mw_planner_begin(planner, strangers[i], 1, &error), MW_ERR_ARGUMENT, error,
                    "has environments 0 to 0");
        CHECK_FAILS(mw_planner_reward(planner, strangers[i], 1, &error), MW_ERR_ARGUMENT, error,
                    "has environments 0 to 0");
    }
    CHECK_OK(mw_planner_act(planner, obs, NULL, NULL, real, NULL, &error), error);
    mw_planner_free(planner);
    mw_bundle_free(bundle);
}

/* What was earned is no longer asked for: after a reward of a quarter of the target's unit the policy is
 * asked for a quarter less, as if that had been the target from the start; without return_to_go, for the
 * same. */
static void target_shrinks(void **state) {
    (void)state;
    mw_error error;
    mw_bundle *bundle = bundle_of(false);
    const float unit = (float)mw_flow_settings_of(mw_bundle_model(bundle, "flow"))->return_scale;
    const size_t count = (size_t)(bundle->plan.candidates * bundle->plan.horizon * N * D);
    static const struct {
        double target;
        bool earns, follows;
    } ways[] = {
        {1, false, true}, {1, true, true}, {0.75, false, true}, {1.25, false, true}, {1, true, false}};
    enum { WAYS = sizeof ways / sizeof *ways };
    float *actions[WAYS];
    for (int k = 0; k < WAYS; k++) {
        mw_planner *planner;
        float obs[N * O] = {0.3f}, real[N * D];
        bundle->plan.return_to_go = ways[k].follows;
        bundle->plan.target = ways[k].target;
        CHECK_OK(mw_planner_create(&planner, bundle, NULL, &error), error);
        if (ways[k].earns) mw_planner_reward(planner, 0, 0.25f * unit, NULL);
        CHECK_OK(mw_planner_act(planner, obs, NULL, NULL, real, NULL, &error), error);
        actions[k] = malloc(count * sizeof *actions[k]);
        assert_non_null(actions[k]);
        memcpy(actions[k], mw_planner_candidates(planner, 0).actions, count * sizeof *actions[k]);
        mw_planner_free(planner);
    }
    assert_memory_equal(actions[1], actions[2], count * sizeof **actions);
    assert_memory_equal(actions[0], actions[4], count * sizeof **actions);
    assert_memory_not_equal(actions[0], actions[2], count * sizeof **actions);
    assert_memory_not_equal(actions[2], actions[3], count * sizeof **actions);
    for (int k = 0; k < WAYS; k++) free(actions[k]);
    mw_bundle_free(bundle);
}

/* A file tells on what its plan's return_error was measured. Where an older one has 0 and tells nothing,
 * nothing was measured, and a cautious plan does not take it for certainty. */
static void error_that_is_not_known(void **state) {
    (void)state;
    static const struct {
        double error;
        mw_measured from;
        const char *word;
        double read;
    } ways[] = {{0, MW_MEASURED_NEVER, "", NAN},
                {NAN, MW_MEASURED_NEVER, "", NAN},
                {3, MW_MEASURED_NEVER, "held-out episodes", 3}, /* as older files have it */
                {0, MW_MEASURED_HELD_OUT, "held-out episodes", 0},
                {2, MW_MEASURED_ALL, "all episodes", 2},
                {0, MW_MEASURED_GIVEN, "given", 0}};
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        mw_error error;
        mw_bundle *bundle = bundle_of(false);
        mw_planner *planner = NULL;
        bundle->plan.return_error = ways[k].error;
        bundle->return_error_from = ways[k].from;
        CHECK_OK(mw_bundle_save(bundle, scratch("measured.safetensors"), true, &error), error);
        mw_bundle_free(bundle);
        CHECK_OK(mw_bundle_load(&bundle, scratch("measured.safetensors"), &error), error);
        assert_string_equal(mw_bundle_describe(bundle).return_error_from, ways[k].word);
        assert_true(isnan(ways[k].read) ? isnan(bundle->plan.return_error)
                                        : bundle->plan.return_error == ways[k].read);
        bundle->plan.caution = 0.1;
        if (isnan(ways[k].read))
            CHECK_FAILS(mw_planner_create(&planner, bundle, NULL, &error), MW_ERR_ARGUMENT, error,
                        "return_error is not known");
        else
            CHECK_OK(mw_planner_create(&planner, bundle, NULL, &error), error);
        mw_planner_free(planner);
        mw_bundle_free(bundle);
    }
}

static double no_time(void *context) {
    return *(double *)context;
}

/* A decision that is refused leaves the last one of every environment as it was, also with a deadline that
 * now has room for fewer candidates. */
static void refused(void **state) {
    (void)state;
    mw_error error;
    mw_bundle *bundle = bundle_of(false);
    for (int late = 0; late < 2; late++) {
        mw_planner *planner;
        mw_planner_options options = options_of(bundle);
        double now = 0;
        float obs[3 * N * O] = {0.3f}, real[3 * N * D], taken[N * D];
        options.envs = 3;
        options.deadline = late ? 10 : 0;
        options.clock = no_time;
        options.clock_context = &now;
        CHECK_OK(mw_planner_create(&planner, bundle, &options, &error), error);
        CHECK_OK(mw_planner_act(planner, obs, NULL, NULL, real, NULL, &error), error);
        const mw_candidates before = mw_planner_candidates(planner, 2);
        for (int i = 0; late && i < planner->deadline.count; i++) planner->deadline.level[i].generate = 1;
        obs[N * O] = INFINITY; /* of the second one */
        CHECK_FAILS(mw_planner_act(planner, obs, NULL, NULL, real, NULL, &error), MW_ERR_ARGUMENT, error,
                    "in environment 1");
        for (int env = 0; env < 3; env++)
            assert_int_equal(mw_planner_candidates(planner, env).count, before.count);
        assert_ptr_equal(mw_planner_candidates(planner, 2).actions, before.actions);
        CHECK_OK(mw_planner_take(planner, 2, before.count - 1, taken, NULL, &error), error);
        assert_memory_equal(taken, before.actions + (before.count - 1) * before.horizon * N * D,
                            sizeof taken);
        mw_planner_free(planner);
    }
    mw_bundle_free(bundle);
}

/* Units stay whole where weights become narrow: a mean of 1000.2 is not 1000. */
static void units_are_kept(void **state) {
    (void)state;
    mw_error error;
    mw_bundle *bundle = bundle_of(false), *loaded;
    add_random_model(bundle, "value", "hidden=8", 3);
    const mw_params *params = mw_bundle_model(bundle, "value")->params;
    for (int i = 0; i < params->count; i++)
        if (!strcmp(params->list[i].name, "input.mean"))
            model_values(bundle, "value")[params->list[i].offset] = 1000.2f;
    CHECK_OK(mw_bundle_save(bundle, scratch("units.safetensors"), true, &error), error);
    CHECK_OK(mw_bundle_load(&loaded, scratch("units.safetensors"), &error), error);
    int found = 0;
    for (size_t k = 0; k < params->total; k++)
        found += mw_bundle_model(loaded, "value")->values[k] == 1000.2f;
    assert_int_equal(found, 1);
    mw_bundle_free(loaded);
    mw_bundle_free(bundle);
}

/* The oracle plays in worlds of the bundle's own task, and in no others; its decisions allocate nothing. */
static void worlds_played(void **state) {
    (void)state;
    mw_error error;
    mw_bundle *bundle = tiny_bundle("spread", NULL);
    mw_env *own, *other;
    mw_planner *planner;
    mw_planner_options options = options_of(bundle);
    CHECK_OK(mw_env_create(&own, "spread", NULL, &error), error);
    CHECK_OK(mw_env_create(&other, "8m", NULL, &error), error);
    mw_env *const played[] = {own}, *const wrong[] = {other}, *const none[] = {NULL};
    strcpy(options.plan.scorer, "oracle");
    options.envs_played = wrong;
    CHECK_FAILS(mw_planner_create(&planner, bundle, &options, &error), MW_ERR_MISMATCH, error,
                "envs_played[0] is 8m");
    options.envs_played = none;
    CHECK_FAILS(mw_planner_create(&planner, bundle, &options, &error), MW_ERR_ARGUMENT, error, "is NULL");
    options.envs_played = played;
    CHECK_OK(mw_planner_create(&planner, bundle, &options, &error), error);
    float obs[3 * 18], real[3 * 2];
    mw_env_reset(own, 0);
    mw_env_observe(own, obs);
    const size_t bytes = mw_planner_bytes(planner);
    const long before = allocations();
    CHECK_OK(mw_planner_act(planner, obs, NULL, NULL, real, NULL, &error), error);
    assert_int_equal(allocations() - before, 0);
    assert_int_equal(mw_planner_bytes(planner), bytes);
    mw_planner_free(planner);
    mw_env_free(own);
    mw_env_free(other);
    mw_bundle_free(bundle);
}

/* Every agent of a candidate does, over the whole horizon, what it does in one of those before. */
static void check_mixture(const float *candidate, const float *before, int horizon) {
    for (int a = 0; a < N; a++) {
        int parent = -1;
        for (int m = 0; m < 8 && parent < 0; m++) {
            bool same = true;
            for (int k = a * D; k < horizon * N * D && same; k += k % D == D - 1 ? N * D - D + 1 : 1)
                same = candidate[k] == before[m * horizon * N * D + k];
            if (same) parent = m;
        }
        assert_true(parent >= 0);
    }
}

/* Recombined candidates are mixtures of those that were drawn, the policy's own stays, and the best one
 * becomes no worse; scores are those of what is there now. */
static void recombination(void **state) {
    (void)state;
    static const float scores[] = {1, NAN, 3, 3, -INFINITY, 0, 2};
    int upper[7];
    assert_int_equal(mw_choice_upper(upper, scores, 7), 4);
    assert_memory_equal(upper, ((int[]){0, 2, 3, 6}), 4 * sizeof *upper);
    assert_int_equal(mw_choice_upper(upper, scores + 1, 1), 0);
    mw_error error;
    int better = 0;
    for (int discrete = 0; discrete < 2; discrete++) {
        mw_bundle *bundle = bundle_of(discrete);
        mw_planner_options options = options_of(bundle);
        mw_planner *drawn, *mixed;
        options.plan.warm_start = false;
        CHECK_OK(mw_planner_create(&drawn, bundle, &options, &error), error);
        options.plan.recombine = 2;
        CHECK_OK(mw_planner_create(&mixed, bundle, &options, &error), error);
        for (int t = 0; t < 20; t++) {
            float obs[N * O], real[N * D], again[8];
            uint8_t legal[N * D];
            int32_t index[N];
            observe(obs, legal, 0, t);
            CHECK_OK(mw_planner_act(drawn, obs, legal, NULL, real, index, &error), error);
            CHECK_OK(mw_planner_act(mixed, obs, legal, NULL, real, index, &error), error);
            const mw_candidates a = mw_planner_candidates(drawn, 0), b = mw_planner_candidates(mixed, 0);
            const size_t length = (size_t)(a.horizon * N * D);
            assert_memory_equal(a.actions, b.actions, length * sizeof *a.actions);
            for (int m = 0; m < 8; m++) check_mixture(b.actions + (size_t)m * length, a.actions, a.horizon);
            assert_true(b.scores[b.chosen] >= a.scores[a.chosen]);
            better += b.scores[b.chosen] > a.scores[a.chosen];
            for (int k = 0; k < N && discrete; k++) assert_true(legal[k * D + index[k]]);
            memcpy(again, b.scores, sizeof again);
            mixed->options.plan.recombine = 0;
            CHECK_OK(mw_planner_score(mixed, &error), error);
            assert_memory_equal(again, b.scores, sizeof again);
            mixed->options.plan.recombine = 2;
        }
        mw_planner_free(drawn);
        mw_planner_free(mixed);
        mw_bundle_free(bundle);
    }
    assert_true(better > 10);
}

static void no_allocations(void **state) {
    (void)state;
    mw_error error;
    mw_bundle *bundle = bundle_of(true);
    mw_planner *planner;
    mw_planner_options options = options_of(bundle);
    options.envs = 2;
    options.threads = 2;
    options.plan.recombine = 1;
    CHECK_OK(mw_planner_create(&planner, bundle, &options, &error), error);
    float obs[2 * N * O] = {0};
    int32_t index[2 * N];
    const long before = allocations();
    for (int t = 0; t < 5; t++)
        CHECK_OK(mw_planner_act(planner, obs, NULL, NULL, NULL, index, &error), error);
    assert_int_equal(allocations() - before, 0);
    mw_planner_free(planner);
    mw_bundle_free(bundle);
}

static void bad_requests(void **state) {
    (void)state;
    mw_error error;
    mw_bundle *bundle = bundle_of(false);
    mw_planner *planner;
    static const struct {
        const char *name, *value, *message;
    } settings[] = {{"candidates", "0", "candidates must be a whole number 1 to 4096"},
                    {"K", "6", "sampling_steps must be"},
                    {"action_offset", "-1", "action_offset must be"},
                    {"temperature", "inf", "temperature must be"},
                    {"choice", "worst", "best or random or first"},
                    {"speed", "1", "no plan setting 'speed'"}};
    const mw_planner_options defaults = options_of(bundle);
    mw_planner_options o = defaults;
    char text[64];
    o.plan.choice = 77;
    CHECK_FAILS(mw_plan_settings_get(&o.plan, "choice", text, sizeof text, &error), MW_ERR_ARGUMENT, error,
                "choice is 77");
    o = defaults;
    o.plan.target = 1.25;
    CHECK_OK(mw_plan_settings_get(&o.plan, "target", text, 5, &error), error);
    assert_string_equal(text, "1.25");
    CHECK_FAILS(mw_plan_settings_get(&o.plan, "target", text, 4, &error), MW_ERR_ARGUMENT, error,
                "4 bytes have no room for target, '1.25'");
    o = defaults;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        CHECK_FAILS(mw_plan_settings_set(&o.plan, settings[i].name, settings[i].value, &error),
                    MW_ERR_ARGUMENT, error, settings[i].message);
    o.plan.candidates = 0; /* by hand */
    CHECK_FAILS(mw_planner_create(&planner, bundle, &o, &error), MW_ERR_ARGUMENT, error,
                "candidates is 0, and must be a whole number 1 to 4096");
    o = defaults;
    o.plan.choice = -1;
    CHECK_FAILS(mw_planner_create(&planner, bundle, &o, &error), MW_ERR_ARGUMENT, error,
                "choice is -1, and must be best or random or first");
    o = defaults;
    memset(o.plan.scorer, 'x', sizeof o.plan.scorer); /* without an end */
    CHECK_FAILS(mw_planner_create(&planner, bundle, &o, &error), MW_ERR_ARGUMENT, error,
                "xxx', and must be a name");
    o = defaults;
    o.plan.horizon = 6;
    CHECK_FAILS(mw_planner_create(&planner, bundle, &o, &error), MW_ERR_ARGUMENT, error,
                "5 steps are generated");
    o = defaults;
    o.envs = 0;
    CHECK_FAILS(mw_planner_create(&planner, bundle, &o, &error), MW_ERR_ARGUMENT, error, "envs is 0");
    o = defaults;
    strcpy(o.plan.scorer, "advantage");
    CHECK_FAILS(mw_planner_create(&planner, bundle, &o, &error), MW_ERR_ARGUMENT, error,
                "no part for the scorer");
    strcpy(o.plan.scorer, "oracle");
    CHECK_FAILS(mw_planner_create(&planner, bundle, &o, &error), MW_ERR_ARGUMENT, error,
                "needs the environments");
    strcpy(o.plan.scorer, "dice");
    CHECK_FAILS(mw_planner_create(&planner, bundle, &o, &error), MW_ERR_ARGUMENT, error, "no scorer 'dice'");
    mw_bundle *battle = bundle_of(true);
    o = options_of(battle);
    o.plan.warm_start = true;
    CHECK_FAILS(mw_planner_create(&planner, battle, &o, &error), MW_ERR_ARGUMENT, error, "for real actions");
    CHECK_OK(mw_planner_create(&planner, battle, NULL, &error), error);
    static const float seen[N * O];
    static uint8_t legal[N * D];
    int32_t index[N];
    memset(legal, 1, (size_t)D);
    CHECK_FAILS(mw_planner_act(planner, seen, legal, NULL, NULL, index, &error), MW_ERR_ARGUMENT, error,
                "agent 1 in environment 0 has no legal action");
    mw_planner_free(planner);
    mw_bundle_free(battle);
    CHECK_OK(mw_planner_create(&planner, bundle, NULL, &error), error);
    float obs[N * O] = {[9] = NAN}, real[N * D];
    CHECK_FAILS(mw_planner_act(planner, obs, NULL, NULL, real, NULL, &error), MW_ERR_ARGUMENT, error,
                "observation 2 of agent 1 in environment 0");
    obs[9] = 0;
    CHECK_FAILS(mw_planner_act(planner, obs, NULL, NULL, NULL, NULL, &error), MW_ERR_ARGUMENT, error,
                "no room");
    mw_planner_free(planner);
    mw_bundle_free(bundle);
}

/* A saved bundle decides the same (F32), nearly the same (F16), and damaged files are refused. */
static void files(void **state) {
    (void)state;
    mw_error error;
    const char *path = scratch("bundle.safetensors");
    mw_bundle *bundle = bundle_of(false), *loaded;
    bundle->plan.temperature = 0.25;
    mw_planner_options options = options_of(bundle);
    options.threads = 1;
    float first[ENVS * STEPS * N * D] = {0}, second[ENVS * STEPS * N * D] = {0};
    options.plan.choice = MW_CHOICE_FIRST;
    play(bundle, options, -1, first);
    for (int half = 0; half < 2; half++) {
        CHECK_OK(mw_bundle_save(bundle, path, half, &error), error);
        CHECK_OK(mw_bundle_load(&loaded, path, &error), error);
        assert_int_equal(mw_bundle_describe(loaded).parts, 3);
        assert_string_equal(mw_bundle_part_describe(loaded, 2).name, "rwm");
        assert_non_null(strstr(mw_bundle_part_describe(loaded, 0).provenance, "\"data\": \"test\""));
        assert_string_equal(mw_bundle_describe(loaded).rules, "own-1");
        CHECK_NEAR(loaded->plan.temperature, 0.25, 0);
        play(loaded, options, -1, second);
        double worst = 0;
        for (size_t i = 0; i < sizeof first / sizeof *first; i++)
            worst = fmax(worst, fabs((double)first[i] - second[i]));
        if (half)
            assert_true(worst > 0 && worst < 0.02);
        else
            assert_true(worst == 0);
        mw_bundle_free(loaded);
    }
    char *bytes;
    size_t size;
    mw_map map;
    CHECK_OK(mw_map_open(&map, path, &error), error);
    size = map.size;
    bytes = malloc(size);
    memcpy(bytes, map.data, size);
    mw_map_close(&map);
    mw_rng rng = mw_rng_make(1, MW_RNG_TEST, 0, 0, 0);
    for (int trial = 0; trial < 300; trial++) { /* must refuse or load, never crash */
        const size_t at = trial < 200 ? mw_rng_below(&rng, 9000) : mw_rng_below(&rng, (uint32_t)size);
        const char kept = bytes[at];
        bytes[at] = (char)mw_rng_u32(&rng);
        CHECK_OK(mw_file_write(path, bytes, trial % 10 ? size : size / 2, &error), error);
        if (mw_bundle_load(&loaded, path, &error) == MW_OK)
            mw_bundle_free(loaded);
        else
            assert_true(strlen(error.message) > 10);
        bytes[at] = kept;
    }
    free(bytes);
    model_values(bundle, "rwm")[mw_bundle_model(bundle, "rwm")->params->list[0].offset] = NAN;
    CHECK_FAILS(mw_bundle_save(bundle, path, false, &error), MW_ERR_NUMERIC, error, "not finite");
    mw_bundle_free(bundle);
}

/* A small file that asks for huge models is refused before memory is taken, and numbers that do not fit are
 * no other numbers. */
static void hostile_sizes(void **state) {
    (void)state;
    mw_error error;
    mw_bundle *bundle = bundle_of(false), *loaded;
    const char *path = scratch("hostile.safetensors");
    static const struct {
        const char *from, *to, *message;
    } cases[] = {{"\\\"hidden\\\":16,\\\"experts\\\"", "\\\"hidden\\\":4096,\\\"experts\\\"",
                  "is missing or not of the shape"},
                 {"\\\"agents\\\":3", "\\\"agents\\\":4294967299", "'agents' must be"},
                 {"\\\"agents\\\":3", "\\\"agents\\\":-2147483648", "'agents' must be"},
                 {"\\\"candidates\\\":8", "\\\"candidates\\\":8.5", "'candidates' must be"},
                 {"\\\"dim\\\":16", "\\\"dims\\\":16", "'dim' must be"},
                 {"\\\"kind\\\":\\\"rwm\\\"", "\\\"kind\\\":\\\"wmr\\\"", "knows no model 'wmr'"}};
    CHECK_OK(mw_bundle_save(bundle, path, false, &error), error);
    mw_map map;
    CHECK_OK(mw_map_open(&map, path, &error), error);
    uint64_t length;
    memcpy(&length, map.data, 8);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *header = calloc(1, length + 64), *file = calloc(1, map.size + 128);
        memcpy(header, (const char *)map.data + 8, length);
        char *at = strstr(header, cases[i].from);
        assert_non_null(at);
        char *rest = strdup(at + strlen(cases[i].from));
        sprintf(at, "%s%s", cases[i].to, rest);
        free(rest);
        uint64_t changed = strlen(header);
        while (changed % 8) header[changed++] = ' ';
        memcpy(file, &changed, 8);
        memcpy(file + 8, header, changed);
        memcpy(file + 8 + changed, (const char *)map.data + 8 + length, map.size - 8 - length);
        CHECK_OK(mw_file_write(path, file, map.size - length + changed, &error), error);
        CHECK_FAILS(mw_bundle_load(&loaded, path, &error), error.status, error, cases[i].message);
        free(header);
        free(file);
    }
    mw_map_close(&map);
    mw_bundle_free(bundle);
}

/* Whatever was earned: what is left of the target stays one that can be asked for, and proposals finite. */
static void rewards_beyond_reason(void **state) {
    (void)state;
    mw_bundle *bundle = bundle_of(false);
    bundle->plan.return_to_go = true;
    for (int sign = -1; sign <= 1; sign += 2) {
        mw_error error;
        mw_planner *planner;
        float obs[N * O], real[N * D];
        uint8_t legal[N * D];
        const mw_planner_options options = options_of(bundle);
        CHECK_OK(mw_planner_create(&planner, bundle, &options, &error), error);
        mw_planner_begin(planner, 0, 1, NULL);
        for (int t = 0; t < STEPS; t++) {
            observe(obs, legal, 0, t);
            CHECK_OK(mw_planner_act(planner, obs, NULL, NULL, real, NULL, &error), error);
            const mw_candidates seen = mw_planner_candidates(planner, 0);
            for (int k = 0; k < seen.count; k++) assert_true(isfinite(seen.scores[k]));
            for (int k = 0; k < seen.count * (seen.horizon + 1) * N * O; k++)
                assert_true(isfinite(seen.proposed[k]));
            for (int k = 0; k < N * D; k++) assert_true(fabsf(real[k]) <= 1);
            mw_planner_reward(planner, 0, (float)sign * 3e38f, NULL);
        }
        unsigned char *memory = malloc(mw_planner_snapshot_size(planner));
        mw_planner_snapshot(planner, 0, memory);
        CHECK_OK(mw_planner_restore(planner, 0, memory, mw_planner_snapshot_size(planner), &error), error);
        free(memory);
        mw_planner_free(planner);
    }
    mw_bundle_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_decisions),
                                       cmocka_unit_test(choice),
                                       cmocka_unit_test(caution),
                                       cmocka_unit_test(warm_start),
                                       cmocka_unit_test(action_offset),
                                       cmocka_unit_test(temperature),
                                       cmocka_unit_test(recombination),
                                       cmocka_unit_test(mean_bounds),
                                       cmocka_unit_test(mixed_with_q),
                                       cmocka_unit_test(scorers),
                                       cmocka_unit_test(no_allocations),
                                       cmocka_unit_test(bad_requests),
                                       cmocka_unit_test(files),
                                       cmocka_unit_test(hostile_sizes),
                                       cmocka_unit_test(nothing_stale),
                                       cmocka_unit_test(target_shrinks),
                                       cmocka_unit_test(error_that_is_not_known),
                                       cmocka_unit_test(refused),
                                       cmocka_unit_test(worlds_played),
                                       cmocka_unit_test(units_are_kept),
                                       cmocka_unit_test(rewards_beyond_reason)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
