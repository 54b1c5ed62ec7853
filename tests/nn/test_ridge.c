/* Ridge regression: exact data gives its weights back, the ridge shrinks as the formula for one term says,
 * and terms that are zero are refused. */
#include "check.h"
#include "nn/regression/ridge.h"

#include <math.h>

enum { ROWS = 40, TERMS = 5, CHUNK = 16 };

static void weights_come_back(void **state) {
    (void)state;
    static const double weights[TERMS] = {1, -2, 0.5, 3, -0.25};
    mw_error error = {0};
    mw_ridge ridge = {0};
    double x[TERMS] = {0};
    CHECK_OK(mw_ridge_create(&ridge, TERMS, CHUNK, &error), error);
    for (int first = 0; first < ROWS; first += CHUNK) {
        float rows[CHUNK][TERMS];
        const int count = ROWS - first < CHUNK ? ROWS - first : CHUNK;
        for (int r = 0; r < count; r++) {
            double y = 0;
            for (int t = 0; t < TERMS; t++) {
                rows[r][t] = (float)((first + r) * (t + 3) % 17 - 8); /* whole numbers: no rounding */
                y += weights[t] * (double)rows[r][t];
            }
            for (int t = 0; t < TERMS; t++) x[t] += y * (double)rows[r][t];
        }
        mw_ridge_add(&ridge, *rows, count);
    }
    CHECK_OK(mw_ridge_factor(&ridge, 0, &error), error);
    mw_ridge_solve(&ridge, x);
    for (int t = 0; t < TERMS; t++) assert_true(fabs(x[t] - weights[t]) < 1e-12);
    mw_ridge_free(&ridge);
}

static void ridge_shrinks(void **state) {
    (void)state;
    mw_error error = {0};
    mw_ridge ridge = {0};
    const float rows[4] = {1, 2, 3, 4}; /* their squares sum to 30 */
    double x = 2 * 30;
    CHECK_OK(mw_ridge_create(&ridge, 1, 4, &error), error);
    mw_ridge_add(&ridge, rows, 4);
    CHECK_OK(mw_ridge_factor(&ridge, 0.5, &error), error);
    mw_ridge_solve(&ridge, &x);
    assert_true(fabs(x - 2 / 1.5) < 1e-14);
    mw_ridge_free(&ridge);
}

static void undetermined_is_refused(void **state) {
    (void)state;
    mw_error error = {0};
    mw_ridge ridge = {0};
    const float zeros[3] = {0};
    CHECK_OK(mw_ridge_create(&ridge, 3, 1, &error), error);
    mw_ridge_add(&ridge, zeros, 1);
    CHECK_FAILS(mw_ridge_factor(&ridge, 1, &error), MW_ERR_NUMERIC, error, "regression of 3 terms");
    mw_ridge_free(&ridge);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_come_back),
        cmocka_unit_test(ridge_shrinks),
        cmocka_unit_test(undetermined_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
