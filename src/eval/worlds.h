/* Environments of a bundle's own task, advanced together so that one controller decides for all of them in
 * one batch. Evaluation, replays and diagnostics play in them. */
#ifndef MW_EVAL_WORLDS_H
#define MW_EVAL_WORLDS_H

#include "core/pool.h"
#include "eval/controller.h"

typedef struct mw_worlds {
    const mw_env_info *info;
    int count;
    mw_env_batch *batch;
    mw_env **envs;    /* [count]: the batch's */
    uint8_t *active;  /* [count]: plays an episode */
    float *obs;       /* [count][n][o] */
    uint8_t *legal;   /* [count][n][d] */
    float *real;      /* [count][n][d] or NULL */
    int32_t *index;   /* [count][n] or NULL */
    float *rewards;   /* [count][n] */
    mw_outcome *last; /* [count]: of the last step */
} mw_worlds;

/* Fails with MW_ERR_MISMATCH unless the bundle was made for this world: sizes, kind of actions and, unless
 * others are accepted, version of the rules. */
mw_status mw_bundle_expect(const mw_bundle *bundle, const mw_env_info *info, bool accept_rules,
                           mw_error *error);

/* The pool steps the environments; it must outlive them. */
mw_status mw_worlds_create(mw_worlds *worlds, const mw_bundle *bundle, const mw_env_options *options,
                           bool accept_rules, int count, mw_pool *pool, mw_error *error);
void mw_worlds_free(mw_worlds *worlds); /* safe to call twice */

/* The world and the controller's noise of an evaluation episode: pure functions of seed and episode, and so
 * the same for every arm. The world is the one `mawam env play --seed` plays. */
typedef struct mw_episode_seeds {
    uint64_t world, controller;
} mw_episode_seeds;
mw_episode_seeds mw_episode_seeds_of(uint64_t seed, long episode);

/* Starts an episode in environment e, for the controller too (NULL: the caller sees to that). */
void mw_worlds_begin(mw_worlds *worlds, mw_controller *controller, int e, mw_episode_seeds seeds);

/* Steps all active environments with the actions in real or index, observes, and tells the controller what
 * was earned. */
mw_status mw_worlds_step(mw_worlds *worlds, mw_controller *controller, mw_error *error);

double mw_worlds_reward(const mw_worlds *worlds, int e); /* of the last step: mean over agents */
bool mw_worlds_over(const mw_worlds *worlds, int e);     /* its episode has ended */

#endif
