/* Everything training wants to know about a dataset before it starts, in one streaming pass with bounded
 * memory: moments for standardisation, the normalisers of observations and actions, the range of
 * returns-to-go. */
#ifndef MW_DATA_STATS_H
#define MW_DATA_STATS_H

#include "nn/normalizer.h"
#include "data/split.h"

typedef struct mw_moments {
    double mean, std; /* of the population */
    double scale;     /* to divide by: the std, or 1 for a (nearly) constant quantity */
    float low, high;
} mw_moments;

typedef struct mw_data_stats {
    int obs_size, act_size;
    mw_moments *obs;   /* [o], over all agents, observations after the last step included */
    mw_moments *delta; /* [o]: next observation minus observation */
    mw_moments *act;   /* [d]: values, or one-hot (so the mean is the action's share) */
    mw_moments reward;
    mw_moments to_go; /* discounted return-to-go at every step, mean over agents */
    long steps;
    mw_normalizer obs_normalizer, act_normalizer; /* the latter is empty for discrete actions */
    mw_normalizer_fit_report obs_report, act_report;
} mw_data_stats;

/* Over the episodes of a set. discount: of the return-to-go (0.99). with_normalizers=false leaves those out
 * and keeps nothing but sums. */
mw_status mw_data_stats_make(mw_data_stats *stats, const mw_dataset *dataset, const mw_episode_set *set,
                             double discount, bool with_normalizers, mw_error *error);
void mw_data_stats_free(mw_data_stats *stats); /* safe to call twice */

#endif
