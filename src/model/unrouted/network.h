/* World models without routing, with which the paper compares its own: one MLP over all agents' tokens at
 * once (mono), or the same over each agent's token alone (independent). They differ in how many tokens make a
 * row. */
#ifndef MW_MODEL_UNROUTED_NETWORK_H
#define MW_MODEL_UNROUTED_NETWORK_H

#include "model/token.h"
#include "nn/stack.h"

typedef struct mw_unrouted_config {
    int agents, obs, act;
    int group; /* tokens of a row: all agents, or 1 */
    int hidden;
    bool standardise; /* true: tokens and targets of the routed model's default. false: the paper's norms */
    int dynamics_features, reward_features; /* learned norm features of a token; 0 with the paper's norms */
} mw_unrouted_config;

typedef struct mw_unrouted_net {
    mw_unrouted_config config;
    mw_params params;
    mw_token dynamics_token, reward_token;
    mw_stack dynamics, reward; /* three hidden layers, two */
    mw_norm output;            /* of the change, over an agent's observation; the paper's norms */
    mw_scales scales;          /* standardised */
} mw_unrouted_net;

mw_status mw_unrouted_net_make(mw_unrouted_net *net, const mw_unrouted_config *config, mw_error *error);
void mw_unrouted_net_free(mw_unrouted_net *net);
void mw_unrouted_net_pack(const mw_unrouted_net *net, const float *values, float *packed, bool backward);
double mw_unrouted_net_flops(const mw_unrouted_net *net, int batch); /* of a forward pass */

/* What a pass over at most so many joint rows keeps; one worker's. */
typedef struct mw_unrouted_acts {
    mw_token_acts dynamics_token, reward_token;
    mw_stack_acts dynamics, reward;
    const float *change; /* [b][n][o], as the dynamics give it */
    float *stats;        /* [b][n][2] of the output norm */
    /* training */
    float *next, *rewards; /* [b][n][o], [b][n] */
    float *dchange;        /* [b][n][o] */
    float *dprojected, *scratch;
} mw_unrouted_acts;

void mw_unrouted_acts_take(const mw_unrouted_net *net, mw_unrouted_acts *acts, mw_arena *arena, int batch,
                           bool training);

/* next[batch][n][o] and reward[batch][n] from obs[batch][n][o] and act[batch][n][d]. */
void mw_unrouted_forward(const mw_unrouted_net *net, mw_unrouted_acts *acts, const float *values,
                         const float *packed, const float *obs, const float *act, float *next, float *reward,
                         int batch);

/* Losses of `batch` joint transitions out of `all`, as their share: mean squares of the changes and of the
 * rewards, standardised where the net is; and their gradient unless grads is NULL. The reward sees the
 * predicted observation, but sends no gradient to it. */
void mw_unrouted_loss(const mw_unrouted_net *net, mw_unrouted_acts *acts, const float *values,
                      const float *packed, const float *obs, const float *act, const float *next_obs,
                      const float *reward, int batch, int all, float *grads, double losses[2]);

#endif
