/* The advantage of joint actions; see advantage.h. */
#include "model/advantage.h"

#include "model/units.h"

#include <string.h>

mw_status mw_advantage_net_make(mw_advantage_net *net, const mw_advantage_config *config, mw_error *error) {
    const int joint = config->agents * config->obs, act = config->agents * config->act;
    *net = (mw_advantage_net){.config = *config};
    if (config->features < 1 || config->features > 4096)
        return mw_fail(error, MW_ERR_ARGUMENT, "the advantage has %d features; it must be 1 to 4096",
                       config->features);
    mw_params *p = &net->params;
    net->mean = mw_params_add(p, "scale.mean", MW_PARAM_PLAIN, MW_INIT_ZERO, 0, joint, 0, 0);
    net->inverse = mw_params_add(p, "scale.inverse", MW_PARAM_PLAIN, MW_INIT_ZERO, 0, joint, 0, 0);
    net->project =
        mw_params_add(p, "feature.weight", MW_PARAM_PLAIN, MW_INIT_ZERO, 0, config->features, joint, 0);
    net->bias = mw_params_add(p, "feature.bias", MW_PARAM_PLAIN, MW_INIT_ZERO, 0, config->features, 0, 0);
    net->weight = mw_params_add(p, "gradient.weight", MW_PARAM_PLAIN, MW_INIT_ZERO, 0,
                                mw_advantage_terms(config), act, 0);
    if (!p->failed) return MW_OK;
    mw_advantage_net_free(net);
    return mw_fail(error, MW_ERR_MEMORY, "cannot allocate the table of the advantage");
}

void mw_advantage_net_free(mw_advantage_net *net) {
    mw_params_free(&net->params);
    *net = (mw_advantage_net){0};
}

void mw_advantage_gradient(const mw_advantage_net *net, const float *values, const float *obs, float *terms,
                           float *gradient) {
    const mw_advantage_config *c = &net->config;
    const int joint = c->agents * c->obs, act = c->agents * c->act;
    const float *mean = values + net->mean, *inverse = values + net->inverse;
    terms[0] = 1;
    for (int i = 0; i < joint; i++) terms[1 + i] = mw_units_of(obs[i], mean[i], inverse[i]);
    for (int f = 0; f < c->features; f++) {
        const float *row = values + net->project + (size_t)f * (size_t)joint;
        float sum = values[net->bias + (size_t)f];
        for (int i = 0; i < joint; i++) sum += row[i] * terms[1 + i];
        terms[1 + joint + f] = mw_advantage_bend(sum);
    }
    memset(gradient, 0, (size_t)act * sizeof *gradient);
    for (int t = 0; t < mw_advantage_terms(c); t++) {
        const float *row = values + net->weight + (size_t)t * (size_t)act;
        if (terms[t] == 0) continue;
        for (int k = 0; k < act; k++) gradient[k] += terms[t] * row[k];
    }
}
