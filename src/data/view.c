/* Datasets as users see them (mawam/data.h): on the heap, and described without the struct. */
#include "data/dataset.h"

#include "core/numbers.h"

#include <stdlib.h>

mw_status mw_dataset_load(mw_dataset **dataset, const char *folder, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED(dataset);
    *dataset = NULL;
    MW_NEED(folder);
    mw_dataset *d = *dataset = calloc(1, sizeof *d);
    if (!d) return mw_fail(error, MW_ERR_MEMORY, "out of memory for a dataset");
    const mw_status status = mw_dataset_open(d, folder, error);
    if (status == MW_OK) return MW_OK;
    free(d);
    *dataset = NULL;
    return status;
}

void mw_dataset_free(mw_dataset *dataset) {
    if (dataset) mw_dataset_close(dataset);
    free(dataset);
}

mw_dataset_summary mw_dataset_describe(const mw_dataset *dataset) {
    return (mw_dataset_summary){.spec = dataset->spec,
                                .made_by = dataset->made_by,
                                .steps = dataset->steps,
                                .episodes = dataset->episodes,
                                .returns = dataset->returns,
                                .bytes = mw_dataset_bytes(dataset),
                                .imported = mw_dataset_imported(dataset)};
}

mw_dataset_columns mw_dataset_view(const mw_dataset *dataset) {
    return (mw_dataset_columns){.obs = dataset->obs,
                                .real = dataset->real,
                                .index = dataset->index,
                                .legal = dataset->legal,
                                .rewards = dataset->rewards,
                                .last_obs = dataset->last_obs,
                                .outcomes = dataset->outcomes,
                                .lengths = dataset->lengths,
                                .offsets = dataset->offsets};
}
