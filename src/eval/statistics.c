/* Statistics of reports; see statistics.h. */
#include "eval/statistics.h"

#include "core/rng.h"

#include <math.h>
#include <stdlib.h>

double mw_mean(const double *x, long n) {
    double sum = 0;
    for (long i = 0; i < n; i++) sum += x[i];
    return sum / (double)n;
}

double mw_std(const double *x, long n) {
    if (n < 2) return NAN;
    const double mean = mw_mean(x, n);
    double square = 0;
    for (long i = 0; i < n; i++) square += (x[i] - mean) * (x[i] - mean);
    return sqrt(square / (double)(n - 1));
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void mw_sort(double *x, long n) {
    qsort(x, (size_t)n, sizeof *x, ascending);
}

double mw_quantile(const double *x, long n, double q) {
    const double at = q * (double)(n - 1);
    const long below = (long)at;
    if (below >= n - 1) return x[n - 1];
    return x[below] + (at - (double)below) * (x[below + 1] - x[below]);
}

mw_interval mw_interval_of_means(double mean, double *means, long n) {
    mw_sort(means, n);
    return (mw_interval){mean, mw_quantile(means, n, 0.025), mw_quantile(means, n, 0.975)};
}

/* The means of one resample of x[n], and of the same entries of base[n] if there are any. */
static void resample(const double *x, const double *base, long n, uint64_t seed, int index, double *mean,
                     double *base_mean) {
    mw_rng rng = mw_rng_make(seed, MW_RNG_STUDY, (uint64_t)index, 0, 0);
    double sum = 0, base_sum = 0;
    for (long i = 0; i < n; i++) {
        const uint32_t at = mw_rng_below(&rng, (uint32_t)n);
        sum += x[at];
        if (base) base_sum += base[at];
    }
    *mean = sum / (double)n;
    *base_mean = base_sum / (double)n;
}

mw_status mw_bootstrap_ratio(mw_interval *interval, const double *x, const double *base, long n,
                             int resamples, uint64_t seed, mw_error *error) {
    *interval = (mw_interval){NAN, NAN, NAN};
    if (n < 1 || n > UINT32_MAX || resamples < 1)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "a bootstrap needs values and resamples; got %ld values, %d "
                       "resamples",
                       n, resamples);
    const double by = base ? mw_mean(base, n) : 1;
    interval->mean = mw_mean(x, n) / fabs(by);
    if (n < 2) return MW_OK; /* one value tells nothing of how sure it is */
    double *means = malloc((size_t)resamples * sizeof *means);
    if (!means) return mw_fail(error, MW_ERR_MEMORY, "cannot keep %d resamples", resamples);
    bool sure = true; /* of the denominator's sign */
    for (int r = 0; r < resamples; r++) {
        double divisor;
        resample(x, base, n, seed, r, &means[r], &divisor);
        if (!base) continue;
        sure &= by > 0 ? divisor > 0 : divisor < 0;
        means[r] /= fabs(divisor);
    }
    if (sure) *interval = mw_interval_of_means(interval->mean, means, resamples);
    free(means);
    return MW_OK;
}

mw_status mw_bootstrap_mean(mw_interval *interval, const double *x, long n, int resamples, uint64_t seed,
                            mw_error *error) {
    return mw_bootstrap_ratio(interval, x, NULL, n, resamples, seed, error);
}
