/* From recorded masses to the numbers of the routing analysis: contexts, information, divergences, effective
 * numbers, switching. Nothing here runs a network. */
#include "routing/routing.h"

#include "core/math.h"
#include "eval/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CONTEXTS = 27 };

void mw_thirds(double cuts[2], double *values, long count) {
    mw_sort(values, count);
    for (long k = 1; k <= 2; k++) { /* the position in whole numbers: no rounding moves a border */
        const long low = k * (count - 1) / 3, rest = k * (count - 1) % 3;
        cuts[k - 1] = values[low];
        if (rest) cuts[k - 1] += (double)rest / 3 * (values[low + 1] - values[low]);
    }
}

/* ---- contexts ---- */

static double length_of(const float *x, const float *from, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++) {
        const double part = (double)x[i] - (from ? (double)from[i] : 0);
        sum += part * part;
    }
    return sqrt(sum);
}

static double magnitude(const mw_routing_sample *s, int kind, long k) {
    const long o = s->obs_size, d = s->act_size;
    if (kind == MW_CHANGE) return length_of(s->next_obs + k * o, s->obs + k * o, s->obs_size);
    if (kind == MW_ACTION) return length_of(s->act + k * d, NULL, s->act_size);
    return fabs((double)s->reward[k]);
}

/* bins[3][N]: the third each magnitude lies in; a value on a border is below it. */
static void find_bins(mw_routing_statistics *r, const mw_routing_sample *s, unsigned char *bins,
                      double *sorted, double *values) {
    const long all = (long)s->transitions * s->agents;
    for (int kind = 0; kind < MW_MAGNITUDES; kind++) {
        for (long k = 0; k < all; k++) sorted[k] = values[k] = magnitude(s, kind, k);
        mw_thirds(r->cuts[kind], sorted, all);
        for (long k = 0; k < all; k++) {
            const int bin = (values[k] > r->cuts[kind][0]) + (values[k] > r->cuts[kind][1]);
            bins[kind * all + k] = (unsigned char)bin;
            r->shares[kind][bin] += 1.0 / (double)all;
        }
    }
}

/* ---- parts of the statistics ---- */

static int argmax(const double *x, int count) {
    int best = 0;
    for (int i = 1; i < count; i++)
        if (x[i] > x[best]) best = i;
    return best;
}

static void add_masses(mw_routing_statistics *r, const double *mass, int *dominant) {
    const long all = (long)r->transitions * r->agents;
    for (long k = 0; k < all; k++) {
        const double *w = mass + k * r->experts;
        double *row = r->affinity[k % r->agents];
        dominant[k] = argmax(w, r->experts);
        r->dominant_share[dominant[k]] += 1;
        r->effective_per_token += mw_exp(mw_entropy(w, r->experts));
        for (int e = 0; e < r->experts; e++) row[e] += w[e];
    }
    double mean[MW_ROUTING_EXPERTS] = {0};
    for (int e = 0; e < r->experts; e++) {
        r->dominant_share[e] /= (double)all;
        for (int i = 0; i < r->agents; i++) {
            r->affinity[i][e] /= r->transitions;
            mean[e] += r->affinity[i][e] / r->agents;
        }
    }
    r->effective_per_token /= (double)all;
    r->effective_experts = mw_exp(mw_entropy(mean, r->experts));
    r->effective_dominant = mw_exp(mw_entropy(r->dominant_share, r->experts));
}

static mw_status find_nmi(mw_routing_nmi *nmi, const mw_routing_statistics *r, const int *dominant,
                          const int *label, int labels, const int *permutations, mw_error *error) {
    const long all = (long)r->transitions * r->agents;
    long counts[MW_ROUTING_EXPERTS * MW_ROUTING_AGENTS] = {0};
    for (long k = 0; k < all; k++) counts[dominant[k] * labels + label[k]]++;
    nmi->raw = mw_nmi(counts, r->experts, labels);
    MW_TRY(mw_nmi_expected(&nmi->expected, counts, r->experts, labels, error));
    for (int p = 0; p < MW_ROUTING_PERMUTATIONS; p++) {
        const int *order = permutations + p * all;
        memset(counts, 0, sizeof counts);
        for (long k = 0; k < all; k++) counts[dominant[k] * labels + label[order[k]]]++;
        nmi->permuted[p] = mw_nmi(counts, r->experts, labels);
    }
    nmi->permuted_mean = mw_mean(nmi->permuted, MW_ROUTING_PERMUTATIONS);
    nmi->corrected = nmi->raw - nmi->permuted_mean;
    nmi->corrected_exact = nmi->raw - nmi->expected;
    return MW_OK;
}

static void find_divergences(mw_routing_statistics *r, const double *mass, const unsigned char *change) {
    const long all = (long)r->transitions * r->agents;
    const int pairs = r->agents * (r->agents - 1) / 2;
    double sum = 0, mean[3][MW_ROUTING_EXPERTS] = {{0}};
    long count[3] = {0};
    for (int i = 0; i < r->agents; i++)
        for (int j = i + 1; j < r->agents; j++)
            sum += mw_js_divergence(r->affinity[i], r->affinity[j], r->experts);
    r->js_agents = pairs ? sum / pairs : NAN;
    for (long k = 0; k < all; k++) {
        count[change[k]]++;
        for (int e = 0; e < r->experts; e++) mean[change[k]][e] += mass[k * r->experts + e];
    }
    for (int bin = 0; bin < 3; bin++)
        for (int e = 0; e < r->experts; e++) mean[bin][e] /= count[bin] ? (double)count[bin] : 1;
    r->js_context = count[0] && count[2] ? mw_js_divergence(mean[0], mean[2], r->experts) : NAN;
}

static void find_switching(mw_routing_statistics *r, const mw_routing_sample *s, const int *dominant) {
    long switched = 0;
    for (int t = 0; t + 1 < s->transitions; t++) {
        if (s->episode[t] != s->episode[t + 1] || s->step[t] + 1 != s->step[t + 1]) continue;
        const int *now = dominant + (long)t * s->agents, *next = now + s->agents;
        for (int i = 0; i < s->agents; i++) switched += now[i] != next[i];
        r->switching_pairs += s->agents;
    }
    r->switching = r->switching_pairs ? (double)switched / (double)r->switching_pairs : NAN;
}

/* ---- all of them ---- */

typedef struct {
    double *sorted, *values; /* [N] */
    unsigned char *bins;     /* [3][N] */
    int *dominant, *context, *agent;
} scratch;

static mw_status compute(mw_routing_statistics *r, const mw_routing_sample *s, const double *mass,
                         const int *permutations, scratch *k, mw_error *error) {
    const long all = (long)s->transitions * s->agents;
    bool seen[CONTEXTS] = {false};
    find_bins(r, s, k->bins, k->sorted, k->values);
    for (long i = 0; i < all; i++) {
        k->context[i] = 9 * k->bins[i] + 3 * k->bins[all + i] + k->bins[2 * all + i];
        k->agent[i] = (int)(i % s->agents);
        r->contexts += !seen[k->context[i]];
        seen[k->context[i]] = true;
    }
    add_masses(r, mass, k->dominant);
    MW_TRY(find_nmi(&r->context, r, k->dominant, k->context, CONTEXTS, permutations, error));
    MW_TRY(find_nmi(&r->agent, r, k->dominant, k->agent, s->agents, permutations, error));
    find_divergences(r, mass, k->bins);
    find_switching(r, s, k->dominant);
    return MW_OK;
}

mw_status mw_routing_statistics_of(mw_routing_statistics *r, const mw_routing_sample *s, const double *mass,
                                   int experts, const int *permutations, int *dominant, int *context,
                                   mw_error *error) {
    const size_t all = (size_t)s->transitions * (size_t)s->agents;
    *r = (mw_routing_statistics){.transitions = s->transitions, .agents = s->agents, .experts = experts};
    if (s->transitions < 1 || s->agents < 1 || s->agents > MW_ROUTING_AGENTS || experts < 1 ||
        experts > MW_ROUTING_EXPERTS)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "routing needs transitions, 1 to %d agents and 1 to %d experts; got %d, %d and %d",
                       MW_ROUTING_AGENTS, MW_ROUTING_EXPERTS, s->transitions, s->agents, experts);
    scratch k = {.sorted = malloc(2 * all * sizeof(double)),
                 .bins = malloc(MW_MAGNITUDES * all),
                 .dominant = malloc(3 * all * sizeof(int))};
    mw_status status = MW_ERR_MEMORY;
    if (k.sorted && k.bins && k.dominant) {
        k.values = k.sorted + all;
        k.context = k.dominant + all;
        k.agent = k.context + all;
        status = compute(r, s, mass, permutations, &k, error);
        if (dominant) memcpy(dominant, k.dominant, all * sizeof *dominant);
        if (context) memcpy(context, k.context, all * sizeof *context);
    } else
        mw_fail(error, MW_ERR_MEMORY, "cannot analyse %zu agent transitions", all);
    free(k.sorted);
    free(k.bins);
    free(k.dominant);
    return status;
}
