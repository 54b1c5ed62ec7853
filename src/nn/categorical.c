/* Distributions over discrete actions; see categorical.h. */
#include "nn/categorical.h"

#include "core/math.h"

#include <math.h>
#include <stdbool.h>

static float logit(const float *logits, int i) {
    return logits ? logits[i] : 0;
}

static bool allowed(const uint8_t *legal, int i) {
    return !legal || legal[i];
}

float mw_categorical_total(const float *logits, const uint8_t *legal, int d) {
    float most = -INFINITY, sum = 0;
    for (int i = 0; i < d; i++)
        if (allowed(legal, i) && logit(logits, i) > most) most = logit(logits, i);
    for (int i = 0; i < d; i++)
        if (allowed(legal, i)) sum += (float)mw_exp((double)(logit(logits, i) - most));
    return most + (float)mw_ln((double)sum);
}

float mw_categorical_log(const float *logits, const uint8_t *legal, int d, int32_t act) {
    return logit(logits, act) - mw_categorical_total(logits, legal, d);
}

float mw_categorical_softmax(float *prob, const float *logits, const uint8_t *legal, int d) {
    const float total = mw_categorical_total(logits, legal, d);
    for (int i = 0; i < d; i++)
        prob[i] = allowed(legal, i) ? (float)mw_exp((double)(logit(logits, i) - total)) : 0;
    return total;
}

int32_t mw_categorical_pick(const float *logits, const uint8_t *legal, int d, float u) {
    const float total = mw_categorical_total(logits, legal, d);
    float passed = 0;
    int32_t last = 0;
    for (int i = 0; i < d; i++) {
        if (!allowed(legal, i)) continue;
        last = i;
        passed += (float)mw_exp((double)(logit(logits, i) - total));
        if (passed > u) break;
    }
    return last;
}

int32_t mw_categorical_best(const float *logits, const uint8_t *legal, int d) {
    int32_t best = -1;
    for (int k = 0; k < d; k++)
        if ((!legal || legal[k]) && (best < 0 || logits[k] > logits[best])) best = k;
    return best < 0 ? 0 : best;
}
