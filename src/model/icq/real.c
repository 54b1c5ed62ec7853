/* MA-ICQ of real actions: a critic of an agent's own action, whose targets are the recorded next actions',
 * and a Gaussian policy whose likelihood of recorded actions is weighted by the softmax of their advantages.
 */
#include "core/math.h"
#include "model/icq/icq.h"

#include <math.h>
#include <string.h>

typedef struct {
    mw_arena arena;
    float *obs, *next_obs, *act, *next_act, *reward, *end;
    float *x, *row, *next_row; /* [b][n][inputs] of the policy and of the critic */
    float *next_q, *target_deviation, *target_weight, *target, *q;
    float *own, *log_std, *log_prob; /* [b][n][d], [d], [b][n] */
    float *policy_next_q, *advantage, *deviation, *weight;
} batch;

#define IN(member) offsetof(batch, member)

static const mw_slot_field batch_fields[] = {
    {"in.obs", IN(obs), MW_F32, "bno", 0},
    {"in.next_obs", IN(next_obs), MW_F32, "bno", 0},
    {"in.act", IN(act), MW_F32, "bnd", 0},
    {"in.next_act", IN(next_act), MW_F32, "bnd", 0},
    {"in.reward", IN(reward), MW_F32, "bn", 0},
    {"in.end", IN(end), MW_F32, "b", 0},
    {"x", IN(x), MW_F32, "bnX", 0},
    {"row", IN(row), MW_F32, "bnC", 0},
    {"next_row", IN(next_row), MW_F32, "bnC", 0},
    {"out.next_q", IN(next_q), MW_F32, "bn", 0},
    {"out.target_deviation", IN(target_deviation), MW_F32, "1", 0},
    {"out.target_weight", IN(target_weight), MW_F32, "bn", 0},
    {"out.target", IN(target), MW_F32, "bn", 0},
    {"out.q", IN(q), MW_F32, "bn", 0},
    {"out.act", IN(own), MW_F32, "bnd", 0},
    {"out.log_std", IN(log_std), MW_F32, "d", 0},
    {"out.log_prob", IN(log_prob), MW_F32, "bn", 0},
    {"out.policy_next_q", IN(policy_next_q), MW_F32, "bn", 0},
    {"out.advantage", IN(advantage), MW_F32, "bn", 0},
    {"out.deviation", IN(deviation), MW_F32, "1", 0},
    {"out.weight", IN(weight), MW_F32, "bn", 0},
};

typedef struct {
    mw_mlp_acts policy, critic;
    float *gradient, *dact; /* [rows], [rows][d] */
    double *dlog;           /* [d] */
} area;

/* ---- batches ---- */

static int extent(const mw_fit *f, char letter) {
    const mw_icq_net *net = mw_icq_net_of(f->model);
    return letter == 'X' ? net->view.inputs : letter == 'C' ? net->inputs : 0;
}

static void fill(const mw_fit *f, void *slot, uint64_t step, bool held) {
    const batch *b = slot;
    const size_t n = (size_t)f->model->shape.agents, o = (size_t)f->model->shape.obs,
                 d = (size_t)f->model->shape.act;
    (void)held; /* there is no validation */
    for (size_t row = 0; row < (size_t)f->settings->batch; row++) {
        const mw_transition to = {.obs = b->obs + row * n * o,
                                  .next_obs = b->next_obs + row * n * o,
                                  .act = b->act + row * n * d,
                                  .next_act = b->next_act + row * n * d,
                                  .reward = b->reward + row * n,
                                  .end = b->end + row};
        mw_transition_take(&to, f->data->dataset, mw_icq_draw(f, step, row));
    }
}

/* Rows of the critic: what the policy sees, then the action. */
static void assemble_rows(const mw_fit *f, const float *obs, const float *act, float *rows) {
    const mw_icq_training *t = f->state;
    const mw_icq_net *net = mw_icq_net_of(f->model);
    const size_t d = (size_t)f->model->shape.act, inputs = (size_t)net->inputs, n = (size_t)net->view.agents,
                 joint = n * (size_t)net->view.obs;
    for (size_t row = 0; row < (size_t)f->settings->batch; row++)
        mw_view_fill(&net->view, t->units, obs + row * joint, rows + row * n * inputs, inputs);
    for (size_t row = 0; row < (size_t)f->settings->batch * n; row++)
        memcpy(rows + row * inputs + net->view.inputs, act + row * d, d * sizeof *act);
}

static void assemble(const mw_fit *f, void *slot) {
    const mw_icq_training *t = f->state;
    const batch *b = slot;
    const mw_view *view = &mw_icq_net_of(f->model)->view;
    const size_t n = (size_t)view->agents, o = (size_t)view->obs, inputs = (size_t)view->inputs;
    for (size_t row = 0; row < (size_t)f->settings->batch; row++)
        mw_view_fill(view, t->units, b->obs + row * n * o, b->x + row * n * inputs, inputs);
    assemble_rows(f, b->obs, b->act, b->row);
    assemble_rows(f, b->next_obs, b->next_act, b->next_row);
}

static void carve(const mw_fit *f, void *own, mw_arena *arena, int rows) {
    area *a = own;
    const mw_icq_net *net = mw_icq_net_of(f->model);
    const int all = rows * f->model->shape.agents;
    mw_mlp_acts_take(&net->policy, &a->policy, arena, all, true);
    mw_mlp_acts_take(&net->critic, &a->critic, arena, all, true);
    a->gradient = mw_arena_floats(arena, (size_t)all);
    a->dact = mw_arena_floats(arena, (size_t)(all * f->model->shape.act));
    a->dlog = mw_arena_take(arena, (size_t)f->model->shape.act, sizeof *a->dlog);
}

/* ---- the critic's turn ---- */

static void value(const mw_fit *f, area *a, mw_span s, const float *rows, bool slow, float *q) {
    const mw_mlp *critic = &mw_icq_net_of(f->model)->critic;
    memcpy(q + s.first,
           mw_mlp_forward(critic, &a->critic, rows + s.first * (size_t)critic->layer[0].in,
                          slow ? f->target : f->shards.optimizer.values,
                          slow ? f->target_packed : f->shards.packed, (int)s.count),
           s.count * sizeof *q);
}

static void critic_look(const mw_fit *f, void *slot, void *own, int begin, int end) {
    const batch *b = slot;
    const mw_span s = mw_span_of(f, begin, end);
    value(f, own, s, b->next_row, true, b->next_q);
    value(f, own, s, b->row, false, b->q);
}

/* target = r + discount * c * the slow critic at the recorded next action; c = 1, or its weight among the
 * batch's, cut at 1. */
static void critic_settle(const mw_fit *f, void *slot, double *losses) {
    const batch *b = slot;
    const mw_icq_settings *set = mw_icq_settings_of(f->model);
    const mw_span s = mw_span_of(f, 0, f->settings->batch);
    const size_t n = (size_t)f->model->shape.agents;
    const mw_icq_values next = {b->next_q, s.all, 1, b->end, n};
    const double deviation = mw_icq_deviation(&next);
    b->target_deviation[0] = (float)deviation;
    mw_icq_weigh(&next, deviation * set->target_beta, b->target_weight);
    double sum = 0;
    for (size_t row = 0; row < s.all; row++) {
        const float cut = fminf(b->target_weight[row] / (float)set->target_alpha, 1);
        b->target_weight[row] = set->target_cut ? cut : 1 - b->end[row / n];
        b->target[row] = b->reward[row] + (float)set->discount * b->target_weight[row] * b->next_q[row];
        const float off = b->q[row] - b->target[row];
        sum += (double)(off * off);
    }
    losses[MW_ICQ_CRITIC_LOSS] = sum / (double)s.all;
}

static void critic_loss(const mw_fit *f, void *slot, void *own, int begin, int end, float *grads,
                        double *losses) {
    const batch *b = slot;
    area *a = own;
    const mw_icq_net *net = mw_icq_net_of(f->model);
    const mw_span s = mw_span_of(f, begin, end);
    (void)losses; /* they are settled */
    if (!grads) return;
    for (size_t row = 0; row < s.count; row++)
        a->gradient[row] = 2 * (b->q[s.first + row] - b->target[s.first + row]) / (float)s.all;
    mw_mlp_backward(&net->critic, &a->critic, NULL, grads, a->gradient,
                    b->row + s.first * (size_t)net->inputs, f->shards.packed, (int)s.count);
}

/* ---- the policy's turn ---- */

/* Logarithms of the deviations lie between -6 and 0, and are bent there. */
#define LOG_STD_RANGE 6.0

static double bend(const mw_fit *f, int k) {
    const float raw = f->shards.optimizer.values[mw_icq_net_of(f->model)->log_std + (size_t)k];
    return 1 / (1 + mw_exp(-(double)raw));
}

static void policy_before(const mw_fit *f, void *slot) {
    const batch *b = slot;
    for (int k = 0; k < f->model->shape.act; k++)
        b->log_std[k] = (float)(LOG_STD_RANGE * bend(f, k) - LOG_STD_RANGE);
}

/* Advantages are errors of what the trained critic says, from one recorded action to the next. */
static void policy_look(const mw_fit *f, void *slot, void *own, int begin, int end) {
    const batch *b = slot;
    area *a = own;
    const mw_icq_net *net = mw_icq_net_of(f->model);
    const mw_span s = mw_span_of(f, begin, end);
    const size_t n = (size_t)f->model->shape.agents, d = (size_t)f->model->shape.act;
    const float discount = (float)mw_icq_settings_of(f->model)->discount;
    float *act = b->own + s.first * d;
    value(f, a, s, b->next_row, false, b->policy_next_q);
    value(f, a, s, b->row, false, b->q);
    for (size_t row = s.first; row < s.first + s.count; row++)
        b->advantage[row] =
            b->reward[row] + discount * (1 - b->end[row / n]) * b->policy_next_q[row] - b->q[row];
    memcpy(act,
           mw_mlp_forward(&net->policy, &a->policy, b->x + s.first * (size_t)net->view.inputs,
                          f->shards.optimizer.values, f->shards.packed, (int)s.count),
           s.count * d * sizeof *act);
    mw_tanh_forward(act, s.count * d);
}

static void policy_settle(const mw_fit *f, void *slot, double *losses) {
    const batch *b = slot;
    const mw_span s = mw_span_of(f, 0, f->settings->batch);
    const mw_icq_values advantage = {b->advantage, s.all, 1, NULL, 1};
    const double deviation = mw_icq_deviation(&advantage);
    b->deviation[0] = (float)deviation;
    losses[MW_ICQ_EFFECTIVE] =
        mw_icq_weigh(&advantage, deviation * mw_icq_settings_of(f->model)->temperature, b->weight);
    for (size_t row = 0; row < s.all; row++) losses[MW_ICQ_Q] += (double)b->q[row] / (double)s.all;
}

/* The log density of the recorded action of a row; adds to the gradients of its mean and deviations, which
 * weigh so much. */
static double judge(const batch *b, size_t row, int d, double weight, float *dact, double *dlog) {
    const float *act = b->act + row * (size_t)d, *own = b->own + row * (size_t)d;
    double log = 0;
    for (int k = 0; k < d; k++) {
        const double std = mw_exp((double)b->log_std[k]), z = (double)(act[k] - own[k]) / std;
        log -= z * z / 2 + (double)b->log_std[k] + mw_ln(6.283185307179586) / 2;
        dact[k] = (float)(-weight * z / std);
        dlog[k] -= weight * (z * z - 1);
    }
    return log;
}

static void policy_loss(const mw_fit *f, void *slot, void *own, int begin, int end, float *grads,
                        double *losses) {
    const batch *b = slot;
    area *a = own;
    const mw_icq_net *net = mw_icq_net_of(f->model);
    const mw_span s = mw_span_of(f, begin, end);
    const int d = f->model->shape.act;
    double *dlog = a->dlog, sum = 0;
    memset(dlog, 0, (size_t)d * sizeof *dlog);
    for (size_t row = 0; row < s.count; row++) {
        const double weight = (double)b->weight[s.first + row] / (double)s.all,
                     log = judge(b, s.first + row, d, weight, a->dact + row * (size_t)d, dlog);
        b->log_prob[s.first + row] = (float)log;
        sum -= weight * log;
    }
    losses[MW_ICQ_POLICY_LOSS] = sum;
    if (!grads) return;
    for (int k = 0; k < d; k++)
        grads[net->log_std + (size_t)k] += (float)(dlog[k] * LOG_STD_RANGE * bend(f, k) * (1 - bend(f, k)));
    mw_tanh_backward(a->dact, b->own + s.first * (size_t)d, s.count * (size_t)d);
    mw_mlp_backward(&net->policy, &a->policy, NULL, grads, a->dact, b->x + s.first * (size_t)net->view.inputs,
                    f->shards.packed, (int)s.count);
}

static const mw_turn turns[] = {
    {.group = MW_ICQ_CRITIC, .look = critic_look, .settle = critic_settle, .loss = critic_loss},
    {.group = MW_ICQ_POLICY,
     .before = policy_before,
     .look = policy_look,
     .settle = policy_settle,
     .loss = policy_loss},
};

static const mw_phase phase = {.turns = turns, .turn_count = 2};

const mw_fit_class mw_icq_real_fit = {
    .settings = offsetof(mw_icq_settings, fit),
    .state = sizeof(mw_icq_training),
    .slot = sizeof(batch),
    .area = sizeof(area),
    .losses = MW_ICQ_LOSSES,
    .loss_names = {"critic", "policy", "q", "effective"},
    .apart = true,
    .targets = true,
    .groups = {"policy", "critic"},
    .stream = 2,
    .open = mw_icq_open,
    .close = mw_icq_close,
    .fields = batch_fields,
    .field_count = sizeof batch_fields / sizeof *batch_fields,
    .extent = extent,
    .initialise = mw_icq_initialise,
    .fill = fill,
    .assemble = assemble,
    .phases = &phase,
    .phase_count = 1,
    .carve = carve,
    .pack = mw_icq_pack_group,
};
