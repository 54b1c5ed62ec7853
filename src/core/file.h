/* Files: read-only maps, and writes that leave either the old file or the new one, never a torn one. */
#ifndef MW_CORE_FILE_H
#define MW_CORE_FILE_H

#include "mawam/file.h"
#include "core/error.h"
#include "core/machine/guard.h"

#include <stdio.h>

typedef struct mw_map {
    const unsigned char *data; /* page-aligned unless borrowed; NULL for an empty file */
    size_t size;
    mw_guard *guard; /* of a mapped file; NULL: the data are a copy, which no change of the file reaches */
    bool borrowed;   /* they are somebody else's memory, which closing leaves alone */
    size_t missing;  /* bytes at the end that a copy begun has not read yet, from the file `descriptor` */
    int descriptor;  /* only while some are missing */
} mw_map;

extern size_t mw_map_most_copied; /* bytes: 256 MiB; tests lower it */

/* Regular files only. Files of up to mw_map_most_copied bytes are read into memory: what was checked stays as
 * it was, whatever happens to the file. Larger ones are mapped: their values may change after they were
 * checked, and where one is cut short in place while it is in use, or cannot be read, zeros are seen from
 * then on, which mw_map_intact tells. Replacing a file by rename, as the writer below does, is always safe.
 * *map is empty after a failure. */
mw_status mw_map_open(mw_map *map, const char *path, mw_error *error);
mw_status mw_map_copy(mw_map *map, const char *path, mw_error *error); /* the same, copied at any size */
/* The same in steps, so that a file can be refused by its start: nothing is read, and no memory used, but
 * what mw_map_fill asks for, the first `size` bytes. It does nothing where these are there, as in any other
 * map. */
mw_status mw_map_begin(mw_map *map, const char *path, mw_error *error);
mw_status mw_map_fill(mw_map *map, size_t size, const char *path, mw_error *error);
/* After the data were used, before the result is: fails if the file's end was lost meanwhile. */
mw_status mw_map_intact(const mw_map *map, const char *path, mw_error *error);
mw_map mw_map_over(const void *data, size_t size); /* a file that is in memory, aligned as malloc does */
void mw_map_close(mw_map *map);                    /* safe to call twice */

/* A file that becomes visible under its path only when committed. Until then it is a hidden temporary file in
 * the same folder; those of processes that were killed are removed on the way. It has the permissions of the
 * file that it replaces; a symbolic link stays, and what it leads to is replaced. */
typedef struct mw_writer {
    FILE *stream;
    char *path, *temporary;
} mw_writer;

mw_status mw_writer_open(mw_writer *writer, const char *path, mw_error *error);
/* After a failed put the writer can only be abandoned; a commit would fail too. */
mw_status mw_writer_put(mw_writer *writer, const void *data, size_t size, mw_error *error);
mw_status mw_writer_commit(mw_writer *writer, mw_error *error); /* flush, sync, rename; frees the writer
                                                                   either way */
void mw_writer_abandon(mw_writer *writer); /* removes the temporary file; safe to call twice */

#define MW_TEXT_LIMIT ((size_t)64 << 20)

/* Whole small files. The text (at most MW_TEXT_LIMIT bytes, none of them zero) is zero-terminated; free it
 * with free(). size may be NULL. */
mw_status mw_file_read_text(const char *path, char **text, size_t *size, mw_error *error);
/* mw_file_write is in mawam/file.h, and so is mw_dir_make. */

/* Makes sure that nobody else works on the file at `path` until the lock is released: PATH.lock is held, and
 * removed in the end; one that a killed process left counts for nothing. */
typedef struct mw_lock {
    int descriptor;
    char *path;
} mw_lock;
mw_status mw_lock_take(mw_lock *lock, const char *path, mw_error *error); /* *lock is empty after a failure */
void mw_lock_release(mw_lock *lock);                                      /* safe to call twice */

/* 64-bit FNV-1a, in pieces: start with MW_HASH_START. The checksum of all files that carry one. */
#define MW_HASH_START 0xCBF29CE484222325u
uint64_t mw_hash(uint64_t hash, const void *data, size_t size);

bool mw_file_exists(const char *path);
/* Whether a process has ended, also if nobody has asked for its exit code yet. */
bool mw_process_gone(long process);
/* Removes the temporary files that killed processes left in the folder of this path. So does the writer. */
void mw_file_sweep(const char *path);
/* Makes a new name survive a crash, as the writer does. Folders that cannot be opened or synced (no read
 * permission, some network file systems) are not an error: what is named is already safe. */
mw_status mw_file_sync_name(const char *path, mw_error *error);
/* Fails if there is something at the path that must not be replaced: read-only, or not a regular file. The
 * writer asks this first. */
mw_status mw_file_replaceable(const char *path, mw_error *error);

#endif
