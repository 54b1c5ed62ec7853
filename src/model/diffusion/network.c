/* The denoising network and what it works on; see diffusion.h. */
#include "model/diffusion/diffusion.h"

#include <math.h>
#include <string.h>

mw_status mw_diffusion_net_make(mw_diffusion_net *net, const mw_model *model, bool apart, mw_error *error) {
    const mw_diffusion_settings *s = mw_diffusion_settings_of(model);
    mw_flow_config config = {.agents = model->shape.agents,
                             .obs = model->shape.obs,
                             .dim = s->dim,
                             .time = s->context + s->generated,
                             .context = s->context,
                             .bins = MW_NOISE_LEVELS,
                             .apart = apart,
                             .project = true};
    memcpy(config.mults, s->mults, sizeof config.mults);
    if (config.time % 4 || config.time > 256)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "%s.context %d + %s.generated %d is %d; it must be divisible by 4 and at most 256",
                       model->kind->name, s->context, model->kind->name, s->generated, config.time);
    net->shown = !apart && !s->joint && config.agents > 1;
    net->scale = (float)s->scale;
    mw_noise_schedule_make(&net->schedule);
    MW_TRY(mw_flow_net_make(&net->trunk, &config, error));
    if (apart)
        net->weight = mw_params_add(&net->trunk.params, "agents.weight", MW_PARAM_PLAIN, MW_INIT_ONE, 0,
                                    config.agents, 0, 0);
    return net->trunk.params.failed ? mw_fail(error, MW_ERR_MEMORY, "cannot allocate a table of parameters")
                                    : MW_OK;
}

void mw_diffusion_from_obs(const mw_diffusion_net *net, const mw_diffusion_cells *cells, float *x,
                           int shown) {
    const mw_flow_config *c = &net->trunk.config;
    const size_t n = (size_t)c->agents, o = (size_t)c->obs, joint = n * o;
    const float *present = x + (size_t)(c->context - 1) * joint;
    for (size_t i = 0; i < n; i++) {
        const bool other = shown >= 0 && (size_t)shown != i;
        const int known = other ? c->context - 1 : c->context;
        for (int t = 0; t < c->time; t++) {
            const size_t cell = (size_t)t * n + i, at = cell * o;
            const bool change = t >= c->context && !other;
            cells->known[cell] = t < known;
            cells->unit[cell] = change ? net->scale : 1;
            if (t < known && other) memset(x + at, 0, o * sizeof *x);
            for (size_t k = 0; k < o; k++) {
                cells->centre[at + k] = change ? present[i * o + k] : 0;
                x[at + k] = (x[at + k] - cells->centre[at + k]) * cells->unit[cell];
            }
        }
    }
}

void mw_diffusion_area_take(const mw_diffusion_net *net, mw_diffusion_area *area, mw_arena *arena, int rows,
                            bool training) {
    const mw_flow_config *c = &net->trunk.config;
    area->acts = mw_flow_acts_take(&net->trunk, arena, rows, training);
    const size_t all = (size_t)c->time * (size_t)(rows * c->agents * c->obs);
    area->own = mw_arena_floats(arena, all);
    area->predicted = c->apart ? mw_arena_floats(arena, all) : area->own;
}

/* At levels below this hardly anything is left to denoise, and what the noise is said to be is bounded by it.
 */
#define LOWEST_LEVEL 0.1

/* The network says what is behind the noise, which is then (x - signal * that) / level. */
typedef struct {
    float signal, gain;
} reading;

static reading reading_of(const mw_diffusion_net *net, int level) {
    const double kept = net->schedule.kept[level];
    return (reading){(float)sqrt(kept), (float)(1 / fmax(sqrt(1 - kept), LOWEST_LEVEL))};
}

static void factors_of(const mw_diffusion_net *net, const float *values, float *factor) {
    const int n = net->trunk.config.agents;
    for (int i = 0; i < n; i++) factor[i] = 1;
    if (net->trunk.config.apart) mw_noise_factors(factor, values + net->weight, n);
}

void mw_diffusion_forward(const mw_diffusion_net *net, const mw_diffusion_area *area, const float *values,
                          const float *packed, const mw_diffusion_given *given, int rows) {
    const mw_flow_config *c = &net->trunk.config;
    const size_t o = (size_t)c->obs;
    const float *behind = mw_flow_forward(&net->trunk, area->acts, values, packed, given->level, NULL,
                                          given->target, given->keep, rows),
                *x = mw_flow_input(area->acts);
    float factor[MW_FLOW_AGENTS];
    factors_of(net, values, factor);
    for (int t = 0; t < c->time; t++)
        for (int q = 0; q < rows * c->agents; q++) {
            const reading r = reading_of(net, given->level[q / c->agents]);
            const float f = factor[q % c->agents];
            const size_t at = (size_t)(t * rows * c->agents + q) * o;
            for (size_t i = at; i < at + o; i++) area->own[i] = r.gain * (x[i] - r.signal * behind[i]);
            for (size_t i = at; c->apart && i < at + o; i++) area->predicted[i] = f * area->own[i];
        }
}

void mw_diffusion_backward(const mw_diffusion_net *net, const mw_diffusion_area *area, float *grads,
                           float *gradient, const float *values, const float *packed,
                           const mw_diffusion_given *given, int rows) {
    const mw_flow_config *c = &net->trunk.config;
    const size_t o = (size_t)c->obs;
    float factor[MW_FLOW_AGENTS];
    double dfactor[MW_FLOW_AGENTS] = {0};
    factors_of(net, values, factor);
    for (int t = 0; t < c->time; t++)
        for (int q = 0; q < rows * c->agents; q++) {
            const reading r = reading_of(net, given->level[q / c->agents]);
            const int i = q % c->agents;
            const size_t at = (size_t)(t * rows * c->agents + q) * o;
            float sum = 0;
            for (size_t k = at; k < at + o; k++) {
                sum += gradient[k] * area->own[k];
                gradient[k] *= -factor[i] * r.gain * r.signal;
            }
            dfactor[i] += (double)sum;
        }
    if (c->apart) mw_noise_factors_backward(grads + net->weight, dfactor, values + net->weight, c->agents);
    mw_flow_backward(&net->trunk, area->acts, grads, gradient, values, packed, given->target, given->keep,
                     rows);
}
