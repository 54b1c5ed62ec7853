/* MAC-Flow: gradients of all three groups against differences; of two recorded ways the students take the one
 * that critics like, and both where the critics do not count; adding to all rewards does not silence the
 * critics; at work as an arm. */
#include "model/at_work.h"
#include "model/bandit.h"

static double teacher(const mw_fit *fit, const double *losses) {
    (void)fit;
    return losses[0];
}

static double critic(const mw_fit *fit, const double *losses) {
    (void)fit;
    return losses[1];
}

/* The weight of the climb has no gradient: it stays what it was. */
static double climb_weight, distil_weight;

static double student(const mw_fit *fit, const double *losses) {
    (void)fit;
    return distil_weight * losses[4] - climb_weight * losses[5];
}

static void gradients(void **state) {
    (void)state;
    for (int discrete = 0; discrete < 2; discrete++) {
        bandit b;
        double losses[MW_LOSSES] = {0};
        bandit_make(&b, discrete, false, 1, 0);
        bandit_learner l = bandit_learn(&b, "macflow", "hidden=12 batch=13 distil=0.3", 2);
        mw_fit_fill(l.fit, l.fit->slots[0], 0, false);
        bandit_gradient(&l, 0, 0, teacher);
        l.fit->phase = 1;
        mw_fit_fill(l.fit, l.fit->slots[0], 0, false);
        bandit_gradient(&l, 1, 0, critic);
        distil_weight = 0.3;
        mw_fit_turn(l.fit, 1, l.fit->slots[0], MW_STEP_LOSS, losses);
        climb_weight = (double)((float *)bandit_array(l.fit, "out.q_scale"))[0];
        bandit_gradient(&l, 1, 1, student);
        bandit_free(&l);
    }
}

#define LEARN "hidden=32 batch=64 teacher_steps=1500 teacher_rate=0.003 steps=1500 rate=0.003 "

/* What the critics say decides between ways that the teacher takes as often, and nothing else does. */
static void the_better_way(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        const bool discrete = k % 2, other = k / 2;
        bandit b;
        bandit_make(&b, discrete, true, other ? 0 : 1, other ? 1 : 0);
        bandit_learner l =
            bandit_learn(&b, "macflow", discrete ? LEARN "distil=0.03" : LEARN "distil=0.3", 2);
        bandit_run(&l);
        const bandit_ways ways = bandit_look(&b, l.model);
        for (int i = 0; i < BANDIT_N; i++) assert_true(other ? ways.first[i] < 0.35 : ways.first[i] > 0.65);
        bandit_own(&b, l.model);
        bandit_free(&l);
    }
}

static void without_critics(void **state) {
    (void)state;
    bandit b;
    bandit_make(&b, false, false, 1, 0);
    bandit_learner l = bandit_learn(&b, "macflow", LEARN "distil=100000", 2);
    bandit_run(&l);
    const bandit_ways ways = bandit_look(&b, l.model);
    for (int i = 0; i < BANDIT_N; i++) assert_true(ways.first[i] > 0.25 && ways.first[i] < 0.75);
    bandit_free(&l);
}

/* 1000 more in every value: the gradient of the climb becomes smaller by the quotient of the weights, and by
 * nothing else. */
static void values_of_one_sign(void **state) {
    (void)state;
    bandit b;
    bandit_make(&b, false, false, 1, 0);
    bandit_learner l = bandit_learn(&b, "macflow", "hidden=12 batch=13 distil=0", 1);
    mw_optimizer *o = l.part->optimizer;
    const mw_group *g = &o->group[2];
    const size_t count = g->end - g->begin;
    double losses[MW_LOSSES] = {0}, largest = 0, worst = 0;
    float *kept = malloc(count * sizeof *kept);
    l.fit->phase = 1;
    mw_fit_fill(l.fit, l.fit->slots[0], 0, false);
    const float *weight = bandit_array(l.fit, "out.q_scale");
    mw_fit_turn(l.fit, 1, l.fit->slots[0], MW_STEP_GRADIENT, losses);
    memcpy(kept, o->grads + g->begin, count * sizeof *kept);
    const float before = weight[0];
    o->values[mw_params_find(l.model->params, "q1.4.bias")->offset] += 1000;
    o->values[mw_params_find(l.model->params, "q2.4.bias")->offset] += 1000;
    mw_fit_turn(l.fit, 1, l.fit->slots[0], MW_STEP_GRADIENT, losses);
    assert_true(weight[0] < 0.0011f && weight[0] > 0.0009f);
    for (size_t i = 0; i < count; i++) {
        const double now = (double)(o->grads[g->begin + i] * (before / weight[0]));
        worst = fmax(worst, fabs(now - (double)kept[i]));
        largest = fmax(largest, fabs((double)kept[i]));
    }
    assert_true(largest > 0 && worst < 1e-4 * largest);
    free(kept);
    bandit_free(&l);
}

static void threads_do_not_matter(void **state) {
    (void)state;
    for (int discrete = 0; discrete < 2; discrete++) {
        bandit b;
        bandit_make(&b, discrete, false, 1, 0);
        bandit_threads(&b, "macflow", "hidden=16 batch=13 teacher_steps=6 steps=8");
    }
}

static void at_work(void **state) {
    (void)state;
    static const char *const settings[] = {"macflow.teacher_steps=5", "macflow.steps=10", "macflow.hidden=16",
                                           "macflow.batch=32", NULL};
    at_work_bundle();
    at_work_resume("macflow", settings);
    program_expect(0, "eval %/whole.safetensors --arms macflow --seeds 1 --episodes 2 --timed 2",
                   "\nmacflow ");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients),
        cmocka_unit_test(the_better_way),
        cmocka_unit_test(without_critics),
        cmocka_unit_test(values_of_one_sign),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(at_work),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
