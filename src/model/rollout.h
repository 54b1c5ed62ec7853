/* Scoring by imagination, the same for every world model: candidates are rolled out step by step, and the sum
 * over steps and agents of predicted rewards is their score. */
#ifndef MW_MODEL_ROLLOUT_H
#define MW_MODEL_ROLLOUT_H

#include "model/model.h"

/* One step, called by every worker of a run: next[count][n][o] and reward[count][n] from obs and act.
 * Afterwards a worker may touch its share of the rows (as mw_pool_share gives it) until the next call. */
typedef void mw_rollout_step(void *work, const float *obs, const float *act, float *next, float *reward,
                             int count, int worker);

/* What a rollout needs to know of a world model. */
typedef struct mw_rollout_world {
    mw_model_shape shape;
    void *work; /* becomes the scorer's */
    size_t bytes;
    mw_rollout_step *step;
    void (*free)(void *work);
} mw_rollout_world;

/* At most max_rows candidates are rolled out together; more are scored in pieces. The work is freed also
 * after a failure. */
mw_status mw_rollout_scorer_create(mw_scorer **scorer, const mw_scorer_class *kind,
                                   const mw_rollout_world *world, int max_rows, mw_pool *pool,
                                   mw_error *error);
mw_status mw_rollout_score(mw_scorer *scorer, const mw_scoring *scoring, mw_error *error);
size_t mw_rollout_bytes(const mw_scorer *scorer);
void mw_rollout_destroy(mw_scorer *scorer);

#endif
