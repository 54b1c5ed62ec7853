/* Entropies, divergences and mutual information, in nats and double precision; see routing.h. */
#include "routing/routing.h"

#include "core/math.h"

#include <stdlib.h>

double mw_entropy(const double *p, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++)
        if (p[i] > 0) sum -= p[i] * mw_ln(p[i]);
    return sum;
}

double mw_js_divergence(const double *p, const double *q, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++) { /* as two divergences from the mean: no difference of large numbers */
        const double mean = (p[i] + q[i]) / 2;
        if (p[i] > 0) sum += p[i] / 2 * mw_ln(p[i] / mean);
        if (q[i] > 0) sum += q[i] / 2 * mw_ln(q[i] / mean);
    }
    return sum;
}

/* ---- mutual information from counts ---- */

enum { MOST_LABELS = MW_ROUTING_AGENTS };

/* Sums over columns and rows of a table. */
typedef struct {
    long all, row[MOST_LABELS], column[MOST_LABELS];
} margins;

static margins margins_of(const long *counts, int rows, int columns) {
    margins m = {0};
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            m.row[i] += counts[i * columns + j];
            m.column[j] += counts[i * columns + j];
            m.all += counts[i * columns + j];
        }
    return m;
}

static double count_entropy(const long *counts, int count, long all) {
    double sum = 0;
    for (int i = 0; i < count; i++)
        if (counts[i]) sum -= (double)counts[i] / (double)all * mw_ln((double)counts[i] / (double)all);
    return sum;
}

static double mean_entropy(const margins *m, int rows, int columns) {
    return (count_entropy(m->row, rows, m->all) + count_entropy(m->column, columns, m->all)) / 2;
}

/* What `both` of `all` things with both labels add, where a and b have one of them. */
static double term(long both, long a, long b, long all) {
    return (double)both / (double)all * mw_ln((double)all * (double)both / ((double)a * (double)b));
}

double mw_nmi(const long *counts, int rows, int columns) {
    const margins m = margins_of(counts, rows, columns);
    const double mean = mean_entropy(&m, rows, columns);
    double sum = 0;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            if (counts[i * columns + j]) sum += term(counts[i * columns + j], m.row[i], m.column[j], m.all);
    return mean > 0 ? sum / mean : 0;
}

/* ln k! for k = 0..most, summed with what rounding leaves behind. */
static double *log_factorials(long most) {
    double *ln = malloc((size_t)(most + 1) * sizeof *ln), sum = 0, rest = 0;
    for (long k = 0; ln && k <= most; k++) {
        const double add = (k > 1 ? mw_ln((double)k) : 0) + rest, next = sum + add;
        rest = add - (next - sum);
        ln[k] = sum = next;
    }
    return ln;
}

/* Over all ways in which a and b of n things can overlap, weighted by how often they do. */
static double expected_term(const double *ln, long a, long b, long n) {
    const double fixed = ln[a] + ln[b] + ln[n - a] + ln[n - b] - ln[n];
    double sum = 0;
    for (long m = a + b > n + 1 ? a + b - n : 1; m <= a && m <= b; m++)
        sum += term(m, a, b, n) * mw_exp(fixed - ln[m] - ln[a - m] - ln[b - m] - ln[n - a - b + m]);
    return sum;
}

mw_status mw_nmi_expected(double *expected, const long *counts, int rows, int columns, mw_error *error) {
    const margins m = margins_of(counts, rows, columns);
    const double mean = mean_entropy(&m, rows, columns);
    double sum = 0, *ln = log_factorials(m.all);
    if (!ln) return mw_fail(error, MW_ERR_MEMORY, "cannot average over permutations of %ld labels", m.all);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            if (m.row[i] && m.column[j]) sum += expected_term(ln, m.row[i], m.column[j], m.all);
    free(ln);
    *expected = mean > 0 ? sum / mean : 0;
    return MW_OK;
}
