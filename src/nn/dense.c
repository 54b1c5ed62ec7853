/* What dense layers are made of: their parameters, their place among the packed matrices, their lengths; see
 * param.h. What they compute is in dense_run.c. */
#include "nn/param.h"

#include "nn/gemm.h"

#include <assert.h>
#include <math.h>

static void reserve_packed(mw_params *params, mw_dense *layer) {
    layer->packed = params->packed;
    params->packed += (size_t)layer->taps * mw_packed_size(layer->in, layer->out);
    layer->packed_back = params->packed;
    params->packed += (size_t)layer->taps * mw_packed_size(layer->out, layer->in);
}

mw_dense mw_dense_conv(mw_params *params, const char *name, mw_conv_kind kind, int in, int out, int taps) {
    assert(kind == MW_CONV_DOWN ? taps == 3
           : kind == MW_CONV_UP ? taps == 4
                                : taps % 2 == 1 && taps < MW_MAX_TAPS);
    mw_dense layer = {.kind = kind, .in = in, .out = out, .taps = taps, .bias = true};
    /* PyTorch's default bound: 1/sqrt(fan in), where a transposed convolution counts its outputs as inputs.
     */
    float bound = 1.0f / sqrtf((float)((kind == MW_CONV_UP ? out : in) * taps));
    mw_name weight = mw_name_of("%s.weight", name), bias = mw_name_of("%s.bias", name);
    layer.w =
        kind == MW_CONV_UP
            ? mw_params_add(params, weight.text, MW_PARAM_TRANSPOSED, MW_INIT_UNIFORM, bound, in, out, taps)
            : mw_params_add(params, weight.text, MW_PARAM_CONV, MW_INIT_UNIFORM, bound, out, in, taps);
    layer.b = mw_params_add(params, bias.text, MW_PARAM_PLAIN, MW_INIT_UNIFORM, bound, out, 0, 0);
    reserve_packed(params, &layer);
    return layer;
}

static mw_dense linear(mw_params *params, const char *name, int in, int out, bool biased) {
    mw_dense layer = {.kind = MW_CONV_SAME, .in = in, .out = out, .taps = 1, .bias = biased};
    float bound = 1.0f / sqrtf((float)in);
    mw_name weight = mw_name_of("%s.weight", name), bias = mw_name_of("%s.bias", name);
    layer.w = mw_params_add(params, weight.text, MW_PARAM_LINEAR, MW_INIT_UNIFORM, bound, out, in, 0);
    if (biased) layer.b = mw_params_add(params, bias.text, MW_PARAM_PLAIN, MW_INIT_UNIFORM, bound, out, 0, 0);
    reserve_packed(params, &layer);
    return layer;
}

mw_dense mw_dense_linear(mw_params *params, const char *name, int in, int out) {
    return linear(params, name, in, out, true);
}

mw_dense mw_dense_unbiased(mw_params *params, const char *name, int in, int out) {
    return linear(params, name, in, out, false);
}

mw_dense mw_dense_matrix(mw_params *params, const char *name, int in, int out, mw_init init, float spread) {
    mw_dense layer = {.kind = MW_CONV_SAME, .in = in, .out = out, .taps = 1};
    layer.w = mw_params_add(params, name, MW_PARAM_PLAIN, init, spread, in, out, 0);
    reserve_packed(params, &layer);
    return layer;
}

int mw_dense_time(const mw_dense *layer, int t) {
    return layer->kind == MW_CONV_DOWN ? (t - 1) / 2 + 1 : layer->kind == MW_CONV_UP ? 2 * t : t;
}

size_t mw_dense_scratch(const mw_dense *layer, int t, int rows) {
    return mw_packed_size(mw_dense_time(layer, t) * rows, layer->out);
}
