/* What the writer and the reader of datasets share: the table of columns, and the rules that a spec and an
 * episode must obey. Internal to src/data. */
#ifndef MW_DATA_COLUMNS_H
#define MW_DATA_COLUMNS_H

#include "data/dataset.h"

typedef enum mw_column {
    MW_COLUMN_OBS,
    MW_COLUMN_ACTIONS,
    MW_COLUMN_REWARDS,
    MW_COLUMN_LEGALS,
    MW_COLUMN_LENGTHS,
    MW_COLUMN_LAST_OBS,
    MW_COLUMN_OUTCOMES,
    MW_COLUMN_COUNT,
} mw_column;

#define MW_COLUMN_FIRST_PER_EPISODE MW_COLUMN_LENGTHS /* those before have a row per step */

extern const char *const mw_column_names[MW_COLUMN_COUNT]; /* "obs", ...; the file is <name>.npy */
#define MW_DATASET_JSON "dataset.json"

/* Type and shape of one row; false if data of this spec does not have the column. */
bool mw_column_layout(const mw_dataset_spec *spec, bool last_known, mw_column column, mw_dtype *type,
                      int *row_dims, size_t row_shape[2]);

/* Sizes within bounds, names printable. `where` opens the messages. */
mw_status mw_dataset_spec_check(const mw_dataset_spec *spec, const char *where, mw_error *error);

mw_status mw_episode_length_check(const mw_dataset_spec *spec, long length, long number, const char *where,
                                  mw_error *error);

/* Every value of an episode against the spec. Messages read "<where>obs.npy: episode 3, step 7, ...". */
mw_status mw_episode_check(const mw_dataset_spec *spec, const mw_episode *episode, long number,
                           const char *where, mw_error *error);

double mw_episode_return(const mw_episode *episode, int agents);

/* Removes the hidden folders next to a dataset that processes left which are no longer there. */
void mw_dataset_sweep(const char *folder);

/* Before the commit: the data are of these rules after all, and of this quality (may be NULL). */
mw_status mw_dataset_writer_foreign(mw_dataset_writer *writer, const char *rules, const char *quality,
                                    mw_error *error);

/* A new string "folder/name"; NULL if out of memory. */
char *mw_path_join(const char *folder, const char *name);

#endif
