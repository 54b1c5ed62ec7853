/* Element types and shapes of arrays in files, and conversion to single and double precision. */
#ifndef MW_CORE_TENSOR_DTYPE_H
#define MW_CORE_TENSOR_DTYPE_H

#include "core/error.h"

#define MW_MAX_DIMS 8

typedef enum mw_dtype {
    MW_F16,
    MW_BF16,
    MW_F32,
    MW_F64,
    MW_I8,
    MW_I16,
    MW_I32,
    MW_I64,
    MW_U8,
    MW_U16,
    MW_U32,
    MW_U64,
    MW_BOOL,
} mw_dtype;

size_t mw_dtype_size(mw_dtype type);
const char *mw_dtype_name(mw_dtype type); /* "f16", "bool", ... */

/* Narrowing rounds to nearest even and overflows to infinity. A NaN keeps its sign and the upper bits of its
 * payload and becomes quiet, as the processor's own conversions do. */
float mw_half_to_float(uint16_t half);
uint16_t mw_float_to_half(float value);
float mw_bfloat_to_float(uint16_t bits); /* which is read and never written */

/* count little-endian elements at data (any alignment) as float or double. Booleans become 0 or 1. */
void mw_dtype_to_floats(mw_dtype type, const void *data, size_t count, float *out);
void mw_dtype_to_doubles(mw_dtype type, const void *data, size_t count, double *out);

/* Number of elements of an array and its size in bytes. False if they do not fit in memory's address space;
 * an extent of zero does not excuse the others, so that the sizes of rows are always safe to compute too. */
bool mw_shape_size(mw_dtype type, int dims, const size_t *shape, size_t *count, size_t *bytes);

/* Fails with MW_ERR_MISMATCH unless the shapes agree; a negative expected extent matches any. `what` opens
 * the message. */
mw_status mw_shape_expect(const char *what, int dims, const size_t *shape, int expected_dims,
                          const long *expected, mw_error *error);
/* The same of a file that people made: the message names the extents, [100 steps][agents]. */
mw_status mw_shape_expect_of(const char *what, int dims, const size_t *shape, int expected_dims,
                             const long *expected, const char *const *names, mw_error *error);

#endif
