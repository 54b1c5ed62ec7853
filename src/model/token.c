/* Tokens of world models; see token.h. */
#include "model/token.h"

#include "nn/gemm.h"
#include "nn/ops.h"

#include <math.h>
#include <string.h>

/* ---- standardisation ---- */

static size_t constant(mw_params *p, const char *name, mw_init init, int count) {
    return mw_params_add(p, name, MW_PARAM_PLAIN, init, 0, count, 0, 0);
}

mw_scales mw_scales_add(mw_params *p, int obs, int act) {
    mw_scales s;
    s.obs_mean = constant(p, "scale.obs_mean", MW_INIT_ZERO, obs);
    s.obs_scale = constant(p, "scale.obs_scale", MW_INIT_ONE, obs);
    s.act_mean = constant(p, "scale.act_mean", MW_INIT_ZERO, act);
    s.act_scale = constant(p, "scale.act_scale", MW_INIT_ONE, act);
    s.delta_mean = constant(p, "scale.delta_mean", MW_INIT_ZERO, obs);
    s.delta_scale = constant(p, "scale.delta_scale", MW_INIT_ONE, obs);
    s.reward_mean = constant(p, "scale.reward_mean", MW_INIT_ZERO, 1);
    s.reward_scale = constant(p, "scale.reward_scale", MW_INIT_ONE, 1);
    return s;
}

static void put_moments(float *values, size_t mean, size_t scale, const mw_moments *moments, int count) {
    for (int i = 0; i < count; i++) {
        values[mean + (size_t)i] = (float)moments[i].mean;
        values[scale + (size_t)i] = (float)moments[i].scale;
    }
}

void mw_scales_set(const mw_scales *scales, float *values, const mw_data_stats *s) {
    put_moments(values, scales->obs_mean, scales->obs_scale, s->obs, s->obs_size);
    put_moments(values, scales->delta_mean, scales->delta_scale, s->delta, s->obs_size);
    put_moments(values, scales->act_mean, scales->act_scale, s->act, s->act_size);
    put_moments(values, scales->reward_mean, scales->reward_scale, &s->reward, 1);
}

void mw_standardised(float *out, const float *x, const float *mean, const float *scale, int n) {
    for (int i = 0; i < n; i++) out[i] = (x[i] - mean[i]) / scale[i];
}

/* ---- tokens ---- */

mw_token mw_token_make(mw_params *p, const char *prefix, int values, int identity, int shared, int features,
                       bool norm) {
    const int own = values + identity, raw = own + shared;
    mw_token token = {.values = values, .own = own, .raw = raw, .features = features, .size = raw + features};
    if (norm) {
        token.norm_w = mw_params_add(p, mw_name_of("%s.input_norm.weight", prefix).text, MW_PARAM_PLAIN,
                                     MW_INIT_ONE, 0, raw, 0, 0);
        token.norm_b = mw_params_add(p, mw_name_of("%s.input_norm.bias", prefix).text, MW_PARAM_PLAIN,
                                     MW_INIT_ZERO, 0, raw, 0, 0);
    }
    if (features)
        token.project = mw_dense_matrix(p, mw_name_of("%s.norm_features", prefix).text, raw, 2 * features,
                                        MW_INIT_NORMAL, 1.0f / sqrtf((float)raw));
    return token;
}

/* Pairs i and i + gap of an observation that starts at value `first` of the token: all of gap 0 first. */
void mw_token_aim(const mw_token *token, float *values, const float *scale, int first, int obs) {
    const int pairs = obs / 2, features = token->features, width = 2 * features;
    float *w = values + token->project.w;
    for (int gap = 0, k = 0; gap < pairs; gap++)
        for (int i = 0; i + gap < pairs && k < features; i++, k++) {
            const int here = 2 * i, there = 2 * (i + gap);
            const float unit =
                fmaxf(fmaxf(scale[here], scale[here + 1]), fmaxf(scale[there], scale[there + 1]));
            for (int c = 0; c < 2; c++) {
                float *column = w + c * features + k;
                for (int r = 0; r < token->raw; r++) column[r * width] = 0;
                column[(first + here + c) * width] = scale[here + c] / unit;
                if (gap) column[(first + there + c) * width] = -scale[there + c] / unit;
            }
        }
}

void mw_token_acts_take(const mw_token *token, mw_token_acts *a, mw_arena *arena, size_t rows) {
    a->raw = mw_arena_floats(arena, rows * (size_t)token->raw);
    a->stats = mw_arena_floats(arena, rows * 2);
    a->projected = mw_arena_floats(arena, rows * 2 * (size_t)token->features);
    a->y = mw_arena_floats(arena, rows * (size_t)token->size);
}

/* y[rows][size] from raw[rows][raw]: norm or copy, then the norm features behind it. */
void mw_token_forward(const mw_token *token, const mw_token_acts *a, const float *values, const float *packed,
                      bool standardise, int first, int rows) {
    const int raw = token->raw, features = token->features, size = token->size;
    const float *in = a->raw + (size_t)first * (size_t)raw;
    float *y = a->y + (size_t)first * (size_t)size;
    for (int r = 0; r < rows; r++) {
        float *at = y + (size_t)r * (size_t)size;
        const float *from = in + (size_t)r * (size_t)raw;
        if (standardise)
            memcpy(at, from, (size_t)raw * sizeof *at);
        else
            mw_layernorm_forward(at, a->stats + 2 * (first + r), from, values + token->norm_w,
                                 values + token->norm_b, 1, raw);
    }
    if (!features) return;
    float *p = a->projected + (size_t)first * 2 * (size_t)features;
    mw_gemm shape = {.m = rows,
                     .n = 2 * features,
                     .k = raw,
                     .a_row = size,
                     .a_col = 1,
                     .b_rows = raw,
                     .c_row = 2 * features};
    mw_gemm_parts(&shape, &(mw_part){y, packed + token->project.packed, 0}, 1, p);
    mw_norm_features_forward(y + raw, size, p, rows, features);
}

/* dtoken is complete: on to the norm features and the layer norm. */
void mw_token_backward(const mw_token *token, const mw_token_acts *a, float *dtoken, float *dprojected,
                       float *scratch, const float *values, float *grads, const float *packed,
                       bool standardise, int rows) {
    const int raw = token->raw, features = token->features, size = token->size;
    float *y = dprojected + (size_t)rows * 2 * (size_t)features; /* dense copies of the raw parts */
    if (features) {
        for (int r = 0; r < rows; r++)
            memcpy(y + (size_t)r * (size_t)raw, a->y + (size_t)r * (size_t)size, (size_t)raw * sizeof *y);
        mw_norm_features_backward(dprojected, dtoken + raw, size, a->projected, rows, features);
        mw_dense_backward(&token->project, NULL, grads, dprojected, y, packed, scratch, 1, rows);
    }
    if (standardise) return;
    for (int r = 0; r < rows; r++) { /* the paper's variant has no features in front of its norm */
        float *d = dtoken + (size_t)r * (size_t)size;
        mw_layernorm_backward(d, grads + token->norm_w, grads + token->norm_b, d,
                              a->raw + (size_t)r * (size_t)raw, a->stats + 2 * r, values + token->norm_w, 1,
                              raw);
    }
}
