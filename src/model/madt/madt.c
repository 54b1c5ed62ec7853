/* The multi-agent decision transformer: one transformer for all agents predicts what each does next from its
 * own last steps, of which the return that is still wanted is a part. At play a high return is asked for.
 * This file has its settings and its training; network.c what it computes, play.c how it plays. */
#include "model/madt/madt.h"

#include "data/returns.h"
#include "model/actor.h"
#include "model/fit.h"

#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(mw_madt_settings, member)

/* clang-format off */
static const mw_field fields[] = {
    {"window",       MW_FIELD_INT,  AT(window),       "10",   1, 64,   "steps of its own history that an agent sees, the present one among them", {0}, NULL},
    {"width",        MW_FIELD_INT,  AT(width),        "64",   1, 1024, "width of the transformer; its MLPs have twice as much", {0}, NULL},
    {"heads",        MW_FIELD_INT,  AT(heads),        "2",    1, 64,   "heads of its attention, among which the width is divided", {0}, NULL},
    {"layers",       MW_FIELD_INT,  AT(layers),       "2",    1, MW_MADT_LAYERS, "its blocks", {0}, NULL},
    {"times",        MW_FIELD_INT,  AT(times),        "0",    0, 1e5,  "steps of an episode that it tells apart; 0: as many as the data's episodes may have", {0}, NULL},
    {"decay",        MW_FIELD_REAL, AT(decay),        "0.1",  0, 1,    "AdamW's decay of the matrices", {0}, NULL},
    {"return_scale", MW_FIELD_REAL, AT(return_scale), "auto", 1e-12, 1e12, "what returns-to-go are divided by; auto: the 0.99 quantile of their size", {"auto"}, NULL},
    {"quantile",     MW_FIELD_REAL, AT(quantile),     "0.95", 0, 1,    "which quantile of the data's returns it asks for, where madt.target is auto", {0}, NULL},
    {"target",       MW_FIELD_REAL, AT(target),       "auto", -1e12, 1e12, "return that it asks for at an episode's start; auto: the quantile", {"auto"}, NULL},
    MW_PACE_FIELDS(mw_madt_settings, fit, "windows", "20000", "64", "0.0005", "0"),
    MW_CLIP_FIELD(mw_madt_settings, fit, "0.5"),
    MW_SHARDS_FIELD(mw_madt_settings, fit),
};
/* clang-format on */
_Static_assert(sizeof(mw_madt_settings) <= MW_CONFIG_BYTES, "settings fit into a configuration");

static mw_status make(mw_model *model, mw_error *error) {
    const mw_madt_settings *s = mw_madt_settings_of(model);
    const mw_model_shape *shape = &model->shape;
    if (s->width % s->heads)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "madt.width: expected a multiple of madt.heads, which is %d, found %d", s->heads,
                       s->width);
    mw_madt_net *net = model->net = calloc(1, sizeof *net);
    if (!net) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a transformer");
    model->params = &net->params;
    return mw_madt_net_make(net,
                            &(mw_madt_config){.agents = shape->agents,
                                              .obs = shape->obs,
                                              .act = shape->act,
                                              .window = s->window,
                                              .times = s->times > 0 ? s->times : 1,
                                              .width = s->width,
                                              .heads = s->heads,
                                              .layers = s->layers},
                            error);
}

static void discard(mw_model *model) {
    if (model->net) mw_params_free(&((mw_madt_net *)model->net)->params);
    free(model->net);
}

static void pack(const mw_model *model, const float *values, float *packed, bool backward) {
    mw_madt_net_pack(mw_madt_net_of(model), values, packed, backward);
}

static mw_status settle(mw_model_config *config, const mw_training_data *data, mw_error *error) {
    mw_madt_settings *s = (mw_madt_settings *)(void *)config;
    const mw_episode_set *train = &data->split.train;
    if (s->times == 0) s->times = data->dataset->spec.episode_limit;
    if (isnan(s->return_scale)) MW_TRY(mw_returns_scale(&s->return_scale, data->dataset, train, 1, error));
    if (isnan(s->target))
        MW_TRY(mw_returns_quantile(&s->target, data->dataset, train, 1, s->quantile, error));
    return MW_OK;
}

/* ---- batches ---- */

/* The steps that every agent lived. */
typedef struct {
    mw_episode_set *train, *held; /* [n] */
} training;

/* A row for every window; what of it lies before an episode's start is not valid, and nothing there counts.
 */
typedef struct {
    mw_arena arena;
    float *obs, *act, *prev, *to_go, *out;  /* [b][W][o], [b][W][d] or -, [b][W][d], [b][W], [b][W][d] */
    float *attention, *hidden;              /* of the first two: [2][layers][heads][3W][3W], [2][3W][width] */
    int32_t *choice, *time, *agent, *count; /* [b][W], [b][W], [b], valid steps of the batch */
    uint8_t *legal, *valid;                 /* [b][W][d], [b][W] */
} batch;

#define IN(member) offsetof(batch, member)

static const mw_slot_field batch_fields[] = {
    {"in.obs", IN(obs), MW_F32, "bWo", 0},        {"in.act", IN(act), MW_F32, "bWd", 'r'},
    {"in.choice", IN(choice), MW_I32, "bW", 'd'}, {"in.legal", IN(legal), MW_U8, "bWd", 'd'},
    {"in.prev", IN(prev), MW_F32, "bWd", 0},      {"in.return_to_go", IN(to_go), MW_F32, "bW", 0},
    {"in.time", IN(time), MW_I32, "bW", 0},       {"in.agent", IN(agent), MW_I32, "b", 0},
    {"in.valid", IN(valid), MW_U8, "bW", 0},      {"count", IN(count), MW_I32, "1", 0},
    {"out.outputs", IN(out), MW_F32, "bWd", 0},   {"out.attention", IN(attention), MW_F32, "2LHTT", 0},
    {"out.hidden", IN(hidden), MW_F32, "2TE", 0},
};

static int extent(const mw_fit *f, char letter) {
    const mw_madt_config *c = &mw_madt_net_of(f->model)->config;
    switch (letter) {
    case 'W':
        return c->window;
    case 'T':
        return MW_MADT_TOKENS * c->window;
    case 'L':
        return c->layers;
    case 'H':
        return c->heads;
    default:
        return c->width;
    }
}

/* An agent that may only rest, with the first action, is dead. */
static bool is_dead(const mw_dataset *d, size_t step, int agent) {
    const size_t acts = (size_t)d->spec.act_size;
    const uint8_t *legal =
        d->legal ? d->legal + (step * (size_t)d->spec.agents + (size_t)agent) * acts : NULL;
    if (!legal || acts < 2 || !legal[0]) return false;
    for (size_t k = 1; k < acts; k++)
        if (legal[k]) return false;
    return true;
}

static long steps_lived(const mw_dataset *d, long episode, int agent) {
    long t = 0;
    while (t < (long)d->lengths[episode] && !is_dead(d, (size_t)(d->offsets[episode] + t), agent)) t++;
    return t;
}

static mw_status find_steps(const mw_fit *f, mw_episode_set **sets, const mw_episode_set *from,
                            mw_error *error) {
    const int n = f->model->shape.agents;
    int64_t all = 0;
    *sets = calloc((size_t)n, sizeof **sets);
    if (!*sets) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a trainer");
    for (int i = 0; i < n; i++) {
        MW_TRY(mw_episode_set_of(*sets + i, f->data->dataset, from, steps_lived, i, error));
        all += (*sets)[i].transitions;
    }
    if (all > 0) return MW_OK;
    return mw_fail(error, MW_ERR_ARGUMENT, "the data holds no step of a living agent to learn from");
}

static mw_status open_training(mw_fit *f, mw_error *error) {
    training *t = f->state;
    mw_adam *adam = &f->groups[0].adam;
    MW_TRY(find_steps(f, &t->train, &f->data->split.train, error));
    if (f->held_batches) MW_TRY(find_steps(f, &t->held, &f->data->split.held, error));
    adam->beta2 = 0.95f;
    adam->decay = (float)mw_madt_settings_of(f->model)->decay;
    f->groups[0].matrices = f->model->params;
    f->part.cost = 3 * mw_madt_net_flops(mw_madt_net_of(f->model),
                                         f->settings->batch * mw_madt_settings_of(f->model)->window);
    return MW_OK;
}

static void free_steps(mw_episode_set *sets, int n) {
    for (int i = 0; sets && i < n; i++) mw_episode_set_free(&sets[i]);
    free(sets);
}

static void close_training(mw_fit *f) {
    training *t = f->state;
    free_steps(t->train, f->model->shape.agents);
    free_steps(t->held, f->model->shape.agents);
}

static void initialise(mw_fit *f, float *values) {
    mw_units_set(&mw_madt_net_of(f->model)->units, values, f->data->stats.obs);
}

/* All steps that an agent lived are as likely. */
static mw_place draw(const mw_episode_set *sets, int n, mw_rng *rng, int32_t *agent) {
    int64_t all = 0;
    for (int i = 0; i < n; i++) all += sets[i].transitions;
    int64_t at = (int64_t)(mw_rng_double(rng) * (double)all);
    *agent = 0;
    while (*agent + 1 < n && at >= sets[*agent].transitions) at -= sets[(*agent)++].transitions;
    return mw_episode_set_at(&sets[*agent], at);
}

/* One step of a window, number `at` of the batch. */
static void take_step(const mw_fit *f, const batch *b, size_t at, mw_place place, int agent) {
    const mw_dataset *data = f->data->dataset;
    const size_t n = (size_t)data->spec.agents, o = (size_t)data->spec.obs_size,
                 d = (size_t)data->spec.act_size, i = (size_t)agent,
                 step = (size_t)(data->offsets[place.episode] + place.t), row = step * n + i;
    float *prev = b->prev + at * d;
    memcpy(b->obs + at * o, data->obs + row * o, o * sizeof *b->obs);
    memset(prev, 0, d * sizeof *prev);
    if (data->real) {
        memcpy(b->act + at * d, data->real + row * d, d * sizeof *b->act);
        if (place.t > 0) memcpy(prev, data->real + (row - n) * d, d * sizeof *prev);
    } else {
        b->choice[at] = (int32_t)mw_dataset_index(data, row);
        memcpy(b->legal + at * d, data->legal + row * d, d);
        if (place.t > 0) prev[mw_dataset_index(data, row - n)] = 1;
    }
    b->time[at] = (int32_t)place.t;
    b->valid[at] = 1;
}

/* Returns are those of the team, the mean over agents: what an agent is told of them at play. */
static void take_window(const mw_fit *f, const batch *b, size_t row, mw_place place) {
    const mw_dataset *data = f->data->dataset;
    const int window = mw_madt_settings_of(f->model)->window, n = data->spec.agents;
    double to_go = mw_return_to_go(data, place, 1, NULL);
    memset(b->valid + row * (size_t)window, 0, (size_t)window);
    for (int slot = window - 1; slot >= 0 && place.t >= 0; slot--, place.t--) {
        const size_t at = row * (size_t)window + (size_t)slot,
                     step = (size_t)(data->offsets[place.episode] + place.t);
        if (slot + 1 < window) {
            double reward = 0;
            for (int i = 0; i < n; i++) reward += (double)data->rewards[step * (size_t)n + (size_t)i];
            to_go += reward / n;
        }
        b->to_go[at] = (float)to_go;
        take_step(f, b, at, place, b->agent[row]);
    }
}

static void fill(const mw_fit *f, void *slot, uint64_t step, bool held) {
    const training *t = f->state;
    const batch *b = slot;
    for (int row = 0; row < f->settings->batch; row++) {
        mw_rng rng = mw_batch_rng(f->data->seed, step, row, held ? MW_BATCH_VALIDATION : MW_BATCH_HISTORY);
        const mw_place place = draw(held ? t->held : t->train, f->model->shape.agents, &rng, &b->agent[row]);
        take_window(f, b, (size_t)row, place);
    }
}

static void assemble(const mw_fit *f, void *slot) {
    const batch *b = slot;
    const int all = f->settings->batch * mw_madt_settings_of(f->model)->window;
    int32_t count = 0;
    for (int i = 0; i < all; i++) count += b->valid[i] != 0;
    b->count[0] = count;
}

/* ---- the loss ---- */

typedef struct {
    mw_madt_acts acts;
} area;

static void carve(const mw_fit *f, void *own, mw_arena *arena, int rows) {
    mw_madt_acts_take(mw_madt_net_of(f->model), &((area *)own)->acts, arena, rows, true);
}

/* The valid steps of windows [begin, end) become histories. */
static void gather(const mw_fit *f, const batch *b, mw_madt_steps *in, int begin, int end) {
    const mw_madt_net *net = mw_madt_net_of(f->model);
    const mw_madt_settings *s = mw_madt_settings_of(f->model);
    const size_t o = (size_t)net->config.obs, d = (size_t)net->config.act,
                 seen = o + (size_t)net->config.agents;
    size_t to = 0;
    in->histories = end - begin;
    for (int row = begin; row < end; row++) {
        in->first[row - begin] = (int)to;
        for (int slot = 0; slot < s->window; slot++) {
            const size_t at = (size_t)(row * s->window + slot);
            if (!b->valid[at]) continue;
            in->time[to] = b->time[at] < net->config.times ? b->time[at] : net->config.times - 1;
            in->token[0][to] = b->to_go[at] / (float)s->return_scale;
            mw_madt_see(net, f->shards.optimizer.values, b->obs + at * o, b->agent[row],
                        in->token[1] + to * seen);
            memcpy(in->token[2] + to * d, b->prev + at * d, d * sizeof *b->prev);
            to++;
        }
    }
    in->first[in->histories] = (int)to;
}

/* Keeps what was seen in the window that is a history of this part, padded again. */
static void keep_insight(const mw_madt_net *net, const batch *b, const mw_madt_acts *a, int history,
                         int row) {
    const mw_madt_config *c = &net->config;
    const size_t whole = (size_t)(MW_MADT_TOKENS * c->window), width = (size_t)c->width,
                 first = MW_MADT_TOKENS * (size_t)a->in.first[history],
                 t = MW_MADT_TOKENS * (size_t)a->in.first[history + 1] - first, padding = whole - t,
                 heads = (size_t)c->heads;
    float *hidden = b->hidden + (size_t)row * whole * width;
    memset(hidden, 0, whole * width * sizeof *hidden);
    memcpy(hidden + padding * width, a->x + first * width, t * width * sizeof *hidden);
    for (size_t i = 0; i < (size_t)c->layers * heads; i++) {
        float *to = b->attention + ((size_t)row * (size_t)c->layers * heads + i) * whole * whole;
        const float *from =
            a->block[i / heads].weights + mw_madt_weights_at(net, history) + i % heads * t * t;
        memset(to, 0, whole * whole * sizeof *to);
        for (size_t k = 0; k < t; k++)
            memcpy(to + (padding + k) * whole + padding, from + k * t, t * sizeof *to);
    }
}

/* A mean over valid steps, of real actions also over their components. */
static void loss(const mw_fit *f, void *slot, void *own, int begin, int end, float *grads, double *losses) {
    const batch *b = slot;
    mw_madt_acts *a = &((area *)own)->acts;
    const mw_madt_net *net = mw_madt_net_of(f->model);
    const bool discrete = f->model->shape.discrete;
    const int d = net->config.act, window = net->config.window;
    const float *values = f->shards.optimizer.values;
    const float share = (float)(1 / ((double)b->count[0] * (discrete ? 1 : d)));
    double sum = 0;
    gather(f, b, &a->in, begin, end);
    mw_madt_forward(net, a, values, f->shards.packed);
    for (int row = begin, step = 0; row < end; row++) {
        if (row < 2) keep_insight(net, b, a, row - begin, row);
        for (int i = 0; i < window; i++) {
            const size_t at = (size_t)(row * window + i), place = at * (size_t)d;
            float *kept = b->out + place, *out = a->out + step * d;
            memset(kept, 0, (size_t)d * sizeof *kept);
            if (!b->valid[at]) continue;
            memcpy(kept, out, (size_t)d * sizeof *kept);
            if (!discrete) mw_tanh_forward(kept, (size_t)d);
            sum += discrete ? mw_clone_index(out, NULL, b->legal + place, b->choice[at], d, share)
                            : mw_clone_real(out, b->act + place, d, share);
            step++;
        }
    }
    losses[0] = sum * (double)share;
    if (grads) mw_madt_backward(net, a, grads, a->out, values, f->shards.packed);
}

static const mw_fit_class fit_class = {
    .settings = AT(fit),
    .state = sizeof(training),
    .slot = sizeof(batch),
    .area = sizeof(area),
    .losses = 1,
    .minimised = 1,
    .loss_names = {"cloning"},
    .held_batches = 8,
    .stream = 2,
    .open = open_training,
    .close = close_training,
    .fields = batch_fields,
    .field_count = sizeof batch_fields / sizeof *batch_fields,
    .extent = extent,
    .initialise = initialise,
    .fill = fill,
    .assemble = assemble,
    .carve = carve,
    MW_ONE_TURN(.loss = loss),
};

const mw_model_class mw_madt_class = {
    .name = "madt",
    .help = "MADT: a transformer that repeats what was done where a high return followed",
    .fields = MW_FIELDS(fields),
    .make = make,
    .discard = discard,
    .pack = pack,
    .settle = settle,
    .fit = MW_LEARNS(&fit_class),
    .policy = &mw_madt_policy,
};
