/* Sizes: what the nine tasks look like to the networks, and the named network sizes. Spec sections 3 and 7.
 */
#ifndef MW_MODEL_FLOW_PRESET_H
#define MW_MODEL_FLOW_PRESET_H

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

typedef struct mw_preset {
    const char *name, *summary;
    int dim, mults[MW_LEVELS];
} mw_preset;

const mw_preset *mw_preset_at(int index); /* NULL past the end */
const mw_preset *mw_preset_find(const char *name);

/* The proposer's configuration for a task at a preset's size, with the authors' segment length. */
mw_policy_config mw_preset_policy(const mw_preset *preset, const mw_task_shape *shape);

#endif
