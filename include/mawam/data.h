/* Datasets: episodes on disk, in folders of .npy columns with a description. Opening and checking them,
 * looking into them, recording one's own episodes, making them by play, bringing in data of others and
 * handing ours out. */
#ifndef MAWAM_DATA_H
#define MAWAM_DATA_H

#include "mawam/env.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- reading ------------------------------------------------------------------------------------------- */

/* Who acted in the data: a policy file and its checksum. */
typedef struct mw_data_source {
    const char *name;  /* "spread-medium.safetensors", "script:chase", ... */
    uint64_t checksum; /* FNV-1a of the file's bytes; 0 where there is no file */
    long episodes;     /* how many of the episodes it acted in; 0 if unknown */
} mw_data_source;

/* What a dataset says about itself. Strings may be NULL (stored as "") except task and rules; where one is
 * not UTF-8, '?' is stored for its bytes beyond ASCII. */
typedef struct mw_dataset_spec {
    const char *task;    /* a built-in task's name or the user's own */
    const char *rules;   /* version of the world's rules, one's own for a task of one's own; "<layout>-import"
                            for imported data */
    const char *quality; /* "medium-replay", ... */
    int agents, obs_size, act_size;
    bool discrete;
    int episode_limit;   /* no episode is longer */
    uint64_t seed;       /* of the collection */
    const char *command; /* what made it, as typed */
    const char *note;    /* for people: exploration noise and the like */
    const mw_data_source *sources;
    int source_count;
} mw_dataset_spec;

/* Of the episodes' returns, where a return is the sum over steps of the mean reward of the agents. */
typedef struct mw_return_stats {
    double mean, std, minimum, quartile[3], maximum;
    double won; /* share of episodes that ended by victory */
} mw_return_stats;

typedef struct mw_dataset mw_dataset;

/* Opens the dataset in a folder and checks its structure: dataset.json, the presence, types and shapes of all
 * columns, that the lengths add up. Values are looked at by mw_dataset_check. */
MW_API mw_status mw_dataset_load(mw_dataset **dataset, const char *folder, mw_error *error);
MW_API void mw_dataset_free(mw_dataset *dataset);

/* One streaming pass over all values: finite numbers, discrete actions in range and legal, outcomes known,
 * the checksum of every column, and what the description tells of returns and of who acted. What fails is
 * named by file, episode, step, agent. Training calls this first. */
MW_API mw_status mw_dataset_check(const mw_dataset *dataset, mw_error *error);

/* What is sound in the data and yet not what training takes, or hardly what was meant, in words: real actions
 * beyond [-1, 1], which training refuses, or all one-hot. One pass over the actions. False, and "": nothing.
 */
MW_API bool mw_dataset_remark(const mw_dataset *dataset, char *out, size_t size);

/* Fails unless the data belongs to this built-in task: its sizes and, for data that was not imported, the
 * version of its rules. */
MW_API mw_status mw_dataset_expect(const mw_dataset *dataset, const mw_env_info *info, mw_error *error);

/* Strings and arrays live as long as the dataset. */
typedef struct mw_dataset_summary {
    mw_dataset_spec spec;
    const char *made_by; /* version of mawam that wrote it */
    long steps, episodes;
    mw_return_stats returns; /* as recorded in dataset.json */
    double bytes;            /* of all columns on disk */
    bool imported;           /* rules end with "-import": no simulator is implied */
} mw_dataset_summary;
MW_API mw_dataset_summary mw_dataset_describe(const mw_dataset *dataset);

/* How an episode ended: values of the outcomes. */
enum { MW_ENDED_BY_LIMIT = 0, MW_ENDED_BY_WORLD = 1, MW_ENDED_BY_VICTORY = 3 };

/* The values themselves, read-only. Episode e has the steps offsets[e] to offsets[e + 1] - 1; obs[t] is what
 * was seen before actions[t], which earned rewards[t]. */
typedef struct mw_dataset_columns {
    const float *obs;        /* [steps][n][o] */
    const float *real;       /* [steps][n][d], or NULL where actions are discrete */
    const int32_t *index;    /* [steps][n], or NULL where they are real */
    const uint8_t *legal;    /* [steps][n][d], or NULL where actions are real */
    const float *rewards;    /* [steps][n] */
    const float *last_obs;   /* [episodes][n][o]: after the last step; NULL if unknown */
    const uint8_t *outcomes; /* [episodes]: MW_ENDED_BY_... */
    const int64_t *lengths;  /* [episodes] */
    const int64_t *offsets;  /* [episodes + 1]: first step of each episode; the last is `steps` */
} mw_dataset_columns;
MW_API mw_dataset_columns mw_dataset_view(const mw_dataset *dataset);

/* How far recorded transitions agree with our world of the data's task. */
typedef struct mw_rules_report {
    long compared; /* transitions that were replayed; 0: the task's observations do not hold its state */
    long agreed;   /* of them: same observations and rewards up to the rounding of what was recorded */
    double worst_obs, worst_reward; /* largest differences */
    long values, outside;           /* observation values looked at; those out of their feature's range */
} mw_rules_report;

/* Replays `sample` transitions from all over the data (which has passed mw_dataset_check) in a world of its
 * task, each from the state that its observation tells of. world may be NULL. */
MW_API mw_status mw_dataset_replay(const mw_dataset *dataset, const mw_env_options *world, long sample,
                                   mw_rules_report *report, mw_error *error);

/* May a task, its rules or a quality have this name? 1 to 63 letters, digits or any of _.:+- */
MW_API bool mw_dataset_name_allowed(const char *name);

/* Says of the dataset in a folder that its world followed these rules; `note` (may be NULL) replaces what it
 * tells people. Nobody else may be writing there. */
MW_API mw_status mw_dataset_declare(const char *folder, const char *rules, const char *note, mw_error *error);

/* ---- reports ------------------------------------------------------------------------------------------- */

/* What people want to see of a dataset: the distribution of returns, ranges of features, use of actions. */
typedef struct mw_data_report mw_data_report;

/* One pass over the data, which has passed mw_dataset_check and must outlive the report. features (may be
 * NULL): what the task calls its observation features, [o]; they must outlive it too. */
MW_API mw_status mw_data_report_create(mw_data_report **report, const mw_dataset *dataset,
                                       const mw_feature *features, mw_error *error);
MW_API void mw_data_report_free(mw_data_report *report);

MW_API void mw_data_report_text(const mw_data_report *report, FILE *out);
MW_API mw_status mw_data_report_json(const mw_data_report *report, FILE *out, mw_error *error);
MW_API mw_status mw_data_report_svg(const mw_data_report *report, const char *path, mw_error *error);

/* ---- recording ----------------------------------------------------------------------------------------- */

/* One recorded episode of `length` steps: obs[t] is what was seen before actions[t], which earned rewards[t].
 */
typedef struct mw_episode {
    long length;
    const float *obs;      /* [length][n][o] */
    const float *last_obs; /* [n][o]: after the last step; NULL if unknown, then so for all episodes */
    const float *real;     /* [length][n][d]; where actions are real */
    const int32_t *index;  /* [length][n]; where they are discrete */
    const uint8_t *legal;  /* [length][n][d], 0 or 1; discrete only. NULL: all actions are */
    const float *rewards;  /* [length][n] */
    uint8_t outcome;       /* MW_ENDED_BY_... */
} mw_episode;

/* Episodes of one's own into a dataset, of a built-in task or of any other name and sizes. Everything goes to
 * a hidden folder next to the target, which takes the target's name only when complete: an interrupted writer
 * leaves nothing that looks like a dataset. One thread at a time. */
typedef struct mw_dataset_writer mw_dataset_writer;

/* Fails if the folder exists (unless empty); with `overwrite` a dataset that is there is replaced on commit,
 * but never a folder that holds anything else. Strings of the spec are copied. */
MW_API mw_status mw_dataset_writer_open(mw_dataset_writer **writer, const char *folder,
                                        const mw_dataset_spec *spec, bool overwrite, mw_error *error);

/* Checks the episode (lengths, finite numbers, legal actions) and appends it. One that is refused changes
 * nothing; after a write that failed (MW_ERR_IO, MW_ERR_MEMORY) the writer can only be abandoned. */
MW_API mw_status mw_dataset_writer_add(mw_dataset_writer *writer, const mw_episode *episode, mw_error *error);

/* Replaces what the spec said at opening: for counts known only at the end. sources are copied. */
MW_API mw_status mw_dataset_writer_sources(mw_dataset_writer *writer, const mw_data_source *sources,
                                           int count, mw_error *error);

MW_API long mw_dataset_writer_steps(const mw_dataset_writer *writer); /* so far, over all episodes */

/* Fails if there is no episode. Frees the writer either way. */
MW_API mw_status mw_dataset_writer_commit(mw_dataset_writer *writer, mw_error *error);
MW_API void mw_dataset_writer_abandon(mw_dataset_writer *writer); /* NULL is fine */

/* ---- making -------------------------------------------------------------------------------------------- */

typedef struct mw_make_options {
    size_t size;                 /* of this struct, set by init */
    const char *behaviors;       /* folder of behaviour files; NULL: see mw_behavior_path */
    const mw_env_options *world; /* may be NULL */
    long transitions;            /* at least; the last episode is kept whole. 0: the setting's */
    uint64_t seed;
    int threads;              /* 1 to MW_MAX_THREADS; 0: one per core */
    bool overwrite;           /* replace a dataset that is there */
    const char *command;      /* for the description; may be NULL */
    const mw_stop_flag *stop; /* may be NULL; not 0: return MW_ERR_INTERRUPTED, nothing is kept */
    void (*progress)(void *context, long steps, long total); /* may be NULL */
    void *context;
} mw_make_options;
MW_API void mw_make_options_init(mw_make_options *options, size_t size);

typedef struct mw_make_result {
    long episodes, steps;
    double mean, std, least, most, win_rate; /* of the returns */
} mw_make_result;

/* The behaviour of a setting ("spread-medium"; mw_setting_at lists them) plays, episode by episode in a fixed
 * order, until there are enough transitions. The same seed gives the same bits on any number of threads. */
MW_API mw_status mw_dataset_make(const char *setting, const char *folder, const mw_make_options *options,
                                 mw_make_result *result, mw_error *error);

/* ---- import and export --------------------------------------------------------------------------------- */

typedef struct mw_import_options {
    size_t size;             /* of this struct, set by init */
    const mw_env_info *info; /* of the built-in task, whose sizes the data must then have; NULL for others */
    const char *quality, *command; /* for the description; may be NULL */
    int agents;                    /* 0: as many as the source has */
    int act_size; /* number of discrete actions; 0: from the legal actions, the task, or the largest seen */
    int episode_limit;        /* 0: the task's, or the longest episode; OMAR files of other tasks need it */
    bool overwrite;           /* replace a dataset that is there */
    const mw_stop_flag *stop; /* may be NULL; not 0: return MW_ERR_INTERRUPTED, nothing is kept */
} mw_import_options;
MW_API void mw_import_options_init(mw_import_options *options, size_t size);

typedef struct mw_import_report {
    long episodes, steps;
    long dropped;   /* steps at the end of a file that no end of an episode followed */
    long jumps;     /* places inside episodes where the next observation was another one: cut there */
    bool padded;    /* agents' observations had different sizes and were filled up with zeros */
    bool all_legal; /* discrete actions without legality: all taken as legal */
    bool changed; /* a file says that it is of our rules; its values are not known to be those we exported */
} mw_import_report;

/* The layouts that can be read: "omar", "madiff", "hdf5"; NULL past the end. */
MW_API const char *mw_import_layout(int index);

/* Turns data of others into a dataset of a built-in task or of any name. Its rules read "<layout>-import": it
 * belongs to the world that made it, so no simulator of ours is assumed to agree with it (mw_dataset_declare
 * says otherwise). Data of ours for the same task, as exported, keeps its rules and quality; what was
 * changed since does not. */
MW_API mw_status mw_dataset_import(const char *layout, const char *source, const char *folder,
                                   const char *task, const mw_import_options *options,
                                   mw_import_report *report, mw_error *error);

typedef struct mw_export_options {
    size_t size;              /* of this struct, set by init */
    bool overwrite;           /* replace a file that is there */
    const mw_stop_flag *stop; /* may be NULL; not 0: return MW_ERR_INTERRUPTED, nothing is kept */
} mw_export_options;
MW_API void mw_export_options_init(mw_export_options *options, size_t size);

/* HDF5 episodes in Minari's layout, one member agent_<i> per agent. Written in a child process. Atomic;
 * options may be NULL. */
MW_API mw_status mw_export_hdf5(const mw_dataset *dataset, const char *path, const mw_export_options *options,
                                mw_error *error);

#ifdef __cplusplus
}
#endif
#endif
