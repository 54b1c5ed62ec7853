/* The routed world model (RWM): next joint observation through a soft mixture of experts, per-agent rewards
 * through a sparse one. Two variants share the code: the paper's, with layer norms
 * around the tokens, and mawam's default, with standardised tokens and targets and learned norm features. */
#ifndef MW_MODEL_RWM_NETWORK_H
#define MW_MODEL_RWM_NETWORK_H

#include "core/arena.h"
#include "core/pool.h"
#include "model/token.h"
#include "nn/mlp.h"

#define MW_MAX_EXPERTS 16

typedef struct mw_world_config {
    int agents, obs, act;
    int hidden;
    int experts, slots;        /* dynamics: experts, and slots of each */
    int reward_experts, top_k; /* reward: experts, and how many of them an agent's token meets */
    bool standardise;          /* true: mawam's default. false: the paper's layer norms */
    int reward_features;       /* learned norm features of the reward token; 0: none */
    int dynamics_features;     /* the same for the dynamics token */
    int shared;                /* width of an expert that meets every token of the dynamics itself; 0: none */
    bool mean_agents;          /* tokens carry the mean of all agents' tokens */
    bool concat_agents;        /* instead: every agent's values one by one, and which agent is meant */
} mw_world_config;

/* Everything but agents, obs and act. */
mw_world_config mw_world_config_default(void);
mw_world_config mw_world_config_paper(void);
mw_status mw_world_config_check(const mw_world_config *config, mw_error *error);

typedef struct mw_world_net {
    mw_world_config config;
    mw_params params;
    mw_token dynamics_token, reward_token;
    mw_dense dispatch, combine, router;
    mw_mlp expert[MW_MAX_EXPERTS], shared, reward_expert[MW_MAX_EXPERTS];
    size_t output_w, output_b; /* layer norm of the change, paper's variant */
    mw_scales scales;          /* mawam's default variant */
} mw_world_net;

mw_status mw_world_net_make(mw_world_net *net, const mw_world_config *config, mw_error *error);
void mw_world_net_free(mw_world_net *net);
/* The norm features' start: lengths of pairs of neighbouring observed values and of differences of such
 * pairs, about their means and up to a factor (the scales must be set). In worlds where these are coordinates
 * around the origin, they are distances. */
void mw_world_net_aim(const mw_world_net *net, float *values);
void mw_world_net_pack(const mw_world_net *net, const float *values, float *packed, bool backward, int worker,
                       int workers);
/* Operations of one forward pass over `batch` joint transitions, with only the selected reward experts. */
double mw_world_net_flops(const mw_world_net *net, int batch);

/* One pass's values: shared by the workers of a pool, which divide the batch and the experts among them. */
typedef struct mw_world_work mw_world_work;

mw_status mw_world_work_create(mw_world_work **work, const mw_world_net *net, int max_batch, bool training,
                               mw_pool *pool, mw_error *error);
void mw_world_work_free(mw_world_work *work);
size_t mw_world_work_bytes(const mw_world_work *work);
int mw_world_work_batch(const mw_world_work *work); /* the largest batch it takes */

/* One step for a batch, called by every worker of a run: next[batch][n][o] and reward[batch][n] from
 * obs[batch][n][o] and act[batch][n][d] (one-hot if discrete). Afterwards worker w may read and change only
 * its own share of the batch (as mw_pool_share gives it) until the next call or barrier. next may not be obs.
 */
void mw_world_forward(const mw_world_net *net, mw_world_work *work, const float *values, const float *packed,
                      const float *obs, const float *act, float *next, float *reward, int batch, int worker);

#endif
