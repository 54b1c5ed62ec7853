/* MA-SfBC: gradients against differences; returns and their improvement by hand; of two recorded ways it
 * takes the one that earns more; at work as an arm. */
#include "model/at_work.h"
#include "model/bandit.h"
#include "model/sfbc/improve.h"

static double noise(const mw_fit *fit, const double *losses) {
    (void)fit;
    return losses[0];
}

static double returns(const mw_fit *fit, const double *losses) {
    (void)fit;
    return losses[1];
}

static double improved(const mw_fit *fit, const double *losses) {
    (void)fit;
    return losses[2];
}

static void gradients(void **state) {
    (void)state;
    static bandit_objective *const objectives[] = {noise, returns, improved};
    mw_error error;
    bandit b;
    bandit_make(&b, false, false, 1, 0);
    bandit_learner l =
        bandit_learn(&b, "sfbc", "hidden=12 layers=2 value_hidden=12 batch=13 fit_batch=9 promises=3", 2);
    for (int phase = 0; phase < 3; phase++) {
        l.fit->phase = phase;
        if (phase) CHECK_OK(l.fit->kind->phases[phase].enter(l.fit, &error), error);
        mw_fit_fill(l.fit, l.fit->slots[0], 0, false);
        bandit_gradient(&l, phase, 0, objectives[phase]);
    }
    bandit_free(&l);
}

/* Three steps of two agents; a promise of 5 in the middle for the second one. */
static void improvement(void **state) {
    (void)state;
    const float reward[] = {1, 0, 2, 0, 4, 1}, value[] = {-9, -9, -9, 5, -9, -9}, after[] = {10, -2};
    float out[6];
    mw_improve_returns(out, reward, 3, 2, 0.5, NULL, NULL);
    assert_true(out[0] == 3 && out[2] == 4 && out[4] == 4 && out[1] == 0.25f && out[5] == 1);
    mw_improve_returns(out, reward, 3, 2, 0.5, value, NULL);
    assert_true(out[0] == 3 && out[1] == 2.5f && out[3] == 5 && out[5] == 1);
    mw_improve_returns(out, reward, 3, 2, 0.5, NULL, after);
    assert_true(out[4] == 9 && out[2] == 6.5f && out[5] == 0);
    const float flat[] = {2, 2, 2.05f, 1.95f};
    mw_standard s = mw_standard_of(flat, 4);
    assert_true(fabs(s.mean - 2) < 1e-6 && s.deviation == 0.1);
    s = mw_standard_of(reward, 6);
    mw_standard_apply(&s, out, reward, 6);
    const mw_standard unit = mw_standard_of(out, 6);
    assert_true(fabs(unit.mean) < 1e-6 && fabs(unit.deviation - 1) < 1e-6);
    const float q[] = {1, 3}, share[] = {0.25f, 0.75f};
    float effective;
    assert_true(mw_improve_value(&(mw_standard){10, 2}, q, share, 2, &effective) == 15);
    assert_true(fabsf(effective - 1.6f) < 1e-6f);
}

#define LEARN                                                                                                \
    "hidden=48 layers=2 value_hidden=24 batch=64 fit_batch=64 steps=2500 rate=0.003 warmup=10 "              \
    "fit_steps=400 "                                                                                         \
    "value_rate=0.003 promises=4 "

/* Values alone decide between the ways; with no say for them both are taken. */
static void the_better_way(void **state) {
    (void)state;
    for (int k = 0; k < 3; k++) {
        bandit b;
        bandit_make(&b, false, true, k == 1 ? 0 : 1, k == 1 ? 1 : 0);
        bandit_learner l = bandit_learn(
            &b, "sfbc", k == 2 ? LEARN "sharpness=0 discount=0" : LEARN "candidates=12 discount=0", 2);
        bandit_run(&l);
        const bandit_ways ways = bandit_look(&b, l.model);
        for (int i = 0; i < BANDIT_N; i++) {
            if (k == 0) assert_true(ways.first[i] > 0.9);
            if (k == 1) assert_true(ways.first[i] < 0.1);
            if (k == 2) assert_true(ways.first[i] > 0.25 && ways.first[i] < 0.75);
        }
        bandit_own(&b, l.model);
        bandit_free(&l);
    }
}

static void threads_do_not_matter(void **state) {
    (void)state;
    bandit b;
    bandit_make(&b, false, false, 1, 0);
    bandit_threads(&b, "sfbc", "hidden=16 value_hidden=16 batch=13 steps=6 fit_steps=8 warmup=2 states=90");
}

/* Planning backwards takes long with much data: it can be stopped. */
static void stops(void **state) {
    (void)state;
    mw_error error;
    bandit b;
    mw_stop_flag flag = 0;
    bandit_make(&b, false, false, 1, 0);
    b.data.stop = &flag;
    bandit_learner l = bandit_learn(&b, "sfbc", "hidden=12 value_hidden=12 batch=13 steps=1 fit_steps=1", 2);
    l.part->step = 2; /* the third phase begins */
    flag = 1;
    CHECK_FAILS(l.part->start(l.part, &error), MW_ERR_INTERRUPTED, error, "planning backwards");
    bandit_free(&l);
}

static void at_work(void **state) {
    (void)state;
    static const char *const settings[] = {"sfbc.steps=4",         "sfbc.fit_steps=4", "sfbc.hidden=16",
                                           "sfbc.value_hidden=16", "sfbc.states=200",  NULL};
    at_work_bundle();
    at_work_resume("sfbc", settings);
    program_expect(0, "eval %/whole.safetensors --arms sfbc --seeds 1 --episodes 2 --timed 2", "\nsfbc ");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients),      cmocka_unit_test(improvement),
        cmocka_unit_test(the_better_way), cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(stops),          cmocka_unit_test(at_work),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
