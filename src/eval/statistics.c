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

/* ---- intervals over episodes ---- */

double mw_student(long freedom) {
    static const double known[] = {1.959964, 12.706, 4.303, 3.182, 2.776, 2.571,
                                   2.447,    2.365,  2.306, 2.262, 2.228};
    const long rows = (long)(sizeof known / sizeof *known);
    if (freedom < 0) return NAN; /* of no values at all */
    if (freedom < rows) return known[freedom];
    const double u = 1.0 / (double)freedom; /* Fisher's expansion about the normal quantile */
    return known[0] + u * (2.372271 + u * (2.822500 + u * 2.555850));
}

/* Where x - ratio * base lies: its mean, and how far from it the mean's interval reaches. base NULL: x alone.
 */
typedef struct {
    double mean, below, above; /* NaN: it does not vary, or its numbers are too large */
} reach;

/* By Newton's steps from above, which are the same bits everywhere. */
static double cube_root(double x) {
    const double size = fabs(x);
    double root = fmax(size, 1);
    for (int i = 0; i < 100; i++) root = (2 * root + size / (root * root)) / 3;
    return x < 0 ? -root : root;
}

/* Hall's transformation of Student's quantile q, which takes a mean's skewness out, turned back: in standard
 * deviations from the mean. */
static double unskewed(double q, double skewness, double n) {
    q /= sqrt(n);
    if (fabs(skewness) < 1e-6) return q;
    return 3 * (cube_root(1 + skewness * (q - skewness / (6 * n))) - 1) / skewness;
}

static double entry(const double *x, const double *base, double ratio, long i) {
    return base ? x[i] - ratio * base[i] : x[i];
}

static reach reach_of(const double *x, const double *base, double ratio, long n) {
    double mean = 0, square = 0, cube = 0, largest = 0;
    for (long i = 0; i < n; i++) mean += entry(x, base, ratio, i) / (double)n;
    for (long i = 0; i < n; i++) {
        const double value = entry(x, base, ratio, i), e = value - mean;
        largest = fmax(largest, fabs(value));
        square += e * e / (double)n;
        cube += e * e * e / (double)n;
    }
    const double std = sqrt(square * (double)n / (double)(n - 1)), q = mw_student(n - 1);
    if (!(std > 1e-12 * largest) || !isfinite(cube)) return (reach){mean, NAN, NAN};
    const double skewness = cube / (square * sqrt(square)), plain = q / sqrt((double)n);
    return (reach){mean, std * fmax(plain, unskewed(q, skewness, (double)n)),
                   std * fmax(plain, -unskewed(-q, skewness, (double)n))};
}

mw_interval mw_mean_interval(const double *x, long n) {
    if (n < 1) return (mw_interval){NAN, NAN, NAN};
    if (n < MW_INTERVAL_LEAST) return (mw_interval){mw_mean(x, n), NAN, NAN};
    const reach r = reach_of(x, NULL, 0, n);
    return (mw_interval){r.mean, r.mean - r.below, r.mean + r.above};
}

/* Is `ratio` on this side (+1, -1) of the ratios that the values leave open? What does not vary is where its
 * mean is. */
static bool beyond(const double *x, const double *base, double ratio, double side, long n) {
    const reach r = reach_of(x, base, ratio, n);
    if (isnan(r.below)) return side * r.mean < 0;
    return side > 0 ? r.mean + r.above < 0 : r.mean - r.below > 0;
}

/* The end on one side of the ratios left open, whose middle is inside. Zero is looked at first, where it lies
 * on that side: a relative gain is clear where the gain is. base has a positive mean. */
static double end_of_ratios(const double *x, const double *base, double middle, double side, long n) {
    const bool across = side * middle < 0, clear = across && beyond(x, base, 0, side, n);
    double inside = across && !clear ? 0 : middle, step = fmax(fabs(middle), 1) / 64;
    double outside = clear ? 0 : inside + side * step;
    for (int i = 0; i < 60 && !beyond(x, base, outside, side, n); i++) outside += side * (step *= 2);
    if (!beyond(x, base, outside, side, n)) return NAN;
    for (int i = 0; i < 60; i++) {
        const double at = inside + (outside - inside) / 2;
        if (beyond(x, base, at, side, n))
            outside = at;
        else
            inside = at;
    }
    return inside;
}

mw_status mw_ratio_interval(mw_interval *interval, const double *x, const double *base, long n,
                            mw_error *error) {
    const mw_interval by = mw_mean_interval(base, n), over = mw_mean_interval(x, n);
    *interval = (mw_interval){over.mean / fabs(by.mean), NAN, NAN};
    if (isnan(over.low) || !(by.low > 0 || by.high < 0)) return MW_OK;
    double *size = malloc((size_t)n * sizeof *size);
    if (!size) return mw_fail(error, MW_ERR_MEMORY, "cannot compare %ld values", n);
    for (long i = 0; i < n; i++) size[i] = by.mean > 0 ? base[i] : -base[i];
    interval->low = end_of_ratios(x, size, interval->mean, -1, n);
    interval->high = end_of_ratios(x, size, interval->mean, 1, n);
    if (isnan(interval->low) || isnan(interval->high)) interval->low = interval->high = NAN;
    free(size);
    return MW_OK;
}

/* ---- the percentile bootstrap ---- */

mw_interval mw_interval_of_means(double mean, double *means, long n) {
    mw_sort(means, n);
    return (mw_interval){mean, mw_quantile(means, n, 0.025), mw_quantile(means, n, 0.975)};
}

mw_status mw_bootstrap_mean(mw_interval *interval, const double *x, long n, int resamples, uint64_t seed,
                            mw_error *error) {
    *interval = (mw_interval){NAN, NAN, NAN};
    if (n < 1 || n > UINT32_MAX || resamples < 1)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "a bootstrap needs values and resamples; got %ld values, %d "
                       "resamples",
                       n, resamples);
    interval->mean = mw_mean(x, n);
    if (n < MW_INTERVAL_LEAST) return MW_OK;
    double *means = malloc((size_t)resamples * sizeof *means);
    if (!means) return mw_fail(error, MW_ERR_MEMORY, "cannot keep %d resamples", resamples);
    for (int r = 0; r < resamples; r++) {
        mw_rng rng = mw_rng_make(seed, MW_RNG_STUDY, (uint64_t)r, 0, 0);
        double sum = 0;
        for (long i = 0; i < n; i++) sum += x[mw_rng_below(&rng, (uint32_t)n)];
        means[r] = sum / (double)n;
    }
    *interval = mw_interval_of_means(interval->mean, means, resamples);
    free(means);
    return MW_OK;
}
