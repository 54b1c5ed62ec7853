/* Perceptrons with layer norms; see stack.h. */
#include "nn/stack.h"

#include "nn/ops.h"

#include <string.h>

mw_norm mw_norm_add(mw_params *p, const char *name, int size) {
    const mw_name weight = mw_name_of("%s.weight", name), bias = mw_name_of("%s.bias", name);
    const size_t w = mw_params_add(p, weight.text, MW_PARAM_PLAIN, MW_INIT_ONE, 0, size, 0, 0);
    return (mw_norm){size, w, mw_params_add(p, bias.text, MW_PARAM_PLAIN, MW_INIT_ZERO, 0, size, 0, 0)};
}

void mw_stack_acts_take(const mw_stack *stack, mw_stack_acts *a, mw_arena *arena, int rows, bool training) {
    const size_t n = (size_t)rows;
    size_t widest = 0, scratch = 0;
    *a = (mw_stack_acts){0};
    for (int i = 0; i < stack->layers; i++) {
        const mw_dense *dense = &stack->layer[i].dense;
        const size_t in = n * (size_t)dense->in, out = n * (size_t)dense->out,
                     need = mw_dense_scratch(dense, 1, rows);
        const mw_norm norms[2] = {stack->layer[i].before, stack->layer[i].between};
        for (int k = 0; k < 2; k++)
            if (norms[k].size) a->stats[i][k] = mw_arena_floats(arena, 2 * n);
        if (norms[0].size) a->normed[i] = mw_arena_floats(arena, in);
        if (norms[1].size) a->between[i] = mw_arena_floats(arena, out);
        a->linear[i] = mw_arena_floats(arena, out);
        if (i + 1 < stack->layers) a->active[i] = mw_arena_floats(arena, out);
        widest = in > widest ? in : widest;
        widest = out > widest ? out : widest;
        scratch = need > scratch ? need : scratch;
    }
    if (!training) return;
    for (int i = 0; i < 2; i++) a->grad[i] = mw_arena_floats(arena, widest);
    a->slope = mw_arena_floats(arena, widest);
    a->scratch = mw_arena_floats(arena, scratch);
}

void mw_stack_pack(const mw_stack *stack, const float *values, float *packed, bool backward) {
    for (int i = 0; i < stack->layers; i++) mw_dense_pack(&stack->layer[i].dense, values, packed, backward);
}

float *mw_stack_forward(const mw_stack *stack, mw_stack_acts *a, const float *x, const float *values,
                        const float *packed, int rows) {
    const int last = stack->layers - 1;
    for (int i = 0;; i++) {
        const mw_norm *before = &stack->layer[i].before, *between = &stack->layer[i].between;
        const mw_dense *dense = &stack->layer[i].dense;
        const float *in = i ? a->active[i - 1] : x, *pre = a->linear[i];
        if (before->size) {
            mw_layernorm_forward(a->normed[i], a->stats[i][0], in, values + before->w, values + before->b,
                                 rows, before->size);
            in = a->normed[i];
        }
        mw_dense_forward(dense, a->linear[i], in, values, packed, 1, rows);
        if (i == last) return a->linear[i];
        if (between->size) {
            mw_layernorm_forward(a->between[i], a->stats[i][1], pre, values + between->w, values + between->b,
                                 rows, between->size);
            pre = a->between[i];
        }
        if (stack->gelu)
            mw_gelu_forward(a->active[i], pre, rows * dense->out);
        else
            mw_silu_forward(a->active[i], pre, rows * dense->out);
    }
}

/* grad <- its product with the activation's slope, then through the norm between. */
static void activation_backward(const mw_stack *stack, mw_stack_acts *a, int i, float *grad, float *grads,
                                const float *values, int rows) {
    const mw_norm *between = &stack->layer[i].between;
    const int out = stack->layer[i].dense.out;
    const float *pre = between->size ? a->between[i] : a->linear[i];
    if (stack->gelu)
        mw_gelu_slope(a->active[i], a->slope, pre, rows * out);
    else
        mw_silu_slope(a->active[i], a->slope, pre, rows * out);
    mw_multiply(grad, a->slope, rows * out);
    if (between->size)
        mw_layernorm_backward(grad, grads + between->w, grads + between->b, grad, a->linear[i],
                              a->stats[i][1], values + between->w, rows, out);
}

float *mw_stack_backward(const mw_stack *stack, mw_stack_acts *a, float *grads, const float *dy,
                         const float *x, const float *values, const float *packed, int rows, bool inputs) {
    const int last = stack->layers - 1;
    float *grad = a->grad[0], *other = a->grad[1];
    memcpy(grad, dy, (size_t)rows * (size_t)stack->layer[last].dense.out * sizeof *dy);
    for (int i = last; i >= 0; i--) {
        const mw_norm *before = &stack->layer[i].before;
        const float *in = i ? a->active[i - 1] : x;
        if (i < last) activation_backward(stack, a, i, grad, grads, values, rows);
        mw_dense_backward(&stack->layer[i].dense, i || inputs || before->size ? other : NULL, grads, grad,
                          before->size ? a->normed[i] : in, packed, a->scratch, 1, rows);
        if (before->size) {
            mw_layernorm_backward(grad, grads + before->w, grads + before->b, other, in, a->stats[i][0],
                                  values + before->w, rows, before->size);
        } else {
            float *swapped = grad;
            grad = other;
            other = swapped;
        }
    }
    return inputs ? grad : NULL;
}

double mw_stack_flops(const mw_stack *stack, int rows) {
    double flops = 0;
    for (int i = 0; i < stack->layers; i++) flops += mw_dense_flops(&stack->layer[i].dense, 1, rows);
    return flops;
}
