/* The world model written out in double precision, one token at a time, with every expert computed: what the
 * engine's batches, packed products and selected experts are compared with. It shares with the engine only
 * where in the array of parameters each layer lies. */
#ifndef MW_TESTS_WORLD_REFERENCE_H
#define MW_TESTS_WORLD_REFERENCE_H

#include "differences.h"
#include "model/rwm/trainer.h"

enum { REFERENCE_WIDE = 128, REFERENCE_SLOTS = 64, REFERENCE_ROWS = 512 };

typedef struct {
    const mw_world_net *net;
    double *values; /* [params.total] */
    mw_transition_batch batch;
    bool frozen; /* the reward sees `next` as it is: the model stops gradients there */
    double next[REFERENCE_ROWS * 16], reward[REFERENCE_ROWS];
    double dynamics_loss, reward_loss, balance_loss;
} world_reference;

static inline void reference_dense(const double *values, const mw_dense *layer, const double *x, double *y) {
    for (int o = 0; o < layer->out; o++) {
        y[o] = layer->bias ? values[layer->b + (size_t)o] : 0;
        for (int i = 0; i < layer->in; i++) y[o] += x[i] * values[layer->w + (size_t)(i * layer->out + o)];
    }
}

static inline void reference_mlp(const double *values, const mw_mlp *mlp, const double *x, double *y) {
    double in[REFERENCE_WIDE];
    memcpy(in, x, (size_t)mlp->layer[0].in * sizeof *in);
    for (int l = 0; l < mlp->layers; l++) {
        reference_dense(values, &mlp->layer[l], in, y);
        for (int i = 0; l + 1 < mlp->layers && i < mlp->layer[l].out; i++) in[i] = y[i] / (1 + exp(-y[i]));
    }
}

static inline void reference_softmax(double *x, int n, int stride) {
    double most = -INFINITY, sum = 0;
    for (int i = 0; i < n; i++) most = fmax(most, x[i * stride]);
    for (int i = 0; i < n; i++) sum += x[i * stride] = exp(x[i * stride] - most);
    for (int i = 0; i < n; i++) x[i * stride] /= sum;
}

static inline void reference_layernorm(const double *values, size_t w, size_t b, double *x, int n) {
    double mean = 0, square = 0;
    for (int i = 0; i < n; i++) mean += x[i] / n;
    for (int i = 0; i < n; i++) square += (x[i] - mean) * (x[i] - mean) / n;
    for (int i = 0; i < n; i++)
        x[i] = (x[i] - mean) / sqrt(square + 1e-5) * values[w + (size_t)i] + values[b + (size_t)i];
}

/* x[raw] becomes the token: layer norm (paper) or as it is, then its norm features. */
static inline void reference_token(const world_reference *r, const mw_token *token, double *x) {
    double p[2 * REFERENCE_WIDE];
    if (!r->net->config.standardise)
        reference_layernorm(r->values, token->norm_w, token->norm_b, x, token->raw);
    if (!token->features) return;
    reference_dense(r->values, &token->project, x, p);
    for (int i = 0; i < token->features; i++)
        x[token->raw + i] = log(p[i] * p[i] + p[token->features + i] * p[token->features + i] + 1e-3);
}

/* z[n] holds the agents' values; behind them, if tokens are joint, the mean of all, or which agent it is and
 * then everyone's. */
static inline void reference_joint(const mw_world_config *c, double (*z)[REFERENCE_WIDE], int values) {
    const int n = c->agents;
    for (int a = 0; a < n; a++) {
        double *at = z[a] + values;
        for (int i = 0; c->concat_agents && i < n; i++) *at++ = a == i ? 1 : 0;
        for (int i = 0; c->concat_agents && i < n * values; i++) *at++ = z[i / values][i % values];
        for (int i = 0; c->mean_agents && !c->concat_agents && i < values; i++, at++) {
            *at = 0;
            for (int other = 0; other < n; other++) *at += z[other][i] / n;
        }
    }
}

/* Standardised copy of n values, or a plain one in the paper's variant. */
static inline void reference_copy(const world_reference *r, double *out, const double *x, size_t mean,
                                  size_t scale, int n) {
    for (int i = 0; i < n; i++)
        out[i] = r->net->config.standardise
                     ? (x[i] - r->values[mean + (size_t)i]) / r->values[scale + (size_t)i]
                     : x[i];
}

/* next[n][o] of one joint transition. */
static inline void reference_dynamics(const world_reference *r, const double *obs, const double *act,
                                      double *next) {
    const mw_world_net *net = r->net;
    const mw_world_config *c = &net->config;
    const int slots = c->experts * c->slots, n = c->agents, o = c->obs;
    double z[8][REFERENCE_WIDE], dispatch[8 * REFERENCE_SLOTS], combine[8 * REFERENCE_SLOTS],
        mixed[8][REFERENCE_WIDE] = {{0}};
    for (int a = 0; a < n; a++) {
        reference_copy(r, z[a], obs + a * o, net->scales.obs_mean, net->scales.obs_scale, o);
        reference_copy(r, z[a] + o, act + a * c->act, net->scales.act_mean, net->scales.act_scale, c->act);
    }
    reference_joint(c, z, o + c->act);
    for (int a = 0; a < n; a++) {
        reference_token(r, &net->dynamics_token, z[a]);
        reference_dense(r->values, &net->dispatch, z[a], dispatch + a * slots);
        reference_dense(r->values, &net->combine, z[a], combine + a * slots);
        reference_softmax(combine + a * slots, slots, 1);
        if (c->shared) reference_mlp(r->values, &net->shared, z[a], mixed[a]);
    }
    for (int l = 0; l < slots; l++) {
        double in[REFERENCE_WIDE] = {0}, out[REFERENCE_WIDE];
        reference_softmax(dispatch + l, n, slots);
        for (int a = 0; a < n; a++)
            for (int i = 0; i < net->dynamics_token.size; i++) in[i] += dispatch[a * slots + l] * z[a][i];
        reference_mlp(r->values, &net->expert[l / c->slots], in, out);
        for (int a = 0; a < n; a++)
            for (int i = 0; i < o; i++) mixed[a][i] += combine[a * slots + l] * out[i];
    }
    for (int a = 0; a < n; a++) {
        if (!c->standardise) reference_layernorm(r->values, net->output_w, net->output_b, mixed[a], o);
        for (int i = 0; i < o; i++)
            next[a * o + i] =
                obs[a * o + i] + (c->standardise
                                      ? r->values[net->scales.delta_mean + (size_t)i] +
                                            r->values[net->scales.delta_scale + (size_t)i] * mixed[a][i]
                                      : mixed[a][i]);
    }
}

/* The reward's values of all agents, before norm and features. */
static inline void reference_reward_raw(const world_reference *r, const double *obs, const double *act,
                                        const double *next, double (*y)[REFERENCE_WIDE]) {
    const mw_world_net *net = r->net;
    const mw_world_config *c = &net->config;
    for (int a = 0; a < c->agents; a++) {
        reference_copy(r, y[a], obs + a * c->obs, net->scales.obs_mean, net->scales.obs_scale, c->obs);
        reference_copy(r, y[a] + c->obs, act + a * c->act, net->scales.act_mean, net->scales.act_scale,
                       c->act);
        reference_copy(r, y[a] + c->obs + c->act, next + a * c->obs, net->scales.obs_mean,
                       net->scales.obs_scale, c->obs);
    }
    reference_joint(c, y, 2 * c->obs + c->act);
}

/* One agent's reward; every expert is computed. share and mean collect the balance of the router. */
static inline double reference_reward(const world_reference *r, double *y, double *share, double *mean) {
    const mw_world_net *net = r->net;
    const mw_world_config *c = &net->config;
    double route[MW_MAX_EXPERTS], out[REFERENCE_WIDE], sum = 1e-8, mixed = 0;
    reference_token(r, &net->reward_token, y);
    reference_dense(r->values, &net->router, y, route);
    reference_softmax(route, c->reward_experts, 1);
    for (int e = 0; e < c->reward_experts; e++) {
        int above = 0; /* experts that come first */
        for (int k = 0; k < c->reward_experts; k++)
            above += route[k] > route[e] || (route[k] == route[e] && k < e);
        mean[e] += route[e];
        reference_mlp(r->values, &net->reward_expert[e], y, out);
        if (above >= c->top_k) continue;
        share[e]++;
        sum += route[e];
        mixed += route[e] * out[0];
    }
    mixed /= sum;
    return c->standardise ? r->values[net->scales.reward_mean] + r->values[net->scales.reward_scale] * mixed
                          : mixed;
}

/* Fills next, reward and the losses; returns the total loss. */
static inline double reference_loss(void *context) {
    world_reference *r = context;
    const mw_world_config *c = &r->net->config;
    const int rows = r->batch.count * c->agents, o = c->obs;
    double share[MW_MAX_EXPERTS] = {0}, mean[MW_MAX_EXPERTS] = {0}, obs[256], act[256], next[256];
    r->dynamics_loss = r->reward_loss = r->balance_loss = 0;
    for (int b = 0; b < r->batch.count; b++) {
        const int first = b * c->agents;
        for (int i = 0; i < c->agents * o; i++) obs[i] = r->batch.obs[first * o + i];
        for (int i = 0; i < c->agents * c->act; i++) act[i] = r->batch.act[first * c->act + i];
        reference_dynamics(r, obs, act, next);
        if (!r->frozen) memcpy(r->next + first * o, next, (size_t)(c->agents * o) * sizeof *next);
        for (int i = 0; i < c->agents * o; i++) {
            const double scale = c->standardise ? r->values[r->net->scales.delta_scale + (size_t)(i % o)] : 1;
            r->dynamics_loss += pow((next[i] - r->batch.next_obs[first * o + i]) / scale, 2) / (rows * o);
        }
        double y[8][REFERENCE_WIDE];
        reference_reward_raw(r, obs, act, r->next + first * o, y);
        for (int a = 0; a < c->agents; a++) {
            const double scale = c->standardise ? r->values[r->net->scales.reward_scale] : 1;
            r->reward[first + a] = reference_reward(r, y[a], share, mean);
            r->reward_loss += pow((r->reward[first + a] - r->batch.reward[first + a]) / scale, 2) / rows;
        }
    }
    for (int e = 0; e < c->reward_experts; e++)
        r->balance_loss += c->reward_experts * share[e] / rows * mean[e] / rows;
    return r->dynamics_loss + r->reward_loss + 0.01 * r->balance_loss;
}

#endif
