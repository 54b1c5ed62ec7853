/* The routed world model as a model; see rwm.h. It learns from joint transitions; the weights with the
 * smallest loss on held-out episodes are the ones that count. */
#include "model/rwm/rwm.h"

#include "data/prefetch.h"
#include "data/transition.h"
#include "model/rwm/trainer.h"

#include <stdlib.h>
#include <string.h>

enum { HELD_ROWS = 4096 }; /* at most, for a validation */

enum { STANDARD, PAPER };

typedef mw_rwm_settings settings;

#define AT(member) offsetof(settings, member)

/* clang-format off */
static const mw_field fields[] = {
    {"variant",           MW_FIELD_CHOICE, AT(variant),           "standard", 0, 1, "standardised tokens and targets with norm features, or the paper's layer norms without features and shared values", {"standard", "paper"}, NULL},
    {"hidden",            MW_FIELD_INT,    AT(hidden),            "256", 1, 4096, "width of the experts", {0}, NULL},
    {"experts",           MW_FIELD_INT,    AT(experts),           "8",   1, MW_MAX_EXPERTS, "experts of the dynamics", {0}, NULL},
    {"slots",             MW_FIELD_INT,    AT(slots),             "0",   0, 64,   "slots of each; 0: the variant's own, 1 or the paper's 4", {0}, NULL},
    {"reward_experts",    MW_FIELD_INT,    AT(reward_experts),    "4",   1, MW_MAX_EXPERTS, "experts of the reward", {0}, NULL},
    {"top_k",             MW_FIELD_INT,    AT(top_k),             "2",   1, MW_MAX_EXPERTS, "how many of them an agent meets", {0}, NULL},
    {"reward_features",   MW_FIELD_INT,    AT(reward_features),   "64",  0, 1024, "norm features of the reward's tokens", {0}, NULL},
    {"dynamics_features", MW_FIELD_INT,    AT(dynamics_features), "64",  0, 1024, "the same of the dynamics' tokens", {0}, NULL},
    {"shared",            MW_FIELD_INT,    AT(shared),            "256", 0, 4096, "width of an expert that meets every token of the dynamics; 0: none", {0}, NULL},
    {"mean_agents",       MW_FIELD_SWITCH, AT(mean_agents),       "on",  0, 1,    "tokens carry the mean of all agents' values", {0}, NULL},
    {"concat_agents",     MW_FIELD_SWITCH, AT(concat_agents),     "off", 0, 1,    "instead they carry every agent's values one by one, and which agent is meant", {0}, NULL},
    MW_FIT_FIELDS(settings, fit, "joint transitions", "5000", "256", "0.001", "200"),
};
/* clang-format on */
_Static_assert(sizeof(settings) <= MW_CONFIG_BYTES, "settings fit into a configuration");

static mw_status make(mw_model *model, mw_error *error) {
    const settings *s = mw_rwm_settings_of(model);
    const bool paper = s->variant == PAPER;
    const mw_world_config own = paper ? mw_world_config_paper() : mw_world_config_default();
    const mw_world_config config = {.agents = model->shape.agents,
                                    .obs = model->shape.obs,
                                    .act = model->shape.act,
                                    .hidden = s->hidden,
                                    .experts = s->experts,
                                    .slots = s->slots ? s->slots : own.slots,
                                    .reward_experts = s->reward_experts,
                                    .top_k = s->top_k,
                                    .standardise = !paper,
                                    .reward_features = paper ? 0 : s->reward_features,
                                    .dynamics_features = paper ? 0 : s->dynamics_features,
                                    .shared = paper ? 0 : s->shared,
                                    .mean_agents = !paper && s->mean_agents,
                                    .concat_agents = !paper && s->concat_agents};
    mw_world_net *net = model->net = calloc(1, sizeof *net);
    if (!net) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a world model");
    model->params = &net->params;
    return mw_world_net_make(net, &config, error);
}

static void discard(mw_model *model) {
    if (model->net) mw_world_net_free(model->net);
    free(model->net);
}

static void pack(mw_model *model) {
    mw_world_net_pack(model->net, model->values, model->packed, false, 0, 1);
}

/* ---- training ---- */

typedef struct {
    mw_training_part part;
    const mw_training_data *data;
    const settings *settings;
    const mw_world_net *net;
    mw_world_trainer *trainer;
    mw_transition_rows slots[3]; /* two in turn for training, one for validation */
    mw_prefetch *prefetch;
} rwm_part;

static void prefetch_fill(void *context, uint64_t step, void *batch) {
    const rwm_part *p = context;
    mw_transition_fill(batch, p->settings->fit.batch, p->data->dataset, &p->data->split.train, p->data->seed,
                       step, MW_BATCH_WORLD);
}

static mw_transition_batch batch_of(const rwm_part *p, const mw_transition_rows *rows) {
    return (mw_transition_batch){.count = p->settings->fit.batch,
                                 .obs = rows->obs,
                                 .act = rows->act,
                                 .next_obs = rows->next_obs,
                                 .reward = rows->reward};
}

static void put_losses(double *losses, mw_world_loss loss, double weight) {
    losses[0] += weight * loss.dynamics;
    losses[1] += weight * loss.reward;
    losses[2] += weight * loss.balance;
}

static mw_status advance(mw_training_part *part, double *losses, mw_error *error) {
    rwm_part *p = (rwm_part *)part;
    (void)error;
    mw_training_part_schedule(part, p->settings->fit.rate, p->settings->fit.warmup, p->settings->fit.final);
    const mw_transition_batch batch = batch_of(p, mw_prefetch_next(p->prefetch));
    memset(losses, 0, MW_PART_LOSSES * sizeof *losses);
    put_losses(losses, mw_world_trainer_step(p->trainer, &batch, true), 1);
    return MW_OK;
}

static void validate(mw_training_part *part, double *losses) {
    rwm_part *p = (rwm_part *)part;
    const int64_t held = p->data->split.held.transitions;
    const int size = p->settings->fit.batch, rows = held < HELD_ROWS ? (int)held : HELD_ROWS,
              count = (rows + size - 1) / size;
    memset(losses, 0, MW_PART_LOSSES * sizeof *losses);
    for (int k = 0; k < count; k++) {
        mw_transition_fill(&p->slots[2], size, p->data->dataset, &p->data->split.held, p->data->seed,
                           (uint64_t)k, MW_BATCH_VALIDATION);
        const mw_transition_batch batch = batch_of(p, &p->slots[2]);
        put_losses(losses, mw_world_trainer_loss(p->trainer, &batch, true), 1.0 / count);
    }
}

static mw_status start(mw_training_part *part, mw_error *error) {
    rwm_part *p = (rwm_part *)part;
    return mw_prefetch_create(&p->prefetch, prefetch_fill, p, &p->slots[0], &p->slots[1],
                              (uint64_t)part->step, error);
}

static void stop(mw_training_part *part) {
    rwm_part *p = (rwm_part *)part;
    mw_prefetch_free(p->prefetch);
    p->prefetch = NULL;
}

static void destroy(mw_training_part *part) {
    rwm_part *p = (rwm_part *)part;
    stop(part);
    for (int i = 0; i < 3; i++) mw_transition_rows_free(&p->slots[i]);
    mw_world_trainer_free(p->trainer);
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

static void initialise(const rwm_part *p) {
    const mw_data_stats *s = &p->data->stats;
    const mw_world_net *net = p->net;
    float *values = p->part.optimizer->values;
    mw_params_init(&net->params, values, 3 * p->data->seed + 2);
    if (!net->config.standardise) return;
    put_moments(values, net->obs_mean, net->obs_scale, s->obs, s->obs_size);
    put_moments(values, net->delta_mean, net->delta_scale, s->delta, s->obs_size);
    put_moments(values, net->act_mean, net->act_scale, s->act, s->act_size);
    put_moments(values, net->reward_mean, net->reward_scale, &s->reward, 1);
    mw_world_net_aim(net, values);
}

static mw_status build(rwm_part *p, mw_error *error) {
    const mw_fit_settings *fit = &p->settings->fit;
    const mw_adam adam = mw_fit_adam(fit);
    MW_TRY(mw_world_trainer_create(&p->trainer, p->net, &adam, 0, fit->batch, p->data->pool, error));
    for (int i = 0; i < 3; i++)
        MW_TRY(mw_transition_rows_create(&p->slots[i], &p->data->dataset->spec, fit->batch, error));
    p->part.optimizer = mw_world_trainer_optimizer(p->trainer);
    p->part.best_values = calloc(p->part.total, sizeof *p->part.best_values);
    if (!p->part.best_values) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate the best weights");
    p->part.cost = mw_world_trainer_flops(p->net, fit->batch);
    initialise(p);
    return MW_OK;
}

static mw_status train(mw_training_part **out, const mw_model *model, const mw_training_data *data,
                       mw_error *error) {
    *out = NULL;
    rwm_part *p = calloc(1, sizeof *p);
    if (!p) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate the world model's training");
    p->data = data;
    p->net = model->net;
    p->settings = mw_rwm_settings_of(model);
    p->part = (mw_training_part){.name = model->kind->name,
                                 .losses = 3,
                                 .minimised = 2,
                                 .loss_names = {"dynamics", "reward", "balance"},
                                 .total = model->params->total,
                                 .steps = p->settings->fit.steps,
                                 .start = start,
                                 .advance = advance,
                                 .validate = data->split.held.transitions > 0 ? validate : NULL,
                                 .stop = stop,
                                 .destroy = destroy};
    const mw_status status = build(p, error);
    if (status != MW_OK) {
        destroy(&p->part);
        return status;
    }
    *out = &p->part;
    return MW_OK;
}

const mw_model_class mw_rwm_class = {
    .name = "rwm",
    .help = "the routed world model: next joint observation and rewards, by mixtures of experts",
    .fields = MW_FIELDS(fields),
    .make = make,
    .discard = discard,
    .pack = pack,
    .train = train,
    .scorer = &mw_rwm_scorer_class,
};
