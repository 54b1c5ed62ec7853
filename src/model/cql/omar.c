/* OMAR: MA-CQL's critics, and a policy that beside climbing them imitates the best action of a search around
 * a moving Gaussian. A gradient alone gets stuck on the local tops of a pessimistic critic. */
#include "model/cql/cql.h"
#include "nn/categorical.h"

#include <math.h>
#include <string.h>

typedef struct {
    mw_cql_settings cql;
    double mix, search_mean, search_std;
    int search_rounds, search_samples;
} settings;

#define AT(member) offsetof(settings, member)

/* clang-format off */
static const mw_field fields[] = {
    MW_CLIMB_FIELDS("128", "0.99"),
    {"alpha",          MW_FIELD_REAL, AT(cql.alpha),      "1",   0, 1e6,   "weight of what pushes critics down", {0}, NULL},
    MW_CQL_FIELDS,
    {"mix",            MW_FIELD_REAL, AT(mix),            "0.9", 0, 1,     "weight of imitating the search; climbing has the rest", {0}, NULL},
    {"search_rounds",  MW_FIELD_INT,  AT(search_rounds),  "3",   1, 16,    "of the search", {0}, NULL},
    {"search_samples", MW_FIELD_INT,  AT(search_samples), "10",  1, 256,   "actions in each", {0}, NULL},
    {"search_mean",    MW_FIELD_REAL, AT(search_mean),    "0",   -1, 1,    "of the first round's actions", {0}, NULL},
    {"search_std",     MW_FIELD_REAL, AT(search_std),     "2",   1e-6, 100, "and their standard deviation, before they are cut to [-1, 1]", {0}, NULL},
    MW_FIT_FIELDS(settings, cql.base.fit, "joint transitions", "20000", "85", "0.0003", "0"),
    MW_SHARDS_FIELD(settings, cql.base.fit),
};
/* clang-format on */
_Static_assert(sizeof(settings) <= MW_CONFIG_BYTES, "settings fit into a configuration");

static const mw_constants constants[] = {
    MW_CQL_MPE_CONSTANTS,
    {"spread world-random", "mix=1", "OMAR's code"},
    {"tag-medium world-medium-replay", "mix=0.7", "OMAR's code"},
    {"world-medium", "mix=0.1", "OMAR's code"},
    {"2ant 4ant", "joint=on uniform=4 near=4 reward_scale=20", "as cql's"},
    {"2ant", "batch=128", "256 rows of agents in a step"},
    {"4ant", "batch=64", "256 rows of agents in a step"},
    {NULL, NULL, NULL},
};

static const settings *settings_of(const mw_model *model) {
    return (const settings *)(const void *)&model->config;
}

/* ---- batches ---- */

typedef struct {
    mw_cql_batch cql;
    float *noise;                                             /* [b][n][rounds][samples][d] */
    float *search_act, *search_q, *weight, *mean, *deviation; /* the same, .. without d, .. without samples */
    float *best;                                              /* [b][n][d] */
    int32_t *place, *sampled;                                 /* [b][n] */
} batch;

#define IN(member) offsetof(batch, member)

static const mw_slot_field batch_fields[] = {
    MW_CQL_SLOT,
    {"draw.search_noise", IN(noise), MW_F32, "bnRSd", 0},
    {"out.search_act", IN(search_act), MW_F32, "bnRSd", 0},
    {"out.search_q", IN(search_q), MW_F32, "bnRS", 0},
    {"out.search_weight", IN(weight), MW_F32, "bnRS", 0},
    {"out.search_mean", IN(mean), MW_F32, "bnRd", 0},
    {"out.search_std", IN(deviation), MW_F32, "bnRd", 0},
    {"out.search_index", IN(place), MW_I32, "bn", 0},
    {"out.best_sampled", IN(sampled), MW_I32, "bn", 0},
    {"out.best", IN(best), MW_F32, "bnd", 0},
};

typedef struct {
    mw_cql_area cql;
    float *act; /* [rows][samples][d]: of a round */
} area;

static int extent(const mw_fit *f, char letter) {
    const settings *s = settings_of(f->model);
    return letter == 'R' ? s->search_rounds : letter == 'S' ? s->search_samples : mw_cql_extent(f, letter);
}

static mw_status open_training(mw_fit *f, mw_error *error) {
    f->part.cost = mw_cql_cost(f, extent(f, 'R') * extent(f, 'S'));
    return mw_climb_open(f, error);
}

static void fill(const mw_fit *f, void *slot, uint64_t step, bool held) {
    batch *b = slot;
    const size_t draws = (size_t)(f->model->shape.agents * f->model->shape.act) * (size_t)extent(f, 'R') *
                         (size_t)extent(f, 'S');
    (void)held; /* there is no validation */
    for (size_t row = 0; row < (size_t)f->settings->batch; row++) {
        mw_rng rng = mw_cql_draw(f, &b->cql, step, row);
        mw_rng_fill_normal(&rng, b->noise + row * draws, draws);
    }
}

static void carve(const mw_fit *f, void *own, mw_arena *arena, int rows) {
    area *a = own;
    const int samples = mw_cql_samples(f->model) + 1, searched = extent(f, 'S');
    mw_cql_carve(f, &a->cql, arena, rows, samples > searched ? samples : searched);
    a->act = mw_arena_floats(arena, (size_t)(rows * f->model->shape.agents * searched * f->model->shape.act));
}

/* ---- the search ---- */

/* A row's actions of a round around mean and deviation, [d] each; `each` 0: one number for all values. */
static void sample(const float *mean, const float *deviation, int each, const float *noise, int samples,
                   int d, float *act) {
    for (int i = 0; i < samples * d; i++)
        act[i] = fminf(fmaxf(mean[i % d * each] + deviation[i % d * each] * noise[i], -1), 1);
}

/* Where they move: the mean by values, and the deviation of all from it. */
static void move(const float *act, const float *q, int samples, int d, float *weight, float *mean,
                 float *deviation) {
    mw_categorical_softmax(weight, q, NULL, samples);
    for (int k = 0; k < d; k++) {
        float sum = 0, square = 0;
        for (int i = 0; i < samples; i++) sum += weight[i] * act[i * d + k];
        for (int i = 0; i < samples; i++) square += (act[i * d + k] - sum) * (act[i * d + k] - sum);
        mean[k] = sum;
        deviation[k] = sqrtf(square / (float)samples);
    }
}

/* One round for all rows; the round before it has told where. */
static void search_round(const mw_fit *f, const batch *b, area *a, mw_span s, size_t round) {
    const settings *set = settings_of(f->model);
    const mw_twin *twin = &mw_climber_of(f->model)->critic;
    const size_t rounds = (size_t)set->search_rounds, n = (size_t)set->search_samples, d = (size_t)twin->act;
    const float first_mean = (float)set->search_mean, first_std = (float)set->search_std;
    for (size_t row = 0; row < s.count; row++) {
        const size_t at = (s.first + row) * rounds + round;
        const float *mean = round ? b->mean + (at - 1) * d : &first_mean,
                    *std = round ? b->deviation + (at - 1) * d : &first_std;
        sample(mean, std, round > 0, b->noise + at * n * d, (int)n, (int)d, a->act + row * n * d);
        memcpy(b->search_act + at * n * d, a->act + row * n * d, n * d * sizeof *a->act);
    }
    mw_twin_put(twin, a->cql.rows, a->act, (int)(s.count * n));
    const float *q = mw_mlp_forward(&twin->mlp[0], &a->cql.many[0], a->cql.rows, f->shards.optimizer.values,
                                    f->shards.packed, (int)(s.count * n));
    for (size_t row = 0; row < s.count; row++) {
        const size_t at = (s.first + row) * rounds + round;
        memcpy(b->search_q + at * n, q + row * n, n * sizeof *q);
        move(a->act + row * n * d, q + row * n, (int)n, (int)d, b->weight + at * n, b->mean + at * d,
             b->deviation + at * d);
    }
}

/* The best of the last round, unless the policy's own action is better. */
static void policy_look(const mw_fit *f, void *slot, void *own, int begin, int end) {
    const batch *b = slot;
    area *a = own;
    const mw_twin *twin = &mw_climber_of(f->model)->critic;
    const mw_span s = mw_span_of(f, begin, end);
    const size_t rounds = (size_t)extent(f, 'R'), n = (size_t)extent(f, 'S'), d = (size_t)twin->act;
    mw_climb_look(f, &b->cql.base, &a->cql.base, s);
    mw_cql_spread(twin, a->cql.rows, b->cql.base.row + s.first * (size_t)twin->inputs, s.count, n);
    for (size_t round = 0; round < rounds; round++) search_round(f, b, a, s, round);
    for (size_t row = s.first; row < s.first + s.count; row++) {
        const size_t last = (row * rounds + rounds - 1) * n;
        const int32_t place = mw_categorical_best(b->search_q + last, NULL, (int)n);
        const bool better = b->search_q[last + (size_t)place] > b->cql.base.policy_q[row];
        b->place[row] = place;
        b->sampled[row] = better;
        memcpy(b->best + row * d,
               better ? b->search_act + (last + (size_t)place) * d : b->cql.base.own + row * d,
               d * sizeof *b->best);
    }
}

/* ---- the policy's loss ---- */

enum { IMITATE = MW_CQL_LOSSES, LOSSES };

static void policy_settle(const mw_fit *f, void *slot, double *losses) {
    const batch *b = slot;
    losses[MW_CQL_Q] = mw_climb_mean(f, &b->cql.base);
    losses[MW_CQL_POLICY] = -(1 - settings_of(f->model)->mix) * losses[MW_CQL_Q];
}

/* mix * the mean square distance from the best - (1 - mix) * mean Q_1 + decay * the mean square of actions.
 */
static void policy_loss(const mw_fit *f, void *slot, void *own, int begin, int end, float *grads,
                        double *losses) {
    const batch *b = slot;
    area *a = own;
    const settings *set = settings_of(f->model);
    const mw_span s = mw_span_of(f, begin, end);
    const size_t d = (size_t)f->model->shape.act;
    const float *act = b->cql.base.own + s.first * d, *best = b->best + s.first * d, mix = (float)set->mix,
                decay = (float)set->cql.decay, share = 2 / (float)(s.all * d);
    double off = 0, square = 0;
    for (size_t k = 0; k < s.count * d; k++) {
        const float away = act[k] - best[k];
        off += (double)(away * away);
        square += (double)(act[k] * act[k]);
        a->cql.base.dact[k] = share * (mix * away + decay * act[k]);
    }
    losses[IMITATE] = off / (double)(s.all * d);
    losses[MW_CQL_POLICY] = set->mix * losses[IMITATE] + set->cql.decay * square / (double)(s.all * d);
    if (grads) mw_climb_back(f, &b->cql.base, &a->cql.base, s, -(1 - mix) / (float)s.all, grads);
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
    .settings = AT(cql.base.fit),
    .state = sizeof(mw_climb_training),
    .slot = sizeof(batch),
    .area = sizeof(area),
    .losses = LOSSES,
    .loss_names = {"critic", "policy", "td", "gap", "q", "imitate"},
    .apart = true,
    .targets = true,
    .groups = MW_CLIMB_GROUPS,
    .stream = 2,
    .open = open_training,
    .close = mw_climb_close,
    .fields = batch_fields,
    .field_count = sizeof batch_fields / sizeof *batch_fields,
    .extent = extent,
    .initialise = mw_cql_initialise,
    .fill = fill,
    .assemble = mw_climb_assemble,
    .phases = &phase,
    .phase_count = 1,
    .carve = carve,
    .pack = mw_climb_pack_group,
};
_Static_assert((int)LOSSES <= (int)MW_LOSSES, "losses fit into a part's");

/* ---- play ---- */

static const mw_policy_class policy_class;

static mw_status policy_create(mw_policy **out, const mw_policy_context *context, mw_error *error) {
    return mw_climb_policy_create(out, &policy_class, context, error);
}

static const mw_policy_class policy_class = {.help =
                                                 "OMAR: MA-CQL whose policy imitates the best of a search",
                                             .sees = "own",
                                             .source = "Pan et al. 2022",
                                             .certain = "as its code; one network for all agents",
                                             .create = policy_create,
                                             .act = mw_head_policy_act,
                                             .destroy = mw_head_policy_destroy};

const mw_model_class mw_omar_class = {
    .name = "omar",
    .help = "OMAR: MA-CQL's critics, and a policy that also imitates the best actions of a search",
    .fields = MW_FIELDS(fields),
    .constants = constants,
    .real_only = true,
    .make = mw_climb_make,
    .discard = mw_climb_discard,
    .pack = mw_climb_pack,
    .fit = MW_LEARNS(&fit_class),
    .policy = &policy_class,
};
