/* The planner, step by step: candidates, scores, choice. The public functions in mawam/plan.h go through all
 * of it; evaluation and tests use the steps one by one, for example to score candidates in the true
 * simulator.
 */
#ifndef MW_PLAN_PLANNER_H
#define MW_PLAN_PLANNER_H

#include "plan/bundle.h"

enum { MW_PLANNER_ROWS = 65536 }; /* candidates of all environments, at most */

/* 1. Draws M candidates for every active environment from obs[envs][n][o]; legal[envs][n][d] (NULL: all)
 * binds the first action. The histories take in obs. active[envs] may be NULL: all. */
mw_status mw_planner_propose(mw_planner *planner, const float *obs, const uint8_t *legal,
                             const uint8_t *active, mw_error *error);

/* 2. Fills the scores of all candidates; where the plan recombines, some of those are new afterwards. */
mw_status mw_planner_score(mw_planner *planner, mw_error *error);

/* Scores and candidate actions of one environment, to be read or overwritten before choosing: scores[M],
 * actions[M][H][n][d] (one-hot if discrete). */
float *mw_planner_scores(mw_planner *planner, int env);
const float *mw_planner_actions(const mw_planner *planner, int env);

/* 3. Picks a candidate in every environment that proposed by the plan's rule and writes its first joint
 * action: the highest score, the lowest index among equals, a non-finite score only if there is no other. */
void mw_planner_choose(mw_planner *planner, float *real, int32_t *index);

/* Seconds spent in the steps of the last decision. */
typedef struct mw_planner_times {
    double generate, score;
} mw_planner_times;
mw_planner_times mw_planner_last_times(const mw_planner *planner);

#endif
