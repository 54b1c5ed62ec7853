/* A policy plays by itself: joint actions from joint observations, for many environments at once, without
 * candidates and without judging them. */
#ifndef MW_MODEL_POLICY_H
#define MW_MODEL_POLICY_H

#include "core/error.h"
#include "core/pool.h"
#include "nn/normalizer.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct mw_policy mw_policy;
struct mw_draw_head;
struct mw_model;

/* What a policy may be made of. */
typedef struct mw_policy_context {
    const struct mw_model *const *models; /* [count]: of the bundle */
    int count;
    const struct mw_model *model; /* the one of its own class */
    int envs;
    const mw_normalizer *obs_normalizer, *act_normalizer; /* of the bundle; the latter NULL for discrete */
    int episode_limit;                                    /* of the data that was learned from */
    mw_pool *pool;
} mw_policy_context;

/* One decision. What is drawn at random must follow from episode, step and agent alone. */
typedef struct mw_policy_call {
    const float *obs;               /* [envs][n][o] */
    const uint8_t *legal;           /* [envs][n][d]; NULL: all actions are */
    const uint8_t *active;          /* [envs]: others are left alone; NULL: all */
    const uint64_t *episode, *step; /* [envs] */
    float *real;                    /* [envs][n][d] for real actions */
    int32_t *index;                 /* [envs][n] for discrete ones */
} mw_policy_call;

typedef struct mw_policy_class {
    const char *help;
    const char *sees;    /* what an agent's decision depends on: "own" or "all" observations */
    const char *source;  /* who published it, and when */
    const char *certain; /* how sure it is that this is the published method */
    /* What it draws actions from (draw.h); NULL: it does not. */
    void (*draws)(const struct mw_model *model, struct mw_draw_head *head);
    mw_status (*create)(mw_policy **policy, const mw_policy_context *context, mw_error *error);
    void (*begin)(mw_policy *policy, int env); /* an episode; NULL: it remembers nothing */
    /* What the last action earned, as the mean over agents; NULL: of no use to it. */
    void (*reward)(mw_policy *policy, int env, float reward);
    mw_status (*act)(mw_policy *policy, const mw_policy_call *call, mw_error *error);
    void (*destroy)(mw_policy *policy);
} mw_policy_class;

struct mw_policy {
    const mw_policy_class *kind;
};

static inline void mw_policy_free(mw_policy *policy) {
    if (policy) policy->kind->destroy(policy);
}

#endif
