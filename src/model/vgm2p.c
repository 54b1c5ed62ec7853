/* VGM2P: cloning by a mean velocity, which needs one step from noise to an action, under the condition
 * whether the team did better than usual. Values of what was recorded say so: an expectile of the team's
 * value, from no action that the data does not hold. They learn first and are frozen then; every agent acts
 * on its own observation, under the condition that it is better. */
#include "core/math.h"
#include "data/transition.h"
#include "model/critic.h"
#include "model/draw.h"
#include "model/fit.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    int hidden, frequencies, value_hidden, value_steps;
    double discount, slow, expectile, drop, at_once, velocity, guidance, difference, soften;
    mw_fit_settings fit;
} settings;

#define AT(member) offsetof(settings, member)

/* clang-format off */
static const mw_field fields[] = {
    {"hidden",       MW_FIELD_INT,  AT(hidden),       "256",   1, 4096, "width of the two hidden layers of the velocity", {0}, NULL},
    {"frequencies",  MW_FIELD_INT,  AT(frequencies),  "4",     1, 16,   "of each of its two times, each as a sine and a cosine", {0}, NULL},
    {"value_hidden", MW_FIELD_INT,  AT(value_hidden), "128",   1, 4096, "the same width of the values", {0}, NULL},
    {"value_steps",  MW_FIELD_INT,  AT(value_steps),  "20000", 1, 1e8,  "training steps of the values, before the velocity's", {0}, NULL},
    {"discount",     MW_FIELD_REAL, AT(discount),     "0.99",  0, 1,    "of what follows", {0}, NULL},
    {"slow",         MW_FIELD_REAL, AT(slow),         "0.995", 1e-3, 0.99999, "how much of the slow copy of q stays in a step", {0}, NULL},
    {"expectile",    MW_FIELD_REAL, AT(expectile),    "0.7",   0, 1,    "weight of what was better than the value; what was worse has the rest", {0}, NULL},
    {"drop",         MW_FIELD_REAL, AT(drop),         "0.1",   0, 1,    "probability that the condition is dropped", {0}, NULL},
    {"at_once",      MW_FIELD_REAL, AT(at_once),      "0.75",  0, 1,    "share of rows whose two times are one", {0}, NULL},
    {"velocity",     MW_FIELD_REAL, AT(velocity),     "1",     0, 100,  "weight of the recorded velocity in the guided one", {0}, NULL},
    {"guidance",     MW_FIELD_REAL, AT(guidance),     "0.5",   0, 100,  "the same of the network's under the condition; without it has what is missing to 1", {0}, NULL},
    {"difference",   MW_FIELD_REAL, AT(difference),   "0.01",  1e-6, 1, "of time, from which the change of the mean velocity is read", {0}, NULL},
    {"soften",       MW_FIELD_REAL, AT(soften),       "0.01",  1e-9, 1e9, "squared distances much above this all weigh the same", {0}, NULL},
    MW_FIT_FIELDS(settings, fit, "joint transitions", "25000", "171", "0.001", "200"),
    MW_SHARDS_FIELD(settings, fit),
};
/* clang-format on */
_Static_assert(sizeof(settings) <= MW_CONFIG_BYTES, "settings fit into a configuration");

static const mw_constants constants[] = {
    {"spread tag world", "discount=0.95", "OMAR's code, whose episodes are as short"},
    {NULL, NULL, NULL},
};

typedef struct {
    mw_params params;
    mw_mlp value;
    mw_twin q; /* the first one alone */
    mw_generator u;
} network;

enum { VALUE, Q, VELOCITY };

static const settings *settings_of(const mw_model *model) {
    return (const settings *)(const void *)&model->config;
}

static const network *network_of(const mw_model *model) {
    return model->net;
}

static mw_status make(mw_model *model, mw_error *error) {
    const settings *s = settings_of(model);
    const mw_model_shape *shape = &model->shape;
    const int view = shape->obs + shape->agents;
    network *net = model->net = calloc(1, sizeof *net);
    if (!net) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a velocity and its values");
    mw_params *p = &net->params;
    model->params = p;
    net->value = mw_mlp_hidden(p, "value", view, s->value_hidden, 2, 1, MW_RELU);
    net->q.act = shape->act;
    net->q.inputs = view + shape->act;
    net->q.mlp[0] = mw_mlp_hidden(p, "q", net->q.inputs, s->value_hidden, 2, 1, MW_RELU);
    mw_generator_add(
        &net->u, p, "u", shape,
        &(mw_generator_form){
            .times = 2, .frequencies = s->frequencies, .conditions = 2, .hidden = s->hidden, .layers = 2});
    const mw_units units = mw_units_add(p, "scale", shape->obs);
    mw_generator_see(&net->u, &units, shape, false);
    net->q.view = net->u.view;
    return p->failed ? mw_fail(error, MW_ERR_MEMORY, "cannot allocate the velocity's table") : MW_OK;
}

static void discard(mw_model *model) {
    if (model->net) mw_params_free(&((network *)model->net)->params);
    free(model->net);
}

static const mw_mlp *mlp_of(const mw_model *model, int group) {
    const network *net = network_of(model);
    return group == VALUE ? &net->value : group == Q ? &net->q.mlp[0] : &net->u.mlp;
}

static void pack_group(const mw_model *model, int group, const float *values, float *packed, bool backward) {
    mw_mlp_pack(mlp_of(model, group), values, packed, backward);
}

static void pack(const mw_model *model, const float *values, float *packed, bool backward) {
    for (int group = VALUE; group <= VELOCITY; group++) pack_group(model, group, values, packed, backward);
}

/* ---- training ---- */

typedef struct {
    mw_episode_set steps;
    float *units; /* [total]: the weights that are not trained, the rest is not read */
    mw_arena arena;
} training;

typedef struct {
    mw_arena arena;
    float *obs, *next_obs, *act, *reward, *end, *noise, *keep, *s, *t;
    float *view, *next_view, *row, *u_row; /* [b][n][inputs] of value, q and u */
    float *z, *v, *guided, *change, *goal, *u, *distance;
    float *v_tot, *q_tot, *target, *weight, *advantage, *condition;
} batch;

#define IN(member) offsetof(batch, member)

static const mw_slot_field batch_fields[] = {
    {"in.obs", IN(obs), MW_F32, "bno", 0},
    {"in.next_obs", IN(next_obs), MW_F32, "bno", 0},
    {"in.act", IN(act), MW_F32, "bnd", 0},
    {"in.reward", IN(reward), MW_F32, "bn", 0},
    {"in.end", IN(end), MW_F32, "b", 0},
    {"draw.eps", IN(noise), MW_F32, "bnd", 0},
    {"draw.keep", IN(keep), MW_F32, "bn", 0},
    {"draw.s", IN(s), MW_F32, "bn", 0},
    {"draw.t", IN(t), MW_F32, "bn", 0},
    {"view", IN(view), MW_F32, "bnV", 0},
    {"next_view", IN(next_view), MW_F32, "bnV", 0},
    {"row", IN(row), MW_F32, "bnQ", 0},
    {"u_row", IN(u_row), MW_F32, "bnU", 0},
    {"out.z", IN(z), MW_F32, "bnd", 0},
    {"out.v", IN(v), MW_F32, "bnd", 0},
    {"out.v_g", IN(guided), MW_F32, "bnd", 0},
    {"out.du_dt", IN(change), MW_F32, "bnd", 0},
    {"out.target_u", IN(goal), MW_F32, "bnd", 0},
    {"out.u", IN(u), MW_F32, "bnd", 0},
    {"out.D", IN(distance), MW_F32, "bn", 0},
    {"out.v_tot", IN(v_tot), MW_F32, "b", 0},
    {"out.q_tot", IN(q_tot), MW_F32, "b", 0},
    {"out.target_q", IN(target), MW_F32, "b", 0},
    {"out.expectile_weight", IN(weight), MW_F32, "b", 0},
    {"out.advantage", IN(advantage), MW_F32, "b", 0},
    {"out.condition", IN(condition), MW_F32, "b", 0},
};

/* Each worker's. */
typedef struct {
    mw_mlp_acts value, q, u;
    float *team, *slow;    /* [joint rows]: values of the team; the same of the slow copy */
    float *gradient, *row; /* [rows][d]; [rows][inputs] of u */
} area;

static int extent(const mw_fit *f, char letter) {
    const network *net = network_of(f->model);
    return letter == 'V' ? net->q.view.inputs : letter == 'Q' ? net->q.inputs : net->u.inputs;
}

static mw_status open_training(mw_fit *f, mw_error *error) {
    training *t = f->state;
    const mw_training_data *data = f->data;
    const network *net = network_of(f->model);
    const settings *s = settings_of(f->model);
    const int rows = s->fit.batch * f->model->shape.agents;
    MW_TRY(mw_transition_set(&t->steps, data->dataset, &data->split.train, MW_NEED_NEXT_OBS, error));
    MW_TRY(mw_arena_create(&t->arena, f->model->params->total * sizeof *t->units, error));
    t->units = mw_arena_floats(&t->arena, f->model->params->total);
    mw_units_set(&net->u.view.units, t->units, data->stats.obs);
    f->groups[Q].decay = (float)s->slow;
    f->part.keeps_last = true;
    const double value = mw_mlp_flops(&net->value, rows), q = mw_mlp_flops(&net->q.mlp[0], rows),
                 u = mw_mlp_flops(&net->u.mlp, rows);
    f->part.cost = ((4 * value + 4 * q) * s->value_steps + (value + q + 6 * u) * s->fit.steps) /
                   (s->value_steps + s->fit.steps);
    return MW_OK;
}

static void close_training(mw_fit *f) {
    training *t = f->state;
    mw_episode_set_free(&t->steps);
    mw_arena_free(&t->arena);
}

static void initialise(mw_fit *f, float *values) {
    mw_units_set(&network_of(f->model)->u.view.units, values, f->data->stats.obs);
}

/* Times are logit-normal; s <= t. */
static void draw_times(const settings *set, mw_rng *rng, float *s, float *t, float *keep) {
    const double one = 1 / (1 + mw_exp(0.4 - mw_rng_normal(rng))),
                 other = 1 / (1 + mw_exp(0.4 - mw_rng_normal(rng)));
    *t = (float)(one > other ? one : other);
    *s = mw_rng_double(rng) < set->at_once ? *t : (float)(one > other ? other : one);
    *keep = mw_rng_double(rng) >= set->drop;
}

static void fill(const mw_fit *f, void *slot, uint64_t step, bool held) {
    const training *t = f->state;
    const batch *b = slot;
    const size_t n = (size_t)f->model->shape.agents, o = (size_t)f->model->shape.obs,
                 d = (size_t)f->model->shape.act;
    (void)held; /* there is no validation */
    for (size_t row = 0; row < (size_t)f->settings->batch; row++) {
        mw_rng rng = mw_batch_rng(f->data->seed, step, (int)row, MW_BATCH_TRANSITION);
        const mw_place place = mw_episode_set_draw(&t->steps, &rng);
        const mw_transition to = {.obs = b->obs + row * n * o,
                                  .next_obs = b->next_obs + row * n * o,
                                  .act = b->act + row * n * d,
                                  .reward = b->reward + row * n,
                                  .end = b->end + row};
        mw_transition_take(&to, f->data->dataset, place);
        mw_rng_fill_normal(&rng, b->noise + row * n * d, n * d);
        for (size_t i = row * n; i < (row + 1) * n; i++)
            draw_times(settings_of(f->model), &rng, b->s + i, b->t + i, b->keep + i);
    }
}

/* z = (1-t) a + t eps: here 1 is noise. Conditions wait for the values. */
static void assemble_velocity(const mw_fit *f, const batch *b, size_t rows) {
    const training *t = f->state;
    const mw_generator *u = &network_of(f->model)->u;
    const size_t n = (size_t)f->model->shape.agents, o = (size_t)f->model->shape.obs,
                 d = (size_t)f->model->shape.act, inputs = (size_t)u->inputs;
    for (size_t row = 0; row < rows; row += n)
        mw_generator_look(u, t->units, b->obs + row * o, b->u_row + row * inputs, 1);
    for (size_t row = 0; row < rows; row++) {
        mw_path_straight(b->z + row * d, b->v + row * d, b->noise + row * d, b->act + row * d, b->t[row],
                         (int)d);
        mw_generator_time(u, b->u_row + row * inputs, 0, (double)b->s[row]);
        mw_generator_time(u, b->u_row + row * inputs, 1, (double)b->t[row]);
    }
    mw_generator_put(u, b->u_row, b->z, (int)rows);
}

static void assemble(const mw_fit *f, void *slot) {
    const training *t = f->state;
    const batch *b = slot;
    const network *net = network_of(f->model);
    const mw_view *view = &net->q.view;
    const size_t n = (size_t)view->agents, o = (size_t)view->obs, d = (size_t)f->model->shape.act,
                 seen = (size_t)view->inputs, rows = (size_t)f->settings->batch * n;
    for (size_t row = 0; row < rows; row += n) {
        mw_view_fill(view, t->units, b->obs + row * o, b->view + row * seen, seen);
        mw_view_fill(view, t->units, b->next_obs + row * o, b->next_view + row * seen, seen);
        mw_twin_fill(&net->q, t->units, b->obs + row * o, b->act + row * d,
                     b->row + row * (size_t)net->q.inputs);
    }
    if (f->phase == 1) assemble_velocity(f, b, rows);
}

static void carve(const mw_fit *f, void *own, mw_arena *arena, int rows) {
    area *a = own;
    const network *net = network_of(f->model);
    const int all = rows * f->model->shape.agents;
    mw_mlp_acts_take(&net->value, &a->value, arena, all, true);
    mw_mlp_acts_take(&net->q.mlp[0], &a->q, arena, all, true);
    mw_mlp_acts_take(&net->u.mlp, &a->u, arena, all, true);
    a->team = mw_arena_floats(arena, (size_t)rows);
    a->slow = mw_arena_floats(arena, (size_t)rows);
    a->gradient = mw_arena_floats(arena, (size_t)(all * f->model->shape.act));
    a->row = mw_arena_floats(arena, (size_t)all * (size_t)net->u.inputs);
}

/* The rows of a part of a batch. */
typedef struct {
    size_t begin, joint; /* joint ones */
    size_t first, count; /* agents' */
    double all;          /* joint ones of the whole batch */
    size_t n, d;
} span;

static span span_of(const mw_fit *f, int begin, int end) {
    const size_t n = (size_t)f->model->shape.agents;
    return (span){.begin = (size_t)begin,
                  .joint = (size_t)(end - begin),
                  .first = (size_t)begin * n,
                  .count = (size_t)(end - begin) * n,
                  .all = (double)f->settings->batch,
                  .n = n,
                  .d = (size_t)f->model->shape.act};
}

/* team[joint] = the mean over agents of what a network says to their rows. */
static void team_value(const mw_mlp *mlp, mw_mlp_acts *acts, const float *rows, mw_weights by, span s,
                       float *team) {
    const float *own = mw_mlp_forward(mlp, acts, rows, by.values, by.packed, (int)s.count);
    for (size_t row = 0; row < s.joint; row++) {
        team[row] = 0;
        for (size_t i = 0; i < s.n; i++) team[row] += own[row * s.n + i] / (float)s.n;
    }
}

static mw_weights now(const mw_fit *f) {
    return (mw_weights){f->shards.optimizer.values, f->shards.packed};
}

/* What the slow q says to what was done. */
static void slow_value(const mw_fit *f, const batch *b, area *a, span s) {
    const mw_twin *q = &network_of(f->model)->q;
    team_value(&q->mlp[0], &a->q, b->row + s.first * (size_t)q->inputs,
               (mw_weights){f->target, f->target_packed}, s, a->slow);
}

/* gradient[rows] of a mean over the batch, from slope[joint] of each team's value. */
static void spread(const float *slope, span s, float *gradient) {
    for (size_t i = 0; i < s.count; i++) gradient[i] = slope[i / s.n] / (float)(s.all * (double)s.n);
}

static void value_loss(const mw_fit *f, void *slot, void *own, int begin, int end, float *grads,
                       double *losses) {
    const batch *b = slot;
    area *a = own;
    const network *net = network_of(f->model);
    const span s = span_of(f, begin, end);
    const float *rows = b->view + s.first * (size_t)net->q.view.inputs,
                expectile = (float)settings_of(f->model)->expectile;
    float *team = b->v_tot + s.begin;
    double sum = 0;
    slow_value(f, b, a, s);
    team_value(&net->value, &a->value, rows, now(f), s, team);
    for (size_t row = 0; row < s.joint; row++) {
        const float off = a->slow[row] - team[row];
        const float weight = b->weight[s.begin + row] = off < 0 ? 1 - expectile : expectile;
        sum += (double)(weight * off * off);
        a->team[row] = -2 * weight * off;
    }
    losses[0] = sum / s.all;
    if (!grads) return;
    spread(a->team, s, a->gradient);
    mw_mlp_backward(&net->value, &a->value, NULL, grads, a->gradient, rows, f->shards.packed, (int)s.count);
}

/* No action enters but the recorded one. */
static void q_loss(const mw_fit *f, void *slot, void *own, int begin, int end, float *grads, double *losses) {
    const batch *b = slot;
    area *a = own;
    const network *net = network_of(f->model);
    const span s = span_of(f, begin, end);
    const float *rows = b->row + s.first * (size_t)net->q.inputs,
                discount = (float)settings_of(f->model)->discount;
    float *team = b->q_tot + s.begin;
    double sum = 0;
    team_value(&net->value, &a->value, b->next_view + s.first * (size_t)net->q.view.inputs, now(f), s,
               a->team);
    team_value(&net->q.mlp[0], &a->q, rows, now(f), s, team);
    for (size_t row = 0; row < s.joint; row++) {
        float reward = 0;
        for (size_t i = 0; i < s.n; i++) reward += b->reward[s.first + row * s.n + i] / (float)s.n;
        const float target = b->target[s.begin + row] =
                        reward + discount * (1 - b->end[s.begin + row]) * a->team[row],
                    off = team[row] - target;
        sum += (double)(off * off);
        a->team[row] = 2 * off;
    }
    losses[1] = sum / s.all;
    if (!grads) return;
    spread(a->team, s, a->gradient);
    mw_mlp_backward(&net->q.mlp[0], &a->q, NULL, grads, a->gradient, rows, f->shards.packed, (int)s.count);
}

/* Did the team do better than usual? Returns how often. */
static double find_conditions(const mw_fit *f, const batch *b, area *a, span s) {
    const network *net = network_of(f->model);
    double better = 0;
    slow_value(f, b, a, s);
    team_value(&net->value, &a->value, b->view + s.first * (size_t)net->q.view.inputs, now(f), s, a->team);
    for (size_t row = 0; row < s.joint; row++) {
        b->advantage[s.begin + row] = a->slow[row] - a->team[row];
        b->condition[s.begin + row] = b->advantage[s.begin + row] >= 0;
        better += (double)b->condition[s.begin + row];
    }
    return better;
}

static const float *ask(const mw_fit *f, area *a, const float *rows, span s) {
    return mw_mlp_forward(&network_of(f->model)->u.mlp, &a->u, rows, f->shards.optimizer.values,
                          f->shards.packed, (int)s.count);
}

/* guided = w v + k u(z, t, t | c) + (1 - w - k) u(z, t, t), where the condition is kept. */
static void guide(const mw_fit *f, const batch *b, area *a, span s) {
    const mw_generator *u = &network_of(f->model)->u;
    const settings *set = settings_of(f->model);
    const float own = (float)set->velocity, with = (float)set->guidance, without = 1 - own - with;
    const size_t inputs = (size_t)u->inputs, at = s.first * s.d;
    memcpy(a->row, b->u_row + s.first * inputs, s.count * inputs * sizeof *a->row);
    for (size_t i = 0; i < s.count; i++) {
        mw_generator_time(u, a->row + i * inputs, 0, (double)b->t[s.first + i]);
        mw_generator_condition(u, a->row + i * inputs, (float[]){b->condition[s.begin + i / s.n], 1});
    }
    const float *out = ask(f, a, a->row, s);
    for (size_t k = 0; k < s.count * s.d; k++) b->guided[at + k] = own * b->v[at + k] + with * out[k];
    for (size_t i = 0; i < s.count; i++) mw_generator_condition(u, a->row + i * inputs, (float[]){0, 0});
    out = ask(f, a, a->row, s);
    for (size_t k = 0; k < s.count * s.d; k++)
        b->guided[at + k] =
            b->keep[s.first + k / s.d] > 0 ? b->guided[at + k] + without * out[k] : b->v[at + k];
}

/* What the mean velocity becomes a little later along the guided one, and what it is, for which the
 * activations stay. */
static void find_change(const mw_fit *f, const batch *b, area *a, span s) {
    const mw_generator *u = &network_of(f->model)->u;
    const double later = settings_of(f->model)->difference;
    const size_t inputs = (size_t)u->inputs, at = s.first * s.d;
    float *rows = b->u_row + s.first * inputs;
    for (size_t k = 0; k < s.count * s.d; k++)
        a->gradient[k] = b->z[at + k] + (float)later * b->guided[at + k];
    for (size_t i = 0; i < s.count; i++) {
        const float keep = b->keep[s.first + i];
        mw_generator_condition(u, rows + i * inputs, (float[]){keep * b->condition[s.begin + i / s.n], keep});
    }
    memcpy(a->row, rows, s.count * inputs * sizeof *rows);
    mw_generator_put(u, a->row, a->gradient, (int)s.count);
    for (size_t i = 0; i < s.count; i++)
        mw_generator_time(u, a->row + i * inputs, 1, (double)b->t[s.first + i] + later);
    memcpy(b->change + at, ask(f, a, a->row, s), s.count * s.d * sizeof *b->change);
    memcpy(b->u + at, ask(f, a, rows, s), s.count * s.d * sizeof *b->u);
    for (size_t k = at; k < at + s.count * s.d; k++) b->change[k] = (b->change[k] - b->u[k]) / (float)later;
}

/* The mean velocity that makes up the guided one at t; neither has a gradient. */
static void velocity_loss(const mw_fit *f, void *slot, void *own, int begin, int end, float *grads,
                          double *losses) {
    const batch *b = slot;
    area *a = own;
    const mw_generator *u = &network_of(f->model)->u;
    const span s = span_of(f, begin, end);
    const float soften = (float)settings_of(f->model)->soften, all = (float)(s.all * (double)s.n);
    double sum = 0;
    losses[3] = find_conditions(f, b, a, s) / s.all;
    guide(f, b, a, s);
    find_change(f, b, a, s);
    for (size_t row = s.first; row < s.first + s.count; row++) {
        float distance = 0, *gradient = a->gradient + (row - s.first) * s.d;
        for (size_t k = 0; k < s.d; k++) {
            const size_t at = row * s.d + k;
            b->goal[at] = b->guided[at] - (b->t[row] - b->s[row]) * b->change[at];
            gradient[k] = b->u[at] - b->goal[at];
            distance += gradient[k] * gradient[k];
        }
        b->distance[row] = distance;
        sum += (double)(distance / (distance + soften));
        for (size_t k = 0; k < s.d; k++) gradient[k] *= 2 / ((distance + soften) * all);
    }
    losses[2] = sum / (s.all * (double)s.n);
    if (grads)
        mw_mlp_backward(&u->mlp, &a->u, NULL, grads, a->gradient, b->u_row + s.first * (size_t)u->inputs,
                        f->shards.packed, (int)s.count);
}

static const mw_turn valuing[] = {{.group = VALUE, .loss = value_loss}, {.group = Q, .loss = q_loss}};
static const mw_turn moving = {.group = VELOCITY, .loss = velocity_loss};

static const mw_phase phases[] = {
    {.steps = AT(value_steps), .turns = valuing, .turn_count = 2},
    {.turns = &moving, .turn_count = 1},
};

static const mw_fit_class fit_class = {
    .settings = AT(fit),
    .state = sizeof(training),
    .slot = sizeof(batch),
    .area = sizeof(area),
    .losses = 4,
    .loss_names = {"value", "q", "velocity", "better"},
    .targets = true,
    .groups = {"value", "q", "u"},
    .stream = 2,
    .open = open_training,
    .close = close_training,
    .fields = batch_fields,
    .field_count = sizeof batch_fields / sizeof *batch_fields,
    .extent = extent,
    .initialise = initialise,
    .fill = fill,
    .assemble = assemble,
    .phases = phases,
    .phase_count = 2,
    .carve = carve,
    .pack = pack_group,
};

/* ---- play ---- */

/* The whole way from noise in one step: from 1 to 0, under the condition, which the room for it sets. */
static void draws(const mw_model *model, mw_draw_head *head) {
    *head = (mw_draw_head){
        .generator = &network_of(model)->u, .sampler = mw_sampler_once(1, -1), .candidates = 1};
}

static const mw_policy_class policy_class = {
    .help = "VGM2P: draws in one step what the data's policy might do where it is better than usual",
    .sees = "own",
    .source = "VGM2P 2026",
    .certain = "put together from its abstract and MeanFlow: a reconstruction",
    .draws = draws,
    .create = mw_draw_policy_create,
    .act = mw_draw_policy_act,
    .destroy = mw_draw_policy_destroy,
};

const mw_model_class mw_vgm2p_class = {
    .name = "vgm2p",
    .help =
        "VGM2P: a mean velocity from noise to recorded actions, under whether they were better than usual",
    .fields = MW_FIELDS(fields),
    .constants = constants,
    .make = make,
    .discard = discard,
    .pack = pack,
    .fit = MW_LEARNS(&fit_class),
    .policy = &policy_class,
};
