/* Playing behaviours; see play.h. */
#include "behavior/play.h"

#include "core/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What random streams of an episode are for: the last index of mw_rng_make. */
enum { STREAM_WORLD, STREAM_POLICY };

/* A seat plays one episode at a time and records it. */
typedef struct {
    mw_env *env;
    float *obs, *real, *rewards;
    int32_t *index;
    uint8_t *legal;
    mw_played played;
} seat;

/* A thread's scratch: the joint observations of a group, packed. */
typedef struct {
    mw_actor_work work;
    float *obs;
    mw_error error;
} area;

struct mw_player {
    const mw_behavior *behavior;
    uint64_t seed;
    mw_pool *pool;
    int threads, groups;
    bool record;
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
        mw_env_free(s->env);
        free(s->obs);
        free(s->real);
        free(s->rewards);
        free(s->index);
        free(s->legal);
    }
    for (int i = 0; p->areas && i < p->threads; i++) {
        mw_actor_work_free(&p->areas[i].work);
        free(p->areas[i].obs);
    }
    mw_pool_free(p->pool);
    free(p->seats);
    free(p->areas);
    free(p->episodes);
    free(p);
}

static mw_status seat_create(mw_player *p, seat *s, const char *task, const mw_env_options *options,
                             mw_error *error) {
    MW_TRY(mw_env_create(&s->env, task, options, error));
    p->info = *mw_env_describe(s->env);
    const size_t steps = p->record ? (size_t)p->info.episode_limit : 1, n = (size_t)p->info.agents;
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
    a->obs = malloc((size_t)MW_PLAY_GROUP * (size_t)(p->info.agents * p->info.obs_size) * sizeof *a->obs);
    if (!a->obs) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a work area");
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
    for (int i = 0; i < seats && status == MW_OK; i++)
        status = seat_create(p, &p->seats[i], task, options, error);
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

/* Where step t of a seat's record lies: everything is overwritten in place when nothing is kept. */
static size_t row_of(const mw_player *p, int t) {
    return p->record ? (size_t)t : 0;
}

static void look(const mw_player *p, seat *s, int t) {
    const size_t row = row_of(p, t), n = (size_t)p->info.agents;
    mw_env_observe(s->env, s->obs + row * n * (size_t)p->info.obs_size);
    mw_env_legal(s->env, s->legal + row * n * (size_t)p->info.act_size);
}

static void begin_episode(const mw_player *p, seat *s, long number, int policy) {
    mw_rng rng = mw_rng_make(p->seed, MW_RNG_COLLECT, (uint64_t)number, 0, STREAM_WORLD);
    mw_env_reset(s->env, mw_rng_u64(&rng));
    s->played = (mw_played){.policy = policy,
                            .episode = {.obs = s->obs,
                                        .real = s->real,
                                        .index = s->index,
                                        .legal = p->info.discrete ? s->legal : NULL,
                                        .rewards = s->rewards}};
    look(p, s, 0);
}

/* out: the policy's outputs for this seat, NULL for random play */
static mw_action draw(const mw_player *p, seat *s, long number, const float *out) {
    const int n = p->info.agents, d = p->info.act_size, t = (int)s->played.episode.length;
    const size_t row = row_of(p, t);
    mw_rng rng = mw_rng_make(p->seed, MW_RNG_COLLECT, (uint64_t)number, (uint64_t)t, STREAM_POLICY);
    if (!p->info.discrete) {
        float *real = s->real + row * (size_t)(n * d);
        if (out)
            mw_actor_draw_real(real, out, n * d, p->behavior->noise, &rng);
        else
            for (int i = 0; i < n * d; i++) real[i] = 2 * mw_rng_float(&rng) - 1;
        return (mw_action){.real = real};
    }
    int32_t *index = s->index + row * (size_t)n;
    const uint8_t *legal = s->legal + row * (size_t)(n * d);
    for (int i = 0; i < n; i++)
        index[i] = out ? mw_actor_draw_index(out + i * d, legal + i * d, d, p->behavior->noise, &rng)
                       : mw_actor_draw_index(NULL, legal + i * d, d, 1, &rng);
    return (mw_action){.index = index};
}

/* One step of a seat; *over when the episode is. */
static mw_status step(const mw_player *p, seat *s, long number, const float *out, bool *over,
                      mw_error *error) {
    const int n = p->info.agents;
    mw_episode *episode = &s->played.episode;
    float *rewards = s->rewards + row_of(p, (int)episode->length) * (size_t)n;
    mw_outcome outcome;
    MW_TRY(mw_env_step(s->env, draw(p, s, number, out), rewards, &outcome, error));
    double mean = 0;
    for (int i = 0; i < n; i++) mean += (double)rewards[i];
    s->played.episode_return += mean / n;
    episode->length++;
    look(p, s, (int)episode->length);
    *over = outcome.terminated || outcome.truncated;
    episode->last_obs = s->obs + row_of(p, (int)episode->length) * (size_t)(n * p->info.obs_size);
    episode->outcome = outcome.won          ? MW_ENDED_BY_VICTORY
                       : outcome.terminated ? MW_ENDED_BY_WORLD
                                            : MW_ENDED_BY_LIMIT;
    return MW_OK;
}

static mw_status play_group(const mw_player *p, area *a, int group, mw_error *error) {
    const size_t joint = (size_t)(p->info.agents * p->info.obs_size);
    const int outputs = p->info.agents * p->info.act_size;
    const int policies = p->behavior ? p->behavior->count : 1;
    const long first = p->next + (long)group * MW_PLAY_GROUP;
    const int policy = (int)(first / MW_PLAY_GROUP % policies);
    int live[MW_PLAY_GROUP], count = MW_PLAY_GROUP;
    seat *seats = p->seats + (size_t)group * MW_PLAY_GROUP;
    for (int i = 0; i < count; i++) {
        live[i] = i;
        begin_episode(p, &seats[i], first + i, policy);
    }
    while (count > 0) {
        const float *out = NULL;
        for (int i = 0; i < count; i++) {
            const seat *s = &seats[live[i]];
            memcpy(a->obs + (size_t)i * joint, s->obs + row_of(p, (int)s->played.episode.length) * joint,
                   joint * sizeof *a->obs);
        }
        if (p->behavior) out = mw_actor_forward(&p->behavior->actor[policy], &a->work, a->obs, count);
        int kept = 0;
        for (int i = 0; i < count; i++) {
            bool over;
            MW_TRY(step(p, &seats[live[i]], first + live[i], out ? out + i * outputs : NULL, &over, error));
            if (!over) live[kept++] = live[i];
        }
        count = kept;
    }
    return MW_OK;
}

static void wave_body(void *context, int worker) {
    mw_player *p = context;
    area *a = &p->areas[worker];
    a->error.status = MW_OK;
    for (int group = worker; group < p->groups && a->error.status == MW_OK; group += p->threads)
        play_group(p, a, group, &a->error);
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
    MW_TRY(mw_player_create(&player, task, options, behavior, seed, threads, false, error));
    while (m->episodes < episodes && (status = mw_player_next(player, &played, error)) == MW_OK)
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
    MW_NEED(task);
    MW_NEED(measure);
    mw_measure_options o = defaults;
    MW_TRY(mw_options_take(&o, sizeof o, MW_FIELD_END(mw_measure_options, noise), given,
                           "mw_measure_options_init", error));
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
