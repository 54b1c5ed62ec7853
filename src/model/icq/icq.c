/* MA-ICQ: no action from outside the data enters any target, and the policy clones what turned out better
 * than usual; see icq.h. */
#include "model/icq/icq.h"

#include "core/math.h"

#include <math.h>
#include <stdlib.h>

#define AT(member) offsetof(mw_icq_settings, member)

/* clang-format off */
static const mw_field fields[] = {
    {"hidden",             MW_FIELD_INT,    AT(hidden),             "256",   1, 4096,      "width of the two hidden layers of policy and critic", {0}, NULL},
    {"mixer_hidden",       MW_FIELD_INT,    AT(mixer_hidden),       "64",    1, 4096,      "discrete actions: width of the mixer's hidden layer", {0}, NULL},
    {"discount",           MW_FIELD_REAL,   AT(discount),           "0.99",  0, 1,         "of what follows", {0}, NULL},
    {"slow",               MW_FIELD_REAL,   AT(slow),               "0.995", 1e-3, 0.99999, "how much of the slow copies stays in a step", {0}, NULL},
    {"temperature",        MW_FIELD_REAL,   AT(temperature),        "auto",  1e-6, 1e12,   "of the softmax of advantages; auto: 0.1, of real actions 1, in their standard deviations", {"auto"}, NULL},
    {"group",              MW_FIELD_INT,    AT(group),              "32",    0, 65536,     "discrete actions: rows of an agent that share a softmax; 0: all rows of all agents", {0}, NULL},
    {"target_temperature", MW_FIELD_REAL,   AT(target_temperature), "1000",  1e-6, 1e12,   "discrete actions: of the softmax that weighs next values", {0}, NULL},
    {"target_cut",         MW_FIELD_SWITCH, AT(target_cut),         "off",   0, 1,         "real actions: next values are weighted by a softmax, cut at 1", {0}, NULL},
    {"target_beta",        MW_FIELD_REAL,   AT(target_beta),        "1",     1e-6, 1e12,   "its temperature, in standard deviations", {0}, NULL},
    {"target_alpha",       MW_FIELD_REAL,   AT(target_alpha),       "2",     1e-6, 1e12,   "what it is divided by before the cut", {0}, NULL},
    MW_FIT_FIELDS(mw_icq_settings, fit, "joint transitions", "30000", "171", "0.0003", "0"),
    MW_SHARDS_FIELD(mw_icq_settings, fit),
};
/* clang-format on */
_Static_assert(sizeof(mw_icq_settings) <= MW_CONFIG_BYTES, "settings fit into a configuration");

static const mw_constants constants[] = {
    {"spread tag world", "discount=0.95", "OMAR's code"},
    {"2s3z 5m_vs_6m", "batch=102", "512 rows of agents in a step"},
    {"8m", "batch=64", "512 rows of agents in a step"},
    {NULL, NULL, NULL},
};

const mw_icq_settings *mw_icq_settings_of(const mw_model *model) {
    return (const mw_icq_settings *)(const void *)&model->config;
}

const mw_icq_net *mw_icq_net_of(const mw_model *model) {
    return model->net;
}

static mw_status settle(mw_model_config *config, const mw_training_data *data, mw_error *error) {
    mw_icq_settings *s = (mw_icq_settings *)(void *)config;
    (void)error;
    if (isnan(s->temperature)) s->temperature = data->dataset->spec.discrete ? 0.1 : 1;
    return MW_OK;
}

/* Discrete: Q(own, number, all observations) of all actions, and a mixer of all observations; real: Q(own,
 * number, action) and deviations of the policy. */
static mw_status make(mw_model *model, mw_error *error) {
    const mw_icq_settings *s = mw_icq_settings_of(model);
    const mw_model_shape *shape = &model->shape;
    const int own = shape->obs + shape->agents, all = shape->agents * shape->obs;
    mw_icq_net *net = model->net = calloc(1, sizeof *net);
    if (!net) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a policy and its critic");
    mw_params *p = &net->params;
    model->params = p;
    net->inputs = own + (shape->discrete ? all : shape->act);
    net->policy = mw_mlp_hidden(p, "policy", own, s->hidden, 2, shape->act, MW_RELU);
    if (!shape->discrete)
        net->log_std = mw_params_add(p, "policy.log_std", MW_PARAM_PLAIN, MW_INIT_ZERO, 0, shape->act, 0, 0);
    net->critic =
        mw_mlp_hidden(p, "critic", net->inputs, s->hidden, 2, shape->discrete ? shape->act : 1, MW_RELU);
    if (shape->discrete)
        net->mixer = mw_mlp_hidden(p, "mixer", all, s->mixer_hidden, 1, shape->agents, MW_RELU);
    const mw_units units = mw_units_add(p, "scale", shape->obs);
    net->view = mw_view_of(&units, shape, false);
    return p->failed ? mw_fail(error, MW_ERR_MEMORY, "cannot allocate the policy's table") : MW_OK;
}

static void discard(mw_model *model) {
    if (model->net) mw_params_free(&((mw_icq_net *)model->net)->params);
    free(model->net);
}

void mw_icq_pack_group(const mw_model *model, int group, const float *values, float *packed, bool backward) {
    const mw_icq_net *net = mw_icq_net_of(model);
    if (group == MW_ICQ_POLICY) {
        mw_mlp_pack(&net->policy, values, packed, backward);
        return;
    }
    mw_mlp_pack(&net->critic, values, packed, backward);
    if (model->shape.discrete) mw_mlp_pack(&net->mixer, values, packed, backward);
}

static void pack(const mw_model *model, const float *values, float *packed, bool backward) {
    for (int group = MW_ICQ_POLICY; group <= MW_ICQ_CRITIC; group++)
        mw_icq_pack_group(model, group, values, packed, backward);
}

/* ---- training ---- */

mw_status mw_icq_open(mw_fit *f, mw_error *error) {
    mw_icq_training *t = f->state;
    const mw_training_data *data = f->data;
    const mw_icq_net *net = mw_icq_net_of(f->model);
    const int rows = f->settings->batch * f->model->shape.agents;
    MW_TRY(mw_transition_set(&t->steps, data->dataset, &data->split.train, MW_NEED_NEXT_ACTION, error));
    MW_TRY(mw_arena_create(&t->arena, f->model->params->total * sizeof *t->units, error));
    t->units = mw_arena_floats(&t->arena, f->model->params->total);
    mw_units_set(&net->view.units, t->units, data->stats.obs);
    f->groups[MW_ICQ_CRITIC].decay = (float)mw_icq_settings_of(f->model)->slow;
    f->part.keeps_last = true;
    f->part.cost = 6 * mw_mlp_flops(&net->critic, rows) + 3 * mw_mlp_flops(&net->policy, rows);
    return MW_OK;
}

void mw_icq_close(mw_fit *f) {
    mw_icq_training *t = f->state;
    mw_episode_set_free(&t->steps);
    mw_arena_free(&t->arena);
}

void mw_icq_initialise(mw_fit *f, float *values) {
    mw_units_set(&mw_icq_net_of(f->model)->view.units, values, f->data->stats.obs);
}

mw_place mw_icq_draw(const mw_fit *f, uint64_t step, size_t row) {
    const mw_icq_training *t = f->state;
    mw_rng rng = mw_batch_rng(f->data->seed, step, (int)row, MW_BATCH_TRANSITION);
    return mw_episode_set_draw(&t->steps, &rng);
}

/* ---- weights over a batch ---- */

static bool counts(const mw_icq_values *v, size_t i) {
    return !v->end || v->end[i * v->stride / v->each] == 0;
}

size_t mw_icq_counted(const mw_icq_values *v) {
    size_t counted = 0;
    for (size_t i = 0; i < v->count; i++) counted += counts(v, i);
    return counted;
}

double mw_icq_weigh(const mw_icq_values *v, double temperature, float *weight) {
    const double counted = (double)mw_icq_counted(v);
    double most = -INFINITY, sum = 0, square = 0;
    for (size_t i = 0; i < v->count; i++)
        if (counts(v, i)) most = fmax(most, (double)v->x[i * v->stride] / temperature);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < v->count; i++) {
            const double one = counts(v, i) ? mw_exp((double)v->x[i * v->stride] / temperature - most) : 0;
            if (pass) weight[i * v->stride] = (float)(sum > 0 ? counted * one / sum : 0);
            if (pass) continue;
            sum += one;
            square += one * one;
        }
    return square > 0 ? sum * sum / square : 0;
}

double mw_icq_deviation(const mw_icq_values *v) {
    const double counted = (double)mw_icq_counted(v), least = 1e-6;
    double mean = 0, square = 0;
    if (!(counted > 0)) return least;
    for (size_t i = 0; i < v->count; i++)
        if (counts(v, i)) mean += (double)v->x[i * v->stride] / counted;
    for (size_t i = 0; i < v->count; i++) {
        const double off = (double)v->x[i * v->stride] - mean;
        if (counts(v, i)) square += off * off / counted;
    }
    return fmax(sqrt(square), least);
}

/* ---- play ---- */

static const mw_policy_class policy_class;

static mw_status policy_create(mw_policy **out, const mw_policy_context *context, mw_error *error) {
    const mw_icq_net *net = mw_icq_net_of(context->model);
    const mw_actor_head head = {&net->policy, net->view, MW_DECIDE_BEST};
    return mw_head_policy_create(out, &policy_class, context, &head, error);
}

static const mw_policy_class policy_class = {
    .help = "MA-ICQ: clones the recorded actions that turned out well",
    .sees = "own",
    .source = "Yang et al. 2021",
    .certain = "discrete actions as its code, without recurrence; real ones as its code for one agent",
    .create = policy_create,
    .act = mw_head_policy_act,
    .destroy = mw_head_policy_destroy};

const mw_model_class mw_icq_class = {
    .name = "icq",
    .help = "MA-ICQ: a policy that clones by advantage, and critics that hear of recorded actions alone",
    .fields = MW_FIELDS(fields),
    .constants = constants,
    .make = make,
    .discard = discard,
    .pack = pack,
    .settle = settle,
    .fit = MW_LEARNS(&mw_icq_real_fit),
    .fit_discrete = MW_LEARNS(&mw_icq_discrete_fit),
    .policy = &policy_class,
};
