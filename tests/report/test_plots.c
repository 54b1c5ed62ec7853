/* Figures from numbers that cannot be: pictures end, stay small and hold no number that is none. */
#include "check.h"

#include "report/plots.h"

#include <math.h>
#include <string.h>

static void impossible_numbers(void **state) {
    (void)state;
    static const double nasty[] = {-1e10, 1e10, -1e308, 1e308, INFINITY, -INFINITY, NAN, 1e-320, 0};
    enum { COUNT = 9 };
    static const char *const names[COUNT] = {"a", "b", "c", "<d>", "e", "f", "g", "h", "i"};
    for (int k = 0; k < COUNT; k++)
        for (int logarithmic = 0; logarithmic < 2; logarithmic++) {
            char *text = NULL;
            size_t size = 0;
            double x[COUNT], y[COUNT];
            mw_point points[COUNT];
            FILE *out = open_memstream(&text, &size);
            assert_non_null(out);
            for (int i = 0; i < COUNT; i++) {
                x[i] = i + 1;
                y[i] = i % 2 ? 0.5 : nasty[(i + k) % COUNT];
                points[i] = (mw_point){y[i], x[i], i, names[i]};
            }
            const mw_axis across = mw_axis_fit(x, COUNT, false, "x"),
                          up = mw_axis_fit(y, COUNT, logarithmic, "y");
            mw_plot_curves(out, "curves", across, up, &(mw_curve){"line", x, y, y, y, COUNT}, 1);
            mw_plot_points(out, &(mw_points){"points", up, across, points, COUNT, names, 4, true, y[0], NAN});
            mw_plot_boxes(out, "boxes", "kind", up, &(mw_box){"box", y, COUNT, 0}, 1);
            mw_plot_bars(out, &(mw_bars){"bars", "kind", mw_axis_fit(y, COUNT, false, "z"), names, COUNT,
                                         names, 1, y, y, y, "%.1f"});
            assert_int_equal(fclose(out), 0);
            assert_true(size < 1 << 16);
            assert_null(strstr(text, "<d>"));
            assert_null(strstr(text, "nan"));
            assert_null(strstr(text, "inf"));
            free(text);
        }
}

/* A line is where its axis says, and a band lies around it. */
static void a_line(void **state) {
    (void)state;
    char *text = NULL;
    size_t size = 0;
    const double x[] = {0, 1}, y[] = {0, 10}, low[] = {-1, 9}, high[] = {1, 10};
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    mw_plot_curves(out, "one", (mw_axis){.high = 1, .label = "x, steps"}, (mw_axis){.high = 10, .label = "y"},
                   &(mw_curve){"series", x, y, low, high, 2}, 1);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "d='M70.0 260.0L446.0 30.0'"));
    assert_non_null(strstr(text, "class='band s0'"));
    assert_non_null(strstr(text, "x, steps"));
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(impossible_numbers), cmocka_unit_test(a_line)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
