/* Charts of numbers that no measurement has: they come from log files, so anything may stand there. */
#include "scratch.h"

#include "train/chart.h"

#include <float.h>

/* Draws one line on linear and logarithmic paper; the picture must end and stay small. */
static void draw(const double *x, const double *y, long count) {
    static char text[1 << 18];
    mw_error error;
    const mw_chart_line line = {"loss", x, y, count};
    for (int log_y = 0; log_y < 2; log_y++) {
        const mw_chart panel = {"title", "steps", log_y, &line, 1};
        CHECK_OK(mw_chart_write(scratch("chart.svg"), &panel, 1, &error), error);
        size_t size = scratch_read(scratch("chart.svg"), text, sizeof text - 1);
        text[size] = 0;
        assert_true(size < sizeof text - 1);
        assert_non_null(strstr(text, "</svg>"));
    }
}

static void hostile_numbers(void **state) {
    (void)state;
    const double nasty[] = {0,       1,         -1,          1e17,     1e17 + 16, -1e17,   9.1e15,  1e99,
                            1e100,   -1e100,    1e308,       -1e308,   INFINITY,  NAN,     5e-324,  1e-300,
                            DBL_MAX, -INFINITY, 1e16 + 2000, 1 + 1e-9, 2.5e-9,    1e9 + 1, 1e9 + 2, -0.0};
    const int n = sizeof nasty / sizeof *nasty;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const double ends[2] = {nasty[i], nasty[j]}, back[2] = {nasty[j], nasty[i]};
            draw(ends, (double[]){1, 2}, 2);
            draw((double[]){1, 2}, ends, 2);
            draw(ends, back, 2);
        }
    draw(NULL, NULL, 0);
    draw((double[]){-1e308, 1e308, 0, 5}, (double[]){1, 2, 3, 4}, 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(hostile_numbers)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
