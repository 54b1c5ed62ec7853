/* Statistics over settings: sign tests against known values, everything else against small cases worked out
 * by hand, with ties, gaps and groups of one. */
#include "check.h"

#include "eval/statistics.h"
#include "report/analysis.h"

#include <math.h>

static void sign_test(void **state) {
    (void)state;
    CHECK_NEAR(mw_sign_test(26, 4), 2 * 31931 / 1073741824.0, 1e-16);   /* the paper: 5.95e-5 */
    CHECK_NEAR(mw_sign_test(23, 7), 2 * 2804012 / 1073741824.0, 1e-14); /* the paper: 0.00522 */
    CHECK_NEAR(mw_sign_test(8, 1), 2 * 10 / 512.0, 1e-14);              /* the paper: 0.04 */
    CHECK_NEAR(mw_sign_test(4, 26), mw_sign_test(26, 4), 1e-18);
    CHECK_NEAR(mw_sign_test(5, 5), 1, 0);
    CHECK_NEAR(mw_sign_test(0, 0), 1, 0);
    CHECK_NEAR(mw_sign_test(1, 0), 1, 1e-15);
    CHECK_NEAR(mw_sign_test(10, 0), 2 / 1024.0, 1e-15);
    CHECK_NEAR(mw_sign_test(600, 400), 2.7278e-10, 1e-13); /* no underflow where 2^-n would */
}

static void comparison(void **state) {
    (void)state;
    const double ours[] = {10, 4, NAN, -1, 3, 5}, other[] = {8, 5, 1, -2, 3, 0};
    const double low[] = {1, -3, 1, -0.5, NAN, 2}, high[] = {3, -0.5, 2, 2, 1, 8};
    const mw_comparison c = mw_compare(ours, other, low, high, 6);
    assert_int_equal(c.count, 5);
    assert_int_equal(c.wins, 3);
    assert_int_equal(c.losses, 1);
    assert_int_equal(c.ties, 1);
    assert_int_equal(c.intervals, 4); /* the entry without ours does not count */
    assert_int_equal(c.clear_wins, 2);
    assert_int_equal(c.clear_losses, 1);
    CHECK_NEAR(c.difference, (2 - 1 + 1 + 0 + 5) / 5.0, 1e-15);
    CHECK_NEAR(c.relative, (0.25 - 0.2 + 0.5 + 0) / 4, 1e-15); /* none against 0 */
    CHECK_NEAR(c.aggregate, (2 - 1 + 1 + 0 + 5) / 18.0, 1e-15);
    CHECK_NEAR(c.median, (0 + 0.25) / 2, 1e-15);
    CHECK_NEAR(c.p, 2 * 5 / 16.0, 1e-14);
    assert_true(isnan(mw_compare(ours, other, NULL, NULL, 0).relative));
    assert_int_equal(mw_compare(ours, other, NULL, NULL, 6).intervals, 0);
}

/* Holm by hand; tails against tables. */
static void how_sure(void **state) {
    (void)state;
    static const struct {
        int freedom;
        double quantile;
    } tables[] = {{0, 1.95996},  {4, 2.77645},  {10, 2.22814},  {11, 2.20099},
                  {15, 2.13145}, {30, 2.04227}, {1000, 1.96234}};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        CHECK_NEAR(mw_student(tables[i].freedom), tables[i].quantile, 6e-4);
    const double p[] = {0.01, NAN, 0.04, 0.012, 0.5, 0.03};
    bool firm[6];
    mw_holm(firm, p, 6); /* bounds 0.01, 0.0125, 0.0167: 0.03 and all behind it fall */
    const bool expected[] = {true, false, false, true, false, false};
    for (int i = 0; i < 6; i++) assert_int_equal(firm[i], expected[i]);
    mw_holm(firm, (const double[]){0.06}, 1);
    assert_false(firm[0]);
    CHECK_NEAR(mw_interval_p(1.959964, 0, 2 * 1.959964, 0), 0.05, 1e-6);
    CHECK_NEAR(mw_interval_p(-2.575829, -2.575829 - 1.959964, -2.575829 + 1.959964, 0), 0.01, 1e-6);
    CHECK_NEAR(mw_interval_p(2.776, 0, 2 * 2.776, 4), 0.05, 1e-4);
    CHECK_NEAR(mw_interval_p(4.604, 4.604 - 2.776, 4.604 + 2.776, 4), 0.01, 1e-4);
    CHECK_NEAR(mw_interval_p(1e6, 1e6 - 1, 1e6 + 1, 4), 0, 1e-8);
    CHECK_NEAR(mw_interval_p(0, 0, 0, 0), 1, 0);
    CHECK_NEAR(mw_interval_p(1, 1, 1, 4), 0, 0);
    assert_true(isnan(mw_interval_p(1, NAN, 2, 4)));
    CHECK_NEAR(mw_smallest_visible(-1.959964, 1.959964), 2.801585, 1e-6);
}

/* Two groups, one entry alone in its group, one without reliability, ties at both medians. */
static void two_factors(void **state) {
    (void)state;
    const double reactive[] = {10, 20, 30, 1, 3, 5, 7, 99};
    const int group[] = {0, 0, 0, 1, 1, 1, 1, 2};
    const double reliability[] = {0.5, 0.7, 0.9, 0.7, 0.7, 0.8, NAN, 0.9};
    const double gain[] = {1, 2, 3, 4, 5, 6, 7, 8};
    double headroom[8];
    mw_headrooms(headroom, reactive, group, 8);
    const double expected[] = {1, 0.5, 0, 1, 2 / 3.0, 1 / 3.0, 0};
    for (int i = 0; i < 7; i++) CHECK_NEAR(headroom[i], expected[i], 1e-15);
    assert_true(isnan(headroom[7]));
    const mw_two_factor t = mw_two_factors(headroom, reliability, gain, 8);
    CHECK_NEAR(t.headroom, (0.5 + 2 / 3.0) / 2, 1e-15); /* of the six that have both */
    CHECK_NEAR(t.reliability, 0.7, 1e-15);
    assert_int_equal(t.cells[0][0].count, 1); /* entry 1: at the median counts as below */
    CHECK_NEAR(t.cells[0][0].mean, 2, 1e-15);
    assert_int_equal(t.cells[0][1].count, 3);
    CHECK_NEAR(t.cells[0][1].mean, (1 + 4 + 5) / 3.0, 1e-15);
    CHECK_NEAR(t.cells[0][1].median, 4, 1e-15);
    assert_int_equal(t.cells[1][0].count, 2);
    CHECK_NEAR(t.cells[1][0].mean, (3 + 6) / 2.0, 1e-15);
    assert_int_equal(t.cells[1][1].count, 0);
    assert_true(isnan(t.cells[1][1].mean));
}

static void quality(void **state) {
    (void)state;
    const int group[] = {7, 7, 7, 7, 2, 2, 2, 5, 3, 3};
    const double data[] = {1, 4, 3, 2, 9, 9, NAN, 1, 2, 1}, gain[] = {8, 1, 2, 4, 3, 1, 100, 50, 1, 1};
    int place[10];
    const mw_quality q = mw_quality_tiers(data, gain, group, 10, place);
    const int expected[] = {3, 0, 1, 2, 0, 1, -1, 0, 0, 1};
    for (int i = 0; i < 10; i++) assert_int_equal(place[i], expected[i]);
    assert_int_equal(q.groups, 3); /* the group of one does not count */
    assert_int_equal(q.rises, 1);
    assert_int_equal(q.falls, 1); /* equal data stay in their order; equal gains neither rise nor fall */
    CHECK_NEAR(q.p, 1, 1e-15);
    assert_int_equal(q.tiers[MW_DATA_MIDDLE].count, 2);
    CHECK_NEAR(q.tiers[MW_DATA_MIDDLE].mean, 3, 1e-15);
    CHECK_NEAR(q.tiers[MW_DATA_BEST].mean, (1 + 3 + 1) / 3.0, 1e-15);
    CHECK_NEAR(q.tiers[MW_DATA_WORST].mean, (8 + 1 + 1) / 3.0, 1e-15);
}

static void selectors(void **state) {
    (void)state;
    const double tied[] = {3, 3, 2, 3}, rival[] = {1, 2, 4, 4}, gaps[] = {NAN, NAN, 1};
    assert_int_equal(mw_select(tied, 4).best, 0);
    assert_int_equal(mw_select(tied, 4).alternative, 1);
    assert_int_equal(mw_select(rival, 4).best, 2);
    assert_int_equal(mw_select(rival, 4).alternative, 2);
    assert_int_equal(mw_select(gaps, 3).best, 2);
    assert_int_equal(mw_select(gaps, 2).best, -1);
}

static void quantiles(void **state) {
    (void)state;
    const double x[] = {4, NAN, 1, 3, 2};
    CHECK_NEAR(mw_median_of(x, 5), 2.5, 1e-15);
    CHECK_NEAR(mw_quantile_of(x, 5, 0.25), 1.75, 1e-15);
    CHECK_NEAR(mw_mean_of(x, 5), 2.5, 1e-15);
    assert_true(isnan(mw_median_of(x + 1, 1)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sign_test),   cmocka_unit_test(comparison), cmocka_unit_test(how_sure),
        cmocka_unit_test(two_factors), cmocka_unit_test(quality),    cmocka_unit_test(selectors),
        cmocka_unit_test(quantiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
