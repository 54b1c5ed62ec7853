/* Twin critics: two networks that value an agent's action where it is taken, so that the smaller of the two
 * can be trusted. Rows are [view, action]. */
#ifndef MW_MODEL_CRITIC_H
#define MW_MODEL_CRITIC_H

#include "model/actor.h"

typedef struct mw_twin {
    mw_mlp mlp[2]; /* tensors critic1.0, ... and critic2.0, ... */
    mw_view view;
    int act, inputs; /* d; of a row: those of the view, then d */
} mw_twin;

/* Values of a row before the units are known: joint: all agents' observations. */
int mw_twin_inputs(const mw_model_shape *shape, bool joint);
void mw_twin_add(mw_twin *twin, mw_params *params, const mw_model_shape *shape, bool joint, int hidden);
void mw_twin_pack(const mw_twin *twin, const float *values, float *packed, bool backward);

/* x[n][inputs] from a raw joint observation [n][o] and joint action [n][d]. */
void mw_twin_fill(const mw_twin *twin, const float *values, const float *obs, const float *act, float *x);
/* Another action in rows [rows][inputs]. */
void mw_twin_put(const mw_twin *twin, float *x, const float *act, int rows);
/* act's gradient [rows][d] += that of the rows. */
void mw_twin_take(const mw_twin *twin, float *gradient, const float *dx, int rows);

#endif
