/* Training data against the rules of our own world, where the task has one: a bundle is judged there, so what
 * it learned from should be of the same world, or be marked. */
#include "train/train.h"

#include <stdio.h>
#include <string.h>

static bool built_in(const char *task) {
    const char *name;
    for (int i = 0; (name = mw_env_task(i)); i++)
        if (!strcmp(name, task)) return true;
    return false;
}

mw_status mw_training_rules(char accepted[MW_WORD], const mw_bundle_info *info, const mw_env_options *world,
                            bool accept, mw_error *error) {
    mw_env *env;
    mw_status status = MW_OK;
    accepted[0] = 0;
    if (!built_in(info->task)) return MW_OK;
    MW_TRY(mw_env_create(&env, info->task, world, error));
    const char *rules = mw_env_describe(env)->rules;
    if (strcmp(rules, info->rules)) {
        snprintf(accepted, MW_WORD, "%s", rules);
        if (!accept)
            status = mw_fail(error, MW_ERR_MISMATCH,
                             "%s: the data is of rules %s, this program's world has rules %s; 'accept_rules' "
                             "trains on it all the same and marks the bundle",
                             info->task, info->rules, rules);
    }
    mw_env_free(env);
    return status;
}
