/* MA-TD3+BC: twin critics with slow copies, and a policy that climbs the first one while it stays near what
 * was recorded. The climb is scaled to unit size, so that one constant serves all rewards. Every agent acts
 * on its own observation. */
#include "model/climb.h"

#include <math.h>
#include <string.h>

typedef struct {
    mw_climb_settings base;
    double noise, noise_clip, climb;
    int delay;
} settings;

#define AT(member) offsetof(settings, member)

/* clang-format off */
static const mw_field fields[] = {
    MW_CLIMB_FIELDS("256", "0.995"),
    {"noise",      MW_FIELD_REAL, AT(noise),      "0.2", 0, 10,   "of the next action that critics are told of", {0}, NULL},
    {"noise_clip", MW_FIELD_REAL, AT(noise_clip), "0.5", 0, 10,   "where it is cut", {0}, NULL},
    {"climb",      MW_FIELD_REAL, AT(climb),      "2.5", 0, 1e6,  "weight of the critic beside cloning", {0}, NULL},
    {"delay",      MW_FIELD_INT,  AT(delay),      "2",   1, 1000, "steps of the critics for each of the policy", {0}, NULL},
    MW_FIT_FIELDS(settings, base.fit, "joint transitions", "30000", "171", "0.0003", "0"),
    MW_SHARDS_FIELD(settings, base.fit),
};
/* clang-format on */
_Static_assert(sizeof(settings) <= MW_CONFIG_BYTES, "settings fit into a configuration");

static const mw_constants constants[] = {
    {"spread tag world", "discount=0.95", "OMAR's code"},
    {"2ant 4ant", "joint=on", "OG-MARL's code"},
    {NULL, NULL, NULL},
};

static const settings *settings_of(const mw_model *model) {
    return (const settings *)(const void *)&model->config;
}

/* ---- training ---- */

typedef struct {
    mw_climb_batch base;
    float *noise, *next_mean, *climb;
} batch;

static const mw_slot_field batch_fields[] = {
    MW_CLIMB_SLOT,
    {"draw.noise", offsetof(batch, noise), MW_F32, "bnd", 0},
    {"out.next_mean", offsetof(batch, next_mean), MW_F32, "bnd", 0},
    {"out.lam", offsetof(batch, climb), MW_F32, "1", 0},
};

static mw_status open_training(mw_fit *f, mw_error *error) {
    const mw_climber *net = mw_climber_of(f->model);
    const int rows = f->settings->batch * f->model->shape.agents;
    const double critic = mw_mlp_flops(&net->critic.mlp[0], rows), policy = mw_mlp_flops(&net->policy, rows);
    f->part.cost = 8 * critic + policy + (3 * critic + 3 * policy) / settings_of(f->model)->delay;
    return mw_climb_open(f, error);
}

static void fill(const mw_fit *f, void *slot, uint64_t step, bool held) {
    batch *b = slot;
    const size_t cells = (size_t)f->model->shape.agents * (size_t)f->model->shape.act;
    (void)held; /* there is no validation */
    for (size_t row = 0; row < (size_t)f->settings->batch; row++) {
        mw_rng rng = mw_climb_draw(f, &b->base, step, row);
        mw_rng_fill_normal(&rng, b->noise + row * cells, cells);
    }
}

/* At the slow policy's noisy action. */
static void find_targets(const mw_fit *f, const batch *b, mw_climb_area *a, mw_span s) {
    const settings *set = settings_of(f->model);
    const size_t d = (size_t)f->model->shape.act, first = s.first * d, count = s.count * d;
    const float clip = (float)set->noise_clip;
    float *act = b->base.next_act + first;
    mw_climb_next(f, &b->base, a, s);
    memcpy(b->next_mean + first, act, count * sizeof *act);
    for (size_t k = 0; k < count; k++) {
        const float noise = (float)set->noise * b->noise[first + k];
        act[k] = fminf(fmaxf(act[k] + fminf(fmaxf(noise, -clip), clip), -1), 1);
    }
    mw_climb_target(f, &b->base, a, s, 1);
}

static void critic_loss(const mw_fit *f, void *slot, void *own, int begin, int end, float *grads,
                        double *losses) {
    const batch *b = slot;
    mw_climb_area *a = own;
    const mw_twin *twin = &mw_climber_of(f->model)->critic;
    const mw_span s = mw_span_of(f, begin, end);
    const float *rows = b->base.row + s.first * (size_t)twin->inputs;
    double sum = 0;
    find_targets(f, b, a, s);
    for (int j = 0; j < 2; j++) {
        float *q = b->base.q + (size_t)j * s.all + s.first;
        memcpy(q,
               mw_mlp_forward(&twin->mlp[j], &a->critic[j], rows, f->shards.optimizer.values,
                              f->shards.packed, (int)s.count),
               s.count * sizeof *q);
        for (size_t row = 0; row < s.count; row++) {
            const float off = q[row] - b->base.target[s.first + row];
            sum += (double)(off * off);
            a->gradient[row] = 2 * off / (float)s.all;
        }
        if (grads)
            mw_mlp_backward(&twin->mlp[j], &a->critic[j], NULL, grads, a->gradient, rows, f->shards.packed,
                            (int)s.count);
    }
    losses[0] = sum / (double)s.all;
}

static void policy_look(const mw_fit *f, void *slot, void *own, int begin, int end) {
    mw_climb_look(f, slot, own, mw_span_of(f, begin, end));
}

/* One weight for the whole batch, without a gradient: with one, values of one sign would have none. */
static void policy_settle(const mw_fit *f, void *slot, double *losses) {
    const batch *b = slot;
    const mw_span s = mw_span_of(f, 0, f->settings->batch);
    double size = 0;
    for (size_t row = 0; row < s.all; row++) size += fabs((double)b->base.policy_q[row]);
    b->climb[0] = (float)(settings_of(f->model)->climb / fmax(size / (double)s.all, 1e-8));
    losses[3] = mw_climb_mean(f, &b->base);
    losses[1] = -(double)b->climb[0] * losses[3];
}

static void policy_loss(const mw_fit *f, void *slot, void *own, int begin, int end, float *grads,
                        double *losses) {
    const batch *b = slot;
    mw_climb_area *a = own;
    const mw_span s = mw_span_of(f, begin, end);
    const size_t d = (size_t)f->model->shape.act;
    const float *act = b->base.own + s.first * d, *recorded = b->base.act + s.first * d;
    double sum = 0;
    for (size_t k = 0; k < s.count * d; k++) {
        const float off = act[k] - recorded[k];
        sum += (double)(off * off);
        a->dact[k] = 2 * off / (float)(s.all * d);
    }
    losses[2] = sum / (double)(s.all * d);
    losses[1] = losses[2];
    if (grads) mw_climb_back(f, &b->base, a, s, -b->climb[0] / (float)s.all, grads);
}

static const mw_turn turns[] = {
    {.group = MW_CLIMB_CRITIC, .loss = critic_loss},
    {.group = MW_CLIMB_POLICY,
     .period = AT(delay),
     .look = policy_look,
     .settle = policy_settle,
     .loss = policy_loss},
};

static const mw_phase phase = {.turns = turns, .turn_count = 2, .follow = AT(delay)};

static const mw_fit_class fit_class = {
    .settings = AT(base.fit),
    .state = sizeof(mw_climb_training),
    .slot = sizeof(batch),
    .area = sizeof(mw_climb_area),
    .losses = 4,
    .loss_names = {"critic", "policy", "cloning", "q"},
    .apart = true,
    .targets = true,
    .groups = MW_CLIMB_GROUPS,
    .stream = 2,
    .open = open_training,
    .close = mw_climb_close,
    .fields = batch_fields,
    .field_count = sizeof batch_fields / sizeof *batch_fields,
    .extent = mw_climb_extent,
    .initialise = mw_climb_initialise,
    .fill = fill,
    .assemble = mw_climb_assemble,
    .phases = &phase,
    .phase_count = 1,
    .carve = mw_climb_carve,
    .pack = mw_climb_pack_group,
};

/* ---- play ---- */

static const mw_policy_class policy_class;

static mw_status policy_create(mw_policy **out, const mw_policy_context *context, mw_error *error) {
    return mw_climb_policy_create(out, &policy_class, context, error);
}

static const mw_policy_class policy_class = {.help = "MA-TD3+BC: climbs a critic, near what was recorded",
                                             .sees = "own",
                                             .source = "Fujimoto and Gu 2021",
                                             .certain = "as published; for several agents as OG-MARL has it",
                                             .create = policy_create,
                                             .act = mw_head_policy_act,
                                             .destroy = mw_head_policy_destroy};

const mw_model_class mw_td3bc_class = {
    .name = "td3bc",
    .help = "MA-TD3+BC: a policy that climbs the smaller of two critics and stays near what was recorded",
    .fields = MW_FIELDS(fields),
    .constants = constants,
    .real_only = true,
    .make = mw_climb_make,
    .discard = mw_climb_discard,
    .pack = mw_climb_pack,
    .fit = MW_LEARNS(&fit_class),
    .policy = &policy_class,
};
