/* The parts of `mawam verify diagnostics`: each looks for its own files in the folder, so that a folder may
 * hold some of them only. */
#ifndef MW_VERIFY_DIAGNOSTICS_H
#define MW_VERIFY_DIAGNOSTICS_H

#include "core/json.h"
#include "verify/verify.h"

/* Counts the files that it found and checked in *found. */
typedef mw_status mw_verify_part(const char *dir, int *found, mw_verify *report, mw_error *error);

/* The larger of `worst` and the distance from a recorded number: relative to a large one, absolute to a small
 * one. What is recorded as undefined (null, or not at all) agrees with NaN alone. */
double mw_verify_recorded(double worst, double seen, const json_t *object, const char *key);
double mw_verify_value(double worst, double seen, const json_t *value); /* the same of a value */

mw_verify_part mw_verify_study;   /* study.json: comparisons, two factors, quality, selectors, bootstrap */
mw_verify_part mw_verify_ranking; /* same_state.safetensors, with same_state of study.json */
mw_verify_part mw_verify_cost;    /* cost.safetensors, with cost of study.json */
mw_verify_part mw_verify_routing; /* routing_* and model_*; of study.json graphs and influence_match */

#endif
