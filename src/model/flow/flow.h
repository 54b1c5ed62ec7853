/* The proposer as a model: a flow that draws joint futures from noise, conditioned on the return; its
 * settings, and how they become a network. */
#ifndef MW_MODEL_FLOW_FLOW_H
#define MW_MODEL_FLOW_FLOW_H

#include "model/flow/network.h"
#include "model/model.h"

typedef struct mw_flow_settings {
    int dim, mults[MW_LEVELS];
    int context, generated; /* C and T - C */
    bool attention_output, residual;
    int forecast, forecast_batch;
    bool forecast_return;
    double scale;
    mw_fit_settings fit;
    double average, drop, discount, return_scale;
} mw_flow_settings;

extern const mw_model_class mw_flow_class;

static inline const mw_flow_net *mw_flow_net_of(const mw_model *model) {
    return model->net;
}
static inline const mw_flow_settings *mw_flow_settings_of(const mw_model *model) {
    return (const mw_flow_settings *)(const void *)&model->config;
}

#endif
