/* Element types of arrays in files, and conversion to single precision. */
#ifndef MW_CORE_DTYPE_H
#define MW_CORE_DTYPE_H

#include <stddef.h>
#include <stdint.h>

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
    MW_BOOL,
} mw_dtype;

size_t mw_dtype_size(mw_dtype type);
const char *mw_dtype_name(mw_dtype type); /* "f16", "bool", ... */

float mw_half_to_float(uint16_t half);
uint16_t mw_float_to_half(float value); /* round to nearest even; overflow to infinity */

/* count little-endian elements at data (any alignment) as float or double. */
void mw_dtype_to_floats(mw_dtype type, const void *data, size_t count, float *out);
void mw_dtype_to_doubles(mw_dtype type, const void *data, size_t count, double *out);

#endif
