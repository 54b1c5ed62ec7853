/* The current-action Q-ranker, one of the paper's selectors: fitted Q evaluation of the policy that made the
 * data, and candidates ranked by their first joint action alone. Unlike the authors' recipe it knows
 * terminals: where the world ended an episode, nothing follows its last reward. */
#include "model/td.h"

#include <string.h>

typedef struct {
    int hidden;
    double discount, target, decay;
    mw_fit_settings fit;
} settings;

#define AT(member) offsetof(settings, member)

/* clang-format off */
static const mw_field fields[] = {
    {"hidden",   MW_FIELD_INT,  AT(hidden),   "512",    1, 4096,    "width of the three hidden layers", {0}, NULL},
    {"discount", MW_FIELD_REAL, AT(discount), "0.99",   0, 1,       "of what follows", {0}, NULL},
    {"target",   MW_FIELD_REAL, AT(target),   "0.995",  1e-3, 0.99999, "how much of the target network stays in a step", {0}, NULL},
    {"decay",    MW_FIELD_REAL, AT(decay),    "0.0001", 0, 1,       "AdamW's decay of the weights", {0}, NULL},
    MW_FIT_FIELDS(settings, fit, "joint transitions", "5000", "1024", "0.0003", "200"),
    MW_SHARDS_FIELD(settings, fit),
};
/* clang-format on */
_Static_assert(sizeof(settings) <= MW_CONFIG_BYTES, "settings fit into a configuration");

static const settings *settings_of(const mw_model *model) {
    return (const settings *)(const void *)&model->config;
}

/* Linear -> LN -> SiLU twice, Linear -> SiLU, Linear. Tensors are named as the authors'. */
static mw_status make(mw_model *model, mw_error *error) {
    static const int dense[] = {0, 3, 6, 8};
    const int hidden = settings_of(model)->hidden;
    mw_value_net *net = mw_value_net_create(model);
    if (!net) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a Q function");
    mw_params *p = &net->params;
    net->steps = 1;
    net->stack = (mw_stack){.layers = MW_STACK_LAYERS};
    for (int i = 0; i < MW_STACK_LAYERS; i++) {
        const int in = i ? hidden : mw_value_inputs(model), out = i + 1 < MW_STACK_LAYERS ? hidden : 1;
        net->stack.layer[i].dense = mw_dense_linear(p, mw_name_of("net.%d", dense[i]).text, in, out);
        if (i < 2) net->stack.layer[i].between = mw_norm_add(p, mw_name_of("net.%d", dense[i] + 1).text, out);
    }
    return p->failed ? mw_fail(error, MW_ERR_MEMORY, "cannot allocate the Q function's table") : MW_OK;
}

/* ---- training ---- */

typedef struct {
    mw_td td;
    mw_episode_set steps;
} training;

/* Steps of an episode with a recorded successor, and its last one where the world ended it. */
static long steps_of(const mw_dataset *data, long episode, int unused) {
    (void)unused;
    return (long)data->lengths[episode] - (data->outcomes[episode] == MW_ENDED_BY_LIMIT);
}

static mw_status open_training(mw_fit *f, mw_error *error) {
    training *t = f->state;
    const mw_training_data *data = f->data;
    MW_TRY(mw_episode_set_of(&t->steps, data->dataset, &data->split.train, steps_of, 0, error));
    if (t->steps.transitions < 1)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "no step of the data has a recorded successor or is a last one");
    mw_td_open(f, settings_of(f->model)->target);
    f->groups[0].adam.decay = (float)settings_of(f->model)->decay;
    f->part.keeps_last = true;
    return MW_OK;
}

static void close_training(mw_fit *f) {
    mw_episode_set_free(&((training *)f->state)->steps);
}

static void fill(const mw_fit *f, void *slot, uint64_t step, bool held) {
    const training *t = f->state;
    const mw_td_batch *b = slot;
    const mw_dataset *data = f->data->dataset;
    const size_t inputs = (size_t)mw_value_inputs(f->model), n = (size_t)data->spec.agents;
    const float discount = (float)settings_of(f->model)->discount;
    (void)held; /* there is no validation */
    for (int row = 0; row < f->settings->batch; row++) {
        mw_rng rng = mw_batch_rng(f->data->seed, step, row, MW_BATCH_Q);
        const mw_place place = mw_episode_set_draw(&t->steps, &rng);
        const float *reward = data->rewards + (size_t)(data->offsets[place.episode] + place.t) * n;
        const bool done = place.t + 1 == data->lengths[place.episode];
        float *next = b->next + (size_t)row * inputs, sum = 0;
        for (size_t i = 0; i < n; i++) sum += reward[i];
        mw_value_row(data, place, 1, b->x + (size_t)row * inputs);
        if (done)
            memset(next, 0, inputs * sizeof *next);
        else
            mw_value_row(data, (mw_place){place.episode, place.t + 1}, 1, next);
        b->sum[row] = sum;
        b->discount[row] = done ? 0 : discount;
    }
}

static const mw_fit_class fit_class = {
    .settings = AT(fit),
    .state = sizeof(training),
    .slot = sizeof(mw_td_batch),
    .area = sizeof(mw_td_area),
    .losses = 1,
    .minimised = 1,
    .loss_names = {"bellman"},
    .stream = 2,
    .open = open_training,
    .close = close_training,
    .slot_open = mw_td_slot_open,
    .slot_close = mw_td_slot_close,
    .fill = fill,
    .carve = mw_td_carve,
    MW_ONE_TURN(.loss = mw_td_loss),
    .targets = true,
};

static const mw_scorer_class scorer_class = {
    .name = "q",
    .help = "what the first joint action is worth by a fitted Q function",
    .create = mw_value_scorer_create,
    .score = mw_value_score,
    .bytes = mw_value_scorer_bytes,
    .destroy = mw_value_scorer_destroy,
};

const mw_model_class mw_q_class = {
    .name = "q",
    .help = "the Q-ranker: value of a joint action under the policy that made the data",
    .fields = MW_FIELDS(fields),
    .make = make,
    .discard = mw_value_discard,
    .pack = mw_value_pack,
    .fit = MW_LEARNS(&fit_class),
    .scorer = &scorer_class,
};
