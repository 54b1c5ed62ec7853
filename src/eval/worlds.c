/* Environments under one controller; see worlds.h. */
#include "eval/worlds.h"

#include "env/env.h"

#include <stdlib.h>
#include <string.h>

mw_status mw_bundle_expect(const mw_bundle *bundle, const mw_env_info *info, bool accept_rules,
                           mw_error *error) {
    const mw_bundle_info *b = &bundle->info;
    if (strcmp(b->task, info->task))
        return mw_fail(error, MW_ERR_MISMATCH, "the bundle plans for %s, the environment is %s", b->task,
                       info->task);
    if (strcmp(b->rules, info->rules) && !accept_rules)
        return mw_fail(error, MW_ERR_MISMATCH,
                       "%s: the bundle was trained under rules %s, this environment has rules %s; "
                       "'accept_rules' plays it all the same and marks the result",
                       info->task, b->rules, info->rules);
    if (b->agents != info->agents || b->obs != info->obs_size || b->act != info->act_size ||
        b->discrete != info->discrete)
        return mw_fail(error, MW_ERR_MISMATCH,
                       "%s: the bundle has %d agents, %d observation features and %d %s actions; the "
                       "environment has %d, %d and %d %s",
                       info->task, b->agents, b->obs, b->act, b->discrete ? "discrete" : "real", info->agents,
                       info->obs_size, info->act_size, info->discrete ? "discrete" : "real");
    return MW_OK;
}

static mw_status allocate(mw_worlds *s, mw_error *error) {
    const size_t count = (size_t)s->count, n = count * (size_t)s->info->agents, d = (size_t)s->info->act_size;
    s->active = calloc(count, 1);
    s->obs = calloc(n * (size_t)s->info->obs_size, sizeof *s->obs);
    s->legal = calloc(n * d, 1);
    s->rewards = calloc(n, sizeof *s->rewards);
    s->last = calloc(count, sizeof *s->last);
    if (s->info->discrete)
        s->index = calloc(n, sizeof *s->index);
    else
        s->real = calloc(n * d, sizeof *s->real);
    if (!s->active || !s->obs || !s->legal || !s->rewards || !s->last || (!s->index && !s->real))
        return mw_fail(error, MW_ERR_MEMORY, "cannot allocate %d environments of %s", s->count,
                       s->info->task);
    return MW_OK;
}

static mw_status build(mw_worlds *s, const mw_bundle *bundle, const mw_env_options *world, bool accept_rules,
                       mw_pool *pool, mw_error *error) {
    if (s->count < 1 || s->count > 65536)
        return mw_fail(error, MW_ERR_ARGUMENT, "1 to 65536 environments can play together; got %d", s->count);
    MW_TRY(mw_env_batch_create_on(&s->batch, bundle->info.task, world, s->count, pool, error));
    s->envs = mw_env_batch_envs(s->batch);
    MW_TRY(mw_bundle_expect(bundle, mw_env_describe(s->envs[0]), accept_rules, error));
    s->info = mw_env_describe(s->envs[0]);
    return allocate(s, error);
}

mw_status mw_worlds_create(mw_worlds *worlds, const mw_bundle *bundle, const mw_env_options *world,
                           bool accept_rules, int count, mw_pool *pool, mw_error *error) {
    *worlds = (mw_worlds){.count = count};
    mw_status status = build(worlds, bundle, world, accept_rules, pool, error);
    if (status != MW_OK) mw_worlds_free(worlds);
    return status;
}

void mw_worlds_free(mw_worlds *s) {
    mw_env_batch_free(s->batch);
    free(s->active);
    free(s->obs);
    free(s->legal);
    free(s->real);
    free(s->index);
    free(s->rewards);
    free(s->last);
    *s = (mw_worlds){0};
}

mw_episode_seeds mw_episode_seeds_of(uint64_t seed, long episode) {
    mw_episode_seeds seeds;
    mw_env_episode_seeds(seed, (uint64_t)episode, &seeds.world, &seeds.controller);
    return seeds;
}

static void observe(mw_worlds *s, int e) {
    const mw_env_info *i = s->info;
    mw_env_observe(s->envs[e], s->obs + (size_t)e * (size_t)(i->agents * i->obs_size));
    mw_env_legal(s->envs[e], s->legal + (size_t)e * (size_t)(i->agents * i->act_size));
}

void mw_worlds_begin(mw_worlds *s, mw_controller *controller, int e, mw_episode_seeds seeds) {
    mw_env_reset(s->envs[e], seeds.world);
    if (controller) controller->kind->begin(controller, e, seeds.controller);
    s->last[e] = (mw_outcome){0};
    s->active[e] = 1;
    observe(s, e);
}

mw_status mw_worlds_step(mw_worlds *s, mw_controller *controller, mw_error *error) {
    MW_TRY(mw_env_batch_step_some(s->batch, s->active, (mw_action){s->real, s->index}, s->rewards, s->last,
                                  s->obs, s->legal, error));
    for (int e = 0; e < s->count; e++)
        if (s->active[e] && controller && controller->kind->reward)
            controller->kind->reward(controller, e, (float)mw_worlds_reward(s, e));
    return MW_OK;
}

double mw_worlds_reward(const mw_worlds *s, int e) {
    const int n = s->info->agents;
    double sum = 0;
    for (int i = 0; i < n; i++) sum += s->rewards[e * n + i];
    return sum / n;
}

bool mw_worlds_over(const mw_worlds *s, int e) {
    return s->last[e].terminated || s->last[e].truncated;
}
