/* The game of the prey in tag and world, for learning it: the prey is the one agent, earns the prey's reward
 * and meets predators that play finished behaviours. Never part of the public list of tasks. The recipe of
 * mw_prey_learn is made of it. */
#ifndef MW_BEHAVIOR_LEARN_PREY_GAME_H
#define MW_BEHAVIOR_LEARN_PREY_GAME_H

#include "behavior/behavior.h"
#include "behavior/learn/learner.h"
#include "env/mpe/mpe.h"

enum { MW_PREY_MOST_OPPONENTS = 8 };

typedef struct mw_prey_game {
    const mw_mpe_task *task;
    const mw_behavior *opponents[MW_PREY_MOST_OPPONENTS]; /* drawn anew for every episode */
    int count;
} mw_prey_game;

/* The game must outlive its environments. */
mw_game mw_game_of_prey(const mw_prey_game *game);

/* A learned prey as a file that the worlds load (mw_prey_net_load). */
mw_status mw_prey_export(const mw_actor *actor, const char *task, const char *version, const char *path,
                         mw_error *error);

#endif
