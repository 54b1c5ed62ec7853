/* Elementwise functions, norms, softmax, losses; see ops.h. */
#include "nn/ops.h"

#include "core/math.h"
#include "nn/vec.h"

#include <assert.h>
#include <math.h>

MW_INLINE mw_vec sigmoid(mw_vec x) {
    return 1.0f / (1.0f + mw_vec_exp_quick(mw_vec_min(mw_vec_set(88.0f), -x)));
}

/* tanh(softplus(x)) through e = exp(x): n = e(e+2), n/(n+2). Beyond 20 it is 1 in single precision. */
MW_INLINE mw_vec tanh_softplus(mw_vec x) {
    mw_vec e = mw_vec_exp_quick(mw_vec_min(x, mw_vec_set(20.0f)));
    mw_vec n = e * (e + 2.0f);
    return n / (n + 2.0f);
}

MW_INLINE mw_vec mish(mw_vec x) {
    return x * tanh_softplus(x);
}

/* d/dx x*t(x) = t + x * (1 - t^2) * sigmoid(x); beyond 20 the second term is nothing, also where x is huge.
 * One division serves both quotients: 1/(n + 2) and 1/(e + 1) from that of their product. */
MW_INLINE mw_vec mish_slope(mw_vec x) {
    mw_vec near = mw_vec_min(mw_vec_set(20.0f), x); /* in this order NaN stays */
    mw_vec e = mw_vec_exp_quick(near);
    mw_vec n = e * (e + 2.0f);
    mw_vec both = 1.0f / ((n + 2.0f) * (e + 1.0f)), r = both * (e + 1.0f), t = n * r;
    return mw_vec_fma(near * (4.0f * (n + 1.0f) * r * r), e * (both * (n + 2.0f)), t);
}

/* The normal distribution function, by Abramowitz and Stegun 7.1.26 (error below 1.5e-7, about that of single
 * precision), and exp(-x^2 / 2), which it needs anyway. */
MW_INLINE mw_vec normal_below(mw_vec x, mw_vec *bell) {
    const mw_vec size = mw_vec_max(-x, x),
                 t = 1.0f / mw_vec_fma(size, mw_vec_set(0.231641888f), mw_vec_set(1.0f));
    mw_vec p = mw_vec_fma(mw_vec_set(1.061405429f), t, mw_vec_set(-1.453152027f));
    p = mw_vec_fma(p, t, mw_vec_set(1.421413741f));
    p = mw_vec_fma(p, t, mw_vec_set(-0.284496736f));
    p = mw_vec_fma(p, t, mw_vec_set(0.254829592f));
    *bell = mw_vec_exp_quick(x * x * -0.5f);
    const mw_vec tail = 0.5f * t * p * *bell;
    return mw_vec_select(x < 0.0f, tail, 1.0f - tail);
}

void mw_silu_forward(float *y, const float *x, int n) {
    MW_VEC_FOR(i, part, n) {
        mw_vec v = mw_vec_load_part(x + i, part);
        mw_vec_store_part(y + i, v * sigmoid(v), part);
    }
}

void mw_silu_slope(float *y, float *slope, const float *x, int n) {
    MW_VEC_FOR(i, part, n) {
        mw_vec v = mw_vec_load_part(x + i, part), s = sigmoid(v), vs = v * s;
        mw_vec_store_part(y + i, vs, part);
        mw_vec_store_part(slope + i, mw_vec_fma(vs, 1.0f - s, s), part);
    }
}

void mw_gelu_forward(float *y, const float *x, int n) {
    MW_VEC_FOR(i, part, n) {
        mw_vec v = mw_vec_load_part(x + i, part), bell;
        mw_vec_store_part(y + i, v * normal_below(v, &bell), part);
    }
}

void mw_gelu_slope(float *y, float *slope, const float *x, int n) {
    MW_VEC_FOR(i, part, n) {
        mw_vec v = mw_vec_load_part(x + i, part), bell, below = normal_below(v, &bell);
        mw_vec_store_part(y + i, v * below, part);
        mw_vec_store_part(slope + i, mw_vec_fma(v * 0.398942280f, bell, below), part);
    }
}

void mw_mish_forward(float *y, const float *x, int n) {
    MW_VEC_FOR(i, part, n) mw_vec_store_part(y + i, mish(mw_vec_load_part(x + i, part)), part);
}

void mw_mish_backward(float *dx, const float *dy, const float *x, int n) {
    MW_VEC_FOR(i, part, n)
    mw_vec_store_part(dx + i, mw_vec_load_part(dy + i, part) * mish_slope(mw_vec_load_part(x + i, part)),
                      part);
}

void mw_relu_forward(float *y, const float *x, int n) {
    for (int i = 0; i < n; i++) y[i] = x[i] <= 0 ? 0 : x[i]; /* NaN stays */
}

void mw_relu_slope(float *y, float *slope, const float *x, int n) {
    for (int i = 0; i < n; i++) {
        y[i] = x[i] <= 0 ? 0 : x[i]; /* NaN stays */
        slope[i] = x[i] <= 0 ? 0 : 1;
    }
}

void mw_squash(float *y, const float *x, int n) {
    MW_VEC_FOR(i, part, n) {
        const mw_vec v = mw_vec_load_part(x + i, part), e = mw_vec_exp(-2.0f * mw_vec_max(-v, v)),
                     size = (1.0f - e) / (1.0f + e);
        mw_vec_store_part(y + i, mw_vec_select(v < 0.0f, -size, size), part);
    }
}

/* ---- sums ---- */

void mw_add(float *y, const float *x, long n) {
    for (long i = 0; i < n; i++) y[i] += x[i];
}

void mw_multiply(float *y, const float *x, int n) {
    for (int i = 0; i < n; i++) y[i] *= x[i];
}

void mw_column_sums(float *sums, const float *x, long rows, int c) {
    for (long r = 0; r < rows; r++)
        for (int i = 0; i < c; i++) sums[i] += x[r * c + i];
}

double mw_dot(const float *a, const float *b, long n) {
    double lane[8] = {0}, sum = 0;
    long i = 0;
    for (; i + 8 <= n; i += 8)
        for (int l = 0; l < 8; l++) lane[l] += (double)a[i + l] * b[i + l];
    for (; i < n; i++) sum += (double)a[i] * b[i];
    for (int l = 0; l < 8; l++) sum += lane[l];
    return sum;
}

void mw_add_scaled(float *y, float a, const float *x, int n) {
    const mw_vec factor = mw_vec_set(a);
    MW_VEC_FOR(i, part, n)
    mw_vec_store_part(y + i, mw_vec_fma(factor, mw_vec_load_part(x + i, part), mw_vec_load_part(y + i, part)),
                      part);
}

float mw_inner(const float *a, const float *b, int n) {
    mw_lanes lanes = {0};
    MW_LANES_FOR(i, part, acc, lanes, n)
    *acc = mw_vec_fma(mw_vec_load_part(a + i, part), mw_vec_load_part(b + i, part), *acc);
    return mw_lanes_sum(&lanes);
}

MW_INLINE float sum_of(const float *x, int n) {
    mw_lanes lanes = {0};
    MW_LANES_FOR(i, part, acc, lanes, n) *acc += mw_vec_load_part(x + i, part);
    return mw_lanes_sum(&lanes);
}

MW_INLINE float square_sum_about(const float *x, float mean, int n) {
    mw_lanes lanes = {0};
    MW_LANES_FOR(i, part, acc, lanes, n) {
        if (part == MW_LANES) {
            const mw_vec d = mw_vec_load(x + i) - mean;
            *acc = mw_vec_fma(d, d, *acc);
            continue;
        }
        float block[MW_LANES] = {0};
        for (int k = 0; k < part; k++) block[k] = x[i + k] - mean;
        *acc = mw_vec_fma(mw_vec_load(block), mw_vec_load(block), *acc);
    }
    return mw_lanes_sum(&lanes);
}

/* ---- layer norm ---- */

void mw_layernorm_forward(float *y, float *stats, const float *x, const float *w, const float *b, int rows,
                          int c) {
    for (int r = 0; r < rows; r++, x += c, y += c) {
        float mean = sum_of(x, c) / (float)c;
        float scale = 1.0f / sqrtf(square_sum_about(x, mean, c) / (float)c + 1e-5f);
        if (stats) {
            stats[2 * r] = mean;
            stats[2 * r + 1] = scale;
        }
        for (int i = 0; i < c; i++) y[i] = (x[i] - mean) * scale * w[i] + b[i];
    }
}

void mw_layernorm_backward(float *dx, float *dw, float *db, const float *dy, const float *x,
                           const float *stats, const float *w, int rows, int c) {
    for (int r = 0; r < rows; r++, x += c, dy += c, dx += c) {
        float mean = stats[2 * r], scale = stats[2 * r + 1], sum = 0, sum_x = 0;
        for (int i = 0; i < c; i++) {
            float norm = (x[i] - mean) * scale, g = dy[i] * w[i];
            if (dw) {
                dw[i] += dy[i] * norm;
                db[i] += dy[i];
            }
            sum += g;
            sum_x += g * norm;
        }
        sum /= (float)c;
        sum_x /= (float)c;
        for (int i = 0; i < c; i++) dx[i] = scale * (dy[i] * w[i] - sum - (x[i] - mean) * scale * sum_x);
    }
}

/* ---- group norm and Mish, time-major ---- */

#define MAX_CHANNELS 4096

/* Mean and 1/std of every group of one sequence, from per-channel sums over time; x[t] lies `step`
 * floats apart. */
static void group_stats(float *stats, const float *x, int t, long step, int c, int groups) {
    float sums[MAX_CHANNELS], mean_of[MAX_CHANNELS];
    const int width = c / groups;
    const float count = (float)(width * t);
    MW_VEC_FOR(i, part, c) {
        mw_vec sum = {0};
        for (int k = 0; k < t; k++) sum += mw_vec_load_part(x + k * step + i, part);
        mw_vec_store_part(sums + i, sum, part);
    }
    for (int g = 0; g < groups; g++) {
        float sum = 0;
        for (int i = g * width; i < (g + 1) * width; i++) sum += sums[i];
        stats[2 * g] = sum / count;
        for (int i = g * width; i < (g + 1) * width; i++) mean_of[i] = sum / count;
    }
    MW_VEC_FOR(i, part, c) {
        const mw_vec mean = mw_vec_load_part(mean_of + i, part);
        mw_vec sum = {0};
        for (int k = 0; k < t; k++) {
            mw_vec d = mw_vec_load_part(x + k * step + i, part) - mean;
            sum = mw_vec_fma(d, d, sum);
        }
        mw_vec_store_part(sums + i, sum, part);
    }
    for (int g = 0; g < groups; g++) {
        float sum = 0;
        for (int i = g * width; i < (g + 1) * width; i++) sum += sums[i];
        stats[2 * g + 1] = 1.0f / sqrtf(sum / count + 1e-5f);
    }
}

/* The affine map that norm and weights amount to, per channel. */
static void channel_affine(float *scale, float *shift, const float *stats, const float *w, const float *b,
                           int c, int groups) {
    const int width = c / groups;
    for (int g = 0; g < groups; g++)
        for (int i = g * width; i < (g + 1) * width; i++) {
            scale[i] = stats[2 * g + 1] * w[i];
            shift[i] = b[i] - stats[2 * g] * scale[i];
        }
}

void mw_groupnorm_mish_forward(float *y, float *stats, const float *x, const float *w, const float *b,
                               const float *add, int repeat, int t, int s, int c, int groups) {
    assert(c <= MAX_CHANNELS && c % groups == 0);
    const long step = (long)s * c;
    float scale[MAX_CHANNELS], shift[MAX_CHANNELS];
    for (int q = 0; q < s; q++) {
        group_stats(stats + 2 * groups * q, x + (long)q * c, t, step, c, groups);
        channel_affine(scale, shift, stats + 2 * groups * q, w, b, c, groups);
        const float *in = x + (long)q * c;
        const float *plus = !add ? NULL : repeat ? add + (long)(q / repeat) * c : add + (long)q * c;
        const long plus_step = repeat ? 0 : step;
        float *out = y + (long)q * c;
        MW_VEC_FOR(i, part, c) {
            const mw_vec by = mw_vec_load_part(scale + i, part), to = mw_vec_load_part(shift + i, part);
            for (int k = 0; k < t; k++) {
                mw_vec v = mish(mw_vec_fma(mw_vec_load_part(in + k * step + i, part), by, to));
                if (plus) v += mw_vec_load_part(plus + k * plus_step + i, part);
                mw_vec_store_part(out + k * step + i, v, part);
            }
        }
    }
}

void mw_groupnorm_mish_backward(float *dx, float *dw, float *db, const float *dy, const float *x,
                                const float *stats, const float *w, const float *b, int t, int s, int c,
                                int groups) {
    assert(c <= MAX_CHANNELS && c % groups == 0);
    const long step = (long)s * c;
    const int width = c / groups;
    const float count = (float)(width * t);
    float scale[MAX_CHANNELS], shift[MAX_CHANNELS], sum[MAX_CHANNELS], sum_x[MAX_CHANNELS];
    float from_dy[MAX_CHANNELS], from_x[MAX_CHANNELS], constant[MAX_CHANNELS];
    for (int q = 0; q < s; q++) {
        const float *stat = stats + 2 * groups * q;
        channel_affine(scale, shift, stat, w, b, c, groups);
        const float *in = x + (long)q * c, *dout = dy + (long)q * c;
        float *din = dx + (long)q * c;
        MW_VEC_FOR(i, part, c) { /* through Mish; sums of the gradient and of gradient times raw input */
            const mw_vec by = mw_vec_load_part(scale + i, part), to = mw_vec_load_part(shift + i, part);
            mw_vec total = {0}, total_x = {0};
            for (int k = 0; k < t; k++) {
                mw_vec v = mw_vec_load_part(in + k * step + i, part);
                mw_vec g = mw_vec_load_part(dout + k * step + i, part) * mish_slope(mw_vec_fma(v, by, to));
                mw_vec_store_part(din + k * step + i, g, part);
                total += g;
                total_x = mw_vec_fma(g, v, total_x);
            }
            mw_vec_store_part(sum + i, total, part);
            mw_vec_store_part(sum_x + i, total_x, part);
        }
        for (int g = 0; g < groups; g++) {
            float mean = stat[2 * g], inverse = stat[2 * g + 1], total = 0, total_x = 0;
            for (int i = g * width; i < (g + 1) * width; i++) {
                float norm = (sum_x[i] - mean * sum[i]) * inverse; /* sum of gradient times normalised input
                                                                    */
                dw[i] += norm;
                db[i] += sum[i];
                total += w[i] * sum[i];
                total_x += w[i] * norm;
            }
            for (int i = g * width; i < (g + 1) * width; i++) { /* dx = from_dy*dy + from_x*x + constant */
                from_dy[i] = inverse * w[i];
                from_x[i] = -inverse * inverse * total_x / count;
                constant[i] = -inverse * total / count - from_x[i] * mean;
            }
        }
        MW_VEC_FOR(i, part, c) {
            const mw_vec a = mw_vec_load_part(from_dy + i, part), e = mw_vec_load_part(from_x + i, part),
                         f = mw_vec_load_part(constant + i, part);
            for (int k = 0; k < t; k++) {
                mw_vec g = mw_vec_load_part(din + k * step + i, part),
                       v = mw_vec_load_part(in + k * step + i, part);
                mw_vec_store_part(din + k * step + i, mw_vec_fma(g, a, mw_vec_fma(v, e, f)), part);
            }
        }
    }
}

/* ---- softmax ---- */

void mw_softmax_rows(float *x, int rows, int c) {
    for (int r = 0; r < rows; r++, x += c) {
        float most = x[0];
        for (int i = 1; i < c; i++) most = x[i] > most ? x[i] : most;
        MW_VEC_FOR(i, part, c)
        mw_vec_store_part(x + i, mw_vec_exp(mw_vec_load_part(x + i, part) - most), part);
        float scale = 1.0f / sum_of(x, c);
        for (int i = 0; i < c; i++) x[i] *= scale;
    }
}

void mw_softmax_rows_backward(float *dx, const float *dy, const float *y, int rows, int c) {
    for (int r = 0; r < rows; r++, dx += c, dy += c, y += c) {
        float sum = 0;
        for (int i = 0; i < c; i++) sum += dy[i] * y[i];
        for (int i = 0; i < c; i++) dx[i] = y[i] * (dy[i] - sum);
    }
}

void mw_softmax_agents(float *x, int b, int n, int c) {
    for (int q = 0; q < b; q++, x += (long)n * c) MW_VEC_FOR(i, part, c) {
            mw_vec most = mw_vec_load_part(x + i, part), sum = {0};
            for (int a = 1; a < n; a++) most = mw_vec_max(most, mw_vec_load_part(x + (long)a * c + i, part));
            for (int a = 0; a < n; a++) {
                mw_vec e = mw_vec_exp(mw_vec_load_part(x + (long)a * c + i, part) - most);
                mw_vec_store_part(x + (long)a * c + i, e, part);
                sum += e;
            }
            const mw_vec scale = 1.0f / sum;
            for (int a = 0; a < n; a++)
                mw_vec_store_part(x + (long)a * c + i, mw_vec_load_part(x + (long)a * c + i, part) * scale,
                                  part);
        }
}

void mw_softmax_agents_backward(float *dx, const float *dy, const float *y, int b, int n, int c) {
    for (int q = 0; q < b; q++, dx += (long)n * c, dy += (long)n * c, y += (long)n * c)
        for (int i = 0; i < c; i++) {
            float sum = 0;
            for (int a = 0; a < n; a++) sum += dy[(long)a * c + i] * y[(long)a * c + i];
            for (int a = 0; a < n; a++)
                dx[(long)a * c + i] = y[(long)a * c + i] * (dy[(long)a * c + i] - sum);
        }
}

/* ---- norm features ---- */

void mw_norm_features_forward(float *y, int stride, const float *p, int rows, int features) {
    for (int r = 0; r < rows; r++, y += stride, p += 2 * features) MW_VEC_FOR(i, part, features) {
            const mw_vec u = mw_vec_load_part(p + i, part), v = mw_vec_load_part(p + features + i, part);
            mw_vec_store_part(y + i, mw_vec_log(mw_vec_fma(u, u, mw_vec_fma(v, v, mw_vec_set(1e-3f)))), part);
        }
}

void mw_norm_features_backward(float *dp, const float *dy, int stride, const float *p, int rows,
                               int features) {
    for (int r = 0; r < rows; r++, dy += stride, p += 2 * features, dp += 2 * features)
        MW_VEC_FOR(i, part, features) {
            const mw_vec u = mw_vec_load_part(p + i, part), v = mw_vec_load_part(p + features + i, part);
            const mw_vec g =
                2.0f * mw_vec_load_part(dy + i, part) / mw_vec_fma(u, u, mw_vec_fma(v, v, mw_vec_set(1e-3f)));
            mw_vec_store_part(dp + i, g * u, part);
            mw_vec_store_part(dp + features + i, g * v, part);
        }
}

/* ---- losses ---- */

double mw_mse(float *dx, const float *x, const float *target, long n, float scale) {
    double lane[8] = {0}, sum = 0;
    for (long i = 0; i < n; i++) {
        float d = x[i] - target[i];
        lane[i % 8] += (double)d * d;
        if (dx) dx[i] = 2.0f * scale * d;
    }
    for (int l = 0; l < 8; l++) sum += lane[l];
    return sum;
}

double mw_cross_entropy(float *dlogits, const float *logits, const uint8_t *legal, int label, int c,
                        float scale) {
    float most = -INFINITY;
    double sum = 0;
    for (int i = 0; i < c; i++)
        if ((!legal || legal[i]) && logits[i] > most) most = logits[i];
    for (int i = 0; i < c; i++)
        if (!legal || legal[i]) sum += mw_exp((double)logits[i] - most);
    if (dlogits)
        for (int i = 0; i < c; i++) {
            double p = !legal || legal[i] ? mw_exp((double)logits[i] - most) / sum : 0;
            dlogits[i] = (float)(scale * (p - (i == label)));
        }
    return mw_ln(sum) + most - logits[label];
}
