/* DOM2: every agent's policy is a model of noise that a solver of a few steps makes actions of. It clones,
 * and it climbs conservative critics through all steps of the solver; episodes of high return count more
 * often. Agents learn alone, each from rows of its own, and act on their own observation. */
#include "core/math.h"
#include "data/transition.h"
#include "model/critic.h"
#include "model/dom2/weights.h"
#include "model/draw.h"
#include "model/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SOLVER_STEPS = 16 };

typedef struct {
    int hidden, critic_hidden, frequencies, solver, random, candidates;
    bool weighted;
    double discount, slow, penalty, climb, reward_unit, sharpness;
    mw_fit_settings fit;
} settings;

#define AT(member) offsetof(settings, member)

/* clang-format off */
static const mw_field fields[] = {
    {"hidden",        MW_FIELD_INT,    AT(hidden),        "256",   1, 4096, "width of the two hidden layers of the model of noise", {0}, NULL},
    {"critic_hidden", MW_FIELD_INT,    AT(critic_hidden), "128",   1, 4096, "the same of the critics", {0}, NULL},
    {"frequencies",   MW_FIELD_INT,    AT(frequencies),   "8",     1, 16,   "of its time, each as a sine and a cosine", {0}, NULL},
    {"solver",        MW_FIELD_INT,    AT(solver),        "5",     1, SOLVER_STEPS, "steps from noise to an action", {0}, NULL},
    {"random",        MW_FIELD_INT,    AT(random),        "10",    1, 256,  "actions of no policy on which critics are pushed down", {0}, NULL},
    {"candidates",    MW_FIELD_INT,    AT(candidates),    "10",    1, 256,  "actions that are drawn at play", {0}, NULL},
    {"sharpness",     MW_FIELD_REAL,   AT(sharpness),     "1",     0, 1e6,  "one of them is taken by the softmax of so many times the smaller value", {0}, NULL},
    {"weighted",      MW_FIELD_SWITCH, AT(weighted),      "on",    0, 1,    "episodes of high return count more often", {0}, NULL},
    {"discount",      MW_FIELD_REAL,   AT(discount),      "0.99",  0, 1,    "of what follows", {0}, NULL},
    {"slow",          MW_FIELD_REAL,   AT(slow),          "0.995", 1e-3, 0.99999, "how much of the slow copies of all networks stays in a step", {0}, NULL},
    {"penalty",       MW_FIELD_REAL,   AT(penalty),       "1",     0, 1e6,  "weight of pushing critics down where there is no data", {0}, NULL},
    {"climb",         MW_FIELD_REAL,   AT(climb),         "1",     0, 1e6,  "weight of the critics beside cloning", {0}, NULL},
    {"reward_unit",   MW_FIELD_REAL,   AT(reward_unit),   "1",     1e-6, 1e6, "rewards are divided by it", {0}, NULL},
    MW_FIT_FIELDS(settings, fit, "transitions of every agent", "20000", "85", "0.0003", "0"),
    MW_SHARDS_FIELD(settings, fit),
};
/* clang-format on */
_Static_assert(sizeof(settings) <= MW_CONFIG_BYTES, "settings fit into a configuration");

static const mw_constants constants[] = {
    {"spread tag world 2ant 4ant", "clip=5", "within what Diffusion-QL's published runs have"},
    {"spread tag world", "discount=0.95", "OMAR's code"},
    {"spread-expert spread-medium tag-expert tag-medium world-expert", "penalty=5", "OMAR's code"},
    {"spread-random tag-random tag-medium-replay world-random world-medium", "penalty=0.5", "OMAR's code"},
    {"spread-random tag-random world-random", "weighted=off", "OM2P's code"},
    {"2ant 4ant", "reward_unit=20", "ours: values of the size that the penalty is for"},
    {NULL, NULL, NULL},
};

typedef struct {
    mw_params params;
    mw_twin critic;
    mw_generator noise;
} network;

enum { CRITIC, ACTOR };

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
    if (!net) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a model of noise and critics");
    mw_params *p = &net->params;
    model->params = p;
    net->critic.act = shape->act;
    net->critic.inputs = mw_twin_inputs(shape, false);
    for (int j = 0; j < 2; j++)
        net->critic.mlp[j] = mw_mlp_hidden(p, mw_name_of("q%d", j + 1).text, net->critic.inputs,
                                           s->critic_hidden, 2, 1, MW_RELU);
    mw_generator_add(
        &net->noise, p, "eps", shape,
        &(mw_generator_form){.times = 1, .frequencies = s->frequencies, .hidden = s->hidden, .layers = 2});
    const mw_units units = mw_units_add(p, "scale", shape->obs);
    mw_generator_see(&net->noise, &units, shape, false);
    net->critic.view = net->noise.view;
    return p->failed ? mw_fail(error, MW_ERR_MEMORY, "cannot allocate the critics' table") : MW_OK;
}

static void discard(mw_model *model) {
    if (model->net) mw_params_free(&((network *)model->net)->params);
    free(model->net);
}

static void pack_group(const mw_model *model, int group, const float *values, float *packed, bool backward) {
    if (group == CRITIC)
        mw_twin_pack(&network_of(model)->critic, values, packed, backward);
    else
        mw_mlp_pack(&network_of(model)->noise.mlp, values, packed, backward);
}

static void pack(const mw_model *model, const float *values, float *packed, bool backward) {
    pack_group(model, CRITIC, values, packed, backward);
    pack_group(model, ACTOR, values, packed, backward);
}

/* ---- which rows ---- */

typedef struct {
    mw_episode_set steps;
    int64_t *starts; /* [n][episodes + 1]: steps of an agent before each episode, as often as it counts */
    float *returns;  /* [episodes]: room */
    float *units;    /* [total]: the weights that are not trained, the rest is not read */
    mw_arena arena;
} training;

static void take_room(mw_fit *f, mw_arena *arena) {
    training *t = f->state;
    const size_t episodes = (size_t)t->steps.count;
    t->units = mw_arena_floats(arena, f->model->params->total);
    t->returns = mw_arena_floats(arena, 2 * episodes);
    t->starts = mw_arena_take(arena, (size_t)f->model->shape.agents * (episodes + 1), sizeof *t->starts);
}

/* Every agent counts by its own returns. */
static void weigh_episodes(const mw_fit *f, int agent) {
    const training *t = f->state;
    const mw_dataset *d = f->data->dataset;
    const long count = t->steps.count;
    const size_t n = (size_t)f->model->shape.agents;
    float thresholds[MW_DOM2_THRESHOLDS], *sorted = t->returns + count;
    int64_t *starts = t->starts + (size_t)agent * (size_t)(count + 1);
    for (long i = 0; i < count; i++) {
        const long episode = t->steps.episodes[i];
        const float *reward = d->rewards + (size_t)d->offsets[episode] * n + (size_t)agent;
        double sum = 0;
        for (long k = 0; k < (long)d->lengths[episode]; k++) sum += (double)reward[(size_t)k * n];
        sorted[i] = t->returns[i] = (float)sum;
    }
    mw_dom2_thresholds(sorted, count, thresholds);
    for (long i = 0; i < count; i++) {
        const int copies = settings_of(f->model)->weighted ? mw_dom2_copies(t->returns[i], thresholds) : 1;
        starts[i + 1] = starts[i] + copies * (t->steps.starts[i + 1] - t->steps.starts[i]);
    }
}

static mw_place draw_place(const training *t, int agent, mw_rng *rng) {
    const int64_t *starts = t->starts + (size_t)agent * (size_t)(t->steps.count + 1);
    const int64_t at = (int64_t)((unsigned __int128)mw_rng_u64(rng) * (uint64_t)starts[t->steps.count] >> 64);
    long low = 0, high = t->steps.count; /* starts[low] <= at < starts[high] */
    while (high - low > 1) {
        const long middle = low + (high - low) / 2;
        if (starts[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    const int64_t steps = t->steps.starts[low + 1] - t->steps.starts[low];
    return (mw_place){t->steps.episodes[low], (long)((at - starts[low]) % steps)};
}

/* ---- training ---- */

typedef struct {
    mw_arena arena;
    float *obs, *next_obs, *act, *reward, *end, *random, *eps, *t, *noise, *next_noise;
    int32_t *role;
    float *x_row, *next_x_row;  /* [b][n][inputs] of the model of noise */
    float *row, *next_row, *at; /* [b][n][inputs] of the critics: recorded, next and the policy's action */
    float *random_row;          /* [b][n][random][inputs] */
    float *data_share, *noise_share, *x, *out;
    float *next_states, *next_act, *target, *q[2], *pushed[2];
    float *states, *own, *up, *down, *climb;
} batch;

#define IN(member) offsetof(batch, member)

static const mw_slot_field batch_fields[] = {
    {"in.obs", IN(obs), MW_F32, "bno", 0},
    {"in.next_obs", IN(next_obs), MW_F32, "bno", 0},
    {"in.act", IN(act), MW_F32, "bnd", 0},
    {"in.reward", IN(reward), MW_F32, "bn", 0},
    {"in.end", IN(end), MW_F32, "bn", 0},
    {"draw.random_act", IN(random), MW_F32, "bnKd", 0},
    {"draw.eps", IN(eps), MW_F32, "bnd", 0},
    {"draw.t", IN(t), MW_F32, "bn", 0},
    {"draw.noise", IN(noise), MW_F32, "bnd", 0},
    {"draw.next_noise", IN(next_noise), MW_F32, "bnd", 0},
    {"draw.role", IN(role), MW_I32, "1", 0},
    {"x_row", IN(x_row), MW_F32, "bnX", 0},
    {"next_x_row", IN(next_x_row), MW_F32, "bnX", 0},
    {"row", IN(row), MW_F32, "bnQ", 0},
    {"next_row", IN(next_row), MW_F32, "bnQ", 0},
    {"at", IN(at), MW_F32, "bnQ", 0},
    {"random_row", IN(random_row), MW_F32, "bnKQ", 0},
    {"out.A", IN(data_share), MW_F32, "bn", 0},
    {"out.S", IN(noise_share), MW_F32, "bn", 0},
    {"out.x_t", IN(x), MW_F32, "bnd", 0},
    {"out.eps_hat", IN(out), MW_F32, "bnd", 0},
    {"out.next_states", IN(next_states), MW_F32, "Sbnd", 0},
    {"out.next_action", IN(next_act), MW_F32, "bnd", 0},
    {"out.target_q", IN(target), MW_F32, "bn", 0},
    {"out.q1", IN(q[0]), MW_F32, "bn", 0},
    {"out.q2", IN(q[1]), MW_F32, "bn", 0},
    {"out.penalty_q1", IN(pushed[0]), MW_F32, "bn", 0},
    {"out.penalty_q2", IN(pushed[1]), MW_F32, "bn", 0},
    {"out.states", IN(states), MW_F32, "Sbnd", 0},
    {"out.action", IN(own), MW_F32, "bnd", 0},
    {"out.q_up", IN(up), MW_F32, "bn", 0},
    {"out.q_down", IN(down), MW_F32, "bn", 0},
    {"climb", IN(climb), MW_F32, "1", 0},
};

/* Each shard's own. */
typedef struct {
    mw_mlp_acts noise, path[SOLVER_STEPS], critic[2], random;
    float *path_row;          /* [solver][rows][inputs] of the model of noise */
    float *x, *dx, *dout;     /* [rows][d] */
    float *dx_row, *drow;     /* [rows][inputs] of either network */
    float *gradient, *pushed; /* [rows], [rows][random] */
} area;

static int extent(const mw_fit *f, char letter) {
    const network *net = network_of(f->model);
    return letter == 'K'   ? settings_of(f->model)->random
           : letter == 'X' ? net->noise.inputs
           : letter == 'Q' ? net->critic.inputs
                           : settings_of(f->model)->solver + 1;
}

static mw_status open_training(mw_fit *f, mw_error *error) {
    training *t = f->state;
    const mw_training_data *data = f->data;
    const network *net = network_of(f->model);
    const settings *s = settings_of(f->model);
    const int rows = s->fit.batch * f->model->shape.agents;
    MW_TRY(mw_transition_set(&t->steps, data->dataset, &data->split.train, MW_NEED_NEXT_OBS, error));
    take_room(f, &t->arena);
    MW_TRY(mw_arena_create(&t->arena, t->arena.used, error));
    take_room(f, &t->arena);
    for (int i = 0; i < f->model->shape.agents; i++) weigh_episodes(f, i);
    mw_units_set(&net->noise.view.units, t->units, data->stats.obs);
    for (int g = 0; g < 2; g++) f->groups[g].decay = (float)s->slow;
    const double critic = mw_mlp_flops(&net->critic.mlp[0], rows),
                 noise = mw_mlp_flops(&net->noise.mlp, rows);
    f->part.cost = (12 + 6 * s->random) * critic + (3 + 4 * s->solver) * noise;
    return MW_OK;
}

static void close_training(mw_fit *f) {
    training *t = f->state;
    mw_episode_set_free(&t->steps);
    mw_arena_free(&t->arena);
}

static void initialise(mw_fit *f, float *values) {
    mw_units_set(&network_of(f->model)->noise.view.units, values, f->data->stats.obs);
}

/* An agent's own transition, wherever the others are. */
static void take_transition(const mw_fit *f, const batch *b, size_t row, size_t agent, mw_place place) {
    const mw_dataset *data = f->data->dataset;
    const size_t n = (size_t)f->model->shape.agents, o = (size_t)f->model->shape.obs,
                 d = (size_t)f->model->shape.act,
                 step = (size_t)(data->offsets[place.episode] + place.t) * n + agent;
    const bool over = place.t + 1 == (long)data->lengths[place.episode] &&
                      data->outcomes[place.episode] != MW_ENDED_BY_LIMIT;
    const float *obs = mw_dataset_obs(data, place.episode, place.t),
                *next = over ? NULL : mw_dataset_obs(data, place.episode, place.t + 1);
    memcpy(b->obs + row * o, obs + agent * o, o * sizeof *obs);
    if (next)
        memcpy(b->next_obs + row * o, next + agent * o, o * sizeof *obs);
    else
        memset(b->next_obs + row * o, 0, o * sizeof *obs);
    memcpy(b->act + row * d, data->real + step * d, d * sizeof *obs);
    b->reward[row] = data->rewards[step] / (float)settings_of(f->model)->reward_unit;
    b->end[row] = over;
}

static void fill(const mw_fit *f, void *slot, uint64_t step, bool held) {
    const training *t = f->state;
    const batch *b = slot;
    const size_t n = (size_t)f->model->shape.agents, d = (size_t)f->model->shape.act,
                 random = (size_t)settings_of(f->model)->random * d;
    (void)held; /* there is no validation */
    for (size_t row = 0; row < (size_t)f->settings->batch * n; row++) {
        mw_rng rng = mw_batch_rng(f->data->seed, step, (int)row, MW_BATCH_TRANSITION);
        take_transition(f, b, row, row % n, draw_place(t, (int)(row % n), &rng));
        mw_rng_fill_normal(&rng, b->eps + row * d, d);
        mw_rng_fill_normal(&rng, b->noise + row * d, d);
        mw_rng_fill_normal(&rng, b->next_noise + row * d, d);
        b->t[row] = (float)mw_rng_range(&rng, 1e-5, 1);
        for (size_t k = row * random; k < (row + 1) * random; k++)
            b->random[k] = (float)mw_rng_range(&rng, -1, 1);
        if (row == 0) b->role[0] = (int32_t)mw_rng_below(&rng, 2);
    }
}

static void assemble(const mw_fit *f, void *slot) {
    const training *t = f->state;
    const batch *b = slot;
    const network *net = network_of(f->model);
    const size_t n = (size_t)f->model->shape.agents, o = (size_t)f->model->shape.obs,
                 d = (size_t)f->model->shape.act, inputs = (size_t)net->noise.inputs,
                 width = (size_t)net->critic.inputs, rows = (size_t)f->settings->batch * n,
                 random = (size_t)settings_of(f->model)->random;
    for (size_t row = 0; row < rows; row += n) {
        mw_generator_look(&net->noise, t->units, b->obs + row * o, b->x_row + row * inputs, 1);
        mw_generator_look(&net->noise, t->units, b->next_obs + row * o, b->next_x_row + row * inputs, 1);
        mw_twin_fill(&net->critic, t->units, b->obs + row * o, b->act + row * d, b->row + row * width);
        mw_twin_fill(&net->critic, t->units, b->next_obs + row * o, b->act + row * d,
                     b->next_row + row * width);
    }
    mw_generator_disturb(&net->noise, b->x_row, b->x, b->data_share, b->noise_share, b->act, b->eps, b->t,
                         (int)rows);
    memcpy(b->at, b->row, rows * width * sizeof *b->at);
    for (size_t row = 0; row < rows * random; row++)
        memcpy(b->random_row + row * width, b->row + row / random * width, width * sizeof *b->row);
    mw_twin_put(&net->critic, b->random_row, b->random, (int)(rows * random));
}

static void carve(const mw_fit *f, void *own, mw_arena *arena, int rows) {
    area *a = own;
    const network *net = network_of(f->model);
    const settings *s = settings_of(f->model);
    const int all = rows * f->model->shape.agents, d = f->model->shape.act;
    mw_mlp_acts_take(&net->noise.mlp, &a->noise, arena, all, true);
    for (int k = 0; k < s->solver; k++) mw_mlp_acts_take(&net->noise.mlp, &a->path[k], arena, all, true);
    for (int j = 0; j < 2; j++) mw_mlp_acts_take(&net->critic.mlp[j], &a->critic[j], arena, all, true);
    mw_mlp_acts_take(&net->critic.mlp[0], &a->random, arena, all * s->random, true);
    a->path_row = mw_arena_floats(arena, (size_t)(s->solver * all) * (size_t)net->noise.inputs);
    a->dx_row = mw_arena_floats(arena, (size_t)all * (size_t)net->noise.inputs);
    a->drow = mw_arena_floats(arena, (size_t)all * (size_t)net->critic.inputs);
    a->x = mw_arena_floats(arena, (size_t)(all * d));
    a->dx = mw_arena_floats(arena, (size_t)(all * d));
    a->dout = mw_arena_floats(arena, (size_t)(all * d));
    a->gradient = mw_arena_floats(arena, (size_t)all);
    a->pushed = mw_arena_floats(arena, (size_t)(all * s->random));
}

/* The rows of a part of a batch. */
typedef struct {
    size_t first, count, all; /* all: of the whole batch */
    size_t d;
} span;

static span span_of(const mw_fit *f, int begin, int end) {
    const size_t n = (size_t)f->model->shape.agents;
    return (span){(size_t)begin * n, (size_t)(end - begin) * n, (size_t)f->settings->batch * n,
                  (size_t)f->model->shape.act};
}

/* target = r + discount * the smaller slow critic at what the slow policy draws; nothing follows an end. */
static void find_targets(const mw_fit *f, const batch *b, area *a, span s) {
    const network *net = network_of(f->model);
    const settings *set = settings_of(f->model);
    const mw_sampler sampler = mw_sampler_blend(set->solver);
    float *rows = b->next_row + s.first * (size_t)net->critic.inputs, *act = b->next_act + s.first * s.d,
          *next = b->target + s.first;
    memcpy(a->x, b->next_noise + s.first * s.d, s.count * s.d * sizeof *a->x);
    mw_generator_sample(&net->noise, &sampler, &a->noise, f->target, f->target_packed,
                        b->next_x_row + s.first * (size_t)net->noise.inputs, a->x, (int)s.count,
                        b->next_states + s.first * s.d, s.all * s.d);
    mw_clip_actions(act, a->x, s.count * s.d);
    mw_twin_put(&net->critic, rows, act, (int)s.count);
    for (int j = 0; j < 2; j++) {
        const float *q = mw_mlp_forward(&net->critic.mlp[j], &a->critic[j], rows, f->target, f->target_packed,
                                        (int)s.count);
        for (size_t row = 0; row < s.count; row++) next[row] = j ? fminf(next[row], q[row]) : q[row];
    }
    for (size_t row = 0; row < s.count; row++)
        next[row] = b->reward[s.first + row] + (float)set->discount * (1 - b->end[s.first + row]) * next[row];
}

/* pushed = log sum over random actions of exp(q + d ln 2), as these have density 2^-d; its gradient, times
 * weight, is left in a->pushed. */
static void push_down(const mw_fit *f, const batch *b, area *a, span s, int j, float weight) {
    const mw_twin *twin = &network_of(f->model)->critic;
    const size_t random = (size_t)settings_of(f->model)->random;
    const double density = (double)s.d * mw_ln(2);
    const float *q =
        mw_mlp_forward(&twin->mlp[j], &a->random, b->random_row + s.first * random * (size_t)twin->inputs,
                       f->shards.optimizer.values, f->shards.packed, (int)(s.count * random));
    for (size_t row = 0; row < s.count; row++, q += random) {
        double largest = (double)q[0], sum = 0;
        for (size_t k = 1; k < random; k++) largest = fmax(largest, (double)q[k]);
        for (size_t k = 0; k < random; k++) sum += mw_exp((double)q[k] - largest);
        b->pushed[j][s.first + row] = (float)(largest + mw_ln(sum) + density);
        for (size_t k = 0; k < random; k++)
            a->pushed[row * random + k] = weight * (float)(mw_exp((double)q[k] - largest) / sum);
    }
}

static void critic_loss(const mw_fit *f, void *slot, void *own, int begin, int end, float *grads,
                        double *losses) {
    const batch *b = slot;
    area *a = own;
    const mw_twin *twin = &network_of(f->model)->critic;
    const span s = span_of(f, begin, end);
    const size_t random = (size_t)settings_of(f->model)->random, width = (size_t)twin->inputs;
    const float *rows = b->row + s.first * width,
                weight = (float)(settings_of(f->model)->penalty / (double)s.all);
    double sum = 0, penalty = 0;
    find_targets(f, b, a, s);
    for (int j = 0; j < 2; j++) {
        float *q = b->q[j] + s.first;
        push_down(f, b, a, s, j, weight);
        memcpy(q,
               mw_mlp_forward(&twin->mlp[j], &a->critic[j], rows, f->shards.optimizer.values,
                              f->shards.packed, (int)s.count),
               s.count * sizeof *q);
        for (size_t row = 0; row < s.count; row++) {
            const float off = q[row] - b->target[s.first + row];
            sum += (double)(off * off);
            penalty += (double)(b->pushed[j][s.first + row] - q[row]);
            a->gradient[row] = 2 * off / (float)s.all - weight;
        }
        if (!grads) continue;
        mw_mlp_backward(&twin->mlp[j], &a->critic[j], NULL, grads, a->gradient, rows, f->shards.packed,
                        (int)s.count);
        mw_mlp_backward(&twin->mlp[j], &a->random, NULL, grads, a->pushed,
                        b->random_row + s.first * random * width, f->shards.packed, (int)(s.count * random));
    }
    losses[4] = penalty / (double)s.all;
    losses[0] = sum / (double)s.all + settings_of(f->model)->penalty * losses[4];
}

/* What the policy draws now, with all that the way back needs, and what the critics say to it. */
static void actor_look(const mw_fit *f, void *slot, void *own, int begin, int end) {
    const batch *b = slot;
    area *a = own;
    const network *net = network_of(f->model);
    const span s = span_of(f, begin, end);
    const mw_sampler sampler = mw_sampler_blend(settings_of(f->model)->solver);
    const size_t inputs = (size_t)net->noise.inputs, size = s.count * s.d * sizeof(float);
    const float *values = f->shards.optimizer.values, *packed = f->shards.packed;
    float *states = b->states + s.first * s.d, *act = b->own + s.first * s.d,
          *rows = b->at + s.first * (size_t)net->critic.inputs;
    memcpy(a->x, b->noise + s.first * s.d, size);
    memcpy(states, a->x, size);
    for (int k = 0; k < sampler.steps; k++) {
        float *row = a->path_row + (size_t)k * s.count * inputs;
        memcpy(row, b->x_row + s.first * inputs, s.count * inputs * sizeof *row);
        mw_generator_step(&net->noise, &sampler, k, &a->path[k], values, packed, row, a->x, (int)s.count);
        memcpy(states + (size_t)(k + 1) * s.all * s.d, a->x, size);
    }
    mw_clip_actions(act, a->x, s.count * s.d);
    mw_twin_put(&net->critic, rows, act, (int)s.count);
    for (int j = 0; j < 2; j++) {
        float *q = (j == b->role[0] ? b->up : b->down) + s.first;
        memcpy(q, mw_mlp_forward(&net->critic.mlp[j], &a->critic[j], rows, values, packed, (int)s.count),
               s.count * sizeof *q);
    }
}

/* One weight for the whole batch, by the other critic and without a gradient. */
static void actor_settle(const mw_fit *f, void *slot, double *losses) {
    const batch *b = slot;
    const span s = span_of(f, 0, f->settings->batch);
    const double climb = settings_of(f->model)->climb;
    double size = 0, sum = 0;
    for (size_t row = 0; row < s.all; row++) {
        size += fabs((double)b->down[row]);
        sum += (double)b->up[row];
    }
    size = fmax(size / (double)s.all, 1e-8);
    b->climb[0] = (float)(climb / size);
    losses[3] = -sum / ((double)s.all * size);
    losses[1] = climb * losses[3];
    losses[5] = sum / (double)s.all;
}

/* The way back through the solver: a->dx begins as the gradient of the last state. */
static void solver_backward(const mw_fit *f, area *a, span s, float *grads) {
    const mw_generator *noise = &network_of(f->model)->noise;
    const mw_sampler sampler = mw_sampler_blend(settings_of(f->model)->solver);
    for (int k = sampler.steps - 1; k >= 0; k--) {
        for (size_t i = 0; i < s.count * s.d; i++) {
            a->dout[i] = sampler.add[k] * a->dx[i];
            a->dx[i] *= sampler.keep[k];
        }
        mw_mlp_backward(&noise->mlp, &a->path[k], k > 0 ? a->dx_row : NULL, grads, a->dout,
                        a->path_row + (size_t)k * s.count * (size_t)noise->inputs, f->shards.packed,
                        (int)s.count);
        if (k > 0) mw_generator_take(noise, a->dx, a->dx_row, (int)s.count);
    }
}

static void actor_loss(const mw_fit *f, void *slot, void *own, int begin, int end, float *grads,
                       double *losses) {
    const batch *b = slot;
    area *a = own;
    const network *net = network_of(f->model);
    const span s = span_of(f, begin, end);
    const double share = 1 / (double)(s.all * s.d);
    const int up = b->role[0] != 0;
    losses[2] =
        share * mw_generator_loss(&net->noise, &a->noise, f->shards.optimizer.values, f->shards.packed,
                                  b->x_row + s.first * (size_t)net->noise.inputs, b->eps + s.first * s.d,
                                  b->out + s.first * s.d, (int)s.count, (float)share, grads);
    losses[1] = losses[2];
    if (!grads) return;
    for (size_t row = 0; row < s.count; row++) a->gradient[row] = -b->climb[0] / (float)s.all;
    mw_mlp_backward(&net->critic.mlp[up], &a->critic[up], a->drow, NULL, a->gradient,
                    b->at + s.first * (size_t)net->critic.inputs, f->shards.packed, (int)s.count);
    memset(a->dx, 0, s.count * s.d * sizeof *a->dx);
    mw_twin_take(&net->critic, a->dx, a->drow, (int)s.count);
    for (size_t i = 0; i < s.count * s.d; i++)
        if (fabsf(a->x[i]) > 1) a->dx[i] = 0; /* critics saw it clipped */
    solver_backward(f, a, s, grads);
}

static const mw_turn turns[] = {
    {.group = CRITIC, .loss = critic_loss},
    {.group = ACTOR, .look = actor_look, .settle = actor_settle, .loss = actor_loss},
};

static const mw_phase phase = {.turns = turns, .turn_count = 2};

/* The averages play: slow critics are the calmer ones, and so is the slow policy. */
static const mw_fit_class fit_class = {
    .settings = AT(fit),
    .state = sizeof(training),
    .slot = sizeof(batch),
    .area = sizeof(area),
    .losses = 6,
    .loss_names = {"critic", "actor", "noise", "climb", "penalty", "q"},
    .apart = true,
    .targets = true,
    .groups = {"q1", "eps"},
    .stream = 2,
    .open = open_training,
    .close = close_training,
    .fields = batch_fields,
    .field_count = sizeof batch_fields / sizeof *batch_fields,
    .extent = extent,
    .initialise = initialise,
    .fill = fill,
    .assemble = assemble,
    .phases = &phase,
    .phase_count = 1,
    .carve = carve,
    .pack = pack_group,
};

/* ---- play ---- */

static void draws(const mw_model *model, mw_draw_head *head) {
    const settings *s = settings_of(model);
    const network *net = network_of(model);
    *head = (mw_draw_head){.generator = &net->noise,
                           .sampler = mw_sampler_blend(s->solver),
                           .candidates = s->candidates,
                           .critics = {&net->critic.mlp[0], &net->critic.mlp[1]},
                           .sharpness = s->sharpness};
}

static const mw_policy_class policy_class = {
    .help = "DOM2: actions that a few solver steps make of noise, where conservative critics like them",
    .sees = "own",
    .source = "Li and others 2023",
    .certain = "put together from its abstract and reviews, Diffusion-QL and OMAR: a reconstruction",
    .draws = draws,
    .create = mw_draw_policy_create,
    .act = mw_draw_policy_act,
    .destroy = mw_draw_policy_destroy,
};

const mw_model_class mw_dom2_class = {
    .name = "dom2",
    .help =
        "DOM2: a model of noise that clones and climbs conservative critics through all steps of its solver",
    .fields = MW_FIELDS(fields),
    .constants = constants,
    .real_only = true,
    .make = make,
    .discard = discard,
    .pack = pack,
    .fit = MW_LEARNS(&fit_class),
    .policy = &policy_class,
};
