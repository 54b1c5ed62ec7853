/* The world models without routing as models; see unrouted.h. They learn from the transitions of the routed
 * one, in the same order and with the same budget, and are rolled out as it is. */
#include "model/unrouted/unrouted.h"

#include "data/transition.h"
#include "model/fit.h"
#include "model/rollout.h"

#include <stdlib.h>

enum { STANDARD, PAPER };

typedef struct {
    int variant, hidden, reward_features, dynamics_features;
    mw_fit_settings fit;
} settings;

#define AT(member) offsetof(settings, member)

/* clang-format off */
static const mw_field fields[] = {
    {"variant",           MW_FIELD_CHOICE, AT(variant),           "standard", 0, 1, "tokens and targets of the routed model's default, or the paper's layer norms without features", {"standard", "paper"}, NULL},
    {"hidden",            MW_FIELD_INT,    AT(hidden),            "512", 1, 4096, "width of the hidden layers: three of the dynamics, two of the reward", {0}, NULL},
    {"reward_features",   MW_FIELD_INT,    AT(reward_features),   "64",  0, 1024, "norm features of the reward's tokens", {0}, NULL},
    {"dynamics_features", MW_FIELD_INT,    AT(dynamics_features), "64",  0, 1024, "the same of the dynamics' tokens", {0}, NULL},
    MW_FIT_FIELDS(settings, fit, "joint transitions", "5000", "256", "0.001", "200"),
    MW_SHARDS_FIELD(settings, fit),
};
/* clang-format on */
_Static_assert(sizeof(settings) <= MW_CONFIG_BYTES, "settings fit into a configuration");

static mw_status make(mw_model *model, mw_error *error) {
    const settings *s = (const settings *)(const void *)&model->config;
    const bool paper = s->variant == PAPER;
    const mw_unrouted_config config = {.agents = model->shape.agents,
                                       .obs = model->shape.obs,
                                       .act = model->shape.act,
                                       .group = model->kind == &mw_mono_class ? model->shape.agents : 1,
                                       .hidden = s->hidden,
                                       .standardise = !paper,
                                       .dynamics_features = paper ? 0 : s->dynamics_features,
                                       .reward_features = paper ? 0 : s->reward_features};
    mw_unrouted_net *net = model->net = calloc(1, sizeof *net);
    if (!net) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a world model");
    model->params = &net->params;
    return mw_unrouted_net_make(net, &config, error);
}

/* The paper's variant has no features, whatever they are set to; its bundles say so. */
static mw_status settle(mw_model_config *config, const mw_training_data *data, mw_error *error) {
    settings *s = (settings *)(void *)config;
    (void)data;
    (void)error;
    if (s->variant == PAPER) s->reward_features = s->dynamics_features = 0;
    return MW_OK;
}

static void discard(mw_model *model) {
    if (model->net) mw_unrouted_net_free(model->net);
    free(model->net);
}

static void pack(const mw_model *model, const float *values, float *packed, bool backward) {
    mw_unrouted_net_pack(model->net, values, packed, backward);
}

/* ---- training ---- */

static mw_status open_training(mw_fit *f, mw_error *error) {
    (void)error;
    f->part.cost = 3 * mw_unrouted_net_flops(f->model->net, f->settings->batch);
    return MW_OK;
}

static void initialise(mw_fit *f, float *values) {
    const mw_unrouted_net *net = f->model->net;
    const mw_unrouted_config *c = &net->config;
    if (!c->standardise) return;
    mw_scales_set(&net->scales, values, &f->data->stats);
    mw_token_aim(&net->dynamics_token, values, values + net->scales.obs_scale, 0, c->obs);
    mw_token_aim(&net->reward_token, values, values + net->scales.obs_scale, c->obs + c->act, c->obs);
}

static void carve(const mw_fit *f, void *area, mw_arena *arena, int rows) {
    mw_unrouted_acts_take(f->model->net, area, arena, rows, true);
}

static void loss(const mw_fit *f, void *slot, void *area, int begin, int end, float *grads, double *losses) {
    const mw_transition_rows *rows = slot;
    const mw_model_shape *shape = &f->model->shape;
    const size_t first = (size_t)(begin * shape->agents), obs = first * (size_t)shape->obs,
                 act = first * (size_t)shape->act;
    mw_unrouted_loss(f->model->net, area, f->shards.optimizer.values, f->shards.packed, rows->obs + obs,
                     rows->act + act, rows->next_obs + obs, rows->reward + first, end - begin,
                     f->settings->batch, grads, losses);
}

static const mw_fit_class fit_class = {
    .settings = AT(fit),
    .slot = sizeof(mw_transition_rows),
    .area = sizeof(mw_unrouted_acts),
    .losses = 2,
    .minimised = 2,
    .loss_names = {"dynamics", "reward"},
    .held_batches = 20,
    .keeps_best = true,
    .stream = 2,
    .open = open_training,
    .slot_open = mw_fit_transitions_open,
    .slot_close = mw_fit_transitions_close,
    .initialise = initialise,
    .fill = mw_fit_transitions_fill,
    .carve = carve,
    MW_ONE_TURN(.loss = loss),
};

/* ---- scoring ---- */

enum { ROLLED_OUT = 128 }; /* together, at most */

typedef struct {
    const mw_model *model;
    mw_pool *pool;
    mw_arena arena;
    mw_unrouted_acts *acts; /* per worker */
} imagination;

static void imagination_carve(imagination *m, int rows) {
    const int threads = mw_pool_threads(m->pool), share = (rows + threads - 1) / threads;
    m->acts = mw_arena_take(&m->arena, (size_t)threads, sizeof *m->acts);
    for (int i = 0; i < threads; i++) {
        mw_unrouted_acts acts;
        mw_unrouted_acts_take(m->model->net, &acts, &m->arena, share, false);
        if (m->acts) m->acts[i] = acts;
    }
}

static void step(void *work, const float *obs, const float *act, float *next, float *reward, int count,
                 int worker) {
    imagination *m = work;
    const mw_model *model = m->model;
    int begin, end;
    mw_pool_share(m->pool, worker, count, 1, &begin, &end);
    const size_t first = (size_t)(begin * model->shape.agents), o = first * (size_t)model->shape.obs;
    if (begin < end)
        mw_unrouted_forward(model->net, &m->acts[worker], model->values, model->packed, obs + o,
                            act + first * (size_t)model->shape.act, next + o, reward + first, end - begin);
}

static void imagination_free(void *work) {
    mw_arena_free(&((imagination *)work)->arena);
    free(work);
}

static mw_status create(mw_scorer **out, const mw_scorer_context *context, mw_error *error) {
    const mw_model *model = context->model;
    const int rows = context->max_rows < ROLLED_OUT ? context->max_rows : ROLLED_OUT;
    imagination *m = calloc(1, sizeof *m);
    *out = NULL;
    if (!m) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a scorer");
    *m = (imagination){.model = model, .pool = context->pool};
    imagination_carve(m, rows);
    const mw_status status = mw_arena_create(&m->arena, m->arena.used, error);
    if (status != MW_OK) {
        free(m);
        return status;
    }
    imagination_carve(m, rows);
    const mw_rollout_world world = {model->shape, m, m->arena.size, step, imagination_free};
    return mw_rollout_scorer_create(out, model->kind->scorer, &world, rows, context->pool, error);
}

#define SCORER(name_, help_)                                                                                 \
    {                                                                                                        \
        .name = name_, .help = help_, .imagines = true, .create = create, .score = mw_rollout_score,         \
        .bytes = mw_rollout_bytes, .destroy = mw_rollout_destroy                                             \
    }

static const mw_scorer_class mono_scorer = SCORER("mono", "return imagined by one MLP over all agents"),
                             independent_scorer =
                                 SCORER("independent", "return imagined by an MLP for each agent alone");

#define MODEL(name_, help_, scorer_)                                                                         \
    {                                                                                                        \
        .name = name_, .help = help_, .fields = MW_FIELDS(fields), .make = make, .discard = discard,         \
        .pack = pack, .settle = MW_LEARNS(settle), .fit = MW_LEARNS(&fit_class), .scorer = &scorer_          \
    }

const mw_model_class mw_mono_class =
    MODEL("mono", "a world model without routing: one MLP over all agents", mono_scorer);
const mw_model_class mw_independent_class =
    MODEL("independent", "a world model without exchange: one MLP for each agent alone", independent_scorer);
