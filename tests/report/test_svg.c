/* What figures share: axes that hold their values and end, ticks in order, escaped words, readable colours.
 */
#include "check.h"

#include "report/svg.h"

#include <math.h>
#include <string.h>

static void axes_hold_their_values(void **state) {
    (void)state;
    const double values[] = {-3.2, 17, NAN, INFINITY, 1e300, 4}, positive[] = {0.004, 3, -1, 0};
    double ticks[16];
    const mw_axis axis = mw_axis_fit(values, 6, false, "x"), logs = mw_axis_fit(positive, 4, true, "y");
    assert_true(axis.low <= -3.2 && axis.low > -10 && axis.high >= 17 && axis.high < 25);
    CHECK_NEAR(logs.low, 0.001, 1e-12);
    CHECK_NEAR(logs.high, 10, 1e-9);
    CHECK_NEAR(mw_axis_share(&logs, 0.1), 0.5, 1e-12);
    CHECK_NEAR(mw_axis_share(&axis, 1e300), 1, 0);
    CHECK_NEAR(mw_axis_share(&logs, -5), 0, 0);
    assert_false(mw_axis_shows(&logs, 0) || mw_axis_shows(&axis, NAN) || mw_axis_shows(&axis, INFINITY));
    int count = mw_axis_ticks(&axis, 5, ticks, 16);
    assert_true(count >= 3 && count <= 8);
    for (int i = 0; i < count; i++) assert_true(ticks[i] >= axis.low - 1e-9 && ticks[i] <= axis.high + 1e-9);
    for (int i = 1; i < count; i++) assert_true(ticks[i] > ticks[i - 1]);
    count = mw_axis_ticks(&logs, 5, ticks, 16);
    assert_int_equal(count, 5);
    CHECK_NEAR(ticks[2], 0.1, 1e-12);
}

/* One value, none, equal ones, tiny differences of large ones: an axis all the same. */
static void axes_of_little(void **state) {
    (void)state;
    const double odd[][2] = {{0, 0}, {5, 5}, {NAN, NAN}, {1e99, -1e99}, {1e15, 1e15 + 1}, {1e-300, 0}};
    double ticks[16];
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        for (int logarithmic = 0; logarithmic < 2; logarithmic++) {
            const mw_axis axis = mw_axis_fit(odd[i], 2, logarithmic, "");
            assert_true(axis.low < axis.high);
            assert_true(mw_axis_ticks(&axis, 5, ticks, 16) <= 16);
            const double share = mw_axis_share(&axis, odd[i][0]);
            assert_true(isnan(odd[i][0]) || (share >= 0 && share <= 1));
        }
}

static void words_are_escaped(void **state) {
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    mw_svg_begin(out, 100, 50, "a 'quoted' <thing>");
    mw_svg_text(out, 1, 2, "start", "tick", "%s", "<b>&\"");
    mw_svg_text_up(out, 1, 2, "label", "<i>");
    mw_svg_tip(out, "%s", "</title><script>");
    mw_svg_end(out);
    assert_int_equal(fclose(out), 0);
    assert_null(strstr(text, "<b>"));
    assert_null(strstr(text, "<i>"));
    assert_null(strstr(text, "<script"));
    assert_null(strstr(text, "'quoted'"));
    assert_non_null(strstr(text, "&lt;b&gt;&amp;&quot;"));
    free(text);
}

static void none_is_a_dash(void **state) {
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    mw_svg_tip(out, "dominant %.1f, %+.1f, [%f, %.0f%%] info", NAN, -INFINITY, NAN, 3.0);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, "<title>dominant -, -, [-, 3%] info</title>");
    free(text);
}

static void colours_end_where_they_should(void **state) {
    (void)state;
    char a[8], b[8];
    assert_string_equal(mw_colour_share(a, 0), "#00204c");
    assert_string_equal(mw_colour_share(a, 1), "#ffea46");
    assert_string_equal(mw_colour_share(a, 7), "#ffea46");
    assert_string_equal(mw_colour_share(a, NAN), "#00204c");
    assert_string_equal(mw_colour_sign(a, 0), mw_colour_sign(b, NAN));
    assert_string_not_equal(mw_colour_sign(a, -1), mw_colour_sign(b, 1));
    assert_string_equal(mw_colour_text("#00204c"), "#fff");
    assert_string_equal(mw_colour_text("#ffea46"), "#000");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axes_hold_their_values),
        cmocka_unit_test(axes_of_little),
        cmocka_unit_test(words_are_escaped),
        cmocka_unit_test(none_is_a_dash),
        cmocka_unit_test(colours_end_where_they_should),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
