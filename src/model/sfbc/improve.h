/* Returns of recorded episodes and how planning backwards improves on them: from the end on, a step is worth
 * what followed or what the actions of a generator promise at it, whichever is more. */
#ifndef MW_MODEL_SFBC_IMPROVE_H
#define MW_MODEL_SFBC_IMPROVE_H

#include "model/draw.h"

/* returns[length][n] of one episode from reward[length][n]: discounted, every agent its own. Where value
 * [length][n] is not NULL, no step is worth less than that; `after`[n]: what follows the last step, NULL:
 * nothing. */
void mw_improve_returns(float *returns, const float *reward, long length, int n, double discount,
                        const float *value, const float *after);

/* Over all steps and agents together. */
typedef struct mw_standard {
    double mean, deviation; /* at least 0.1 */
} mw_standard;

mw_standard mw_standard_of(const float *values, size_t count);
/* values[count] in units of it; may be the same array. */
void mw_standard_apply(const mw_standard *standard, float *out, const float *values, size_t count);

/* What candidates that were judged promise, in units of returns: the mean of their values by their shares.
 * `effective`, unless NULL, becomes how many of them count. */
float mw_improve_value(const mw_standard *standard, const float *value, const float *share, int candidates,
                       float *effective);

#endif
