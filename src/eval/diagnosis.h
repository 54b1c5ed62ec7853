/* The diagnosis of mawam/eval.h as JSON, for the study: among the candidates of one state, which is what the
 * planner needs, and over recorded snippets at all horizons. */
#ifndef MW_EVAL_DIAGNOSIS_H
#define MW_EVAL_DIAGNOSIS_H

#include "data/dataset.h"
#include "eval/metrics.h"
#include "plan/bundle.h"

/* Fails with MW_ERR_MISMATCH unless the data is of the bundle's task, rules and sizes. */
mw_status mw_bundle_expect_data(const mw_bundle *bundle, const mw_dataset *data, mw_error *error);

json_t *mw_same_state_json(const mw_same_state *result);
json_t *mw_snippets_json(const mw_snippets *result);

#endif
