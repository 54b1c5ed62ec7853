/* Twin critics; see critic.h. */
#include "model/critic.h"

#include <string.h>

int mw_twin_inputs(const mw_model_shape *shape, bool joint) {
    return (joint ? shape->agents : 1) * shape->obs + shape->agents + shape->act;
}

void mw_twin_add(mw_twin *t, mw_params *p, const mw_model_shape *shape, bool joint, int hidden) {
    t->act = shape->act;
    t->inputs = mw_twin_inputs(shape, joint);
    for (int j = 0; j < 2; j++)
        t->mlp[j] = mw_mlp_hidden(p, mw_name_of("critic%d", j + 1).text, t->inputs, hidden, 2, 1, MW_RELU);
}

void mw_twin_pack(const mw_twin *t, const float *values, float *packed, bool backward) {
    for (int j = 0; j < 2; j++) mw_mlp_pack(&t->mlp[j], values, packed, backward);
}

void mw_twin_fill(const mw_twin *t, const float *values, const float *obs, const float *act, float *x) {
    mw_view_fill(&t->view, values, obs, x, (size_t)t->inputs);
    mw_twin_put(t, x, act, t->view.agents);
}

void mw_twin_put(const mw_twin *t, float *x, const float *act, int rows) {
    for (int row = 0; row < rows; row++)
        memcpy(x + (size_t)row * (size_t)t->inputs + t->view.inputs, act + (size_t)row * (size_t)t->act,
               (size_t)t->act * sizeof *act);
}

void mw_twin_take(const mw_twin *t, float *gradient, const float *dx, int rows) {
    for (int row = 0; row < rows; row++)
        for (int k = 0; k < t->act; k++)
            gradient[row * t->act + k] += dx[(size_t)row * (size_t)t->inputs + (size_t)(t->view.inputs + k)];
}
