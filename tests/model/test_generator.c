/* Generators: features of times, and where samplers lead with nets that are exact. */
#include "check.h"
#include "core/math.h"
#include "model/generator.h"

static void time_features(void **state) {
    (void)state;
    const double pi = 3.14159265358979323846;
    float features[32];
    for (int i = -1; i <= 12; i++) {
        const double t = i / 11.0;
        mw_time_features(features, 16, t);
        for (int k = 0; k < 16; k++) {
            assert_true(fabs((double)features[k] - sin(pi * (1 << k) * t)) < 1e-7);
            assert_true(fabs((double)features[16 + k] - cos(pi * (1 << k) * t)) < 1e-7);
        }
    }
}

/* All data at one point: the velocity there and the noise that was added are known, and samplers end there.
 */
static void one_point(void **state) {
    (void)state;
    const double point = 0.3;
    for (int steps = 1; steps <= 50; steps += 7) {
        const mw_sampler straight = mw_sampler_straight(steps), blend = mw_sampler_blend(steps);
        double x = -1.7, y = -1.7;
        for (int k = 0; k < steps; k++) {
            const mw_blend at = mw_blend_at(blend.time[k]);
            assert_true(fabs(at.data * at.data + at.noise * at.noise - 1) < 1e-12);
            x = (double)straight.keep[k] * x + (double)straight.add[k] * (point - x) / (1 - straight.time[k]);
            y = (double)blend.keep[k] * y + (double)blend.add[k] * (y - at.data * point) / at.noise;
        }
        assert_true(fabs(x - point) < 1e-6);
        assert_true(fabs(y - point) < 2e-5);
    }
}

/* Normal data of deviation 0.5: the exact net is linear in x, and so is the solver. Few steps shrink it. */
static void few_steps_shrink(void **state) {
    (void)state;
    const int steps[] = {5, 10, 50};
    const double expected[] = {0.26, 0.37, 0.47};
    for (int i = 0; i < 3; i++) {
        const mw_sampler s = mw_sampler_blend(steps[i]);
        double deviation = 1;
        for (int k = 0; k < s.steps; k++) {
            const mw_blend at = mw_blend_at(s.time[k]);
            const double spread = at.data * at.data * 0.25 + at.noise * at.noise;
            deviation *= (double)s.keep[k] + (double)s.add[k] * at.noise / spread;
        }
        assert_true(fabs(deviation - expected[i]) < 0.006);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(time_features), cmocka_unit_test(one_point),
                                       cmocka_unit_test(few_steps_shrink)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
