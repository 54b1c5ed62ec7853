/* Ranking metrics: how well predicted returns order realised ones. */
#ifndef MW_EVAL_METRICS_H
#define MW_EVAL_METRICS_H

#include "mawam/eval.h"
#include "core/json.h"

#define MW_RANGE_FLOOR 1e-8 /* regrets are divided by a group's range, but by no less */

/* realized, predicted [groups][size]; the first of equals wins an argmax. */
mw_status mw_ranking_of(mw_ranking *ranking, const float *realized, const float *predicted, int groups,
                        int size, mw_error *error);

/* The expectation of a uniform choice: mean over groups of best minus mean, and that by the group's range. */
void mw_random_choice(double *regret, double *normalized, const float *realized, int groups, int size);

json_t *mw_ranking_json(const mw_ranking *ranking);

double mw_pearson(const double *x, const double *y, long n); /* NaN if one is constant */
/* rank[n]: 0-based average ranks of x[n]. */
mw_status mw_average_ranks(double *rank, const float *x, long n, mw_error *error);

#endif
