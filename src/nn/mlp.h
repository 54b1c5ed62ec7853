/* Multi-layer perceptrons: experts, inverse dynamics, behaviours and simple scorers are all made of them. */
#ifndef MW_NN_MLP_H
#define MW_NN_MLP_H

#include "core/arena.h"
#include "nn/param.h"

#define MW_MLP_LAYERS 5

typedef enum mw_activation { MW_RELU, MW_SILU } mw_activation;

typedef struct mw_mlp {
    int layers;
    mw_dense layer[MW_MLP_LAYERS];
    mw_activation activation; /* between layers, not after the last */
} mw_mlp;

/* sizes[layers+1]; tensors are named prefix.0, prefix.2, prefix.4, ... as in a torch Sequential. */
mw_mlp mw_mlp_make(mw_params *params, const char *prefix, const int *sizes, int layers,
                   mw_activation activation);
/* The same with `layers` hidden layers of one width. */
mw_mlp mw_mlp_hidden(mw_params *params, const char *prefix, int in, int hidden, int layers, int out,
                     mw_activation activation);
void mw_mlp_pack(const mw_mlp *mlp, const float *values, float *packed, bool backward);

/* What a forward pass over at most the given number of rows keeps: with training, the values before each
 * activation; otherwise only the output. The rest is room for the rows in work. */
typedef struct mw_mlp_acts {
    float *pre[MW_MLP_LAYERS]; /* [rows][out] before the activation; the last is the output */
    float *active[2], *slope;  /* [chunk][widest]: after the activation, and its derivative */
    float *grad[2], *scratch;
} mw_mlp_acts;

void mw_mlp_acts_take(const mw_mlp *mlp, mw_mlp_acts *acts, mw_arena *arena, int rows, bool training);
/* Returns the output [rows][out of the last layer], inside acts. */
float *mw_mlp_forward(const mw_mlp *mlp, mw_mlp_acts *acts, const float *x, const float *values,
                      const float *packed, int rows);
/* grads += unless NULL, dx[rows][in] overwritten unless NULL. dy may be inside acts' output buffer. */
void mw_mlp_backward(const mw_mlp *mlp, mw_mlp_acts *acts, float *dx, float *grads, const float *dy,
                     const float *x, const float *packed, int rows);
double mw_mlp_flops(const mw_mlp *mlp, int rows);

#endif
