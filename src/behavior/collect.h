/* The study's way to a dataset: mw_dataset_make with everything in one request. */
#ifndef MW_BEHAVIOR_COLLECT_H
#define MW_BEHAVIOR_COLLECT_H

#include "mawam/data.h"
#include "mawam/behavior.h"
#include "core/error.h"

typedef struct mw_collect_request {
    const mw_setting *setting;
    const char *behaviors;         /* folder of behaviour files; NULL: see mw_behavior_path */
    const char *folder;            /* of the dataset */
    const mw_env_options *options; /* may be NULL */
    long transitions;              /* at least; the last episode is kept whole. 0: the setting's */
    uint64_t seed;
    int threads;
    bool overwrite;
    const char *command;      /* for dataset.json */
    const mw_stop_flag *stop; /* may be NULL */
    void (*progress)(void *context, long steps, long total);
    void *context;
} mw_collect_request;

typedef mw_make_result mw_collect_result;

mw_status mw_collect(const mw_collect_request *request, mw_collect_result *result, mw_error *error);

#endif
