/* What a joint action is worth in the long run, beyond what is usual in its state: the advantage, linear in
 * the action. The world model's sum of rewards ends with the horizon; this is learned from what recorded
 * deviations led to until the end (advantage_fit.h). Among candidates of one state only the gradient
 * matters. */
#ifndef MW_MODEL_ADVANTAGE_H
#define MW_MODEL_ADVANTAGE_H

#include "model/model.h"

typedef struct mw_advantage_config {
    int agents, obs, act;
    int features; /* random features of the joint observation, besides itself and a constant */
} mw_advantage_config;

typedef struct mw_advantage_net {
    mw_advantage_config config;
    mw_params params;
    size_t mean, inverse; /* [n*o]: mean and 1/standard deviation; 0 for what does not vary */
    size_t project, bias; /* [features][n*o], [features] */
    size_t weight;        /* [1 + n*o + features][n*d] */
} mw_advantage_net;

extern const mw_model_class mw_advantage_class;

mw_status mw_advantage_net_make(mw_advantage_net *net, const mw_advantage_config *config, mw_error *error);
void mw_advantage_net_free(mw_advantage_net *net);

/* Values of one joint observation that weights apply to: 1, the standardised observation, the features. */
static inline int mw_advantage_terms(const mw_advantage_config *config) {
    return 1 + config->agents * config->obs + config->features;
}

/* gradient[n][d] of the expected return in the joint action, at obs[n][o]; terms[mw_advantage_terms] is
 * scratch. */
void mw_advantage_gradient(const mw_advantage_net *net, const float *values, const float *obs, float *terms,
                           float *gradient);

/* The shape of a random feature: smooth, bounded and cheap. */
static inline float mw_advantage_bend(float x) {
    return x / (1 + (x < 0 ? -x : x));
}

#endif
