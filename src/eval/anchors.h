/* Anchors: states of reactive play at which candidates or actions are tried out in the simulator. */
#ifndef MW_EVAL_ANCHORS_H
#define MW_EVAL_ANCHORS_H

#include "eval/worlds.h"
#include "plan/planner.h"

/* Environment `env` of the worlds is at an anchor, and the planner has drawn its candidates there. */
typedef struct mw_anchor {
    const mw_worlds *worlds;
    const mw_planner *planner;
    int env;
} mw_anchor;

/* Fails to end the walk. */
typedef mw_status mw_anchor_visit(void *context, const mw_anchor *anchor, mw_error *error);

/* Visits `count` anchors one after the other: at distinct random steps (of the first 200) of episodes in
 * which the first of the plan's candidates plays. The same anchors for any number of threads. */
mw_status mw_anchors_walk(const mw_bundle *bundle, const mw_plan_settings *plan, const mw_env_options *world,
                          int count, uint64_t seed, mw_pool *pool, mw_anchor_visit *visit, void *context,
                          mw_error *error);

#endif
