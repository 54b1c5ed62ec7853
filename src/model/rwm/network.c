/* The routed world model: its structure, its matrices, and room for what its passes keep. See network.h. */
#include "model/rwm/network.h"

#include "model/rwm/work.h"
#include "nn/gemm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- structure ---- */

mw_world_config mw_world_config_default(void) {
    return (mw_world_config){.hidden = 256,
                             .experts = 8,
                             .slots = 1,
                             .reward_experts = 4,
                             .top_k = 2,
                             .standardise = true,
                             .reward_features = 64,
                             .dynamics_features = 64,
                             .shared = 256,
                             .mean_agents = true};
}

mw_world_config mw_world_config_paper(void) {
    mw_world_config config = mw_world_config_default();
    config.standardise = false;
    config.slots = 4;
    config.reward_features = config.dynamics_features = config.shared = 0;
    config.mean_agents = false;
    return config;
}

static mw_status check(const char *field, int value, int low, int high, mw_error *error) {
    if (value >= low && value <= high) return MW_OK;
    return mw_fail(error, MW_ERR_ARGUMENT, "rwm.%s is %d; it must be %d to %d", field, value, low, high);
}

mw_status mw_world_config_check(const mw_world_config *c, mw_error *error) {
    MW_TRY(check("agents", c->agents, 1, 64, error));
    MW_TRY(check("obs", c->obs, 1, 4096, error));
    MW_TRY(check("act", c->act, 1, 4096, error));
    MW_TRY(check("hidden", c->hidden, 1, 4096, error));
    MW_TRY(check("experts", c->experts, 1, MW_MAX_EXPERTS, error));
    MW_TRY(check("slots", c->slots, 1, 64, error));
    MW_TRY(check("reward_experts", c->reward_experts, 1, MW_MAX_EXPERTS, error));
    MW_TRY(check("top_k", c->top_k, 1, c->reward_experts, error));
    const int features = c->standardise ? 1024 : 0; /* the paper's variant has none */
    MW_TRY(check("reward_features", c->reward_features, 0, features, error));
    MW_TRY(check("dynamics_features", c->dynamics_features, 0, features, error));
    MW_TRY(check("shared", c->shared, 0, c->standardise ? 4096 : 0, error));
    MW_TRY(check("mean_agents", c->mean_agents, 0, c->standardise, error));
    return check("concat_agents", c->concat_agents, 0, c->standardise, error);
}

static mw_token make_token(mw_params *p, const char *prefix, int values, int features,
                           const mw_world_config *c) {
    const int shared = c->concat_agents ? c->agents * values : c->mean_agents ? values : 0;
    return mw_token_make(p, prefix, values, c->concat_agents ? c->agents : 0, shared, features,
                         !c->standardise);
}

mw_status mw_world_net_make(mw_world_net *net, const mw_world_config *config, mw_error *error) {
    *net = (mw_world_net){0};
    MW_TRY(mw_world_config_check(config, error));
    const mw_world_config *c = &net->config;
    mw_params *p = &net->params;
    net->config = *config;
    net->dynamics_token = make_token(p, "dynamics", c->obs + c->act, c->dynamics_features, c);
    const int size = net->dynamics_token.size, slots = c->experts * c->slots;
    net->dispatch = mw_dense_matrix(p, "dynamics.dispatch", size, slots, MW_INIT_NORMAL, 0.02f);
    net->combine = mw_dense_matrix(p, "dynamics.combine", size, slots, MW_INIT_NORMAL, 0.02f);
    for (int e = 0; e < c->experts; e++)
        net->expert[e] = mw_mlp_make(p, mw_name_of("dynamics.experts.%d", e).text,
                                     (int[]){size, c->hidden, c->hidden, c->obs}, 3, MW_SILU);
    if (c->shared)
        net->shared =
            mw_mlp_make(p, "dynamics.shared", (int[]){size, c->shared, c->shared, c->obs}, 3, MW_SILU);
    net->reward_token = make_token(p, "reward", 2 * c->obs + c->act, c->reward_features, c);
    net->router = mw_dense_linear(p, "reward.router", net->reward_token.size, c->reward_experts);
    for (int e = 0; e < c->reward_experts; e++)
        net->reward_expert[e] =
            mw_mlp_make(p, mw_name_of("reward.experts.%d", e).text,
                        (int[]){net->reward_token.size, c->hidden, c->hidden, 1}, 3, MW_SILU);
    if (c->standardise) {
        net->scales = mw_scales_add(p, c->obs, c->act);
    } else {
        net->output_w =
            mw_params_add(p, "dynamics.output_norm.weight", MW_PARAM_PLAIN, MW_INIT_ONE, 0, c->obs, 0, 0);
        net->output_b =
            mw_params_add(p, "dynamics.output_norm.bias", MW_PARAM_PLAIN, MW_INIT_ZERO, 0, c->obs, 0, 0);
    }
    if (p->failed) {
        mw_world_net_free(net);
        return mw_fail(error, MW_ERR_MEMORY, "cannot allocate the world model's parameter table");
    }
    return MW_OK;
}

void mw_world_net_free(mw_world_net *net) {
    mw_params_free(&net->params);
}

void mw_world_net_aim(const mw_world_net *net, float *values) {
    const mw_world_config *c = &net->config;
    mw_token_aim(&net->dynamics_token, values, values + net->scales.obs_scale, 0, c->obs);
    mw_token_aim(&net->reward_token, values, values + net->scales.obs_scale, c->obs + c->act, c->obs);
}

void mw_world_net_pack(const mw_world_net *net, const float *values, float *packed, bool backward, int worker,
                       int workers) {
    const mw_world_config *c = &net->config;
    int next = 0;
    for (int e = 0; e < c->experts; e++)
        if (next++ % workers == worker) mw_mlp_pack(&net->expert[e], values, packed, backward);
    if (c->shared && next++ % workers == worker) mw_mlp_pack(&net->shared, values, packed, backward);
    for (int e = 0; e < c->reward_experts; e++)
        if (next++ % workers == worker) mw_mlp_pack(&net->reward_expert[e], values, packed, backward);
    if (worker > 0) return;
    mw_dense_pack(&net->dispatch, values, packed, backward);
    mw_dense_pack(&net->combine, values, packed, backward);
    mw_dense_pack(&net->router, values, packed, backward);
    if (c->dynamics_features) mw_dense_pack(&net->dynamics_token.project, values, packed, backward);
    if (c->reward_features) mw_dense_pack(&net->reward_token.project, values, packed, backward);
}

double mw_world_net_flops(const mw_world_net *net, int batch) {
    const mw_world_config *c = &net->config;
    const int tokens = batch * c->agents;
    double flops = mw_dense_flops(&net->dispatch, 1, tokens) + mw_dense_flops(&net->combine, 1, tokens) +
                   mw_dense_flops(&net->router, 1, tokens);
    flops += c->experts * mw_mlp_flops(&net->expert[0], batch * c->slots);
    if (c->shared) flops += mw_mlp_flops(&net->shared, tokens);
    flops += mw_mlp_flops(&net->reward_expert[0], tokens * c->top_k);
    if (c->dynamics_features) flops += mw_dense_flops(&net->dynamics_token.project, 1, tokens);
    if (c->reward_features) flops += mw_dense_flops(&net->reward_token.project, 1, tokens);
    flops += 2.0 * tokens * c->experts * c->slots * (net->dynamics_token.size + c->obs); /* slots in and out
                                                                                          */
    return flops;
}

/* ---- work ---- */

#define MAX_BATCH (1 << 18) /* row numbers stay far within an int for every configuration */

static void take_backward(mw_world_work *w, const mw_world_net *net, size_t b) {
    const mw_world_config *c = &net->config;
    mw_arena *arena = &w->arena;
    const size_t rows = b * (size_t)c->agents, picks = rows * (size_t)c->top_k,
                 slots = (size_t)(c->experts * c->slots);
    w->dslot_in = mw_arena_floats(arena, b * slots * (size_t)net->dynamics_token.size);
    w->dslot_out = mw_arena_floats(arena, b * slots * (size_t)c->obs);
    w->dshared = mw_arena_floats(arena, c->shared ? rows * (size_t)net->dynamics_token.size : 0);
    w->dnext = mw_arena_floats(arena, rows * (size_t)c->obs);
    w->dmixed = mw_arena_floats(arena, rows * (size_t)c->obs);
    w->ddispatch = mw_arena_floats(arena, rows * slots);
    w->dcombine = mw_arena_floats(arena, rows * slots);
    w->droute = mw_arena_floats(arena, rows * (size_t)c->reward_experts);
    w->dtop_out = mw_arena_floats(arena, picks);
    w->dpick_out = mw_arena_floats(arena, picks);
    w->dpicked = mw_arena_floats(arena, picks * (size_t)net->reward_token.size);
    const mw_token *const tokens[2] = {&net->dynamics_token, &net->reward_token};
    for (int i = 0; i < 2; i++) {
        const int widths[] = {2 * tokens[i]->features, c->experts * c->slots, c->reward_experts};
        int wide = 0; /* of the matrices that a token meets */
        for (int k = 0; k < 3; k++) wide = widths[k] > wide ? widths[k] : wide;
        w->dtoken[i] = mw_arena_floats(arena, rows * (size_t)tokens[i]->size);
        w->dprojected[i] = mw_arena_floats(arena, rows * (size_t)(2 * tokens[i]->features + tokens[i]->size));
        w->scratch[i] = mw_arena_floats(arena, mw_packed_size((int)rows, wide));
    }
}

/* [count] work areas of a perceptron; NULL while measuring. */
static mw_mlp_acts *take_acts(mw_world_work *w, const mw_mlp *mlp, int count, int rows) {
    mw_mlp_acts *all = mw_arena_take(&w->arena, (size_t)count, sizeof *all);
    for (int i = 0; i < count; i++) {
        mw_mlp_acts acts;
        mw_mlp_acts_take(mlp, &acts, &w->arena, rows, w->training);
        if (all) all[i] = acts;
    }
    return all;
}

static void carve(mw_world_work *w, const mw_world_net *net) {
    const mw_world_config *c = &net->config;
    mw_arena *arena = &w->arena;
    const size_t b = (size_t)w->max_batch, rows = b * (size_t)c->agents,
                 slots = (size_t)(c->experts * c->slots);
    const size_t picks = rows * (size_t)c->top_k;
    mw_token_acts_take(&net->dynamics_token, &w->dynamics, arena, rows);
    mw_token_acts_take(&net->reward_token, &w->reward, arena, rows);
    w->dispatch = mw_arena_floats(arena, rows * slots);
    w->combine = mw_arena_floats(arena, rows * slots);
    w->slot_in = mw_arena_floats(arena, b * slots * (size_t)net->dynamics_token.size);
    w->slot_out = mw_arena_floats(arena, b * slots * (size_t)c->obs);
    w->shared_out = mw_arena_floats(arena, c->shared ? rows * (size_t)c->obs : 0);
    w->mixed = mw_arena_floats(arena, rows * (size_t)c->obs);
    w->mixed_stats = mw_arena_floats(arena, rows * 2);
    w->route = mw_arena_floats(arena, rows * (size_t)c->reward_experts);
    w->top = mw_arena_take(arena, picks, sizeof *w->top);
    w->top_weight = mw_arena_floats(arena, picks);
    w->top_out = mw_arena_floats(arena, picks);
    w->picks = mw_arena_take(arena, picks, sizeof *w->picks);
    w->picked = mw_arena_floats(arena, picks * (size_t)net->reward_token.size);
    const int threads = mw_pool_threads(w->pool), slot_rows = (int)b * c->slots;
    if (w->training) { /* every token may pick the same reward expert */
        w->shared = take_acts(w, &net->shared, c->shared ? 1 : 0, (int)rows);
        w->expert = take_acts(w, &net->expert[0], c->experts, slot_rows);
        w->reward_expert = take_acts(w, &net->reward_expert[0], c->reward_experts, (int)rows);
    } else {
        const int share = (w->max_batch + threads - 1) / threads * c->agents; /* tokens of a worker */
        w->shared = take_acts(w, &net->shared, c->shared ? threads : 0, share);
        w->expert = take_acts(w, &net->expert[0], threads < c->experts ? threads : c->experts, slot_rows);
        w->reward_expert = take_acts(w, &net->reward_expert[0], threads, share * c->top_k);
    }
    if (w->training) take_backward(w, net, b);
}

mw_status mw_world_work_create(mw_world_work **out, const mw_world_net *net, int max_batch, bool training,
                               mw_pool *pool, mw_error *error) {
    *out = NULL;
    if (max_batch < 1 || max_batch > MAX_BATCH)
        return mw_fail(error, MW_ERR_ARGUMENT, "a batch of %d is not possible; it must be 1 to %d", max_batch,
                       MAX_BATCH);
    mw_world_work measured = {.pool = pool, .max_batch = max_batch, .training = training};
    carve(&measured, net);
    mw_world_work *work = calloc(1, sizeof *work);
    if (!work) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a work area");
    *work = (mw_world_work){.pool = pool, .max_batch = max_batch, .training = training};
    mw_status status = mw_arena_create(&work->arena, measured.arena.used, error);
    if (status != MW_OK) {
        free(work);
        return status;
    }
    carve(work, net);
    *out = work;
    return MW_OK;
}

void mw_world_work_free(mw_world_work *work) {
    if (!work) return;
    mw_arena_free(&work->arena);
    free(work);
}

size_t mw_world_work_bytes(const mw_world_work *work) {
    return work->arena.size;
}

int mw_world_work_batch(const mw_world_work *work) {
    return work->max_batch;
}
