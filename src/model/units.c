/* Observations in units of their own; see units.h. */
#include "model/units.h"

mw_units mw_units_add(mw_params *p, const char *prefix, int size) {
    mw_units u = {.size = size};
    u.mean =
        mw_params_add(p, mw_name_of("%s.mean", prefix).text, MW_PARAM_PLAIN, MW_INIT_ZERO, 0, size, 0, 0);
    u.inverse =
        mw_params_add(p, mw_name_of("%s.inverse", prefix).text, MW_PARAM_PLAIN, MW_INIT_ONE, 0, size, 0, 0);
    return u;
}

void mw_units_set(const mw_units *u, float *values, const mw_moments *moments) {
    for (int k = 0; k < u->size; k++) {
        values[u->mean + (size_t)k] = (float)moments[k].mean;
        values[u->inverse + (size_t)k] = (float)(1 / moments[k].scale);
    }
}

void mw_units_apply(const mw_units *u, const float *values, const float *obs, float *x, int count) {
    const float *mean = values + u->mean, *inverse = values + u->inverse;
    for (int i = 0; i < count; i++) x[i] = mw_units_of(obs[i], mean[i % u->size], inverse[i % u->size]);
}
