/* MA-CQL: gradients, penalties and tables with known answers, what it is without its penalty, that the
 * penalty matters, threads and play. */
#include "model/learner.h"

enum { CRITIC, POLICY };

#define SMALL "hidden=12 batch=9 clip=0 uniform=3 "

static double first(learner *l, const double *losses) {
    (void)l;
    return losses[0];
}

static double second(learner *l, const double *losses) {
    (void)l;
    return losses[1];
}

static void gradients(void **state) {
    (void)state;
    for (int joint = 0; joint < 2; joint++) {
        learner *l = learner_random(false);
        learner_start(l, "cql", joint ? SMALL "joint=on near=2 reward_scale=3 alpha=2" : SMALL, 2);
        learner_part_copies(l);
        learner_differences(l, CRITIC, first);
        learner_differences(l, POLICY, second);
        learner_free(l);
    }
    learner *l = learner_random(true);
    learner_start(l, "cql", SMALL, 2);
    learner_part_copies(l);
    learner_differences(l, 0, first);
    learner_free(l);
}

/* A critic that is everywhere 1.7: samples do not matter, only how many there are and how dense. */
static void penalties(void **state) {
    (void)state;
    learner *l = learner_random(false);
    learner_start(l, "cql", "hidden=12 batch=9 clip=0", 1);
    learner_clear(l, "critic");
    learner_weight(l, "critic1.4.bias")[0] = learner_weight(l, "critic2.4.bias")[0] = 1.7f;
    learner_turn(l, CRITIC);
    for (int i = 0; i < 2 * 9 * l->n; i++)
        assert_true(fabsf(learner_field(l, "out.penalty")[i] - 5.3888794f) < 1e-5f);
    learner_free(l);

    l = learner_bandit(false);
    learner_start(l, "cql", "hidden=12 batch=3 clip=0 uniform=4 near=4", 1);
    learner_clear(l, "critic");
    learner_weight(l, "critic1.4.bias")[0] = learner_weight(l, "critic2.4.bias")[0] = 1.7f;
    for (int i = 0; i < 3 * l->n * 4; i++) {
        learner_field(l, "draw.near_noise")[i] = 0;
        learner_field(l, "draw.near_next_noise")[i] = 1;
    }
    learner_turn(l, CRITIC);
    const float *density = learner_field(l, "out.sample_log_density");
    assert_true(fabsf(density[4] - 0.69049938f) < 1e-6f && fabsf(density[8] - 0.19049938f) < 1e-6f);
    for (int i = 0; i < 2 * 3 * l->n; i++)
        assert_true(fabsf(learner_field(l, "out.penalty")[i] - 4.2886274f) < 1e-5f);
    learner_free(l);
}

/* Action 0 in three of four cases and worth nothing, action 1 worth 1, action 2 illegal: without the penalty
 * values are rewards; the more of it, the closer to logarithms of frequencies. */
static void table(void **state) {
    (void)state;
    static const char *const settings[] = {"alpha=0", "alpha=0.5", "alpha=3"};
    static const float expected[][2] = {{0, 1}, {0.19993333f, 0.4002f}, {0.40373448f, -0.21120343f}};
    for (int k = 0; k < 3; k++) {
        char text[160];
        learner *l = learner_data(1, 1, 3, true, 4, 1);
        for (int i = 0; i < 4; i++) {
            l->index[i] = l->reward[i] = i == 3;
            l->legal[3 * i + 2] = 0;
            l->obs[i] = 0.5f;
        }
        snprintf(text, sizeof text, "hidden=16 batch=512 steps=1500 rate=0.01 clip=0 %s", settings[k]);
        learner_start(l, "cql", text, 2);
        learner_train(l);
        learner_turn(l, 0);
        const float *q = learner_field(l, "out.q_all");
        for (int a = 0; a < 2; a++)
            if (fabsf(q[a] - expected[k][a]) > 0.04f)
                fail_msg("%s: %g instead of %g", settings[k], (double)q[a], (double)expected[k][a]);
        int32_t index[4];
        learner_play(l, 1, NULL, index);
        assert_int_equal(index[0], k < 2);
        learner_free(l);
    }
}

/* The gradient of a turn of one method at the weights and the batch of the other. */
static void take_batch(learner *to, learner *from) {
    static const char *const names[] = {"x",  "next_x", "row",       "next_row",
                                        "at", "in.act", "in.reward", "in.end"};
    static const char *const shapes[] = {"bnX", "bnX", "bnC", "bnC", "bnC", "bnd", "bn", "b"};
    for (int i = 0; i < 8; i++) {
        const mw_slot_field field = {.shape = shapes[i]};
        memcpy(learner_field(to, names[i]), learner_field(from, names[i]),
               mw_fit_extent(from->fit, &field) * sizeof(float));
    }
    const size_t bytes = from->part->total * sizeof(float);
    assert_int_equal(from->part->total, to->part->total);
    memcpy(to->part->optimizer->values, from->part->optimizer->values, bytes);
    memcpy(to->part->optimizer->average, from->part->optimizer->average, bytes);
    mw_fit_refresh(to->fit);
}

static void same_gradient(learner *one, learner *other, int turn, int group) {
    learner_turn(one, turn);
    learner_turn(other, turn);
    const mw_optimizer *a = one->part->optimizer, *b = other->part->optimizer;
    float largest = 0, off = 0;
    for (size_t i = a->group[group].begin; i < a->group[group].end; i++) {
        largest = fmaxf(largest, fabsf(a->grads[i]));
        off = fmaxf(off, fabsf(a->grads[i] - b->grads[i]));
    }
    assert_true(largest > 1e-3f && off < 1e-5f * largest);
}

/* Without the penalty its critics are those of TD3 without noise. */
static void plain(void **state) {
    (void)state;
    learner *td3 = learner_random(false), *cql = learner_random(false);
    learner_start(td3, "td3bc", "hidden=12 batch=9 clip=0 noise=0", 1);
    learner_start(cql, "cql", SMALL "alpha=0", 1);
    learner_part_copies(td3);
    take_batch(cql, td3);
    same_gradient(td3, cql, CRITIC, 1);
    learner_free(td3);
    learner_free(cql);
}

/* Where the data is narrow, values elsewhere are lower with the penalty than without. */
static void penalty_matters(void **state) {
    (void)state;
    double gap[2];
    for (int k = 0; k < 2; k++) {
        learner *l = learner_bandit(false);
        learner_start(l, "cql",
                      k ? "hidden=16 batch=32 steps=400 rate=0.003 alpha=1"
                        : "hidden=16 batch=32 steps=400 rate=0.003 alpha=0",
                      2);
        learner_train(l);
        gap[k] = learner_turn(l, CRITIC)[3];
        learner_free(l);
    }
    assert_true(gap[1] < gap[0] - 0.3);
}

/* Values of one sign do not silence the policy: it climbs as before. */
static void one_sign(void **state) {
    (void)state;
    learner *a = learner_random(false), *b = learner_random(false);
    learner_start(a, "cql", SMALL, 1);
    learner_start(b, "cql", SMALL, 1);
    take_batch(b, a);
    learner_weight(b, "critic1.4.bias")[0] += 1000;
    same_gradient(a, b, POLICY, 0);
    learner_free(a);
    learner_free(b);
}

static void threads(void **state) {
    (void)state;
    learner_threads(false, "cql", SMALL "near=2 steps=6");
    learner_threads(true, "cql", SMALL "steps=6");
}

static void plays_alone(void **state) {
    (void)state;
    learner_plays_alone(false, "cql", SMALL "joint=on");
    learner_plays_alone(true, "cql", SMALL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients),       cmocka_unit_test(penalties),
                                       cmocka_unit_test(table),           cmocka_unit_test(plain),
                                       cmocka_unit_test(penalty_matters), cmocka_unit_test(one_sign),
                                       cmocka_unit_test(threads),         cmocka_unit_test(plays_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
