/* A folder of its own for a test program's files, and the small things tests do with files: plain writes
 * (neither atomic nor synced, hence fast), whole reads, a simulated full disk, counting what is left. */
#ifndef MW_TESTS_SCRATCH_H
#define MW_TESTS_SCRATCH_H

#include "check.h"

#include <dirent.h>
#include <ftw.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch_folder[64];

/* The path of a file in the folder; valid until eight more are asked for. */
static inline const char *scratch(const char *name) {
    static char paths[8][400];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", scratch_folder, name);
    return path;
}

static inline int scratch_setup(void **state) {
    (void)state;
    strcpy(scratch_folder, "scratch-XXXXXX");
    return mkdtemp(scratch_folder) ? 0 : -1;
}

/* Number of files in the folder; the removing variant also deletes them. */
static inline int scratch_count(bool removing) {
    int count = 0;
    DIR *folder = opendir(scratch_folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        count++;
        if (removing && remove(scratch(entry->d_name)) != 0) count = -1000;
    }
    closedir(folder);
    return count;
}

static inline int scratch_remove_entry(const char *path, const struct stat *info, int kind,
                                       struct FTW *place) {
    (void)info, (void)kind, (void)place;
    return remove(path);
}

/* Removes a folder and everything in it. */
static inline int scratch_remove(const char *folder) {
    return nftw(folder, scratch_remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static inline int scratch_teardown(void **state) {
    (void)state;
    return scratch_remove(scratch_folder);
}

static inline void scratch_write(const char *path, const void *data, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static inline size_t scratch_read(const char *path, void *data, size_t capacity) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(data, 1, capacity, file);
    fclose(file);
    return size;
}

/* Between begin and end no file of this process can grow beyond `limit` bytes: writes fail as on a full
 * disk. */
static inline void scratch_full_disk_begin(size_t limit) {
    struct rlimit bound;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &bound);
    bound.rlim_cur = limit;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &bound), 0);
}

static inline void scratch_full_disk_end(void) {
    struct rlimit bound;
    getrlimit(RLIMIT_FSIZE, &bound);
    bound.rlim_cur = bound.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &bound), 0);
}

#endif
