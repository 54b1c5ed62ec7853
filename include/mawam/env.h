/* Environments: worlds in which several agents act at once, one at a time or many stepped as a batch, and
 * scripted policies for a scale. */
#ifndef MAWAM_ENV_H
#define MAWAM_ENV_H

#include "mawam/cpu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the worlds of a family have in common in how they are played and shown. */
typedef struct mw_family {
    const char *name;                   /* "mpe", "battle", "ant" */
    const char *title;                  /* "MPE", "SMAC", "Ant": for people */
    const char *measure;                /* "normalised score", "episode return": what its results are */
    const char *format, *signed_format; /* of one of them: "%.1f", "%+.1f" */
    bool counts_wins;                   /* an episode is won or not */
    int episodes;                       /* of a seed that `mawam eval` plays by itself */
    int study_episodes;                 /* that the study plays */
} mw_family;

/* All that mawam knows, those that this build cannot play included. */
MW_API const mw_family *mw_family_at(int index);          /* NULL past the end */
MW_API const mw_family *mw_family_find(const char *name); /* NULL: there is none */
MW_API const mw_family *mw_family_of(const char *task);   /* NULL: there is no such task */

/* What a task is. Constant for the life of the environment. */
typedef struct mw_env_info {
    const char *task;    /* "spread", "3m", "2ant", ... */
    const char *family;  /* name of an mw_family */
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
    const float *real;    /* [n][d], each in [-1,1] */
    const int32_t *index; /* [n], each in 0..d-1 and legal */
} mw_action;

typedef struct mw_outcome {
    bool terminated; /* the world reached an end: battle decided, ant fell */
    bool truncated;  /* the episode limit cut it */
    bool won;        /* battles: no enemy is left */
    int step;        /* steps taken since reset */
} mw_outcome;

typedef struct mw_env_options {
    size_t size;           /* of this struct, set by init */
    const char *prey_file; /* tag, world: prey policy network (safetensors), or "script" for the scripted
                              prey; NULL: the frozen prey of the task */
    double spawn_jitter;   /* battles: displacement of units at reset; negative: the task's default (0.5) */
} mw_env_options;

MW_API void mw_env_options_init(mw_env_options *options, size_t size);

typedef struct mw_env mw_env;

/* Names of all tasks this build knows, in a fixed order; index from 0, NULL past the end. */
MW_API const char *mw_env_task(int index);

/* options may be NULL. An environment starts in the state of mw_env_reset(env, 0). */
MW_API mw_status mw_env_create(mw_env **env, const char *task, const mw_env_options *options,
                               mw_error *error);
MW_API void mw_env_free(mw_env *env);
MW_API const mw_env_info *mw_env_describe(const mw_env *env);
MW_API void mw_env_feature(const mw_env *env, int index, mw_feature *feature);

/* What a discrete action is called ("stop", "attack 2"), or which value of a real one it is. */
MW_API void mw_env_action_name(const mw_env *env, int index, char *name, size_t size);
/* Places in the picture that a joint observation obs[n][o] tells of, as far as the task's observations hold
 * any: writes up to capacity and returns how many. What they do not hold is taken from the present state. */
MW_API int mw_env_places(const mw_env *env, const float *obs, float (*places)[2], int capacity);

/* The episode is a pure function of the task, its options, the seed and the actions. */
MW_API void mw_env_reset(mw_env *env, uint64_t seed);

/* Advances one step. rewards[n] receives the per-agent rewards (their mean is the team's score for the step).
 * outcome may be NULL. A rejected action leaves the state untouched. Stepping a finished episode is an error.
 */
MW_API mw_status mw_env_step(mw_env *env, mw_action action, float *rewards, mw_outcome *outcome,
                             mw_error *error);

MW_API void mw_env_observe(const mw_env *env, float *obs);   /* obs[n][o] */
MW_API void mw_env_legal(const mw_env *env, uint8_t *legal); /* legal[n][d], 0 or 1; all 1 for real actions */

/* The full state, random numbers included, as plain bytes. A snapshot may be restored into any environment of
 * the same task and options; play continues with identical bits. */
MW_API size_t mw_env_snapshot_size(const mw_env *env);
MW_API void mw_env_snapshot(const mw_env *env, void *buffer);
MW_API mw_status mw_env_restore(mw_env *env, const void *buffer, size_t size, mw_error *error);

/* Starts an episode in the state that a joint observation obs[n][o] tells of, up to its rounding. Fails with
 * MW_ERR_UNSUPPORTED where the task's observations do not hold the whole state. */
MW_API mw_status mw_env_recall(mw_env *env, const float *obs, mw_error *error);

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

/* Puts what is drawn with this role and id to another place, where it stands still at first; the episode goes
 * on from there. Fails with MW_ERR_UNSUPPORTED in worlds whose things cannot be moved by hand. */
MW_API mw_status mw_env_place(mw_env *env, const char *role, int id, const float place[2], mw_error *error);

/* Many environments of one task stepped as one batch over threads. All arrays are the caller's. */
typedef struct mw_env_batch mw_env_batch;

MW_API mw_status mw_env_batch_create(mw_env_batch **batch, const char *task, const mw_env_options *options,
                                     int count, int threads, mw_error *error);
MW_API void mw_env_batch_free(mw_env_batch *batch);
MW_API mw_env *mw_env_batch_get(mw_env_batch *batch, int index); /* the batch's own; NULL past the end */
/* Resets environment i with seeds[i] (seeds NULL: each with its own once more) where mask[i] is not 0 (mask
 * NULL: all). obs[count][n][o], legal[count][n][d]; either may be NULL. */
MW_API void mw_env_batch_reset(mw_env_batch *batch, const uint64_t *seeds, const uint8_t *mask, float *obs,
                               uint8_t *legal);
/* action.real[count][n][d] or action.index[count][n]; rewards[count][n]; outcomes[count]; obs, legal as
 * above. Finished environments must be reset before the next step. On error the first failing environment is
 * named; those whose actions were accepted have stepped. */
MW_API mw_status mw_env_batch_step(mw_env_batch *batch, mw_action action, float *rewards,
                                   mw_outcome *outcomes, float *obs, uint8_t *legal, mw_error *error);

/* What a batch reads and writes while it plays on and on. */
typedef struct mw_env_batch_arrays {
    mw_action action;     /* real[count][n][d] or index[count][n] */
    float *rewards;       /* [count][n] */
    mw_outcome *outcomes; /* [count] */
    float *obs;           /* [count][n][o]; may be NULL */
    uint8_t *legal;       /* [count][n][d]; may be NULL */
    float *last_obs;      /* [count][n][o]: what ended episodes saw last, else untouched; may be NULL */
    uint64_t *seeds;      /* [count] of the present episodes; those that follow them are larger by count */
    int ended;            /* written, also after an error: how many episodes ended in this step */
} mw_env_batch_arrays;

/* mw_env_batch_step, and where an episode ended the next one begins at once: outcomes tell of the old one,
 * obs and legal of the new one. seeds NULL: none begins. After an error those environments that took their
 * actions have stepped, and the outcomes of the others are what they were. */
MW_API mw_status mw_env_batch_advance(mw_env_batch *batch, mw_env_batch_arrays *arrays, mw_error *error);

/* Scripted policies, for a scale: "random", "still", and per family heuristics; see mw_script_name. A script
 * sees the environment's true state. */
MW_API const char *mw_script_name(const char *task, int index); /* NULL past the end */
/* Writes a joint action to real[n][d] or index[n]; draws random numbers keyed by (seed, step of the episode).
 */
MW_API mw_status mw_script_act(const mw_env *env, const char *script, uint64_t seed, float *real,
                               int32_t *index, mw_error *error);

/* mw_script_act for every environment of a batch, over its threads: seeds[count], real[count][n][d] or
 * index[count][n]. */
MW_API mw_status mw_env_batch_script(mw_env_batch *batch, const char *script, const uint64_t *seeds,
                                     float *real, int32_t *index, mw_error *error);

/* Two independent seeds, of the world and of the policy, for an episode of a numbered series. Evaluations
 * draw theirs so: who plays the same numbers of the same seed meets the same worlds. */
MW_API void mw_env_episode_seeds(uint64_t seed, uint64_t episode, uint64_t *world, uint64_t *policy);

#ifdef __cplusplus
}
#endif
#endif
