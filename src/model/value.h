/* Value networks: one number from a joint observation and the first joint actions after it, without a model
 * of the world. Direct, Q and the value of an observation alone differ in the layers, in how many
 * actions they look at and in what they learn.
 */
#ifndef MW_MODEL_VALUE_H
#define MW_MODEL_VALUE_H

#include "model/fit.h"
#include "nn/stack.h"

typedef struct mw_value_net {
    mw_params params;
    mw_stack stack;
    int steps;        /* joint actions that are looked at, from the first on */
    bool whole;       /* of candidates that have no others */
    bool scaled;      /* the number is the stack's times std plus mean, both stored with the parameters */
    size_t mean, std; /* not trained */
} mw_value_net;

/* What a worker of a training needs. */
typedef struct mw_value_area {
    mw_stack_acts acts;
} mw_value_area;

extern const mw_model_class mw_direct_class, mw_q_class;

static inline const mw_value_net *mw_value_net_of(const mw_model *model) {
    return model->net;
}
static inline int mw_value_inputs(const mw_model *model) {
    return model->shape.agents * (model->shape.obs + mw_value_net_of(model)->steps * model->shape.act);
}

/* The empty net of a model that is being made; NULL without memory. */
mw_value_net *mw_value_net_create(mw_model *model);
void mw_value_discard(mw_model *model);
void mw_value_pack(const mw_model *model, const float *values, float *packed, bool backward);

/* x[inputs]: the joint observation at this place, then `steps` joint actions by step, agent and component. */
void mw_value_row(const mw_dataset *dataset, mw_place place, int steps, float *x);

void mw_value_carve(const mw_fit *fit, void *area, mw_arena *arena, int rows);
/* Mean squared distance of rows x[rows][inputs] from target[rows] as a share of a batch, and its gradient
 * unless grads is NULL. */
double mw_value_loss(const mw_fit *fit, mw_value_area *area, const float *x, const float *target, int rows,
                     float *grads);

/* A scorer of any such model; classes differ in name and help. */
mw_status mw_value_scorer_create(mw_scorer **scorer, const mw_scorer_context *context, mw_error *error);
mw_status mw_value_score(mw_scorer *scorer, const mw_scoring *scoring, mw_error *error);
size_t mw_value_scorer_bytes(const mw_scorer *scorer);
void mw_value_scorer_destroy(mw_scorer *scorer);

#endif
