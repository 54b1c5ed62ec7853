/* What training is fed: windows and transitions against brute force, splits, statistics against two-pass
 * sums, the one-pass normaliser against the exact one, prefetching, and memory that does not grow with the
 * data. */
#include "fixture.h"

#include "data/prefetch.h"
#include "data/stats.h"
#include "data/transition.h"
#include "data/window.h"
#include "sparse.h"

enum { EPISODES = 40 };

static mw_dataset real_data, discrete_data, short_data; /* the last without the observations after the end */

static int setup(void **state) {
    mw_error error;
    if (scratch_setup(state)) return -1;
    fixture_make(scratch("real"), false, true, EPISODES);
    fixture_make(scratch("discrete"), true, true, EPISODES);
    fixture_make(scratch("short"), false, false, EPISODES);
    return mw_dataset_open(&real_data, scratch("real"), &error) ||
           mw_dataset_open(&discrete_data, scratch("discrete"), &error) ||
           mw_dataset_open(&short_data, scratch("short"), &error);
}

static int teardown(void **state) {
    mw_dataset_close(&real_data);
    mw_dataset_close(&discrete_data);
    mw_dataset_close(&short_data);
    return scratch_teardown(state);
}

/* ---- windows ------------------------------------------------------------------------------------------- */

static mw_data_stats stats_of(const mw_dataset *d) {
    mw_error error;
    mw_episode_set all;
    mw_data_stats stats;
    CHECK_OK(mw_episode_set_all(&all, d, &error), error);
    CHECK_OK(mw_data_stats_make(&stats, d, &all, 0.99, true, &error), error);
    mw_episode_set_free(&all);
    return stats;
}

/* Every place of every episode, recomputed value by value from the formulas. */
static void check_windows(const mw_dataset *d, int context, int future) {
    enum { N = FIXTURE_AGENTS, O = FIXTURE_OBS, D = FIXTURE_ACT };
    mw_error error;
    mw_window_rows rows;
    mw_data_stats stats = stats_of(d);
    mw_window_config config = {
        context, future, 0.99, 7, &stats.obs_normalizer, d->real ? &stats.act_normalizer : NULL};
    int time = context + future;
    CHECK_OK(mw_window_rows_create(&rows, &d->spec, &config, 3, &error), error);
    for (long e = 0; e < d->episodes; e++) {
        long length = fixture_length(e), last = d->last_obs ? length : length - 1;
        for (long t = 0; t < last; t++) {
            const int row = 1; /* not the first, so that offsets matter */
            double to_go = 0, factor = 1;
            mw_window_take(&rows, row, d, &config, (mw_place){e, t});
            for (long s = t; s < length; s++, factor *= 0.99)
                for (int i = 0; i < N; i++) to_go += factor * (double)fixture_reward(e, s, i) / N;
            CHECK_NEAR(rows.target[row], to_go / 7, 1e-5);
            for (int j = 0; j < time; j++) {
                long s = t - (context - 1) + j, seen = s < 0 ? 0 : s > last ? last : s;
                for (int i = 0; i < N; i++) {
                    float want[O];
                    for (int f = 0; f < O; f++) want[f] = fixture_obs(e, seen, i, f);
                    mw_normalizer_forward(&stats.obs_normalizer, want, 1);
                    assert_memory_equal(rows.trajectory + ((row * time + j) * N + i) * O, want, sizeof want);
                }
                if (j == time - 1) continue;
                bool recorded = s >= 0 && s + 1 <= last;
                long pair = row * (time - 1) + j;
                assert_true(rows.mask[pair] == (float)recorded);
                for (int i = 0; i < N; i++) {
                    float want[D] = {0};
                    if (d->index) {
                        assert_int_equal(rows.index[pair * N + i], recorded ? fixture_index(e, s, i) : 0);
                        for (int a = 0; a < D; a++)
                            assert_int_equal(rows.legal[(pair * N + i) * D + a],
                                             !recorded || a == fixture_index(e, s, i) || a % 2 == 0);
                        continue;
                    }
                    for (int a = 0; recorded && a < D; a++) want[a] = fixture_real(e, s, i, a);
                    if (recorded) mw_normalizer_forward(&stats.act_normalizer, want, 1);
                    assert_memory_equal(rows.act + (pair * N + i) * D, want, sizeof want);
                }
            }
        }
    }
    mw_window_rows_free(&rows);
    mw_data_stats_free(&stats);
}

static void test_windows(void **state) {
    (void)state;
    check_windows(&real_data, 1, 23);
    check_windows(&real_data, 5, 3);
    check_windows(&discrete_data, 21, 3);
    check_windows(&short_data, 4, 4);
    mw_error error;
    mw_window_rows rows;
    mw_window_config config = {0, 4, 0.99, 1, NULL, NULL};
    CHECK_FAILS(mw_window_rows_create(&rows, &real_data.spec, &config, 2, &error), MW_ERR_ARGUMENT, error,
                "segments of 0 + 4 observations");
}

/* ---- draws --------------------------------------------------------------------------------------------- */

static void test_split(void **state) {
    (void)state;
    mw_error error;
    mw_split split, again;
    CHECK_OK(mw_split_make(&split, &real_data, 0.1, 5, &error), error);
    CHECK_OK(mw_split_make(&again, &real_data, 0.1, 6, &error), error);
    assert_int_equal(split.held.count, 4);
    assert_int_equal(split.train.count, 36);
    int owner[EPISODES] = {0}, differs = 0;
    for (long i = 0; i < split.train.count; i++) owner[split.train.episodes[i]]++;
    for (long i = 0; i < split.held.count; i++) {
        owner[split.held.episodes[i]]++;
        differs += split.held.episodes[i] != again.held.episodes[i];
    }
    for (int e = 0; e < EPISODES; e++) assert_int_equal(owner[e], 1);
    assert_true(differs > 0); /* the seed matters */
    mw_split_free(&again);
    CHECK_OK(mw_split_make(&again, &real_data, 0.1, 5, &error), error);
    assert_memory_equal(again.held.episodes, split.held.episodes, 4 * sizeof(long));
    assert_int_equal(split.train.transitions + split.held.transitions, real_data.steps);
    mw_split_free(&split);
    mw_split_free(&again);
    CHECK_FAILS(mw_split_make(&split, &real_data, 1, 5, &error), MW_ERR_ARGUMENT, error,
                "cannot be held out");
    CHECK_OK(mw_split_make(&split, &short_data, 0.1, 5, &error), error);
    assert_int_equal(split.train.transitions + split.held.transitions, short_data.steps - EPISODES);
    mw_split_free(&split);
}

static void test_no_transitions(void **state) {
    (void)state;
    mw_error error;
    mw_dataset d;
    mw_split split;
    fixture_make(scratch("single"), false, false, 1); /* one step, nothing after it */
    CHECK_OK(mw_dataset_open(&d, scratch("single"), &error), error);
    CHECK_FAILS(mw_split_make(&split, &d, 0.1, 5, &error), MW_ERR_ARGUMENT, error,
                "no transition to train on");
    mw_dataset_close(&d);
}

/* All transitions of a set come, about equally often; a place outside never. */
static void test_draws_are_uniform(void **state) {
    (void)state;
    mw_error error;
    mw_split split;
    CHECK_OK(mw_split_make(&split, &short_data, 0.1, 1, &error), error);
    const mw_episode_set *set = &split.train;
    long draws = 200 * set->transitions, *counts = calloc((size_t)short_data.steps, sizeof *counts);
    mw_rng rng = mw_rng_make(1, MW_RNG_TEST, 0, 0, 0);
    for (long i = 0; i < draws; i++) {
        mw_place place = mw_episode_set_draw(set, &rng);
        assert_true(place.t >= 0 && place.t < mw_dataset_transitions(&short_data, place.episode));
        counts[short_data.offsets[place.episode] + place.t]++;
    }
    double chi = 0;
    long hit = 0;
    for (long s = 0; s < short_data.steps; s++) {
        hit += counts[s] > 0;
        if (counts[s]) chi += ((double)counts[s] - 200) * ((double)counts[s] - 200) / 200;
    }
    assert_int_equal(hit, set->transitions);
    double freedom = (double)set->transitions - 1;
    assert_true(chi < freedom + 5 * sqrt(2 * freedom)); /* far in the tail of chi-square */
    free(counts);
    mw_split_free(&split);
}

static void test_transitions(void **state) {
    (void)state;
    const mw_dataset *sets[] = {&real_data, &discrete_data};
    for (int kind = 0; kind < 2; kind++) {
        enum { N = FIXTURE_AGENTS, O = FIXTURE_OBS, D = FIXTURE_ACT, COUNT = 64 };
        const mw_dataset *d = sets[kind];
        mw_error error;
        mw_split split;
        mw_transition_rows rows, again;
        CHECK_OK(mw_split_make(&split, d, 0.1, 9, &error), error);
        CHECK_OK(mw_transition_rows_create(&rows, &d->spec, COUNT, &error), error);
        CHECK_OK(mw_transition_rows_create(&again, &d->spec, COUNT, &error), error);
        mw_transition_fill(&rows, COUNT, d, &split.train, 3, 17, MW_BATCH_WORLD);
        for (int r = 0; r < COUNT; r++) {
            long e = rows.place[r].episode, t = rows.place[r].t;
            for (int i = 0; i < N; i++) {
                assert_true(rows.reward[r * N + i] == fixture_reward(e, t, i));
                for (int f = 0; f < O; f++) {
                    assert_true(rows.obs[(r * N + i) * O + f] == fixture_obs(e, t, i, f));
                    assert_true(rows.next_obs[(r * N + i) * O + f] == fixture_obs(e, t + 1, i, f));
                }
                for (int a = 0; a < D; a++)
                    assert_true(rows.act[(r * N + i) * D + a] ==
                                (kind ? (float)(fixture_index(e, t, i) == a) : fixture_real(e, t, i, a)));
            }
        }
        /* Another step's batch in between changes nothing; another seed, step or use does. */
        mw_transition_fill(&again, COUNT, d, &split.train, 3, 18, MW_BATCH_WORLD);
        assert_memory_not_equal(again.place, rows.place, COUNT * sizeof *rows.place);
        mw_transition_fill(&again, COUNT, d, &split.train, 3, 17, MW_BATCH_POLICY);
        assert_memory_not_equal(again.place, rows.place, COUNT * sizeof *rows.place);
        mw_transition_fill(&again, COUNT, d, &split.train, 3, 17, MW_BATCH_WORLD);
        assert_memory_equal(again.obs, rows.obs, COUNT * N * O * sizeof(float));
        assert_memory_equal(again.act, rows.act, COUNT * N * D * sizeof(float));
        mw_transition_rows_free(&rows);
        mw_transition_rows_free(&again);
        mw_split_free(&split);
    }
}

/* ---- statistics ---------------------------------------------------------------------------------------- */

static void check_moments(mw_moments m, const double *x, long count) {
    double mean = 0, variance = 0, low = x[0], high = x[0];
    for (long i = 0; i < count; i++) mean += x[i] / (double)count;
    for (long i = 0; i < count; i++) {
        variance += (x[i] - mean) * (x[i] - mean) / (double)count;
        low = fmin(low, x[i]);
        high = fmax(high, x[i]);
    }
    CHECK_NEAR(m.mean, mean, 1e-6);
    CHECK_NEAR(m.std, sqrt(variance), 1e-6);
    CHECK_NEAR(m.scale, variance < 1e-12 ? 1 : sqrt(variance), 1e-6);
    CHECK_NEAR(m.low, low, 1e-6);
    CHECK_NEAR(m.high, high, 1e-6);
}

static void test_stats(void **state) {
    (void)state;
    enum { N = FIXTURE_AGENTS, MOST = EPISODES * (FIXTURE_LIMIT + 1) * N };
    mw_data_stats stats = stats_of(&discrete_data);
    for (int f = 0; f < FIXTURE_OBS; f++) {
        static double obs[MOST], delta[MOST], reward[MOST], chosen[MOST];
        long count = 0, pairs = 0;
        for (long e = 0; e < EPISODES; e++)
            for (long t = 0; t <= fixture_length(e); t++)
                for (int i = 0; i < N; i++) {
                    obs[count++] = (double)fixture_obs(e, t, i, f);
                    if (t == fixture_length(e)) continue;
                    delta[pairs] = (double)(fixture_obs(e, t + 1, i, f) - fixture_obs(e, t, i, f));
                    reward[pairs] = (double)fixture_reward(e, t, i);
                    chosen[pairs++] = fixture_index(e, t, i) == f;
                }
        check_moments(stats.obs[f], obs, count);
        check_moments(stats.delta[f], delta, pairs);
        check_moments(stats.act[f], chosen, pairs);
        check_moments(stats.reward, reward, pairs);
    }
    assert_true(stats.obs[2].scale == 1 && stats.obs[2].low == stats.obs[2].high);
    assert_int_equal(stats.obs_report.constant, 1);
    assert_int_equal(stats.steps, discrete_data.steps);
    mw_data_stats_free(&stats);
}

/* Values around a large offset, where naive sums of squares would lose everything. */
static void test_stats_far_from_zero(void **state) {
    (void)state;
    mw_error error;
    mw_dataset_writer *w;
    mw_dataset d;
    mw_dataset_spec spec = fixture_spec(false);
    fixture_data data;
    CHECK_OK(mw_dataset_writer_open(&w, scratch("far"), &spec, true, &error), error);
    for (long e = 0; e < 20; e++) {
        mw_episode *episode = fixture_episode(&data, e, false, true);
        for (long t = 0; t <= episode->length; t++)
            for (int i = 0; i < FIXTURE_AGENTS; i++) data.obs[t][i][0] = 4e6f + (float)((t + i) % 2);
        CHECK_OK(mw_dataset_writer_add(w, episode, &error), error);
    }
    CHECK_OK(mw_dataset_writer_commit(w, &error), error);
    CHECK_OK(mw_dataset_open(&d, scratch("far"), &error), error);
    mw_data_stats stats = stats_of(&d);
    CHECK_NEAR(stats.obs[0].mean, 4e6 + 0.5, 1e-6);
    CHECK_NEAR(stats.obs[0].std, 0.5, 1e-6);
    mw_data_stats_free(&stats);
    mw_dataset_close(&d);
}

/* ---- the normaliser in one pass ------------------------------------------------------------------------ */

/* While all rows fit, the result is that of the exact fit; the chunks do not matter. */
static void test_builder_exact(void **state) {
    (void)state;
    enum { ROWS = 3000, FEATURES = 3 };
    static float rows[ROWS][FEATURES], column[ROWS];
    mw_error error;
    mw_normalizer exact, streamed;
    mw_normalizer_builder *b;
    mw_normalizer_fit_report report;
    mw_rng rng = mw_rng_make(4, MW_RNG_TEST, 0, 0, 0);
    CHECK_OK(mw_normalizer_create(&exact, FEATURES, 256, &error), error);
    CHECK_OK(mw_normalizer_builder_create(&b, FEATURES, ROWS, &error), error);
    for (int r = 0; r < ROWS; r++) {
        rows[r][0] = (float)mw_rng_normal(&rng);
        rows[r][1] = (float)mw_rng_below(&rng, 5);
        rows[r][2] = 3;
    }
    for (int r = 0, chunk = 1; r < ROWS; r += chunk, chunk = chunk * 2 % 97 + 1)
        mw_normalizer_builder_add(b, rows[r], r + chunk <= ROWS ? chunk : ROWS - r);
    CHECK_OK(mw_normalizer_builder_finish(b, &streamed, 256, &report, &error), error);
    for (int f = 0; f < FEATURES; f++) {
        for (int r = 0; r < ROWS; r++) column[r] = rows[r][f];
        mw_normalizer_fit(&exact, f, column, ROWS, NULL);
        assert_int_equal(exact.count[f], streamed.count[f]);
        assert_memory_equal(exact.value + f * 256, streamed.value + f * 256,
                            (size_t)exact.count[f] * sizeof(float));
        assert_memory_equal(exact.fraction + f * 256, streamed.fraction + f * 256,
                            (size_t)exact.count[f] * sizeof(float));
    }
    assert_int_equal(report.rows, ROWS);
    assert_int_equal(report.sampled, ROWS);
    assert_int_equal(report.constant, 1);
    assert_int_equal(streamed.count[1], 5);
    assert_int_equal(streamed.count[2], 1);
    mw_normalizer_builder_free(b);
    mw_normalizer_free(&exact);
    mw_normalizer_free(&streamed);
}

static double normal_cdf(double x) {
    return 0.5 * erfc(-x / sqrt(2));
}

/* Far more rows than the sample holds: near the true distribution, and exact at the ends. The second feature
 * is zero half of the time, which a grid of quantiles would smear. */
static void test_builder_sampled(void **state) {
    (void)state;
    enum { ROWS = 400000, SAMPLE = 20000 };
    mw_error error;
    mw_normalizer n;
    mw_normalizer_builder *b;
    mw_normalizer_fit_report report;
    float low = INFINITY, high = -INFINITY;
    mw_rng rng = mw_rng_make(5, MW_RNG_TEST, 0, 0, 0);
    CHECK_OK(mw_normalizer_builder_create(&b, 2, SAMPLE, &error), error);
    for (int r = 0; r < ROWS; r++) {
        float row[2] = {(float)mw_rng_normal(&rng), 0};
        if (mw_rng_float(&rng) < 0.5f) row[1] = (float)mw_rng_normal(&rng);
        low = fminf(low, row[0]);
        high = fmaxf(high, row[0]);
        mw_normalizer_builder_add(b, row, 1);
    }
    CHECK_OK(mw_normalizer_builder_finish(b, &n, 256, &report, &error), error);
    assert_true(report.sampled <= SAMPLE && report.sampled > SAMPLE / 4);
    assert_true(report.knot_error < 0.004);
    assert_true(n.value[0] == low && n.value[n.count[0] - 1] == high);
    double worst = 0;
    for (double x = -3; x <= 3; x += 0.05) {
        float row[2] = {(float)x, (float)x};
        mw_normalizer_forward(&n, row, 1);
        worst = fmax(worst, fabs((double)row[0] - (2 * normal_cdf(x) - 1)));
        if (fabs(x) < 0.01) continue;
        double mixed = 0.5 * normal_cdf(x) + (x > 0 ? 0.5 : 0);
        worst = fmax(worst, fabs((double)row[1] - (2 * mixed - 1)));
    }
    printf("largest distance from the true distribution %.4f, knots cost %.4f\n", worst, report.knot_error);
    assert_true(worst < 0.05); /* 5 std of a share estimated from 10000 values, in a unit of 2 */
    float zero[2] = {0, 0};
    mw_normalizer_forward(&n, zero, 1);
    CHECK_NEAR(zero[1], 0.5, 0.03); /* 3/4 of the values are at or below zero */
    mw_normalizer_inverse(&n, zero, 1);
    CHECK_NEAR(zero[1], 0, 1e-6);
    mw_normalizer_builder_free(b);
    mw_normalizer_free(&n);
}

/* ---- prefetching --------------------------------------------------------------------------------------- */

typedef struct feed {
    mw_split split;
    int sleep_us;
} feed;

static void fill_feed(void *context, uint64_t step, void *batch) {
    feed *f = context;
    mw_transition_fill(batch, 8, &real_data, &f->split.train, 11, step, MW_BATCH_WORLD);
    if (f->sleep_us) usleep((useconds_t)f->sleep_us);
}

static void test_prefetch(void **state) {
    (void)state;
    mw_error error;
    feed f = {.sleep_us = 0};
    mw_transition_rows slots[2], direct;
    mw_prefetch *p;
    CHECK_OK(mw_split_make(&f.split, &real_data, 0.1, 9, &error), error);
    for (int i = 0; i < 2; i++)
        CHECK_OK(mw_transition_rows_create(&slots[i], &real_data.spec, 8, &error), error);
    CHECK_OK(mw_transition_rows_create(&direct, &real_data.spec, 8, &error), error);
    for (int slow = 0; slow < 2; slow++) {
        f.sleep_us = slow ? 2000 : 0;
        CHECK_OK(mw_prefetch_create(&p, fill_feed, &f, &slots[0], &slots[1], 100, &error), error);
        for (uint64_t step = 100; step < (slow ? 110 : 400); step++) {
            mw_transition_rows *batch = mw_prefetch_next(p);
            mw_transition_fill(&direct, 8, &real_data, &f.split.train, 11, step, MW_BATCH_WORLD);
            if (!slow && step % 7 == 0) usleep(300); /* a batch in use stays as it is */
            assert_memory_equal(batch->obs, direct.obs, 8 * FIXTURE_AGENTS * FIXTURE_OBS * sizeof(float));
            assert_memory_equal(batch->place, direct.place, 8 * sizeof *direct.place);
        }
        mw_prefetch_free(p);
    }
    CHECK_OK(mw_prefetch_create(&p, fill_feed, &f, &slots[0], &slots[1], 0, &error), error);
    mw_prefetch_free(p); /* without taking any */
    for (int i = 0; i < 2; i++) mw_transition_rows_free(&slots[i]);
    mw_transition_rows_free(&direct);
    mw_split_free(&f.split);
}

/* ---- memory -------------------------------------------------------------------------------------------- */

/* A pass over 300 MB of columns keeps a small part of them resident, and draws from all over them allocate
 * nothing. */
static void test_memory(void **state) {
    (void)state;
    const double megabyte = 1048576;
    mw_error error;
    mw_dataset d;
    mw_split split;
    mw_data_stats stats;
    assert_true(sparse_make(scratch("sparse"), 3, 50, 2, 20000, 25));
    CHECK_OK(mw_dataset_open(&d, scratch("sparse"), &error), error);
    double before = sparse_memory("VmHWM"), columns = (double)d.steps * 3 * 50 * 4;
    assert_true(columns > 280 * megabyte);
    CHECK_OK(mw_dataset_check(&d, &error), error);
    CHECK_OK(mw_split_make(&split, &d, 0.1, 1, &error), error);
    CHECK_OK(mw_data_stats_make(&stats, &d, &split.train, 0.99, false, &error), error);
    double grown = sparse_memory("VmHWM") - before;
    printf("peak of resident memory grew by %.1f MB on %.0f MB of data\n", grown / megabyte,
           columns / megabyte);
#ifndef __SANITIZE_THREAD__ /* which keeps four bytes for every one that was looked at */
    assert_true(before > 0 && grown < 60 * megabyte);
#endif
    mw_data_stats_free(&stats);
    mw_split_free(&split);
    mw_dataset_close(&d);
    scratch_remove(scratch("sparse"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_no_transitions),
        cmocka_unit_test(test_draws_are_uniform),
        cmocka_unit_test(test_transitions),
        cmocka_unit_test(test_stats),
        cmocka_unit_test(test_stats_far_from_zero),
        cmocka_unit_test(test_builder_exact),
        cmocka_unit_test(test_builder_sampled),
        cmocka_unit_test(test_prefetch),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
