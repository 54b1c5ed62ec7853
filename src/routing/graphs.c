/* Graphs over agents compared: routes against influence, predicted influence against true; see routing.h. */
#include "routing/routing.h"

#include "eval/metrics.h"
#include "eval/statistics.h"

#include <math.h>
#include <stdlib.h>

void mw_routing_cosine(mw_agent_graph cosine, const double affinity[][MW_ROUTING_EXPERTS], int agents,
                       int experts) {
    for (int i = 0; i < agents; i++)
        for (int j = 0; j < agents; j++) {
            double dot = 0, own = 0, other = 0;
            for (int e = 0; e < experts; e++) {
                dot += affinity[i][e] * affinity[j][e];
                own += affinity[i][e] * affinity[i][e];
                other += affinity[j][e] * affinity[j][e];
            }
            cosine[i][j] = dot / (sqrt(own) * sqrt(other) + 1e-12);
        }
}

/* ---- two lists of entries ---- */

static double spread(const double *x, int count) {
    const double mean = mw_mean(x, count);
    double square = 0;
    for (int i = 0; i < count; i++) square += (x[i] - mean) * (x[i] - mean);
    return sqrt(square / count);
}

/* Two entries are always in line, and scaled to [0,1] always 0 and 1: they say nothing. */
enum { FEWEST = 3 };

/* NaN where there are too few, and where one side is constant but for rounding. */
static double correlate(const double *x, const double *y, int count) {
    if (count < FEWEST || spread(x, count) < 1e-12 || spread(y, count) < 1e-12) return NAN;
    return mw_pearson(x, y, count);
}

/* Mean |x' - y'| with both mapped so that `low` becomes 0 and the largest 1; NaN where that is impossible. */
static double difference(const double *x, const double *y, int count, bool from_least) {
    double low[2] = {x[0], y[0]}, high[2] = {x[0], y[0]}, sum = 0;
    for (int i = 1; i < count; i++) {
        low[0] = fmin(low[0], x[i]);
        low[1] = fmin(low[1], y[i]);
        high[0] = fmax(high[0], x[i]);
        high[1] = fmax(high[1], y[i]);
    }
    if (!from_least) low[0] = low[1] = 0;
    if ((from_least && count < FEWEST) || !(high[0] > low[0] && high[1] > low[1])) return NAN;
    for (int i = 0; i < count; i++)
        sum += fabs((x[i] - low[0]) / (high[0] - low[0]) - (y[i] - low[1]) / (high[1] - low[1]));
    return sum / count;
}

static mw_graph_match match_of(const double *x, const double *y, int count) {
    if (count == 0) return (mw_graph_match){0, NAN, NAN, NAN};
    return (mw_graph_match){count, correlate(x, y, count), difference(x, y, count, true),
                            difference(x, y, count, false)};
}

void mw_routing_compare(mw_routing_graphs *g, int agents) {
    enum { MOST = MW_ROUTING_AGENTS * MW_ROUTING_AGENTS };
    double x[MOST], y[MOST];
    int count = 0;
    for (int i = 0; i < agents; i++)
        for (int j = i + 1; j < agents; j++) {
            x[count] = g->cosine[i][j];
            y[count++] = (g->influence[i][j] + g->influence[j][i]) / 2;
        }
    g->cosine_symmetric = match_of(x, y, count);
    for (int diagonal = 0; diagonal < 2; diagonal++) {
        count = 0;
        for (int i = 0; i < agents; i++)
            for (int j = 0; j < agents; j++) {
                if (i == j && !diagonal) continue;
                x[count] = g->flow[i][j];
                y[count++] = g->influence[i][j];
            }
        *(diagonal ? &g->flow_all : &g->flow_offdiagonal) = match_of(x, y, count);
    }
}

/* ---- effects at anchors ---- */

static mw_status rank_correlation(double *spearman, const double *x, const double *y, int count,
                                  mw_error *error) {
    float *values = malloc(2 * (size_t)count * sizeof *values);
    double *ranks = malloc(2 * (size_t)count * sizeof *ranks);
    mw_status status =
        values && ranks ? MW_OK : mw_fail(error, MW_ERR_MEMORY, "cannot rank %d effects", count);
    if (status == MW_OK) {
        for (int i = 0; i < count; i++) {
            values[i] = (float)x[i];
            values[count + i] = (float)y[i];
        }
        status = mw_average_ranks(ranks, values, count, error);
        if (status == MW_OK) status = mw_average_ranks(ranks + count, values + count, count, error);
        if (status == MW_OK) *spearman = correlate(ranks, ranks + count, count);
    }
    free(values);
    free(ranks);
    return status;
}

/* The effects that count, anchor after anchor. */
typedef struct {
    double *truth, *predicted;
    int count;
    double cosines; /* summed over anchors */
    int with_effect;
} effects;

/* Effects of other agents only; a source that had no other action has NaN. */
static void add_anchor(effects *f, const double *truth, const double *predicted, int agents) {
    double dot = 0, own = 0, other = 0;
    for (int k = 0; k < agents * agents; k++) {
        if (k / agents == k % agents || isnan(truth[k])) continue;
        f->truth[f->count] = truth[k];
        f->predicted[f->count++] = predicted[k];
        dot += truth[k] * predicted[k];
        own += truth[k] * truth[k];
        other += predicted[k] * predicted[k];
    }
    const double lengths = sqrt(own) * sqrt(other);
    if (!(lengths > 1e-12)) return; /* nobody moved anybody */
    f->cosines += dot / lengths;
    f->with_effect++;
}

static mw_status summarise(mw_influence_match *m, const effects *f, mw_error *error) {
    double off = 0;
    m->effects = f->count;
    if (f->count == 0) return MW_OK;
    for (int i = 0; i < f->count; i++) off += fabs(f->truth[i] - f->predicted[i]);
    m->true_mean = mw_mean(f->truth, f->count);
    m->predicted_mean = mw_mean(f->predicted, f->count);
    m->pearson = correlate(f->truth, f->predicted, f->count);
    m->normalized_error = off / f->count / fmax(m->true_mean, 1e-12);
    if (f->with_effect) m->cosine = f->cosines / f->with_effect;
    return rank_correlation(&m->spearman, f->truth, f->predicted, f->count, error);
}

mw_status mw_influence_compare(mw_influence_match *m, const double *truth, const double *predicted,
                               int anchors, int agents, mw_error *error) {
    const size_t square = (size_t)agents * (size_t)agents, most = (size_t)anchors * square;
    m->effects = 0;
    m->true_mean = m->predicted_mean = m->pearson = m->spearman = m->normalized_error = m->cosine = NAN;
    effects f = {.truth = malloc((2 * most + 1) * sizeof *f.truth)};
    if (!f.truth) return mw_fail(error, MW_ERR_MEMORY, "cannot compare %zu effects", most);
    f.predicted = f.truth + most;
    for (size_t k = 0; k < (size_t)anchors; k++)
        add_anchor(&f, truth + k * square, predicted + k * square, agents);
    const mw_status status = summarise(m, &f, error);
    free(f.truth);
    return status;
}
