/* The safetensors layout: u64 header length, JSON header, raw little-endian data. Reading maps the file and
 * checks every rule; writing is atomic, with data aligned to 64 bytes and tensors in the given order. */
#ifndef MW_CORE_SAFETENSORS_H
#define MW_CORE_SAFETENSORS_H

#include "core/dtype.h"
#include "core/file.h"

#define MW_TENSOR_MAX_DIMS 8

typedef struct mw_tensor {
    const char *name;
    mw_dtype type;
    int dims;
    size_t shape[MW_TENSOR_MAX_DIMS];
    size_t count; /* product of the shape */
    const void *data;
} mw_tensor;

typedef struct mw_safetensors {
    mw_map map;
    mw_tensor *tensors; /* in the order of their data */
    size_t tensor_count;
    struct {
        char *key, *value;
    } * metadata;
    size_t metadata_count;
    char *path; /* for messages */
} mw_safetensors;

mw_status mw_safetensors_open(mw_safetensors *file, const char *path, mw_error *error);
void mw_safetensors_close(mw_safetensors *file);

const mw_tensor *mw_safetensors_find(const mw_safetensors *file, const char *name); /* NULL if absent */
const char *mw_safetensors_meta(const mw_safetensors *file, const char *key);       /* NULL if absent */

/* Finds a tensor and fails unless its shape is as given; then converts it to float. A negative extent matches
 * any. */
mw_status mw_safetensors_floats(const mw_safetensors *file, const char *name, int dims, const long *shape,
                                float *out, mw_error *error);
/* Metadata that must be there and parse as a whole number within [low, high]. */
mw_status mw_safetensors_meta_int(const mw_safetensors *file, const char *key, long low, long high, long *out,
                                  mw_error *error);

typedef struct mw_meta {
    const char *key, *value;
} mw_meta;

/* Tensors' data are in their stated type, in memory. */
mw_status mw_safetensors_write(const char *path, const mw_tensor *tensors, size_t tensor_count,
                               const mw_meta *metadata, size_t metadata_count, mw_error *error);

#endif
