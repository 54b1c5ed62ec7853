/* The value of a joint observation: its training by n-step temporal differences, and its use behind the
 * horizon of imagined futures; see state_value.h. */
#include "model/state_value.h"

#include "model/td.h"
#include "model/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int hidden, steps;
    double discount, target;
    mw_fit_settings fit;
} settings;

#define AT(member) offsetof(settings, member)

enum { ROWS = 64 }; /* looked at together */

/* clang-format off */
static const mw_field fields[] = {
    {"hidden",    MW_FIELD_INT,  AT(hidden),   "256",   1, 4096,       "width of the three hidden layers", {0}, NULL},
    {"lookahead", MW_FIELD_INT,  AT(steps),    "50",    1, 1e6,        "rewards that are summed before the value of what follows takes over", {0}, NULL},
    {"discount",  MW_FIELD_REAL, AT(discount), "0.99",  0, 1,          "of what follows", {0}, NULL},
    {"target",    MW_FIELD_REAL, AT(target),   "0.995", 1e-3, 0.99999, "how much of the average weights, which are the target's and the result, stays in a step", {0}, NULL},
    MW_FIT_FIELDS(settings, fit, "joint observations", "3000", "512", "0.001", "100"),
    MW_SHARDS_FIELD(settings, fit),
};
/* clang-format on */
_Static_assert(sizeof(settings) <= MW_CONFIG_BYTES, "settings fit into a configuration");

/* The net of all value networks, and the units of its inputs. */
typedef struct {
    mw_value_net base;
    mw_units units; /* of observations */
} network;

static const settings *settings_of(const mw_model *model) {
    return (const settings *)(const void *)&model->config;
}
static const network *network_of(const mw_model *model) {
    return model->net;
}

/* Linear -> LN -> SiLU twice, Linear -> SiLU, Linear; then times std plus mean. */
static mw_status make(mw_model *model, mw_error *error) {
    const int hidden = settings_of(model)->hidden;
    network *net = model->net = calloc(1, sizeof *net);
    if (!net) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a value");
    mw_params *p = &net->base.params;
    model->params = p;
    net->base.scaled = true;
    net->base.stack = (mw_stack){.layers = MW_STACK_LAYERS};
    for (int i = 0; i < MW_STACK_LAYERS; i++) {
        const int in = i ? hidden : mw_value_inputs(model), out = i + 1 < MW_STACK_LAYERS ? hidden : 1;
        net->base.stack.layer[i].dense = mw_dense_linear(p, mw_name_of("layer.%d", i).text, in, out);
        if (i < 2) net->base.stack.layer[i].between = mw_norm_add(p, mw_name_of("norm.%d", i).text, out);
    }
    net->base.mean = mw_params_add(p, "scale.mean", MW_PARAM_PLAIN, MW_INIT_ZERO, 0, 1, 0, 0);
    net->base.std = mw_params_add(p, "scale.std", MW_PARAM_PLAIN, MW_INIT_ONE, 0, 1, 0, 0);
    net->units = mw_units_add(p, "input", model->shape.obs);
    return p->failed ? mw_fail(error, MW_ERR_MEMORY, "cannot allocate the value's table") : MW_OK;
}

/* ---- training ---- */

typedef struct {
    mw_td td;
    mw_episode_set train, held; /* observations */
    float *units;               /* [total]: the weights that are not trained, the rest is not read */
    mw_arena arena;
} training;

/* All steps whose future is known, and what is left when the world has ended an episode. */
static long places_of(const mw_dataset *data, long episode, int unused) {
    (void)unused;
    const bool last = mw_dataset_obs(data, episode, data->lengths[episode]) != NULL;
    const bool limit = data->outcomes[episode] == MW_ENDED_BY_LIMIT;
    return (long)data->lengths[episode] - (limit && !last) + (!limit && last);
}

/* The team's discounted return in n steps from here, and where they lead: past an end there is nothing. */
static double ahead(const mw_dataset *data, mw_place place, long steps, double discount, mw_place *next,
                    double *weight) {
    const long agents = data->spec.agents, length = (long)data->lengths[place.episode];
    const bool limit = data->outcomes[place.episode] == MW_ENDED_BY_LIMIT;
    const bool last = mw_dataset_obs(data, place.episode, length) != NULL;
    const long most = limit ? length - !last : length, end = place.t + steps < most ? place.t + steps : most;
    double sum = 0;
    *weight = 1;
    for (long t = place.t; t < end; t++, *weight *= discount)
        for (long i = 0; i < agents; i++)
            sum += *weight * (double)data->rewards[(data->offsets[place.episode] + t) * agents + i];
    *next = (mw_place){place.episode, end};
    if (end == length && !limit) *weight = 0;
    return sum;
}

static mw_status take_units(mw_fit *f, mw_error *error) {
    training *t = f->state;
    const mw_training_data *data = f->data;
    const double agents = data->dataset->spec.agents;
    MW_TRY(mw_arena_create(&t->arena, f->model->params->total * sizeof *t->units, error));
    t->units = mw_arena_floats(&t->arena, f->model->params->total);
    mw_units_set(&network_of(f->model)->units, t->units, data->stats.obs);
    t->td.mean = (float)(agents * data->stats.to_go.mean);
    t->td.std = (float)(agents * data->stats.to_go.scale);
    return MW_OK;
}

static mw_status open_training(mw_fit *f, mw_error *error) {
    training *t = f->state;
    const mw_training_data *data = f->data;
    MW_TRY(mw_episode_set_of(&t->train, data->dataset, &data->split.train, places_of, 0, error));
    MW_TRY(mw_episode_set_of(&t->held, data->dataset, &data->split.held, places_of, 0, error));
    if (t->train.transitions < 1)
        return mw_fail(error, MW_ERR_ARGUMENT, "no step of the data has a recorded successor");
    if (t->held.transitions < 1) f->held_batches = 0;
    mw_td_open(f, settings_of(f->model)->target);
    return take_units(f, error);
}

static void close_training(mw_fit *f) {
    training *t = f->state;
    mw_episode_set_free(&t->train);
    mw_episode_set_free(&t->held);
    mw_arena_free(&t->arena);
}

static void initialise(mw_fit *f, float *values) {
    const training *t = f->state;
    const network *net = network_of(f->model);
    values[net->base.mean] = t->td.mean;
    values[net->base.std] = t->td.std;
    mw_units_set(&net->units, values, f->data->stats.obs);
}

static void fill(const mw_fit *f, void *slot, uint64_t step, bool held) {
    const training *t = f->state;
    const settings *s = settings_of(f->model);
    const mw_units *units = &network_of(f->model)->units;
    const mw_td_batch *b = slot;
    const mw_dataset *data = f->data->dataset;
    const size_t inputs = (size_t)mw_value_inputs(f->model);
    for (int row = 0; row < f->settings->batch; row++) {
        mw_rng rng = mw_batch_rng(f->data->seed, step, row, held ? MW_BATCH_VALIDATION : MW_BATCH_VALUE);
        const mw_place place = mw_episode_set_draw(held ? &t->held : &t->train, &rng);
        mw_place next;
        double weight;
        b->sum[row] = (float)ahead(data, place, s->steps, s->discount, &next, &weight);
        b->discount[row] = (float)weight;
        mw_units_apply(units, t->units, mw_dataset_obs(data, place.episode, place.t),
                       b->x + (size_t)row * inputs, (int)inputs);
        if (weight == 0)
            memset(b->next + (size_t)row * inputs, 0, inputs * sizeof *b->next);
        else
            mw_units_apply(units, t->units, mw_dataset_obs(data, next.episode, next.t),
                           b->next + (size_t)row * inputs, (int)inputs);
    }
}

static const mw_fit_class fit_class = {
    .settings = AT(fit),
    .state = sizeof(training),
    .slot = sizeof(mw_td_batch),
    .area = sizeof(mw_td_area),
    .losses = 1,
    .minimised = 1,
    .loss_names = {"unexplained"},
    .held_batches = 8,
    .stream = 2,
    .open = open_training,
    .close = close_training,
    .slot_open = mw_td_slot_open,
    .slot_close = mw_td_slot_close,
    .initialise = initialise,
    .fill = fill,
    .carve = mw_td_carve,
    MW_ONE_TURN(.loss = mw_td_loss),
    .targets = true,
};

const mw_model_class mw_state_value_class = {
    .name = "value",
    .help = "the team's return after a joint observation, for what lies behind the horizon",
    .role = MW_ROLE_VALUE,
    .fields = MW_FIELDS(fields),
    .make = make,
    .discard = mw_value_discard,
    .pack = mw_value_pack,
    .fit = MW_LEARNS(&fit_class),
};

/* ---- use ---- */

struct mw_state_value {
    const mw_model *model;
    mw_stack_acts acts;
    float *x; /* [ROWS][inputs] */
    mw_arena arena;
};

static void take(mw_state_value *v) {
    mw_stack_acts_take(&mw_value_net_of(v->model)->stack, &v->acts, &v->arena, ROWS, false);
    v->x = mw_arena_floats(&v->arena, ROWS * (size_t)mw_value_inputs(v->model));
}

mw_status mw_state_value_create(mw_state_value **out, const mw_model *model, mw_error *error) {
    mw_state_value *v = calloc(1, sizeof *v);
    *out = NULL;
    if (!v) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a value");
    v->model = model;
    take(v);
    const mw_status status = mw_arena_create(&v->arena, v->arena.used, error);
    if (status != MW_OK) {
        free(v);
        return status;
    }
    take(v);
    *out = v;
    return MW_OK;
}

void mw_state_value_free(mw_state_value *v) {
    if (!v) return;
    mw_arena_free(&v->arena);
    free(v);
}

size_t mw_state_value_bytes(const mw_state_value *v) {
    return v->arena.size;
}

float mw_state_value_discount(const mw_model *model, int steps) {
    double discount = 1;
    while (steps-- > 0) discount *= settings_of(model)->discount;
    return (float)discount;
}

void mw_state_value_add(mw_state_value *v, float *scores, float discount, const float *obs, size_t stride,
                        int count) {
    const network *net = network_of(v->model);
    const float *values = v->model->values;
    const size_t inputs = (size_t)mw_value_inputs(v->model);
    for (int first = 0; first < count; first += ROWS) {
        const int rows = count - first < ROWS ? count - first : ROWS;
        for (int r = 0; r < rows; r++)
            mw_units_apply(&net->units, values, obs + (size_t)(first + r) * stride, v->x + (size_t)r * inputs,
                           (int)inputs);
        const float *z = mw_stack_forward(&net->base.stack, &v->acts, v->x, values, v->model->packed, rows);
        for (int r = 0; r < rows; r++)
            scores[first + r] += discount * fmaf(z[r], values[net->base.std], values[net->base.mean]);
    }
}
