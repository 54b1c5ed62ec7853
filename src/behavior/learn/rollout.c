/* Collecting experience: every thread plays its own environments from the first to the last step of an
 * iteration without meeting the others. Random numbers are keyed by environment and step, so who plays what
 * does not matter. */
#include "behavior/learn/learner_state.h"

#include "core/math.h"
#include "nn/categorical.h"

#include <math.h>
#include <string.h>

static float *x_at(const mw_learner *l, int t, int e) {
    return l->x + ((size_t)t * (size_t)l->preset.envs + (size_t)e) * (size_t)l->joint;
}

static uint8_t *legal_at(const mw_learner *l, int t, int e) {
    return l->legal +
           ((size_t)t * (size_t)l->preset.envs + (size_t)e) * (size_t)(l->shape.agents * l->shape.act);
}

/* raw[n][o] -> x[n][inputs] */
static void normalise(const mw_learner *l, float *x, const float *raw) {
    const int n = l->shape.agents, o = l->shape.obs;
    for (int agent = 0; agent < n; agent++, raw += o, x += l->inputs) {
        for (int f = 0; f < o; f++) x[f] = (raw[f] - l->stats.shift[f]) * l->stats.scale[f];
        for (int i = o; i < l->inputs; i++) x[i] = i - o == agent;
    }
}

static void count_features(mw_learner *l, int e, const float *raw) {
    const int o = l->shape.obs;
    double *sum = l->raw_sum + (size_t)e * (size_t)o, *square = l->raw_square + (size_t)e * (size_t)o;
    for (int agent = 0; agent < l->shape.agents; agent++, raw += o)
        for (int f = 0; f < o; f++) {
            double away = raw[f] - l->stats.mean[f];
            sum[f] += away;
            square[f] += away * away;
        }
}

/* Looks at environment e: raw observation to the chunk's row, its normalised copy to x, legality. */
static void look(mw_learner *l, int e, int t, float *raw) {
    mw_env_observe(l->envs[e].env, raw);
    normalise(l, x_at(l, t, e), raw);
    if (l->shape.discrete) mw_env_legal(l->envs[e].env, legal_at(l, t, e));
}

/* Draws the joint action of environment e from the network's outputs and notes its log probabilities. Real
 * ones go to action[n][d] as the world takes them. */
static void choose(mw_learner *l, int e, int t, const float *out, float *action) {
    const int n = l->shape.agents, d = l->shape.act;
    const size_t at = (size_t)t * (size_t)l->preset.envs + (size_t)e;
    mw_rng rng = mw_rng_make(l->seed, MW_RNG_LEARN, (uint64_t)(l->iteration * l->preset.horizon + t),
                             (uint64_t)e, MW_LEARN_ACT);
    float *old = l->old + at * (size_t)n;
    if (l->shape.discrete) {
        int32_t *index = l->index + at * (size_t)n;
        const uint8_t *legal = legal_at(l, t, e);
        for (int i = 0; i < n; i++) {
            index[i] = mw_categorical_pick(out + i * d, legal + i * d, d, mw_rng_float(&rng));
            old[i] = mw_categorical_log(out + i * d, legal + i * d, d, index[i]);
        }
        return;
    }
    const float *log_std = l->actor_optimizer.values + l->log_std;
    float *real = l->real + at * (size_t)(n * d);
    mw_rng_fill_normal(&rng, real, (size_t)(n * d));
    for (int i = 0; i < n * d; i++) {
        real[i] = (float)mw_tanh((double)out[i]) + (float)mw_exp((double)log_std[i % d]) * real[i];
        action[i] = fminf(fmaxf(real[i], -1), 1);
    }
    for (int i = 0; i < n; i++) old[i] = mw_gaussian_log(out + i * d, log_std, real + i * d, d);
}

/* The teacher's joint action with the policy's noise on top: the noise leads off the teacher's path, and the
 * teacher's answers there show the way back. */
static mw_status follow(mw_learner *l, int e, int t, float *action, mw_error *error) {
    const int n = l->shape.agents, d = l->shape.act;
    const size_t at = (size_t)t * (size_t)l->preset.envs + (size_t)e;
    const uint64_t number = (uint64_t)(l->iteration * l->preset.horizon + t);
    const float *log_std = l->actor_optimizer.values + l->log_std;
    float *shown = l->real + at * (size_t)(n * d);
    mw_rng rng = mw_rng_make(l->seed, MW_RNG_LEARN, number, (uint64_t)e, MW_LEARN_TEACH);
    mw_rng_fill_normal(&rng, action, (size_t)(n * d));
    MW_TRY(mw_script_act(l->envs[e].env, l->preset.teacher, l->seed, shown, NULL, error));
    for (int i = 0; i < n * d; i++)
        action[i] = fminf(fmaxf(shown[i] + (float)mw_exp((double)log_std[i % d]) * action[i], -1), 1);
    return MW_OK;
}

/* After the last step of an episode, which led to raw[n][o]: note what the value estimate needs, begin the
 * next one. */
static void turn_over(mw_learner *l, int e, size_t at, const mw_outcome *outcome, const float *raw) {
    mw_learn_env *env = &l->envs[e];
    l->done[at] = outcome->truncated ? 2 : 1;
    if (outcome->truncated) {
        float *x = l->cut_x + ((size_t)e * (size_t)l->most_cuts + (size_t)env->cuts++) * (size_t)l->joint;
        normalise(l, x, raw);
    }
    env->ended++;
    env->returns += env->sum;
    env->lengths += outcome->step;
    env->wins += outcome->won;
    env->sum = 0;
    env->episode++;
    mw_env_reset(env->env, mw_learner_episode_seed(l, e, env->episode));
}

/* What the step t of environment e brought, and what is seen next. */
static void note(mw_learner *l, int e, int t, const float *rewards, const mw_outcome *outcome, float *raw) {
    const int n = l->shape.agents;
    const size_t at = (size_t)t * (size_t)l->preset.envs + (size_t)e;
    float mean = 0;
    for (int i = 0; i < n; i++) mean += rewards[i];
    mean /= (float)n;
    l->envs[e].sum += (double)mean;
    l->reward[at] = mean * l->preset.reward_scale;
    l->done[at] = 0;
    if (outcome->terminated || outcome->truncated) {
        turn_over(l, e, at, outcome, raw);
        look(l, e, t + 1, raw);
    } else {
        normalise(l, x_at(l, t + 1, e), raw);
    }
}

/* One step of a chunk; out: the actor's outputs. */
static mw_status advance(mw_learner *l, mw_learn_area *area, int begin, int count, int t, const float *out,
                         mw_error *error) {
    const int n = l->shape.agents, seen = n * l->shape.obs, drawn = n * l->shape.act;
    const size_t at = (size_t)t * (size_t)l->preset.envs + (size_t)begin;
    for (int i = 0; i < count; i++) {
        float *action = area->action + (size_t)(i * drawn);
        count_features(l, begin + i, area->raw + (size_t)(i * seen));
        if (mw_learner_imitates(l))
            MW_TRY(follow(l, begin + i, t, action, error));
        else
            choose(l, begin + i, t, out + i * drawn, action);
    }
    const mw_action action = l->shape.discrete ? (mw_action){.index = l->index + at * (size_t)n}
                                               : (mw_action){.real = area->action};
    MW_TRY(mw_env_batch_step_share(l->batch, begin, count, NULL, action, area->rewards, area->outcomes,
                                   area->raw, l->shape.discrete ? legal_at(l, t + 1, begin) : NULL, error));
    for (int i = 0; i < count; i++)
        note(l, begin + i, t, area->rewards + i * n, &area->outcomes[i], area->raw + (size_t)(i * seen));
    return MW_OK;
}

static mw_status play_chunk(mw_learner *l, mw_learn_area *area, int begin, int count, mw_error *error) {
    const int n = l->shape.agents, stride = n * l->shape.obs;
    for (int e = begin; e < begin + count; e++) {
        mw_learn_env *env = &l->envs[e];
        env->returns = env->lengths = env->wins = 0;
        env->ended = env->cuts = 0;
        memset(l->raw_sum + (size_t)e * (size_t)l->shape.obs, 0, (size_t)l->shape.obs * sizeof(double));
        memset(l->raw_square + (size_t)e * (size_t)l->shape.obs, 0, (size_t)l->shape.obs * sizeof(double));
        look(l, e, 0, area->raw + (size_t)(e - begin) * (size_t)stride);
    }
    for (int t = 0; t < l->preset.horizon; t++) {
        const float *out = mw_mlp_forward(&l->actor, &area->actor_fast, x_at(l, t, begin),
                                          l->actor_optimizer.values, l->actor_packed, count * n);
        MW_TRY(advance(l, area, begin, count, t, out, error));
    }
    return MW_OK;
}

/* Values of the chunk's states, and of those where the limit cut an episode. */
static void value_chunk(mw_learner *l, mw_learn_area *area, int begin, int count) {
    const float *values = l->critic_optimizer.values;
    for (int t = 0; t <= l->preset.horizon; t++) {
        const float *v = mw_mlp_forward(&l->critic, &area->critic_fast, x_at(l, t, begin), values,
                                        l->critic_packed, count);
        memcpy(l->value + (size_t)t * (size_t)l->preset.envs + (size_t)begin, v, (size_t)count * sizeof *v);
    }
    for (int e = begin; e < begin + count; e++) {
        const size_t first = (size_t)e * (size_t)l->most_cuts;
        for (int c = 0, used = 0; c < l->envs[e].cuts; c += used) {
            used = l->envs[e].cuts - c < MW_LEARN_CHUNK ? l->envs[e].cuts - c : MW_LEARN_CHUNK;
            const float *v = mw_mlp_forward(&l->critic, &area->critic_fast,
                                            l->cut_x + (first + (size_t)c) * (size_t)l->joint, values,
                                            l->critic_packed, used);
            memcpy(l->cut_value + first + (size_t)c, v, (size_t)used * sizeof *v);
        }
        for (int t = 0, cut = 0; t < l->preset.horizon; t++) {
            const size_t at = (size_t)t * (size_t)l->preset.envs + (size_t)e;
            l->after[at] = l->done[at] == 2 ? l->cut_value[first + (size_t)cut++] : 0;
        }
    }
}

static void collect_body(void *context, int worker) {
    mw_learner *l = context;
    if (worker == 0) mw_mlp_pack(&l->actor, l->actor_optimizer.values, l->actor_packed, false);
    if (worker == l->threads - 1)
        mw_mlp_pack(&l->critic, l->critic_optimizer.values, l->critic_packed, false);
    mw_pool_barrier(l->pool);
    mw_error *error = &l->failures[worker];
    int begin, end;
    error->status = MW_OK;
    mw_pool_share(l->pool, worker, l->preset.envs, 1, &begin, &end);
    for (int count; begin < end && error->status == MW_OK; begin += count) {
        count = end - begin < MW_LEARN_CHUNK ? end - begin : MW_LEARN_CHUNK;
        if (play_chunk(l, &l->areas[worker], begin, count, error) == MW_OK)
            value_chunk(l, &l->areas[worker], begin, count);
    }
}

mw_status mw_learner_collect(mw_learner *l, mw_error *error) {
    mw_pool_run(l->pool, collect_body, l);
    for (int i = 0; i < l->threads; i++)
        if (l->failures[i].status != MW_OK) {
            if (error) *error = l->failures[i];
            return l->failures[i].status;
        }
    mw_gae(l->advantage, l->target, l->reward, l->value, l->done, l->after, l->preset.horizon, l->preset.envs,
           l->preset.gamma, l->preset.lambda);
    mw_standardise(l->advantage, l->steps);
    return MW_OK;
}
