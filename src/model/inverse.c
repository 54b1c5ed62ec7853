/* Inverse dynamics: structure and loss; see inverse.h. */
#include "model/inverse.h"

#include "nn/ops.h"

#include <string.h>

mw_status mw_inverse_net_make(mw_inverse_net *net, const mw_inverse_config *c, mw_error *error) {
    *net = (mw_inverse_net){.config = *c};
    if (c->obs < 1 || c->obs > 4096 || c->act < 1 || c->act > 4096 || c->hidden < 1 || c->hidden > 4096)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "inverse dynamics of sizes obs %d, act %d, hidden %d is not possible; each "
                       "must be 1 to 4096",
                       c->obs, c->act, c->hidden);
    if (c->layers < 1 || c->layers >= MW_MLP_LAYERS || c->ids < 0 || c->ids > 32)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "inverse dynamics of %d hidden layers for %d agents is not possible; there are 1 to "
                       "%d and 0 to 32",
                       c->layers, c->ids, MW_MLP_LAYERS - 1);
    int sizes[MW_MLP_LAYERS + 1] = {mw_inverse_inputs(c)};
    for (int i = 1; i <= c->layers; i++) sizes[i] = c->hidden;
    sizes[c->layers + 1] = c->act;
    net->mlp = mw_mlp_make(&net->params, "net", sizes, c->layers + 1, MW_RELU);
    if (!net->params.failed) return MW_OK;
    mw_inverse_net_free(net);
    return mw_fail(error, MW_ERR_MEMORY, "cannot allocate the inverse dynamics' parameter table");
}

void mw_inverse_net_free(mw_inverse_net *net) {
    mw_params_free(&net->params);
}

void mw_inverse_row(const mw_inverse_config *c, float *row, const float *now, const float *next, int agent) {
    const size_t o = (size_t)c->obs;
    memcpy(row, now, o * sizeof *row);
    memcpy(row + o, next, o * sizeof *row);
    for (int k = 0; k < c->ids; k++) row[2 * o + (size_t)k] = (float)(k == agent);
}

void mw_inverse_area_take(const mw_inverse_net *net, mw_inverse_area *area, mw_arena *arena, int rows) {
    mw_mlp_acts_take(&net->mlp, &area->acts, arena, rows, true);
    area->gradient = mw_arena_floats(arena, (size_t)rows * (size_t)net->config.act);
}

double mw_inverse_loss(const mw_inverse_net *net, const mw_inverse_batch *batch, mw_inverse_area *area,
                       const float *values, const float *packed, int begin, int end, float *grads) {
    const mw_inverse_config *c = &net->config;
    const float *x = batch->pair + (size_t)begin * (size_t)mw_inverse_inputs(c);
    const float *out = mw_mlp_forward(&net->mlp, &area->acts, x, values, packed, end - begin);
    double loss = 0;
    for (int row = begin; row < end; row++) {
        const size_t at = (size_t)(row - begin) * (size_t)c->act, from = (size_t)row * (size_t)c->act;
        const float scale = batch->weight[row] == 0 ? 0 : batch->weight[row] / batch->total;
        if (scale == 0)
            memset(area->gradient + at, 0, (size_t)c->act * sizeof *area->gradient);
        else if (c->discrete)
            loss += scale * mw_cross_entropy(area->gradient + at, out + at,
                                             batch->legal ? batch->legal + from : NULL, batch->index[row],
                                             c->act, scale);
        else
            loss += scale / (float)c->act *
                    mw_mse(area->gradient + at, out + at, batch->real + from, c->act, scale / (float)c->act);
    }
    if (grads) mw_mlp_backward(&net->mlp, &area->acts, NULL, grads, area->gradient, x, packed, end - begin);
    return loss;
}
