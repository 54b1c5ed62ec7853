/* Inside the velocity network: the values that a forward pass leaves behind, for the backward that mirrors
 * it. */
#ifndef MW_MODEL_FLOW_ACTS_H
#define MW_MODEL_FLOW_ACTS_H

#include "model/flow/network.h"

typedef struct mw_res_acts {
    const float *x;                    /* input of the last forward pass */
    float *conv1, *hidden, *conv2, *y; /* [t][s][out] */
    float *stats1, *stats2, *time;     /* [s][groups][2], [b][out] */
} mw_res_acts;

typedef struct mw_attention_acts {
    const float *x;
    float *q, *k, *value, *message, *projected, *y; /* [t][s][.] */
    float *q_time, *k_time, *value_time;            /* [b][.] */
    float *weights;                                 /* [b][heads][n][n] */
} mw_attention_acts;

struct mw_flow_acts {
    float *input;                               /* [t][s][o] */
    float *sinus, *time_hidden, *time_active;   /* [b][dim], [b][4dim] x2 */
    float *return_hidden[2], *return_active[2]; /* [b][dim], [b][4dim] */
    float *halves[2];                           /* [b][dim]: outputs of the two embeddings */
    float *emb, *emb_active;                    /* [b][2dim] */
    mw_res_acts down[MW_LEVELS][2], middle[2], up[MW_LEVELS - 1][2];
    float *shrunk[MW_LEVELS - 1], *joined[MW_LEVELS - 1], *grown[MW_LEVELS - 1];
    mw_attention_acts middle_attention, skip_attention[MW_LEVELS - 1];
    float *final_conv, *final_stats, *final_hidden, *velocity;
    mw_mlp_acts forecast;
    /* backward: scratch of the dense layers, gradients of activations (0, 1: the main path; 2, 3: inside
     * blocks; 4, 5: inside attention; 6: the skip), of the skips, of emb_active, and sums per joint
     * trajectory */
    float *pack, *grad[7], *skip_grad[MW_LEVELS], *demb, *joint_sums, *joint_grad;
};

#endif
