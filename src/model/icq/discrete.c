/* MA-ICQ of discrete actions: agents' values of all actions under a mixer whose weights depend on what all
 * see, targets at recorded next actions, weighted by a softmax over the batch, and a policy that clones,
 * weighted by the softmax of advantages over groups of rows. */
#include "core/math.h"
#include "model/icq/icq.h"
#include "nn/categorical.h"

#include <math.h>
#include <string.h>

typedef struct {
    mw_arena arena;
    float *obs, *next_obs, *reward, *end;
    int32_t *index, *next_index;
    uint8_t *legal;
    float *x, *row, *next_row;                /* [b][n][inputs] of the policy and of the critic */
    float *all, *next_all;                    /* [b][n][o]: inputs of the mixer */
    float *k, *q_all, *q, *tot;               /* [b][n], [b][n][d], [b][n], [b] */
    float *next_tot, *target_weight, *target; /* [b] */
    float *prob, *log_prob, *value, *advantage, *weight, *effective; /* [b][n][d], [b][n], .., [groups] */
} batch;

#define IN(member) offsetof(batch, member)

static const mw_slot_field batch_fields[] = {
    {"in.obs", IN(obs), MW_F32, "bno", 0},
    {"in.next_obs", IN(next_obs), MW_F32, "bno", 0},
    {"in.act", IN(index), MW_I32, "bn", 0},
    {"in.next_act", IN(next_index), MW_I32, "bn", 0},
    {"in.legal", IN(legal), MW_U8, "bnd", 0},
    {"in.reward", IN(reward), MW_F32, "bn", 0},
    {"in.end", IN(end), MW_F32, "b", 0},
    {"x", IN(x), MW_F32, "bnX", 0},
    {"row", IN(row), MW_F32, "bnC", 0},
    {"next_row", IN(next_row), MW_F32, "bnC", 0},
    {"all", IN(all), MW_F32, "bno", 0},
    {"next_all", IN(next_all), MW_F32, "bno", 0},
    {"out.k", IN(k), MW_F32, "bn", 0},
    {"out.q_all", IN(q_all), MW_F32, "bnd", 0},
    {"out.q", IN(q), MW_F32, "bn", 0},
    {"out.q_tot", IN(tot), MW_F32, "b", 0},
    {"out.next_q_tot", IN(next_tot), MW_F32, "b", 0},
    {"out.target_weight", IN(target_weight), MW_F32, "b", 0},
    {"out.target", IN(target), MW_F32, "b", 0},
    {"out.prob", IN(prob), MW_F32, "bnd", 0},
    {"out.log_prob", IN(log_prob), MW_F32, "bn", 0},
    {"out.value", IN(value), MW_F32, "bn", 0},
    {"out.advantage", IN(advantage), MW_F32, "bn", 0},
    {"out.weight", IN(weight), MW_F32, "bn", 0},
    {"out.effective", IN(effective), MW_F32, "G", 0},
};

typedef struct {
    mw_mlp_acts policy, critic, mixer;
    float *gradient, *dmix, *k; /* [rows][d], [joint rows][n] twice */
} area;

/* ---- batches ---- */

static size_t groups_of(const mw_fit *f) {
    const int group = mw_icq_settings_of(f->model)->group;
    return group ? (size_t)((f->settings->batch + group - 1) / group) : 0; /* of each agent */
}

static int extent(const mw_fit *f, char letter) {
    const mw_icq_net *net = mw_icq_net_of(f->model);
    if (letter == 'G') return groups_of(f) ? (int)groups_of(f) * f->model->shape.agents : 1;
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
                                  .index = b->index + row * n,
                                  .next_index = b->next_index + row * n,
                                  .legal = b->legal + row * n * d,
                                  .reward = b->reward + row * n,
                                  .end = b->end + row};
        mw_transition_take(&to, f->data->dataset, mw_icq_draw(f, step, row));
    }
}

/* Rows of the critic, what the policy sees and then what all see, and the latter alone. */
static void assemble_rows(const mw_fit *f, const float *obs, float *rows, float *all) {
    const mw_icq_training *t = f->state;
    const mw_icq_net *net = mw_icq_net_of(f->model);
    const mw_view *view = &net->view;
    const size_t n = (size_t)view->agents, joint = n * (size_t)view->obs, inputs = (size_t)net->inputs;
    for (size_t b = 0; b < (size_t)f->settings->batch; b++, obs += joint, all += joint) {
        mw_units_apply(&view->units, t->units, obs, all, (int)joint);
        mw_view_fill(view, t->units, obs, rows, inputs);
        for (size_t i = 0; i < n; i++, rows += inputs) memcpy(rows + view->inputs, all, joint * sizeof *all);
    }
}

static void assemble(const mw_fit *f, void *slot) {
    const mw_icq_training *t = f->state;
    const batch *b = slot;
    const mw_view *view = &mw_icq_net_of(f->model)->view;
    const size_t n = (size_t)view->agents, o = (size_t)view->obs, inputs = (size_t)view->inputs;
    for (size_t row = 0; row < (size_t)f->settings->batch; row++)
        mw_view_fill(view, t->units, b->obs + row * n * o, b->x + row * n * inputs, inputs);
    assemble_rows(f, b->obs, b->row, b->all);
    assemble_rows(f, b->next_obs, b->next_row, b->next_all);
}

static void carve(const mw_fit *f, void *own, mw_arena *arena, int rows) {
    area *a = own;
    const mw_icq_net *net = mw_icq_net_of(f->model);
    const int all = rows * f->model->shape.agents;
    mw_mlp_acts_take(&net->policy, &a->policy, arena, all, true);
    mw_mlp_acts_take(&net->critic, &a->critic, arena, all, true);
    mw_mlp_acts_take(&net->mixer, &a->mixer, arena, rows, true);
    a->gradient = mw_arena_floats(arena, (size_t)(all * f->model->shape.act));
    a->dmix = mw_arena_floats(arena, (size_t)all);
    a->k = mw_arena_floats(arena, (size_t)all);
}

/* ---- values ---- */

/* k[rows][n]: the share of each agent's value in the team's, by these weights; and all actions' values. */
static const float *judge(const mw_fit *f, area *a, mw_span s, const float *rows, const float *all, bool slow,
                          float *k) {
    const mw_icq_net *net = mw_icq_net_of(f->model);
    const int n = f->model->shape.agents, joint = (int)s.count / n;
    const float *values = slow ? f->target : f->shards.optimizer.values,
                *packed = slow ? f->target_packed : f->shards.packed,
                *out = mw_mlp_forward(&net->mixer, &a->mixer,
                                      all + s.first / (size_t)n * (size_t)net->mixer.layer[0].in, values,
                                      packed, joint);
    for (int row = 0; row < joint; row++) mw_categorical_softmax(k + row * n, out + row * n, NULL, n);
    return mw_mlp_forward(&net->critic, &a->critic, rows + s.first * (size_t)net->inputs, values, packed,
                          (int)s.count);
}

/* By the trained networks at recorded observations and actions. */
static void judge_now(const mw_fit *f, const batch *b, area *a, mw_span s) {
    const size_t n = (size_t)f->model->shape.agents, d = (size_t)f->model->shape.act;
    const float *q = judge(f, a, s, b->row, b->all, false, b->k + s.first);
    memcpy(b->q_all + s.first * d, q, s.count * d * sizeof *q);
    for (size_t at = s.first; at < s.first + s.count; at += n) {
        float tot = 0;
        for (size_t row = at; row < at + n; row++) {
            b->q[row] = b->q_all[row * d + (size_t)b->index[row]];
            tot += b->k[row] * b->q[row];
        }
        b->tot[at / n] = tot;
    }
}

/* ---- the turn of critic and mixer ---- */

static void critic_look(const mw_fit *f, void *slot, void *own, int begin, int end) {
    const batch *b = slot;
    area *a = own;
    const mw_span s = mw_span_of(f, begin, end);
    const int n = f->model->shape.agents, d = f->model->shape.act;
    const float *q = judge(f, a, s, b->next_row, b->next_all, true, a->k), *k = a->k;
    for (int joint = begin; joint < end; joint++) {
        float tot = 0;
        for (int i = 0; i < n; i++, q += d, k++) tot += *k * q[b->next_index[joint * n + i]];
        b->next_tot[joint] = b->end[joint] != 0 ? 0 : tot;
    }
    judge_now(f, b, a, s);
}

/* target = mean reward + discount * the slow value of what follows, weighted among the batch's. */
static void critic_settle(const mw_fit *f, void *slot, double *losses) {
    const batch *b = slot;
    const mw_icq_settings *set = mw_icq_settings_of(f->model);
    const size_t joint = (size_t)f->settings->batch, n = (size_t)f->model->shape.agents;
    const mw_icq_values next = {b->next_tot, joint, 1, b->end, 1};
    const float counted = (float)mw_icq_counted(&next);
    double sum = 0;
    mw_icq_weigh(&next, set->target_temperature, b->target_weight);
    for (size_t row = 0; row < joint; row++) {
        float reward = 0;
        for (size_t i = 0; i < n; i++) reward += b->reward[row * n + i];
        b->target[row] = reward / (float)n + (float)set->discount * b->target_weight[row] * b->next_tot[row];
        if (counted > 0) b->target_weight[row] /= counted;
        const float off = b->tot[row] - b->target[row];
        sum += (double)(off * off);
    }
    losses[MW_ICQ_CRITIC_LOSS] = sum / (double)joint;
}

static void critic_loss(const mw_fit *f, void *slot, void *own, int begin, int end, float *grads,
                        double *losses) {
    const batch *b = slot;
    area *a = own;
    const mw_icq_net *net = mw_icq_net_of(f->model);
    const mw_span s = mw_span_of(f, begin, end);
    const size_t n = (size_t)f->model->shape.agents, d = (size_t)f->model->shape.act;
    (void)losses; /* they are settled */
    if (!grads) return;
    memset(a->gradient, 0, s.count * d * sizeof *a->gradient);
    for (size_t at = 0; at < s.count; at++) {
        const size_t row = s.first + at, joint = row / n;
        const float off = 2 * (b->tot[joint] - b->target[joint]) / (float)f->settings->batch;
        a->gradient[at * d + (size_t)b->index[row]] = off * b->k[row];
        a->dmix[at] = off * b->k[row] * (b->q[row] - b->tot[joint]);
    }
    mw_mlp_backward(&net->critic, &a->critic, NULL, grads, a->gradient,
                    b->row + s.first * (size_t)net->inputs, f->shards.packed, (int)s.count);
    mw_mlp_backward(&net->mixer, &a->mixer, NULL, grads, a->dmix,
                    b->all + (size_t)begin * (size_t)net->mixer.layer[0].in, f->shards.packed, end - begin);
}

/* ---- the policy's turn ---- */

/* Below this a log probability stays, and has no gradient; what is illegal lies there too. */
#define LOG_FLOOR -20.0f

static void policy_look(const mw_fit *f, void *slot, void *own, int begin, int end) {
    const batch *b = slot;
    area *a = own;
    const mw_icq_net *net = mw_icq_net_of(f->model);
    const mw_span s = mw_span_of(f, begin, end);
    const int d = f->model->shape.act;
    judge_now(f, b, a, s);
    const float *out = mw_mlp_forward(&net->policy, &a->policy, b->x + s.first * (size_t)net->view.inputs,
                                      f->shards.optimizer.values, f->shards.packed, (int)s.count);
    for (size_t row = s.first; row < s.first + s.count; row++, out += d) {
        const uint8_t *legal = b->legal + row * (size_t)d;
        const int32_t act = b->index[row];
        const float *q = b->q_all + row * (size_t)d;
        float *prob = b->prob + row * (size_t)d, value = 0;
        const float total = mw_categorical_softmax(prob, out, legal, d);
        for (int k = 0; k < d; k++) value += prob[k] * q[k];
        b->log_prob[row] = legal[act] ? fmaxf(out[act] - total, LOG_FLOOR) : LOG_FLOOR;
        b->value[row] = value;
        b->advantage[row] = q[act] - value;
    }
}

/* Softmax over consecutive rows of one agent, so that a weight does not hang on the size of the batch. */
static void policy_settle(const mw_fit *f, void *slot, double *losses) {
    const batch *b = slot;
    const mw_icq_settings *set = mw_icq_settings_of(f->model);
    const mw_span s = mw_span_of(f, 0, f->settings->batch);
    const size_t n = (size_t)f->model->shape.agents, groups = groups_of(f), size = (size_t)set->group,
                 count = groups ? n * groups : 1;
    for (size_t g = 0; g < count; g++) {
        const size_t agent = groups ? g / groups : 0, first = groups ? g % groups * size : 0,
                     rows = (size_t)f->settings->batch - first, at = first * n + agent;
        const mw_icq_values advantage = {.x = b->advantage + at,
                                         .count = !groups       ? s.all
                                                  : rows < size ? rows
                                                                : size,
                                         .stride = groups ? n : 1};
        const double effective = mw_icq_weigh(&advantage, set->temperature, b->weight + at);
        b->effective[g] = (float)effective;
        losses[MW_ICQ_EFFECTIVE] += effective / (double)count;
    }
    for (size_t row = 0; row < s.all; row++) losses[MW_ICQ_Q] += (double)b->q[row] / (double)s.all;
}

static void policy_loss(const mw_fit *f, void *slot, void *own, int begin, int end, float *grads,
                        double *losses) {
    const batch *b = slot;
    area *a = own;
    const mw_icq_net *net = mw_icq_net_of(f->model);
    const mw_span s = mw_span_of(f, begin, end);
    const int d = f->model->shape.act;
    double sum = 0;
    for (size_t at = 0; at < s.count; at++) {
        const size_t row = s.first + at;
        const float share = b->k[row] * b->weight[row] / (float)s.all, *prob = b->prob + row * (size_t)d,
                    pull = b->log_prob[row] > LOG_FLOOR ? share : 0;
        sum -= (double)(share * b->log_prob[row]);
        for (int k = 0; k < d; k++)
            a->gradient[at * (size_t)d + (size_t)k] = pull * (prob[k] - (k == b->index[row]));
    }
    losses[MW_ICQ_POLICY_LOSS] = sum;
    if (grads)
        mw_mlp_backward(&net->policy, &a->policy, NULL, grads, a->gradient,
                        b->x + s.first * (size_t)net->view.inputs, f->shards.packed, (int)s.count);
}

static const mw_turn turns[] = {
    {.group = MW_ICQ_CRITIC, .look = critic_look, .settle = critic_settle, .loss = critic_loss},
    {.group = MW_ICQ_POLICY, .look = policy_look, .settle = policy_settle, .loss = policy_loss},
};

static const mw_phase phase = {.turns = turns, .turn_count = 2};

const mw_fit_class mw_icq_discrete_fit = {
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
