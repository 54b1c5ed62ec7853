/* Properties of what is reported, over generated data that are small, constant, tied, skewed or wild: a
 * number is measured or unknown, an interval holds the truth as often as it says, a gain has the sign of its
 * difference, and more caution never means more departures from the policy's own candidate. */
#include "check.h"
#include "core/rng.h"
#include "eval/statistics.h"
#include "plan/choice.h"

#include <math.h>
#include <stdlib.h>

/* ---- intervals reach their coverage ---- */

static double normal(mw_rng *rng) {
    return mw_rng_normal(rng);
}
static double exponential(mw_rng *rng) {
    return -1 - log(1 - mw_rng_double(rng));
}
static double mirrored(mw_rng *rng) {
    return -exponential(rng);
}
static double log_normal(mw_rng *rng) {
    return exp(mw_rng_normal(rng)) - 1.6487212707001282;
}
static double even_coin(mw_rng *rng) {
    return mw_rng_double(rng) < 0.5 ? -1 : 1;
}
static double rare_win(mw_rng *rng) {
    return (mw_rng_double(rng) < 0.2) - 0.2;
}
static double won_same_lost(mw_rng *rng) {
    const double u = mw_rng_double(rng);
    return u < 0.2 ? -1 : u < 0.4 ? 1 : 0;
}
static double mixture(mw_rng *rng) {
    const double width = mw_rng_double(rng) < 0.5 ? 3 : 0.3;
    return width * mw_rng_normal(rng);
}

enum { SIZES = 5 };
static const int sizes[SIZES] = {8, 10, 20, 40, 160};

/* All of mean zero. least: coverage; most: how often the interval lies above zero. */
static const struct {
    const char *name;
    double (*draw)(mw_rng *rng);
    double least, most;
} laws[] = {
    {"normal", normal, 0.94, 0.03},
    {"exponential", exponential, 0.93, 0.03},
    {"mirrored", mirrored, 0.93, 0.07},
    {"log-normal", log_normal, 0.885, 0.03},
    {"even coin", even_coin, 0.945, 0.035},
    {"rare win", rare_win, 0.945, 0.035},
    {"won, same, lost", won_same_lost, 0.94, 0.035},
    {"mixture", mixture, 0.94, 0.035},
};
enum { LAWS = sizeof laws / sizeof *laws, DRAWS = 4000, LARGEST = 160 };

static void coverage_of_means(void **state) {
    (void)state;
    for (int law = 0; law < LAWS; law++)
        for (int k = 0; k < SIZES; k++) {
            int held = 0, above = 0, known = 0;
            for (int draw = 0; draw < DRAWS; draw++) {
                mw_rng rng = mw_rng_make(1, MW_RNG_TEST, (uint64_t)law, (uint64_t)k, (uint64_t)draw);
                double x[LARGEST];
                for (int i = 0; i < sizes[k]; i++) x[i] = laws[law].draw(&rng);
                const mw_interval d = mw_mean_interval(x, sizes[k]);
                if (isnan(d.low)) continue;
                known++;
                held += d.low <= 1e-12 && d.high >= -1e-12;
                above += d.low > 1e-12;
            }
            const double coverage = (double)held / known, false_gains = (double)above / known;
            if (!(coverage >= laws[law].least && false_gains <= laws[law].most) || known < DRAWS / 2)
                fail_msg(
                    "%s, %d values: %d of %d draws have an interval, it holds the mean in %.3f (at least "
                    "%.3f expected) and lies above it in %.3f (at most %.3f)",
                    laws[law].name, sizes[k], known, DRAWS, coverage, laws[law].least, false_gains,
                    laws[law].most);
        }
}

/* Gains of 2 over a base of -5 with either skewness, both uncertain and in step. */
static void coverage_of_ratios(void **state) {
    (void)state;
    for (int k = 0; k < SIZES; k++) {
        int held = 0, known = 0;
        for (int draw = 0; draw < DRAWS / 4; draw++) {
            mw_error error;
            mw_interval ratio;
            double x[LARGEST], base[LARGEST];
            mw_rng rng = mw_rng_make(2, MW_RNG_TEST, (uint64_t)k, (uint64_t)draw, 0);
            for (int i = 0; i < sizes[k]; i++) {
                const double shared = exponential(&rng);
                base[i] = -5 + 2 * shared + 2 * normal(&rng);
                x[i] = 2 - shared + normal(&rng);
            }
            CHECK_OK(mw_ratio_interval(&ratio, x, base, sizes[k], &error), error);
            assert_true(isnan(ratio.low) == isnan(ratio.high));
            if (isnan(ratio.low)) continue;
            const mw_interval gain = mw_mean_interval(x, sizes[k]);
            assert_true(ratio.low <= ratio.mean && ratio.mean <= ratio.high);
            assert_true((ratio.low > 0) == (gain.low > 0) && (ratio.high < 0) == (gain.high < 0));
            known++;
            held += ratio.low <= 0.4 && ratio.high >= 0.4;
        }
        if ((double)held < 0.93 * known || known < DRAWS / 8)
            fail_msg("%d values: %d of %d intervals hold the ratio", sizes[k], held, known);
    }
}

/* Few values, no variation and numbers that cannot be added up have no interval; none is cut short. */
static void known_or_unknown(void **state) {
    (void)state;
    static const double wild[] = {0, 1, -1, 1e-300, 1e30, -1e30, 1e38, 1e308, 3};
    for (int draw = 0; draw < 20000; draw++) {
        mw_error error;
        mw_rng rng = mw_rng_make(3, MW_RNG_TEST, (uint64_t)draw, 0, 0);
        double x[24], base[24];
        const int n = 1 + (int)mw_rng_below(&rng, 24), values = 1 + (int)mw_rng_below(&rng, 9);
        for (int i = 0; i < n; i++) {
            x[i] = wild[mw_rng_below(&rng, (uint32_t)values)];
            base[i] = wild[mw_rng_below(&rng, (uint32_t)values)];
        }
        mw_interval ratio;
        const mw_interval d = mw_mean_interval(x, n);
        assert_true(isnan(d.low) == isnan(d.high));
        if (n < MW_INTERVAL_LEAST || values == 1) assert_true(isnan(d.low));
        if (!isnan(d.low)) assert_true(d.low < d.mean && d.mean < d.high);
        CHECK_OK(mw_ratio_interval(&ratio, x, base, n, &error), error);
        assert_true(isnan(ratio.low) == isnan(ratio.high));
        if (!isnan(ratio.low)) assert_true(ratio.low <= ratio.mean && ratio.mean <= ratio.high);
    }
    assert_true(isnan(mw_mean_interval(NULL, 0).mean));
}

/* ---- caution ---- */

/* Over scores with ties, outliers and what is not finite: at every margin the choice is the best or the
 * policy's own, and where a smaller margin keeps that one, so does a larger one. */
static void caution_keeps_more(void **state) {
    (void)state;
    static const float odd[] = {0, 1, 1, -1, 1e30f, -1e30f, INFINITY, NAN};
    enum { M = 6, STEPS = 40 };
    int kept[STEPS] = {0};
    for (int draw = 0; draw < 5000; draw++) {
        mw_rng rng = mw_rng_make(4, MW_RNG_TEST, (uint64_t)draw, 0, 0);
        float scores[M];
        for (int m = 0; m < M; m++)
            scores[m] = draw % 2 ? odd[mw_rng_below(&rng, 8)] : (float)mw_rng_normal(&rng);
        const int best = mw_choice_best(scores, M);
        bool before = false;
        for (int k = 0; k < STEPS; k++) {
            const int chosen = mw_choice_cautious(scores, best, 0.1 * k);
            assert_true(chosen == best || chosen == 0);
            assert_true(chosen == 0 || !before);
            before = chosen == 0;
            kept[k] += before;
        }
    }
    for (int k = 1; k < STEPS; k++) assert_true(kept[k] >= kept[k - 1]);
    assert_true(kept[STEPS - 1] > kept[0] + 500);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coverage_of_means),
        cmocka_unit_test(coverage_of_ratios),
        cmocka_unit_test(known_or_unknown),
        cmocka_unit_test(caution_keeps_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
