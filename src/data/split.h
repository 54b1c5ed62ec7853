/* Which episodes train and which are held out, and uniform draws of a place to learn from among them. Whole
 * episodes are held out, because neighbouring steps of one episode are almost copies of each other. */
#ifndef MW_DATA_SPLIT_H
#define MW_DATA_SPLIT_H

#include "core/rng.h"
#include "data/dataset.h"

/* Some episodes of a dataset and all their transitions in one line. The last step of an episode is a
 * transition only if the observation after it is known. */
typedef struct mw_episode_set {
    long count;
    long *episodes;  /* [count], ascending */
    int64_t *starts; /* [count + 1]: transitions before each; the last is `transitions` */
    int64_t transitions;
} mw_episode_set;

typedef struct mw_split {
    mw_episode_set train, held;
} mw_split;

#define MW_HELD_OUT 0.1

/* A share of the episodes (rounded, at least one of two or more) is held out: a pure function of the number
 * of episodes and the seed. */
mw_status mw_split_make(mw_split *split, const mw_dataset *dataset, double share, uint64_t seed,
                        mw_error *error);
void mw_split_free(mw_split *split); /* safe to call twice */

mw_status mw_episode_set_all(mw_episode_set *set, const mw_dataset *dataset, mw_error *error);
/* The same episodes with other places to learn from: the first count(dataset, episode, argument) steps of
 * each. */
mw_status mw_episode_set_of(mw_episode_set *set, const mw_dataset *dataset, const mw_episode_set *from,
                            long (*count)(const mw_dataset *dataset, long episode, int argument),
                            int argument, mw_error *error);
void mw_episode_set_free(mw_episode_set *set);

long mw_dataset_transitions(const mw_dataset *dataset, long episode);

typedef struct mw_place {
    long episode, t;
} mw_place;

mw_place mw_episode_set_at(const mw_episode_set *set, int64_t transition);
mw_place mw_episode_set_draw(const mw_episode_set *set, mw_rng *rng); /* the set must not be empty */

/* The stream of random numbers for row `row` of the batch of training step `step`: batches are pure functions
 * of seed and step, so that a resumed training sees the same ones. Different `use`s are independent. */
typedef enum mw_batch_use {
    MW_BATCH_POLICY,
    MW_BATCH_WORLD,
    MW_BATCH_VALIDATION,
    MW_BATCH_RETURN,
    MW_BATCH_FORECAST,
    MW_BATCH_INVERSE,
    MW_BATCH_Q,
    MW_BATCH_VALUE,
    MW_BATCH_CLONE,
    MW_BATCH_TRANSITION,
    MW_BATCH_HISTORY,
    MW_BATCH_PROMISE
} mw_batch_use;
mw_rng mw_batch_rng(uint64_t seed, uint64_t step, int row, mw_batch_use use);

#endif
