/* Attention across agents: within one joint trajectory, per head, over features that span all time steps.
 * Sequences are time-major, [t][b*n][c]. */
#ifndef MW_NN_ATTENTION_H
#define MW_NN_ATTENTION_H

/* weights[b][heads][n][n] = softmax over the last axis of <q_a, k_a'> / sqrt(qk*t); q,k[t][b*n][heads*qk];
 * message[t][b*n][heads*v] = sum over a' of weights[a][a'] value[a'] */
void mw_attention_forward(float *message, float *weights, const float *q, const float *k, const float *value,
                          int t, int b, int n, int heads, int qk, int v);
void mw_attention_backward(float *dq, float *dk, float *dvalue, const float *dmessage, const float *weights,
                           const float *q, const float *k, const float *value, int t, int b, int n, int heads,
                           int qk, int v);

#include "nn/level.h"

#endif
