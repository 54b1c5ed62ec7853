/* Improving the networks on what was collected: passes over shuffled steps in minibatches, each in a fixed
 * number of shards whose gradients are added in order. */
#include "behavior/learn/learner_state.h"

#include "core/math.h"

#include <math.h>
#include <string.h>

typedef struct {
    mw_learner *learner;
    const int *order; /* of the minibatch */
    int count;
    float entropy_bonus;
} batch_context;

/* Half the squared distance of the mean action from the teacher's. */
static void imitate_row(float *gradient, const float *out, const float *shown, int d, float scale,
                        mw_ppo_terms *terms) {
    for (int i = 0; i < d; i++) {
        const float mean = (float)mw_tanh((double)out[i]), off = mean - shown[i];
        gradient[i] = scale * off * (1 - mean * mean);
        terms->loss += 0.5 * (double)(off * off);
    }
}

/* Loss and gradients of the actor on the shard's rows, which are already in area->x. */
static void actor_shard(const batch_context *c, mw_learn_area *area, const int *order, int count,
                        float *grads, mw_ppo_terms *terms) {
    mw_learner *l = c->learner;
    const int n = l->shape.agents, d = l->shape.act;
    const float *out = mw_mlp_forward(&l->actor, &area->actor, area->x, l->actor_optimizer.values,
                                      l->actor_packed, count * n);
    mw_ppo_row row = {
        .clip = l->preset.clip, .entropy_bonus = c->entropy_bonus, .scale = 1 / (float)(c->count * n)};
    for (int i = 0; i < count * n; i++) {
        const size_t step = (size_t)order[i / n], at = step * (size_t)n + (size_t)(i % n);
        float *gradient = area->gradient + (size_t)i * (size_t)d;
        row.old = l->old[at];
        row.advantage = l->advantage[step];
        if (mw_learner_imitates(l))
            imitate_row(gradient, out + (size_t)i * (size_t)d, l->real + at * (size_t)d, d, row.scale, terms);
        else if (l->shape.discrete)
            mw_ppo_categorical(&row, gradient, out + (size_t)i * (size_t)d, l->legal + at * (size_t)d,
                               l->index[at], d, terms);
        else
            mw_ppo_gaussian(&row, gradient, grads + l->log_std, out + (size_t)i * (size_t)d,
                            l->actor_optimizer.values + l->log_std, l->real + at * (size_t)d, d, terms);
    }
    mw_mlp_backward(&l->actor, &area->actor, NULL, grads, area->gradient, area->x, l->actor_packed,
                    count * n);
}

/* Half the squared error of the values; returns its sum. */
static double critic_shard(const batch_context *c, mw_learn_area *area, const int *order, int count,
                           float *grads) {
    mw_learner *l = c->learner;
    const float *value = mw_mlp_forward(&l->critic, &area->critic, area->x, l->critic_optimizer.values,
                                        l->critic_packed, count);
    double sum = 0;
    for (int i = 0; i < count; i++) {
        const float off = value[i] - l->target[order[i]];
        area->value_gradient[i] = off / (float)c->count;
        sum += 0.5 * (double)(off * off);
    }
    mw_mlp_backward(&l->critic, &area->critic, NULL, grads, area->value_gradient, area->x, l->critic_packed,
                    count);
    return sum;
}

static void batch_body(void *context, int worker) {
    const batch_context *c = context;
    mw_learner *l = c->learner;
    mw_learn_area *area = &l->areas[worker];
    const size_t joint = (size_t)l->joint;
    const int size = (c->count + l->preset.shards - 1) / l->preset.shards;
    if (worker == 0) mw_mlp_pack(&l->actor, l->actor_optimizer.values, l->actor_packed, true);
    if (worker == l->threads - 1) mw_mlp_pack(&l->critic, l->critic_optimizer.values, l->critic_packed, true);
    mw_pool_barrier(l->pool);
    for (int shard = worker; shard < l->preset.shards; shard += l->threads) {
        const int begin = shard * size < c->count ? shard * size : c->count;
        const int count = c->count - begin < size ? c->count - begin : size;
        float *actor_grads = l->actor_optimizer.grads + (size_t)shard * l->actor_optimizer.total;
        float *critic_grads = l->critic_optimizer.grads + (size_t)shard * l->critic_optimizer.total;
        memset(actor_grads, 0, l->actor_optimizer.total * sizeof *actor_grads);
        memset(critic_grads, 0, l->critic_optimizer.total * sizeof *critic_grads);
        if (count == 0) continue;
        for (int i = 0; i < count; i++)
            memcpy(area->x + (size_t)i * joint, l->x + (size_t)c->order[begin + i] * joint,
                   joint * sizeof(float));
        actor_shard(c, area, c->order + begin, count, actor_grads, &l->shard_terms[shard]);
        l->shard_value_loss[shard] += critic_shard(c, area, c->order + begin, count, critic_grads);
    }
    mw_pool_barrier(l->pool);
    mw_optimizer_step(&l->actor_optimizer, 0, l->pool, worker);
    mw_optimizer_step(&l->critic_optimizer, 0, l->pool, worker);
}

/* Keeps exploration from growing without end where actions are clipped anyway. */
static void bound_std(mw_learner *l) {
    float *log_std = l->actor_optimizer.values + l->log_std;
    for (int i = 0; i < l->shape.act && !l->shape.discrete; i++) log_std[i] = fminf(fmaxf(log_std[i], -3), 0);
}

static void one_pass(mw_learner *l, int pass, float entropy_bonus, mw_learn_report *report) {
    const int batches = l->preset.batches;
    mw_rng rng = mw_rng_make(l->seed, MW_RNG_LEARN, (uint64_t)l->iteration, (uint64_t)pass, MW_LEARN_SHUFFLE);
    for (int i = 0; i < l->steps; i++) l->order[i] = i;
    mw_rng_shuffle(&rng, l->order, l->steps);
    memset(l->shard_terms, 0, (size_t)l->preset.shards * sizeof *l->shard_terms);
    memset(l->shard_value_loss, 0, (size_t)l->preset.shards * sizeof *l->shard_value_loss);
    for (int b = 0; b < batches; b++) {
        const int begin = (int)((long)l->steps * b / batches),
                  end = (int)((long)l->steps * (b + 1) / batches);
        batch_context context = {l, l->order + begin, end - begin, entropy_bonus};
        mw_pool_run(l->pool, batch_body, &context);
        bound_std(l);
    }
    const double rows = (double)l->steps * l->shape.agents;
    report->entropy = report->kl = report->clipped = report->value_loss = 0;
    for (int s = 0; s < l->preset.shards; s++) {
        report->entropy += l->shard_terms[s].entropy / rows;
        report->kl += l->shard_terms[s].kl / rows;
        report->clipped += l->shard_terms[s].clipped / rows;
        report->value_loss += l->shard_value_loss[s] / l->steps;
    }
    report->passes++;
}

/* After a pass of learning proper; true when there should be no other. */
static bool judge_divergence(mw_learner *l, double kl, bool last) {
    const double most = (double)l->preset.kl;
    if (!(most > 0)) return false;
    const bool above = !(kl <= most);
    if (l->preset.adapt && above) l->rate_scale = fmax(l->rate_scale / 1.5, 0.01);
    if (l->preset.adapt && last && kl < most / 2) l->rate_scale = fmin(l->rate_scale * 1.2, 10);
    return above;
}

void mw_learner_update(mw_learner *l, mw_learn_report *report) {
    const double along = (double)l->iteration / (double)mw_learner_iterations(l);
    const float left = (float)(along < 1 ? 1 - 0.9 * along : 0.1);
    const bool imitates = mw_learner_imitates(l);
    l->actor_optimizer.group[0].adam.rate =
        imitates ? l->preset.imitate_rate : l->preset.rate * left * (float)l->rate_scale;
    l->critic_optimizer.group[0].adam.rate = l->preset.critic_rate * left;
    for (int pass = 0; pass < l->preset.epochs; pass++) {
        one_pass(l, pass, l->preset.entropy * left, report);
        if (!imitates && judge_divergence(l, report->kl, pass + 1 == l->preset.epochs)) break;
    }
}
