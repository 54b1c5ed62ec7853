/* The velocity network: structure, forward, and a backward that mirrors it. See network.h. */
#include "model/flow/network.h"

#include "core/math.h"
#include "nn/attention.h"
#include "nn/ops.h"

#include <math.h>
#include <string.h>

/* ---- structure ---- */

mw_status mw_policy_config_check(const mw_policy_config *c, mw_error *error) {
    if (c->agents < 1 || c->agents > 32)
        return mw_fail(error, MW_ERR_ARGUMENT, "policy.agents is %d; it must be 1 to 32", c->agents);
    if (c->obs < 1 || c->obs > 4096)
        return mw_fail(error, MW_ERR_ARGUMENT, "policy.obs is %d; it must be 1 to 4096", c->obs);
    if (c->dim < 16 || c->dim % 16 || c->dim > 1024)
        return mw_fail(error, MW_ERR_ARGUMENT, "policy.dim is %d; it must be a multiple of 16 up to 1024",
                       c->dim);
    for (int i = 0; i < MW_LEVELS; i++)
        if (c->mults[i] < 1 || c->mults[i] > 2048 / c->dim)
            return mw_fail(error, MW_ERR_ARGUMENT, "policy.mults[%d] is %d; dim*mult must be 16 to 2048", i,
                           c->mults[i]);
    if (c->time < 4 || c->time % 4 || c->time > 256)
        return mw_fail(error, MW_ERR_ARGUMENT, "policy.time is %d; it must be a multiple of 4 up to 256",
                       c->time);
    if (c->context < 1 || c->context >= c->time)
        return mw_fail(error, MW_ERR_ARGUMENT, "policy.context is %d; it must be 1 to %d", c->context,
                       c->time - 1);
    if (c->bins < 1 || c->bins > 1000)
        return mw_fail(error, MW_ERR_ARGUMENT, "policy.bins is %d; it must be 1 to 1000", c->bins);
    if (!(c->scale >= 0 && c->scale <= 1e6f))
        return mw_fail(error, MW_ERR_ARGUMENT, "policy.scale is %g; it must be 0 to 1e6", (double)c->scale);
    if (c->forecast < 0 || c->forecast > 4096 || (c->forecast && !c->residual))
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "policy.forecast is %d; it must be 0 to 4096, and 0 without residual", c->forecast);
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

mw_status mw_policy_net_make(mw_policy_net *net, const mw_policy_config *config, mw_error *error) {
    *net = (mw_policy_net){0};
    MW_TRY(mw_policy_config_check(config, error));
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
    net->middle_attention = make_attention(p, "mid_attn", channels[MW_LEVELS], emb, config->project);
    for (int i = 0; i < MW_LEVELS - 1; i++) { /* from the coarsest level up */
        const int wide = channels[MW_LEVELS - i], narrow = channels[MW_LEVELS - 1 - i];
        net->skip_attention[i] = make_attention(p, mw_name_of("attn.%d", i).text, wide, emb, config->project);
        net->up[i][0] = make_res(p, mw_name_of("ups.%d.0", i).text, 2 * wide, narrow, emb);
        net->up[i][1] = make_res(p, mw_name_of("ups.%d.1", i).text, narrow, narrow, emb);
        net->grow[i] = mw_dense_conv(p, mw_name_of("ups.%d.2", i).text, MW_CONV_UP, narrow, narrow, 4);
    }
    net->final_conv = mw_dense_conv(p, "final.0.0", MW_CONV_SAME, channels[1], channels[1], 5);
    make_norm(p, "final.0.1", channels[1], &net->final_norm_w, &net->final_norm_b);
    net->final_out = mw_dense_conv(p, "final.1", MW_CONV_SAME, channels[1], config->obs, 1);
    if (config->forecast) {
        const int width = config->forecast, sizes[] = {config->obs + config->agents, width, width, width,
                                                       (config->time - config->context) * config->obs};
        net->forecast = mw_mlp_make(p, "forecast", sizes, 4, MW_SILU);
    }
    if (p->failed) {
        mw_policy_net_free(net);
        return mw_fail(error, MW_ERR_MEMORY, "cannot allocate the policy's parameter table");
    }
    return MW_OK;
}

void mw_policy_net_free(mw_policy_net *net) {
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

static void visit_all(const mw_policy_net *net, visit_fn *visit, void *context) {
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
    visit_attention(&net->middle_attention, t, net->config.project, visit, context);
    for (int i = 0; i < MW_LEVELS - 1; i++, t *= 2) {
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

void mw_policy_net_pack(const mw_policy_net *net, const float *values, float *packed, bool backward,
                        int worker, int workers) {
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

double mw_policy_net_flops(const mw_policy_net *net, int batch) {
    flops_context c = {0, batch, net->config.agents};
    visit_all(net, flops_one, &c);
    return c.flops;
}

/* ---- kept values ---- */

typedef struct {
    const float *x;                    /* input of the last forward pass */
    float *conv1, *hidden, *conv2, *y; /* [t][s][out] */
    float *stats1, *stats2, *time;     /* [s][groups][2], [b][out] */
} res_acts;

typedef struct {
    const float *x;
    float *q, *k, *value, *message, *projected, *y; /* [t][s][.] */
    float *q_time, *k_time, *value_time;            /* [b][.] */
    float *weights;                                 /* [b][heads][n][n] */
} attention_acts;

struct mw_policy_acts {
    int max_batch;
    bool training;
    float *input;                               /* [t][s][o] */
    float *sinus, *time_hidden, *time_active;   /* [b][dim], [b][4dim] x2 */
    float *return_hidden[2], *return_active[2]; /* [b][dim], [b][4dim] */
    float *halves[2];                           /* [b][dim]: outputs of the two embeddings */
    float *emb, *emb_active;                    /* [b][2dim] */
    res_acts down[MW_LEVELS][2], middle[2], up[MW_LEVELS - 1][2];
    float *shrunk[MW_LEVELS - 1], *joined[MW_LEVELS - 1], *grown[MW_LEVELS - 1];
    attention_acts middle_attention, skip_attention[MW_LEVELS - 1];
    float *final_conv, *final_stats, *final_hidden, *velocity;
    mw_mlp_acts forecast;
    /* backward: scratch of the dense layers, gradients of activations (0, 1: the main path; 2, 3: inside
     * blocks; 4, 5: inside attention; 6: the skip), of the skips, of emb_active, and sums per joint
     * trajectory */
    float *pack, *grad[7], *skip_grad[MW_LEVELS], *demb, *joint_sums, *joint_grad;
};

static void take_res(res_acts *r, mw_arena *arena, const mw_res_block *block, int t, int s, int b) {
    const size_t all = (size_t)t * (size_t)s * (size_t)block->out;
    r->conv1 = mw_arena_floats(arena, all);
    r->hidden = mw_arena_floats(arena, all);
    r->conv2 = mw_arena_floats(arena, all);
    r->y = mw_arena_floats(arena, all);
    r->stats1 = mw_arena_floats(arena, (size_t)s * MW_GROUPS * 2);
    r->stats2 = mw_arena_floats(arena, (size_t)s * MW_GROUPS * 2);
    r->time = mw_arena_floats(arena, (size_t)b * (size_t)block->out);
}

static void take_attention(attention_acts *a, mw_arena *arena, const mw_agent_attention *block, int t, int s,
                           int b) {
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

mw_policy_acts *mw_policy_acts_take(const mw_policy_net *net, mw_arena *arena, int b, bool training) {
    mw_policy_acts measured = {0};
    mw_policy_acts *acts = mw_arena_take(arena, 1, sizeof *acts), *a = acts ? acts : &measured;
    const mw_policy_config *c = &net->config;
    const int s = b * c->agents, dim = c->dim;
    int t = c->time;
    a->max_batch = b;
    a->training = training;
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
    take_attention(&a->middle_attention, arena, &net->middle_attention, t, s, b);
    for (int i = 0; i < MW_LEVELS - 1; i++) {
        take_attention(&a->skip_attention[i], arena, &net->skip_attention[i], t, s, b);
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

float *mw_policy_input(mw_policy_acts *acts) {
    return acts->input;
}

/* ---- forward ---- */

/* What the blocks of one pass share. */
typedef struct {
    const float *values, *packed;
    mw_policy_acts *acts;
    float *grads;
    int b, n, s;
} pass;

static void embed(const mw_policy_net *net, const pass *p, const int *bin, const float *target,
                  const float *keep) {
    mw_policy_acts *a = p->acts;
    const int dim = net->config.dim, half = dim / 2;
    for (int q = 0; q < p->b; q++)
        for (int i = 0; i < half; i++) {
            float angle = (float)bin[q] * (float)mw_exp(i * (-mw_ln(10000.0) / (half - 1)));
            a->sinus[q * dim + i] = (float)mw_sin((double)angle);
            a->sinus[q * dim + half + i] = (float)mw_cos((double)angle);
        }
    mw_dense_forward(&net->time_mlp[0], a->time_hidden, a->sinus, p->values, p->packed, 1, p->b);
    mw_mish_forward(a->time_active, a->time_hidden, p->b * 4 * dim);
    mw_dense_forward(&net->time_mlp[1], a->halves[0], a->time_active, p->values, p->packed, 1, p->b);
    mw_dense_forward(&net->return_mlp[0], a->return_hidden[0], target, p->values, p->packed, 1, p->b);
    mw_mish_forward(a->return_active[0], a->return_hidden[0], p->b * dim);
    mw_dense_forward(&net->return_mlp[1], a->return_hidden[1], a->return_active[0], p->values, p->packed, 1,
                     p->b);
    mw_mish_forward(a->return_active[1], a->return_hidden[1], p->b * 4 * dim);
    mw_dense_forward(&net->return_mlp[2], a->halves[1], a->return_active[1], p->values, p->packed, 1, p->b);
    for (int q = 0; q < p->b; q++)
        for (int i = 0; i < dim; i++) {
            a->emb[q * 2 * dim + i] = a->halves[0][q * dim + i];
            a->emb[q * 2 * dim + dim + i] = keep[q] * a->halves[1][q * dim + i];
        }
    mw_mish_forward(a->emb_active, a->emb, p->b * 2 * dim);
}

static const float *res_forward(const mw_res_block *r, res_acts *k, const pass *p, const float *x, int t) {
    const float *v = p->values;
    k->x = x;
    mw_dense_forward(&r->time, k->time, p->acts->emb_active, v, p->packed, 1, p->b);
    mw_dense_forward(&r->conv1, k->conv1, x, v, p->packed, t, p->s);
    mw_groupnorm_mish_forward(k->hidden, k->stats1, k->conv1, v + r->norm1_w, v + r->norm1_b, k->time, p->n,
                              t, p->s, r->out, MW_GROUPS);
    mw_dense_forward(&r->conv2, k->conv2, k->hidden, v, p->packed, t, p->s);
    if (r->in != r->out) {
        mw_dense_forward(&r->skip, k->y, x, v, p->packed, t, p->s);
        x = k->y;
    }
    mw_groupnorm_mish_forward(k->y, k->stats2, k->conv2, v + r->norm2_w, v + r->norm2_b, x, 0, t, p->s,
                              r->out, MW_GROUPS);
    return k->y;
}

/* x[t][b*n][c] += per_joint[b][c] */
static void add_per_joint(float *x, const float *per_joint, int t, int s, int n, int c) {
    for (int step = 0; step < t; step++)
        for (int q = 0; q < s; q++, x += c)
            for (int i = 0; i < c; i++) x[i] += per_joint[(long)(q / n) * c + i];
}

static const float *attention_forward(const mw_agent_attention *a, attention_acts *k, const pass *p,
                                      const float *x, int t, bool project) {
    const mw_dense *const timed[] = {&a->q, &a->k, &a->value}, *const once[] = {&a->q_time, &a->k_time,
                                                                                &a->value_time};
    float *const out[] = {k->q, k->k, k->value}, *const shift[] = {k->q_time, k->k_time, k->value_time};
    k->x = x;
    for (int i = 0; i < 3; i++) {
        mw_dense_forward(timed[i], out[i], x, p->values, p->packed, t, p->s);
        mw_dense_forward(once[i], shift[i], p->acts->emb_active, p->values, p->packed, 1, p->b);
        add_per_joint(out[i], shift[i], t, p->s, p->n, timed[i]->out);
    }
    mw_attention_forward(k->message, k->weights, k->q, k->k, k->value, t, p->b, p->n, MW_HEADS, a->qk, a->v);
    const float *projected = k->message;
    if (project) {
        mw_dense_forward(&a->out, k->projected, k->message, p->values, p->packed, t, p->s);
        projected = k->projected;
    }
    const float gamma = p->values[a->gamma];
    for (long i = 0; i < (long)t * p->s * a->channels; i++) k->y[i] = x[i] + gamma * projected[i];
    return k->y;
}

/* Levels below this are rare in training and do not occur in sampling; their gain is bounded by it. */
#define LOWEST_LEVEL 0.1f

static void add_level(const mw_policy_net *net, mw_policy_acts *acts, const float *level, int s) {
    const mw_policy_config *c = &net->config;
    for (int t = c->context; t < c->time; t++)
        for (int q = 0; q < s; q++) {
            const float gain = 1 / fmaxf(level[q / c->agents], LOWEST_LEVEL);
            const long at = ((long)t * s + q) * c->obs;
            for (int i = 0; i < c->obs; i++) acts->velocity[at + i] += gain * acts->input[at + i];
        }
}

void mw_policy_present(const mw_policy_net *net, float *rows, const float *joint) {
    const int n = net->config.agents, o = net->config.obs;
    for (int i = 0; i < n; i++, rows += o + n, joint += o) {
        memcpy(rows, joint, (size_t)o * sizeof *rows);
        for (int k = 0; k < n; k++) rows[o + k] = (float)(k == i);
    }
}

const float *mw_policy_expect(const mw_policy_net *net, mw_policy_acts *acts, const float *values,
                              const float *packed, const float *present, int batch) {
    if (!net->config.forecast) return NULL;
    return mw_mlp_forward(&net->forecast, &acts->forecast, present, values, packed,
                          batch * net->config.agents);
}

/* What the future of x[T][n][o] is taken from: the present and what is expected of each agent. */
static float origin(const mw_policy_config *c, const float *x, const float *expected, int t, int i) {
    const int joint = c->agents * c->obs, ahead = c->time - c->context;
    const float present = x[(c->context - 1) * joint + i];
    return expected ? present + expected[(i / c->obs * ahead + t - c->context) * c->obs + i % c->obs]
                    : present;
}

static float scale_of(const mw_policy_config *c) {
    return c->scale > 0 ? c->scale : 1;
}

void mw_policy_to_flow(const mw_policy_net *net, float *x, const float *expected) {
    const mw_policy_config *c = &net->config;
    const int joint = c->agents * c->obs;
    for (int t = c->context; c->residual && t < c->time; t++)
        for (int i = 0; i < joint; i++)
            x[t * joint + i] = (x[t * joint + i] - origin(c, x, expected, t, i)) * scale_of(c);
}

void mw_policy_from_flow(const mw_policy_net *net, float *x, const float *expected) {
    const mw_policy_config *c = &net->config;
    const int joint = c->agents * c->obs;
    for (int t = c->context; c->residual && t < c->time; t++)
        for (int i = 0; i < joint; i++)
            x[t * joint + i] = x[t * joint + i] / scale_of(c) + origin(c, x, expected, t, i);
}

const float *mw_policy_forward(const mw_policy_net *net, mw_policy_acts *acts, const float *values,
                               const float *packed, const int *bin, const float *level, const float *target,
                               const float *keep, int batch) {
    const int n = net->config.agents;
    const pass p = {values, packed, acts, NULL, batch, n, batch * n};
    const float *x = acts->input, *skips[MW_LEVELS];
    int t = net->config.time;
    embed(net, &p, bin, target, keep);
    for (int i = 0; i < MW_LEVELS; i++) {
        for (int k = 0; k < 2; k++) x = res_forward(&net->down[i][k], &acts->down[i][k], &p, x, t);
        skips[i] = x;
        if (i + 1 == MW_LEVELS) break;
        mw_dense_forward(&net->shrink[i], acts->shrunk[i], x, values, packed, t, p.s);
        x = acts->shrunk[i];
        t /= 2;
    }
    for (int k = 0; k < 2; k++) x = res_forward(&net->middle[k], &acts->middle[k], &p, x, t);
    x = attention_forward(&net->middle_attention, &acts->middle_attention, &p, x, t, net->config.project);
    for (int i = 0; i < MW_LEVELS - 1; i++) {
        const int half = net->skip_attention[i].channels;
        const float *skip = attention_forward(&net->skip_attention[i], &acts->skip_attention[i], &p,
                                              skips[MW_LEVELS - 1 - i], t, net->config.project);
        for (long r = 0; r < (long)t * p.s; r++) { /* channels of x, then of the skip */
            memcpy(acts->joined[i] + 2 * r * half, x + r * half, (size_t)half * sizeof *x);
            memcpy(acts->joined[i] + (2 * r + 1) * half, skip + r * half, (size_t)half * sizeof *x);
        }
        x = acts->joined[i];
        for (int k = 0; k < 2; k++) x = res_forward(&net->up[i][k], &acts->up[i][k], &p, x, t);
        mw_dense_forward(&net->grow[i], acts->grown[i], x, values, packed, t, p.s);
        x = acts->grown[i];
        t *= 2;
    }
    mw_dense_forward(&net->final_conv, acts->final_conv, x, values, packed, t, p.s);
    mw_groupnorm_mish_forward(acts->final_hidden, acts->final_stats, acts->final_conv,
                              values + net->final_norm_w, values + net->final_norm_b, NULL, 0, t, p.s,
                              net->final_conv.out, MW_GROUPS);
    mw_dense_forward(&net->final_out, acts->velocity, acts->final_hidden, values, packed, t, p.s);
    if (net->config.residual) add_level(net, acts, level, p.s);
    return acts->velocity;
}

/* ---- backward ---- */

/* sums[b][c] = over time and agents of dx[t][b*n][c] */
static void sum_per_joint(float *sums, const float *dx, int t, int s, int n, int c) {
    memset(sums, 0, (size_t)(s / n) * (size_t)c * sizeof *sums);
    for (int step = 0; step < t; step++)
        for (int q = 0; q < s; q++, dx += c)
            for (int i = 0; i < c; i++) sums[(long)(q / n) * c + i] += dx[i];
}

/* demb += through a layer that was added once per joint trajectory to something with gradient dx[t][s][out].
 */
static void emb_backward(const mw_dense *layer, const pass *p, const float *dx, int t) {
    mw_policy_acts *a = p->acts;
    sum_per_joint(a->joint_sums, dx, t, p->s, p->n, layer->out);
    mw_dense_backward(layer, a->joint_grad, p->grads, a->joint_sums, a->emb_active, p->packed, a->pack, 1,
                      p->b);
    mw_add(a->demb, a->joint_grad, (long)p->b * layer->in);
}

/* dx[t][s][in] from dy[t][s][out]; dx may be NULL. */
static void res_backward(const mw_res_block *r, const res_acts *k, const pass *p, float *dx, const float *dy,
                         int t) {
    const float *v = p->values;
    float *g = p->grads, *pack = p->acts->pack, *inner = p->acts->grad[2], *hidden = p->acts->grad[3];
    mw_groupnorm_mish_backward(inner, g + r->norm2_w, g + r->norm2_b, dy, k->conv2, k->stats2, v + r->norm2_w,
                               v + r->norm2_b, t, p->s, r->out, MW_GROUPS);
    mw_dense_backward(&r->conv2, hidden, g, inner, k->hidden, p->packed, pack, t, p->s);
    emb_backward(&r->time, p, hidden, t);
    mw_groupnorm_mish_backward(hidden, g + r->norm1_w, g + r->norm1_b, hidden, k->conv1, k->stats1,
                               v + r->norm1_w, v + r->norm1_b, t, p->s, r->out, MW_GROUPS);
    mw_dense_backward(&r->conv1, dx, g, hidden, k->x, p->packed, pack, t, p->s);
    const long count = (long)t * p->s * r->in;
    if (r->in != r->out) {
        mw_dense_backward(&r->skip, dx ? inner : NULL, g, dy, k->x, p->packed, pack, t, p->s);
        if (dx) mw_add(dx, inner, count);
    } else if (dx) {
        mw_add(dx, dy, count);
    }
}

/* dx[t][s][c] from dy[t][s][c] */
static void attention_backward(const mw_agent_attention *a, const attention_acts *k, const pass *p, float *dx,
                               const float *dy, int t, bool project) {
    mw_policy_acts *acts = p->acts;
    const long count = (long)t * p->s * a->channels;
    const float gamma = p->values[a->gamma];
    float *dmessage = acts->grad[2], *dvalue = acts->grad[3], *dq = acts->grad[4], *dk = acts->grad[5];
    p->grads[a->gamma] += (float)mw_dot(dy, project ? k->projected : k->message, count);
    float *dprojected = project ? dvalue : dmessage;
    for (long i = 0; i < count; i++) dprojected[i] = gamma * dy[i];
    if (project)
        mw_dense_backward(&a->out, dmessage, p->grads, dprojected, k->message, p->packed, acts->pack, t,
                          p->s);
    mw_attention_backward(dq, dk, dvalue, dmessage, k->weights, k->q, k->k, k->value, t, p->b, p->n, MW_HEADS,
                          a->qk, a->v);
    memcpy(dx, dy, (size_t)count * sizeof *dx);
    const mw_dense *const timed[] = {&a->q, &a->k, &a->value}, *const once[] = {&a->q_time, &a->k_time,
                                                                                &a->value_time};
    float *const grad[] = {dq, dk, dvalue}, *through = dmessage;
    for (int i = 0; i < 3; i++) {
        mw_dense_backward(timed[i], through, p->grads, grad[i], k->x, p->packed, acts->pack, t, p->s);
        mw_add(dx, through, count);
        emb_backward(once[i], p, grad[i], t);
    }
}

static void embed_backward(const mw_policy_net *net, const pass *p, const float *target, const float *keep) {
    mw_policy_acts *a = p->acts;
    const int dim = net->config.dim, b = p->b;
    float *d = a->joint_grad, *half = a->joint_sums, *g = p->grads;
    mw_mish_backward(a->demb, a->demb, a->emb, b * 2 * dim);
    for (int q = 0; q < b; q++) memcpy(half + q * dim, a->demb + q * 2 * dim, (size_t)dim * sizeof *half);
    mw_dense_backward(&net->time_mlp[1], d, g, half, a->time_active, p->packed, a->pack, 1, b);
    mw_mish_backward(d, d, a->time_hidden, b * 4 * dim);
    mw_dense_backward(&net->time_mlp[0], NULL, g, d, a->sinus, p->packed, a->pack, 1, b);
    for (int q = 0; q < b; q++)
        for (int i = 0; i < dim; i++) half[q * dim + i] = keep[q] * a->demb[q * 2 * dim + dim + i];
    mw_dense_backward(&net->return_mlp[2], d, g, half, a->return_active[1], p->packed, a->pack, 1, b);
    mw_mish_backward(d, d, a->return_hidden[1], b * 4 * dim);
    mw_dense_backward(&net->return_mlp[1], half, g, d, a->return_active[0], p->packed, a->pack, 1, b);
    mw_mish_backward(half, half, a->return_hidden[0], b * dim);
    mw_dense_backward(&net->return_mlp[0], NULL, g, half, target, p->packed, a->pack, 1, b);
}

void mw_policy_backward(const mw_policy_net *net, mw_policy_acts *acts, float *grads, const float *dvelocity,
                        const float *values, const float *packed, const float *target, const float *keep,
                        int batch) {
    const int n = net->config.agents;
    const pass p = {values, packed, acts, grads, batch, n, batch * n};
    const bool project = net->config.project;
    int t = net->config.time;
    float *d = acts->grad[0], *e = acts->grad[1]; /* take turns */
    memset(acts->demb, 0, (size_t)(2 * batch * net->config.dim) * sizeof *acts->demb);

    mw_dense_backward(&net->final_out, d, grads, dvelocity, acts->final_hidden, packed, acts->pack, t, p.s);
    mw_groupnorm_mish_backward(d, grads + net->final_norm_w, grads + net->final_norm_b, d, acts->final_conv,
                               acts->final_stats, values + net->final_norm_w, values + net->final_norm_b, t,
                               p.s, net->final_conv.out, MW_GROUPS);
    mw_dense_backward(&net->final_conv, e, grads, d, acts->grown[MW_LEVELS - 2], packed, acts->pack, t, p.s);
    for (int i = MW_LEVELS - 2; i >= 0; i--) { /* e: gradient of grown[i] */
        t /= 2;
        mw_dense_backward(&net->grow[i], d, grads, e, acts->up[i][1].y, packed, acts->pack, t, p.s);
        res_backward(&net->up[i][1], &acts->up[i][1], &p, e, d, t);
        res_backward(&net->up[i][0], &acts->up[i][0], &p, d, e, t);
        const int half = net->skip_attention[i].channels;
        float *dskip = acts->grad[6];
        for (long r = 0; r < (long)t * p.s; r++) {
            memcpy(e + r * half, d + 2 * r * half, (size_t)half * sizeof *d);
            memcpy(dskip + r * half, d + (2 * r + 1) * half, (size_t)half * sizeof *d);
        }
        attention_backward(&net->skip_attention[i], &acts->skip_attention[i], &p,
                           acts->skip_grad[MW_LEVELS - 1 - i], dskip, t, project);
    }
    attention_backward(&net->middle_attention, &acts->middle_attention, &p, d, e, t, project);
    res_backward(&net->middle[1], &acts->middle[1], &p, e, d, t);
    res_backward(&net->middle[0], &acts->middle[0], &p, d, e, t);
    for (int i = MW_LEVELS - 1; i >= 0; i--) { /* d: gradient of the level's output, without its skip */
        if (i > 0) mw_add(d, acts->skip_grad[i], (long)t * p.s * net->down[i][1].out);
        res_backward(&net->down[i][1], &acts->down[i][1], &p, e, d, t);
        res_backward(&net->down[i][0], &acts->down[i][0], &p, i > 0 ? d : NULL, e, t);
        if (i == 0) break;
        t *= 2;
        mw_dense_backward(&net->shrink[i - 1], e, grads, d, acts->down[i - 1][1].y, packed, acts->pack, t,
                          p.s);
        float *kept = d;
        d = e;
        e = kept;
    }
    embed_backward(net, &p, target, keep);
}
