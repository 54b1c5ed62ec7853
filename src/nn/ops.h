/* Elementwise functions, norms, softmax and losses as forward/backward pairs. Rows are dense; shapes stand
 * next to the pointers. Gradients of parameters (dw, db, dgamma) are added to, gradients of inputs are
 * overwritten. */
#ifndef MW_NN_OPS_H
#define MW_NN_OPS_H

#include <stdint.h>

/* ---- activations over n values; x and y may be the same array in forward, dx and dy in backward ---- */
void mw_silu_forward(float *y, const float *x, int n);
void mw_silu_slope(float *y, float *slope, const float *x, int n); /* y and dy/dx together */
void mw_gelu_forward(float *y, const float *x, int n);
void mw_gelu_slope(float *y, float *slope, const float *x, int n);
void mw_mish_forward(float *y, const float *x, int n);
void mw_mish_backward(float *dx, const float *dy, const float *x, int n);
void mw_relu_forward(float *y, const float *x, int n);
void mw_relu_slope(float *y, float *slope, const float *x, int n);
void mw_squash(float *y, const float *x, int n); /* tanh, to 2e-7 absolutely */

/* ---- layer norm over the last axis, eps 1e-5 ---- */
/* y[rows][c], stats[rows][2] = mean and 1/std, x[rows][c], w[c], b[c] */
void mw_layernorm_forward(float *y, float *stats, const float *x, const float *w, const float *b, int rows,
                          int c);
/* dx[rows][c], dw[c], db[c] (both may be NULL), dy[rows][c]; dx may be dy */
void mw_layernorm_backward(float *dx, float *dw, float *db, const float *dy, const float *x,
                           const float *stats, const float *w, int rows, int c);

/* ---- group norm over time and channel groups, followed by Mish, plus something added ----
 * Sequences are time-major: x[t][s][c]. y = mish(w * norm(x) + b) + add, where add is row s/repeat of
 * [s/repeat][c] for every time step (repeat > 0), or [t][s][c] (repeat == 0), or nothing (NULL). */
void mw_groupnorm_mish_forward(float *y, float *stats /* [s][groups][2] */, const float *x, const float *w,
                               const float *b, const float *add, int repeat, int t, int s, int c, int groups);
/* dx[t][s][c] and dy may be the same array. */
void mw_groupnorm_mish_backward(float *dx, float *dw, float *db, const float *dy, const float *x,
                                const float *stats, const float *w, const float *b, int t, int s, int c,
                                int groups);

/* ---- softmax over the last axis of x[rows][c], in place ---- */
void mw_softmax_rows(float *x, int rows, int c);
/* dx = y * (dy - sum(dy*y)) per row; dx may be dy */
void mw_softmax_rows_backward(float *dx, const float *dy, const float *y, int rows, int c);
/* ---- softmax over the middle axis of x[b][n][c], in place: over agents, per column ---- */
void mw_softmax_agents(float *x, int b, int n, int c);
void mw_softmax_agents_backward(float *dx, const float *dy, const float *y, int b, int n, int c);

/* ---- sums ---- */
void mw_add(float *y, const float *x, long n);                      /* y += x */
void mw_multiply(float *y, const float *x, int n);                  /* y *= x */
void mw_column_sums(float *sums, const float *x, long rows, int c); /* sums[c] += over rows of x[rows][c] */
void mw_add_scaled(float *y, float a, const float *x, int n);       /* y += a x, fused */
float mw_inner(const float *a, const float *b, int n);              /* over 16 lanes, fused */
double mw_dot(const float *a, const float *b, long n);              /* in double, fixed order */

/* ---- norm features of projections p[rows][2][features]: y[i] = log(u^2 + v^2 + 1e-3); rows of y lie
 * `stride` floats apart ---- */
void mw_norm_features_forward(float *y, int stride, const float *p, int rows, int features);
/* dp[rows][2][features] */
void mw_norm_features_backward(float *dp, const float *dy, int stride, const float *p, int rows,
                               int features);

/* ---- losses; they return the sum and write the gradient of scale * sum ---- */
double mw_mse(float *dx, const float *x, const float *target, long n, float scale);
/* Cross-entropy of logits[c] over legal[c] (NULL: all) at `label`; dlogits may be NULL. */
double mw_cross_entropy(float *dlogits, const float *logits, const uint8_t *legal, int label, int c,
                        float scale);

#include "nn/level.h"

#endif
