/* The game of the prey in tag and world, for learning it: the prey is the one agent, earns the prey's reward
 * and meets predators that play finished behaviours. Never part of the public list of tasks. */
#ifndef MW_BEHAVIOR_PREY_GAME_H
#define MW_BEHAVIOR_PREY_GAME_H

#include "behavior/behavior.h"
#include "behavior/learner.h"
#include "env/mpe/mpe.h"

#include <signal.h>

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

/* ---- the whole recipe ---- */

typedef struct mw_prey_request {
    const char *task; /* "tag", "world" */
    int rounds;       /* predators against the last prey, then a prey against all predators so far */
    float predator_steps, prey_steps;
    uint64_t seed;
    int threads;
    const char *folder, *version;
    const volatile sig_atomic_t *stop;
    void (*report)(void *context, const mw_learn_report *report, double seconds, long iterations);
    void *context;
} mw_prey_request;

/* Learns predators and prey in turns, each from scratch, in subfolders of the folder; round r leaves
 * folder/prey-r.safetensors. Resumes whatever is there. */
mw_status mw_prey_learn(const mw_prey_request *request, mw_error *error);

#endif
