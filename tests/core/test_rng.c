/* The generator against its published known answers, and the distributions against their moments. */
#include "check.h"
#include "core/rng.h"

/* Known answers of Philox4x32-10 from the authors' distribution. */
static void known_answers(void **state) {
    (void)state;
    uint32_t out[4];
    mw_philox4x32((uint32_t[4]){0}, (uint32_t[2]){0}, out);
    assert_int_equal(out[0], 0x6627e8d5);
    assert_int_equal(out[1], 0xe169c58d);
    assert_int_equal(out[2], 0xbc57ac4c);
    assert_int_equal(out[3], 0x9b00dbd8);
    mw_philox4x32((uint32_t[4]){~0u, ~0u, ~0u, ~0u}, (uint32_t[2]){~0u, ~0u}, out);
    assert_int_equal(out[0], 0x408f276d);
    assert_int_equal(out[1], 0x41c83b0e);
    assert_int_equal(out[2], 0xa20bc7c6);
    assert_int_equal(out[3], 0x6d5451fd);
}

static void moments(void **state) {
    (void)state;
    enum { N = 400000 };
    mw_rng rng = mw_rng_make(1, MW_RNG_TEST, 2, 3, 4);
    double sum = 0, square = 0, uniform = 0, cross = 0, last = 0;
    for (int i = 0; i < N; i++) {
        double x = mw_rng_normal(&rng);
        sum += x;
        square += x * x;
        cross += x * last;
        last = x;
        uniform += mw_rng_double(&rng);
    }
    CHECK_NEAR(sum / N, 0, 5 / sqrt(N));
    CHECK_NEAR(square / N, 1, 8 / sqrt(N));
    CHECK_NEAR(cross / N, 0, 5 / sqrt(N));
    CHECK_NEAR(uniform / N, 0.5, 1.5 / sqrt(N));

    static float values[N];
    mw_rng_fill_normal(&rng, values, N);
    double fourth = 0;
    sum = square = 0;
    for (int i = 0; i < N; i++) {
        sum += values[i];
        square += values[i] * values[i];
        fourth += pow(values[i], 4);
    }
    CHECK_NEAR(sum / N, 0, 5 / sqrt(N));
    CHECK_NEAR(square / N, 1, 8 / sqrt(N));
    CHECK_NEAR(fourth / N, 3, 50 / sqrt(N));
}

static void integers(void **state) {
    (void)state;
    mw_rng rng = mw_rng_make(7, MW_RNG_TEST, 0, 0, 0);
    int count[7] = {0}, order[5], first[5] = {0};
    for (int i = 0; i < 70000; i++) {
        uint32_t x = mw_rng_below(&rng, 7);
        assert_true(x < 7);
        count[x]++;
    }
    for (int i = 0; i < 7; i++) CHECK_NEAR(count[i], 10000, 500);
    for (int trial = 0; trial < 50000; trial++) {
        for (int i = 0; i < 5; i++) order[i] = i;
        mw_rng_shuffle(&rng, order, 5);
        int seen = 0;
        for (int i = 0; i < 5; i++) seen |= 1 << order[i];
        assert_int_equal(seen, 31);
        first[order[0]]++;
    }
    for (int i = 0; i < 5; i++) CHECK_NEAR(first[i], 10000, 500);
}

/* Below three quarters of all words a plain product would give every third number twice as often. */
static void large_integers(void **state) {
    (void)state;
    mw_rng rng = mw_rng_make(1, MW_RNG_TEST, 2, 3, 4);
    int count[3] = {0};
    for (int i = 0; i < 30000; i++) count[mw_rng_below(&rng, 3u << 30) % 3]++;
    for (int i = 0; i < 3; i++) CHECK_NEAR(count[i], 10000, 500);
}

/* Streams with different keys differ; equal keys give equal bits; a copied stream continues alike. */
static void streams(void **state) {
    (void)state;
    mw_rng a = mw_rng_make(1, MW_RNG_ENV, 5, 6, 7), b = mw_rng_make(1, MW_RNG_ENV, 5, 6, 7);
    mw_rng others[] = {mw_rng_make(2, MW_RNG_ENV, 5, 6, 7), mw_rng_make(1, MW_RNG_INIT, 5, 6, 7),
                       mw_rng_make(1, MW_RNG_ENV, 6, 5, 7), mw_rng_make(1, MW_RNG_ENV, 5, 7, 6),
                       mw_rng_make(1, MW_RNG_ENV, 8, 6, 7), mw_rng_make(1, MW_RNG_ENV, 5, 8, 7),
                       mw_rng_make(1, MW_RNG_ENV, 5, 6, 8)};
    uint64_t first = mw_rng_u64(&a);
    assert_true(first == mw_rng_u64(&b));
    for (int i = 0; i < 7; i++) assert_true(mw_rng_u64(&others[i]) != first);
    (void)mw_rng_u32(&a);
    b = a;
    for (int i = 0; i < 10; i++) assert_true(mw_rng_u32(&a) == mw_rng_u32(&b));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_answers), cmocka_unit_test(moments),
                                       cmocka_unit_test(integers), cmocka_unit_test(large_integers),
                                       cmocka_unit_test(streams)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
