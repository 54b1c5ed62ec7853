/* The routed world model as a model: what a bundle holds, training trains and a scorer rolls out. */
#ifndef MW_MODEL_RWM_RWM_H
#define MW_MODEL_RWM_RWM_H

#include "model/model.h"
#include "model/rwm/network.h"

typedef struct mw_rwm_settings {
    int variant, hidden, experts, slots, reward_experts, top_k, reward_features, dynamics_features, shared;
    bool mean_agents, concat_agents;
    mw_fit_settings fit;
} mw_rwm_settings;

extern const mw_model_class mw_rwm_class;
extern const mw_scorer_class mw_rwm_scorer_class;

static inline const mw_world_net *mw_rwm_net(const mw_model *model) {
    return model->net;
}
static inline const mw_rwm_settings *mw_rwm_settings_of(const mw_model *model) {
    return (const mw_rwm_settings *)(const void *)&model->config;
}

/* A scorer straight from a network: the sum over steps and agents of predicted rewards. values and packed
 * (forward matrices) belong to the caller and must outlive it. Larger batches are scored in pieces. */
mw_status mw_world_scorer_create(mw_scorer **scorer, const mw_world_net *net, const float *values,
                                 const float *packed, int max_batch, mw_pool *pool, mw_error *error);

#endif
