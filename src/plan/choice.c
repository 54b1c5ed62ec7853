/* Choosing among scored candidates; see choice.h. */
#include "plan/choice.h"

#include "core/math.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

int mw_choice_best(const float *scores, int count) {
    int best = -1;
    for (int m = 0; m < count; m++)
        if (isfinite(scores[m]) && (best < 0 || scores[m] > scores[best])) best = m;
    return best < 0 ? 0 : best;
}

const float *mw_choice_mean(float *mean, const float *plans, const float *scores, int count, int length,
                            int best, float temperature) {
    double sum = 0, square = 0, total = 0;
    int finite = 0;
    for (int m = 0; m < count; m++) {
        if (!isfinite(scores[m])) continue;
        const double below = (double)scores[best] - (double)scores[m];
        finite++, sum += below, square += below * below;
    }
    if (temperature == 0 || finite < 2) return plans + (size_t)best * (size_t)length;
    const double std = sqrt(fmax(square / finite - sum / finite * (sum / finite), 0));
    memset(mean, 0, (size_t)length * sizeof *mean);
    for (int m = 0; m < count; m++) {
        if (!isfinite(scores[m])) continue;
        const double below = (double)scores[best] - (double)scores[m],
                     weight = std > 0 ? mw_exp(-below / (std * (double)temperature)) : 1;
        total += weight;
        for (int k = 0; k < length; k++)
            mean[k] += (float)weight * plans[(size_t)m * (size_t)length + (size_t)k];
    }
    for (int k = 0; k < length; k++) /* rounding must not lead out of the range */
        mean[k] = fminf(fmaxf(mean[k] / (float)total, -1), 1);
    return mean;
}
