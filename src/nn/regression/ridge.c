/* Normal equations and their solution; see ridge.h. */
#include "nn/regression/ridge.h"

#include "nn/gemm.h"

#include <math.h>

static void carve(mw_ridge *ridge, int rows) {
    const size_t all = (size_t)ridge->terms * (size_t)ridge->terms;
    ridge->gram = mw_arena_take(&ridge->arena, all, sizeof *ridge->gram);
    ridge->part = mw_arena_floats(&ridge->arena, all);
    ridge->packed = mw_arena_floats(&ridge->arena, mw_packed_size(rows, ridge->terms));
}

size_t mw_ridge_bytes(int terms, int rows) {
    mw_ridge measured = {.terms = terms};
    carve(&measured, rows);
    return measured.arena.used;
}

mw_status mw_ridge_create(mw_ridge *ridge, int terms, int rows, mw_error *error) {
    *ridge = (mw_ridge){.terms = terms};
    MW_TRY(mw_arena_create(&ridge->arena, mw_ridge_bytes(terms, rows), error));
    carve(ridge, rows);
    return MW_OK;
}

void mw_ridge_free(mw_ridge *ridge) {
    mw_arena_free(&ridge->arena);
}

void mw_ridge_add(mw_ridge *ridge, const float *x, int rows) {
    const mw_gemm shape = {.m = ridge->terms,
                           .n = ridge->terms,
                           .k = rows,
                           .a_row = 1,
                           .a_col = ridge->terms,
                           .b_rows = rows,
                           .c_row = ridge->terms};
    mw_pack(ridge->packed, x, ridge->terms, rows, ridge->terms);
    mw_gemm_parts(&shape, &(mw_part){x, ridge->packed, 0}, 1, ridge->part);
    for (size_t i = 0; i < (size_t)ridge->terms * (size_t)ridge->terms; i++)
        ridge->gram[i] += (double)ridge->part[i];
}

/* A Cholesky of our own: a tuned LAPACK gives other bits on other CPUs. Row by row, so that the inner
 * products run along memory. */
mw_status mw_ridge_factor(mw_ridge *ridge, double weight, mw_error *error) {
    const size_t terms = (size_t)ridge->terms;
    double trace = 0;
    for (size_t i = 0; i < terms; i++) trace += ridge->gram[i * terms + i];
    for (size_t i = 0; i < terms; i++) ridge->gram[i * terms + i] += weight * trace / (double)terms;
    for (size_t i = 0; i < terms; i++) {
        double *row = ridge->gram + i * terms;
        for (size_t j = 0; j <= i; j++) {
            const double *other = ridge->gram + j * terms;
            double sum = row[j];
            for (size_t k = 0; k < j; k++) sum -= row[k] * other[k];
            if (i == j && !(sum > 0))
                return mw_fail(error, MW_ERR_NUMERIC, "the data does not determine a regression of %d terms",
                               ridge->terms);
            row[j] = i == j ? sqrt(sum) : sum / other[j];
        }
    }
    return MW_OK;
}

void mw_ridge_solve(const mw_ridge *ridge, double *x) {
    const size_t terms = (size_t)ridge->terms;
    for (size_t i = 0; i < terms; i++) {
        for (size_t k = 0; k < i; k++) x[i] -= ridge->gram[i * terms + k] * x[k];
        x[i] /= ridge->gram[i * terms + i];
    }
    for (size_t i = terms; i-- > 0;) {
        x[i] /= ridge->gram[i * terms + i];
        for (size_t k = 0; k < i; k++) x[k] -= ridge->gram[i * terms + k] * x[i];
    }
}
