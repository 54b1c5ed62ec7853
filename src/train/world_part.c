/* Training of the world model on joint transitions; the weights with the smallest loss on held-out episodes
 * are the ones that count. */
#include "data/prefetch.h"
#include "data/transition.h"
#include "train/part.h"
#include "model/rwm/trainer.h"

#include <stdlib.h>
#include <string.h>

enum { HELD_ROWS = 4096 }; /* at most, for a validation */

typedef struct {
    mw_training_part part;
    const mw_training_data *data;
    mw_world_net net;
    mw_world_trainer *trainer;
    mw_transition_rows slots[3]; /* two in turn for training, one for validation */
    mw_prefetch *prefetch;
} world_part;

static void prefetch_fill(void *context, uint64_t step, void *batch) {
    const world_part *p = context;
    mw_transition_fill(batch, p->data->preset->world.batch, p->data->preset->world.run, p->data->dataset,
                       &p->data->split.train, p->data->seed, step, MW_BATCH_WORLD);
}

static mw_transition_batch batch_of(const world_part *p, const mw_transition_rows *rows, int run) {
    const int count = p->data->preset->world.batch;
    return (mw_transition_batch){.count = count,
                                 .obs = rows->obs,
                                 .act = rows->act,
                                 .next_obs = rows->next_obs,
                                 .reward = rows->reward,
                                 .follows = run > 1 ? rows->follows : NULL,
                                 .stride = mw_transition_stride(count, run)};
}

static void put_losses(double *losses, mw_world_loss loss, double weight) {
    losses[0] += weight * loss.dynamics;
    losses[1] += weight * loss.reward;
    losses[2] += weight * loss.balance;
}

static void world_advance(mw_training_part *part, double *losses) {
    world_part *p = (world_part *)part;
    mw_training_part_schedule(part, p->data->preset->world.rate, p->data->preset->world.warmup);
    const mw_transition_batch batch = batch_of(p, mw_prefetch_next(p->prefetch), p->data->preset->world.run);
    memset(losses, 0, MW_PART_LOSSES * sizeof *losses);
    put_losses(losses, mw_world_trainer_step(p->trainer, &batch, true), 1);
}

static void world_validate(mw_training_part *part, double *losses) {
    world_part *p = (world_part *)part;
    const int64_t held = p->data->split.held.transitions;
    const int size = p->data->preset->world.batch, rows = held < HELD_ROWS ? (int)held : HELD_ROWS,
              count = (rows + size - 1) / size;
    memset(losses, 0, MW_PART_LOSSES * sizeof *losses);
    for (int k = 0; k < count; k++) {
        mw_transition_fill(&p->slots[2], size, 1, p->data->dataset, &p->data->split.held, p->data->seed,
                           (uint64_t)k, MW_BATCH_VALIDATION);
        const mw_transition_batch batch = batch_of(p, &p->slots[2], 1);
        put_losses(losses, mw_world_trainer_loss(p->trainer, &batch, true), 1.0 / count);
    }
}

static mw_status world_start(mw_training_part *part, mw_error *error) {
    world_part *p = (world_part *)part;
    return mw_prefetch_create(&p->prefetch, prefetch_fill, p, &p->slots[0], &p->slots[1],
                              (uint64_t)part->step, error);
}

static void world_stop(mw_training_part *part) {
    world_part *p = (world_part *)part;
    mw_prefetch_free(p->prefetch);
    p->prefetch = NULL;
}

static void world_destroy(mw_training_part *part) {
    world_part *p = (world_part *)part;
    world_stop(part);
    for (int i = 0; i < 3; i++) mw_transition_rows_free(&p->slots[i]);
    mw_world_trainer_free(p->trainer);
    mw_world_net_free(&p->net);
    free(part->best_values);
    free(p);
}

/* Means and scales are part of the parameter table; their gradient is zero, so they stay. */
static void put_moments(float *values, size_t mean, size_t scale, const mw_moments *moments, int count) {
    for (int i = 0; i < count; i++) {
        values[mean + (size_t)i] = (float)moments[i].mean;
        values[scale + (size_t)i] = (float)moments[i].scale;
    }
}

static void initialise(world_part *p) {
    const mw_data_stats *s = &p->data->stats;
    mw_optimizer *o = p->part.optimizers[0];
    mw_params_init(&p->net.params, o->values, 3 * p->data->seed + 2);
    if (p->net.config.standardise) {
        put_moments(o->values, p->net.obs_mean, p->net.obs_scale, s->obs, s->obs_size);
        put_moments(o->values, p->net.delta_mean, p->net.delta_scale, s->delta, s->obs_size);
        put_moments(o->values, p->net.act_mean, p->net.act_scale, s->act, s->act_size);
        put_moments(o->values, p->net.reward_mean, p->net.reward_scale, &s->reward, 1);
        mw_world_net_aim(&p->net, o->values);
    }
    if (o->average) memcpy(o->average, o->values, o->total * sizeof *o->values);
}

static mw_status build(world_part *p, mw_error *error) {
    const mw_training_data *data = p->data;
    const mw_training_preset *preset = data->preset;
    const mw_dataset_spec *spec = &data->dataset->spec;
    const mw_adam adam = {
        .beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-8f, .clip = (float)preset->world.clip};
    mw_world_config config = mw_training_preset_world(preset);
    config.agents = spec->agents;
    config.obs = spec->obs_size;
    config.act = spec->act_size;
    MW_TRY(mw_world_net_make(&p->net, &config, error));
    MW_TRY(mw_world_trainer_create(&p->trainer, &p->net, &adam, (float)preset->world.average,
                                   preset->world.batch, data->pool, error));
    for (int i = 0; i < 3; i++)
        MW_TRY(mw_transition_rows_create(&p->slots[i], spec, preset->world.batch, error));
    mw_optimizer *o = p->part.optimizers[0] = mw_world_trainer_optimizer(p->trainer);
    p->part.best_values = calloc(o->total, sizeof *p->part.best_values);
    if (!p->part.best_values) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate the best weights");
    const double rolled = 1 - 1.0 / preset->world.run; /* share of the rows that need a pass before */
    p->part.cost = mw_world_trainer_flops(&p->net, preset->world.batch) * (1 + rolled / 3);
    initialise(p);
    return MW_OK;
}

mw_status mw_world_part_create(mw_training_part **out, const mw_training_data *data, mw_error *error) {
    *out = NULL;
    world_part *p = calloc(1, sizeof *p);
    if (!p) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate the world model's training");
    p->data = data;
    p->part = (mw_training_part){.name = "world",
                                 .losses = 3,
                                 .loss_names = {"dynamics", "reward", "balance"},
                                 .optimizer_names = {"world", NULL},
                                 .steps = data->preset->world.steps,
                                 .start = world_start,
                                 .advance = world_advance,
                                 .validate = data->split.held.transitions > 0 ? world_validate : NULL,
                                 .stop = world_stop,
                                 .destroy = world_destroy};
    mw_status status = build(p, error);
    if (status != MW_OK) {
        world_destroy(&p->part);
        return status;
    }
    *out = &p->part;
    return MW_OK;
}
