/* Episodes on disk: a folder of memory-mappable little-endian .npy columns and a dataset.json that says where
 * they come from. The columns carry the names and shapes of the public MA-WAM/MADiff layout, whose own
 * scripts read them; two small columns of ours (the observation after the last step, and how the episode
 * ended) are added, which those scripts ignore. docs/data.md has the table. What users see of datasets is in
 * mawam/data.h. */
#ifndef MW_DATA_DATASET_H
#define MW_DATA_DATASET_H

#include "mawam/data.h"
#include "core/tensor/npy.h"

#define MW_DATASET_VERSION 1

/* Removes the files of a dataset and the folder, unless that holds anything else. dataset.json goes first:
 * what is left after an interruption is not a dataset. */
void mw_dataset_remove(const char *folder);

/* ---- reading ------------------------------------------------------------------------------------------- */

struct mw_dataset {
    char *folder;
    mw_dataset_spec spec; /* strings live as long as the dataset */
    const char *made_by;  /* version of mawam that wrote it */
    long steps, episodes;
    mw_return_stats returns; /* as recorded in dataset.json */
    const float *obs;        /* [steps][n][o] */
    const float *real;       /* [steps][n][d], or NULL */
    const int32_t *index;    /* [steps][n], or NULL */
    const uint8_t *legal;    /* [steps][n][d], or NULL where actions are real */
    const float *rewards;    /* [steps][n] */
    const float *last_obs;   /* [episodes][n][o], or NULL if unknown */
    const uint8_t *outcomes; /* [episodes] */
    const int64_t *lengths;  /* [episodes] */
    int64_t *offsets;        /* [episodes + 1]: first step of each episode; the last is `steps` */
    struct mw_dataset_files *files;
};

/* As mw_dataset_load, into the caller's own struct, which is empty after a failure. */
mw_status mw_dataset_open(mw_dataset *dataset, const char *folder, mw_error *error);
void mw_dataset_close(mw_dataset *dataset); /* safe to call twice */

/* After columns were read, before what they gave is used: fails where a file too large to be copied was cut
 * short meanwhile, whose values are zeros then. Costs nothing. */
mw_status mw_dataset_intact(const mw_dataset *dataset, mw_error *error);

bool mw_dataset_imported(const mw_dataset *dataset); /* rules end with "-import": no simulator is implied */

mw_episode mw_dataset_episode(const mw_dataset *dataset, long episode); /* a view into the columns */
/* A discrete action, by its place in data->index: in range also where a file too large to be copied was
 * changed after it was checked. */
static inline size_t mw_dataset_index(const mw_dataset *dataset, size_t at) {
    const int32_t action = dataset->index[at];
    return action >= 0 && action < dataset->spec.act_size ? (size_t)action : 0;
}
/* Joint actions [steps][n][d] from a step of the data on; discrete ones one-hot. */
void mw_dataset_actions(const mw_dataset *dataset, int64_t step, long steps, float *actions);
/* The joint observation [n][o] at time t = 0..length of an episode; NULL for t = length where the last one is
 * not known. */
const float *mw_dataset_obs(const mw_dataset *dataset, long episode, long t);
/* Which episode a step belongs to. */
long mw_dataset_episode_of(const mw_dataset *dataset, int64_t step);

double mw_dataset_bytes(const mw_dataset *dataset); /* of all columns on disk */
double mw_dataset_return(const mw_dataset *dataset, long episode);
/* Statistics of count >= 1 returns (sorted in place). */
mw_return_stats mw_return_stats_of(double *returns, long count);

/* Tells the system that steps [begin, end) of all columns are no longer needed, so that a pass over data
 * larger than memory keeps little of it resident. Columns small enough to be copied stay. */
void mw_dataset_release(const mw_dataset *dataset, int64_t begin, int64_t end);

/* Before samples are drawn from all over the data: where it does not fit in memory, the system should not
 * read ahead. */
void mw_dataset_expect_random(const mw_dataset *dataset);

/* Fails where real actions lie beyond [-1, 1], the range of all worlds here: candidates are kept within it,
 * so what lies beyond could never be planned. */
mw_status mw_dataset_trainable(const mw_dataset *dataset, mw_error *error);

/* What a dataset says about itself, by the keys of dataset.json; NULL without memory. */
struct json_t *mw_dataset_spec_json(const mw_dataset_spec *spec);

/* Hexadecimal: over the types, shapes and checksums of all columns, from dataset.json. */
mw_status mw_dataset_checksum(char out[17], const mw_dataset *dataset, mw_error *error);

#endif
