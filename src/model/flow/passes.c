/* The velocity network: forward, and a backward that mirrors it. See network.h. */
#include "model/flow/acts.h"

#include "core/math.h"
#include "nn/attention.h"
#include "nn/ops.h"

#include <math.h>
#include <string.h>

/* ---- forward ---- */

/* What the blocks of one pass share. */
typedef struct {
    const float *values, *packed;
    mw_flow_acts *acts;
    float *grads;
    int b, n, s;
} pass;

static void embed(const mw_flow_net *net, const pass *p, const int *bin, const float *target,
                  const float *keep) {
    mw_flow_acts *a = p->acts;
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

static const float *res_forward(const mw_res_block *r, mw_res_acts *k, const pass *p, const float *x, int t) {
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

static const float *attention_forward(const mw_agent_attention *a, mw_attention_acts *k, const pass *p,
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

/* The same where agents meet; elsewhere x stays as it is. */
static const float *meet(const mw_flow_net *net, const mw_agent_attention *a, mw_attention_acts *k,
                         const pass *p, const float *x, int t) {
    return net->config.apart ? x : attention_forward(a, k, p, x, t, net->config.project);
}

/* Levels below this are rare in training and do not occur in sampling; their gain is bounded by it. */
#define LOWEST_LEVEL 0.1f

static void add_level(const mw_flow_net *net, mw_flow_acts *acts, const float *level, int s) {
    const mw_flow_config *c = &net->config;
    for (int t = c->context; t < c->time; t++)
        for (int q = 0; q < s; q++) {
            const float gain = 1 / fmaxf(level[q / c->agents], LOWEST_LEVEL);
            const long at = ((long)t * s + q) * c->obs;
            for (int i = 0; i < c->obs; i++) acts->velocity[at + i] += gain * acts->input[at + i];
        }
}

int mw_flow_view_width(const mw_flow_config *c) {
    return c->obs + c->agents + c->forecast_return;
}

void mw_flow_view(const mw_flow_net *net, float *rows, const float *joint, float target) {
    const mw_flow_config *c = &net->config;
    for (int i = 0; i < c->agents; i++, joint += c->obs) {
        memcpy(rows, joint, (size_t)c->obs * sizeof *rows);
        rows += c->obs;
        for (int k = 0; k < c->agents; k++) *rows++ = (float)(k == i);
        if (c->forecast_return) *rows++ = target;
    }
}

const float *mw_flow_expect(const mw_flow_net *net, mw_flow_acts *acts, const float *values,
                            const float *packed, const float *view, int batch) {
    if (!net->config.forecast) return NULL;
    return mw_mlp_forward(&net->forecast, &acts->forecast, view, values, packed, batch * net->config.agents);
}

/* What the future of x[T][n][o] is taken from: the present and what is expected of each agent. */
static float origin(const mw_flow_config *c, const float *x, const float *expected, int t, int i) {
    const int joint = c->agents * c->obs, ahead = c->time - c->context;
    const float present = x[(c->context - 1) * joint + i];
    return expected ? present + expected[(i / c->obs * ahead + t - c->context) * c->obs + i % c->obs]
                    : present;
}

static float scale_of(const mw_flow_config *c) {
    return c->scale > 0 ? c->scale : 1;
}

void mw_flow_from_obs(const mw_flow_net *net, float *x, const float *expected) {
    const mw_flow_config *c = &net->config;
    const int joint = c->agents * c->obs;
    for (int t = c->context; c->residual && t < c->time; t++)
        for (int i = 0; i < joint; i++)
            x[t * joint + i] = (x[t * joint + i] - origin(c, x, expected, t, i)) * scale_of(c);
}

void mw_flow_to_obs(const mw_flow_net *net, float *x, const float *expected) {
    const mw_flow_config *c = &net->config;
    const int joint = c->agents * c->obs;
    for (int t = c->context; c->residual && t < c->time; t++)
        for (int i = 0; i < joint; i++)
            x[t * joint + i] = x[t * joint + i] / scale_of(c) + origin(c, x, expected, t, i);
}

const float *mw_flow_forward(const mw_flow_net *net, mw_flow_acts *acts, const float *values,
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
    x = meet(net, &net->middle_attention, &acts->middle_attention, &p, x, t);
    for (int i = 0; i < MW_LEVELS - 1; i++) {
        const int half = net->up[i][0].in / 2;
        const float *skip = meet(net, &net->skip_attention[i], &acts->skip_attention[i], &p,
                                 skips[MW_LEVELS - 1 - i], t);
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
    mw_flow_acts *a = p->acts;
    sum_per_joint(a->joint_sums, dx, t, p->s, p->n, layer->out);
    mw_dense_backward(layer, a->joint_grad, p->grads, a->joint_sums, a->emb_active, p->packed, a->pack, 1,
                      p->b);
    mw_add(a->demb, a->joint_grad, (long)p->b * layer->in);
}

/* dx[t][s][in] from dy[t][s][out]; dx may be NULL. */
static void res_backward(const mw_res_block *r, const mw_res_acts *k, const pass *p, float *dx,
                         const float *dy, int t) {
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
static void attention_backward(const mw_agent_attention *a, const mw_attention_acts *k, const pass *p,
                               float *dx, const float *dy, int t, bool project) {
    mw_flow_acts *acts = p->acts;
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

/* The same where agents meet. */
static void meet_backward(const mw_flow_net *net, const mw_agent_attention *a, const mw_attention_acts *k,
                          const pass *p, float *dx, const float *dy, int t, int channels) {
    if (net->config.apart)
        memcpy(dx, dy, (size_t)t * (size_t)p->s * (size_t)channels * sizeof *dx);
    else
        attention_backward(a, k, p, dx, dy, t, net->config.project);
}

static void embed_backward(const mw_flow_net *net, const pass *p, const float *target, const float *keep) {
    mw_flow_acts *a = p->acts;
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

void mw_flow_backward(const mw_flow_net *net, mw_flow_acts *acts, float *grads, const float *dvelocity,
                      const float *values, const float *packed, const float *target, const float *keep,
                      int batch) {
    const int n = net->config.agents;
    const pass p = {values, packed, acts, grads, batch, n, batch * n};
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
        const int half = net->up[i][0].in / 2;
        float *dskip = acts->grad[6];
        for (long r = 0; r < (long)t * p.s; r++) {
            memcpy(e + r * half, d + 2 * r * half, (size_t)half * sizeof *d);
            memcpy(dskip + r * half, d + (2 * r + 1) * half, (size_t)half * sizeof *d);
        }
        meet_backward(net, &net->skip_attention[i], &acts->skip_attention[i], &p,
                      acts->skip_grad[MW_LEVELS - 1 - i], dskip, t, half);
    }
    meet_backward(net, &net->middle_attention, &acts->middle_attention, &p, d, e, t, net->middle[0].out);
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
