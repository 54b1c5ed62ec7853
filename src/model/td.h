/* Learning by temporal differences: rewards of some steps, and after them what a slower copy of the network
 * expects, through which no gradient flows. Classes say what a row looks at and how far it sums. */
#ifndef MW_MODEL_TD_H
#define MW_MODEL_TD_H

#include "model/value.h"

/* Rows x[batch][inputs], the team's discounted rewards from there on, and the rows those lead to with the
 * discount of what is expected there: 0 where nothing follows. */
typedef struct mw_td_batch {
    float *x, *next, *sum, *discount;
    mw_arena arena;
} mw_td_batch;

/* What a training holds, first in a class's own state. Returns are (network * std + mean). */
typedef struct mw_td {
    float mean, std;
} mw_td;

typedef struct mw_td_area {
    mw_value_area value;
    float *target; /* [rows] */
} mw_td_area;

/* `slow`: how much of the average weights, which are the target's, stays in a step. */
void mw_td_open(mw_fit *fit, double slow);

/* The functions of an mw_fit_class, with slots of mw_td_batch and areas of mw_td_area. */
mw_status mw_td_slot_open(const mw_fit *fit, void *slot, mw_error *error);
void mw_td_slot_close(void *slot);
void mw_td_carve(const mw_fit *fit, void *area, mw_arena *arena, int rows);
void mw_td_loss(const mw_fit *fit, void *slot, void *area, int begin, int end, float *grads, double *losses);

#endif
