/* Choosing the tiers of a task among the snapshots of a learning run: measures every snapshot with the
 * exploration noise of the datasets and writes the behaviour files. */
#ifndef MW_BEHAVIOR_PICK_H
#define MW_BEHAVIOR_PICK_H

#include "behavior/play.h"
#include "behavior/settings.h"

#include <signal.h>

enum { MW_PICK_LADDER = 8 }; /* policies of medium-replay */

typedef struct mw_pick_request {
    const char *task, *run, *folder;
    const mw_env_options *options;
    int episodes; /* per snapshot; the likely ones of a tier are measured again with four times as many */
    int every;    /* looks at every so-many-th snapshot; the first and the last are always among them */
    uint64_t seed;
    int threads;
    const volatile sig_atomic_t *stop;
    /* A snapshot was measured; a tier was written (setting not NULL, measured anew with other episodes). */
    void (*report)(void *context, const mw_setting *setting, double steps, const mw_measure *measure);
    void *context;
} mw_pick_request;

mw_status mw_pick(const mw_pick_request *request, mw_error *error);

#endif
