/* Conversion of stored numbers; see dtype.h. */
#include "core/tensor/dtype.h"

#include <stdio.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files are little-endian and read in place");

static const struct {
    const char *name;
    size_t size;
} types[] = {
    [MW_F16] = {"f16", 2},   [MW_BF16] = {"bf16", 2}, [MW_F32] = {"f32", 4}, [MW_F64] = {"f64", 8},
    [MW_I8] = {"i8", 1},     [MW_I16] = {"i16", 2},   [MW_I32] = {"i32", 4}, [MW_I64] = {"i64", 8},
    [MW_U8] = {"u8", 1},     [MW_U16] = {"u16", 2},   [MW_U32] = {"u32", 4}, [MW_U64] = {"u64", 8},
    [MW_BOOL] = {"bool", 1},
};

size_t mw_dtype_size(mw_dtype type) {
    return types[type].size;
}

const char *mw_dtype_name(mw_dtype type) {
    return types[type].name;
}

/* ---- half precision and bfloat16 ----------------------------------------------------------------------- */

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

float mw_half_to_float(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = (half >> 10) & 31, mantissa = half & 0x3FF;
    if (exponent == 31) return float_of(sign | 0x7F800000 | mantissa << 13 | (mantissa ? 0x400000 : 0));
    if (exponent == 0) { /* zero or subnormal: an integer multiple of 2^-24, exact in single precision */
        float magnitude = (float)mantissa * 0x1p-24f;
        return float_of(sign | bits_of(magnitude));
    }
    return float_of(sign | (exponent + 127 - 15) << 23 | mantissa << 13);
}

uint16_t mw_float_to_half(float value) {
    uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
    if (magnitude > 0x7F800000) return (uint16_t)(sign | 0x7E00 | (magnitude >> 13 & 0x3FF));
    if (magnitude >= 0x477FF000) return (uint16_t)(sign | 0x7C00); /* 65520 and up round to infinity */
    if (magnitude < 0x33000000) return (uint16_t)sign;             /* below 2^-25 everything is zero */
    uint32_t exponent = magnitude >> 23, kept, rest, half_way;
    if (exponent < 113) { /* subnormal: shift the full mantissa into multiples of 2^-24 */
        uint32_t mantissa = (magnitude & 0x7FFFFF) | 0x800000, shift = 126 - exponent;
        kept = mantissa >> shift;
        rest = mantissa & ((1u << shift) - 1);
        half_way = 1u << (shift - 1);
    } else {
        kept = (magnitude - (112u << 23)) >> 13;
        rest = magnitude & 0x1FFF;
        half_way = 0x1000;
    }
    /* A carry out of the mantissa runs into the exponent, which is what rounding up means. */
    kept += rest > half_way || (rest == half_way && (kept & 1));
    return (uint16_t)(sign | kept);
}

float mw_bfloat_to_float(uint16_t bits) {
    uint32_t wide = (uint32_t)bits << 16;
    return float_of((wide & 0x7FFFFFFF) > 0x7F800000 ? wide | 0x400000 : wide);
}

static uint16_t load_u16(const unsigned char *at) {
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static void halves_to_floats(const unsigned char *data, size_t count, float *out) {
    for (size_t i = 0; i < count; i++) out[i] = mw_half_to_float(load_u16(data + 2 * i));
}

/* ---- arrays -------------------------------------------------------------------------------------------- */

/* One loop per source type: memcpy reads from any alignment and still lets the compiler vectorise. */
#define CONVERT(source, target)                                                                              \
    for (size_t i = 0; i < count; i++) {                                                                     \
        source value_;                                                                                       \
        memcpy(&value_, from + i * sizeof value_, sizeof value_);                                            \
        out[i] = (target)value_;                                                                             \
    }                                                                                                        \
    break

void mw_dtype_to_floats(mw_dtype type, const void *data, size_t count, float *out) {
    const unsigned char *from = data;
    if (count == 0) return;
    switch (type) {
    case MW_F16:
        halves_to_floats(from, count, out);
        break;
    case MW_BF16:
        for (size_t i = 0; i < count; i++) out[i] = mw_bfloat_to_float(load_u16(from + 2 * i));
        break;
    case MW_F32:
        memcpy(out, from, count * sizeof *out);
        break;
    case MW_F64:
        CONVERT(double, float);
    case MW_I8:
        CONVERT(int8_t, float);
    case MW_I16:
        CONVERT(int16_t, float);
    case MW_I32:
        CONVERT(int32_t, float);
    case MW_I64:
        CONVERT(int64_t, float);
    case MW_U8:
        CONVERT(uint8_t, float);
    case MW_U16:
        CONVERT(uint16_t, float);
    case MW_U32:
        CONVERT(uint32_t, float);
    case MW_U64:
        CONVERT(uint64_t, float);
    case MW_BOOL:
        for (size_t i = 0; i < count; i++) out[i] = from[i] != 0;
        break;
    }
}

void mw_dtype_to_doubles(mw_dtype type, const void *data, size_t count, double *out) {
    const unsigned char *from = data;
    if (count == 0) return;
    switch (type) {
    case MW_F16:
    case MW_BF16:
    case MW_BOOL: /* exact in single precision: take that way, in pieces that stay in the cache */
        for (size_t at = 0; at < count; at += 256) {
            float piece[256];
            size_t length = count - at < 256 ? count - at : 256;
            mw_dtype_to_floats(type, from + at * mw_dtype_size(type), length, piece);
            for (size_t i = 0; i < length; i++) out[at + i] = piece[i];
        }
        break;
    case MW_F32:
        CONVERT(float, double);
    case MW_F64:
        memcpy(out, from, count * sizeof *out);
        break;
    case MW_I8:
        CONVERT(int8_t, double);
    case MW_I16:
        CONVERT(int16_t, double);
    case MW_I32:
        CONVERT(int32_t, double);
    case MW_I64:
        CONVERT(int64_t, double);
    case MW_U8:
        CONVERT(uint8_t, double);
    case MW_U16:
        CONVERT(uint16_t, double);
    case MW_U32:
        CONVERT(uint32_t, double);
    case MW_U64:
        CONVERT(uint64_t, double);
    }
}

/* ---- shapes -------------------------------------------------------------------------------------------- */

bool mw_shape_size(mw_dtype type, int dims, const size_t *shape, size_t *count, size_t *bytes) {
    size_t product = mw_dtype_size(type);
    bool empty = false;
    for (int i = 0; i < dims; i++) {
        if (shape[i] == 0)
            empty = true;
        else if (__builtin_mul_overflow(product, shape[i], &product) || product > PTRDIFF_MAX)
            return false;
    }
    *bytes = empty ? 0 : product;
    *count = *bytes / mw_dtype_size(type);
    return true;
}

/* "(3, any, 4)"; a negative extent is any. */
static void shape_text(char *out, size_t size, int dims, const size_t *shape, const long *expected) {
    size_t used = (size_t)snprintf(out, size, "(");
    for (int i = 0; i < dims && used < size; i++) {
        const char *separator = i ? ", " : "";
        int wrote;
        if (shape)
            wrote = snprintf(out + used, size - used, "%s%zu", separator, shape[i]);
        else if (expected[i] >= 0)
            wrote = snprintf(out + used, size - used, "%s%ld", separator, expected[i]);
        else
            wrote = snprintf(out + used, size - used, "%sany", separator);
        used += (size_t)wrote;
    }
    if (used < size) snprintf(out + used, size - used, ")");
}

/* "[3 steps][agents]" */
static void names_text(char *out, size_t size, int dims, const long *expected, const char *const *names) {
    for (int i = 0, used = 0; i < dims && used < (int)size; i++)
        used += expected[i] < 0
                    ? snprintf(out + used, size - (size_t)used, "[%s]", names[i])
                    : snprintf(out + used, size - (size_t)used, "[%ld %s]", expected[i], names[i]);
}

mw_status mw_shape_expect_of(const char *what, int dims, const size_t *shape, int expected_dims,
                             const long *expected, const char *const *names, mw_error *error) {
    bool same = dims == expected_dims;
    for (int i = 0; same && i < dims; i++) same = expected[i] < 0 || shape[i] == (size_t)expected[i];
    if (same) return MW_OK;
    char seen[MW_MAX_DIMS * 24], wanted[MW_MAX_DIMS * 32];
    shape_text(seen, sizeof seen, dims, shape, NULL);
    if (names)
        names_text(wanted, sizeof wanted, expected_dims, expected, names);
    else
        shape_text(wanted, sizeof wanted, expected_dims, NULL, expected);
    return mw_fail(error, MW_ERR_MISMATCH, "%s has shape %s, expected %s", what, seen, wanted);
}

mw_status mw_shape_expect(const char *what, int dims, const size_t *shape, int expected_dims,
                          const long *expected, mw_error *error) {
    return mw_shape_expect_of(what, dims, shape, expected_dims, expected, NULL, error);
}
