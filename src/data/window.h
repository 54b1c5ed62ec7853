/* Segments of episodes as the proposer learns them: C observations of context that end at the current one,
 * then the future, normalised, with the return-to-go as the condition and, for the inverse dynamics, the
 * actions between. */
#ifndef MW_DATA_WINDOW_H
#define MW_DATA_WINDOW_H

#include "core/arena.h"
#include "nn/normalizer.h"
#include "data/split.h"

typedef struct mw_window_config {
    int context, future; /* C and the generated length: T = context + future observations */
    double discount;     /* of the return-to-go: 0.99 */
    double return_scale; /* which it is divided by */
    const mw_normalizer *obs_normalizer;
    const mw_normalizer *act_normalizer; /* NULL: actions are left as they are (discrete ones always are) */
} mw_window_config;

/* Time j of a row is step t - (C-1) + j of its episode, where t is the current step. Before the episode's
 * start its first observation stands in, after its end the last one. */
typedef struct mw_window_rows {
    int capacity, time; /* time: T */
    float *trajectory;  /* [capacity][T][n][o], normalised */
    float *target;   /* [capacity]: discounted return-to-go of the current step, mean over agents, scaled */
    float *act;      /* [capacity][T-1][n][d]: real actions between observations, 0 where padded; or NULL */
    int32_t *index;  /* [capacity][T-1][n]: discrete ones, 0 where padded; or NULL */
    uint8_t *legal;  /* [capacity][T-1][n][d]: all 1 where padded; NULL for real actions */
    float *mask;     /* [capacity][T-1]: 1 where both observations and the action are recorded */
    mw_place *place; /* [capacity]: current step of each row */
    mw_arena arena;
} mw_window_rows;

mw_status mw_window_rows_create(mw_window_rows *rows, const mw_dataset_spec *spec,
                                const mw_window_config *config, int capacity, mw_error *error);
void mw_window_rows_free(mw_window_rows *rows);

/* Row `row` becomes the segment with this current step. The data has passed mw_dataset_check. */
void mw_window_take(mw_window_rows *rows, int row, const mw_dataset *dataset, const mw_window_config *config,
                    mw_place place);

/* Rows 0..count-1: the batch of a training step, a pure function of the set, seed, step and use. */
void mw_window_fill(mw_window_rows *rows, int count, const mw_dataset *dataset,
                    const mw_window_config *config, const mw_episode_set *set, uint64_t seed, uint64_t step,
                    mw_batch_use use);

#endif
