/* Own elementary functions against the C library's in extended precision, and where they meet the ends of
 * their ranges. */
#include "check.h"
#include "core/math.h"
#include "core/rng.h"

/* Units in the last place between them. */
static double units(double seen, long double exact) {
    const double size = fabs((double)exact), unit = nextafter(size, INFINITY) - size;
    return (double)(fabsl((long double)seen - exact) / unit);
}

typedef struct {
    const char *name;
    double (*ours)(double);
    long double (*theirs)(long double);
    double low, high, bound;
} function;

static const function functions[] = {
    {"exp", mw_exp, expl, -708, 709, 2},    {"exp", mw_exp, expl, -2, 2, 2},
    {"ln", mw_ln, logl, 1e-300, 1e-290, 2}, {"ln", mw_ln, logl, 0.4, 3, 2},
    {"ln", mw_ln, logl, 3, 1e9, 2},         {"ln1p", mw_ln1p, log1pl, 0, 1, 2},
    {"ln1p", mw_ln1p, log1pl, 0, 1e-9, 2},  {"sin", mw_sin, sinl, -7, 7, 2},
    {"sin", mw_sin, sinl, -1e6, 1e6, 2},    {"cos", mw_cos, cosl, -7, 7, 2},
    {"cos", mw_cos, cosl, -1e6, 1e6, 2},
};

static void against_the_library(void **state) {
    (void)state;
    mw_rng rng = mw_rng_make(1, MW_RNG_TEST, 7, 0, 0);
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
        const function *f = &functions[k];
        double worst = 0, at = 0;
        for (int i = 0; i < 200000; i++) {
            const double x = mw_rng_range(&rng, f->low, f->high),
                         off = units(f->ours(x), f->theirs((long double)x));
            if (off > worst) worst = off, at = x;
        }
        print_message("%s on [%g, %g]: %.2f units, at %.17g\n", f->name, f->low, f->high, worst, at);
        assert_true(worst <= f->bound);
    }
}

static void angles_and_tanh(void **state) {
    (void)state;
    mw_rng rng = mw_rng_make(1, MW_RNG_TEST, 8, 0, 0);
    double worst = 0, tanh_worst = 0;
    for (int i = 0; i < 200000; i++) {
        const double y = mw_rng_range(&rng, -1, 1), x = mw_rng_range(&rng, -1, 1), z = mw_exp(30 * y) * x;
        worst = fmax(worst, units(mw_atan2(y, x), atan2l((long double)y, (long double)x)));
        if (z != 0) tanh_worst = fmax(tanh_worst, fabs(mw_tanh(z) / tanh(z) - 1));
    }
    print_message("atan2: %.2f units; tanh: %.2g\n", worst, tanh_worst);
    assert_true(worst <= 6 && tanh_worst <= 1e-11);
    assert_true(mw_atan2(0, 1) == 0 && mw_atan2(0, -1) == 3.141592653589793);
    assert_true(mw_atan2(1, 0) == 3.141592653589793 / 2 && mw_atan2(-1, 0) == -3.141592653589793 / 2);
}

static void ends(void **state) {
    (void)state;
    assert_true(mw_exp(0) == 1 && mw_exp(-INFINITY) == 0 && mw_exp(INFINITY) == INFINITY &&
                mw_exp(-746) == 0);
    assert_true(mw_exp(710) == INFINITY && isfinite(mw_exp(709.78)) && mw_exp(-744) > 0);
    assert_true(mw_ln(1) == 0 && mw_ln(0) == -INFINITY && isnan(mw_ln(-1)) && mw_ln(INFINITY) == INFINITY);
    CHECK_NEAR(mw_ln(0x1p-1074), -1074 * 0.6931471805599453, 1e-12);
    assert_true(mw_ln1p(0) == 0 && mw_ln1p(1e-300) == 1e-300);
    assert_true(isnan(mw_exp(NAN)) && isnan(mw_ln(NAN)) && isnan(mw_sin(NAN)) && isnan(mw_cos(INFINITY)));
    assert_true(isnan(mw_tanh(NAN)) && mw_tanh(INFINITY) == 1 && mw_tanh(-40) == -1 && mw_tanh(0) == 0);
    assert_true(mw_power(2, 10) == 1024 && mw_power(0.5, 0) == 1 && mw_power(-3, 3) == -27);
    assert_true(mw_length(3, -4) == 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_the_library),
        cmocka_unit_test(angles_and_tanh),
        cmocka_unit_test(ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
