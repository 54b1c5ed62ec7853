/* Training of the proposer: the surrogate velocity loss on batches of trajectories, gradients in fixed shards
 * of the batch, Adam, average of the weights. Where batches come from is the caller's business. */
#ifndef MW_MODEL_FLOW_TRAINER_H
#define MW_MODEL_FLOW_TRAINER_H

#include "core/pool.h"
#include "nn/shards.h"
#include "model/flow/network.h"

/* Everything random is given, so a step is a pure function of its inputs. */
typedef struct mw_flow_batch {
    int count;
    const float *trajectory;   /* tau   [count][T][n][o], normalised */
    const float *noise;        /* xi1   [count][T][n][o] */
    const float *rho, *lambda; /* [count], rho <= lambda in [0,1] */
    const float *target;       /* return condition [count] */
    const float *keep;         /* [count]: 0 drops the condition */
    int forecasts;             /* of the forecast's own batch, at most max_forecasts; 0 without a forecast */
    const float *outlook;      /* [forecasts][1 + T - C][n][o], normalised: the present and what follows */
    const float *outlook_target; /* [forecasts]: return condition, for a forecast that sees it */
} mw_flow_batch;

/* A batch as the flow's training draws it (flow.c). */
struct mw_fit;
mw_flow_batch mw_flow_batch_of(const struct mw_fit *fit, const void *slot);

typedef struct mw_flow_trainer mw_flow_trainer;

/* max_batch is split into `shards` parts of equal size (rounded up). The net must outlive the trainer; pool
 * may be NULL. */
mw_status mw_flow_trainer_create(mw_flow_trainer **trainer, const mw_flow_net *net, const mw_adam *adam,
                                 float decay, int max_batch, int max_forecasts, int shards, mw_pool *pool,
                                 mw_error *error);
void mw_flow_trainer_free(mw_flow_trainer *trainer);
mw_optimizer *mw_flow_trainer_optimizer(mw_flow_trainer *trainer);
size_t mw_flow_trainer_bytes(const mw_flow_trainer *trainer);

/* One step on at most max_batch trajectories, or less of it; an empty batch changes nothing. Returns the
 * loss. */
double mw_flow_trainer_step(mw_flow_trainer *trainer, const mw_flow_batch *batch, mw_step what);
/* The forecast's own loss in the last step: the mean square of what it leaves of the changes. */
double mw_flow_trainer_forecast(const mw_flow_trainer *trainer);

/* Floating-point operations of a step on a batch where `apart` of `count` rows have rho != lambda. */
double mw_flow_trainer_flops(const mw_flow_net *net, int count, int apart, int forecasts);

#endif
