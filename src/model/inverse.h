/* Inverse dynamics: which action takes an agent from one normalised observation to the next. One MLP shared
 * by all agents, told which of them it works for, turns imagined observations into action sequences. */
#ifndef MW_MODEL_INVERSE_H
#define MW_MODEL_INVERSE_H

#include "model/model.h"
#include "nn/mlp.h"
#include "nn/shards.h"

typedef struct mw_inverse_config {
    int obs, act;
    int ids;            /* the agents, of which a one-hot follows the pair; 0: none does, as in the paper */
    int hidden, layers; /* width and number of the hidden layers */
    bool discrete;      /* the outputs are logits of actions; otherwise normalised action values */
} mw_inverse_config;

typedef struct mw_inverse_net {
    mw_inverse_config config;
    mw_params params;
    mw_mlp mlp;
} mw_inverse_net;

static inline int mw_inverse_inputs(const mw_inverse_config *c) {
    return 2 * c->obs + c->ids;
}
/* One row of its input: an observation, its successor, and the agent. */
void mw_inverse_row(const mw_inverse_config *config, float *row, const float *now, const float *next,
                    int agent);

mw_status mw_inverse_net_make(mw_inverse_net *net, const mw_inverse_config *config, mw_error *error);
void mw_inverse_net_free(mw_inverse_net *net);

extern const mw_model_class mw_inverse_class;

static inline const mw_inverse_net *mw_inverse_net_of(const mw_model *model) {
    return model->net;
}

/* ---- training ---- */
typedef struct mw_inverse_batch {
    int count;            /* rows: transitions of single agents */
    const float *pair;    /* [count] rows of input, of normalised observations */
    const float *real;    /* [count][d], normalised, or NULL */
    const int32_t *index; /* [count], or NULL */
    const uint8_t *legal; /* [count][d], or NULL: everything is legal */
    const float *weight;  /* [count]: 0 masks a row (padding); the mean is over the weights */
} mw_inverse_batch;

typedef struct mw_inverse_trainer mw_inverse_trainer;

mw_status mw_inverse_trainer_create(mw_inverse_trainer **trainer, const mw_inverse_net *net,
                                    const mw_adam *adam, float decay, int max_rows, int shards, mw_pool *pool,
                                    mw_error *error);
void mw_inverse_trainer_free(mw_inverse_trainer *trainer);
mw_optimizer *mw_inverse_trainer_optimizer(mw_inverse_trainer *trainer);
/* Mean square error per value, or cross-entropy over the legal actions. */
double mw_inverse_trainer_step(mw_inverse_trainer *trainer, const mw_inverse_batch *batch, mw_step what);

#endif
