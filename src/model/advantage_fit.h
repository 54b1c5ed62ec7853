/* The advantage from recorded episodes. Behaviours deviate from what they usually do, by noise or otherwise;
 * what the deviation at a state earned in the long run, compared with what is usual there, is the data's own
 * experiment. Two MLPs learn the usual action and the usual return; then a ridge regression finds how the
 * advantage over the usual return depends on the deviation from the usual action, with a slope that is linear
 * in features of the state. The action must be known well: what is taken for deviation but is not would be
 * credited with the state's luck. */
#ifndef MW_MODEL_ADVANTAGE_FIT_H
#define MW_MODEL_ADVANTAGE_FIT_H

#include "data/split.h"
#include "model/advantage.h"

typedef struct mw_advantage_options {
    int hidden;      /* width of the MLPs for what is usual */
    long steps;      /* of training, for each of them */
    double discount; /* of the rewards */
    double lambda;   /* GAE's: how far rewards themselves count before the usual return takes over */
    double ridge;    /* of the last regression, relative to the mean square of its terms */
    uint64_t seed;
    const mw_stop_flag *stop; /* may be NULL */
} mw_advantage_options;

/* How the advantage predicted from the deviation goes with the one observed. */
typedef struct mw_advantage_report {
    long rows, held_rows;
    double action_left;       /* mean square of the deviations */
    double correlation, held; /* on the episodes that trained, and on those held out (NaN: none) */
} mw_advantage_report;

/* Fails where the regression would be too large, which is known before anything is trained. */
mw_status mw_advantage_possible(const mw_advantage_net *net, const mw_dataset_spec *spec, mw_error *error);

/* Bytes at most that fitting takes and gives back, where so many values of the joint observation vary. */
size_t mw_advantage_bytes(const mw_advantage_net *net, const mw_dataset *dataset, const mw_split *split,
                          const mw_advantage_options *options, int varying);

/* Fills values in the layout of net->params, from the split's training episodes. Real actions only. A pure
 * function of its arguments; one thread. */
mw_status mw_advantage_fit(const mw_advantage_net *net, float *values, const mw_dataset *dataset,
                           const mw_split *split, const mw_advantage_options *options,
                           mw_advantage_report *report, mw_error *error);

#endif
