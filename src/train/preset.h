/* How the networks of each task are trained and used: one table with a row per task, every field of which can
 * be overridden by name ("policy.dim=64") and is written into the files it produced. */
#ifndef MW_TRAIN_PRESET_H
#define MW_TRAIN_PRESET_H

#include "core/json.h"
#include "model/inverse.h"
#include "model/flow/network.h"
#include "model/rwm/network.h"

#include <stdio.h>

typedef enum mw_budget { MW_BUDGET_QUICK, MW_BUDGET_FULL } mw_budget;

typedef struct mw_training_preset {
    char task[32];
    struct {
        int dim, mults[MW_LEVELS];
        int context, generated; /* C and T - C */
        int project;            /* attention has its output projection */
        int changes;            /* generate changes from the present */
        int forecast;           /* width of the MLP that expects them; 0: none */
        int forecast_batch;     /* segments it learns from in a step */
        double scale;           /* of the changes in the flow */
        int steps, batch;
        double rate; /* after the warm-up; then a cosine towards 0 */
        int warmup;
        double clip;                                     /* of the gradient's norm; 0: none */
        double average;                                  /* decay of the weights' average */
        double drop;                                     /* probability that the condition is dropped */
        double discount;                                 /* of the return-to-go */
        double return_scale;                             /* 0: from the data */
        int inverse_hidden, inverse_layers, inverse_ids; /* inverse dynamics: width, depth, knows the agent */
        int inverse_batch;    /* pairs of joint observations that they learn from in a step */
        double inverse_noise; /* on the second observation of a pair */
    } policy;
    struct {
        int paper; /* the paper's variant; then without norm features */
        int hidden, experts, slots, reward_experts, top_k, reward_features, dynamics_features, shared, joint,
            everyone, run;
        int steps, batch;
        double rate;
        int warmup;
        double clip, average; /* average 0: none */
    } world;
    struct {
        int features;      /* random features of the state; 0: no advantage */
        int hidden, steps; /* of the MLPs for what is usual */
        double discount, trace, ridge;
    } advantage;
    struct {
        double held_out; /* share of the episodes */
    } data;
    struct {
        int horizon, steps; /* H, K */
        double guidance;    /* omega */
        double target;      /* NaN: from the data */
        double quantile;    /* of the data's returns, where the target comes from them */
        double explore;     /* deviation of what candidates lean to */
        double blend;       /* how far candidates below the best count */
        double advantage;   /* its share in their scores */
        int carry, return_to_go;
    } plan;
} mw_training_preset;

/* The task's row; tasks of the user's own get the last one, "other". */
mw_training_preset mw_training_preset_of(const char *task, mw_budget budget);

/* "name=value". The message of a failure lists what there is. */
mw_status mw_training_preset_set(mw_training_preset *preset, const char *assignment, mw_error *error);
/* Fields that do not fit together. */
mw_status mw_training_preset_check(const mw_training_preset *preset, mw_error *error);

/* {"policy.dim": 32, ...}; NULL if out of memory. */
json_t *mw_training_preset_json(const mw_training_preset *preset);
/* The first field outside "plan." in which two such objects differ, or NULL: then one training may continue
 * the other. */
const char *mw_training_preset_difference(const json_t *a, const json_t *b);
/* What rules the training of one part ("policy." or "world.") is the same. */
bool mw_training_preset_same_part(const json_t *a, const json_t *b, const char *part);

/* The table and all fields, as Markdown. */
void mw_training_preset_list(FILE *out);

/* Sizes of the networks; agents, obs and act are left to the caller. */
mw_policy_config mw_training_preset_policy(const mw_training_preset *preset);
mw_inverse_config mw_training_preset_inverse(const mw_training_preset *preset);
mw_world_config mw_training_preset_world(const mw_training_preset *preset);

#endif
