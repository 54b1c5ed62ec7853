/* The proposer as a model; see flow.h. Its training draws batches of segments with their flow times and
 * noise, every bit of which is a function of seed, step and row. */
#include "model/flow/flow.h"

#include "core/math.h"
#include "core/rng.h"
#include "data/prefetch.h"
#include "data/returns.h"
#include "data/window.h"
#include "model/flow/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHARDS = 4, HELD_BATCHES = 4, BINS = 5 };

#define AT(member) offsetof(mw_flow_settings, member)

/* clang-format off */
static const mw_field fields[] = {
    {"dim",              MW_FIELD_INT,    AT(dim),              "32",    16, 1024,    "width of the U-Net, a multiple of 16", {0}, NULL},
    {"mults",            MW_FIELD_TRIPLE, AT(mults),            "2,2,2", 1, 64,       "its multiples at the three levels", {0}, NULL},
    {"context",          MW_FIELD_INT,    AT(context),          "4",     1, 256,      "C: observations of context, the current one included", {0}, NULL},
    {"generated",        MW_FIELD_INT,    AT(generated),        "8",     1, 256,      "observations generated after it; context + generated must be divisible by 4", {0}, NULL},
    {"attention_output", MW_FIELD_SWITCH, AT(attention_output), "on",    0, 1,        "output projection of the attention between agents", {0}, NULL},
    {"residual",         MW_FIELD_SWITCH, AT(residual),         "on",    0, 1,        "generate changes from the present instead of observations", {0}, NULL},
    {"forecast",         MW_FIELD_INT,    AT(forecast),         "256",   0, 4096,     "with residual: width of the MLP that expects the changes; 0: none", {0}, NULL},
    {"forecast_batch",   MW_FIELD_INT,    AT(forecast_batch),   "512",   1, 65536,    "segments that it learns from in a step", {0}, NULL},
    {"scale",            MW_FIELD_REAL,   AT(scale),            "5",     1e-3, 1e6,   "with residual: the flow works on this many times what the forecast leaves open", {0}, NULL},
    MW_FIT_FIELDS(mw_flow_settings, fit, "segments", "2500", "64", "0.003", "200"),
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
    mw_policy_config config = {.agents = model->shape.agents,
                               .obs = model->shape.obs,
                               .dim = s->dim,
                               .time = s->context + s->generated,
                               .context = s->context,
                               .bins = BINS,
                               .project = s->attention_output,
                               .residual = s->residual,
                               .forecast = s->residual ? s->forecast : 0,
                               .scale = (float)s->scale};
    memcpy(config.mults, s->mults, sizeof config.mults);
    if (config.time % 4)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "flow.context %d + flow.generated %d is %d, which is not divisible by 4", s->context,
                       s->generated, config.time);
    mw_policy_net *net = model->net = calloc(1, sizeof *net);
    if (!net) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a flow");
    model->params = &net->params;
    return mw_policy_net_make(net, &config, error);
}

static void discard(mw_model *model) {
    if (model->net) mw_policy_net_free(model->net);
    free(model->net);
}

static void pack(mw_model *model) {
    mw_policy_net_pack(model->net, model->values, model->packed, false, 0, 1);
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
    mw_training_part part;
    const mw_training_data *data;
    const mw_flow_settings *settings;
    const mw_policy_net *net;
    mw_policy_trainer *trainer;
    mw_window_config window, outlook;
    batch_slot slots[3]; /* two in turn for training, one for validation */
    mw_prefetch *prefetch;
} flow_part;

static int forecasts(const flow_part *p) {
    return p->net->config.forecast ? p->settings->forecast_batch : 0;
}

static void carve(batch_slot *s, const flow_part *p, mw_arena *arena) {
    const mw_policy_config *c = &p->net->config;
    const size_t batch = (size_t)p->settings->fit.batch;
    s->noise = mw_arena_floats(arena, batch * (size_t)(c->time * c->agents * c->obs));
    s->rho = mw_arena_floats(arena, batch);
    s->lambda = mw_arena_floats(arena, batch);
    s->keep = mw_arena_floats(arena, batch);
}

static mw_status slot_create(batch_slot *s, const flow_part *p, mw_error *error) {
    mw_arena measured = {0};
    carve(s, p, &measured);
    MW_TRY(mw_arena_create(&s->arena, measured.used, error));
    carve(s, p, &s->arena);
    const mw_dataset_spec *spec = &p->data->dataset->spec;
    MW_TRY(mw_window_rows_create(&s->rows, spec, &p->window, p->settings->fit.batch, error));
    return forecasts(p) ? mw_window_rows_create(&s->outlook, spec, &p->outlook, forecasts(p), error) : MW_OK;
}

static float sigmoid_of_normal(mw_rng *rng) {
    return (float)(1 / (1 + mw_exp(-(mw_rng_normal(rng) - 0.4))));
}

/* Times, condition and noise of one row: rho <= lambda, equal in every other row. */
static void fill_row(const flow_part *p, batch_slot *s, int row, mw_rng *rng) {
    const float a = sigmoid_of_normal(rng), b = sigmoid_of_normal(rng);
    s->lambda[row] = fmaxf(a, b);
    s->rho[row] = row % 2 ? fminf(a, b) : s->lambda[row];
    s->keep[row] = mw_rng_double(rng) < p->settings->drop ? 0 : 1;
    const mw_policy_config *c = &p->net->config;
    const size_t size = (size_t)(c->time * c->agents * c->obs);
    mw_rng_fill_normal(rng, s->noise + (size_t)row * size, size);
}

static void fill(const flow_part *p, batch_slot *s, uint64_t step, bool held) {
    const mw_training_data *d = p->data;
    const mw_episode_set *set = held ? &d->split.held : &d->split.train;
    mw_window_fill(&s->rows, p->settings->fit.batch, d->dataset, &p->window, set, d->seed, step,
                   held ? MW_BATCH_VALIDATION : MW_BATCH_POLICY);
    mw_window_fill(&s->outlook, forecasts(p), d->dataset, &p->outlook, set, d->seed, step,
                   held ? MW_BATCH_VALIDATION : MW_BATCH_FORECAST);
    for (int row = 0; row < p->settings->fit.batch; row++) {
        mw_rng rng = mw_rng_make(d->seed, MW_RNG_FLOW, step, (uint64_t)row, held);
        fill_row(p, s, row, &rng);
    }
}

static void prefetch_fill(void *context, uint64_t step, void *batch) {
    fill(context, batch, step, false);
}

/* ---- steps ---- */

static void run(flow_part *p, const batch_slot *s, bool update, double *losses) {
    const mw_flow_batch batch = {.count = p->settings->fit.batch,
                                 .trajectory = s->rows.trajectory,
                                 .noise = s->noise,
                                 .rho = s->rho,
                                 .lambda = s->lambda,
                                 .target = s->rows.target,
                                 .keep = s->keep,
                                 .forecasts = forecasts(p),
                                 .outlook = s->outlook.trajectory};
    losses[0] = mw_policy_trainer_step(p->trainer, &batch, update);
    losses[1] = mw_policy_trainer_forecast(p->trainer);
}

static mw_status advance(mw_training_part *part, double *losses, mw_error *error) {
    flow_part *p = (flow_part *)part;
    (void)error;
    mw_training_part_schedule(part, p->settings->fit.rate, p->settings->fit.warmup, p->settings->fit.final);
    run(p, mw_prefetch_next(p->prefetch), true, losses);
    return MW_OK;
}

/* With the averaged weights, which planning uses. */
static void validate(mw_training_part *part, double *losses) {
    flow_part *p = (flow_part *)part;
    losses[0] = losses[1] = 0;
    mw_training_part_swap(part);
    for (uint64_t k = 0; k < HELD_BATCHES; k++) {
        double one[2];
        fill(p, &p->slots[2], k, true);
        run(p, &p->slots[2], false, one);
        for (int i = 0; i < 2; i++) losses[i] += one[i] / HELD_BATCHES;
    }
    mw_training_part_swap(part);
}

static mw_status start(mw_training_part *part, mw_error *error) {
    flow_part *p = (flow_part *)part;
    return mw_prefetch_create(&p->prefetch, prefetch_fill, p, &p->slots[0], &p->slots[1],
                              (uint64_t)part->step, error);
}

static void stop(mw_training_part *part) {
    flow_part *p = (flow_part *)part;
    mw_prefetch_free(p->prefetch);
    p->prefetch = NULL;
}

static void destroy(mw_training_part *part) {
    flow_part *p = (flow_part *)part;
    stop(part);
    for (int i = 0; i < 3; i++) {
        mw_window_rows_free(&p->slots[i].rows);
        mw_window_rows_free(&p->slots[i].outlook);
        mw_arena_free(&p->slots[i].arena);
    }
    mw_policy_trainer_free(p->trainer);
    free(p);
}

static mw_status build(flow_part *p, const mw_model *model, mw_error *error) {
    const mw_training_data *data = p->data;
    const mw_flow_settings *s = p->settings;
    const int batch = s->fit.batch, shards = batch < SHARDS ? batch : SHARDS;
    const mw_adam adam = mw_fit_adam(&s->fit);
    p->window = (mw_window_config){.context = s->context,
                                   .future = s->generated,
                                   .discount = s->discount,
                                   .return_scale = s->return_scale,
                                   .obs_normalizer = data->obs_normalizer,
                                   .act_normalizer = data->act_normalizer};
    p->outlook = p->window;
    p->outlook.context = 1;
    MW_TRY(mw_policy_trainer_create(&p->trainer, p->net, &adam, (float)s->average, batch, forecasts(p),
                                    shards, data->pool, error));
    for (int i = 0; i < 3; i++) MW_TRY(slot_create(&p->slots[i], p, error));
    p->part.cost = mw_policy_trainer_flops(p->net, batch, batch / 2, forecasts(p));
    mw_optimizer *o = p->part.optimizer = mw_policy_trainer_optimizer(p->trainer);
    mw_params_init(model->params, o->values, 3 * data->seed);
    memcpy(o->average, o->values, o->total * sizeof *o->values);
    return MW_OK;
}

static mw_status train(mw_training_part **out, const mw_model *model, const mw_training_data *data,
                       mw_error *error) {
    *out = NULL;
    flow_part *p = calloc(1, sizeof *p);
    if (!p) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate the flow's training");
    p->data = data;
    p->net = model->net;
    p->settings = mw_flow_settings_of(model);
    p->part = (mw_training_part){.name = model->kind->name,
                                 .losses = forecasts(p) ? 2 : 1,
                                 .minimised = 1,
                                 .loss_names = {"flow", "forecast"},
                                 .total = model->params->total,
                                 .steps = p->settings->fit.steps,
                                 .start = start,
                                 .advance = advance,
                                 .validate = data->split.held.transitions > 0 ? validate : NULL,
                                 .stop = stop,
                                 .destroy = destroy};
    const mw_status status = build(p, model, error);
    if (status != MW_OK) {
        destroy(&p->part);
        return status;
    }
    *out = &p->part;
    return MW_OK;
}

const mw_model_class mw_flow_class = {
    .name = "flow",
    .help = "the proposer: draws joint futures from noise, conditioned on the return",
    .fields = MW_FIELDS(fields),
    .normalised = true,
    .make = make,
    .discard = discard,
    .pack = pack,
    .settle = settle,
    .train = train,
};
