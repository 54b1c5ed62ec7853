/* Behaviour cloning: the recorded action of an agent from what it saw. The simplest baseline of all, and what
 * the others must beat: it uses no reward. One network for all agents, which is told whom it works for; real
 * actions are the tanh of its output, discrete ones are drawn from the softmax over the legal ones. */
#include "data/transition.h"
#include "model/actor.h"
#include "model/fit.h"

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
    MW_SHARDS_FIELD(settings, fit),
    {"average", MW_FIELD_REAL,   AT(average), "0.995", 1e-3, 0.99999, "decay of the average of the weights, which is what is kept", {0}, NULL},
};
/* clang-format on */
_Static_assert(sizeof(settings) <= MW_CONFIG_BYTES, "settings fit into a configuration");

typedef struct {
    mw_params params;
    mw_mlp mlp;
    mw_view view;
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
    net->view.inputs = (s->joint ? shape->agents : 1) * shape->obs + shape->agents;
    net->mlp = mw_mlp_hidden(p, "policy", net->view.inputs, s->hidden, s->layers, shape->act, MW_RELU);
    const mw_units units = mw_units_add(p, "scale", shape->obs);
    net->view = mw_view_of(&units, shape, s->joint);
    return p->failed ? mw_fail(error, MW_ERR_MEMORY, "cannot allocate the policy's table") : MW_OK;
}

static void discard(mw_model *model) {
    if (model->net) mw_params_free(&((network *)model->net)->params);
    free(model->net);
}

static void pack(const mw_model *model, const float *values, float *packed, bool backward) {
    mw_mlp_pack(&network_of(model)->mlp, values, packed, backward);
}

/* ---- training ---- */

typedef struct {
    mw_episode_set train, held; /* all recorded steps */
    float *units;               /* [total]: the weights that are not trained, the rest is not read */
    mw_arena arena;
} training;

/* A row for every agent of a joint observation. */
typedef struct {
    mw_arena arena;
    float *obs, *act, *x;  /* x[b][n][inputs] */
    float *out, *prob, *log_prob; /* [b][n][d]: actions or logits, probabilities; [b][n] */
    int32_t *index;
    uint8_t *legal;
} batch;

#define IN(member) offsetof(batch, member)

static const mw_slot_field batch_fields[] = {
    {"in.obs", IN(obs), MW_F32, "bno", 0},
    {"in.act", IN(act), MW_F32, "bnd", 'r'},
    {"in.act", IN(index), MW_I32, "bn", 'd'},
    {"in.legal", IN(legal), MW_U8, "bnd", 'd'},
    {"x", IN(x), MW_F32, "bnX", 0},
    {"out.act", IN(out), MW_F32, "bnd", 'r'},
    {"out.logits", IN(out), MW_F32, "bnd", 'd'},
    {"out.prob", IN(prob), MW_F32, "bnd", 'd'},
    {"out.log_prob", IN(log_prob), MW_F32, "bn", 'd'},
};

typedef struct {
    mw_mlp_acts acts;
} area;

static int extent(const mw_fit *f, char letter) {
    return letter == 'X' ? network_of(f->model)->view.inputs : 0;
}

static mw_status open_training(mw_fit *f, mw_error *error) {
    training *t = f->state;
    const mw_training_data *data = f->data;
    const network *net = network_of(f->model);
    MW_TRY(mw_transition_set(&t->train, data->dataset, &data->split.train, MW_NEED_STEP, error));
    if (f->held_batches)
        MW_TRY(mw_transition_set(&t->held, data->dataset, &data->split.held, MW_NEED_STEP, error));
    MW_TRY(mw_arena_create(&t->arena, f->model->params->total * sizeof *t->units, error));
    t->units = mw_arena_floats(&t->arena, f->model->params->total);
    mw_units_set(&net->view.units, t->units, data->stats.obs);
    f->groups[0].decay = (float)settings_of(f->model)->average;
    f->part.cost = 3 * mw_mlp_flops(&net->mlp, f->settings->batch * f->model->shape.agents);
    return MW_OK;
}

static void close_training(mw_fit *f) {
    training *t = f->state;
    mw_episode_set_free(&t->train);
    mw_episode_set_free(&t->held);
    mw_arena_free(&t->arena);
}

static void initialise(mw_fit *f, float *values) {
    mw_units_set(&network_of(f->model)->view.units, values, f->data->stats.obs);
}

static void fill(const mw_fit *f, void *slot, uint64_t step, bool held) {
    const training *t = f->state;
    const batch *b = slot;
    const mw_model_shape *s = &f->model->shape;
    const size_t n = (size_t)s->agents, o = (size_t)s->obs, d = (size_t)s->act;
    for (size_t row = 0; row < (size_t)f->settings->batch; row++) {
        mw_rng rng = mw_batch_rng(f->data->seed, step, (int)row, held ? MW_BATCH_VALIDATION : MW_BATCH_CLONE);
        const mw_place place = mw_episode_set_draw(held ? &t->held : &t->train, &rng);
        const mw_transition to = {.obs = b->obs + row * n * o,
                                  .act = s->discrete ? NULL : b->act + row * n * d,
                                  .index = s->discrete ? b->index + row * n : NULL,
                                  .legal = s->discrete ? b->legal + row * n * d : NULL};
        mw_transition_take(&to, f->data->dataset, place);
    }
}

static void assemble(const mw_fit *f, void *slot) {
    const training *t = f->state;
    const batch *b = slot;
    const mw_view *view = &network_of(f->model)->view;
    const size_t n = (size_t)view->agents, o = (size_t)view->obs, inputs = (size_t)view->inputs;
    for (size_t row = 0; row < (size_t)f->settings->batch; row++)
        mw_view_fill(view, t->units, b->obs + row * n * o, b->x + row * n * inputs, inputs);
}

static void carve(const mw_fit *f, void *own, mw_arena *arena, int rows) {
    area *a = own;
    mw_mlp_acts_take(&network_of(f->model)->mlp, &a->acts, arena, rows * f->model->shape.agents, true);
}

/* A mean over agents; of real actions also over their components. */
static void loss(const mw_fit *f, void *slot, void *own, int begin, int end, float *grads, double *losses) {
    area *a = own;
    const batch *b = slot;
    const network *net = network_of(f->model);
    const mw_model_shape *s = &f->model->shape;
    const int n = s->agents, d = s->act, rows = (end - begin) * n;
    const size_t first = (size_t)(begin * n);
    const float *x = b->x + first * (size_t)net->view.inputs;
    const float share = 1 / (float)((double)f->settings->batch * n * (s->discrete ? 1 : d));
    float *out = mw_mlp_forward(&net->mlp, &a->acts, x, f->shards.optimizer.values, f->shards.packed, rows);
    double sum = 0;
    for (int row = 0; row < rows; row++) {
        const size_t at = first + (size_t)row;
        float *y = out + (size_t)row * (size_t)d, *kept = b->out + at * (size_t)d;
        memcpy(kept, y, (size_t)d * sizeof *kept);
        if (s->discrete) {
            const double off = mw_clone_index(y, b->prob + at * (size_t)d, b->legal + at * (size_t)d,
                                              b->index[at], d, share);
            b->log_prob[at] = (float)-off;
            sum += off;
        } else {
            mw_tanh_forward(kept, (size_t)d);
            sum += mw_clone_real(y, b->act + at * (size_t)d, d, share);
        }
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

static const mw_policy_class policy_class;

/* Discrete actions are drawn: the softmax is the policy. */
static mw_status policy_create(mw_policy **out, const mw_policy_context *context, mw_error *error) {
    const network *net = network_of(context->model);
    const mw_actor_head head = {&net->mlp, net->view, MW_DECIDE_DRAW};
    return mw_head_policy_create(out, &policy_class, context, &head, error);
}

static const mw_policy_class policy_class = {.help = "behaviour cloning: what the data's policy would do",
                                             .sees = "own",
                                             .source = "Pomerleau 1991",
                                             .certain = "as published",
                                             .create = policy_create,
                                             .act = mw_head_policy_act,
                                             .destroy = mw_head_policy_destroy};

const mw_model_class mw_bc_class = {
    .name = "bc",
    .help = "behaviour cloning: a policy that repeats what was recorded",
    .fields = MW_FIELDS(fields),
    .make = make,
    .discard = discard,
    .pack = pack,
    .fit = MW_LEARNS(&fit_class),
    .policy = &policy_class,
};
