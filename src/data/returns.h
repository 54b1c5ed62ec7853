/* Returns of recorded episodes: the scale that brings returns-to-go to about [0, 1] (or [-1, 1] where there
 * are losses), and quantiles, of which a high one asks for the best of what the data shows. */
#ifndef MW_DATA_RETURNS_H
#define MW_DATA_RETURNS_H

#include "data/split.h"

/* Discounted, of a step and all after it, mean over agents. sizes[length] of the episode (may be NULL)
 * receives the size of that of this step and of each after it. */
double mw_return_to_go(const mw_dataset *dataset, mw_place place, double discount, float *sizes);

/* 0.99 quantile of the size of the discounted return-to-go at all steps; 1 if that is 0. */
mw_status mw_returns_scale(double *scale, const mw_dataset *dataset, const mw_episode_set *set,
                           double discount, mw_error *error);
/* Quantile of the discounted return at the episodes' starts. */
mw_status mw_returns_quantile(double *value, const mw_dataset *dataset, const mw_episode_set *set,
                              double discount, double quantile, mw_error *error);

#endif
