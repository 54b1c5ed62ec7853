/* Flow BC: behaviour cloning by a flow instead of a mean, so that it can do one of several things that were
 * recorded and never what lies between. It uses no reward. One network for all agents is the velocity from
 * noise to an agent's action; ten steps along it make one. */
#include "data/transition.h"
#include "model/draw.h"
#include "model/fit.h"

#include <stdlib.h>

typedef struct {
    int hidden, layers, frequencies, euler;
    bool joint;
    mw_fit_settings fit;
    double average;
} settings;

#define AT(member) offsetof(settings, member)

/* clang-format off */
static const mw_field fields[] = {
    {"hidden",      MW_FIELD_INT,    AT(hidden),      "256", 1, 4096, "width of the MLP", {0}, NULL},
    {"layers",      MW_FIELD_INT,    AT(layers),      "2",   1, 4,    "its hidden layers", {0}, NULL},
    {"frequencies", MW_FIELD_INT,    AT(frequencies), "8",   1, 16,   "of the flow's time, each as a sine and a cosine", {0}, NULL},
    {"euler",       MW_FIELD_INT,    AT(euler),       "10",  1, MW_SAMPLER_STEPS, "steps from noise to an action", {0}, NULL},
    {"joint",       MW_FIELD_SWITCH, AT(joint),       "off", 0, 1,    "every agent sees what all see", {0}, NULL},
    MW_FIT_FIELDS(settings, fit, "joint observations", "30000", "171", "0.001", "200"),
    MW_SHARDS_FIELD(settings, fit),
    {"average",     MW_FIELD_REAL,   AT(average),     "0.995", 1e-3, 0.99999, "decay of the average of the weights, which is what is kept", {0}, NULL},
};
/* clang-format on */
_Static_assert(sizeof(settings) <= MW_CONFIG_BYTES, "settings fit into a configuration");

typedef struct {
    mw_params params;
    mw_generator flow;
} network;

static const settings *settings_of(const mw_model *model) {
    return (const settings *)(const void *)&model->config;
}

static const network *network_of(const mw_model *model) {
    return model->net;
}

static mw_status make(mw_model *model, mw_error *error) {
    const settings *s = settings_of(model);
    network *net = model->net = calloc(1, sizeof *net);
    if (!net) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a flow");
    mw_params *p = &net->params;
    model->params = p;
    mw_generator_add(&net->flow, p, "v", &model->shape,
                     &(mw_generator_form){.joint = s->joint,
                                          .times = 1,
                                          .frequencies = s->frequencies,
                                          .hidden = s->hidden,
                                          .layers = s->layers});
    const mw_units units = mw_units_add(p, "scale", model->shape.obs);
    mw_generator_see(&net->flow, &units, &model->shape, s->joint);
    return p->failed ? mw_fail(error, MW_ERR_MEMORY, "cannot allocate the flow's table") : MW_OK;
}

static void discard(mw_model *model) {
    if (model->net) mw_params_free(&((network *)model->net)->params);
    free(model->net);
}

static void pack(const mw_model *model, const float *values, float *packed, bool backward) {
    mw_mlp_pack(&network_of(model)->flow.mlp, values, packed, backward);
}

/* ---- training ---- */

typedef struct {
    mw_episode_set train, held; /* all recorded steps */
    float *units;               /* [total]: the weights that are not trained, the rest is not read */
    mw_arena arena;
} training;

typedef struct {
    mw_arena arena;
    float *obs, *act, *noise, *t;
    float *row;                                /* [b][n][inputs] */
    float *x, *velocity, *out, *time_features; /* [b][n][d]; [b][n][2 frequencies] */
} batch;

#define IN(member) offsetof(batch, member)

static const mw_slot_field batch_fields[] = {
    {"in.obs", IN(obs), MW_F32, "bno", 0},     {"in.act", IN(act), MW_F32, "bnd", 0},
    {"draw.eps", IN(noise), MW_F32, "bnd", 0}, {"draw.t", IN(t), MW_F32, "bn", 0},
    {"row", IN(row), MW_F32, "bnX", 0},        {"out.time_features", IN(time_features), MW_F32, "bnF", 0},
    {"out.x_t", IN(x), MW_F32, "bnd", 0},      {"out.target", IN(velocity), MW_F32, "bnd", 0},
    {"out.v", IN(out), MW_F32, "bnd", 0},
};

typedef struct {
    mw_mlp_acts acts;
} area;

static int extent(const mw_fit *f, char letter) {
    const mw_generator *flow = &network_of(f->model)->flow;
    return letter == 'X' ? flow->inputs : 2 * flow->frequencies;
}

static mw_status open_training(mw_fit *f, mw_error *error) {
    training *t = f->state;
    const mw_training_data *data = f->data;
    const mw_generator *flow = &network_of(f->model)->flow;
    MW_TRY(mw_transition_set(&t->train, data->dataset, &data->split.train, MW_NEED_STEP, error));
    if (f->held_batches)
        MW_TRY(mw_transition_set(&t->held, data->dataset, &data->split.held, MW_NEED_STEP, error));
    MW_TRY(mw_arena_create(&t->arena, f->model->params->total * sizeof *t->units, error));
    t->units = mw_arena_floats(&t->arena, f->model->params->total);
    mw_units_set(&flow->view.units, t->units, data->stats.obs);
    f->groups[0].decay = (float)settings_of(f->model)->average;
    f->part.cost = 3 * mw_mlp_flops(&flow->mlp, f->settings->batch * f->model->shape.agents);
    return MW_OK;
}

static void close_training(mw_fit *f) {
    training *t = f->state;
    mw_episode_set_free(&t->train);
    mw_episode_set_free(&t->held);
    mw_arena_free(&t->arena);
}

static void initialise(mw_fit *f, float *values) {
    mw_units_set(&network_of(f->model)->flow.view.units, values, f->data->stats.obs);
}

static void fill(const mw_fit *f, void *slot, uint64_t step, bool held) {
    const training *t = f->state;
    const batch *b = slot;
    const mw_model_shape *s = &f->model->shape;
    const size_t n = (size_t)s->agents, o = (size_t)s->obs, d = (size_t)s->act;
    for (size_t row = 0; row < (size_t)f->settings->batch; row++) {
        mw_rng rng = mw_batch_rng(f->data->seed, step, (int)row, held ? MW_BATCH_VALIDATION : MW_BATCH_CLONE);
        const mw_place place = mw_episode_set_draw(held ? &t->held : &t->train, &rng);
        const mw_transition to = {.obs = b->obs + row * n * o, .act = b->act + row * n * d};
        mw_transition_take(&to, f->data->dataset, place);
        mw_rng_fill_normal(&rng, b->noise + row * n * d, n * d);
        for (size_t i = 0; i < n; i++) b->t[row * n + i] = mw_rng_float(&rng);
    }
}

static void assemble(const mw_fit *f, void *slot) {
    const training *t = f->state;
    const batch *b = slot;
    const mw_generator *flow = &network_of(f->model)->flow;
    const size_t n = (size_t)f->model->shape.agents, o = (size_t)f->model->shape.obs,
                 d = (size_t)f->model->shape.act, inputs = (size_t)flow->inputs,
                 features = 2 * (size_t)flow->frequencies, rows = (size_t)f->settings->batch * n;
    for (size_t row = 0; row < rows; row += n)
        mw_generator_look(flow, t->units, b->obs + row * o, b->row + row * inputs, 1);
    for (size_t row = 0; row < rows; row++) {
        mw_path_straight(b->x + row * d, b->velocity + row * d, b->act + row * d, b->noise + row * d,
                         b->t[row], (int)d);
        mw_generator_time(flow, b->row + row * inputs, 0, (double)b->t[row]);
        mw_time_features(b->time_features + row * features, flow->frequencies, (double)b->t[row]);
    }
    mw_generator_put(flow, b->row, b->x, (int)rows);
}

static void carve(const mw_fit *f, void *own, mw_arena *arena, int rows) {
    area *a = own;
    mw_mlp_acts_take(&network_of(f->model)->flow.mlp, &a->acts, arena, rows * f->model->shape.agents, true);
}

static void loss(const mw_fit *f, void *slot, void *own, int begin, int end, float *grads, double *losses) {
    area *a = own;
    const batch *b = slot;
    const mw_generator *flow = &network_of(f->model)->flow;
    const int n = f->model->shape.agents, d = f->model->shape.act;
    const size_t first = (size_t)(begin * n);
    const double share = 1 / ((double)f->settings->batch * n * d);
    losses[0] =
        share * mw_generator_loss(flow, &a->acts, f->shards.optimizer.values, f->shards.packed,
                                  b->row + first * (size_t)flow->inputs, b->velocity + first * (size_t)d,
                                  b->out + first * (size_t)d, (end - begin) * n, (float)share, grads);
}

static const mw_fit_class fit_class = {
    .settings = AT(fit),
    .state = sizeof(training),
    .slot = sizeof(batch),
    .area = sizeof(area),
    .losses = 1,
    .minimised = 1,
    .loss_names = {"velocity"},
    .held_batches = 8,
    .stream = 2,
    .open = open_training,
    .close = close_training,
    .fields = batch_fields,
    .field_count = sizeof batch_fields / sizeof *batch_fields,
    .extent = extent,
    .initialise = initialise,
    .fill = fill,
    .assemble = assemble,
    .carve = carve,
    MW_ONE_TURN(.loss = loss),
};

/* ---- play ---- */

static void draws(const mw_model *model, mw_draw_head *head) {
    *head = (mw_draw_head){.generator = &network_of(model)->flow,
                           .sampler = mw_sampler_straight(settings_of(model)->euler),
                           .candidates = 1};
}

static const mw_policy_class policy_class = {
    .help = "Flow BC: draws what the data's policy might do",
    .sees = "own",
    .source = "Park and others 2025, as MAC-Flow's release has it",
    .certain = "as published, but for acting with the flow itself instead of a copy in one step",
    .draws = draws,
    .create = mw_draw_policy_create,
    .act = mw_draw_policy_act,
    .destroy = mw_draw_policy_destroy,
};

const mw_model_class mw_flowbc_class = {
    .name = "flowbc",
    .help = "Flow BC: a flow from noise to recorded actions",
    .fields = MW_FIELDS(fields),
    .make = make,
    .discard = discard,
    .pack = pack,
    .fit = MW_LEARNS(&fit_class),
    .policy = &policy_class,
};
