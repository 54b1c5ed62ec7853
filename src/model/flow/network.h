/* The proposer's velocity network u(x, j | ret, keep): a U-Net over time, shared by all agents, which meet in
 * attention. Inside, sequences are time-major, [t][b*n][channels]. */
#ifndef MW_MODEL_FLOW_NETWORK_H
#define MW_MODEL_FLOW_NETWORK_H

#include "core/arena.h"
#include "nn/mlp.h"

#define MW_LEVELS 3
#define MW_GROUPS 8
#define MW_HEADS  4

enum { MW_FLOW_AGENTS = 32 }; /* at most */

typedef struct mw_flow_config {
    int agents, obs;
    int dim, mults[MW_LEVELS];
    int time;             /* T: observations in a segment, context included; divisible by 4 */
    int context;          /* C: clamped steps at its start */
    int bins;             /* N: time bins of the flow */
    bool project;         /* attention has its output projection W_O */
    bool residual;        /* what is generated are changes from the present, see mw_flow_forward */
    int forecast;         /* with residual: width of the MLP that expects them, see mw_flow_expect; 0: none */
    float scale;          /* with residual: what the flow works on is multiplied by this; 0 is 1 */
    bool forecast_return; /* the forecast sees the return condition too */
    bool apart;           /* agents never meet: there is no attention */
} mw_flow_config;

mw_status mw_flow_config_check(const mw_flow_config *config, mw_error *error);

typedef struct mw_res_block {
    int in, out;
    mw_dense conv1, conv2, time, skip; /* skip: only if in != out */
    size_t norm1_w, norm1_b, norm2_w, norm2_b;
} mw_res_block;

typedef struct mw_agent_attention {
    int channels, qk, v; /* qk, v: per head */
    mw_dense q, k, value, q_time, k_time, value_time, out;
    size_t gamma;
} mw_agent_attention;

typedef struct mw_flow_net {
    mw_flow_config config;
    mw_params params;
    mw_dense time_mlp[2], return_mlp[3];
    mw_res_block down[MW_LEVELS][2], middle[2], up[MW_LEVELS - 1][2];
    mw_dense shrink[MW_LEVELS - 1], grow[MW_LEVELS - 1];
    mw_agent_attention middle_attention, skip_attention[MW_LEVELS - 1];
    mw_dense final_conv, final_out;
    size_t final_norm_w, final_norm_b;
    mw_mlp forecast; /* mw_flow_view_width -> width -> width -> width -> [T - C][o] */
} mw_flow_net;

/* The network's structure and parameter table; weights live in arrays of params.total floats, packed matrices
 * in arrays of params.packed floats. */
mw_status mw_flow_net_make(mw_flow_net *net, const mw_flow_config *config, mw_error *error);
void mw_flow_net_free(mw_flow_net *net);
/* Packs the matrices that fall to `worker` of `workers`; all of them together pack everything. */
void mw_flow_net_pack(const mw_flow_net *net, const float *values, float *packed, bool backward, int worker,
                      int workers);
double mw_flow_net_flops(const mw_flow_net *net, int batch); /* of one forward pass over `batch` joint
                                                                    trajectories */

/* One thread's kept values and scratch. */
typedef struct mw_flow_acts mw_flow_acts;

/* With arena->base NULL this only measures and returns NULL. */
mw_flow_acts *mw_flow_acts_take(const mw_flow_net *net, mw_arena *arena, int max_batch, bool training);

/* The network's input buffer for a batch: [t][b*n][o], to be filled before forward. */
float *mw_flow_input(mw_flow_acts *acts);

/* bin[b], target[b], keep[b]; returns the velocity [t][b*n][o], inside acts.
 *
 * With residual, x after the context is observation - current observation, and the network's output is what
 * is left of the velocity after x / level[b], where level is the flow time of x: all of it, were the future
 * to repeat the present. So noise need not pass through the network, which is narrower than an observation of
 * a battle, and what it predicts is the change. Without it level may be NULL. */
const float *mw_flow_forward(const mw_flow_net *net, mw_flow_acts *acts, const float *values,
                             const float *packed, const int *bin, const float *level, const float *target,
                             const float *keep, int batch);

/* A forecast expects of each agent's present what its observation will change by, and the flow generates only
 * what that leaves open. The flow meets pure noise, where the present has to say everything, in few of its
 * rows, and all its agents are one; the forecast is told which agent it is, and learns the mean by regression
 * from batches of its own that cost little.
 *
 * Data of several behaviours have several means: the return that is wanted says which.
 *
 * The forecast's n rows of a joint observation [n][o]: the observation, the agent one-hot, and the target if
 * it sees that. */
int mw_flow_view_width(const mw_flow_config *config); /* of a row */
void mw_flow_view(const mw_flow_net *net, float *rows, const float *joint, float target);
/* Of at most max_batch joint observations, laid out like that: the expected changes [batch][n][T - C][o],
 * inside acts; NULL without a forecast. */
const float *mw_flow_expect(const mw_flow_net *net, mw_flow_acts *acts, const float *values,
                            const float *packed, const float *view, int batch);

/* Observations x[T][n][o] to what the flow works on, and back; without residual nothing happens. expected:
 * of mw_flow_expect, or NULL. */
void mw_flow_from_obs(const mw_flow_net *net, float *x, const float *expected);
void mw_flow_to_obs(const mw_flow_net *net, float *x, const float *expected);

/* grads += gradient of <dvelocity, velocity> for the last forward pass; needs backward packing. */
void mw_flow_backward(const mw_flow_net *net, mw_flow_acts *acts, float *grads, const float *dvelocity,
                      const float *values, const float *packed, const float *target, const float *keep,
                      int batch);

#endif
