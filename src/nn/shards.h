/* Training in shards: a batch is cut into a number of parts that the work fixes, workers compute loss and
 * gradient of whole parts, and the optimiser adds them by one tree. What a part computes is the network's
 * business, in callbacks. */
#ifndef MW_NN_SHARDS_H
#define MW_NN_SHARDS_H

#include "nn/adam.h"

typedef struct mw_shards {
    mw_pool *pool;
    int threads, size; /* size: rows of a part */
    bool apart;        /* every part has an area of its own, which it finds again; otherwise every worker */
    mw_optimizer optimizer;
    mw_arena own;
    float *packed;   /* the network's packed matrices */
    double *loss;    /* per part */
    mw_arena *areas; /* carved by the network */
} mw_shards;

/* Carves an area; called twice, first with an arena that only measures. */
typedef void mw_shards_carve(void *context, mw_arena *arena, int area);

typedef struct mw_shards_shape {
    size_t total, packed; /* floats of the weights, and of their packed matrices */
    const mw_group *groups;
    int group_count;
    int max_rows, count; /* of a batch, which is cut into so many parts */
    bool apart;
} mw_shards_shape;

mw_status mw_shards_create(mw_shards *shards, const mw_shards_shape *shape, mw_pool *pool,
                           mw_shards_carve *carve, void *context, mw_error *error);
void mw_shards_free(mw_shards *shards);
size_t mw_shards_bytes(const mw_shards *shards);

/* Packs the worker's part of the matrices. */
typedef void mw_shards_pack(void *context, int worker);
/* The part [begin, end) of the batch: returns its contribution to the loss and adds its gradient to grads,
 * unless that is NULL. */
typedef double mw_shards_part(void *context, int area, int begin, int end, float *grads);

/* What a group of weights does in a step. */
typedef struct mw_shards_turn {
    int group;
    mw_shards_pack *pack;
    mw_shards_part *look;          /* over all parts before any gradient; NULL: nothing */
    void (*settle)(void *context); /* after it, by one worker: what depends on the whole batch */
    mw_shards_part *part;
} mw_shards_turn;

typedef enum mw_step {
    MW_STEP_LOSS,     /* the loss alone */
    MW_STEP_GRADIENT, /* and the gradient, summed into shard 0 */
    MW_STEP_UPDATE    /* and of the weights a step along it */
} mw_step;

/* Over `rows` rows. Returns the loss. */
double mw_shards_step(mw_shards *shards, int rows, mw_step what, const mw_shards_turn *turn, void *context);
/* The averages of these groups move, 1 << group. */
void mw_shards_follow(mw_shards *shards, unsigned groups);

#endif
