/* One model in training: what the training loop, the log and the checkpoints need to know of it. */
#ifndef MW_MODEL_PART_H
#define MW_MODEL_PART_H

#include "core/pool.h"
#include "data/stats.h"
#include "nn/adam.h"

enum { MW_LOSSES = 6 }; /* of a part, at most */

/* What all of them learn from. */
typedef struct mw_training_data {
    const mw_dataset *dataset;
    mw_split split;
    mw_data_stats stats;                                  /* of the episodes that train */
    const mw_normalizer *obs_normalizer, *act_normalizer; /* the latter NULL for discrete actions */
    int horizon;                                          /* H of the plan that the bundle will have */
    uint64_t seed;
    mw_pool *pool;
    const mw_stop_flag *stop; /* may be NULL */
} mw_training_data;

typedef struct mw_training_part mw_training_part;
struct mw_training_part {
    const char *name;
    double cost; /* floating-point operations of a step, for the progress bar */
    /* The sum of the first `minimised` is what training minimises; 0: there is no such number, because groups
     * of weights minimise losses of their own. */
    int losses, minimised;
    const char *loss_names[MW_LOSSES];
    mw_optimizer *optimizer; /* NULL: the weights are solved for, straight into best_values */
    bool keeps_last;         /* the last weights count, and the average is only what training aims at */
    float *best_values;      /* of the step with the smallest loss on held-out episodes; NULL: not kept */
    size_t total;            /* floats of the weights */
    size_t passing;          /* bytes at most that steps take beside what it holds, and give back */

    /* progress; all of it is in checkpoints */
    long step, steps;
    double sums[MW_LOSSES]; /* of the steps since the last line of the log */
    long summed;
    double first;                /* the first line's loss; 0: not yet known */
    double held[MW_LOSSES];      /* last losses on held-out episodes */
    double best_held[MW_LOSSES]; /* those of the step where what is minimised was smallest */
    long best_step;              /* 0: none yet */

    /* Prepares for the steps from `step` on; may be NULL. */
    mw_status (*start)(mw_training_part *part, mw_error *error);
    /* Trains one step and gives its losses. Only long steps look at data->stop: MW_ERR_INTERRUPTED. */
    mw_status (*advance)(mw_training_part *part, double *losses, mw_error *error);
    /* Losses on held-out episodes, always on the same rows; NULL if there are none. */
    void (*validate)(mw_training_part *part, double *losses);
    void (*stop)(mw_training_part *part); /* safe to call twice; may be NULL */
    void (*destroy)(mw_training_part *part);
};

static inline void mw_training_part_free(mw_training_part *part) {
    if (part) part->destroy(part);
}

static inline double mw_training_part_loss(const mw_training_part *part, const double *losses) {
    double sum = 0;
    for (int i = 0; i < part->minimised; i++) sum += losses[i];
    return sum;
}

/* The weights that planning should use: the best ones where they are kept, else the average, else the last.
 */
static inline const float *mw_training_part_weights(const mw_training_part *part) {
    if (part->best_values && (part->best_step > 0 || !part->optimizer)) return part->best_values;
    return part->optimizer->average && !part->keeps_last ? part->optimizer->average : part->optimizer->values;
}

#endif
