/* The diagnosis of mawam/eval.h as JSON, for the study: among the candidates of one state, which is what the
 * planner needs, and over recorded snippets at all horizons. */
#ifndef MW_EVAL_CALIBRATE_H
#define MW_EVAL_CALIBRATE_H

#include "data/dataset.h"
#include "eval/metrics.h"
#include "plan/bundle.h"

json_t *mw_same_state_json(const mw_same_state *result);
json_t *mw_snippets_json(const mw_snippets *result);

#endif
