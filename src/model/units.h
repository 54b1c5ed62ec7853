/* Observations in units of their own: every feature minus its mean, over its standard deviation, and cut so
 * that nothing unseen counts without bound. The units lie among a model's weights and are not trained. */
#ifndef MW_MODEL_UNITS_H
#define MW_MODEL_UNITS_H

#include "data/stats.h"
#include "nn/param.h"

#include <math.h>

typedef struct mw_units {
    size_t mean, inverse; /* [size] each: of a feature, and 1 / its standard deviation */
    int size;
} mw_units;

/* prefix: "scale", or a name below it ("scale.next"), by which bundles know what stays in single precision.
 */
mw_units mw_units_add(mw_params *params, const char *prefix, int size);
/* moments[size]. */
void mw_units_set(const mw_units *units, float *values, const mw_moments *moments);
/* x[count] from obs[count], whose features repeat from agent to agent. */
void mw_units_apply(const mw_units *units, const float *values, const float *obs, float *x, int count);

static inline float mw_units_of(float value, float mean, float inverse) {
    const float cut = 4;
    return fminf(fmaxf((value - mean) * inverse, -cut), cut);
}

#endif
