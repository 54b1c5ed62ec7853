/* One network in training: what the training loop, the log and the checkpoints need to know of it. There are
 * two, the policy (with its inverse dynamics) and the world model. */
#ifndef MW_TRAIN_PART_H
#define MW_TRAIN_PART_H

#include "core/pool.h"
#include "data/stats.h"
#include "nn/adam.h"
#include "train/preset.h"

enum { MW_PART_LOSSES = 3, MW_PARTS = 2 };

/* What both learn from. */
typedef struct mw_training_data {
    const mw_dataset *dataset;
    const mw_training_preset *preset;
    mw_split split;
    mw_data_stats stats; /* of the episodes that train */
    double return_scale, target;
    uint64_t seed;
    mw_pool *pool;
} mw_training_data;

typedef struct mw_training_part mw_training_part;
struct mw_training_part {
    const char *name; /* "policy", "world" */
    double cost;      /* floating-point operations of a step, for the progress bar */
    int losses;
    const char *loss_names[MW_PART_LOSSES]; /* the sum of the first two is what is minimised */
    const char *optimizer_names[2];
    mw_optimizer *optimizers[2]; /* the second may be NULL */

    /* progress; all of it is in checkpoints */
    long step, steps;
    double sums[MW_PART_LOSSES]; /* of the steps since the last line of the log */
    long summed;
    double first;                     /* the first line's loss; 0: not yet known */
    double held[MW_PART_LOSSES];      /* last losses on held-out episodes */
    double best_held[MW_PART_LOSSES]; /* those of the step where the first two were smallest */
    long best_step;                   /* 0: none yet */
    float *best_values; /* weights of that step in the first optimiser's layout; NULL: not kept */

    /* Prepares for the steps from `step` on. */
    mw_status (*start)(mw_training_part *part, mw_error *error);
    /* Trains one step and gives its losses. */
    void (*advance)(mw_training_part *part, double *losses);
    /* Losses on held-out episodes, always on the same rows; NULL if there are none. */
    void (*validate)(mw_training_part *part, double *losses);
    void (*stop)(mw_training_part *part); /* safe to call twice */
    void (*destroy)(mw_training_part *part);
};

/* The data must outlive the part. */
mw_status mw_policy_part_create(mw_training_part **part, const mw_training_data *data, mw_error *error);
mw_status mw_world_part_create(mw_training_part **part, const mw_training_data *data, mw_error *error);
static inline void mw_training_part_free(mw_training_part *part) {
    if (part) part->destroy(part);
}

/* The weights that planning should use: the best ones where they are kept, else the average, else the last.
 */
static inline const float *mw_training_part_weights(const mw_training_part *part, int optimizer) {
    const mw_optimizer *o = part->optimizers[optimizer];
    if (optimizer == 0 && part->best_values && part->best_step > 0) return part->best_values;
    return o->average ? o->average : o->values;
}

/* Adam's rate at a step: warm-up, then a cosine to 1% of it. */
static inline void mw_training_part_schedule(const mw_training_part *part, double rate, int warmup) {
    const float now = (float)rate * mw_schedule(part->step, warmup, part->steps, 0.01f);
    for (int i = 0; i < 2; i++)
        if (part->optimizers[i]) part->optimizers[i]->adam.rate = now;
}

#endif
