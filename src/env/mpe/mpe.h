/* The particle tasks in double precision: task rows, and the simulator as plain functions of a row and a
 * state. Used by the environment class in mpe.c, and directly by verification, which drives the prey too and
 * compares without the rounding to single precision of the public interface. */
#ifndef MW_ENV_MPE_MPE_H
#define MW_ENV_MPE_MPE_H

#include "core/tensor/safetensors.h"
#include "env/env.h"

enum { MW_MPE_MAX_AGENTS = 4, MW_MPE_MAX_ENTITIES = 9, MW_MPE_MAX_OBS = 32 };

#define MW_MPE_RULES "mpe-omar-1"

/* A disc. The force of an action a is acceleration * (a * sensitivity). */
typedef struct mw_mpe_entity {
    const char *role; /* of its shape in pictures */
    double radius;
    double sensitivity, acceleration; /* agents only */
    double cap;                       /* greatest speed; 0: none */
} mw_mpe_entity;

typedef struct mw_mpe_task mw_mpe_task;

/* Agents come first (learners, then the prey if there is one), then landmarks; the solid ones of these stand
 * in front of the others. Only agents move. */
typedef struct mw_mpe_state {
    double pos[MW_MPE_MAX_ENTITIES][2];
    double vel[MW_MPE_MAX_AGENTS][2];
    double start[MW_MPE_MAX_AGENTS][2]; /* agents' positions at reset: the landmark scripts assign by them */
} mw_mpe_state;

struct mw_mpe_task {
    const char *name, *summary;
    int agents, learners; /* agents includes the prey, which is the last agent when agents > learners */
    int entities;
    int solids; /* entities 0..solids-1 push each other */
    mw_mpe_entity entity[MW_MPE_MAX_ENTITIES];
    double landmark_span;  /* landmarks start in [-span, span]^2, agents in [-1, 1]^2 */
    int first_food, foods; /* entity ranges */
    int first_forest, forests;
    int silent;           /* observation ends with this many zeros */
    double catch_reward;  /* for each predator touching the prey */
    double border_factor; /* of the prey's penalty for leaving the square */
    void (*rewards)(const mw_mpe_task *task, const mw_mpe_state *state, double *rewards); /* [agents] */
};

extern const mw_mpe_task mw_mpe_tasks[]; /* ends with a NULL name */
const mw_mpe_task *mw_mpe_find(const char *name);

/* One step: all agents act at once, prey included. action[agents][2]. */
void mw_mpe_advance(const mw_mpe_task *task, mw_mpe_state *state, const double (*action)[2]);
/* Features of one agent, the prey's own layout for the prey; returns how many. obs[MW_MPE_MAX_OBS]. */
int mw_mpe_observe(const mw_mpe_task *task, const mw_mpe_state *state, int agent, double *obs);
int mw_mpe_obs_size(const mw_mpe_task *task, int agent);
/* Rewards of the state after a step, by kind of task. */
void mw_mpe_rewards_cover(const mw_mpe_task *task, const mw_mpe_state *state, double *rewards);
void mw_mpe_rewards_pursuit(const mw_mpe_task *task, const mw_mpe_state *state, double *rewards);

static inline bool mw_mpe_has_prey(const mw_mpe_task *task) {
    return task->agents > task->learners;
}

/* ---- the prey's policy, a part of the world ---- */

typedef struct mw_prey_net mw_prey_net; /* ReLU layers, tanh at the end, single precision */

#define MW_PREY_SCRIPTED "script" /* mw_env_options.prey_file: the scripted prey */

/* A learned prey that is part of the library: prey_weights.c. */
enum { MW_PREY_LAYERS = 8 };
typedef struct mw_prey_weights {
    const char *task, *version;
    int layers, sizes[MW_PREY_LAYERS + 1]; /* inputs, then outputs of every layer */
    const uint16_t *values;                /* halves: per layer weight[out][in], bias[out] */
} mw_prey_weights;

extern const mw_prey_weights mw_prey_frozen[]; /* ends with a NULL task */

/* *net is NULL, and nothing else happens, for a task without a frozen prey. */
mw_status mw_prey_net_frozen(mw_prey_net **net, const mw_mpe_task *task, char tag[32], mw_error *error);
/* Checks task, rules and every size; `tag` receives "<version>-<hash of the weights>". */
mw_status mw_prey_net_load(mw_prey_net **net, const char *path, const mw_mpe_task *task, char tag[32],
                           mw_error *error);
/* The version becomes part of the rules string, so it is kept short and plain. */
mw_status mw_prey_version_check(const char *version, const char *what, mw_error *error);
void mw_prey_net_free(mw_prey_net *net);

/* net NULL: the scripted prey, which runs from the predators and keeps inside the square. */
void mw_prey_act(const mw_prey_net *net, const mw_mpe_task *task, const mw_mpe_state *state,
                 double action[2]);

/* ---- the environment's parts ---- */

typedef struct mw_mpe_model {
    const mw_mpe_task *task;
    mw_prey_net *prey; /* NULL: scripted, or none */
    char rules[48];
} mw_mpe_model;

/* Whether a world can be in this state, which comes from a snapshot of the environment. */
mw_status mw_mpe_check(const mw_env *env, const mw_mpe_state *state, mw_error *error);

const mw_script *mw_mpe_scripts(const char *task);

#endif
