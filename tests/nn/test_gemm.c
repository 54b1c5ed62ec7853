/* Packed products against sums in double precision, for every height of a tile, odd widths and depths,
 * several parts, bias, accumulation and a transposed left side; and the promise that splitting rows changes
 * no bit. */
#include "differences.h"
#include "nn/gemm.h"

enum { MOST = 30, WIDE = 70, DEEP = 41, PARTS = 3, UNTOUCHED = 77 };

static float a[PARTS][MOST * DEEP], b[PARTS][DEEP * WIDE], bias[WIDE], c[(MOST + 1) * (WIDE + 3)];
static float packed[PARTS][DEEP * (WIDE + MW_WIDEST_PANEL)], start[(MOST + 1) * (WIDE + 3)];

static void draw_all(void) {
    mw_rng rng = mw_rng_make(3, MW_RNG_TEST, 1, 0, 0);
    for (int p = 0; p < PARTS; p++) {
        mw_rng_fill_normal(&rng, a[p], MOST * DEEP);
        mw_rng_fill_normal(&rng, b[p], DEEP * WIDE);
    }
    mw_rng_fill_normal(&rng, bias, WIDE);
    mw_rng_fill_normal(&rng, start, sizeof start / sizeof *start);
}

typedef struct {
    int m, n, k, parts;
    bool transposed, bias, accumulate;
} product;

/* Fills the shape and packs; c has three columns and a row more than the result, which must stay. */
static mw_gemm prepare(const product *p, mw_part *parts) {
    for (int i = 0; i < p->parts; i++) {
        mw_pack(packed[i], b[i], WIDE, p->k, p->n);
        parts[i] = (mw_part){a[i], packed[i], 0};
    }
    memcpy(c, start, sizeof c);
    return (mw_gemm){.m = p->m,
                     .n = p->n,
                     .k = p->k,
                     .a_row = p->transposed ? 1 : DEEP,
                     .a_col = p->transposed ? MOST : 1,
                     .b_rows = p->k,
                     .c_row = p->n + 3,
                     .bias = p->bias ? bias : NULL,
                     .accumulate = p->accumulate};
}

/* A chain of K fused steps errs by at most K/2^24 of the sum of magnitudes; bias and old value add two. */
static void check_product(const product *p) {
    mw_part parts[PARTS];
    mw_gemm shape = prepare(p, parts);
    mw_gemm_parts(&shape, parts, p->parts, c);
    for (int i = 0; i <= MOST; i++)
        for (int j = 0; j < p->n + 3; j++) {
            const long at = (long)i * (p->n + 3) + j;
            if (i >= p->m || j >= p->n) {
                if (c[at] != start[at])
                    fail_msg("m %d n %d k %d: element (%d,%d) outside was written", p->m, p->n, p->k, i, j);
                continue;
            }
            double sum = p->accumulate ? start[at] : 0, size = fabs(sum);
            if (p->bias) sum += bias[j], size += fabs(bias[j]);
            for (int part = 0; part < p->parts; part++)
                for (int k = 0; k < p->k; k++) {
                    double term = (double)a[part][i * shape.a_row + k * shape.a_col] * b[part][k * WIDE + j];
                    sum += term;
                    size += fabs(term);
                }
            CHECK_ERROR(fabs(c[at] - sum), (p->k * p->parts + 2) * size / (1 << 24),
                        "m %d n %d k %d parts %d: element (%d,%d)", p->m, p->n, p->k, p->parts, i, j);
        }
}

static void against_sums(void **state) {
    (void)state;
    static const int widths[] = {1, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 64, 70},
                     depths[] = {0, 1, 2, 7, 41};
    draw_all();
    for (int m = 1; m <= MOST; m++)
        for (size_t n = 0; n < sizeof widths / sizeof *widths; n++)
            for (size_t k = 0; k < sizeof depths / sizeof *depths; k++) {
                const int turn = m + (int)n + (int)k; /* all combinations meet over the loops */
                check_product(
                    &(product){m, widths[n], depths[k], 1 + turn % PARTS, turn & 1, turn & 2, turn & 4});
                check_product(&(product){m, widths[n], depths[k], 1, turn & 2, turn & 4, turn & 1});
            }
}

static void row_splits_keep_the_bits(void **state) {
    (void)state;
    draw_all();
    static float whole[sizeof c / sizeof *c];
    for (int n = 5; n <= WIDE; n += 13)
        for (int transposed = 0; transposed < 2; transposed++) {
            mw_part parts[PARTS];
            product p = {MOST, n, DEEP, PARTS, transposed, true, true};
            mw_gemm shape = prepare(&p, parts);
            mw_gemm_parts(&shape, parts, PARTS, c);
            memcpy(whole, c, sizeof c);
            for (int first = 1; first < MOST; first++) { /* rows [0, first) and [first, MOST) apart */
                mw_gemm piece = prepare(&p, parts);
                piece.m = first;
                mw_gemm_parts(&piece, parts, PARTS, c);
                piece.m = MOST - first;
                for (int i = 0; i < PARTS; i++) parts[i].a += first * shape.a_row;
                mw_gemm_parts(&piece, parts, PARTS, c + first * shape.c_row);
                assert_memory_equal(c, whole, sizeof c);
            }
        }
}

static void packing(void **state) {
    (void)state;
    draw_all();
    static float transposed[WIDE * DEEP], other[DEEP * (WIDE + MW_WIDEST_PANEL)];
    for (int k = 0; k < DEEP; k++)
        for (int j = 0; j < WIDE; j++) transposed[j * DEEP + k] = b[0][k * WIDE + j];
    for (int rows = 1; rows <= DEEP; rows += 5)
        for (int columns = 1; columns <= WIDE; columns++) {
            const size_t size = mw_packed_size(rows, columns);
            for (size_t i = 0; i <= size; i++) packed[0][i] = other[i] = UNTOUCHED;
            mw_pack(packed[0], b[0], WIDE, rows, columns);
            mw_pack_transposed(other, transposed, DEEP, rows, columns);
            assert_memory_equal(packed[0], other, (size + 1) * sizeof(float));
            assert_true(packed[0][size] == UNTOUCHED);
            double in = 0, out = 0; /* every value is there once, and nothing else but zeros */
            for (int k = 0; k < rows; k++)
                for (int j = 0; j < columns; j++) in += fabs((double)b[0][k * WIDE + j]);
            for (size_t i = 0; i < size && packed[0][i] != UNTOUCHED; i++) out += fabs((double)packed[0][i]);
            CHECK_NEAR(out, in, 1e-9);
        }
}

static void plain_case(void **state) {
    (void)state;
    draw_all();
    static float dense[5 * 37], left[5 * DEEP];
    for (int i = 0; i < 5; i++) memcpy(left + i * DEEP, a[0] + i * DEEP, DEEP * sizeof(float));
    mw_pack(packed[0], b[0], WIDE, DEEP, 37);
    mw_gemm_packed(dense, left, packed[0], bias, 5, 37, DEEP);
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 37; j++) {
            double sum = bias[j];
            for (int k = 0; k < DEEP; k++) sum += (double)left[i * DEEP + k] * b[0][k * WIDE + j];
            CHECK_NEAR(dense[i * 37 + j], sum, 2e-5);
        }
    mw_gemm_packed(dense, left, packed[0], bias, 0, 37, DEEP); /* no rows: nothing happens */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_sums),
        cmocka_unit_test(row_splits_keep_the_bits),
        cmocka_unit_test(packing),
        cmocka_unit_test(plain_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
