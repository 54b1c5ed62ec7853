/* A controller turns observations into joint actions, for many environments at once: the planner, a behaviour
 * policy, a script. Evaluation, replays and diagnostics know nothing else of who plays. */
#ifndef MW_EVAL_CONTROLLER_H
#define MW_EVAL_CONTROLLER_H

#include "mawam/eval.h"
#include "plan/planner.h"

typedef struct mw_controller mw_controller;

typedef struct mw_controller_request {
    const mw_bundle *bundle;
    mw_plan_settings plan;             /* of a planner */
    mw_env *const *envs;               /* [count]: those that are played in */
    const mw_env_options *env_options; /* that they were made with */
    int count, threads;
    bool imagine;          /* as in mw_planner_options */
    const char *behaviors; /* folder of behaviour files; NULL: see mw_behavior_path */
} mw_controller_request;

typedef struct mw_controller_class {
    const char *name;
    mw_status (*create)(mw_controller **controller, const mw_controller_request *request, mw_error *error);
    void (*destroy)(mw_controller *controller);
    void (*begin)(mw_controller *controller, int env, uint64_t episode);
    /* As mw_planner_act. */
    mw_status (*act)(mw_controller *controller, const float *obs, const uint8_t *legal, const uint8_t *active,
                     float *real, int32_t *index, mw_error *error);
    void (*reward)(mw_controller *controller, int env, float reward);      /* NULL: of no use to it */
    mw_candidates (*candidates)(const mw_controller *controller, int env); /* NULL: it has none */
    mw_planner_times (*times)(const mw_controller *controller);            /* NULL: not measured inside */
} mw_controller_class;

struct mw_controller {
    const mw_controller_class *kind;
};

/* "planner", "behavior", "uniform", or a model of the bundle that plays by itself. */
mw_status mw_controller_create(mw_controller **controller, const char *name,
                               const mw_controller_request *request, mw_error *error);
bool mw_controller_plans(const char *name); /* does one of that name draw candidates? */
static inline void mw_controller_free(mw_controller *controller) {
    if (controller) controller->kind->destroy(controller);
}

/* Arms, which say who plays and how, are in mawam/eval.h. */

#endif
