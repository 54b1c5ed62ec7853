/* The parts of `mawam verify diagnostics`: each looks for its own files in the folder, so that a folder may
 * hold some of them only. */
#ifndef MW_STUDY_VERIFY_DIAGNOSTICS_H
#define MW_STUDY_VERIFY_DIAGNOSTICS_H

#include "core/verify.h"

/* Counts the files that it found and checked in *found. */
typedef mw_status mw_verify_part(const char *dir, int *found, mw_verify *report, mw_error *error);

mw_verify_part mw_verify_study;   /* study.json: comparisons, two factors, quality, selectors, bootstrap */
mw_verify_part mw_verify_ranking; /* same_state.safetensors, with same_state of study.json */
mw_verify_part mw_verify_cost;    /* cost.safetensors, with cost of study.json */
mw_verify_part mw_verify_routing; /* routing_* and model_*; of study.json graphs and influence_match */

#endif
