/* The loops of the optimiser over all weights; see adam.h. */
#include "core/math.h"
#include "nn/adam.h"

#include <math.h>

void mw_adam_update(const mw_adam *adam, long step, float scale, float *restrict values,
                    const float *restrict grads, float *restrict m, float *restrict v, size_t begin,
                    size_t end) {
    const float b1 = adam->beta1, b2 = adam->beta2, epsilon = adam->epsilon;
    const float rate = (float)(adam->rate / (1 - mw_power(b1, step)));
    const float decay = adam->rate * adam->decay; /* with the step: alone it would be lost in rounding */
    const float correction = (float)(1 / sqrt(1 - mw_power(b2, step)));
    for (size_t i = begin; i < end; i++) {
        float g = grads[i] * scale;
        m[i] = b1 * m[i] + (1 - b1) * g;
        v[i] = b2 * v[i] + (1 - b2) * g * g;
        values[i] -= rate * m[i] / (sqrtf(v[i]) * correction + epsilon) + decay * values[i];
    }
}

void mw_ema_update(float *restrict average, const float *restrict values, float decay, size_t begin,
                   size_t end) {
    for (size_t i = begin; i < end; i++) average[i] = decay * average[i] + (1 - decay) * values[i];
}
