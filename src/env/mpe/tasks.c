/* The particle tasks as table rows, in the variant of the OMAR paper. A new task is a new row (and a line in
 * mpe.c's list of names). */
#include "env/mpe/mpe.h"

#include <string.h>

/* role, radius, sensitivity, acceleration, cap */
#define COVERER                                                                                              \
    { "agent", 0.15, 5, 1, 0 }
#define TARGET                                                                                               \
    { "landmark", 0.05, 0, 0, 0 }
#define PREDATOR                                                                                             \
    { "agent", 0.075, 3, 3, 1.0 }
#define PREY(radius_)                                                                                        \
    { "prey", radius_, 4, 4, 1.3 }
#define OBSTACLE                                                                                             \
    { "obstacle", 0.2, 0, 0, 0 }
#define FOOD                                                                                                 \
    { "food", 0.03, 0, 0, 0 }
#define FOREST                                                                                               \
    { "forest", 0.3, 0, 0, 0 }

const mw_mpe_task mw_mpe_tasks[] = {
    {.name = "spread",
     .summary = "three agents cover three landmarks without touching each other",
     .agents = 3,
     .learners = 3,
     .entities = 6,
     .solids = 3,
     .entity = {COVERER, COVERER, COVERER, TARGET, TARGET, TARGET},
     .landmark_span = 1.0,
     .silent = 4,
     .rewards = mw_mpe_rewards_cover},
    {.name = "tag",
     .summary = "three predators catch a faster prey among two obstacles",
     .agents = 4,
     .learners = 3,
     .entities = 6,
     .solids = 6,
     .entity = {PREDATOR, PREDATOR, PREDATOR, PREY(0.05), OBSTACLE, OBSTACLE},
     .landmark_span = 0.9,
     .catch_reward = 10,
     .border_factor = 1,
     .rewards = mw_mpe_rewards_pursuit},
    {.name = "world",
     .summary = "three predators catch a faster prey that visits food, with forests and an obstacle",
     .agents = 4,
     .learners = 3,
     .entities = 9,
     .solids = 5,
     .entity = {PREDATOR, PREDATOR, PREDATOR, PREY(0.045), OBSTACLE, FOOD, FOOD, FOREST, FOREST},
     .landmark_span = 0.9,
     .first_food = 5,
     .foods = 2,
     .first_forest = 7,
     .forests = 2,
     .catch_reward = 5,
     .border_factor = 2,
     .rewards = mw_mpe_rewards_pursuit},
    {.name = NULL},
};

const mw_mpe_task *mw_mpe_find(const char *name) {
    for (const mw_mpe_task *task = mw_mpe_tasks; task->name; task++)
        if (!strcmp(task->name, name)) return task;
    return NULL;
}
