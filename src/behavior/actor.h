/* A decentralised policy: one small network that every agent applies to its own observation. The learner
 * trains it, behaviour files store it, datasets are collected with it. */
#ifndef MW_BEHAVIOR_ACTOR_H
#define MW_BEHAVIOR_ACTOR_H

#include "core/rng.h"
#include "nn/mlp.h"

typedef struct mw_actor_shape {
    int agents, obs, act; /* n, o, d of the task */
    bool discrete;
    bool ids;   /* a one-hot agent number follows the observation in the network's input */
    int hidden; /* width of the two hidden layers */
    mw_activation activation;
} mw_actor_shape;

static inline int mw_actor_inputs(const mw_actor_shape *shape) {
    return shape->obs + (shape->ids ? shape->agents : 0);
}

typedef struct mw_actor {
    mw_actor_shape shape;
    mw_params params;
    mw_mlp mlp; /* tensors actor.0, actor.2, actor.4 */
    float *values, *packed;
} mw_actor;

/* Adds the network to a table of parameters: the learner's own, or an actor's. */
mw_mlp mw_actor_layers(mw_params *params, const mw_actor_shape *shape);

mw_status mw_actor_create(mw_actor *actor, const mw_actor_shape *shape, mw_error *error);
void mw_actor_free(mw_actor *actor);
void mw_actor_pack(mw_actor *actor); /* after the values changed */

/* One thread's scratch for up to `count` joint observations at a time. */
typedef struct mw_actor_work {
    mw_arena arena;
    mw_mlp_acts acts;
    float *input; /* [count][n][inputs] */
} mw_actor_work;

mw_status mw_actor_work_create(mw_actor_work *work, const mw_actor_shape *shape, int count, mw_error *error);
void mw_actor_work_free(mw_actor_work *work);

/* obs[count][n][o] -> [count][n][d], inside work: logits, or what tanh turns into the mean action. */
const float *mw_actor_forward(const mw_actor *actor, mw_actor_work *work, const float *obs, int count);

/* How a policy explores. Real actions: normal noise of this std around tanh(output), clipped to [-1,1].
 * Discrete: with probability `noise` uniform over the legal actions, otherwise drawn from the softmax. */
void mw_actor_draw_real(float *real, const float *out, int count, float noise, mw_rng *rng);
int32_t mw_actor_draw_index(const float *logits, const uint8_t *legal, int act, float noise, mw_rng *rng);

#endif
