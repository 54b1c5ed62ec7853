/* Regression by an MLP on rows that a callback supplies: for what must be known well but is not kept. One
 * thread; a pure function of the rows and the options. */
#ifndef MW_NN_REGRESSION_REGRESS_H
#define MW_NN_REGRESSION_REGRESS_H

#include "nn/mlp.h"

typedef struct mw_regress_options {
    int inputs, outputs, hidden; /* two hidden layers of that width */
    long steps;
    int batch;
    float rate; /* of Adam, at the start; then a cosine to 1% of it */
    uint64_t seed;
    const mw_stop_flag *stop; /* may be NULL */
} mw_regress_options;

typedef struct mw_regress mw_regress;

mw_status mw_regress_create(mw_regress **regress, const mw_regress_options *options, mw_error *error);
void mw_regress_free(mw_regress *regress);
size_t mw_regress_bytes(const mw_regress_options *options); /* that one takes */

/* Writes the inputs of a row and, unless y is NULL, what they should give. */
typedef void mw_regress_row(void *context, long row, float *x, float *y);

/* Trains on rows drawn uniformly from [0, rows), from where an earlier call ended. Stopped:
 * MW_ERR_INTERRUPTED. */
mw_status mw_regress_fit(mw_regress *regress, long rows, mw_regress_row *fill, void *context,
                         mw_error *error);
/* The outputs of `count` rows (at most the batch) from `first` on; valid until the next call. */
const float *mw_regress_predict(mw_regress *regress, long first, int count, mw_regress_row *fill,
                                void *context);

#endif
