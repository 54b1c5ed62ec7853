/* Generators of actions; see generator.h. */
#include "model/generator.h"

#include "core/math.h"
#include "nn/ops.h"

#include <assert.h>
#include <string.h>

void mw_generator_add(mw_generator *g, mw_params *p, const char *name, const mw_model_shape *shape,
                      const mw_generator_form *form) {
    const int n = shape->agents;
    *g = (mw_generator){.team = form->team,
                        .values = (form->team ? n : 1) * shape->act,
                        .times = form->times,
                        .conditions = form->conditions,
                        .frequencies = form->frequencies};
    g->seen = (form->team || form->joint ? n : 1) * shape->obs + (form->team ? 0 : n);
    g->inputs = g->seen + g->values + 2 * g->times * g->frequencies + g->conditions;
    g->mlp = mw_mlp_hidden(p, name, g->inputs, form->hidden, form->layers, g->values, MW_SILU);
}

void mw_generator_see(mw_generator *g, const mw_units *units, const mw_model_shape *shape, bool joint) {
    g->view = mw_view_of(units, shape, joint || g->team);
}

/* ---- rows ---- */

int mw_generator_rows(const mw_generator *g) {
    return g->team ? 1 : g->view.agents;
}

void mw_generator_look(const mw_generator *g, const float *values, const float *obs, float *rows, int each) {
    const size_t stride = (size_t)g->inputs, all = (size_t)(mw_generator_rows(g) * each);
    if (g->team)
        mw_units_apply(&g->view.units, values, obs, rows, g->seen);
    else
        mw_view_fill(&g->view, values, obs, rows, stride * (size_t)each);
    for (size_t row = 0; each > 1 && row < all; row++)
        if (row % (size_t)each)
            memcpy(rows + row * stride, rows + (row - 1) * stride, (size_t)g->seen * sizeof *rows);
}

void mw_generator_put(const mw_generator *g, float *rows, const float *x, int count) {
    for (size_t row = 0; row < (size_t)count; row++)
        memcpy(rows + row * (size_t)g->inputs + g->seen, x + row * (size_t)g->values,
               (size_t)g->values * sizeof *x);
}

void mw_generator_take(const mw_generator *g, float *gradient, const float *dx, int count) {
    for (size_t row = 0; row < (size_t)count; row++)
        for (int k = 0; k < g->values; k++)
            gradient[row * (size_t)g->values + (size_t)k] +=
                dx[row * (size_t)g->inputs + (size_t)(g->seen + k)];
}

/* By doubling the angle: exact enough in double, and two elementary functions for all frequencies. */
void mw_time_features(float *features, int frequencies, double t) {
    const double angle = 3.14159265358979323846 * t;
    double sine = mw_sin(angle), cosine = mw_cos(angle);
    for (int k = 0; k < frequencies; k++) {
        features[k] = (float)sine;
        features[frequencies + k] = (float)cosine;
        const double twice = 2 * sine * cosine;
        cosine = 1 - 2 * sine * sine;
        sine = twice;
    }
}

static int time_at(const mw_generator *g, int which) {
    return g->seen + g->values + 2 * g->frequencies * which;
}

void mw_generator_time(const mw_generator *g, float *row, int which, double t) {
    mw_time_features(row + time_at(g, which), g->frequencies, t);
}

void mw_generator_condition(const mw_generator *g, float *row, const float *conditions) {
    memcpy(row + time_at(g, g->times), conditions, (size_t)g->conditions * sizeof *row);
}

/* ---- paths ---- */

void mw_path_straight(float *x, float *velocity, const float *act, const float *noise, float t, int count) {
    for (int k = 0; k < count; k++) {
        x[k] = (1 - t) * noise[k] + t * act[k];
        velocity[k] = act[k] - noise[k];
    }
}

mw_blend mw_blend_at(double t) {
    const double log = -(20 - 0.1) * t * t / 4 - 0.1 * t / 2;
    return (mw_blend){mw_exp(log), sqrt(1 - mw_exp(2 * log))};
}

void mw_path_blend(float *x, mw_blend blend, const float *act, const float *noise, int count) {
    const float keep = (float)blend.data, add = (float)blend.noise;
    for (int k = 0; k < count; k++) x[k] = keep * act[k] + add * noise[k];
}

void mw_generator_disturb(const mw_generator *g, float *rows, float *x, float *data, float *noise_share,
                          const float *act, const float *noise, const float *t, int count) {
    for (size_t row = 0; row < (size_t)count; row++) {
        const size_t at = row * (size_t)g->values;
        const mw_blend blend = mw_blend_at((double)t[row]);
        data[row] = (float)blend.data;
        noise_share[row] = (float)blend.noise;
        mw_path_blend(x + at, blend, act + at, noise + at, g->values);
        mw_generator_time(g, rows + row * (size_t)g->inputs, 0, (double)t[row]);
    }
    mw_generator_put(g, rows, x, count);
}

double mw_generator_loss(const mw_generator *g, mw_mlp_acts *acts, const float *values, const float *packed,
                         const float *rows, const float *target, float *out, int count, float share,
                         float *grads) {
    float *y = mw_mlp_forward(&g->mlp, acts, rows, values, packed, count);
    memcpy(out, y, (size_t)(count * g->values) * sizeof *y);
    const double sum = mw_mse(y, out, target, (long)count * g->values, share);
    if (grads) mw_mlp_backward(&g->mlp, acts, NULL, grads, y, rows, packed, count);
    return sum;
}

/* ---- samplers ---- */

mw_sampler mw_sampler_straight(int steps) {
    mw_sampler s = {.steps = steps};
    assert(steps <= MW_SAMPLER_STEPS);
    for (int k = 0; k < steps; k++) {
        s.time[k] = (double)k / steps;
        s.keep[k] = 1;
        s.add[k] = (float)(1.0 / steps);
    }
    return s;
}

/* What x says of the data, as the net tells its noise, is moved to the next blend. */
mw_sampler mw_sampler_blend(int steps) {
    mw_sampler s = {.steps = steps};
    assert(steps <= MW_SAMPLER_STEPS);
    for (int k = 0; k < steps; k++) {
        const mw_blend now = mw_blend_at(s.time[k] = 1 - (double)k / steps),
                       then = mw_blend_at(1 - (double)(k + 1) / steps);
        s.keep[k] = (float)(then.data / now.data);
        s.add[k] = (float)(then.noise - then.data * now.noise / now.data);
    }
    return s;
}

mw_sampler mw_sampler_once(float keep, float add) {
    return (mw_sampler){.steps = 1, .time = {1}, .keep = {keep}, .add = {add}};
}

void mw_generator_step(const mw_generator *g, const mw_sampler *s, int step, mw_mlp_acts *acts,
                       const float *values, const float *packed, float *rows, float *x, int count) {
    mw_generator_put(g, rows, x, count);
    if (g->times > 0) {
        const size_t at = (size_t)time_at(g, g->times - 1), size = 2 * (size_t)g->frequencies;
        mw_time_features(rows + at, g->frequencies, s->time[step]);
        for (size_t row = 1; row < (size_t)count; row++)
            memcpy(rows + row * (size_t)g->inputs + at, rows + at, size * sizeof *rows);
    }
    const float *out = mw_mlp_forward(&g->mlp, acts, rows, values, packed, count);
    for (size_t k = 0; k < (size_t)(count * g->values); k++)
        x[k] = s->keep[step] * x[k] + s->add[step] * out[k];
}

void mw_generator_sample(const mw_generator *g, const mw_sampler *s, mw_mlp_acts *acts, const float *values,
                         const float *packed, float *rows, float *x, int count, float *states, size_t apart) {
    const size_t size = (size_t)(count * g->values) * sizeof *x;
    if (states) memcpy(states, x, size);
    for (int step = 0; step < s->steps; step++) {
        mw_generator_step(g, s, step, acts, values, packed, rows, x, count);
        if (states) memcpy(states + (size_t)(step + 1) * apart, x, size);
    }
}

void mw_clip_actions(float *act, const float *x, size_t count) {
    for (size_t k = 0; k < count; k++) act[k] = fminf(fmaxf(x[k], -1), 1);
}
