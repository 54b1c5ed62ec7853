/* The empirical-distribution normaliser; see normalizer.h. */
#include "data/normalizer.h"

#include <math.h>
#include <stdlib.h>

mw_status mw_normalizer_create(mw_normalizer *n, int features, int max_knots, mw_error *error) {
    *n = (mw_normalizer){.features = features, .max_knots = max_knots};
    if (features < 1 || max_knots < 2)
        return mw_fail(error, MW_ERR_ARGUMENT, "a normaliser of %d features with %d knots is not possible",
                       features, max_knots);
    size_t all = (size_t)features * (size_t)max_knots;
    n->count = calloc((size_t)features, sizeof *n->count);
    n->value = calloc(all, sizeof *n->value);
    n->fraction = calloc(all, sizeof *n->fraction);
    if (n->count && n->value && n->fraction) {
        for (int f = 0; f < features; f++) n->count[f] = 1;
        return MW_OK;
    }
    mw_normalizer_free(n);
    return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a normaliser of %d features", features);
}

void mw_normalizer_free(mw_normalizer *n) {
    free(n->count);
    free(n->value);
    free(n->fraction);
    *n = (mw_normalizer){0};
}

static int ascending(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* y at x on the line through the knots (xs, ys), clipped to their ends. */
static double interpolate(const float *xs, const float *ys, int count, double x) {
    if (!(x > xs[0])) return ys[0];
    if (x >= xs[count - 1]) return ys[count - 1];
    int low = 0, high = count - 1;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (xs[middle] <= x)
            low = middle;
        else
            high = middle;
    }
    double width = (double)xs[high] - xs[low];
    return width > 0 ? ys[low] + (x - xs[low]) * ((double)ys[high] - ys[low]) / width : ys[high];
}

void mw_normalizer_fit(mw_normalizer *n, int feature, float *values, long count, double *error_of_knots) {
    float *value = n->value + (size_t)feature * (size_t)n->max_knots;
    float *fraction = n->fraction + (size_t)feature * (size_t)n->max_knots;
    qsort(values, (size_t)count, sizeof *values, ascending);
    long distinct = count > 0;
    for (long i = 1; i < count; i++) distinct += values[i] != values[i - 1];
    if (error_of_knots) *error_of_knots = 0;
    int knots = 0;
    long seen = 0; /* distinct values so far */
    long next = 0; /* distinct index of the next knot */
    for (long i = 0; i < count; i++) {
        if (i + 1 < count && values[i + 1] == values[i])
            continue; /* the last of equals carries their share */
        if (seen++ < next) continue;
        value[knots] = values[i];
        fraction[knots++] = (float)((double)(i + 1) / (double)count);
        next = distinct <= n->max_knots ? seen : knots * (distinct - 1) / (n->max_knots - 1);
    }
    n->count[feature] = knots > 0 ? knots : 1;
    if (!error_of_knots || distinct <= n->max_knots) return;
    for (long i = 0; i < count; i++)
        if (i + 1 == count || values[i + 1] != values[i]) {
            double exact = (double)(i + 1) / (double)count,
                   seen_here = interpolate(value, fraction, knots, values[i]);
            *error_of_knots = fmax(*error_of_knots, 2 * fabs(exact - seen_here));
        }
}

void mw_normalizer_forward(const mw_normalizer *n, float *x, long rows) {
    for (long r = 0; r < rows; r++, x += n->features)
        for (int f = 0; f < n->features; f++) {
            const size_t at = (size_t)f * (size_t)n->max_knots;
            if (n->count[f] > 1)
                x[f] = (float)(2 * interpolate(n->value + at, n->fraction + at, n->count[f], x[f]) - 1);
        }
}

void mw_normalizer_inverse(const mw_normalizer *n, float *x, long rows) {
    for (long r = 0; r < rows; r++, x += n->features)
        for (int f = 0; f < n->features; f++) {
            const size_t at = (size_t)f * (size_t)n->max_knots;
            if (n->count[f] > 1)
                x[f] =
                    (float)interpolate(n->fraction + at, n->value + at, n->count[f], ((double)x[f] + 1) / 2);
        }
}
