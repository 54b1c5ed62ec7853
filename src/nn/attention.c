/* Attention across agents and over the past; see attention.h. The products across agents are tiny (n x n per
 * head), so plain loops over contiguous head slices are enough. */
#include "nn/attention.h"

#include "nn/ops.h"
#include "nn/vec.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define MAX_AGENTS 32

void mw_attention_forward(float *message, float *weights, const float *q, const float *k, const float *value,
                          int t, int b, int n, int heads, int qk, int v) {
    const float scale = 1.0f / sqrtf((float)(qk * t));
    const long step_qk = (long)b * n * heads * qk, step_v = (long)b * n * heads * v;
    for (int joint = 0; joint < b; joint++)
        for (int h = 0; h < heads; h++) {
            float *w = weights + ((long)joint * heads + h) * n * n;
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++) {
                    const float *x = q + ((long)joint * n + i) * heads * qk + h * qk;
                    const float *y = k + ((long)joint * n + j) * heads * qk + h * qk;
                    float sum = 0;
                    for (int step = 0; step < t; step++)
                        for (int d = 0; d < qk; d++) sum += x[step * step_qk + d] * y[step * step_qk + d];
                    w[i * n + j] = sum * scale;
                }
            mw_softmax_rows(w, n, n);
            for (int step = 0; step < t; step++)
                for (int i = 0; i < n; i++) {
                    float *out = message + step * step_v + ((long)joint * n + i) * heads * v + h * v;
                    memset(out, 0, (size_t)v * sizeof *out);
                    for (int j = 0; j < n; j++) {
                        const float *from = value + step * step_v + ((long)joint * n + j) * heads * v + h * v;
                        const float weight = w[i * n + j];
                        for (int d = 0; d < v; d++) out[d] += weight * from[d];
                    }
                }
        }
}

/* dw[i][j] = <dmessage_i, value_j>, and dvalue_j = sum_i w[i][j] dmessage_i */
static void through_values(float *dw, float *dvalue, const float *dmessage, const float *w,
                           const float *value, long first, long step_v, long row, int t, int n, int v) {
    for (int j = 0; j < n; j++)
        for (int step = 0; step < t; step++) {
            const float *from = value + first + step * step_v + j * row;
            float *out = dvalue + first + step * step_v + j * row;
            memset(out, 0, (size_t)v * sizeof *out);
            for (int i = 0; i < n; i++) {
                const float *dm = dmessage + first + step * step_v + i * row;
                float sum = 0;
                for (int d = 0; d < v; d++) {
                    sum += dm[d] * from[d];
                    out[d] += w[i * n + j] * dm[d];
                }
                dw[i * n + j] += sum;
            }
        }
}

void mw_attention_backward(float *dq, float *dk, float *dvalue, const float *dmessage, const float *weights,
                           const float *q, const float *k, const float *value, int t, int b, int n, int heads,
                           int qk, int v) {
    const float scale = 1.0f / sqrtf((float)(qk * t));
    const long row_qk = (long)heads * qk, row_v = (long)heads * v;
    const long step_qk = (long)b * n * row_qk, step_v = (long)b * n * row_v;
    assert(n <= MAX_AGENTS);
    memset(dq, 0, (size_t)(t * step_qk) * sizeof *dq);
    memset(dk, 0, (size_t)(t * step_qk) * sizeof *dk);
    for (int joint = 0; joint < b; joint++)
        for (int h = 0; h < heads; h++) {
            const float *w = weights + ((long)joint * heads + h) * n * n;
            float dw[MAX_AGENTS * MAX_AGENTS] = {0};
            through_values(dw, dvalue, dmessage, w, value, (long)joint * n * row_v + h * v, step_v, row_v, t,
                           n, v);
            mw_softmax_rows_backward(dw, dw, w, n, n);
            const long first = (long)joint * n * row_qk + h * qk;
            for (int step = 0; step < t; step++)
                for (int i = 0; i < n; i++)
                    for (int j = 0; j < n; j++) {
                        const float g = dw[i * n + j] * scale;
                        const long at_i = first + step * step_qk + i * row_qk,
                                   at_j = first + step * step_qk + j * row_qk;
                        for (int d = 0; d < qk; d++) {
                            dq[at_i + d] += g * k[at_j + d];
                            dk[at_j + d] += g * q[at_i + d];
                        }
                    }
        }
}

/* ---- over the past ---- */

/* out[n] = scale * sum over k rows of b, each times its number in a. */
MW_INLINE void mix(float *out, int n, float scale, const float *a, long a_step, const float *b, long b_row,
                   int k) {
    MW_VEC_FOR(i, part, n) {
        mw_vec sum = {0};
        for (int j = 0; j < k; j++)
            sum = mw_vec_fma(mw_vec_set(a[j * a_step]), mw_vec_load_part(b + j * b_row + i, part), sum);
        mw_vec_store_part(out + i, sum * scale, part);
    }
}

/* turned[c][t] from the columns of a head, x[t] `row` floats apart */
MW_INLINE void turn(float *turned, const float *x, long row, int t, int c) {
    for (int j = 0; j < t; j++)
        for (int d = 0; d < c; d++) turned[(long)d * t + j] = x[j * row + d];
}

void mw_causal_forward(float *message, float *weights, const float *q, const float *k, const float *value,
                       float *scratch, int t, int heads, int c) {
    const float scale = 1.0f / sqrtf((float)c);
    const long row = (long)heads * c;
    for (int h = 0; h < heads; h++) {
        const long head = (long)h * c;
        float *w = weights + (long)h * t * t;
        turn(scratch, k + head, row, t, c);
        for (int i = 0; i < t; i++, w += t) {
            mix(w, i + 1, scale, q + i * row + head, 1, scratch, t, c);
            memset(w + i + 1, 0, (size_t)(t - i - 1) * sizeof *w);
            mw_softmax_rows(w, 1, i + 1);
            mix(message + i * row + head, c, 1, w, 1, value + head, row, i + 1);
        }
    }
}

void mw_causal_backward(float *dq, float *dk, float *dvalue, const float *dmessage, const float *weights,
                        const float *q, const float *k, const float *value, float *scratch, int t, int heads,
                        int c) {
    const float scale = 1.0f / sqrtf((float)c);
    const long row = (long)heads * c;
    float *dw = scratch + (long)c * t; /* [t][t], of the products before the softmax */
    for (int h = 0; h < heads; h++) {
        const long head = (long)h * c;
        const float *w = weights + (long)h * t * t;
        turn(scratch, value + head, row, t, c);
        for (int i = 0; i < t; i++) {
            float *at = dw + (long)i * t;
            mix(at, i + 1, 1, dmessage + i * row + head, 1, scratch, t, c);
            mw_softmax_rows_backward(at, at, w + (long)i * t, 1, i + 1);
            mix(dq + i * row + head, c, scale, at, 1, k + head, row, i + 1);
        }
        for (int j = 0; j < t; j++) {
            const long below = (long)j * t + j, from = j * row + head;
            mix(dk + from, c, scale, dw + below, t, q + from, row, t - j);
            mix(dvalue + from, c, 1, w + below, t, dmessage + from, row, t - j);
        }
    }
}
