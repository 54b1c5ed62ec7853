/* The pessimistic critics of real actions; see cql.h. */
#include "core/math.h"
#include "model/cql/cql.h"
#include "nn/categorical.h"

#include <math.h>
#include <string.h>

static const mw_cql_settings *settings_of(const mw_model *model) {
    return (const mw_cql_settings *)(const void *)&model->config;
}

int mw_cql_samples(const mw_model *model) {
    return settings_of(model)->uniform + 2 * settings_of(model)->near;
}

int mw_cql_extent(const mw_fit *f, char letter) {
    switch (letter) {
    case 'U':
        return settings_of(f->model)->uniform;
    case 'N':
        return settings_of(f->model)->near;
    case 'K':
        return mw_cql_samples(f->model);
    default:
        return mw_climb_extent(f, letter);
    }
}

double mw_cql_cost(const mw_fit *f, int searched) {
    const mw_climber *net = mw_climber_of(f->model);
    const int rows = f->settings->batch * f->model->shape.agents, samples = mw_cql_samples(f->model);
    const double critic = mw_mlp_flops(&net->critic.mlp[0], rows), policy = mw_mlp_flops(&net->policy, rows);
    return (6 * (samples + 1) + 2 + 3 + searched) * critic + (settings_of(f->model)->near ? 6 : 4) * policy;
}

/* ---- batches ---- */

mw_rng mw_cql_draw(const mw_fit *f, mw_cql_batch *b, uint64_t step, size_t row) {
    const mw_cql_settings *s = settings_of(f->model);
    const size_t cells = (size_t)f->model->shape.agents * (size_t)f->model->shape.act,
                 uniform = cells * (size_t)s->uniform, near = cells * (size_t)s->near;
    mw_rng rng = mw_climb_draw(f, &b->base, step, row);
    for (size_t i = 0; i < uniform; i++) b->uniform[row * uniform + i] = 2 * mw_rng_float(&rng) - 1;
    mw_rng_fill_normal(&rng, b->near + row * near, near);
    mw_rng_fill_normal(&rng, b->near_next + row * near, near);
    return rng;
}

void mw_cql_carve(const mw_fit *f, mw_cql_area *a, mw_arena *arena, int rows, int samples) {
    const mw_climber *net = mw_climber_of(f->model);
    const int all = rows * f->model->shape.agents * samples;
    mw_climb_carve(f, &a->base, arena, rows);
    for (int j = 0; j < 2; j++) {
        mw_mlp_acts_take(&net->critic.mlp[j], &a->many[j], arena, all, true);
        a->gradient[j] = mw_arena_floats(arena, (size_t)all);
    }
    a->rows = mw_arena_floats(arena, (size_t)all * (size_t)net->critic.inputs);
    a->shifted = mw_arena_floats(arena, (size_t)samples);
}

void mw_cql_spread(const mw_twin *twin, float *rows, const float *from, size_t count, size_t each) {
    const size_t inputs = (size_t)twin->inputs;
    for (size_t row = 0; row < count; row++)
        for (size_t k = 0; k < each; k++)
            memcpy(rows + (row * each + k) * inputs, from + row * inputs, inputs * sizeof *rows);
}

/* As the source: with the usual weights tanh is saturated before the critics know anything. */
void mw_cql_initialise(mw_fit *f, float *values) {
    const mw_mlp *policy = &mw_climber_of(f->model)->policy;
    const mw_dense *last = &policy->layer[policy->layers - 1];
    const float share = 0.003f * sqrtf((float)last->in); /* of what was drawn from +-1 / sqrt(in) */
    mw_climb_initialise(f, values);
    for (int i = 0; i < last->in * last->out; i++) values[last->w + (size_t)i] *= share;
    for (int i = 0; i < last->out; i++) values[last->b + (size_t)i] *= share;
}

/* ---- sampled actions ---- */

static void take_uniform(const mw_fit *f, const mw_cql_batch *b, mw_span s) {
    const size_t d = (size_t)f->model->shape.act, u = (size_t)settings_of(f->model)->uniform,
                 all = (size_t)mw_cql_samples(f->model);
    const float density = (float)-(mw_ln(2) * (double)d);
    for (size_t row = s.first; row < s.first + s.count; row++) {
        memcpy(b->sample_act + row * all * d, b->uniform + row * u * d, u * d * sizeof *b->uniform);
        for (size_t k = 0; k < u; k++) b->log_density[row * all + k] = density;
    }
}

/* clip(act + noise), and the logarithm of its density before the clip. */
static float take_near(const float *act, const float *noise, float deviation, size_t d, float *out) {
    const double each = -mw_ln((double)deviation) - mw_ln(6.283185307179586) / 2;
    double log = 0;
    for (size_t k = 0; k < d; k++) {
        out[k] = fminf(fmaxf(act[k] + deviation * noise[k], -1), 1);
        log += each - (double)noise[k] * (double)noise[k] / 2;
    }
    return (float)log;
}

/* Samples from place on, around what the policy that learns does at x. */
static void take_around(const mw_fit *f, const mw_cql_batch *b, mw_cql_area *a, mw_span s, const float *x,
                        const float *noise, size_t place) {
    const mw_climber *net = mw_climber_of(f->model);
    const mw_cql_settings *set = settings_of(f->model);
    const size_t d = (size_t)f->model->shape.act, near = (size_t)set->near,
                 all = (size_t)mw_cql_samples(f->model);
    float *act = mw_mlp_forward(&net->policy, &a->base.policy, x + s.first * (size_t)net->view.inputs,
                                f->shards.optimizer.values, f->shards.packed, (int)s.count);
    mw_tanh_forward(act, s.count * d);
    for (size_t i = 0; i < s.count * near; i++) {
        const size_t row = s.first + i / near, at = row * all + place + i % near;
        b->log_density[at] = take_near(act + i / near * d, noise + (row * near + i % near) * d,
                                       (float)set->near_noise, d, b->sample_act + at * d);
    }
}

/* ---- the critics' turn ---- */

/* Rows of critics: every row's samples, then its recorded action. */
static void assemble_rows(const mw_fit *f, const mw_cql_batch *b, mw_cql_area *a, mw_span s) {
    const mw_twin *twin = &mw_climber_of(f->model)->critic;
    const mw_cql_settings *set = settings_of(f->model);
    const size_t inputs = (size_t)twin->inputs, all = (size_t)mw_cql_samples(f->model), d = (size_t)twin->act;
    take_uniform(f, b, s);
    if (set->near) {
        take_around(f, b, a, s, b->base.x, b->near, (size_t)set->uniform);
        take_around(f, b, a, s, b->base.next_x, b->near_next, (size_t)(set->uniform + set->near));
    }
    mw_cql_spread(twin, a->rows, b->base.row + s.first * inputs, s.count, all + 1);
    for (size_t row = 0; row < s.count; row++)
        mw_twin_put(twin, a->rows + row * (all + 1) * inputs, b->sample_act + (s.first + row) * all * d,
                    (int)all);
}

/* The penalty of one row and the gradient of its values q[K + 1]. */
static float judge(const float *q, const float *log_density, float target, float alpha, int all, float share,
                   float *shifted, float *gradient) {
    for (int k = 0; k < all; k++) shifted[k] = q[k] - log_density[k];
    const float penalty = mw_categorical_softmax(gradient, shifted, NULL, all);
    for (int k = 0; k < all; k++) gradient[k] *= alpha * share;
    gradient[all] = (2 * (q[all] - target) - alpha) * share;
    return penalty;
}

void mw_cql_critic_look(const mw_fit *f, void *slot, void *own, int begin, int end) {
    const mw_cql_batch *b = slot;
    mw_cql_area *a = own;
    const mw_twin *twin = &mw_climber_of(f->model)->critic;
    const mw_cql_settings *set = settings_of(f->model);
    const mw_span s = mw_span_of(f, begin, end);
    const size_t all = (size_t)mw_cql_samples(f->model);
    mw_climb_next(f, &b->base, &a->base, s);
    mw_climb_target(f, &b->base, &a->base, s, (float)set->reward_scale);
    assemble_rows(f, b, a, s);
    for (int j = 0; j < 2; j++) {
        const float *q = mw_mlp_forward(&twin->mlp[j], &a->many[j], a->rows, f->shards.optimizer.values,
                                        f->shards.packed, (int)(s.count * (all + 1)));
        for (size_t row = 0; row < s.count; row++, q += all + 1) {
            const size_t at = (size_t)j * s.all + s.first + row;
            memcpy(b->sample_q + at * all, q, all * sizeof *q);
            b->base.q[at] = q[all];
            b->penalty[at] = judge(q, b->log_density + (s.first + row) * all, b->base.target[s.first + row],
                                   (float)set->alpha, (int)all, 1 / (float)s.all, a->shifted,
                                   a->gradient[j] + row * (all + 1));
        }
    }
}

void mw_cql_critic_settle(const mw_fit *f, void *slot, double *losses) {
    const mw_cql_batch *b = slot;
    const mw_span s = mw_span_of(f, 0, f->settings->batch);
    for (size_t j = 0; j < 2; j++) {
        double td = 0, gap = 0;
        for (size_t row = 0; row < s.all; row++) {
            const float q = b->base.q[j * s.all + row], off = q - b->base.target[row];
            td += (double)(off * off) / (double)s.all;
            gap += (double)(b->penalty[j * s.all + row] - q) / (double)s.all;
        }
        b->td[j] = (float)td;
        b->gap[j] = (float)gap;
        losses[MW_CQL_TD] += td;
        losses[MW_CQL_GAP] += gap;
    }
    losses[MW_CQL_CRITIC] = losses[MW_CQL_TD] + settings_of(f->model)->alpha * losses[MW_CQL_GAP];
}

void mw_cql_critic_loss(const mw_fit *f, void *slot, void *own, int begin, int end, float *grads,
                        double *losses) {
    mw_cql_area *a = own;
    const mw_twin *twin = &mw_climber_of(f->model)->critic;
    const int rows = (end - begin) * f->model->shape.agents * (mw_cql_samples(f->model) + 1);
    (void)slot;
    (void)losses; /* they are settled */
    for (int j = 0; grads && j < 2; j++)
        mw_mlp_backward(&twin->mlp[j], &a->many[j], NULL, grads, a->gradient[j], a->rows, f->shards.packed,
                        rows);
}
