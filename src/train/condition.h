/* What the return condition means for a dataset: the scale that brings returns-to-go to about [0, 1] (or
 * [-1, 1] where there are losses) and the target that asks for the best of what the data shows. */
#ifndef MW_TRAIN_CONDITION_H
#define MW_TRAIN_CONDITION_H

#include "data/split.h"

typedef struct mw_condition {
    double scale;  /* 0.99 quantile of the size of the return-to-go at all steps; 1 if that is 0 */
    double target; /* quantile of the return-to-go at the episodes' starts, divided by `scale` */
} mw_condition;

/* scale > 0 is taken as it is instead of being measured. */
mw_status mw_condition_of(mw_condition *condition, const mw_dataset *dataset, const mw_episode_set *set,
                          double discount, double scale, double quantile, mw_error *error);

#endif
