/* The inverse dynamics as a model: their settings and their training on pairs of consecutive observations,
 * every bit of which is a function of seed, step and row. */
#include "core/rng.h"
#include "data/prefetch.h"
#include "data/window.h"
#include "model/inverse.h"

#include <stdlib.h>
#include <string.h>

enum { SHARDS = 4, HELD_BATCHES = 4 };

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

static void pack(mw_model *model) {
    mw_mlp_pack(&mw_inverse_net_of(model)->mlp, model->values, model->packed, false);
}

/* ---- training ---- */

typedef struct {
    mw_window_rows pairs;
    float *input, *weight; /* a row per agent of a pair */
    mw_arena arena;
} batch_slot;

typedef struct {
    mw_training_part part;
    const mw_training_data *data;
    const settings *settings;
    const mw_inverse_net *net;
    mw_inverse_trainer *trainer;
    mw_window_config window;
    batch_slot slots[3]; /* two in turn for training, one for validation */
    mw_prefetch *prefetch;
} inverse_part;

static void carve(batch_slot *s, const inverse_part *p, mw_arena *arena) {
    const size_t rows = (size_t)(p->settings->fit.batch * p->data->dataset->spec.agents);
    s->input = mw_arena_floats(arena, rows * (size_t)mw_inverse_inputs(&p->net->config));
    s->weight = mw_arena_floats(arena, rows);
}

static mw_status slot_create(batch_slot *s, const inverse_part *p, mw_error *error) {
    mw_arena measured = {0};
    carve(s, p, &measured);
    MW_TRY(mw_arena_create(&s->arena, measured.used, error));
    carve(s, p, &s->arena);
    return mw_window_rows_create(&s->pairs, &p->data->dataset->spec, &p->window, p->settings->fit.batch,
                                 error);
}

/* The rows of one pair of joint observations. What follows an observation is known to the inverse dynamics as
 * a proposal gives it: not quite. */
static void fill_pair(const inverse_part *p, batch_slot *s, int row, mw_rng *rng) {
    const mw_inverse_config *c = &p->net->config;
    const int n = p->data->dataset->spec.agents, o = c->obs, inputs = mw_inverse_inputs(c);
    const float *now = s->pairs.trajectory + (size_t)(row * 2 * n * o), *next = now + n * o;
    const double noise = p->settings->noise;
    for (int i = 0; i < n; i++) {
        float *input = s->input + (size_t)(row * n + i) * (size_t)inputs;
        mw_inverse_row(c, input, now + i * o, next + i * o, i);
        for (int k = o; noise > 0 && k < 2 * o; k++) input[k] += (float)(noise * mw_rng_normal(rng));
        s->weight[row * n + i] = s->pairs.mask[row];
    }
}

static void fill(const inverse_part *p, batch_slot *s, uint64_t step, bool held) {
    const mw_training_data *d = p->data;
    mw_window_fill(&s->pairs, p->settings->fit.batch, d->dataset, &p->window,
                   held ? &d->split.held : &d->split.train, d->seed, step,
                   held ? MW_BATCH_VALIDATION : MW_BATCH_INVERSE);
    for (int row = 0; row < p->settings->fit.batch; row++) {
        mw_rng rng = mw_rng_make(d->seed, MW_RNG_FLOW, step, (uint64_t)row, 2 + (uint64_t)held);
        fill_pair(p, s, row, &rng);
    }
}

static void prefetch_fill(void *context, uint64_t step, void *batch) {
    fill(context, batch, step, false);
}

static double run(inverse_part *p, const batch_slot *s, bool update) {
    const mw_inverse_batch batch = {.count = p->settings->fit.batch * p->data->dataset->spec.agents,
                                    .pair = s->input,
                                    .real = s->pairs.act,
                                    .index = s->pairs.index,
                                    .legal = s->pairs.legal,
                                    .weight = s->weight};
    return mw_inverse_trainer_step(p->trainer, &batch, update);
}

static mw_status advance(mw_training_part *part, double *losses, mw_error *error) {
    inverse_part *p = (inverse_part *)part;
    (void)error;
    mw_training_part_schedule(part, p->settings->fit.rate, p->settings->fit.warmup, p->settings->fit.final);
    losses[0] = run(p, mw_prefetch_next(p->prefetch), true);
    return MW_OK;
}

static void validate(mw_training_part *part, double *losses) {
    inverse_part *p = (inverse_part *)part;
    losses[0] = 0;
    mw_training_part_swap(part);
    for (uint64_t k = 0; k < HELD_BATCHES; k++) {
        fill(p, &p->slots[2], k, true);
        losses[0] += run(p, &p->slots[2], false) / HELD_BATCHES;
    }
    mw_training_part_swap(part);
}

static mw_status start(mw_training_part *part, mw_error *error) {
    inverse_part *p = (inverse_part *)part;
    return mw_prefetch_create(&p->prefetch, prefetch_fill, p, &p->slots[0], &p->slots[1],
                              (uint64_t)part->step, error);
}

static void stop(mw_training_part *part) {
    inverse_part *p = (inverse_part *)part;
    mw_prefetch_free(p->prefetch);
    p->prefetch = NULL;
}

static void destroy(mw_training_part *part) {
    inverse_part *p = (inverse_part *)part;
    stop(part);
    for (int i = 0; i < 3; i++) {
        mw_window_rows_free(&p->slots[i].pairs);
        mw_arena_free(&p->slots[i].arena);
    }
    mw_inverse_trainer_free(p->trainer);
    free(p);
}

static mw_status build(inverse_part *p, const mw_model *model, mw_error *error) {
    const mw_training_data *data = p->data;
    const settings *s = p->settings;
    const mw_adam adam = mw_fit_adam(&s->fit);
    const int rows = s->fit.batch * model->shape.agents;
    p->window = (mw_window_config){.context = 1,
                                   .future = 1,
                                   .discount = 1,
                                   .return_scale = 1,
                                   .obs_normalizer = data->obs_normalizer,
                                   .act_normalizer = data->act_normalizer};
    MW_TRY(mw_inverse_trainer_create(&p->trainer, p->net, &adam, (float)s->average, rows, SHARDS, data->pool,
                                     error));
    for (int i = 0; i < 3; i++) MW_TRY(slot_create(&p->slots[i], p, error));
    p->part.cost = 3 * mw_mlp_flops(&p->net->mlp, rows);
    mw_optimizer *o = p->part.optimizer = mw_inverse_trainer_optimizer(p->trainer);
    mw_params_init(model->params, o->values, 3 * data->seed + 1);
    memcpy(o->average, o->values, o->total * sizeof *o->values);
    return MW_OK;
}

static mw_status train(mw_training_part **out, const mw_model *model, const mw_training_data *data,
                       mw_error *error) {
    *out = NULL;
    inverse_part *p = calloc(1, sizeof *p);
    if (!p) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate the training of the inverse dynamics");
    p->data = data;
    p->net = model->net;
    p->settings = settings_of(model);
    p->part = (mw_training_part){.name = model->kind->name,
                                 .losses = 1,
                                 .minimised = 1,
                                 .loss_names = {"inverse"},
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

const mw_model_class mw_inverse_class = {
    .name = "inverse",
    .help = "inverse dynamics: which action leads from one observation to the next",
    .fields = MW_FIELDS(fields),
    .normalised = true,
    .make = make,
    .discard = discard,
    .pack = pack,
    .train = train,
};
