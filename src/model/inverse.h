/* Inverse dynamics: which action takes an agent from one normalised observation to the next. One MLP shared
 * by all agents, told which of them it works for, turns imagined observations into action sequences. */
#ifndef MW_MODEL_INVERSE_H
#define MW_MODEL_INVERSE_H

#include "model/model.h"
#include "nn/mlp.h"

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
    const float *pair;    /* [rows] of input, of normalised observations */
    const float *real;    /* [rows][d], normalised, or NULL */
    const int32_t *index; /* [rows], or NULL */
    const uint8_t *legal; /* [rows][d], or NULL: everything is legal */
    const float *weight;  /* [rows]: 0 masks a row (padding) */
    float total;          /* of all weights; the mean is over them */
} mw_inverse_batch;

/* What a loss of so many rows needs, carved from an arena. */
typedef struct mw_inverse_area {
    mw_mlp_acts acts;
    float *gradient; /* [rows][d] */
} mw_inverse_area;

void mw_inverse_area_take(const mw_inverse_net *net, mw_inverse_area *area, mw_arena *arena, int rows);
/* The share of rows [begin, end) in the mean square error per value, or in the cross-entropy over the legal
 * actions; unless grads is NULL their gradient is added to it. */
double mw_inverse_loss(const mw_inverse_net *net, const mw_inverse_batch *batch, mw_inverse_area *area,
                       const float *values, const float *packed, int begin, int end, float *grads);

#endif
