/* What every world family implements. A family is a row of family.c and one mw_env_class; a task is a row of
 * that family's table, found by name. env.c owns everything the families share: lookup, checking of actions,
 * step counting, the episode limit, snapshots' envelope, batches and scripted policies. */
#ifndef MW_ENV_ENV_H
#define MW_ENV_ENV_H

#include "mawam/env.h"
#include "core/error.h"
#include "core/pool.h"
#include "core/rng.h"

enum { MW_ENV_LEGAL = 2048 }; /* most entries n*d of a joint legality mask */

typedef struct mw_env_class mw_env_class;

/* The part of the state that all families share; it travels in snapshots. */
typedef struct mw_env_base {
    uint64_t seed;
    mw_rng rng; /* MW_RNG_ENV stream of the episode */
    mw_outcome outcome;
} mw_env_base;

struct mw_env {
    const mw_env_class *kind;
    mw_env_info info;
    void *model; /* constant after create; the family's */
    void *state; /* everything that changes; the family's */
    mw_env_base base;
};

/* Scripts may read the true state. They draw only from rng, which is keyed by seed and step. */
typedef struct mw_script {
    const char *name, *summary;
    void (*act)(const mw_env *env, mw_rng *rng, float *real, int32_t *index);
} mw_script;

struct mw_env_class {
    const mw_family *family;

    /* Fills info, model and state for one of the family's tasks, or fails and leaves nothing allocated. */
    mw_status (*create)(mw_env *env, const char *task, const mw_env_options *options, mw_error *error);
    void (*destroy)(mw_env *env);
    void (*feature)(const mw_env *env, int index, mw_feature *feature);
    void (*action_name)(const mw_env *env, int index, char *name, size_t size); /* NULL: they have none */
    int (*places)(const mw_env *env, const float *obs, float (*places)[2], int capacity); /* NULL: none */

    /* base.rng is freshly keyed and base.outcome cleared when reset is called. */
    void (*reset)(mw_env *env);
    /* The action is already checked: finite and in [-1,1], or legal. Sets rewards[n], outcome.terminated and
     * outcome.won; the caller counts the step and truncates. */
    void (*step)(mw_env *env, mw_action action, float *rewards);
    void (*observe)(const mw_env *env, float *obs);
    /* The state that finite obs[n][o] tell of; NULL: they do not hold all of it. Called after reset. */
    void (*recall)(mw_env *env, const float *obs);
    void (*legal)(const mw_env *env, uint8_t *legal); /* NULL: everything is legal */

    /* The family's state as bytes, without the base. Bytes come from outside: load is called only with those
     * that check has found to be a state that a world of this task can be in. */
    size_t (*state_size)(const mw_env *env);
    void (*save)(const mw_env *env, void *buffer);
    mw_status (*check)(const mw_env *env, const void *buffer, mw_error *error);
    void (*load)(mw_env *env, const void *buffer);

    int (*draw)(const mw_env *env, mw_shape *shapes, int capacity);
    /* Moves what is drawn so; false: nothing is. NULL: nothing can be moved. */
    bool (*place)(mw_env *env, const char *role, int id, const float place[2]);

    /* Scripts end with a NULL name; "random" is common to all families and lives in env.c. A family whose
     * tasks have different scripts sets task_scripts instead of scripts. */
    const mw_script *scripts;
    const mw_script *(*task_scripts)(const char *task);
};

#define MW_ENV_FARTHEST 1e10 /* no number of a world's state is larger; the physics engine's own limit */
#define MW_ENV_PLACED   1e9  /* nor is what an observation or a hand places: motion stays below the former */

/* Fails unless all values are finite and at most MW_ENV_FARTHEST in size; `what` names them. */
mw_status mw_env_check_numbers(const mw_env *env, const char *what, const double *values, int count,
                               mw_error *error);

enum { MW_FAMILY_MPE, MW_FAMILY_BATTLE, MW_FAMILY_ANT, MW_FAMILIES }; /* rows of mw_family_at */
extern const mw_family mw_families[MW_FAMILIES];
const char *const *mw_family_tasks(const mw_family *family); /* names, NULL past the last */

extern const mw_env_class mw_mpe_class, mw_battle_class;
#ifdef MAWAM_HAVE_MUJOCO
extern const mw_env_class mw_ant_class;
#endif

/* Appends a shape if there is room and counts it either way: `count = mw_shape_add(shapes, capacity, count,
 * shape)`. */
static inline int mw_shape_add(mw_shape *shapes, int capacity, int count, mw_shape shape) {
    if (count < capacity) shapes[count] = shape;
    return count + 1;
}

/* ---- batches, beyond mawam/env.h ---- */

/* As mw_env_batch_create, on the caller's pool (NULL: its thread alone), which must outlive the batch. */
mw_status mw_env_batch_create_on(mw_env_batch **batch, const char *task, const mw_env_options *options,
                                 int count, mw_pool *pool, mw_error *error);
/* The same for environments that are no task: `make` is called by all workers, each for its own share. */
typedef mw_status mw_env_make(mw_env **env, const void *context, mw_error *error);
mw_status mw_env_batch_create_by(mw_env_batch **batch, mw_env_make *make, const void *context, int count,
                                 mw_pool *pool, mw_error *error);
mw_env **mw_env_batch_envs(mw_env_batch *batch); /* [count] */

/* As mw_env_batch_step, of the environments in mask[count] only; the others' arrays are left as they are. */
mw_status mw_env_batch_step_some(mw_env_batch *batch, const uint8_t *mask, mw_action action, float *rewards,
                                 mw_outcome *outcomes, float *obs, uint8_t *legal, mw_error *error);
/* As mw_env_batch_step_some, of `count` environments from `first` on and by the calling thread alone: for
 * workers that play their own share without meeting the others. All arrays begin with environment `first`;
 * the mask may be NULL. */
mw_status mw_env_batch_step_share(mw_env_batch *batch, int first, int count, const uint8_t *mask,
                                  mw_action action, float *rewards, mw_outcome *outcomes, float *obs,
                                  uint8_t *legal, mw_error *error);

#endif
