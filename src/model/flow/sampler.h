/* Drawing joint futures: K guided steps from noise to a trajectory, all candidates of all environments in one
 * batch. */
#ifndef MW_MODEL_FLOW_SAMPLER_H
#define MW_MODEL_FLOW_SAMPLER_H

#include "core/pool.h"
#include "model/flow/network.h"

typedef struct mw_sampler mw_sampler;

typedef struct mw_sampler_options {
    int steps;       /* K, 1..bins */
    float guidance;  /* omega: u_null + omega*(u_cond - u_null) */
    bool sequential; /* one candidate after the other on the calling thread: for the cost comparison, same
                        results */
} mw_sampler_options;

/* values and packed (forward matrices) belong to the caller and must outlive the sampler, as must the pool
 * (may be NULL). */
mw_status mw_sampler_create(mw_sampler **sampler, const mw_flow_net *net, const float *values,
                            const float *packed, mw_pool *pool, mw_error *error);
void mw_sampler_free(mw_sampler *sampler);
size_t mw_sampler_bytes(const mw_sampler *sampler);

/* out[count][T][n][o] from noise[count][T][n][o]; context[count][C][n][o] is clamped; target[count]. out may
 * be noise. Every candidate depends on its own inputs only: the bits are the same alone, in any batch and on
 * any number of threads. */
mw_status mw_sampler_run(mw_sampler *sampler, const mw_sampler_options *options, float *out,
                         const float *noise, const float *context, const float *target, int count,
                         mw_error *error);

#endif
