/* The ant against recorded trajectories. Contact dynamics is chaotic, so every recorded step is taken from
 * its recorded state on its own; observations are compared exactly. */
#include "verify/env.h"

#include "core/tensor/npy.h"
#include "env/ant/ant.h"

#include <stdio.h>
#include <stdlib.h>

#define TOLERANCE 1e-9

typedef struct {
    size_t episodes, steps;
    double *qpos, *qvel;             /* [E][T+1][15], [E][T+1][14] */
    double *torso_x;                 /* [E][T+1] */
    double *ctrl;                    /* [E][T][8] */
    double *reward, *forward, *done; /* [E][T] */
} trajectories;

/* An array of doubles; the first two extents are episodes and steps (+1 where states are recorded). With
 * *episodes 0 it sets both, later arrays must agree. row ends with 0. */
static mw_status read_array(const char *dir, const char *name, bool states, const long row[3],
                            trajectories *all, double **out, mw_error *error) {
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s.npy", dir, name) >= (int)sizeof path)
        return mw_fail(error, MW_ERR_ARGUMENT, "the path of %s.npy is too long", name);
    mw_npy npy;
    MW_TRY(mw_npy_open(&npy, path, error));
    long shape[5] = {-1, -1, row[0], row[1], row[2]};
    int dims = 2;
    while (dims < 5 && shape[dims]) dims++;
    if (all->episodes) {
        shape[0] = (long)all->episodes;
        shape[1] = (long)(all->steps + states);
    }
    mw_status status = mw_npy_expect(&npy, path, MW_F64, dims, shape, error);
    if (status == MW_OK && !all->episodes) {
        all->episodes = npy.shape[0];
        all->steps = npy.shape[1] - states;
        if (!all->episodes || npy.shape[1] < 2)
            status = mw_fail(error, MW_ERR_FORMAT, "%s: no steps are recorded", path);
    }
    if (status == MW_OK) {
        *out = malloc(npy.count * sizeof **out);
        if (*out)
            mw_dtype_to_doubles(npy.type, npy.data, npy.count, *out);
        else
            status = mw_fail(error, MW_ERR_MEMORY, "%s: cannot allocate %zu numbers", path, npy.count);
    }
    mw_npy_close(&npy);
    return status;
}

static mw_status read_trajectories(const char *dir, trajectories *all, mw_error *error) {
    static const long none[3] = {0}, qpos[3] = {MW_ANT_QPOS}, qvel[3] = {MW_ANT_QVEL},
                      ctrl[3] = {MW_ANT_CTRL};
    MW_TRY(read_array(dir, "qpos", true, qpos, all, &all->qpos, error));
    MW_TRY(read_array(dir, "qvel", true, qvel, all, &all->qvel, error));
    MW_TRY(read_array(dir, "torso_x", true, none, all, &all->torso_x, error));
    MW_TRY(read_array(dir, "ctrl", false, ctrl, all, &all->ctrl, error));
    MW_TRY(read_array(dir, "reward", false, none, all, &all->reward, error));
    MW_TRY(read_array(dir, "reward_forward", false, none, all, &all->forward, error));
    return read_array(dir, "done", false, none, all, &all->done, error);
}

static void free_trajectories(trajectories *all) {
    double *arrays[] = {all->qpos, all->qvel, all->torso_x, all->ctrl, all->reward, all->forward, all->done};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free(arrays[i]);
}

/* Takes every recorded step once; the body is the same for all splits. */
static void check_steps(mw_env *env, const trajectories *all, mw_verify *report) {
    double qpos = 0, qvel = 0, torso_x = 0, reward = 0, forward = 0, done = 0;
    const mw_ant_state *state = env->state;
    for (size_t e = 0; e < all->episodes; e++)
        for (size_t t = 0; t < all->steps; t++) {
            size_t here = e * (all->steps + 1) + t, next = here + 1, step = e * all->steps + t;
            mw_ant_set(env, all->qpos + here * MW_ANT_QPOS, all->qvel + here * MW_ANT_QVEL,
                       all->torso_x[here]);
            mw_ant_result seen = mw_ant_advance(env, all->ctrl + step * MW_ANT_CTRL);
            for (size_t i = 0; i < MW_ANT_QPOS; i++)
                qpos = mw_verify_worst(qpos, state->data->qpos[i], all->qpos[next * MW_ANT_QPOS + i]);
            for (size_t i = 0; i < MW_ANT_QVEL; i++)
                qvel = mw_verify_worst(qvel, state->data->qvel[i], all->qvel[next * MW_ANT_QVEL + i]);
            torso_x = mw_verify_worst(torso_x, state->torso_x, all->torso_x[next]);
            reward = mw_verify_worst(reward, seen.reward, all->reward[step]);
            forward = mw_verify_worst(forward, seen.forward, all->forward[step]);
            done = mw_verify_worst(done, seen.terminated, all->done[step]);
        }
    mw_verify_check(report, qpos, TOLERANCE, "ant: position after one step");
    mw_verify_check(report, qvel, TOLERANCE, "ant: velocity after one step");
    mw_verify_check(report, torso_x, TOLERANCE, "ant: torso x of the reward");
    mw_verify_check(report, reward, TOLERANCE, "ant: reward");
    mw_verify_check(report, forward, TOLERANCE, "ant: forward reward");
    mw_verify_check(report, done, 0, "ant: termination");
}

static void check_observations(mw_env *env, const trajectories *all, const double *recorded,
                               mw_verify *report) {
    double seen[MW_ANT_MOST_AGENTS * MW_ANT_MOST_OBS], worst = 0;
    size_t size = (size_t)(env->info.agents * env->info.obs_size);
    for (size_t i = 0; i < all->episodes * (all->steps + 1); i++) {
        mw_ant_set(env, all->qpos + i * MW_ANT_QPOS, all->qvel + i * MW_ANT_QVEL, all->torso_x[i]);
        mw_ant_observe(env, seen);
        for (size_t k = 0; k < size; k++) worst = mw_verify_worst(worst, seen[k], recorded[i * size + k]);
    }
    mw_verify_check(report, worst, 0, "%s: observation", env->info.task);
}

static mw_status check_split(const mw_ant_split *split, const char *dir, trajectories *all, mw_verify *report,
                             mw_error *error) {
    mw_env *env;
    MW_TRY(mw_env_create(&env, split->task, NULL, error));
    char name[32];
    snprintf(name, sizeof name, "obs_%s", split->task);
    double *recorded = NULL;
    mw_status status =
        read_array(dir, name, true, (long[3]){env->info.agents, env->info.obs_size}, all, &recorded, error);
    if (status == MW_OK) {
        if (split == mw_ant_splits) check_steps(env, all, report);
        check_observations(env, all, recorded, report);
    }
    free(recorded);
    mw_env_free(env);
    return status;
}

mw_status mw_verify_ant(const char *dir, mw_verify *report, mw_error *error) {
    trajectories all = {0};
    mw_status status = read_trajectories(dir, &all, error);
    for (const mw_ant_split *split = mw_ant_splits; status == MW_OK && split->task; split++)
        status = check_split(split, dir, &all, report, error);
    free_trajectories(&all);
    return status;
}
