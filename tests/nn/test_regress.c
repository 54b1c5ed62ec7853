/* Regression by an MLP: it learns, goes on learning, is repeatable and can be stopped. */
#include "check.h"
#include "core/rng.h"
#include "nn/regression/regress.h"

#include <math.h>

enum { ROWS = 2000, BATCH = 128 };

static void row_of(void *context, long row, float *x, float *y) {
    const double *shift = context;
    mw_rng rng = mw_rng_make(1, MW_RNG_TEST, (uint64_t)row, 0, 0);
    for (int i = 0; i < 3; i++) x[i] = (float)mw_rng_range(&rng, -1, 1);
    if (!y) return;
    y[0] = sinf(3 * x[0]) * x[1];
    y[1] = x[2] + (float)*shift;
}

/* The mean squared error over all rows. */
static double error_of(mw_regress *r, double *shift) {
    double sum = 0;
    for (long first = 0; first < ROWS; first += BATCH) {
        const int count = ROWS - first < BATCH ? (int)(ROWS - first) : BATCH;
        const float *out = mw_regress_predict(r, first, count, row_of, shift);
        for (int i = 0; i < count; i++) {
            float x[3], y[2];
            row_of(shift, first + i, x, y);
            for (int k = 0; k < 2; k++) sum += pow((double)(out[2 * i + k] - y[k]), 2) / (2 * ROWS);
        }
    }
    return sum;
}

static void test_learns(void **state) {
    (void)state;
    mw_error error;
    mw_regress *r, *again;
    double shift = 0;
    mw_stop_flag stop = 0;
    const mw_regress_options options = {
        .inputs = 3, .outputs = 2, .hidden = 32, .steps = 1500, .batch = BATCH, .rate = 5e-3f, .stop = &stop};
    CHECK_OK(mw_regress_create(&r, &options, &error), error);
    CHECK_OK(mw_regress_create(&again, &options, &error), error);
    CHECK_OK(mw_regress_fit(r, ROWS, row_of, &shift, &error), error);
    CHECK_OK(mw_regress_fit(again, ROWS, row_of, &shift, &error), error);
    const double first = error_of(r, &shift);
    assert_true(first < 5e-3); /* the variance is 0.2 */
    assert_true(first == error_of(again, &shift));
    shift = 0.5; /* what is to be learned changes; it goes on from where it was */
    assert_true(error_of(r, &shift) > 0.1);
    CHECK_OK(mw_regress_fit(r, ROWS, row_of, &shift, &error), error);
    assert_true(error_of(r, &shift) < 5e-3);
    stop = 1;
    CHECK_FAILS(mw_regress_fit(r, ROWS, row_of, &shift, &error), MW_ERR_INTERRUPTED, error, "stopped");
    mw_regress_free(r);
    mw_regress_free(again);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_learns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
