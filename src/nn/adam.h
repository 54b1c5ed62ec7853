/* The optimiser: Adam, clipping by the global norm, exponential average of the weights, learning-rate
 * schedule. All work on flat arrays in the layout of the parameter table. */
#ifndef MW_NN_ADAM_H
#define MW_NN_ADAM_H

#include <stddef.h>

typedef struct mw_adam {
    float rate, beta1, beta2, epsilon; /* 0.9, 0.999, 1e-8 are PyTorch's defaults */
    float clip;                        /* bound of the global gradient norm; 0: none */
    long step;                         /* steps taken */
} mw_adam;

/* L2 norm of the gradient, in double. */
double mw_gradient_norm(const float *grads, size_t n);

/* One step on values[n] with moments m[n], v[n]; grads are scaled by `scale` on the way (1, or from
 * clipping). A range [begin, end) may be updated on its own, by several threads; step is the number of this
 * step, from 1. */
void mw_adam_update(const mw_adam *adam, long step, float scale, float *values, const float *grads, float *m,
                    float *v, size_t begin, size_t end);

/* The factor that clips: 1, or clip/norm as PyTorch computes it. */
float mw_clip_scale(double norm, float clip);

/* average = decay*average + (1-decay)*values over [begin, end). */
void mw_ema_update(float *average, const float *values, float decay, size_t begin, size_t end);

/* Linear warm-up to 1, then a cosine from 1 to `floor` at `total`. */
float mw_schedule(long step, long warmup, long total, float floor);

#endif
