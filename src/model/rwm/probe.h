/* A look into the routed world model: one step of many transitions with the routes taken, and what the step
 * would be without each expert. For diagnosis; planning uses the scorer. */
#ifndef MW_MODEL_RWM_PROBE_H
#define MW_MODEL_RWM_PROBE_H

#include "model/rwm/network.h"

/* Where a look leaves what it saw of b joint transitions; what is NULL is not wanted. `parts` are the experts
 * and, behind them, the shared one if there is one. */
typedef struct mw_probe_view {
    float *next;               /* [b][n][o] */
    float *dispatch, *combine; /* [b][n][slots of all experts] */
    float *routed;             /* [b][n]: |routed part| / (|routed part| + |shared part|) of the mixture */
    float *without;            /* [parts][b][n][o]: next, with the outputs of a part set to zero */
    int *top;                  /* [b][n][top_k]: the reward's experts, the likeliest first */
} mw_probe_view;

typedef struct mw_probe mw_probe;

/* net, values, packed (forward matrices) and the pool must outlive it. */
mw_status mw_probe_create(mw_probe **probe, const mw_world_net *net, const float *values, const float *packed,
                          mw_pool *pool, mw_error *error);
void mw_probe_free(mw_probe *probe);
int mw_probe_parts(const mw_world_net *net);

/* From obs[count][n][o] and act[count][n][d]; any count. */
void mw_probe_look(mw_probe *probe, const float *obs, const float *act, int count, const mw_probe_view *view);

#endif
