/* Bundles of frozen networks, and planners that decide with them. */
#ifndef MAWAM_PLAN_H
#define MAWAM_PLAN_H

#include "mawam/env.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Frozen networks for one task, read from one file. Read-only after loading; planners on any threads may
 * share it. */
typedef struct mw_bundle mw_bundle;

MW_API mw_status mw_bundle_load(mw_bundle **bundle, const char *path, mw_error *error);
MW_API void mw_bundle_free(mw_bundle *bundle);

/* What a bundle plans for. */
typedef struct mw_bundle_summary {
    const char *task, *rules, *quality; /* rules: the version of the world it was trained in */
    int agents, obs_size, act_size;
    bool discrete;
    int episode_limit, horizon;
    size_t policy_parameters, world_parameters;
    const char *provenance; /* JSON: settings, dataset, command, training curve */
} mw_bundle_summary;
MW_API mw_bundle_summary mw_bundle_describe(const mw_bundle *bundle);

/* How an action is taken from the candidates. */
typedef enum mw_arm {
    MW_ARM_PLAN,     /* the candidate with the highest score, or a blend towards it */
    MW_ARM_RANDOM,   /* one of them at random: the control for having many */
    MW_ARM_REACTIVE, /* a single candidate: the policy as it is */
} mw_arm;

typedef struct mw_planner_options {
    mw_arm arm;
    int candidates; /* M */
    int horizon;    /* H; 0: the bundle's */
    int steps;      /* K; 0: the bundle's */
    uint64_t seed;
    int envs;      /* environments decided together */
    int threads;   /* 1 to MW_MAX_THREADS; 0: one per core */
    float target;  /* target return in the bundle's units; NaN: the bundle's */
    float explore; /* deviation of an offset that lasts over the horizon, on the actions (discrete: on the
                      inverse dynamics' logits) of every candidate but the first; NaN: the bundle's */
    float blend;   /* real actions: the mean of all candidates, weighed by exp(-d/blend) at scores d of their
                      deviations below the best; 0: the best alone; NaN: the bundle's */
    float advantage; /* share of the learned advantage of the first joint action in a score, 0 to 1; the rest
                        is the imagined return; NaN: the bundle's */
    int carry;       /* 1: the last candidate is the rest of the plan chosen before, once there is one; 0: it
                        is drawn like the others; -1: as the bundle says */
    bool imagine;    /* roll the candidates out in the world model even if scores do not need it */
    bool sequential; /* generate one candidate after the other: for cost comparisons, same results */
} mw_planner_options;

#define MW_PLANNER_OPTIONS_DEFAULT                                                                           \
    {                                                                                                        \
        MW_ARM_PLAN, 8, 0, 0, 0, 1, 0, __builtin_nanf(""), __builtin_nanf(""), __builtin_nanf(""),           \
            __builtin_nanf(""), -1, false, false                                                             \
    }

typedef struct mw_planner mw_planner;

/* The bundle must outlive the planner. All memory is taken here; planning allocates nothing. */
MW_API mw_status mw_planner_create(mw_planner **planner, const mw_bundle *bundle,
                                   const mw_planner_options *options, mw_error *error);
MW_API void mw_planner_free(mw_planner *planner);
MW_API size_t mw_planner_bytes(const mw_planner *planner); /* of workspace */

/* Starts an episode in one environment: its history is forgotten. The candidates' noise is a pure function of
 * the seed, the episode, the step and the candidate, whatever the threads and the other environments. */
MW_API void mw_planner_begin(mw_planner *planner, int env, uint64_t episode);

/* One decision for every active environment (active[envs], NULL: all) from obs[envs][n][o]; legal[envs][n][d]
 * may be NULL. Writes real[envs][n][d] or index[envs][n], by the kind of the task. */
MW_API mw_status mw_planner_act(mw_planner *planner, const float *obs, const uint8_t *legal,
                                const uint8_t *active, float *real, int32_t *index, mw_error *error);

/* What an environment's last action earned: the mean over agents. Only bundles that follow the return-to-go
 * use it. */
MW_API void mw_planner_reward(mw_planner *planner, int env, float reward);

/* The candidates of one environment's last decision, for pictures and tests. */
typedef struct mw_candidates {
    int count, horizon, chosen;
    const float *scores;   /* [count] imagined team return, or with a share of the advantage; random and
                              reactive arms have one candidate, at 0 */
    const float *actions;  /* [count][horizon][n][d], one-hot if discrete */
    const float *proposed; /* [count][horizon + 1][n][o] observations drawn by the policy, from the current
                              one on */
    const float *imagined; /* [count][horizon][n][o] observations predicted by the world model, after each
                              action; NULL where there are no rollouts */
} mw_candidates;
MW_API mw_candidates mw_planner_candidates(const mw_planner *planner, int env);

#ifdef __cplusplus
}
#endif
#endif
