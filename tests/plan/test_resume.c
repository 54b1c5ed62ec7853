/* What a planner remembers as bytes and back: identical bits from there on, other settings, another candidate
 * taken, bytes that are wrong; and the routes of a decision. */
#include "plan/planner_state.h"
#include "random_bundle.h"

enum { N = 3, O = 7, D = 4, STEPS = 8, CUT = 3 };

static mw_bundle *bundle_of(bool discrete) {
    const mw_bundle_info info = {.task = "own",
                                 .rules = "own-1",
                                 .agents = N,
                                 .obs = O,
                                 .act = D,
                                 .discrete = discrete,
                                 .episode_limit = 50};
    return random_bundle(info, 11);
}

static mw_planner *planner_of(const mw_bundle *bundle, int candidates, int horizon) {
    mw_error error;
    mw_planner *planner;
    mw_planner_options options;
    mw_planner_options_init(&options, sizeof options, bundle);
    options.threads = 1;
    options.plan.candidates = candidates;
    options.plan.horizon = horizon;
    CHECK_OK(mw_planner_create(&planner, bundle, &options, &error), error);
    mw_planner_begin(planner, 0, 77, NULL);
    return planner;
}

/* Steps [from, STEPS) with observations that are a function of the step; actions go to out[STEPS][N * D]. */
static void play(mw_planner *planner, bool discrete, int from, int to, float *out) {
    mw_error error;
    for (int t = from; t < to; t++) {
        float obs[N * O], real[N * D] = {0};
        int32_t index[N];
        mw_rng rng = mw_rng_make(5, MW_RNG_TEST, (uint64_t)t, 0, 0);
        mw_rng_fill_normal(&rng, obs, N * O);
        CHECK_OK(mw_planner_act(planner, obs, NULL, NULL, real, index, &error), error);
        for (int a = 0; discrete && a < N; a++) real[a * D + index[a]] = 1;
        memcpy(out + t * N * D, real, sizeof real);
        mw_planner_reward(planner, 0, 0.5f, NULL);
    }
}

static void same_bits_from_there_on(void **state) {
    (void)state;
    for (int discrete = 0; discrete < 2; discrete++) {
        mw_error error;
        mw_bundle *bundle = bundle_of(discrete);
        bundle->plan.return_to_go = true;
        mw_planner *planner = planner_of(bundle, 4, 4), *other = planner_of(bundle, 4, 4);
        float first[STEPS * N * D], again[STEPS * N * D];
        const size_t size = mw_planner_snapshot_size(planner);
        void *bytes = malloc(size);
        play(planner, discrete, 0, CUT, first);
        mw_planner_snapshot(planner, 0, bytes);
        play(planner, discrete, CUT, STEPS, first);
        CHECK_OK(mw_planner_restore(other, 0, bytes, size, &error), error);
        memcpy(again, first, CUT * N * D * sizeof *first);
        play(other, discrete, CUT, STEPS, again);
        assert_memory_equal(again, first, sizeof first);
        mw_planner *wider = planner_of(bundle, 6, 2); /* other settings know the history too */
        CHECK_OK(mw_planner_restore(wider, 0, bytes, size, &error), error);
        play(wider, discrete, CUT, CUT + 1, again);
        float fresh[STEPS * N * D];
        mw_planner_begin(wider, 0, 77, NULL);
        play(wider, discrete, CUT, CUT + 1, fresh);
        if (!discrete)
            assert_memory_not_equal(again + CUT * N * D, fresh + CUT * N * D, N * D * sizeof *fresh);
        free(bytes);
        mw_planner_free(planner);
        mw_planner_free(other);
        mw_planner_free(wider);
        mw_bundle_free(bundle);
    }
}

static void another_is_taken(void **state) {
    (void)state;
    for (int discrete = 0; discrete < 2; discrete++) {
        mw_error error;
        mw_bundle *bundle = bundle_of(discrete);
        mw_planner *planner = planner_of(bundle, 4, 4);
        float out[STEPS * N * D], real[N * D] = {0};
        int32_t index[N];
        CHECK_FAILS(mw_planner_take(planner, 0, 1, real, index, &error), MW_ERR_ARGUMENT, error,
                    "no decision");
        play(planner, discrete, 0, 1, out);
        for (int m = 0; m < 4; m++) {
            CHECK_OK(mw_planner_take(planner, 0, m, real, index, &error), error);
            const mw_candidates seen = mw_planner_candidates(planner, 0);
            assert_int_equal(seen.chosen, m);
            const float *action = seen.actions + m * 4 * N * D;
            if (!discrete) assert_memory_equal(real, action, sizeof real);
            for (int a = 0; discrete && a < N; a++) assert_true(action[a * D + index[a]] > 0);
        }
        CHECK_FAILS(mw_planner_take(planner, 0, 4, real, index, &error), MW_ERR_ARGUMENT, error, "0 to 3");
        CHECK_FAILS(mw_planner_take(planner, 1, 0, real, index, &error), MW_ERR_ARGUMENT, error,
                    "environment 1");
        CHECK_FAILS(mw_planner_take(planner, 0, 0, NULL, NULL, &error), MW_ERR_ARGUMENT, error, "no room");
        mw_planner_free(planner);
        mw_bundle_free(bundle);
    }
}

/* What is taken is what the next decision starts warm from. */
static void the_rest_is_of_what_was_taken(void **state) {
    (void)state;
    mw_error error;
    mw_bundle *bundle = bundle_of(false);
    mw_planner *planner = planner_of(bundle, 4, 4);
    float out[STEPS * N * D], real[N * D], rest[3 * N * D];
    play(planner, false, 0, 1, out);
    const int other = (mw_planner_candidates(planner, 0).chosen + 1) % 4;
    CHECK_OK(mw_planner_take(planner, 0, other, real, NULL, &error), error);
    memcpy(rest, mw_planner_candidates(planner, 0).actions + (other * 4 + 1) * N * D, sizeof rest);
    play(planner, false, 1, 2, out);
    assert_memory_equal(mw_planner_candidates(planner, 0).actions + 3 * 4 * N * D, rest, sizeof rest);
    mw_planner_free(planner);
    mw_bundle_free(bundle);
}

/* With a deadline a decision may have time for a single candidate: the plan goes on in the next. */
static void warm_after_a_single_candidate(void **state) {
    (void)state;
    mw_bundle *bundle = bundle_of(false);
    mw_planner *planner = planner_of(bundle, 4, 4);
    float out[STEPS * N * D], rest[3 * N * D];
    play(planner, false, 0, 1, out);
    planner->drawn = 1;
    play(planner, false, 1, 2, out);
    memcpy(rest, mw_planner_candidates(planner, 0).actions + N * D, sizeof rest);
    planner->drawn = 4;
    play(planner, false, 2, 3, out);
    assert_memory_equal(mw_planner_candidates(planner, 0).actions + 3 * 4 * N * D, rest, sizeof rest);
    mw_planner_free(planner);
    mw_bundle_free(bundle);
}

static void wrong_bytes(void **state) {
    (void)state;
    mw_error error;
    mw_bundle *bundle = bundle_of(false);
    mw_planner *planner = planner_of(bundle, 2, 4);
    float out[STEPS * N * D];
    play(planner, false, 0, 2, out);
    const size_t size = mw_planner_snapshot_size(planner);
    unsigned char *bytes = malloc(size), *wrong = malloc(size);
    mw_planner_snapshot(planner, 0, bytes);
    CHECK_FAILS(mw_planner_restore(planner, 1, bytes, size, &error), MW_ERR_ARGUMENT, error, "0 to 0");
    CHECK_FAILS(mw_planner_restore(planner, 0, bytes, 8, &error), MW_ERR_FORMAT, error, "8 bytes");
    CHECK_FAILS(mw_planner_restore(planner, 0, bytes, size - 4, &error), MW_ERR_FORMAT, error, "ask for");
    memcpy(wrong, bytes, size);
    wrong[0] = 'x';
    CHECK_FAILS(mw_planner_restore(planner, 0, wrong, size, &error), MW_ERR_FORMAT, error, "not a planner's");
    memcpy(wrong, bytes, size);
    memset(wrong + size - sizeof(float), 0xFF, sizeof(float));
    CHECK_FAILS(mw_planner_restore(planner, 0, wrong, size, &error), MW_ERR_FORMAT, error, "out of range");
    const float far = 2; /* no action */
    memcpy(wrong + size - sizeof far, &far, sizeof far);
    CHECK_FAILS(mw_planner_restore(planner, 0, wrong, size, &error), MW_ERR_FORMAT, error, "out of range");
    for (size_t at = 0; at < 48; at++) { /* any byte of the head: taken or refused, nothing else */
        memcpy(wrong, bytes, size);
        wrong[at] ^= 0x81;
        if (mw_planner_restore(planner, 0, wrong, size, &error) == MW_OK) play(planner, false, 2, 3, out);
    }
    free(bytes);
    free(wrong);
    mw_planner_free(planner);
    mw_bundle_free(bundle);
}

static void routes(void **state) {
    (void)state;
    mw_error error;
    mw_bundle *bundle = bundle_of(false);
    mw_routes *routes;
    float obs[N * O], action[N * D], mass[N * 3], second[N * 3];
    CHECK_OK(mw_routes_create(&routes, bundle, &error), error);
    assert_int_equal(mw_routes_experts(routes), 3);
    mw_rng rng = mw_rng_make(6, MW_RNG_TEST, 0, 0, 0);
    mw_rng_fill_normal(&rng, obs, N * O);
    mw_rng_fill_normal(&rng, action, N * D);
    mw_routes_look(routes, obs, action, mass);
    for (int a = 0; a < N; a++) CHECK_NEAR(mass[3 * a] + mass[3 * a + 1] + mass[3 * a + 2], 1, 1e-5);
    action[0] += 2;
    mw_routes_look(routes, obs, action, second);
    assert_memory_not_equal(mass, second, sizeof mass);
    mw_routes_free(routes);
    mw_routes_free(NULL);
    mw_bundle_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits_from_there_on),
                                       cmocka_unit_test(another_is_taken),
                                       cmocka_unit_test(the_rest_is_of_what_was_taken),
                                       cmocka_unit_test(warm_after_a_single_candidate),
                                       cmocka_unit_test(wrong_bytes),
                                       cmocka_unit_test(routes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
