/* The proposer as a model; see flow.h. Its training draws batches of segments with their flow times and
 * noise, every bit of which is a function of seed, step and row. */
#include "model/flow/flow.h"

#include "core/math.h"
#include "core/rng.h"
#include "data/returns.h"
#include "data/window.h"
#include "model/fit.h"
#include "model/flow/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BINS = 5 };

#define AT(member) offsetof(mw_flow_settings, member)

/* clang-format off */
static const mw_field fields[] = {
    {"dim",              MW_FIELD_INT,    AT(dim),              "32",    16, 1024,    "width of the U-Net, a multiple of 16", {0}, NULL},
    {"mults",            MW_FIELD_TRIPLE, AT(mults),            "2,2,2", 1, 64,       "its multiples at the three levels", {0}, NULL},
    {"context",          MW_FIELD_INT,    AT(context),          "4",     1, 256,      "C: observations of context, the current one included", {0}, NULL},
    {"generated",        MW_FIELD_INT,    AT(generated),        "8",     1, 255,      "observations generated after it; context + generated must be divisible by 4", {0}, NULL},
    {"attention_output", MW_FIELD_SWITCH, AT(attention_output), "on",    0, 1,        "output projection of the attention between agents", {0}, NULL},
    {"residual",         MW_FIELD_SWITCH, AT(residual),         "on",    0, 1,        "generate changes from the present instead of observations", {0}, NULL},
    {"forecast",         MW_FIELD_INT,    AT(forecast),         "256",   0, 4096,     "with residual: width of the MLP that expects the changes; 0: none", {0}, NULL},
    {"forecast_batch",   MW_FIELD_INT,    AT(forecast_batch),   "512",   1, 65536,    "segments that it learns from in a step", {0}, NULL},
    {"forecast_return",  MW_FIELD_SWITCH, AT(forecast_return),  "off",   0, 1,        "it sees the return condition too", {0}, NULL},
    {"scale",            MW_FIELD_REAL,   AT(scale),            "5",     1e-3, 1e6,   "with residual: the flow works on this many times what the forecast leaves open", {0}, NULL},
    MW_FIT_FIELDS(mw_flow_settings, fit, "segments", "2500", "64", "0.003", "200"),
    MW_SHARDS_FIELD(mw_flow_settings, fit),
    {"average",          MW_FIELD_REAL,   AT(average),          "0.995", 1e-3, 0.99999, "decay of the average of the weights, which is what is kept", {0}, NULL},
    {"drop",             MW_FIELD_REAL,   AT(drop),             "0.25",  0, 1,        "probability that the return condition is dropped", {0}, NULL},
    {"discount",         MW_FIELD_REAL,   AT(discount),         "0.99",  0.01, 1,     "of the return-to-go", {0}, NULL},
    {"return_scale",     MW_FIELD_REAL,   AT(return_scale),     "auto",  1e-12, 1e12, "what returns-to-go are divided by; auto: the 0.99 quantile of their size", {"auto"}, NULL},
};
/* clang-format on */
_Static_assert(sizeof(mw_flow_settings) <= MW_CONFIG_BYTES, "settings fit into a configuration");

/* ---- the model ---- */

static mw_status make(mw_model *model, mw_error *error) {
    const mw_flow_settings *s = mw_flow_settings_of(model);
    mw_flow_config config = {.agents = model->shape.agents,
                             .obs = model->shape.obs,
                             .dim = s->dim,
                             .time = s->context + s->generated,
                             .context = s->context,
                             .bins = BINS,
                             .project = s->attention_output,
                             .residual = s->residual,
                             .forecast = s->residual ? s->forecast : 0,
                             .scale = (float)s->scale,
                             .forecast_return = s->forecast_return};
    memcpy(config.mults, s->mults, sizeof config.mults);
    if (config.time % 4 || config.time > 256)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "flow.context %d + flow.generated %d is %d; it must be divisible by 4 and at most 256",
                       s->context, s->generated, config.time);
    mw_flow_net *net = model->net = calloc(1, sizeof *net);
    if (!net) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a flow");
    model->params = &net->params;
    return mw_flow_net_make(net, &config, error);
}

static void discard(mw_model *model) {
    if (model->net) mw_flow_net_free(model->net);
    free(model->net);
}

static void pack(const mw_model *model, const float *values, float *packed, bool backward) {
    mw_flow_net_pack(model->net, values, packed, backward, 0, 1);
}

static mw_status settle(mw_model_config *config, const mw_training_data *data, mw_error *error) {
    mw_flow_settings *s = (mw_flow_settings *)(void *)config;
    if (!isnan(s->return_scale)) return MW_OK;
    return mw_returns_scale(&s->return_scale, data->dataset, &data->split.train, s->discount, error);
}

/* ---- batches ---- */

typedef struct {
    mw_window_rows rows, outlook; /* of the flow; of the forecast */
    float *noise, *rho, *lambda, *keep;
    mw_arena arena;
} batch_slot;

typedef struct {
    mw_flow_trainer *trainer;
    mw_window_config window, outlook;
} training;

static const mw_flow_config *config_of(const mw_fit *f) {
    return &((const mw_flow_net *)f->model->net)->config;
}

static int forecasts(const mw_fit *f) {
    return config_of(f)->forecast ? mw_flow_settings_of(f->model)->forecast_batch : 0;
}

static void carve(batch_slot *s, const mw_fit *f, mw_arena *arena) {
    const mw_flow_config *c = config_of(f);
    const size_t batch = (size_t)f->settings->batch;
    s->noise = mw_arena_floats(arena, batch * (size_t)(c->time * c->agents * c->obs));
    s->rho = mw_arena_floats(arena, batch);
    s->lambda = mw_arena_floats(arena, batch);
    s->keep = mw_arena_floats(arena, batch);
}

static mw_status slot_open(const mw_fit *f, void *slot, mw_error *error) {
    batch_slot *s = slot;
    const training *t = f->state;
    mw_arena measured = {0};
    carve(s, f, &measured);
    MW_TRY(mw_arena_create(&s->arena, measured.used, error));
    carve(s, f, &s->arena);
    const mw_dataset_spec *spec = &f->data->dataset->spec;
    MW_TRY(mw_window_rows_create(&s->rows, spec, &t->window, f->settings->batch, error));
    return forecasts(f) ? mw_window_rows_create(&s->outlook, spec, &t->outlook, forecasts(f), error) : MW_OK;
}

static void slot_close(void *slot) {
    batch_slot *s = slot;
    mw_window_rows_free(&s->rows);
    mw_window_rows_free(&s->outlook);
    mw_arena_free(&s->arena);
}

static float sigmoid_of_normal(mw_rng *rng) {
    return (float)(1 / (1 + mw_exp(-(mw_rng_normal(rng) - 0.4))));
}

/* Times, condition and noise of one row: rho <= lambda, equal in every other row. */
static void fill_row(const mw_fit *f, batch_slot *s, int row, mw_rng *rng) {
    const float a = sigmoid_of_normal(rng), b = sigmoid_of_normal(rng);
    s->lambda[row] = fmaxf(a, b);
    s->rho[row] = row % 2 ? fminf(a, b) : s->lambda[row];
    s->keep[row] = mw_rng_double(rng) < mw_flow_settings_of(f->model)->drop ? 0 : 1;
    const mw_flow_config *c = config_of(f);
    const size_t size = (size_t)(c->time * c->agents * c->obs);
    mw_rng_fill_normal(rng, s->noise + (size_t)row * size, size);
}

static void fill(const mw_fit *f, void *slot, uint64_t step, bool held) {
    batch_slot *s = slot;
    const training *t = f->state;
    const mw_training_data *d = f->data;
    const mw_episode_set *set = held ? &d->split.held : &d->split.train;
    mw_window_fill(&s->rows, f->settings->batch, d->dataset, &t->window, set, d->seed, step,
                   held ? MW_BATCH_VALIDATION : MW_BATCH_POLICY);
    mw_window_fill(&s->outlook, forecasts(f), d->dataset, &t->outlook, set, d->seed, step,
                   held ? MW_BATCH_VALIDATION : MW_BATCH_FORECAST);
    for (int row = 0; row < f->settings->batch; row++) {
        mw_rng rng = mw_rng_make(d->seed, MW_RNG_FLOW, step, (uint64_t)row, held);
        fill_row(f, s, row, &rng);
    }
}

/* ---- steps ---- */

mw_flow_batch mw_flow_batch_of(const mw_fit *f, const void *slot) {
    const batch_slot *s = slot;
    return (mw_flow_batch){.count = f->settings->batch,
                           .trajectory = s->rows.trajectory,
                           .noise = s->noise,
                           .rho = s->rho,
                           .lambda = s->lambda,
                           .target = s->rows.target,
                           .keep = s->keep,
                           .forecasts = forecasts(f),
                           .outlook = s->outlook.trajectory,
                           .outlook_target = s->outlook.target};
}

static void run(mw_fit *f, const void *slot, mw_step what, double *losses) {
    const training *t = f->state;
    const mw_flow_batch batch = mw_flow_batch_of(f, slot);
    losses[0] = mw_flow_trainer_step(t->trainer, &batch, what);
    losses[1] = mw_flow_trainer_forecast(t->trainer);
}

static mw_status open_training(mw_fit *f, mw_error *error) {
    training *t = f->state;
    const mw_flow_settings *s = mw_flow_settings_of(f->model);
    const int batch = s->fit.batch, shards = batch < s->fit.shards ? batch : s->fit.shards;
    t->window = (mw_window_config){.context = s->context,
                                   .future = s->generated,
                                   .discount = s->discount,
                                   .return_scale = s->return_scale,
                                   .obs_normalizer = f->data->obs_normalizer,
                                   .act_normalizer = f->data->act_normalizer};
    t->outlook = t->window;
    t->outlook.context = 1;
    MW_TRY(mw_flow_trainer_create(&t->trainer, f->model->net, &f->groups[0].adam, (float)s->average, batch,
                                  forecasts(f), shards, f->data->pool, error));
    f->part.losses = forecasts(f) ? 2 : 1;
    f->part.optimizer = mw_flow_trainer_optimizer(t->trainer);
    f->part.cost = mw_flow_trainer_flops(f->model->net, batch, batch / 2, forecasts(f));
    return MW_OK;
}

static void close_training(mw_fit *f) {
    mw_flow_trainer_free(((training *)f->state)->trainer);
}

static const mw_fit_class fit_class = {
    .settings = AT(fit),
    .state = sizeof(training),
    .slot = sizeof(batch_slot),
    .losses = 2,
    .minimised = 1,
    .loss_names = {"flow", "forecast"},
    .held_batches = 4,
    .open = open_training,
    .close = close_training,
    .slot_open = slot_open,
    .slot_close = slot_close,
    .fill = fill,
    .run = run,
};

const mw_model_class mw_flow_class = {
    .name = "flow",
    .help = "the proposer: draws joint futures from noise, conditioned on the return",
    .fields = MW_FIELDS(fields),
    .role = MW_ROLE_PROPOSER,
    .normalised = true,
    .make = make,
    .discard = discard,
    .pack = pack,
    .settle = MW_LEARNS(settle),
    .fit = MW_LEARNS(&fit_class),
};
