/* The pieces of the learner against brute force and finite differences. */
#include "nn/categorical.h"
#include "check.h"

#include "behavior/learn/ppo.h"
#include "core/rng.h"

/* ---- advantages: the definition, a sum over all later temporal differences of the episode ---- */

static void gae(void **state) {
    (void)state;
    enum { T = 9, E = 3 };
    const double gamma = 0.93, lambda = 0.8;
    float reward[T * E], value[(T + 1) * E], after[T * E], advantage[T * E], target[T * E];
    uint8_t done[T * E];
    mw_rng rng = mw_rng_make(1, MW_RNG_TEST, 0, 0, 0);
    for (int i = 0; i < T * E; i++) {
        reward[i] = (float)mw_rng_normal(&rng);
        done[i] = mw_rng_below(&rng, 4) == 0 ? (uint8_t)(1 + mw_rng_below(&rng, 2)) : 0;
        after[i] = done[i] == 2 ? (float)mw_rng_normal(&rng) : done[i] ? 0 : NAN; /* never read */
    }
    for (int i = 0; i < (T + 1) * E; i++) value[i] = (float)mw_rng_normal(&rng);
    mw_gae(advantage, target, reward, value, done, after, T, E, (float)gamma, (float)lambda);
    for (int e = 0; e < E; e++)
        for (int t = 0; t < T; t++) {
            double sum = 0, weight = 1;
            for (int k = t; k < T; k++) {
                int i = k * E + e;
                double next = done[i] ? after[i] : value[i + E];
                sum += weight * (reward[i] + gamma * next - value[i]);
                if (done[i]) break;
                weight *= gamma * lambda;
            }
            CHECK_NEAR(advantage[t * E + e], sum, 1e-5);
            CHECK_NEAR(target[t * E + e], sum + value[t * E + e], 1e-5);
        }
}

static void standardise(void **state) {
    (void)state;
    float x[5] = {1, 2, 3, 4, 10};
    mw_standardise(x, 5);
    double sum = 0, square = 0;
    for (int i = 0; i < 5; i++) {
        sum += x[i];
        square += x[i] * x[i];
    }
    CHECK_NEAR(sum, 0, 1e-5);
    CHECK_NEAR(square, 5, 1e-4);
}

/* ---- gradients by central differences, on both sides of the clip ---- */

typedef struct {
    mw_ppo_row row;
    float out[4], log_std[4], act[4];
    uint8_t legal[5];
    float logits[5];
    int32_t choice;
} probe;

static double gaussian_loss(const probe *p) {
    mw_ppo_terms terms = {0};
    float dout[4], dlog_std[4] = {0};
    mw_ppo_gaussian(&p->row, dout, dlog_std, p->out, p->log_std, p->act, 4, &terms);
    return terms.loss;
}

static double categorical_loss(const probe *p) {
    mw_ppo_terms terms = {0};
    float dlogits[5];
    mw_ppo_categorical(&p->row, dlogits, p->logits, p->legal, p->choice, 5, &terms);
    return terms.loss;
}

static void check_slope(double (*loss)(const probe *), probe *p, float *at, double gradient) {
    const float kept = *at, h = 4e-3f;
    *at = kept + h;
    const double up = loss(p);
    *at = kept - h;
    const double down = loss(p);
    *at = kept;
    CHECK_NEAR(gradient, (up - down) / (2 * (double)h), 4e-3 * (1 + fabs(gradient)));
}

static probe random_probe(uint64_t seed) {
    mw_rng rng = mw_rng_make(seed, MW_RNG_TEST, 1, 0, 0);
    probe p = {.row = {.clip = 0.2f, .entropy_bonus = 0.05f, .scale = 1}};
    for (int i = 0; i < 4; i++) {
        p.out[i] = 0.5f * (float)mw_rng_normal(&rng);
        p.log_std[i] = -0.5f + 0.2f * (float)mw_rng_normal(&rng);
        p.act[i] = tanhf(p.out[i]) + expf(p.log_std[i]) * (float)mw_rng_normal(&rng);
    }
    for (int i = 0; i < 5; i++) {
        p.logits[i] = (float)mw_rng_normal(&rng);
        p.legal[i] = i != 2;
    }
    p.choice = (int32_t)(mw_rng_below(&rng, 2) * 3); /* 0 or 3 */
    p.row.advantage = (float)mw_rng_normal(&rng);
    return p;
}

/* Ratios of 1, well inside, and far outside the clip; the kink itself is avoided. */
static const float shifts[] = {0, 0.1f, -0.1f, 0.6f, -0.6f};

static void gaussian_gradient(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++)
        for (int k = 0; k < 5; k++) {
            probe p = random_probe(seed);
            p.row.old = mw_gaussian_log(p.out, p.log_std, p.act, 4) - shifts[k];
            mw_ppo_terms terms = {0};
            float dout[4], dlog_std[4] = {0};
            mw_ppo_gaussian(&p.row, dout, dlog_std, p.out, p.log_std, p.act, 4, &terms);
            CHECK_NEAR(terms.kl, exp(shifts[k]) - 1 - shifts[k], 1e-5);
            for (int i = 0; i < 4; i++) {
                check_slope(gaussian_loss, &p, &p.out[i], dout[i]);
                check_slope(gaussian_loss, &p, &p.log_std[i], dlog_std[i]);
            }
        }
}

static void categorical_gradient(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++)
        for (int k = 0; k < 5; k++) {
            probe p = random_probe(seed);
            p.row.old = mw_categorical_log(p.logits, p.legal, 5, p.choice) - shifts[k];
            mw_ppo_terms terms = {0};
            float dlogits[5];
            mw_ppo_categorical(&p.row, dlogits, p.logits, p.legal, p.choice, 5, &terms);
            assert_true(dlogits[2] == 0); /* not legal */
            for (int i = 0; i < 5; i++) check_slope(categorical_loss, &p, &p.logits[i], dlogits[i]);
        }
}

/* ---- drawing ---- */

static void masked_pick(void **state) {
    (void)state;
    enum { D = 5, DRAWS = 200000 };
    const float logits[D] = {0.3f, -1, 50, 1.2f, 0};
    const uint8_t legal[D] = {1, 1, 0, 1, 0};
    double total = 0;
    int seen[D] = {0};
    mw_rng rng = mw_rng_make(3, MW_RNG_TEST, 0, 0, 0);
    for (int i = 0; i < DRAWS; i++) seen[mw_categorical_pick(logits, legal, D, mw_rng_float(&rng))]++;
    for (int i = 0; i < D; i++) total += legal[i] ? exp(logits[i]) : 0;
    for (int i = 0; i < D; i++) {
        const double p = legal[i] ? exp(logits[i]) / total : 0;
        if (legal[i])
            CHECK_NEAR((double)seen[i] / DRAWS, p, 5 * sqrt(p / DRAWS));
        else
            assert_int_equal(seen[i], 0);
        if (legal[i]) CHECK_NEAR(exp((double)mw_categorical_log(logits, legal, D, i)), p, 1e-6);
    }
    /* The last legal action takes what rounding leaves over, and one legal action is always it. */
    assert_int_equal(mw_categorical_pick(logits, legal, D, 0.99999994f), 3);
    const uint8_t only[D] = {0, 0, 0, 0, 1};
    assert_int_equal(mw_categorical_pick(logits, only, D, 0.5f), 4);
    /* Without logits every legal action is as likely. */
    assert_int_equal(mw_categorical_pick(NULL, legal, D, 0.3f), 0);
    assert_int_equal(mw_categorical_pick(NULL, legal, D, 0.4f), 1);
    CHECK_NEAR(exp((double)mw_categorical_log(NULL, legal, D, 3)), 1.0 / 3, 1e-6);
    CHECK_NEAR(exp((double)mw_categorical_log(NULL, NULL, D, 3)), 1.0 / D, 1e-6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gae),
        cmocka_unit_test(standardise),
        cmocka_unit_test(gaussian_gradient),
        cmocka_unit_test(categorical_gradient),
        cmocka_unit_test(masked_pick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
