/* How to plan, declared once: the table behind mw_plan_settings serves public options, command line, JSON,
 * bundles and presets. A new setting is a member there and a row here. */
#ifndef MW_PLAN_SETTINGS_H
#define MW_PLAN_SETTINGS_H

#include "core/fields.h"
#include "mawam/plan.h"

extern const mw_fields mw_plan_fields;

#define MW_PLAN_TARGET 1e6f /* in size at most: as a setting, and after all that was earned */

/* Candidates as the policy draws them, the best one executed: how scorers are compared. */
#define MW_AS_DRAWN                                                                                          \
    "action_offset=0 temperature=0 warm_start=off caution=0 value_after=0 recombine=0 "                      \
    "distinct=off"

/* What is for real actions must be off for discrete ones; H and K within what the flow gives. */
mw_status mw_plan_settings_check(const mw_plan_settings *settings, bool discrete, int generated,
                                 mw_error *error);

/* The former alone, while target and return_error are still to be found. */
mw_status mw_plan_settings_suit(const mw_plan_settings *settings, bool discrete, mw_error *error);

#endif
