/* Reading and writing safetensors; see safetensors.h. A file is checked completely when it is opened, so that
 * everything found in it afterwards can be used without further care. */
#include "core/tensor/safetensors.h"

#include "core/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_LIMIT ((unsigned)8 << 20) /* bytes; those of the largest bundles have 50000 */
#define DATA_ALIGN   64
#define METADATA     "__metadata__"

static const struct {
    const char *name;
    mw_dtype type;
} codes[] = {
    {"F64", MW_F64}, {"F32", MW_F32}, {"F16", MW_F16},   {"BF16", MW_BF16}, {"I64", MW_I64},
    {"I32", MW_I32}, {"I16", MW_I16}, {"I8", MW_I8},     {"U8", MW_U8},     {"U16", MW_U16},
    {"U32", MW_U32}, {"U64", MW_U64}, {"BOOL", MW_BOOL},
};
#define CODE_COUNT (sizeof codes / sizeof *codes)

/* ---- reading ------------------------------------------------------------------------------------------- */

/* What opening needs to know about the data section while it checks the header. */
typedef struct data_section {
    const unsigned char *data;
    size_t size;
} data_section;

static mw_status read_header(mw_safetensors *file, data_section *section, mw_error *error) {
    mw_map *map = &file->map;
    uint64_t length;
    if (map->size < 8)
        return mw_fail(error, MW_ERR_FORMAT, "%s: not a safetensors file: %zu bytes are too few for a header",
                       file->path, map->size);
    MW_TRY(mw_map_fill(map, sizeof length, file->path, error));
    memcpy(&length, map->data, sizeof length);
    if (length > HEADER_LIMIT)
        return mw_fail(error, MW_ERR_FORMAT,
                       "%s: not a safetensors file: header of %llu bytes exceeds the limit of %u", file->path,
                       (unsigned long long)length, HEADER_LIMIT);
    if (length > map->size - 8)
        return mw_fail(error, MW_ERR_FORMAT, "%s: header of %llu bytes, but only %zu follow", file->path,
                       (unsigned long long)length, map->size - 8);
    MW_TRY(mw_map_fill(map, length ? 9 : 8, file->path, error));
    if (length == 0 || map->data[8] != '{')
        return mw_fail(error, MW_ERR_FORMAT, "%s: header does not start with '{'", file->path);
    MW_TRY(mw_map_fill(map, 8 + length, file->path, error));
    section->data = map->data + 8 + length;
    section->size = map->size - 8 - length;
    return mw_json_parse(&file->header, (const char *)map->data + 8, length, file->path, error);
}

static mw_status parse_metadata(mw_safetensors *file, json_t *object, mw_error *error) {
    const char *key;
    json_t *value;
    if (!json_is_object(object))
        return mw_fail(error, MW_ERR_FORMAT, "%s: " METADATA " must be an object, found %s", file->path,
                       mw_json_kind(object));
    file->metadata = calloc(json_object_size(object) + 1, sizeof *file->metadata);
    if (!file->metadata) return mw_fail(error, MW_ERR_MEMORY, "%s: cannot allocate the metadata", file->path);
    json_object_foreach(object, key, value) {
        if (!json_is_string(value))
            return mw_fail(error, MW_ERR_FORMAT, "%s: metadata '%s' must be a string, found %s", file->path,
                           key, mw_json_kind(value));
        file->metadata[file->metadata_count++] = (mw_meta){key, json_string_value(value)};
    }
    return MW_OK;
}

static mw_status parse_type(const char *what, const json_t *entry, mw_dtype *type, mw_error *error) {
    const char *name = NULL;
    MW_TRY(mw_json_get_string(entry, "dtype", what, &name, error));
    for (size_t i = 0; i < CODE_COUNT; i++) {
        if (!strcmp(codes[i].name, name)) {
            *type = codes[i].type;
            return MW_OK;
        }
    }
    return mw_fail(error, MW_ERR_UNSUPPORTED,
                   "%s: dtype '%.32s' is not one of F64 F32 F16 BF16 I64 I32 I16 I8 U64 U32 U16 U8 BOOL",
                   what, name);
}

/* The integers of the array named key, none of them negative; at most `most`. */
static mw_status parse_sizes(const char *what, const json_t *entry, const char *key, size_t *out, size_t most,
                             size_t *count, mw_error *error) {
    const json_t *array = json_object_get(entry, key);
    if (!json_is_array(array))
        return mw_fail(error, MW_ERR_FORMAT, "%s: '%s' must be an array, found %s", what, key,
                       mw_json_kind(array));
    *count = json_array_size(array);
    for (size_t i = 0; i < *count && i < most; i++) {
        const json_t *item = json_array_get(array, i);
        if (!json_is_integer(item))
            return mw_fail(error, MW_ERR_FORMAT, "%s: '%s' must hold integers, found %s", what, key,
                           mw_json_kind(item));
        if (json_integer_value(item) < 0)
            return mw_fail(error, MW_ERR_FORMAT, "%s: '%s' holds the negative number %lld", what, key,
                           (long long)json_integer_value(item));
        out[i] = (size_t)json_integer_value(item);
    }
    return MW_OK;
}

/* One tensor's entry; the order of all of them is checked afterwards. */
static mw_status parse_tensor(const char *what, const json_t *entry, const data_section *section,
                              mw_tensor *tensor, mw_error *error) {
    size_t count = 0, bytes, offsets[2];
    const char *key;
    json_t *value;
    if (!json_is_object(entry))
        return mw_fail(error, MW_ERR_FORMAT, "%s: expected an object, found %s", what, mw_json_kind(entry));
    json_object_foreach((json_t *)entry, key, value) {
        if (strcmp(key, "dtype") != 0 && strcmp(key, "shape") != 0 && strcmp(key, "data_offsets") != 0)
            return mw_fail(error, MW_ERR_FORMAT, "%s: unknown member '%.32s'", what, key);
    }
    MW_TRY(parse_type(what, entry, &tensor->type, error));
    MW_TRY(parse_sizes(what, entry, "shape", tensor->shape, MW_TENSOR_MAX_DIMS, &count, error));
    if (count > MW_TENSOR_MAX_DIMS)
        return mw_fail(error, MW_ERR_UNSUPPORTED, "%s: %zu dimensions, at most %d are supported", what, count,
                       MW_TENSOR_MAX_DIMS);
    tensor->dims = (int)count;
    MW_TRY(parse_sizes(what, entry, "data_offsets", offsets, 2, &count, error));
    if (count != 2)
        return mw_fail(error, MW_ERR_FORMAT, "%s: 'data_offsets' has %zu numbers, expected 2", what, count);
    if (offsets[0] > offsets[1] || offsets[1] > section->size)
        return mw_fail(error, MW_ERR_FORMAT,
                       "%s: data_offsets [%zu, %zu] do not lie within %zu bytes of data", what, offsets[0],
                       offsets[1], section->size);
    if (!mw_shape_size(tensor->type, tensor->dims, tensor->shape, &tensor->count, &bytes))
        return mw_fail(error, MW_ERR_FORMAT, "%s: the shape's product overflows", what);
    if (bytes != offsets[1] - offsets[0])
        return mw_fail(error, MW_ERR_FORMAT,
                       "%s: the shape needs %zu bytes, data_offsets [%zu, %zu] hold %zu", what, bytes,
                       offsets[0], offsets[1], offsets[1] - offsets[0]);
    tensor->data = section->data + offsets[0];
    return MW_OK;
}

static size_t tensor_bytes(const mw_tensor *tensor) {
    return tensor->count * mw_dtype_size(tensor->type);
}

/* By place; an empty tensor comes before the one that starts where it stands. */
static int compare_tensors(const void *left, const void *right) {
    const mw_tensor *a = left, *b = right;
    if (a->data != b->data) return a->data < b->data ? -1 : 1;
    size_t x = tensor_bytes(a), y = tensor_bytes(b);
    return x != y ? (x < y ? -1 : 1) : strcmp(a->name, b->name);
}

/* Together the tensors must cover the data section exactly once. */
static mw_status check_cover(mw_safetensors *file, const data_section *section, mw_error *error) {
    qsort(file->tensors, file->tensor_count, sizeof *file->tensors, compare_tensors);
    size_t covered = 0;
    for (size_t i = 0; i < file->tensor_count; i++) {
        const mw_tensor *tensor = &file->tensors[i];
        size_t begin = (size_t)((const unsigned char *)tensor->data - section->data);
        if (begin != covered)
            return mw_fail(error, MW_ERR_FORMAT, "%s: tensor '%s' starts at %zu, %s before it (expected %zu)",
                           file->path, tensor->name, begin,
                           begin < covered ? "overlapping the one" : "leaving a hole", covered);
        covered += tensor_bytes(tensor);
    }
    if (covered != section->size)
        return mw_fail(error, MW_ERR_FORMAT, "%s: the tensors end at %zu, but there are %zu bytes of data",
                       file->path, covered, section->size);
    return MW_OK;
}

/* The data are read last, once the header says that all of them belong here: a file may be mostly holes. */
static mw_status open_mapped(mw_safetensors *file, mw_error *error) {
    data_section section = {0};
    const char *name;
    json_t *entry;
    MW_TRY(read_header(file, &section, error));
    file->tensors = calloc(json_object_size(file->header) + 1, sizeof *file->tensors);
    if (!file->tensors) return mw_fail(error, MW_ERR_MEMORY, "%s: cannot allocate the tensors", file->path);
    json_object_foreach(file->header, name, entry) {
        if (!strcmp(name, METADATA)) {
            MW_TRY(parse_metadata(file, entry, error));
            continue;
        }
        char what[256];
        snprintf(what, sizeof what, "%.160s: tensor '%.64s'", file->path, name);
        mw_tensor *tensor = &file->tensors[file->tensor_count];
        tensor->name = name;
        MW_TRY(parse_tensor(what, entry, &section, tensor, error));
        file->tensor_count++;
    }
    MW_TRY(check_cover(file, &section, error));
    return mw_map_fill(&file->map, file->map.size, file->path, error);
}

mw_status mw_safetensors_read(mw_safetensors *file, mw_map map, const char *path, mw_error *error) {
    *file = (mw_safetensors){.map = map, .path = strdup(path)};
    mw_status status = file->path ? open_mapped(file, error)
                                  : mw_fail(error, MW_ERR_MEMORY, "cannot allocate the path '%s'", path);
    if (status != MW_OK) mw_safetensors_close(file);
    return status;
}

mw_status mw_safetensors_open(mw_safetensors *file, const char *path, mw_error *error) {
    mw_map map;
    *file = (mw_safetensors){0};
    MW_TRY(mw_map_begin(&map, path, error));
    return mw_safetensors_read(file, map, path, error);
}

void mw_safetensors_close(mw_safetensors *file) {
    json_decref(file->header);
    free(file->tensors);
    free(file->metadata);
    free(file->path);
    mw_map_close(&file->map);
    *file = (mw_safetensors){0};
}

const mw_tensor *mw_safetensors_find(const mw_safetensors *file, const char *name) {
    for (size_t i = 0; i < file->tensor_count; i++)
        if (!strcmp(file->tensors[i].name, name)) return &file->tensors[i];
    return NULL;
}

const char *mw_safetensors_meta(const mw_safetensors *file, const char *key) {
    for (size_t i = 0; i < file->metadata_count; i++)
        if (!strcmp(file->metadata[i].key, key)) return file->metadata[i].value;
    return NULL;
}

mw_status mw_safetensors_floats(const mw_safetensors *file, const char *name, int dims, const long *shape,
                                float *out, mw_error *error) {
    char what[256];
    const mw_tensor *tensor = mw_safetensors_find(file, name);
    if (!tensor) return mw_fail(error, MW_ERR_MISMATCH, "%s: there is no tensor '%s'", file->path, name);
    snprintf(what, sizeof what, "%.160s: tensor '%.64s'", file->path, name);
    MW_TRY(mw_shape_expect(what, tensor->dims, tensor->shape, dims, shape, error));
    mw_dtype_to_floats(tensor->type, tensor->data, tensor->count, out);
    return MW_OK;
}

mw_status mw_safetensors_meta_int(const mw_safetensors *file, const char *key, long low, long high, long *out,
                                  mw_error *error) {
    const char *text = mw_safetensors_meta(file, key);
    if (!text) return mw_fail(error, MW_ERR_MISMATCH, "%s: there is no metadata '%s'", file->path, key);
    char *end = NULL;
    const char *digits = text + (text[0] == '-');
    errno = 0;
    long value = strtol(text, &end, 10);
    if (digits[0] < '0' || digits[0] > '9' || *end || errno || value < low || value > high)
        return mw_fail(error, MW_ERR_FORMAT,
                       "%s: metadata '%s' is '%.64s', expected a whole number from %ld "
                       "to %ld",
                       file->path, key, text, low, high);
    *out = value;
    return MW_OK;
}

uint64_t mw_tensors_hash(uint64_t hash, const mw_tensor *tensors, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const mw_tensor *t = &tensors[i];
        size_t numbers, bytes = 0; /* a foreign file's tensors have any shape */
        mw_shape_size(t->type, t->dims, t->shape, &numbers, &bytes);
        hash = mw_hash(hash, t->name, strlen(t->name));
        hash = mw_hash(hash, t->data, bytes);
    }
    return hash;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static const char *type_code(mw_dtype type) {
    size_t i = 0;
    while (codes[i].type != type) i++;
    return codes[i].name;
}

/* Adds a member; duplicates and names that are not UTF-8 are the caller's mistakes. Takes over the value. */
static mw_status add_member(json_t *object, const char *path, const char *name, json_t *value,
                            mw_error *error) {
    if (json_object_get(object, name)) {
        json_decref(value);
        return mw_fail(error, MW_ERR_ARGUMENT, "%s: '%s' is given twice", path, name);
    }
    if ((json_object_set_new)(object, name, value) == 0) return MW_OK;
    return mw_fail(error, MW_ERR_ARGUMENT, "%s: '%s' or its value is not valid UTF-8", path, name);
}

static mw_status add_tensor(json_t *header, const char *path, const mw_tensor *tensor, size_t *offset,
                            mw_error *error) {
    size_t count, bytes, begin = *offset;
    if (!strcmp(tensor->name, METADATA))
        return mw_fail(error, MW_ERR_ARGUMENT, "%s: a tensor cannot be named " METADATA, path);
    if (tensor->dims < 0 || tensor->dims > MW_TENSOR_MAX_DIMS)
        return mw_fail(error, MW_ERR_ARGUMENT, "%s: tensor '%s' has %d dimensions, expected 0 to %d", path,
                       tensor->name, tensor->dims, MW_TENSOR_MAX_DIMS);
    if (!mw_shape_size(tensor->type, tensor->dims, tensor->shape, &count, &bytes) ||
        __builtin_add_overflow(begin, bytes, offset) || *offset > PTRDIFF_MAX)
        return mw_fail(error, MW_ERR_ARGUMENT, "%s: the size of tensor '%s' overflows", path, tensor->name);
    json_t *shape = (json_array)();
    for (int i = 0; i < tensor->dims; i++)
        (json_array_append_new)(shape, (json_integer)((json_int_t)tensor->shape[i]));
    json_t *entry = (json_pack)("{s:s, s:o, s:[I, I]}", "dtype", type_code(tensor->type), "shape", shape,
                                "data_offsets", (json_int_t)begin, (json_int_t)*offset);
    if (!entry || json_array_size(shape) != (size_t)tensor->dims) {
        json_decref(entry);
        return mw_fail(error, MW_ERR_MEMORY, "%s: cannot allocate the header", path);
    }
    return add_member(header, path, tensor->name, entry, error);
}

static mw_status build_header(json_t *header, const char *path, const mw_tensor *tensors, size_t tensor_count,
                              const mw_meta *metadata, size_t metadata_count, mw_error *error) {
    if (metadata_count > 0) {
        json_t *object = (json_object)();
        MW_TRY(add_member(header, path, METADATA, object, error));
        for (size_t i = 0; i < metadata_count; i++)
            MW_TRY(add_member(object, path, metadata[i].key, (json_string)(metadata[i].value), error));
    }
    size_t offset = 0;
    for (size_t i = 0; i < tensor_count; i++) MW_TRY(add_tensor(header, path, &tensors[i], &offset, error));
    return MW_OK;
}

static mw_status put_file(mw_writer *writer, const char *header, const mw_tensor *tensors,
                          size_t tensor_count, mw_error *error) {
    char padding[DATA_ALIGN];
    size_t used = strlen(header), size = (8 + used + DATA_ALIGN - 1) / DATA_ALIGN * DATA_ALIGN - 8;
    if (size > HEADER_LIMIT)
        return mw_fail(error, MW_ERR_ARGUMENT, "%s: header of %zu bytes exceeds the limit of %u",
                       writer->path, size, HEADER_LIMIT);
    uint64_t length = size;
    memset(padding, ' ', sizeof padding);
    MW_TRY(mw_writer_put(writer, &length, sizeof length, error));
    MW_TRY(mw_writer_put(writer, header, used, error));
    MW_TRY(mw_writer_put(writer, padding, size - used, error));
    for (size_t i = 0; i < tensor_count; i++) {
        size_t count, bytes = 0;
        (void)mw_shape_size(tensors[i].type, tensors[i].dims, tensors[i].shape, &count, &bytes);
        MW_TRY(mw_writer_put(writer, tensors[i].data, bytes, error));
    }
    return MW_OK;
}

mw_status mw_safetensors_write(const char *path, const mw_tensor *tensors, size_t tensor_count,
                               const mw_meta *metadata, size_t metadata_count, mw_error *error) {
    json_t *header = (json_object)();
    if (!header) return mw_fail(error, MW_ERR_MEMORY, "%s: cannot allocate the header", path);
    mw_status status = build_header(header, path, tensors, tensor_count, metadata, metadata_count, error);
    char *text = status == MW_OK ? json_dumps(header, JSON_COMPACT) : NULL;
    json_decref(header);
    if (status != MW_OK) {
        mw_json_failed(); /* told by the status */
        return status;
    }
    if (!text) return mw_fail(error, MW_ERR_MEMORY, "%s: cannot allocate the header", path);
    mw_writer writer;
    status = mw_writer_open(&writer, path, error);
    if (status == MW_OK) {
        status = put_file(&writer, text, tensors, tensor_count, error);
        if (status == MW_OK)
            status = mw_writer_commit(&writer, error);
        else
            mw_writer_abandon(&writer);
    }
    free(text);
    return status;
}
