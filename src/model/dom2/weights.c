/* Which recorded episodes count more often; see weights.h. */
#include "model/dom2/weights.h"

#include <stdlib.h>

static int by_size(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

void mw_dom2_thresholds(float *returns, long episodes, float *thresholds) {
    qsort(returns, (size_t)episodes, sizeof *returns, by_size);
    thresholds[0] = returns[episodes / 2];
    thresholds[1] = returns[3 * episodes / 4];
    thresholds[2] = thresholds[3] = returns[7 * episodes / 8];
}

int mw_dom2_copies(float value, const float *thresholds) {
    int copies = 1;
    for (int i = 0; i < MW_DOM2_THRESHOLDS; i++) copies += value > thresholds[i];
    return copies;
}
