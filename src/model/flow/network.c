/* The velocity network: its structure, its matrices, and room for what its passes keep. See network.h. */
#include "model/flow/network.h"

#include "model/flow/acts.h"

/* ---- structure ---- */

mw_status mw_flow_config_check(const mw_flow_config *c, mw_error *error) {
    if (c->agents < 1 || c->agents > MW_FLOW_AGENTS)
        return mw_fail(error, MW_ERR_ARGUMENT, "flow.agents is %d; it must be 1 to %d", c->agents,
                       MW_FLOW_AGENTS);
    if (c->obs < 1 || c->obs > 4096)
        return mw_fail(error, MW_ERR_ARGUMENT, "flow.obs is %d; it must be 1 to 4096", c->obs);
    if (c->dim < 16 || c->dim % 16 || c->dim > 1024)
        return mw_fail(error, MW_ERR_ARGUMENT, "flow.dim is %d; it must be a multiple of 16 up to 1024",
                       c->dim);
    for (int i = 0; i < MW_LEVELS; i++)
        if (c->mults[i] < 1 || c->mults[i] > 2048 / c->dim)
            return mw_fail(error, MW_ERR_ARGUMENT, "flow.mults[%d] is %d; dim*mult must be 16 to 2048", i,
                           c->mults[i]);
    if (c->time < 4 || c->time % 4 || c->time > 256)
        return mw_fail(error, MW_ERR_ARGUMENT, "flow.time is %d; it must be a multiple of 4 up to 256",
                       c->time);
    if (c->context < 1 || c->context >= c->time)
        return mw_fail(error, MW_ERR_ARGUMENT, "flow.context is %d; it must be 1 to %d", c->context,
                       c->time - 1);
    if (c->bins < 1 || c->bins > 1000)
        return mw_fail(error, MW_ERR_ARGUMENT, "flow.bins is %d; it must be 1 to 1000", c->bins);
    if (!(c->scale >= 0 && c->scale <= 1e6f))
        return mw_fail(error, MW_ERR_ARGUMENT, "flow.scale is %g; it must be 0 to 1e6", (double)c->scale);
    if (c->forecast < 0 || c->forecast > 4096 || (c->forecast && !c->residual))
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "flow.forecast is %d; it must be 0 to 4096, and 0 without residual", c->forecast);
    return MW_OK;
}

static void make_norm(mw_params *p, const char *name, int channels, size_t *w, size_t *b) {
    *w = mw_params_add(p, mw_name_of("%s.weight", name).text, MW_PARAM_PLAIN, MW_INIT_ONE, 0, channels, 0, 0);
    *b = mw_params_add(p, mw_name_of("%s.bias", name).text, MW_PARAM_PLAIN, MW_INIT_ZERO, 0, channels, 0, 0);
}

static mw_res_block make_res(mw_params *p, const char *prefix, int in, int out, int emb) {
    mw_res_block r = {.in = in, .out = out};
    r.conv1 = mw_dense_conv(p, mw_name_of("%s.conv1.0", prefix).text, MW_CONV_SAME, in, out, 5);
    make_norm(p, mw_name_of("%s.conv1.1", prefix).text, out, &r.norm1_w, &r.norm1_b);
    r.conv2 = mw_dense_conv(p, mw_name_of("%s.conv2.0", prefix).text, MW_CONV_SAME, out, out, 5);
    make_norm(p, mw_name_of("%s.conv2.1", prefix).text, out, &r.norm2_w, &r.norm2_b);
    r.time = mw_dense_linear(p, mw_name_of("%s.time", prefix).text, emb, out);
    if (in != out) r.skip = mw_dense_conv(p, mw_name_of("%s.skip", prefix).text, MW_CONV_SAME, in, out, 1);
    return r;
}

static mw_agent_attention make_attention(mw_params *p, const char *prefix, int channels, int emb,
                                         bool project) {
    mw_agent_attention a = {.channels = channels, .qk = channels / 16, .v = channels / MW_HEADS};
    const int qk = MW_HEADS * a.qk, v = MW_HEADS * a.v;
#define NAMED(suffix) mw_name_of("%s.%s", prefix, suffix).text
    a.q = mw_dense_conv(p, NAMED("q"), MW_CONV_SAME, channels, qk, 1);
    a.k = mw_dense_conv(p, NAMED("k"), MW_CONV_SAME, channels, qk, 1);
    a.value = mw_dense_conv(p, NAMED("val"), MW_CONV_SAME, channels, v, 1);
    a.q_time = mw_dense_linear(p, NAMED("qt"), emb, qk);
    a.k_time = mw_dense_linear(p, NAMED("kt"), emb, qk);
    a.value_time = mw_dense_linear(p, NAMED("vt"), emb, v);
    if (project) a.out = mw_dense_conv(p, NAMED("out"), MW_CONV_SAME, channels, channels, 1);
    a.gamma = mw_params_add(p, NAMED("gamma"), MW_PARAM_PLAIN, MW_INIT_ZERO, 0, 1, 0, 0);
#undef NAMED
    return a;
}

mw_status mw_flow_net_make(mw_flow_net *net, const mw_flow_config *config, mw_error *error) {
    *net = (mw_flow_net){0};
    MW_TRY(mw_flow_config_check(config, error));
    net->config = *config;
    mw_params *p = &net->params;
    const int dim = config->dim, emb = 2 * dim;
    int channels[MW_LEVELS + 1] = {config->obs};
    for (int i = 0; i < MW_LEVELS; i++) channels[i + 1] = dim * config->mults[i];
    net->time_mlp[0] = mw_dense_linear(p, "time_mlp.0", dim, 4 * dim);
    net->time_mlp[1] = mw_dense_linear(p, "time_mlp.2", 4 * dim, dim);
    net->return_mlp[0] = mw_dense_linear(p, "ret_mlp.0", 1, dim);
    net->return_mlp[1] = mw_dense_linear(p, "ret_mlp.2", dim, 4 * dim);
    net->return_mlp[2] = mw_dense_linear(p, "ret_mlp.4", 4 * dim, dim);
    for (int i = 0; i < MW_LEVELS; i++) {
        const int narrow = channels[i], wide = channels[i + 1];
        net->down[i][0] = make_res(p, mw_name_of("downs.%d.0", i).text, narrow, wide, emb);
        net->down[i][1] = make_res(p, mw_name_of("downs.%d.1", i).text, wide, wide, emb);
        if (i + 1 < MW_LEVELS)
            net->shrink[i] = mw_dense_conv(p, mw_name_of("downs.%d.2", i).text, MW_CONV_DOWN, wide, wide, 3);
    }
    net->middle[0] = make_res(p, "mid1", channels[MW_LEVELS], channels[MW_LEVELS], emb);
    net->middle[1] = make_res(p, "mid2", channels[MW_LEVELS], channels[MW_LEVELS], emb);
    if (!config->apart)
        net->middle_attention = make_attention(p, "mid_attn", channels[MW_LEVELS], emb, config->project);
    for (int i = 0; i < MW_LEVELS - 1; i++) { /* from the coarsest level up */
        const int wide = channels[MW_LEVELS - i], narrow = channels[MW_LEVELS - 1 - i];
        if (!config->apart)
            net->skip_attention[i] =
                make_attention(p, mw_name_of("attn.%d", i).text, wide, emb, config->project);
        net->up[i][0] = make_res(p, mw_name_of("ups.%d.0", i).text, 2 * wide, narrow, emb);
        net->up[i][1] = make_res(p, mw_name_of("ups.%d.1", i).text, narrow, narrow, emb);
        net->grow[i] = mw_dense_conv(p, mw_name_of("ups.%d.2", i).text, MW_CONV_UP, narrow, narrow, 4);
    }
    net->final_conv = mw_dense_conv(p, "final.0.0", MW_CONV_SAME, channels[1], channels[1], 5);
    make_norm(p, "final.0.1", channels[1], &net->final_norm_w, &net->final_norm_b);
    net->final_out = mw_dense_conv(p, "final.1", MW_CONV_SAME, channels[1], config->obs, 1);
    if (config->forecast) {
        const int width = config->forecast, sizes[] = {mw_flow_view_width(config), width, width, width,
                                                       (config->time - config->context) * config->obs};
        net->forecast = mw_mlp_make(p, "forecast", sizes, 4, MW_SILU);
    }
    if (p->failed) {
        mw_flow_net_free(net);
        return mw_fail(error, MW_ERR_MEMORY, "cannot allocate the policy's parameter table");
    }
    return MW_OK;
}

void mw_flow_net_free(mw_flow_net *net) {
    mw_params_free(&net->params);
}

/* Calls visit on every dense layer with the length of its input in time (0: once per joint trajectory). */
typedef void visit_fn(void *context, const mw_dense *layer, int time);

static void visit_res(const mw_res_block *r, int t, visit_fn *visit, void *context) {
    visit(context, &r->conv1, t);
    visit(context, &r->conv2, t);
    visit(context, &r->time, 0);
    if (r->in != r->out) visit(context, &r->skip, t);
}

static void visit_attention(const mw_agent_attention *a, int t, bool project, visit_fn *visit,
                            void *context) {
    const mw_dense *const timed[] = {&a->q, &a->k, &a->value};
    const mw_dense *const once[] = {&a->q_time, &a->k_time, &a->value_time};
    for (int i = 0; i < 3; i++) visit(context, timed[i], t);
    for (int i = 0; i < 3; i++) visit(context, once[i], 0);
    if (project) visit(context, &a->out, t);
}

static void visit_all(const mw_flow_net *net, visit_fn *visit, void *context) {
    int t = net->config.time;
    for (int i = 0; i < 2; i++) visit(context, &net->time_mlp[i], 0);
    for (int i = 0; i < 3; i++) visit(context, &net->return_mlp[i], 0);
    for (int i = 0; i < MW_LEVELS; i++) {
        for (int k = 0; k < 2; k++) visit_res(&net->down[i][k], t, visit, context);
        if (i + 1 == MW_LEVELS) break;
        visit(context, &net->shrink[i], t);
        t /= 2;
    }
    for (int k = 0; k < 2; k++) visit_res(&net->middle[k], t, visit, context);
    if (!net->config.apart)
        visit_attention(&net->middle_attention, t, net->config.project, visit, context);
    for (int i = 0; i < MW_LEVELS - 1; i++, t *= 2) {
        if (!net->config.apart)
            visit_attention(&net->skip_attention[i], t, net->config.project, visit, context);
        for (int k = 0; k < 2; k++) visit_res(&net->up[i][k], t, visit, context);
        visit(context, &net->grow[i], t);
    }
    visit(context, &net->final_conv, t);
    visit(context, &net->final_out, t);
    for (int i = 0; i < net->forecast.layers; i++) visit(context, &net->forecast.layer[i], 1);
}

typedef struct {
    const float *values;
    float *packed;
    bool backward;
    int worker, workers, next;
} pack_context;

static void pack_one(void *context, const mw_dense *layer, int time) {
    (void)time;
    pack_context *c = context;
    if (c->next++ % c->workers == c->worker) mw_dense_pack(layer, c->values, c->packed, c->backward);
}

void mw_flow_net_pack(const mw_flow_net *net, const float *values, float *packed, bool backward, int worker,
                      int workers) {
    visit_all(net, pack_one, &(pack_context){values, packed, backward, worker, workers, 0});
}

typedef struct {
    double flops;
    int batch, agents;
} flops_context;

static void flops_one(void *context, const mw_dense *layer, int time) {
    flops_context *c = context;
    c->flops += time ? mw_dense_flops(layer, time, c->batch * c->agents) : mw_dense_flops(layer, 1, c->batch);
}

double mw_flow_net_flops(const mw_flow_net *net, int batch) {
    flops_context c = {0, batch, net->config.agents};
    visit_all(net, flops_one, &c);
    return c.flops;
}

/* ---- kept values ---- */

static void take_res(mw_res_acts *r, mw_arena *arena, const mw_res_block *block, int t, int s, int b) {
    const size_t all = (size_t)t * (size_t)s * (size_t)block->out;
    r->conv1 = mw_arena_floats(arena, all);
    r->hidden = mw_arena_floats(arena, all);
    r->conv2 = mw_arena_floats(arena, all);
    r->y = mw_arena_floats(arena, all);
    r->stats1 = mw_arena_floats(arena, (size_t)s * MW_GROUPS * 2);
    r->stats2 = mw_arena_floats(arena, (size_t)s * MW_GROUPS * 2);
    r->time = mw_arena_floats(arena, (size_t)b * (size_t)block->out);
}

static void take_attention(mw_attention_acts *a, mw_arena *arena, const mw_agent_attention *block, int t,
                           int s, int b) {
    const size_t ts = (size_t)t * (size_t)s, n = (size_t)(s / b);
    const size_t qk = (size_t)(MW_HEADS * block->qk), v = (size_t)(MW_HEADS * block->v);
    a->q = mw_arena_floats(arena, ts * qk);
    a->k = mw_arena_floats(arena, ts * qk);
    a->value = mw_arena_floats(arena, ts * v);
    a->message = mw_arena_floats(arena, ts * v);
    a->projected = mw_arena_floats(arena, ts * v);
    a->y = mw_arena_floats(arena, ts * v);
    a->q_time = mw_arena_floats(arena, (size_t)b * qk);
    a->k_time = mw_arena_floats(arena, (size_t)b * qk);
    a->value_time = mw_arena_floats(arena, (size_t)b * v);
    a->weights = mw_arena_floats(arena, (size_t)b * MW_HEADS * n * n);
}

typedef struct {
    size_t scratch, widest, widest_joint;
    int batch, agents;
} extent_context;

static void extent_one(void *context, const mw_dense *layer, int time) {
    extent_context *c = context;
    const int rows = time ? c->batch * c->agents : c->batch, t = time ? time : 1;
    const size_t scratch = mw_dense_scratch(layer, t, rows);
    const size_t in = (size_t)t * (size_t)rows * (size_t)layer->in;
    const size_t out = (size_t)mw_dense_time(layer, t) * (size_t)rows * (size_t)layer->out;
    if (scratch > c->scratch) c->scratch = scratch;
    size_t *widest = time ? &c->widest : &c->widest_joint;
    if (in > *widest) *widest = in;
    if (out > *widest) *widest = out;
}

mw_flow_acts *mw_flow_acts_take(const mw_flow_net *net, mw_arena *arena, int b, bool training) {
    mw_flow_acts measured = {0};
    mw_flow_acts *acts = mw_arena_take(arena, 1, sizeof *acts), *a = acts ? acts : &measured;
    const mw_flow_config *c = &net->config;
    const int s = b * c->agents, dim = c->dim;
    int t = c->time;
    a->input = mw_arena_floats(arena, (size_t)t * (size_t)s * (size_t)c->obs);
    a->sinus = mw_arena_floats(arena, (size_t)b * (size_t)dim);
    a->time_hidden = mw_arena_floats(arena, 4 * (size_t)b * (size_t)dim);
    a->time_active = mw_arena_floats(arena, 4 * (size_t)b * (size_t)dim);
    for (int i = 0; i < 2; i++) {
        a->return_hidden[i] = mw_arena_floats(arena, (size_t)(i ? 4 : 1) * (size_t)b * (size_t)dim);
        a->return_active[i] = mw_arena_floats(arena, (size_t)(i ? 4 : 1) * (size_t)b * (size_t)dim);
        a->halves[i] = mw_arena_floats(arena, (size_t)b * (size_t)dim);
    }
    a->emb = mw_arena_floats(arena, 2 * (size_t)b * (size_t)dim);
    a->emb_active = mw_arena_floats(arena, 2 * (size_t)b * (size_t)dim);
    for (int i = 0; i < MW_LEVELS; i++) {
        for (int k = 0; k < 2; k++) take_res(&a->down[i][k], arena, &net->down[i][k], t, s, b);
        if (training)
            a->skip_grad[i] = mw_arena_floats(arena, (size_t)t * (size_t)s * (size_t)net->down[i][1].out);
        if (i + 1 == MW_LEVELS) break;
        t /= 2;
        a->shrunk[i] = mw_arena_floats(arena, (size_t)t * (size_t)s * (size_t)net->shrink[i].out);
    }
    for (int k = 0; k < 2; k++) take_res(&a->middle[k], arena, &net->middle[k], t, s, b);
    if (!c->apart) take_attention(&a->middle_attention, arena, &net->middle_attention, t, s, b);
    for (int i = 0; i < MW_LEVELS - 1; i++) {
        if (!c->apart) take_attention(&a->skip_attention[i], arena, &net->skip_attention[i], t, s, b);
        a->joined[i] = mw_arena_floats(arena, (size_t)t * (size_t)s * (size_t)net->up[i][0].in);
        for (int k = 0; k < 2; k++) take_res(&a->up[i][k], arena, &net->up[i][k], t, s, b);
        t *= 2;
        a->grown[i] = mw_arena_floats(arena, (size_t)t * (size_t)s * (size_t)net->grow[i].out);
    }
    a->final_conv = mw_arena_floats(arena, (size_t)t * (size_t)s * (size_t)net->final_conv.out);
    a->final_stats = mw_arena_floats(arena, (size_t)s * MW_GROUPS * 2);
    a->final_hidden = mw_arena_floats(arena, (size_t)t * (size_t)s * (size_t)net->final_conv.out);
    a->velocity = mw_arena_floats(arena, (size_t)t * (size_t)s * (size_t)c->obs);
    if (c->forecast) mw_mlp_acts_take(&net->forecast, &a->forecast, arena, s, false);
    if (training) {
        extent_context extent = {.batch = b, .agents = c->agents};
        visit_all(net, extent_one, &extent);
        a->pack = mw_arena_floats(arena, extent.scratch);
        for (int i = 0; i < 7; i++) a->grad[i] = mw_arena_floats(arena, extent.widest);
        a->demb = mw_arena_floats(arena, 2 * (size_t)b * (size_t)dim);
        a->joint_sums = mw_arena_floats(arena, extent.widest_joint);
        a->joint_grad = mw_arena_floats(arena, extent.widest_joint);
    }
    return acts;
}

float *mw_flow_input(mw_flow_acts *acts) {
    return acts->input;
}
