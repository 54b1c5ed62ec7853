/* Training of the proposer and its inverse dynamics: batches of segments with their flow times and noise,
 * every bit of which is a function of seed, step and row. */
#include "core/math.h"
#include "data/prefetch.h"
#include "data/window.h"
#include "model/flow/trainer.h"
#include "model/inverse.h"
#include "train/part.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHARDS = 4, HELD_BATCHES = 4 };

typedef struct {
    mw_window_rows rows, outlook, pairs; /* of the flow; of the forecast; of the inverse dynamics */
    float *noise, *rho, *lambda, *keep;
    float *input, *weight; /* of the inverse dynamics: a row per agent of a pair */
    mw_arena arena;
} batch_slot;

typedef struct {
    mw_training_part part;
    const mw_training_data *data;
    mw_policy_net net;
    mw_inverse_net inverse_net;
    mw_policy_trainer *trainer;
    mw_inverse_trainer *inverse;
    mw_window_config window, outlook, pairs;
    batch_slot slots[3]; /* two in turn for training, one for validation */
    mw_prefetch *prefetch;
} policy_part;

/* ---- batches ---- */

static int forecasts(const policy_part *p) {
    return p->net.config.forecast ? p->data->preset->policy.forecast_batch : 0;
}

static void carve(batch_slot *s, const policy_part *p, mw_arena *arena) {
    const mw_dataset_spec *spec = &p->data->dataset->spec;
    const size_t n = (size_t)spec->agents, o = (size_t)spec->obs_size,
                 batch = (size_t)p->data->preset->policy.batch, time = (size_t)p->net.config.time,
                 rows = (size_t)p->data->preset->policy.inverse_batch * n;
    s->noise = mw_arena_floats(arena, batch * time * n * o);
    s->rho = mw_arena_floats(arena, batch);
    s->lambda = mw_arena_floats(arena, batch);
    s->keep = mw_arena_floats(arena, batch);
    s->input = mw_arena_floats(arena, rows * (size_t)mw_inverse_inputs(&p->inverse_net.config));
    s->weight = mw_arena_floats(arena, rows);
}

static mw_status slot_create(batch_slot *s, const policy_part *p, mw_error *error) {
    mw_arena measured = {0};
    carve(s, p, &measured);
    MW_TRY(mw_arena_create(&s->arena, measured.used, error));
    carve(s, p, &s->arena);
    const mw_dataset_spec *spec = &p->data->dataset->spec;
    MW_TRY(mw_window_rows_create(&s->rows, spec, &p->window, p->data->preset->policy.batch, error));
    MW_TRY(mw_window_rows_create(&s->pairs, spec, &p->pairs, p->data->preset->policy.inverse_batch, error));
    return p->net.config.forecast ? mw_window_rows_create(&s->outlook, spec, &p->outlook, forecasts(p), error)
                                  : MW_OK;
}

static float sigmoid_of_normal(mw_rng *rng) {
    return (float)(1 / (1 + mw_exp(-(mw_rng_normal(rng) - 0.4))));
}

/* Times, condition and noise of one row: rho <= lambda, equal in every other row. */
static void fill_flow(const policy_part *p, batch_slot *s, int row, mw_rng *rng) {
    const float a = sigmoid_of_normal(rng), b = sigmoid_of_normal(rng);
    s->lambda[row] = fmaxf(a, b);
    s->rho[row] = row % 2 ? fminf(a, b) : s->lambda[row];
    s->keep[row] = mw_rng_double(rng) < p->data->preset->policy.drop ? 0 : 1;
    const mw_policy_config *c = &p->net.config;
    const size_t size = (size_t)(c->time * c->agents * c->obs);
    mw_rng_fill_normal(rng, s->noise + (size_t)row * size, size);
}

/* The rows of one pair of joint observations. What follows an observation is known to the inverse dynamics as
 * a proposal gives it: not quite. */
static void fill_pair(const policy_part *p, batch_slot *s, int row, mw_rng *rng) {
    const mw_inverse_config *c = &p->inverse_net.config;
    const int n = p->data->dataset->spec.agents, o = c->obs, inputs = mw_inverse_inputs(c);
    const float *now = s->pairs.trajectory + (size_t)(row * 2 * n * o), *next = now + n * o;
    const double noise = p->data->preset->policy.inverse_noise;
    for (int i = 0; i < n; i++) {
        float *input = s->input + (size_t)(row * n + i) * (size_t)inputs;
        mw_inverse_row(c, input, now + i * o, next + i * o, i);
        for (int k = o; noise > 0 && k < 2 * o; k++) input[k] += (float)(noise * mw_rng_normal(rng));
        s->weight[row * n + i] = s->pairs.mask[row];
    }
}

static void fill(const policy_part *p, batch_slot *s, uint64_t step, bool held) {
    const int batch = p->data->preset->policy.batch;
    const mw_episode_set *set = held ? &p->data->split.held : &p->data->split.train;
    mw_window_fill(&s->rows, batch, p->data->dataset, &p->window, set, p->data->seed, step,
                   held ? MW_BATCH_VALIDATION : MW_BATCH_POLICY);
    mw_window_fill(&s->outlook, forecasts(p), p->data->dataset, &p->outlook, set, p->data->seed, step,
                   held ? MW_BATCH_VALIDATION : MW_BATCH_FORECAST);
    mw_window_fill(&s->pairs, p->data->preset->policy.inverse_batch, p->data->dataset, &p->pairs, set,
                   p->data->seed, step, held ? MW_BATCH_VALIDATION : MW_BATCH_INVERSE);
    for (int row = 0; row < batch; row++) {
        mw_rng rng = mw_rng_make(p->data->seed, MW_RNG_FLOW, step, (uint64_t)row, held);
        fill_flow(p, s, row, &rng);
    }
    for (int row = 0; row < p->data->preset->policy.inverse_batch; row++) {
        mw_rng rng = mw_rng_make(p->data->seed, MW_RNG_FLOW, step, (uint64_t)row, 2 + (uint64_t)held);
        fill_pair(p, s, row, &rng);
    }
}

static void prefetch_fill(void *context, uint64_t step, void *batch) {
    fill(context, batch, step, false);
}

/* ---- steps ---- */

static void run(policy_part *p, const batch_slot *s, bool update, double *losses) {
    const mw_training_preset *preset = p->data->preset;
    const mw_flow_batch flow = {.count = preset->policy.batch,
                                .trajectory = s->rows.trajectory,
                                .noise = s->noise,
                                .rho = s->rho,
                                .lambda = s->lambda,
                                .target = s->rows.target,
                                .keep = s->keep,
                                .forecasts = forecasts(p),
                                .outlook = s->outlook.trajectory};
    const mw_inverse_batch inverse = {.count = preset->policy.inverse_batch * p->data->dataset->spec.agents,
                                      .pair = s->input,
                                      .real = s->pairs.act,
                                      .index = s->pairs.index,
                                      .legal = s->pairs.legal,
                                      .weight = s->weight};
    losses[0] = mw_policy_trainer_step(p->trainer, &flow, update);
    losses[1] = mw_inverse_trainer_step(p->inverse, &inverse, update);
    losses[2] = mw_policy_trainer_forecast(p->trainer);
}

static void policy_advance(mw_training_part *part, double *losses) {
    policy_part *p = (policy_part *)part;
    mw_training_part_schedule(part, p->data->preset->policy.rate, p->data->preset->policy.warmup);
    run(p, mw_prefetch_next(p->prefetch), true, losses);
}

static void swap_average(mw_optimizer *o) {
    float *values = o->values;
    o->values = o->average;
    o->average = values;
}

/* With the averaged weights, which planning uses. */
static void policy_validate(mw_training_part *part, double *losses) {
    policy_part *p = (policy_part *)part;
    losses[0] = losses[1] = losses[2] = 0;
    for (int i = 0; i < 2; i++) swap_average(part->optimizers[i]);
    for (uint64_t k = 0; k < HELD_BATCHES; k++) {
        double one[3];
        fill(p, &p->slots[2], k, true);
        run(p, &p->slots[2], false, one);
        for (int i = 0; i < 3; i++) losses[i] += one[i] / HELD_BATCHES;
    }
    for (int i = 0; i < 2; i++) swap_average(part->optimizers[i]);
}

/* ---- life ---- */

static mw_status policy_start(mw_training_part *part, mw_error *error) {
    policy_part *p = (policy_part *)part;
    return mw_prefetch_create(&p->prefetch, prefetch_fill, p, &p->slots[0], &p->slots[1],
                              (uint64_t)part->step, error);
}

static void policy_stop(mw_training_part *part) {
    policy_part *p = (policy_part *)part;
    mw_prefetch_free(p->prefetch);
    p->prefetch = NULL;
}

static void policy_destroy(mw_training_part *part) {
    policy_part *p = (policy_part *)part;
    policy_stop(part);
    for (int i = 0; i < 3; i++) {
        mw_window_rows_free(&p->slots[i].rows);
        mw_window_rows_free(&p->slots[i].outlook);
        mw_window_rows_free(&p->slots[i].pairs);
        mw_arena_free(&p->slots[i].arena);
    }
    mw_policy_trainer_free(p->trainer);
    mw_inverse_trainer_free(p->inverse);
    mw_policy_net_free(&p->net);
    mw_inverse_net_free(&p->inverse_net);
    free(p);
}

static mw_status build(policy_part *p, mw_error *error) {
    const mw_training_data *data = p->data;
    const mw_training_preset *preset = data->preset;
    const mw_dataset_spec *spec = &data->dataset->spec;
    const int batch = preset->policy.batch, shards = batch < SHARDS ? batch : SHARDS;
    const mw_adam adam = {
        .beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-8f, .clip = (float)preset->policy.clip};
    const float decay = (float)preset->policy.average;
    mw_policy_config config = mw_training_preset_policy(preset);
    config.agents = spec->agents;
    config.obs = spec->obs_size;
    p->window = (mw_window_config){.context = preset->policy.context,
                                   .future = preset->policy.generated,
                                   .discount = preset->policy.discount,
                                   .return_scale = data->return_scale,
                                   .obs_normalizer = &data->stats.obs_normalizer,
                                   .act_normalizer = spec->discrete ? NULL : &data->stats.act_normalizer};
    p->outlook = p->window;
    p->outlook.context = 1;
    p->pairs = p->outlook;
    p->pairs.future = 1;
    MW_TRY(mw_policy_net_make(&p->net, &config, error));
    mw_inverse_config inverse = mw_training_preset_inverse(preset);
    inverse.obs = spec->obs_size;
    inverse.act = spec->act_size;
    inverse.ids = inverse.ids ? spec->agents : 0;
    inverse.discrete = spec->discrete;
    MW_TRY(mw_inverse_net_make(&p->inverse_net, &inverse, error));
    MW_TRY(mw_policy_trainer_create(&p->trainer, &p->net, &adam, decay, batch, forecasts(p), shards,
                                    data->pool, error));
    MW_TRY(mw_inverse_trainer_create(&p->inverse, &p->inverse_net, &adam, decay,
                                     preset->policy.inverse_batch * spec->agents, SHARDS, data->pool, error));
    for (int i = 0; i < 3; i++) MW_TRY(slot_create(&p->slots[i], p, error));
    p->part.cost = mw_policy_trainer_flops(&p->net, batch, batch / 2, forecasts(p));
    const mw_params *params[2] = {&p->net.params, &p->inverse_net.params};
    p->part.optimizers[0] = mw_policy_trainer_optimizer(p->trainer);
    p->part.optimizers[1] = mw_inverse_trainer_optimizer(p->inverse);
    for (int i = 0; i < 2; i++) {
        mw_optimizer *o = p->part.optimizers[i];
        mw_params_init(params[i], o->values, 3 * data->seed + (uint64_t)i);
        memcpy(o->average, o->values, o->total * sizeof *o->values);
    }
    return MW_OK;
}

mw_status mw_policy_part_create(mw_training_part **out, const mw_training_data *data, mw_error *error) {
    *out = NULL;
    policy_part *p = calloc(1, sizeof *p);
    if (!p) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate the policy's training");
    p->data = data;
    p->part = (mw_training_part){.name = "policy",
                                 .losses = mw_training_preset_policy(data->preset).forecast ? 3 : 2,
                                 .loss_names = {"flow", "inverse", "forecast"},
                                 .optimizer_names = {"policy", "inverse"},
                                 .steps = data->preset->policy.steps,
                                 .start = policy_start,
                                 .advance = policy_advance,
                                 .validate = data->split.held.transitions > 0 ? policy_validate : NULL,
                                 .stop = policy_stop,
                                 .destroy = policy_destroy};
    mw_status status = build(p, error);
    if (status != MW_OK) {
        policy_destroy(&p->part);
        return status;
    }
    *out = &p->part;
    return MW_OK;
}
