/* Joint transitions drawn uniformly, in the raw numbers of the data: what world models, critics and policies
 * learn from. */
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

/* ---- for learners of policies and critics ---- */

/* Which steps of an episode a method can learn from. After a step that ended the episode nothing follows, and
 * nothing need be known; after one that the limit cut off, the next action and what would be legal then are
 * never recorded, the next observation sometimes. */
typedef enum mw_transition_need {
    MW_NEED_STEP,       /* the step itself: all of them */
    MW_NEED_NEXT_OBS,   /* what is seen after it */
    MW_NEED_NEXT_ACTION /* what is done, and may be done, after it */
} mw_transition_need;

/* The steps among `from` that give what is needed; fails where there are none. */
mw_status mw_transition_set(mw_episode_set *set, const mw_dataset *dataset, const mw_episode_set *from,
                            mw_transition_need need, mw_error *error);

/* One row of each array that is not NULL is written. Where the episode ended with this step, what follows is
 * all zeros. */
typedef struct mw_transition {
    float *obs, *next_obs;         /* [n][o] */
    float *act, *next_act;         /* [n][d], one-hot if discrete */
    int32_t *index, *next_index;   /* [n]: discrete actions */
    uint8_t *legal, *next_legal;   /* [n][d]; all 1 where actions are real */
    float *reward;                 /* [n] */
    float *end;                    /* 1: the world ended the episode with this step */
    float *to_go, *episode_return; /* [n]: undiscounted, from this step on and of the episode */
} mw_transition;

void mw_transition_take(const mw_transition *row, const mw_dataset *dataset, mw_place place);

#endif
