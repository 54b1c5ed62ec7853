/* Judges and proposers of the caller's own: what they are told, that their word counts, and how they fail. */
#include "allocations.h"
#include "plan/planner_state.h"
#include "random_bundle.h"
#include "train/tiny.h"

enum { N = 3, O = 7, D = 4, ENVS = 3, M = 5, H = 4 };

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

static mw_planner_options options_of(const mw_bundle *bundle, int envs) {
    mw_planner_options options;
    mw_planner_options_init(&options, sizeof options, bundle);
    options.envs = envs;
    options.plan.candidates = M;
    options.plan.horizon = H;
    options.plan.temperature = 0;
    options.plan.action_offset = 0;
    options.plan.warm_start = false;
    return options;
}

static void observe(float *obs, int e, int t) {
    mw_rng rng = mw_rng_make(5, MW_RNG_TEST, (uint64_t)e, (uint64_t)t, 0);
    mw_rng_fill_normal(&rng, obs, N * O);
}

typedef struct {
    int calls, fails, silent;
    float bad;
    mw_plan_call last;
} seen;

/* The sum of all values of a candidate, and of where it begins. */
static mw_status judge(void *context, const mw_plan_call *call, float *scores, mw_error *error) {
    seen *s = context;
    s->calls++;
    s->last = *call;
    if (s->silent) return MW_ERR_NUMERIC;
    if (s->fails) return mw_fail(error, MW_ERR_MISMATCH, "no judgement today");
    const int length = call->horizon * call->agents * call->act_size, joint = call->agents * call->obs_size;
    for (int q = 0; q < call->count; q++) {
        scores[q] = s->bad;
        for (int k = 0; k < length; k++) scores[q] += call->actions[q * length + k] * (float)(k % 7);
        for (int k = 0; k < joint; k++) scores[q] += 0.1f * call->obs[q * joint + k];
    }
    return MW_OK;
}

/* Values beyond the range too, that follow from the keys. */
static mw_status proposer(void *context, const mw_plan_call *call, mw_error *error) {
    seen *s = context;
    const int length = call->horizon * call->agents * call->act_size;
    s->calls++;
    s->last = *call;
    if (s->silent) return MW_ERR_NUMERIC;
    if (s->fails) return mw_fail(error, MW_ERR_MISMATCH, "no proposal today");
    for (int q = 0; q < call->count; q++) {
        mw_rng rng = mw_rng_make(call->keys[q], MW_RNG_TEST, 0, 0, 0);
        for (int k = 0; k < length; k++) call->actions[q * length + k] = 1.5f * (2 * mw_rng_float(&rng) - 1);
    }
    return MW_OK;
}

static void a_judges_word_counts(void **state) {
    (void)state;
    mw_bundle *bundle = bundle_of(false);
    seen s = {0};
    mw_planner_options options = options_of(bundle, ENVS);
    mw_planner *planner;
    mw_error error;
    float obs[ENVS * N * O], real[ENVS * N * D];
    options.score = judge;
    options.score_context = &s;
    bundle->plan.caution = options.plan.caution = 3; /* speaks of the bundle's judge */
    options.plan.return_error = 1e6;
    CHECK_OK(mw_planner_create(&planner, bundle, &options, &error), error);
    for (int e = 0; e < ENVS; e++) observe(obs + e * N * O, e, 0);
    const uint8_t active[ENVS] = {1, 0, 1};
    CHECK_OK(mw_planner_act(planner, obs, NULL, active, real, NULL, &error), error);
    assert_int_equal(s.calls, 1);
    assert_int_equal(s.last.count, 2 * M);
    assert_int_equal(s.last.group, M);
    assert_int_equal(s.last.envs[1], 2);
    assert_memory_equal(s.last.obs + M * N * O, obs + 2 * N * O, N * O * sizeof *obs);
    for (int e = 0; e < ENVS; e += 2) {
        const mw_candidates c = mw_planner_candidates(planner, e);
        int best = 0;
        for (int m = 1; m < M; m++)
            if (c.scores[m] > c.scores[best]) best = m;
        assert_int_equal(c.chosen, best);
        assert_memory_equal(real + e * N * D, c.actions + best * H * N * D, N * D * sizeof *real);
        assert_non_null(c.proposed);
    }
    mw_planner_free(planner);
    mw_bundle_free(bundle);
}

static void play(const mw_bundle *bundle, seen *s, int envs, int first, float *out) {
    mw_planner_options options = options_of(bundle, envs);
    mw_planner *planner;
    mw_error error;
    float obs[ENVS * N * O];
    options.propose = proposer;
    options.propose_context = s;
    CHECK_OK(mw_planner_create(&planner, bundle, &options, &error), error);
    for (int e = 0; e < envs; e++) mw_planner_begin(planner, e, (uint64_t)(first + e), NULL);
    for (int t = 0; t < 3; t++) {
        for (int e = 0; e < envs; e++) observe(obs + e * N * O, first + e, t);
        CHECK_OK(mw_planner_act(planner, obs, NULL, NULL, out + t * ENVS * N * D, NULL, &error), error);
    }
    mw_planner_free(planner);
}

static void a_proposers_actions_are_played(void **state) {
    (void)state;
    mw_bundle *bundle = bundle_of(false);
    seen s = {0};
    float together[3 * ENVS * N * D], alone[3 * ENVS * N * D];
    play(bundle, &s, ENVS, 0, together);
    assert_int_equal(s.calls, 3);
    assert_int_equal(s.last.count, ENVS * M);
    bool edge = false;
    for (int k = 0; k < 3 * ENVS * N * D; k++) {
        assert_true(together[k] >= -1 && together[k] <= 1);
        edge |= together[k] == 1 || together[k] == -1;
    }
    assert_true(edge); /* values beyond the range were cut */
    play(bundle, &s, 1, 2, alone);
    for (int t = 0; t < 3; t++) /* keys do not depend on who else decides */
        assert_memory_equal(alone + t * ENVS * N * D, together + (t * ENVS + 2) * N * D,
                            N * D * sizeof *alone);
    mw_bundle_free(bundle);
}

static void preferences_become_legal_actions(void **state) {
    (void)state;
    mw_bundle *bundle = bundle_of(true);
    seen s = {0};
    mw_planner_options options = options_of(bundle, 1);
    mw_planner *planner;
    mw_error error;
    float obs[N * O];
    uint8_t legal[N * D] = {0};
    int32_t index[N];
    options.propose = proposer;
    options.propose_context = &s;
    CHECK_OK(mw_planner_create(&planner, bundle, &options, &error), error);
    for (int t = 0; t < 20; t++) {
        observe(obs, 0, t);
        memset(legal, 0, sizeof legal);
        for (int a = 0; a < N; a++) legal[a * D + (a + t) % D] = legal[a * D + (a + 2 * t + 1) % D] = 1;
        CHECK_OK(mw_planner_act(planner, obs, legal, NULL, NULL, index, &error), error);
        assert_memory_equal(s.last.legal, legal, sizeof legal);
        const mw_candidates c = mw_planner_candidates(planner, 0);
        assert_null(c.proposed);
        for (int a = 0; a < N; a++) assert_true(legal[a * D + index[a]]);
        for (int r = 0; r < M * H * N; r++) {
            float sum = 0;
            for (int k = 0; k < D; k++) sum += c.actions[r * D + k];
            assert_true(sum == 1);
        }
    }
    mw_planner_free(planner);
    mw_bundle_free(bundle);
}

static void failures_are_the_decisions(void **state) {
    (void)state;
    mw_bundle *bundle = bundle_of(false);
    mw_error error;
    float obs[N * O] = {0}, real[N * D];
    for (int kind = 0; kind < 5; kind++) {
        seen s = {.fails = kind < 2, .silent = kind == 2 || kind == 3, .bad = kind == 4 ? NAN : 0};
        mw_planner_options options = options_of(bundle, 1);
        mw_planner *planner;
        if (kind % 2 == 0) options.score = judge, options.score_context = &s;
        if (kind % 2 == 1) options.propose = proposer, options.propose_context = &s;
        CHECK_OK(mw_planner_create(&planner, bundle, &options, &error), error);
        const mw_status status = mw_planner_act(planner, obs, NULL, NULL, real, NULL, &error);
        const char *words[] = {"no judgement today", "no proposal today",
                               "the judge that was given has failed",
                               "the proposer that was given has failed",
                               "the judge's score of candidate 0 in environment 0 is not finite"};
        assert_int_equal(status, kind < 2 ? MW_ERR_MISMATCH : MW_ERR_NUMERIC);
        assert_string_equal(error.message, words[kind]);
        s = (seen){0}; /* and the planner goes on */
        CHECK_OK(mw_planner_act(planner, obs, NULL, NULL, real, NULL, &error), error);
        mw_planner_free(planner);
    }
    mw_bundle_free(bundle);
}

static void settings_go_on(void **state) {
    (void)state;
    mw_bundle *bundle = bundle_of(false);
    seen judged = {0}, proposed = {0};
    mw_planner_options options = options_of(bundle, 1);
    mw_planner *planner;
    mw_error error;
    float obs[N * O], real[N * D];
    options.score = judge, options.score_context = &judged;
    options.propose = proposer, options.propose_context = &proposed;
    options.plan.recombine = 2;
    options.plan.warm_start = true;
    options.plan.temperature = 0.5;
    options.plan.action_offset = 0.3;
    CHECK_OK(mw_planner_create(&planner, bundle, &options, &error), error);
    observe(obs, 0, 0);
    CHECK_OK(mw_planner_act(planner, obs, NULL, NULL, real, NULL, &error), error);
    assert_int_equal(judged.calls, 3); /* once, and after every round */
    assert_int_equal(proposed.calls, 1);
    assert_non_null(mw_planner_candidates(planner, 0).weights);
    const long before = allocations();
    CHECK_OK(mw_planner_act(planner, obs, NULL, NULL, real, NULL, &error), error);
    assert_int_equal(allocations(), before);
    mw_planner_free(planner);
    mw_bundle_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_judges_word_counts), cmocka_unit_test(a_proposers_actions_are_played),
        cmocka_unit_test(preferences_become_legal_actions), cmocka_unit_test(failures_are_the_decisions),
        cmocka_unit_test(settings_go_on)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
