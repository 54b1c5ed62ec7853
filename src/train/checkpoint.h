/* Checkpoints of a training: one safetensors file with everything the next step depends on, and what it
 * belongs to, so that it cannot continue something else. */
#ifndef MW_TRAIN_CHECKPOINT_H
#define MW_TRAIN_CHECKPOINT_H

#include "train/part.h"

/* What must be the same for a training to continue. */
typedef struct mw_training_identity {
    json_t *settings; /* see mw_training_preset_json */
    json_t *dataset;  /* task, rules, columns with their checksums */
    uint64_t seed;
} mw_training_identity;

/* Fails with what differs; `what` names the other one in the message. */
mw_status mw_training_identity_check(const mw_training_identity *ours, const json_t *settings,
                                     const json_t *dataset, uint64_t seed, const char *what, mw_error *error);

/* Atomic: a failure leaves the checkpoint before. seconds: spent so far. */
mw_status mw_checkpoint_save(const char *path, mw_training_part *const parts[MW_PARTS],
                             const mw_training_identity *identity, double seconds, mw_error *error);
/* Parts are as created, or unusable after a failure. */
mw_status mw_checkpoint_load(const char *path, mw_training_part *const parts[MW_PARTS],
                             const mw_training_identity *identity, double *seconds, mw_error *error);

#endif
