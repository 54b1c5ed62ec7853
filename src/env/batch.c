/* Many environments of one task stepped as one batch. Every worker of a thread pool takes a contiguous share
 * of the environments and writes straight into the caller's arrays, so results do not depend on the number of
 * threads. */
#include "core/pool.h"
#include "core/numbers.h"
#include "env/env.h"

#include <stdlib.h>

/* Per worker, so that the first failing environment can be named whatever order the workers run in. Written
 * only on failure or when another number of episodes ended than before, so that nothing travels between cores
 * in other steps. */
typedef struct {
    int index; /* of the failing environment; -1: none */
    int ended; /* episodes in the last step */
    mw_error error;
} failure;

struct mw_env_batch {
    int count;
    int obs_stride, legal_stride, real_stride, index_stride; /* values of one environment */
    int agents;
    mw_env **envs;
    mw_pool *pool; /* NULL: the caller's thread alone */
    bool owns_pool;
    failure *failures;
};

void mw_env_batch_free(mw_env_batch *batch) {
    if (!batch) return;
    for (int i = 0; batch->envs && i < batch->count; i++) mw_env_free(batch->envs[i]);
    if (batch->owns_pool) mw_pool_free(batch->pool);
    free(batch->envs);
    free(batch->failures);
    free(batch);
}

typedef struct {
    mw_env_batch *batch;
    mw_env_make *make;
    const void *context;
} create_job;

/* Every worker makes the environments that it will step: then they lie in memory of its own, away from what
 * the others write and their processors fetch ahead. */
static void create_share(void *context, int worker) {
    const create_job job = *(const create_job *)context;
    failure *failed = &job.batch->failures[worker];
    int begin, end;
    mw_pool_share(job.batch->pool, worker, job.batch->count, 1, &begin, &end);
    failed->index = -1;
    for (int i = begin; i < end && failed->index < 0; i++)
        if (job.make(&job.batch->envs[i], job.context, &failed->error) != MW_OK) failed->index = i;
}

mw_status mw_env_batch_create_by(mw_env_batch **out, mw_env_make *make, const void *context, int count,
                                 mw_pool *pool, mw_error *error) {
    *out = NULL;
    if (count < 1 || count > 1 << 24)
        return mw_fail(error, MW_ERR_ARGUMENT, "a batch has 1 to %d environments; got %d", 1 << 24, count);
    mw_env_batch *batch = calloc(1, sizeof *batch);
    if (!batch) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a batch");
    mw_status status = MW_OK;
    batch->count = count;
    batch->pool = pool;
    batch->envs = calloc((size_t)count, sizeof *batch->envs);
    batch->failures = calloc((size_t)mw_pool_threads(pool), sizeof *batch->failures);
    if (!batch->envs || !batch->failures)
        status = mw_fail(error, MW_ERR_MEMORY, "cannot allocate a batch of %d environments", count);
    if (status == MW_OK) mw_pool_run(pool, create_share, &(create_job){batch, make, context});
    for (int worker = 0; status == MW_OK && worker < mw_pool_threads(pool); worker++) {
        const failure *failed = &batch->failures[worker];
        if (failed->index < 0) continue;
        if (error) *error = failed->error; /* the same whichever environment it is */
        status = failed->error.status;
    }
    if (status != MW_OK) {
        mw_env_batch_free(batch);
        return status;
    }
    const mw_env_info *info = mw_env_describe(batch->envs[0]);
    batch->agents = info->agents;
    batch->obs_stride = info->agents * info->obs_size;
    batch->legal_stride = batch->real_stride = info->agents * info->act_size;
    batch->index_stride = info->agents;
    *out = batch;
    return MW_OK;
}

typedef struct {
    const char *task;
    const mw_env_options *options;
} task_env;

static mw_status make_task_env(mw_env **env, const void *context, mw_error *error) {
    const task_env *wanted = context;
    return mw_env_create(env, wanted->task, wanted->options, error);
}

mw_status mw_env_batch_create_on(mw_env_batch **out, const char *task, const mw_env_options *options,
                                 int count, mw_pool *pool, mw_error *error) {
    return mw_env_batch_create_by(out, make_task_env, &(task_env){task, options}, count, pool, error);
}

mw_status mw_env_batch_create(mw_env_batch **out, const char *task, const mw_env_options *options, int count,
                              int threads, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED_AS(out, "batch");
    *out = NULL;
    MW_NEED(task);
    mw_pool *pool = NULL;
    if (threads != 1) MW_TRY(mw_pool_create(&pool, threads, error));
    const mw_status status = mw_env_batch_create_on(out, task, options, count, pool, error);
    if (status == MW_OK)
        (*out)->owns_pool = true;
    else
        mw_pool_free(pool);
    return status;
}

mw_env **mw_env_batch_envs(mw_env_batch *batch) {
    return batch->envs;
}

mw_env *mw_env_batch_get(mw_env_batch *batch, int index) {
    return index >= 0 && index < batch->count ? batch->envs[index] : NULL;
}

/* Into a row of the caller's arrays. */
static void look(const mw_env_batch *batch, int i, int row, float *obs, uint8_t *legal) {
    if (obs) mw_env_observe(batch->envs[i], obs + (size_t)row * (size_t)batch->obs_stride);
    if (legal) mw_env_legal(batch->envs[i], legal + (size_t)row * (size_t)batch->legal_stride);
}

/* The jobs below live on the caller's stack, next to what the caller goes on writing. Workers copy them
 * first, so that no cache line travels back and forth during the work. */

/* ---- reset ---- */

typedef struct {
    mw_env_batch *batch;
    const uint64_t *seeds;
    const uint8_t *mask;
    float *obs;
    uint8_t *legal;
} reset_job;

static void reset_share(void *context, int worker) {
    const reset_job job = *(const reset_job *)context;
    int begin, end;
    mw_pool_share(job.batch->pool, worker, job.batch->count, 1, &begin, &end);
    for (int i = begin; i < end; i++) {
        mw_env *env = job.batch->envs[i];
        if (!job.mask || job.mask[i]) mw_env_reset(env, job.seeds ? job.seeds[i] : env->base.seed);
        look(job.batch, i, i, job.obs, job.legal);
    }
}

void mw_env_batch_reset(mw_env_batch *batch, const uint64_t *seeds, const uint8_t *mask, float *obs,
                        uint8_t *legal) {
    reset_job job = {batch, seeds, mask, obs, legal};
    mw_pool_run(batch->pool, reset_share, &job);
}

/* ---- step ---- */

typedef struct {
    mw_env_batch *batch;
    int first; /* environment of the arrays' first row */
    mw_action action;
    float *rewards;
    mw_outcome *outcomes;
    float *obs;
    uint8_t *legal;
    float *last_obs;
    uint64_t *seeds;     /* NULL: ended episodes stay as they are */
    const uint8_t *mask; /* NULL: all are stepped */
} step_job;

static bool over(const mw_outcome *outcome) {
    return outcome->terminated || outcome->truncated;
}

static void begin_next(const step_job *job, int i, int row) {
    const mw_env_batch *batch = job->batch;
    const size_t stride = (size_t)batch->obs_stride;
    if (job->last_obs) mw_env_observe(batch->envs[i], job->last_obs + (size_t)row * stride);
    job->seeds[row] += (uint64_t)batch->count;
    mw_env_reset(batch->envs[i], job->seeds[row]);
}

/* How many episodes ended. */
static int step_range(const step_job *job, int begin, int end, failure *failed) {
    mw_env_batch *batch = job->batch;
    int ended = 0;
    for (int i = begin; i < end; i++) {
        const int row = i - job->first;
        if (job->mask && !job->mask[row]) continue;
        mw_action action = {
            job->action.real ? job->action.real + (size_t)row * (size_t)batch->real_stride : NULL,
            job->action.index ? job->action.index + (size_t)row * (size_t)batch->index_stride : NULL};
        mw_error *error = failed->index < 0 ? &failed->error : NULL;
        mw_status status =
            mw_env_step(batch->envs[i], action, job->rewards + (size_t)row * (size_t)batch->agents,
                        &job->outcomes[row], error);
        if (status != MW_OK && failed->index < 0) failed->index = i;
        if (status == MW_OK && over(&job->outcomes[row])) {
            ended++;
            if (job->seeds) begin_next(job, i, row);
        }
        look(batch, i, row, job->obs, job->legal);
    }
    return ended;
}

static void step_share(void *context, int worker) {
    const step_job job = *(const step_job *)context;
    int begin, end;
    mw_pool_share(job.batch->pool, worker, job.batch->count, 1, &begin, &end);
    failure *failed = &job.batch->failures[worker];
    const int ended = step_range(&job, begin, end, failed);
    if (failed->ended != ended) failed->ended = ended;
}

static mw_status tell(const failure *failed, mw_error *error) {
    if (error) *error = failed->error;
    return mw_fail_within(error, failed->error.status, "environment %d", failed->index);
}

/* Of the workers in order, and so of the environments; forgets them all. */
static mw_status first_failure(mw_env_batch *batch, mw_error *error) {
    mw_status status = MW_OK;
    for (int worker = 0; worker < mw_pool_threads(batch->pool); worker++) {
        failure *failed = &batch->failures[worker];
        if (failed->index >= 0 && status == MW_OK) status = tell(failed, error);
        if (failed->index >= 0) failed->index = -1;
    }
    return status;
}

mw_status mw_env_batch_step_some(mw_env_batch *batch, const uint8_t *mask, mw_action action, float *rewards,
                                 mw_outcome *outcomes, float *obs, uint8_t *legal, mw_error *error) {
    step_job job = {batch, 0, action, rewards, outcomes, obs, legal, NULL, NULL, mask};
    mw_pool_run(batch->pool, step_share, &job);
    return first_failure(batch, error);
}

mw_status mw_env_batch_step_share(mw_env_batch *batch, int first, int count, const uint8_t *mask,
                                  mw_action action, float *rewards, mw_outcome *outcomes, float *obs,
                                  uint8_t *legal, mw_error *error) {
    const step_job job = {batch, first, action, rewards, outcomes, obs, legal, NULL, NULL, mask};
    failure failed = {.index = -1};
    step_range(&job, first, first + count, &failed);
    return failed.index < 0 ? MW_OK : tell(&failed, error);
}

mw_status mw_env_batch_step(mw_env_batch *batch, mw_action action, float *rewards, mw_outcome *outcomes,
                            float *obs, uint8_t *legal, mw_error *error) {
    MW_NEED(batch);
    MW_NEED(rewards);
    MW_NEED(outcomes);
    return mw_env_batch_step_some(batch, NULL, action, rewards, outcomes, obs, legal, error);
}

mw_status mw_env_batch_advance(mw_env_batch *batch, mw_env_batch_arrays *arrays, mw_error *error) {
    MW_NEED(batch);
    MW_NEED(arrays);
    MW_NEED(arrays->rewards);
    MW_NEED(arrays->outcomes);
    step_job job = {batch,
                    0,
                    arrays->action,
                    arrays->rewards,
                    arrays->outcomes,
                    arrays->obs,
                    arrays->legal,
                    arrays->last_obs,
                    arrays->seeds,
                    NULL};
    mw_pool_run(batch->pool, step_share, &job);
    arrays->ended = 0;
    for (int k = 0; k < mw_pool_threads(batch->pool); k++) arrays->ended += batch->failures[k].ended;
    return first_failure(batch, error);
}

/* ---- scripts ---- */

typedef struct {
    mw_env_batch *batch;
    const char *script;
    const uint64_t *seeds;
    float *real;
    int32_t *index;
} script_job;

static void script_share(void *context, int worker) {
    const script_job job = *(const script_job *)context;
    mw_env_batch *batch = job.batch;
    failure *failed = &batch->failures[worker];
    int begin, end;
    mw_pool_share(batch->pool, worker, batch->count, 1, &begin, &end);
    for (int i = begin; i < end; i++) {
        float *real = job.real ? job.real + (size_t)i * (size_t)batch->real_stride : NULL;
        int32_t *index = job.index ? job.index + (size_t)i * (size_t)batch->index_stride : NULL;
        mw_error *error = failed->index < 0 ? &failed->error : NULL;
        mw_status status = mw_script_act(batch->envs[i], job.script, job.seeds[i], real, index, error);
        if (status != MW_OK && failed->index < 0) failed->index = i;
    }
}

mw_status mw_env_batch_script(mw_env_batch *batch, const char *script, const uint64_t *seeds, float *real,
                              int32_t *index, mw_error *error) {
    MW_NEED(batch);
    MW_NEED(script);
    MW_NEED(seeds);
    script_job job = {batch, script, seeds, real, index};
    mw_pool_run(batch->pool, script_share, &job);
    return first_failure(batch, error);
}
