/* Reading and writing .npy; see npy.h. The header is a Python dictionary in text form; the parser below takes
 * exactly the three keys of the format, in any order, and nothing else. */
#include "core/tensor/npy.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC        "\x93NUMPY"
#define MAGIC_SIZE   6
#define HEADER_LIMIT ((size_t)1 << 20) /* ours never exceed 400 bytes; NumPy itself warns above 10000 */

/* Type letters after the byte order. Those without a row are valid for NumPy but not for us. */
static const struct {
    const char *code;
    mw_dtype type;
    char order; /* what a writer puts in front */
} codes[] = {
    {"f2", MW_F16, '<'}, {"f4", MW_F32, '<'}, {"f8", MW_F64, '<'}, {"i1", MW_I8, '|'},
    {"i2", MW_I16, '<'}, {"i4", MW_I32, '<'}, {"i8", MW_I64, '<'}, {"u1", MW_U8, '|'},
    {"u2", MW_U16, '<'}, {"u4", MW_U32, '<'}, {"u8", MW_U64, '<'}, {"b1", MW_BOOL, '|'},
};
#define CODE_COUNT (sizeof codes / sizeof *codes)

/* ---- the header's dictionary --------------------------------------------------------------------------- */

typedef struct parser {
    const char *at, *end, *begin;
    const char *path;
    mw_error *error;
} parser;

/* Every complaint about the header's text names the file and the place. */
static mw_status fail_at(const parser *p, const char *what) {
    if (p->at >= p->end)
        return mw_fail(p->error, MW_ERR_FORMAT, "%s: header ends where %s was expected", p->path, what);
    unsigned char seen = (unsigned char)*p->at;
    if (seen >= 32 && seen < 127)
        return mw_fail(p->error, MW_ERR_FORMAT, "%s: header character %td is '%c', expected %s", p->path,
                       p->at - p->begin, seen, what);
    return mw_fail(p->error, MW_ERR_FORMAT, "%s: header character %td is byte 0x%02x, expected %s", p->path,
                   p->at - p->begin, seen, what);
}

static void skip_space(parser *p) {
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r')) p->at++;
}

static bool take(parser *p, char symbol) {
    skip_space(p);
    if (p->at == p->end || *p->at != symbol) return false;
    p->at++;
    return true;
}

/* A quoted string without escapes; longer ones than fit are no keys or types we know. */
static mw_status parse_string(parser *p, const char *what, char *out, size_t size) {
    skip_space(p);
    char quote = p->at < p->end ? *p->at : 0;
    if (quote != '\'' && quote != '"') return fail_at(p, what);
    p->at++;
    size_t used = 0;
    for (; p->at < p->end && *p->at != quote; p->at++) {
        unsigned char c = (unsigned char)*p->at;
        if (c == '\\' || c < 32 || c > 126) return fail_at(p, "a plain character inside quotes");
        if (used + 1 == size) return fail_at(p, "the end of a short string");
        out[used++] = (char)c;
    }
    if (p->at == p->end) return fail_at(p, "a closing quote");
    p->at++;
    out[used] = 0;
    return MW_OK;
}

static mw_status parse_descr(parser *p, mw_dtype *type) {
    char text[16];
    skip_space(p);
    if (p->at < p->end && *p->at == '[')
        return mw_fail(p->error, MW_ERR_UNSUPPORTED, "%s: structured element types are not supported",
                       p->path);
    MW_TRY(parse_string(p, "a quoted element type", text, sizeof text));
    if (!text[0] || !strchr("<>|=", text[0]) || !text[1])
        return mw_fail(p->error, MW_ERR_FORMAT, "%s: '%s' is not an element type such as '<f4'", p->path,
                       text);
    if (text[1] == 'O')
        return mw_fail(p->error, MW_ERR_UNSUPPORTED, "%s: arrays of Python objects are not supported",
                       p->path);
    if (text[0] == '>')
        return mw_fail(p->error, MW_ERR_UNSUPPORTED,
                       "%s: element type '%s' is big-endian; only little-endian "
                       "files are supported",
                       p->path, text);
    for (size_t i = 0; i < CODE_COUNT; i++) {
        if (!strcmp(codes[i].code, text + 1)) {
            *type = codes[i].type;
            return MW_OK;
        }
    }
    return mw_fail(p->error, MW_ERR_UNSUPPORTED,
                   "%s: element type '%s' is not supported; known: f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1",
                   p->path, text);
}

static mw_status parse_bool(parser *p, bool *value) {
    skip_space(p);
    size_t left = (size_t)(p->end - p->at);
    *value = left >= 4 && !memcmp(p->at, "True", 4);
    if (!*value && (left < 5 || memcmp(p->at, "False", 5) != 0)) return fail_at(p, "True or False");
    p->at += *value ? 4 : 5;
    return MW_OK;
}

static mw_status parse_extent(parser *p, size_t *value) {
    skip_space(p);
    const char *first = p->at;
    *value = 0;
    for (; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++)
        if (__builtin_mul_overflow(*value, (size_t)10, value) ||
            __builtin_add_overflow(*value, (size_t)(*p->at - '0'), value))
            return mw_fail(p->error, MW_ERR_FORMAT, "%s: an extent of the shape is too large", p->path);
    if (p->at == first) return fail_at(p, "an extent (a whole number, not negative)");
    if (*first == '0' && p->at - first > 1)
        return mw_fail(p->error, MW_ERR_FORMAT, "%s: an extent of the shape has a leading zero", p->path);
    return MW_OK;
}

/* A tuple: "()", "(3,)", "(3, 4)"; in Python "(3)" is a number, not a tuple. */
static mw_status parse_shape(parser *p, mw_npy *npy) {
    if (!take(p, '(')) return fail_at(p, "'(' of the shape");
    bool comma = true;
    npy->dims = 0;
    while (!take(p, ')')) {
        if (!comma) return fail_at(p, "',' or ')' in the shape");
        if (npy->dims == MW_MAX_DIMS)
            return mw_fail(p->error, MW_ERR_UNSUPPORTED, "%s: more than %d dimensions", p->path, MW_MAX_DIMS);
        MW_TRY(parse_extent(p, &npy->shape[npy->dims++]));
        comma = take(p, ',');
    }
    if (npy->dims == 1 && !comma)
        return mw_fail(p->error, MW_ERR_FORMAT, "%s: the shape is a number in parentheses, not a tuple",
                       p->path);
    return MW_OK;
}

static mw_status parse_header(parser *p, mw_npy *npy) {
    enum { DESCR, FORTRAN, SHAPE, KEYS };
    static const char *const names[KEYS] = {"descr", "fortran_order", "shape"};
    bool seen[KEYS] = {false}, fortran = false, comma = true;
    if (!take(p, '{')) return fail_at(p, "'{'");
    while (!take(p, '}')) {
        char key[24];
        int which = 0;
        if (!comma) return fail_at(p, "',' or '}'");
        MW_TRY(parse_string(p, "a quoted key", key, sizeof key));
        while (which < KEYS && strcmp(names[which], key) != 0) which++;
        if (which == KEYS)
            return mw_fail(p->error, MW_ERR_FORMAT, "%s: unknown header key '%s'", p->path, key);
        if (seen[which]) return mw_fail(p->error, MW_ERR_FORMAT, "%s: header key '%s' twice", p->path, key);
        seen[which] = true;
        if (!take(p, ':')) return fail_at(p, "':'");
        MW_TRY(which == DESCR     ? parse_descr(p, &npy->type)
               : which == FORTRAN ? parse_bool(p, &fortran)
                                  : parse_shape(p, npy));
        comma = take(p, ',');
    }
    skip_space(p);
    if (p->at < p->end) return fail_at(p, "nothing but spaces after the dictionary");
    for (int i = 0; i < KEYS; i++)
        if (!seen[i]) return mw_fail(p->error, MW_ERR_FORMAT, "%s: header lacks '%s'", p->path, names[i]);
    if (fortran && npy->dims > 1)
        return mw_fail(p->error, MW_ERR_UNSUPPORTED,
                       "%s: column-major (fortran_order) arrays are not supported; save "
                       "numpy.ascontiguousarray(array)",
                       p->path);
    return MW_OK;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

/* Finds the header's text: version 1.0 has a 2-byte length, 2.0 and 3.0 a 4-byte one. */
static mw_status find_header(const mw_map *map, const char *path, size_t *begin, size_t *length,
                             mw_error *error) {
    const unsigned char *data = map->data;
    if (map->size < MAGIC_SIZE || memcmp(data, MAGIC, MAGIC_SIZE) != 0)
        return mw_fail(error, MW_ERR_FORMAT, "%s: not a .npy file (no magic number)", path);
    if (map->size < 8) return mw_fail(error, MW_ERR_FORMAT, "%s: cut short in the version", path);
    if (data[6] < 1 || data[6] > 3 || data[7] != 0)
        return mw_fail(error, MW_ERR_UNSUPPORTED, "%s: version %d.%d of the format is not supported", path,
                       data[6], data[7]);
    size_t bytes = data[6] == 1 ? 2 : 4;
    *begin = 8 + bytes;
    if (map->size < *begin)
        return mw_fail(error, MW_ERR_FORMAT, "%s: cut short in the header's length", path);
    *length = 0;
    for (size_t i = 0; i < bytes; i++) *length |= (size_t)data[8 + i] << (8 * i);
    if (*length > HEADER_LIMIT)
        return mw_fail(error, MW_ERR_FORMAT, "%s: header of %zu bytes exceeds the limit of %zu", path,
                       *length, HEADER_LIMIT);
    if (*length > map->size - *begin)
        return mw_fail(error, MW_ERR_FORMAT, "%s: header of %zu bytes, but only %zu follow", path, *length,
                       map->size - *begin);
    return MW_OK;
}

static mw_status open_mapped(mw_npy *npy, const char *path, mw_error *error) {
    size_t begin = 0, length = 0, bytes;
    MW_TRY(find_header(&npy->map, path, &begin, &length, error));
    const char *text = (const char *)npy->map.data + begin;
    MW_TRY(parse_header(&(parser){text, text + length, text, path, error}, npy));
    if (!mw_shape_size(npy->type, npy->dims, npy->shape, &npy->count, &bytes))
        return mw_fail(error, MW_ERR_FORMAT, "%s: the shape's product overflows", path);
    size_t start = begin + length, left = npy->map.size - start;
    if (bytes != left)
        return mw_fail(error, MW_ERR_FORMAT, "%s: the shape needs %zu bytes of %s data, the file has %zu",
                       path, bytes, mw_dtype_name(npy->type), left);
    if (start % mw_dtype_size(npy->type) != 0)
        return mw_fail(error, MW_ERR_FORMAT, "%s: data at byte %zu is not aligned for %s elements", path,
                       start, mw_dtype_name(npy->type));
    npy->data = npy->map.data + start;
    return MW_OK;
}

mw_status mw_npy_read(mw_npy *npy, mw_map map, const char *path, mw_error *error) {
    *npy = (mw_npy){.map = map};
    mw_status status = open_mapped(npy, path, error);
    if (status != MW_OK) mw_npy_close(npy);
    return status;
}

mw_status mw_npy_open(mw_npy *npy, const char *path, mw_error *error) {
    mw_map map;
    *npy = (mw_npy){0};
    MW_TRY(mw_map_open(&map, path, error));
    return mw_npy_read(npy, map, path, error);
}

void mw_npy_close(mw_npy *npy) {
    mw_map_close(&npy->map);
    *npy = (mw_npy){0};
}

mw_status mw_npy_expect(const mw_npy *npy, const char *path, mw_dtype type, int dims, const long *shape,
                        mw_error *error) {
    if (npy->type != type)
        return mw_fail(error, MW_ERR_MISMATCH, "%s has elements of type %s, expected %s", path,
                       mw_dtype_name(npy->type), mw_dtype_name(type));
    return mw_shape_expect(path, npy->dims, npy->shape, dims, shape, error);
}

/* ---- writing ------------------------------------------------------------------------------------------- */

/* From the magic number to the first data byte. Eight extents whose product fits in 63 bits have at most 26
 * digits, so the header of any array takes less than 110 bytes: a prefix written before the rows are counted
 * can be completed in place. */
#define PREFIX_SIZE 128

static mw_status put_prefix(mw_writer *writer, mw_dtype type, int dims, const size_t *shape,
                            mw_error *error) {
    char prefix[PREFIX_SIZE + 128];
    size_t code = 0;
    while (code < CODE_COUNT && codes[code].type != type) code++;
    if (code == CODE_COUNT)
        return mw_fail(error, MW_ERR_UNSUPPORTED, "%s: .npy files have no elements of type %s", writer->path,
                       mw_dtype_name(type));
    memcpy(prefix, MAGIC "\x01\x00", 8);
    prefix[8] = PREFIX_SIZE - 10;
    prefix[9] = 0;
    char *end = prefix + 10;
    end += sprintf(end, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", codes[code].order,
                   codes[code].code);
    for (int i = 0; i < dims; i++) end += sprintf(end, i ? ", %zu" : "%zu", shape[i]);
    end += sprintf(end, dims == 1 ? ",), }" : "), }");
    assert(end < prefix + PREFIX_SIZE);
    memset(end, ' ', (size_t)(prefix + PREFIX_SIZE - 1 - end));
    prefix[PREFIX_SIZE - 1] = '\n';
    return mw_writer_put(writer, prefix, PREFIX_SIZE, error);
}

static mw_status check_dims(const char *path, int dims, mw_error *error) {
    if (dims >= 0 && dims <= MW_MAX_DIMS) return MW_OK;
    return mw_fail(error, MW_ERR_ARGUMENT, "%s: %d dimensions, expected 0 to %d", path, dims, MW_MAX_DIMS);
}

mw_status mw_npy_write(const char *path, mw_dtype type, int dims, const size_t *shape, const void *data,
                       mw_error *error) {
    mw_writer writer;
    size_t count, bytes;
    MW_TRY(check_dims(path, dims, error));
    if (!mw_shape_size(type, dims, shape, &count, &bytes))
        return mw_fail(error, MW_ERR_ARGUMENT, "%s: the shape's product overflows", path);
    MW_TRY(mw_writer_open(&writer, path, error));
    mw_status status = put_prefix(&writer, type, dims, shape, error);
    if (status == MW_OK) status = mw_writer_put(&writer, data, bytes, error);
    if (status == MW_OK) return mw_writer_commit(&writer, error);
    mw_writer_abandon(&writer);
    return status;
}

mw_status mw_npy_writer_open(mw_npy_writer *w, const char *path, mw_dtype type, int row_dims,
                             const size_t *row_shape, mw_error *error) {
    size_t count;
    *w = (mw_npy_writer){.type = type, .dims = row_dims + 1, .hash = MW_HASH_START};
    MW_TRY(check_dims(path, row_dims < 0 ? row_dims : w->dims, error));
    if (row_dims > 0) memcpy(w->shape + 1, row_shape, (size_t)row_dims * sizeof *row_shape);
    if (!mw_shape_size(type, row_dims, w->shape + 1, &count, &w->row_bytes))
        return mw_fail(error, MW_ERR_ARGUMENT, "%s: the shape's product overflows", path);
    MW_TRY(mw_writer_open(&w->writer, path, error));
    mw_status status = put_prefix(&w->writer, type, w->dims, w->shape, error);
    if (status != MW_OK) mw_npy_writer_abandon(w);
    return status;
}

mw_status mw_npy_writer_rows(mw_npy_writer *w, const void *rows, size_t count, mw_error *error) {
    size_t elements, total, shape[MW_MAX_DIMS], bytes = 0;
    memcpy(shape, w->shape, sizeof shape);
    if (__builtin_add_overflow(shape[0], count, &shape[0]) ||
        !mw_shape_size(w->type, w->dims, shape, &elements, &total))
        return mw_fail(error, MW_ERR_ARGUMENT, "%s: too many rows", w->writer.path);
    bytes = count * w->row_bytes;
    MW_TRY(mw_writer_put(&w->writer, rows, bytes, error));
    w->hash = mw_hash(w->hash, rows, bytes);
    w->shape[0] = shape[0];
    return MW_OK;
}

mw_status mw_npy_writer_commit(mw_npy_writer *w, mw_error *error) {
    mw_status status = MW_OK;
    if (fseeko(w->writer.stream, 0, SEEK_SET) != 0)
        status = mw_fail(error, MW_ERR_IO, "cannot write '%s': %s", w->writer.path, strerror(errno));
    if (status == MW_OK) status = put_prefix(&w->writer, w->type, w->dims, w->shape, error);
    if (status == MW_OK) return mw_writer_commit(&w->writer, error);
    mw_npy_writer_abandon(w);
    return status;
}

void mw_npy_writer_abandon(mw_npy_writer *w) {
    mw_writer_abandon(&w->writer);
}
