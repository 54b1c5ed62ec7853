/* Statistics over settings; see analysis.h. */
#include "report/analysis.h"

#include "eval/statistics.h"

#include <math.h>

static int at_most(int n) {
    return n < MW_ANALYSIS_MOST ? n : MW_ANALYSIS_MOST;
}

double mw_sign_test(long wins, long losses) {
    const long n = wins + losses, fewer = wins < losses ? wins : losses;
    double sum = 0;
    for (long k = 0; k <= fewer; k++)
        sum += exp(lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1) -
                   (double)n * log(2));
    return fmin(1, 2 * sum);
}

/* The numbers among values, ascending; returns how many. */
static int numbers_of(double out[MW_ANALYSIS_MOST], const double *values, int n) {
    int count = 0;
    for (int i = 0; i < at_most(n); i++)
        if (!isnan(values[i])) out[count++] = values[i];
    mw_sort(out, count);
    return count;
}

double mw_quantile_of(const double *values, int n, double q) {
    double sorted[MW_ANALYSIS_MOST];
    const int count = numbers_of(sorted, values, n);
    return count ? mw_quantile(sorted, count, q) : NAN;
}

double mw_median_of(const double *values, int n) {
    return mw_quantile_of(values, n, 0.5);
}

double mw_mean_of(const double *values, int n) {
    double sum = 0;
    int count = 0;
    for (int i = 0; i < n; i++) {
        if (isnan(values[i])) continue;
        sum += values[i];
        count++;
    }
    return count ? sum / count : NAN;
}

mw_comparison mw_compare(const double *ours, const double *other, const double *low, const double *high,
                         int n) {
    mw_comparison c = {0};
    double sum = 0, size = 0, relatives[MW_ANALYSIS_MOST] = {0};
    int known = 0; /* of these */
    for (int i = 0; i < at_most(n); i++) {
        const double difference = ours[i] - other[i];
        if (isnan(ours[i]) || isnan(other[i])) continue;
        c.count++;
        c.wins += difference > 0;
        c.losses += difference < 0;
        c.ties += difference == 0;
        sum += difference;
        size += fabs(other[i]);
        if (other[i] != 0) relatives[known++] = difference / fabs(other[i]);
        if (!low || !high || isnan(low[i]) || isnan(high[i])) continue;
        c.intervals++;
        c.clear_wins += low[i] > 0;
        c.clear_losses += high[i] < 0;
    }
    c.difference = c.count ? sum / c.count : NAN;
    c.relative = mw_mean_of(relatives, known);
    c.median = mw_median_of(relatives, known);
    c.aggregate = size > 0 ? sum / size : NAN;
    c.p = mw_sign_test(c.wins, c.losses);
    return c;
}

/* ---- how sure ---- */

/* Twice the upper tail of Student's density, by Simpson's rule over its body. */
static double student_tails(double t, int freedom) {
    const double v = freedom, scale = exp(lgamma((v + 1) / 2) - lgamma(v / 2)) / sqrt(v * M_PI);
    const int steps = 4000;
    const double end = fmin(fabs(t), 200), h = end / steps;
    double sum = 0;
    for (int i = 0; i <= steps; i++) {
        const double x = h * i, weight = i == 0 || i == steps ? 1 : i % 2 ? 4 : 2;
        sum += weight * scale * pow(1 + x * x / v, -(v + 1) / 2);
    }
    return fmax(0, 1 - 2 * sum * h / 3);
}

double mw_interval_p(double difference, double low, double high, int freedom) {
    const double error = (high - low) / 2 / mw_student(freedom);
    if (isnan(error) || isnan(difference) || error < 0) return NAN;
    if (error == 0) return difference == 0;
    return freedom ? student_tails(difference / error, freedom) : erfc(fabs(difference) / error / sqrt(2));
}

void mw_holm(bool *firm, const double *p, int n) {
    double sorted[MW_ANALYSIS_MOST], bound = -1;
    const int count = numbers_of(sorted, p, n);
    for (int k = 0; k < count && sorted[k] <= 0.05 / (count - k); k++) bound = sorted[k];
    for (int i = 0; i < at_most(n); i++) firm[i] = p[i] <= bound;
}

double mw_smallest_visible(double low, double high) {
    const double power = 0.841621; /* 80% quantile of the normal distribution */
    return (mw_student(0) + power) * (high - low) / 2 / mw_student(0);
}

/* ---- headroom and reliability ---- */

void mw_headrooms(double *headroom, const double *reactive, const int *group, int n) {
    for (int i = 0; i < n; i++) {
        double low = INFINITY, high = -INFINITY;
        for (int k = 0; k < n; k++) {
            if (group[k] != group[i] || isnan(reactive[k])) continue;
            low = fmin(low, reactive[k]);
            high = fmax(high, reactive[k]);
        }
        headroom[i] = low < high ? (high - reactive[i]) / (high - low) : NAN;
    }
}

/* The values[n] of which cell[n] is this one. */
static mw_cell cell_of(const double *values, const int *cell, int which, int n) {
    double chosen[MW_ANALYSIS_MOST];
    int count = 0;
    for (int i = 0; i < at_most(n); i++)
        if (cell[i] == which) chosen[count++] = values[i];
    return (mw_cell){count, mw_mean_of(chosen, count), mw_median_of(chosen, count)};
}

mw_two_factor mw_two_factors(const double *headroom, const double *reliability, const double *gain, int n) {
    mw_two_factor t;
    double x[MW_ANALYSIS_MOST] = {0}, y[MW_ANALYSIS_MOST] = {0}, gains[MW_ANALYSIS_MOST];
    int cell[MW_ANALYSIS_MOST], count = 0;
    for (int i = 0; i < at_most(n); i++) {
        if (isnan(headroom[i]) || isnan(reliability[i]) || isnan(gain[i])) continue;
        x[count] = headroom[i];
        y[count] = reliability[i];
        gains[count++] = gain[i];
    }
    t.headroom = mw_median_of(x, count);
    t.reliability = mw_median_of(y, count);
    for (int i = 0; i < count; i++) cell[i] = 2 * (y[i] > t.reliability) + (x[i] > t.headroom);
    for (int k = 0; k < 4; k++) t.cells[k / 2][k % 2] = cell_of(gains, cell, k, count);
    return t;
}

/* ---- data quality ---- */

static bool counts(const double *data, const double *gain, int i) {
    return !isnan(data[i]) && !isnan(gain[i]);
}

/* How many of i's group come before it, equal data in the order of the entries; *size: of the group. */
static int place_of(const double *data, const double *gain, const int *group, int n, int i, int *size) {
    int before = 0;
    *size = 0;
    for (int k = 0; k < n; k++) {
        if (group[k] != group[i] || !counts(data, gain, k)) continue;
        ++*size;
        before += data[k] > data[i] || (data[k] == data[i] && k < i);
    }
    return before;
}

mw_quality mw_quality_tiers(const double *data, const double *gain, const int *group, int n, int *place) {
    mw_quality q = {0};
    int tier[MW_ANALYSIS_MOST];
    n = at_most(n);
    for (int i = 0; i < n; i++) {
        int size;
        tier[i] = -1;
        const int at = counts(data, gain, i) ? place_of(data, gain, group, n, i, &size) : -1;
        if (place) place[i] = at;
        if (at < 0 || size < 2) continue;
        tier[i] = at == 0 ? MW_DATA_BEST : at == size - 1 ? MW_DATA_WORST : MW_DATA_MIDDLE;
        if (at != 0) continue;
        q.groups++;
        for (int k = 0; k < n; k++) {
            if (group[k] != group[i] || !counts(data, gain, k)) continue;
            if (place_of(data, gain, group, n, k, &size) != size - 1) continue;
            q.rises += gain[k] > gain[i];
            q.falls += gain[k] < gain[i];
        }
    }
    for (int k = 0; k < MW_DATA_TIERS; k++) q.tiers[k] = cell_of(gain, tier, k, n);
    q.p = mw_sign_test(q.rises, q.falls);
    return q;
}

/* ---- selectors ---- */

mw_selection mw_select(const double *means, int n) {
    mw_selection s = {-1, -1};
    for (int i = 0; i < n; i++) {
        if (isnan(means[i])) continue;
        if (s.best < 0 || means[i] > means[s.best]) s.best = i;
        if (i > 0 && (s.alternative < 0 || means[i] > means[s.alternative])) s.alternative = i;
    }
    return s;
}
