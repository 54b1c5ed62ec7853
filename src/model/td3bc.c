/* MA-TD3+BC: twin critics with slow copies, and a policy that climbs the first one while it stays near what
 * was recorded. The climb is scaled to unit size, so that one constant serves all rewards. Every agent acts
 * on its own observation. */
#include "core/rng.h"
#include "data/transition.h"
#include "model/critic.h"
#include "model/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int hidden, delay;
    bool joint;
    double discount, slow, noise, noise_clip, climb;
    mw_fit_settings fit;
} settings;

#define AT(member) offsetof(settings, member)

/* clang-format off */
static const mw_field fields[] = {
    {"hidden",     MW_FIELD_INT,    AT(hidden),     "256",   1, 4096,      "width of the two hidden layers of every network", {0}, NULL},
    {"joint",      MW_FIELD_SWITCH, AT(joint),      "off",   0, 1,         "critics see what all agents see", {0}, NULL},
    {"discount",   MW_FIELD_REAL,   AT(discount),   "0.99",  0, 1,         "of what follows", {0}, NULL},
    {"slow",       MW_FIELD_REAL,   AT(slow),       "0.995", 1e-3, 0.99999, "how much of the slow copies stays when they move", {0}, NULL},
    {"noise",      MW_FIELD_REAL,   AT(noise),      "0.2",   0, 10,        "of the next action that critics are told of", {0}, NULL},
    {"noise_clip", MW_FIELD_REAL,   AT(noise_clip), "0.5",   0, 10,        "where it is cut", {0}, NULL},
    {"climb",      MW_FIELD_REAL,   AT(climb),      "2.5",   0, 1e6,       "weight of the critic beside cloning", {0}, NULL},
    {"delay",      MW_FIELD_INT,    AT(delay),      "2",     1, 1000,      "steps of the critics for each of the policy", {0}, NULL},
    MW_FIT_FIELDS(settings, fit, "joint transitions", "30000", "171", "0.0003", "0"),
    MW_SHARDS_FIELD(settings, fit),
};
/* clang-format on */
_Static_assert(sizeof(settings) <= MW_CONFIG_BYTES, "settings fit into a configuration");

static const mw_constants constants[] = {
    {"spread tag world", "discount=0.95", "OMAR's code"},
    {"2ant 4ant", "joint=on", "OG-MARL's code"},
    {NULL, NULL, NULL},
};

typedef struct {
    mw_params params;
    mw_mlp policy;
    mw_view view;
    mw_twin critic;
} network;

enum { POLICY, CRITIC };

static const settings *settings_of(const mw_model *model) {
    return (const settings *)(const void *)&model->config;
}

static const network *network_of(const mw_model *model) {
    return model->net;
}

static mw_status make(mw_model *model, mw_error *error) {
    const settings *s = settings_of(model);
    const mw_model_shape *shape = &model->shape;
    network *net = model->net = calloc(1, sizeof *net);
    if (!net) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a policy and its critics");
    mw_params *p = &net->params;
    model->params = p;
    net->policy = mw_mlp_hidden(p, "policy", shape->obs + shape->agents, s->hidden, 2, shape->act, MW_RELU);
    mw_twin_add(&net->critic, p, shape, s->joint, s->hidden);
    const mw_units units = mw_units_add(p, "scale", shape->obs);
    net->view = mw_view_of(&units, shape, false);
    net->critic.view = mw_view_of(&units, shape, s->joint);
    return p->failed ? mw_fail(error, MW_ERR_MEMORY, "cannot allocate the policy's table") : MW_OK;
}

static void discard(mw_model *model) {
    if (model->net) mw_params_free(&((network *)model->net)->params);
    free(model->net);
}

static void pack(const mw_model *model, const float *values, float *packed, bool backward) {
    mw_mlp_pack(&network_of(model)->policy, values, packed, backward);
    mw_twin_pack(&network_of(model)->critic, values, packed, backward);
}

/* ---- training ---- */

typedef struct {
    mw_episode_set steps;
    float *units; /* [total]: the weights that are not trained, the rest is not read */
    mw_arena arena;
} training;

typedef struct {
    mw_arena arena;
    float *obs, *next_obs, *act, *reward, *end, *noise;
    float *x, *next_x;          /* [b][n][inputs] of the policy */
    float *row, *next_row, *at; /* [b][n][inputs] of the critics: recorded, next and the policy's action */
    float *next_mean, *next_act, *next_q, *target, *q, *own, *policy_q, *climb;
} batch;

#define IN(member) offsetof(batch, member)

static const mw_slot_field batch_fields[] = {
    {"in.obs", IN(obs), MW_F32, "bno", 0},
    {"in.next_obs", IN(next_obs), MW_F32, "bno", 0},
    {"in.act", IN(act), MW_F32, "bnd", 0},
    {"in.reward", IN(reward), MW_F32, "bn", 0},
    {"in.end", IN(end), MW_F32, "b", 0},
    {"draw.noise", IN(noise), MW_F32, "bnd", 0},
    {"x", IN(x), MW_F32, "bnX", 0},
    {"next_x", IN(next_x), MW_F32, "bnX", 0},
    {"row", IN(row), MW_F32, "bnC", 0},
    {"next_row", IN(next_row), MW_F32, "bnC", 0},
    {"at", IN(at), MW_F32, "bnC", 0},
    {"out.next_mean", IN(next_mean), MW_F32, "bnd", 0},
    {"out.next_act", IN(next_act), MW_F32, "bnd", 0},
    {"out.next_q", IN(next_q), MW_F32, "2bn", 0},
    {"out.target", IN(target), MW_F32, "bn", 0},
    {"out.q", IN(q), MW_F32, "2bn", 0},
    {"out.act", IN(own), MW_F32, "bnd", 0},
    {"out.policy_q", IN(policy_q), MW_F32, "bn", 0},
    {"out.lam", IN(climb), MW_F32, "1", 0},
};

/* Each shard's own. */
typedef struct {
    mw_mlp_acts policy, critic[2];
    float *gradient, *dact, *drow; /* [rows] of a value, [rows][d], [rows][inputs] of the critics */
} area;

static int extent(const mw_fit *f, char letter) {
    const network *net = network_of(f->model);
    return letter == 'X' ? net->view.inputs : net->critic.inputs;
}

static mw_status open_training(mw_fit *f, mw_error *error) {
    training *t = f->state;
    const mw_training_data *data = f->data;
    const network *net = network_of(f->model);
    const int rows = f->settings->batch * f->model->shape.agents;
    MW_TRY(mw_transition_set(&t->steps, data->dataset, &data->split.train, MW_NEED_NEXT_OBS, error));
    MW_TRY(mw_arena_create(&t->arena, f->model->params->total * sizeof *t->units, error));
    t->units = mw_arena_floats(&t->arena, f->model->params->total);
    mw_units_set(&net->view.units, t->units, data->stats.obs);
    for (int g = 0; g < 2; g++) f->groups[g].decay = (float)settings_of(f->model)->slow;
    f->part.keeps_last = true;
    const double critic = mw_mlp_flops(&net->critic.mlp[0], rows), policy = mw_mlp_flops(&net->policy, rows);
    f->part.cost = 8 * critic + policy + (3 * critic + 3 * policy) / settings_of(f->model)->delay;
    return MW_OK;
}

static void close_training(mw_fit *f) {
    training *t = f->state;
    mw_episode_set_free(&t->steps);
    mw_arena_free(&t->arena);
}

static void initialise(mw_fit *f, float *values) {
    mw_units_set(&network_of(f->model)->view.units, values, f->data->stats.obs);
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
    }
}

static void assemble(const mw_fit *f, void *slot) {
    const training *t = f->state;
    const batch *b = slot;
    const network *net = network_of(f->model);
    const size_t n = (size_t)f->model->shape.agents, o = (size_t)f->model->shape.obs,
                 d = (size_t)f->model->shape.act, inputs = (size_t)net->view.inputs,
                 width = (size_t)net->critic.inputs;
    for (size_t row = 0; row < (size_t)f->settings->batch; row++) {
        const float *obs = b->obs + row * n * o, *next = b->next_obs + row * n * o,
                    *act = b->act + row * n * d;
        mw_view_fill(&net->view, t->units, obs, b->x + row * n * inputs, inputs);
        mw_view_fill(&net->view, t->units, next, b->next_x + row * n * inputs, inputs);
        mw_twin_fill(&net->critic, t->units, obs, act, b->row + row * n * width);
        mw_twin_fill(&net->critic, t->units, next, act, b->next_row + row * n * width);
        memcpy(b->at + row * n * width, b->row + row * n * width, n * width * sizeof *b->at);
    }
}

static void carve(const mw_fit *f, void *own, mw_arena *arena, int rows) {
    area *a = own;
    const network *net = network_of(f->model);
    const int all = rows * f->model->shape.agents;
    mw_mlp_acts_take(&net->policy, &a->policy, arena, all, true);
    for (int j = 0; j < 2; j++) mw_mlp_acts_take(&net->critic.mlp[j], &a->critic[j], arena, all, true);
    a->gradient = mw_arena_floats(arena, (size_t)all);
    a->dact = mw_arena_floats(arena, (size_t)(all * f->model->shape.act));
    a->drow = mw_arena_floats(arena, (size_t)(all * net->critic.inputs));
}

static void pack_group(const mw_model *model, int group, const float *values, float *packed, bool backward) {
    if (group == POLICY)
        mw_mlp_pack(&network_of(model)->policy, values, packed, backward);
    else
        mw_twin_pack(&network_of(model)->critic, values, packed, backward);
}

/* The rows of a part of a batch. */
typedef struct {
    size_t first, count, all; /* all: of the whole batch */
} span;

static span span_of(const mw_fit *f, int begin, int end) {
    const size_t n = (size_t)f->model->shape.agents;
    return (span){(size_t)begin * n, (size_t)(end - begin) * n, (size_t)f->settings->batch * n};
}

/* target = r + discount * the smaller slow critic at the slow policy's noisy action; nothing follows an end.
 */
static void find_targets(const mw_fit *f, const batch *b, area *a, span s) {
    const network *net = network_of(f->model);
    const settings *set = settings_of(f->model);
    const size_t d = (size_t)f->model->shape.act, n = (size_t)f->model->shape.agents;
    const float clip = (float)set->noise_clip;
    float *mean = b->next_mean + s.first * d, *act = b->next_act + s.first * d,
          *rows = b->next_row + s.first * (size_t)net->critic.inputs;
    const float *out =
        mw_mlp_forward(&net->policy, &a->policy, b->next_x + s.first * (size_t)net->view.inputs, f->target,
                       f->target_packed, (int)s.count);
    memcpy(mean, out, s.count * d * sizeof *mean);
    mw_tanh_forward(mean, s.count * d);
    for (size_t k = 0; k < s.count * d; k++) {
        const float noise = (float)set->noise * b->noise[s.first * d + k];
        act[k] = fminf(fmaxf(mean[k] + fminf(fmaxf(noise, -clip), clip), -1), 1);
    }
    mw_twin_put(&net->critic, rows, act, (int)s.count);
    for (int j = 0; j < 2; j++)
        memcpy(b->next_q + (size_t)j * s.all + s.first,
               mw_mlp_forward(&net->critic.mlp[j], &a->critic[j], rows, f->target, f->target_packed,
                              (int)s.count),
               s.count * sizeof *b->next_q);
    for (size_t row = s.first; row < s.first + s.count; row++) {
        const float next = fminf(b->next_q[row], b->next_q[s.all + row]);
        b->target[row] = b->reward[row] + (float)set->discount * (1 - b->end[row / n]) * next;
    }
}

static void critic_loss(const mw_fit *f, void *slot, void *own, int begin, int end, float *grads,
                        double *losses) {
    const batch *b = slot;
    area *a = own;
    const mw_twin *twin = &network_of(f->model)->critic;
    const span s = span_of(f, begin, end);
    const float *rows = b->row + s.first * (size_t)twin->inputs;
    double sum = 0;
    find_targets(f, b, a, s);
    for (int j = 0; j < 2; j++) {
        float *q = b->q + (size_t)j * s.all + s.first;
        memcpy(q,
               mw_mlp_forward(&twin->mlp[j], &a->critic[j], rows, f->shards.optimizer.values,
                              f->shards.packed, (int)s.count),
               s.count * sizeof *q);
        for (size_t row = 0; row < s.count; row++) {
            const float off = q[row] - b->target[s.first + row];
            sum += (double)(off * off);
            a->gradient[row] = 2 * off / (float)s.all;
        }
        if (grads)
            mw_mlp_backward(&twin->mlp[j], &a->critic[j], NULL, grads, a->gradient, rows, f->shards.packed,
                            (int)s.count);
    }
    losses[0] = sum / (double)s.all;
}

/* What the policy does now, and what the first critic says to it. */
static void policy_look(const mw_fit *f, void *slot, void *own, int begin, int end) {
    const batch *b = slot;
    area *a = own;
    const network *net = network_of(f->model);
    const span s = span_of(f, begin, end);
    const size_t d = (size_t)f->model->shape.act;
    float *act = b->own + s.first * d, *rows = b->at + s.first * (size_t)net->critic.inputs;
    const float *values = f->shards.optimizer.values, *packed = f->shards.packed,
                *x = b->x + s.first * (size_t)net->view.inputs;
    memcpy(act, mw_mlp_forward(&net->policy, &a->policy, x, values, packed, (int)s.count),
           s.count * d * sizeof *act);
    mw_tanh_forward(act, s.count * d);
    mw_twin_put(&net->critic, rows, act, (int)s.count);
    memcpy(b->policy_q + s.first,
           mw_mlp_forward(&net->critic.mlp[0], &a->critic[0], rows, values, packed, (int)s.count),
           s.count * sizeof *b->policy_q);
}

/* One weight for the whole batch, without a gradient: with one, values of one sign would have none. */
static void policy_settle(const mw_fit *f, void *slot, double *losses) {
    const batch *b = slot;
    const span s = span_of(f, 0, f->settings->batch);
    double size = 0, sum = 0;
    for (size_t row = 0; row < s.all; row++) {
        size += fabs((double)b->policy_q[row]);
        sum += (double)b->policy_q[row];
    }
    b->climb[0] = (float)(settings_of(f->model)->climb / fmax(size / (double)s.all, 1e-8));
    losses[1] = -(double)b->climb[0] * sum / (double)s.all;
    losses[3] = sum / (double)s.all;
}

static void policy_loss(const mw_fit *f, void *slot, void *own, int begin, int end, float *grads,
                        double *losses) {
    const batch *b = slot;
    area *a = own;
    const network *net = network_of(f->model);
    const span s = span_of(f, begin, end);
    const size_t d = (size_t)f->model->shape.act;
    const float *act = b->own + s.first * d, *recorded = b->act + s.first * d,
                *rows = b->at + s.first * (size_t)net->critic.inputs;
    double sum = 0;
    for (size_t k = 0; k < s.count * d; k++) {
        const float off = act[k] - recorded[k];
        sum += (double)(off * off);
        a->dact[k] = 2 * off / (float)(s.all * d);
    }
    losses[2] = sum / (double)(s.all * d);
    losses[1] = losses[2];
    if (!grads) return;
    for (size_t row = 0; row < s.count; row++) a->gradient[row] = -b->climb[0] / (float)s.all;
    mw_mlp_backward(&net->critic.mlp[0], &a->critic[0], a->drow, NULL, a->gradient, rows, f->shards.packed,
                    (int)s.count);
    mw_twin_take(&net->critic, a->dact, a->drow, (int)s.count);
    mw_tanh_backward(a->dact, act, s.count * d);
    mw_mlp_backward(&net->policy, &a->policy, NULL, grads, a->dact, b->x + s.first * (size_t)net->view.inputs,
                    f->shards.packed, (int)s.count);
}

static const mw_turn turns[] = {
    {.group = CRITIC, .loss = critic_loss},
    {.group = POLICY, .period = AT(delay), .look = policy_look, .settle = policy_settle, .loss = policy_loss},
};

static const mw_phase phase = {.turns = turns, .turn_count = 2, .follow = AT(delay)};

static const mw_fit_class fit_class = {
    .settings = AT(fit),
    .state = sizeof(training),
    .slot = sizeof(batch),
    .area = sizeof(area),
    .losses = 4,
    .loss_names = {"critic", "policy", "cloning", "q"},
    .apart = true,
    .targets = true,
    .groups = {"policy", "critic1"},
    .stream = 2,
    .open = open_training,
    .close = close_training,
    .fields = batch_fields,
    .field_count = sizeof batch_fields / sizeof *batch_fields,
    .extent = extent,
    .initialise = initialise,
    .fill = fill,
    .assemble = assemble,
    .phases = &phase,
    .phase_count = 1,
    .carve = carve,
    .pack = pack_group,
};

/* ---- play ---- */

static const mw_policy_class policy_class;

static mw_status policy_create(mw_policy **out, const mw_policy_context *context, mw_error *error) {
    const network *net = network_of(context->model);
    const mw_actor_head head = {&net->policy, net->view, MW_DECIDE_BEST};
    return mw_head_policy_create(out, &policy_class, context, &head, error);
}

static const mw_policy_class policy_class = {.help = "MA-TD3+BC: climbs a critic, near what was recorded",
                                             .sees = "own",
                                             .source = "Fujimoto and Gu 2021",
                                             .certain = "as published; for several agents as OG-MARL has it",
                                             .create = policy_create,
                                             .act = mw_head_policy_act,
                                             .destroy = mw_head_policy_destroy};

const mw_model_class mw_td3bc_class = {
    .name = "td3bc",
    .help = "MA-TD3+BC: a policy that climbs the smaller of two critics and stays near what was recorded",
    .fields = MW_FIELDS(fields),
    .constants = constants,
    .real_only = true,
    .make = make,
    .discard = discard,
    .pack = pack,
    .fit = &fit_class,
    .policy = &policy_class,
};
