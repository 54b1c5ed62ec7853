/* From trained parts to a bundle with its provenance. */
#ifndef MW_TRAIN_ASSEMBLE_H
#define MW_TRAIN_ASSEMBLE_H

#include "plan/bundle.h"
#include "train/checkpoint.h"
#include "train/train.h"

/* Refuses names that a bundle cannot hold and a bundle that does not belong to the data. other may be NULL.
 */
mw_status mw_assemble_check(const mw_training_data *data, const mw_bundle *other, mw_error *error);

/* Writes the bundle. What the request skips comes from `other`, where that is given. */
mw_status mw_assemble(const mw_training_request *request, const mw_training_data *data,
                      mw_training_part *const parts[MW_PARTS], const mw_training_identity *identity,
                      const mw_bundle *other, const char *log, double seconds, mw_advantage_report *advantage,
                      mw_error *error);

/* What a dataset is, from its dataset.json: without `all` only what must not change between runs. */
mw_status mw_dataset_identity(json_t **identity, const mw_dataset *dataset, bool all, mw_error *error);

#endif
