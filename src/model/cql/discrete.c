/* MA-CQL of discrete actions: a critic of all actions of an agent, whose mean over agents is the team's
 * value. The next actions are chosen by the critic and valued by its slow copy; every agent's own values are
 * pushed down on legal actions and up on the recorded one. */
#include "model/cql/cql.h"
#include "nn/categorical.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    mw_arena arena;
    float *obs, *next_obs, *reward, *end;
    int32_t *index;
    uint8_t *legal, *next_legal;
    float *x, *next_x;            /* [b][n][inputs] */
    float *q_all, *q, *q_tot;     /* [b][n][d], [b][n], [b] */
    float *next_q_all, *next_tot; /* by the trained critic; by the slow one at next_best */
    float *target, *penalty;      /* [b], [b][n] */
    int32_t *next_best, *greedy;  /* [b][n]; next_best -1: nothing follows */
} batch;

#define IN(member) offsetof(batch, member)

static const mw_slot_field batch_fields[] = {
    {"in.obs", IN(obs), MW_F32, "bno", 0},
    {"in.next_obs", IN(next_obs), MW_F32, "bno", 0},
    {"in.act", IN(index), MW_I32, "bn", 0},
    {"in.legal", IN(legal), MW_U8, "bnd", 0},
    {"in.next_legal", IN(next_legal), MW_U8, "bnd", 0},
    {"in.reward", IN(reward), MW_F32, "bn", 0},
    {"in.end", IN(end), MW_F32, "b", 0},
    {"x", IN(x), MW_F32, "bnX", 0},
    {"next_x", IN(next_x), MW_F32, "bnX", 0},
    {"out.q_all", IN(q_all), MW_F32, "bnd", 0},
    {"out.q", IN(q), MW_F32, "bn", 0},
    {"out.q_tot", IN(q_tot), MW_F32, "b", 0},
    {"out.next_q_all", IN(next_q_all), MW_F32, "bnd", 0},
    {"out.next_best", IN(next_best), MW_I32, "bn", 0},
    {"out.next_q_tot", IN(next_tot), MW_F32, "b", 0},
    {"out.target", IN(target), MW_F32, "b", 0},
    {"out.penalty", IN(penalty), MW_F32, "bn", 0},
    {"out.greedy", IN(greedy), MW_I32, "bn", 0},
};

typedef struct {
    mw_mlp_acts critic;
    float *gradient; /* [rows][d] */
} area;

static const mw_cql_values *values_of(const mw_model *model) {
    return model->net;
}

static const mw_cql_settings *settings_of(const mw_model *model) {
    return (const mw_cql_settings *)(const void *)&model->config;
}

mw_status mw_cql_discrete_make(mw_model *model, mw_error *error) {
    const mw_model_shape *shape = &model->shape;
    const bool joint = settings_of(model)->base.joint;
    mw_cql_values *net = model->net = calloc(1, sizeof *net);
    if (!net) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a critic");
    mw_params *p = &net->params;
    model->params = p;
    net->critic = mw_mlp_hidden(p, "critic", (joint ? shape->agents : 1) * shape->obs + shape->agents,
                                settings_of(model)->base.hidden, 2, shape->act, MW_RELU);
    const mw_units units = mw_units_add(p, "scale", shape->obs);
    net->view = mw_view_of(&units, shape, joint);
    return p->failed ? mw_fail(error, MW_ERR_MEMORY, "cannot allocate the critic's table") : MW_OK;
}

/* ---- batches ---- */

static int extent(const mw_fit *f, char letter) {
    return letter == 'X' ? values_of(f->model)->view.inputs : 0;
}

static mw_status open_training(mw_fit *f, mw_error *error) {
    mw_climb_training *t = f->state;
    const mw_training_data *data = f->data;
    const mw_cql_values *net = values_of(f->model);
    MW_TRY(mw_transition_set(&t->steps, data->dataset, &data->split.train, MW_NEED_NEXT_ACTION, error));
    MW_TRY(mw_arena_create(&t->arena, f->model->params->total * sizeof *t->units, error));
    t->units = mw_arena_floats(&t->arena, f->model->params->total);
    mw_units_set(&net->view.units, t->units, data->stats.obs);
    f->groups[0].decay = (float)settings_of(f->model)->base.slow;
    f->part.keeps_last = true;
    f->part.cost = 5 * mw_mlp_flops(&net->critic, f->settings->batch * f->model->shape.agents);
    return MW_OK;
}

static void initialise(mw_fit *f, float *values) {
    mw_units_set(&values_of(f->model)->view.units, values, f->data->stats.obs);
}

static void fill(const mw_fit *f, void *slot, uint64_t step, bool held) {
    const mw_climb_training *t = f->state;
    const batch *b = slot;
    const size_t n = (size_t)f->model->shape.agents, o = (size_t)f->model->shape.obs,
                 d = (size_t)f->model->shape.act;
    (void)held; /* there is no validation */
    for (size_t row = 0; row < (size_t)f->settings->batch; row++) {
        mw_rng rng = mw_batch_rng(f->data->seed, step, (int)row, MW_BATCH_TRANSITION);
        const mw_transition to = {.obs = b->obs + row * n * o,
                                  .next_obs = b->next_obs + row * n * o,
                                  .index = b->index + row * n,
                                  .legal = b->legal + row * n * d,
                                  .next_legal = b->next_legal + row * n * d,
                                  .reward = b->reward + row * n,
                                  .end = b->end + row};
        mw_transition_take(&to, f->data->dataset, mw_episode_set_draw(&t->steps, &rng));
    }
}

static void assemble(const mw_fit *f, void *slot) {
    const mw_climb_training *t = f->state;
    const batch *b = slot;
    const mw_view *view = &values_of(f->model)->view;
    const size_t joint = (size_t)(view->agents * view->obs), inputs = (size_t)view->inputs,
                 width = (size_t)view->agents * inputs;
    for (size_t row = 0; row < (size_t)f->settings->batch; row++) {
        mw_view_fill(view, t->units, b->obs + row * joint, b->x + row * width, inputs);
        mw_view_fill(view, t->units, b->next_obs + row * joint, b->next_x + row * width, inputs);
    }
}

static void carve(const mw_fit *f, void *own, mw_arena *arena, int rows) {
    area *a = own;
    const int all = rows * f->model->shape.agents;
    mw_mlp_acts_take(&values_of(f->model)->critic, &a->critic, arena, all, true);
    a->gradient = mw_arena_floats(arena, (size_t)(all * f->model->shape.act));
}

/* ---- the loss ---- */

/* target = mean reward + discount * the mean over agents of the slow critic at what the trained one prefers
 * among the legal actions. */
static void find_targets(const mw_fit *f, const batch *b, area *a, mw_span s) {
    const mw_cql_values *net = values_of(f->model);
    const mw_cql_settings *set = settings_of(f->model);
    const int n = f->model->shape.agents, d = f->model->shape.act;
    const float *x = b->next_x + s.first * (size_t)net->view.inputs;
    const size_t first = s.first * (size_t)d;
    memcpy(b->next_q_all + first,
           mw_mlp_forward(&net->critic, &a->critic, x, f->shards.optimizer.values, f->shards.packed,
                          (int)s.count),
           s.count * (size_t)d * sizeof *b->q_all);
    const float *slow =
        mw_mlp_forward(&net->critic, &a->critic, x, f->target, f->target_packed, (int)s.count);
    for (size_t at = s.first; at < s.first + s.count; at += (size_t)n) {
        const size_t joint = at / (size_t)n;
        float sum = 0, reward = 0;
        for (size_t row = at; row < at + (size_t)n; row++, slow += d) {
            const uint8_t *legal = b->next_legal + row * (size_t)d;
            reward += b->reward[row];
            b->next_best[row] = -1;
            if (b->end[joint] != 0) continue;
            b->next_best[row] = mw_categorical_best(b->next_q_all + row * (size_t)d, legal, d);
            sum += slow[b->next_best[row]];
        }
        b->next_tot[joint] = sum / (float)n;
        b->target[joint] =
            reward / (float)n / (float)set->reward_scale + (float)set->base.discount * b->next_tot[joint];
    }
}

/* What one agent's values q[d] add to the penalty, and their gradient. */
static double push(const batch *b, size_t row, const float *q, int d, float alpha, float share,
                   float *gradient) {
    const uint8_t *legal = b->legal + row * (size_t)d;
    const int32_t act = b->index[row];
    memcpy(b->q_all + row * (size_t)d, q, (size_t)d * sizeof *q);
    b->q[row] = q[act];
    b->greedy[row] = mw_categorical_best(q, legal, d);
    b->penalty[row] = mw_categorical_softmax(gradient, q, legal, d);
    for (int k = 0; k < d; k++) gradient[k] = alpha * share * (gradient[k] - (k == act));
    return (double)(b->penalty[row] - q[act]);
}

static void loss(const mw_fit *f, void *slot, void *own, int begin, int end, float *grads, double *losses) {
    const batch *b = slot;
    area *a = own;
    const mw_cql_values *net = values_of(f->model);
    const int n = f->model->shape.agents, d = f->model->shape.act;
    const float alpha = (float)settings_of(f->model)->alpha;
    const mw_span s = mw_span_of(f, begin, end);
    const float *x = b->x + s.first * (size_t)net->view.inputs, share = 1 / (float)s.all;
    double td = 0, gap = 0;
    find_targets(f, b, a, s);
    const float *q = mw_mlp_forward(&net->critic, &a->critic, x, f->shards.optimizer.values, f->shards.packed,
                                    (int)s.count);
    for (int joint = begin; joint < end; joint++) {
        const size_t at = (size_t)(joint * n) - s.first;
        float tot = 0;
        for (size_t row = at; row < at + (size_t)n; row++) {
            gap +=
                push(b, s.first + row, q + row * (size_t)d, d, alpha, share, a->gradient + row * (size_t)d);
            tot += b->q[s.first + row];
        }
        b->q_tot[joint] = tot / (float)n;
        const float off = b->q_tot[joint] - b->target[joint];
        td += (double)(off * off) / 2;
        for (size_t row = at; row < at + (size_t)n; row++)
            a->gradient[row * (size_t)d + (size_t)b->index[s.first + row]] += off * share;
    }
    losses[1] = td / (double)f->settings->batch;
    losses[2] = gap / (double)s.all;
    losses[0] = losses[1] + (double)alpha * losses[2];
    if (grads)
        mw_mlp_backward(&net->critic, &a->critic, NULL, grads, a->gradient, x, f->shards.packed,
                        (int)s.count);
}

const mw_fit_class mw_cql_discrete_fit = {
    .settings = offsetof(mw_cql_settings, base.fit),
    .state = sizeof(mw_climb_training),
    .slot = sizeof(batch),
    .area = sizeof(area),
    .losses = 3,
    .minimised = 1,
    .loss_names = {"critic", "td", "gap"},
    .targets = true,
    .stream = 2,
    .open = open_training,
    .close = mw_climb_close,
    .fields = batch_fields,
    .field_count = sizeof batch_fields / sizeof *batch_fields,
    .extent = extent,
    .initialise = initialise,
    .fill = fill,
    .assemble = assemble,
    .carve = carve,
    MW_ONE_TURN(.loss = loss),
};
