/* Stored numbers against arithmetic that does not look at bits: every half, every rounding boundary, and all
 * conversions of arrays at odd addresses. */
#include "check.h"
#include "core/tensor/dtype.h"
#include "core/rng.h"

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The value of a small format with this many mantissa and exponent bits, by its definition. */
static double value_of(uint16_t code, int mantissa_bits, int exponent_bits) {
    int bias = (1 << (exponent_bits - 1)) - 1, exponent = (code & 0x7FFF) >> mantissa_bits;
    int mantissa = code & ((1 << mantissa_bits) - 1);
    double magnitude;
    if (exponent == (1 << exponent_bits) - 1)
        magnitude = mantissa ? NAN : INFINITY;
    else if (exponent == 0)
        magnitude = ldexp(mantissa, 1 - bias - mantissa_bits);
    else
        magnitude = ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
    return code & 0x8000 ? -magnitude : magnitude;
}

/* Rounding to such a format in real arithmetic: to the nearest multiple of the unit at that size. */
static double rounded(double value, int mantissa_bits, int exponent_bits) {
    int bias = (1 << (exponent_bits - 1)) - 1, exponent;
    if (value == 0 || isinf(value)) return value;
    (void)frexp(value, &exponent);
    int unit = exponent - 1 < 1 - bias ? 1 - bias - mantissa_bits : exponent - 1 - mantissa_bits;
    double result = ldexp(nearbyint(ldexp(value, -unit)), unit);
    return fabs(result) >= ldexp(1, bias + 1) ? copysign(INFINITY, value) : result;
}

static void check_narrow(float value) {
    if (isnan(value)) {
        assert_true((mw_float_to_half(value) & 0x7FFF) > 0x7C00);
        return;
    }
    double half = value_of(mw_float_to_half(value), 10, 5);
    if (half != rounded(value, 10, 5) || !signbit(half) != !signbit(value))
        fail_msg("%a as half is %a, expected %a", value, half, rounded(value, 10, 5));
}

/* Widening has the defined value; narrowing gives the same code back (signalling NaNs become quiet). */
static void every_code(void **state) {
    (void)state;
    for (uint32_t code = 0; code < 65536; code++) {
        float half = mw_half_to_float((uint16_t)code), bfloat = mw_bfloat_to_float((uint16_t)code);
        double half_value = value_of((uint16_t)code, 10, 5), bfloat_value = value_of((uint16_t)code, 7, 8);
        if (isnan(half_value)) {
            assert_true(isnan(half));
            assert_int_equal(mw_float_to_half(half), code | 0x200);
        } else {
            assert_true(half == half_value && !signbit(half) == !signbit(half_value));
            assert_int_equal(mw_float_to_half(half), code);
        }
        assert_true(isnan(bfloat_value) ? isnan(bfloat) : bfloat == bfloat_value);
    }
}

/* Around the middle between any two neighbours, where rounding decides; and random bits. */
static void rounding(void **state) {
    (void)state;
    for (uint16_t code = 0; code < 0x7C00; code++) {
        double next = code == 0x7BFF ? 65536 : value_of(code + 1, 10, 5);
        uint32_t middle = bits_of((float)((value_of(code, 10, 5) + next) / 2));
        for (int step = -1; step <= 1; step++) {
            check_narrow(float_of(middle + (uint32_t)step));
            check_narrow(-float_of(middle + (uint32_t)step));
        }
    }
    mw_rng rng = mw_rng_make(1, MW_RNG_TEST, 0, 0, 0);
    for (int i = 0; i < 500000; i++) {
        uint32_t bits = mw_rng_u32(&rng);
        check_narrow(float_of(bits));
        /* the same mantissa among the subnormal halves */
        check_narrow(float_of((bits & 0x807FFFFF) | (100 + bits % 16) << 23));
    }
}

static void known_values(void **state) {
    (void)state;
    const struct {
        float value;
        uint16_t half;
    } rows[] = {{1, 0x3C00},     {-2, 0xC000},    {65504, 0x7BFF},    {65519.996f, 0x7BFF},
                {65520, 0x7C00}, {0.1f, 0x2E66},  {0x1p-24f, 1},      {0x1p-25f, 0},
                {0x1.8p-24f, 2}, {-0.0f, 0x8000}, {INFINITY, 0x7C00}, {0x1.FFFFFEp127f, 0x7C00}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(mw_float_to_half(rows[i].value), rows[i].half);
}

/* The array path (vector instructions where there are any) has the bits of the scalar one. */
static void halves_in_bulk(void **state) {
    (void)state;
    static unsigned char data[2 * 65536 + 1];
    static float seen[65536];
    static double wide[65536];
    for (uint32_t code = 0; code < 65536; code++) memcpy(data + 1 + 2 * code, &(uint16_t){(uint16_t)code}, 2);
    mw_dtype_to_floats(MW_F16, data + 1, 65536, seen);
    mw_dtype_to_doubles(MW_F16, data + 1, 65536, wide);
    for (uint32_t code = 0; code < 65536; code++) {
        float expected = mw_half_to_float((uint16_t)code);
        assert_int_equal(bits_of(seen[code]), bits_of(expected));
        assert_true(wide[code] == expected || (isnan(wide[code]) && isnan(expected)));
    }
    mw_dtype_to_floats(MW_BF16, data + 1, 65536, seen);
    for (uint32_t code = 0; code < 65536; code++)
        assert_int_equal(bits_of(seen[code]), bits_of(mw_bfloat_to_float((uint16_t)code)));
}

/* Each type, from every offset within a word, in lengths around the vector widths. */
static void every_type(void **state) {
    (void)state;
    enum { N = 37 };
    for (int type = MW_F16; type <= MW_BOOL; type++) {
        unsigned char data[8 * N + 8];
        double expected[N];
        size_t size = mw_dtype_size((mw_dtype)type);
        for (int offset = 0; offset < 8; offset++) {
            for (int i = 0; i < N; i++) {
                int value = type >= MW_U8 && type <= MW_U64 ? 7 * i : type == MW_BOOL ? i % 3 : 5 * i - 90;
                int64_t whole = value; /* little-endian: its first bytes are those of the shorter types */
                double real = value + 0.5;
                float single = (float)real;
                uint16_t half = mw_float_to_half(single),
                         bfloat = (uint16_t)(bits_of((float)value) >> 16); /* exact */
                const void *source = type == MW_F16    ? (const void *)&half
                                     : type == MW_BF16 ? (const void *)&bfloat
                                     : type == MW_F32  ? (const void *)&single
                                     : type == MW_F64  ? (const void *)&real
                                                       : (const void *)&whole;
                memcpy(data + offset + (size_t)i * size, source, size);
                expected[i] = type == MW_BOOL                                      ? value != 0
                              : type == MW_F16 || type == MW_F32 || type == MW_F64 ? real
                                                                                   : value;
            }
            for (size_t count = 0; count <= N; count++) {
                float single[N + 1] = {[0] = -1};
                double real[N + 1] = {[0] = -1};
                single[count] = -7, real[count] = -7;
                mw_dtype_to_floats((mw_dtype)type, data + offset, count, single);
                mw_dtype_to_doubles((mw_dtype)type, data + offset, count, real);
                for (size_t i = 0; i < count; i++) {
                    assert_true(single[i] == expected[i]);
                    assert_true(real[i] == expected[i]);
                }
                assert_true(single[count] == -7 && real[count] == -7);
            }
        }
    }
    float wide;
    mw_dtype_to_floats(MW_I64, &(int64_t){INT64_MIN}, 1, &wide);
    assert_true(wide == -0x1p63f);
    mw_dtype_to_floats(MW_F64, &(double){1e300}, 1, &wide);
    assert_true(isinf(wide));
}

static void names_and_sizes(void **state) {
    (void)state;
    static const char *const names[] = {"f16", "bf16", "f32", "f64", "i8",  "i16", "i32",
                                        "i64", "u8",   "u16", "u32", "u64", "bool"};
    static const size_t sizes[] = {2, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 1};
    for (int i = 0; i <= MW_BOOL; i++) {
        assert_string_equal(mw_dtype_name((mw_dtype)i), names[i]);
        assert_int_equal(mw_dtype_size((mw_dtype)i), sizes[i]);
    }
}

static void shapes(void **state) {
    (void)state;
    size_t count, bytes;
    mw_error error;
    assert_true(mw_shape_size(MW_F32, 0, NULL, &count, &bytes) && count == 1 && bytes == 4);
    assert_true(mw_shape_size(MW_F64, 2, (size_t[]){3, 5}, &count, &bytes) && count == 15 && bytes == 120);
    assert_true(mw_shape_size(MW_F64, 2, (size_t[]){3, 0}, &count, &bytes) && count == 0 && bytes == 0);
    assert_true(mw_shape_size(MW_U8, 1, (size_t[]){PTRDIFF_MAX}, &count, &bytes) && bytes == PTRDIFF_MAX);
    assert_false(mw_shape_size(MW_I16, 1, (size_t[]){PTRDIFF_MAX}, &count, &bytes));
    assert_false(mw_shape_size(MW_U8, 2, (size_t[]){1ul << 32, 1ul << 32}, &count, &bytes));
    assert_false(mw_shape_size(MW_U8, 3, (size_t[]){0, 1ul << 32, 1ul << 32}, &count, &bytes));
    CHECK_OK(mw_shape_expect("x", 2, (size_t[]){3, 5}, 2, (long[]){-1, 5}, &error), error);
    CHECK_OK(mw_shape_expect("x", 0, NULL, 0, NULL, &error), error);
    CHECK_FAILS(mw_shape_expect("x", 2, (size_t[]){3, 5}, 2, (long[]){-1, 4}, &error), MW_ERR_MISMATCH, error,
                "x has shape (3, 5), expected (any, 4)");
    CHECK_FAILS(mw_shape_expect("x", 1, (size_t[]){3}, 0, NULL, &error), MW_ERR_MISMATCH, error,
                "shape (3), expected ()");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code),     cmocka_unit_test(rounding),   cmocka_unit_test(known_values),
        cmocka_unit_test(halves_in_bulk), cmocka_unit_test(every_type), cmocka_unit_test(names_and_sizes),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
