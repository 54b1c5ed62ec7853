/* Candidates in the true simulator; see oracle.h. */
#include "plan/oracle.h"

#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What one worker executes in. */
typedef struct {
    mw_env *env;
    unsigned char *check; /* a snapshot's bytes, to compare */
    float *real, *rewards;
    int32_t *index;
    uint8_t *legal;
    mw_status status;
    mw_error error;
} bench;

struct mw_oracle {
    mw_pool *pool;
    int workers;
    bench *benches;
    size_t snapshot_size;
    unsigned char *snapshots; /* [capacity][snapshot_size] */
    int capacity;
    /* the call in progress */
    const mw_oracle_job *jobs;
    int count, candidates, horizon;
};

/* ---- set-up ---- */

static mw_status bench_create(bench *b, const char *task, const mw_env_options *options, mw_error *error) {
    MW_TRY(mw_env_create(&b->env, task, options, error));
    const mw_env_info *info = mw_env_describe(b->env);
    const size_t n = (size_t)info->agents, d = (size_t)info->act_size;
    b->check = malloc(mw_env_snapshot_size(b->env));
    b->rewards = calloc(n, sizeof *b->rewards);
    b->legal = calloc(n * d, 1);
    b->real = info->discrete ? NULL : calloc(n * d, sizeof *b->real);
    b->index = info->discrete ? calloc(n, sizeof *b->index) : NULL;
    if (!b->check || !b->rewards || !b->legal || (!b->real && !b->index))
        return mw_fail(error, MW_ERR_MEMORY, "cannot allocate an oracle for %s", task);
    return MW_OK;
}

mw_status mw_oracle_create(mw_oracle **out, const char *task, const mw_env_options *options, mw_pool *pool,
                           mw_error *error) {
    *out = NULL;
    mw_oracle *oracle = calloc(1, sizeof *oracle);
    if (!oracle) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate an oracle");
    oracle->pool = pool;
    oracle->workers = mw_pool_threads(pool);
    oracle->benches = calloc((size_t)oracle->workers, sizeof *oracle->benches);
    mw_status status =
        oracle->benches ? MW_OK : mw_fail(error, MW_ERR_MEMORY, "cannot allocate an oracle for %s", task);
    for (int w = 0; status == MW_OK && w < oracle->workers; w++)
        status = bench_create(&oracle->benches[w], task, options, error);
    if (status != MW_OK) {
        mw_oracle_free(oracle);
        return status;
    }
    oracle->snapshot_size = mw_env_snapshot_size(oracle->benches[0].env);
    *out = oracle;
    return MW_OK;
}

void mw_oracle_free(mw_oracle *oracle) {
    if (!oracle) return;
    for (int w = 0; oracle->benches && w < oracle->workers; w++) {
        bench *b = &oracle->benches[w];
        mw_env_free(b->env);
        free(b->check);
        free(b->real);
        free(b->rewards);
        free(b->index);
        free(b->legal);
    }
    free(oracle->benches);
    free(oracle->snapshots);
    free(oracle);
}

/* ---- executing ---- */

static int hottest(const float *one_hot, int d) {
    int best = 0;
    for (int k = 1; k < d; k++)
        if (one_hot[k] > one_hot[best]) best = k;
    return best;
}

/* The joint action as the simulator takes it. */
static mw_action admissible(bench *b, const mw_env_info *info, const float *action) {
    const int n = info->agents, d = info->act_size;
    if (!info->discrete) {
        for (int k = 0; k < n * d; k++) b->real[k] = fminf(1, fmaxf(-1, action[k])); /* NaN becomes -1 */
        return (mw_action){b->real, NULL};
    }
    mw_env_legal(b->env, b->legal);
    for (int i = 0; i < n; i++) {
        int choice = hottest(action + i * d, d);
        if (!b->legal[i * d + choice])
            for (choice = 0; choice < d - 1 && !b->legal[i * d + choice];) choice++;
        b->index[i] = choice;
    }
    return (mw_action){NULL, b->index};
}

static mw_status execute(bench *b, const float *actions, int horizon, float *score, float *path,
                         mw_error *error) {
    const mw_env_info *info = mw_env_describe(b->env);
    const size_t joint = (size_t)(info->agents * info->act_size);
    const size_t seen = (size_t)(info->agents * info->obs_size);
    mw_outcome outcome = {0};
    double sum = 0;
    int h = 0;
    for (; h < horizon && !outcome.terminated && !outcome.truncated; h++) {
        const mw_action action = admissible(b, info, actions + (size_t)h * joint);
        MW_TRY(mw_env_step(b->env, action, b->rewards, &outcome, error));
        for (int i = 0; i < info->agents; i++) sum += b->rewards[i];
        if (path) mw_env_observe(b->env, path + (size_t)h * seen);
    }
    for (; path && h < horizon; h++)
        memcpy(path + (size_t)h * seen, path + (size_t)(h - 1) * seen, seen * sizeof *path);
    *score = (float)sum;
    return MW_OK;
}

static mw_status run_one(mw_oracle *oracle, bench *b, int at) {
    const int m = at % oracle->candidates;
    const mw_oracle_job *job = &oracle->jobs[at / oracle->candidates];
    const unsigned char *snapshot =
        oracle->snapshots + (size_t)(at / oracle->candidates) * oracle->snapshot_size;
    const mw_env_info *info = mw_env_describe(b->env);
    MW_TRY(mw_env_restore(b->env, snapshot, oracle->snapshot_size, &b->error));
    if (m == 0) {
        mw_env_snapshot(b->env, b->check);
        if (memcmp(b->check, snapshot, oracle->snapshot_size))
            return mw_fail(&b->error, MW_ERR_MISMATCH,
                           "%s: a restored simulator does not give back the bytes of its snapshot",
                           info->task);
    }
    return execute(b, job->actions + (size_t)(m * oracle->horizon * info->agents * info->act_size),
                   oracle->horizon, &job->scores[m],
                   job->paths ? job->paths + (size_t)(m * oracle->horizon * info->agents * info->obs_size)
                              : NULL,
                   &b->error);
}

static void run_share(void *context, int worker) {
    mw_oracle *oracle = context;
    bench *b = &oracle->benches[worker];
    int begin, end;
    mw_pool_share(oracle->pool, worker, oracle->count * oracle->candidates, 1, &begin, &end);
    b->status = MW_OK;
    for (int at = begin; at < end && b->status == MW_OK; at++) b->status = run_one(oracle, b, at);
}

static mw_status make_room(mw_oracle *oracle, int count, mw_error *error) {
    if (count <= oracle->capacity) return MW_OK;
    unsigned char *snapshots = realloc(oracle->snapshots, (size_t)count * oracle->snapshot_size);
    if (!snapshots) return mw_fail(error, MW_ERR_MEMORY, "cannot keep %d snapshots", count);
    oracle->snapshots = snapshots;
    oracle->capacity = count;
    return MW_OK;
}

mw_status mw_oracle_score(mw_oracle *oracle, const mw_oracle_job *jobs, int count, int candidates,
                          int horizon, mw_error *error) {
    MW_TRY(make_room(oracle, count, error));
    for (int j = 0; j < count; j++) {
        if (mw_env_snapshot_size(jobs[j].env) != oracle->snapshot_size)
            return mw_fail(error, MW_ERR_MISMATCH, "an oracle of %s cannot execute in %s",
                           mw_env_describe(oracle->benches[0].env)->task, mw_env_describe(jobs[j].env)->task);
        mw_env_snapshot(jobs[j].env, oracle->snapshots + (size_t)j * oracle->snapshot_size);
    }
    oracle->jobs = jobs;
    oracle->count = count;
    oracle->candidates = candidates;
    oracle->horizon = horizon;
    mw_pool_run(oracle->pool, run_share, oracle);
    for (int w = 0; w < oracle->workers; w++)
        if (oracle->benches[w].status != MW_OK) {
            if (error) *error = oracle->benches[w].error;
            return oracle->benches[w].status;
        }
    return MW_OK;
}

/* ---- as a scorer ---- */

typedef struct {
    mw_scorer base;
    mw_oracle *oracle;
    mw_env *const *envs;
    mw_oracle_job *jobs; /* [count] */
    int count;
} oracle_scorer;

static void scorer_destroy(mw_scorer *base) {
    oracle_scorer *s = (oracle_scorer *)base;
    mw_oracle_free(s->oracle);
    free(s->jobs);
    free(s);
}

/* Worlds of another shape would read past the candidates that they are given. */
static mw_status check_worlds(const mw_scorer_context *context, mw_error *error) {
    const mw_model_shape *s = &context->models[0]->shape;
    for (int i = 0; i < context->env_count; i++) {
        if (!context->envs[i]) return mw_fail(error, MW_ERR_ARGUMENT, "envs_played[%d] is NULL", i);
        const mw_env_info *e = mw_env_describe(context->envs[i]);
        if (e->agents != s->agents || e->obs_size != s->obs || e->act_size != s->act ||
            e->discrete != s->discrete)
            return mw_fail(error, MW_ERR_MISMATCH,
                           "envs_played[%d] is %s with %d agents, %d observed values, %d actions; the bundle "
                           "has %d, %d, %d",
                           i, e->task, e->agents, e->obs_size, e->act_size, s->agents, s->obs, s->act);
    }
    return MW_OK;
}

static mw_status scorer_create(mw_scorer **out, const mw_scorer_context *context, mw_error *error) {
    *out = NULL;
    if (!context->envs)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "the scorer 'oracle' needs the environments that are played in");
    MW_TRY(check_worlds(context, error));
    oracle_scorer *s = calloc(1, sizeof *s);
    if (!s) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a scorer");
    *s = (oracle_scorer){.base = {&mw_oracle_class},
                         .envs = context->envs,
                         .count = context->env_count,
                         .jobs = calloc((size_t)context->env_count, sizeof *s->jobs)};
    mw_status status = s->jobs ? mw_oracle_create(&s->oracle, mw_env_describe(s->envs[0])->task,
                                                  context->env_options, context->pool, error)
                               : mw_fail(error, MW_ERR_MEMORY, "cannot allocate a scorer");
    if (status == MW_OK) status = make_room(s->oracle, s->count, error); /* decisions allocate nothing */
    if (status != MW_OK) {
        scorer_destroy(&s->base);
        return status;
    }
    *out = &s->base;
    return MW_OK;
}

static mw_status scorer_score(mw_scorer *base, const mw_scoring *call, mw_error *error) {
    oracle_scorer *s = (oracle_scorer *)base;
    const mw_env_info *info = mw_env_describe(s->envs[0]);
    const int groups = call->count / call->group;
    if (!call->envs || groups > s->count)
        return mw_fail(error, MW_ERR_ARGUMENT, "the simulator does not know whose candidates these are");
    for (int g = 0; g < groups; g++)
        s->jobs[g] = (mw_oracle_job){s->envs[call->envs[g]],
                                     call->actions + (size_t)(g * call->group * call->horizon) *
                                                         (size_t)(info->agents * info->act_size),
                                     call->scores + g * call->group,
                                     call->paths ? call->paths + (size_t)(g * call->group * call->horizon) *
                                                                     (size_t)(info->agents * info->obs_size)
                                                 : NULL};
    return mw_oracle_score(s->oracle, s->jobs, groups, call->group, call->horizon, error);
}

static size_t scorer_bytes(const mw_scorer *base) {
    const oracle_scorer *s = (const oracle_scorer *)base;
    return (size_t)s->oracle->capacity * s->oracle->snapshot_size;
}

const mw_scorer_class mw_oracle_class = {
    .name = "oracle",
    .help = "true return, by playing the candidates in copies of the simulator",
    .imagines = true,
    .simulates = true,
    .create = scorer_create,
    .score = scorer_score,
    .bytes = scorer_bytes,
    .destroy = scorer_destroy,
};
