/* MA-CQL: critics that are pushed down on actions nobody took and up on recorded ones, so that what climbs
 * them stays where the data is. Real actions have twin critics of an agent's action and a policy; discrete
 * ones a critic of all actions, whose best legal action is played. */
#include "model/cql/cql.h"

#include <math.h>
#include <stdlib.h>

#define AT MW_CQL_AT

/* clang-format off */
static const mw_field fields[] = {
    MW_CLIMB_FIELDS("256", "0.995"),
    {"alpha", MW_FIELD_REAL, AT(alpha), "auto", 0, 1e6, "weight of what pushes critics down; auto: 1, of discrete actions 3", {"auto"}, NULL},
    MW_CQL_FIELDS,
    MW_FIT_FIELDS(mw_cql_settings, base.fit, "joint transitions", "30000", "171", "0.0003", "0"),
    MW_SHARDS_FIELD(mw_cql_settings, base.fit),
};
/* clang-format on */
_Static_assert(sizeof(mw_cql_settings) <= MW_CONFIG_BYTES, "settings fit into a configuration");

static const mw_constants constants[] = {
    MW_CQL_MPE_CONSTANTS,
    {"spread tag world", "batch=85 steps=25000", "256 rows of agents in a step"},
    {"2ant 4ant", "joint=on hidden=128 slow=0.99 uniform=4 near=4 reward_scale=20 steps=20000",
     "OMAR's code for MuJoCo, with fewer samples; rewards so that values are near 10"},
    {"2ant", "batch=128", "256 rows of agents in a step"},
    {"4ant", "batch=64", "256 rows of agents in a step"},
    {"2s3z 5m_vs_6m", "batch=102", "512 rows of agents in a step"},
    {"8m", "batch=64", "512 rows of agents in a step"},
    {NULL, NULL, NULL},
};

static mw_cql_settings *settings_of(mw_model_config *config) {
    return (mw_cql_settings *)(void *)config;
}

static mw_status settle(mw_model_config *config, const mw_training_data *data, mw_error *error) {
    mw_cql_settings *s = settings_of(config);
    (void)error;
    if (isnan(s->alpha)) s->alpha = data->dataset->spec.discrete ? 3 : 1;
    return MW_OK;
}

static mw_status make(mw_model *model, mw_error *error) {
    return model->shape.discrete ? mw_cql_discrete_make(model, error) : mw_climb_make(model, error);
}

/* Both kinds of nets begin with their table. */
static void discard(mw_model *model) {
    if (model->net) mw_params_free((mw_params *)model->net);
    free(model->net);
}

static const mw_cql_values *values_of(const mw_model *model) {
    return model->net;
}

static void pack(const mw_model *model, const float *values, float *packed, bool backward) {
    if (model->shape.discrete)
        mw_mlp_pack(&values_of(model)->critic, values, packed, backward);
    else
        mw_climb_pack(model, values, packed, backward);
}

/* ---- training on real actions ---- */

static mw_status open_training(mw_fit *f, mw_error *error) {
    f->part.cost = mw_cql_cost(f, 0);
    return mw_climb_open(f, error);
}

static void fill(const mw_fit *f, void *slot, uint64_t step, bool held) {
    (void)held; /* there is no validation */
    for (size_t row = 0; row < (size_t)f->settings->batch; row++) mw_cql_draw(f, slot, step, row);
}

static void carve(const mw_fit *f, void *area, mw_arena *arena, int rows) {
    mw_cql_carve(f, area, arena, rows, mw_cql_samples(f->model) + 1);
}

static const mw_slot_field batch_fields[] = {MW_CQL_SLOT};

static void policy_look(const mw_fit *f, void *slot, void *own, int begin, int end) {
    mw_climb_look(f, slot, own, mw_span_of(f, begin, end));
}

/* -mean Q_1 + decay * the mean square of actions. */
static void policy_settle(const mw_fit *f, void *slot, double *losses) {
    const mw_climb_batch *b = slot;
    losses[MW_CQL_Q] = mw_climb_mean(f, b);
    losses[MW_CQL_POLICY] = -losses[MW_CQL_Q];
}

static void policy_loss(const mw_fit *f, void *slot, void *own, int begin, int end, float *grads,
                        double *losses) {
    const mw_climb_batch *b = slot;
    mw_climb_area *a = own;
    const mw_cql_settings *set = (const mw_cql_settings *)(const void *)&f->model->config;
    const mw_span s = mw_span_of(f, begin, end);
    const size_t d = (size_t)f->model->shape.act;
    const float share = (float)(set->decay / (double)(s.all * d)), *act = b->own + s.first * d;
    double sum = 0;
    for (size_t k = 0; k < s.count * d; k++) {
        sum += (double)(act[k] * act[k]);
        a->dact[k] = 2 * share * act[k];
    }
    losses[MW_CQL_POLICY] = sum * (double)share;
    if (grads) mw_climb_back(f, b, a, s, -1 / (float)s.all, grads);
}

static const mw_turn turns[] = {
    {.group = MW_CLIMB_CRITIC,
     .look = mw_cql_critic_look,
     .settle = mw_cql_critic_settle,
     .loss = mw_cql_critic_loss},
    {.group = MW_CLIMB_POLICY, .look = policy_look, .settle = policy_settle, .loss = policy_loss},
};

static const mw_phase phase = {.turns = turns, .turn_count = 2};

static const mw_fit_class fit_class = {
    .settings = AT(base.fit),
    .state = sizeof(mw_climb_training),
    .slot = sizeof(mw_cql_batch),
    .area = sizeof(mw_cql_area),
    .losses = MW_CQL_LOSSES,
    .loss_names = {"critic", "policy", "td", "gap", "q"},
    .apart = true,
    .targets = true,
    .groups = MW_CLIMB_GROUPS,
    .stream = 2,
    .open = open_training,
    .close = mw_climb_close,
    .fields = batch_fields,
    .field_count = sizeof batch_fields / sizeof *batch_fields,
    .extent = mw_cql_extent,
    .initialise = mw_cql_initialise,
    .fill = fill,
    .assemble = mw_climb_assemble,
    .phases = &phase,
    .phase_count = 1,
    .carve = carve,
    .pack = mw_climb_pack_group,
};

/* ---- play ---- */

static const mw_policy_class policy_class;

static mw_status policy_create(mw_policy **out, const mw_policy_context *context, mw_error *error) {
    if (!context->model->shape.discrete) return mw_climb_policy_create(out, &policy_class, context, error);
    const mw_cql_values *net = values_of(context->model);
    const mw_actor_head head = {&net->critic, net->view, MW_DECIDE_BEST};
    return mw_head_policy_create(out, &policy_class, context, &head, error);
}

static const mw_policy_class policy_class = {
    .help = "MA-CQL: climbs critics that distrust actions nobody took",
    .sees = "own",
    .source = "Kumar et al. 2020; Pan et al. 2022",
    .certain = "real actions as OMAR's code; discrete ones as OG-MARL's, without recurrence",
    .create = policy_create,
    .act = mw_head_policy_act,
    .destroy = mw_head_policy_destroy};

const mw_model_class mw_cql_class = {
    .name = "cql",
    .help = "MA-CQL: critics that are pushed down on actions nobody took, and who climbs them",
    .fields = MW_FIELDS(fields),
    .constants = constants,
    .make = make,
    .discard = discard,
    .pack = pack,
    .settle = settle,
    .fit = MW_LEARNS(&fit_class),
    .fit_discrete = MW_LEARNS(&mw_cql_discrete_fit),
    .policy = &policy_class,
};
