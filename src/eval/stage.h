/* A stage: environments of a bundle's own task, advanced together so that one planner decides for all of
 * them in one batch. Evaluation and diagnostics play on it. */
#ifndef MW_EVAL_STAGE_H
#define MW_EVAL_STAGE_H

#include "core/pool.h"
#include "env/env.h"
#include "plan/planner.h"

typedef struct mw_stage {
    const mw_env_info *info;
    int count;
    mw_env **envs;    /* [count] */
    uint8_t *active;  /* [count]: plays an episode */
    float *obs;       /* [count][n][o] */
    uint8_t *legal;   /* [count][n][d] */
    float *real;      /* [count][n][d] or NULL */
    int32_t *index;   /* [count][n] or NULL */
    float *rewards;   /* [count][n] */
    mw_outcome *last; /* [count]: of the last step */
    mw_error *errors; /* [count] */
    mw_pool *pool;
} mw_stage;

/* Fails with MW_ERR_MISMATCH unless the bundle was made for this world: sizes, kind of actions and version of
 * the rules. */
mw_status mw_bundle_expect(const mw_bundle *bundle, const mw_env_info *info, mw_error *error);

/* The pool steps the environments; it must outlive the stage. */
mw_status mw_stage_create(mw_stage *stage, const mw_bundle *bundle, const mw_env_options *world, int count,
                          mw_pool *pool, mw_error *error);
void mw_stage_free(mw_stage *stage); /* safe to call twice */

/* The world and the planner's noise of an evaluation episode: pure functions of seed and episode, and so the
 * same for every arm. The world is the one `mawam env play --seed` plays. */
typedef struct mw_episode_seeds {
    uint64_t world, planner;
} mw_episode_seeds;
mw_episode_seeds mw_episode_seeds_of(uint64_t seed, long episode);

/* Starts an episode in environment e, for the planner too. */
void mw_stage_begin(mw_stage *stage, mw_planner *planner, int e, mw_episode_seeds seeds);

/* Steps all active environments with the actions in real or index, observes, and tells the planner what was
 * earned. */
mw_status mw_stage_step(mw_stage *stage, mw_planner *planner, mw_error *error);

double mw_stage_reward(const mw_stage *stage, int e); /* of the last step: mean over agents */
bool mw_stage_over(const mw_stage *stage, int e);     /* its episode has ended */

#endif
