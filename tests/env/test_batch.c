/* A batch that plays on and on: every episode ends as it would alone, the next one begins in the same call
 * with the seed that follows, and the last sight of the old one is kept. */
#include "check.h"
#include "env/env.h"

enum { COUNT = 5, ROUNDS = 70, VALUES = 2048 };

typedef struct {
    mw_env_batch *batch;
    const mw_env_info *info;
    float real[COUNT * 64], rewards[COUNT * 16], obs[COUNT * VALUES], last_obs[COUNT * VALUES];
    int32_t index[COUNT * 16];
    uint8_t legal[COUNT * 512];
    uint64_t seeds[COUNT];
    mw_outcome outcomes[COUNT];
    mw_env_batch_arrays arrays;
} play;

static void play_create(play *p, const char *task, int threads) {
    mw_error error;
    *p = (play){0};
    CHECK_OK(mw_env_batch_create(&p->batch, task, NULL, COUNT, threads, &error), error);
    p->info = mw_env_describe(mw_env_batch_get(p->batch, 0));
    p->arrays = (mw_env_batch_arrays){
        .action = {p->info->discrete ? NULL : p->real, p->info->discrete ? p->index : NULL},
        .rewards = p->rewards,
        .outcomes = p->outcomes,
        .obs = p->obs,
        .legal = p->legal,
        .last_obs = p->last_obs,
        .seeds = p->seeds};
    for (int i = 0; i < COUNT; i++) p->seeds[i] = (uint64_t)(40 + i);
    mw_env_batch_reset(p->batch, p->seeds, NULL, p->obs, p->legal);
}

static void play_round(play *p) {
    mw_error error;
    CHECK_OK(mw_env_batch_script(p->batch, "random", p->seeds, (float *)p->arrays.action.real,
                                 (int32_t *)p->arrays.action.index, &error),
             error);
    CHECK_OK(mw_env_batch_advance(p->batch, &p->arrays, &error), error);
}

/* Environment i of the batch against one that is stepped and reset by hand. */
static void follow(const play *p, int i, mw_env *alone, uint64_t *seed) {
    const size_t o = (size_t)(p->info->agents * p->info->obs_size), n = (size_t)p->info->agents;
    const size_t d = (size_t)(p->info->agents * p->info->act_size), at = (size_t)i;
    mw_action action = {p->arrays.action.real ? p->arrays.action.real + at * d : NULL,
                        p->arrays.action.index ? p->arrays.action.index + at * n : NULL};
    float rewards[16], obs[VALUES];
    uint8_t legal[512];
    mw_outcome outcome;
    mw_error error;
    CHECK_OK(mw_env_step(alone, action, rewards, &outcome, &error), error);
    assert_memory_equal(rewards, p->rewards + at * n, n * sizeof *rewards);
    assert_memory_equal(&outcome.step, &p->outcomes[i].step, sizeof outcome.step);
    if (outcome.terminated || outcome.truncated) {
        mw_env_observe(alone, obs);
        assert_memory_equal(obs, p->last_obs + at * o, o * sizeof *obs);
        mw_env_reset(alone, *seed += COUNT);
    }
    mw_env_observe(alone, obs);
    mw_env_legal(alone, legal);
    assert_memory_equal(obs, p->obs + at * o, o * sizeof *obs);
    assert_memory_equal(legal, p->legal + at * d, d);
    assert_int_equal(p->seeds[i], *seed);
}

static void plays_on(void **state) {
    (void)state;
    static play p;
    static const char *const tasks[] = {"spread", "3m"};
    for (size_t t = 0; t < 2; t++) {
        for (int threads = 1; threads <= 3; threads++) {
            mw_env *alone;
            mw_error error;
            uint64_t seed = 40 + 3;
            int ended = 0;
            play_create(&p, tasks[t], threads);
            CHECK_OK(mw_env_create(&alone, tasks[t], NULL, &error), error);
            mw_env_reset(alone, seed);
            for (int round = 0; round < ROUNDS; round++) {
                play_round(&p);
                follow(&p, 3, alone, &seed);
                ended += p.arrays.ended;
            }
            assert_true(ended >= COUNT && seed > 43);
            mw_env_free(alone);
            mw_env_batch_free(p.batch);
        }
    }
}

static void stays_without_seeds(void **state) {
    (void)state;
    static play p;
    mw_error error;
    play_create(&p, "spread", 1);
    for (int round = 0; round < p.info->episode_limit; round++) {
        if (round == 1) p.arrays.seeds = NULL;
        play_round(&p);
    }
    assert_int_equal(p.arrays.ended, COUNT);
    CHECK_FAILS(mw_env_batch_advance(p.batch, &p.arrays, &error), MW_ERR_ARGUMENT, error,
                "environment 0: spread");
    p.arrays.rewards = NULL;
    CHECK_FAILS(mw_env_batch_advance(p.batch, &p.arrays, &error), MW_ERR_ARGUMENT, error, "rewards");
    CHECK_FAILS(mw_env_batch_advance(p.batch, NULL, &error), MW_ERR_ARGUMENT, error, "arrays");
    mw_env_batch_free(p.batch);
}

/* What is refused in one environment hides no end of the others. */
static void refuses_one(void **state) {
    (void)state;
    static play p;
    mw_error error;
    play_create(&p, "spread", 1);
    for (int round = 0; round + 1 < p.info->episode_limit; round++) play_round(&p);
    const uint64_t seed = p.arrays.seeds[0];
    CHECK_OK(mw_env_batch_script(p.batch, "random", p.arrays.seeds, p.real, NULL, &error), error);
    p.real[2 * p.info->agents * p.info->act_size] = NAN; /* of environment 2 */
    CHECK_FAILS(mw_env_batch_advance(p.batch, &p.arrays, &error), MW_ERR_ARGUMENT, error, "environment 2");
    assert_int_equal(p.arrays.ended, COUNT - 1);
    assert_true(p.arrays.seeds[0] != seed);
    mw_env_batch_free(p.batch);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(plays_on), cmocka_unit_test(stays_without_seeds),
                                       cmocka_unit_test(refuses_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
