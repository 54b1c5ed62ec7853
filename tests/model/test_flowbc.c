/* Flow BC: gradients against differences of the loss; it takes either of two recorded ways and never their
 * mean; at work as an arm. */
#include "model/at_work.h"
#include "model/bandit.h"

static double velocity(const mw_fit *fit, const double *losses) {
    (void)fit;
    return losses[0];
}

static void gradients(void **state) {
    (void)state;
    for (int discrete = 0; discrete < 2; discrete++) {
        bandit b;
        bandit_make(&b, discrete, false, 1, 0);
        bandit_learner l = bandit_learn(&b, "flowbc", "hidden=12 batch=13", 2);
        mw_fit_fill(l.fit, l.fit->slots[0], 0, false);
        bandit_gradient(&l, 0, 0, velocity);
        bandit_free(&l);
    }
}

/* Cloning by a mean would stand between the two ways. Rewards say nothing to it. */
static void both_ways(void **state) {
    (void)state;
    for (int discrete = 0; discrete < 2; discrete++) {
        bandit b;
        bandit_make(&b, discrete, false, 1, 0);
        bandit_learner l =
            bandit_learn(&b, "flowbc", "hidden=48 batch=64 steps=2500 rate=0.003 warmup=10", 2);
        bandit_run(&l);
        const bandit_ways ways = bandit_look(&b, l.model);
        for (int i = 0; i < BANDIT_N; i++) assert_true(ways.first[i] > 0.25 && ways.first[i] < 0.75);
        assert_true(ways.neither < 0.15);
        bandit_own(&b, l.model);
        bandit_free(&l);
    }
}

static void threads_do_not_matter(void **state) {
    (void)state;
    bandit b;
    bandit_make(&b, false, false, 1, 0);
    bandit_threads(&b, "flowbc", "hidden=16 batch=13 steps=12 warmup=2");
}

static void at_work(void **state) {
    (void)state;
    static const char *const settings[] = {"flowbc.steps=20", "flowbc.hidden=16", "flowbc.batch=32", NULL};
    at_work_bundle();
    program_expect(0,
                   "train %/spread -o %/b.safetensors --set parts=flowbc --set flowbc.steps=20 "
                   "--set flowbc.hidden=16",
                   "written after");
    program_expect(0, "eval %/b.safetensors --seeds 1 --episodes 2 --timed 2", "\nflowbc ");
    at_work_resume("flowbc", settings);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients), cmocka_unit_test(both_ways),
                                       cmocka_unit_test(threads_do_not_matter), cmocka_unit_test(at_work)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
