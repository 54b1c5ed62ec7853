/* Training of the world model; see trainer.h. The backward pass mirrors mw_world_forward: shares of the
 * batch, experts, shares of the batch, then the few matrices that see all tokens. */
#include "model/rwm/trainer.h"

#include "nn/ops.h"
#include "model/rwm/work.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BALANCE 0.01f

struct mw_world_trainer {
    const mw_world_net *net;
    mw_pool *pool;
    int threads;
    mw_optimizer optimizer;
    mw_world_work *work;
    mw_arena arena;
    float *packed, *next, *reward; /* predictions [b][n][o], [b][n] */
    double (*row_loss)[2];         /* [b]: dynamics, reward */
};

static void carve(mw_world_trainer *t, int max_batch) {
    const mw_world_net *net = t->net;
    const size_t rows = (size_t)max_batch * (size_t)net->config.agents;
    t->packed = mw_arena_floats(&t->arena, net->params.packed);
    t->next = mw_arena_floats(&t->arena, rows * (size_t)net->config.obs);
    t->reward = mw_arena_floats(&t->arena, rows);
    t->row_loss = mw_arena_take(&t->arena, (size_t)max_batch, sizeof *t->row_loss);
}

mw_status mw_world_trainer_create(mw_world_trainer **out, const mw_world_net *net, const mw_adam *adam,
                                  float decay, int max_batch, mw_pool *pool, mw_error *error) {
    *out = NULL;
    mw_world_trainer *t = calloc(1, sizeof *t);
    if (!t) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a trainer");
    t->net = net;
    t->pool = pool;
    t->threads = mw_pool_threads(pool);
    const mw_group whole = mw_group_whole(adam, decay, net->params.total);
    mw_status status = mw_optimizer_create(&t->optimizer, &whole, 1, whole.end, 1, error);
    if (status == MW_OK) status = mw_world_work_create(&t->work, net, max_batch, true, pool, error);
    if (status == MW_OK) {
        carve(t, max_batch);
        status = mw_arena_create(&t->arena, t->arena.used, error);
    }
    if (status == MW_OK) carve(t, max_batch);
    if (status != MW_OK) {
        mw_world_trainer_free(t);
        return status;
    }
    *out = t;
    return MW_OK;
}

void mw_world_trainer_free(mw_world_trainer *t) {
    if (!t) return;
    mw_optimizer_free(&t->optimizer);
    mw_world_work_free(t->work);
    mw_arena_free(&t->arena);
    free(t);
}

mw_optimizer *mw_world_trainer_optimizer(mw_world_trainer *t) {
    return &t->optimizer;
}

size_t mw_world_trainer_bytes(const mw_world_trainer *t) {
    return t->optimizer.arena.size + mw_world_work_bytes(t->work) + t->arena.size;
}

/* Share of the tokens that each reward expert received (summing to top_k) and the mean route. */
static void balance_terms(const mw_world_net *net, const mw_world_work *w, int tokens, float *share,
                          float *mean) {
    const int experts = net->config.reward_experts;
    double sums[MW_MAX_EXPERTS] = {0};
    for (int r = 0; r < tokens; r++)
        for (int e = 0; e < experts; e++) sums[e] += w->route[r * experts + e];
    for (int e = 0; e < experts; e++) {
        share[e] = (float)(w->first_pick[e + 1] - w->first_pick[e]) / (float)tokens;
        mean[e] = (float)(sums[e] / tokens);
    }
}

/* Squared errors of joint rows [begin, end), in units of the standardised targets, and their gradient with
 * respect to the predicted change and rewards in the same units. */
static void loss_share(mw_world_trainer *t, const mw_transition_batch *batch, const float *values, int begin,
                       int end) {
    const mw_world_net *net = t->net;
    const mw_world_config *c = &net->config;
    mw_world_work *w = t->work;
    const int n = c->agents, o = c->obs;
    const float obs_factor = 2.0f / ((float)batch->count * (float)n * (float)o),
                reward_factor = 2.0f / ((float)batch->count * (float)n);
    const float reward_scale = c->standardise ? values[net->scales.reward_scale] : 1;
    for (int b = begin; b < end; b++) {
        double dynamics = 0, reward = 0;
        for (int r = b * n; r < (b + 1) * n; r++) {
            const size_t at = (size_t)r * (size_t)o;
            for (int i = 0; i < o; i++) {
                const size_t k = at + (size_t)i;
                float error = c->standardise ? w->mixed[k] - (batch->next_obs[k] - batch->obs[k] -
                                                              values[net->scales.delta_mean + (size_t)i]) /
                                                                 values[net->scales.delta_scale + (size_t)i]
                                             : t->next[k] - batch->next_obs[k];
                dynamics += (double)error * error;
                w->dnext[at + (size_t)i] = obs_factor * error;
            }
            float error = (t->reward[r] - batch->reward[r]) / reward_scale;
            reward += (double)error * error;
            for (int k = 0; k < c->top_k; k++) /* of the expert's output; routes follow below */
                w->dtop_out[r * c->top_k + k] = reward_factor * error;
        }
        t->row_loss[b][0] = dynamics;
        t->row_loss[b][1] = reward;
    }
}

/* Gradients that stay within joint rows [begin, end): routes of the reward, mixed change, combine weights,
 * slot outputs. */
static void heads_share(mw_world_trainer *t, const float *values, const float *share, int batch, int begin,
                        int end) {
    const mw_world_net *net = t->net;
    const mw_world_config *c = &net->config;
    mw_world_work *w = t->work;
    const int n = c->agents, o = c->obs, slots = c->experts * c->slots, experts = c->reward_experts;
    const float balance = BALANCE * (float)experts / (float)(batch * n);
    for (int r = begin * n; r < end * n; r++) {
        const float *weight = w->top_weight + r * c->top_k, *out = w->top_out + r * c->top_k;
        const int *top = w->top + r * c->top_k;
        float *dout = w->dtop_out + r * c->top_k, *droute = w->droute + r * experts, sum = 1e-8f, dot = 0;
        const float *route = w->route + r * experts;
        for (int e = 0; e < experts; e++) droute[e] = balance * share[e];
        for (int k = 0; k < c->top_k; k++) {
            sum += route[top[k]];
            dot += dout[k] * out[k] * weight[k];
        }
        for (int k = 0; k < c->top_k; k++) { /* weight_k = route_k / sum */
            droute[top[k]] += (dout[k] * out[k] - dot) / sum;
            dout[k] *= weight[k];
        }
        mw_softmax_rows_backward(droute, droute, route, 1, experts);
    }
    for (int r = begin * n; r < end * n; r++) {
        float *dmixed = w->dmixed + (size_t)r * (size_t)o;
        const float *dnext = w->dnext + (size_t)r * (size_t)o;
        if (c->standardise)
            memcpy(dmixed, dnext, (size_t)o * sizeof *dmixed);
        else
            mw_layernorm_backward(dmixed, NULL, NULL, dnext, w->mixed + (size_t)r * (size_t)o,
                                  w->mixed_stats + 2 * r, values + net->output_w, 1, o);
    }
    for (int b = begin; b < end; b++)
        for (int l = 0; l < slots; l++) {
            const size_t slot = ((size_t)(l / c->slots) * (size_t)batch + (size_t)b) * (size_t)c->slots +
                                (size_t)(l % c->slots);
            const float *v = w->slot_out + slot * (size_t)o;
            float *dv = w->dslot_out + slot * (size_t)o;
            memset(dv, 0, (size_t)o * sizeof *dv);
            for (int r = b * n; r < (b + 1) * n; r++) {
                const float *d = w->dmixed + (size_t)r * (size_t)o;
                const float weight = w->combine[(size_t)r * (size_t)slots + (size_t)l];
                mw_add_scaled(dv, weight, d, o);
                w->dcombine[(size_t)r * (size_t)slots + (size_t)l] = mw_inner(d, v, o);
            }
        }
    const size_t first = (size_t)(begin * n) * (size_t)slots;
    mw_softmax_rows_backward(w->dcombine + first, w->dcombine + first, w->combine + first, (end - begin) * n,
                             slots);
}

static void experts_backward(mw_world_trainer *t, int batch, int worker) {
    const mw_world_net *net = t->net;
    const mw_world_config *c = &net->config;
    mw_world_work *w = t->work;
    const size_t rows = (size_t)(batch * c->slots), size = (size_t)net->dynamics_token.size;
    float *grads = t->optimizer.grads;
    int owner[MW_OWNERS];
    mw_world_owners(owner, net, w, batch, true, true);
    for (int e = 0; e < c->experts; e++) {
        if (owner[e] != worker) continue;
        mw_mlp_backward(&net->expert[e], &w->expert[e], w->dslot_in + (size_t)e * rows * size, grads,
                        w->dslot_out + (size_t)e * rows * (size_t)c->obs,
                        w->slot_in + (size_t)e * rows * size, t->packed, (int)rows);
    }
    if (c->shared && worker == owner[MW_SHARED_OWNER])
        mw_mlp_backward(&net->shared, &w->shared[0], c->dynamics_features ? w->dshared : NULL, grads,
                        w->dmixed, w->dynamics.y, t->packed, batch * c->agents);
    const size_t token = (size_t)net->reward_token.size;
    const bool inputs = !c->standardise || c->reward_features; /* something before the experts learns */
    for (int e = 0; e < c->reward_experts; e++) {
        if (owner[MW_REWARD_OWNER + e] != worker) continue;
        const int begin = w->first_pick[e], count = w->first_pick[e + 1] - begin;
        for (int i = begin; i < begin + count; i++)
            w->dpick_out[i] = w->dtop_out[w->picks[i].token * c->top_k + w->picks[i].slot];
        mw_mlp_backward(&net->reward_expert[e], &w->reward_expert[e],
                        inputs ? w->dpicked + (size_t)begin * token : NULL, grads, w->dpick_out + begin,
                        w->picked + (size_t)begin * token, t->packed, count);
    }
}

/* Back from slots and picks to the tokens of joint rows [begin, end). */
static void tokens_share(mw_world_trainer *t, int batch, int begin, int end) {
    const mw_world_net *net = t->net;
    const mw_world_config *c = &net->config;
    mw_world_work *w = t->work;
    const int n = c->agents, slots = c->experts * c->slots, size = net->dynamics_token.size;
    for (int b = begin; b < end; b++)
        for (int r = b * n; r < (b + 1) * n; r++) {
            const float *z = w->dynamics.y + (size_t)r * (size_t)size;
            float *dz = w->dtoken[0] + (size_t)r * (size_t)size;
            if (c->shared && c->dynamics_features)
                memcpy(dz, w->dshared + (size_t)r * (size_t)size, (size_t)size * sizeof *dz);
            else
                memset(dz, 0, (size_t)size * sizeof *dz);
            for (int l = 0; l < slots; l++) {
                const float *du =
                    w->dslot_in + (((size_t)(l / c->slots) * (size_t)batch + (size_t)b) * (size_t)c->slots +
                                   (size_t)(l % c->slots)) *
                                      (size_t)size;
                const float weight = w->dispatch[(size_t)r * (size_t)slots + (size_t)l];
                mw_add_scaled(dz, weight, du, size);
                w->ddispatch[(size_t)r * (size_t)slots + (size_t)l] = mw_inner(du, z, size);
            }
        }
    const size_t first = (size_t)(begin * n) * (size_t)slots;
    mw_softmax_agents_backward(w->ddispatch + first, w->ddispatch + first, w->dispatch + first, end - begin,
                               n, slots);
}

static void dynamics_matrices(mw_world_trainer *t, int rows) {
    const mw_world_net *net = t->net;
    mw_world_work *w = t->work;
    if (!net->config.standardise) /* weights of the output norm; the gradient of its input is there already */
        mw_layernorm_backward(w->dnext, t->optimizer.grads + net->output_w,
                              t->optimizer.grads + net->output_b, w->dnext, w->mixed, w->mixed_stats,
                              t->optimizer.values + net->output_w, rows, net->config.obs);
    const bool inputs = !net->config.standardise || net->config.dynamics_features;
    const long count = (long)rows * net->dynamics_token.size;
    float *grads = t->optimizer.grads, *through = inputs ? w->dprojected[0] : NULL;
    mw_dense_backward(&net->dispatch, through, grads, w->ddispatch, w->dynamics.y, t->packed, w->scratch[0],
                      1, rows);
    /* What all agents share cannot say which of them a slot takes: there the gradient is rounding only. */
    const mw_token *token = &net->dynamics_token;
    memset(grads + net->dispatch.w + (size_t)(token->own * net->dispatch.out), 0,
           (size_t)((token->raw - token->own) * net->dispatch.out) * sizeof *grads);
    if (inputs) mw_add(w->dtoken[0], through, count);
    mw_dense_backward(&net->combine, through, grads, w->dcombine, w->dynamics.y, t->packed, w->scratch[0], 1,
                      rows);
    if (inputs) mw_add(w->dtoken[0], through, count);
    mw_token_backward(token, &w->dynamics, w->dtoken[0], w->dprojected[0], w->scratch[0], t->optimizer.values,
                      grads, t->packed, net->config.standardise, rows);
}

static void reward_matrices(mw_world_trainer *t, int rows) {
    const mw_world_net *net = t->net;
    mw_world_work *w = t->work;
    const bool inputs = !net->config.standardise || net->config.reward_features;
    const size_t size = (size_t)net->reward_token.size;
    float *grads = t->optimizer.grads;
    mw_dense_backward(&net->router, inputs ? w->dtoken[1] : NULL, grads, w->droute, w->reward.y, t->packed,
                      w->scratch[1], 1, rows);
    if (!inputs) return;
    for (int i = 0; i < w->first_pick[net->config.reward_experts]; i++)
        mw_add(w->dtoken[1] + (size_t)w->picks[i].token * size, w->dpicked + (size_t)i * size, (long)size);
    mw_token_backward(&net->reward_token, &w->reward, w->dtoken[1], w->dprojected[1], w->scratch[1],
                      t->optimizer.values, grads, t->packed, net->config.standardise, rows);
}

typedef struct {
    mw_world_trainer *trainer;
    const mw_transition_batch *batch;
    const float *values;
    bool backward, update;
} step_context;

static void step_body(void *context, int worker) {
    const step_context *s = context;
    mw_world_trainer *t = s->trainer;
    const mw_world_net *net = t->net;
    const mw_world_config *c = &net->config;
    mw_world_work *w = t->work;
    const int batch = s->batch->count, rows = batch * c->agents;
    int begin, end;
    mw_pool_share(t->pool, worker, batch, 1, &begin, &end);
    mw_world_net_pack(net, s->values, t->packed, s->backward, worker, t->threads);
    if (s->backward && worker == t->threads - 1)
        memset(t->optimizer.grads, 0, t->optimizer.total * sizeof(float));
    mw_pool_barrier(t->pool);
    mw_world_forward(net, w, s->values, t->packed, s->batch->obs, s->batch->act, t->next, t->reward, batch,
                     worker);
    loss_share(t, s->batch, s->values, begin, end);
    if (!s->backward) return;
    float share[MW_MAX_EXPERTS], mean[MW_MAX_EXPERTS];
    balance_terms(net, w, rows, share, mean);
    heads_share(t, s->values, share, batch, begin, end);
    mw_pool_barrier(t->pool);
    experts_backward(t, batch, worker);
    mw_pool_barrier(t->pool);
    tokens_share(t, batch, begin, end);
    mw_pool_barrier(t->pool);
    if (worker == 0) dynamics_matrices(t, rows);
    if (worker == t->threads - 1) reward_matrices(t, rows);
    mw_pool_barrier(t->pool);
    if (s->update) mw_optimizer_step(&t->optimizer, 0, t->pool, worker);
}

/* Adds up what the workers left per row, in order. */
static mw_world_loss total_loss(mw_world_trainer *t, int batch) {
    const mw_world_config *c = &t->net->config;
    const int rows = batch * c->agents;
    float share[MW_MAX_EXPERTS], mean[MW_MAX_EXPERTS];
    mw_world_loss loss = {0};
    for (int b = 0; b < batch; b++) {
        loss.dynamics += t->row_loss[b][0];
        loss.reward += t->row_loss[b][1];
    }
    loss.dynamics /= (double)rows * c->obs;
    loss.reward /= rows;
    balance_terms(t->net, t->work, rows, share, mean);
    for (int e = 0; e < c->reward_experts; e++)
        loss.balance += (double)c->reward_experts * share[e] * mean[e];
    loss.total = loss.dynamics + loss.reward + BALANCE * loss.balance;
    return loss;
}

mw_world_loss mw_world_trainer_step(mw_world_trainer *t, const mw_transition_batch *batch, bool update) {
    assert(batch->count <= mw_world_work_batch(t->work));
    if (batch->count < 1) return (mw_world_loss){0};
    mw_pool_run(t->pool, step_body, &(step_context){t, batch, t->optimizer.values, true, update});
    return total_loss(t, batch->count);
}

mw_world_loss mw_world_trainer_loss(mw_world_trainer *t, const mw_transition_batch *batch, bool average) {
    const float *values = average && t->optimizer.average ? t->optimizer.average : t->optimizer.values;
    assert(batch->count <= mw_world_work_batch(t->work));
    if (batch->count < 1) return (mw_world_loss){0};
    mw_pool_run(t->pool, step_body, &(step_context){t, batch, values, false, false});
    return total_loss(t, batch->count);
}

double mw_world_trainer_flops(const mw_world_net *net, int count) {
    return 3 * mw_world_net_flops(net, count);
}
