/* A model is anything that learns from a dataset: the proposer, the inverse dynamics, what judges candidates.
 * Its class says how it is called, configured, built, trained and used; all classes stand in one table, and
 * bundles, training and help are loops over it. Frozen models are read-only and shared by threads. */
#ifndef MW_MODEL_MODEL_H
#define MW_MODEL_MODEL_H

#include "core/fields.h"
#include "data/stats.h"
#include "model/part.h"
#include "model/policy.h"
#include "model/scorer.h"
#include "nn/param.h"

enum { MW_KINDS = 32, MW_CONFIG_BYTES = 256 }; /* classes at most; bytes of the settings of one */

/* The task as networks see it. */
typedef struct mw_model_shape {
    int agents, obs, act; /* n, o, d */
    bool discrete;
} mw_model_shape;

/* Room for the settings of any class. */
typedef union mw_model_config {
    max_align_t align;
    unsigned char bytes[MW_CONFIG_BYTES];
} mw_model_config;

/* fit.h */
typedef struct mw_fit_class mw_fit_class;
typedef struct mw_turn mw_turn;
typedef struct mw_phase mw_phase;

/* Settings of a model that differ by task and quality of the data. */
typedef struct mw_constants {
    const char *where;    /* "spread tag-expert": tasks, or settings by their names; NULL ends the rows */
    const char *settings; /* "discount=0.95 joint=on"; later rows go over earlier ones */
    const char *source;   /* who says so */
} mw_constants;

/* What a model is for the planner; who needs one asks for the role, not for a name. */
typedef enum mw_role {
    MW_ROLE_NONE,
    MW_ROLE_PROPOSER, /* draws joint futures; its configuration is mw_flow_settings */
    MW_ROLE_INVERSE,  /* finds their actions */
    MW_ROLE_VALUE     /* what a joint observation is worth */
} mw_role;

/* What a class learns by. A program that will never train, such as a page, is linked without it. */
#ifdef MAWAM_NO_TRAINING
#define MW_LEARNS(by) (0 ? (by) : NULL)
#else
#define MW_LEARNS(by) (by)
#endif

typedef struct mw_model_class {
    const char *name, *help;
    mw_role role;
    mw_fields fields;              /* of its configuration: structure and training */
    const mw_constants *constants; /* NULL: the same everywhere */
    const char *needs;             /* "inverse": models that have to be beside it; NULL: it is enough alone */
    bool normalised;               /* works in the units of the bundle's normalisers */
    bool real_only, discrete_only; /* for such actions alone */
    /* Builds net and params from configuration and shape; no weights yet. */
    mw_status (*make)(struct mw_model *model, mw_error *error);
    void (*discard)(struct mw_model *model); /* the net; also after a failed make */
    /* Matrices for products from weights; may be NULL. */
    void (*pack)(const struct mw_model *model, const float *values, float *packed, bool backward);
    /* Settles what the configuration leaves open; may be NULL. */
    mw_status (*settle)(mw_model_config *config, const mw_training_data *data, mw_error *error);
    const mw_fit_class *fit;          /* how it learns by minibatches; NULL: by `train` */
    const mw_fit_class *fit_discrete; /* of discrete actions, where it is another way; NULL: the same */
    /* The model and the data must outlive the part. */
    mw_status (*train)(mw_training_part **part, const struct mw_model *model, const mw_training_data *data,
                       mw_error *error);
    const mw_scorer_class *scorer; /* judges candidates with it; NULL: it cannot */
    const mw_policy_class *policy; /* plays by itself; NULL: it cannot */
} mw_model_class;

typedef struct mw_model {
    const mw_model_class *kind;
    mw_model_shape shape;
    mw_model_config config;
    void *net;               /* the class's own structure */
    const mw_params *params; /* its parameter table */
    float *values, *packed;  /* NULL until mw_model_allocate */
    mw_arena arena;          /* of these */
} mw_model;

/* ---- all of them ---- */
const mw_model_class *mw_model_class_at(int index); /* NULL past the end */
int mw_model_class_index(const char *name);         /* -1: there is none */
const char *mw_model_class_name(int index);         /* NULL past the end */
int mw_model_class_for(mw_role role);               /* its index */
unsigned mw_model_class_parts(int index);           /* 1 << it, and each that it needs beside it */

/* ---- one ---- */
/* The structure alone: how large the weights are is known before they take memory. */
mw_status mw_model_make(mw_model **model, const mw_model_class *kind, const mw_model_config *config,
                        const mw_model_shape *shape, mw_error *error);
mw_status mw_model_allocate(mw_model *model, mw_error *error); /* zeroed weights */
size_t mw_model_bytes(const mw_model *model);                  /* that this takes */
void mw_model_pack(mw_model *model);                           /* after the weights were set */
void mw_model_free(mw_model *model);
/* The model and the data must outlive the part. */
mw_status mw_model_train(mw_training_part **part, const mw_model *model, const mw_training_data *data,
                         mw_error *error);

/* ---- training settings that classes share ---- */
typedef struct mw_fit_settings {
    int steps, batch;
    double rate; /* of Adam after the warm-up, then along a cosine to a share of it */
    int warmup;
    double final; /* that share; 1: the rate stays */
    double clip;  /* of the gradient's norm; 0: none */
    int shards;   /* parts of a batch, whose gradients are added by a tree */
} mw_fit_settings;

/* clang-format off */
#define MW_PACE_FIELDS(type, fit, unit, steps_, batch_, rate_, warmup_)                                                           \
    {"steps",  MW_FIELD_INT,  offsetof(type, fit.steps),  steps_,  1, 1e8,   "training steps", {0}, NULL},                         \
    {"batch",  MW_FIELD_INT,  offsetof(type, fit.batch),  batch_,  1, 65536, unit " in a step", {0}, NULL},                        \
    {"rate",   MW_FIELD_REAL, offsetof(type, fit.rate),   rate_,   0, 1,     "Adam's rate after the warm-up", {0}, NULL},          \
    {"warmup", MW_FIELD_INT,  offsetof(type, fit.warmup), warmup_, 0, 1e6,   "steps of linear warm-up", {0}, NULL},                \
    {"final",  MW_FIELD_REAL, offsetof(type, fit.final),  "0.01",  0, 1,     "share of the rate that a cosine leads to at the last step; 1: the rate stays", {0}, NULL}
#define MW_CLIP_FIELD(type, fit, clip_)                                                                                            \
    {"clip",   MW_FIELD_REAL, offsetof(type, fit.clip),   clip_,   0, 1e6,   "bound of the gradient's norm; 0: none", {0}, NULL}
#define MW_FIT_FIELDS(type, fit, unit, steps_, batch_, rate_, warmup_)                                                             \
    MW_PACE_FIELDS(type, fit, unit, steps_, batch_, rate_, warmup_), MW_CLIP_FIELD(type, fit, "10")

/* Where a batch is learned in shards. */
#define MW_SHARDS_FIELD(type, fit)                                                                                                 \
    {"shards", MW_FIELD_INT,  offsetof(type, fit.shards), "4",     1, 64,    "parts of a batch, each one thread's at a time; other numbers round differently", {0}, NULL}
/* clang-format on */

#endif
