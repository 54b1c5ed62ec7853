/* Anchors: states of play at which candidates or actions are tried out in the simulator. One walk finds them
 * for every diagnosis. */
#ifndef MW_EVAL_ANCHORS_H
#define MW_EVAL_ANCHORS_H

#include "eval/worlds.h"
#include "plan/planner.h"

enum { MW_ANCHORS_AT_ONCE = 16, MW_ANCHORS_OF_EPISODE = 8 }; /* at most */

/* Anchors reached at one decision: the planner has drawn its candidates there. */
typedef struct mw_anchors {
    const mw_worlds *worlds;
    const mw_planner *planner;
    int count;
    int envs[MW_ANCHORS_AT_ONCE];      /* [count], ascending */
    long episodes[MW_ANCHORS_AT_ONCE]; /* [count]: played in them */
} mw_anchors;

/* Fails to end the walk. */
typedef mw_status mw_anchors_visit(void *context, const mw_anchors *anchors, mw_error *error);

typedef struct mw_anchor_options {
    const mw_bundle *bundle;
    const mw_plan_settings *plan;
    const mw_env_options *world;
    bool accept_rules;
    bool planned;             /* the planner chooses; otherwise its first candidate plays: the policy's own */
    int anchors, per_episode; /* wanted; at distinct random steps of an episode's first 200 */
    int ahead;                /* steps that the limit of an episode leaves after an anchor */
    bool play_out;            /* visits the last episodes' other anchors too */
    uint64_t seed, purpose;   /* of the episodes; walks of other purposes stop at other steps of them */
    mw_pool *pool;
    const mw_stop_flag *stop; /* may be NULL */
    mw_anchors_visit *visit;
    void *context;
} mw_anchor_options;

typedef struct mw_anchor_walk mw_anchor_walk;

/* What the options point to must outlive the walk. */
mw_status mw_anchor_walk_create(mw_anchor_walk **walk, const mw_anchor_options *options, mw_error *error);
void mw_anchor_walk_free(mw_anchor_walk *walk);
const mw_worlds *mw_anchor_walk_worlds(const mw_anchor_walk *walk);

/* Once. The same anchors for any number of threads. */
mw_status mw_anchor_walk_run(mw_anchor_walk *walk, mw_error *error);

#endif
