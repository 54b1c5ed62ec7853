/* One router measured: the routed world model looked into over recorded transitions, summed up in double
 * precision in the order of the transitions, so that threads change nothing. */
#include "routing/routing.h"

#include "core/math.h"
#include "model/rwm/probe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 256 };

/* What is seen of a chunk of transitions, and what it is asked with. */
typedef struct {
    mw_world_weights weights;
    const mw_routing_sample *sample;
    mw_probe *probe;
    mw_probe_view view;
    float *act, *other; /* [CHUNK][n][d] and [CHUNK][n][o]: a source's other action, and what follows */
} gauge;

static void gauge_free(gauge *g) {
    mw_probe_free(g->probe);
    free(g->view.next);
    free(g->view.top);
}

static mw_status gauge_create(gauge *g, mw_world_weights weights, const mw_routing_sample *sample,
                              mw_pool *pool, mw_error *error) {
    const mw_world_config *c = &weights.net->config;
    const size_t rows = (size_t)(CHUNK * c->agents), o = rows * (size_t)c->obs,
                 slots = rows * (size_t)(c->experts * c->slots), parts = (size_t)mw_probe_parts(weights.net);
    *g = (gauge){.weights = weights, .sample = sample};
    MW_TRY(mw_probe_create(&g->probe, weights.net, weights.values, weights.packed, pool, error));
    mw_probe_view *v = &g->view;
    v->next = malloc(((parts + 2) * o + 2 * slots + rows + rows * (size_t)c->act) * sizeof *v->next);
    v->top = malloc(rows * (size_t)c->top_k * sizeof *v->top);
    if (!v->next || !v->top) {
        gauge_free(g);
        return mw_fail(error, MW_ERR_MEMORY, "cannot look at %d transitions at once", CHUNK);
    }
    v->without = v->next + o;
    v->dispatch = v->without + parts * o;
    v->combine = v->dispatch + slots;
    v->routed = v->combine + slots;
    g->act = v->routed + rows;
    g->other = g->act + rows * (size_t)c->act;
    return MW_OK;
}

static void look(gauge *g, int first, int count) {
    const mw_routing_sample *s = g->sample;
    const size_t at = (size_t)first * (size_t)s->agents;
    mw_probe_look(g->probe, s->obs + at * (size_t)s->obs_size, s->act + at * (size_t)s->act_size, count,
                  &g->view);
}

/* ---- sums over a chunk ---- */

/* w[experts] of one token. */
static void masses_of(double *w, const float *combine, const mw_world_config *c) {
    for (int e = 0; e < c->experts; e++) {
        w[e] = 0;
        for (int l = e * c->slots; l < (e + 1) * c->slots; l++) w[e] += combine[l];
    }
}

static double square_error(const float *x, const float *y, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += ((double)x[i] - y[i]) * ((double)x[i] - y[i]);
    return sum;
}

static void add_tokens(mw_router *r, const gauge *g, int count) {
    const mw_world_config *c = &g->weights.net->config;
    double w[MW_ROUTING_EXPERTS];
    for (int row = 0; row < count * c->agents; row++) {
        const int agent = row % c->agents;
        masses_of(w, g->view.combine + (size_t)row * (size_t)(c->experts * c->slots), c);
        for (int e = 0; e < c->experts; e++) r->affinity[agent][e] += w[e];
        for (int k = 0; k < c->top_k; k++) r->reward_share[agent][g->view.top[row * c->top_k + k]] += 1;
        r->routed_share += g->view.routed[row];
    }
}

static void add_errors(mw_router *r, const gauge *g, int first, int count) {
    const size_t joint = (size_t)(r->agents * g->sample->obs_size), all = (size_t)count * joint;
    const float *truth = g->sample->next_obs + (size_t)first * joint;
    r->mse += square_error(g->view.next, truth, all);
    for (int part = 0; part < mw_probe_parts(g->weights.net); part++)
        r->mse_without[part] += square_error(g->view.without + (size_t)part * all, truth, all);
}

/* How the slots mix the agents, and what of that comes back to each. */
static void add_flow(mw_router *r, const gauge *g, int count) {
    const int n = r->agents, slots = r->experts * r->slots;
    double p[MW_ROUTING_AGENTS];
    for (int t = 0; t < count; t++) {
        const float *dispatch = g->view.dispatch + (size_t)t * (size_t)(n * slots),
                    *combine = g->view.combine + (size_t)t * (size_t)(n * slots);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                for (int l = 0; l < slots; l++)
                    r->graphs.flow[i][j] += (double)combine[i * slots + l] * dispatch[j * slots + l];
        for (int l = 0; l < slots; l++) {
            for (int i = 0; i < n; i++) p[i] = dispatch[i * slots + l];
            r->effective_agents += mw_exp(mw_entropy(p, n));
        }
    }
}

static void add_influence(mw_router *r, gauge *g, int first, int count, const float *perturbed) {
    const mw_routing_sample *s = g->sample;
    const size_t n = (size_t)s->agents, o = (size_t)s->obs_size, d = (size_t)s->act_size, at = (size_t)first;
    const mw_probe_view next = {.next = g->other};
    for (size_t source = 0; source < n; source++) {
        memcpy(g->act, s->act + at * n * d, (size_t)count * n * d * sizeof *g->act);
        for (size_t t = 0; t < (size_t)count; t++)
            memcpy(g->act + (t * n + source) * d, perturbed + (source * (size_t)s->transitions + at + t) * d,
                   d * sizeof *g->act);
        mw_probe_look(g->probe, s->obs + at * n * o, g->act, count, &next);
        for (size_t row = 0; row < (size_t)count * n; row++)
            r->graphs.influence[row % n][source] +=
                sqrt(square_error(g->other + row * o, g->view.next + row * o, o));
    }
}

/* ---- the whole ---- */

static void divide(double *x, int count, double by) {
    for (int i = 0; i < count; i++) x[i] /= by;
}

static void finish(mw_router *r, int obs) {
    const double t = r->transitions, values = t * r->agents * obs;
    for (int i = 0; i < r->agents; i++) {
        divide(r->affinity[i], r->experts, t);
        divide(r->reward_share[i], r->reward_experts, t * r->top_k);
        divide(r->graphs.flow[i], r->agents, t);
        divide(r->graphs.influence[i], r->agents, t);
    }
    divide(r->mse_without, r->experts + (r->shared > 0), values);
    r->mse /= values;
    r->routed_share /= t * r->agents;
    r->effective_agents /= t * r->experts * r->slots;
    mw_routing_cosine(r->graphs.cosine, (const double(*)[MW_ROUTING_EXPERTS])r->affinity, r->agents,
                      r->experts);
    mw_routing_compare(&r->graphs, r->agents);
}

mw_status mw_router_measure(mw_router *r, mw_world_weights weights, const mw_routing_sample *s,
                            const float *perturbed, mw_pool *pool, const mw_stop_flag *stop,
                            mw_error *error) {
    const mw_world_config *c = &weights.net->config;
    gauge g;
    *r = (mw_router){.transitions = s->transitions,
                     .agents = c->agents,
                     .experts = c->experts,
                     .slots = c->slots,
                     .reward_experts = c->reward_experts,
                     .top_k = c->top_k,
                     .shared = c->shared};
    MW_TRY(gauge_create(&g, weights, s, pool, error));
    mw_status status = MW_OK;
    for (int first = 0; first < s->transitions && status == MW_OK; first += CHUNK) {
        const int left = s->transitions - first, count = left < CHUNK ? left : CHUNK;
        look(&g, first, count);
        add_tokens(r, &g, count);
        add_errors(r, &g, first, count);
        add_flow(r, &g, count);
        add_influence(r, &g, first, count, perturbed);
        status = mw_routing_going(stop, error);
    }
    finish(r, c->obs);
    gauge_free(&g);
    return status;
}

mw_status mw_router_masses(double *mass, mw_world_weights weights, const mw_routing_sample *s, mw_pool *pool,
                           mw_error *error) {
    const mw_world_config *c = &weights.net->config;
    const size_t slots = (size_t)(c->experts * c->slots), n = (size_t)c->agents;
    mw_probe *probe;
    float *combine = malloc((size_t)s->transitions * n * slots * sizeof *combine);
    if (!combine)
        return mw_fail(error, MW_ERR_MEMORY, "cannot keep the routes of %d transitions", s->transitions);
    const mw_status status =
        mw_probe_create(&probe, weights.net, weights.values, weights.packed, pool, error);
    if (status == MW_OK) {
        mw_probe_look(probe, s->obs, s->act, s->transitions, &(mw_probe_view){.combine = combine});
        for (size_t row = 0; row < (size_t)s->transitions * n; row++)
            masses_of(mass + row * (size_t)c->experts, combine + row * slots, c);
        mw_probe_free(probe);
    }
    free(combine);
    return status;
}
