/* What is measured: the nine tasks as networks see them with the paper's segments, and named network sizes.
 */
#ifndef MW_STUDY_SIZES_H
#define MW_STUDY_SIZES_H

#include "model/flow/network.h"

typedef struct mw_task_shape {
    const char *task;
    int agents, obs, act;
    bool discrete;
    int context, generated; /* C and T - C of the authors' configuration */
    int horizon;            /* effective planning horizon */
} mw_task_shape;

const mw_task_shape *mw_task_shape_at(int index); /* NULL past the end */
const mw_task_shape *mw_task_shape_find(const char *task);

typedef struct mw_network_size {
    const char *name, *summary;
    int dim, mults[MW_LEVELS];
} mw_network_size;

const mw_network_size *mw_network_size_at(int index); /* NULL past the end */
const mw_network_size *mw_network_size_find(const char *name);

/* The proposer's configuration for a task at a preset's size, with the authors' segment length. */
mw_policy_config mw_network_size_flow(const mw_network_size *preset, const mw_task_shape *shape);

#endif
