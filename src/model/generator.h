/* Generators of actions: an MLP that turns noise into the action of an agent, or into those of a whole team,
 * at once or in steps. Methods that clone with a flow, a noise model or a mean velocity share what its rows
 * hold, the paths between noise and data, and the samplers that walk them. */
#ifndef MW_MODEL_GENERATOR_H
#define MW_MODEL_GENERATOR_H

#include "model/actor.h"

/* Rows are [view, x, features of each time, conditions]. */
typedef struct mw_generator {
    mw_mlp mlp;
    mw_view view;
    bool team;        /* a row is the whole team: what all see, without a number, and the actions of all */
    int seen, values; /* inputs before x; values of x and of the output: d, or n d of a team */
    int times, conditions; /* how many of each */
    int frequencies;       /* of a time: sines of pi 2^k t, then the cosines */
    int inputs;
} mw_generator;

typedef struct mw_generator_form {
    bool joint; /* every agent sees what all see */
    bool team;
    int times, frequencies, conditions;
    int hidden, layers;
} mw_generator_form;

/* Tensors name.0, name.2, ... */
void mw_generator_add(mw_generator *generator, mw_params *params, const char *name,
                      const mw_model_shape *shape, const mw_generator_form *form);
/* Once the units are known. */
void mw_generator_see(mw_generator *generator, const mw_units *units, const mw_model_shape *shape,
                      bool joint);

/* ---- rows; `each` of them for every one that a joint observation has: n, or 1 of a team ---- */
int mw_generator_rows(const mw_generator *generator);
/* What is seen, from a raw joint observation [n][o]. */
void mw_generator_look(const mw_generator *generator, const float *values, const float *obs, float *rows,
                       int each);
/* x of `count` rows from x[count][values]; and back: gradient[count][values] += that of the rows. */
void mw_generator_put(const mw_generator *generator, float *rows, const float *x, int count);
void mw_generator_take(const mw_generator *generator, float *gradient, const float *dx, int count);
/* One of a row's times, and all its conditions. */
void mw_generator_time(const mw_generator *generator, float *row, int which, double t);
void mw_generator_condition(const mw_generator *generator, float *row, const float *conditions);
/* features[2 frequencies] */
void mw_time_features(float *features, int frequencies, double t);

/* ---- paths ---- */

/* The straight one from noise at t = 0 to data at 1: where it is, and its velocity. */
void mw_path_straight(float *x, float *velocity, const float *act, const float *noise, float t, int count);
/* The curved one: data fades, A of it is left, while noise grows, S of that is there, from t = 0 to 1. */
typedef struct mw_blend {
    double data, noise; /* A, S; A^2 + S^2 = 1 */
} mw_blend;
mw_blend mw_blend_at(double t);
void mw_path_blend(float *x, mw_blend blend, const float *act, const float *noise, int count);

/* That of `count` rows of one time each, whose blends go to data[count] and noise_share[count]: rows get x
 * and the features of their times. */
void mw_generator_disturb(const mw_generator *generator, float *rows, float *x, float *data,
                          float *noise_share, const float *act, const float *noise, const float *t,
                          int count);

/* Outputs for `count` rows, which go to `out` too, against what they should be: returns the sum of squares,
 * and adds the gradient of share times that, unless grads is NULL. */
double mw_generator_loss(const mw_generator *generator, mw_mlp_acts *acts, const float *values,
                         const float *packed, const float *rows, const float *target, float *out, int count,
                         float share, float *grads);

/* ---- samplers ---- */

enum { MW_SAMPLER_STEPS = 64 };

/* Step by step, x = keep x + add output(x, time). */
typedef struct mw_sampler {
    int steps;
    double time[MW_SAMPLER_STEPS];
    float keep[MW_SAMPLER_STEPS], add[MW_SAMPLER_STEPS];
} mw_sampler;

mw_sampler mw_sampler_straight(int steps);         /* Euler's steps along a velocity */
mw_sampler mw_sampler_blend(int steps);            /* first-order solver of a model of noise, even in t */
mw_sampler mw_sampler_once(float keep, float add); /* a net that needs one step, from t = 1 */

/* x[count][values] is noise, and becomes the action. `rows` hold all the rest but the last time. Where
 * `states` is not NULL, x before the first step and after each goes there, `apart` floats apart. */
void mw_generator_sample(const mw_generator *generator, const mw_sampler *sampler, mw_mlp_acts *acts,
                         const float *values, const float *packed, float *rows, float *x, int count,
                         float *states, size_t apart);
/* One step of it. */
void mw_generator_step(const mw_generator *generator, const mw_sampler *sampler, int step, mw_mlp_acts *acts,
                       const float *values, const float *packed, float *rows, float *x, int count);

void mw_clip_actions(float *act, const float *x, size_t count); /* to [-1, 1]; may be the same array */

#endif
