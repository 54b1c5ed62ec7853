/* The table of arms; see mawam/eval.h. */
#include "core/names.h"
#include "eval/controller.h"
#include "plan/scorers.h"

#include <stdio.h>
#include <string.h>

static const mw_arm rows[] = {
    [MW_ARM_REACTIVE] = {"reactive", "the policy's first candidate", "planner", "choice=first"},
    [MW_ARM_RANDOM] = {"random", "any of M candidates as the policy draws them", "planner",
                       "choice=random " MW_AS_DRAWN},
    [MW_ARM_PLAN] = {"plan", "as the bundle plans", "planner", ""},
    [MW_ARM_PAPER] = {"paper", "the best of M by the world model, candidates as the policy draws them",
                      "planner", "scorer=rwm choice=best " MW_AS_DRAWN},
    [MW_ARM_ORACLE] = {"oracle", "as plan, judged by the true simulator", "planner",
                       "scorer=oracle choice=best caution=0"},
    [MW_ARM_CEILING] = {"ceiling", "the best of M by the true simulator, candidates as the policy draws them",
                        "planner", "scorer=oracle choice=best " MW_AS_DRAWN},
    {"behavior", "the policy that made the data, with its exploration", "behavior", ""},
    {"uniform", "uniformly random legal actions", "uniform", ""},
};

enum { ROWS = sizeof rows / sizeof *rows };

static mw_arm judged_by(const mw_model_class *class) {
    mw_arm arm = {class->name, class->scorer->help, "planner", "", false};
    snprintf(arm.settings, sizeof arm.settings, "scorer=%.20s choice=best " MW_AS_DRAWN, class->name);
    return arm;
}

/* Does a row above say the same? */
static bool has_row(const mw_arm *arm) {
    for (int i = 0; i < ROWS; i++)
        if (!strcmp(rows[i].settings, arm->settings)) return true;
    return false;
}

/* The index-th model that has no arm above and judges candidates, or plays by itself: those come last, and
 * what can do both is one of them, because an arm is known by its name. */
static const mw_model_class *model_at(int index) {
    const mw_model_class *class;
    for (int i = 0; (class = mw_model_class_at(i)); i++) {
        if (!class->scorer || class->policy) continue;
        const mw_arm arm = judged_by(class);
        if (!has_row(&arm) && index-- == 0) return class;
    }
    for (int i = 0; (class = mw_model_class_at(i)); i++)
        if (class->policy && index-- == 0) return class;
    return NULL;
}

bool mw_arm_at(int index, mw_arm *arm) {
    const mw_model_class *class = index >= ROWS ? model_at(index - ROWS) : NULL;
    if (index < 0 || index >= MW_ARMS || (index >= ROWS && !class)) return false;
    if (class && class->policy)
        *arm = (mw_arm){class->name, class->policy->help, class->name, "", false};
    else
        *arm = class ? judged_by(class) : rows[index];
    arm->plans = mw_controller_plans(arm->controller);
    return true;
}

const char *mw_arm_name(int index) {
    mw_arm arm;
    return mw_arm_at(index, &arm) ? arm.name : NULL;
}

bool mw_arm_available(int index, const mw_bundle *bundle) {
    mw_arm arm;
    char scorer[MW_WORD];
    if (!mw_arm_at(index, &arm)) return false;
    if (mw_model_class_index(arm.controller) >= 0) return mw_bundle_model(bundle, arm.controller);
    if (arm.plans && !mw_bundle_draws(bundle)) return false;
    return sscanf(arm.settings, "scorer=%63s", scorer) != 1 || mw_scorer_available(scorer, bundle);
}

mw_status mw_arms_parse(const char *text, unsigned *arms, mw_error *error) {
    MW_NEED(text);
    MW_NEED(arms);
    return mw_names_parse(arms, mw_arm_name, "arm", text, error);
}
