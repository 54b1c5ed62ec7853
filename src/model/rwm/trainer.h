/* Training of the world model: next observation, rewards and balanced routing on batches of joint
 * transitions. Workers divide experts and rows; sums are in a fixed order, so the bits do not
 * depend on their number. */
#ifndef MW_MODEL_RWM_TRAINER_H
#define MW_MODEL_RWM_TRAINER_H

#include "nn/adam.h"
#include "model/rwm/network.h"

typedef struct mw_transition_batch {
    int count;
    const float *obs, *act, *next_obs; /* [count][n][o], [count][n][d] (one-hot if discrete), [count][n][o] */
    const float *reward;               /* [count][n] */
} mw_transition_batch;

typedef struct mw_world_loss {
    double total, dynamics, reward, balance; /* total = dynamics + reward + 0.01*balance */
} mw_world_loss;

typedef struct mw_world_trainer mw_world_trainer;

mw_status mw_world_trainer_create(mw_world_trainer **trainer, const mw_world_net *net, const mw_adam *adam,
                                  float decay, int max_batch, mw_pool *pool, mw_error *error);
void mw_world_trainer_free(mw_world_trainer *trainer);
mw_optimizer *mw_world_trainer_optimizer(mw_world_trainer *trainer);
size_t mw_world_trainer_bytes(const mw_world_trainer *trainer);

/* One step on at most max_batch transitions; an empty batch changes nothing. update=false computes loss and
 * gradient (shard 0 of the optimiser's) and leaves the weights. */
mw_world_loss mw_world_trainer_step(mw_world_trainer *trainer, const mw_transition_batch *batch, bool update);

/* Forward only, with the current weights or, if one is kept, their average. */
mw_world_loss mw_world_trainer_loss(mw_world_trainer *trainer, const mw_transition_batch *batch,
                                    bool average);

double mw_world_trainer_flops(const mw_world_net *net, int count);

#endif
