/* mawam: test-time planning with frozen multi-agent policies.
 *
 * This is the whole public interface. Functions that can fail return an mw_status and, when given an
 * mw_error, say in it what was wrong, where, and what was expected. The library never prints, exits or aborts
 * on bad input. Array shapes stand in brackets next to every pointer; all arrays are row-major. */
#ifndef MAWAM_MAWAM_H
#define MAWAM_MAWAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MW_API __attribute__((visibility("default")))
#else
#define MW_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- versions and errors ------------------------------------------------------------------------------- */

#define MW_VERSION_MAJOR 0
#define MW_VERSION_MINOR 1
#define MW_VERSION_PATCH 0

/* "0.1.0": of the library that is running, which may differ from the header compiled against. */
MW_API const char *mw_version(void);

typedef enum mw_status {
    MW_OK = 0,
    MW_ERR_ARGUMENT,    /* the caller's request is wrong: a size, a name, a value */
    MW_ERR_IO,          /* the operating system refused: open, read, write, map */
    MW_ERR_FORMAT,      /* a file's contents break its format */
    MW_ERR_MISMATCH,    /* well-formed things that do not belong together */
    MW_ERR_MEMORY,      /* out of memory */
    MW_ERR_UNSUPPORTED, /* valid, but not built in or not implemented */
    MW_ERR_NUMERIC,     /* not finite where it must be */
    MW_ERR_INTERRUPTED, /* stopped on request; what was finished is saved */
} mw_status;

typedef struct mw_error {
    mw_status status;
    char message[512];
} mw_error;

/* A short name of the status: "ok", "format", ... */
MW_API const char *mw_status_name(mw_status status);

/* ---- the CPU ------------------------------------------------------------------------------------------- */

/* The level of instructions in use: "v2", "v3" or "v4" of x86-64, "neon" of 64-bit ARM. The library takes the
 * best that the CPU has; MAWAM_CPU in the environment chooses a lower one. Every level gives the same bits. */
MW_API const char *mw_cpu_name(void);
/* Fails if MAWAM_CPU names a level that this CPU or this build lacks, or if the CPU has none at all. */
MW_API mw_status mw_cpu_check(mw_error *error);

/* ---- threads ------------------------------------------------------------------------------------------- */

/* Wherever a number of threads is asked for it is 1 to this, or 0 for one per core that the process may use.
 * No result depends on it. */
#define MW_MAX_THREADS 1024

/* ---- environments -------------------------------------------------------------------------------------- */

/* What a task is. Constant for the life of the environment. */
typedef struct mw_env_info {
    const char *task;    /* "spread", "3m", "2ant", ... */
    const char *family;  /* "mpe", "battle", "ant" */
    const char *rules;   /* rules version; datasets and bundles store it and check it */
    const char *summary; /* one line for people */
    int agents;          /* n: learning agents */
    int obs_size;        /* o: observation features of one agent */
    int act_size;        /* d: real action values, or number of discrete actions, of one agent */
    bool discrete;       /* actions are indices with a legality mask */
    int episode_limit;   /* steps after which an episode is truncated */
} mw_env_info;

/* One observation feature, the same for all agents. */
typedef struct mw_feature {
    char name[64];
    const char *unit;
    double low, high; /* range in play; infinite where nothing bounds it */
} mw_feature;

/* A joint action: exactly one pointer is set, by the kind of the task. */
typedef struct mw_action {
    const float *real;    /* [n][d], nominally in [-1,1] */
    const int32_t *index; /* [n], each in 0..d-1 and legal */
} mw_action;

typedef struct mw_outcome {
    bool terminated; /* the world reached an end: battle decided, ant fell */
    bool truncated;  /* the episode limit cut it */
    bool won;        /* battles: no enemy is left */
    int step;        /* steps taken since reset */
} mw_outcome;

typedef struct mw_env_options {
    const char *prey_file; /* tag, world: prey policy network (safetensors), or "script" for the scripted
                              prey; NULL: the frozen prey of the task */
    double spawn_jitter;   /* battles: displacement of units at reset; negative: the task's default (0.5) */
} mw_env_options;

#define MW_ENV_OPTIONS_DEFAULT                                                                               \
    { NULL, -1.0 }

typedef struct mw_env mw_env;

/* Names of all tasks this build knows, in a fixed order; index from 0, NULL past the end. */
MW_API const char *mw_env_task(int index);

/* options may be NULL. An environment starts in the state of mw_env_reset(env, 0). */
MW_API mw_status mw_env_create(mw_env **env, const char *task, const mw_env_options *options,
                               mw_error *error);
MW_API void mw_env_free(mw_env *env);
MW_API const mw_env_info *mw_env_describe(const mw_env *env);
MW_API void mw_env_feature(const mw_env *env, int index, mw_feature *feature);

/* The episode is a pure function of the task, its options, the seed and the actions. */
MW_API void mw_env_reset(mw_env *env, uint64_t seed);

/* Advances one step. rewards[n] receives the per-agent rewards (their mean is the team's score for the step).
 * A rejected action leaves the state untouched. Stepping a finished episode is an error. */
MW_API mw_status mw_env_step(mw_env *env, mw_action action, float *rewards, mw_outcome *outcome,
                             mw_error *error);

MW_API void mw_env_observe(const mw_env *env, float *obs);   /* obs[n][o] */
MW_API void mw_env_legal(const mw_env *env, uint8_t *legal); /* legal[n][d], 0 or 1; all 1 for real actions */

/* The full state, random numbers included, as plain bytes. A snapshot may be restored into any environment of
 * the same task and options; play continues with identical bits. */
MW_API size_t mw_env_snapshot_size(const mw_env *env);
MW_API void mw_env_snapshot(const mw_env *env, void *buffer);
MW_API mw_status mw_env_restore(mw_env *env, const void *buffer, size_t size, mw_error *error);

/* Shapes for a picture, in world coordinates. */
typedef enum mw_shape_kind { MW_SHAPE_CIRCLE, MW_SHAPE_CAPSULE, MW_SHAPE_LINE, MW_SHAPE_RECT } mw_shape_kind;

typedef struct mw_shape {
    mw_shape_kind kind;
    const char *role; /* "agent", "enemy", "prey", "landmark", "obstacle", "food", "forest", "wall", "attack",
                         ... */
    int id;           /* which one of its role; -1 if it does not matter */
    float a[3], b[3]; /* centre or first end or corner; second end or opposite corner */
    float radius;     /* of circles and capsules */
    float health, shield; /* fractions in [0,1]; negative: none */
} mw_shape;

/* Writes up to capacity shapes and returns how many there are. */
MW_API int mw_env_draw(const mw_env *env, mw_shape *shapes, int capacity);

/* Many environments of one task stepped as one batch over threads. All arrays are the caller's. */
typedef struct mw_env_batch mw_env_batch;

MW_API mw_status mw_env_batch_create(mw_env_batch **batch, const char *task, const mw_env_options *options,
                                     int count, int threads, mw_error *error);
MW_API void mw_env_batch_free(mw_env_batch *batch);
MW_API mw_env *mw_env_batch_get(mw_env_batch *batch, int index);
/* Resets environment i with seeds[i] where mask[i] is not 0 (mask NULL: all). obs[count][n][o],
 * legal[count][n][d]; either may be NULL. */
MW_API void mw_env_batch_reset(mw_env_batch *batch, const uint64_t *seeds, const uint8_t *mask, float *obs,
                               uint8_t *legal);
/* action.real[count][n][d] or action.index[count][n]; rewards[count][n]; outcomes[count]; obs, legal as
 * above. Finished environments must be reset before the next step. On error the first failing environment is
 * named; those whose actions were accepted have stepped. */
MW_API mw_status mw_env_batch_step(mw_env_batch *batch, mw_action action, float *rewards,
                                   mw_outcome *outcomes, float *obs, uint8_t *legal, mw_error *error);

/* Scripted policies, for a scale: "random", "still", and per family heuristics; see mw_script_name. A script
 * sees the environment's true state. */
MW_API const char *mw_script_name(const char *task, int index); /* NULL past the end */
/* Writes a joint action to real[n][d] or index[n]; draws random numbers keyed by (seed, step of the episode).
 */
MW_API mw_status mw_script_act(const mw_env *env, const char *script, uint64_t seed, float *real,
                               int32_t *index, mw_error *error);

/* ---- planning ------------------------------------------------------------------------------------------ */

/* Frozen networks for one task, read from one file. Read-only after loading; planners on any threads may
 * share it. */
typedef struct mw_bundle mw_bundle;

MW_API mw_status mw_bundle_load(mw_bundle **bundle, const char *path, mw_error *error);
MW_API void mw_bundle_free(mw_bundle *bundle);

/* What a bundle plans for. */
typedef struct mw_bundle_summary {
    const char *task, *rules, *quality; /* rules: the version of the world it was trained in */
    int agents, obs_size, act_size;
    bool discrete;
    int episode_limit, horizon;
    size_t policy_parameters, world_parameters;
    const char *provenance; /* JSON: settings, dataset, command, training curve */
} mw_bundle_summary;
MW_API mw_bundle_summary mw_bundle_describe(const mw_bundle *bundle);

/* How an action is taken from the candidates. */
typedef enum mw_arm {
    MW_ARM_PLAN,     /* the candidate with the highest score, or a blend towards it */
    MW_ARM_RANDOM,   /* one of them at random: the control for having many */
    MW_ARM_REACTIVE, /* a single candidate: the policy as it is */
} mw_arm;

typedef struct mw_planner_options {
    mw_arm arm;
    int candidates; /* M */
    int horizon;    /* H; 0: the bundle's */
    int steps;      /* K; 0: the bundle's */
    uint64_t seed;
    int envs;      /* environments decided together */
    int threads;   /* 1 to MW_MAX_THREADS; 0: one per core */
    float target;  /* target return in the bundle's units; NaN: the bundle's */
    float explore; /* deviation of an offset that lasts over the horizon, on the actions (discrete: on the
                      inverse dynamics' logits) of every candidate but the first; NaN: the bundle's */
    float blend;   /* real actions: the mean of all candidates, weighed by exp(-d/blend) at scores d of their
                      deviations below the best; 0: the best alone; NaN: the bundle's */
    float advantage; /* share of the learned advantage of the first joint action in a score, 0 to 1; the rest
                        is the imagined return; NaN: the bundle's */
    int carry;       /* 1: the last candidate is the rest of the plan chosen before, once there is one; 0: it
                        is drawn like the others; -1: as the bundle says */
    bool imagine;    /* roll the candidates out in the world model even if scores do not need it */
    bool sequential; /* generate one candidate after the other: for cost comparisons, same results */
} mw_planner_options;

#define MW_PLANNER_OPTIONS_DEFAULT                                                                           \
    {                                                                                                        \
        MW_ARM_PLAN, 8, 0, 0, 0, 1, 0, __builtin_nanf(""), __builtin_nanf(""), __builtin_nanf(""),           \
            __builtin_nanf(""), -1, false, false                                                             \
    }

typedef struct mw_planner mw_planner;

/* The bundle must outlive the planner. All memory is taken here; planning allocates nothing. */
MW_API mw_status mw_planner_create(mw_planner **planner, const mw_bundle *bundle,
                                   const mw_planner_options *options, mw_error *error);
MW_API void mw_planner_free(mw_planner *planner);
MW_API size_t mw_planner_bytes(const mw_planner *planner); /* of workspace */

/* Starts an episode in one environment: its history is forgotten. The candidates' noise is a pure function of
 * the seed, the episode, the step and the candidate, whatever the threads and the other environments. */
MW_API void mw_planner_begin(mw_planner *planner, int env, uint64_t episode);

/* One decision for every active environment (active[envs], NULL: all) from obs[envs][n][o]; legal[envs][n][d]
 * may be NULL. Writes real[envs][n][d] or index[envs][n], by the kind of the task. */
MW_API mw_status mw_planner_act(mw_planner *planner, const float *obs, const uint8_t *legal,
                                const uint8_t *active, float *real, int32_t *index, mw_error *error);

/* What an environment's last action earned: the mean over agents. Only bundles that follow the return-to-go
 * use it. */
MW_API void mw_planner_reward(mw_planner *planner, int env, float reward);

/* The candidates of one environment's last decision, for pictures and tests. */
typedef struct mw_candidates {
    int count, horizon, chosen;
    const float *scores;   /* [count] imagined team return, or with a share of the advantage; random and
                              reactive arms have one candidate, at 0 */
    const float *actions;  /* [count][horizon][n][d], one-hot if discrete */
    const float *proposed; /* [count][horizon + 1][n][o] observations drawn by the policy, from the current
                              one on */
    const float *imagined; /* [count][horizon][n][o] observations predicted by the world model, after each
                              action; NULL where there are no rollouts */
} mw_candidates;
MW_API mw_candidates mw_planner_candidates(const mw_planner *planner, int env);

#ifdef __cplusplus
}
#endif
#endif
