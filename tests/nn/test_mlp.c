/* Perceptrons against layers written out in double precision, and their gradients against differences of
 * those; more rows than are computed together, and the same bits with and without kept values. */
#include "differences.h"
#include "nn/mlp.h"

enum { WIDE = 24, MOST_ROWS = 400 };

typedef struct {
    mw_mlp mlp;
    mw_params params;
    int rows;
    double *values, x[MOST_ROWS * WIDE], y[MOST_ROWS * WIDE], dy[MOST_ROWS * WIDE];
} mlp_case;

static double activate(const mlp_case *c, double x) {
    return c->mlp.activation == MW_SILU ? x / (1 + exp(-x)) : x > 0 ? x : 0;
}

static double objective(void *context) {
    mlp_case *c = context;
    double sum = 0;
    for (int r = 0; r < c->rows; r++) {
        double in[WIDE], out[WIDE];
        memcpy(in, c->x + r * c->mlp.layer[0].in, (size_t)c->mlp.layer[0].in * sizeof *in);
        for (int l = 0; l < c->mlp.layers; l++) {
            const mw_dense *layer = &c->mlp.layer[l];
            for (int o = 0; o < layer->out; o++) {
                out[o] = c->values[layer->b + (size_t)o];
                for (int i = 0; i < layer->in; i++)
                    out[o] += c->values[layer->w + (size_t)(i * layer->out + o)] * in[i];
                if (l + 1 < c->mlp.layers) out[o] = activate(c, out[o]);
            }
            memcpy(in, out, sizeof in);
        }
        const int last = c->mlp.layer[c->mlp.layers - 1].out;
        memcpy(c->y + r * last, out, (size_t)last * sizeof *out);
        for (int o = 0; o < last; o++) sum += out[o] * c->dy[r * last + o];
    }
    return sum;
}

static mw_arena arena_for(const mw_mlp *mlp, mw_mlp_acts *acts, int rows, bool training) {
    mw_arena arena = {0};
    mw_error error = {0};
    mw_mlp_acts_take(mlp, acts, &arena, rows, training);
    CHECK_OK(mw_arena_create(&arena, arena.used, &error), error);
    mw_mlp_acts_take(mlp, acts, &arena, rows, training);
    return arena;
}

static void check(const int *sizes, int layers, mw_activation activation, int rows) {
    static mlp_case c;
    static float x[MOST_ROWS * WIDE], dy[MOST_ROWS * WIDE], dx[MOST_ROWS * WIDE], values[4096], grads[4096],
        packed[40000];
    static double wide[4096];
    c = (mlp_case){.rows = rows, .values = wide};
    c.mlp = mw_mlp_make(&c.params, "mlp", sizes, layers, activation);
    assert_true(c.params.total <= 4096 && c.params.packed <= 40000);
    const size_t count_x = (size_t)(rows * sizes[0]), count_y = (size_t)(rows * sizes[layers]);
    mw_rng rng = mw_rng_make(16, MW_RNG_TEST, (uint64_t)layers, (uint64_t)rows, 0);
    draw_normals(&rng, x, c.x, count_x);
    draw_normals(&rng, dy, c.dy, count_y);
    memset(values, 0, sizeof values);
    mw_params_init(&c.params, values, 5);
    for (size_t i = 0; i < c.params.total; i++) wide[i] = values[i];
    mw_mlp_pack(&c.mlp, values, packed, true);
    mw_mlp_acts kept, lean;
    mw_arena one = arena_for(&c.mlp, &kept, rows, true), two = arena_for(&c.mlp, &lean, rows, false);
    const float *y = mw_mlp_forward(&c.mlp, &kept, x, values, packed, rows);
    objective(&c);
    CHECK_ERROR(differences_relative(y, c.y, count_y), 1e-6, "%d layers, %d rows", layers, rows);
    assert_memory_equal(y, mw_mlp_forward(&c.mlp, &lean, x, values, packed, rows), count_y * sizeof *y);

    memset(grads, 0, sizeof grads);
    memcpy(kept.pre[layers - 1], dy, count_y * sizeof *dy); /* allowed: dy in the output's place */
    mw_mlp_backward(&c.mlp, &kept, dx, grads, kept.pre[layers - 1], x, packed, rows);
    if (rows <= 8) {
        CHECK_ERROR(differences_each(objective, &c, c.x, dx, count_x, 1e-5), 2e-6, "dx, %d rows", rows);
        CHECK_ERROR(differences_each(objective, &c, wide, grads, c.params.total, 1e-5), 2e-6, "dw, %d rows",
                    rows);
    } else { /* every parameter at once is too slow; the first layer's bias and the last's see all rows */
        const mw_dense *const ends[] = {&c.mlp.layer[0], &c.mlp.layer[layers - 1]};
        for (int i = 0; i < 2; i++)
            CHECK_ERROR(differences_each(objective, &c, wide + ends[i]->b, grads + ends[i]->b,
                                         (size_t)ends[i]->out, 1e-5),
                        5e-6, "db, %d rows", rows);
        CHECK_ERROR(differences_each(objective, &c, wide + ends[1]->w, grads + ends[1]->w, 20, 1e-5), 5e-6,
                    "dw, %d rows", rows);
    }
    static float again[4096];
    memset(again, 0, sizeof again);
    memcpy(kept.pre[layers - 1], dy, count_y * sizeof *dy);
    mw_mlp_backward(&c.mlp, &kept, NULL, again, kept.pre[layers - 1], x, packed, rows);
    assert_memory_equal(again, grads, sizeof grads);
    mw_arena_free(&one);
    mw_arena_free(&two);
    mw_params_free(&c.params);
}

static void against_layers(void **state) {
    (void)state;
    for (int activation = MW_RELU; activation <= MW_SILU; activation++) {
        check((int[]){5, 7, 6, 3}, 3, activation, 4);
        check((int[]){5, 3}, 1, activation, 3);
        check((int[]){1, 17, 2}, 2, activation, 1);
        check((int[]){3, 5, 4, 6, 5, 1}, 5, activation, 8);
        check((int[]){9, 24, 24, 2}, 3, activation, 8);
    }
}

/* Around the number of rows that go through the layers together. */
static void many_rows(void **state) {
    (void)state;
    static const int rows[] = {14, 111, 112, 113, 224, 225, 400};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check((int[]){7, 24, 11, 5}, 3, MW_SILU, rows[i]);
}

static void rows_keep_the_bits(void **state) {
    (void)state;
    static float x[400 * 7], values[4096], packed[40000], all[400 * 5];
    mw_params params = {0};
    mw_mlp mlp = mw_mlp_make(&params, "mlp", (int[]){7, 24, 11, 5}, 3, MW_SILU);
    mw_mlp_acts acts;
    mw_arena arena = arena_for(&mlp, &acts, 400, false);
    mw_rng rng = mw_rng_make(17, MW_RNG_TEST, 0, 0, 0);
    mw_rng_fill_normal(&rng, x, 400 * 7);
    mw_params_init(&params, values, 5);
    mw_mlp_pack(&mlp, values, packed, false);
    memcpy(all, mw_mlp_forward(&mlp, &acts, x, values, packed, 400), sizeof all);
    for (int first = 0, count = 1; first < 400; first += count, count = count * 3 + 1) {
        if (first + count > 400) count = 400 - first;
        const float *part = mw_mlp_forward(&mlp, &acts, x + first * 7, values, packed, count);
        assert_memory_equal(part, all + first * 5, (size_t)(count * 5) * sizeof *all);
    }
    mw_arena_free(&arena);
    mw_params_free(&params);
}

static void names_and_operations(void **state) {
    (void)state;
    mw_params params = {0};
    mw_mlp mlp = mw_mlp_make(&params, "reward.experts.3", (int[]){7, 24, 11, 5}, 3, MW_SILU);
    assert_int_equal(params.count, 6);
    assert_non_null(mw_params_find(&params, "reward.experts.3.0.weight"));
    assert_non_null(mw_params_find(&params, "reward.experts.3.2.bias"));
    assert_non_null(mw_params_find(&params, "reward.experts.3.4.weight"));
    CHECK_NEAR(mw_mlp_flops(&mlp, 3), 2 * 3 * (7 * 24 + 24 * 11 + 11 * 5), 0);
    mw_params_free(&params);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_layers),
        cmocka_unit_test(many_rows),
        cmocka_unit_test(rows_keep_the_bits),
        cmocka_unit_test(names_and_operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
