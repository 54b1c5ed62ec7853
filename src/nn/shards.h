/* Training in shards: a batch is cut into a fixed number of parts, workers compute loss and gradient of whole
 * parts, and the optimiser adds them in order. What a part computes is the network's business, in two
 * callbacks. */
#ifndef MW_NN_SHARDS_H
#define MW_NN_SHARDS_H

#include "nn/adam.h"

typedef struct mw_shards {
    mw_pool *pool;
    int threads, size; /* size: rows of a part */
    mw_optimizer optimizer;
    mw_arena own;
    float *packed;   /* the network's packed matrices */
    double *loss;    /* per part */
    mw_arena *areas; /* per worker, carved by the network */
} mw_shards;

/* Carves the area of a worker that has shards; called twice, first with an arena that only measures. */
typedef void mw_shards_carve(void *context, mw_arena *arena, int worker);

mw_status mw_shards_create(mw_shards *shards, size_t total, size_t packed, const mw_adam *adam, float decay,
                           int max_rows, int count, mw_pool *pool, mw_shards_carve *carve, void *context,
                           mw_error *error);
void mw_shards_free(mw_shards *shards);
size_t mw_shards_bytes(const mw_shards *shards);

/* Packs the worker's part of the matrices. */
typedef void mw_shards_pack(void *context, int worker);
/* The part [begin, end) of the batch: returns its contribution to the loss and adds its gradient to grads,
 * unless that is NULL. */
typedef double mw_shards_part(void *context, int worker, int begin, int end, float *grads);

typedef enum mw_step {
    MW_STEP_LOSS,     /* the loss alone */
    MW_STEP_GRADIENT, /* and the gradient, summed into shard 0 */
    MW_STEP_UPDATE    /* and of the weights a step along it */
} mw_step;

/* Over `rows` rows. Returns the loss. */
double mw_shards_step(mw_shards *shards, int rows, mw_step what, mw_shards_pack *pack, mw_shards_part *part,
                      void *context);

#endif
