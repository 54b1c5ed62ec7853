/* DOM2: gradients through the solver and of the conservative critics against differences; weights of
 * episodes; of two recorded ways it takes the one that critics like; adding to all rewards does not silence
 * them; at work as an arm. */
#include "model/at_work.h"
#include "model/bandit.h"
#include "model/dom2/weights.h"

static double critic(const mw_fit *fit, const double *losses) {
    (void)fit;
    return losses[0];
}

/* The weight of the climb has no gradient: it stays what it was. */
static double climb_weight;

static double actor(const mw_fit *fit, const double *losses) {
    (void)fit;
    return losses[2] - climb_weight * losses[5];
}

/* What an untrained model makes of noise lies outside [-1, 1], where nothing climbs: both are made small. */
static void stay_inside(bandit_learner *l) {
    float *noise = bandit_array(l->fit, "draw.noise"), inside = 0;
    double losses[MW_LOSSES] = {0};
    for (int i = 0; i < 13 * BANDIT_N * BANDIT_D; i++) noise[i] *= 1e-3f;
    for (int k = 0; k < 2; k++) {
        const mw_param *p = mw_params_find(l->model->params, k ? "eps.4.bias" : "eps.4.weight");
        for (size_t i = 0; i < p->count; i++) l->part->optimizer->values[p->offset + i] *= 1e-2f;
    }
    mw_fit_turn(l->fit, 1, l->fit->slots[0], MW_STEP_LOSS, losses);
    const float *act = bandit_array(l->fit, "out.action");
    for (int i = 0; i < 13 * BANDIT_N * BANDIT_D; i++) inside += fabsf(act[i]) < 0.9f;
    assert_true(inside > 0.8f * 13 * BANDIT_N * BANDIT_D);
}

static void gradients(void **state) {
    (void)state;
    bandit b;
    double losses[MW_LOSSES] = {0};
    bandit_make(&b, false, false, 1, 0);
    bandit_learner l = bandit_learn(&b, "dom2", "hidden=12 critic_hidden=12 batch=13 random=4 solver=3", 2);
    mw_fit_fill(l.fit, l.fit->slots[0], 0, false);
    bandit_gradient(&l, 0, 0, critic);
    stay_inside(&l);
    mw_fit_turn(l.fit, 1, l.fit->slots[0], MW_STEP_LOSS, losses);
    climb_weight = (double)((float *)bandit_array(l.fit, "climb"))[0];
    bandit_gradient(&l, 0, 1, actor);
    bandit_free(&l);
}

static void weights(void **state) {
    (void)state;
    float returns[] = {5, 1, 2, 8, 3, 4, 7, 6}, thresholds[MW_DOM2_THRESHOLDS];
    mw_dom2_thresholds(returns, 8, thresholds);
    assert_true(thresholds[0] == 5 && thresholds[1] == 7 && thresholds[2] == 8 && thresholds[3] == 8);
    assert_int_equal(mw_dom2_copies(5, thresholds), 1);
    assert_int_equal(mw_dom2_copies(6, thresholds), 2);
    assert_int_equal(mw_dom2_copies(8, thresholds), 3);
    assert_int_equal(mw_dom2_copies(9, thresholds), 5);
}

/* Rows of the better half of the episodes come twice as often. */
static void weighted_rows(void **state) {
    (void)state;
    double share[2];
    for (int weighted = 0; weighted < 2; weighted++) {
        bandit b;
        bandit_make(&b, false, false, 1, 0);
        for (int t = 0; t < BANDIT_STEPS * BANDIT_N; t++) /* three eighths of the episodes stand out */
            b.rewards[t] = t / BANDIT_N / 2 % 8 < 3;
        bandit_learner l = bandit_learn(&b, "dom2", weighted ? "batch=4000" : "batch=4000 weighted=off", 1);
        mw_fit_fill(l.fit, l.fit->slots[0], 0, false);
        const float *reward = bandit_array(l.fit, "in.reward");
        share[weighted] = 0;
        for (int i = 0; i < 4000 * BANDIT_N; i++) share[weighted] += (double)reward[i] / (4000 * BANDIT_N);
        bandit_free(&l);
    }
    assert_true(fabs(share[0] - 3.0 / 8) < 0.03);
    assert_true(fabs(share[1] - 3.0 / 5.5) < 0.04); /* one threshold is exceeded, twice 3 of 2 * 3 + 5 */
}

#define LEARN                                                                                                \
    "hidden=32 critic_hidden=24 batch=48 steps=1500 rate=0.003 discount=0 penalty=0.1 candidates=1 "         \
    "weighted=off "

/* The critics decide between the ways through the solver: one candidate, none chosen. */
static void the_better_way(void **state) {
    (void)state;
    for (int k = 0; k < 3; k++) {
        bandit b;
        bandit_make(&b, false, true, k == 1 ? 0 : 1, k == 1 ? 1 : 0);
        bandit_learner l = bandit_learn(&b, "dom2", k == 2 ? LEARN "climb=0" : LEARN, 2);
        bandit_run(&l);
        const bandit_ways ways = bandit_look(&b, l.model);
        for (int i = 0; i < BANDIT_N; i++) {
            if (k == 0) assert_true(ways.first[i] > 0.7);
            if (k == 1) assert_true(ways.first[i] < 0.3);
            if (k == 2) assert_true(ways.first[i] > 0.25 && ways.first[i] < 0.75);
        }
        if (k == 2) bandit_own(&b, l.model); /* otherwise much is clipped to the same */
        bandit_free(&l);
    }
}

/* 1000 more in every value: the gradient of the climb becomes smaller by the quotient of the weights, and by
 * nothing else. Cloning's is the same in both, and is taken away. */
static void values_of_one_sign(void **state) {
    (void)state;
    bandit b;
    bandit_make(&b, false, false, 1, 0);
    const char *const settings[] = {"hidden=12 critic_hidden=12 batch=13 climb=0 solver=3",
                                    "hidden=12 critic_hidden=12 batch=13 climb=1000 solver=3",
                                    "hidden=12 critic_hidden=12 batch=13 climb=1000000 solver=3"};
    float *kept[3], weight[3];
    size_t count = 0;
    for (int k = 0; k < 3; k++) {
        bandit_learner l = bandit_learn(&b, "dom2", settings[k], 1);
        mw_optimizer *o = l.part->optimizer;
        const mw_group *g = &o->group[1];
        double losses[MW_LOSSES] = {0};
        mw_fit_fill(l.fit, l.fit->slots[0], 0, false);
        stay_inside(&l);
        for (int j = 0; k == 2 && j < 2; j++)
            o->values[mw_params_find(l.model->params, j ? "q2.4.bias" : "q1.4.bias")->offset] += 1000;
        mw_fit_turn(l.fit, 1, l.fit->slots[0], MW_STEP_GRADIENT, losses);
        count = g->end - g->begin;
        kept[k] = malloc(count * sizeof **kept);
        memcpy(kept[k], o->grads + g->begin, count * sizeof **kept);
        weight[k] = *(float *)bandit_array(l.fit, "climb");
        bandit_free(&l);
    }
    assert_true(weight[2] > 990 && weight[2] < 1010);
    double largest = 0, worst = 0;
    for (size_t i = 0; i < count; i++) {
        const double before = (double)(kept[1][i] - kept[0][i]) / (double)weight[1],
                     after = (double)(kept[2][i] - kept[0][i]) / (double)weight[2];
        largest = fmax(largest, fabs(before));
        worst = fmax(worst, fabs(after - before));
    }
    assert_true(largest > 0 && worst < 1e-3 * largest);
    for (int k = 0; k < 3; k++) free(kept[k]);
}

static void threads_do_not_matter(void **state) {
    (void)state;
    bandit b;
    bandit_make(&b, false, false, 1, 0);
    bandit_threads(&b, "dom2", "hidden=16 critic_hidden=16 batch=13 steps=12");
}

static void at_work(void **state) {
    (void)state;
    static const char *const settings[] = {"dom2.steps=15", "dom2.hidden=16", "dom2.batch=16", NULL};
    at_work_bundle();
    at_work_resume("dom2", settings);
    program_expect(0, "eval %/whole.safetensors --arms dom2 --seeds 1 --episodes 2 --timed 2", "\ndom2 ");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients),
        cmocka_unit_test(weights),
        cmocka_unit_test(weighted_rows),
        cmocka_unit_test(the_better_way),
        cmocka_unit_test(values_of_one_sign),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(at_work),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
