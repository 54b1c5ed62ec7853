/* The cost profile as the study's last stage: over the bundles of its middle settings, kept as long as these
 * are the same. */
#ifndef MW_STUDY_COSTS_H
#define MW_STUDY_COSTS_H

#include "core/json.h"
#include "plan/bundle.h"
#include "study/scope.h"

typedef struct mw_costs {
    const mw_study_options *options;
    char path[512];
    const mw_bundle *bundles[MW_TABLE_ROWS];
    int count;      /* 0: there is nothing to measure */
    json_t *inputs; /* {"spread-medium": checksum, ..., "timed", "threads"} */
    void (*progress)(void *context, double done, const char *note); /* may be NULL */
    void *context;
} mw_costs;

/* All that the folder holds, whatever settings are asked for. *current: what is there is of these bundles.
 * Free it also after a failure. */
mw_status mw_costs_start(mw_costs *costs, const mw_study_options *options, bool *current, mw_error *error);
mw_status mw_costs_run(mw_costs *costs, mw_error *error);
void mw_costs_free(mw_costs *costs);

#endif
