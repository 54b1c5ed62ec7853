/* The inverse dynamics as a model: their settings and their training on pairs of consecutive observations,
 * every bit of which is a function of seed, step and row. */
#include "core/rng.h"
#include "data/window.h"
#include "model/fit.h"
#include "model/inverse.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    int hidden, layers;
    bool ids;
    double noise;
    mw_fit_settings fit;
    double average;
} settings;

#define AT(member) offsetof(settings, member)

/* clang-format off */
static const mw_field fields[] = {
    {"hidden",  MW_FIELD_INT,    AT(hidden),  "256",   1, 4096, "width of the MLP", {0}, NULL},
    {"layers",  MW_FIELD_INT,    AT(layers),  "3",     1, 4,    "its hidden layers", {0}, NULL},
    {"ids",     MW_FIELD_SWITCH, AT(ids),     "on",    0, 1,    "it is told which agent it works for", {0}, NULL},
    {"noise",   MW_FIELD_REAL,   AT(noise),   "0.1",   0, 10,   "noise on the second observation of a pair, as proposals have it", {0}, NULL},
    MW_FIT_FIELDS(settings, fit, "pairs of joint observations", "2500", "512", "0.003", "200"),
    MW_SHARDS_FIELD(settings, fit),
    {"average", MW_FIELD_REAL,   AT(average), "0.995", 1e-3, 0.99999, "decay of the average of the weights, which is what is kept", {0}, NULL},
};
/* clang-format on */
_Static_assert(sizeof(settings) <= MW_CONFIG_BYTES, "settings fit into a configuration");

static const settings *settings_of(const mw_model *model) {
    return (const settings *)(const void *)&model->config;
}

static mw_status make(mw_model *model, mw_error *error) {
    const settings *s = settings_of(model);
    const mw_inverse_config config = {.obs = model->shape.obs,
                                      .act = model->shape.act,
                                      .ids = s->ids ? model->shape.agents : 0,
                                      .hidden = s->hidden,
                                      .layers = s->layers,
                                      .discrete = model->shape.discrete};
    mw_inverse_net *net = model->net = calloc(1, sizeof *net);
    if (!net) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate inverse dynamics");
    model->params = &net->params;
    return mw_inverse_net_make(net, &config, error);
}

static void discard(mw_model *model) {
    if (model->net) mw_inverse_net_free(model->net);
    free(model->net);
}

static void pack(const mw_model *model, const float *values, float *packed, bool backward) {
    mw_mlp_pack(&mw_inverse_net_of(model)->mlp, values, packed, backward);
}

/* ---- training ---- */

typedef struct {
    mw_window_rows pairs;
    float *input, *weight; /* a row per agent of a pair */
    mw_inverse_batch batch;
    mw_arena arena;
} batch_slot;

static void take(batch_slot *s, const mw_fit *f, mw_arena *arena) {
    const size_t rows = (size_t)(f->settings->batch * f->model->shape.agents);
    s->input = mw_arena_floats(arena, rows * (size_t)mw_inverse_inputs(&mw_inverse_net_of(f->model)->config));
    s->weight = mw_arena_floats(arena, rows);
}

static mw_status slot_open(const mw_fit *f, void *slot, mw_error *error) {
    batch_slot *s = slot;
    const mw_window_config *window = f->state;
    mw_arena measured = {0};
    take(s, f, &measured);
    MW_TRY(mw_arena_create(&s->arena, measured.used, error));
    take(s, f, &s->arena);
    MW_TRY(mw_window_rows_create(&s->pairs, &f->data->dataset->spec, window, f->settings->batch, error));
    s->batch = (mw_inverse_batch){.pair = s->input,
                                  .real = s->pairs.act,
                                  .index = s->pairs.index,
                                  .legal = s->pairs.legal,
                                  .weight = s->weight};
    return MW_OK;
}

static void slot_close(void *slot) {
    batch_slot *s = slot;
    mw_window_rows_free(&s->pairs);
    mw_arena_free(&s->arena);
}

/* The rows of one pair of joint observations. What follows an observation is known to the inverse dynamics as
 * a proposal gives it: not quite. */
static void fill_pair(const mw_fit *f, batch_slot *s, int row, mw_rng *rng) {
    const mw_inverse_config *c = &mw_inverse_net_of(f->model)->config;
    const int n = f->model->shape.agents, o = c->obs, inputs = mw_inverse_inputs(c);
    const float *now = s->pairs.trajectory + (size_t)row * (size_t)(2 * n * o), *next = now + n * o;
    const double noise = settings_of(f->model)->noise;
    for (int i = 0; i < n; i++) {
        float *input = s->input + (size_t)(row * n + i) * (size_t)inputs;
        mw_inverse_row(c, input, now + i * o, next + i * o, i);
        for (int k = o; noise > 0 && k < 2 * o; k++) input[k] += (float)(noise * mw_rng_normal(rng));
        s->weight[row * n + i] = s->pairs.mask[row];
    }
}

static void fill(const mw_fit *f, void *slot, uint64_t step, bool held) {
    batch_slot *s = slot;
    const mw_training_data *d = f->data;
    const int rows = f->settings->batch * f->model->shape.agents;
    mw_window_fill(&s->pairs, f->settings->batch, d->dataset, f->state,
                   held ? &d->split.held : &d->split.train, d->seed, step,
                   held ? MW_BATCH_VALIDATION : MW_BATCH_INVERSE);
    for (int row = 0; row < f->settings->batch; row++) {
        mw_rng rng = mw_rng_make(d->seed, MW_RNG_FLOW, step, (uint64_t)row, 2 + (uint64_t)held);
        fill_pair(f, s, row, &rng);
    }
    s->batch.total = 0;
    for (int row = 0; row < rows; row++) s->batch.total += s->weight[row];
}

static void carve(const mw_fit *f, void *area, mw_arena *arena, int rows) {
    mw_inverse_area_take(mw_inverse_net_of(f->model), area, arena, rows * f->model->shape.agents);
}

static void loss(const mw_fit *f, void *slot, void *area, int begin, int end, float *grads, double *losses) {
    const batch_slot *s = slot;
    const int n = f->model->shape.agents;
    losses[0] = mw_inverse_loss(mw_inverse_net_of(f->model), &s->batch, area, f->shards.optimizer.values,
                                f->shards.packed, begin * n, end * n, grads);
}

static mw_status open_training(mw_fit *f, mw_error *error) {
    (void)error;
    *(mw_window_config *)f->state = (mw_window_config){.context = 1,
                                                       .future = 1,
                                                       .discount = 1,
                                                       .return_scale = 1,
                                                       .obs_normalizer = f->data->obs_normalizer,
                                                       .act_normalizer = f->data->act_normalizer};
    f->groups[0].decay = (float)settings_of(f->model)->average;
    f->part.cost =
        3 * mw_mlp_flops(&mw_inverse_net_of(f->model)->mlp, f->settings->batch * f->model->shape.agents);
    return MW_OK;
}

static const mw_fit_class fit_class = {
    .settings = AT(fit),
    .state = sizeof(mw_window_config),
    .slot = sizeof(batch_slot),
    .area = sizeof(mw_inverse_area),
    .losses = 1,
    .minimised = 1,
    .loss_names = {"inverse"},
    .held_batches = 4,
    .stream = 1,
    .open = open_training,
    .slot_open = slot_open,
    .slot_close = slot_close,
    .fill = fill,
    .carve = carve,
    MW_ONE_TURN(.loss = loss),
};

const mw_model_class mw_inverse_class = {
    .name = "inverse",
    .help = "inverse dynamics: which action leads from one observation to the next",
    .fields = MW_FIELDS(fields),
    .role = MW_ROLE_INVERSE,
    .normalised = true,
    .make = make,
    .discard = discard,
    .pack = pack,
    .fit = MW_LEARNS(&fit_class),
};
