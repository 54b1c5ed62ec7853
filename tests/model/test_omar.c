/* OMAR: gradients, a search with known answers that leaves a local top, what it is without imitation, threads
 * and play. */
#include "core/math.h"
#include "model/learner.h"

enum { CRITIC, POLICY };

#define SMALL "hidden=12 batch=9 clip=0 uniform=3 search_samples=4 "

static double second(learner *l, const double *losses) {
    (void)l;
    return losses[1];
}

static double first(learner *l, const double *losses) {
    (void)l;
    return losses[0];
}

static void gradients(void **state) {
    (void)state;
    learner *l = learner_random(false);
    learner_start(l, "omar", SMALL "mix=0.7", 2);
    learner_part_copies(l);
    learner_differences(l, CRITIC, first);
    int sampled = 0;
    learner_turn(l, POLICY);
    for (int i = 0; i < 9 * l->n; i++) sampled += ((int32_t *)learner_at(l, "out.best_sampled"))[i];
    assert_true(sampled > 0);
    learner_differences(l, POLICY, second);
    learner_free(l);
}

/* Agent 0's critic by hand: Q(a) = max(1 - 4 |a + 1/2|, 2 - 4 |a - 0.7|), and a policy that does -1/2, the
 * lower top. */
static learner *two_tops(const char *settings) {
    learner *l = learner_data(1, 1, 1, false, 2, 1);
    learner_start(l, "omar", settings, 1);
    learner_clear(l, "critic1");
    learner_clear(l, "policy");
    static const float bias[] = {2, 0.5f, 0.025f, -0.7f}, slope[] = {4, -8, 8, -8};
    for (int k = 0; k < 4; k++) {
        learner_weight(l, "critic1.0.weight")[2 * 4 + k] = 1; /* rows: observation, number, action */
        learner_weight(l, "critic1.0.bias")[k] = bias[k];
        learner_weight(l, "critic1.2.weight")[k * 4 + k] = 1;
        learner_weight(l, "critic1.4.weight")[k] = slope[k];
    }
    learner_weight(l, "critic1.4.bias")[0] = -5;
    learner_weight(l, "policy.4.bias")[0] = (float)(mw_ln(0.5 / 1.5) / 2);
    mw_fit_refresh(l->fit);
    return l;
}

#define ONE "hidden=4 batch=2 clip=0 decay=0 mix=1 search_rounds=1 search_std=1 "

static void leaves_a_local_top(void **state) {
    (void)state;
    learner *l = two_tops(ONE "search_samples=3");
    for (int i = 0; i < 6; i++)
        learner_field(l, "draw.search_noise")[i] = (float[]){-0.9f, 0.7f, 0.1f}[i % 3];
    learner_turn(l, POLICY);
    const float *q = learner_field(l, "out.search_q");
    assert_true(fabsf(q[0] + 0.6f) < 1e-5f && fabsf(q[1] - 2) < 1e-5f && fabsf(q[2] + 0.4f) < 1e-5f);
    assert_true(fabsf(learner_field(l, "out.policy_q")[0] - 1) < 1e-5f);
    assert_true(fabsf(learner_field(l, "out.best")[0] - 0.7f) < 1e-6f);
    const size_t bias = (size_t)(learner_weight(l, "policy.4.bias") - l->part->optimizer->values);
    assert_true(fabsf(l->part->optimizer->grads[bias] + 2.4f * 0.75f) < 1e-5f);

    /* a search that finds nothing better leaves the policy where it is */
    for (int i = 0; i < 6; i++) learner_field(l, "draw.search_noise")[i] = -0.9f;
    learner_turn(l, POLICY);
    assert_int_equal(((int32_t *)learner_at(l, "out.best_sampled"))[0], 0);
    assert_true(l->part->optimizer->grads[bias] == 0);
    learner_free(l);

    /* climbing alone stays on the lower top, imitating goes to the higher one */
    for (int k = 0; k < 2; k++) {
        l = two_tops("hidden=4 batch=8 clip=0 decay=0 mix=1");
        if (!k) learner_set(l, "mix=0");
        learner_climb(l, POLICY, 600, 0.01f);
        const float act = learner_field(l, "out.act")[0];
        assert_true(k ? act > 0.55f && act < 0.85f : act > -0.6f && act < -0.4f);
        learner_free(l);
    }
}

/* One round by hand: Q(a) = a at 0.2 and 0.8; the deviation is unweighted, around the new mean. */
static void one_round(void **state) {
    (void)state;
    learner *l = two_tops("hidden=4 batch=2 clip=0 search_rounds=1 search_samples=2");
    learner_clear(l, "critic1");
    learner_weight(l, "critic1.0.weight")[2 * 4] = 1;
    learner_weight(l, "critic1.2.weight")[0] = 1;
    learner_weight(l, "critic1.4.weight")[0] = 1;
    for (int i = 0; i < 4; i++) learner_field(l, "draw.search_noise")[i] = i % 2 ? 0.4f : 0.1f;
    learner_turn(l, POLICY);
    const double second = 1 / (1 + mw_exp(-0.6)), mean = 0.2 + 0.6 * second,
                 deviation = sqrt(((0.2 - mean) * (0.2 - mean) + (0.8 - mean) * (0.8 - mean)) / 2);
    assert_true(fabs((double)learner_field(l, "out.search_weight")[1] - second) < 1e-6);
    assert_true(fabs((double)learner_field(l, "out.search_mean")[0] - mean) < 1e-6);
    assert_true(fabs((double)learner_field(l, "out.search_std")[0] - deviation) < 1e-6);
    learner_free(l);
}

/* Without imitation it is MA-CQL. */
static void plain(void **state) {
    (void)state;
    learner *cql = learner_random(false), *omar = learner_random(false);
    learner_start(cql, "cql", "hidden=12 batch=9 clip=0 uniform=3", 1);
    learner_start(omar, "omar", SMALL "mix=0", 1);
    learner_turn(cql, POLICY);
    learner_turn(omar, POLICY);
    const mw_optimizer *a = cql->part->optimizer, *b = omar->part->optimizer;
    float largest = 0, off = 0;
    assert_memory_equal(a->values, b->values, cql->part->total * sizeof(float));
    for (size_t i = 0; i < a->group[0].end; i++) {
        largest = fmaxf(largest, fabsf(a->grads[i]));
        off = fmaxf(off, fabsf(a->grads[i] - b->grads[i]));
    }
    assert_true(largest > 1e-3f && off < 1e-5f * largest);
    learner_free(cql);
    learner_free(omar);
}

/* 1000 more on all values leaves the policy's gradient as it is. */
static void one_sign(void **state) {
    (void)state;
    learner *l = learner_random(false);
    learner_start(l, "omar", SMALL "mix=0.5", 1);
    const mw_optimizer *o = l->part->optimizer;
    float *grads = malloc(o->group[0].end * sizeof *grads), largest = 0, off = 0;
    learner_turn(l, POLICY);
    memcpy(grads, o->grads, o->group[0].end * sizeof *grads);
    learner_weight(l, "critic1.4.bias")[0] += 1000;
    learner_turn(l, POLICY);
    for (size_t i = 0; i < o->group[0].end; i++) {
        largest = fmaxf(largest, fabsf(grads[i]));
        off = fmaxf(off, fabsf(grads[i] - o->grads[i]));
    }
    assert_true(largest > 1e-3f && off < 0.01f * largest); /* the search rounds values near 1000 */
    free(grads);
    learner_free(l);
}

static void threads(void **state) {
    (void)state;
    learner_threads(false, "omar", SMALL "steps=6");
}

static void plays_alone(void **state) {
    (void)state;
    learner_plays_alone(false, "omar", SMALL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients),  cmocka_unit_test(leaves_a_local_top),
                                       cmocka_unit_test(one_round),  cmocka_unit_test(plain),
                                       cmocka_unit_test(one_sign),   cmocka_unit_test(threads),
                                       cmocka_unit_test(plays_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
