/* Joint transitions drawn uniformly, in the raw numbers of the data: what world models learn from. */
#ifndef MW_DATA_TRANSITION_H
#define MW_DATA_TRANSITION_H

#include "core/arena.h"
#include "data/split.h"

typedef struct mw_transition_rows {
    int capacity;
    float *obs, *act, *next_obs; /* [capacity][n][o], [capacity][n][d] (one-hot if discrete), [capacity][n][o]
                                  */
    float *reward;               /* [capacity][n] */
    mw_place *place;             /* [capacity]: where each row comes from */
    mw_arena arena;
} mw_transition_rows;

mw_status mw_transition_rows_create(mw_transition_rows *rows, const mw_dataset_spec *spec, int capacity,
                                    mw_error *error);
void mw_transition_rows_free(mw_transition_rows *rows);

/* Rows 0..count-1: the batch of a training step, a pure function of the set, seed, step and use. The data has
 * passed mw_dataset_check. */
void mw_transition_fill(mw_transition_rows *rows, int count, const mw_dataset *dataset,
                        const mw_episode_set *set, uint64_t seed, uint64_t step, mw_batch_use use);

#endif
