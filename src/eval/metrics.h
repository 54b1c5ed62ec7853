/* Ranking metrics: how well predicted returns order realised ones. */
#ifndef MW_EVAL_METRICS_H
#define MW_EVAL_METRICS_H

#include "core/json.h"

typedef struct mw_ranking {
    double pearson, spearman;         /* over all pairs at once; Spearman with average ranks */
    double top1, top2;                /* share of groups whose best is predicted first, among the first two */
    double pair_accuracy;             /* of pairs within a group whose realised values differ */
    double regret, normalized_regret; /* of taking the predicted best; normalised by the group's range */
} mw_ranking;

/* realized, predicted [groups][size]; the first of equals wins an argmax. */
mw_status mw_ranking_of(mw_ranking *ranking, const float *realized, const float *predicted, int groups,
                        int size, mw_error *error);

json_t *mw_ranking_json(const mw_ranking *ranking);

double mw_pearson(const double *x, const double *y, long n); /* NaN if one is constant */
/* rank[n]: 0-based average ranks of x[n]. */
mw_status mw_average_ranks(double *rank, const float *x, long n, mw_error *error);

#endif
