/* .npy against files that NumPy wrote, against tables of broken files, and against random damage. */
#include "core/tensor/npy.h"
#include "core/rng.h"
#include "scratch.h"

static const char *golden(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, TEST_DATA "/npy/%s.npy", name);
    return path;
}

/* ---- files of NumPy ------------------------------------------------------------------------------------ */

static void golden_values(void **state) {
    (void)state;
    static const struct {
        const char *name;
        mw_dtype type;
        double values[6];
    } rows[] = {
        {"f2", MW_F16, {0, 1, 2.5, -3.75, 100, -0.5}},
        {"f4", MW_F32, {0, 1, 2.5, -3.75, 100, -0.5}},
        {"f8", MW_F64, {0, 1, 2.5, -3.75, 100, -0.5}},
        {"i1", MW_I8, {0, 1, 2, -3, 100, 0}},
        {"i2", MW_I16, {0, 1, 2, -3, 100, 0}},
        {"i4", MW_I32, {0, 1, 2, -3, 100, 0}},
        {"i8", MW_I64, {0, 1, 2, -3, 100, 0}},
        {"u1", MW_U8, {0, 1, 2, 3, 100, 0}},
        {"u2", MW_U16, {0, 1, 2, 3, 100, 0}},
        {"u4", MW_U32, {0, 1, 2, 3, 100, 0}},
        {"u8", MW_U64, {0, 1, 2, 3, 100, 0}},
        {"b1", MW_BOOL, {0, 1, 1, 1, 1, 1}},
        {"f4_version2", MW_F32, {0, 1, 2.5, -3.75, 100, -0.5}},
        {"f4_version3", MW_F32, {0, 1, 2.5, -3.75, 100, -0.5}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mw_error error;
        mw_npy npy;
        double seen[6];
        CHECK_OK(mw_npy_open(&npy, golden(rows[i].name), &error), error);
        CHECK_OK(mw_npy_expect(&npy, rows[i].name, rows[i].type, 2, (long[]){2, 3}, &error), error);
        assert_int_equal(npy.count, 6);
        mw_dtype_to_doubles(npy.type, npy.data, npy.count, seen);
        for (int k = 0; k < 6; k++) assert_true(seen[k] == rows[i].values[k]);
        mw_npy_close(&npy);
    }
}

static void golden_shapes(void **state) {
    (void)state;
    mw_error error;
    mw_npy npy;
    CHECK_OK(mw_npy_open(&npy, golden("scalar"), &error), error);
    CHECK_OK(mw_npy_expect(&npy, "scalar", MW_F64, 0, NULL, &error), error);
    assert_true(npy.count == 1 && *(const double *)npy.data == 2.5);
    mw_npy_close(&npy);
    CHECK_OK(mw_npy_open(&npy, golden("empty"), &error), error);
    CHECK_OK(mw_npy_expect(&npy, "empty", MW_F32, 2, (long[]){0, 3}, &error), error);
    assert_int_equal(npy.count, 0);
    mw_npy_close(&npy);
    CHECK_OK(mw_npy_open(&npy, golden("dims8"), &error), error);
    assert_true(npy.dims == 8 && npy.count == 256 && ((const uint8_t *)npy.data)[255] == 255);
    mw_npy_close(&npy);
    CHECK_OK(mw_npy_open(&npy, golden("vector"), &error), error);
    CHECK_FAILS(mw_npy_expect(&npy, "v", MW_F64, 1, (long[]){3}, &error), MW_ERR_MISMATCH, error,
                "v has elements of type f32, expected f64");
    CHECK_FAILS(mw_npy_expect(&npy, "v", MW_F32, 1, (long[]){4}, &error), MW_ERR_MISMATCH, error,
                "v has shape (3), expected (4)");
    mw_npy_close(&npy);
    mw_npy_close(&npy);
}

static void golden_refused(void **state) {
    (void)state;
    static const struct {
        const char *name, *text;
    } rows[] = {{"fortran", "save numpy.ascontiguousarray(array)"},
                {"big", "'>f4' is big-endian"},
                {"object", "Python objects"},
                {"structured", "structured"},
                {"complex", "'<c8' is not"},
                {"text", "'<U2' is not"},
                {"dims9", "more than 8 dimensions"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mw_error error;
        mw_npy npy;
        CHECK_FAILS(mw_npy_open(&npy, golden(rows[i].name), &error), MW_ERR_UNSUPPORTED, error, rows[i].text);
        assert_non_null(strstr(error.message, rows[i].name));
        assert_null(npy.map.data);
    }
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static void round_trips(void **state) {
    (void)state;
    mw_rng rng = mw_rng_make(2, MW_RNG_TEST, 0, 0, 0);
    unsigned char data[8 * 24];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)mw_rng_u32(&rng);
    for (int type = MW_F16; type <= MW_BOOL; type++) {
        if (type == MW_BF16) continue;
        static const size_t shapes[][4] = {{0}, {24}, {4, 6}, {2, 3, 4}, {2, 1, 3, 4}};
        for (int dims = 0; dims <= 4; dims++) {
            mw_error error;
            mw_npy npy;
            CHECK_OK(mw_npy_write(scratch("x"), (mw_dtype)type, dims, shapes[dims], data, &error), error);
            CHECK_OK(mw_npy_open(&npy, scratch("x"), &error), error);
            assert_int_equal(npy.type, type);
            assert_int_equal(npy.dims, dims);
            for (int i = 0; i < dims; i++) assert_int_equal(npy.shape[i], shapes[dims][i]);
            assert_int_equal(npy.count, dims ? 24 : 1);
            assert_int_equal((uintptr_t)npy.data % 64, 0);
            assert_memory_equal(npy.data, data, npy.count * mw_dtype_size(npy.type));
            mw_npy_close(&npy);
        }
    }
}

/* The bytes as NumPy writes them. */
static void written_bytes(void **state) {
    (void)state;
    mw_error error;
    char seen[256];
    const float data[3] = {1, 2, 3};
    CHECK_OK(mw_npy_write(scratch("x"), MW_F32, 1, (size_t[]){3}, data, &error), error);
    assert_int_equal(scratch_read(scratch("x"), seen, sizeof seen), 140);
    assert_memory_equal(seen,
                        "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, "
                        "'shape': (3,), }   ",
                        70);
    for (int i = 70; i < 127; i++) assert_int_equal(seen[i], ' ');
    assert_int_equal(seen[127], '\n');
    assert_memory_equal(seen + 128, data, 12);
    char theirs[256];
    assert_int_equal(scratch_read(golden("vector"), theirs, sizeof theirs), 140);
    assert_memory_equal(seen, theirs, 140);
}

static void streaming(void **state) {
    (void)state;
    mw_error error;
    mw_npy_writer writer;
    mw_npy npy;
    int16_t rows[70 * 6];
    char streamed[1024], whole[1024];
    for (int i = 0; i < 420; i++) rows[i] = (int16_t)(i * 157);
    CHECK_OK(mw_npy_writer_open(&writer, scratch("s"), MW_I16, 2, (size_t[]){2, 3}, &error), error);
    assert_false(mw_file_exists(scratch("s")));
    CHECK_OK(mw_npy_writer_rows(&writer, rows, 1, &error), error);
    CHECK_OK(mw_npy_writer_rows(&writer, rows + 6, 0, &error), error);
    CHECK_OK(mw_npy_writer_rows(&writer, rows + 6, 69, &error), error);
    uint64_t hash = writer.hash;
    CHECK_OK(mw_npy_writer_commit(&writer, &error), error);
    CHECK_OK(mw_npy_write(scratch("w"), MW_I16, 3, (size_t[]){70, 2, 3}, rows, &error), error);
    size_t size = scratch_read(scratch("s"), streamed, sizeof streamed);
    assert_int_equal(size, 128 + 840);
    assert_int_equal(scratch_read(scratch("w"), whole, sizeof whole), size);
    assert_memory_equal(streamed, whole, size);
    CHECK_OK(mw_npy_open(&npy, scratch("s"), &error), error);
    CHECK_OK(mw_npy_expect(&npy, "s", MW_I16, 3, (long[]){70, 2, 3}, &error), error);
    assert_true(mw_hash(MW_HASH_START, npy.data, sizeof rows) == hash);
    mw_npy_close(&npy);

    /* Published values of FNV-1a: of nothing, and of "foobar". */
    CHECK_OK(mw_npy_writer_open(&writer, scratch("s"), MW_U8, 0, NULL, &error), error);
    assert_true(writer.hash == 0xcbf29ce484222325u);
    CHECK_OK(mw_npy_writer_rows(&writer, "foo", 3, &error), error);
    CHECK_OK(mw_npy_writer_rows(&writer, "bar", 3, &error), error);
    assert_true(writer.hash == 0x85944171f73967e8u);
    mw_npy_writer_abandon(&writer);
    mw_npy_writer_abandon(&writer);

    /* No rows at all is a valid array. */
    CHECK_OK(mw_npy_writer_open(&writer, scratch("s"), MW_F32, 1, (size_t[]){5}, &error), error);
    CHECK_OK(mw_npy_writer_commit(&writer, &error), error);
    CHECK_OK(mw_npy_open(&npy, scratch("s"), &error), error);
    CHECK_OK(mw_npy_expect(&npy, "s", MW_F32, 2, (long[]){0, 5}, &error), error);
    mw_npy_close(&npy);
    assert_int_equal(scratch_count(false), 2);

    /* The widest header there is: seven extents of one digit and as many rows of no bytes as can be. */
    const size_t widest[7] = {1, 1, 1, 1, 1, 1, 0};
    CHECK_OK(mw_npy_writer_open(&writer, scratch("s"), MW_U8, 7, widest, &error), error);
    CHECK_OK(mw_npy_writer_rows(&writer, NULL, PTRDIFF_MAX, &error), error);
    CHECK_FAILS(mw_npy_writer_rows(&writer, NULL, 1, &error), MW_ERR_ARGUMENT, error, "too many rows");
    CHECK_OK(mw_npy_writer_commit(&writer, &error), error);
    CHECK_OK(mw_npy_open(&npy, scratch("s"), &error), error);
    assert_true(npy.shape[0] == PTRDIFF_MAX && npy.map.size == 128);
    mw_npy_close(&npy);
}

static void refused_writes(void **state) {
    (void)state;
    mw_error error;
    mw_npy_writer writer;
    size_t shape[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, huge[2] = {1ul << 40, 1ul << 40};
    CHECK_FAILS(mw_npy_write(scratch("x"), MW_BF16, 1, shape, "ab", &error), MW_ERR_UNSUPPORTED, error,
                "bf16");
    CHECK_FAILS(mw_npy_write(scratch("x"), MW_U8, 9, shape, "a", &error), MW_ERR_ARGUMENT, error,
                "9 dimensions");
    CHECK_FAILS(mw_npy_write(scratch("x"), MW_U8, 2, huge, "a", &error), MW_ERR_ARGUMENT, error, "overflows");
    CHECK_FAILS(mw_npy_write(scratch("no/x"), MW_U8, 1, shape, "a", &error), MW_ERR_IO, error,
                "No such file");
    CHECK_FAILS(mw_npy_writer_open(&writer, scratch("x"), MW_U8, 8, shape, &error), MW_ERR_ARGUMENT, error,
                "9 dimensions");
    CHECK_FAILS(mw_npy_writer_open(&writer, scratch("x"), MW_BF16, 1, shape, &error), MW_ERR_UNSUPPORTED,
                error, "bf16");
    CHECK_OK(mw_npy_writer_open(&writer, scratch("x"), MW_U8, 1, huge, &error), error);
    CHECK_FAILS(mw_npy_writer_rows(&writer, "a", 1ul << 40, &error), MW_ERR_ARGUMENT, error, "too many rows");
    mw_npy_writer_abandon(&writer);
    assert_int_equal(scratch_count(false), 0);
}

static void full_disk(void **state) {
    (void)state;
    mw_error error = {0};
    mw_npy_writer writer;
    static float data[16384];
    scratch_full_disk_begin(1000);
    mw_status whole = mw_npy_write(scratch("x"), MW_F32, 1, (size_t[]){16384}, data, &error);
    mw_status opened = mw_npy_writer_open(&writer, scratch("x"), MW_F32, 0, NULL, &error);
    mw_status small = mw_npy_writer_rows(&writer, data, 300, &error); /* still fits into the buffer */
    mw_status committed = mw_npy_writer_commit(&writer, &error);
    scratch_full_disk_end();
    assert_int_equal(whole, MW_ERR_IO);
    assert_int_equal(opened, MW_OK);
    assert_int_equal(small, MW_OK);
    assert_int_equal(committed, MW_ERR_IO);
    assert_non_null(strstr(error.message, "File too large"));
    assert_int_equal(scratch_count(false), 0);
}

/* ---- broken files -------------------------------------------------------------------------------------- */

/* A file with this header text, padded to a multiple of 64 bytes if asked, and zeros as data. */
static size_t build(unsigned char *out, int version, const char *text, bool pad, size_t data) {
    size_t prefix = version == 1 ? 10 : 12, used = strlen(text), total = prefix + used;
    if (pad) total = (total + 64) / 64 * 64;
    memset(out, ' ', total);
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (unsigned char)version;
    out[7] = 0;
    for (size_t i = 8; i < prefix; i++) out[i] = (unsigned char)((total - prefix) >> (8 * (i - 8)));
    memcpy(out + prefix, text, used);
    if (pad) out[total - 1] = '\n';
    memset(out + total, 0, data);
    return total + data;
}

#define D "'descr': '<f4'"
#define F "'fortran_order': False"
#define S "'shape': (2, 3)"

static void accepted_headers(void **state) {
    (void)state;
    static const char *const texts[] = {
        "{" D ", " F ", " S ", }",
        "{" D ", " F ", " S "}",
        "{" S "," F "," D "}",
        "{ \"descr\" : \"<f4\" ,\n\t'fortran_order':False , 'shape' : ( 2 , 3 , ) , }",
        "{'descr': '=f4', " F ", " S "}",
        "{'descr': '|f4', " F ", " S "}",
        "{" D ", 'fortran_order': True, 'shape': (6,)}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        mw_error error;
        mw_npy npy;
        unsigned char file[512];
        size_t size = build(file, 1 + (int)i % 3, texts[i], true, 24);
        scratch_write(scratch("x"), file, size);
        CHECK_OK(mw_npy_open(&npy, scratch("x"), &error), error);
        assert_int_equal(npy.count, 6);
        mw_npy_close(&npy);
    }
}

static void broken_headers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t data;
        mw_status status;
        const char *message;
    } rows[] = {
        {"", 24, MW_ERR_FORMAT, "header ends where '{' was expected"},
        {"[" D ", " F ", " S "]", 24, MW_ERR_FORMAT, "is '[', expected '{'"},
        {"{" D ", " F ", " S, 24, MW_ERR_FORMAT, "header ends where ',' or '}'"},
        {"{" D ", " F ", " S "} x", 24, MW_ERR_FORMAT, "nothing but spaces"},
        {"{" D ", " F ", " S "}}", 24, MW_ERR_FORMAT, "nothing but spaces"},
        {"{" D " " F ", " S "}", 24, MW_ERR_FORMAT, "expected ',' or '}'"},
        {"{" D ",, " F ", " S "}", 24, MW_ERR_FORMAT, "is ',', expected a quoted key"},
        {"{" D ", " F "}", 24, MW_ERR_FORMAT, "header lacks 'shape'"},
        {"{" D ", " S "}", 24, MW_ERR_FORMAT, "header lacks 'fortran_order'"},
        {"{" F ", " S "}", 24, MW_ERR_FORMAT, "header lacks 'descr'"},
        {"{}", 24, MW_ERR_FORMAT, "header lacks 'descr'"},
        {"{" D ", " F ", " S ", " D "}", 24, MW_ERR_FORMAT, "'descr' twice"},
        {"{" D ", " F ", " S ", " S "}", 24, MW_ERR_FORMAT, "'shape' twice"},
        {"{" D ", " F ", " S ", 'more': 1}", 24, MW_ERR_FORMAT, "unknown header key 'more'"},
        {"{descr: '<f4', " F ", " S "}", 24, MW_ERR_FORMAT, "is 'd', expected a quoted key"},
        {"{'descr' '<f4', " F ", " S "}", 24, MW_ERR_FORMAT, "expected ':'"},
        {"{'descr': <f4, " F ", " S "}", 24, MW_ERR_FORMAT, "expected a quoted element type"},
        {"{'descr': '<f4", 24, MW_ERR_FORMAT, "end of a short string"},
        {"{'descr': '<\\x664', " F ", " S "}", 24, MW_ERR_FORMAT, "plain character"},
        {"{'descr': '\xc3\xa9', " F ", " S "}", 24, MW_ERR_FORMAT, "byte 0xc3"},
        {"{'descr': 'f4', " F ", " S "}", 24, MW_ERR_FORMAT, "'f4' is not an element type"},
        {"{'descr': '', " F ", " S "}", 24, MW_ERR_FORMAT, "'' is not an element type"},
        {"{'descr': '<', " F ", " S "}", 24, MW_ERR_FORMAT, "'<' is not an element type"},
        {"{'descr': '<f4<f4<f4<f4<f4<f4', " F ", " S "}", 24, MW_ERR_FORMAT, "end of a short string"},
        {"{'descr': '<f16', " F ", " S "}", 24, MW_ERR_UNSUPPORTED, "'<f16' is not supported"},
        {"{'descr': '<f44', " F ", " S "}", 24, MW_ERR_UNSUPPORTED, "'<f44' is not supported"},
        {"{'descr': '>i1', " F ", " S "}", 24, MW_ERR_UNSUPPORTED, "big-endian"},
        {"{'descr': [('a', '<f4')], " F ", " S "}", 24, MW_ERR_UNSUPPORTED, "structured"},
        {"{'descr': '|O', " F ", " S "}", 24, MW_ERR_UNSUPPORTED, "Python objects"},
        {"{" D ", 'fortran_order': 0, " S "}", 24, MW_ERR_FORMAT, "is '0', expected True or False"},
        {"{" D ", 'fortran_order': false, " S "}", 24, MW_ERR_FORMAT, "expected True or False"},
        {"{" D ", 'fortran_order': Falsehood, " S "}", 24, MW_ERR_FORMAT, "is 'h', expected ',' or '}'"},
        {"{" D ", 'fortran_order': True, " S "}", 24, MW_ERR_UNSUPPORTED, "column-major"},
        {"{" D ", " F ", 'shape': [2, 3]}", 24, MW_ERR_FORMAT, "expected '(' of the shape"},
        {"{" D ", " F ", 'shape': (6)}", 24, MW_ERR_FORMAT, "not a tuple"},
        {"{" D ", " F ", 'shape': 6}", 24, MW_ERR_FORMAT, "expected '(' of the shape"},
        {"{" D ", " F ", 'shape': (2 3)}", 24, MW_ERR_FORMAT, "',' or ')' in the shape"},
        {"{" D ", " F ", 'shape': (,)}", 24, MW_ERR_FORMAT, "expected an extent"},
        {"{" D ", " F ", 'shape': (-2, -3)}", 24, MW_ERR_FORMAT, "is '-', expected an extent"},
        {"{" D ", " F ", 'shape': (2.0, 3)}", 24, MW_ERR_FORMAT, "is '.', expected ',' or ')'"},
        {"{" D ", " F ", 'shape': (2L, 3L)}", 24, MW_ERR_FORMAT, "is 'L', expected ',' or ')'"},
        {"{" D ", " F ", 'shape': (02, 3)}", 24, MW_ERR_FORMAT, "leading zero"},
        {"{" D ", " F ", 'shape': (2, 3", 24, MW_ERR_FORMAT, "header ends where"},
        {"{" D ", " F ", 'shape': (99999999999999999999, 3)}", 24, MW_ERR_FORMAT,
         "extent of the shape is too"},
        {"{" D ", " F ", 'shape': (18446744073709551616,)}", 24, MW_ERR_FORMAT, "extent of the shape is too"},
        {"{" D ", " F ", 'shape': (4611686018427387910,)}", 24, MW_ERR_FORMAT, "product overflows"},
        {"{" D ", " F ", 'shape': (4294967296, 4294967296)}", 0, MW_ERR_FORMAT, "product overflows"},
        {"{" D ", " F ", 'shape': (0, 4294967296, 4294967296)}", 0, MW_ERR_FORMAT, "product overflows"},
        {"{" D ", " F ", 'shape': (1, 1, 1, 1, 1, 1, 1, 2, 3)}", 24, MW_ERR_UNSUPPORTED, "more than 8"},
        {"{" D ", " F ", " S "}", 23, MW_ERR_FORMAT, "needs 24 bytes of f32 data, the file has 23"},
        {"{" D ", " F ", " S "}", 25, MW_ERR_FORMAT, "needs 24 bytes of f32 data, the file has 25"},
        {"{" D ", " F ", 'shape': (0, 3)}", 4, MW_ERR_FORMAT, "needs 0 bytes of f32 data, the file has 4"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int version = 1; version <= 3; version++) {
            mw_error error;
            mw_npy npy;
            unsigned char file[512];
            size_t size = build(file, version, rows[i].text, true, rows[i].data);
            scratch_write(scratch("x"), file, size);
            CHECK_FAILS(mw_npy_open(&npy, scratch("x"), &error), rows[i].status, error, rows[i].message);
            assert_non_null(strstr(error.message, scratch("x")));
            assert_null(npy.map.data);
        }
}

static void broken_prefixes(void **state) {
    (void)state;
    mw_error error;
    mw_npy npy;
    unsigned char file[512];
    const char *text = "{" D ", " F ", " S "}";
    size_t size = build(file, 1, text, true, 24);
    const struct {
        int at;
        unsigned char value;
        mw_status status;
        const char *message;
    } rows[] = {{0, 0x92, MW_ERR_FORMAT, "no magic number"}, {5, 'X', MW_ERR_FORMAT, "no magic number"},
                {6, 0, MW_ERR_UNSUPPORTED, "version 0.0"},   {6, 4, MW_ERR_UNSUPPORTED, "version 4.0"},
                {7, 1, MW_ERR_UNSUPPORTED, "version 1.1"},   {9, 0xFF, MW_ERR_FORMAT, "but only"},
                {6, 2, MW_ERR_FORMAT, "exceeds the limit"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned char kept = file[rows[i].at];
        file[rows[i].at] = rows[i].value;
        scratch_write(scratch("x"), file, size);
        CHECK_FAILS(mw_npy_open(&npy, scratch("x"), &error), rows[i].status, error, rows[i].message);
        file[rows[i].at] = kept;
    }
    size = build(file, 1, "{" D ", " F ", " S " }", false, 24); /* data at byte 68 is well aligned */
    scratch_write(scratch("x"), file, size);
    CHECK_OK(mw_npy_open(&npy, scratch("x"), &error), error);
    mw_npy_close(&npy);
    size = build(file, 1, text, false, 24);
    scratch_write(scratch("x"), file, size);
    CHECK_FAILS(mw_npy_open(&npy, scratch("x"), &error), MW_ERR_FORMAT, error, "not aligned for f32");
    size = build(file, 1, "{'descr': '<f4", false, 0);
    scratch_write(scratch("x"), file, size);
    CHECK_FAILS(mw_npy_open(&npy, scratch("x"), &error), MW_ERR_FORMAT, error,
                "header ends where a closing quote");
}

static void every_truncation(void **state) {
    (void)state;
    static const char *const names[] = {"f4", "f4_version2", "scalar"};
    for (int i = 0; i < 3; i++) {
        mw_error error;
        mw_npy npy;
        unsigned char file[512];
        size_t size = scratch_read(golden(names[i]), file, sizeof file);
        for (size_t cut = 0; cut < size; cut++) {
            scratch_write(scratch("x"), file, cut);
            const char *text = cut < 6     ? "no magic number"
                               : cut < 12  ? "cut short in"
                               : cut < 128 ? "but only"
                                           : "the file has";
            if (i != 1 && cut >= 10 && cut < 12) text = "but only"; /* version 1 has a shorter length */
            CHECK_FAILS(mw_npy_open(&npy, scratch("x"), &error), MW_ERR_FORMAT, error, text);
        }
    }
}

/* Whatever the damage: either a complaint, or an array that lies within the file. */
static void random_damage(void **state) {
    (void)state;
    mw_rng rng = mw_rng_make(3, MW_RNG_TEST, 0, 0, 0);
    static const char *const names[] = {"f2", "f4", "i8", "dims8", "f4_version3"};
    int opened = 0;
    for (int round = 0; round < 4000; round++) {
        mw_error error;
        mw_npy npy;
        unsigned char file[512];
        size_t size = scratch_read(golden(names[round % 5]), file, sizeof file);
        size_t focus = round % 2 ? 128 : size; /* most damage to the header */
        for (uint32_t flips = 1 + mw_rng_below(&rng, 3); flips > 0; flips--)
            file[mw_rng_below(&rng, (uint32_t)focus)] ^= (unsigned char)(1u << mw_rng_below(&rng, 8));
        if (mw_rng_below(&rng, 16) == 0) size = mw_rng_below(&rng, (uint32_t)size);
        scratch_write(scratch("x"), file, size);
        mw_status status = mw_npy_open(&npy, scratch("x"), &error);
        if (status != MW_OK) {
            assert_true(status == MW_ERR_FORMAT || status == MW_ERR_UNSUPPORTED);
            assert_true(error.status == status && strstr(error.message, scratch("x")));
            continue;
        }
        opened++;
        double values[512];
        const unsigned char *data = npy.data;
        assert_true(data + npy.count * mw_dtype_size(npy.type) == npy.map.data + npy.map.size);
        assert_true(npy.dims >= 0 && npy.dims <= MW_MAX_DIMS && npy.count <= 512);
        mw_dtype_to_doubles(npy.type, npy.data, npy.count, values);
        mw_npy_close(&npy);
    }
    print_message("opened %d of 4000 damaged files\n", opened);
    assert_true(opened > 100 && opened < 3000);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(golden_values),    TEST(golden_shapes),  TEST(golden_refused),  TEST(round_trips),
        TEST(written_bytes),    TEST(streaming),      TEST(refused_writes),  TEST(full_disk),
        TEST(accepted_headers), TEST(broken_headers), TEST(broken_prefixes), TEST(every_truncation),
        TEST(random_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
