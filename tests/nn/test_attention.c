/* Attention across agents and over the past against its formula in double precision; across agents in the
 * order of PyTorch: [b][head][agent] with the features of all time steps flattened. Backward against
 * differences of that formula. */
#include "differences.h"
#include "nn/attention.h"

enum { MOST = 1500 };

typedef struct {
    int t, b, n, heads, qk, v;
    double q[MOST], k[MOST], value[MOST], message[MOST], weights[MOST], dmessage[MOST]; /* [t][b*n][heads*.]
                                                                                         */
} attention_case;

static double at(const attention_case *c, const double *x, int width, int t, int joint, int agent, int h,
                 int i) {
    return x[((t * c->b + joint) * c->n + agent) * c->heads * width + h * width + i];
}

static void one_agent(attention_case *c, int joint, int h, int a) {
    double logit[16], most = -INFINITY, sum = 0;
    for (int other = 0; other < c->n; other++) {
        logit[other] = 0;
        for (int t = 0; t < c->t; t++)
            for (int i = 0; i < c->qk; i++)
                logit[other] +=
                    at(c, c->q, c->qk, t, joint, a, h, i) * at(c, c->k, c->qk, t, joint, other, h, i);
        logit[other] /= sqrt((double)(c->qk * c->t));
        most = fmax(most, logit[other]);
    }
    for (int other = 0; other < c->n; other++) sum += exp(logit[other] - most);
    for (int other = 0; other < c->n; other++)
        c->weights[((joint * c->heads + h) * c->n + a) * c->n + other] = exp(logit[other] - most) / sum;
    for (int t = 0; t < c->t; t++)
        for (int i = 0; i < c->v; i++) {
            double mixed = 0;
            for (int other = 0; other < c->n; other++)
                mixed += exp(logit[other] - most) / sum * at(c, c->value, c->v, t, joint, other, h, i);
            c->message[((t * c->b + joint) * c->n + a) * c->heads * c->v + h * c->v + i] = mixed;
        }
}

static double objective(void *context) {
    attention_case *c = context;
    double sum = 0;
    for (int joint = 0; joint < c->b; joint++)
        for (int h = 0; h < c->heads; h++)
            for (int a = 0; a < c->n; a++) one_agent(c, joint, h, a);
    for (int i = 0; i < c->t * c->b * c->n * c->heads * c->v; i++) sum += c->message[i] * c->dmessage[i];
    return sum;
}

static void check(int t, int b, int n, int heads, int qk, int v) {
    static attention_case c;
    static float q[MOST], k[MOST], value[MOST], dmessage[MOST], message[MOST], weights[MOST], dq[MOST],
        dk[MOST], dvalue[MOST];
    const size_t small = (size_t)(t * b * n * heads * qk), large = (size_t)(t * b * n * heads * v);
    assert_true(small <= MOST && large <= MOST);
    c = (attention_case){.t = t, .b = b, .n = n, .heads = heads, .qk = qk, .v = v};
    mw_rng rng = mw_rng_make(14, MW_RNG_TEST, (uint64_t)n, (uint64_t)t, 0);
    draw_normals(&rng, q, c.q, small);
    draw_normals(&rng, k, c.k, small);
    draw_normals(&rng, value, c.value, large);
    draw_normals(&rng, dmessage, c.dmessage, large);
    mw_attention_forward(message, weights, q, k, value, t, b, n, heads, qk, v);
    objective(&c);
    CHECK_ERROR(differences_relative(message, c.message, large), 1e-6, "message of %d agents", n);
    CHECK_ERROR(differences_relative(weights, c.weights, (size_t)(b * heads * n * n)), 1e-6,
                "weights of %d agents", n);
    memset(dq, 0xff, sizeof dq); /* NaN: gradients of inputs are overwritten */
    memset(dk, 0xff, sizeof dk);
    memset(dvalue, 0xff, sizeof dvalue);
    mw_attention_backward(dq, dk, dvalue, dmessage, weights, q, k, value, t, b, n, heads, qk, v);
    CHECK_ERROR(differences_each(objective, &c, c.value, dvalue, large, 1e-4), 1e-6, "dvalue of %d agents",
                n);
    if (n == 1) { /* alone, the softmax is 1 and has no slope */
        for (size_t i = 0; i < small; i++) CHECK_NEAR(fabsf(dq[i]) + fabsf(dk[i]), 0, 1e-6);
        return;
    }
    CHECK_ERROR(differences_each(objective, &c, c.q, dq, small, 1e-4), 3e-6, "dq of %d agents", n);
    CHECK_ERROR(differences_each(objective, &c, c.k, dk, small, 1e-4), 3e-6, "dk of %d agents", n);
}

static void against_formula(void **state) {
    (void)state;
    check(6, 2, 3, 4, 2, 8);
    check(3, 1, 5, 2, 3, 5);
    check(1, 3, 2, 4, 1, 4);
    check(4, 2, 1, 4, 2, 4);
    check(2, 1, 16, 1, 4, 7);
}

/* Joint trajectories do not meet: alone or in a batch, the bits are the same, and a NaN stays in its own. */
static void batches_are_independent(void **state) {
    (void)state;
    enum { T = 4, B = 3, N = 3, H = 2, QK = 3, V = 5, ROW_QK = N * H * QK, ROW_V = N * H * V };
    float q[T * B * ROW_QK], k[T * B * ROW_QK], value[T * B * ROW_V], message[T * B * ROW_V],
        weights[B * H * N * N];
    float one_q[T * ROW_QK], one_k[T * ROW_QK], one_value[T * ROW_V], one[T * ROW_V], one_weights[H * N * N];
    mw_rng rng = mw_rng_make(15, MW_RNG_TEST, 0, 0, 0);
    mw_rng_fill_normal(&rng, q, T * B * ROW_QK);
    mw_rng_fill_normal(&rng, k, T * B * ROW_QK);
    mw_rng_fill_normal(&rng, value, T * B * ROW_V);
    k[1 * ROW_QK + 4] = NAN; /* step 0, joint trajectory 1, head 1 of agent 0 */
    mw_attention_forward(message, weights, q, k, value, T, B, N, H, QK, V);
    for (int b = 0; b < B; b++) {
        for (int t = 0; t < T; t++) {
            memcpy(one_q + t * ROW_QK, q + (t * B + b) * ROW_QK, ROW_QK * sizeof *q);
            memcpy(one_k + t * ROW_QK, k + (t * B + b) * ROW_QK, ROW_QK * sizeof *q);
            memcpy(one_value + t * ROW_V, value + (t * B + b) * ROW_V, ROW_V * sizeof *q);
        }
        mw_attention_forward(one, one_weights, one_q, one_k, one_value, T, 1, N, H, QK, V);
        for (int i = 0; i < T * ROW_V; i++) {
            const float seen = message[(i / ROW_V * B + b) * ROW_V + i % ROW_V];
            const bool spoiled = b == 1 && i % (H * V) / V == 1;
            assert_true(spoiled ? isnan(seen) && isnan(one[i]) : seen == one[i]);
        }
    }
}

/* ---- over the past ---- */

typedef struct {
    int t, heads, c;
    double q[MOST], k[MOST], value[MOST], message[MOST], weights[MOST], dmessage[MOST];
} past_case;

static void one_moment(past_case *p, int h, int i) {
    const int row = p->heads * p->c;
    double *w = p->weights + (h * p->t + i) * p->t, sum = 0;
    for (int j = 0; j < p->t; j++) {
        double logit = 0;
        for (int d = 0; d < p->c; d++) logit += p->q[i * row + h * p->c + d] * p->k[j * row + h * p->c + d];
        w[j] = j <= i ? exp(logit / sqrt(p->c)) : 0;
        sum += w[j];
    }
    for (int j = 0; j < p->t; j++) w[j] /= sum;
    for (int d = 0; d < p->c; d++) {
        double mixed = 0;
        for (int j = 0; j < p->t; j++) mixed += w[j] * p->value[j * row + h * p->c + d];
        p->message[i * row + h * p->c + d] = mixed;
    }
}

static double past_objective(void *context) {
    past_case *p = context;
    double sum = 0;
    for (int h = 0; h < p->heads; h++)
        for (int i = 0; i < p->t; i++) one_moment(p, h, i);
    for (int i = 0; i < p->t * p->heads * p->c; i++) sum += p->message[i] * p->dmessage[i];
    return sum;
}

static void check_past(int t, int heads, int c) {
    static past_case p;
    static float q[MOST], k[MOST], value[MOST], dmessage[MOST], message[MOST], weights[MOST], dq[MOST],
        dk[MOST], dvalue[MOST], scratch[MOST];
    const size_t all = (size_t)(t * heads * c), squares = (size_t)(heads * t * t);
    assert_true(all <= MOST && squares <= MOST && t * (c + t) <= MOST);
    p = (past_case){.t = t, .heads = heads, .c = c};
    mw_rng rng = mw_rng_make(16, MW_RNG_TEST, (uint64_t)t, (uint64_t)c, 0);
    draw_normals(&rng, q, p.q, all);
    draw_normals(&rng, k, p.k, all);
    draw_normals(&rng, value, p.value, all);
    draw_normals(&rng, dmessage, p.dmessage, all);
    memset(weights, 0xff, sizeof weights); /* NaN: everything is overwritten */
    memset(dq, 0xff, sizeof dq);
    memset(dk, 0xff, sizeof dk);
    memset(dvalue, 0xff, sizeof dvalue);
    mw_causal_forward(message, weights, q, k, value, scratch, t, heads, c);
    past_objective(&p);
    CHECK_ERROR(differences_relative(message, p.message, all), 1e-6, "message of %d times", t);
    CHECK_ERROR(differences_relative(weights, p.weights, squares), 1e-6, "weights of %d times", t);
    memset(scratch, 0xff, sizeof scratch);
    mw_causal_backward(dq, dk, dvalue, dmessage, weights, q, k, value, scratch, t, heads, c);
    CHECK_ERROR(differences_each(past_objective, &p, p.value, dvalue, all, 1e-4), 1e-6, "dvalue of %d times",
                t);
    if (t == 1) { /* alone, the softmax is 1 and has no slope */
        for (size_t i = 0; i < all; i++) CHECK_NEAR(fabsf(dq[i]) + fabsf(dk[i]), 0, 1e-6);
        return;
    }
    CHECK_ERROR(differences_each(past_objective, &p, p.q, dq, all, 1e-4), 3e-6, "dq of %d times", t);
    CHECK_ERROR(differences_each(past_objective, &p, p.k, dk, all, 1e-4), 3e-6, "dk of %d times", t);
}

static void past_against_formula(void **state) {
    (void)state;
    check_past(1, 2, 3);
    check_past(2, 1, 1);
    check_past(7, 3, 5);
    check_past(17, 2, 16);
    check_past(30, 1, 18);
}

/* What comes later changes no bit of what was before, not even where it is no number. */
static void future_is_unseen(void **state) {
    (void)state;
    enum { T = 9, H = 2, C = 5, ROW = H * C };
    float q[T * ROW], k[T * ROW], value[T * ROW], message[T * ROW], early[T * ROW], weights[H * T * T],
        scratch[T * (C + T)];
    mw_rng rng = mw_rng_make(17, MW_RNG_TEST, 0, 0, 0);
    mw_rng_fill_normal(&rng, q, T * ROW);
    mw_rng_fill_normal(&rng, k, T * ROW);
    mw_rng_fill_normal(&rng, value, T * ROW);
    mw_causal_forward(early, weights, q, k, value, scratch, T, H, C);
    for (int i = 6 * ROW; i < T * ROW; i++) q[i] = k[i] = value[i] = NAN;
    mw_causal_forward(message, weights, q, k, value, scratch, T, H, C);
    assert_memory_equal(message, early, 6 * ROW * sizeof *message);
    mw_causal_forward(message, weights, q, k, value, scratch, 6, H, C);
    assert_memory_equal(message, early, 6 * ROW * sizeof *message);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_formula),
        cmocka_unit_test(batches_are_independent),
        cmocka_unit_test(past_against_formula),
        cmocka_unit_test(future_is_unseen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
