/* MA-CQL's pessimistic critics of real actions, which OMAR has too: twin critics that are pushed down on
 * actions nobody took and up on recorded ones; and the learner of discrete actions. */
#ifndef MW_MODEL_CQL_CQL_H
#define MW_MODEL_CQL_CQL_H

#include "model/climb.h"

typedef struct mw_cql_settings {
    mw_climb_settings base;
    double alpha, decay, reward_scale, near_noise;
    int uniform, near;
} mw_cql_settings;

#define MW_CQL_AT(member) offsetof(mw_cql_settings, member)

/* clang-format off */
#define MW_CQL_FIELDS                                                                                                                                         \
    {"uniform",      MW_FIELD_INT,  MW_CQL_AT(uniform),      "10",    1, 256,    "real actions: drawn uniformly, that critics are pushed down on", {0}, NULL}, \
    {"near",         MW_FIELD_INT,  MW_CQL_AT(near),         "0",     0, 256,    "real actions: as uniform, around the policy's own, and as many around its next", {0}, NULL}, \
    {"near_noise",   MW_FIELD_REAL, MW_CQL_AT(near_noise),   "0.2",   1e-3, 10,  "how far around, as a standard deviation", {0}, NULL},                       \
    {"decay",        MW_FIELD_REAL, MW_CQL_AT(decay),        "0.001", 0, 1e3,    "real actions: weight of the policy's mean square", {0}, NULL},                \
    {"reward_scale", MW_FIELD_REAL, MW_CQL_AT(reward_scale), "1",     1e-6, 1e6, "what rewards are divided by", {0}, NULL}
/* clang-format on */

/* OMAR's code for its data; spread, tag and world. */
#define MW_CQL_MPE_CONSTANTS                                                                                 \
    {"spread tag world", "discount=0.95 hidden=128 slow=0.99", "OMAR's code; nets wider, for all agents"},   \
        {"spread-random tag-random tag-medium-replay world-random world-medium", "alpha=0.5",                \
         "OMAR's code"},                                                                                     \
        {"spread-medium-replay world-medium-replay", "alpha=1", "OMAR's code"}, {                            \
        "spread-medium spread-expert tag-medium tag-expert world-expert", "alpha=5", "OMAR's code"           \
    }

typedef struct mw_cql_batch {
    mw_climb_batch base;
    float *uniform, *near, *near_next; /* draws [b][n][k][d] */
    float *sample_act, *log_density;   /* [b][n][K][d], [b][n][K] */
    float *sample_q, *penalty;         /* [2][b][n][K], [2][b][n] */
    float *td, *gap;                   /* [2] */
} mw_cql_batch;

#define MW_CQL_SLOT                                                                                          \
    MW_CLIMB_SLOT, {"draw.uniform", offsetof(mw_cql_batch, uniform), MW_F32, "bnUd", 0},                     \
        {"draw.near_noise", offsetof(mw_cql_batch, near), MW_F32, "bnNd", 0},                                \
        {"draw.near_next_noise", offsetof(mw_cql_batch, near_next), MW_F32, "bnNd", 0},                      \
        {"out.sample_act", offsetof(mw_cql_batch, sample_act), MW_F32, "bnKd", 0},                           \
        {"out.sample_log_density", offsetof(mw_cql_batch, log_density), MW_F32, "bnK", 0},                   \
        {"out.sample_q", offsetof(mw_cql_batch, sample_q), MW_F32, "2bnK", 0},                               \
        {"out.penalty", offsetof(mw_cql_batch, penalty), MW_F32, "2bn", 0},                                  \
        {"out.td", offsetof(mw_cql_batch, td), MW_F32, "2", 0}, {                                            \
        "out.gap", offsetof(mw_cql_batch, gap), MW_F32, "2", 0                                               \
    }

/* Each shard's own. Rows of samples: for every row its K samples, then the recorded action. */
typedef struct mw_cql_area {
    mw_climb_area base;
    mw_mlp_acts many[2];
    float *rows, *gradient[2]; /* [rows][K + 1][inputs], [rows][K + 1] */
    float *shifted;            /* [K] */
} mw_cql_area;

/* Losses that critics report, by their place; MW_CQL_POLICY and MW_CQL_Q are the policy's. */
enum { MW_CQL_CRITIC, MW_CQL_POLICY, MW_CQL_TD, MW_CQL_GAP, MW_CQL_Q, MW_CQL_LOSSES };

int mw_cql_samples(const mw_model *model);           /* K */
int mw_cql_extent(const mw_fit *fit, char letter);   /* X, C, U, N and K; 0: none of these */
double mw_cql_cost(const mw_fit *fit, int searched); /* of a step with so many more actions for each row */
/* Actions begin near zero. */
void mw_cql_initialise(mw_fit *fit, float *values);
/* A row of the batch as mw_climb_draw, with the samples' randomness. */
mw_rng mw_cql_draw(const mw_fit *fit, mw_cql_batch *batch, uint64_t step, size_t row);
/* With room for so many samples of a row. */
void mw_cql_carve(const mw_fit *fit, mw_cql_area *area, mw_arena *arena, int rows, int samples);
/* rows[count][each][inputs]: each row of critics so often. */
void mw_cql_spread(const mw_twin *twin, float *rows, const float *from, size_t count, size_t each);

/* The critics' turn. */
void mw_cql_critic_look(const mw_fit *fit, void *slot, void *area, int begin, int end);
void mw_cql_critic_settle(const mw_fit *fit, void *slot, double *losses);
void mw_cql_critic_loss(const mw_fit *fit, void *slot, void *area, int begin, int end, float *grads,
                        double *losses);

/* ---- discrete actions: a critic of all actions, which plays as it is ---- */
typedef struct mw_cql_values {
    mw_params params;
    mw_mlp critic;
    mw_view view;
} mw_cql_values;

extern const mw_fit_class mw_cql_discrete_fit;
mw_status mw_cql_discrete_make(mw_model *model, mw_error *error);

#endif
