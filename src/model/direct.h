/* The direct return predictor's windows and batches, for its training and for whatever else asks for returns
 * over some steps of recorded play. */
#ifndef MW_MODEL_DIRECT_H
#define MW_MODEL_DIRECT_H

#include "model/value.h"

/* A batch: x[batch][inputs], and the windows' returns in units of the training windows. */
typedef struct mw_direct_batch {
    float *x, *z;
    mw_arena arena;
} mw_direct_batch;

/* The starts of all windows of `horizon` steps in these episodes, counted as transitions are. */
mw_status mw_direct_windows(mw_episode_set *windows, const mw_dataset *dataset, const mw_episode_set *set,
                            int horizon, mw_error *error);
/* Undiscounted, over steps and agents. */
double mw_direct_return(const mw_dataset *dataset, mw_place place, int horizon);
/* Mean and standard deviation (floor 1e-6) of the returns of all windows, of which there is at least one. */
void mw_direct_units(const mw_dataset *dataset, const mw_episode_set *windows, int horizon, double *mean,
                     double *std);

#endif
