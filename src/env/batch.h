/* What the library itself does with batches beyond the public interface. */
#ifndef MW_ENV_BATCH_H
#define MW_ENV_BATCH_H

#include "core/pool.h"
#include "env/env.h"

/* mw_script_act for every environment, over the batch's threads: seeds[count], real[count][n][d] or
 * index[count][n]. */
mw_status mw_env_batch_script(mw_env_batch *batch, const char *script, const uint64_t *seeds, float *real,
                              int32_t *index, mw_error *error);

#endif
