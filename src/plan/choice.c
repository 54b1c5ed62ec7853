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

/* Of equals the earlier counts as higher. */
static bool above(const float *scores, int k, int m) {
    return isfinite(scores[k]) && (scores[k] > scores[m] || (scores[k] == scores[m] && k < m));
}

int mw_choice_upper(int *upper, const float *scores, int count) {
    int found = 0;
    for (int m = 0; m < count; m++) {
        int higher = 0;
        for (int k = 0; k < count; k++) higher += above(scores, k, m);
        if (isfinite(scores[m]) && higher < (count + 1) / 2) upper[found++] = m;
    }
    return found;
}

int mw_choice_cautious(const float *scores, int best, double margin) {
    return isfinite(scores[0]) && (double)scores[best] - (double)scores[0] <= margin ? 0 : best;
}

/* The standard deviation of scores that are finite; below 0 where nothing is to be weighed: at temperature 0,
 * or with fewer than two of them. */
static double spread(const float *scores, int count, int best, float temperature) {
    double sum = 0, square = 0;
    int finite = 0;
    for (int m = 0; m < count; m++) {
        if (!isfinite(scores[m])) continue;
        const double below = (double)scores[best] - (double)scores[m];
        finite++, sum += below, square += below * below;
    }
    if (temperature == 0 || finite < 2) return -1;
    return sqrt(fmax(square / finite - sum / finite * (sum / finite), 0));
}

static double weigh(const float *scores, int m, int best, double std, float temperature) {
    if (!isfinite(scores[m])) return 0;
    const double below = (double)scores[best] - (double)scores[m];
    return std > 0 ? mw_exp(-below / (std * (double)temperature)) : 1;
}

bool mw_choice_weights(float *weights, const float *scores, int count, int best, float temperature) {
    const double std = spread(scores, count, best, temperature);
    double total = 0;
    if (std < 0) return false;
    for (int m = 0; m < count; m++) total += weigh(scores, m, best, std, temperature);
    for (int m = 0; m < count; m++) weights[m] = (float)(weigh(scores, m, best, std, temperature) / total);
    return true;
}

const float *mw_choice_mean(float *mean, const float *plans, const float *scores, int count, int length,
                            int best, float temperature) {
    const double std = spread(scores, count, best, temperature);
    double total = 0;
    if (std < 0) return plans + (size_t)best * (size_t)length;
    memset(mean, 0, (size_t)length * sizeof *mean);
    for (int m = 0; m < count; m++) {
        if (!isfinite(scores[m])) continue;
        const double weight = weigh(scores, m, best, std, temperature);
        total += weight;
        for (int k = 0; k < length; k++)
            mean[k] += (float)weight * plans[(size_t)m * (size_t)length + (size_t)k];
    }
    for (int k = 0; k < length; k++) mean[k] /= (float)total;
    return mean;
}
