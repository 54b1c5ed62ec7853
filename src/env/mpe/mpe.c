/* The particle tasks behind the environment interface: single-precision actions in, the prey's policy asked,
 * single-precision observations and rewards out. */
#include "env/mpe/mpe.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const mw_mpe_model *model_of(const mw_env *env) {
    return env->model;
}

static void destroy(mw_env *env) {
    mw_mpe_model *model = env->model;
    if (model) mw_prey_net_free(model->prey);
    free(model);
    free(env->state);
}

/* The prey is part of the rules, so its tag is part of their version. */
static mw_status choose_prey(mw_mpe_model *model, const char *path, mw_error *error) {
    char tag[32] = MW_PREY_SCRIPTED;
    if (!mw_mpe_has_prey(model->task))
        return path ? mw_fail(error, MW_ERR_ARGUMENT, "%s has no prey; prey_file must not be given",
                              model->task->name)
                    : MW_OK;
    if (!path)
        MW_TRY(mw_prey_net_frozen(&model->prey, model->task, tag, error));
    else if (strcmp(path, MW_PREY_SCRIPTED))
        MW_TRY(mw_prey_net_load(&model->prey, path, model->task, tag, error));
    snprintf(model->rules, sizeof model->rules, "%s+prey-%s", MW_MPE_RULES, tag);
    return MW_OK;
}

static mw_status create(mw_env *env, const char *name, const mw_env_options *options, mw_error *error) {
    if (!(options->spawn_jitter < 0))
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "%s has no units whose start could jitter; that option must not be given", name);
    mw_mpe_model *model = env->model = calloc(1, sizeof *model);
    env->state = calloc(1, sizeof(mw_mpe_state));
    if (!model || !env->state) {
        destroy(env);
        return mw_fail(error, MW_ERR_MEMORY, "%s: cannot allocate the world", name);
    }
    const mw_mpe_task *task = model->task = mw_mpe_find(name);
    snprintf(model->rules, sizeof model->rules, "%s", MW_MPE_RULES);
    mw_status status = choose_prey(model, options->prey_file, error);
    if (status != MW_OK) {
        destroy(env);
        return status;
    }
    env->info = (mw_env_info){.task = task->name,
                              .family = mw_families[MW_FAMILY_MPE].name,
                              .rules = model->rules,
                              .summary = task->summary,
                              .agents = task->learners,
                              .obs_size = mw_mpe_obs_size(task, 0),
                              .act_size = 2,
                              .episode_limit = 25};
    return MW_OK;
}

static void reset(mw_env *env) {
    const mw_mpe_task *task = model_of(env)->task;
    mw_mpe_state *state = env->state;
    memset(state, 0, sizeof *state);
    for (int e = 0; e < task->entities; e++) {
        double span = e < task->agents ? 1.0 : task->landmark_span;
        for (int c = 0; c < 2; c++) state->pos[e][c] = mw_rng_range(&env->base.rng, -span, span);
    }
    memcpy(state->start, state->pos, (size_t)task->agents * sizeof state->pos[0]);
}

static void step(mw_env *env, mw_action action, float *rewards) {
    const mw_mpe_model *model = env->model;
    const mw_mpe_task *task = model->task;
    double joint[MW_MPE_MAX_AGENTS][2], all[MW_MPE_MAX_AGENTS];
    for (int i = 0; i < task->learners; i++)
        for (int c = 0; c < 2; c++) joint[i][c] = action.real[2 * i + c];
    if (mw_mpe_has_prey(task)) mw_prey_act(model->prey, task, env->state, joint[task->learners]);
    mw_mpe_advance(task, env->state, (const double(*)[2])joint);
    task->rewards(task, env->state, all);
    for (int i = 0; i < task->learners; i++) rewards[i] = (float)all[i];
}

static void observe(const mw_env *env, float *obs) {
    const mw_mpe_task *task = model_of(env)->task;
    for (int i = 0; i < task->learners; i++) {
        double features[MW_MPE_MAX_OBS];
        int count = mw_mpe_observe(task, env->state, i, features);
        for (int f = 0; f < count; f++) *obs++ = (float)features[f];
    }
}

/* Every agent tells of itself, the first one of everything else; the order is that of mw_mpe_observe. */
static void recall(mw_env *env, const float *obs) {
    const mw_mpe_task *task = model_of(env)->task;
    mw_mpe_state *state = env->state;
    const int o = env->info.obs_size, n = task->learners, landmarks = task->entities - task->agents;
    const float *prey = obs + 4 + 2 * landmarks + 2 * (n - 1);
    for (int c = 0; c < 2; c++) {
        for (int i = 0; i < n; i++) {
            state->vel[i][c] = obs[i * o + c];
            state->pos[i][c] = obs[i * o + 2 + c];
        }
        for (int e = 0; e < landmarks; e++)
            state->pos[task->agents + e][c] = state->pos[0][c] + obs[4 + 2 * e + c];
        if (!mw_mpe_has_prey(task)) continue;
        state->pos[n][c] = state->pos[0][c] + prey[c];
        state->vel[n][c] = prey[2 + c];
    }
    memcpy(state->start, state->pos, (size_t)task->agents * sizeof state->pos[0]);
}

/* ---- description: the order of mw_mpe_observe ---- */

static void name_feature(mw_feature *feature, const char *unit, double bound, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void name_feature(mw_feature *feature, const char *unit, double bound, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(feature->name, sizeof feature->name, format, args);
    va_end(args);
    feature->unit = unit;
    feature->low = -bound;
    feature->high = bound;
}

/* How many entities of the same role come before e. */
static int ordinal(const mw_mpe_task *task, int e) {
    int count = 0;
    for (int i = 0; i < e; i++) count += !strcmp(task->entity[i].role, task->entity[e].role);
    return count;
}

static void feature(const mw_env *env, int index, mw_feature *out) {
    const mw_mpe_task *task = model_of(env)->task;
    const char *axis = index % 2 ? "y" : "x";
    bool prey = mw_mpe_has_prey(task);
    int landmarks = task->entities - task->agents, pair = index / 2, others = task->learners - 1;
    double cap = task->entity[0].cap;
    if (pair == 0) {
        name_feature(out, "length/time", cap > 0 ? cap : INFINITY, "own velocity %s", axis);
    } else if (pair == 1) {
        name_feature(out, "length", INFINITY, "own position %s", axis);
    } else if ((pair -= 2) < landmarks) {
        int e = task->agents + pair;
        name_feature(out, "length", INFINITY, "%s %d relative %s", task->entity[e].role, ordinal(task, e),
                     axis);
    } else if ((pair -= landmarks) < others) {
        name_feature(out, "length", INFINITY, "other agent %d relative %s", pair, axis);
    } else if ((pair -= others) < prey) {
        name_feature(out, "length", INFINITY, "prey relative %s", axis);
    } else if ((pair -= prey) < prey) {
        name_feature(out, "length/time", task->entity[task->learners].cap, "prey velocity %s", axis);
    } else {
        int rest = index - (4 + 2 * (task->entities - 1) + 2 * prey);
        if (rest < task->forests)
            name_feature(out, "flag", 1, "inside forest %d", rest);
        else
            name_feature(out, "", 0, "silent channel %d", rest - task->forests);
    }
}

/* ---- snapshots and pictures ---- */

static size_t state_size(const mw_env *env) {
    (void)env;
    return sizeof(mw_mpe_state);
}

static void save(const mw_env *env, void *buffer) {
    memcpy(buffer, env->state, sizeof(mw_mpe_state));
}

mw_status mw_mpe_check(const mw_env *env, const mw_mpe_state *state, mw_error *error) {
    MW_TRY(mw_env_check_numbers(env, "position", state->pos[0], 2 * MW_MPE_MAX_ENTITIES, error));
    MW_TRY(mw_env_check_numbers(env, "velocity", state->vel[0], 2 * MW_MPE_MAX_AGENTS, error));
    return mw_env_check_numbers(env, "start", state->start[0], 2 * MW_MPE_MAX_AGENTS, error);
}

static mw_status check(const mw_env *env, const void *buffer, mw_error *error) {
    mw_mpe_state state;
    memcpy(&state, buffer, sizeof state);
    return mw_mpe_check(env, &state, error);
}

static void load(mw_env *env, const void *buffer) {
    memcpy(env->state, buffer, sizeof(mw_mpe_state));
}

/* Back to front: landmarks from the last (forests) to the first, then agents. */
static int draw(const mw_env *env, mw_shape *shapes, int capacity) {
    const mw_mpe_task *task = model_of(env)->task;
    const mw_mpe_state *state = env->state;
    int count = 0;
    for (int k = 0; k < task->entities; k++) {
        int landmarks = task->entities - task->agents;
        int e = k < landmarks ? task->entities - 1 - k : k - landmarks;
        mw_shape shape = {.kind = MW_SHAPE_CIRCLE,
                          .role = task->entity[e].role,
                          .id = ordinal(task, e),
                          .a = {(float)state->pos[e][0], (float)state->pos[e][1]},
                          .radius = (float)task->entity[e].radius,
                          .health = -1,
                          .shield = -1};
        count = mw_shape_add(shapes, capacity, count, shape);
    }
    return count;
}

static bool place(mw_env *env, const char *role, int id, const float to[2]) {
    const mw_mpe_task *task = model_of(env)->task;
    mw_mpe_state *state = env->state;
    for (int e = 0; e < task->entities; e++) {
        if (strcmp(task->entity[e].role, role) || ordinal(task, e) != id) continue;
        for (int c = 0; c < 2; c++) {
            state->pos[e][c] = to[c];
            if (e < task->agents) state->vel[e][c] = 0;
        }
        return true;
    }
    return false;
}

/* An agent's own position follows its velocity. */
static int places(const mw_env *env, const float *obs, float (*out)[2], int capacity) {
    int count = 0;
    for (; count < env->info.agents && count < capacity; count++)
        memcpy(out[count], obs + count * env->info.obs_size + 2, sizeof *out);
    return count;
}

const mw_env_class mw_mpe_class = {
    .family = &mw_families[MW_FAMILY_MPE],
    .create = create,
    .destroy = destroy,
    .feature = feature,
    .places = places,
    .reset = reset,
    .step = step,
    .observe = observe,
    .recall = recall,
    .state_size = state_size,
    .save = save,
    .check = check,
    .load = load,
    .draw = draw,
    .place = place,
    .task_scripts = mw_mpe_scripts,
};
