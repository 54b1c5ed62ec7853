/* A learning run in a folder: checkpoint, learning curve, snapshots of the policy along the way. A run can be
 * stopped at any time and resumed; the outcome is the same as without the stop. */
#ifndef MW_BEHAVIOR_TRAIN_H
#define MW_BEHAVIOR_TRAIN_H

#include "behavior/learner.h"

#include <signal.h>

typedef struct mw_train_request {
    const mw_learn_preset *preset;
    const mw_game *game;
    uint64_t seed;
    int threads;
    const char *folder; /* created if missing */
    bool resume;        /* continue the folder's checkpoint if there is one, with its preset and seed */
    float prolong;      /* when resuming: learn until this many steps; 0: as the run was begun */
    const volatile sig_atomic_t *stop; /* may be NULL; not 0: save and return MW_ERR_INTERRUPTED */
    void (*report)(void *context, const mw_learn_report *report, double seconds, long iterations);
    void *context;
} mw_train_request;

/* Files: state.safetensors, curve.jsonl, curve.svg, snapshots/<steps>.safetensors. */
mw_status mw_train(const mw_train_request *request, mw_error *error);

#endif
