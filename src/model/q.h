/* The Q-ranker's batches, for its training and for checks of it. */
#ifndef MW_MODEL_Q_H
#define MW_MODEL_Q_H

#include "model/value.h"

/* Joint observations and actions x[batch][inputs], those that followed, rewards summed over agents, and 1
 * where nothing follows. */
typedef struct mw_q_batch {
    float *x, *next, *reward, *done;
} mw_q_batch;

#endif
