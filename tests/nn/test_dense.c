/* Linear maps and convolutions against PyTorch's definitions, written out in double precision on weights in
 * the order of PyTorch's files and on sequences [row][channel][time]. All of it is linear in x, w and b, so
 * differences of the definition with step 1 are its exact gradients. */
#include "differences.h"
#include "nn/gemm.h"
#include "nn/param.h"

enum { MOST = 20000 };

typedef struct {
    mw_dense layer;
    mw_params params;
    int t, steps, rows;
    double x[MOST], w[MOST], b[100], y[MOST], dy[MOST]; /* [row][channel][time]; w as in files */
} dense_case;

/* Conv1d: y[o][j] = b[o] + sum over i, k of w[o][i][k] x[i][stride*j + k - padding]. */
static void convolution(dense_case *c, int row, int stride, int padding) {
    const mw_dense *l = &c->layer;
    for (int o = 0; o < l->out; o++)
        for (int j = 0; j < c->steps; j++) {
            double sum = l->bias ? c->b[o] : 0;
            for (int i = 0; i < l->in; i++)
                for (int k = 0; k < l->taps; k++) {
                    const int from = stride * j + k - padding;
                    if (from < 0 || from >= c->t) continue;
                    sum += c->w[(o * l->in + i) * l->taps + k] * c->x[(row * l->in + i) * c->t + from];
                }
            c->y[(row * l->out + o) * c->steps + j] = sum;
        }
}

/* ConvTranspose1d: every x[i][j] adds w[i][o][k] x[i][j] to y[o][stride*j + k - padding]. */
static void transposed(dense_case *c, int row, int stride, int padding) {
    const mw_dense *l = &c->layer;
    for (int o = 0; o < l->out; o++) {
        double *y = c->y + (row * l->out + o) * c->steps;
        for (int j = 0; j < c->steps; j++) y[j] = c->b[o];
        for (int i = 0; i < l->in; i++)
            for (int j = 0; j < c->t; j++)
                for (int k = 0; k < l->taps; k++) {
                    const int to = stride * j + k - padding;
                    if (to >= 0 && to < c->steps)
                        y[to] += c->w[(i * l->out + o) * l->taps + k] * c->x[(row * l->in + i) * c->t + j];
                }
    }
}

/* A bare matrix is stored as [in][out]. */
static void matrix(dense_case *c, int row) {
    const mw_dense *l = &c->layer;
    for (int o = 0; o < l->out; o++)
        for (int j = 0; j < c->t; j++) {
            double sum = 0;
            for (int i = 0; i < l->in; i++) sum += c->w[i * l->out + o] * c->x[(row * l->in + i) * c->t + j];
            c->y[(row * l->out + o) * c->steps + j] = sum;
        }
}

static double objective(void *context) {
    dense_case *c = context;
    for (int row = 0; row < c->rows; row++) {
        if (!c->layer.bias)
            matrix(c, row);
        else if (c->layer.kind == MW_CONV_UP)
            transposed(c, row, 2, 1);
        else if (c->layer.kind == MW_CONV_DOWN)
            convolution(c, row, 2, 1);
        else
            convolution(c, row, 1, c->layer.taps / 2);
    }
    double sum = 0;
    for (int i = 0; i < c->rows * c->layer.out * c->steps; i++) sum += c->y[i] * c->dy[i];
    return sum;
}

/* Between the engine's [t][rows][c] and [rows][c][t]. */
static void to_engine(float *out, const double *in, int t, int rows, int c) {
    for (int i = 0; i < t * rows * c; i++) out[i] = (float)in[(i / c % rows * c + i % c) * t + i / c / rows];
}
static void from_engine(float *out, const float *in, int t, int rows, int c) {
    for (int i = 0; i < t * rows * c; i++) out[(i / c % rows * c + i % c) * t + i / c / rows] = in[i];
}

typedef enum { LINEAR, MATRIX, SAME, DOWN, UP } layer_kind;

static mw_dense make(mw_params *params, layer_kind kind, int in, int out, int taps) {
    switch (kind) {
    case LINEAR:
        return mw_dense_linear(params, "layer", in, out);
    case MATRIX:
        return mw_dense_matrix(params, "layer", in, out, MW_INIT_NORMAL, 0.02f);
    case SAME:
        return mw_dense_conv(params, "layer", MW_CONV_SAME, in, out, taps);
    case DOWN:
        return mw_dense_conv(params, "layer", MW_CONV_DOWN, in, out, 3);
    default:
        return mw_dense_conv(params, "layer", MW_CONV_UP, in, out, 4);
    }
}

static float *floats(size_t count) {
    float *at = aligned_alloc(64, (count * sizeof(float) / 64 + 1) * 64);
    assert_non_null(at);
    memset(at, 0, count * sizeof *at);
    return at;
}

static void check(layer_kind kind, int in, int out, int taps, int t, int rows) {
    static dense_case c;
    static float x[MOST], y[MOST], dy[MOST], dx[MOST], seen[MOST], w[MOST];
    c = (dense_case){.t = t, .rows = rows};
    c.layer = make(&c.params, kind, in, out, taps);
    c.steps = mw_dense_time(&c.layer, t);
    assert_int_equal(c.steps, kind == DOWN ? (t + 2 - 3) / 2 + 1 : kind == UP ? (t - 1) * 2 - 2 + 4 : t);
    const int count_x = t * rows * in, count_y = c.steps * rows * out, count_w = c.layer.taps * in * out;
    mw_rng rng = mw_rng_make(11, MW_RNG_TEST, (uint64_t)kind, (uint64_t)in, (uint64_t)t);
    draw_normals(&rng, seen, c.x, (size_t)count_x);
    draw_normals(&rng, w, c.w, (size_t)count_w);
    draw_normals(&rng, seen, c.b, (size_t)out);
    draw_normals(&rng, dy, c.dy, (size_t)count_y);
    float *values = floats(c.params.total), *packed = floats(c.params.packed),
          *grads = floats(c.params.total);
    float *scratch = floats(mw_dense_scratch(&c.layer, t, rows));
    mw_param_from_file(&c.params.list[0], w, values);
    for (int i = 0; c.layer.bias && i < out; i++) values[c.layer.b + (size_t)i] = (float)c.b[i];
    mw_dense_pack(&c.layer, values, packed, true);
    to_engine(x, c.x, t, rows, in);
    mw_dense_forward(&c.layer, y, x, values, packed, t, rows);
    from_engine(seen, y, c.steps, rows, out);
    objective(&c);
    const double size = sqrt((double)(in * c.layer.taps)) * 1e-7, sums = sqrt((double)(t * rows)) * 1e-7;
    CHECK_ERROR(differences_relative(seen, c.y, (size_t)count_y), 4e-7 + size, "forward of kind %d, %d to %d",
                kind, in, out);

    to_engine(dy, c.dy, c.steps, rows, out);
    mw_dense_backward(&c.layer, dx, grads, dy, x, packed, scratch, t, rows);
    from_engine(seen, dx, t, rows, in);
    CHECK_ERROR(differences_each(objective, &c, c.x, seen, (size_t)count_x, 1), 4e-7 + size,
                "dx of kind %d, %d to %d", kind, in, out);
    mw_param_to_file(&c.params.list[0], grads, seen);
    CHECK_ERROR(differences_each(objective, &c, c.w, seen, (size_t)count_w, 1), 4e-7 + sums,
                "dw of kind %d, %d to %d", kind, in, out);
    if (c.layer.bias)
        CHECK_ERROR(differences_each(objective, &c, c.b, grads + c.layer.b, (size_t)out, 1), 4e-7 + sums,
                    "db of kind %d, %d to %d", kind, in, out);
    /* once more, without dx: gradients are added to */
    mw_dense_backward(&c.layer, NULL, grads, dy, x, packed, scratch, t, rows);
    for (int i = 0; i < count_w; i++) seen[i] *= 2;
    float twice[MOST / 4];
    mw_param_to_file(&c.params.list[0], grads, twice);
    for (int i = 0; i < count_w; i++) CHECK_NEAR(twice[i], seen[i], 1e-3);
    free(values);
    free(packed);
    free(grads);
    free(scratch);
    mw_params_free(&c.params);
}

static void linear(void **state) {
    (void)state;
    check(LINEAR, 1, 1, 1, 1, 1);
    check(LINEAR, 5, 7, 1, 1, 3);
    check(LINEAR, 17, 33, 1, 1, 29);
    check(LINEAR, 3, 2, 1, 4, 5); /* per time step */
}

static void bare_matrix(void **state) {
    (void)state;
    check(MATRIX, 5, 7, 1, 1, 3);
    check(MATRIX, 20, 32, 1, 1, 6);
    check(MATRIX, 3, 37, 1, 1, 15);
}

static void same_length(void **state) {
    (void)state;
    check(SAME, 3, 4, 1, 5, 2);
    check(SAME, 5, 7, 5, 6, 3);
    check(SAME, 3, 17, 5, 1, 2); /* shorter than the taps: nearly all is padding */
    check(SAME, 18, 16, 5, 3, 2);
    check(SAME, 2, 33, 5, 7, 1);
    check(SAME, 4, 5, 3, 4, 3);
}

static void shrinking(void **state) {
    (void)state;
    check(DOWN, 3, 5, 3, 4, 2);
    check(DOWN, 7, 16, 3, 6, 3);
    check(DOWN, 4, 3, 3, 5, 2); /* odd lengths */
    check(DOWN, 2, 3, 3, 1, 2);
}

static void growing(void **state) {
    (void)state;
    check(UP, 3, 5, 4, 3, 2);
    check(UP, 7, 16, 4, 2, 3);
    check(UP, 17, 4, 4, 5, 1);
    check(UP, 2, 3, 4, 1, 2);
}

/* Sums over rows and steps go in blocks; sizes around the blocks' edges. One input, one output: the gradient
 * of w is a dot product. */
static void long_sums(void **state) {
    (void)state;
    static const int shapes[][2] = {{1, 255}, {1, 256}, {1, 257}, {1, 700},
                                    {3, 100}, {9, 128}, {5, 257}, {300, 1}};
    static float x[3000], dy[3000], grads[64], scratch[3000 * MW_WIDEST_PANEL], values[64];
    float *packed = floats(4096);
    mw_rng rng = mw_rng_make(12, MW_RNG_TEST, 0, 0, 0);
    mw_rng_fill_normal(&rng, x, 3000);
    mw_rng_fill_normal(&rng, dy, 3000);
    for (size_t which = 0; which < sizeof shapes / sizeof *shapes; which++) {
        const int t = shapes[which][0], rows = shapes[which][1];
        mw_params params = {0};
        mw_dense layer = mw_dense_conv(&params, "layer", MW_CONV_SAME, 1, 1, 5);
        assert_true(params.total <= 64 && params.packed <= 4096);
        mw_dense_pack(&layer, values, packed, true);
        memset(grads, 0, sizeof grads);
        mw_dense_backward(&layer, NULL, grads, dy, x, packed, scratch, t, rows);
        for (int tap = 0; tap < 5; tap++) {
            double sum = 0;
            for (int step = 0; step < t; step++)
                for (int row = 0; row < rows; row++)
                    if (step + tap - 2 >= 0 && step + tap - 2 < t)
                        sum += (double)dy[step * rows + row] * x[(step + tap - 2) * rows + row];
            CHECK_NEAR(grads[layer.w + (size_t)tap], sum, 1e-6 * t * rows);
        }
        mw_params_free(&params);
    }
    free(packed);
}

/* No rows at all: gradients stay as they are. */
static void nothing(void **state) {
    (void)state;
    float grads[64], packed[4096], scratch[64], values[64] = {0};
    mw_params params = {0};
    mw_dense layer = mw_dense_linear(&params, "layer", 3, 2);
    mw_dense_pack(&layer, values, packed, true);
    for (int i = 0; i < 64; i++) grads[i] = (float)i;
    mw_dense_forward(&layer, scratch, scratch, values, packed, 1, 0);
    mw_dense_backward(&layer, scratch, grads, scratch, scratch, packed, scratch, 1, 0);
    for (int i = 0; i < 64; i++) assert_true(grads[i] == i);
    mw_params_free(&params);
}

/* The same bits for a row, whatever the number of rows computed with it. */
static void batches_keep_the_bits(void **state) {
    (void)state;
    enum { IN = 13, OUT = 37, T = 6, ROWS = 9 };
    static float x[T * ROWS * IN], all[T * ROWS * OUT], one[T * OUT], row_x[T * IN];
    for (int kind = 0; kind < 3; kind++) {
        mw_params params = {0};
        mw_dense layer = make(&params, kind == 0 ? SAME : kind == 1 ? DOWN : UP, IN, OUT, 5);
        const int steps = mw_dense_time(&layer, T / 2 * 1);
        float *values = floats(params.total), *packed = floats(params.packed);
        mw_params_init(&params, values, 4);
        mw_dense_pack(&layer, values, packed, false);
        mw_rng rng = mw_rng_make(13, MW_RNG_TEST, 0, 0, 0);
        mw_rng_fill_normal(&rng, x, sizeof x / sizeof *x);
        mw_dense_forward(&layer, all, x, values, packed, T / 2, ROWS);
        for (int row = 0; row < ROWS; row++) {
            for (int t = 0; t < T / 2; t++) memcpy(row_x + t * IN, x + (t * ROWS + row) * IN, IN * sizeof *x);
            mw_dense_forward(&layer, one, row_x, values, packed, T / 2, 1);
            for (int t = 0; t < steps; t++)
                assert_memory_equal(one + t * OUT, all + (t * ROWS + row) * OUT, OUT * sizeof *one);
        }
        free(values);
        free(packed);
        mw_params_free(&params);
    }
}

/* Operations counted by hand: padding costs nothing. */
static void operations(void **state) {
    (void)state;
    mw_params params = {0};
    mw_dense same = make(&params, SAME, 3, 7, 5), down = make(&params, DOWN, 3, 7, 3),
             up = make(&params, UP, 3, 7, 4);
    CHECK_NEAR(mw_dense_flops(&same, 4, 2), 2 * (3 + 4 + 4 + 3) * 2 * 3 * 7, 0);
    CHECK_NEAR(mw_dense_flops(&down, 4, 2), 2 * (2 + 3) * 2 * 3 * 7, 0);
    CHECK_NEAR(mw_dense_flops(&up, 2, 2), 2 * (1 + 2 + 2 + 1) * 2 * 3 * 7, 0);
    mw_params_free(&params);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear),      cmocka_unit_test(bare_matrix),
        cmocka_unit_test(same_length), cmocka_unit_test(shrinking),
        cmocka_unit_test(growing),     cmocka_unit_test(long_sums),
        cmocka_unit_test(nothing),     cmocka_unit_test(batches_keep_the_bits),
        cmocka_unit_test(operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
