/* Attention across agents: within one joint trajectory, per head, over features that span all time steps;
 * sequences are time-major, [t][b*n][c]. And attention of one sequence over its own past. */
#ifndef MW_NN_ATTENTION_H
#define MW_NN_ATTENTION_H

/* weights[b][heads][n][n] = softmax over the last axis of <q_a, k_a'> / sqrt(qk*t); q,k[t][b*n][heads*qk];
 * message[t][b*n][heads*v] = sum over a' of weights[a][a'] value[a'] */
void mw_attention_forward(float *message, float *weights, const float *q, const float *k, const float *value,
                          int t, int b, int n, int heads, int qk, int v);
void mw_attention_backward(float *dq, float *dk, float *dvalue, const float *dmessage, const float *weights,
                           const float *q, const float *k, const float *value, int t, int b, int n, int heads,
                           int qk, int v);

/* ---- over the past: what stands at time i sees what stands at times 0 to i ----
 * q, k, value and message [t][heads*c], a head's c columns beside each other; weights[heads][t][t] = softmax
 * of <q_i, k_j> / sqrt(c) over j <= i, 0 for j > i. scratch has room for t * (c + t) floats. */
void mw_causal_forward(float *message, float *weights, const float *q, const float *k, const float *value,
                       float *scratch, int t, int heads, int c);
void mw_causal_backward(float *dq, float *dk, float *dvalue, const float *dmessage, const float *weights,
                        const float *q, const float *k, const float *value, float *scratch, int t, int heads,
                        int c);

#include "nn/level.h"

#endif
