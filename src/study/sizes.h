/* Sizes: what the nine tasks look like to the networks, and the size of the authors' proposer.
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

/* The proposer of the authors' size for a task, with their segment length. */
mw_flow_config mw_flow_config_paper(const mw_task_shape *shape);

#endif
