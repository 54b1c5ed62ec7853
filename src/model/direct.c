/* The direct return predictor, one of the paper's selectors: an MLP from the joint observation and a whole
 * action sequence to the team's return over its H steps. The window's length is part of the model. */
#include "model/direct.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    int horizon, hidden;
    mw_fit_settings fit;
} settings;

#define AT(member) offsetof(settings, member)

/* clang-format off */
static const mw_field fields[] = {
    {"horizon", MW_FIELD_INT, AT(horizon), "0",   0, 256,  "H: steps of a window; 0: the plan's", {0}, NULL},
    {"hidden",  MW_FIELD_INT, AT(hidden),  "512", 1, 4096, "width of the three hidden layers", {0}, NULL},
    MW_FIT_FIELDS(settings, fit, "windows", "5000", "256", "0.0003", "200"),
    MW_SHARDS_FIELD(settings, fit),
};
/* clang-format on */
_Static_assert(sizeof(settings) <= MW_CONFIG_BYTES, "settings fit into a configuration");

static const settings *settings_of(const mw_model *model) {
    return (const settings *)(const void *)&model->config;
}

/* LN -> (Linear -> GELU -> LN) three times -> Linear; then times std plus mean. Tensors are named as the
 * authors'. */
static mw_status make(mw_model *model, mw_error *error) {
    const settings *s = settings_of(model);
    mw_value_net *net = mw_value_net_create(model);
    if (!net) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a return predictor");
    if (s->horizon < 1) return mw_fail(error, MW_ERR_ARGUMENT, "direct.horizon is not known");
    mw_params *p = &net->params;
    net->steps = s->horizon;
    net->whole = net->scaled = true;
    net->stack = (mw_stack){.layers = MW_STACK_LAYERS, .gelu = true};
    for (int i = 0; i < MW_STACK_LAYERS; i++) {
        const int in = i ? s->hidden : mw_value_inputs(model), out = i + 1 < MW_STACK_LAYERS ? s->hidden : 1;
        net->stack.layer[i].before = mw_norm_add(p, mw_name_of("network.%d", 3 * i).text, in);
        net->stack.layer[i].dense = mw_dense_linear(p, mw_name_of("network.%d", 3 * i + 1).text, in, out);
    }
    net->mean = mw_params_add(p, "scale.mean", MW_PARAM_PLAIN, MW_INIT_ZERO, 0, 1, 0, 0);
    net->std = mw_params_add(p, "scale.std", MW_PARAM_PLAIN, MW_INIT_ONE, 0, 1, 0, 0);
    return p->failed ? mw_fail(error, MW_ERR_MEMORY, "cannot allocate the predictor's table") : MW_OK;
}

static mw_status settle(mw_model_config *config, const mw_training_data *data, mw_error *error) {
    settings *s = (settings *)(void *)config;
    (void)error;
    if (s->horizon == 0) s->horizon = data->horizon;
    return MW_OK;
}

/* ---- windows ---- */

static long starts_of(const mw_dataset *data, long episode, int horizon) {
    const long starts = (long)data->lengths[episode] - horizon + 1;
    return starts > 0 ? starts : 0;
}

mw_status mw_direct_windows(mw_episode_set *windows, const mw_dataset *data, const mw_episode_set *set,
                            int horizon, mw_error *error) {
    return mw_episode_set_of(windows, data, set, starts_of, horizon, error);
}

double mw_direct_return(const mw_dataset *data, mw_place place, int horizon) {
    const size_t n = (size_t)data->spec.agents, step = (size_t)(data->offsets[place.episode] + place.t);
    double sum = 0;
    for (size_t i = 0; i < (size_t)horizon * n; i++) sum += (double)data->rewards[step * n + i];
    return sum;
}

void mw_direct_units(const mw_dataset *data, const mw_episode_set *windows, int horizon, double *mean,
                     double *std) {
    const double count = (double)windows->transitions;
    double sum = 0, square = 0;
    for (int64_t i = 0; i < windows->transitions; i++) {
        const double r = mw_direct_return(data, mw_episode_set_at(windows, i), horizon);
        sum += r;
        square += r * r;
    }
    *mean = sum / count;
    *std = fmax(sqrt(fmax(square / count - *mean * *mean, 0)), 1e-6);
}

/* ---- training ---- */

typedef struct {
    mw_episode_set train, held; /* windows */
    float mean, std;
} training;

static mw_status open_training(mw_fit *f, mw_error *error) {
    training *t = f->state;
    const mw_training_data *data = f->data;
    const int horizon = settings_of(f->model)->horizon;
    double mean, std;
    MW_TRY(mw_direct_windows(&t->train, data->dataset, &data->split.train, horizon, error));
    MW_TRY(mw_direct_windows(&t->held, data->dataset, &data->split.held, horizon, error));
    if (t->train.transitions < 1)
        return mw_fail(error, MW_ERR_ARGUMENT, "no episode of the data has the %d steps of direct.horizon",
                       horizon);
    if (t->held.transitions < 1) f->held_batches = 0;
    mw_direct_units(data->dataset, &t->train, horizon, &mean, &std);
    t->mean = (float)mean;
    t->std = (float)std;
    f->part.cost = 3 * mw_stack_flops(&mw_value_net_of(f->model)->stack, f->settings->batch);
    return MW_OK;
}

static void close_training(mw_fit *f) {
    training *t = f->state;
    mw_episode_set_free(&t->train);
    mw_episode_set_free(&t->held);
}

static void initialise(mw_fit *f, float *values) {
    const training *t = f->state;
    values[mw_value_net_of(f->model)->mean] = t->mean;
    values[mw_value_net_of(f->model)->std] = t->std;
}

static mw_status slot_open(const mw_fit *f, void *slot, mw_error *error) {
    mw_direct_batch *b = slot;
    const size_t rows = (size_t)f->settings->batch, inputs = (size_t)mw_value_inputs(f->model);
    MW_TRY(mw_arena_create(&b->arena, rows * (inputs + 1) * sizeof *b->x, error));
    b->x = mw_arena_floats(&b->arena, rows * (inputs + 1));
    b->z = b->x + rows * inputs;
    return MW_OK;
}

static void slot_close(void *slot) {
    mw_arena_free(&((mw_direct_batch *)slot)->arena);
}

static void fill(const mw_fit *f, void *slot, uint64_t step, bool held) {
    const training *t = f->state;
    const mw_direct_batch *b = slot;
    const mw_dataset *data = f->data->dataset;
    const mw_episode_set *windows = held ? &t->held : &t->train;
    const int horizon = settings_of(f->model)->horizon;
    for (int row = 0; row < f->settings->batch; row++) {
        mw_rng rng = mw_batch_rng(f->data->seed, step, row, held ? MW_BATCH_VALIDATION : MW_BATCH_RETURN);
        const mw_place place =
            mw_episode_set_at(windows, (int64_t)(mw_rng_u64(&rng) % (uint64_t)windows->transitions));
        mw_value_row(data, place, horizon, b->x + (size_t)row * (size_t)mw_value_inputs(f->model));
        b->z[row] = (float)((mw_direct_return(data, place, horizon) - (double)t->mean) / (double)t->std);
    }
}

static void loss(const mw_fit *f, void *slot, void *area, int begin, int end, float *grads, double *losses) {
    const mw_direct_batch *b = slot;
    const float *x = b->x + (size_t)begin * (size_t)mw_value_inputs(f->model);
    losses[0] = mw_value_loss(f, area, x, b->z + begin, end - begin, grads);
}

static const mw_fit_class fit_class = {
    .settings = AT(fit),
    .state = sizeof(training),
    .slot = sizeof(mw_direct_batch),
    .area = sizeof(mw_value_area),
    .losses = 1,
    .minimised = 1,
    .loss_names = {"return"},
    .held_batches = 20,
    .keeps_best = true,
    .stream = 2,
    .open = open_training,
    .close = close_training,
    .slot_open = slot_open,
    .slot_close = slot_close,
    .initialise = initialise,
    .fill = fill,
    .carve = mw_value_carve,
    MW_ONE_TURN(.loss = loss),
};

static const mw_scorer_class scorer_class = {
    .name = "direct",
    .help = "return of the whole sequence, predicted at once by an MLP",
    .create = mw_value_scorer_create,
    .score = mw_value_score,
    .bytes = mw_value_scorer_bytes,
    .destroy = mw_value_scorer_destroy,
};

const mw_model_class mw_direct_class = {
    .name = "direct",
    .help = "the direct return predictor: joint observation and action sequence to the H-step team return",
    .fields = MW_FIELDS(fields),
    .make = make,
    .discard = mw_value_discard,
    .pack = mw_value_pack,
    .settle = MW_LEARNS(settle),
    .fit = MW_LEARNS(&fit_class),
    .scorer = &scorer_class,
};
