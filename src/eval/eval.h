/* The inside of an evaluation, whose interface is mawam/eval.h. An episode is a pure function of the bundle,
 * the arm, the plan's settings and (seed, episode); how many environments play together and on how many
 * threads changes nothing but the time it takes. */
#ifndef MW_EVAL_EVAL_H
#define MW_EVAL_EVAL_H

#include "core/json.h"
#include "eval/controller.h"
#include "eval/statistics.h"

struct mw_eval_result {
    mw_eval_options options; /* arms, episodes and envs filled in */
    mw_bundle_info bundle;   /* what was played for */
    mw_plan_settings plan;   /* of the plan arm */
    char rules[MW_WORD];     /* of the world that was played in */
    mw_env_info info;        /* of the task; task and rules are the strings above */
    mw_eval_report arm[MW_ARMS];
};

/* What the caller gave over the defaults; it may be NULL. The world is set after this. */
mw_status mw_eval_options_take(mw_eval_options *options, const mw_eval_options *given, mw_error *error);

/* Can all of it be played? */
mw_status mw_eval_check(const mw_bundle *bundle, const mw_eval_options *options, mw_error *error);

/* mw_bundle_evaluate into a struct at hand. *result is empty after a failure. */
mw_status mw_eval_run(mw_eval_result *result, const mw_bundle *bundle, const mw_eval_options *options,
                      mw_error *error);
void mw_eval_result_clear(mw_eval_result *result); /* safe to call twice */

/* The rules of the training where they were others than the world's; NULL: the same. */
const char *mw_eval_accepted(const mw_eval_result *result);

/* All of it as JSON, to be released with json_decref; NULL: out of memory. */
json_t *mw_eval_json(const mw_eval_result *result);

/* A report with command and CPU added: to `path`, or where that is NULL to `out`. Takes value over; value or
 * command may be NULL for want of memory. */
mw_status mw_eval_report_put(json_t *value, const char *command, const char *path, FILE *out,
                             mw_error *error);

#endif
