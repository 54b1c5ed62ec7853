/* The empirical-distribution normaliser; see normalizer.h. */
#include "nn/normalizer.h"

#include "core/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

uint64_t mw_normalizer_hash(uint64_t hash, const mw_normalizer *n) {
    for (int f = 0; f < n->features; f++) {
        const size_t first = (size_t)f * (size_t)n->max_knots, bytes = (size_t)n->count[f] * sizeof *n->value;
        hash = mw_hash(hash, &n->count[f], sizeof n->count[f]);
        hash = mw_hash(hash, n->value + first, bytes);
        hash = mw_hash(hash, n->fraction + first, bytes);
    }
    return hash;
}

static int ascending(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Floats as integers of the same order: negative ones have all bits turned, the others the sign. */
static uint32_t ordered(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits & 0x80000000u ? ~bits : bits ^ 0x80000000u;
}

/* Three rounds of 11 bits each: on the samples of a fit ten times as fast as comparing, which remains for
 * when there is no memory. */
static void sort(float *values, size_t count) {
    enum { BITS = 11, BUCKETS = 1 << BITS };
    float *other = malloc(count * sizeof *other), *from = values, *to = other;
    if (!other) {
        qsort(values, count, sizeof *values, ascending);
        return;
    }
    for (int shift = 0; shift < 32; shift += BITS) {
        size_t start[BUCKETS + 1] = {0};
        for (size_t i = 0; i < count; i++) start[(ordered(from[i]) >> shift) % BUCKETS + 1]++;
        for (int b = 0; b < BUCKETS; b++) start[b + 1] += start[b];
        for (size_t i = 0; i < count; i++) to[start[(ordered(from[i]) >> shift) % BUCKETS]++] = from[i];
        float *swap = from;
        from = to;
        to = swap;
    }
    memcpy(values, from, count * sizeof *values); /* after an odd number of rounds it is in the other array */
    free(other);
}

/* y at x on the line through the knots (xs, ys), clipped to their ends. The search has no branches to
 * mispredict: normalising is most of the work of preparing a batch. */
static double interpolate(const float *xs, const float *ys, int count, double x) {
    if (!(x > xs[0])) return ys[0];
    if (x >= xs[count - 1]) return ys[count - 1];
    const float *low = xs; /* low[0] <= x < low[length] */
    for (int length = count - 1; length > 1;) {
        int half = length / 2;
        low += low[half] <= x ? half : 0;
        length -= half;
    }
    ys += low - xs;
    double width = (double)low[1] - low[0];
    return width > 0 ? ys[0] + (x - low[0]) * ((double)ys[1] - ys[0]) / width : ys[1];
}

/* ---- fitting --------------------------------------------------------------------------------------------
 */

/* Where the distribution function is known: at the last of equal values in a sorted array, where it is
 * (index + 1) / count. */
static long next_point(const float *values, long count, long i) {
    i++;
    while (i + 1 < count && values[i + 1] == values[i]) i++;
    return i;
}

/* The farthest point after `from` such that the line to it stays within `tolerance` of all points passed. The
 * slopes that do form a cone, which every point narrows. */
static long farthest(const float *values, long count, long from, double tolerance) {
    double low = 0, high = INFINITY, allowed = tolerance * (double)count;
    long reached = from;
    for (long i = next_point(values, count, from); i < count; i = next_point(values, count, i)) {
        double run = (double)values[i] - values[from], rise = (double)(i - from), slope = rise / run;
        if (slope >= low && slope <= high) reached = i;
        low = fmax(low, (rise - allowed) / run);
        high = fmin(high, (rise + allowed) / run);
        if (low > high) break;
    }
    return reached;
}

/* Knots whose lines deviate by at most `tolerance`; returns their number, or more than max if that does not
 * do. */
static int lay_knots(const float *values, long count, double tolerance, int max, float *value,
                     float *fraction) {
    int knots = 0;
    for (long i = next_point(values, count, -1);; i = farthest(values, count, i, tolerance)) {
        if (knots == max) return max + 1;
        value[knots] = values[i];
        fraction[knots++] = (float)((double)(i + 1) / (double)count);
        if (i == count - 1) return knots;
    }
}

void mw_normalizer_fit(mw_normalizer *n, int feature, float *values, long count, double *error_of_knots) {
    float *value = n->value + (size_t)feature * (size_t)n->max_knots;
    float *fraction = n->fraction + (size_t)feature * (size_t)n->max_knots;
    if (error_of_knots) *error_of_knots = 0;
    n->count[feature] = 1;
    if (count == 0) return;
    sort(values, (size_t)count);
    long distinct = 1;
    for (long i = 1; i < count; i++) distinct += values[i] != values[i - 1];
    if (distinct <= n->max_knots) {
        int knots = 0;
        for (long i = next_point(values, count, -1); i < count; i = next_point(values, count, i)) {
            value[knots] = values[i];
            fraction[knots++] = (float)((double)(i + 1) / (double)count);
        }
        n->count[feature] = knots;
        return;
    }
    double low = 1e-7, high = 1; /* high always suffices: two knots are never off by more */
    for (int round = 0; round < 16; round++) {
        double middle = sqrt(low * high);
        if (lay_knots(values, count, middle, n->max_knots, value, fraction) <= n->max_knots)
            high = middle;
        else
            low = middle;
    }
    n->count[feature] = lay_knots(values, count, high, n->max_knots, value, fraction);
    if (!error_of_knots) return;
    for (long i = next_point(values, count, -1); i < count; i = next_point(values, count, i)) {
        double exact = (double)(i + 1) / (double)count,
               seen = interpolate(value, fraction, n->count[feature], values[i]);
        *error_of_knots = fmax(*error_of_knots, 2 * fabs(exact - seen));
    }
}

/* ---- use ------------------------------------------------------------------------------------------------
 */

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

/* ---- fitting in one pass --------------------------------------------------------------------------------
 */

/* A row of the stream is kept if the hash of its number is below a limit; when the sample is full, the limit
 * is halved. Which rows are kept depends on nothing but their numbers, and as long as there is room it is all
 * of them. */
struct mw_normalizer_builder {
    int features;
    long capacity, kept;
    uint64_t seen, limit;
    uint64_t *hashes; /* [capacity] of the kept rows */
    float *rows;      /* [capacity][features] */
    float *low, *high;
};

mw_status mw_normalizer_builder_create(mw_normalizer_builder **builder, int features, long capacity,
                                       mw_error *error) {
    *builder = NULL;
    if (features < 1 || capacity < 2)
        return mw_fail(error, MW_ERR_ARGUMENT, "a sample of %ld rows of %d features is not possible",
                       capacity, features);
    mw_normalizer_builder *b = calloc(1, sizeof *b);
    if (b) {
        *b = (mw_normalizer_builder){.features = features, .capacity = capacity, .limit = UINT64_MAX};
        b->hashes = malloc((size_t)capacity * sizeof *b->hashes);
        b->rows = malloc((size_t)capacity * (size_t)features * sizeof *b->rows);
        b->low = malloc((size_t)features * sizeof *b->low);
        b->high = malloc((size_t)features * sizeof *b->high);
        if (b->hashes && b->rows && b->low && b->high) {
            for (int f = 0; f < features; f++) b->low[f] = INFINITY, b->high[f] = -INFINITY;
            *builder = b;
            return MW_OK;
        }
    }
    mw_normalizer_builder_free(b);
    return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a sample of %ld rows of %d features", capacity,
                   features);
}

void mw_normalizer_builder_free(mw_normalizer_builder *b) {
    if (!b) return;
    free(b->hashes);
    free(b->rows);
    free(b->low);
    free(b->high);
    free(b);
}

static void halve(mw_normalizer_builder *b) {
    size_t width = (size_t)b->features;
    long left = 0;
    b->limit /= 2;
    for (long i = 0; i < b->kept; i++) {
        if (b->hashes[i] > b->limit) continue;
        b->hashes[left] = b->hashes[i];
        memmove(b->rows + (size_t)left * width, b->rows + (size_t)i * width, width * sizeof *b->rows);
        left++;
    }
    b->kept = left;
}

void mw_normalizer_builder_add(mw_normalizer_builder *b, const float *x, long rows) {
    size_t width = (size_t)b->features;
    for (long r = 0; r < rows; r++, x += width) {
        for (size_t f = 0; f < width; f++) {
            b->low[f] = x[f] < b->low[f] ? x[f] : b->low[f];
            b->high[f] = x[f] > b->high[f] ? x[f] : b->high[f];
        }
        uint64_t number = b->seen++;
        uint64_t hash = mw_hash(MW_HASH_START, &number, sizeof number);
        hash = (hash ^ hash >> 32) * 0x9E3779B97F4A7C15u; /* the upper bits of FNV-1a are weak */
        while (hash <= b->limit && b->kept == b->capacity) halve(b);
        if (hash > b->limit) continue;
        b->hashes[b->kept] = hash;
        memcpy(b->rows + (size_t)b->kept++ * width, x, width * sizeof *x);
    }
}

mw_status mw_normalizer_builder_finish(const mw_normalizer_builder *b, mw_normalizer *n, int max_knots,
                                       mw_normalizer_fit_report *report, mw_error *error) {
    *report = (mw_normalizer_fit_report){.rows = (long)b->seen, .sampled = b->kept, .worst_feature = -1};
    float *column = malloc(((size_t)b->kept + 2) * sizeof *column);
    if (!column) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate %ld values", b->kept);
    mw_status status = mw_normalizer_create(n, b->features, max_knots, error);
    for (int f = 0; f < b->features && status == MW_OK; f++) {
        long count = b->kept;
        double knot_error;
        for (long i = 0; i < count; i++) column[i] = b->rows[(size_t)i * (size_t)b->features + (size_t)f];
        if ((uint64_t)count < b->seen) { /* the ends of the range are those of all rows */
            column[count++] = b->low[f];
            column[count++] = b->high[f];
        }
        mw_normalizer_fit(n, f, column, count, &knot_error);
        report->constant += b->seen > 0 && b->low[f] == b->high[f];
        if (knot_error <= report->knot_error) continue;
        report->knot_error = knot_error;
        report->worst_feature = f;
    }
    free(column);
    return status;
}

mw_status mw_normalizer_copy(mw_normalizer *to, const mw_normalizer *from, mw_error *error) {
    if (!from) return MW_OK;
    const size_t all = (size_t)from->features * (size_t)from->max_knots;
    MW_TRY(mw_normalizer_create(to, from->features, from->max_knots, error));
    memcpy(to->count, from->count, (size_t)from->features * sizeof *to->count);
    memcpy(to->value, from->value, all * sizeof *to->value);
    memcpy(to->fraction, from->fraction, all * sizeof *to->fraction);
    return MW_OK;
}
