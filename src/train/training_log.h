/* The log of a training: one JSON object per line with a part's step and mean losses since the line before.
 * Pictures and summaries are made from the file, so that an interrupted training loses nothing. */
#ifndef MW_TRAIN_TRAINING_LOG_H
#define MW_TRAIN_TRAINING_LOG_H

#include "train/checkpoint.h"

/* Appends a line; the file is complete after every call. held NULL: no validation at this step. */
mw_status mw_training_log_append(const char *path, const mw_training_part *part, const double *means,
                                 const double *held, double seconds, mw_error *error);

/* Drops lines that an interrupted run wrote after its last checkpoint. A missing file is an empty one. */
mw_status mw_training_log_rewind(const char *path, const mw_training_state *state, mw_error *error);

/* A panel per part, losses over steps. */
mw_status mw_training_log_draw(const char *path, const mw_training_state *state, const char *title,
                               const char *svg, mw_error *error);

/* {"step": [...], "flow": [...], "held_flow": [...], ...} of one part with about twenty points,
 * null where there was no validation. */
mw_status mw_training_log_summary(json_t **summary, const char *path, const mw_training_state *state,
                                  const mw_training_part *part, mw_error *error);

#endif
