/* Candidates with equal joint first actions: which variant takes whose place, against hand-made cases and a
 * plain search over all variants, and what the planner makes of it. */
#include "allocations.h"
#include "plan/distinct.h"
#include "plan/planner_state.h"
#include "scratch.h"
#include "train/tiny.h"

enum { MOST = 8, AGENTS = 5 };

static void check(int candidates, int agents, int *action, const int *second, const float *gap,
                  const int *expected) {
    mw_distinct(&(mw_first_actions){candidates, agents, action, second, gap});
    for (int k = 0; k < candidates * agents; k++)
        if (action[k] != expected[k])
            fail_msg("candidate %d, agent %d: %d, expected %d", k / agents, k % agents, action[k],
                     expected[k]);
}

/* Three agents, the last with a single legal action. All candidates begin alike: the smaller gap, the larger
 * one, then both, and after that nothing is left. */
static void all_variants(void **state) {
    (void)state;
    int action[5 * 3] = {1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0};
    const int second[5 * 3] = {3, 4, -1, 3, 4, -1, 3, 4, -1, 3, 4, -1, 3, 4, -1};
    const float gap[5 * 3] = {2, 1, 0, 2, 1, 0, 2, 1, 0, 2, 1, 0, 2, 1, 0};
    check(5, 3, action, second, gap, (int[]){1, 2, 0, 1, 4, 0, 3, 2, 0, 3, 4, 0, 1, 2, 0});
}

/* Ties go to the lower index, of agents and of pairs. */
static void ties(void **state) {
    (void)state;
    int action[7 * 3] = {0};
    const int second[7 * 3] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const float gap[7 * 3] = {0};
    check(7, 3, action, second, gap, (int[]){0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 0, 1, 0, 1, 0, 1, 1});
}

/* A pair costs more than any single agent, however small its sum; and what another candidate does anyway,
 * also a later one, is no variant: those that were drawn stay. */
static void drawn_ones_stay(void **state) {
    (void)state;
    int action[4 * 2] = {0, 0, 0, 0, 1, 0, 0, 0};
    const int second[4 * 2] = {1, 1, 1, 1, 2, 2, 1, 1};
    const float gap[4 * 2] = {1, 9, 1, 9, 1, 1, 1, 9};
    check(4, 2, action, second, gap, (int[]){0, 0, 0, 1, 1, 0, 1, 1});
}

/* A duplicate's own gaps count, not those of the candidate that it equals. */
static void own_gaps(void **state) {
    (void)state;
    int action[2 * 2] = {0, 0, 0, 0};
    const int second[2 * 2] = {1, 1, 2, 3};
    const float gap[2 * 2] = {1, 2, 2, 1};
    check(2, 2, action, second, gap, (int[]){0, 0, 0, 3});
}

/* ---- against all variants, written down and sorted ---- */

typedef struct {
    int pair, a, b;
    float cost;
} listed;

static int order(const void *x, const void *y) {
    const listed *p = x, *q = y;
    if (p->pair != q->pair) return p->pair - q->pair;
    if (p->cost != q->cost) return p->cost < q->cost ? -1 : 1;
    return p->a != q->a ? p->a - q->a : p->b - q->b;
}

static bool equal(const int *x, const int *y, int n) {
    return !memcmp(x, y, sizeof *x * (size_t)n);
}

static void search(int candidates, int n, int *action, const int *second, const float *gap) {
    for (int m = 1; m < candidates; m++) {
        int *own = action + m * n, count = 0;
        bool again = false;
        for (int k = 0; k < m; k++) again |= equal(action + k * n, own, n);
        if (!again) continue;
        listed all[AGENTS * AGENTS];
        for (int a = 0; a < n; a++) {
            if (second[m * n + a] < 0) continue;
            all[count++] = (listed){0, a, a, gap[m * n + a]};
            for (int b = a + 1; b < n; b++)
                if (second[m * n + b] >= 0) all[count++] = (listed){1, a, b, gap[m * n + a] + gap[m * n + b]};
        }
        qsort(all, (size_t)count, sizeof *all, order);
        for (int v = 0; v < count; v++) {
            int trial[AGENTS];
            bool used = false;
            memcpy(trial, own, sizeof *own * (size_t)n);
            trial[all[v].a] = second[m * n + all[v].a];
            trial[all[v].b] = second[m * n + all[v].b];
            for (int k = 0; k < candidates; k++) used |= equal(action + k * n, trial, n);
            if (used) continue;
            memcpy(own, trial, sizeof *own * (size_t)n);
            break;
        }
    }
}

/* Few actions and coarse gaps, so that ties and variants that are taken are frequent. */
static void against_search(void **state) {
    (void)state;
    enum { CASES = 20000 };
    mw_rng rng = mw_rng_make(1, MW_RNG_TEST, 0, 0, 0);
    long changed = 0, stayed = 0;
    for (int c = 0; c < CASES; c++) {
        const int m = 1 + (int)mw_rng_below(&rng, MOST), n = 1 + (int)mw_rng_below(&rng, AGENTS);
        int action[MOST * AGENTS], second[MOST * AGENTS], expected[MOST * AGENTS], before[MOST * AGENTS];
        float gap[MOST * AGENTS];
        for (int k = 0; k < m * n; k++) {
            action[k] = (int)mw_rng_below(&rng, 4) == 0;
            second[k] = mw_rng_below(&rng, 4) ? 2 + (int)mw_rng_below(&rng, 2) : -1;
            gap[k] = (float)mw_rng_below(&rng, 4);
        }
        memcpy(expected, action, sizeof action);
        memcpy(before, action, sizeof action);
        search(m, n, expected, second, gap);
        check(m, n, action, second, gap, expected);
        assert_true(equal(action, before, n)); /* the policy's own candidate */
        for (int k = 1; k < m; k++) {
            bool again = false;
            for (int j = 0; j < k; j++) again |= equal(before + j * n, before + k * n, n);
            assert_true(again || equal(action + k * n, before + k * n, n));
            changed += !equal(action + k * n, before + k * n, n);
            stayed += again && equal(action + k * n, before + k * n, n);
        }
    }
    print_message("%ld candidates gave way, %ld had no variant left\n", changed, stayed);
    assert_true(changed > CASES && stayed > CASES / 10);
}

/* ---- in the planner ---- */

enum { N = 3, O = 7, D = 4, ENVS = 4 };

static mw_bundle *bundle_of(bool discrete) {
    return random_bundle((mw_bundle_info){.task = "own",
                                          .rules = "own-1",
                                          .agents = N,
                                          .obs = O,
                                          .act = D,
                                          .discrete = discrete,
                                          .episode_limit = 50},
                         11);
}

static mw_planner *planner_of(const mw_bundle *bundle, bool distinct, int threads) {
    mw_planner *planner;
    mw_planner_options options;
    mw_error error;
    mw_planner_options_init(&options, sizeof options, bundle);
    options.envs = ENVS;
    options.threads = threads;
    options.plan.candidates = MOST;
    options.plan.distinct = distinct;
    CHECK_OK(mw_planner_create(&planner, bundle, &options, &error), error);
    return planner;
}

static int distinct_of(const mw_candidates *c) {
    const int plan = c->horizon * N * D;
    int count = 0;
    for (int m = 0; m < c->count; m++) {
        int k = 0;
        while (k < m && memcmp(c->actions + k * plan, c->actions + m * plan, N * D * sizeof(float))) k++;
        count += k == m;
    }
    return count;
}

/* More first actions differ, all of them legal; the first candidate, those that were the first of their kind
 * and all later steps are what they are without. On any number of threads, and nothing is allocated. */
static void planned(void **state) {
    (void)state;
    mw_bundle *bundle = bundle_of(true);
    int with = 0, without = 0;
    FOR_THREADS(threads) {
        mw_planner *plain = planner_of(bundle, false, threads), *varied = planner_of(bundle, true, threads);
        float obs[ENVS * N * O];
        uint8_t legal[ENVS * N * D];
        int32_t index[ENVS * N];
        mw_error error;
        for (int t = 0; t < 6; t++) {
            mw_rng rng = mw_rng_make(5, MW_RNG_TEST, (uint64_t)t, 0, 0);
            mw_rng_fill_normal(&rng, obs, ENVS * N * O);
            for (int i = 0; i < ENVS * N * D; i++) legal[i] = i % D == 0 || mw_rng_below(&rng, 3) > 0;
            CHECK_OK(mw_planner_act(plain, obs, legal, NULL, NULL, index, &error), error);
            const long before = allocations();
            CHECK_OK(mw_planner_act(varied, obs, legal, NULL, NULL, index, &error), error);
            assert_true(threads > 1 || allocations() == before);
            for (int e = 0; e < ENVS; e++) {
                const mw_candidates a = mw_planner_candidates(plain, e), b = mw_planner_candidates(varied, e);
                const int plan = a.horizon * N * D, first = N * D;
                assert_memory_equal(a.actions, b.actions, (size_t)plan * sizeof(float));
                for (int m = 0; m < MOST; m++) {
                    const float *x = a.actions + m * plan, *y = b.actions + m * plan;
                    int k = 0;
                    while (k < m && memcmp(a.actions + k * plan, x, (size_t)first * sizeof(float))) k++;
                    if (k == m) assert_memory_equal(x, y, (size_t)first * sizeof(float));
                    assert_memory_equal(x + first, y + first, (size_t)(plan - first) * sizeof(float));
                    for (int agent = 0; agent < N; agent++) {
                        float sum = 0;
                        for (int d = 0; d < D; d++) {
                            const float taken = y[agent * D + d];
                            sum += taken;
                            assert_true(taken == 0 || legal[(e * N + agent) * D + d]);
                        }
                        assert_true(sum == 1);
                    }
                }
                with += distinct_of(&b), without += distinct_of(&a);
            }
        }
        mw_planner_free(plain), mw_planner_free(varied);
    }
    print_message("different joint first actions: %d with, %d without\n", with, without);
    assert_true(with > without);
    mw_bundle_free(bundle);
}

static void real_actions(void **state) {
    (void)state;
    mw_bundle *bundle = bundle_of(false);
    mw_planner *planner;
    mw_planner_options options;
    mw_error error;
    mw_planner_options_init(&options, sizeof options, bundle);
    assert_false(options.plan.distinct);
    options.plan.action_offset = 0;
    options.plan.warm_start = false;
    assert_true(mw_plan_as_drawn(&options.plan));
    options.plan.distinct = true;
    assert_false(mw_plan_as_drawn(&options.plan));
    CHECK_FAILS(mw_planner_create(&planner, bundle, &options, &error), MW_ERR_ARGUMENT, error,
                "distinct is for discrete actions");
    mw_bundle_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_variants), cmocka_unit_test(ties),           cmocka_unit_test(drawn_ones_stay),
        cmocka_unit_test(own_gaps),     cmocka_unit_test(against_search), cmocka_unit_test(planned),
        cmocka_unit_test(real_actions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
