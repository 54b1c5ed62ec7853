/* Heads of policies: what an agent's network looks at, the losses of cloning and climbing at its output, and
 * play. Methods put them together. */
#ifndef MW_MODEL_ACTOR_H
#define MW_MODEL_ACTOR_H

#include "model/model.h"
#include "model/units.h"
#include "nn/mlp.h"

/* What an agent's network looks at: its own observation or everybody's, in units of the data, then a one of n
 * for who it is. */
typedef struct mw_view {
    mw_units units;
    int agents, obs;
    int seen, inputs; /* values of observations; with the number */
    bool joint;
} mw_view;

mw_view mw_view_of(const mw_units *units, const mw_model_shape *shape, bool joint);
/* x[n][stride] from a raw joint observation [n][o]; what follows the inputs in a row is left alone. */
void mw_view_fill(const mw_view *view, const float *values, const float *obs, float *x, size_t stride);

/* ---- losses at the output of one row; out[d] becomes their gradient, times share ---- */

/* The squared distance of tanh(out) from a recorded action. */
double mw_clone_real(float *out, const float *act, int d, float share);
/* Minus the log probability of the recorded action among the legal ones; prob[d], their probabilities, is written unless NULL. */
double mw_clone_index(float *out, float *prob, const uint8_t *legal, int32_t act, int d, float share);
/* out becomes tanh(out), and back from a gradient of that: g[d] *= 1 - tanh^2. */
void mw_tanh_forward(float *out, size_t count);
void mw_tanh_backward(float *gradient, const float *act, size_t count);

/* ---- play ---- */

/* How a network's output becomes an action: tanh of it, or an index that is drawn from the softmax over the
 * legal ones or is the likeliest. */
typedef enum mw_decide { MW_DECIDE_DRAW, MW_DECIDE_BEST } mw_decide;

typedef struct mw_actor_head {
    const mw_mlp *mlp;
    mw_view view;
    mw_decide decide; /* of discrete actions */
} mw_actor_head;

/* A policy that is one such network; `kind` has the other two. */
mw_status mw_head_policy_create(mw_policy **policy, const mw_policy_class *kind,
                                const mw_policy_context *context, const mw_actor_head *head, mw_error *error);
mw_status mw_head_policy_act(mw_policy *policy, const mw_policy_call *call, mw_error *error);
void mw_head_policy_destroy(mw_policy *policy);

#endif
