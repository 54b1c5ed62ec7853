/* The few statistics that all reports share: mean, standard deviation, quantiles and a bootstrap interval. */
#ifndef MW_EVAL_STATISTICS_H
#define MW_EVAL_STATISTICS_H

#include "mawam/eval.h"
#include "core/error.h"

double mw_mean(const double *x, long n);
double mw_std(const double *x, long n); /* of the sample (n - 1); NaN below two values */

/* Quantile q in [0,1] of ascending x[n], n >= 1, interpolated between neighbours. */
double mw_quantile(const double *x, long n, double q);
void mw_sort(double *x, long n); /* ascending */

#define MW_BOOTSTRAP_RESAMPLES 10000

/* The mean of a sample with the 95% percentile interval of its resamples' means[n], which are sorted here. */
mw_interval mw_interval_of_means(double mean, double *means, long n);

/* Mean of x[n] and the 95% percentile interval over means of resampled values: a pure function of the values
 * and the seed. */
mw_status mw_bootstrap_mean(mw_interval *interval, const double *x, long n, int resamples, uint64_t seed,
                            mw_error *error);

/* Mean of x[n] over |mean of base[n]|, with the interval over the same resamples of both; no interval where
 * the resamples' means of base have not all the sign of its own. base NULL: over 1. */
mw_status mw_bootstrap_ratio(mw_interval *interval, const double *x, const double *base, long n,
                             int resamples, uint64_t seed, mw_error *error);

#endif
