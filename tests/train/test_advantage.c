/* The advantage of joint actions: its arithmetic, and that the fit finds what deviations earn later. */
#include "dataset/fixture.h"
#include "model/advantage_fit.h"

#include <math.h>
#include <stdlib.h>

/* A world whose answer is known: x' = 0.5 x + u a, every agent earns x, u is drawn anew at every step and
 * both are observed (by the second agent too, as copies), with a constant. The second agent's action does
 * nothing. So the discounted return rises by 0.99 u / (1 - 0.99/2) for a unit of the first agent's action. */
enum { N = 2, O = 3, D = 1, LENGTH = 60, EPISODES = 300 };

/* Agents from `still` on always do the same. */
static void write_data(const char *path, bool discrete, int still) {
    mw_error error;
    mw_dataset_writer *writer;
    const mw_dataset_spec spec = {.task = "own",
                                  .rules = "own-1",
                                  .agents = N,
                                  .obs_size = O,
                                  .act_size = discrete ? 2 : D,
                                  .discrete = discrete,
                                  .episode_limit = LENGTH,
                                  .command = "test"};
    CHECK_OK(mw_dataset_writer_open(&writer, path, &spec, false, &error), error);
    for (int e = 0; e < EPISODES; e++) {
        mw_rng rng = mw_rng_make(1, MW_RNG_TEST, (uint64_t)e, 0, 0);
        float obs[LENGTH + 1][N][O], act[LENGTH][N][D], rewards[LENGTH][N];
        int32_t index[LENGTH][N];
        uint8_t legal[LENGTH][N][2];
        double x = 0;
        for (int t = 0; t <= LENGTH; t++) {
            const double u = mw_rng_range(&rng, -1, 1);
            for (int a = 0; a < N; a++) {
                obs[t][a][0] = (float)u;
                obs[t][a][1] = (float)x;
                obs[t][a][2] = 5;
            }
            if (t == LENGTH) break;
            for (int a = 0; a < N; a++) {
                act[t][a][0] = (float)(0.4 * u * u - 0.2 * a + 0.1 * mw_rng_normal(&rng));
                if (a >= still) act[t][a][0] = 0.3f;
                rewards[t][a] = (float)x;
                index[t][a] = 0;
                legal[t][a][0] = legal[t][a][1] = 1;
            }
            x = 0.5 * x + u * (double)act[t][0][0];
        }
        const mw_episode episode = {.length = LENGTH,
                                    .obs = obs[0][0],
                                    .last_obs = obs[LENGTH][0],
                                    .real = discrete ? NULL : act[0][0],
                                    .index = discrete ? index[0] : NULL,
                                    .legal = discrete ? legal[0][0] : NULL,
                                    .rewards = rewards[0]};
        CHECK_OK(mw_dataset_writer_add(writer, &episode, &error), error);
    }
    CHECK_OK(mw_dataset_writer_commit(writer, &error), error);
}

static mw_status fit(const char *path, float **values, mw_advantage_net *net, mw_advantage_report *report,
                     int features, const volatile sig_atomic_t *stop, mw_error *error) {
    mw_dataset data;
    mw_split split;
    const mw_advantage_options options = {.hidden = 64,
                                          .steps = 1500,
                                          .discount = 0.99,
                                          .lambda = 0.95,
                                          .ridge = 0.01,
                                          .seed = 3,
                                          .stop = stop};
    CHECK_OK(mw_dataset_open(&data, path, error), *error);
    CHECK_OK(mw_split_make(&split, &data, 0.1, 0, error), *error);
    const mw_advantage_config config = {N, O, data.spec.act_size, features};
    CHECK_OK(mw_advantage_net_make(net, &config, error), *error);
    *values = calloc(net->params.total, sizeof **values);
    const mw_status status = mw_advantage_fit(net, *values, &data, &split, &options, report, error);
    mw_split_free(&split);
    mw_dataset_close(&data);
    return status;
}

static void test_finds_what_deviations_earn(void **state) {
    (void)state;
    mw_error error;
    mw_advantage_net net, again_net;
    mw_advantage_report report, again_report;
    float *values, *again;
    write_data(scratch("known"), false, N);
    CHECK_OK(fit(scratch("known"), &values, &net, &report, 8, NULL, &error), error);
    CHECK_NEAR(report.action_left, 0.01, 0.001); /* only the noise is left */
    assert_true(report.held > 0.02 && report.correlation > 0.02);
    assert_int_equal(report.rows + report.held_rows, LENGTH * EPISODES);
    const double slope = 0.99 / (1 - 0.99 / 2);
    double worst = 0, nothing = 0;
    for (double u = -0.9; u < 1; u += 0.1) {
        const float obs[N * O] = {(float)u, 0.1f, 5, (float)u, 0.1f, 5};
        float terms[1 + N * O + 8], gradient[N * D];
        mw_advantage_gradient(&net, values, obs, terms, gradient);
        worst = fmax(worst, fabs((double)gradient[0] - slope * u));
        nothing = fmax(nothing, fabs((double)gradient[1]));
    }
    assert_true(worst < 0.35 * slope);
    assert_true(nothing < 0.35 * slope);
    for (int i = 2; i < N * O; i++) { /* what does not vary, and copies */
        assert_true(values[net.inverse + (size_t)i] == 0);
        assert_true(values[net.weight + (size_t)(1 + i) * N * D] == 0);
    }
    CHECK_OK(fit(scratch("known"), &again, &again_net, &again_report, 8, NULL, &error), error);
    assert_memory_equal(values, again, net.params.total * sizeof *values);
    free(values);
    free(again);
    mw_advantage_net_free(&net);
    mw_advantage_net_free(&again_net);
}

/* What the data never did otherwise has no slope: what the regression leaves of it is no deviation. */
static void test_actions_that_never_vary(void **state) {
    (void)state;
    for (int still = N - 1; still >= 0; still--) {
        mw_error error;
        mw_advantage_net net;
        mw_advantage_report report;
        float *values;
        const char *path = scratch(still ? "one still" : "all still");
        write_data(path, false, still);
        CHECK_OK(fit(path, &values, &net, &report, 8, NULL, &error), error);
        const float obs[N * O] = {0.5f, 0.1f, 5, 0.5f, 0.1f, 5};
        float terms[1 + N * O + 8], gradient[N * D];
        mw_advantage_gradient(&net, values, obs, terms, gradient);
        assert_true((gradient[0] != 0) == (still > 0));
        assert_true(gradient[1] == 0);
        free(values);
        mw_advantage_net_free(&net);
    }
}

/* Every step earns 1 and a little more for a larger first action, and one above 0.25 ends the episode: the
 * world's end, after which nothing is earned; or, under the limit, a cut after which as much would follow. */
static void write_falls(const char *path, uint8_t ending) {
    mw_error error;
    mw_dataset_writer *writer;
    const mw_dataset_spec spec = {
        .task = "own", .rules = "own-1", .agents = N, .obs_size = O, .act_size = D, .episode_limit = LENGTH};
    CHECK_OK(mw_dataset_writer_open(&writer, path, &spec, false, &error), error);
    for (int e = 0; e < 4 * EPISODES; e++) {
        mw_rng rng = mw_rng_make(7, MW_RNG_TEST, (uint64_t)e, 0, 0);
        float obs[LENGTH + 1][N][O], act[LENGTH][N][D], rewards[LENGTH][N];
        int length = 0;
        for (bool stands = true; stands && length < LENGTH; length++) {
            for (int a = 0; a < N; a++) {
                for (int k = 0; k < O; k++) obs[length][a][k] = (float)mw_rng_normal(&rng);
                act[length][a][0] = fminf(fmaxf(0.2f * (float)mw_rng_normal(&rng), -1), 1);
            }
            for (int a = 0; a < N; a++) rewards[length][a] = 1 + 0.1f * act[length][0][0];
            stands = act[length][0][0] <= 0.25f;
        }
        for (int k = 0; k < N * O; k++) obs[length][k / O][k % O] = (float)mw_rng_normal(&rng);
        const mw_episode episode = {.length = length,
                                    .obs = obs[0][0],
                                    .last_obs = obs[length][0],
                                    .real = act[0][0],
                                    .rewards = rewards[0],
                                    .outcome = length < LENGTH ? ending : MW_ENDED_BY_LIMIT};
        CHECK_OK(mw_dataset_writer_add(writer, &episode, &error), error);
    }
    CHECK_OK(mw_dataset_writer_commit(writer, &error), error);
}

/* To fall is bad although the step itself earns more, because nothing follows; to be cut off is not. */
static void test_nothing_follows_an_end(void **state) {
    (void)state;
    static const uint8_t endings[] = {MW_ENDED_BY_WORLD, MW_ENDED_BY_VICTORY, MW_ENDED_BY_LIMIT};
    for (int k = 0; k < 3; k++) {
        mw_error error;
        mw_advantage_net net;
        mw_advantage_report report;
        float *values;
        write_falls(scratch("falls"), endings[k]);
        CHECK_OK(fit(scratch("falls"), &values, &net, &report, 8, NULL, &error), error);
        const float obs[N * O] = {0};
        float terms[1 + N * O + 8], gradient[N * D];
        mw_advantage_gradient(&net, values, obs, terms, gradient);
        if (endings[k] == MW_ENDED_BY_LIMIT)
            assert_true(gradient[0] > 0.02f && gradient[0] < 1);
        else
            assert_true(gradient[0] < -3);
        free(values);
        mw_advantage_net_free(&net);
        scratch_remove(scratch("falls"));
    }
}

/* ---- episodes in memory, of observations that say nothing of actions ---- */

enum { ROWS = EPISODES * LENGTH };

typedef struct {
    float obs[ROWS][N][O], last_obs[EPISODES][N][O], act[ROWS][N][D], rewards[ROWS][N];
    int64_t lengths[EPISODES], offsets[EPISODES + 1];
    uint8_t outcomes[EPISODES];
    mw_dataset data;
    mw_split split;
    mw_advantage_report report;
    float slope; /* of the first agent's action where all observations are 0 */
} noise;

static noise *noise_make(void) {
    static noise w;
    mw_error error;
    mw_rng rng = mw_rng_make(11, MW_RNG_TEST, 0, 0, 0);
    w = (noise){0};
    mw_rng_fill_normal(&rng, w.obs[0][0], sizeof w.obs / sizeof(float));
    mw_rng_fill_normal(&rng, w.act[0][0], sizeof w.act / sizeof(float));
    for (int e = 0; e < EPISODES; e++) {
        w.lengths[e] = LENGTH;
        w.offsets[e + 1] = w.offsets[e] + LENGTH;
        w.outcomes[e] = MW_ENDED_BY_LIMIT;
    }
    w.data = (mw_dataset){.spec = {.agents = N, .obs_size = O, .act_size = D, .episode_limit = LENGTH},
                          .episodes = EPISODES,
                          .steps = ROWS,
                          .obs = w.obs[0][0],
                          .last_obs = w.last_obs[0][0],
                          .real = w.act[0][0],
                          .rewards = w.rewards[0],
                          .outcomes = w.outcomes,
                          .lengths = w.lengths,
                          .offsets = w.offsets};
    CHECK_OK(mw_split_make(&w.split, &w.data, 0.1, 0, &error), error);
    return &w;
}

static void earn(noise *w, long row, float reward) {
    for (int a = 0; a < N; a++) w->rewards[row][a] = reward;
}

static void noise_fit(noise *w, double discount, double lambda) {
    const mw_advantage_options options = {
        .hidden = 64, .steps = 1500, .discount = discount, .lambda = lambda, .ridge = 0.01, .seed = 3};
    const float obs[N * O] = {0};
    float terms[1 + N * O + 8], gradient[N * D];
    mw_error error;
    mw_advantage_net net;
    CHECK_OK(mw_advantage_net_make(&net, &(mw_advantage_config){N, O, D, 8}, &error), error);
    float *values = calloc(net.params.total, sizeof *values);
    CHECK_OK(mw_advantage_fit(&net, values, &w->data, &w->split, &options, &w->report, &error), error);
    mw_advantage_gradient(&net, values, obs, terms, gradient);
    w->slope = gradient[0];
    free(values);
    mw_advantage_net_free(&net);
    mw_split_free(&w->split);
}

/* What an action earns two steps later counts with the discount's square. */
static void test_later_is_less(void **state) {
    (void)state;
    noise *w = noise_make();
    for (long r = 0; r < ROWS; r++) earn(w, r, r % LENGTH < 2 ? 0 : 10 * w->act[r - 2][0][0]);
    noise_fit(w, 0.5, 1);
    CHECK_NEAR(w->slope, 10 * 0.5 * 0.5, 0.5);
}

/* Held-out episodes, in which actions earn the opposite, are only looked at. */
static void test_held_out_speaks_for_itself(void **state) {
    (void)state;
    noise *w = noise_make();
    for (long r = 0; r < ROWS; r++) earn(w, r, w->act[r][0][0]);
    for (long i = 0; i < w->split.held.count; i++)
        for (long r = w->split.held.episodes[i] * LENGTH; r < (w->split.held.episodes[i] + 1) * LENGTH; r++)
            earn(w, r, -w->act[r][0][0]);
    noise_fit(w, 0, 0);
    assert_true(w->report.correlation > 0.8 && w->report.held < -0.8);
    CHECK_NEAR(w->slope, 1, 0.2);
}

/* A few huge deviations that earn nothing, on either side, do not drown the rest. */
static void test_outliers(void **state) {
    (void)state;
    for (int side = -1; side <= 1; side += 2) {
        noise *w = noise_make();
        for (long r = 0; r < ROWS; r++) {
            earn(w, r, w->act[r][0][0]);
            if (r % 1000) continue;
            w->act[r][0][0] = 100 * (float)side;
            earn(w, r, 0);
        }
        noise_fit(w, 0, 0);
        assert_true(w->slope > 0.6f);
    }
}

/* A reward that follows from the observation before the present one is expected, and no merit of actions. */
static void test_expects_what_was_seen_before(void **state) {
    (void)state;
    noise *w = noise_make();
    for (long r = 0; r < ROWS; r++) earn(w, r, 10 * w->obs[r % LENGTH ? r - 1 : r][0][0] + w->act[r][0][0]);
    noise_fit(w, 0, 0);
    assert_true(w->report.correlation > 0.5);
}

static void test_refuses(void **state) {
    (void)state;
    mw_error error;
    mw_advantage_net net;
    mw_advantage_report report;
    float *values;
    volatile sig_atomic_t stop = 1;
    CHECK_FAILS(fit(scratch("known"), &values, &net, &report, 8, &stop, &error), MW_ERR_INTERRUPTED, error,
                "stopped while fitting");
    free(values);
    mw_advantage_net_free(&net);
    enum { MANY = 4096 };
    mw_advantage_net wide = {.config = {N, O, MANY, MANY}}; /* refused before anything is read */
    mw_dataset data = {.spec = {.task = "own", .agents = N, .obs_size = O, .act_size = MANY}};
    const mw_advantage_options options = {.hidden = 8, .steps = 1};
    CHECK_FAILS(mw_advantage_fit(&wide, NULL, &data, NULL, &options, &report, &error), MW_ERR_ARGUMENT, error,
                "too many");
    CHECK_FAILS(mw_advantage_net_make(&net, &(mw_advantage_config){N, O, D, -1}, &error), MW_ERR_ARGUMENT,
                error, "-1 features");
}

/* Against the formula, far outside the data too. */
static void test_gradient(void **state) {
    (void)state;
    mw_error error;
    mw_advantage_net net;
    enum { F = 5, TERMS = 1 + N * O + F, A = 2 * N };
    CHECK_OK(mw_advantage_net_make(&net, &(mw_advantage_config){N, O, 2, F}, &error), error);
    assert_int_equal(mw_advantage_terms(&net.config), TERMS);
    float *v = calloc(net.params.total, sizeof *v);
    mw_rng rng = mw_rng_make(4, MW_RNG_TEST, 0, 0, 0);
    mw_rng_fill_normal(&rng, v, net.params.total);
    const float obs[N * O] = {0.3f, -1, 1e6f, 0.5f, -1e30f, 2};
    float terms[TERMS], gradient[A];
    mw_advantage_gradient(&net, v, obs, terms, gradient);
    double expected[TERMS] = {1};
    for (int i = 0; i < N * O; i++) {
        const double z =
            ((double)obs[i] - (double)v[net.mean + (size_t)i]) * (double)v[net.inverse + (size_t)i];
        expected[1 + i] = fmin(fmax(z, -4), 4);
    }
    for (int f = 0; f < F; f++) {
        double sum = (double)v[net.bias + (size_t)f];
        for (int i = 0; i < N * O; i++)
            sum += (double)v[net.project + (size_t)(f * N * O + i)] * expected[1 + i];
        expected[1 + N * O + f] = sum / (1 + fabs(sum));
    }
    for (int k = 0; k < A; k++) {
        double sum = 0;
        for (int t = 0; t < TERMS; t++) sum += expected[t] * (double)v[net.weight + (size_t)(t * A + k)];
        CHECK_NEAR(gradient[k], sum, 1e-4);
    }
    free(v);
    mw_advantage_net_free(&net);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradient),
                                       cmocka_unit_test(test_finds_what_deviations_earn),
                                       cmocka_unit_test(test_actions_that_never_vary),
                                       cmocka_unit_test(test_nothing_follows_an_end),
                                       cmocka_unit_test(test_later_is_less),
                                       cmocka_unit_test(test_held_out_speaks_for_itself),
                                       cmocka_unit_test(test_outliers),
                                       cmocka_unit_test(test_expects_what_was_seen_before),
                                       cmocka_unit_test(test_refuses)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
