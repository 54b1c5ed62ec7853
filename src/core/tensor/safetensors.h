/* The safetensors layout: u64 header length, JSON header, raw little-endian data. Reading maps the file and
 * checks every rule; writing is atomic, with tensors in the given order. The format allows no holes between
 * tensors, so only the start of the data section can be aligned (the writer pads the header with spaces up to
 * a multiple of 64 bytes); a tensor is aligned as far as the sizes of those before it allow. */
#ifndef MW_CORE_TENSOR_SAFETENSORS_H
#define MW_CORE_TENSOR_SAFETENSORS_H

#include "core/tensor/dtype.h"
#include "core/file.h"

#define MW_TENSOR_MAX_DIMS MW_MAX_DIMS

typedef struct mw_tensor {
    const char *name;
    mw_dtype type;
    int dims;
    size_t shape[MW_TENSOR_MAX_DIMS];
    size_t count;     /* product of the shape; need not be set for writing */
    const void *data; /* in a foreign file at any alignment: read it with mw_dtype_to_floats */
} mw_tensor;

typedef struct mw_meta {
    const char *key, *value;
} mw_meta;

typedef struct mw_safetensors {
    mw_map map;
    mw_tensor *tensors; /* in the order of their data */
    size_t tensor_count;
    mw_meta *metadata;
    size_t metadata_count;
    struct json_t *header; /* owns the names and the metadata */
    char *path;            /* for messages */
} mw_safetensors;

/* *file is empty after a failure. */
mw_status mw_safetensors_open(mw_safetensors *file, const char *path, mw_error *error);
/* The same of a file that is at hand; the map becomes the file's, also after a failure. */
mw_status mw_safetensors_read(mw_safetensors *file, mw_map map, const char *path, mw_error *error);
void mw_safetensors_close(mw_safetensors *file); /* safe to call twice */

const mw_tensor *mw_safetensors_find(const mw_safetensors *file, const char *name); /* NULL if absent */
const char *mw_safetensors_meta(const mw_safetensors *file, const char *key);       /* NULL if absent */

/* Finds a tensor and fails unless its shape is as given; then converts it to float. A negative extent matches
 * any. */
mw_status mw_safetensors_floats(const mw_safetensors *file, const char *name, int dims, const long *shape,
                                float *out, mw_error *error);
/* Metadata that must be there and parse as a whole number within [low, high]. */
mw_status mw_safetensors_meta_int(const mw_safetensors *file, const char *key, long low, long high, long *out,
                                  mw_error *error);

/* Goes on with a hash over the tensors' names and bytes, for checksums that a file carries of itself. */
uint64_t mw_tensors_hash(uint64_t hash, const mw_tensor *tensors, size_t count);

/* Tensors' data are in their stated type, in memory. */
mw_status mw_safetensors_write(const char *path, const mw_tensor *tensors, size_t tensor_count,
                               const mw_meta *metadata, size_t metadata_count, mw_error *error);

#endif
