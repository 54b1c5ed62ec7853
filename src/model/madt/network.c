/* Forward and backward of the transformer; see network.h. */
#include "model/madt/network.h"

#include "nn/attention.h"
#include "nn/ops.h"

#include <string.h>

static size_t width_of(const mw_madt_net *net) {
    return (size_t)net->config.width;
}

static int inputs_of(const mw_madt_config *c, int token) {
    const int inputs[MW_MADT_TOKENS] = {1, c->obs + c->agents, c->act};
    return inputs[token];
}

static size_t steps_of(const mw_madt_steps *s) {
    return (size_t)s->first[s->histories];
}

/* ---- structure ---- */

static void add_block(mw_madt_net *net, int i) {
    const int width = net->config.width;
    mw_params *p = &net->params;
    mw_madt_block *b = &net->block[i];
    b->before[0] = mw_norm_add(p, mw_name_of("block%d.ln1", i).text, width);
    b->query = mw_dense_linear(p, mw_name_of("block%d.query", i).text, width, width);
    b->key = mw_dense_linear(p, mw_name_of("block%d.key", i).text, width, width);
    b->value = mw_dense_linear(p, mw_name_of("block%d.value", i).text, width, width);
    b->proj = mw_dense_linear(p, mw_name_of("block%d.proj", i).text, width, width);
    b->before[1] = mw_norm_add(p, mw_name_of("block%d.ln2", i).text, width);
    b->mlp[0] = mw_dense_linear(p, mw_name_of("block%d.mlp.0", i).text, width, 2 * width);
    b->mlp[1] = mw_dense_linear(p, mw_name_of("block%d.mlp.2", i).text, 2 * width, width);
}

mw_status mw_madt_net_make(mw_madt_net *net, const mw_madt_config *c, mw_error *error) {
    static const char *const tokens[MW_MADT_TOKENS] = {"ret", "obs", "act"};
    mw_params *p = &net->params;
    net->config = *c;
    for (int j = 0; j < MW_MADT_TOKENS; j++)
        net->token[j] = mw_dense_linear(p, tokens[j], inputs_of(c, j), c->width);
    net->place = mw_params_add(p, "pos.table", MW_PARAM_PLAIN, MW_INIT_NORMAL, 0.02f,
                               MW_MADT_TOKENS * c->window, c->width, 0);
    net->time = mw_params_add(p, "time.table", MW_PARAM_PLAIN, MW_INIT_NORMAL, 0.02f, c->times, c->width, 0);
    for (int i = 0; i < c->layers; i++) add_block(net, i);
    net->last = mw_norm_add(p, "ln_f", c->width);
    net->head = mw_dense_unbiased(p, "head", c->width, c->act);
    net->units = mw_units_add(p, "scale", c->obs);
    return p->failed ? mw_fail(error, MW_ERR_MEMORY, "cannot allocate the transformer's table") : MW_OK;
}

/* All dense layers, one after the other; NULL past the end. */
static const mw_dense *dense_at(const mw_madt_net *net, int i) {
    if (i < MW_MADT_TOKENS) return &net->token[i];
    i -= MW_MADT_TOKENS;
    if (i == 6 * net->config.layers) return &net->head;
    if (i > 6 * net->config.layers) return NULL;
    const mw_madt_block *b = &net->block[i / 6];
    const mw_dense *const of[] = {&b->query, &b->key, &b->value, &b->proj, &b->mlp[0], &b->mlp[1]};
    return of[i % 6];
}

void mw_madt_net_pack(const mw_madt_net *net, const float *values, float *packed, bool backward) {
    const mw_dense *dense;
    for (int i = 0; (dense = dense_at(net, i)); i++) mw_dense_pack(dense, values, packed, backward);
}

double mw_madt_net_flops(const mw_madt_net *net, int steps) {
    double flops = mw_dense_flops(&net->head, 1, steps);
    const mw_dense *dense;
    for (int i = 0; (dense = dense_at(net, i)) && dense != &net->head; i++)
        flops += mw_dense_flops(dense, 1, i < MW_MADT_TOKENS ? steps : MW_MADT_TOKENS * steps);
    return flops;
}

size_t mw_madt_weights_at(const mw_madt_net *net, int history) {
    const size_t tokens = (size_t)(MW_MADT_TOKENS * net->config.window);
    return (size_t)history * (size_t)net->config.heads * tokens * tokens;
}

void mw_madt_see(const mw_madt_net *net, const float *values, const float *obs, int agent, float *token) {
    const int o = net->config.obs;
    mw_units_apply(&net->units, values, obs, token, o);
    for (int i = 0; i < net->config.agents; i++) token[o + i] = i == agent;
}

/* ---- room ---- */

static void take_block(const mw_madt_net *net, mw_madt_block_acts *a, mw_arena *arena, int histories) {
    const size_t tokens = (size_t)(histories * net->config.window * MW_MADT_TOKENS),
                 all = tokens * width_of(net);
    float **const of[] = {&a->x,     &a->between, &a->normed[0], &a->normed[1],
                          &a->query, &a->key,     &a->value,     &a->message};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) *of[i] = mw_arena_floats(arena, all);
    for (int k = 0; k < 2; k++) a->stats[k] = mw_arena_floats(arena, 2 * tokens);
    a->hidden = mw_arena_floats(arena, 2 * all);
    a->weights = mw_arena_floats(arena, mw_madt_weights_at(net, histories));
}

/* Blocks keep what they did for the way back; without one they share the room of the first. */
void mw_madt_acts_take(const mw_madt_net *net, mw_madt_acts *a, mw_arena *arena, int histories,
                       bool training) {
    const mw_madt_config *c = &net->config;
    const size_t steps = (size_t)(histories * c->window), tokens = MW_MADT_TOKENS * steps,
                 all = tokens * width_of(net), few = steps * width_of(net),
                 t = (size_t)(MW_MADT_TOKENS * c->window);
    *a = (mw_madt_acts){0};
    a->in.first = mw_arena_take(arena, (size_t)histories + 1, sizeof *a->in.first);
    a->in.time = mw_arena_take(arena, steps, sizeof *a->in.time);
    for (int j = 0; j < MW_MADT_TOKENS; j++) {
        a->in.token[j] = mw_arena_floats(arena, steps * (size_t)inputs_of(c, j));
        a->embedded[j] = mw_arena_floats(arena, few);
    }
    for (int i = 0; i < c->layers; i++)
        if (i == 0 || training)
            take_block(net, &a->block[i], arena, histories);
        else
            a->block[i] = a->block[0];
    a->x = training ? mw_arena_floats(arena, all) : a->block[0].x;
    a->read = mw_arena_floats(arena, few);
    a->normed = mw_arena_floats(arena, few);
    a->stats = mw_arena_floats(arena, 2 * steps);
    a->out = mw_arena_floats(arena, steps * (size_t)c->act);
    a->active = mw_arena_floats(arena, 2 * all);
    a->scratch = mw_arena_floats(arena, t * (t + width_of(net)));
    if (!training) return;
    float **const of[] = {&a->dx, &a->d, &a->more, &a->dquery, &a->dkey, &a->dvalue};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) *of[i] = mw_arena_floats(arena, all);
    a->dhidden = mw_arena_floats(arena, 2 * all);
    a->slope = mw_arena_floats(arena, 2 * all);
    size_t scratch = 0;
    const mw_dense *dense;
    for (int i = 0; (dense = dense_at(net, i)); i++) {
        const size_t need = mw_dense_scratch(dense, 1, (int)tokens);
        scratch = need > scratch ? need : scratch;
    }
    a->dense_scratch = mw_arena_floats(arena, scratch);
}

/* ---- forward ---- */

/* The latest step of a history stands in the window's last place. */
static int place_of(const mw_madt_net *net, const mw_madt_steps *in, int history, int step) {
    return net->config.window - in->first[history + 1] + step;
}

static void embed(const mw_madt_net *net, mw_madt_acts *a, const float *values, const float *packed) {
    const size_t steps = steps_of(&a->in), width = width_of(net);
    for (int j = 0; j < MW_MADT_TOKENS; j++) {
        mw_dense_forward(&net->token[j], a->embedded[j], a->in.token[j], values, packed, 1, (int)steps);
        mw_squash(a->embedded[j], a->embedded[j], (int)(steps * width));
    }
    float *x = a->block[0].x;
    for (int h = 0; h < a->in.histories; h++)
        for (int step = a->in.first[h]; step < a->in.first[h + 1]; step++) {
            const float *time = values + net->time + (size_t)a->in.time[step] * width,
                        *place = values + net->place +
                                 (size_t)(MW_MADT_TOKENS * place_of(net, &a->in, h, step)) * width;
            for (int j = 0; j < MW_MADT_TOKENS; j++, x += width, place += width) {
                const float *from = a->embedded[j] + (size_t)step * width;
                for (size_t i = 0; i < width; i++) x[i] = from[i] + time[i] + place[i];
            }
        }
}

static void attend(const mw_madt_net *net, mw_madt_acts *a, mw_madt_block_acts *b) {
    const int heads = net->config.heads, c = net->config.width / heads;
    for (int h = 0; h < a->in.histories; h++) {
        const int t = MW_MADT_TOKENS * (a->in.first[h + 1] - a->in.first[h]);
        const size_t at = (size_t)(MW_MADT_TOKENS * a->in.first[h]) * width_of(net);
        mw_causal_forward(b->message + at, b->weights + mw_madt_weights_at(net, h), b->query + at,
                          b->key + at, b->value + at, a->scratch, t, heads, c);
    }
}

static void block_forward(const mw_madt_net *net, mw_madt_acts *a, int i, const float *values,
                          const float *packed) {
    const mw_madt_block *k = &net->block[i];
    mw_madt_block_acts *b = &a->block[i];
    float *next = i + 1 < net->config.layers ? a->block[i + 1].x : a->x;
    const int rows = MW_MADT_TOKENS * (int)steps_of(&a->in), width = net->config.width;
    mw_layernorm_forward(b->normed[0], b->stats[0], b->x, values + k->before[0].w, values + k->before[0].b,
                         rows, width);
    mw_dense_forward(&k->query, b->query, b->normed[0], values, packed, 1, rows);
    mw_dense_forward(&k->key, b->key, b->normed[0], values, packed, 1, rows);
    mw_dense_forward(&k->value, b->value, b->normed[0], values, packed, 1, rows);
    attend(net, a, b);
    mw_dense_forward(&k->proj, b->between, b->message, values, packed, 1, rows);
    mw_add(b->between, b->x, (long)rows * width);
    mw_layernorm_forward(b->normed[1], b->stats[1], b->between, values + k->before[1].w,
                         values + k->before[1].b, rows, width);
    mw_dense_forward(&k->mlp[0], b->hidden, b->normed[1], values, packed, 1, rows);
    mw_gelu_forward(a->active, b->hidden, 2 * rows * width);
    mw_dense_forward(&k->mlp[1], next, a->active, values, packed, 1, rows);
    mw_add(next, b->between, (long)rows * width);
}

void mw_madt_forward(const mw_madt_net *net, mw_madt_acts *a, const float *values, const float *packed) {
    const size_t steps = steps_of(&a->in), width = width_of(net);
    embed(net, a, values, packed);
    for (int i = 0; i < net->config.layers; i++) block_forward(net, a, i, values, packed);
    for (size_t step = 0; step < steps; step++)
        memcpy(a->read + step * width, a->x + (MW_MADT_TOKENS * step + 2) * width, width * sizeof *a->x);
    mw_layernorm_forward(a->normed, a->stats, a->read, values + net->last.w, values + net->last.b, (int)steps,
                         (int)width);
    mw_dense_forward(&net->head, a->out, a->normed, values, packed, 1, (int)steps);
}

/* ---- backward ---- */

/* d = through a norm, which is then added to dx */
static void norm_backward(const mw_norm *norm, mw_madt_acts *a, float *grads, const float *x,
                          const float *stats, const float *values, int rows) {
    mw_layernorm_backward(a->d, grads + norm->w, grads + norm->b, a->d, x, stats, values + norm->w, rows,
                          norm->size);
    mw_add(a->dx, a->d, (long)rows * norm->size);
}

static void attend_backward(const mw_madt_net *net, mw_madt_acts *a, const mw_madt_block_acts *b) {
    const int heads = net->config.heads, c = net->config.width / heads;
    for (int h = 0; h < a->in.histories; h++) {
        const int t = MW_MADT_TOKENS * (a->in.first[h + 1] - a->in.first[h]);
        const size_t at = (size_t)(MW_MADT_TOKENS * a->in.first[h]) * width_of(net);
        mw_causal_backward(a->dquery + at, a->dkey + at, a->dvalue + at, a->d + at,
                           b->weights + mw_madt_weights_at(net, h), b->query + at, b->key + at, b->value + at,
                           a->scratch, t, heads, c);
    }
}

/* dx: the gradient behind the block becomes that before it. */
static void block_backward(const mw_madt_net *net, mw_madt_acts *a, int i, float *grads, const float *values,
                           const float *packed) {
    const mw_madt_block *k = &net->block[i];
    const mw_madt_block_acts *b = &a->block[i];
    const int rows = MW_MADT_TOKENS * (int)steps_of(&a->in), width = net->config.width;
    mw_gelu_slope(a->active, a->slope, b->hidden, 2 * rows * width);
    mw_dense_backward(&k->mlp[1], a->dhidden, grads, a->dx, a->active, packed, a->dense_scratch, 1, rows);
    mw_multiply(a->dhidden, a->slope, 2 * rows * width);
    mw_dense_backward(&k->mlp[0], a->d, grads, a->dhidden, b->normed[1], packed, a->dense_scratch, 1, rows);
    norm_backward(&k->before[1], a, grads, b->between, b->stats[1], values, rows);
    mw_dense_backward(&k->proj, a->d, grads, a->dx, b->message, packed, a->dense_scratch, 1, rows);
    attend_backward(net, a, b);
    const mw_dense *const of[] = {&k->query, &k->key, &k->value};
    const float *const from[] = {a->dquery, a->dkey, a->dvalue};
    for (int j = 0; j < 3; j++) {
        mw_dense_backward(of[j], j ? a->more : a->d, grads, from[j], b->normed[0], packed, a->dense_scratch,
                          1, rows);
        if (j) mw_add(a->d, a->more, (long)rows * width);
    }
    norm_backward(&k->before[0], a, grads, b->x, b->stats[0], values, rows);
}

static void embed_backward(const mw_madt_net *net, mw_madt_acts *a, float *grads, const float *packed) {
    const size_t steps = steps_of(&a->in), width = width_of(net);
    const float *dx = a->dx;
    float *const dtoken[] = {a->dquery, a->dkey, a->dvalue};
    for (int h = 0; h < a->in.histories; h++)
        for (int step = a->in.first[h]; step < a->in.first[h + 1]; step++) {
            float *time = grads + net->time + (size_t)a->in.time[step] * width,
                  *place =
                      grads + net->place + (size_t)(MW_MADT_TOKENS * place_of(net, &a->in, h, step)) * width;
            for (int j = 0; j < MW_MADT_TOKENS; j++, dx += width, place += width) {
                const float *value = a->embedded[j] + (size_t)step * width;
                float *out = dtoken[j] + (size_t)step * width;
                for (size_t i = 0; i < width; i++) {
                    time[i] += dx[i];
                    place[i] += dx[i];
                    out[i] = dx[i] * (1 - value[i] * value[i]);
                }
            }
        }
    for (int j = 0; j < MW_MADT_TOKENS; j++)
        mw_dense_backward(&net->token[j], NULL, grads, dtoken[j], a->in.token[j], packed, a->dense_scratch, 1,
                          (int)steps);
}

void mw_madt_backward(const mw_madt_net *net, mw_madt_acts *a, float *grads, const float *dout,
                      const float *values, const float *packed) {
    const size_t steps = steps_of(&a->in), width = width_of(net);
    mw_dense_backward(&net->head, a->d, grads, dout, a->normed, packed, a->dense_scratch, 1, (int)steps);
    mw_layernorm_backward(a->d, grads + net->last.w, grads + net->last.b, a->d, a->read, a->stats,
                          values + net->last.w, (int)steps, (int)width);
    memset(a->dx, 0, MW_MADT_TOKENS * steps * width * sizeof *a->dx);
    for (size_t step = 0; step < steps; step++)
        memcpy(a->dx + (MW_MADT_TOKENS * step + 2) * width, a->d + step * width, width * sizeof *a->dx);
    for (int i = net->config.layers - 1; i >= 0; i--) block_backward(net, a, i, grads, values, packed);
    embed_backward(net, a, grads, packed);
}
