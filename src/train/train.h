/* Training of everything that planning needs from a dataset, into one bundle: one loop over its parts. Every
 * bit of the weights follows from data, preset and seed, whatever the threads and interruptions. */
#ifndef MW_TRAIN_TRAIN_H
#define MW_TRAIN_TRAIN_H

#include "data/dataset.h"
#include "model/flow/flow.h"
#include "plan/bundle.h"
#include "train/checkpoint.h"
#include "train/preset.h"

typedef struct mw_training_request {
    const mw_dataset *dataset; /* opened; its values are checked here */
    const mw_preset *preset;   /* the settings, whatever method, budget and assignments the options name */
    const char *output;        /* FILE.safetensors; FILE.train.safetensors, .jsonl and .svg lie next to it */
    mw_train_options options;
    bool nothing;              /* train none at all: everything comes from the other bundle */
    bool replace;              /* start anew where the checkpoint is of another training or damaged */
    double checkpoint_seconds; /* between checkpoints; 0: 120 */
} mw_training_request;

/* mw_bundle_train with the settings at hand. */
mw_status mw_training_run(const mw_training_request *request, mw_training_report *report, mw_error *error);

/* Fails where the data of a built-in task is of other rules than its world, unless they are accepted: then
 * `accepted` receives the world's, otherwise "". */
mw_status mw_training_rules(char accepted[MW_WORD], const mw_bundle_info *info, const mw_env_options *world,
                            bool accept, mw_error *error);

/* Operations that are left for the parts that are trained, and seconds at half the rate that the pool
 * multiplies matrices with now. */
void mw_training_foresee(mw_training_estimate *estimate, const mw_training_state *state, const bool *trains,
                         mw_pool *pool);

/* Settings that the classes leave to the data, and whether a cautious plan's return_error can be measured of
 * it, which is known before the training; and the target return, where it is left to the data, in the
 * units of the flow. */
mw_status mw_settle_parts(mw_preset *preset, const mw_training_data *data, mw_error *error);
mw_status mw_settle_target(mw_plan_settings *plan, const mw_flow_settings *flow, const mw_training_data *data,
                           mw_error *error);

/* The error of imagined returns, where it is left to the data, on the episodes that what imagines them was
 * not trained on, or on all where those have too few windows as long as the horizon. NaN, not known, if
 * nothing in the bundle imagines or all have too few. */
mw_status mw_settle_error(mw_bundle *bundle, const mw_training_data *data, char remark[MW_REMARK],
                          mw_error *error);

/* Settles what a preset leaves to the data, as training does. */
mw_status mw_training_settle(mw_preset *preset, const mw_dataset *dataset, uint64_t seed, mw_error *error);

/* Is this part what training with a settled preset would arrive at? `like` tells data, split and seed. */
bool mw_training_same(const mw_preset *preset, const mw_bundle_part *part, const mw_provenance *like);
/* The first setting in which the bundle plans otherwise than training with these would have it; or NULL. */
const mw_field *mw_training_plan_difference(const mw_plan_settings *wanted, const mw_bundle *bundle);

#endif
