/* The arithmetic of denoising; see noise.h. */
#include "model/diffusion/noise.h"

#include "core/math.h"

#include <math.h>
#include <string.h>

/* f(u) = cos^2 of a quarter turn, which starts a little late so that the first levels are not all alike. */
static double remaining(double u) {
    const double quarter = 1.57079632679489661923, offset = 0.008;
    const double c = mw_cos((u + offset) / (1 + offset) * quarter);
    return c * c;
}

void mw_noise_schedule_make(mw_noise_schedule *s) {
    double kept = 1;
    for (int t = 0; t < MW_NOISE_LEVELS; t++) {
        const double here = (double)t / MW_NOISE_LEVELS, next = (double)(t + 1) / MW_NOISE_LEVELS;
        s->beta[t] = fmin(1 - remaining(next) / remaining(here), 0.999);
        s->kept[t] = kept *= 1 - s->beta[t];
    }
}

void mw_noise_mix(float *out, const float *x, const float *noise, double kept, size_t count) {
    const float signal = (float)sqrt(kept), level = (float)sqrt(1 - kept);
    for (size_t i = 0; i < count; i++) out[i] = signal * x[i] + level * noise[i];
}

void mw_noise_hold(float *x, const uint8_t *known, const float *known_x, size_t cells, size_t width) {
    for (size_t c = 0; c < cells; c++)
        if (known[c]) memcpy(x + c * width, known_x + c * width, width * sizeof *x);
}

double mw_noise_loss(float *gradient, const float *predicted, const float *noise, const uint8_t *counts,
                     size_t cells, size_t width, double total) {
    const float share = (float)(2 * mw_noise_whole(1, 0) / total);
    double sum = 0;
    for (size_t c = 0; c < cells; c++) {
        const size_t at = c * width;
        float square = 0;
        for (size_t i = at; i < at + width; i++) {
            const float off = counts[c] ? predicted[i] - noise[i] : 0;
            if (gradient) gradient[i] = share * off;
            square += off * off;
        }
        sum += (double)square;
    }
    return sum;
}

double mw_noise_whole(double noise_loss, double inverse_loss) {
    return (noise_loss + inverse_loss) / 2;
}

void mw_noise_start(float *x, const float *noise, size_t count) {
    for (size_t i = 0; i < count; i++) x[i] = 0.5f * noise[i];
}

int mw_noise_level(int k, int steps) {
    return (steps - 1 - k) * (MW_NOISE_LEVELS / steps);
}

void mw_noise_guide(float *out, const float *without, const float *with, float guidance, size_t count) {
    for (size_t i = 0; i < count; i++) out[i] = without[i] + guidance * (with[i] - without[i]);
}

void mw_noise_clean(float *clean, const float *x, const float *predicted, double kept, const float *unit,
                    const float *centre, size_t cells, size_t width) {
    const float signal = (float)sqrt(kept), level = (float)sqrt(1 - kept);
    for (size_t c = 0; c < cells; c++)
        for (size_t i = c * width; i < (c + 1) * width; i++) {
            const float middle = centre ? centre[i] : 0, scale = unit ? unit[c] : 1;
            const float low = fminf((-1 - middle) * scale, 0), high = fmaxf((1 - middle) * scale, 0);
            clean[i] = fminf(fmaxf((x[i] - level * predicted[i]) / signal, low), high);
        }
}

void mw_noise_factors(float *factor, const float *w, int agents) {
    float sum = 0;
    for (int i = 0; i < agents; i++) sum += w[i];
    for (int i = 0; i < agents; i++) factor[i] = (float)agents * w[i] / sum;
}

void mw_noise_factors_backward(float *dw, const double *dfactor, const float *w, int agents) {
    double sum = 0, mean = 0;
    for (int i = 0; i < agents; i++) sum += (double)w[i];
    for (int i = 0; i < agents; i++) mean += (double)w[i] * dfactor[i] / sum;
    for (int i = 0; i < agents; i++) dw[i] += (float)(agents / sum * (dfactor[i] - mean));
}
