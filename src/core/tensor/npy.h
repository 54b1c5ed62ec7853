/* NumPy's .npy arrays: read by memory map with every field checked, written atomically. Little-endian, C
 * order. */
#ifndef MW_CORE_TENSOR_NPY_H
#define MW_CORE_TENSOR_NPY_H

#include "core/tensor/dtype.h"
#include "core/file.h"

typedef struct mw_npy {
    mw_map map;
    mw_dtype type;
    int dims;
    size_t shape[MW_MAX_DIMS];
    size_t count;     /* product of the shape */
    const void *data; /* count elements, inside the map, aligned for their type */
} mw_npy;

/* Fails with MW_ERR_FORMAT for what no reader should accept, and with MW_ERR_UNSUPPORTED for valid files of
 * other kinds: big-endian, column-major, objects, records. *npy is empty after a failure. */
mw_status mw_npy_open(mw_npy *npy, const char *path, mw_error *error);
/* The same of a file that is at hand; the map becomes the array's, also after a failure. */
mw_status mw_npy_read(mw_npy *npy, mw_map map, const char *path, mw_error *error);
void mw_npy_close(mw_npy *npy);

/* Fails unless the array has this type and shape; a negative extent matches any. */
mw_status mw_npy_expect(const mw_npy *npy, const char *path, mw_dtype type, int dims, const long *shape,
                        mw_error *error);

/* Version 1.0, data at byte 128. The bytes are those the streaming writer below gives. */
mw_status mw_npy_write(const char *path, mw_dtype type, int dims, const size_t *shape, const void *data,
                       mw_error *error);

/* Streaming: rows of unknown number are appended; the header (which has room for any number) is completed at
 * the end. */
typedef struct mw_npy_writer {
    mw_writer writer;
    mw_dtype type;
    int dims; /* of the whole array; shape[0] grows */
    size_t shape[MW_MAX_DIMS];
    size_t row_bytes;
    uint64_t hash; /* 64-bit FNV-1a over the data bytes so far */
} mw_npy_writer;

mw_status mw_npy_writer_open(mw_npy_writer *w, const char *path, mw_dtype type, int row_dims,
                             const size_t *row_shape, mw_error *error);
mw_status mw_npy_writer_rows(mw_npy_writer *w, const void *rows, size_t count, mw_error *error);
mw_status mw_npy_writer_commit(mw_npy_writer *w, mw_error *error); /* frees the writer either way */
void mw_npy_writer_abandon(mw_npy_writer *w);                      /* safe to call twice */

#endif
