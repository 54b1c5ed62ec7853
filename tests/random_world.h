/* Recorded episodes of random numbers, in memory, for tests of what learns from them. */
#ifndef MW_TESTS_RANDOM_WORLD_H
#define MW_TESTS_RANDOM_WORLD_H

#include "check.h"
#include "core/rng.h"
#include "data/dataset.h"

enum { N = 2, O = 3, D = 2, EPISODES = 6, LENGTH = 16, STEPS = EPISODES * LENGTH, JOINT = N * O };

/* Episodes of random numbers that their limit cut. */
typedef struct {
    float obs[STEPS * JOINT], last_obs[EPISODES * JOINT], acts[STEPS * N * D], rewards[STEPS * N];
    int64_t lengths[EPISODES], offsets[EPISODES + 1];
    uint8_t outcomes[EPISODES];
    mw_dataset dataset;
} world;

static inline void world_fill(world *w) {
    mw_rng rng = mw_rng_make(1, MW_RNG_TEST, 2, 3, 4);
    *w = (world){0};
    mw_rng_fill_normal(&rng, w->obs, STEPS * JOINT);
    mw_rng_fill_normal(&rng, w->last_obs, EPISODES * JOINT);
    mw_rng_fill_normal(&rng, w->rewards, STEPS * N);
    for (int i = 0; i < STEPS * N * D; i++) w->acts[i] = 2 * mw_rng_float(&rng) - 1;
    for (int e = 0; e < EPISODES; e++) {
        w->lengths[e] = LENGTH;
        w->offsets[e + 1] = w->offsets[e] + LENGTH;
        w->outcomes[e] = MW_ENDED_BY_LIMIT;
    }
    w->dataset = (mw_dataset){.spec = {.agents = N, .obs_size = O, .act_size = D, .episode_limit = LENGTH},
                              .episodes = EPISODES,
                              .steps = STEPS,
                              .obs = w->obs,
                              .last_obs = w->last_obs,
                              .real = w->acts,
                              .rewards = w->rewards,
                              .outcomes = w->outcomes,
                              .lengths = w->lengths,
                              .offsets = w->offsets};
}

#endif
