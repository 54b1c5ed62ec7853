/* Elementwise functions, norms, softmax and losses: forward against the formulas in double precision from the
 * C library over wide ranges, backward against central differences of those formulas. */
#include "differences.h"
#include "nn/ops.h"
#include "nn/vec.h"

/* ---- the formulas ---- */

static double silu(double x) {
    return x / (1 + exp(-x));
}
static double gelu(double x) {
    return 0.5 * x * erfc(-x * 0.70710678118654752);
}
static double mish(double x) {
    return x * tanh(x > 40 ? x : log1p(exp(x)));
}
static double squash(double x) {
    return tanh(x);
}
static double relu(double x) {
    return x > 0 ? x : 0;
}

enum { MOST_POINTS = 13000 };

/* Three activations come with their slopes; the values beside them must be those of the plain function. */
static void through_slope(float *dx, const float *dy, const float *x, int n,
                          void (*forward)(float *, const float *, int),
                          void (*with_slope)(float *, float *, const float *, int)) {
    static float y[MOST_POINTS], same[MOST_POINTS], slope[MOST_POINTS];
    forward(y, x, n);
    with_slope(same, slope, x, n);
    assert_memory_equal(same, y, (size_t)n * sizeof *y);
    memmove(dx, dy, (size_t)n * sizeof *dx);
    mw_multiply(dx, slope, n);
}
/* Hot functions are reached through the level in use, so their addresses are no constants. */
static void silu_forward(float *y, const float *x, int n) {
    mw_silu_forward(y, x, n);
}
static void gelu_forward(float *y, const float *x, int n) {
    mw_gelu_forward(y, x, n);
}
static void mish_forward(float *y, const float *x, int n) {
    mw_mish_forward(y, x, n);
}
static void relu_forward(float *y, const float *x, int n) {
    mw_relu_forward(y, x, n);
}
static void mish_backward(float *dx, const float *dy, const float *x, int n) {
    mw_mish_backward(dx, dy, x, n);
}
static void silu_backward(float *dx, const float *dy, const float *x, int n) {
    through_slope(dx, dy, x, n, mw_silu_forward, mw_silu_slope);
}
static void gelu_backward(float *dx, const float *dy, const float *x, int n) {
    through_slope(dx, dy, x, n, mw_gelu_forward, mw_gelu_slope);
}
static void relu_backward(float *dx, const float *dy, const float *x, int n) {
    through_slope(dx, dy, x, n, mw_relu_forward, mw_relu_slope);
}
static void squash_forward(float *y, const float *x, int n) {
    mw_squash(y, x, n);
}
static void squash_backward(float *dx, const float *dy, const float *x, int n) { /* as its callers do */
    for (int i = 0; i < n; i++) {
        float y;
        mw_squash(&y, &x[i], 1);
        dx[i] = dy[i] * (1 - y * y);
    }
}

typedef struct {
    const char *name;
    void (*forward)(float *, const float *, int);
    void (*backward)(float *, const float *, const float *, int);
    double (*formula)(double);
    double near; /* error allowed beside the relative one: gelu's formula and tanh's have an absolute error */
} activation;

static const activation activations[] = {
    {"silu", silu_forward, silu_backward, silu, 0},
    {"gelu", gelu_forward, gelu_backward, gelu, 4e-7},
    {"mish", mish_forward, mish_backward, mish, 0},
    {"relu", relu_forward, relu_backward, relu, 0},
    {"tanh", squash_forward, squash_backward, squash, 2e-7},
};
enum { ACTIVATIONS = sizeof activations / sizeof *activations };

/* Points from -1e4 to 1e4, dense around 0, and the edges of the exponential. */
static int points(float *x) {
    static const float edges[] = {0.0f,   -0.0f,  1e-30f,  -1e-30f,  1e-40f, -1e-40f, 20.0f,
                                  20.01f, -20.0f, 87.0f,   88.0f,    88.8f,  -87.0f,  -87.4f,
                                  -88.0f, -88.8f, -103.0f, -1000.0f, 1e15f,  -1e15f,  1e30f};
    int count = 0;
    for (int i = -6000; i <= 6000; i++) x[count++] = (float)sinh(i / 600.0);
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) x[count++] = edges[i];
    return count;
}

/* Within 6e-7 of the value. The exponential stops at exp(+-88), so that far below zero, where the function
 * has died away, up to 1e-37 of x may remain. */
static void activation_values(void **state) {
    (void)state;
    static float x[MOST_POINTS], y[MOST_POINTS];
    const int n = points(x);
    for (int k = 0; k < ACTIVATIONS; k++) {
        activations[k].forward(y, x, n);
        for (int i = 0; i < n; i++) {
            const double exact = activations[k].formula(x[i]);
            CHECK_ERROR(fabs(y[i] - exact),
                        (6e-7 + 1e-7 * fabs(x[i])) * fabs(exact) + 1e-37 * fabs(x[i]) + 1e-44 +
                            activations[k].near,
                        "%s(%g) = %g, not %g", activations[k].name, x[i], y[i], exact);
        }
    }
}

/* Slopes are of order 1: differences with step 1e-5 are good to 1e-10, single precision to some 1e-7; where
 * sigmoid(x) comes near 1, its rounding counts x times (x up to 16). */
static void activation_slopes(void **state) {
    (void)state;
    static float x[MOST_POINTS], ones[MOST_POINTS], slope[MOST_POINTS];
    const int n = points(x);
    for (int i = 0; i < n; i++) ones[i] = 1;
    for (int k = 0; k < ACTIVATIONS; k++) {
        activations[k].backward(slope, ones, x, n);
        for (int i = 0; i < n; i++) {
            const double h = 1e-5 * fmax(1, fabs(x[i]));
            if (activations[k].formula == relu && fabs(x[i]) < h) continue; /* the kink */
            const double exact =
                (activations[k].formula(x[i] + h) - activations[k].formula(x[i] - h)) / (2 * h);
            CHECK_ERROR(fabs(slope[i] - exact), 2e-6 + 1e-37 * fabs(x[i]), "%s'(%g) = %g, not %g",
                        activations[k].name, x[i], slope[i], exact);
        }
    }
}

/* Every length up to some vectors, in place, without a touch beyond the end and the same bits as in a long
 * array; NaN stays NaN and stays alone. */
static void activation_ends(void **state) {
    (void)state;
    enum { MOST = 50 };
    float x[MOST + 1], whole[MOST + 1], slope[MOST + 1], part[MOST + 1];
    for (int k = 0; k < ACTIVATIONS; k++)
        for (int n = 0; n <= MOST; n++) {
            for (int i = 0; i <= MOST; i++) x[i] = (float)(3 * sin(i + 1));
            activations[k].forward(whole, x, MOST + 1);
            memcpy(part, x, sizeof x);
            activations[k].forward(part, part, n);
            for (int i = 0; i <= MOST; i++) assert_true(part[i] == (i < n ? whole[i] : x[i]));
            activations[k].backward(slope, x, x, MOST + 1);
            memcpy(part, x, sizeof x);
            activations[k].backward(part, part, x, n);
            for (int i = 0; i <= MOST; i++) assert_true(part[i] == (i < n ? slope[i] : x[i]));
            if (n == 0) continue;
            x[n / 2] = NAN;
            activations[k].forward(part, x, n);
            for (int i = 0; i < n; i++) assert_true(i == n / 2 ? isnan(part[i]) : part[i] == whole[i]);
            x[n / 2] = INFINITY;
            activations[k].forward(part, x, n);
            assert_true(part[n / 2] == (float)activations[k].formula(INFINITY));
        }
}

/* ---- the vector functions behind them ---- */

static void exponential_and_logarithm(void **state) {
    (void)state;
    double worst_exp = 0, worst_log = 0;
    for (int i = 0; i <= 200000; i++) {
        const float x = -87.0f + 175.0f * (float)i / 200000;
        const double e = exp((double)x);
        worst_exp = fmax(worst_exp, fabs(mw_vec_exp(mw_vec_set(x))[0] / e - 1));
        const float p = (float)exp(-80 + 160.0 * i / 200000);
        worst_log = fmax(worst_log, fabs(mw_vec_log(mw_vec_set(p))[0] - log((double)p)) /
                                        fmax(1e-3, fabs(log((double)p))));
    }
    CHECK_NEAR(worst_exp, 0, 1.5e-7);
    CHECK_NEAR(worst_log, 0, 2.5e-7);
    assert_true(mw_vec_exp(mw_vec_set(0))[0] == 1 && mw_vec_log(mw_vec_set(1))[0] == 0);
    assert_true(isnan(mw_vec_exp(mw_vec_set(NAN))[0]) && isnan(mw_vec_log(mw_vec_set(NAN))[0]));
    assert_true(mw_vec_exp(mw_vec_set(-1e30f))[0] < 2e-38f && mw_vec_exp(mw_vec_set(1e30f))[0] > 1e38f);
}

/* ---- layer norm ---- */

typedef struct {
    double x[200], w[40], b[40], dy[200];
    int rows, c;
    double y[200];
} layer_case;

static double layer_objective(void *context) {
    layer_case *k = context;
    double sum = 0;
    for (int r = 0; r < k->rows; r++) {
        const double *x = k->x + r * k->c;
        double mean = 0, square = 0;
        for (int i = 0; i < k->c; i++) mean += x[i] / k->c;
        for (int i = 0; i < k->c; i++) square += (x[i] - mean) * (x[i] - mean) / k->c;
        for (int i = 0; i < k->c; i++) {
            k->y[r * k->c + i] = (x[i] - mean) / sqrt(square + 1e-5) * k->w[i] + k->b[i];
            sum += k->y[r * k->c + i] * k->dy[r * k->c + i];
        }
    }
    return sum;
}

static void layer_norm(void **state) {
    (void)state;
    static const int widths[] = {3, 5, 16, 17, 31, 40};
    for (size_t which = 0; which < sizeof widths / sizeof *widths; which++)
        for (int in_place = 0; in_place < 2; in_place++) {
            layer_case k = {.rows = 5, .c = widths[which]};
            const int n = k.rows * k.c;
            float x[200], w[40], b[40], dy[200], y[200], stats[10], dx[200], dw[40] = {0}, db[40] = {0};
            mw_rng rng = mw_rng_make(5, MW_RNG_TEST, which, 0, 0);
            draw_normals(&rng, x, k.x, (size_t)n);
            draw_normals(&rng, w, k.w, (size_t)k.c);
            draw_normals(&rng, b, k.b, (size_t)k.c);
            draw_normals(&rng, dy, k.dy, (size_t)n);
            mw_layernorm_forward(y, stats, x, w, b, k.rows, k.c);
            layer_objective(&k);
            CHECK_ERROR(differences_relative(y, k.y, (size_t)n), 1e-6, "layer norm of %d", k.c);
            memcpy(dx, dy, sizeof dx);
            mw_layernorm_backward(dx, dw, db, in_place ? dx : dy, x, stats, w, k.rows, k.c);
            CHECK_ERROR(differences_each(layer_objective, &k, k.x, dx, (size_t)n, 1e-5), 2e-6, "dx of %d",
                        k.c);
            CHECK_ERROR(differences_each(layer_objective, &k, k.w, dw, (size_t)k.c, 1e-5), 2e-6, "dw of %d",
                        k.c);
            CHECK_ERROR(differences_each(layer_objective, &k, k.b, db, (size_t)k.c, 1e-5), 2e-6, "db of %d",
                        k.c);
        }
}

/* Equal values have std 0 and give b; a large common offset costs digits but stays near; NaN and
 * infinity spoil their own row only. */
static void layer_norm_extremes(void **state) {
    (void)state;
    float x[3][4] = {{7, 7, 7, 7}, {1, NAN, 2, 3}, {1000, 1001, 1002, 1003}}, y[3][4], stats[6];
    const float w[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8};
    mw_layernorm_forward(y[0], stats, x[0], w, b, 3, 4);
    for (int i = 0; i < 4; i++) {
        assert_true(y[0][i] == b[i]);
        assert_true(isnan(y[1][i]));
        CHECK_NEAR(y[2][i], (i - 1.5) / sqrt(1.25 + 1e-5) * w[i] + b[i], 1e-5);
    }
    x[0][2] = INFINITY;
    mw_layernorm_forward(y[0], NULL, x[0], w, b, 1, 4);
    for (int i = 0; i < 4; i++) assert_false(isfinite(y[0][i]));
}

/* ---- group norm with Mish ---- */

enum { ADD_NONE, ADD_JOINT, ADD_ALL };

typedef struct {
    int t, s, c, groups, add_kind, repeat;
    double x[1200], w[40], b[40], add[1200], dy[1200], y[1200];
} group_case;

static double group_objective(void *context) {
    group_case *k = context;
    const int width = k->c / k->groups;
    double sum = 0;
    for (int q = 0; q < k->s; q++)
        for (int g = 0; g < k->groups; g++) {
            double mean = 0, square = 0;
            for (int pass = 0; pass < 3; pass++)
                for (int t = 0; t < k->t; t++)
                    for (int i = g * width; i < (g + 1) * width; i++) {
                        const int at = (t * k->s + q) * k->c + i;
                        const double count = (double)(k->t * width), d = k->x[at] - mean;
                        if (pass == 0) mean += k->x[at] / count;
                        if (pass == 1) square += d * d / count;
                        if (pass < 2) continue;
                        const double plus = k->add_kind == ADD_NONE    ? 0
                                            : k->add_kind == ADD_JOINT ? k->add[q / k->repeat * k->c + i]
                                                                       : k->add[at];
                        k->y[at] = mish(d / sqrt(square + 1e-5) * k->w[i] + k->b[i]) + plus;
                        sum += k->y[at] * k->dy[at];
                    }
        }
    return sum;
}

static void check_group(int t, int s, int c, int groups, int add_kind, int repeat) {
    static group_case k;
    static float x[1200], w[40], b[40], add[1200], dy[1200], y[1200], dx[1200], stats[400], dw[40], db[40];
    const size_t n = (size_t)(t * s * c);
    k = (group_case){.t = t, .s = s, .c = c, .groups = groups, .add_kind = add_kind, .repeat = repeat};
    mw_rng rng = mw_rng_make(6, MW_RNG_TEST, (uint64_t)c, (uint64_t)add_kind, 0);
    draw_normals(&rng, x, k.x, n);
    draw_normals(&rng, w, k.w, (size_t)c);
    draw_normals(&rng, b, k.b, (size_t)c);
    draw_normals(&rng, add, k.add, n);
    draw_normals(&rng, dy, k.dy, n);
    mw_groupnorm_mish_forward(y, stats, x, w, b, add_kind == ADD_NONE ? NULL : add,
                              add_kind == ADD_JOINT ? repeat : 0, t, s, c, groups);
    group_objective(&k);
    CHECK_ERROR(differences_relative(y, k.y, n), 1e-6, "group norm t %d s %d c %d", t, s, c);
    for (int i = 0; i < c; i++) dw[i] = db[i] = 0.5f; /* gradients of parameters are added to */
    memcpy(dx, dy, sizeof dx);
    mw_groupnorm_mish_backward(dx, dw, db, add_kind ? dx : dy, x, stats, w, b, t, s, c, groups);
    for (int i = 0; i < c; i++) dw[i] -= 0.5f, db[i] -= 0.5f;
    CHECK_ERROR(differences_each(group_objective, &k, k.x, dx, n, 1e-5), 3e-6, "dx t %d s %d c %d", t, s, c);
    CHECK_ERROR(differences_each(group_objective, &k, k.w, dw, (size_t)c, 1e-5), 3e-6, "dw t %d s %d c %d", t,
                s, c);
    CHECK_ERROR(differences_each(group_objective, &k, k.b, db, (size_t)c, 1e-5), 3e-6, "db t %d s %d c %d", t,
                s, c);
}

static void group_norm(void **state) {
    (void)state;
    check_group(4, 3, 8, 8, ADD_NONE, 0);
    check_group(6, 4, 16, 8, ADD_JOINT, 2);
    check_group(5, 6, 40, 8, ADD_JOINT, 3);
    check_group(7, 3, 24, 8, ADD_ALL, 0);
    check_group(1, 2, 32, 8, ADD_ALL, 0);
    check_group(3, 2, 9, 3, ADD_NONE, 0);
}

/* A NaN reaches its own group of its own sequence and nothing else. */
static void group_norm_nan(void **state) {
    (void)state;
    enum { T = 3, S = 2, C = 16 };
    float x[T * S * C], y[T * S * C], stats[S * 8 * 2], w[C], b[C] = {0};
    for (int i = 0; i < T * S * C; i++) x[i] = (float)sin(i);
    for (int i = 0; i < C; i++) w[i] = 1;
    x[(1 * S + 1) * C + 5] = NAN; /* sequence 1, channel 5 of group 2 */
    mw_groupnorm_mish_forward(y, stats, x, w, b, NULL, 0, T, S, C, 8);
    for (int i = 0; i < T * S * C; i++) assert_int_equal(!!isnan(y[i]), i / C % S == 1 && i % C / 2 == 2);
}

/* ---- softmax ---- */

typedef struct {
    int b, n, c;
    bool agents;
    double x[600], y[600], dy[600];
} softmax_case;

/* Both kinds are softmax over n values at a distance. */
static double softmax_objective(void *context) {
    softmax_case *k = context;
    const int rows = k->agents ? k->b * k->c : k->b * k->n, count = k->agents ? k->n : k->c;
    double total = 0;
    for (int r = 0; r < rows; r++) {
        const int first = k->agents ? r / k->c * k->n * k->c + r % k->c : r * k->c,
                  step = k->agents ? k->c : 1;
        double most = -INFINITY, sum = 0;
        for (int i = 0; i < count; i++) most = fmax(most, k->x[first + i * step]);
        for (int i = 0; i < count; i++) sum += exp(k->x[first + i * step] - most);
        for (int i = 0; i < count; i++) {
            k->y[first + i * step] = exp(k->x[first + i * step] - most) / sum;
            total += k->y[first + i * step] * k->dy[first + i * step];
        }
    }
    return total;
}

static void softmax(void **state) {
    (void)state;
    static const int shapes[][3] = {{1, 1, 1}, {2, 3, 5}, {3, 5, 32}, {2, 8, 33}, {4, 2, 17}, {1, 3, 16}};
    for (size_t which = 0; which < sizeof shapes / sizeof *shapes; which++)
        for (int agents = 0; agents < 2; agents++)
            for (int wide = 0; wide < 2; wide++) {
                static softmax_case k;
                static float y[600], dy[600], dx[600];
                k = (softmax_case){
                    shapes[which][0], shapes[which][1], shapes[which][2], agents, {0}, {0}, {0}};
                const int n = k.b * k.n * k.c;
                mw_rng rng = mw_rng_make(7, MW_RNG_TEST, which, 0, 0);
                draw_normals(&rng, y, NULL, (size_t)n);
                draw_normals(&rng, dy, k.dy, (size_t)n);
                for (int i = 0; i < n; i++) k.x[i] = y[i] *= wide ? 4.0f : 1.0f;
                agents ? mw_softmax_agents(y, k.b, k.n, k.c) : mw_softmax_rows(y, k.b * k.n, k.c);
                softmax_objective(&k);
                CHECK_ERROR(differences_relative(y, k.y, (size_t)n), 1e-6, "softmax %zu", which);
                memcpy(dx, dy, sizeof dx);
                agents ? mw_softmax_agents_backward(dx, wide ? dx : dy, y, k.b, k.n, k.c)
                       : mw_softmax_rows_backward(dx, wide ? dx : dy, y, k.b * k.n, k.c);
                if (n > 1)
                    CHECK_ERROR(differences_each(softmax_objective, &k, k.x, dx, (size_t)n, 1e-5), 5e-6,
                                "softmax %zu", which);
            }
}

static void softmax_extremes(void **state) {
    (void)state;
    float rows[3][4] = {{1e30f, 0, -1e30f, 3}, {5, NAN, 1, 2}, {-3e38f, -3e38f, -3e38f, -3e38f}};
    mw_softmax_rows(rows[0], 3, 4);
    assert_true(rows[0][0] == 1 && rows[0][1] < 1e-30f && rows[0][2] < 1e-30f && rows[0][3] < 1e-30f);
    for (int i = 0; i < 4; i++) {
        assert_true(isnan(rows[1][i]));
        CHECK_NEAR(rows[2][i], 0.25, 1e-7);
    }
    float agents[2][3] = {{1, NAN, 1e30f}, {2, 0, -1e30f}};
    mw_softmax_agents(agents[0], 1, 2, 3);
    CHECK_NEAR(agents[0][0] + agents[1][0], 1, 2e-7);
    assert_true(isnan(agents[0][1]) && isnan(agents[1][1]));
    assert_true(agents[0][2] == 1 && agents[1][2] < 1e-30f);
}

/* ---- sums and losses ---- */

static void sums(void **state) {
    (void)state;
    enum { N = 1003 };
    static float x[N], y[N], kept[N];
    mw_rng rng = mw_rng_make(8, MW_RNG_TEST, 0, 0, 0);
    mw_rng_fill_normal(&rng, x, N);
    mw_rng_fill_normal(&rng, y, N);
    memcpy(kept, y, sizeof y);
    double dot = 0, columns[17] = {0};
    for (int i = 0; i < N; i++) dot += (double)x[i] * y[i];
    for (int i = 0; i < 59 * 17; i++) columns[i % 17] += x[i];
    CHECK_NEAR(mw_dot(x, y, N), dot, 1e-11);
    assert_true(mw_dot(x, y, 0) == 0);
    mw_add(y, x, N);
    for (int i = 0; i < N; i++) assert_true(y[i] == kept[i] + x[i]);
    float seen[17];
    for (int i = 0; i < 17; i++) seen[i] = 1;
    mw_column_sums(seen, x, 59, 17);
    for (int i = 0; i < 17; i++) CHECK_NEAR(seen[i], columns[i] + 1, 1e-5);
}

static void squared_error(void **state) {
    (void)state;
    enum { N = 37 };
    float x[N], target[N], dx[N];
    double sum = 0;
    mw_rng rng = mw_rng_make(9, MW_RNG_TEST, 0, 0, 0);
    mw_rng_fill_normal(&rng, x, N);
    mw_rng_fill_normal(&rng, target, N);
    const double seen = mw_mse(dx, x, target, N, 0.25f);
    for (int i = 0; i < N; i++) {
        const double d = (double)x[i] - target[i];
        sum += d * d;
        CHECK_NEAR(dx[i], 2 * 0.25 * d, 1e-6);
    }
    CHECK_NEAR(seen, sum, 1e-5);
    CHECK_NEAR(mw_mse(NULL, x, target, N, 1), sum, 1e-5);
    x[3] = NAN;
    assert_true(isnan(mw_mse(NULL, x, target, N, 1)));
}

typedef struct {
    double x[11];
    const uint8_t *legal;
    int label;
} entropy_case;

static double entropy_objective(void *context) {
    const entropy_case *k = context;
    double most = -INFINITY, sum = 0;
    for (int i = 0; i < 11; i++)
        if (!k->legal || k->legal[i]) most = fmax(most, k->x[i]);
    for (int i = 0; i < 11; i++)
        if (!k->legal || k->legal[i]) sum += exp(k->x[i] - most);
    return 0.5 * (log(sum) + most - k->x[k->label]);
}

static void cross_entropy(void **state) {
    (void)state;
    const uint8_t some[11] = {1, 0, 1, 1, 0, 0, 1, 1, 0, 1, 0}, one[11] = {0, 0, 0, 1};
    const uint8_t *const masks[] = {NULL, some, one};
    for (int which = 0; which < 3; which++)
        for (int large = 0; large < 2; large++) {
            entropy_case k = {{0}, masks[which], 3};
            float x[11], dx[11];
            mw_rng rng = mw_rng_make(10, MW_RNG_TEST, 0, 0, 0);
            draw_normals(&rng, x, k.x, 11);
            if (large) k.x[1] = x[1] = 300; /* illegal in the masks: it must not count */
            CHECK_NEAR(0.5 * mw_cross_entropy(dx, x, k.legal, 3, 11, 0.5f), entropy_objective(&k), 1e-6);
            CHECK_ERROR(differences_each(entropy_objective, &k, k.x, dx, 11, 1e-5), 1e-6, "mask %d", which);
            CHECK_NEAR(mw_cross_entropy(NULL, x, k.legal, 3, 11, 1), 2 * entropy_objective(&k), 1e-6);
            x[0] = NAN;
            if (which < 2) assert_true(isnan(mw_cross_entropy(dx, x, k.legal, 3, 11, 1)));
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(activation_values),
        cmocka_unit_test(activation_slopes),
        cmocka_unit_test(activation_ends),
        cmocka_unit_test(exponential_and_logarithm),
        cmocka_unit_test(layer_norm),
        cmocka_unit_test(layer_norm_extremes),
        cmocka_unit_test(group_norm),
        cmocka_unit_test(group_norm_nan),
        cmocka_unit_test(softmax),
        cmocka_unit_test(softmax_extremes),
        cmocka_unit_test(sums),
        cmocka_unit_test(squared_error),
        cmocka_unit_test(cross_entropy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
