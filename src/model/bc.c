/* Behaviour cloning; see bc.h. */
#include "model/bc.h"

#include "core/math.h"
#include "core/rng.h"
#include "model/fit.h"
#include "model/units.h"
#include "nn/categorical.h"
#include "nn/mlp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int hidden, layers;
    bool joint;
    mw_fit_settings fit;
    double average;
} settings;

#define AT(member) offsetof(settings, member)

/* clang-format off */
static const mw_field fields[] = {
    {"hidden",  MW_FIELD_INT,    AT(hidden),  "256",   1, 4096, "width of the MLP", {0}, NULL},
    {"layers",  MW_FIELD_INT,    AT(layers),  "2",     1, 4,    "its hidden layers", {0}, NULL},
    {"joint",   MW_FIELD_SWITCH, AT(joint),   "off",   0, 1,    "every agent sees what all see", {0}, NULL},
    MW_FIT_FIELDS(settings, fit, "joint observations", "25000", "171", "0.001", "200"),
    {"average", MW_FIELD_REAL,   AT(average), "0.995", 1e-3, 0.99999, "decay of the average of the weights, which is what is kept", {0}, NULL},
};
/* clang-format on */
_Static_assert(sizeof(settings) <= MW_CONFIG_BYTES, "settings fit into a configuration");

typedef struct {
    mw_params params;
    mw_mlp mlp;
    int inputs;     /* own or all observations, then a one of n for the agent */
    mw_units units; /* of observations */
} network;

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
    if (!net) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a policy");
    mw_params *p = &net->params;
    model->params = p;
    net->inputs = (s->joint ? shape->agents : 1) * shape->obs + shape->agents;
    int sizes[MW_MLP_LAYERS + 1] = {net->inputs};
    for (int i = 0; i < s->layers; i++) sizes[i + 1] = s->hidden;
    sizes[s->layers + 1] = shape->act;
    net->mlp = mw_mlp_make(p, "policy", sizes, s->layers + 1, MW_RELU);
    net->units = mw_units_add(p, "scale", shape->obs);
    return p->failed ? mw_fail(error, MW_ERR_MEMORY, "cannot allocate the policy's table") : MW_OK;
}

static void discard(mw_model *model) {
    if (model->net) mw_params_free(&((network *)model->net)->params);
    free(model->net);
}

static void pack(const mw_model *model, const float *values, float *packed, bool backward) {
    mw_mlp_pack(&network_of(model)->mlp, values, packed, backward);
}

/* x[n][inputs] from a raw joint observation; the units are among the weights. */
static void look(const mw_model *model, const float *values, const float *obs, float *x) {
    const network *net = network_of(model);
    const int n = model->shape.agents, o = model->shape.obs, seen = net->inputs - n;
    for (int agent = 0; agent < n; agent++, x += net->inputs) {
        mw_units_apply(&net->units, values, settings_of(model)->joint ? obs : obs + agent * o, x, seen);
        for (int i = 0; i < n; i++) x[seen + i] = i == agent;
    }
}

/* ---- training ---- */

typedef struct {
    mw_episode_set train, held; /* all recorded steps */
    float *units;               /* [total]: the weights that are not trained, the rest is not read */
    mw_arena arena;
} training;

/* A batch, with a row for every agent of a joint observation. */
typedef struct {
    float *x, *real; /* [rows][inputs]; [rows][d], NULL if discrete */
    int32_t *index;  /* [rows] */
    uint8_t *legal;  /* [rows][d] */
    mw_arena arena;
} batch;

typedef struct {
    mw_mlp_acts acts;
} area;

static long steps_of(const mw_dataset *data, long episode, int unused) {
    (void)unused;
    return (long)data->lengths[episode];
}

static mw_status open_training(mw_fit *f, mw_error *error) {
    training *t = f->state;
    const mw_training_data *data = f->data;
    const network *net = network_of(f->model);
    const int rows = f->settings->batch * f->model->shape.agents;
    MW_TRY(mw_episode_set_of(&t->train, data->dataset, &data->split.train, steps_of, 0, error));
    MW_TRY(mw_episode_set_of(&t->held, data->dataset, &data->split.held, steps_of, 0, error));
    MW_TRY(mw_arena_create(&t->arena, f->model->params->total * sizeof *t->units, error));
    t->units = mw_arena_floats(&t->arena, f->model->params->total);
    mw_units_set(&net->units, t->units, data->stats.obs);
    f->average = (float)settings_of(f->model)->average;
    f->part.cost = 3 * mw_mlp_flops(&net->mlp, rows);
    return MW_OK;
}

static void close_training(mw_fit *f) {
    training *t = f->state;
    mw_episode_set_free(&t->train);
    mw_episode_set_free(&t->held);
    mw_arena_free(&t->arena);
}

static void initialise(mw_fit *f, float *values) {
    mw_units_set(&network_of(f->model)->units, values, f->data->stats.obs);
}

static void slot_carve(const mw_fit *f, batch *b) {
    const mw_model_shape *s = &f->model->shape;
    const size_t rows = (size_t)(f->settings->batch * s->agents), d = (size_t)s->act;
    b->x = mw_arena_floats(&b->arena, rows * (size_t)network_of(f->model)->inputs);
    if (s->discrete) {
        b->index = mw_arena_take(&b->arena, rows, sizeof *b->index);
        b->legal = mw_arena_take(&b->arena, rows, d);
    } else {
        b->real = mw_arena_floats(&b->arena, rows * d);
    }
}

static mw_status slot_open(const mw_fit *f, void *slot, mw_error *error) {
    batch *b = slot;
    slot_carve(f, b);
    MW_TRY(mw_arena_create(&b->arena, b->arena.used, error));
    slot_carve(f, b);
    return MW_OK;
}

static void slot_close(void *slot) {
    mw_arena_free(&((batch *)slot)->arena);
}

static void fill(const mw_fit *f, void *slot, uint64_t step, bool held) {
    const training *t = f->state;
    const batch *b = slot;
    const mw_dataset *data = f->data->dataset;
    const size_t n = (size_t)data->spec.agents, d = (size_t)data->spec.act_size,
                 inputs = (size_t)network_of(f->model)->inputs;
    for (int row = 0; row < f->settings->batch; row++) {
        mw_rng rng = mw_batch_rng(f->data->seed, step, row, held ? MW_BATCH_VALIDATION : MW_BATCH_CLONE);
        const mw_place place = mw_episode_set_draw(held ? &t->held : &t->train, &rng);
        const int64_t at = data->offsets[place.episode] + place.t;
        const size_t first = (size_t)row * n;
        look(f->model, t->units, mw_dataset_obs(data, place.episode, place.t), b->x + first * inputs);
        if (b->real) {
            mw_dataset_actions(data, at, 1, b->real + first * d);
            continue;
        }
        memcpy(b->legal + first * d, data->legal + (size_t)at * n * d, n * d);
        for (size_t i = 0; i < n; i++)
            b->index[first + i] = (int32_t)mw_dataset_index(data, (size_t)at * n + i);
    }
}

static void carve(const mw_fit *f, void *own, mw_arena *arena, int rows) {
    area *a = own;
    mw_mlp_acts_take(&network_of(f->model)->mlp, &a->acts, arena, rows * f->model->shape.agents, true);
}

/* The squared distance of a row from the recorded action; out[d] becomes its gradient, times share. */
static double distance(float *out, const float *act, int d, float share) {
    double sum = 0;
    for (int k = 0; k < d; k++) {
        const float mean = (float)mw_tanh((double)out[k]), off = mean - act[k];
        sum += (double)(off * off);
        out[k] = 2 * share * off * (1 - mean * mean);
    }
    return sum;
}

/* Minus the log probability of the recorded action among the legal ones. */
static double surprise(float *out, const uint8_t *legal, int32_t act, int d, float share) {
    const float total = mw_categorical_total(out, legal, d), log = out[act] - total;
    for (int k = 0; k < d; k++)
        out[k] = legal[k] ? share * ((float)mw_exp((double)(out[k] - total)) - (k == act)) : 0;
    return -(double)log;
}

/* A mean over agents; of real actions also over their components. */
static void loss(const mw_fit *f, const void *slot, void *own, int begin, int end, float *grads,
                 double *losses) {
    area *a = own;
    const batch *b = slot;
    const network *net = network_of(f->model);
    const int n = f->model->shape.agents, d = f->model->shape.act, rows = (end - begin) * n;
    const size_t first = (size_t)(begin * n);
    const float *x = b->x + first * (size_t)net->inputs;
    const float share = 1 / (float)((double)f->settings->batch * n * (b->real ? d : 1));
    float *out = mw_mlp_forward(&net->mlp, &a->acts, x, f->shards.optimizer.values, f->shards.packed, rows);
    double sum = 0;
    for (int row = 0; row < rows; row++) {
        const size_t at = first + (size_t)row;
        float *y = out + (size_t)row * (size_t)d;
        sum += b->real ? distance(y, b->real + at * (size_t)d, d, share)
                       : surprise(y, b->legal + at * (size_t)d, b->index[at], d, share);
    }
    losses[0] = sum * (double)share;
    if (grads) mw_mlp_backward(&net->mlp, &a->acts, NULL, grads, out, x, f->shards.packed, rows);
}

static const mw_fit_class fit_class = {
    .settings = AT(fit),
    .state = sizeof(training),
    .slot = sizeof(batch),
    .area = sizeof(area),
    .losses = 1,
    .minimised = 1,
    .loss_names = {"cloning"},
    .held_batches = 8,
    .stream = 2,
    .open = open_training,
    .close = close_training,
    .slot_open = slot_open,
    .slot_close = slot_close,
    .initialise = initialise,
    .fill = fill,
    .carve = carve,
    .loss = loss,
};

/* ---- play ---- */

typedef struct {
    mw_policy base;
    const mw_model *model;
    int envs;
    mw_arena arena;
    mw_mlp_acts acts;
    float *x; /* [n][inputs] of one environment */
} cloned;

static const mw_policy_class policy_class;

static void take_room(cloned *c) {
    const network *net = network_of(c->model);
    const int n = c->model->shape.agents;
    mw_mlp_acts_take(&net->mlp, &c->acts, &c->arena, n, false);
    c->x = mw_arena_floats(&c->arena, (size_t)(n * net->inputs));
}

static void policy_destroy(mw_policy *base) {
    mw_arena_free(&((cloned *)base)->arena);
    free(base);
}

static mw_status policy_create(mw_policy **out, const mw_policy_context *context, mw_error *error) {
    cloned *c = calloc(1, sizeof *c);
    *out = NULL;
    if (!c) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a policy");
    *c = (cloned){.base = {&policy_class}, .model = context->model, .envs = context->envs};
    take_room(c);
    const mw_status status = mw_arena_create(&c->arena, c->arena.used, error);
    if (status != MW_OK) {
        policy_destroy(&c->base);
        return status;
    }
    take_room(c);
    *out = &c->base;
    return MW_OK;
}

/* The joint action of one environment. Discrete ones are drawn: the softmax is the policy. */
static void decide(cloned *c, const mw_policy_call *call, int env) {
    const mw_model *model = c->model;
    const int n = model->shape.agents, d = model->shape.act;
    const size_t joint = (size_t)(n * model->shape.obs), acts = (size_t)(n * d), at = (size_t)env;
    look(model, model->values, call->obs + at * joint, c->x);
    const float *out =
        mw_mlp_forward(&network_of(model)->mlp, &c->acts, c->x, model->values, model->packed, n);
    for (size_t k = 0; !model->shape.discrete && k < acts; k++)
        call->real[at * acts + k] = (float)mw_tanh((double)out[k]);
    for (int i = 0; model->shape.discrete && i < n; i++) {
        mw_rng rng = mw_rng_make(0, MW_RNG_POLICY, call->episode[env], call->step[env], (uint64_t)i);
        const uint8_t *legal = call->legal ? call->legal + at * acts + i * d : NULL;
        call->index[env * n + i] = mw_categorical_pick(out + i * d, legal, d, mw_rng_float(&rng));
    }
}

static mw_status policy_act(mw_policy *base, const mw_policy_call *call, mw_error *error) {
    cloned *c = (cloned *)base;
    (void)error;
    for (int env = 0; env < c->envs; env++)
        if (!call->active || call->active[env]) decide(c, call, env);
    return MW_OK;
}

static const mw_policy_class policy_class = {.help = "behaviour cloning: what the data's policy would do",
                                             .create = policy_create,
                                             .act = policy_act,
                                             .destroy = policy_destroy};

const mw_model_class mw_bc_class = {
    .name = "bc",
    .help = "behaviour cloning: a policy that repeats what was recorded",
    .fields = MW_FIELDS(fields),
    .make = make,
    .discard = discard,
    .pack = pack,
    .fit = &fit_class,
    .policy = &policy_class,
};
