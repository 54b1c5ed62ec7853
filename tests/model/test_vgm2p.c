/* VGM2P: gradients of values and velocity against differences; of two recorded ways it takes the one that was
 * better than usual, in one step; at work as an arm. */
#include "model/at_work.h"
#include "model/bandit.h"

static double value(const mw_fit *fit, const double *losses) {
    (void)fit;
    return losses[0];
}

static double q(const mw_fit *fit, const double *losses) {
    (void)fit;
    return losses[1];
}

enum { ROWS = 13 * BANDIT_N };
static float kept[ROWS];

/* Denominators have no gradient: they stay what they were. */
static double velocity(const mw_fit *fit, const double *losses) {
    const float *distance = bandit_array(fit, "out.D");
    double sum = 0;
    (void)losses;
    for (int i = 0; i < ROWS; i++) sum += (double)distance[i] / ((double)kept[i] + 0.01) / ROWS;
    return sum;
}

/* Without condition and with two times that are one the target is what was recorded, and nothing moves with
 * the weights but what is learned. */
static void gradients(void **state) {
    (void)state;
    for (int discrete = 0; discrete < 2; discrete++) {
        bandit b;
        double losses[MW_LOSSES] = {0};
        bandit_make(&b, discrete, false, 1, 0);
        bandit_learner l = bandit_learn(&b, "vgm2p", "hidden=12 value_hidden=12 batch=13", 2);
        mw_fit_fill(l.fit, l.fit->slots[0], 0, false);
        bandit_gradient(&l, 0, 0, value);
        bandit_gradient(&l, 0, 1, q);
        l.fit->phase = 1;
        float *keep = bandit_array(l.fit, "draw.keep"), *s = bandit_array(l.fit, "draw.s"),
              *t = bandit_array(l.fit, "draw.t");
        for (int i = 0; i < ROWS; i++) {
            keep[i] = 0;
            s[i] = t[i];
        }
        l.fit->kind->assemble(l.fit, l.fit->slots[0]);
        mw_fit_turn(l.fit, 0, l.fit->slots[0], MW_STEP_LOSS, losses);
        memcpy(kept, bandit_array(l.fit, "out.D"), sizeof kept);
        bandit_gradient(&l, 1, 0, velocity);
        bandit_free(&l);
    }
}

/* With every condition dropped it is cloning by a mean velocity: the inputs of the condition learn nothing,
 * and what the values say does not matter. */
static void dropped_conditions(void **state) {
    (void)state;
    bandit b;
    double losses[MW_LOSSES] = {0};
    bandit_make(&b, false, false, 1, 0);
    bandit_learner l = bandit_learn(&b, "vgm2p", "hidden=12 value_hidden=12 batch=13 drop=1", 1);
    mw_optimizer *o = l.part->optimizer;
    const mw_param *first = mw_params_find(l.model->params, "u.0.weight"),
                   *bias = mw_params_find(l.model->params, "value.4.bias");
    float *before = malloc(first->count * sizeof *before), largest = 0;
    l.fit->phase = 1;
    mw_fit_fill(l.fit, l.fit->slots[0], 0, false);
    mw_fit_turn(l.fit, 0, l.fit->slots[0], MW_STEP_GRADIENT, losses);
    memcpy(before, o->grads + first->offset, first->count * sizeof *before);
    const size_t conditions = first->count - 2 * 12; /* in memory inputs are rows */
    for (size_t i = 0; i < conditions; i++) largest = fmaxf(largest, fabsf(before[i]));
    for (size_t i = conditions; i < first->count; i++) assert_true(before[i] == 0);
    assert_true(largest > 0);
    o->values[bias->offset] += 1000;
    mw_fit_turn(l.fit, 0, l.fit->slots[0], MW_STEP_GRADIENT, losses);
    assert_memory_equal(before, o->grads + first->offset, first->count * sizeof *before);
    free(before);
    bandit_free(&l);
}

/* Which way is better is all that differs. */
static void the_better_way(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        const bool discrete = k % 2, other = k / 2;
        bandit b;
        bandit_make(&b, discrete, false, other ? 0 : 1, other ? 1 : 0);
        bandit_learner l = bandit_learn(&b, "vgm2p",
                                        "hidden=48 value_hidden=24 batch=64 value_steps=400 steps=1500 "
                                        "rate=0.003 warmup=10 discount=0",
                                        2);
        bandit_run(&l);
        const bandit_ways ways = bandit_look(&b, l.model);
        for (int i = 0; i < BANDIT_N; i++) assert_true(other ? ways.first[i] < 0.1 : ways.first[i] > 0.9);
        assert_true(discrete || ways.neither < 0.2);
        bandit_own(&b, l.model);
        bandit_free(&l);
    }
}

static void threads_do_not_matter(void **state) {
    (void)state;
    bandit b;
    bandit_make(&b, true, false, 1, 0);
    bandit_threads(&b, "vgm2p", "hidden=16 value_hidden=16 batch=13 value_steps=6 steps=8 warmup=2");
}

static void at_work(void **state) {
    (void)state;
    static const char *const settings[] = {"vgm2p.value_steps=5", "vgm2p.steps=10", "vgm2p.hidden=16",
                                           "vgm2p.batch=32", NULL};
    at_work_bundle();
    at_work_resume("vgm2p", settings);
    program_expect(0, "eval %/whole.safetensors --arms vgm2p --seeds 1 --episodes 2 --timed 2", "\nvgm2p ");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients), cmocka_unit_test(the_better_way),
                                       cmocka_unit_test(dropped_conditions),
                                       cmocka_unit_test(threads_do_not_matter), cmocka_unit_test(at_work)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
