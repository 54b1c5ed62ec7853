/* Tiny bundles with random weights for the built-in tasks: enough to plan with, too small to plan well. */
#ifndef MW_TESTS_TINY_H
#define MW_TESTS_TINY_H

#include "env/env.h"
#include "random_bundle.h"

/* rules NULL: the task's own. */
static inline mw_bundle *tiny_bundle(const char *task, const char *rules) {
    mw_error error;
    mw_env *env;
    CHECK_OK(mw_env_create(&env, task, NULL, &error), error);
    const mw_env_info *e = mw_env_describe(env);
    mw_bundle_info info = {.quality = "tiny",
                           .agents = e->agents,
                           .obs = e->obs_size,
                           .act = e->act_size,
                           .discrete = e->discrete,
                           .episode_limit = e->episode_limit};
    const bool discrete = e->discrete;
    snprintf(info.task, sizeof info.task, "%s", task);
    snprintf(info.rules, sizeof info.rules, "%s", rules ? rules : e->rules);
    mw_env_free(env);
    mw_bundle *bundle = random_bundle(info, 1);
    bundle->plan.return_to_go = discrete;
    return bundle;
}

#endif
