/* Bringing in data of others, and handing ours out: OMAR's per-agent files, the MA-WAM/MADiff folders, and
 * HDF5 episodes in Minari's layout. An imported dataset's rules read "<layout>-import": it belongs to the
 * world that made it, so no simulator of ours is assumed to agree with it. */
#ifndef MW_DATA_IMPORT_H
#define MW_DATA_IMPORT_H

#include "data/dataset.h"

typedef struct mw_import_request {
    const char *source;      /* folder or file to read */
    const char *folder;      /* dataset to write */
    const char *task;        /* a built-in task or any name */
    const mw_env_info *info; /* of the built-in task, whose sizes the data must then have; NULL for others */
    const char *quality, *command;
    int agents;   /* 0: as many as the source has */
    int act_size; /* number of discrete actions; 0: from the legal actions, the task, or the largest seen */
    int episode_limit; /* 0: the task's, or the longest episode; OMAR files of other tasks need it */
    bool overwrite;
} mw_import_request;

typedef struct mw_import_report {
    long episodes, steps;
    long dropped;   /* steps at the end of a file that no end of an episode followed */
    long jumps;     /* places inside episodes where the next observation was another one: cut there */
    bool padded;    /* agents' observations had different sizes and were filled up with zeros */
    bool all_legal; /* discrete actions without legality: all taken as legal */
} mw_import_report;

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

/* The same layout, one member agent_<i> per agent. Written in a child process. Atomic; replaces an old file
 * only if asked. */
mw_status mw_export_hdf5(const mw_dataset *dataset, const char *path, bool overwrite, mw_error *error);

bool mw_hdf5_available(void);

#endif
