/* Register-tiled products over packed panels; see gemm.h. */
#include "nn/gemm.h"

#include "nn/vec.h"

#define MW_PANEL (2 * MW_LANES)
#if MW_LANES == 16 || defined(__aarch64__)
#define MAX_ROWS 14 /* 28 accumulators, two of B and a broadcast fill the 32 registers */
#else
#define MAX_ROWS 6
#endif

_Static_assert(MW_WIDEST_PANEL % MW_PANEL == 0, "packed sizes hold at every level");

void mw_pack(float *packed, const float *b, long b_row, int rows, int columns) {
    for (int j = 0; j < columns; j += MW_PANEL) {
        const int width = columns - j < MW_PANEL ? columns - j : MW_PANEL;
        const int low = width < MW_LANES ? width : MW_LANES, high = width - low;
        const float *from = b + j;
        for (int k = 0; k < rows; k++, packed += MW_PANEL, from += b_row) {
            mw_vec_store(packed, mw_vec_load_part(from, low));
            mw_vec_store(packed + MW_LANES, high ? mw_vec_load_part(from + MW_LANES, high) : (mw_vec){0});
        }
    }
}

void mw_pack_transposed(float *packed, const float *b, long b_row, int rows, int columns) {
    for (int j = 0; j < columns; j += MW_PANEL, packed += (size_t)rows * MW_PANEL) {
        int width = columns - j < MW_PANEL ? columns - j : MW_PANEL;
        for (int k0 = 0; k0 < rows; k0 += MW_LANES) { /* blocks keep both sides in cache lines */
            int k1 = k0 + MW_LANES < rows ? k0 + MW_LANES : rows;
            for (int lane = 0; lane < width; lane++)
                for (int k = k0; k < k1; k++) packed[k * MW_PANEL + lane] = b[(j + lane) * b_row + k];
        }
        if (width < MW_PANEL)
            for (int k = 0; k < rows; k++)
                memset(packed + k * MW_PANEL + width, 0, (size_t)(MW_PANEL - width) * sizeof *b);
    }
}

/* One tile: `rows` x (vectors * MW_LANES) of c at column j. rows and vectors are constants after inlining. */
MW_INLINE void tile(const int rows, const int vectors, const mw_gemm *g, const mw_part *parts, int part_count,
                    long a_at, long b_at, float *c, int j) {
    mw_vec acc[MAX_ROWS * 2];
#pragma GCC unroll 28
    for (int i = 0; i < rows * vectors; i++) acc[i] = (mw_vec){0};
    const long a_row = g->a_row, a_col = g->a_col;
    for (int part = 0; part < part_count; part++) {
        const float *restrict a = parts[part].a + a_at, *restrict b = parts[part].b + b_at +
                                                                      (long)parts[part].b_row * MW_PANEL;
        for (int k = 0; k < g->k; k++, a += a_col, b += MW_PANEL) {
            mw_vec b0 = mw_vec_load(b), b1 = vectors > 1 ? mw_vec_load(b + MW_LANES) : b0;
#pragma GCC unroll 14
            for (int i = 0; i < rows; i++) {
                const mw_vec x = mw_vec_set(a[i * a_row]);
                acc[i * vectors] = mw_vec_fma(x, b0, acc[i * vectors]);
                if (vectors > 1) acc[i * vectors + 1] = mw_vec_fma(x, b1, acc[i * vectors + 1]);
            }
        }
    }
    const int left = g->n - j;
#pragma GCC unroll 28
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) {
            int width = left - v * MW_LANES;
            float *at = c + i * g->c_row + v * MW_LANES;
            mw_vec x = acc[i * vectors + v];
            if (width >= MW_LANES) {
                if (g->bias) x += mw_vec_load(g->bias + j + v * MW_LANES);
                if (g->accumulate) x += mw_vec_load(at);
                mw_vec_store(at, x);
            } else if (width > 0) {
                if (g->bias) x += mw_vec_load_part(g->bias + j + v * MW_LANES, width);
                if (g->accumulate) x += mw_vec_load_part(at, width);
                mw_vec_store_part(at, x, width);
            }
        }
}

typedef void tile_fn(const mw_gemm *g, const mw_part *parts, int part_count, long a_at, long b_at, float *c,
                     int j);

#define TILE(rows)                                                                                           \
    static void tile_##rows##_1(const mw_gemm *g, const mw_part *p, int pc, long a, long b, float *c,        \
                                int j) {                                                                     \
        tile(rows, 1, g, p, pc, a, b, c, j);                                                                 \
    }                                                                                                        \
    static void tile_##rows##_2(const mw_gemm *g, const mw_part *p, int pc, long a, long b, float *c,        \
                                int j) {                                                                     \
        tile(rows, 2, g, p, pc, a, b, c, j);                                                                 \
    }
TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)
#if MAX_ROWS == 14
TILE(7)
TILE(8)
TILE(9)
TILE(10)
TILE(11)
TILE(12)
TILE(13)
TILE(14)
#endif

static tile_fn *const tiles[2][MAX_ROWS] = {
    {tile_1_1, tile_2_1, tile_3_1, tile_4_1, tile_5_1, tile_6_1,
#if MAX_ROWS == 14
     tile_7_1, tile_8_1, tile_9_1, tile_10_1, tile_11_1, tile_12_1, tile_13_1, tile_14_1
#endif
    },
    {tile_1_2, tile_2_2, tile_3_2, tile_4_2, tile_5_2, tile_6_2,
#if MAX_ROWS == 14
     tile_7_2, tile_8_2, tile_9_2, tile_10_2, tile_11_2, tile_12_2, tile_13_2, tile_14_2
#endif
    }};

void mw_gemm_parts(const mw_gemm *g, const mw_part *parts, int part_count, float *c) {
    if (g->m <= 0) return;
    const int blocks = (g->m + MAX_ROWS - 1) / MAX_ROWS; /* of nearly equal height */
    for (int j = 0; j < g->n; j += MW_PANEL) {
        tile_fn *const *row = tiles[g->n - j > MW_LANES];
        for (int block = 0; block < blocks; block++) {
            int i0 = (int)((long)g->m * block / blocks), i1 = (int)((long)g->m * (block + 1) / blocks);
            row[i1 - i0 - 1](g, parts, part_count, i0 * g->a_row, (long)j * g->b_rows, c + i0 * g->c_row + j,
                             j);
        }
    }
}

void mw_gemm_packed(float *c, const float *a, const float *packed, const float *bias, int m, int n, int k) {
    mw_gemm shape = {.m = m, .n = n, .k = k, .a_row = k, .a_col = 1, .b_rows = k, .c_row = n, .bias = bias};
    mw_gemm_parts(&shape, &(mw_part){a, packed, 0}, 1, c);
}
