/* A bundle is everything that planning needs, frozen in one safetensors file: both networks, the inverse
 * dynamics, the normalisers, what the task looks like and how the whole was made. */
#ifndef MW_PLAN_BUNDLE_H
#define MW_PLAN_BUNDLE_H

#include "nn/normalizer.h"
#include "model/inverse.h"
#include "model/flow/network.h"
#include "model/advantage.h"
#include "model/rwm/network.h"

#define MW_BUNDLE_VERSION 1

/* What the bundle says about itself and how it wants to be used. */
typedef struct mw_bundle_info {
    char task[32], rules[64], quality[32];
    int agents, obs, act;
    bool discrete;
    int episode_limit;
    int horizon;        /* H: effective planning horizon, at most the generated length */
    int steps;          /* K: sampling steps */
    float guidance;     /* omega */
    float target;       /* target return, in units of return_scale */
    float return_scale; /* which returns were divided by */
    float discount;     /* of the returns-to-go it was trained on */
    float explore;      /* deviation of what candidates lean to; see mw_planner_options */
    float blend;        /* how far candidates below the best count; see there */
    int features;       /* of the advantage; 0: the bundle has none */
    float advantage;    /* its share in a candidate's score; see there */
    bool carry;         /* one candidate is the rest of the plan chosen before */
    bool return_to_go;  /* the target shrinks by what was earned during the episode */
} mw_bundle_info;

typedef struct mw_bundle {
    mw_bundle_info info;
    mw_policy_net policy;
    mw_inverse_net inverse;
    mw_world_net world;
    mw_advantage_net advantage;
    float *policy_values, *inverse_values, *world_values; /* in the layout of the parameter tables */
    float *advantage_values;
    float *policy_packed, *inverse_packed, *world_packed; /* forward matrices, made by mw_bundle_pack */
    mw_normalizer obs_normalizer, act_normalizer;         /* the latter has features 0 for discrete actions */
    char *provenance; /* JSON text: settings, dataset, command, training curve; never NULL once loaded */
} mw_bundle;

/* Networks of these sizes with zeroed weights and empty normalisers. The sizes of info rule. */
mw_status mw_bundle_create(mw_bundle **bundle, const mw_bundle_info *info, const mw_policy_config *policy,
                           const mw_inverse_config *inverse, const mw_world_config *world, mw_error *error);
/* After the weights have been set. */
void mw_bundle_pack(mw_bundle *bundle);
mw_status mw_bundle_set_provenance(mw_bundle *bundle, const char *json, mw_error *error);

/* half stores weights as F16 (normalisers, standardisation constants and what F16 would lose stay F32).
 * Atomic. */
mw_status mw_bundle_save(const mw_bundle *bundle, const char *path, bool half, mw_error *error);

/* The public names mw_bundle_load and mw_bundle_free are in mawam.h. */

#endif
