/* Returns and how planning backwards improves on them; see improve.h. */
#include "model/sfbc/improve.h"

#include <math.h>

void mw_improve_returns(float *returns, const float *reward, long length, int n, double discount,
                        const float *value, const float *after) {
    for (int i = 0; i < n; i++) {
        double follows = after ? (double)after[i] : 0;
        for (long t = length - 1; t >= 0; t--) {
            const size_t at = (size_t)t * (size_t)n + (size_t)i;
            follows = (double)reward[at] + discount * follows;
            if (value) follows = fmax(follows, (double)value[at]);
            returns[at] = (float)follows;
        }
    }
}

mw_standard mw_standard_of(const float *values, size_t count) {
    double sum = 0, squares = 0;
    for (size_t k = 0; k < count; k++) sum += (double)values[k];
    const double mean = sum / (double)count;
    for (size_t k = 0; k < count; k++) squares += ((double)values[k] - mean) * ((double)values[k] - mean);
    return (mw_standard){mean, fmax(sqrt(squares / (double)count), 0.1)};
}

void mw_standard_apply(const mw_standard *s, float *out, const float *values, size_t count) {
    for (size_t k = 0; k < count; k++) out[k] = (float)(((double)values[k] - s->mean) / s->deviation);
}

float mw_improve_value(const mw_standard *s, const float *value, const float *share, int candidates,
                       float *effective) {
    double sum = 0, squares = 0;
    for (int m = 0; m < candidates; m++) {
        sum += (double)share[m] * (double)value[m];
        squares += (double)share[m] * (double)share[m];
    }
    if (effective) *effective = (float)(1 / squares);
    return (float)(s->mean + s->deviation * sum);
}
