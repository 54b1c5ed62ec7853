/* Inside the learner: its state and the parts that learner.c, rollout.c, update.c and checkpoint.c share. */
#ifndef MW_BEHAVIOR_LEARN_LEARNER_STATE_H
#define MW_BEHAVIOR_LEARN_LEARNER_STATE_H

#include "behavior/learn/learner.h"
#include "behavior/learn/ppo.h"
#include "nn/adam.h"

enum { MW_LEARN_CHUNK = 32 };

/* What a keyed random stream of the learner is for: the last index of mw_rng_make. */
enum { MW_LEARN_ACT, MW_LEARN_RESET, MW_LEARN_SHUFFLE, MW_LEARN_TEACH };

/* Running mean and variance of every observation feature, over agents and environments. */
typedef struct mw_obs_stats {
    double count;
    double *mean, *square; /* [o]; square: sum of squared differences from the mean */
    float *shift, *scale;  /* [o]: x -> (x - shift) * scale in this iteration */
} mw_obs_stats;

/* One environment's bookkeeping. */
typedef struct mw_learn_env {
    mw_env *env;                   /* the batch's */
    uint64_t episode;              /* number of the running one */
    double sum;                    /* its return so far */
    double returns, lengths, wins; /* sums over the episodes that ended in this iteration */
    int ended;
    int cuts; /* truncated episodes in this iteration: used rows of its share of `cut_x` */
} mw_learn_env;

/* One thread's scratch. */
typedef struct mw_learn_area {
    mw_arena arena;
    mw_mlp_acts actor, critic;            /* training */
    mw_mlp_acts actor_fast, critic_fast;  /* rollout and values */
    float *x, *gradient, *value_gradient; /* gathered rows of a shard */
    float *raw, *action;                  /* one chunk's observations and actions as the worlds take them */
    float *rewards;                       /* [chunk][n] */
    mw_outcome outcomes[MW_LEARN_CHUNK];
    mw_ppo_terms terms;
} mw_learn_area;

struct mw_learner {
    mw_learn_preset preset;
    uint64_t seed;
    mw_pool *pool;
    int threads;
    mw_actor_shape shape;
    mw_env_info info;  /* of the first environment, which outlives this copy's strings */
    int inputs, joint; /* of the actor, and n * inputs of the critic */
    int steps;         /* envs * horizon */
    long iteration;
    double rate_scale; /* of the actor's rate, when it adapts */

    mw_params actor_params, critic_params;
    mw_mlp actor, critic;
    size_t log_std; /* offset in the actor's parameters, real actions only */
    mw_optimizer actor_optimizer, critic_optimizer;
    float *actor_packed, *critic_packed;

    mw_obs_stats stats;
    mw_env_batch *batch;
    mw_learn_env *envs; /* [preset.envs] */
    mw_learn_area *areas;
    int *order;    /* [steps] permutation */
    int most_cuts; /* truncations an environment can see in one iteration */

    /* collected, [horizon][envs] unless noted */
    float *x;                     /* [horizon + 1][envs][n][inputs], normalised */
    double *raw_sum, *raw_square; /* [envs][o] of this iteration's raw observations about stats.mean */
    float *real;                  /* [..][n][d] before clipping; while imitating: what the teacher would do */
    int32_t *index;               /* [..][n] */
    uint8_t *legal;               /* [horizon + 1][envs][n][d] */
    float *old;                   /* [..][n] log probabilities */
    float *reward, *value /* [horizon + 1][envs] */, *after, *advantage, *target;
    uint8_t *done;             /* 0, 1 terminated, 2 cut by the limit */
    float *cut_x;              /* [envs][most_cuts][n][inputs]: what was seen when the limit cut */
    float *cut_value;          /* [envs][most_cuts] */
    mw_error *failures;        /* [threads] */
    mw_ppo_terms *shard_terms; /* [preset.shards] */
    double *shard_value_loss;
};

/* True while the teacher plays and the policy imitates it. */
static inline bool mw_learner_imitates(const mw_learner *l) {
    return l->preset.teacher[0] && (double)l->iteration * l->steps < (double)l->preset.imitate;
}

/* Fills the collected arrays. */
mw_status mw_learner_collect(mw_learner *learner, mw_error *error);
/* Improves both networks on them. */
void mw_learner_update(mw_learner *learner, mw_learn_report *report);
/* stats.shift and scale from mean and square. */
void mw_obs_stats_refresh(mw_obs_stats *stats, int obs);
uint64_t mw_learner_episode_seed(const mw_learner *learner, int e, uint64_t episode);

#endif
