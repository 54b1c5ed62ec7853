/* The prey's game and how a prey is learned; see prey_game.h. */
#include "behavior/learn/prey_game.h"

#include "behavior/learn/train.h"
#include "core/file.h"
#include "core/numbers.h"
#include "core/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* mw_env.model; the scratch serves one environment, hence one thread at a time. */
typedef struct {
    const mw_prey_game *game;
    mw_actor_work work;
    char name[24];
} model;

/* mw_env.state: plain bytes, copied into snapshots. */
typedef struct {
    mw_mpe_state world;
    int32_t opponent, unused_;
} state;

static void destroy(mw_env *env) {
    model *m = env->model;
    if (m) mw_actor_work_free(&m->work);
    free(m);
    free(env->state);
}

static void reset(mw_env *env) {
    const mw_prey_game *game = ((model *)env->model)->game;
    const mw_mpe_task *task = game->task;
    state *s = env->state;
    memset(s, 0, sizeof *s);
    for (int e = 0; e < task->entities; e++) {
        double span = e < task->agents ? 1.0 : task->landmark_span;
        for (int c = 0; c < 2; c++) s->world.pos[e][c] = mw_rng_range(&env->base.rng, -span, span);
    }
    s->opponent = (int32_t)mw_rng_below(&env->base.rng, (uint32_t)game->count);
}

static void predators_act(mw_env *env, double (*joint)[2]) {
    model *m = env->model;
    const mw_mpe_task *task = m->game->task;
    const state *s = env->state;
    const mw_behavior *behavior = m->game->opponents[s->opponent];
    float obs[MW_MPE_MAX_AGENTS * MW_MPE_MAX_OBS], *at = obs, real[2 * MW_MPE_MAX_AGENTS];
    for (int i = 0; i < task->learners; i++) {
        double features[MW_MPE_MAX_OBS];
        int count = mw_mpe_observe(task, &s->world, i, features);
        for (int f = 0; f < count; f++) *at++ = (float)features[f];
    }
    const float *out = mw_actor_forward(&behavior->actor[0], &m->work, obs, 1);
    mw_actor_draw_real(real, out, 2 * task->learners, behavior->noise, &env->base.rng);
    for (int i = 0; i < task->learners; i++)
        for (int c = 0; c < 2; c++) joint[i][c] = (double)real[2 * i + c];
}

static void step(mw_env *env, mw_action action, float *rewards) {
    const mw_mpe_task *task = ((model *)env->model)->game->task;
    state *s = env->state;
    double joint[MW_MPE_MAX_AGENTS][2], all[MW_MPE_MAX_AGENTS];
    predators_act(env, joint);
    for (int c = 0; c < 2; c++) joint[task->learners][c] = (double)action.real[c];
    mw_mpe_advance(task, &s->world, (const double(*)[2])joint);
    task->rewards(task, &s->world, all);
    rewards[0] = (float)all[task->learners];
}

static void observe(const mw_env *env, float *obs) {
    const mw_mpe_task *task = ((model *)env->model)->game->task;
    double features[MW_MPE_MAX_OBS];
    int count = mw_mpe_observe(task, &((state *)env->state)->world, task->learners, features);
    for (int f = 0; f < count; f++) obs[f] = (float)features[f];
}

static size_t state_size(const mw_env *env) {
    (void)env;
    return sizeof(state);
}

static void save(const mw_env *env, void *buffer) {
    memcpy(buffer, env->state, sizeof(state));
}

static mw_status check(const mw_env *env, const void *buffer, mw_error *error) {
    const mw_prey_game *game = ((model *)env->model)->game;
    state s;
    memcpy(&s, buffer, sizeof s);
    if (s.opponent < 0 || s.opponent >= game->count)
        return mw_fail(error, MW_ERR_FORMAT, "%s: the snapshot's opponent is %d, expected 0 to %d",
                       env->info.task, s.opponent, game->count - 1);
    return mw_mpe_check(env, &s.world, error);
}

static void load(mw_env *env, const void *buffer) {
    memcpy(env->state, buffer, sizeof(state));
}

static const mw_env_class prey_class = {
    .family = &mw_families[MW_FAMILY_MPE],
    .destroy = destroy,
    .reset = reset,
    .step = step,
    .observe = observe,
    .state_size = state_size,
    .save = save,
    .check = check,
    .load = load,
};

static mw_status create(mw_env **out, const void *context, mw_error *error) {
    const mw_prey_game *game = context;
    mw_env *env = *out = calloc(1, sizeof *env);
    model *m = calloc(1, sizeof *m);
    state *s = calloc(1, sizeof *s);
    if (!env || !m || !s) {
        free(m);
        free(s);
        free(env);
        *out = NULL;
        return mw_fail(error, MW_ERR_MEMORY, "cannot allocate the prey's game");
    }
    env->kind = &prey_class;
    env->model = m;
    env->state = s;
    m->game = game;
    snprintf(m->name, sizeof m->name, "%s-prey", game->task->name);
    env->info = (mw_env_info){.task = m->name,
                              .family = mw_families[MW_FAMILY_MPE].name,
                              .rules = MW_MPE_RULES,
                              .summary = "the prey of a pursuit learns to escape",
                              .agents = 1,
                              .obs_size = mw_mpe_obs_size(game->task, game->task->learners),
                              .act_size = 2,
                              .episode_limit = 25};
    mw_status status = mw_actor_work_create(&m->work, &game->opponents[0]->actor[0].shape, 1, error);
    if (status != MW_OK) {
        mw_env_free(env);
        *out = NULL;
    }
    return status;
}

mw_game mw_game_of_prey(const mw_prey_game *game) {
    return (mw_game){create, game};
}

/* ---- export ---- */

mw_status mw_prey_export(const mw_actor *actor, const char *task, const char *version, const char *path,
                         mw_error *error) {
    enum { LAYERS = 3, TENSORS = 2 * LAYERS };
    char names[TENSORS][32];
    uint16_t *halves[TENSORS] = {NULL};
    mw_tensor tensors[TENSORS];
    mw_status status = MW_OK;
    if (actor->shape.ids || actor->shape.activation != MW_RELU || actor->shape.agents != 1)
        return mw_fail(error, MW_ERR_UNSUPPORTED, "%s: a prey is a ReLU network of its observation alone",
                       path);
    for (int i = 0; i < TENSORS && status == MW_OK; i++) {
        const mw_param *param = &actor->params.list[i];
        float *floats = malloc(param->count * sizeof *floats);
        halves[i] = malloc(param->count * sizeof *halves[i]);
        if (floats && halves[i]) {
            mw_param_to_file(param, actor->values, floats);
            for (size_t k = 0; k < param->count; k++) halves[i][k] = mw_float_to_half(floats[k]);
        } else {
            status = mw_fail(error, MW_ERR_MEMORY, "%s: out of memory", path);
        }
        free(floats);
        snprintf(names[i], sizeof names[i], "prey.%d.%s", i / 2, i % 2 ? "bias" : "weight");
        tensors[i] = (mw_tensor){.name = names[i], .type = MW_F16, .dims = param->dims, .data = halves[i]};
        for (int k = 0; k < param->dims; k++) tensors[i].shape[k] = (size_t)param->shape[k];
    }
    const mw_meta meta[] = {{"task", task}, {"rules", MW_MPE_RULES}, {"version", version}};
    if (status == MW_OK) status = mw_safetensors_write(path, tensors, TENSORS, meta, 3, error);
    for (int i = 0; i < TENSORS; i++) free(halves[i]);
    return status;
}

/* ---- the recipe ---- */

static mw_status last_snapshot(mw_behavior *behavior, const char *folder, const mw_learn_preset *preset,
                               mw_error *error) {
    char path[600];
    const double collected = (double)preset->envs * preset->horizon;
    const long iterations = (long)ceil(preset->steps / collected);
    snprintf(path, sizeof path, "%.500s/snapshots/%012.0f.safetensors", folder,
             (double)iterations * collected);
    return mw_behavior_load(behavior, path, error);
}

/* What is continued must be what was asked for. */
static mw_status is_asked_for(const char *folder, const mw_learn_preset *preset, uint64_t seed,
                              mw_error *error) {
    char path[600];
    mw_learn_preset held;
    uint64_t own;
    snprintf(path, sizeof path, "%.500s/state.safetensors", folder);
    if (!mw_file_exists(path)) return MW_OK;
    MW_TRY(mw_learner_peek(path, &held, &own, error));
    if (own == seed && held.steps == preset->steps) return MW_OK;
    return mw_fail(
        error, MW_ERR_MISMATCH, "%s holds a run of seed %llu and %.0f steps, not of seed %llu and %.0f",
        folder, (unsigned long long)own, (double)held.steps, (unsigned long long)seed, (double)preset->steps);
}

static mw_status learn_part(const mw_prey_options *options, const mw_learn_preset *preset,
                            const mw_game *game, const char *folder, int round, mw_behavior *result,
                            mw_error *error) {
    const mw_learn_options learn = {.size = sizeof learn,
                                    .preset = preset,
                                    .seed = options->seed + (uint64_t)round,
                                    .threads = options->threads,
                                    .resume = true,
                                    .stop = options->stop,
                                    .report = options->report,
                                    .context = options->context};
    MW_TRY(is_asked_for(folder, preset, learn.seed, error));
    MW_TRY(mw_train(game, folder, &learn, error));
    return last_snapshot(result, folder, preset, error);
}

/* One round; prey_file is the prey to catch, NULL for the scripted one, and then names the new one. */
static mw_status play_round(const mw_prey_options *options, const char *root, mw_prey_game *pack,
                            mw_behavior *predators, int round, char *prey_file, size_t size,
                            mw_error *error) {
    char folder[480], name[32];
    const char *task = pack->task->name;
    snprintf(name, sizeof name, "%s-prey", task);
    mw_learn_preset hunt = *mw_learn_preset_find(task), flight = *mw_learn_preset_find(name);
    hunt.steps = options->predator_steps;
    flight.steps = options->prey_steps;
    hunt.snapshots = flight.snapshots = 1;
    mw_env_options world;
    mw_env_options_init(&world, sizeof world);
    world.prey_file = prey_file;
    mw_task_game task_game = {task, &world};
    mw_game hunting = mw_game_of_task(&task_game), fleeing = mw_game_of_prey(pack);
    snprintf(folder, sizeof folder, "%.400s/predators-%d", root, round + 1);
    MW_TRY(learn_part(options, &hunt, &hunting, folder, round, &predators[round], error));
    pack->opponents[pack->count++] = &predators[round];
    mw_behavior prey;
    snprintf(folder, sizeof folder, "%.400s/prey-%d", root, round + 1);
    MW_TRY(learn_part(options, &flight, &fleeing, folder, round, &prey, error));
    snprintf(prey_file, size, "%.400s/prey-%d.safetensors", root, round + 1);
    mw_status status = mw_prey_export(&prey.actor[0], task, options->version, prey_file, error);
    mw_behavior_free(&prey);
    return status;
}

static const mw_prey_options defaults = {
    .size = sizeof defaults, .rounds = 3, .predator_steps = 1e6f, .prey_steps = 1e6f, .version = "v1"};

void mw_prey_options_init(mw_prey_options *options, size_t size) {
    mw_options_fill(options, size, &defaults, sizeof defaults);
}

mw_status mw_prey_learn(const char *name, const char *folder, const mw_prey_options *given, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED_AS(name, "task");
    MW_NEED(folder);
    mw_prey_options options = defaults;
    MW_TRY(mw_options_take(&options, sizeof options, MW_FIELD_END(mw_prey_options, context), given,
                           "mw_prey_options_init", error));
    const mw_mpe_task *task = mw_mpe_find(name);
    if (!task || !mw_mpe_has_prey(task)) return mw_fail(error, MW_ERR_ARGUMENT, "%s has no prey", name);
    if (options.rounds < 1 || options.rounds > MW_PREY_MOST_OPPONENTS || strlen(folder) > 400)
        return mw_fail(error, MW_ERR_ARGUMENT, "rounds must be 1 to %d, the folder's name short",
                       MW_PREY_MOST_OPPONENTS);
    MW_NEED_AS(options.version, "version");
    if (mw_prey_version_check(options.version, name, error) != MW_OK)
        return mw_fail_within(error, MW_ERR_ARGUMENT, "options");
    mw_behavior *predators = calloc(MW_PREY_MOST_OPPONENTS, sizeof *predators);
    if (!predators) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate the predators");
    mw_prey_game pack = {.task = task};
    char prey_file[480] = MW_PREY_SCRIPTED;
    mw_status status = mw_dir_make(folder, error);
    for (int round = 0; round < options.rounds && status == MW_OK; round++)
        status = play_round(&options, folder, &pack, predators, round, prey_file, sizeof prey_file, error);
    for (int round = 0; round < MW_PREY_MOST_OPPONENTS; round++) mw_behavior_free(&predators[round]);
    free(predators);
    return status;
}
