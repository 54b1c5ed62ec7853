/* The proposer's normaliser: per feature, the empirical distribution function of the training values, mapped
 * to [-1, 1]. It is kept as a table of knots between which both directions interpolate. */
#ifndef MW_NN_NORMALIZER_H
#define MW_NN_NORMALIZER_H

#include "core/error.h"

typedef struct mw_normalizer {
    int features, max_knots;
    int *count;      /* [features]: knots in use; 1 marks a constant feature, which passes unchanged */
    float *value;    /* [features][max_knots], ascending */
    float *fraction; /* [features][max_knots], ascending in (0, 1]: share of the data at or below value */
} mw_normalizer;

mw_status mw_normalizer_create(mw_normalizer *normalizer, int features, int max_knots, mw_error *error);
/* *to is made here; from may be NULL, and then nothing is done. */
mw_status mw_normalizer_copy(mw_normalizer *to, const mw_normalizer *from, mw_error *error);
void mw_normalizer_free(mw_normalizer *normalizer);
uint64_t mw_normalizer_hash(uint64_t hash, const mw_normalizer *normalizer);

/* Sets one feature from its values (sorted in place). If there are more distinct values than knots, those are
 * kept that make the largest error nearly as small as it can be: close together where the distribution
 * bends or jumps (many features of battles are 0 half of the time). *error_of_knots (may be NULL) receives
 * that error in the normalised unit. */
void mw_normalizer_fit(mw_normalizer *normalizer, int feature, float *values, long count,
                       double *error_of_knots);

/* rows of `features` values each, in place. Inputs outside the observed range are clipped to it. */
void mw_normalizer_forward(const mw_normalizer *normalizer, float *x, long rows);
void mw_normalizer_inverse(const mw_normalizer *normalizer, float *x, long rows);

/* ---- fitting in one pass over data of any size ---- */

/* Takes rows as they come and keeps a sample of at most `capacity` of them: all, as long as they fit, later a
 * fixed choice by row number, so that the result depends on nothing but the rows. Smallest and largest values
 * are exact. */
typedef struct mw_normalizer_builder mw_normalizer_builder;

#define MW_NORMALIZER_SAMPLE ((long)1 << 18) /* a share of the data is then known to about 0.001 */
#define MW_NORMALIZER_KNOTS  256

mw_status mw_normalizer_builder_create(mw_normalizer_builder **builder, int features, long capacity,
                                       mw_error *error);
void mw_normalizer_builder_free(mw_normalizer_builder *builder);
void mw_normalizer_builder_add(mw_normalizer_builder *builder, const float *x, long rows);

typedef struct mw_normalizer_fit_report {
    long rows, sampled;
    int constant;      /* number of features with a single value */
    double knot_error; /* largest error that the limit on knots causes, in the normalised unit */
    int worst_feature; /* where; -1: none */
} mw_normalizer_fit_report;

/* Creates the normaliser; the builder may go on collecting. */
mw_status mw_normalizer_builder_finish(const mw_normalizer_builder *builder, mw_normalizer *normalizer,
                                       int max_knots, mw_normalizer_fit_report *report, mw_error *error);

#endif
