/* The importers behind mw_dataset_import: OMAR's per-agent files, the MA-WAM/MADiff folders, and HDF5
 * episodes in Minari's layout. */
#ifndef MW_DATA_EXCHANGE_IMPORT_H
#define MW_DATA_EXCHANGE_IMPORT_H

#include "data/dataset.h"

typedef struct mw_import_request {
    const char *source; /* folder or file to read */
    const char *folder; /* dataset to write */
    const char *task;   /* a built-in task or any name */
    mw_import_options options;
} mw_import_request;

typedef mw_status mw_import_fn(const mw_import_request *request, mw_import_report *report, mw_error *error);

/* seed_*_data/{obs,acs,rews,next_obs,dones}_<agent>.npy, or one such folder. An episode ends where all agents
 * are done or at the episode limit. */
mw_import_fn mw_import_omar;
/* obs, actions, rewards, path_lengths, legals and discounts .npy; our own last_obs and outcomes if they are
 * there. */
mw_import_fn mw_import_madiff;
/* episode_<i> groups with observations, actions, rewards, terminations, truncations, infos/legal_actions;
 * each either a group with one member per agent or one array [steps][n][...]. Read in a child process; a file
 * may unpack to 16 MiB and 100 times its size, and take 1 s and 1 s for each of its megabytes. */
mw_import_fn mw_import_hdf5;

bool mw_hdf5_available(void);

#endif
