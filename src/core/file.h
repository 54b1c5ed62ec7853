/* Files: read-only maps, and writes that leave either the old file or the new one, never a torn one. */
#ifndef MW_CORE_FILE_H
#define MW_CORE_FILE_H

#include "core/error.h"

#include <stdio.h>

typedef struct mw_map {
    const unsigned char *data; /* NULL for an empty file */
    size_t size;
} mw_map;

mw_status mw_map_open(mw_map *map, const char *path, mw_error *error);
void mw_map_close(mw_map *map);

/* A file that becomes visible under its path only when committed. */
typedef struct mw_writer {
    FILE *stream;
    char *path, *temporary;
} mw_writer;

mw_status mw_writer_open(mw_writer *writer, const char *path, mw_error *error);
mw_status mw_writer_put(mw_writer *writer, const void *data, size_t size, mw_error *error);
mw_status mw_writer_commit(mw_writer *writer, mw_error *error); /* flush, sync, rename; frees the writer
                                                                   either way */
void mw_writer_abandon(mw_writer *writer); /* removes the temporary file; safe to call twice */

/* Whole small files. The text is zero-terminated; free it with free(). */
mw_status mw_file_read_text(const char *path, char **text, size_t *size, mw_error *error);
mw_status mw_file_write(const char *path, const void *data, size_t size, mw_error *error);

mw_status mw_dir_make(const char *path, mw_error *error); /* like mkdir -p */
bool mw_file_exists(const char *path);

#endif
