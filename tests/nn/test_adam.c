/* The optimiser against Adam in double precision as PyTorch writes it, clipping, average, schedule, and the
 * whole step on shards: the same bits for every number of threads. */
#include "differences.h"
#include "nn/adam.h"

static const mw_adam defaults = {3e-4f, 0.9f, 0.999f, 1e-8f, 0, 0, 0};

typedef struct {
    double value, m, v;
} reference;

/* torch.optim.Adam: the betas are exact decimals there; in single precision they are off by up to 1e-8,
 * which the tolerances below allow for. */
static void reference_step(reference *r, double g, int step) {
    r->m = 0.9 * r->m + 0.1 * g;
    r->v = 0.999 * r->v + 0.001 * g * g;
    r->value -= 3e-4 / (1 - pow(0.9, step)) * r->m / (sqrt(r->v) / sqrt(1 - pow(0.999, step)) + 1e-8);
}

static void against_double(void **state) {
    (void)state;
    enum { N = 257, STEPS = 200 };
    static float values[N], grads[N], m[N], v[N];
    static reference r[N];
    mw_rng rng = mw_rng_make(18, MW_RNG_TEST, 0, 0, 0);
    mw_rng_fill_normal(&rng, values, N);
    for (int i = 0; i < N; i++) r[i].value = values[i];
    for (int step = 1; step <= STEPS; step++) {
        mw_rng_fill_normal(&rng, grads, N);
        for (int i = 0; i < N; i++) grads[i] *= powf(10, (float)(i % 13) - 8); /* 1e-8 to 1e4 */
        mw_adam_update(&defaults, step, 0.5f, values, grads, m, v, 0, 100);
        mw_adam_update(&defaults, step, 0.5f, values, grads, m, v, 100, N);
        for (int i = 0; i < N; i++) reference_step(&r[i], 0.5 * (double)grads[i], step);
    }
    double moved = 0;
    for (int i = 0; i < N; i++) {
        CHECK_NEAR(values[i], r[i].value, 200 * 1.2e-7 * fmax(1, fabs(r[i].value)));
        CHECK_NEAR(m[i] / r[i].m, 1, 1e-4);
        CHECK_NEAR(v[i] / r[i].v, 1, 1e-4);
        moved = fmax(moved, fabs(r[i].value));
    }
    assert_true(moved > 0);
}

/* The first step has length rate whatever the gradient; a gradient of zero moves nothing. */
static void first_step(void **state) {
    (void)state;
    float values[4] = {0}, grads[4] = {1e-3f, -5, 0, 1e4f}, m[4] = {0}, v[4] = {0};
    mw_adam_update(&defaults, 1, 1, values, grads, m, v, 0, 4);
    CHECK_NEAR(values[0], -3e-4, 1e-8);
    CHECK_NEAR(values[1], 3e-4, 1e-9);
    CHECK_NEAR(values[2], 0, 0);
    CHECK_NEAR(values[3], -3e-4, 1e-9);
}

/* Without gradients weights shrink by rate * decay of themselves. */
static void decay(void **state) {
    (void)state;
    float values[3] = {1, -2, 0}, grads[3] = {0}, m[3] = {0}, v[3] = {0};
    const mw_adam decays = {0.1f, 0.9f, 0.999f, 1e-8f, 0, 0, 0.5f};
    mw_adam_update(&decays, 1, 1, values, grads, m, v, 0, 3);
    CHECK_NEAR(values[0], 0.95, 1e-6);
    CHECK_NEAR(values[1], -1.9, 1e-6);
    CHECK_NEAR(values[2], 0, 0);
}

static void clipping(void **state) {
    (void)state;
    assert_true(mw_clip_scale(5, 10) == 1);
    assert_true(mw_clip_scale(1e30, 0) == 1); /* 0: none */
    assert_true(mw_clip_scale(0, 10) == 1);
    CHECK_NEAR(mw_clip_scale(20, 10), 10 / (20 + 1e-6), 1e-7);
    CHECK_NEAR(mw_clip_scale(1e6, 10), 1e-5, 1e-11);
}

static void averages(void **state) {
    (void)state;
    float average[5] = {1, 2, 3, 4, 5};
    const float values[5] = {2, 2, 2, 2, 2};
    mw_ema_update(average, values, 0.995f, 1, 4);
    const double expected[5] = {1, 2, 0.995 * 3 + 0.005 * 2, 0.995 * 4 + 0.005 * 2, 5};
    for (int i = 0; i < 5; i++) CHECK_NEAR(average[i], expected[i], 1e-6);
}

static void schedule(void **state) {
    (void)state;
    for (long step = 0; step < 10; step++)
        CHECK_NEAR(mw_schedule(step, 10, 110, 0.1f), (step + 1) / 10.0, 1e-6);
    CHECK_NEAR(mw_schedule(10, 10, 110, 0.1f), 1, 1e-6);
    CHECK_NEAR(mw_schedule(60, 10, 110, 0.1f), 0.55, 1e-6); /* half way down */
    CHECK_NEAR(mw_schedule(35, 10, 110, 0.1f), 0.1 + 0.9 * 0.5 * (1 + cos(acos(-1) / 4)), 1e-6);
    CHECK_NEAR(mw_schedule(110, 10, 110, 0.1f), 0.1, 1e-6);
    CHECK_NEAR(mw_schedule(100000, 10, 110, 0.1f), 0.1, 1e-6);
    CHECK_NEAR(mw_schedule(0, 0, 100, 0), 1, 1e-6);  /* no warm-up */
    CHECK_NEAR(mw_schedule(500, 10, 0, 0), 1, 1e-6); /* no end: stays at 1 */
    for (long step = 10; step < 110; step++)
        assert_true(mw_schedule(step + 1, 10, 110, 0.1f) < mw_schedule(step, 10, 110, 0.1f));
}

/* ---- the whole step ---- */

enum { TOTAL = 4096 * 5 + 77, SHARDS = 3, STEPS = 5 };

typedef struct {
    mw_optimizer *optimizer;
    mw_pool *pool;
} step_context;

static void step_body(void *context, int worker) {
    const step_context *c = context;
    mw_optimizer_step(c->optimizer, 0, c->pool, worker);
}

/* values[TOTAL] and average[TOTAL] after some clipped steps on given gradients. */
static void run_steps(int threads, float *values, float *average, double *norm) {
    mw_pool *pool = NULL;
    mw_optimizer o;
    mw_error error = {0};
    mw_adam adam = defaults;
    adam.clip = 10;
    if (threads) CHECK_OK(mw_pool_create(&pool, threads, &error), error);
    const mw_group whole = mw_group_whole(&adam, 0.9f, TOTAL);
    CHECK_OK(mw_optimizer_create(&o, &whole, 1, TOTAL, SHARDS, &error), error);
    mw_rng rng = mw_rng_make(19, MW_RNG_TEST, 0, 0, 0);
    mw_rng_fill_normal(&rng, o.values, TOTAL);
    memcpy(o.average, o.values, TOTAL * sizeof(float));
    for (int step = 0; step < STEPS; step++) {
        mw_rng_fill_normal(&rng, o.grads, (size_t)TOTAL * SHARDS);
        mw_pool_run(pool, step_body, &(step_context){&o, pool});
    }
    assert_int_equal(o.group[0].adam.step, STEPS);
    memcpy(values, o.values, TOTAL * sizeof(float));
    memcpy(average, o.average, TOTAL * sizeof(float));
    *norm = mw_optimizer_norm(&o);
    mw_optimizer_free(&o);
    mw_pool_free(pool);
}

static void whole_steps(void **state) {
    (void)state;
    static float values[2][TOTAL], average[2][TOTAL], grads[TOTAL * SHARDS];
    static reference r[TOTAL];
    static double mean[TOTAL];
    double norm = 0, seen;
    run_steps(0, values[0], average[0], &seen);
    mw_rng rng = mw_rng_make(19, MW_RNG_TEST, 0, 0, 0);
    mw_rng_fill_normal(&rng, values[1], TOTAL);
    for (int i = 0; i < TOTAL; i++) mean[i] = r[i].value = values[1][i];
    for (int step = 1; step <= STEPS; step++) {
        mw_rng_fill_normal(&rng, grads, (size_t)TOTAL * SHARDS);
        double square = 0;
        for (int i = 0; i < TOTAL; i++)
            square += pow((double)grads[i] + grads[TOTAL + i] + grads[2 * TOTAL + i], 2);
        norm = sqrt(square);
        for (int i = 0; i < TOTAL; i++) {
            const double g = (double)grads[i] + grads[TOTAL + i] + grads[2 * TOTAL + i];
            reference_step(&r[i], g * 10 / (norm + 1e-6), step);
            mean[i] = 0.9 * mean[i] + 0.1 * r[i].value;
        }
    }
    CHECK_NEAR(seen / norm, 1, 1e-6);
    for (int i = 0; i < TOTAL; i++) {
        CHECK_NEAR(values[0][i], r[i].value, 2e-6);
        CHECK_NEAR(average[0][i], mean[i], 2e-6);
    }
    for (int threads = 1; threads <= 4; threads++) {
        run_steps(threads, values[1], average[1], &norm);
        assert_memory_equal(values[1], values[0], sizeof values[0]);
        assert_memory_equal(average[1], average[0], sizeof average[0]);
        assert_true(norm == seen);
    }
}

/* One bad gradient must not destroy the weights. */
static void bad_gradients_change_nothing(void **state) {
    (void)state;
    static const float bad[] = {NAN, INFINITY, 3e38f}; /* the last: shards whose sum overflows */
    for (int k = 0; k < 3; k++) {
        mw_optimizer o;
        mw_error error = {0};
        const mw_group whole = mw_group_whole(&defaults, 0.9f, 100);
        CHECK_OK(mw_optimizer_create(&o, &whole, 1, 100, 2, &error), error);
        for (int i = 0; i < 100; i++) o.average[i] = o.values[i] = (float)i;
        o.grads[17] = o.grads[117] = bad[k];
        step_body(&(step_context){&o, NULL}, 0);
        assert_false(isfinite(mw_optimizer_norm(&o)));
        assert_int_equal(o.group[0].adam.step, 0);
        for (int i = 0; i < 100; i++) assert_true(o.values[i] == i && o.average[i] == i && o.m[i] == 0);
        mw_optimizer_free(&o);
    }
}

static void sum_of_shards(void **state) {
    (void)state;
    mw_optimizer o;
    mw_error error = {0};
    const mw_group whole = mw_group_whole(&defaults, 0, 100);
    CHECK_OK(mw_optimizer_create(&o, &whole, 1, 100, 3, &error), error);
    assert_null(o.average);
    for (int i = 0; i < 300; i++) o.grads[i] = (float)i;
    mw_optimizer_sum(&o, 0);
    for (int i = 0; i < 100; i++) assert_true(o.grads[i] == (float)(3 * i + 300));
    mw_optimizer_free(&o);
}

/* Five shards: ((0 + 1) + (2 + 3)) + 4, as large and small numbers tell. */
static void sum_is_a_tree(void **state) {
    (void)state;
    static const float shard[5] = {1e8f, -1e8f, 3, 1e8f, -1e8f};
    mw_optimizer o;
    mw_error error = {0};
    const mw_group whole = mw_group_whole(&defaults, 0, 16);
    CHECK_OK(mw_optimizer_create(&o, &whole, 1, 16, 5, &error), error);
    for (int s = 0; s < 5; s++) o.grads[s * 16] = shard[s];
    mw_optimizer_sum(&o, 0);
    const float pairs = shard[2] + shard[3];
    assert_true(o.grads[0] == pairs + shard[4]);
    assert_true(o.grads[0] != 3); /* what adding them in a row gives */
    mw_optimizer_free(&o);
}

/* Groups have their own rates, bounds and counts, and touch nothing of each other. */
static void groups_are_apart(void **state) {
    (void)state;
    mw_optimizer o;
    mw_error error = {0};
    const mw_adam slow = {1e-3f, 0.9f, 0.999f, 1e-8f, 0, 0, 0}, fast = {1e-1f, 0.9f, 0.999f, 1e-8f, 0, 0, 0};
    const mw_group groups[2] = {{.adam = slow, .decay = 0.5f, .begin = 0, .end = 48},
                                {.adam = fast, .decay = 0.5f, .waits = true, .begin = 48, .end = 100}};
    CHECK_OK(mw_optimizer_create(&o, groups, 2, 100, 2, &error), error);
    for (int i = 0; i < 200; i++) o.grads[i] = 1;
    mw_optimizer_step(&o, 0, NULL, 0);
    for (int i = 0; i < 100; i++) CHECK_NEAR(o.values[i], i < 48 ? -1e-3 : 0, 1e-8);
    for (int i = 0; i < 100; i++) CHECK_NEAR(o.average[i], i < 48 ? -0.5e-3 : 0, 1e-8);
    assert_true(o.group[0].adam.step == 1 && o.group[1].adam.step == 0);
    mw_optimizer_step(&o, 1, NULL, 0);
    for (int i = 48; i < 100; i++) CHECK_NEAR(o.values[i], -1e-1, 1e-7);
    for (int i = 48; i < 100; i++) assert_true(o.average[i] == 0); /* it waits */
    mw_optimizer_follow(&o, 1, NULL, 0);
    for (int i = 48; i < 100; i++) CHECK_NEAR(o.average[i], -0.5e-1, 1e-7);
    CHECK_NEAR(o.group[1].norm, 2 * sqrt(52), 1e-5);
    CHECK_NEAR(mw_optimizer_norm(&o), 2 * sqrt(52), 1e-5);
    mw_optimizer_free(&o);
}

/* A decay that is of matrices alone, whatever the threads' shares of the table are. */
static void decay_of_matrices(void **state) {
    (void)state;
    mw_params p = {0};
    mw_optimizer o;
    mw_error error = {0};
    mw_pool *pool;
    mw_params_add(&p, "weight", MW_PARAM_LINEAR, MW_INIT_ZERO, 0, 60, 100, 0);
    const size_t bias = mw_params_add(&p, "bias", MW_PARAM_PLAIN, MW_INIT_ZERO, 0, 60, 0, 0);
    const size_t table = mw_params_add(&p, "table", MW_PARAM_PLAIN, MW_INIT_ZERO, 0, 50, 60, 0);
    const size_t last = mw_params_add(&p, "filter", MW_PARAM_CONV, MW_INIT_ZERO, 0, 3, 5, 3);
    const mw_adam adam = {1e-2f, 0.9f, 0.999f, 1e-8f, 0, 0, 0.5f};
    for (int alone = 0; alone < 2; alone++) {
        mw_group whole = mw_group_whole(&adam, 0, p.total);
        whole.matrices = alone ? &p : NULL;
        CHECK_OK(mw_pool_create(&pool, 2, &error), error);
        CHECK_OK(mw_optimizer_create(&o, &whole, 1, p.total, 1, &error), error);
        for (size_t i = 0; i < p.total; i++) o.values[i] = 2;
        mw_pool_run(pool, step_body, &(step_context){&o, pool});
        for (size_t i = 0; i < p.total; i++) {
            const bool decays = !alone || i < bias || i >= last;
            assert_true(o.values[i] == (decays ? 2 - 0.005f * 2 : 2));
        }
        assert_true(last > table && o.group[0].adam.step == 1);
        mw_optimizer_free(&o);
        mw_pool_free(pool);
    }
    mw_params_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_double),
        cmocka_unit_test(first_step),
        cmocka_unit_test(decay),
        cmocka_unit_test(clipping),
        cmocka_unit_test(averages),
        cmocka_unit_test(schedule),
        cmocka_unit_test(whole_steps),
        cmocka_unit_test(bad_gradients_change_nothing),
        cmocka_unit_test(sum_of_shards),
        cmocka_unit_test(sum_is_a_tree),
        cmocka_unit_test(groups_are_apart),
        cmocka_unit_test(decay_of_matrices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
