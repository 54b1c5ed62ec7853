/* Linear least squares with a ridge, by normal equations: rows come in chunks, the matrix stays, and the
 * right sides are the caller's. One thread; the same bits on every CPU. */
#ifndef MW_NN_REGRESSION_RIDGE_H
#define MW_NN_REGRESSION_RIDGE_H

#include "core/arena.h"

typedef struct mw_ridge {
    int terms;
    double *gram;         /* [terms][terms]; after factoring its lower half is the Cholesky factor */
    float *part, *packed; /* a chunk's products, and its rows as products want them */
    mw_arena arena;
} mw_ridge;

/* For chunks of up to `rows` rows. To be freed also where this fails. */
mw_status mw_ridge_create(mw_ridge *ridge, int terms, int rows, mw_error *error);
size_t mw_ridge_bytes(int terms, int rows); /* that this takes */
void mw_ridge_free(mw_ridge *ridge);

/* gram += x^T x of a chunk x[rows][terms]: products in single precision, their sum in double. */
void mw_ridge_add(mw_ridge *ridge, const float *x, int rows);

/* Adds `weight` of the mean diagonal to it and factors. */
mw_status mw_ridge_factor(mw_ridge *ridge, double weight, mw_error *error);

/* x[terms] <- the solution for the right side x. */
void mw_ridge_solve(const mw_ridge *ridge, double *x);

#endif
