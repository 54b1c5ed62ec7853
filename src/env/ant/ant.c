/* The Ant tasks' class: create, reset, step, observe, snapshots. The rules are those of the Ant-v2 benchmark
 * as multi-agent datasets use it; docs/ant.md lists them with their quirks. */
#include "env/ant/ant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUBSTEPS 5

static const mw_ant *world_of(const mw_env *env) {
    return env->model;
}
static mw_ant_state *state_of(const mw_env *env) {
    return env->state;
}

/* ---- the state as plain numbers ---- */

/* All that the next step depends on; the rest of mjData is derived. */
typedef struct {
    double qpos[MW_ANT_QPOS], qvel[MW_ANT_QVEL], warm_start[MW_ANT_QVEL];
    double time, torso_x;
} record;

static void read_record(const mw_ant_state *state, record *out) {
    const mjData *data = state->data;
    memcpy(out->qpos, data->qpos, sizeof out->qpos);
    memcpy(out->qvel, data->qvel, sizeof out->qvel);
    memcpy(out->warm_start, data->qacc_warmstart, sizeof out->warm_start);
    out->time = data->time;
    out->torso_x = state->torso_x;
}

static void write_record(mw_ant_state *state, const record *in) {
    mjData *data = state->data;
    memcpy(data->qpos, in->qpos, sizeof in->qpos);
    memcpy(data->qvel, in->qvel, sizeof in->qvel);
    memcpy(data->qacc_warmstart, in->warm_start, sizeof in->warm_start);
    data->time = in->time;
    state->torso_x = in->torso_x;
}

static size_t state_size(const mw_env *env) {
    (void)env;
    return sizeof(record);
}

static void save(const mw_env *env, void *buffer) {
    record now;
    read_record(state_of(env), &now);
    memcpy(buffer, &now, sizeof now);
}

static mw_status check(const mw_env *env, const void *buffer, mw_error *error) {
    record then;
    memcpy(&then, buffer, sizeof then);
    MW_TRY(mw_env_check_numbers(env, "position", then.qpos, MW_ANT_QPOS, error));
    MW_TRY(mw_env_check_numbers(env, "velocity", then.qvel, MW_ANT_QVEL, error));
    MW_TRY(mw_env_check_numbers(env, "warm start", then.warm_start, MW_ANT_QVEL, error));
    return mw_env_check_numbers(env, "time or place", (double[]){then.time, then.torso_x}, 2, error);
}

static void load(mw_env *env, const void *buffer) {
    record then;
    memcpy(&then, buffer, sizeof then);
    write_record(state_of(env), &then);
}

/* ---- life ---- */

static void destroy(mw_env *env) {
    mw_ant *world = env->model;
    mw_ant_state *state = env->state;
    if (state && state->data) mj_deleteData(state->data);
    if (world) mw_engine_release(world->physics);
    free(state);
    free(world);
}

static void make_data(void *context) {
    const mw_env *env = context;
    state_of(env)->data = mj_makeData(world_of(env)->physics);
}

static mw_status fill(mw_env *env, const mw_ant_split *split, mw_error *error) {
    mw_ant *world = env->model = calloc(1, sizeof *world);
    mw_ant_state *state = env->state = calloc(1, sizeof *state);
    if (!world || !state) return mw_fail(error, MW_ERR_MEMORY, "%s: cannot allocate", split->task);
    char series[MW_ENGINE_SERIES];
    MW_TRY(mw_engine_series(series, error));
    MW_TRY(mw_engine_acquire(&world->physics, error));
    const mjModel *m = world->physics;
    if (m->nq != MW_ANT_QPOS || m->nv != MW_ANT_QVEL || m->nu != MW_ANT_CTRL || m->na != 0)
        return mw_fail(error, MW_ERR_MISMATCH, "MuJoCo made an ant of %d positions, %d velocities, %d motors",
                       m->nq, m->nv, m->nu);
    world->split = split;
    snprintf(world->rules, sizeof world->rules, "ant-mujoco-%s-1", series);
    MW_TRY(mw_ant_layout_build(&world->layout, split, m, error));
    char trouble[MW_ENGINE_MESSAGE] = "out of memory";
    if (!mw_engine_run(make_data, env, trouble) || !state->data)
        return mw_fail(error, MW_ERR_MEMORY, "%s: MuJoCo: %.200s", split->task, trouble);
    env->info = (mw_env_info){.task = split->task,
                              .family = mw_families[MW_FAMILY_ANT].name,
                              .rules = world->rules,
                              .summary = split->summary,
                              .agents = split->agents,
                              .obs_size = world->layout.obs_size,
                              .act_size = split->act_size,
                              .episode_limit = 1000};
    return MW_OK;
}

static mw_status create(mw_env *env, const char *task, const mw_env_options *options, mw_error *error) {
    if (options->prey_file || !(options->spawn_jitter < 0))
        return mw_fail(error, MW_ERR_ARGUMENT, "%s has no %s; that option must not be given", task,
                       options->prey_file ? "prey" : "units whose start could jitter");
    const mw_ant_split *split = mw_ant_splits;
    while (split->task && strcmp(split->task, task)) split++;
    if (!split->task) return mw_fail(error, MW_ERR_ARGUMENT, "no split of the ant is called '%.64s'", task);
    mw_status status = fill(env, split, error);
    if (status != MW_OK) {
        destroy(env);
        env->model = env->state = NULL;
    }
    return status;
}

static void feature(const mw_env *env, int index, mw_feature *out) {
    *out = world_of(env)->layout.features[index];
}

/* ---- dynamics ---- */

static void forward_pass(void *context) {
    const mw_env *env = context;
    mj_forward(world_of(env)->physics, state_of(env)->data);
}

/* Every entry of the position, the quaternion included, is displaced; the forward pass then normalises the
 * quaternion and leaves the solver a warm start. */
static void reset(mw_env *env) {
    const mjModel *physics = world_of(env)->physics;
    mw_ant_state *state = state_of(env);
    mj_resetData(physics, state->data);
    for (int i = 0; i < MW_ANT_QPOS; i++)
        state->data->qpos[i] = physics->qpos0[i] + mw_rng_range(&env->base.rng, -0.1, 0.1);
    for (int i = 0; i < MW_ANT_QVEL; i++) state->data->qvel[i] = 0.1 * mw_rng_normal(&env->base.rng);
    mw_engine_run(forward_pass, env, NULL);
    state->torso_x = state->data->qpos[0];
}

void mw_ant_set(mw_env *env, const double *qpos, const double *qvel, double torso_x) {
    record then = {.torso_x = torso_x};
    memcpy(then.qpos, qpos, sizeof then.qpos);
    memcpy(then.qvel, qvel, sizeof then.qvel);
    write_record(state_of(env), &then);
}

static void substeps(void *context) {
    const mw_env *env = context;
    for (int i = 0; i < SUBSTEPS; i++) mj_step(world_of(env)->physics, state_of(env)->data);
}

/* The engine notices numbers beyond 1e10 at the start of a sub-step, counts a warning and silently starts
 * over from the reference pose; numbers that broke in the last sub-step are still there to be seen. */
static bool broke_down(const mjData *data) {
    if (data->warning[mjWARN_BADQPOS].number || data->warning[mjWARN_BADQVEL].number ||
        data->warning[mjWARN_BADQACC].number || data->warning[mjWARN_BADCTRL].number)
        return true;
    for (int i = 0; i < MW_ANT_QPOS; i++)
        if (!isfinite(data->qpos[i])) return true;
    for (int i = 0; i < MW_ANT_QVEL; i++)
        if (!isfinite(data->qvel[i])) return true;
    return false;
}

/* The reward compares torso positions as the engine last computed them: after a Runge-Kutta sub-step that is
 * the fourth stage's, not the new qpos. A step in which the simulation broke down ends the episode without
 * forward reward and leaves the ant where it was, so that observations stay finite. */
mw_ant_result mw_ant_advance(mw_env *env, const double *ctrl) {
    mw_ant_state *state = state_of(env);
    mjData *data = state->data;
    record before;
    read_record(state, &before);
    memcpy(data->ctrl, ctrl, MW_ANT_CTRL * sizeof *ctrl);
    mw_ant_result result = {.forward = 0};
    if (mw_engine_run(substeps, env, NULL) && !broke_down(data)) {
        state->torso_x = data->xpos[3 * MW_ANT_TORSO];
        result.forward = (state->torso_x - before.torso_x) / MW_ANT_STEP_TIME;
        result.terminated = data->qpos[2] < 0.2 || data->qpos[2] > 1.0;
    } else {
        mj_resetData(world_of(env)->physics, data);
        write_record(state, &before);
        result.terminated = true;
    }
    double cost = 0;
    for (int i = 0; i < MW_ANT_CTRL; i++) cost += ctrl[i] * ctrl[i];
    result.reward = result.forward - 0.5 * cost + 1.0;
    return result;
}

static void step(mw_env *env, mw_action action, float *rewards) {
    const mw_ant *world = world_of(env);
    double ctrl[MW_ANT_CTRL] = {0};
    int n = env->info.agents, d = env->info.act_size;
    for (int agent = 0; agent < n; agent++)
        for (int i = 0; i < d; i++) ctrl[world->layout.ctrl[agent][i]] = (double)action.real[agent * d + i];
    mw_ant_result result = mw_ant_advance(env, ctrl);
    for (int agent = 0; agent < n; agent++) rewards[agent] = (float)result.reward;
    env->base.outcome.terminated = result.terminated;
}

/* ---- observation ---- */

static inline double slot_value(const mw_ant_slot *slot, const mjData *data) {
    switch (slot->source) {
    case MW_ANT_FROM_QPOS:
        return data->qpos[slot->index];
    case MW_ANT_FROM_QVEL:
        return data->qvel[slot->index];
    default:
        return slot->index;
    }
}

void mw_ant_observe(const mw_env *env, double *obs) {
    const mw_ant_layout *layout = &world_of(env)->layout;
    for (int agent = 0; agent < env->info.agents; agent++)
        for (int i = 0; i < layout->obs_size; i++)
            *obs++ = slot_value(&layout->slots[agent][i], state_of(env)->data);
}

static void observe(const mw_env *env, float *obs) {
    const mw_ant_layout *layout = &world_of(env)->layout;
    for (int agent = 0; agent < env->info.agents; agent++)
        for (int i = 0; i < layout->obs_size; i++)
            *obs++ = (float)slot_value(&layout->slots[agent][i], state_of(env)->data);
}

/* Agents see how far the torso is along x, their last feature, and nothing of y. */
static int places(const mw_env *env, const float *obs, float (*out)[2], int capacity) {
    const int n = env->info.agents, o = env->info.obs_size;
    mw_shape shapes[64];
    if (capacity < 1) return 0;
    out[0][0] = out[0][1] = 0;
    for (int i = 0; i < n; i++) out[0][0] += obs[i * o + o - 1] / (float)n;
    const int drawn = mw_ant_draw(env, shapes, 64);
    for (int k = 0; k < drawn && k < 64; k++)
        if (!strcmp(shapes[k].role, "torso")) out[0][1] = shapes[k].a[1];
    return 1;
}

const mw_env_class mw_ant_class = {
    .family = &mw_families[MW_FAMILY_ANT],
    .create = create,
    .destroy = destroy,
    .feature = feature,
    .places = places,
    .reset = reset,
    .step = step,
    .observe = observe,
    .legal = NULL,
    .state_size = state_size,
    .save = save,
    .check = check,
    .load = load,
    .draw = mw_ant_draw,
    .scripts = mw_ant_scripts,
};
