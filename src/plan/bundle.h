/* A bundle is everything that planning needs, frozen in one safetensors file: a list of models, each with its
 * configuration and provenance, the normalisers they share, what the task looks like and how to plan. */
#ifndef MW_PLAN_BUNDLE_H
#define MW_PLAN_BUNDLE_H

#include "model/model.h"
#include "nn/normalizer.h"
#include "plan/packing.h"
#include "plan/provenance.h"
#include "plan/settings.h"

#define MW_BUNDLE_VERSION 10

/* What the bundle is for. */
typedef struct mw_bundle_info {
    char task[MW_WORD], rules[MW_WORD], quality[MW_WORD];
    char method[MW_WORD]; /* the preset that it was trained with: "mawam", "paper" */
    int agents, obs, act;
    bool discrete;
    int episode_limit;
    mw_packing packing; /* of the file it was read from */
} mw_bundle_info;

typedef struct mw_bundle_part {
    mw_model *model; /* owned; its class's name is the part's */
    mw_provenance provenance;
    char *text;        /* configuration and provenance as JSON, for people */
    bool narrow, wide; /* weights of the file it was read from: some are in half precision; some are in single
                          that half would change */
} mw_bundle_part;

/* On what the plan's return_error was measured. */
typedef enum mw_measured {
    MW_MEASURED_NEVER,    /* it is not known */
    MW_MEASURED_HELD_OUT, /* episodes that what imagines returns was not trained on */
    MW_MEASURED_ALL,      /* all of the data, for want of others */
    MW_MEASURED_GIVEN,    /* set by hand */
} mw_measured;

struct mw_bundle {
    mw_bundle_info info;
    mw_plan_settings plan;
    mw_measured return_error_from;
    bool target_given;                            /* set by hand in the plan, not found in the data */
    mw_normalizer obs_normalizer, act_normalizer; /* the latter has features 0 for discrete actions */
    mw_bundle_part parts[MW_KINDS];
    int count;
    char checksum[17]; /* of all bytes of the file it was read from, as results name bundles; "": of none */
    unsigned exact; /* 1 << place of parts that are saved in half precision only where that loses nothing */
};

const char *mw_measured_word(mw_measured from); /* in files; "" of what is not known */

/* Without parts and normalisers. */
mw_status mw_bundle_create(mw_bundle **bundle, const mw_bundle_info *info, const mw_plan_settings *plan,
                           mw_error *error);
mw_model_shape mw_bundle_shape(const mw_bundle_info *info);
mw_status mw_bundle_info_check(const mw_bundle_info *info, mw_error *error); /* a bundle can say it */
/* The model, with its weights set, and the provenance become the bundle's, also after a failure. */
mw_status mw_bundle_add(mw_bundle *bundle, mw_model *model, mw_provenance *provenance, mw_error *error);
mw_bundle_part *mw_bundle_find(mw_bundle *bundle, const char *name); /* NULL: it has none */
const mw_model *mw_bundle_model(const mw_bundle *bundle, const char *name);
const mw_model *mw_bundle_role(const mw_bundle *bundle, mw_role role); /* NULL: it has none */
unsigned mw_bundle_models(const mw_bundle *bundle);                    /* bits by class */
/* Has it what candidates are drawn with, the flow and the inverse dynamics? Nothing is planned without. */
bool mw_bundle_draws(const mw_bundle *bundle);

/* Weights as a bundle in half precision will hold them. */
void mw_bundle_narrow(mw_model *model);
/* half stores weights as F16 (normalisers, standardisation constants and what F16 would lose stay F32).
 * Nothing is packed, whatever the bundle was read from. Atomic. */
mw_status mw_bundle_save(const mw_bundle *bundle, const char *path, bool half, mw_error *error);

/* Is the file one of ours, whatever its version and whether or not it can be used? */
mw_status mw_bundle_recognise(bool *bundle, const char *path, mw_error *error);

/* mw_bundle_load, mw_bundle_pack and mw_bundle_free are in mawam/plan.h. */

#endif
