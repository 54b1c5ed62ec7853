/* Policies that climb twin critics: the networks, the batch of transitions, what a transition leads to, the
 * climb itself and play. TD3+BC, CQL and OMAR put their own losses to it. What they have of their own follows
 * these structs in theirs. */
#ifndef MW_MODEL_CLIMB_H
#define MW_MODEL_CLIMB_H

#include "data/transition.h"
#include "model/critic.h"
#include "model/fit.h"

typedef struct mw_climb_settings {
    int hidden;
    bool joint;
    double discount, slow;
    mw_fit_settings fit;
} mw_climb_settings;

/* clang-format off */
#define MW_CLIMB_FIELDS(hidden_, slow_)                                                                                                                        \
    {"hidden",   MW_FIELD_INT,    offsetof(mw_climb_settings, hidden),   hidden_, 1, 4096,      "width of the two hidden layers of every network", {0}, NULL}, \
    {"joint",    MW_FIELD_SWITCH, offsetof(mw_climb_settings, joint),    "off",   0, 1,         "critics see what all agents see", {0}, NULL},                 \
    {"discount", MW_FIELD_REAL,   offsetof(mw_climb_settings, discount), "0.99",  0, 1,         "of what follows", {0}, NULL},                                 \
    {"slow",     MW_FIELD_REAL,   offsetof(mw_climb_settings, slow),     slow_,   1e-3, 0.99999, "how much of the slow copies stays when they move", {0}, NULL}
/* clang-format on */

/* mw_model.net */
typedef struct mw_climber {
    mw_params params;
    mw_mlp policy;
    mw_view view; /* of the policy: its own observation */
    mw_twin critic;
} mw_climber;

/* Groups of weights, and what they are called. */
enum { MW_CLIMB_POLICY, MW_CLIMB_CRITIC };
#define MW_CLIMB_GROUPS                                                                                      \
    { "policy", "critic1" }

const mw_climb_settings *mw_climb_settings_of(const mw_model *model);
const mw_climber *mw_climber_of(const mw_model *model);
mw_status mw_climb_make(mw_model *model, mw_error *error);
void mw_climb_discard(mw_model *model);
void mw_climb_pack(const mw_model *model, const float *values, float *packed, bool backward);
void mw_climb_pack_group(const mw_model *model, int group, const float *values, float *packed, bool backward);

/* ---- training ---- */

typedef struct mw_climb_training {
    mw_episode_set steps;
    float *units; /* [total]: the weights that are not trained, the rest is not read */
    mw_arena arena;
} mw_climb_training;

typedef struct mw_climb_batch {
    mw_arena arena;
    float *obs, *next_obs, *act, *reward, *end;
    float *x, *next_x;          /* [b][n][inputs] of the policy */
    float *row, *next_row, *at; /* [b][n][inputs] of the critics: recorded, next and the policy's action */
    float *next_act, *next_q, *target, *q, *own, *policy_q;
} mw_climb_batch;

#define MW_CLIMB_SLOT                                                                                        \
    {"in.obs", offsetof(mw_climb_batch, obs), MW_F32, "bno", 0},                                             \
        {"in.next_obs", offsetof(mw_climb_batch, next_obs), MW_F32, "bno", 0},                               \
        {"in.act", offsetof(mw_climb_batch, act), MW_F32, "bnd", 0},                                         \
        {"in.reward", offsetof(mw_climb_batch, reward), MW_F32, "bn", 0},                                    \
        {"in.end", offsetof(mw_climb_batch, end), MW_F32, "b", 0},                                           \
        {"x", offsetof(mw_climb_batch, x), MW_F32, "bnX", 0},                                                \
        {"next_x", offsetof(mw_climb_batch, next_x), MW_F32, "bnX", 0},                                      \
        {"row", offsetof(mw_climb_batch, row), MW_F32, "bnC", 0},                                            \
        {"next_row", offsetof(mw_climb_batch, next_row), MW_F32, "bnC", 0},                                  \
        {"at", offsetof(mw_climb_batch, at), MW_F32, "bnC", 0},                                              \
        {"out.next_act", offsetof(mw_climb_batch, next_act), MW_F32, "bnd", 0},                              \
        {"out.next_q", offsetof(mw_climb_batch, next_q), MW_F32, "2bn", 0},                                  \
        {"out.target", offsetof(mw_climb_batch, target), MW_F32, "bn", 0},                                   \
        {"out.q", offsetof(mw_climb_batch, q), MW_F32, "2bn", 0},                                            \
        {"out.act", offsetof(mw_climb_batch, own), MW_F32, "bnd", 0}, {                                      \
        "out.policy_q", offsetof(mw_climb_batch, policy_q), MW_F32, "bn", 0                                  \
    }

/* Each shard's own. */
typedef struct mw_climb_area {
    mw_mlp_acts policy, critic[2];
    float *gradient, *dact, *drow; /* [rows] of a value, [rows][d], [rows][inputs] of the critics */
} mw_climb_area;

int mw_climb_extent(const mw_fit *fit, char letter); /* X and C; 0: neither */
mw_status mw_climb_open(mw_fit *fit, mw_error *error);
void mw_climb_close(mw_fit *fit);
void mw_climb_initialise(mw_fit *fit, float *values);
/* Draws a row of the batch, a joint transition; the stream goes on with what a method draws beside it. */
mw_rng mw_climb_draw(const mw_fit *fit, mw_climb_batch *batch, uint64_t step, size_t row);
void mw_climb_assemble(const mw_fit *fit, void *slot);
void mw_climb_carve(const mw_fit *fit, void *area, mw_arena *arena, int rows);

/* next_act becomes the slow policy's. */
void mw_climb_next(const mw_fit *fit, const mw_climb_batch *batch, mw_climb_area *area, mw_span span);
/* target = reward / scale + discount * the smaller slow critic at next_act; nothing follows an end. */
void mw_climb_target(const mw_fit *fit, const mw_climb_batch *batch, mw_climb_area *area, mw_span span,
                     float scale);
/* What the policy does now, and what the first critic says to it. */
void mw_climb_look(const mw_fit *fit, const mw_climb_batch *batch, mw_climb_area *area, mw_span span);
/* The mean of that, over the whole batch. */
double mw_climb_mean(const mw_fit *fit, const mw_climb_batch *batch);
/* After the look: the policy's gradient of weight * the sum of these values, plus area->dact[rows][d] of its
 * actions. */
void mw_climb_back(const mw_fit *fit, const mw_climb_batch *batch, mw_climb_area *area, mw_span span,
                   float weight, float *grads);

/* ---- play: tanh of the policy's output ---- */
mw_status mw_climb_policy_create(mw_policy **policy, const mw_policy_class *kind,
                                 const mw_policy_context *context, mw_error *error);

#endif
