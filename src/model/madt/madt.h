/* The multi-agent decision transformer: what its training and its play share. */
#ifndef MW_MODEL_MADT_MADT_H
#define MW_MODEL_MADT_MADT_H

#include "model/madt/network.h"
#include "model/model.h"

typedef struct mw_madt_settings {
    int window, width, heads, layers, times;
    double decay, return_scale, quantile, target;
    mw_fit_settings fit;
} mw_madt_settings;

static inline const mw_madt_settings *mw_madt_settings_of(const mw_model *model) {
    return (const mw_madt_settings *)(const void *)&model->config;
}

static inline const mw_madt_net *mw_madt_net_of(const mw_model *model) {
    return (const mw_madt_net *)model->net;
}

extern const mw_policy_class mw_madt_policy;

/* What an environment's agents were read last, [n][d]: logits, or actions. For verification. */
const float *mw_madt_outputs(const mw_policy *policy, int env);

#endif
