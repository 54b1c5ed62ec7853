/* The routed world model: a forward pass by all workers of a pool together. See network.h. */
#include "model/rwm/work.h"
#include "nn/gemm.h"
#include "nn/ops.h"

#include <string.h>

/* What all agents share behind each one's own values, for joint rows [begin, end). */
static void share_values(const mw_token *token, float *raw, const mw_world_config *c, int begin, int end) {
    const size_t values = (size_t)token->values, own = (size_t)token->own, width = (size_t)token->raw;
    const int n = c->agents;
    if (width == values) return;
    for (int b = begin; b < end; b++) {
        float *first = raw + (size_t)(b * n) * width, *shared = first + own;
        if (c->concat_agents)
            for (int a = 0; a < n; a++) {
                float *from = first + (size_t)a * width;
                for (int i = 0; i < n; i++) from[values + (size_t)i] = i == a;
                memcpy(shared + (size_t)a * values, from, values * sizeof *shared);
            }
        else {
            memcpy(shared, first, values * sizeof *shared);
            for (int a = 1; a < n; a++) mw_add(shared, first + (size_t)a * width, (long)values);
            for (size_t i = 0; i < values; i++) shared[i] /= (float)n;
        }
        for (int a = 1; a < n; a++)
            memcpy(shared + (size_t)a * width, shared, (width - own) * sizeof *shared);
    }
}

/* Dynamics tokens, their dispatch and combine weights, and the inputs of all slots, for joint rows [begin,
 * end). */
static void dispatch_share(const mw_world_net *net, mw_world_work *w, const float *values,
                           const float *packed, const float *obs, const float *act, int batch, int begin,
                           int end) {
    const mw_world_config *c = &net->config;
    const int n = c->agents, o = c->obs, d = c->act, size = net->dynamics_token.size,
              slots = c->experts * c->slots;
    for (int r = begin * n; r < end * n; r++) {
        float *raw = w->dynamics.raw + (size_t)r * (size_t)net->dynamics_token.raw;
        if (c->standardise) {
            mw_standardised(raw, obs + (size_t)r * (size_t)o, values + net->scales.obs_mean,
                            values + net->scales.obs_scale, o);
            mw_standardised(raw + o, act + (size_t)r * (size_t)d, values + net->scales.act_mean,
                            values + net->scales.act_scale, d);
        } else {
            memcpy(raw, obs + (size_t)r * (size_t)o, (size_t)o * sizeof *raw);
            memcpy(raw + o, act + (size_t)r * (size_t)d, (size_t)d * sizeof *raw);
        }
    }
    share_values(&net->dynamics_token, w->dynamics.raw, c, begin, end);
    const int first = begin * n, rows = (end - begin) * n;
    mw_token_forward(&net->dynamics_token, &w->dynamics, values, packed, c->standardise, first, rows);
    const float *z = w->dynamics.y + (size_t)first * (size_t)size;
    float *dispatch = w->dispatch + (size_t)first * (size_t)slots,
          *combine = w->combine + (size_t)first * (size_t)slots;
    mw_dense_forward(&net->dispatch, dispatch, z, values, packed, 1, rows);
    mw_dense_forward(&net->combine, combine, z, values, packed, 1, rows);
    mw_softmax_agents(dispatch, end - begin, n, slots);
    mw_softmax_rows(combine, rows, slots);
    for (int b = begin; b < end; b++)
        for (int l = 0; l < slots; l++) {
            float *u = w->slot_in + (((size_t)(l / c->slots) * (size_t)batch + (size_t)b) * (size_t)c->slots +
                                     (size_t)(l % c->slots)) *
                                        (size_t)size;
            memset(u, 0, (size_t)size * sizeof *u);
            for (int a = 0; a < n; a++) {
                const float weight = w->dispatch[(size_t)(b * n + a) * (size_t)slots + (size_t)l];
                const float *from = w->dynamics.y + (size_t)(b * n + a) * (size_t)size;
                mw_add_scaled(u, weight, from, size);
            }
        }
}

/* What the shared expert says to tokens [begin, end). */
static void shared_rows(const mw_world_net *net, mw_world_work *w, const float *values, const float *packed,
                        mw_mlp_acts *acts, int begin, int end) {
    const size_t o = (size_t)net->config.obs, first = (size_t)begin, count = (size_t)(end - begin);
    const float *z = w->dynamics.y + first * (size_t)net->dynamics_token.size;
    const float *out = mw_mlp_forward(&net->shared, acts, z, values, packed, end - begin);
    memcpy(w->shared_out + first * o, out, count * o * sizeof *out);
}

void mw_world_mix(const mw_world_net *net, mw_world_work *w, const float *values, const float *obs,
                  float *next, int batch, int begin, int end, int without) {
    const mw_world_config *c = &net->config;
    const int n = c->agents, o = c->obs, slots = c->experts * c->slots;
    for (int r = begin * n; r < end * n; r++) {
        float *mixed = w->mixed + (size_t)r * (size_t)o, *out = next + (size_t)r * (size_t)o;
        const float *from = obs + (size_t)r * (size_t)o;
        if (c->shared && without != c->experts)
            memcpy(mixed, w->shared_out + (size_t)r * (size_t)o, (size_t)o * sizeof *mixed);
        else
            memset(mixed, 0, (size_t)o * sizeof *mixed);
        for (int l = 0; l < slots; l++) {
            if (l / c->slots == without) continue;
            const float weight = w->combine[(size_t)r * (size_t)slots + (size_t)l];
            const float *v =
                w->slot_out + (((size_t)(l / c->slots) * (size_t)batch + (size_t)(r / n)) * (size_t)c->slots +
                               (size_t)(l % c->slots)) *
                                  (size_t)o;
            mw_add_scaled(mixed, weight, v, o);
        }
        if (c->standardise) {
            for (int i = 0; i < o; i++)
                out[i] = from[i] + values[net->scales.delta_mean + (size_t)i] +
                         values[net->scales.delta_scale + (size_t)i] * mixed[i];
        } else {
            mw_layernorm_forward(out, w->mixed_stats + 2 * r, mixed, values + net->output_w,
                                 values + net->output_b, 1, o);
            for (int i = 0; i < o; i++) out[i] += from[i];
        }
    }
}

/* The next observation and the reward tokens with their routes, for joint rows [begin, end). */
static void combine_share(const mw_world_net *net, mw_world_work *w, const float *values, const float *packed,
                          const float *obs, float *next, int batch, int begin, int end) {
    const mw_world_config *c = &net->config;
    const int n = c->agents, o = c->obs, d = c->act;
    mw_world_mix(net, w, values, obs, next, batch, begin, end, MW_WITHOUT_NONE);
    for (int r = begin * n; r < end * n; r++) {
        const float *out = next + (size_t)r * (size_t)o;
        float *raw = w->reward.raw + (size_t)r * (size_t)net->reward_token.raw;
        memcpy(raw, w->dynamics.raw + (size_t)r * (size_t)net->dynamics_token.raw,
               (size_t)(o + d) * sizeof *raw);
        if (c->standardise)
            mw_standardised(raw + o + d, out, values + net->scales.obs_mean, values + net->scales.obs_scale,
                            o);
        else
            memcpy(raw + o + d, out, (size_t)o * sizeof *raw);
    }
    share_values(&net->reward_token, w->reward.raw, c, begin, end);
    const int first = begin * n, rows = (end - begin) * n;
    mw_token_forward(&net->reward_token, &w->reward, values, packed, c->standardise, first, rows);
    float *route = w->route + (size_t)(first * c->reward_experts);
    mw_dense_forward(&net->router, route, w->reward.y + (size_t)first * (size_t)net->reward_token.size,
                     values, packed, 1, rows);
    mw_softmax_rows(route, rows, c->reward_experts);
    for (int r = first; r < first + rows; r++) {
        const float *q = w->route + (size_t)(r * c->reward_experts);
        int *top = w->top + r * c->top_k;
        float sum = 0;
        for (int k = 0; k < c->top_k; k++) { /* the largest that is not taken yet; the first of equals */
            int best = -1;
            for (int e = 0; e < c->reward_experts; e++) {
                bool taken = false;
                for (int j = 0; j < k; j++) taken |= top[j] == e;
                if (!taken && (best < 0 || q[e] > q[best])) best = e;
            }
            top[k] = best;
            sum += q[best];
        }
        for (int k = 0; k < c->top_k; k++) w->top_weight[r * c->top_k + k] = q[top[k]] / (sum + 1e-8f);
    }
}

/* The picks sorted by expert; the same list whoever makes it. */
static void sort_picks(const mw_world_net *net, mw_world_work *w, int tokens) {
    const int k = net->config.top_k;
    int at = 0;
    for (int e = 0; e < net->config.reward_experts; e++) {
        w->first_pick[e] = at;
        for (int i = 0; i < tokens * k; i++)
            if (w->top[i] == e) w->picks[at++] = (mw_pick){i / k, i % k};
    }
    w->first_pick[net->config.reward_experts] = at;
}

/* Outputs of reward expert e for its picks [begin, end). */
static void reward_expert_rows(const mw_world_net *net, mw_world_work *w, const float *values,
                               const float *packed, mw_mlp_acts *acts, int e, int begin, int end) {
    const size_t size = (size_t)net->reward_token.size;
    for (int i = begin; i < end; i++)
        memcpy(w->picked + (size_t)i * size, w->reward.y + (size_t)w->picks[i].token * size,
               size * sizeof *w->picked);
    const float *out = mw_mlp_forward(&net->reward_expert[e], acts, w->picked + (size_t)begin * size, values,
                                      packed, end - begin);
    for (int i = begin; i < end; i++)
        w->top_out[w->picks[i].token * net->config.top_k + w->picks[i].slot] = out[i - begin];
}

void mw_world_owners(int owner[MW_OWNERS], const mw_world_net *net, const mw_world_work *w, int batch,
                     bool dynamics, bool reward) {
    const mw_world_config *c = &net->config;
    const int threads = mw_pool_threads(w->pool);
    double cost[MW_OWNERS] = {0}, load[MW_OWNERS] = {0};
    for (int e = 0; dynamics && e < c->experts; e++)
        cost[e] = mw_mlp_flops(&net->expert[e], batch * c->slots);
    if (dynamics && c->shared) cost[MW_SHARED_OWNER] = mw_mlp_flops(&net->shared, batch * c->agents);
    for (int e = 0; reward && e < c->reward_experts; e++)
        cost[MW_REWARD_OWNER + e] =
            mw_mlp_flops(&net->reward_expert[e], w->first_pick[e + 1] - w->first_pick[e]);
    for (int i = 0; i < MW_OWNERS; i++) owner[i] = i % threads;
    for (int round = 0; round < MW_OWNERS; round++) {
        int heaviest = 0, idlest = 0;
        for (int i = 1; i < MW_OWNERS; i++)
            if (cost[i] > cost[heaviest]) heaviest = i;
        for (int k = 1; k < threads && k < MW_OWNERS; k++)
            if (load[k] < load[idlest]) idlest = k;
        if (!(cost[heaviest] > 0)) break;
        load[idlest] += cost[heaviest];
        owner[heaviest] = idlest;
        cost[heaviest] = 0;
    }
}

void mw_world_forward(const mw_world_net *net, mw_world_work *w, const float *values, const float *packed,
                      const float *obs, const float *act, float *next, float *reward, int batch, int worker) {
    const mw_world_config *c = &net->config;
    const int threads = mw_pool_threads(w->pool), n = c->agents;
    int begin, end;
    mw_pool_share(w->pool, worker, batch, 1, &begin, &end);
    dispatch_share(net, w, values, packed, obs, act, batch, begin, end);
    mw_pool_barrier(w->pool);
    int owner[MW_OWNERS];
    if (w->training) mw_world_owners(owner, net, w, batch, true, false);
    for (int e = 0; e < c->experts; e++) {
        if ((w->training ? owner[e] : e % threads) != worker) continue;
        const size_t rows = (size_t)(batch * c->slots);
        mw_mlp_acts *acts = &w->expert[w->training ? e : worker];
        const float *out = mw_mlp_forward(&net->expert[e], acts,
                                          w->slot_in + (size_t)e * rows * (size_t)net->dynamics_token.size,
                                          values, packed, (int)rows);
        memcpy(w->slot_out + (size_t)e * rows * (size_t)c->obs, out, rows * (size_t)c->obs * sizeof *out);
    }
    if (c->shared && w->training && worker == owner[MW_SHARED_OWNER])
        shared_rows(net, w, values, packed, &w->shared[0], 0, batch * n);
    if (c->shared && !w->training)
        shared_rows(net, w, values, packed, &w->shared[worker], begin * n, end * n);
    mw_pool_barrier(w->pool);
    combine_share(net, w, values, packed, obs, next, batch, begin, end);
    mw_pool_barrier(w->pool);
    if (worker == 0) sort_picks(net, w, batch * n);
    mw_pool_barrier(w->pool);
    if (w->training) {
        mw_world_owners(owner, net, w, batch, false, true);
        for (int e = 0; e < c->reward_experts; e++)
            if (owner[MW_REWARD_OWNER + e] == worker)
                reward_expert_rows(net, w, values, packed, &w->reward_expert[e], e, w->first_pick[e],
                                   w->first_pick[e + 1]);
    } else { /* an even share of all picks, whichever experts they belong to */
        int from, to;
        mw_pool_share(w->pool, worker, w->first_pick[c->reward_experts], 1, &from, &to);
        for (int e = 0; e < c->reward_experts; e++) {
            int low = w->first_pick[e] > from ? w->first_pick[e] : from,
                high = w->first_pick[e + 1] < to ? w->first_pick[e + 1] : to;
            if (low < high)
                reward_expert_rows(net, w, values, packed, &w->reward_expert[worker], e, low, high);
        }
    }
    mw_pool_barrier(w->pool);
    const float mean = c->standardise ? values[net->scales.reward_mean] : 0,
                scale = c->standardise ? values[net->scales.reward_scale] : 1;
    for (int r = begin * n; r < end * n; r++) {
        float sum = 0;
        for (int k = 0; k < c->top_k; k++)
            sum += w->top_weight[r * c->top_k + k] * w->top_out[r * c->top_k + k];
        reward[r] = mean + scale * sum;
    }
}
