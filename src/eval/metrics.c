/* Ranking metrics; see metrics.h. */
#include "eval/metrics.h"

#include "core/json.h"
#include "eval/statistics.h"
#include "plan/choice.h"

#include <math.h>
#include <stdlib.h>

static bool constant(const double *x, long n) {
    for (long i = 1; i < n; i++)
        if (x[i] != x[0]) return false;
    return true;
}

double mw_pearson(const double *x, const double *y, long n) {
    if (constant(x, n) || constant(y, n)) return NAN; /* a mean that rounds would leave a correlation */
    double mean_x = 0, mean_y = 0, xx = 0, yy = 0, xy = 0;
    for (long i = 0; i < n; i++) {
        mean_x += x[i] / (double)n;
        mean_y += y[i] / (double)n;
    }
    for (long i = 0; i < n; i++) {
        double a = x[i] - mean_x, b = y[i] - mean_y;
        xx += a * a;
        yy += b * b;
        xy += a * b;
    }
    return xy / sqrt(xx * yy);
}

typedef struct {
    float value;
    long index;
} entry;

static int by_value(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

mw_status mw_average_ranks(double *rank, const float *x, long n, mw_error *error) {
    entry *entries = malloc((size_t)(n ? n : 1) * sizeof *entries);
    if (!entries) return mw_fail(error, MW_ERR_MEMORY, "cannot rank %ld values", n);
    for (long i = 0; i < n; i++) entries[i] = (entry){x[i], i};
    qsort(entries, (size_t)n, sizeof *entries, by_value);
    for (long first = 0, last; first < n; first = last) {
        for (last = first + 1; last < n && entries[last].value == entries[first].value;) last++;
        for (long i = first; i < last; i++) rank[entries[i].index] = 0.5 * (double)(first + last - 1);
    }
    free(entries);
    return MW_OK;
}

/* Sums over groups, and how many groups have a value of their own. */
typedef struct {
    long pairs, right;
    double spearman, accuracy;
    int correlated, paired;
} sums;

static void add_pairs(sums *s, const float *realized, const float *predicted, int size) {
    long pairs = 0, right = 0;
    for (int i = 0; i < size; i++)
        for (int j = i + 1; j < size; j++) {
            if (realized[i] == realized[j]) continue;
            pairs++;
            right += ((double)realized[i] - realized[j]) * ((double)predicted[i] - predicted[j]) > 0;
        }
    s->pairs += pairs;
    s->right += right;
    if (pairs) s->accuracy += (double)right / (double)pairs, s->paired++;
}

/* Spearman's correlation of n values; ranks[2 * n] is room for it. NaN if one side is constant. */
static mw_status spearman(double *out, double *ranks, const float *x, const float *y, long n,
                          mw_error *error) {
    MW_TRY(mw_average_ranks(ranks, x, n, error));
    MW_TRY(mw_average_ranks(ranks + n, y, n, error));
    *out = mw_pearson(ranks, ranks + n, n);
    return MW_OK;
}

static void add_group(mw_ranking *r, const float *realized, const float *predicted, int size) {
    int best = mw_choice_best(realized, size), chosen = mw_choice_best(predicted, size), above = 0;
    float low = realized[0];
    for (int i = 0; i < size; i++) {
        low = realized[i] < low ? realized[i] : low;
        above += predicted[i] > predicted[best] || (predicted[i] == predicted[best] && i < best);
    }
    double regret = (double)realized[best] - realized[chosen];
    r->top1 += chosen == best;
    r->top2 += above < 2;
    r->regret += regret;
    r->normalized_regret += regret / fmax((double)realized[best] - low, MW_RANGE_FLOOR);
}

/* As the planner chooses: a score that is not finite never wins, and is below all others. */
static float ranked_as(float score) {
    return isfinite(score) ? score : -INFINITY;
}

mw_status mw_ranking_of(mw_ranking *ranking, const float *realized, const float *predicted, int groups,
                        int size, mw_error *error) {
    *ranking = (mw_ranking){0};
    if (groups < 1 || size < 2)
        return mw_fail(error, MW_ERR_ARGUMENT, "ranking needs groups of at least two; got %d groups of %d",
                       groups, size);
    const long n = (long)groups * size;
    double *x = malloc(2 * (size_t)n * sizeof *x), *y = x ? x + n : NULL;
    float *ranked = malloc((size_t)n * sizeof *ranked);
    sums s = {0};
    mw_status status = x && ranked ? MW_OK : mw_fail(error, MW_ERR_MEMORY, "cannot rank %ld values", n);
    for (long i = 0; i < n && status == MW_OK; i++) ranked[i] = ranked_as(predicted[i]);
    for (int g = 0; g < groups && status == MW_OK; g++) {
        const float *real = realized + (long)g * size, *guess = ranked + (long)g * size;
        double own = NAN;
        add_group(ranking, real, guess, size);
        add_pairs(&s, real, guess, size);
        status = spearman(&own, x, real, guess, size, error);
        if (isfinite(own)) s.spearman += own, s.correlated++;
    }
    ranking->top1 /= groups;
    ranking->top2 /= groups;
    ranking->regret /= groups;
    ranking->normalized_regret /= groups;
    ranking->pair_accuracy = s.pairs ? (double)s.right / (double)s.pairs : NAN;
    ranking->pair_accuracy_within = s.paired ? s.accuracy / s.paired : NAN;
    ranking->spearman_within = s.correlated ? s.spearman / s.correlated : NAN;
    for (long i = 0; i < n && status == MW_OK; i++) {
        x[i] = realized[i];
        y[i] = predicted[i];
    }
    if (status == MW_OK) ranking->pearson = mw_pearson(x, y, n);
    if (status == MW_OK) status = spearman(&ranking->spearman, x, realized, ranked, n, error);
    free(x);
    free(ranked);
    return status;
}

void mw_random_choice(double *regret, double *normalized, const float *realized, int groups, int size) {
    *regret = *normalized = 0;
    for (int g = 0; g < groups; g++) {
        const float *real = realized + (long)g * size;
        double sum = 0, low = real[0], high = real[0];
        for (int i = 0; i < size; i++) {
            sum += real[i];
            low = fmin(low, real[i]);
            high = fmax(high, real[i]);
        }
        *regret += (high - sum / size) / groups;
        *normalized += (high - sum / size) / fmax(high - low, MW_RANGE_FLOOR) / groups;
    }
}

json_t *mw_ranking_json(const mw_ranking *r) {
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "pearson", mw_number_json(r->pearson),
                     "spearman", mw_number_json(r->spearman), "spearman_within",
                     mw_number_json(r->spearman_within), "pair_accuracy_within",
                     mw_number_json(r->pair_accuracy_within), "top1", mw_number_json(r->top1), "top2",
                     mw_number_json(r->top2), "pair_accuracy", mw_number_json(r->pair_accuracy), "regret",
                     mw_number_json(r->regret), "normalized_regret", mw_number_json(r->normalized_regret));
}
