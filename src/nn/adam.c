/* Adam and its companions; see adam.h. */
#include "nn/adam.h"

#include "nn/ops.h"

#include <math.h>

double mw_gradient_norm(const float *grads, size_t n) {
    return sqrt(mw_dot(grads, grads, (long)n));
}

float mw_clip_scale(double norm, float clip) {
    float scale = clip / ((float)norm + 1e-6f);
    return clip > 0 && scale < 1 ? scale : 1;
}

void mw_adam_update(const mw_adam *adam, long step, float scale, float *restrict values,
                    const float *restrict grads, float *restrict m, float *restrict v, size_t begin,
                    size_t end) {
    const float b1 = adam->beta1, b2 = adam->beta2, epsilon = adam->epsilon;
    const float rate = (float)(adam->rate / (1 - pow(b1, (double)step)));
    const float correction = (float)(1 / sqrt(1 - pow(b2, (double)step)));
    for (size_t i = begin; i < end; i++) {
        float g = grads[i] * scale;
        m[i] = b1 * m[i] + (1 - b1) * g;
        v[i] = b2 * v[i] + (1 - b2) * g * g;
        values[i] -= rate * m[i] / (sqrtf(v[i]) * correction + epsilon);
    }
}

void mw_ema_update(float *restrict average, const float *restrict values, float decay, size_t begin,
                   size_t end) {
    for (size_t i = begin; i < end; i++) average[i] = decay * average[i] + (1 - decay) * values[i];
}

float mw_schedule(long step, long warmup, long total, float floor) {
    if (step < warmup) return (float)(step + 1) / (float)warmup;
    if (total <= warmup || step >= total) return total <= warmup ? 1 : floor;
    double along = (double)(step - warmup) / (double)(total - warmup);
    return (float)(floor + (1 - floor) * 0.5 * (1 + cos(3.141592653589793 * along)));
}
