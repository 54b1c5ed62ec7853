/* Inside the routing diagnosis, whose interface is mawam/routing.h: the computations from recorded masses,
 * graphs and effects to numbers, apart from the runs of networks and simulators that give them. */
#ifndef MW_ROUTING_ROUTING_H
#define MW_ROUTING_ROUTING_H

#include "mawam/routing.h"
#include "core/json.h"
#include "data/split.h"
#include "model/rwm/network.h"
#include "plan/bundle.h"

/* ---- information ---- */

double mw_entropy(const double *p, int count); /* nats; 0 ln 0 = 0 */
double mw_js_divergence(const double *p, const double *q, int count);

/* NMI of two labelings of the same things, from their table of counts [rows][columns]: mutual information
 * over the mean of both entropies, 0 if both are 0. */
double mw_nmi(const long *counts, int rows, int columns);
/* Its mean over all permutations of one labeling. */
mw_status mw_nmi_expected(double *expected, const long *counts, int rows, int columns, mw_error *error);

/* ---- masses ---- */

/* T joint transitions in recorded order. */
typedef struct mw_routing_sample {
    int transitions, agents, obs_size, act_size;
    float *obs, *next_obs; /* [T][n][o] */
    float *act;            /* [T][n][d], one-hot if discrete */
    float *reward;         /* [T][n] */
    int *episode, *step;   /* [T] */
} mw_routing_sample;

/* Borders of the thirds of values[count] (sorted here): linear between neighbours. */
void mw_thirds(double cuts[2], double *values, long count);

/* mass[T][n][experts]; permutations[MW_ROUTING_PERMUTATIONS][T * n] of the labels. dominant and context
 * [T][n] may be NULL. */
mw_status mw_routing_statistics_of(mw_routing_statistics *result, const mw_routing_sample *sample,
                                   const double *mass, int experts, const int *permutations, int *dominant,
                                   int *context, mw_error *error);

/* ---- graphs ---- */

/* cosine from the affinity of graphs' agents; cosine and flow against influence. */
void mw_routing_cosine(mw_agent_graph cosine, const double affinity[][MW_ROUTING_EXPERTS], int agents,
                       int experts);
void mw_routing_compare(mw_routing_graphs *graphs, int agents);

/* truth, predicted [anchors][n][n] as [target][source]; diagonals and NaN in truth do not count. The model's
 * name stays. */
mw_status mw_influence_compare(mw_influence_match *match, const double *truth, const double *predicted,
                               int anchors, int agents, mw_error *error);

/* ---- runs ---- */

void mw_routing_sample_free(mw_routing_sample *sample); /* safe to call twice */

/* `wanted` scattered transitions without replacement, or blocks of 64 consecutive ones of episodes in random
 * order; all there are where these are fewer. */
mw_status mw_routing_scatter(mw_routing_sample *sample, const mw_dataset *data, int wanted, uint64_t seed,
                             mw_error *error);
mw_status mw_routing_blocks(mw_routing_sample *sample, const mw_dataset *data, int wanted, uint64_t seed,
                            mw_error *error);

/* The other actions [source][T][d] of the influence graph: noise of 0.35 standard deviations, or any action.
 */
mw_status mw_routing_perturb(float **perturbed, const mw_routing_sample *sample, bool discrete, uint64_t seed,
                             mw_error *error);
/* scale[d]: standard deviation of each component over agents and transitions, at least 1e-3. */
void mw_action_scale(double *scale, const mw_routing_sample *sample);

/* A world model's weights as they lie in memory. */
typedef struct mw_world_weights {
    const mw_world_net *net;
    const float *values, *packed;
} mw_world_weights;

/* MW_ERR_INTERRUPTED if the diagnosis was stopped; stop may be NULL. */
mw_status mw_routing_going(const mw_stop_flag *stop, mw_error *error);

/* All of a router but its statistics. */
mw_status mw_router_measure(mw_router *router, mw_world_weights weights, const mw_routing_sample *sample,
                            const float *perturbed, mw_pool *pool, const mw_stop_flag *stop, mw_error *error);
/* Its masses of the sample: mass[T][n][experts]. */
mw_status mw_router_masses(double *mass, mw_world_weights weights, const mw_routing_sample *sample,
                           mw_pool *pool, mw_error *error);

/* Predicted against true influence at anchors of reactive play, for every world model of the bundle and for
 * the untrained one. */
mw_status mw_influence_run(mw_routing *result, const mw_bundle *bundle, mw_world_weights untrained,
                           const mw_routing_options *options, mw_pool *pool, mw_error *error);

#endif
