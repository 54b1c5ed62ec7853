/* The routed world model as a model; see rwm.h. It learns from joint transitions; the weights with the
 * smallest loss on held-out episodes are the ones that count. */
#include "model/rwm/rwm.h"

#include "data/transition.h"
#include "model/fit.h"
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
    {"top_k",             MW_FIELD_INT,    AT(top_k),             "2",   1, MW_MAX_EXPERTS, "experts of the reward that each agent uses", {0}, NULL},
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

/* The paper's variant has none of these, whatever they are set to; its bundles say so. */
static mw_status settle(mw_model_config *config, const mw_training_data *data, mw_error *error) {
    settings *s = (settings *)(void *)config;
    (void)data;
    (void)error;
    if (s->variant != PAPER) return MW_OK;
    s->reward_features = s->dynamics_features = s->shared = 0;
    s->mean_agents = s->concat_agents = false;
    return MW_OK;
}

static void discard(mw_model *model) {
    if (model->net) mw_world_net_free(model->net);
    free(model->net);
}

static void pack(const mw_model *model, const float *values, float *packed, bool backward) {
    mw_world_net_pack(model->net, values, packed, backward, 0, 1);
}

/* ---- training ---- */

typedef struct {
    mw_world_trainer *trainer;
} training;

static void run(mw_fit *f, const void *slot, mw_step what, double *losses) {
    const training *t = f->state;
    const mw_transition_rows *rows = slot;
    const mw_transition_batch batch = {.count = f->settings->batch,
                                       .obs = rows->obs,
                                       .act = rows->act,
                                       .next_obs = rows->next_obs,
                                       .reward = rows->reward};
    const mw_world_loss loss = what == MW_STEP_LOSS
                                   ? mw_world_trainer_loss(t->trainer, &batch, false)
                                   : mw_world_trainer_step(t->trainer, &batch, what == MW_STEP_UPDATE);
    losses[0] = loss.dynamics;
    losses[1] = loss.reward;
    losses[2] = loss.balance;
}

static void initialise(mw_fit *f, float *values) {
    const mw_world_net *net = f->model->net;
    if (!net->config.standardise) return;
    mw_scales_set(&net->scales, values, &f->data->stats);
    mw_world_net_aim(net, values);
}

static mw_status open_training(mw_fit *f, mw_error *error) {
    training *t = f->state;
    const int batch = f->settings->batch;
    const int64_t held = f->data->split.held.transitions;
    f->held_batches = ((held < HELD_ROWS ? (int)held : HELD_ROWS) + batch - 1) / batch;
    MW_TRY(mw_world_trainer_create(&t->trainer, f->model->net, &f->groups[0].adam, 0, batch, f->data->pool,
                                   error));
    f->part.optimizer = mw_world_trainer_optimizer(t->trainer);
    f->part.cost = mw_world_trainer_flops(f->model->net, batch);
    return MW_OK;
}

static void close_training(mw_fit *f) {
    mw_world_trainer_free(((training *)f->state)->trainer);
}

static const mw_fit_class fit_class = {
    .settings = AT(fit),
    .state = sizeof(training),
    .slot = sizeof(mw_transition_rows),
    .losses = 3,
    .minimised = 2,
    .loss_names = {"dynamics", "reward", "balance"},
    .keeps_best = true,
    .stream = 2,
    .open = open_training,
    .close = close_training,
    .slot_open = mw_fit_transitions_open,
    .slot_close = mw_fit_transitions_close,
    .initialise = initialise,
    .fill = mw_fit_transitions_fill,
    .run = run,
};

const mw_model_class mw_rwm_class = {
    .name = "rwm",
    .help = "the routed world model: next joint observation and rewards, by mixtures of experts",
    .fields = MW_FIELDS(fields),
    .make = make,
    .discard = discard,
    .pack = pack,
    .settle = MW_LEARNS(settle),
    .fit = MW_LEARNS(&fit_class),
    .scorer = &mw_rwm_scorer_class,
};
