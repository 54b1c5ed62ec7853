/* Transitions with what follows them, against the rules in words: which steps a method may learn from, and
 * what stands where an episode ended. */
#include "check.h"
#include "data/transition.h"

enum { N = 2, O = 2, D = 3, STEPS = 7 };

/* Episode 0: three steps, ended by the world; episode 1: four, cut by the limit. */
static float obs[STEPS * N * O], rewards[STEPS * N], last_obs[2 * N * O];
static int32_t choices[STEPS * N];
static uint8_t legal[STEPS * N * D], outcomes[2] = {MW_ENDED_BY_WORLD, MW_ENDED_BY_LIMIT};
static int64_t lengths[2] = {3, 4}, offsets[3] = {0, 3, 7};

static mw_dataset data_of(bool knows_last) {
    for (int i = 0; i < STEPS * N * O; i++) obs[i] = (float)i;
    for (int i = 0; i < 2 * N * O; i++) last_obs[i] = 1000 + (float)i;
    for (int i = 0; i < STEPS * N; i++) {
        rewards[i] = (float)(1 << i % 8) + (float)(i / 8);
        choices[i] = i % D;
        for (int k = 0; k < D; k++) legal[i * D + k] = (i + k) % 2 == 0 || k == i % D;
    }
    return (mw_dataset){.spec = {.agents = N, .obs_size = O, .act_size = D, .discrete = true},
                        .episodes = 2,
                        .steps = STEPS,
                        .obs = obs,
                        .index = choices,
                        .legal = legal,
                        .rewards = rewards,
                        .last_obs = knows_last ? last_obs : NULL,
                        .outcomes = outcomes,
                        .lengths = lengths,
                        .offsets = offsets};
}

static void steps_to_learn_from(void **state) {
    (void)state;
    static const struct {
        bool knows_last;
        mw_transition_need need;
        int64_t count;
    } cases[] = {{true, MW_NEED_STEP, 7},        {false, MW_NEED_STEP, 7},
                 {true, MW_NEED_NEXT_OBS, 7},    {false, MW_NEED_NEXT_OBS, 6},
                 {true, MW_NEED_NEXT_ACTION, 6}, {false, MW_NEED_NEXT_ACTION, 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mw_dataset d = data_of(cases[i].knows_last);
        mw_episode_set all, set;
        mw_error error;
        CHECK_OK(mw_episode_set_all(&all, &d, &error), error);
        CHECK_OK(mw_transition_set(&set, &d, &all, cases[i].need, &error), error);
        assert_int_equal(set.transitions, cases[i].count);
        mw_episode_set_free(&set);
        mw_episode_set_free(&all);
    }
}

typedef struct {
    float obs[N * O], next_obs[N * O], act[N * D], next_act[N * D], reward[N], end, to_go[N], whole[N];
    int32_t index[N], next_index[N];
    uint8_t legal[N * D], next_legal[N * D];
} row;

static row take(const mw_dataset *d, long episode, long t) {
    row r;
    memset(&r, 0x55, sizeof r); /* what is not written shows */
    mw_transition_take(&(mw_transition){.obs = r.obs,
                                        .next_obs = r.next_obs,
                                        .act = r.act,
                                        .next_act = r.next_act,
                                        .index = r.index,
                                        .next_index = r.next_index,
                                        .legal = r.legal,
                                        .next_legal = r.next_legal,
                                        .reward = r.reward,
                                        .end = &r.end,
                                        .to_go = r.to_go,
                                        .episode_return = r.whole},
                       d, (mw_place){episode, t});
    return r;
}

static void what_follows(void **state) {
    (void)state;
    const mw_dataset d = data_of(true);
    static const float no_obs[N * O];
    static const uint8_t none[N * D];
    row r = take(&d, 0, 1); /* in the middle */
    assert_memory_equal(r.obs, obs + 1 * N * O, sizeof r.obs);
    assert_memory_equal(r.next_obs, obs + 2 * N * O, sizeof r.next_obs);
    assert_memory_equal(r.legal, legal + 1 * N * D, sizeof r.legal);
    assert_memory_equal(r.next_legal, legal + 2 * N * D, sizeof r.next_legal);
    for (int i = 0; i < N; i++) {
        assert_int_equal(r.index[i], choices[N + i]);
        assert_int_equal(r.next_index[i], choices[2 * N + i]);
        for (int k = 0; k < D; k++) {
            assert_true(r.act[i * D + k] == (k == choices[N + i]));
            assert_true(r.next_act[i * D + k] == (k == choices[2 * N + i]));
        }
        assert_true(r.to_go[i] == rewards[N + i] + rewards[2 * N + i]);
        assert_true(r.whole[i] == rewards[i] + rewards[N + i] + rewards[2 * N + i]);
    }
    assert_true(r.end == 0);
    r = take(&d, 0, 2); /* the world ended the episode with it */
    assert_true(r.end == 1);
    assert_memory_equal(r.next_obs, no_obs, sizeof no_obs);
    assert_memory_equal(r.next_legal, none, sizeof none);
    for (int i = 0; i < N; i++) assert_true(r.to_go[i] == rewards[2 * N + i] && r.next_index[i] == 0);
    r = take(&d, 1, 3); /* the limit cut it off: there is more, which nobody saw but for the observation */
    assert_true(r.end == 0);
    assert_memory_equal(r.next_obs, last_obs + N * O, sizeof r.next_obs);
    assert_memory_equal(r.next_legal, none, sizeof none);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_to_learn_from),
        cmocka_unit_test(what_follows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
