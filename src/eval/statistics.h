/* The few statistics that all reports share: mean, standard deviation, quantiles, and 95% intervals. */
#ifndef MW_EVAL_STATISTICS_H
#define MW_EVAL_STATISTICS_H

#include "mawam/eval.h"
#include "core/error.h"

double mw_mean(const double *x, long n);
double mw_std(const double *x, long n); /* of the sample (n - 1); NaN below two values */

/* Quantile q in [0,1] of ascending x[n], n >= 1, interpolated between neighbours. */
double mw_quantile(const double *x, long n, double q);
void mw_sort(double *x, long n); /* ascending */

double mw_student(long freedom); /* 97.5% quantile of Student's t; freedom 0: of the normal distribution */

/* Mean of x[n] and its 95% interval: Student's, on each side as far as Hall's correction for the values'
 * skewness where that reaches farther. No interval, NaN, below MW_INTERVAL_LEAST values and where all are the
 * same. tests/test_reported.c measures how often it holds the truth. */
mw_interval mw_mean_interval(const double *x, long n);

/* Mean of x[n] over |mean of base[n]|, and the ratios r for which the mean of x - r |base| has an interval
 * that holds zero (Fieller's, with the interval above). No interval where base's own holds zero, or either
 * has none. */
mw_status mw_ratio_interval(mw_interval *interval, const double *x, const double *base, long n,
                            mw_error *error);

#define MW_BOOTSTRAP_RESAMPLES 10000

/* The mean of a sample with the 95% percentile interval of its resamples' means[n], which are sorted here. */
mw_interval mw_interval_of_means(double mean, double *means, long n);

/* Mean of x[n] and the 95% percentile interval over means of resampled values, as the paper's statements over
 * settings have it: a pure function of the values and the seed. It is too narrow for few values (of 30 that
 * are normal it holds the truth 93 times of 100); below MW_INTERVAL_LEAST there is none. */
mw_status mw_bootstrap_mean(mw_interval *interval, const double *x, long n, int resamples, uint64_t seed,
                            mw_error *error);

#endif
