/* Playing behaviours; see play.h. */
#include "behavior/play.h"

#include "core/numbers.h"
#include "core/options.h"
#include "env/env.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What random streams of an episode are for: the last index of mw_rng_make. */
enum { STREAM_WORLD, STREAM_POLICY };

/* An episode of a wave; its arrays are NULL when nothing is recorded. */
typedef struct {
    float *obs, *real, *rewards;
    int32_t *index;
    uint8_t *legal;
    mw_played played;
} seat;

/* What a thread plays a group in: its environments of the batch, and their present. */
typedef struct {
    mw_actor_work work;
    float *obs, *packed; /* [group][n][o]: of all, and of those that still play */
    float *real;         /* [group][n][d] */
    float *rewards;      /* [group][n] */
    int32_t *index;      /* [group][n] */
    uint8_t *legal;      /* [group][n][d] */
    uint8_t live[MW_PLAY_GROUP];
    mw_outcome outcomes[MW_PLAY_GROUP];
    mw_error error;
} area;

struct mw_player {
    const mw_behavior *behavior;
    uint64_t seed;
    mw_pool *pool;
    int threads, groups;
    bool record;
    mw_env_batch *batch; /* a group of environments for each thread */
    mw_env_info info;
    long next;   /* number of the next episode */
    seat *seats; /* [groups * MW_PLAY_GROUP] */
    area *areas; /* [threads] */
    mw_played *episodes;
};

void mw_player_free(mw_player *p) {
    if (!p) return;
    for (int i = 0; p->seats && i < p->groups * MW_PLAY_GROUP; i++) {
        seat *s = &p->seats[i];
        free(s->obs);
        free(s->real);
        free(s->rewards);
        free(s->index);
        free(s->legal);
    }
    for (int i = 0; p->areas && i < p->threads; i++) {
        area *a = &p->areas[i];
        mw_actor_work_free(&a->work);
        free(a->obs);
        free(a->packed);
        free(a->real);
        free(a->rewards);
        free(a->index);
        free(a->legal);
    }
    mw_env_batch_free(p->batch);
    mw_pool_free(p->pool);
    free(p->seats);
    free(p->areas);
    free(p->episodes);
    free(p);
}

static mw_status seat_create(mw_player *p, seat *s, mw_error *error) {
    const size_t steps = (size_t)p->info.episode_limit, n = (size_t)p->info.agents;
    const size_t o = (size_t)p->info.obs_size, d = (size_t)p->info.act_size;
    s->obs = malloc((steps + 1) * n * o * sizeof *s->obs);
    s->rewards = malloc(steps * n * sizeof *s->rewards);
    s->legal = malloc((steps + 1) * n * d);
    if (p->info.discrete)
        s->index = malloc(steps * n * sizeof *s->index);
    else
        s->real = malloc(steps * n * d * sizeof *s->real);
    if (!s->obs || !s->rewards || !s->legal || (!s->index && !s->real))
        return mw_fail(error, MW_ERR_MEMORY, "cannot keep an episode of %zu steps", steps);
    return MW_OK;
}

static mw_status area_create(mw_player *p, area *a, mw_error *error) {
    const size_t n = (size_t)MW_PLAY_GROUP * (size_t)p->info.agents, o = (size_t)p->info.obs_size,
                 d = (size_t)p->info.act_size;
    a->obs = malloc(n * o * sizeof *a->obs);
    a->packed = malloc(n * o * sizeof *a->packed);
    a->rewards = malloc(n * sizeof *a->rewards);
    a->legal = malloc(n * d);
    if (p->info.discrete)
        a->index = malloc(n * sizeof *a->index);
    else
        a->real = malloc(n * d * sizeof *a->real);
    if (!a->obs || !a->packed || !a->rewards || !a->legal || (!a->index && !a->real))
        return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a work area");
    return p->behavior ? mw_actor_work_create(&a->work, &p->behavior->actor[0].shape, MW_PLAY_GROUP, error)
                       : MW_OK;
}

static bool fits(const mw_actor_shape *shape, const mw_env_info *info) {
    return shape->agents == info->agents && shape->obs == info->obs_size && shape->act == info->act_size &&
           shape->discrete == info->discrete;
}

mw_status mw_player_create(mw_player **out, const char *task, const mw_env_options *options,
                           const mw_behavior *behavior, uint64_t seed, int threads, bool record,
                           mw_error *error) {
    *out = NULL;
    mw_player *p = calloc(1, sizeof *p);
    if (!p) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a player");
    p->behavior = behavior;
    p->seed = seed;
    p->record = record;
    mw_status status = mw_pool_create(&p->pool, threads, error);
    p->threads = mw_pool_threads(p->pool);
    p->groups = 2 * p->threads;
    const int seats = p->groups * MW_PLAY_GROUP;
    p->seats = calloc((size_t)seats, sizeof *p->seats);
    p->areas = calloc((size_t)p->threads, sizeof *p->areas);
    p->episodes = calloc((size_t)seats, sizeof *p->episodes);
    if (status == MW_OK && (!p->seats || !p->areas || !p->episodes))
        status = mw_fail(error, MW_ERR_MEMORY, "cannot allocate a player");
    if (status == MW_OK)
        status = mw_env_batch_create_on(&p->batch, task, options, p->threads * MW_PLAY_GROUP, p->pool, error);
    if (status == MW_OK) p->info = *mw_env_describe(mw_env_batch_get(p->batch, 0));
    for (int i = 0; record && i < seats && status == MW_OK; i++) status = seat_create(p, &p->seats[i], error);
    if (status == MW_OK && behavior && !fits(&behavior->actor[0].shape, &p->info))
        status = mw_fail(error, MW_ERR_MISMATCH, "the behaviour of '%s' does not fit the sizes of task '%s'",
                         behavior->task, task);
    for (int i = 0; i < p->threads && status == MW_OK; i++) status = area_create(p, &p->areas[i], error);
    if (status != MW_OK) {
        mw_player_free(p);
        return status;
    }
    *out = p;
    return MW_OK;
}

const mw_env_info *mw_player_world(const mw_player *p) {
    return &p->info;
}

int mw_player_wave(const mw_player *p) {
    return p->groups * MW_PLAY_GROUP;
}

/* ---- recording ---- */

/* The present of environment i becomes row t of an episode: what is seen there. */
static void keep_view(const mw_player *p, seat *s, const area *a, int i, long t) {
    const size_t o = (size_t)(p->info.agents * p->info.obs_size),
                 d = (size_t)(p->info.agents * p->info.act_size), row = (size_t)t, at = (size_t)i;
    if (!p->record) return;
    memcpy(s->obs + row * o, a->obs + at * o, o * sizeof *s->obs);
    memcpy(s->legal + row * d, a->legal + at * d, d);
}

/* What was done at row t, and what it earned. */
static void keep_step(const mw_player *p, seat *s, const area *a, int i, long t) {
    const size_t n = (size_t)p->info.agents, d = n * (size_t)p->info.act_size, row = (size_t)t,
                 at = (size_t)i;
    if (!p->record) return;
    memcpy(s->rewards + row * n, a->rewards + at * n, n * sizeof *s->rewards);
    if (p->info.discrete)
        memcpy(s->index + row * n, a->index + at * n, n * sizeof *s->index);
    else
        memcpy(s->real + row * d, a->real + at * d, d * sizeof *s->real);
}

/* ---- playing ---- */

static void begin_episode(const mw_player *p, seat *s, area *a, int i, mw_env *env, long number, int policy) {
    mw_rng rng = mw_rng_make(p->seed, MW_RNG_COLLECT, (uint64_t)number, 0, STREAM_WORLD);
    const size_t n = (size_t)p->info.agents, at = (size_t)i;
    mw_env_reset(env, mw_rng_u64(&rng));
    mw_env_observe(env, a->obs + at * n * (size_t)p->info.obs_size);
    mw_env_legal(env, a->legal + at * n * (size_t)p->info.act_size);
    s->played = (mw_played){.policy = policy,
                            .episode = {.obs = s->obs,
                                        .real = s->real,
                                        .index = s->index,
                                        .legal = p->info.discrete ? s->legal : NULL,
                                        .rewards = s->rewards}};
    a->live[i] = 1;
    keep_view(p, s, a, i, 0);
}

/* out: the policy's outputs for environment i, NULL for random play */
static void draw(const mw_player *p, area *a, int i, long number, long t, const float *out) {
    const int n = p->info.agents, d = p->info.act_size;
    mw_rng rng = mw_rng_make(p->seed, MW_RNG_COLLECT, (uint64_t)number, (uint64_t)t, STREAM_POLICY);
    if (!p->info.discrete) {
        float *real = a->real + (size_t)(i * n * d);
        if (out)
            mw_actor_draw_real(real, out, n * d, p->behavior->noise, &rng);
        else
            for (int k = 0; k < n * d; k++) real[k] = 2 * mw_rng_float(&rng) - 1;
        return;
    }
    const uint8_t *legal = a->legal + (size_t)(i * n * d);
    for (int k = 0; k < n; k++)
        a->index[i * n + k] =
            out ? mw_actor_draw_index(out + k * d, legal + k * d, d, p->behavior->noise, &rng)
                : mw_actor_draw_index(NULL, legal + k * d, d, 1, &rng);
}

/* Notes the step of environment i; its episode may be over. */
static void note(const mw_player *p, seat *s, area *a, int i) {
    const int n = p->info.agents;
    const mw_outcome *outcome = &a->outcomes[i];
    mw_episode *episode = &s->played.episode;
    double mean = 0;
    for (int k = 0; k < n; k++) mean += (double)a->rewards[i * n + k];
    s->played.episode_return += mean / n;
    keep_step(p, s, a, i, episode->length);
    episode->length++;
    keep_view(p, s, a, i, episode->length);
    if (p->record) episode->last_obs = s->obs + (size_t)(episode->length * n * p->info.obs_size);
    episode->outcome = outcome->won          ? MW_ENDED_BY_VICTORY
                       : outcome->terminated ? MW_ENDED_BY_WORLD
                                             : MW_ENDED_BY_LIMIT;
    a->live[i] = !outcome->terminated && !outcome->truncated;
}

/* The joint observations of those that still play, one after the other, through the policy. */
static const float *decide(const mw_player *p, area *a, const int *live, int count, int policy) {
    const size_t joint = (size_t)(p->info.agents * p->info.obs_size);
    if (!p->behavior) return NULL;
    for (int i = 0; i < count; i++)
        memcpy(a->packed + (size_t)i * joint, a->obs + (size_t)live[i] * joint, joint * sizeof *a->packed);
    return mw_actor_forward(&p->behavior->actor[policy], &a->work, a->packed, count);
}

static mw_status play_group(const mw_player *p, int worker, int group, mw_error *error) {
    area *a = &p->areas[worker];
    const int outputs = p->info.agents * p->info.act_size, own = worker * MW_PLAY_GROUP;
    const int policies = p->behavior ? p->behavior->count : 1;
    const long first = p->next + (long)group * MW_PLAY_GROUP;
    const int policy = (int)(first / MW_PLAY_GROUP % policies);
    int live[MW_PLAY_GROUP], count = MW_PLAY_GROUP;
    seat *seats = p->seats + (size_t)group * MW_PLAY_GROUP;
    for (int i = 0; i < count; i++) {
        live[i] = i;
        begin_episode(p, &seats[i], a, i, mw_env_batch_get(p->batch, own + i), first + i, policy);
    }
    while (count > 0) {
        const float *out = decide(p, a, live, count, policy);
        for (int i = 0; i < count; i++)
            draw(p, a, live[i], first + live[i], seats[live[i]].played.episode.length,
                 out ? out + i * outputs : NULL);
        MW_TRY(mw_env_batch_step_share(p->batch, own, MW_PLAY_GROUP, a->live, (mw_action){a->real, a->index},
                                       a->rewards, a->outcomes, a->obs, a->legal, error));
        int kept = 0;
        for (int i = 0; i < count; i++) {
            note(p, &seats[live[i]], a, live[i]);
            if (a->live[live[i]]) live[kept++] = live[i];
        }
        count = kept;
    }
    return MW_OK;
}

static void wave_body(void *context, int worker) {
    mw_player *p = context;
    mw_error *error = &p->areas[worker].error;
    error->status = MW_OK;
    for (int group = worker; group < p->groups && error->status == MW_OK; group += p->threads)
        play_group(p, worker, group, error);
}

mw_status mw_player_next(mw_player *p, const mw_played **episodes, mw_error *error) {
    mw_pool_run(p->pool, wave_body, p);
    for (int i = 0; i < p->threads; i++)
        if (p->areas[i].error.status != MW_OK) {
            if (error) *error = p->areas[i].error;
            return p->areas[i].error.status;
        }
    for (int i = 0; i < mw_player_wave(p); i++) p->episodes[i] = p->seats[i].played;
    p->next += mw_player_wave(p);
    *episodes = p->episodes;
    return MW_OK;
}

/* ---- measuring ---- */

mw_status mw_behavior_measure(const char *task, const mw_env_options *options, const mw_behavior *behavior,
                              uint64_t seed, int episodes, int threads, mw_measure *m, mw_error *error) {
    mw_player *player;
    const mw_played *played;
    mw_status status = MW_OK;
    double square = 0;
    *m = (mw_measure){.least = INFINITY, .most = -INFINITY};
    if (behavior && behavior->count > 1) { /* policies take turns: all of them equally often */
        const int turn = behavior->count * MW_PLAY_GROUP;
        if (episodes <= INT_MAX - turn) episodes = (episodes + turn - 1) / turn * turn;
    }
    MW_TRY(mw_player_create(&player, task, options, behavior, seed, threads, false, error));
    if (behavior && !(options && options->prey_file)) /* who names a prey wants to see them meet */
        status = mw_behavior_check(behavior, mw_player_world(player), "the behaviour", error);
    while (status == MW_OK && m->episodes < episodes &&
           (status = mw_player_next(player, &played, error)) == MW_OK)
        for (int i = 0; i < mw_player_wave(player) && m->episodes < episodes; i++) {
            const double r = played[i].episode_return, before = m->mean;
            m->episodes++;
            m->mean += (r - m->mean) / m->episodes;
            square += (r - before) * (r - m->mean);
            m->least = fmin(m->least, r);
            m->most = fmax(m->most, r);
            m->win_rate += ((played[i].episode.outcome == MW_ENDED_BY_VICTORY) - m->win_rate) / m->episodes;
            m->length += ((double)played[i].episode.length - m->length) / m->episodes;
        }
    m->std = m->episodes > 1 ? sqrt(square / (m->episodes - 1)) : 0;
    mw_player_free(player);
    return status;
}

static const mw_measure_options defaults = {.size = sizeof defaults, .episodes = 200, .noise = -1};

void mw_measure_options_init(mw_measure_options *options, size_t size) {
    mw_options_fill(options, size, &defaults, sizeof defaults);
}

mw_status mw_behavior_play(const char *task, const char *path, const mw_measure_options *given,
                           mw_measure *measure, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED(task);
    MW_NEED(measure);
    mw_measure_options o = defaults;
    MW_TRY(mw_options_take(&o, sizeof o, MW_FIELD_END(mw_measure_options, noise), given,
                           "mw_measure_options_init", error));
    if (o.episodes < 1)
        return mw_fail(error, MW_ERR_ARGUMENT, "episodes is %d; there must be at least one", o.episodes);
    if (!(o.noise < 0) && !isfinite(o.noise))
        return mw_fail(error, MW_ERR_ARGUMENT, "noise is %g; a finite number, or below zero for the file's",
                       o.noise);
    if (!path) return mw_behavior_measure(task, o.world, NULL, o.seed, o.episodes, o.threads, measure, error);
    mw_behavior *behavior = malloc(sizeof *behavior);
    if (!behavior) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a behaviour");
    mw_status status = mw_behavior_load(behavior, path, error);
    if (status == MW_OK) {
        if (o.noise >= 0) behavior->noise = (float)o.noise;
        status = mw_behavior_measure(task, o.world, behavior, o.seed, o.episodes, o.threads, measure, error);
        mw_behavior_free(behavior);
    }
    free(behavior);
    return status;
}
