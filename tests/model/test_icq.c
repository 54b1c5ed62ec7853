/* MA-ICQ: gradients, weights over a batch with known answers, both bandits whose mean action nobody took,
 * that no action from outside the data enters a target, threads and play. */
#include "core/math.h"
#include "model/icq/icq.h"
#include "model/learner.h"

enum { CRITIC, POLICY };

#define SMALL "hidden=12 mixer_hidden=8 batch=9 clip=0 "

static double first(learner *l, const double *losses) {
    (void)l;
    return losses[0];
}

static double second(learner *l, const double *losses) {
    (void)l;
    return losses[1];
}

static float weights[64];

/* Weights and shares have no gradient. */
static double likelihood(learner *l, const double *losses) {
    const float *k = learner_field(l, "out.k"), *log = learner_field(l, "out.log_prob");
    const int rows = l->fit->settings->batch * l->n;
    double sum = 0;
    (void)losses;
    for (int i = 0; i < rows; i++) sum -= (double)k[i] * (double)weights[i] * (double)log[i] / rows;
    return sum;
}

static void gradients(void **state) {
    (void)state;
    for (int cut = 0; cut < 2; cut++) {
        learner *l = learner_random(false);
        learner_start(l, "icq", cut ? SMALL "target_cut=on" : SMALL, 2);
        learner_part_copies(l);
        learner_differences(l, CRITIC, first);
        learner_differences(l, POLICY, second);
        learner_free(l);
    }
    for (int group = 0; group < 2; group++) {
        learner *l = learner_random(true);
        learner_start(l, "icq", group ? SMALL "group=4" : SMALL "group=0", 2);
        learner_part_copies(l);
        learner_differences(l, CRITIC, first);
        learner_turn(l, POLICY);
        memcpy(weights, learner_field(l, "out.weight"), (size_t)(9 * l->n) * sizeof *weights);
        learner_differences(l, POLICY, likelihood);
        learner_free(l);
    }
}

static void batch_weights(void **state) {
    (void)state;
    float x[] = {0, 7, 0.10986122886681099f, 7}, w[4] = {-1, -1, -1, -1};
    const mw_icq_values two = {x, 2, 2, NULL, 1};
    assert_true(fabs(mw_icq_weigh(&two, 0.1, w) - 1.6) < 1e-6);
    assert_true(fabsf(w[0] - 0.5f) < 1e-6f && fabsf(w[2] - 1.5f) < 1e-6f && w[1] == -1 && w[3] == -1);

    /* what ended counts neither in the softmax nor in the number nor in the deviation */
    float next[] = {1098.6122886681098f, 0, 5000};
    const float end[] = {0, 0, 1};
    const mw_icq_values live = {next, 3, 1, end, 1};
    mw_icq_weigh(&live, 1000, w);
    assert_true(fabsf(w[0] - 1.5f) < 1e-5f && fabsf(w[1] - 0.5f) < 1e-5f && w[2] == 0);
    assert_true(fabs(mw_icq_deviation(&live) - (double)next[0] / 2) < 1e-3);
    const float over[] = {1, 1, 1};
    const mw_icq_values none = {next, 3, 1, over, 1};
    assert_true(mw_icq_weigh(&none, 1000, w) == 0 && w[0] == 0 && mw_icq_deviation(&none) > 0);
}

/* The weighted likelihood is best at this mean and this deviation; with a critic that knows the rewards
 * advantages vanish, and the mean is cloned. */
static void real_bandit(void **state) {
    (void)state;
    for (int learned = 0; learned < 2; learned++) {
        learner *l = learner_bandit(false);
        learner_start(l, "icq", "hidden=16 batch=8 clip=0", 2);
        learner_even(l);
        if (learned)
            learner_line(l, "critic");
        else
            learner_clear(l, "critic");
        mw_fit_refresh(l->fit);
        learner_climb(l, POLICY, 6000, 0.004f);
        const float *act = learner_field(l, "out.act"), want = learned ? 0 : 0.3807971f;
        if (fabsf(act[0] - want) > 0.005f || fabsf(act[1] + want) > 0.005f)
            fail_msg("%g and %g instead of %g", (double)act[0], (double)act[1], (double)want);
        const double std = mw_exp((double)learner_field(l, "out.log_std")[0]);
        if (!learned && !(fabs(std - 0.3240271) < 0.005)) fail_msg("deviation %g", std);
        learner_free(l);
    }
}

/* Each agent's critic says 1 of its half of the good joint action (0, 1) and nothing of the other. */
static void know(learner *l) {
    const int hidden = 16;
    learner_clear(l, "critic");
    learner_clear(l, "mixer");
    for (int i = 0; i < 2; i++) {
        learner_weight(l, "critic.0.weight")[(1 + i) * hidden + i] = 1; /* rows: observation, number, all */
        learner_weight(l, "critic.2.weight")[i * hidden + i] = 1;
        learner_weight(l, "critic.4.weight")[i * 2 + i] = 1;
    }
    mw_fit_refresh(l->fit);
}

/* The temperature decides: a small one takes the good joint action, a large one clones. */
static void discrete_bandit(void **state) {
    (void)state;
    for (int clones = 0; clones < 2; clones++) {
        learner *l = learner_bandit(true);
        learner_start(l, "icq",
                      clones ? "hidden=16 batch=8 group=4 clip=0 temperature=1000000"
                             : "hidden=16 batch=8 group=4 clip=0",
                      2);
        learner_even(l);
        know(l);
        learner_clear(l, "policy.4");
        const double effective = learner_turn(l, POLICY)[3];
        const float *prob = learner_field(l, "out.prob"), *weight = learner_field(l, "out.weight");
        if (clones)
            assert_true(fabs(effective - 4) < 1e-3);
        else { /* advantages 1/2 and -1/2 of a policy that knows nothing */
            assert_true(fabsf(weight[0] - 1.9999092f) < 1e-5f && fabsf(weight[2] - 9.0795737e-05f) < 1e-7f);
            assert_true(fabs(effective - 2) < 1e-3);
        }
        learner_climb(l, POLICY, 1000, 0.01f);
        const float want = clones ? 0.5f : 0.9999f, off = fmaxf(fabsf(prob[0] - want), fabsf(prob[3] - want));
        if (off > 0.002f) fail_msg("%g and %g instead of %g", (double)prob[0], (double)prob[3], (double)want);
        int32_t index[8];
        learner_play(l, 1, NULL, index);
        if (!clones) assert_true(index[0] == 0 && index[1] == 1);
        learner_free(l);
    }
}

/* Another policy changes nothing for the critics. */
static void in_sample(void **state) {
    (void)state;
    for (int discrete = 0; discrete < 2; discrete++) {
        learner *l = learner_random(discrete);
        learner_start(l, "icq", SMALL, 1);
        const double before = learner_turn(l, CRITIC)[0];
        learner_clear(l, "policy");
        assert_true(learner_turn(l, CRITIC)[0] == before);
        learner_free(l);
    }
}

/* 1000 more on all values: neither weights nor gradient of the policy vanish. */
static void one_sign(void **state) {
    (void)state;
    for (int discrete = 0; discrete < 2; discrete++) {
        learner *l = learner_random(discrete);
        learner_start(l, "icq", SMALL "temperature=1 discount=1", 1);
        learner_turn(l, POLICY);
        const mw_optimizer *o = l->part->optimizer;
        double before = 0, after = 0;
        for (size_t i = 0; i < o->group[0].end; i++) before += fabs((double)o->grads[i]);
        float *bias = learner_weight(l, "critic.4.bias");
        for (int k = 0; k < (discrete ? l->d : 1); k++) bias[k] += 1000;
        learner_turn(l, POLICY);
        for (size_t i = 0; i < o->group[0].end; i++) after += fabs((double)o->grads[i]);
        assert_true(after > before / 3 && after < before * 3);
        learner_free(l);
    }
}

static void threads(void **state) {
    (void)state;
    learner_threads(false, "icq", SMALL "target_cut=on steps=6");
    learner_threads(true, "icq", SMALL "group=4 steps=6");
}

static void plays_alone(void **state) {
    (void)state;
    learner_plays_alone(false, "icq", SMALL);
    learner_plays_alone(true, "icq", SMALL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients),   cmocka_unit_test(batch_weights),
                                       cmocka_unit_test(real_bandit), cmocka_unit_test(discrete_bandit),
                                       cmocka_unit_test(in_sample),   cmocka_unit_test(one_sign),
                                       cmocka_unit_test(threads),     cmocka_unit_test(plays_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
