/* A behaviour: the policies that collect one dataset, with their exploration noise, in one safetensors file.
 * Usually one policy; medium-replay is a ladder of snapshots that take turns. Weights are stored in half
 * precision. */
#ifndef MW_BEHAVIOR_BEHAVIOR_H
#define MW_BEHAVIOR_BEHAVIOR_H

#include "mawam/behavior.h"
#include "behavior/actor.h"

typedef struct mw_behavior {
    char task[24], rules[64], quality[24];
    char origin[256]; /* how it was made, for people */
    float noise;      /* see mw_actor_draw_real and mw_actor_draw_index */
    int count;
    double steps[MW_BEHAVIOR_MOST_ACTORS]; /* of learning behind each policy */
    mw_actor actor[MW_BEHAVIOR_MOST_ACTORS];
} mw_behavior;

/* All actors have the shape of the first. Values are rounded to half precision on the way. */
mw_status mw_behavior_save(const mw_behavior *behavior, const char *path, mw_error *error);
/* *behavior is empty after a failure. */
mw_status mw_behavior_load(mw_behavior *behavior, const char *path, mw_error *error);
void mw_behavior_free(mw_behavior *behavior);

/* Appends a copy of a policy. */
mw_status mw_behavior_add(mw_behavior *behavior, const mw_actor *actor, double steps, mw_error *error);
/* Fails unless the behaviour belongs to this world: task, sizes and rules version. */
mw_status mw_behavior_check(const mw_behavior *behavior, const mw_env_info *info, const char *path,
                            mw_error *error);

#endif
