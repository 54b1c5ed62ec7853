/* The learner's life: creation, one iteration, the policy it hands out; see learner.h. */
#include "behavior/learn/learner_state.h"

#include "core/math.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static mw_status create_task_env(mw_env **env, const void *context, mw_error *error) {
    const mw_task_game *game = context;
    return mw_env_create(env, game->task, game->options, error);
}

mw_game mw_game_of_task(const mw_task_game *task) {
    return (mw_game){create_task_env, task};
}

void mw_learner_free(mw_learner *l) {
    if (!l) return;
    mw_env_batch_free(l->batch);
    for (int i = 0; l->areas && i < l->threads; i++) mw_arena_free(&l->areas[i].arena);
    mw_params_free(&l->actor_params);
    mw_params_free(&l->critic_params);
    mw_optimizer_free(&l->actor_optimizer);
    mw_optimizer_free(&l->critic_optimizer);
    void *arrays[] = {l->stats.mean,  l->stats.square,    l->stats.shift, l->stats.scale,  l->envs,
                      l->areas,       l->order,           l->x,           l->raw_sum,      l->raw_square,
                      l->real,        l->index,           l->legal,       l->old,          l->reward,
                      l->value,       l->after,           l->advantage,   l->target,       l->done,
                      l->cut_x,       l->cut_value,       l->failures,    l->actor_packed, l->critic_packed,
                      l->shard_terms, l->shard_value_loss};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) free(arrays[i]);
    mw_pool_free(l->pool);
    free(l);
}

static mw_status create_envs(mw_learner *l, const mw_game *game, mw_error *error) {
    l->envs = calloc((size_t)l->preset.envs, sizeof *l->envs);
    if (!l->envs) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate %d environments", l->preset.envs);
    MW_TRY(mw_env_batch_create_by(&l->batch, game->create, game->context, l->preset.envs, l->pool, error));
    for (int e = 0; e < l->preset.envs; e++) l->envs[e].env = mw_env_batch_envs(l->batch)[e];
    l->info = *mw_env_describe(l->envs[0].env);
    if (l->info.discrete && l->info.act_size > MW_PPO_MOST_ACTIONS)
        return mw_fail(error, MW_ERR_UNSUPPORTED, "%s has %d actions; the learner takes at most %d",
                       l->info.task, l->info.act_size, MW_PPO_MOST_ACTIONS);
    if (l->info.discrete && l->preset.teacher[0])
        return mw_fail(error, MW_ERR_UNSUPPORTED, "%s: only real actions can be imitated", l->info.task);
    return MW_OK;
}

static mw_status create_networks(mw_learner *l, mw_error *error) {
    const mw_learn_preset *p = &l->preset;
    l->shape = (mw_actor_shape){.agents = l->info.agents,
                                .obs = l->info.obs_size,
                                .act = l->info.act_size,
                                .discrete = l->info.discrete,
                                .ids = p->ids,
                                .hidden = p->hidden,
                                .activation = p->relu ? MW_RELU : MW_SILU};
    l->inputs = mw_actor_inputs(&l->shape);
    l->joint = l->inputs * l->shape.agents;
    l->actor = mw_actor_layers(&l->actor_params, &l->shape);
    if (!l->shape.discrete)
        l->log_std =
            mw_params_add(&l->actor_params, "log_std", MW_PARAM_PLAIN, MW_INIT_ZERO, 0, l->shape.act, 0, 0);
    const int sizes[] = {l->joint, p->critic_hidden, p->critic_hidden, 1};
    l->critic = mw_mlp_make(&l->critic_params, "critic", sizes, 3, l->shape.activation);
    if (l->actor_params.failed || l->critic_params.failed)
        return mw_fail(error, MW_ERR_MEMORY, "cannot allocate the networks");
    const mw_adam adam = {.rate = p->rate, .beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-5f, .clip = 0.5f};
    const mw_group actor = mw_group_whole(&adam, 0, l->actor_params.total),
                   critic = mw_group_whole(&adam, 0, l->critic_params.total);
    MW_TRY(mw_optimizer_create(&l->actor_optimizer, &actor, 1, actor.end, p->shards, error));
    MW_TRY(mw_optimizer_create(&l->critic_optimizer, &critic, 1, critic.end, p->shards, error));
    l->shard_terms = calloc((size_t)p->shards, sizeof *l->shard_terms);
    l->shard_value_loss = calloc((size_t)p->shards, sizeof *l->shard_value_loss);
    if (!l->shard_terms || !l->shard_value_loss)
        return mw_fail(error, MW_ERR_MEMORY, "cannot allocate the networks");
    mw_params_init(&l->actor_params, l->actor_optimizer.values, l->seed);
    mw_params_init(&l->critic_params, l->critic_optimizer.values, l->seed + 1);
    /* The first policy is nearly the same in all states: the last layer starts small. */
    const mw_dense *last = &l->actor.layer[2];
    for (int i = 0; i < last->in * last->out; i++) l->actor_optimizer.values[last->w + (size_t)i] *= 0.01f;
    for (int i = 0; i < last->out; i++) l->actor_optimizer.values[last->b + (size_t)i] = 0;
    for (int i = 0; i < l->shape.act && !l->shape.discrete; i++)
        l->actor_optimizer.values[l->log_std + (size_t)i] = p->log_std;
    return MW_OK;
}

static void carve(mw_learn_area *area, const mw_learner *l) {
    const int n = l->shape.agents, batch = (l->steps + l->preset.batches - 1) / l->preset.batches;
    const int shard = (batch + l->preset.shards - 1) / l->preset.shards;
    const size_t chunk = (size_t)MW_LEARN_CHUNK * (size_t)n;
    mw_arena *arena = &area->arena;
    mw_mlp_acts_take(&l->actor, &area->actor, arena, shard * n, true);
    mw_mlp_acts_take(&l->critic, &area->critic, arena, shard, true);
    mw_mlp_acts_take(&l->actor, &area->actor_fast, arena, MW_LEARN_CHUNK * n, false);
    mw_mlp_acts_take(&l->critic, &area->critic_fast, arena, MW_LEARN_CHUNK, false);
    area->x = mw_arena_floats(arena, (size_t)shard * (size_t)l->joint);
    area->gradient = mw_arena_floats(arena, (size_t)(shard * n * l->shape.act));
    area->value_gradient = mw_arena_floats(arena, (size_t)shard);
    area->raw = mw_arena_floats(arena, chunk * (size_t)l->shape.obs);
    area->action = mw_arena_floats(arena, chunk * (size_t)l->shape.act);
    area->rewards = mw_arena_floats(arena, chunk);
}

static mw_status create_areas(mw_learner *l, mw_error *error) {
    l->areas = calloc((size_t)l->threads, sizeof *l->areas);
    if (!l->areas) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate work areas");
    for (int i = 0; i < l->threads; i++) {
        mw_learn_area measured = {0};
        carve(&measured, l);
        MW_TRY(mw_arena_create(&l->areas[i].arena, measured.arena.used, error));
        carve(&l->areas[i], l);
    }
    return MW_OK;
}

/* calloc that records a failure instead of returning it to every caller. */
static void *take(size_t count, size_t size, bool *failed) {
    void *memory = aligned_alloc(MW_ALIGN, (count * size + MW_ALIGN) / MW_ALIGN * MW_ALIGN);
    if (memory) memset(memory, 0, count * size);
    *failed |= !memory;
    return memory;
}

static mw_status create_buffers(mw_learner *l, mw_error *error) {
    const size_t steps = (size_t)l->steps, envs = (size_t)l->preset.envs, n = (size_t)l->shape.agents;
    const size_t o = (size_t)l->shape.obs, d = (size_t)l->shape.act, joint = (size_t)l->joint;
    bool failed = false;
    l->most_cuts = l->preset.horizon / l->info.episode_limit + 1;
    const size_t cuts = envs * (size_t)l->most_cuts;
    l->stats.mean = take(o, sizeof(double), &failed);
    l->stats.square = take(o, sizeof(double), &failed);
    l->stats.shift = take(o, sizeof(float), &failed);
    l->stats.scale = take(o, sizeof(float), &failed);
    l->order = take(steps, sizeof(int), &failed);
    l->x = take((steps + envs) * joint, sizeof(float), &failed);
    l->raw_sum = take(envs * o, sizeof(double), &failed);
    l->raw_square = take(envs * o, sizeof(double), &failed);
    l->real = take(steps * n * d, sizeof(float), &failed);
    l->index = take(steps * n, sizeof(int32_t), &failed);
    l->legal = take((steps + envs) * n * d, 1, &failed);
    l->old = take(steps * n, sizeof(float), &failed);
    l->reward = take(steps, sizeof(float), &failed);
    l->value = take(steps + envs, sizeof(float), &failed);
    l->after = take(steps, sizeof(float), &failed);
    l->advantage = take(steps, sizeof(float), &failed);
    l->target = take(steps, sizeof(float), &failed);
    l->done = take(steps, 1, &failed);
    l->cut_x = take(cuts * joint, sizeof(float), &failed);
    l->cut_value = take(cuts, sizeof(float), &failed);
    l->failures = take((size_t)l->threads, sizeof(mw_error), &failed);
    l->actor_packed = take(l->actor_params.packed, sizeof(float), &failed);
    l->critic_packed = take(l->critic_params.packed, sizeof(float), &failed);
    return failed ? mw_fail(error, MW_ERR_MEMORY, "cannot allocate the buffers of %zu steps", steps) : MW_OK;
}

uint64_t mw_learner_episode_seed(const mw_learner *l, int e, uint64_t episode) {
    mw_rng rng = mw_rng_make(l->seed, MW_RNG_LEARN, (uint64_t)e, episode, MW_LEARN_RESET);
    return mw_rng_u64(&rng);
}

mw_status mw_learner_create(mw_learner **out, const mw_learn_preset *preset, const mw_game *game,
                            uint64_t seed, int threads, mw_error *error) {
    *out = NULL;
    MW_TRY(mw_learn_preset_check(preset, error));
    mw_learner *l = calloc(1, sizeof *l);
    if (!l) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a learner");
    l->preset = *preset;
    l->seed = seed;
    l->rate_scale = 1;
    l->steps = preset->envs * preset->horizon;
    mw_status status = mw_pool_create(&l->pool, threads, error);
    l->threads = mw_pool_threads(l->pool);
    if (status == MW_OK) status = create_envs(l, game, error);
    if (status == MW_OK) status = create_networks(l, error);
    if (status == MW_OK) status = create_areas(l, error);
    if (status == MW_OK) status = create_buffers(l, error);
    if (status != MW_OK) {
        mw_learner_free(l);
        return status;
    }
    for (int e = 0; e < preset->envs; e++) mw_env_reset(l->envs[e].env, mw_learner_episode_seed(l, e, 0));
    mw_obs_stats_refresh(&l->stats, l->shape.obs);
    *out = l;
    return MW_OK;
}

const mw_learn_preset *mw_learner_preset(const mw_learner *l) {
    return &l->preset;
}

const mw_env_info *mw_learner_world(const mw_learner *l) {
    return &l->info;
}

long mw_learner_iterations(const mw_learner *l) {
    return (long)ceil((double)l->preset.steps / l->steps);
}

long mw_learner_iteration(const mw_learner *l) {
    return l->iteration;
}

/* ---- observation statistics ---- */

/* A feature that hardly varies must not be blown up, hence the floor under the std. */
void mw_obs_stats_refresh(mw_obs_stats *stats, int obs) {
    for (int f = 0; f < obs; f++) {
        const double variance = stats->count > 0 ? stats->square[f] / stats->count : 1;
        stats->shift[f] = (float)stats->mean[f];
        stats->scale[f] = (float)(1 / sqrt(variance + 1e-2));
    }
}

/* Adds this iteration's observations, in the order of the environments. */
static void absorb(mw_learner *l) {
    const int o = l->shape.obs;
    const double added = (double)l->steps * l->shape.agents, count = l->stats.count + added;
    for (int f = 0; f < o; f++) {
        double sum = 0, square = 0;
        for (int e = 0; e < l->preset.envs; e++) {
            sum += l->raw_sum[e * o + f];
            square += l->raw_square[e * o + f];
        }
        /* sums are about the old mean */
        const double shift = sum / count;
        l->stats.mean[f] += shift;
        l->stats.square[f] += square - sum * shift;
    }
    l->stats.count = count;
    mw_obs_stats_refresh(&l->stats, o);
}

/* ---- an iteration ---- */

double mw_learner_std(const mw_learner *l) {
    double std = 0;
    for (int i = 0; i < l->shape.act && !l->shape.discrete; i++)
        std += mw_exp((double)l->actor_optimizer.values[l->log_std + (size_t)i]) / l->shape.act;
    return std;
}

static void summarise(mw_learner *l, mw_learn_report *report) {
    double returns = 0, lengths = 0, wins = 0;
    for (int e = 0; e < l->preset.envs; e++) {
        mw_learn_env *env = &l->envs[e];
        report->episodes += env->ended;
        returns += env->returns;
        lengths += env->lengths;
        wins += env->wins;
    }
    if (report->episodes > 0) {
        report->episode_return = returns / report->episodes;
        report->length = lengths / report->episodes;
        report->win_rate = wins / report->episodes;
    }
    report->action_std = mw_learner_std(l);
}

mw_status mw_learner_iterate(mw_learner *l, mw_learn_report *report, mw_error *error) {
    *report = (mw_learn_report){0};
    MW_TRY(mw_learner_collect(l, error));
    mw_learner_update(l, report);
    absorb(l);
    l->iteration++;
    summarise(l, report);
    report->iteration = l->iteration;
    report->steps = (double)l->iteration * l->steps;
    if (!isfinite(report->value_loss) || !isfinite(report->kl))
        return mw_fail(error, MW_ERR_NUMERIC, "%s: learning diverged in iteration %ld (value loss %g, kl %g)",
                       l->preset.task, l->iteration, report->value_loss, report->kl);
    return MW_OK;
}

mw_status mw_learner_actor(const mw_learner *l, mw_actor *actor, mw_error *error) {
    MW_TRY(mw_actor_create(actor, &l->shape, error));
    const float *values = l->actor_optimizer.values;
    memcpy(actor->values, values, actor->params.total * sizeof *values); /* log_std comes last and stays */
    const mw_dense *first = &actor->mlp.layer[0];
    for (int o = 0; o < first->out; o++) {
        double bias = values[first->b + (size_t)o];
        for (int f = 0; f < l->shape.obs; f++) {
            float *w = &actor->values[first->w + (size_t)(f * first->out + o)];
            *w *= l->stats.scale[f];
            bias -= (double)*w * l->stats.shift[f];
        }
        actor->values[first->b + (size_t)o] = (float)bias;
    }
    mw_actor_pack(actor);
    return MW_OK;
}
