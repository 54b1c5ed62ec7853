/* Checkpoints of a training: one safetensors file with everything the next step depends on, and what it
 * belongs to, so that it cannot continue something else. */
#ifndef MW_TRAIN_CHECKPOINT_H
#define MW_TRAIN_CHECKPOINT_H

#include "plan/provenance.h"
#include "model/model.h"

/* The parts in training and what must be the same for them to continue. */
typedef struct mw_training_state {
    int count;
    mw_training_part *part[MW_KINDS];
    const mw_model *model[MW_KINDS]; /* their configuration */
    mw_provenance identity;          /* data, split and seed */
    mw_name units;                   /* checksum of the normalisers, which may be another bundle's */
} mw_training_state;

/* Atomic: a failure leaves the checkpoint before. seconds: spent so far. */
mw_status mw_checkpoint_save(const char *path, const mw_training_state *state, double seconds,
                             mw_error *error);
/* Models that it has begun, 1 << index; 0 if it cannot be read, which loading will say. */
unsigned mw_checkpoint_parts(const char *path);
/* Parts that it does not have stay as created; after a failure none is usable. */
mw_status mw_checkpoint_load(const char *path, const mw_training_state *state, double *seconds,
                             mw_error *error);

#endif
