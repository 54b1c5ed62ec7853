/* Matrix products for small and middle-sized matrices whose right side is used again and again: it is packed
 * once into panels, the left side is read where it lies. One product may sum over several parts, which is
 * what a convolution over time is. Every element of the result is one chain of fused multiply-adds in the
 * order of k, so the bits do not depend on the number of rows computed together, on threads, on tiling, or on
 * the CPU. How wide a panel is, is the level's own affair. */
#ifndef MW_NN_GEMM_H
#define MW_NN_GEMM_H

#include <stdbool.h>
#include <stddef.h>

#define MW_WIDEST_PANEL 32 /* columns of a panel at the level that has the most; the others divide it */

/* Floats that `rows` x `columns` take at most when packed: panels [columns / panel, rounded up][rows][panel].
 */
static inline size_t mw_packed_size(int rows, int columns) {
    return (size_t)((columns + MW_WIDEST_PANEL - 1) / MW_WIDEST_PANEL) * MW_WIDEST_PANEL * (size_t)rows;
}

/* packed <- b[rows][columns] with row stride b_row, or its transpose: b[columns][rows]. Padding is zero. */
void mw_pack(float *packed, const float *b, long b_row, int rows, int columns);
void mw_pack_transposed(float *packed, const float *b, long b_row, int rows, int columns);

typedef struct mw_part {
    const float *a; /* element (i, k) at a[i*a_row + k*a_col] */
    const float *b; /* packed, of b_rows rows; the product takes k of them */
    int b_row;      /* from this one on */
} mw_part;

/* c[m][n] = sum over parts of a[m][k] b[k][n], plus bias[n] unless NULL, plus the old c if accumulate. */
typedef struct mw_gemm {
    int m, n, k;
    int b_rows;
    long a_row, a_col, c_row;
    const float *bias;
    bool accumulate;
} mw_gemm;

void mw_gemm_parts(const mw_gemm *shape, const mw_part *parts, int part_count, float *c);

/* The plain case: c[m][n] = a[m][k] b + bias, all rows dense, b packed as k x n. */
void mw_gemm_packed(float *c, const float *a, const float *packed, const float *bias, int m, int n, int k);

#include "nn/level.h"

#endif
