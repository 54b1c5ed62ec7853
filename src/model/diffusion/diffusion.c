/* MADiff and DoF as models: their settings and training. In MADiff one network denoises all agents, which
 * meet in attention, and each acts on what all saw or, with joint=off, on its own history; in DoF every agent
 * denoises apart. Every bit of a batch is a function of seed, step and row. */
#include "model/diffusion/diffusion.h"

#include "core/rng.h"
#include "data/returns.h"
#include "data/window.h"
#include "model/diffusion/play.h"
#include "model/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(mw_diffusion_settings, member)

/* clang-format off */
#define COMMON_FIELDS                                                                                                                                                        \
    {"dim",            MW_FIELD_INT,    AT(dim),            "32",    16, 1024,    "width of the U-Net, a multiple of 16", {0}, NULL},                                         \
    {"mults",          MW_FIELD_TRIPLE, AT(mults),          "2,2,2", 1, 64,       "its multiples at the three levels", {0}, NULL},                                            \
    {"context",        MW_FIELD_INT,    AT(context),        "4",     1, 256,      "C: observations of context, the current one included", {0}, NULL},                         \
    {"generated",      MW_FIELD_INT,    AT(generated),      "8",     1, 255,      "observations generated after it; context + generated must be divisible by 4", {0}, NULL},  \
    {"scale",          MW_FIELD_REAL,   AT(scale),          "3",     1e-3, 1e6,   "what is denoised are this many times the changes from the present", {0}, NULL},            \
    {"sampling_steps", MW_FIELD_INT,    AT(sampling_steps), "15",    1, MW_NOISE_LEVELS, "steps from noise to a sample", {0}, NULL},                                          \
    {"guidance",       MW_FIELD_REAL,   AT(guidance),       "1.2",   0, 100,      "how far the noise goes from that without a return to that with one; 1: no pass without it", {0}, NULL}, \
    {"wanted",         MW_FIELD_REAL,   AT(wanted),         "1",     -1e6, 1e6,   "return that is asked for at play, in units of return_scale", {0}, NULL},                    \
    {"earn",           MW_FIELD_SWITCH, AT(earn),           "off",   0, 1,        "what was earned is no longer asked for", {0}, NULL},                                       \
    MW_FIT_FIELDS(mw_diffusion_settings, fit, "segments", "4000", "64", "0.003", "200"),                                                                                     \
    MW_SHARDS_FIELD(mw_diffusion_settings, fit),                                                                                                                             \
    {"average",        MW_FIELD_REAL,   AT(average),        "0.995", 1e-3, 0.99999, "decay of the average of the weights, which is what is kept", {0}, NULL},                  \
    {"drop",           MW_FIELD_REAL,   AT(drop),           "0.25",  0, 1,        "probability that the return condition is dropped", {0}, NULL},                             \
    {"discount",       MW_FIELD_REAL,   AT(discount),       "0.99",  0.01, 1,     "of the return-to-go", {0}, NULL},                                                          \
    {"return_scale",   MW_FIELD_REAL,   AT(return_scale),   "auto",  1e-12, 1e12, "what returns-to-go are divided by; auto: the 0.99 quantile of their size", {"auto"}, NULL}

static const mw_field madiff_fields[] = {
    {"joint", MW_FIELD_SWITCH, AT(joint), "on", 0, 1, "every agent sees what all saw; off: only what it saw itself", {0}, NULL},
    COMMON_FIELDS,
};
static const mw_field dof_fields[] = {COMMON_FIELDS};

/* Lengths and steps follow the proposer's, at twice as many of the latter. */
#define OURS "twice the proposer's steps, on its segments"
#define AUTHORS "MADiff's code"
static const mw_constants constants[] = {
    {"spread",                 "steps=5000", OURS},
    {"4ant",                   "steps=3600", OURS},
    {"3m 8m 5m_vs_6m",         "context=9 generated=3", OURS},
    {"2s3z",                   "context=8 steps=1600", OURS},
    {"3m",                     "steps=3000", OURS},
    {"8m",                     "steps=1400", OURS},
    {"5m_vs_6m",               "steps=2000", OURS},
    {"spread tag world 4ant",  "wanted=0.9", AUTHORS},
    {"3m 8m 5m_vs_6m",         "earn=on", AUTHORS},
    {NULL, NULL, NULL},
};
/* clang-format on */
_Static_assert(sizeof(mw_diffusion_settings) <= MW_CONFIG_BYTES, "settings fit into a configuration");

/* ---- the model ---- */

static mw_status make(mw_model *model, mw_error *error) {
    mw_diffusion_net *net = model->net = calloc(1, sizeof *net);
    if (!net) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a denoiser");
    model->params = &net->trunk.params;
    return mw_diffusion_net_make(net, model, model->kind == &mw_dof_class, error);
}

static void discard(mw_model *model) {
    if (model->net) mw_flow_net_free(&((mw_diffusion_net *)model->net)->trunk);
    free(model->net);
}

static void pack(const mw_model *model, const float *values, float *packed, bool backward) {
    mw_flow_net_pack(&mw_diffusion_net_of(model)->trunk, values, packed, backward, 0, 1);
}

static mw_status settle(mw_model_config *config, const mw_training_data *data, mw_error *error) {
    mw_diffusion_settings *s = (mw_diffusion_settings *)(void *)config;
    if (!isnan(s->return_scale)) return MW_OK;
    return mw_returns_scale(&s->return_scale, data->dataset, &data->split.train, s->discount, error);
}

/* ---- batches ---- */

/* Batch-major, a segment [T][n][o] or [T][n] behind the other. */
typedef struct {
    mw_window_rows rows;
    float *input, *noise, *keep; /* input: noisy where it is not known */
    int *level;
    uint8_t *counts;
    mw_diffusion_cells cells; /* of the row in work */
    double total;             /* values that count */
    mw_arena arena;
} batch;

static const mw_flow_config *config_of(const mw_fit *f) {
    return &mw_diffusion_net_of(f->model)->trunk.config;
}

static void carve_batch(batch *b, const mw_fit *f, mw_arena *arena) {
    const mw_flow_config *c = config_of(f);
    const size_t rows = (size_t)f->settings->batch, cells = (size_t)(c->time * c->agents), o = (size_t)c->obs;
    b->input = mw_arena_floats(arena, rows * cells * o);
    b->noise = mw_arena_floats(arena, rows * cells * o);
    b->keep = mw_arena_floats(arena, rows);
    b->level = mw_arena_take(arena, rows, sizeof *b->level);
    b->counts = mw_arena_take(arena, rows * cells, 1);
    b->cells.known = mw_arena_take(arena, cells, 1);
    b->cells.unit = mw_arena_floats(arena, cells);
    b->cells.centre = mw_arena_floats(arena, cells * o);
}

static mw_status slot_open(const mw_fit *f, void *slot, mw_error *error) {
    batch *b = slot;
    mw_arena measured = {0};
    carve_batch(b, f, &measured);
    MW_TRY(mw_arena_create(&b->arena, measured.used, error));
    carve_batch(b, f, &b->arena);
    return mw_window_rows_create(&b->rows, &f->data->dataset->spec, f->state, f->settings->batch, error);
}

static void slot_close(void *slot) {
    batch *b = slot;
    mw_window_rows_free(&b->rows);
    mw_arena_free(&b->arena);
}

/* Level, condition, noise and whose history is shown. Nothing counts that is known, held or, behind the end
 * of an episode, was never there. */
static void fill_row(const mw_fit *f, batch *b, size_t row, mw_rng *rng) {
    const mw_diffusion_net *net = mw_diffusion_net_of(f->model);
    const mw_flow_config *c = &net->trunk.config;
    const size_t n = (size_t)c->agents, cells = (size_t)c->time * n, o = (size_t)c->obs, size = cells * o;
    float *x = b->rows.trajectory + row * size, *input = b->input + row * size,
          *noise = b->noise + row * size;
    const float *recorded = b->rows.mask + row * (size_t)(c->time - 1);
    b->level[row] = (int)mw_rng_below(rng, MW_NOISE_LEVELS);
    b->keep[row] = mw_rng_double(rng) < mw_diffusion_settings_of(f->model)->drop ? 0 : 1;
    const int shown = net->shown ? (int)mw_rng_below(rng, (uint32_t)n) : -1;
    mw_rng_fill_normal(rng, noise, size);
    mw_diffusion_from_obs(net, &b->cells, x, shown);
    mw_noise_mix(input, x, noise, net->schedule.kept[b->level[row]], size);
    mw_noise_hold(input, b->cells.known, x, cells, o);
    for (size_t cell = 0; cell < cells; cell++) {
        const int t = (int)(cell / n);
        const bool counts = !b->cells.known[cell] && (t < c->context || recorded[t - 1] != 0);
        b->counts[row * cells + cell] = counts;
        b->total += counts ? (double)o : 0;
    }
}

static void fill(const mw_fit *f, void *slot, uint64_t step, bool held) {
    batch *b = slot;
    const mw_training_data *d = f->data;
    mw_window_fill(&b->rows, f->settings->batch, d->dataset, f->state,
                   held ? &d->split.held : &d->split.train, d->seed, step,
                   held ? MW_BATCH_VALIDATION : MW_BATCH_POLICY);
    b->total = 0;
    for (int row = 0; row < f->settings->batch; row++) {
        mw_rng rng = mw_rng_make(d->seed, MW_RNG_FLOW, step, (uint64_t)row, 4 + (uint64_t)held);
        fill_row(f, b, (size_t)row, &rng);
    }
}

/* ---- steps ---- */

typedef struct {
    mw_diffusion_area net;
    float *gradient;
} area;

static void carve(const mw_fit *f, void *own, mw_arena *arena, int rows) {
    area *a = own;
    const mw_flow_config *c = config_of(f);
    mw_diffusion_area_take(mw_diffusion_net_of(f->model), &a->net, arena, rows, true);
    a->gradient = mw_arena_floats(arena, (size_t)c->time * (size_t)(rows * c->agents * c->obs));
}

static void loss(const mw_fit *f, void *slot, void *own, int begin, int end, float *grads, double *losses) {
    const batch *b = slot;
    const area *a = own;
    const mw_diffusion_net *net = mw_diffusion_net_of(f->model);
    const mw_flow_config *c = &net->trunk.config;
    const size_t n = (size_t)c->agents, o = (size_t)c->obs, joint = n * o, time = (size_t)c->time,
                 count = (size_t)(end - begin);
    const float *values = f->shards.optimizer.values, *packed = f->shards.packed;
    const mw_diffusion_given given = {b->level + begin, b->rows.target + begin, b->keep + begin};
    float *input = mw_flow_input(a->net.acts);
    double sum = 0;
    for (size_t t = 0; t < time; t++)
        for (size_t j = 0; j < count; j++)
            memcpy(input + (t * count + j) * joint, b->input + (((size_t)begin + j) * time + t) * joint,
                   joint * sizeof *input);
    mw_diffusion_forward(net, &a->net, values, packed, &given, (int)count);
    for (size_t t = 0; t < time; t++)
        for (size_t j = 0; j < count; j++) {
            const size_t at = (t * count + j) * joint, from = ((size_t)begin + j) * time + t;
            sum += mw_noise_loss(a->gradient + at, a->net.predicted + at, b->noise + from * joint,
                                 b->counts + from * n, n, o, b->total);
        }
    losses[0] = sum / b->total;
    if (grads) mw_diffusion_backward(net, &a->net, grads, a->gradient, values, packed, &given, (int)count);
}

static mw_status open_training(mw_fit *f, mw_error *error) {
    const mw_diffusion_settings *s = mw_diffusion_settings_of(f->model);
    (void)error;
    *(mw_window_config *)f->state = (mw_window_config){.context = s->context,
                                                       .future = s->generated,
                                                       .discount = s->discount,
                                                       .return_scale = s->return_scale,
                                                       .obs_normalizer = f->data->obs_normalizer,
                                                       .act_normalizer = f->data->act_normalizer};
    f->groups[0].decay = (float)s->average;
    f->part.cost = 3 * mw_flow_net_flops(&mw_diffusion_net_of(f->model)->trunk, f->settings->batch);
    return MW_OK;
}

static const mw_fit_class fit_class = {
    .settings = AT(fit),
    .state = sizeof(mw_window_config),
    .slot = sizeof(batch),
    .area = sizeof(area),
    .losses = 1,
    .minimised = 1,
    .loss_names = {"noise"},
    .held_batches = 4,
    .stream = 2,
    .open = open_training,
    .slot_open = slot_open,
    .slot_close = slot_close,
    .fill = fill,
    .carve = carve,
    MW_ONE_TURN(.loss = loss),
};

static const mw_policy_class madiff_policy = {
    .help = "MADiff: denoises everybody's future, and the inverse dynamics say how to get there",
    .sees = "all",
    .source = "Zhu et al. 2024",
    .certain = "as published, small; changes in place of observations; joint=off is MADiff-D",
    MW_DIFFUSION_PLAY};

static const mw_policy_class dof_policy = {
    .help = "DoF: every agent denoises its own future, and the inverse dynamics say how to get there",
    .sees = "own",
    .source = "Li et al. 2025",
    .certain = "as published for trajectories, small; changes in place of observations",
    MW_DIFFUSION_PLAY};

const mw_model_class mw_madiff_class = {
    .name = "madiff",
    .help = "MADiff: denoises joint futures for a wanted return; actions by the inverse dynamics",
    .fields = MW_FIELDS(madiff_fields),
    .constants = constants,
    .needs = "inverse",
    .normalised = true,
    .make = make,
    .discard = discard,
    .pack = pack,
    .settle = MW_LEARNS(settle),
    .fit = MW_LEARNS(&fit_class),
    .policy = &madiff_policy,
};

const mw_model_class mw_dof_class = {
    .name = "dof",
    .help = "DoF: MADiff whose agents denoise apart, each on what it saw itself",
    .fields = MW_FIELDS(dof_fields),
    .constants = constants,
    .needs = "inverse",
    .normalised = true,
    .make = make,
    .discard = discard,
    .pack = pack,
    .settle = MW_LEARNS(settle),
    .fit = MW_LEARNS(&fit_class),
    .policy = &dof_policy,
};
