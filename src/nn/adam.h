/* The optimiser: Adam, clipping by the global norm, exponential average of the weights, learning-rate
 * schedule. All work on flat arrays in the layout of the parameter table. */
#ifndef MW_NN_ADAM_H
#define MW_NN_ADAM_H

#include "core/arena.h"
#include "core/pool.h"

#include <stdbool.h>

typedef struct mw_adam {
    float rate, beta1, beta2, epsilon; /* 0.9, 0.999, 1e-8 are PyTorch's defaults */
    float clip;                        /* bound of the global gradient norm; 0: none */
    long step;                         /* steps taken */
    float decay;                       /* of the weights, apart from the gradient (AdamW); 0: none */
} mw_adam;

/* One step on values[n] with moments m[n], v[n]; grads are scaled by `scale` on the way (1, or from
 * clipping). A range [begin, end) may be updated on its own, by several threads; step is the number of this
 * step, from 1. */
void mw_adam_update(const mw_adam *adam, long step, float scale, float *values, const float *grads, float *m,
                    float *v, size_t begin, size_t end);

/* The factor that clips: 1, or clip/norm as PyTorch computes it. */
float mw_clip_scale(double norm, float clip);

/* average = decay*average + (1-decay)*values over [begin, end). */
void mw_ema_update(float *average, const float *values, float decay, size_t begin, size_t end);

/* Linear warm-up to 1, then a cosine from 1 to `floor` at `total`. */
float mw_schedule(long step, long warmup, long total, float floor);

/* ---- the whole step: values, moments, average, and gradients that were collected in shards ----
 * The number of shards is fixed by the work, not by the threads, and their gradients are added by one binary
 * tree over the shards: the bits do not depend on the number of workers. */

enum { MW_LEARNING_GROUPS = 4 }; /* of one optimiser, at most */

/* Weights that learn together: a run of the parameter table with a rate, a bound and a count of its own. */
typedef struct mw_group {
    mw_adam adam;
    float decay;       /* of the average; 0: it stays as it is */
    bool waits;        /* the average moves by mw_optimizer_follow alone, not with every step */
    size_t begin, end; /* floats of the table */
    double norm;       /* of the last gradient, before clipping */
    /* The table, if adam.decay is of its matrices alone; NULL: of all weights. */
    const struct mw_params *matrices;
} mw_group;

typedef struct mw_optimizer {
    mw_group group[MW_LEARNING_GROUPS];
    int groups;
    size_t total;
    int shards;
    float *values, *average, *m, *v; /* [total]; average: NULL if no group has a decay */
    float *grads;                    /* [shards][total] */
    double *partial;                 /* sums of squares of blocks of the gradient */
    mw_arena arena;
} mw_optimizer;

/* All weights as one group. */
static inline mw_group mw_group_whole(const mw_adam *adam, float decay, size_t total) {
    return (mw_group){.adam = *adam, .decay = decay, .end = total};
}

mw_status mw_optimizer_create(mw_optimizer *optimizer, const mw_group *groups, int count, size_t total,
                              int shards, mw_error *error);
void mw_optimizer_free(mw_optimizer *optimizer);
/* Called by every worker of a run, with all shards of the group complete: sums them into shard 0, clips,
 * updates values and, unless it waits, the average. A gradient that is not finite changes nothing but `norm`,
 * by which the caller can tell. Ends without a barrier. */
void mw_optimizer_step(mw_optimizer *optimizer, int group, mw_pool *pool, int worker);
/* The group's average moves towards its values. Called by every worker; ends without a barrier. */
void mw_optimizer_follow(mw_optimizer *optimizer, int group, mw_pool *pool, int worker);
/* Only the sum of all shards of a group into shard 0, by one worker. */
void mw_optimizer_sum(mw_optimizer *optimizer, int group);
double mw_optimizer_norm(const mw_optimizer *optimizer); /* the largest of the groups' */

#include "nn/level.h"

#endif
