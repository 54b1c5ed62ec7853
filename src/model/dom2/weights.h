/* Which recorded episodes DOM2 learns from more often: those of high return. */
#ifndef MW_MODEL_DOM2_WEIGHTS_H
#define MW_MODEL_DOM2_WEIGHTS_H

enum { MW_DOM2_THRESHOLDS = 4 };

/* thresholds[4] from returns[episodes]: half of them, three quarters, and twice seven eighths lie below.
 * Sorts the returns. */
void mw_dom2_thresholds(float *returns, long episodes, float *thresholds);
/* How often an episode counts: once, and once more for every threshold that it exceeds. */
int mw_dom2_copies(float value, const float *thresholds);

#endif
