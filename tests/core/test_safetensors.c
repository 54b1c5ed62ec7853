/* Safetensors against bytes spelled out by hand, against a table of broken headers, and against random
 * damage. */
#include "core/rng.h"
#include "core/tensor/safetensors.h"
#include "scratch.h"

#include <limits.h>
#include <time.h>

/* The file with this header text and so many bytes 0, 1, 2, ... of data. */
static size_t build(unsigned char *out, const char *header, size_t data) {
    uint64_t length = strlen(header);
    memcpy(out, &length, 8);
    memcpy(out + 8, header, length);
    for (size_t i = 0; i < data; i++) out[8 + length + i] = (unsigned char)i;
    return 8 + length + data;
}

static mw_status open_built(mw_safetensors *file, const char *header, size_t data, mw_error *error) {
    static unsigned char bytes[1 << 16];
    assert_true(strlen(header) + data + 8 <= sizeof bytes);
    scratch_write(scratch("x"), bytes, build(bytes, header, data));
    return mw_safetensors_open(file, scratch("x"), error);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

/* A file as other writers lay it out: header order differs from data order, unaligned start, padding. */
static void foreign_bytes(void **state) {
    (void)state;
    static const char header[] =
        "{\"__metadata__\":{\"format\":\"pt\",\"layers\":\"3\"},"
        "\"late\":{\"dtype\":\"I16\",\"shape\":[2],\"data_offsets\":[10,14]},"
        "\"early\\u00e9\":{\"data_offsets\":[0,8],\"dtype\":\"F32\",\"shape\":[1,2]},"
        "\"none\":{\"dtype\":\"F64\",\"shape\":[3,0],\"data_offsets\":[10,10]},"
        "\"scalar\":{\"dtype\":\"BF16\",\"shape\":[],\"data_offsets\":[8,10]}}   ";
    static const unsigned char data[14] = {0, 0, 0x80, 0x3F, 0, 0, 0x20, 0xC0, 0x40, 0x40, 7, 0, 0xFE, 0xFF};
    mw_error error;
    mw_safetensors file;
    unsigned char bytes[1024];
    size_t size = build(bytes, header, sizeof data);
    memcpy(bytes + size - sizeof data, data, sizeof data);
    scratch_write(scratch("x"), bytes, size);
    CHECK_OK(mw_safetensors_open(&file, scratch("x"), &error), error);
    assert_int_equal(file.tensor_count, 4);
    static const char *const order[] = {"early\xc3\xa9", "scalar", "none", "late"};
    for (int i = 0; i < 4; i++) assert_string_equal(file.tensors[i].name, order[i]);
    float out[2];
    CHECK_OK(mw_safetensors_floats(&file, "early\xc3\xa9", 2, (long[]){1, 2}, out, &error), error);
    assert_true(out[0] == 1 && out[1] == -2.5f);
    CHECK_OK(mw_safetensors_floats(&file, "scalar", 0, NULL, out, &error), error);
    assert_true(out[0] == 3);
    CHECK_OK(mw_safetensors_floats(&file, "late", 1, (long[]){-1}, out, &error), error);
    assert_true(out[0] == 7 && out[1] == -2);
    CHECK_OK(mw_safetensors_floats(&file, "none", 2, (long[]){3, 0}, out, &error), error);
    assert_int_equal(mw_safetensors_find(&file, "late")->count, 2);
    assert_null(mw_safetensors_find(&file, "latest"));
    assert_null(mw_safetensors_find(&file, "__metadata__"));
    assert_string_equal(mw_safetensors_meta(&file, "format"), "pt");
    assert_null(mw_safetensors_meta(&file, "absent"));

    CHECK_FAILS(mw_safetensors_floats(&file, "no", 0, NULL, out, &error), MW_ERR_MISMATCH, error,
                "there is no tensor 'no'");
    CHECK_FAILS(mw_safetensors_floats(&file, "late", 1, (long[]){3}, out, &error), MW_ERR_MISMATCH, error,
                "tensor 'late' has shape (2), expected (3)");
    mw_safetensors_close(&file);
    mw_safetensors_close(&file);
}

static void smallest_files(void **state) {
    (void)state;
    mw_error error;
    mw_safetensors file;
    CHECK_OK(open_built(&file, "{}", 0, &error), error);
    assert_int_equal(file.tensor_count, 0);
    mw_safetensors_close(&file);
    CHECK_OK(open_built(&file, "{\"__metadata__\":{}}", 0, &error), error);
    assert_int_equal(file.metadata_count, 0);
    mw_safetensors_close(&file);
}

static void whole_numbers(void **state) {
    (void)state;
    mw_error error;
    mw_safetensors file;
    long value;
    CHECK_OK(open_built(&file,
                        "{\"__metadata__\":{\"a\":\"12\",\"b\":\"-7\",\"c\":\"\",\"d\":\"1.5\",\"e\":\" 1\","
                        "\"f\":\"99999999999999999999\",\"g\":\"+1\",\"h\":\"1x\",\"i\":\"-\"}}",
                        0, &error),
             error);
    CHECK_OK(mw_safetensors_meta_int(&file, "a", 0, 12, &value, &error), error);
    assert_int_equal(value, 12);
    CHECK_OK(mw_safetensors_meta_int(&file, "b", -7, 12, &value, &error), error);
    assert_int_equal(value, -7);
    CHECK_FAILS(mw_safetensors_meta_int(&file, "a", 0, 11, &value, &error), MW_ERR_FORMAT, error,
                "metadata 'a' is '12', expected a whole number from 0 to 11");
    for (const char *key = "cdefghi"; *key; key++)
        CHECK_FAILS(mw_safetensors_meta_int(&file, (char[]){*key, 0}, -100, 100, &value, &error),
                    MW_ERR_FORMAT, error, "expected a whole number");
    CHECK_FAILS(mw_safetensors_meta_int(&file, "f", LONG_MIN, LONG_MAX, &value, &error), MW_ERR_FORMAT, error,
                "expected a whole number");
    CHECK_FAILS(mw_safetensors_meta_int(&file, "z", 0, 1, &value, &error), MW_ERR_MISMATCH, error,
                "there is no metadata 'z'");
    mw_safetensors_close(&file);
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static void round_trip(void **state) {
    (void)state;
    enum { TYPES = 10 };
    mw_error error;
    mw_safetensors file;
    mw_tensor tensors[TYPES + 1] = {0};
    unsigned char data[TYPES][8 * 6];
    char names[TYPES][16];
    mw_rng rng = mw_rng_make(4, MW_RNG_TEST, 0, 0, 0);
    for (size_t i = 0; i < sizeof data; i++) data[i / 48][i % 48] = (unsigned char)mw_rng_u32(&rng);
    for (int i = 0; i < TYPES; i++) {
        snprintf(names[i], sizeof names[i], "w.%d \"q\"\n", i);
        tensors[i] = (mw_tensor){
            .name = names[i], .type = (mw_dtype)i, .dims = i % 4, .shape = {6, 1, 1}, .data = data[i]};
    }
    tensors[TYPES] = (mw_tensor){.name = "", .type = MW_F32, .dims = 1, .shape = {0}};
    const mw_meta metadata[] = {{"version", "0.1.0"}, {"Zeichen", "\xc3\xbc \\ \" \t"}, {"", ""}};
    CHECK_OK(mw_safetensors_write(scratch("x"), tensors, TYPES + 1, metadata, 3, &error), error);
    CHECK_OK(mw_safetensors_open(&file, scratch("x"), &error), error);
    assert_int_equal(file.tensor_count, TYPES + 1);
    assert_int_equal(file.metadata_count, 3);
    assert_string_equal(mw_safetensors_meta(&file, "Zeichen"), metadata[1].value);
    assert_int_equal((uintptr_t)file.tensors[0].data % 64, 0);
    for (int i = 0; i <= TYPES; i++) {
        const mw_tensor *seen = mw_safetensors_find(&file, tensors[i].name);
        assert_non_null(seen);
        assert_int_equal(seen->type, tensors[i].type);
        assert_int_equal(seen->dims, tensors[i].dims);
        for (int k = 0; k < seen->dims; k++) assert_int_equal(seen->shape[k], tensors[i].shape[k]);
        assert_int_equal(seen->count, i == TYPES ? 0 : i % 4 ? 6 : 1);
        if (seen->count > 0)
            assert_memory_equal(seen->data, tensors[i].data, seen->count * mw_dtype_size(seen->type));
    }
    mw_safetensors_close(&file);
}

static void written_bytes(void **state) {
    (void)state;
    mw_error error;
    unsigned char seen[256];
    static const char header[] = "{\"__metadata__\":{\"k\":\"v\"},"
                                 "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
                                 "\"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[3,4]}}";
    const mw_tensor tensors[] = {{.name = "b", .type = MW_U8, .dims = 1, .shape = {3}, .data = "xyz"},
                                 {.name = "a", .type = MW_U8, .data = "w"}};
    CHECK_OK(mw_safetensors_write(scratch("x"), tensors, 2, &(mw_meta){"k", "v"}, 1, &error), error);
    assert_int_equal(scratch_read(scratch("x"), seen, sizeof seen), 192 + 4);
    assert_memory_equal(seen, "\xb8\0\0\0\0\0\0\0", 8);
    assert_memory_equal(seen + 8, header, sizeof header - 1);
    for (size_t i = 8 + sizeof header - 1; i < 192; i++) assert_int_equal(seen[i], ' ');
    assert_memory_equal(seen + 192, "xyzw", 4);
}

static void refused_writes(void **state) {
    (void)state;
    mw_error error;
    static float data[16384];
    const mw_tensor good = {.name = "a", .type = MW_F32, .dims = 1, .shape = {16384}, .data = data};
    mw_tensor twice[] = {good, good}, bad = good;
    const mw_meta pairs[] = {{"k", "v"}, {"k", "w"}};
    const char *path = scratch("x");
    CHECK_FAILS(mw_safetensors_write(path, twice, 2, NULL, 0, &error), MW_ERR_ARGUMENT, error,
                "'a' is given twice");
    CHECK_FAILS(mw_safetensors_write(path, &good, 1, pairs, 2, &error), MW_ERR_ARGUMENT, error,
                "'k' is given twice");
    CHECK_FAILS(mw_safetensors_write(path, &good, 1, &(mw_meta){"k", "\xff"}, 1, &error), MW_ERR_ARGUMENT,
                error, "not valid UTF-8");
    bad.name = "\xc3";
    CHECK_FAILS(mw_safetensors_write(path, &bad, 1, NULL, 0, &error), MW_ERR_ARGUMENT, error,
                "not valid UTF-8");
    bad.name = "__metadata__";
    CHECK_FAILS(mw_safetensors_write(path, &bad, 1, NULL, 0, &error), MW_ERR_ARGUMENT, error,
                "cannot be named __metadata__");
    bad = good, bad.dims = 9;
    CHECK_FAILS(mw_safetensors_write(path, &bad, 1, NULL, 0, &error), MW_ERR_ARGUMENT, error, "9 dimensions");
    bad = good, bad.shape[0] = SIZE_MAX / 2;
    CHECK_FAILS(mw_safetensors_write(path, &bad, 1, NULL, 0, &error), MW_ERR_ARGUMENT, error, "overflows");
    assert_int_equal(scratch_count(false), 0);
    scratch_full_disk_begin(1000);
    mw_status status = mw_safetensors_write(path, &good, 1, NULL, 0, &error);
    scratch_full_disk_end();
    assert_int_equal(status, MW_ERR_IO);
    assert_non_null(strstr(error.message, "File too large"));
    assert_int_equal(scratch_count(false), 0);
}

/* ---- broken files -------------------------------------------------------------------------------------- */

#define TENSOR(dtype, shape, offsets) "{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}"
#define ONE(dtype, shape, offsets)    "{\"a\":" TENSOR(dtype, shape, offsets) "}"
#define TWO(first, second)                                                                                   \
    "{\"a\":" TENSOR("\"U8\"", "[4]", first) ",\"b\":" TENSOR("\"U8\"", "[4]", second) "}"

static void broken_headers(void **state) {
    (void)state;
    static const struct {
        const char *header;
        size_t data;
        mw_status status;
        const char *message;
    } rows[] = {
        {"", 0, MW_ERR_FORMAT, "does not start with '{'"},
        {" {}", 0, MW_ERR_FORMAT, "does not start with '{'"},
        {"[]", 0, MW_ERR_FORMAT, "does not start with '{'"},
        {"\xef\xbb\xbf{}", 0, MW_ERR_FORMAT, "does not start with '{'"},
        {"{", 0, MW_ERR_FORMAT, "line 1, column 1"},
        {"{} x", 0, MW_ERR_FORMAT, "end of file expected"},
        {"{\"a\":}", 0, MW_ERR_FORMAT, "unexpected token near '}'"},
        {"{\"\xff\":{}}", 0, MW_ERR_FORMAT, "unable to decode byte 0xff"},
        {"{\"a\\u0000\":{}}", 0, MW_ERR_FORMAT, "NUL"},
        {"{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", 0, MW_ERR_FORMAT,
         "nested deeper than 64"},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, MW_ERR_FORMAT, "duplicate object key"},
        {"{\"a\":" TENSOR("\"U8\"", "[4]", "[0,4]") ",\"a\":" TENSOR("\"U8\"", "[4]", "[0,4]") "}", 4,
         MW_ERR_FORMAT, "duplicate object key"},
        {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}", 4, MW_ERR_FORMAT,
         "duplicate object key"},
        {"{\"__metadata__\":[]}", 0, MW_ERR_FORMAT, "__metadata__ must be an object, found array"},
        {"{\"__metadata__\":{\"k\":1}}", 0, MW_ERR_FORMAT, "metadata 'k' must be a string, found integer"},
        {"{\"__metadata__\":{\"k\":null}}", 0, MW_ERR_FORMAT, "metadata 'k' must be a string, found null"},
        {"{\"a\":7}", 0, MW_ERR_FORMAT, "tensor 'a': expected an object, found integer"},
        {"{\"a\":{}}", 0, MW_ERR_FORMAT, "tensor 'a': lacks 'dtype'"},
        {"{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,4]}}", 4, MW_ERR_FORMAT,
         "'shape' must be an array, found nothing"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4]}}", 4, MW_ERR_FORMAT,
         "'data_offsets' must be an array, found nothing"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4],\"more\":1}}", 4, MW_ERR_FORMAT,
         "unknown member 'more'"},
        {ONE("8", "[4]", "[0,4]"), 4, MW_ERR_FORMAT, "'dtype' must be a string, found integer"},
        {ONE("\"u8\"", "[4]", "[0,4]"), 4, MW_ERR_UNSUPPORTED, "dtype 'u8' is not one of"},
        {ONE("\"F8_E4M3\"", "[4]", "[0,4]"), 4, MW_ERR_UNSUPPORTED, "dtype 'F8_E4M3' is not one of"},
        {ONE("\"U8\"", "4", "[0,4]"), 4, MW_ERR_FORMAT, "'shape' must be an array, found integer"},
        {ONE("\"U8\"", "[\"4\"]", "[0,4]"), 4, MW_ERR_FORMAT, "'shape' must hold integers, found string"},
        {ONE("\"U8\"", "[4.0]", "[0,4]"), 4, MW_ERR_FORMAT, "'shape' must hold integers, found real number"},
        {ONE("\"U8\"", "[true]", "[0,1]"), 1, MW_ERR_FORMAT, "'shape' must hold integers, found boolean"},
        {ONE("\"U8\"", "[-4]", "[0,4]"), 4, MW_ERR_FORMAT, "'shape' holds the negative number -4"},
        {ONE("\"U8\"", "[-2,-2]", "[0,4]"), 4, MW_ERR_FORMAT, "'shape' holds the negative number -2"},
        {ONE("\"U8\"", "[1,1,1,1,1,1,1,1,4]", "[0,4]"), 4, MW_ERR_UNSUPPORTED, "9 dimensions"},
        {ONE("\"U8\"", "[18446744073709551620]", "[0,4]"), 4, MW_ERR_FORMAT, "too big integer"},
        {ONE("\"F32\"", "[4611686018427387905]", "[0,4]"), 4, MW_ERR_FORMAT, "product overflows"},
        {ONE("\"U8\"", "[4294967296,4294967296]", "[0,0]"), 0, MW_ERR_FORMAT, "product overflows"},
        {ONE("\"U8\"", "[0,4294967296,4294967296]", "[0,0]"), 0, MW_ERR_FORMAT, "product overflows"},
        {ONE("\"U8\"", "[4]", "4"), 4, MW_ERR_FORMAT, "'data_offsets' must be an array, found integer"},
        {ONE("\"U8\"", "[4]", "[0]"), 4, MW_ERR_FORMAT, "'data_offsets' has 1 numbers, expected 2"},
        {ONE("\"U8\"", "[4]", "[0,4,4]"), 4, MW_ERR_FORMAT, "'data_offsets' has 3 numbers, expected 2"},
        {ONE("\"U8\"", "[4]", "[0,4.5]"), 4, MW_ERR_FORMAT, "'data_offsets' must hold integers, found real"},
        {ONE("\"U8\"", "[4]", "[-4,0]"), 4, MW_ERR_FORMAT, "'data_offsets' holds the negative number -4"},
        {ONE("\"U8\"", "[4]", "[4,0]"), 4, MW_ERR_FORMAT, "[4, 0] do not lie within 4 bytes"},
        {ONE("\"U8\"", "[4]", "[0,5]"), 4, MW_ERR_FORMAT, "[0, 5] do not lie within 4 bytes"},
        {ONE("\"U8\"", "[4]", "[0,9223372036854775807]"), 4, MW_ERR_FORMAT, "do not lie within 4 bytes"},
        {ONE("\"U8\"", "[3]", "[0,4]"), 4, MW_ERR_FORMAT, "shape needs 3 bytes, data_offsets [0, 4] hold 4"},
        {ONE("\"F32\"", "[4]", "[0,4]"), 4, MW_ERR_FORMAT, "shape needs 16 bytes"},
        {ONE("\"U8\"", "[4]", "[1,5]"), 5, MW_ERR_FORMAT, "leaving a hole before it (expected 0)"},
        {ONE("\"U8\"", "[4]", "[0,4]"), 5, MW_ERR_FORMAT, "tensors end at 4, but there are 5 bytes"},
        {"{}", 1, MW_ERR_FORMAT, "tensors end at 0, but there are 1 bytes"},
        {TWO("[0,4]", "[5,9]"), 9, MW_ERR_FORMAT, "'b' starts at 5, leaving a hole before it (expected 4)"},
        {TWO("[5,9]", "[0,4]"), 9, MW_ERR_FORMAT, "'a' starts at 5, leaving a hole"},
        {TWO("[0,4]", "[3,7]"), 7, MW_ERR_FORMAT, "'b' starts at 3, overlapping the one before it"},
        {TWO("[0,4]", "[0,4]"), 4, MW_ERR_FORMAT, "'b' starts at 0, overlapping the one before it"},
        {TWO("[0,4]", "[4,8]"), 9, MW_ERR_FORMAT, "tensors end at 8, but there are 9 bytes"},
        {TWO("[0,4]", "[4,8]"), 7, MW_ERR_FORMAT, "[4, 8] do not lie within 7 bytes"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mw_error error;
        mw_safetensors file;
        CHECK_FAILS(open_built(&file, rows[i].header, rows[i].data, &error), rows[i].status, error,
                    rows[i].message);
        assert_non_null(strstr(error.message, scratch("x")));
        assert_true(!file.map.data && !file.tensors && !file.header);
    }
}

static void broken_lengths(void **state) {
    (void)state;
    static const struct {
        uint64_t length;
        const char *message;
    } rows[] = {{UINT64_MAX, "exceeds the limit"},
                {(uint64_t)1 << 63, "exceeds the limit"},
                {8388609, "header of 8388609 bytes exceeds the limit of 8388608"},
                {8388608, "header of 8388608 bytes, but only 2 follow"},
                {3, "header of 3 bytes, but only 2 follow"},
                {1, "line 1, column"},
                {0, "does not start with '{'"}};
    mw_error error;
    mw_safetensors file;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned char bytes[10] = {[8] = '{', [9] = '}'};
        memcpy(bytes, &rows[i].length, 8);
        scratch_write(scratch("x"), bytes, sizeof bytes);
        CHECK_FAILS(mw_safetensors_open(&file, scratch("x"), &error), MW_ERR_FORMAT, error, rows[i].message);
    }
    CHECK_FAILS(mw_safetensors_open(&file, scratch("no"), &error), MW_ERR_IO, error, "No such file");
}

/* A small valid file with metadata and two tensors. */
static size_t valid_file(unsigned char *out) {
    return build(out,
                 "{\"__metadata__\":{\"k\":\"v\"},\"a\":" TENSOR(
                     "\"F32\"", "[2,2]", "[0,16]") ",\"b\":" TENSOR("\"I16\"", "[3]", "[16,22]") "}",
                 22);
}

static void every_truncation(void **state) {
    (void)state;
    mw_error error;
    mw_safetensors file;
    unsigned char bytes[512];
    size_t size = valid_file(bytes);
    for (size_t cut = 0; cut <= size; cut++) {
        scratch_write(scratch("x"), bytes, cut);
        if (cut == size) {
            CHECK_OK(mw_safetensors_open(&file, scratch("x"), &error), error);
            mw_safetensors_close(&file);
        } else {
            CHECK_FAILS(mw_safetensors_open(&file, scratch("x"), &error), MW_ERR_FORMAT, error, scratch("x"));
        }
    }
}

/* Whatever the damage: either a complaint, or tensors that cover the data exactly. */
static void random_damage(void **state) {
    (void)state;
    mw_rng rng = mw_rng_make(5, MW_RNG_TEST, 0, 0, 0);
    int opened = 0;
    for (int round = 0; round < 5000; round++) {
        mw_error error;
        mw_safetensors file;
        unsigned char bytes[512];
        static const char likely[] = "0123456789{}[]\",:-.eFU8 ";
        size_t size = valid_file(bytes);
        for (uint32_t flips = 1 + mw_rng_below(&rng, 3); flips > 0; flips--) {
            unsigned char *byte = &bytes[mw_rng_below(&rng, (uint32_t)size)];
            if (round % 2)
                *byte ^= (unsigned char)(1u << mw_rng_below(&rng, 8));
            else
                *byte = (unsigned char)likely[mw_rng_below(&rng, sizeof likely - 1)];
        }
        if (mw_rng_below(&rng, 16) == 0) size = mw_rng_below(&rng, (uint32_t)size);
        scratch_write(scratch("x"), bytes, size);
        mw_status status = mw_safetensors_open(&file, scratch("x"), &error);
        if (status != MW_OK) {
            assert_true(status == MW_ERR_FORMAT || status == MW_ERR_UNSUPPORTED);
            assert_true(error.status == status && strstr(error.message, scratch("x")));
            continue;
        }
        opened++;
        const unsigned char *end = NULL;
        for (size_t i = 0; i < file.tensor_count; i++) {
            const mw_tensor *tensor = &file.tensors[i];
            float values[22];
            assert_true(!end || (const unsigned char *)tensor->data == end);
            end = (const unsigned char *)tensor->data + tensor->count * mw_dtype_size(tensor->type);
            assert_true(tensor->count <= 22 && end <= file.map.data + file.map.size);
            mw_dtype_to_floats(tensor->type, tensor->data, tensor->count, values);
        }
        assert_true(!end || end == file.map.data + file.map.size);
        mw_safetensors_close(&file);
    }
    print_message("opened %d of 5000 damaged files\n", opened);
    assert_true(opened > 200 && opened < 4000);
}

/* A file of holes costs neither time nor memory before it is refused. */
static void sparse_files(void **state) {
    (void)state;
    static const char *const headers[] = {"",
                                          "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}"},
                             *const complaints[] = {"header does not start with '{'",
                                                    "the tensors end at 4, but there are "};
    for (int i = 0; i < 2; i++) {
        unsigned char bytes[128];
        mw_error error;
        mw_safetensors file;
        struct rusage before, after;
        scratch_write(scratch("x"), bytes, build(bytes, headers[i], 4));
        assert_int_equal(truncate(scratch("x"), 1 << 30), 0);
        getrusage(RUSAGE_SELF, &before);
        CHECK_FAILS(mw_safetensors_open(&file, scratch("x"), &error), MW_ERR_FORMAT, error, complaints[i]);
        getrusage(RUSAGE_SELF, &after);
        assert_true(after.ru_maxrss - before.ru_maxrss < 100 << 10); /* kilobytes */
        assert_true(after.ru_utime.tv_sec + after.ru_stime.tv_sec <=
                    before.ru_utime.tv_sec + before.ru_stime.tv_sec + 1);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(foreign_bytes),    TEST(smallest_files), TEST(whole_numbers),  TEST(round_trip),
        TEST(written_bytes),    TEST(refused_writes), TEST(broken_headers), TEST(broken_lengths),
        TEST(every_truncation), TEST(random_damage),  TEST(sparse_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
