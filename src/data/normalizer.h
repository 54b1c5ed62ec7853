/* The proposer's normaliser: per feature, the empirical distribution function of the training values, mapped
 * to [-1, 1]. It is kept as a table of knots between which both directions interpolate. Spec section 3. */
#ifndef MW_DATA_NORMALIZER_H
#define MW_DATA_NORMALIZER_H

#include "core/error.h"

typedef struct mw_normalizer {
    int features, max_knots;
    int *count;      /* [features]: knots in use; 1 marks a constant feature, which passes unchanged */
    float *value;    /* [features][max_knots], ascending */
    float *fraction; /* [features][max_knots], ascending in (0, 1]: share of the data at or below value */
} mw_normalizer;

mw_status mw_normalizer_create(mw_normalizer *normalizer, int features, int max_knots, mw_error *error);
void mw_normalizer_free(mw_normalizer *normalizer);

/* Sets one feature from its values (sorted in place). If there are more distinct values than knots, quantile
 * knots are kept; *error_of_knots (may be NULL) receives the largest deviation this causes in the normalised
 * unit. */
void mw_normalizer_fit(mw_normalizer *normalizer, int feature, float *values, long count,
                       double *error_of_knots);

/* rows of `features` values each, in place. Inputs outside the observed range are clipped to it. */
void mw_normalizer_forward(const mw_normalizer *normalizer, float *x, long rows);
void mw_normalizer_inverse(const mw_normalizer *normalizer, float *x, long rows);

#endif
