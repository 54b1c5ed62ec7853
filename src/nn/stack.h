/* Perceptrons with layer norms: each layer may have one in front of its product and one between product and
 * activation. World models without routing and value networks are made of them. */
#ifndef MW_NN_STACK_H
#define MW_NN_STACK_H

#include "core/arena.h"
#include "nn/param.h"

enum { MW_STACK_LAYERS = 4 };

typedef struct mw_norm {
    int size; /* 0: there is none */
    size_t w, b;
} mw_norm;

typedef struct mw_stack {
    int layers;
    bool gelu; /* between layers; else SiLU */
    struct {
        mw_norm before, between;
        mw_dense dense;
    } layer[MW_STACK_LAYERS];
} mw_stack;

/* Adds name.weight and name.bias, ones and zeros. */
mw_norm mw_norm_add(mw_params *params, const char *name, int size);

/* What a pass over at most the given number of rows keeps. */
typedef struct mw_stack_acts {
    float *normed[MW_STACK_LAYERS], *between[MW_STACK_LAYERS]; /* [rows][in], [rows][out]; NULL: no norm */
    float *stats[MW_STACK_LAYERS][2];                          /* [rows][2] of the two norms */
    float *linear[MW_STACK_LAYERS], *active[MW_STACK_LAYERS];  /* [rows][out] before and after activation */
    float *grad[2], *slope, *scratch;                          /* training: [rows][widest] */
} mw_stack_acts;

void mw_stack_acts_take(const mw_stack *stack, mw_stack_acts *acts, mw_arena *arena, int rows, bool training);
void mw_stack_pack(const mw_stack *stack, const float *values, float *packed, bool backward);
/* [rows][out of the last layer] from x[rows][in of the first], in acts. */
float *mw_stack_forward(const mw_stack *stack, mw_stack_acts *acts, const float *x, const float *values,
                        const float *packed, int rows);
/* grads += from dy[rows][out]. The gradient of x is returned, in acts; NULL unless `inputs` asks for it. */
float *mw_stack_backward(const mw_stack *stack, mw_stack_acts *acts, float *grads, const float *dy,
                         const float *x, const float *values, const float *packed, int rows, bool inputs);
double mw_stack_flops(const mw_stack *stack, int rows); /* of one forward pass */

#endif
