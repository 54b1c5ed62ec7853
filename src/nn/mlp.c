/* Multi-layer perceptrons; see mlp.h. */
#include "nn/mlp.h"

#include "nn/ops.h"

#include <assert.h>

/* Rows that go through all layers together, so that their values stay in cache: 8 full tiles of 14. */
#define CHUNK_ROWS 112

mw_mlp mw_mlp_make(mw_params *params, const char *prefix, const int *sizes, int layers,
                   mw_activation activation) {
    assert(layers <= MW_MLP_LAYERS);
    mw_mlp mlp = {.layers = layers, .activation = activation};
    for (int i = 0; i < layers; i++)
        mlp.layer[i] =
            mw_dense_linear(params, mw_name_of("%s.%d", prefix, 2 * i).text, sizes[i], sizes[i + 1]);
    return mlp;
}

mw_mlp mw_mlp_hidden(mw_params *params, const char *prefix, int in, int hidden, int layers, int out,
                     mw_activation activation) {
    int sizes[MW_MLP_LAYERS + 1] = {in};
    for (int i = 1; i <= layers; i++) sizes[i] = hidden;
    sizes[layers + 1] = out;
    return mw_mlp_make(params, prefix, sizes, layers + 1, activation);
}

void mw_mlp_pack(const mw_mlp *mlp, const float *values, float *packed, bool backward) {
    for (int i = 0; i < mlp->layers; i++) mw_dense_pack(&mlp->layer[i], values, packed, backward);
}

static int chunk_of(int rows) {
    return rows < CHUNK_ROWS ? rows : CHUNK_ROWS;
}

void mw_mlp_acts_take(const mw_mlp *mlp, mw_mlp_acts *acts, mw_arena *arena, int rows, bool training) {
    const size_t all = (size_t)rows, chunk = (size_t)chunk_of(rows);
    size_t widest = 0, scratch = 0;
    *acts = (mw_mlp_acts){0};
    for (int i = 0; i < mlp->layers; i++) {
        const mw_dense *layer = &mlp->layer[i];
        const size_t out = (size_t)layer->out, need = mw_dense_scratch(layer, 1, (int)chunk);
        if (training || i + 1 == mlp->layers) acts->pre[i] = mw_arena_floats(arena, all * out);
        if (need > scratch) scratch = need;
        if (out > widest) widest = out;
    }
    for (int i = 0; i < 2; i++) acts->active[i] = mw_arena_floats(arena, chunk * widest);
    if (!training) return;
    acts->slope = mw_arena_floats(arena, chunk * widest);
    acts->scratch = mw_arena_floats(arena, scratch);
    for (int i = 0; i < 2; i++) acts->grad[i] = mw_arena_floats(arena, chunk * widest);
}

float *mw_mlp_forward(const mw_mlp *mlp, mw_mlp_acts *acts, const float *x, const float *values,
                      const float *packed, int rows) {
    const int last = mlp->layers - 1;
    for (int row = 0; row < rows; row += CHUNK_ROWS) {
        const int count = chunk_of(rows - row);
        const float *in = x + (size_t)row * (size_t)mlp->layer[0].in;
        for (int i = 0; i <= last; i++) {
            const int out = mlp->layer[i].out;
            float *active = acts->active[i % 2],
                  *pre = acts->pre[i] ? acts->pre[i] + (size_t)row * (size_t)out : active;
            mw_dense_forward(&mlp->layer[i], pre, in, values, packed, 1, count);
            if (i == last) break;
            if (mlp->activation == MW_SILU)
                mw_silu_forward(active, pre, count * out);
            else
                mw_relu_forward(active, pre, count * out);
            in = active;
        }
    }
    return acts->pre[last];
}

void mw_mlp_backward(const mw_mlp *mlp, mw_mlp_acts *acts, float *dx, float *grads, const float *dy,
                     const float *x, const float *packed, int rows) {
    const int last = mlp->layers - 1, inputs = mlp->layer[0].in;
    for (int row = 0; row < rows; row += CHUNK_ROWS) {
        const int count = chunk_of(rows - row);
        const float *dout = dy + (size_t)row * (size_t)mlp->layer[last].out;
        for (int i = last; i > 0; i--) { /* activations again from what was before them: cheaper than fetching
                                            them */
            const int in = mlp->layer[i].in;
            const float *pre = acts->pre[i - 1] + (size_t)row * (size_t)in;
            float *active = acts->active[0], *din = acts->grad[i % 2];
            if (mlp->activation == MW_SILU)
                mw_silu_slope(active, acts->slope, pre, count * in);
            else
                mw_relu_slope(active, acts->slope, pre, count * in);
            mw_dense_backward(&mlp->layer[i], din, grads, dout, active, packed, acts->scratch, 1, count);
            mw_multiply(din, acts->slope, count * in);
            dout = din;
        }
        mw_dense_backward(&mlp->layer[0], dx ? dx + (size_t)row * (size_t)inputs : NULL, grads, dout,
                          x + (size_t)row * (size_t)inputs, packed, acts->scratch, 1, count);
    }
}

double mw_mlp_flops(const mw_mlp *mlp, int rows) {
    double flops = 0;
    for (int i = 0; i < mlp->layers; i++) flops += mw_dense_flops(&mlp->layer[i], 1, rows);
    return flops;
}
