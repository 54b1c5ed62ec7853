/* World models without routing; see network.h. */
#include "model/unrouted/network.h"

#include "nn/gemm.h"
#include "nn/ops.h"

#include <string.h>

/* Under the paper's norms one layer norm lies over the whole row; tokens themselves have none. */
static mw_stack make_stack(mw_params *p, const char *prefix, int hidden_layers, int in, int hidden, int out,
                           bool norm) {
    mw_stack stack = {.layers = hidden_layers + 1};
    if (norm) stack.layer[0].before = mw_norm_add(p, mw_name_of("%s.input_norm", prefix).text, in);
    for (int i = 0; i <= hidden_layers; i++)
        stack.layer[i].dense = mw_dense_linear(p, mw_name_of("%s.net.%d", prefix, 2 * i).text,
                                               i ? hidden : in, i < hidden_layers ? hidden : out);
    return stack;
}

mw_status mw_unrouted_net_make(mw_unrouted_net *net, const mw_unrouted_config *config, mw_error *error) {
    *net = (mw_unrouted_net){.config = *config};
    const mw_unrouted_config *c = &net->config;
    const int o = c->obs, d = c->act, g = c->group;
    const bool norm = !c->standardise;
    mw_params *p = &net->params;
    net->dynamics_token = mw_token_make(p, "dynamics", o + d, 0, 0, c->dynamics_features, false);
    net->dynamics = make_stack(p, "dynamics", 3, g * net->dynamics_token.size, c->hidden, g * o, norm);
    if (norm) net->output = mw_norm_add(p, "dynamics.output_norm", o);
    net->reward_token = mw_token_make(p, "reward", 2 * o + d, 0, 0, c->reward_features, false);
    net->reward = make_stack(p, "reward", 2, g * net->reward_token.size, c->hidden, g, norm);
    if (!norm) net->scales = mw_scales_add(p, o, d);
    return p->failed ? mw_fail(error, MW_ERR_MEMORY, "cannot allocate the world model's parameter table")
                     : MW_OK;
}

void mw_unrouted_net_free(mw_unrouted_net *net) {
    mw_params_free(&net->params);
}

void mw_unrouted_net_pack(const mw_unrouted_net *net, const float *values, float *packed, bool backward) {
    const mw_token *const tokens[2] = {&net->dynamics_token, &net->reward_token};
    mw_stack_pack(&net->dynamics, values, packed, backward);
    mw_stack_pack(&net->reward, values, packed, backward);
    for (int i = 0; i < 2; i++)
        if (tokens[i]->features) mw_dense_pack(&tokens[i]->project, values, packed, backward);
}

double mw_unrouted_net_flops(const mw_unrouted_net *net, int batch) {
    const int tokens = batch * net->config.agents, rows = tokens / net->config.group;
    double flops = mw_stack_flops(&net->dynamics, rows) + mw_stack_flops(&net->reward, rows);
    if (net->config.dynamics_features) flops += mw_dense_flops(&net->dynamics_token.project, 1, tokens);
    if (net->config.reward_features) flops += mw_dense_flops(&net->reward_token.project, 1, tokens);
    return flops;
}

/* ---- passes ---- */

void mw_unrouted_acts_take(const mw_unrouted_net *net, mw_unrouted_acts *a, mw_arena *arena, int batch,
                           bool training) {
    const mw_unrouted_config *c = &net->config;
    const mw_token *const tokens[2] = {&net->dynamics_token, &net->reward_token};
    const size_t cells = (size_t)batch * (size_t)c->agents, all = cells * (size_t)c->obs;
    const int rows = (int)cells / c->group;
    mw_token_acts_take(tokens[0], &a->dynamics_token, arena, cells);
    mw_token_acts_take(tokens[1], &a->reward_token, arena, cells);
    mw_stack_acts_take(&net->dynamics, &a->dynamics, arena, rows, training);
    mw_stack_acts_take(&net->reward, &a->reward, arena, rows, training);
    a->stats = mw_arena_floats(arena, 2 * cells);
    if (!training) return;
    a->next = mw_arena_floats(arena, all);
    a->rewards = mw_arena_floats(arena, cells);
    a->dchange = mw_arena_floats(arena, all);
    size_t projected = 0, scratch = 0;
    for (int i = 0; i < 2; i++) {
        const size_t size = cells * (size_t)(2 * tokens[i]->features + tokens[i]->size),
                     need = mw_packed_size((int)cells, 2 * tokens[i]->features);
        projected = size > projected ? size : projected;
        scratch = need > scratch ? need : scratch;
    }
    a->dprojected = mw_arena_floats(arena, projected);
    a->scratch = mw_arena_floats(arena, scratch);
}

/* x[size] or, standardised, its distance from the mean in standard deviations. */
static void put(const mw_unrouted_net *net, float *out, const float *x, const float *values, size_t mean,
                size_t scale, int size) {
    if (net->config.standardise)
        mw_standardised(out, x, values + mean, values + scale, size);
    else
        memcpy(out, x, (size_t)size * sizeof *out);
}

static void predict_next(const mw_unrouted_net *net, mw_unrouted_acts *a, const float *values,
                         const float *packed, const float *obs, const float *act, float *next, int cells) {
    const mw_unrouted_config *c = &net->config;
    const mw_scales *s = &net->scales;
    const size_t o = (size_t)c->obs, d = (size_t)c->act;
    for (size_t r = 0; r < (size_t)cells; r++) {
        float *raw = a->dynamics_token.raw + r * (o + d);
        put(net, raw, obs + r * o, values, s->obs_mean, s->obs_scale, c->obs);
        put(net, raw + o, act + r * d, values, s->act_mean, s->act_scale, c->act);
    }
    mw_token_forward(&net->dynamics_token, &a->dynamics_token, values, packed, true, 0, cells);
    const float *change = a->change =
        mw_stack_forward(&net->dynamics, &a->dynamics, a->dynamics_token.y, values, packed, cells / c->group);
    if (!c->standardise)
        mw_layernorm_forward(next, a->stats, change, values + net->output.w, values + net->output.b, cells,
                             c->obs);
    for (size_t r = 0; r < (size_t)cells; r++)
        for (size_t i = 0, k = r * o; i < o; i++, k++)
            next[k] = c->standardise
                          ? obs[k] + values[s->delta_mean + i] + values[s->delta_scale + i] * change[k]
                          : next[k] + obs[k];
}

void mw_unrouted_forward(const mw_unrouted_net *net, mw_unrouted_acts *a, const float *values,
                         const float *packed, const float *obs, const float *act, float *next, float *reward,
                         int batch) {
    const mw_unrouted_config *c = &net->config;
    const mw_scales *s = &net->scales;
    const int cells = batch * c->agents;
    const size_t o = (size_t)c->obs, own = o + (size_t)c->act;
    predict_next(net, a, values, packed, obs, act, next, cells);
    for (size_t r = 0; r < (size_t)cells; r++) {
        float *raw = a->reward_token.raw + r * (own + o);
        memcpy(raw, a->dynamics_token.raw + r * own, own * sizeof *raw);
        put(net, raw + own, next + r * o, values, s->obs_mean, s->obs_scale, c->obs);
    }
    mw_token_forward(&net->reward_token, &a->reward_token, values, packed, true, 0, cells);
    const float *out =
        mw_stack_forward(&net->reward, &a->reward, a->reward_token.y, values, packed, cells / c->group);
    const float mean = c->standardise ? values[s->reward_mean] : 0,
                scale = c->standardise ? values[s->reward_scale] : 1;
    for (int r = 0; r < cells; r++) reward[r] = mean + scale * out[r];
}

/* From a stack's outputs back through its tokens. */
static void stack_backward(const mw_unrouted_net *net, const mw_stack *stack, mw_stack_acts *acts,
                           const mw_token *token, const mw_token_acts *token_acts, mw_unrouted_acts *a,
                           const float *dout, const float *values, const float *packed, float *grads,
                           int cells) {
    float *dtoken = mw_stack_backward(stack, acts, grads, dout, token_acts->y, values, packed,
                                      cells / net->config.group, token->features > 0);
    if (token->features)
        mw_token_backward(token, token_acts, dtoken, a->dprojected, a->scratch, values, grads, packed, true,
                          cells);
}

void mw_unrouted_loss(const mw_unrouted_net *net, mw_unrouted_acts *a, const float *values,
                      const float *packed, const float *obs, const float *act, const float *next_obs,
                      const float *reward, int batch, int all, float *grads, double losses[2]) {
    const mw_unrouted_config *c = &net->config;
    const mw_scales *s = &net->scales;
    const int cells = batch * c->agents;
    const size_t o = (size_t)c->obs;
    const double outputs = (double)all * c->agents, inputs = outputs * c->obs;
    const float scale = c->standardise ? values[s->reward_scale] : 1;
    mw_unrouted_forward(net, a, values, packed, obs, act, a->next, a->rewards, batch);
    losses[0] = losses[1] = 0;
    for (size_t r = 0; r < (size_t)cells; r++) {
        for (size_t i = 0, k = r * o; i < o; i++, k++) {
            const float error = c->standardise
                                    ? a->change[k] - (next_obs[k] - obs[k] - values[s->delta_mean + i]) /
                                                         values[s->delta_scale + i]
                                    : a->next[k] - next_obs[k];
            losses[0] += (double)error * error;
            a->dchange[k] = (float)(2 / inputs) * error;
        }
        const float error = (a->rewards[r] - reward[r]) / scale;
        losses[1] += (double)error * error;
        a->rewards[r] = (float)(2 / outputs) * error;
    }
    losses[0] /= inputs;
    losses[1] /= outputs;
    if (!grads) return;
    if (!c->standardise)
        mw_layernorm_backward(a->dchange, grads + net->output.w, grads + net->output.b, a->dchange, a->change,
                              a->stats, values + net->output.w, cells, c->obs);
    stack_backward(net, &net->dynamics, &a->dynamics, &net->dynamics_token, &a->dynamics_token, a, a->dchange,
                   values, packed, grads, cells);
    stack_backward(net, &net->reward, &a->reward, &net->reward_token, &a->reward_token, a, a->rewards, values,
                   packed, grads, cells);
}
