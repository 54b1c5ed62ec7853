/* What world models see of an agent: its values, standardised or under a layer norm, what it knows of all
 * agents, and learned norm features. The routed model and those it is compared with have the same tokens. */
#ifndef MW_MODEL_TOKEN_H
#define MW_MODEL_TOKEN_H

#include "core/arena.h"
#include "data/stats.h"
#include "nn/param.h"

/* Standardisation constants of observations, actions, changes and rewards: not trained (their gradient is
 * zero, so they stay), but stored with the parameters. */
typedef struct mw_scales {
    size_t obs_mean, obs_scale, act_mean, act_scale, delta_mean, delta_scale, reward_mean, reward_scale;
} mw_scales;

mw_scales mw_scales_add(mw_params *params, int obs, int act);
void mw_scales_set(const mw_scales *scales, float *values, const mw_data_stats *stats);
/* out = (x - mean) / scale over n values. */
void mw_standardised(float *out, const float *x, const float *mean, const float *scale, int n);

/* A token: an agent's own values (and which agent it is, if all are in it), behind them what all agents
 * share: the mean of their values or all of them; then the learned norm features log(|W_k y|^2 + 1e-3) of
 * everything before, W_k of size 2 x D. */
typedef struct mw_token {
    int values, own, raw, features, size; /* own: values and agent; raw: what is shared too */
    size_t norm_w, norm_b;                /* layer norm of the raw part, paper's variant */
    mw_dense project;                     /* [raw][2*features]: first components, then second ones */
} mw_token;

typedef struct mw_token_acts {
    float *raw;       /* [rows][raw] before the layer norm (paper) */
    float *stats;     /* [rows][2] */
    float *projected; /* [rows][2*features] */
    float *y;         /* [rows][size] */
} mw_token_acts;

/* `identity` values say which agent it is, `shared` ones what all agents have. */
mw_token mw_token_make(mw_params *params, const char *prefix, int values, int identity, int shared,
                       int features, bool norm);
void mw_token_acts_take(const mw_token *token, mw_token_acts *acts, mw_arena *arena, size_t rows);
/* The norm features' start: lengths of pairs of neighbouring values of an observation that starts at value
 * `first` of the token, and of differences of such pairs; scale[obs] must be set. */
void mw_token_aim(const mw_token *token, float *values, const float *scale, int first, int obs);
/* y[rows][size] from raw[rows][raw], rows from `first` on. */
void mw_token_forward(const mw_token *token, const mw_token_acts *acts, const float *values,
                      const float *packed, bool standardise, int first, int rows);
/* From dtoken[rows][size] to the gradients of features and layer norm. dprojected: [rows][2*features + size],
 * scratch: of a product with 2*features columns. */
void mw_token_backward(const mw_token *token, const mw_token_acts *acts, float *dtoken, float *dprojected,
                       float *scratch, const float *values, float *grads, const float *packed,
                       bool standardise, int rows);

#endif
