/* MA-TD3+BC: gradients, its delay and slow copies, that values of one sign do not silence the critic, and the
 * bandit whose mean action nobody took. */
#include "model/learner.h"

enum { CRITIC, POLICY };

#define SMALL "hidden=12 batch=9 clip=0 "

static double critic_objective(learner *l, const double *losses) {
    (void)l;
    return losses[0];
}

static float lam;

/* The weight of the climb has no gradient. */
static double policy_objective(learner *l, const double *losses) {
    (void)l;
    return losses[2] - (double)lam * losses[3];
}

static void gradients(void **state) {
    (void)state;
    for (int joint = 0; joint < 2; joint++) {
        learner *l = learner_random(false);
        learner_start(l, "td3bc", joint ? SMALL "joint=on" : SMALL, 2);
        learner_part_copies(l);
        learner_differences(l, CRITIC, critic_objective);
        learner_turn(l, POLICY);
        lam = learner_field(l, "out.lam")[0];
        learner_differences(l, POLICY, policy_objective);
        learner_free(l);
    }
}

/* The policy and all slow copies move in every second step, critics in each. */
static void delay(void **state) {
    (void)state;
    learner *l = learner_random(false);
    learner_start(l, "td3bc", SMALL "slow=0.9 delay=2", 1);
    mw_optimizer *o = l->part->optimizer;
    const size_t bytes = l->part->total * sizeof(float), critic = o->group[1].begin;
    float *values = malloc(2 * bytes), *average = values + l->part->total;
    double losses[MW_LOSSES];
    for (int g = 0; g < 2; g++) o->group[g].adam.rate = 1e-3f;
    memcpy(values, o->values, bytes);
    memcpy(average, o->average, bytes);
    mw_fit_run(l->fit, l->fit->slots[0], MW_STEP_UPDATE, losses);
    assert_memory_equal(values, o->values, critic * sizeof(float));
    assert_memory_equal(average, o->average, bytes);
    assert_true(memcmp(values + critic, o->values + critic, 64 * sizeof(float)));
    l->part->step = 1;
    mw_fit_run(l->fit, l->fit->slots[0], MW_STEP_UPDATE, losses);
    assert_true(memcmp(values, o->values, 64 * sizeof(float)));
    const float *weight = learner_weight(l, "critic2.0.bias");
    const size_t at = (size_t)(weight - o->values);
    assert_true(fabsf(o->average[at] - (0.9f * average[at] + 0.1f * *weight)) < 1e-7f);
    assert_true(o->average[at] != average[at]);
    free(values);
    learner_free(l);
}

/* 1000 more on all values: the critic's share of the gradient shrinks by its weight, and is still there. */
static void one_sign(void **state) {
    (void)state;
    learner *l = learner_random(false);
    learner_start(l, "td3bc", SMALL, 1);
    const mw_optimizer *o = l->part->optimizer;
    const size_t count = o->group[0].end;
    float *grads = malloc(3 * count * sizeof *grads), weight[3];
    for (int k = 0; k < 3; k++) {
        if (k == 1) learner_weight(l, "critic1.4.bias")[0] += 1000;
        if (k == 2) learner_set(l, "climb=0");
        learner_turn(l, POLICY);
        weight[k] = learner_field(l, "out.lam")[0];
        memcpy(grads + (size_t)k * count, o->grads, count * sizeof *grads);
    }
    double off = 0, largest = 0;
    for (size_t i = 0; i < count; i++) {
        const double few = (double)(grads[i] - grads[2 * count + i]) / (double)weight[0],
                     many = (double)(grads[count + i] - grads[2 * count + i]) / (double)weight[1];
        off = fmax(off, fabs(few - many));
        largest = fmax(largest, fabs(few));
    }
    assert_true(weight[1] < 0.01f * weight[0]);
    assert_true(largest > 1e-3 && off < 0.01 * largest);
    free(grads);
    learner_free(l);
}

/* With the line through both points as the critic the best action solves a (1/2 + a) = 5/4; without the
 * critic it is the mean, which nobody took. */
static void bandit(void **state) {
    (void)state;
    for (int climb = 0; climb < 2; climb++) {
        learner *l = learner_bandit(false);
        learner_start(l, "td3bc", climb ? "hidden=16 batch=8 clip=0" : "hidden=16 batch=8 climb=0", 2);
        learner_even(l);
        learner_line(l, "critic1");
        learner_climb(l, POLICY, 1500, 0.003f);
        const float *act = learner_field(l, "out.act"), want = climb ? 0.8956439f : 0;
        if (fabsf(act[0] - want) > 0.005f || fabsf(act[1] + want) > 0.005f)
            fail_msg("%g and %g instead of %g", (double)act[0], (double)act[1], (double)want);
        learner_free(l);
    }
}

/* Critics of its own lead there too. */
static void learns(void **state) {
    (void)state;
    learner *l = learner_bandit(false);
    learner_start(l, "td3bc", "hidden=16 batch=32 steps=1500 rate=0.003", 2);
    learner_train(l);
    float act[8];
    learner_play(l, 1, act, NULL);
    assert_true(act[0] > 0.45f && act[1] < -0.45f);
    learner_free(l);
}

static void threads(void **state) {
    (void)state;
    learner_threads(false, "td3bc", "hidden=12 batch=9 steps=6");
}

static void plays_alone(void **state) {
    (void)state;
    learner_plays_alone(false, "td3bc", SMALL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients),  cmocka_unit_test(delay),
                                       cmocka_unit_test(one_sign),   cmocka_unit_test(bandit),
                                       cmocka_unit_test(learns),     cmocka_unit_test(threads),
                                       cmocka_unit_test(plays_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
