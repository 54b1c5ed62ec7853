/* Learning by minibatches, the same for every model that does: batches drawn ahead, Adam with its schedule,
 * validation on held-out batches, the best weights. A class says what a batch holds and what its loss is. */
#ifndef MW_MODEL_FIT_H
#define MW_MODEL_FIT_H

#include "data/prefetch.h"
#include "model/model.h"
#include "nn/shards.h"

/* One model under training. */
typedef struct mw_fit {
    mw_training_part part;
    const mw_fit_class *kind;
    const mw_model *model;
    const mw_training_data *data;
    const mw_fit_settings *settings;
    void *state;      /* the class's own */
    int held_batches; /* of a validation; 0: there is none */
    mw_adam adam;     /* what the optimiser starts with, and the decay of its average */
    float average;
    const float *target; /* the average weights, also while they are validated */
    void *slots[3];      /* batches: two in turn for training, one for validation */
    mw_arena best;       /* weights, where they are kept */
    mw_prefetch *prefetch;
    /* in shards */
    mw_shards shards;
    char *areas;                 /* per worker */
    double (*losses)[MW_LOSSES]; /* per shard */
    const void *batch;           /* of the step under way */
} mw_fit;

/* Functions that are not said to be optional are not. */
struct mw_fit_class {
    size_t settings;          /* where the mw_fit_settings stand in the configuration */
    size_t state, slot, area; /* bytes of its own state, of a batch, of a worker's area; all start as zeros */
    int losses, minimised;    /* as in mw_training_part */
    const char *loss_names[MW_LOSSES];
    int held_batches; /* where `open` says nothing else */
    bool keeps_best;  /* the weights with the smallest loss on held-out episodes count */
    int stream;       /* initial weights are drawn with 3 * seed + stream */
    /* What must be there before batches: may change adam, average, held_batches and part. Optional. */
    mw_status (*open)(mw_fit *fit, mw_error *error);
    void (*close)(mw_fit *fit); /* also after a failed open; optional */
    mw_status (*slot_open)(const mw_fit *fit, void *slot, mw_error *error);
    void (*slot_close)(void *slot);
    /* What is not drawn at random among the initial weights; optional. */
    void (*initialise)(mw_fit *fit, float *values);
    /* The batch of a training step, or of a validation: a pure function of these. */
    void (*fill)(const mw_fit *fit, void *slot, uint64_t step, bool held);

    /* Either the parts of a step, which is then trained in shards: a worker's area, and losses and, unless
     * grads is NULL, gradient of rows [begin, end) of a batch as their share of the whole. */
    void (*before)(const mw_fit *fit); /* a step, by one worker; optional */
    void (*carve)(const mw_fit *fit, void *area, mw_arena *arena, int rows);
    void (*loss)(const mw_fit *fit, const void *slot, void *area, int begin, int end, float *grads,
                 double *losses);
    /* Or a whole step by a trainer that `open` made, with part.optimizer and part.cost. */
    void (*run)(mw_fit *fit, const void *slot, mw_step what, double *losses);
};

/* The model and the data must outlive it. */
mw_status mw_fit_create(mw_training_part **part, const mw_model *model, const mw_training_data *data,
                        mw_error *error);

/* Batches of joint transitions (mw_transition_rows), the same ones for every world model. */
mw_status mw_fit_transitions_open(const mw_fit *fit, void *slot, mw_error *error);
void mw_fit_transitions_close(void *slot);
void mw_fit_transitions_fill(const mw_fit *fit, void *slot, uint64_t step, bool held);

/* One step on a batch, or less of it. */
void mw_fit_run(mw_fit *fit, const void *slot, mw_step what, double *losses);

#endif
