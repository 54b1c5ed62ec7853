/* Multi-layer perceptrons; see mlp.h. */
#include "nn/mlp.h"

#include "nn/ops.h"

#include <assert.h>

mw_mlp mw_mlp_make(mw_params *params, const char *prefix, const int *sizes, int layers,
                   mw_activation activation) {
    assert(layers <= MW_MLP_LAYERS);
    mw_mlp mlp = {.layers = layers, .activation = activation};
    for (int i = 0; i < layers; i++)
        mlp.layer[i] =
            mw_dense_linear(params, mw_name_of("%s.%d", prefix, 2 * i).text, sizes[i], sizes[i + 1]);
    return mlp;
}

void mw_mlp_pack(const mw_mlp *mlp, const float *values, float *packed, bool backward) {
    for (int i = 0; i < mlp->layers; i++) mw_dense_pack(&mlp->layer[i], values, packed, backward);
}

void mw_mlp_acts_take(const mw_mlp *mlp, mw_mlp_acts *acts, mw_arena *arena, int rows, bool training) {
    size_t widest = 0, scratch = 0;
    for (int i = 0; i < mlp->layers; i++) {
        size_t out = (size_t)rows * (size_t)mlp->layer[i].out,
               need = mw_dense_scratch(&mlp->layer[i], 1, rows);
        size_t in = (size_t)rows * (size_t)mlp->layer[i].in;
        if (out > widest) widest = out;
        if (in > widest) widest = in;
        if (need > scratch) scratch = need;
    }
    *acts = (mw_mlp_acts){0};
    if (training) {
        for (int i = 0; i < mlp->layers; i++) {
            acts->pre[i] = mw_arena_floats(arena, (size_t)rows * (size_t)mlp->layer[i].out);
            acts->post[i] = i + 1 < mlp->layers
                                ? mw_arena_floats(arena, (size_t)rows * (size_t)mlp->layer[i].out)
                                : acts->pre[i];
        }
        acts->scratch = mw_arena_floats(arena, scratch);
        for (int i = 0; i < 2; i++) acts->grad[i] = mw_arena_floats(arena, widest);
    } else {
        float *buffer[2] = {mw_arena_floats(arena, widest), mw_arena_floats(arena, widest)};
        for (int i = 0; i < mlp->layers; i++) acts->pre[i] = acts->post[i] = buffer[i % 2];
    }
}

float *mw_mlp_forward(const mw_mlp *mlp, mw_mlp_acts *acts, const float *x, const float *values,
                      const float *packed, int rows) {
    for (int i = 0; i < mlp->layers; i++) {
        mw_dense_forward(&mlp->layer[i], acts->pre[i], x, values, packed, 1, rows);
        if (i + 1 < mlp->layers) {
            if (mlp->activation == MW_SILU)
                mw_silu_forward(acts->post[i], acts->pre[i], rows * mlp->layer[i].out);
            else
                mw_relu_forward(acts->post[i], acts->pre[i], rows * mlp->layer[i].out);
        }
        x = acts->post[i];
    }
    return acts->post[mlp->layers - 1];
}

void mw_mlp_backward(const mw_mlp *mlp, mw_mlp_acts *acts, float *dx, float *grads, const float *dy,
                     const float *x, const float *packed, int rows) {
    for (int i = mlp->layers - 1; i >= 0; i--) {
        float *din = i > 0 ? acts->grad[i % 2] : dx;
        mw_dense_backward(&mlp->layer[i], din, grads, dy, i > 0 ? acts->post[i - 1] : x, packed,
                          acts->scratch, 1, rows);
        if (i > 0) {
            int count = rows * mlp->layer[i - 1].out;
            if (mlp->activation == MW_SILU)
                mw_silu_backward(din, din, acts->pre[i - 1], count);
            else
                mw_relu_backward(din, din, acts->post[i - 1], count);
        }
        dy = din;
    }
}

double mw_mlp_flops(const mw_mlp *mlp, int rows) {
    double flops = 0;
    for (int i = 0; i < mlp->layers; i++) flops += mw_dense_flops(&mlp->layer[i], 1, rows);
    return flops;
}
