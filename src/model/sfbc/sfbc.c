/* MA-SfBC: a model of noise clones what every agent did; values are learned of returns, improved by planning
 * backwards over actions that this model draws, and learned again; an agent then does one of several drawn
 * actions that the values like best. Every agent learns alone, from its own rewards, and acts on its own
 * observation. */
#include "model/sfbc/sfbc.h"

#include "data/transition.h"
#include "model/critic.h"
#include "model/fit.h"
#include "model/sfbc/improve.h"
#include "nn/ops.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    int hidden, layers, frequencies, solver, value_hidden, fit_steps, fit_batch, states, promises, candidates;
    double value_rate, discount, promise_sharpness, sharpness;
    mw_fit_settings fit;
} settings;

#define AT(member) offsetof(settings, member)

/* clang-format off */
static const mw_field fields[] = {
    {"hidden",            MW_FIELD_INT,  AT(hidden),            "256",    1, 4096, "width of the model of noise", {0}, NULL},
    {"layers",            MW_FIELD_INT,  AT(layers),            "3",      1, 4,    "its hidden layers", {0}, NULL},
    {"frequencies",       MW_FIELD_INT,  AT(frequencies),       "8",      1, 16,   "of its time, each as a sine and a cosine", {0}, NULL},
    {"solver",            MW_FIELD_INT,  AT(solver),            "5",      1, MW_SAMPLER_STEPS, "steps from noise to an action", {0}, NULL},
    {"value_hidden",      MW_FIELD_INT,  AT(value_hidden),      "256",    1, 4096, "width of the two hidden layers of the values", {0}, NULL},
    {"fit_steps",         MW_FIELD_INT,  AT(fit_steps),         "8000",   1, 1e8,  "training steps of either values, after those of the model of noise", {0}, NULL},
    {"fit_batch",         MW_FIELD_INT,  AT(fit_batch),         "171",    1, 65536, "joint steps of the data in one of them", {0}, NULL},
    {"value_rate",        MW_FIELD_REAL, AT(value_rate),        "0.001",  0, 1,    "Adam's rate in them, along the same cosine", {0}, NULL},
    {"states",            MW_FIELD_INT,  AT(states),            "100000", 1, 1e9,  "of single agents, about, for which candidates are drawn to plan backwards", {0}, NULL},
    {"promises",          MW_FIELD_INT,  AT(promises),          "8",      2, 256,  "candidates of each", {0}, NULL},
    {"promise_sharpness", MW_FIELD_REAL, AT(promise_sharpness), "20",     0, 1e6,  "what they promise is the mean by the softmax of so many times their values", {0}, NULL},
    {"candidates",        MW_FIELD_INT,  AT(candidates),        "32",     2, 256,  "of an agent at play", {0}, NULL},
    {"sharpness",         MW_FIELD_REAL, AT(sharpness),         "100",    0, 1e6,  "one of them is drawn by the softmax of so many times their values", {0}, NULL},
    {"discount",          MW_FIELD_REAL, AT(discount),          "0.99",   0, 1,    "of what follows", {0}, NULL},
    MW_FIT_FIELDS(settings, fit, "joint observations", "30000", "171", "0.001", "200"),
    MW_SHARDS_FIELD(settings, fit),
};
/* clang-format on */
_Static_assert(sizeof(settings) <= MW_CONFIG_BYTES, "settings fit into a configuration");

typedef struct {
    mw_params params;
    mw_generator noise;
    mw_twin value; /* one of returns, one of improved returns */
} network;

enum { NOISE, RETURNS, IMPROVED };

static const settings *settings_of(const mw_model *model) {
    return (const settings *)(const void *)&model->config;
}

static const network *network_of(const mw_model *model) {
    return model->net;
}

static mw_status make(mw_model *model, mw_error *error) {
    const settings *s = settings_of(model);
    const mw_model_shape *shape = &model->shape;
    network *net = model->net = calloc(1, sizeof *net);
    if (!net) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a model of noise and values");
    mw_params *p = &net->params;
    model->params = p;
    mw_generator_add(
        &net->noise, p, "eps", shape,
        &(mw_generator_form){
            .times = 1, .frequencies = s->frequencies, .hidden = s->hidden, .layers = s->layers});
    net->value.act = shape->act;
    net->value.inputs = mw_twin_inputs(shape, false);
    for (int j = 0; j < 2; j++)
        net->value.mlp[j] =
            mw_mlp_hidden(p, j ? "q2" : "q", net->value.inputs, s->value_hidden, 2, 1, MW_RELU);
    const mw_units units = mw_units_add(p, "scale", shape->obs);
    mw_generator_see(&net->noise, &units, shape, false);
    net->value.view = net->noise.view;
    return p->failed ? mw_fail(error, MW_ERR_MEMORY, "cannot allocate the values' table") : MW_OK;
}

static void discard(mw_model *model) {
    if (model->net) mw_params_free(&((network *)model->net)->params);
    free(model->net);
}

static void pack_group(const mw_model *model, int group, const float *values, float *packed, bool backward) {
    const network *net = network_of(model);
    mw_mlp_pack(group == NOISE ? &net->noise.mlp : &net->value.mlp[group - RETURNS], values, packed,
                backward);
}

static void pack(const mw_model *model, const float *values, float *packed, bool backward) {
    for (int group = NOISE; group <= IMPROVED; group++) pack_group(model, group, values, packed, backward);
}

void mw_sfbc_promises(const mw_model *model, mw_draw_head *head) {
    const settings *s = settings_of(model);
    *head = (mw_draw_head){.generator = &network_of(model)->noise,
                           .sampler = mw_sampler_blend(s->solver),
                           .candidates = s->promises,
                           .critics = {&network_of(model)->value.mlp[0], NULL},
                           .sharpness = s->promise_sharpness};
}

double mw_sfbc_discount(const mw_model *model) {
    return settings_of(model)->discount;
}

/* ---- what follows from the data, and from what was learned before ---- */

enum { BLOCK = 32 }; /* joint observations at once */

typedef struct {
    mw_episode_set all, some;         /* all recorded steps; those of some episodes, which are improved */
    mw_standard standard;             /* of returns */
    float *returns, *improved;        /* [steps of all][n]; [of some][n]: standardised */
    float *value, *after, *effective; /* [steps of some][n], [episodes of some][n], [steps of some][n] */
    float *units, *packed;            /* [total]: the weights that are not trained, the rest is not read */
    mw_draw_head head;
    mw_draw *draw;  /* per worker */
    double counted; /* mean of effective */
    mw_arena arena;
} training;

/* A share of the episodes, in 2^30: a pure function of episode and share. */
static long kept_steps(const mw_dataset *d, long episode, int share) {
    mw_rng rng = mw_rng_make(0, MW_RNG_BATCH, (uint64_t)episode, 0, MW_BATCH_PROMISE);
    return mw_rng_double(&rng) * (1 << 30) < share ? (long)d->lengths[episode] : 0;
}

static mw_status choose_episodes(mw_fit *f, mw_error *error) {
    training *t = f->state;
    const double share =
        (double)settings_of(f->model)->states / ((double)t->all.transitions * f->model->shape.agents);
    const int kept = share < 1 ? (int)(share * (1 << 30)) : 1 << 30;
    MW_TRY(mw_episode_set_of(&t->some, f->data->dataset, &t->all, kept_steps, kept, error));
    if (t->some.transitions > 0) return MW_OK;
    mw_episode_set_free(&t->some);
    return mw_episode_set_of(&t->some, f->data->dataset, &t->all, kept_steps, 1 << 30, error);
}

static void take_room(mw_fit *f, mw_arena *arena) {
    training *t = f->state;
    const mw_params *p = f->model->params;
    const size_t n = (size_t)f->model->shape.agents, some = (size_t)t->some.transitions;
    const int threads = mw_pool_threads(f->data->pool);
    t->units = mw_arena_floats(arena, p->total);
    t->packed = mw_arena_floats(arena, p->packed);
    t->returns = mw_arena_floats(arena, (size_t)t->all.transitions * n);
    t->improved = mw_arena_floats(arena, some * n);
    t->value = mw_arena_floats(arena, some * n);
    t->effective = mw_arena_floats(arena, some * n);
    t->after = mw_arena_floats(arena, (size_t)t->some.count * n);
    t->draw = mw_arena_take(arena, (size_t)threads, sizeof *t->draw);
    for (int worker = 0; worker < threads; worker++) {
        mw_draw draw;
        mw_draw_carve(&draw, &t->head, arena, BLOCK);
        if (t->draw) t->draw[worker] = draw;
    }
}

/* Returns of all steps of the episodes of a set, one after the other; value and after as the set has them. */
static mw_standard find_returns(const mw_fit *f, const mw_episode_set *set, float *returns,
                                const float *value, const float *after) {
    const mw_dataset *d = f->data->dataset;
    const size_t n = (size_t)f->model->shape.agents;
    for (long i = 0; i < set->count; i++) {
        const long episode = set->episodes[i], length = (long)(set->starts[i + 1] - set->starts[i]);
        const size_t at = (size_t)set->starts[i] * n;
        const bool follows = after && d->outcomes[episode] == MW_ENDED_BY_LIMIT && d->last_obs;
        mw_improve_returns(returns + at, d->rewards + (size_t)d->offsets[episode] * n, length, (int)n,
                           settings_of(f->model)->discount, value ? value + at : NULL,
                           follows ? after + (size_t)i * n : NULL);
    }
    const size_t count = (size_t)set->transitions * n;
    const mw_standard standard = mw_standard_of(returns, count);
    mw_standard_apply(&standard, returns, returns, count);
    return standard;
}

static mw_status enter_returns(mw_fit *f, mw_error *error) {
    training *t = f->state;
    (void)error;
    t->standard = find_returns(f, &t->all, t->returns, NULL, NULL);
    return MW_OK;
}

/* The joint observation of an item: a step of `some`, or what came after the last step of an episode. NULL:
 * nobody knows, or nothing came. */
static const float *item_obs(const mw_fit *f, int64_t item) {
    const training *t = f->state;
    const mw_dataset *d = f->data->dataset;
    if (item < t->some.transitions) {
        const mw_place place = mw_episode_set_at(&t->some, item);
        return mw_dataset_obs(d, place.episode, place.t);
    }
    const long i = (long)(item - t->some.transitions), episode = t->some.episodes[i];
    const bool follows =
        d->outcomes[episode] == MW_ENDED_BY_LIMIT && d->last_obs && t->some.starts[i + 1] > t->some.starts[i];
    return follows ? mw_dataset_obs(d, episode, (long)d->lengths[episode]) : NULL;
}

/* What drawn actions promise at items [begin, end), at most BLOCK of them. */
static void promise(const mw_fit *f, mw_draw *draw, int64_t begin, int64_t end) {
    training *t = f->state;
    const int n = f->model->shape.agents, m = draw->head->candidates;
    const size_t noise = (size_t)(m * f->model->shape.act);
    const mw_weights weights = {f->shards.optimizer.values, t->packed};
    int64_t items[BLOCK];
    int count = 0;
    for (int64_t item = begin; item < end; item++) {
        const float *obs = item_obs(f, item);
        if (!obs) continue;
        mw_draw_see(draw, t->units, obs, count);
        for (int i = 0; i < n; i++) {
            mw_rng rng = mw_batch_rng(f->data->seed, (uint64_t)item, i, MW_BATCH_PROMISE);
            mw_rng_fill_normal(&rng, draw->x + (size_t)(count * n + i) * noise, noise);
        }
        items[count++] = item;
    }
    if (!count) return;
    mw_draw_generate(draw, weights, count, NULL);
    mw_draw_judge(draw, weights, count);
    for (int k = 0; k < count; k++)
        for (int i = 0; i < n; i++) {
            const int row = (k * n + i) * m;
            const bool within = items[k] < t->some.transitions;
            const size_t at = (size_t)((within ? items[k] : items[k] - t->some.transitions) * n + i);
            (within ? t->value : t->after)[at] = mw_improve_value(
                &t->standard, draw->value + row, draw->share + row, m, within ? t->effective + at : NULL);
        }
}

static void promise_all(void *context, int worker) {
    const mw_fit *f = context;
    const training *t = f->state;
    const int64_t items = t->some.transitions + t->some.count;
    const int threads = mw_pool_threads(f->data->pool);
    for (int64_t begin = (int64_t)worker * BLOCK; begin < items; begin += (int64_t)threads * BLOCK) {
        if (mw_stopped(f->data->stop)) return;
        promise(f, &t->draw[worker], begin, begin + BLOCK < items ? begin + BLOCK : items);
    }
}

/* Depends on the frozen model of noise and the first values alone. */
static mw_status enter_improved(mw_fit *f, mw_error *error) {
    training *t = f->state;
    const size_t count = (size_t)t->some.transitions * (size_t)f->model->shape.agents;
    double sum = 0;
    MW_TRY(enter_returns(f, error));
    pack(f->model, f->shards.optimizer.values, t->packed, false);
    mw_pool_run(f->data->pool, promise_all, f);
    if (mw_stopped(f->data->stop))
        return mw_fail(error, MW_ERR_INTERRUPTED, "stopped while planning backwards");
    for (size_t k = 0; k < count; k++) sum += (double)t->effective[k];
    t->counted = sum / (double)count;
    find_returns(f, &t->some, t->improved, t->value, t->after);
    return MW_OK;
}

/* ---- training ---- */

typedef struct {
    mw_arena arena;
    float *obs, *act, *noise, *t, *row, *data_share, *noise_share, *x, *out;
    float *fit_obs, *fit_act, *judged, *target[2], *fitted[2];
} batch;

#define IN(member) offsetof(batch, member)

static const mw_slot_field batch_fields[] = {
    {"in.obs", IN(obs), MW_F32, "bno", 0},
    {"in.act", IN(act), MW_F32, "bnd", 0},
    {"draw.eps", IN(noise), MW_F32, "bnd", 0},
    {"draw.t", IN(t), MW_F32, "bn", 0},
    {"row", IN(row), MW_F32, "bnX", 0},
    {"out.A", IN(data_share), MW_F32, "bn", 0},
    {"out.S", IN(noise_share), MW_F32, "bn", 0},
    {"out.x_t", IN(x), MW_F32, "bnd", 0},
    {"out.eps_hat", IN(out), MW_F32, "bnd", 0},
    {"in.episode_obs", IN(fit_obs), MW_F32, "Eno", 0},
    {"in.episode_act", IN(fit_act), MW_F32, "End", 0},
    {"judged", IN(judged), MW_F32, "EnQ", 0},
    {"out.fit1_target", IN(target[0]), MW_F32, "En", 0},
    {"out.fit2_target", IN(target[1]), MW_F32, "En", 0},
    {"out.fit1", IN(fitted[0]), MW_F32, "En", 0},
    {"out.fit2", IN(fitted[1]), MW_F32, "En", 0},
};

typedef struct {
    mw_mlp_acts noise, value;
} area;

static int extent(const mw_fit *f, char letter) {
    const network *net = network_of(f->model);
    return letter == 'E'   ? settings_of(f->model)->fit_batch
           : letter == 'X' ? net->noise.inputs
                           : net->value.inputs;
}

static mw_status open_training(mw_fit *f, mw_error *error) {
    training *t = f->state;
    const mw_training_data *data = f->data;
    const network *net = network_of(f->model);
    const settings *s = settings_of(f->model);
    const int n = f->model->shape.agents;
    MW_TRY(mw_transition_set(&t->all, data->dataset, &data->split.train, MW_NEED_STEP, error));
    MW_TRY(choose_episodes(f, error));
    mw_sfbc_promises(f->model, &t->head);
    take_room(f, &t->arena);
    MW_TRY(mw_arena_create(&t->arena, t->arena.used, error));
    take_room(f, &t->arena);
    mw_units_set(&net->noise.view.units, t->units, data->stats.obs);
    f->rates[RETURNS] = f->rates[IMPROVED] = s->value_rate;
    f->part.keeps_last = true;
    f->part.cost = (3 * mw_mlp_flops(&net->noise.mlp, s->fit.batch * n) * s->fit.steps +
                    6 * mw_mlp_flops(&net->value.mlp[0], s->fit_batch * n) * s->fit_steps) /
                   (s->fit.steps + 2.0 * s->fit_steps);
    return MW_OK;
}

static void close_training(mw_fit *f) {
    training *t = f->state;
    mw_episode_set_free(&t->all);
    mw_episode_set_free(&t->some);
    mw_arena_free(&t->arena);
}

static void initialise(mw_fit *f, float *values) {
    mw_units_set(&network_of(f->model)->noise.view.units, values, f->data->stats.obs);
}

static int64_t draw_step(const mw_episode_set *set, mw_rng *rng) {
    return (int64_t)((unsigned __int128)mw_rng_u64(rng) * (uint64_t)set->transitions >> 64);
}

static void fill_noise(const mw_fit *f, const batch *b, uint64_t step) {
    const training *t = f->state;
    const size_t n = (size_t)f->model->shape.agents, o = (size_t)f->model->shape.obs,
                 d = (size_t)f->model->shape.act;
    for (size_t row = 0; row < (size_t)f->settings->batch; row++) {
        mw_rng rng = mw_batch_rng(f->data->seed, step, (int)row, MW_BATCH_CLONE);
        const mw_transition to = {.obs = b->obs + row * n * o, .act = b->act + row * n * d};
        mw_transition_take(&to, f->data->dataset, mw_episode_set_draw(&t->all, &rng));
        mw_rng_fill_normal(&rng, b->noise + row * n * d, n * d);
        for (size_t i = row * n; i < (row + 1) * n; i++) b->t[i] = (float)mw_rng_range(&rng, 1e-5, 1);
    }
}

static void fill(const mw_fit *f, void *slot, uint64_t step, bool held) {
    const training *t = f->state;
    const batch *b = slot;
    const int fitted = f->phase - RETURNS;
    const size_t n = (size_t)f->model->shape.agents, o = (size_t)f->model->shape.obs,
                 d = (size_t)f->model->shape.act;
    (void)held; /* there is no validation */
    if (f->phase == NOISE) {
        fill_noise(f, b, step);
        return;
    }
    for (size_t row = 0; row < (size_t)settings_of(f->model)->fit_batch; row++) {
        mw_rng rng = mw_batch_rng(f->data->seed, step, (int)row, MW_BATCH_TRANSITION);
        const mw_episode_set *set = fitted ? &t->some : &t->all;
        const int64_t at = draw_step(set, &rng);
        const mw_transition to = {.obs = b->fit_obs + row * n * o, .act = b->fit_act + row * n * d};
        mw_transition_take(&to, f->data->dataset, mw_episode_set_at(set, at));
        memcpy(b->target[fitted] + row * n, (fitted ? t->improved : t->returns) + (size_t)at * n,
               n * sizeof(float));
    }
}

static void assemble(const mw_fit *f, void *slot) {
    const training *t = f->state;
    const batch *b = slot;
    const network *net = network_of(f->model);
    const size_t n = (size_t)f->model->shape.agents, o = (size_t)f->model->shape.obs,
                 d = (size_t)f->model->shape.act, inputs = (size_t)net->noise.inputs;
    if (f->phase == NOISE) {
        const size_t rows = (size_t)f->settings->batch * n;
        for (size_t row = 0; row < rows; row += n)
            mw_generator_look(&net->noise, t->units, b->obs + row * o, b->row + row * inputs, 1);
        mw_generator_disturb(&net->noise, b->row, b->x, b->data_share, b->noise_share, b->act, b->noise, b->t,
                             (int)rows);
        return;
    }
    for (size_t row = 0; row < (size_t)settings_of(f->model)->fit_batch; row++)
        mw_twin_fill(&net->value, t->units, b->fit_obs + row * n * o, b->fit_act + row * n * d,
                     b->judged + row * n * (size_t)net->value.inputs);
}

static void carve(const mw_fit *f, void *own, mw_arena *arena, int rows) {
    area *a = own;
    const network *net = network_of(f->model);
    const int all = rows * f->model->shape.agents;
    mw_mlp_acts_take(&net->noise.mlp, &a->noise, arena, all, true);
    mw_mlp_acts_take(&net->value.mlp[0], &a->value, arena, all, true);
}

static void noise_loss(const mw_fit *f, void *slot, void *own, int begin, int end, float *grads,
                       double *losses) {
    area *a = own;
    const batch *b = slot;
    const mw_generator *noise = &network_of(f->model)->noise;
    const int n = f->model->shape.agents, d = f->model->shape.act;
    const size_t first = (size_t)(begin * n);
    const double share = 1 / ((double)f->settings->batch * n * d);
    losses[0] =
        share * mw_generator_loss(noise, &a->noise, f->shards.optimizer.values, f->shards.packed,
                                  b->row + first * (size_t)noise->inputs, b->noise + first * (size_t)d,
                                  b->out + first * (size_t)d, (end - begin) * n, (float)share, grads);
}

static void value_loss(const mw_fit *f, void *slot, void *own, int begin, int end, float *grads,
                       double *losses) {
    area *a = own;
    const batch *b = slot;
    const training *t = f->state;
    const int n = f->model->shape.agents, fitted = f->phase - RETURNS, rows = (end - begin) * n;
    const mw_twin *value = &network_of(f->model)->value;
    const mw_mlp *mlp = &value->mlp[fitted];
    const size_t first = (size_t)(begin * n);
    const float *row = b->judged + first * (size_t)value->inputs;
    const double share = 1 / ((double)settings_of(f->model)->fit_batch * n);
    float *kept = b->fitted[fitted] + first,
          *y = mw_mlp_forward(mlp, &a->value, row, f->shards.optimizer.values, f->shards.packed, rows);
    memcpy(kept, y, (size_t)rows * sizeof *kept);
    losses[1 + fitted] = share * mw_mse(y, kept, b->target[fitted] + first, rows, (float)share);
    if (fitted && begin == 0) losses[3] = t->counted;
    if (grads) mw_mlp_backward(mlp, &a->value, NULL, grads, y, row, f->shards.packed, rows);
}

static const mw_turn turns[] = {
    {.group = NOISE, .loss = noise_loss},
    {.group = RETURNS, .loss = value_loss},
    {.group = IMPROVED, .loss = value_loss},
};

static const mw_phase phases[] = {
    {.turns = &turns[NOISE], .turn_count = 1},
    {.steps = AT(fit_steps),
     .batch = AT(fit_batch),
     .turns = &turns[RETURNS],
     .turn_count = 1,
     .enter = enter_returns},
    {.steps = AT(fit_steps),
     .batch = AT(fit_batch),
     .turns = &turns[IMPROVED],
     .turn_count = 1,
     .enter = enter_improved},
};

static const mw_fit_class fit_class = {
    .settings = AT(fit),
    .state = sizeof(training),
    .slot = sizeof(batch),
    .area = sizeof(area),
    .losses = 4,
    .loss_names = {"noise", "returns", "improved", "effective"},
    .groups = {"eps", "q", "q2"},
    .stream = 2,
    .open = open_training,
    .close = close_training,
    .fields = batch_fields,
    .field_count = sizeof batch_fields / sizeof *batch_fields,
    .extent = extent,
    .initialise = initialise,
    .fill = fill,
    .assemble = assemble,
    .phases = phases,
    .phase_count = 3,
    .carve = carve,
    .pack = pack_group,
};

/* ---- play ---- */

static void draws(const mw_model *model, mw_draw_head *head) {
    const settings *s = settings_of(model);
    mw_sfbc_promises(model, head);
    head->candidates = s->candidates;
    head->critics[0] = &network_of(model)->value.mlp[1];
    head->sharpness = s->sharpness;
}

static const mw_policy_class policy_class = {
    .help = "MA-SfBC: of several actions that the data's policy might do, one that values like best",
    .sees = "own",
    .source = "Chen and others 2023, for several agents as DOM2 names it",
    .certain = "as published for one agent; how others made it one of several is not public",
    .draws = draws,
    .create = mw_draw_policy_create,
    .act = mw_draw_policy_act,
    .destroy = mw_draw_policy_destroy,
};

const mw_model_class mw_sfbc_class = {
    .name = "sfbc",
    .help = "MA-SfBC: a model of noise that clones, and values that are planned backwards over what it draws",
    .fields = MW_FIELDS(fields),
    .real_only = true,
    .make = make,
    .discard = discard,
    .pack = pack,
    .fit = MW_LEARNS(&fit_class),
    .policy = &policy_class,
};
