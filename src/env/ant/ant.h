/* Multi-agent Ant: one four-legged body whose joints are divided among agents. A task is a split, a row of
 * the table in layout.c; from it follow the action map and the observation of every agent. Below the class
 * stands the double precision interface that the checks against recorded trajectories use. */
#ifndef MW_ENV_ANT_ANT_H
#define MW_ENV_ANT_ANT_H

#include "env/ant/engine.h"
#include "env/env.h"

enum {
    MW_ANT_QPOS = 15, /* torso position 3, torso quaternion 4, then hip and ankle of legs 1-4 */
    MW_ANT_QVEL = 14, /* torso linear 3, torso angular 3, joints as above */
    MW_ANT_CTRL = 8,  /* hip and ankle of legs 4, 1, 2, 3 */
    MW_ANT_TORSO = 1, /* its body */
    MW_ANT_MOST_AGENTS = 4,
    MW_ANT_MOST_OBS = 64,
};

#define MW_ANT_STEP_TIME 0.05 /* seconds: 5 sub-steps of 0.01 */

/* A split: which joints each agent drives, in the order of its action values. Joints are named by their
 * number in the model. */
#define MW_ANT_HIP(leg)   (2 * (leg)-1)
#define MW_ANT_ANKLE(leg) (2 * (leg))
typedef struct mw_ant_split {
    const char *task, *summary;
    int agents, act_size;
    int joints[MW_ANT_MOST_AGENTS][MW_ANT_CTRL];
} mw_ant_split;

extern const mw_ant_split mw_ant_splits[]; /* ends with a NULL task */

/* Where an observation value comes from. */
typedef enum mw_ant_source { MW_ANT_CONSTANT, MW_ANT_FROM_QPOS, MW_ANT_FROM_QVEL } mw_ant_source;
typedef struct mw_ant_slot {
    mw_ant_source source;
    int index; /* into qpos or qvel; or the constant itself */
} mw_ant_slot;

typedef struct mw_ant_layout {
    int obs_size;
    mw_ant_slot slots[MW_ANT_MOST_AGENTS][MW_ANT_MOST_OBS];
    int ctrl[MW_ANT_MOST_AGENTS][MW_ANT_CTRL]; /* action value -> control */
    mw_feature features[MW_ANT_MOST_OBS];
} mw_ant_layout;

mw_status mw_ant_layout_build(mw_ant_layout *layout, const mw_ant_split *split, const mjModel *physics,
                              mw_error *error);

/* mw_env.model */
typedef struct mw_ant {
    const mw_ant_split *split;
    const mjModel *physics;
    char rules[48];
    mw_ant_layout layout;
} mw_ant;

/* mw_env.state */
typedef struct mw_ant_state {
    mjData *data;
    double torso_x; /* as the last step's reward read it; see mw_ant_advance */
} mw_ant_state;

int mw_ant_draw(const mw_env *env, mw_shape *shapes, int capacity);
extern const mw_script mw_ant_scripts[];

/* ---- double precision, for checks ---- */

typedef struct mw_ant_result {
    double reward, forward; /* team reward; its velocity part */
    bool terminated;
} mw_ant_result;

/* Puts the ant into a recorded state: qpos[15], qvel[14], the torso x that the next reward starts from, and
 * no warm start for the solver. */
void mw_ant_set(mw_env *env, const double *qpos, const double *qvel, double torso_x);
/* One step of 5 sub-steps under ctrl[8]; ignores and leaves the episode's count and end. */
mw_ant_result mw_ant_advance(mw_env *env, const double *ctrl);
void mw_ant_observe(const mw_env *env, double *obs); /* obs[n][o] */

#endif
