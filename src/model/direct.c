/* The direct return predictor, one of the paper's selectors: an MLP from the joint observation and a whole
 * action sequence to the team's return over its H steps. The window's length is part of the model. */
#include "core/math.h"
#include "core/rng.h"
#include "data/prefetch.h"
#include "model/model.h"
#include "nn/ops.h"
#include "nn/shards.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 3, SHARDS = 4, HELD_BATCHES = 20 };

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
};
/* clang-format on */
_Static_assert(sizeof(settings) <= MW_CONFIG_BYTES, "settings fit into a configuration");

/* LN -> (Linear -> GELU -> LN) three times -> Linear; then times std plus mean. */
typedef struct {
    mw_params params;
    int inputs, hidden;
    size_t norm_w[LAYERS + 1], norm_b[LAYERS + 1];
    mw_dense dense[LAYERS + 1];
    size_t mean, std; /* of the returns of windows; not trained */
} network;

static const settings *settings_of(const mw_model *model) {
    return (const settings *)(const void *)&model->config;
}

/* ---- the model; tensors are named as the authors' ---- */

static size_t add_norm(mw_params *p, int place, const char *what, mw_init init, int size) {
    return mw_params_add(p, mw_name_of("network.%d.%s", place, what).text, MW_PARAM_PLAIN, init, 0, size, 0,
                         0);
}

static mw_status make(mw_model *model, mw_error *error) {
    const settings *s = settings_of(model);
    const mw_model_shape *shape = &model->shape;
    network *net = model->net = calloc(1, sizeof *net);
    if (!net) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a return predictor");
    mw_params *p = &net->params;
    model->params = p;
    if (s->horizon < 1) return mw_fail(error, MW_ERR_ARGUMENT, "direct.horizon is not known");
    net->inputs = shape->agents * (shape->obs + s->horizon * shape->act);
    net->hidden = s->hidden;
    for (int i = 0; i <= LAYERS; i++) {
        const int in = i ? s->hidden : net->inputs, place = 3 * i;
        net->norm_w[i] = add_norm(p, place, "weight", MW_INIT_ONE, in);
        net->norm_b[i] = add_norm(p, place, "bias", MW_INIT_ZERO, in);
        net->dense[i] =
            mw_dense_linear(p, mw_name_of("network.%d", place + 1).text, in, i < LAYERS ? s->hidden : 1);
    }
    net->mean = mw_params_add(p, "scale.mean", MW_PARAM_PLAIN, MW_INIT_ZERO, 0, 1, 0, 0);
    net->std = mw_params_add(p, "scale.std", MW_PARAM_PLAIN, MW_INIT_ONE, 0, 1, 0, 0);
    return p->failed ? mw_fail(error, MW_ERR_MEMORY, "cannot allocate the predictor's table") : MW_OK;
}

static void discard(mw_model *model) {
    if (model->net) mw_params_free(&((network *)model->net)->params);
    free(model->net);
}

static void pack_all(const network *net, const float *values, float *packed, bool backward) {
    for (int i = 0; i <= LAYERS; i++) mw_dense_pack(&net->dense[i], values, packed, backward);
}

static void pack(mw_model *model) {
    pack_all(model->net, model->values, model->packed, false);
}

static mw_status settle(mw_model_config *config, const mw_training_data *data, mw_error *error) {
    settings *s = (settings *)(void *)config;
    (void)error;
    if (s->horizon == 0) s->horizon = data->horizon;
    return MW_OK;
}

/* ---- passes ---- */

typedef struct {
    float *normed[LAYERS + 1], *stats[LAYERS + 1]; /* after each norm [rows][in]; [rows][2] */
    float *linear[LAYERS], *active[LAYERS];        /* before and after GELU [rows][hidden] */
    float *out, *grad[2], *scratch;                /* [rows]; [rows][widest] twice */
} pass;

static void pass_take(const network *net, pass *a, mw_arena *arena, int rows, bool training) {
    const size_t n = (size_t)rows, hidden = n * (size_t)net->hidden, inputs = n * (size_t)net->inputs;
    for (int i = 0; i <= LAYERS; i++) {
        a->normed[i] = mw_arena_floats(arena, i ? hidden : inputs);
        a->stats[i] = mw_arena_floats(arena, 2 * n);
        if (i == LAYERS) break;
        a->linear[i] = mw_arena_floats(arena, hidden);
        a->active[i] = mw_arena_floats(arena, hidden);
    }
    a->out = mw_arena_floats(arena, n);
    if (!training) return;
    for (int i = 0; i < 2; i++) a->grad[i] = mw_arena_floats(arena, hidden > inputs ? hidden : inputs);
    size_t most = 0;
    for (int i = 0; i <= LAYERS; i++) {
        const size_t needed = mw_dense_scratch(&net->dense[i], 1, rows);
        if (needed > most) most = needed;
    }
    a->scratch = mw_arena_floats(arena, most);
}

/* The normal distribution function, by Abramowitz and Stegun 7.1.26 (error below 1.5e-7, beneath that of
 * single precision in what follows), and GELU's slope. */
static double normal_below(double x) {
    const double z = fabs(x) * 0.70710678118654752, t = 1 / (1 + 0.3275911 * z);
    const double tail =
        t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))) *
        mw_exp(-z * z);
    return x < 0 ? 0.5 * tail : 1 - 0.5 * tail;
}

static void gelu(float *y, const float *x, int n) {
    for (int i = 0; i < n; i++) y[i] = (float)((double)x[i] * normal_below((double)x[i]));
}

static void gelu_backward(float *dx, const float *x, int n) {
    for (int i = 0; i < n; i++) {
        const double v = (double)x[i];
        dx[i] *= (float)(normal_below(v) + v * 0.39894228040143268 * mw_exp(-0.5 * v * v));
    }
}

/* Standardised returns of x[rows][inputs]. */
static const float *forward(const network *net, pass *a, const float *x, const float *values,
                            const float *packed, int rows) {
    for (int i = 0; i <= LAYERS; i++) {
        const float *in = i ? a->active[i - 1] : x;
        mw_layernorm_forward(a->normed[i], a->stats[i], in, values + net->norm_w[i], values + net->norm_b[i],
                             rows, net->dense[i].in);
        mw_dense_forward(&net->dense[i], i < LAYERS ? a->linear[i] : a->out, a->normed[i], values, packed, 1,
                         rows);
        if (i < LAYERS) gelu(a->active[i], a->linear[i], rows * net->hidden);
    }
    return a->out;
}

static void backward(const network *net, pass *a, float *grads, const float *dout, const float *x,
                     const float *values, const float *packed, int rows) {
    memcpy(a->grad[0], dout, (size_t)rows * sizeof *dout);
    for (int i = LAYERS; i >= 0; i--) {
        if (i < LAYERS) gelu_backward(a->grad[0], a->linear[i], rows * net->hidden);
        mw_dense_backward(&net->dense[i], a->grad[1], grads, a->grad[0], a->normed[i], packed, a->scratch, 1,
                          rows);
        mw_layernorm_backward(a->grad[0], grads + net->norm_w[i], grads + net->norm_b[i], a->grad[1],
                              i ? a->active[i - 1] : x, a->stats[i], values + net->norm_w[i], rows,
                              net->dense[i].in);
    }
}

/* ---- windows ---- */

/* The starts of an episode set with H steps ahead, in one line. */
typedef struct {
    const mw_episode_set *set;
    int64_t *first; /* [episodes + 1] */
} windows;

static mw_status windows_make(windows *w, const mw_dataset *data, const mw_episode_set *set, int horizon,
                              mw_error *error) {
    *w = (windows){set, calloc((size_t)set->count + 1, sizeof *w->first)};
    if (!w->first) return mw_fail(error, MW_ERR_MEMORY, "cannot list the windows");
    for (long i = 0; i < set->count; i++) {
        const long starts = (long)data->lengths[set->episodes[i]] - horizon + 1;
        w->first[i + 1] = w->first[i] + (starts > 0 ? starts : 0);
    }
    return MW_OK;
}

static mw_place window_at(const windows *w, int64_t index) {
    long low = 0, high = w->set->count;
    while (high - low > 1) {
        const long middle = (low + high) / 2;
        if (w->first[middle] <= index)
            low = middle;
        else
            high = middle;
    }
    return (mw_place){w->set->episodes[low], (long)(index - w->first[low])};
}

/* x[n*o + H*n*d]: the joint observation, then actions by step, agent and component. Returns the window's
 * return. */
static double take_window(const mw_dataset *data, mw_place place, int horizon, float *x) {
    const size_t n = (size_t)data->spec.agents, o = (size_t)data->spec.obs_size,
                 d = (size_t)data->spec.act_size;
    const size_t step = (size_t)(data->offsets[place.episode] + place.t), h = (size_t)horizon;
    double sum = 0;
    for (size_t i = 0; i < h * n; i++) sum += (double)data->rewards[step * n + i];
    if (!x) return sum;
    memcpy(x, mw_dataset_obs(data, place.episode, place.t), n * o * sizeof *x);
    float *act = x + n * o;
    if (data->real) {
        memcpy(act, data->real + step * n * d, h * n * d * sizeof *x);
        return sum;
    }
    memset(act, 0, h * n * d * sizeof *x);
    for (size_t i = 0; i < h * n; i++) act[i * d + (size_t)data->index[step * n + i]] = 1;
    return sum;
}

/* ---- training ---- */

typedef struct {
    float *x, *z; /* [batch][inputs], [batch] standardised returns */
} batch_slot;

typedef struct {
    mw_training_part part;
    const mw_training_data *data;
    const settings *settings;
    const network *net;
    mw_shards shards;
    pass *areas; /* per worker */
    windows train, held;
    batch_slot slots[3]; /* two in turn for training, one for validation */
    mw_prefetch *prefetch;
    float mean, std;
    const batch_slot *now;
} direct_part;

static void fill(const direct_part *p, batch_slot *s, uint64_t step, bool held) {
    const windows *w = held ? &p->held : &p->train;
    const int64_t count = w->first[w->set->count];
    for (int row = 0; row < p->settings->fit.batch; row++) {
        mw_rng rng = mw_batch_rng(p->data->seed, step, row, held ? MW_BATCH_VALIDATION : MW_BATCH_RETURN);
        const mw_place place = window_at(w, (int64_t)(mw_rng_u64(&rng) % (uint64_t)count));
        const double sum = take_window(p->data->dataset, place, p->settings->horizon,
                                       s->x + (size_t)row * (size_t)p->net->inputs);
        s->z[row] = (float)((sum - (double)p->mean) / (double)p->std);
    }
}

static void prefetch_fill(void *context, uint64_t step, void *batch) {
    fill(context, batch, step, false);
}

static void carve(void *context, mw_arena *arena, int worker) {
    direct_part *p = context;
    pass_take(p->net, &p->areas[worker], arena, p->shards.size, true);
}

static void pack_step(void *context, int worker) {
    direct_part *p = context;
    if (worker == 0) pack_all(p->net, p->shards.optimizer.values, p->shards.packed, true);
}

static double shard_loss(void *context, int worker, int begin, int end, float *grads) {
    direct_part *p = context;
    pass *a = &p->areas[worker];
    const float *x = p->now->x + (size_t)begin * (size_t)p->net->inputs, *values = p->shards.optimizer.values;
    const float share = 1 / (float)p->settings->fit.batch;
    const float *out = forward(p->net, a, x, values, p->shards.packed, end - begin);
    const double sum = mw_mse(a->out, out, p->now->z + begin, end - begin, share);
    backward(p->net, a, grads, a->out, x, values, p->shards.packed, end - begin);
    return sum * (double)share;
}

static double run(direct_part *p, const batch_slot *s, bool update) {
    p->now = s;
    return mw_shards_step(&p->shards, p->settings->fit.batch, update, pack_step, shard_loss, p);
}

static mw_status advance(mw_training_part *part, double *losses, mw_error *error) {
    direct_part *p = (direct_part *)part;
    (void)error;
    mw_training_part_schedule(part, p->settings->fit.rate, p->settings->fit.warmup, p->settings->fit.final);
    losses[0] = run(p, mw_prefetch_next(p->prefetch), true);
    return MW_OK;
}

static void validate(mw_training_part *part, double *losses) {
    direct_part *p = (direct_part *)part;
    losses[0] = 0;
    for (uint64_t k = 0; k < HELD_BATCHES; k++) {
        fill(p, &p->slots[2], k, true);
        losses[0] += run(p, &p->slots[2], false) / HELD_BATCHES;
    }
}

static mw_status start(mw_training_part *part, mw_error *error) {
    direct_part *p = (direct_part *)part;
    return mw_prefetch_create(&p->prefetch, prefetch_fill, p, &p->slots[0], &p->slots[1],
                              (uint64_t)part->step, error);
}

static void stop(mw_training_part *part) {
    direct_part *p = (direct_part *)part;
    mw_prefetch_free(p->prefetch);
    p->prefetch = NULL;
}

static void destroy(mw_training_part *part) {
    direct_part *p = (direct_part *)part;
    stop(part);
    mw_shards_free(&p->shards);
    for (int i = 0; i < 3; i++) free(p->slots[i].x);
    free(p->train.first);
    free(p->held.first);
    free(p->areas);
    free(part->best_values);
    free(p);
}

/* Mean and standard deviation of all training windows' returns. */
static void find_units(direct_part *p) {
    const int64_t count = p->train.first[p->train.set->count];
    double sum = 0, square = 0;
    for (int64_t i = 0; i < count; i++) {
        const double r = take_window(p->data->dataset, window_at(&p->train, i), p->settings->horizon, NULL);
        sum += r;
        square += r * r;
    }
    const double mean = sum / (double)count, variance = square / (double)count - mean * mean;
    p->mean = (float)mean;
    p->std = (float)fmax(sqrt(fmax(variance, 0)), 1e-6);
}

static mw_status build(direct_part *p, const mw_model *model, mw_error *error) {
    const mw_training_data *data = p->data;
    const mw_fit_settings *fit = &p->settings->fit;
    const mw_adam adam = mw_fit_adam(fit);
    const size_t rows = (size_t)fit->batch, inputs = (size_t)p->net->inputs;
    MW_TRY(windows_make(&p->train, data->dataset, &data->split.train, p->settings->horizon, error));
    MW_TRY(windows_make(&p->held, data->dataset, &data->split.held, p->settings->horizon, error));
    if (p->train.first[data->split.train.count] < 1)
        return mw_fail(error, MW_ERR_ARGUMENT, "no episode of the data has the %d steps of direct.horizon",
                       p->settings->horizon);
    find_units(p);
    p->areas = calloc((size_t)mw_pool_threads(data->pool), sizeof *p->areas);
    p->part.best_values = calloc(p->part.total, sizeof *p->part.best_values);
    for (int i = 0; i < 3; i++) {
        p->slots[i].x = calloc(rows * (inputs + 1), sizeof *p->slots[i].x);
        if (!p->slots[i].x) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate %zu windows", rows);
        p->slots[i].z = p->slots[i].x + rows * inputs;
    }
    if (!p->areas || !p->part.best_values) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a trainer");
    MW_TRY(mw_shards_create(&p->shards, model->params->total, model->params->packed, &adam, 0, fit->batch,
                            SHARDS, data->pool, carve, p, error));
    mw_optimizer *o = p->part.optimizer = &p->shards.optimizer;
    mw_params_init(model->params, o->values, 3 * data->seed + 2);
    o->values[p->net->mean] = p->mean;
    o->values[p->net->std] = p->std;
    for (int i = 0; i <= LAYERS; i++) p->part.cost += 3 * mw_dense_flops(&p->net->dense[i], 1, fit->batch);
    if (p->held.first[data->split.held.count] > 0) p->part.validate = validate;
    return MW_OK;
}

static mw_status train(mw_training_part **out, const mw_model *model, const mw_training_data *data,
                       mw_error *error) {
    *out = NULL;
    direct_part *p = calloc(1, sizeof *p);
    if (!p) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate the return predictor's training");
    p->data = data;
    p->net = model->net;
    p->settings = settings_of(model);
    p->part = (mw_training_part){.name = model->kind->name,
                                 .losses = 1,
                                 .minimised = 1,
                                 .loss_names = {"return"},
                                 .total = model->params->total,
                                 .steps = p->settings->fit.steps,
                                 .start = start,
                                 .advance = advance,
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

/* ---- scoring ---- */

typedef struct {
    mw_scorer base;
    const mw_model *model;
    pass pass;
    float *x; /* [rows][inputs] */
    int rows;
    mw_arena arena;
} direct_scorer;

static void scorer_carve(direct_scorer *s) {
    const network *net = s->model->net;
    pass_take(net, &s->pass, &s->arena, s->rows, false);
    s->x = mw_arena_floats(&s->arena, (size_t)s->rows * (size_t)net->inputs);
}

static mw_status score(mw_scorer *base, const mw_scoring *call, mw_error *error) {
    direct_scorer *s = (direct_scorer *)base;
    const network *net = s->model->net;
    const float *values = s->model->values;
    const size_t obs = (size_t)(s->model->shape.agents * s->model->shape.obs),
                 acts = (size_t)net->inputs - obs;
    if (call->horizon != settings_of(s->model)->horizon)
        return mw_fail(error, MW_ERR_ARGUMENT, "this return predictor is for %d steps, not %d",
                       settings_of(s->model)->horizon, call->horizon);
    for (int first = 0; first < call->count; first += s->rows) {
        const int rows = call->count - first < s->rows ? call->count - first : s->rows;
        for (int r = 0; r < rows; r++) {
            float *x = s->x + (size_t)r * (obs + acts);
            memcpy(x, call->obs + (size_t)(first + r) * obs, obs * sizeof *x);
            memcpy(x + obs, call->actions + (size_t)(first + r) * acts, acts * sizeof *x);
        }
        const float *z = forward(net, &s->pass, s->x, values, s->model->packed, rows);
        for (int r = 0; r < rows; r++)
            call->scores[first + r] = fmaf(z[r], values[net->std], values[net->mean]);
    }
    return MW_OK;
}

static size_t bytes(const mw_scorer *base) {
    return ((const direct_scorer *)base)->arena.size;
}

static void scorer_destroy(mw_scorer *base) {
    mw_arena_free(&((direct_scorer *)base)->arena);
    free(base);
}

static const mw_scorer_class scorer_class;

static mw_status create(mw_scorer **out, const mw_scorer_context *context, mw_error *error) {
    *out = NULL;
    const int horizon = settings_of(context->model)->horizon;
    if (context->horizon != horizon)
        return mw_fail(error, MW_ERR_ARGUMENT, "this return predictor is for %d steps, not %d", horizon,
                       context->horizon);
    direct_scorer *s = calloc(1, sizeof *s);
    if (!s) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a scorer");
    *s = (direct_scorer){.base = {&scorer_class},
                         .model = context->model,
                         .rows = context->max_rows < 64 ? context->max_rows : 64};
    scorer_carve(s);
    const mw_status status = mw_arena_create(&s->arena, s->arena.used, error);
    if (status != MW_OK) {
        free(s);
        return status;
    }
    scorer_carve(s);
    *out = &s->base;
    return MW_OK;
}

static const mw_scorer_class scorer_class = {
    .name = "direct",
    .help = "return of the whole sequence, predicted at once by an MLP",
    .create = create,
    .score = score,
    .bytes = bytes,
    .destroy = scorer_destroy,
};

const mw_model_class mw_direct_class = {
    .name = "direct",
    .help = "the direct return predictor: joint observation and action sequence to the H-step team return",
    .fields = MW_FIELDS(fields),
    .make = make,
    .discard = discard,
    .pack = pack,
    .settle = settle,
    .train = train,
    .scorer = &scorer_class,
};
