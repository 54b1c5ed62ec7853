/* Maps and atomic writes over POSIX; see file.h. */
#include "core/file.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The system's reason for the last failure, after what could not be done and to which file. */
static mw_status fail_system(mw_error *error, const char *action, const char *path) {
    int reason = errno;
    return mw_fail(error, reason == ENOMEM ? MW_ERR_MEMORY : MW_ERR_IO, "cannot %s '%s': %s", action, path,
                   strerror(reason));
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static const char *kind_name(mode_t mode) {
    if (S_ISDIR(mode)) return "a directory";
    if (S_ISFIFO(mode)) return "a pipe";
    if (S_ISSOCK(mode)) return "a socket";
    return S_ISREG(mode) ? "a regular file" : "a device";
}

/* Opens without blocking, because a pipe without a writer would otherwise hang the program. */
static mw_status open_regular(const char *path, int *descriptor, size_t *size, mw_error *error) {
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return fail_system(error, "open", path);
    mw_status status = MW_OK;
    if (fstat(fd, &info) != 0)
        status = fail_system(error, "examine", path);
    else if (!S_ISREG(info.st_mode))
        status = mw_fail(error, MW_ERR_IO, "cannot read '%s': it is %s, not a regular file", path,
                         kind_name(info.st_mode));
    if (status != MW_OK) {
        close(fd);
        return status;
    }
    *descriptor = fd;
    *size = (size_t)info.st_size;
    return MW_OK;
}

/* Reads up to size bytes; fewer if the file has shrunk meanwhile. Returns a negative number on failure. */
static ssize_t read_all(int fd, char *out, size_t size) {
    size_t used = 0;
    while (used < size) {
        ssize_t got = read(fd, out + used, size - used);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (got == 0) break;
        used += (size_t)got;
    }
    return (ssize_t)used;
}

/* Room for a copy, page-aligned as a map would be; the descriptor becomes the map's unless this fails. */
static mw_status begin_copy(mw_map *map, int fd, size_t size, const char *path, mw_error *error) {
    void *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return fail_system(error, "take into memory", path);
    *map = (mw_map){.data = data, .size = size, .missing = size, .descriptor = fd};
    return MW_OK;
}

mw_status mw_map_fill(mw_map *map, size_t size, const char *path, mw_error *error) {
    const size_t there = map->size - map->missing;
    if (size <= there) return MW_OK;
    const ssize_t got = read_all(map->descriptor, (char *)(uintptr_t)map->data + there, size - there);
    if (got < 0) return fail_system(error, "read", path);
    map->missing -= (size_t)got;
    if ((size_t)got != size - there)
        return mw_fail(error, MW_ERR_IO, "cannot read '%s': it shrank from %zu to %zu bytes meanwhile", path,
                       map->size, there + (size_t)got);
    if (map->missing > 0) return MW_OK;
    close(map->descriptor);
    mprotect((void *)(uintptr_t)map->data, map->size, PROT_READ);
    return MW_OK;
}

size_t mw_map_most_copied = (size_t)256 << 20;

static mw_status map_file(mw_map *map, int fd, size_t size, const char *path, mw_error *error) {
    void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) return fail_system(error, "map", path);
    mw_guard *guard = mw_guard_open(data, size);
    if (!guard) {
        munmap(data, size);
        return mw_fail(error, MW_ERR_MEMORY, "cannot map '%s': out of memory", path);
    }
    *map = (mw_map){.data = data, .size = size, .guard = guard};
    return MW_OK;
}

/* A copy is only begun. */
static mw_status open_map(mw_map *map, const char *path, size_t most_copied, mw_error *error) {
    int fd = -1;
    size_t size = 0;
    *map = (mw_map){0};
    MW_TRY(open_regular(path, &fd, &size, error));
    mw_status status = MW_OK;
    if (size > 0)
        status = size <= most_copied ? begin_copy(map, fd, size, path, error)
                                     : map_file(map, fd, size, path, error);
    if (map->missing == 0) close(fd);
    return status;
}

static mw_status open_whole(mw_map *map, const char *path, size_t most_copied, mw_error *error) {
    MW_TRY(open_map(map, path, most_copied, error));
    const mw_status status = mw_map_fill(map, map->size, path, error);
    if (status != MW_OK) mw_map_close(map);
    return status;
}

mw_status mw_map_open(mw_map *map, const char *path, mw_error *error) {
    return open_whole(map, path, mw_map_most_copied, error);
}

mw_status mw_map_copy(mw_map *map, const char *path, mw_error *error) {
    return open_whole(map, path, SIZE_MAX, error);
}

mw_status mw_map_begin(mw_map *map, const char *path, mw_error *error) {
    return open_map(map, path, SIZE_MAX, error);
}

mw_status mw_map_intact(const mw_map *map, const char *path, mw_error *error) {
    if (!map->guard || mw_guard_intact(map->guard)) return MW_OK;
    return mw_fail(error, MW_ERR_IO, "cannot read all of '%s': it was cut short or failed while in use",
                   path);
}

mw_map mw_map_over(const void *data, size_t size) {
    return (mw_map){.data = size ? data : NULL, .size = size, .borrowed = true};
}

void mw_map_close(mw_map *map) {
    mw_guard_close(map->guard);
    if (map->missing > 0) close(map->descriptor);
    if (map->data && !map->borrowed) munmap((void *)map->data, map->size);
    *map = (mw_map){0};
}

mw_status mw_file_read_text(const char *path, char **text, size_t *size, mw_error *error) {
    int fd = -1;
    size_t expected = 0;
    *text = NULL;
    MW_TRY(open_regular(path, &fd, &expected, error));
    if (expected > MW_TEXT_LIMIT) {
        close(fd);
        return mw_fail(error, MW_ERR_FORMAT, "'%s' has %zu bytes, too many for a text file (limit %zu)", path,
                       expected, MW_TEXT_LIMIT);
    }
    char *buffer = malloc(expected + 1);
    ssize_t got = buffer ? read_all(fd, buffer, expected) : -1;
    mw_status status = MW_OK;
    if (got < 0) {
        status = fail_system(error, "read", path);
    } else {
        const char *zero = memchr(buffer, 0, (size_t)got);
        if (zero)
            status =
                mw_fail(error, MW_ERR_FORMAT, "'%s' is not a text: byte %td is zero", path, zero - buffer);
    }
    close(fd);
    if (status != MW_OK) {
        free(buffer);
        return status;
    }
    buffer[got] = 0;
    *text = buffer;
    if (size) *size = (size_t)got;
    return MW_OK;
}

bool mw_file_exists(const char *path) {
    return access(path, F_OK) == 0;
}

mw_status mw_lock_take(mw_lock *lock, const char *path, mw_error *error) {
    *lock = (mw_lock){0};
    char *name = malloc(strlen(path) + 6);
    if (!name) return mw_fail(error, MW_ERR_MEMORY, "cannot lock '%s'", path);
    strcat(strcpy(name, path), ".lock");
    for (;;) {
        struct stat info;
        const int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        mw_status status = MW_OK;
        if (fd < 0)
            status = fail_system(error, "create", name);
        else if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
            status = mw_fail(error, MW_ERR_IO, "'%s' is being made by another process ('%s' is locked)", path,
                             name);
        if (status == MW_OK && fstat(fd, &info) == 0 && info.st_nlink > 0) { /* else its holder just removed
                                                                                it */
            *lock = (mw_lock){fd, name};
            return MW_OK;
        }
        if (fd >= 0) close(fd);
        if (status != MW_OK) {
            free(name);
            return status;
        }
    }
}

void mw_lock_release(mw_lock *lock) {
    if (!lock->path) return;
    unlink(lock->path);
    close(lock->descriptor);
    free(lock->path);
    *lock = (mw_lock){0};
}

uint64_t mw_hash(uint64_t hash, const void *data, size_t size) {
    const unsigned char *byte = data;
    for (size_t i = 0; i < size; i++) hash = (hash ^ byte[i]) * 0x100000001B3u;
    return hash;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

/* The part of the path up to and including the last slash: what a sibling's name is appended to. */
static size_t folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Where a path leads when its last name is a symbolic link, also to nothing yet: the link stays, and what it
 * names is written, as a shell would. To be freed; NULL: errno says why. */
static char *target_of(const char *path) {
    char *at = strdup(path), text[4096];
    for (int links = 0; at; links++) {
        const ssize_t length = readlink(at, text, sizeof text);
        if (length < 0) return at;
        const size_t kept = text[0] == '/' ? 0 : folder_length(at);
        char *next = NULL;
        if (links == 40 || (size_t)length == sizeof text)
            errno = links == 40 ? ELOOP : ENAMETOOLONG;
        else
            next = calloc(kept + (size_t)length + 1, 1);
        if (next) {
            memcpy(next, at, kept);
            memcpy(next + kept, text, (size_t)length);
        }
        const int reason = errno;
        free(at);
        errno = reason;
        at = next;
    }
    return NULL;
}

static void writer_free(mw_writer *writer) {
    free(writer->path);
    free(writer->temporary);
    *writer = (mw_writer){0};
}

/* Creates a new file next to the target. The name does not contain the target's, so that it fits wherever the
 * target's fits; plain open() rather than mkstemp() gives it the permissions of the process's umask. A lock
 * shows others that somebody is at work on it, and somebody who swept it away before it was locked shows in
 * the number of its names. */
static int create_temporary(mw_writer *writer, size_t folder) {
    static atomic_uint counter;
    struct stat info;
    for (;;) {
        snprintf(writer->temporary + folder, 48, ".mawam-%ld-%u.tmp", (long)getpid(),
                 atomic_fetch_add(&counter, 1u));
        int fd = open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno == EEXIST) continue;
        if (fd < 0) return -1;
        (void)flock(fd, LOCK_EX | LOCK_NB); /* not every file system has locks */
        if (fstat(fd, &info) != 0 || info.st_nlink > 0) return fd;
        close(fd);
    }
}

/* Who could not read the old file cannot read the new one. Not every file system has modes. */
static void keep_mode(int fd, const char *replaced) {
    struct stat info;
    if (stat(replaced, &info) == 0) (void)fchmod(fd, info.st_mode & 0777);
}

bool mw_process_gone(long process) {
    char path[64], text[512];
    if (process <= 0) return false;
    if (kill((pid_t)process, 0) != 0) return errno == ESRCH;
    snprintf(path, sizeof path, "/proc/%ld/stat", process);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    const ssize_t size = read_all(fd, text, sizeof text - 1);
    close(fd);
    text[size > 0 ? size : 0] = 0;
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[1] == ' ' && (name_end[2] == 'Z' || name_end[2] == 'X');
}

/* Whether a name is that of a temporary file whose process is gone. */
static bool stale_name(const char *name) {
    char *end;
    if (strncmp(name, ".mawam-", 7) != 0) return false;
    const long process = strtol(name + 7, &end, 10);
    const size_t length = strlen(end);
    return *end == '-' && length > 4 && !strcmp(end + length - 4, ".tmp") && mw_process_gone(process);
}

/* Removes what killed processes left in a folder. A process that this one cannot see (in another container)
 * still holds its lock. */
static void sweep_folder(const char *path, size_t length) {
    char *folder = length ? strndup(path, length) : strdup(".");
    DIR *stream = folder ? opendir(folder) : NULL;
    free(folder);
    for (struct dirent *entry; stream && (entry = readdir(stream));) {
        if (!stale_name(entry->d_name)) continue;
        const int fd = openat(dirfd(stream), entry->d_name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) unlinkat(dirfd(stream), entry->d_name, 0);
        if (fd >= 0) close(fd);
    }
    if (stream) closedir(stream);
}

/* Once for every folder in a row: checkpoints and logs are written to the same one for hours. */
void mw_file_sweep(const char *path) {
    static _Thread_local char swept[256];
    const size_t folder = folder_length(path);
    if (folder < sizeof swept && !strncmp(swept, path, folder) && swept[folder] == 1) return;
    sweep_folder(path, folder);
    if (folder + 1 >= sizeof swept) return;
    memcpy(swept, path, folder);
    swept[folder] = 1; /* a mark that also tells "" from never */
    swept[folder + 1] = 0;
}

mw_status mw_file_replaceable(const char *path, mw_error *error) {
    struct stat info;
    if (stat(path, &info) != 0) return MW_OK;
    if (!S_ISREG(info.st_mode))
        return mw_fail(error, MW_ERR_IO, "cannot write '%s': it is %s, not a regular file", path,
                       kind_name(info.st_mode));
    if (!(info.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) || (access(path, W_OK) != 0 && errno == EACCES))
        return mw_fail(error, MW_ERR_IO, "cannot write '%s': it is read-only", path);
    return MW_OK;
}

mw_status mw_file_writable(const char *path, mw_error *error) {
    MW_NEED(path);
    if (!path[folder_length(path)])
        return mw_fail(error, MW_ERR_ARGUMENT, "'%s' is not the name of a file", path);
    char *target = target_of(path);
    if (!target) return fail_system(error, "write", path);
    const size_t length = folder_length(target);
    char *folder = length ? strndup(target, length > 1 ? length - 1 : 1) : strdup(".");
    free(target);
    if (!folder) return mw_fail(error, MW_ERR_MEMORY, "cannot look at the folder of '%s'", path);
    mw_status status = MW_OK;
    if (access(folder, W_OK | X_OK) != 0)
        status =
            mw_fail(error, MW_ERR_IO, "cannot write '%s': folder '%s': %s", path, folder, strerror(errno));
    free(folder);
    return status == MW_OK ? mw_file_replaceable(path, error) : status;
}

mw_status mw_writer_open(mw_writer *writer, const char *path, mw_error *error) {
    *writer = (mw_writer){0};
    if (!path[folder_length(path)])
        return mw_fail(error, MW_ERR_ARGUMENT, "cannot write '%s': not a file name", path);
    MW_TRY(mw_file_replaceable(path, error));
    writer->path = target_of(path);
    if (!writer->path) return fail_system(error, "write", path);
    const size_t folder = folder_length(writer->path);
    mw_file_sweep(writer->path);
    writer->temporary = malloc(folder + 48);
    if (!writer->temporary) {
        writer_free(writer);
        return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a writer for '%s'", path);
    }
    memcpy(writer->temporary, writer->path, folder);
    int fd = create_temporary(writer, folder);
    if (fd >= 0) {
        keep_mode(fd, path);
        writer->stream = fdopen(fd, "wb");
    }
    if (writer->stream) return MW_OK;
    mw_status status = fail_system(error, "create", path);
    if (fd >= 0) {
        close(fd);
        unlink(writer->temporary);
    }
    writer_free(writer);
    return status;
}

mw_status mw_writer_put(mw_writer *writer, const void *data, size_t size, mw_error *error) {
    assert(writer->stream);
    if (size == 0) return MW_OK;
    errno = 0;
    if (fwrite(data, 1, size, writer->stream) != size) {
        if (errno == 0) errno = EIO;
        return fail_system(error, "write", writer->path);
    }
    return MW_OK;
}

mw_status mw_file_sync_name(const char *path, mw_error *error) {
    size_t length = folder_length(path);
    char *folder = length ? strndup(path, length) : strdup(".");
    if (!folder) return fail_system(error, "sync the folder of", path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    if (fd < 0) return MW_OK;
    mw_status status = MW_OK;
    if (fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS)
        status = fail_system(error, "sync the folder of", path);
    close(fd);
    return status;
}

mw_status mw_writer_commit(mw_writer *writer, mw_error *error) {
    assert(writer->stream);
    errno = 0;
    bool ok = !ferror(writer->stream) && fflush(writer->stream) == 0 && fsync(fileno(writer->stream)) == 0;
    int reason = errno;
    if (fclose(writer->stream) != 0 && ok) {
        ok = false;
        reason = errno;
    }
    writer->stream = NULL;
    errno = reason ? reason : EIO; /* a stream that failed earlier has forgotten why */
    mw_status status = MW_OK;
    if (!ok)
        status = fail_system(error, "write", writer->path);
    else if (rename(writer->temporary, writer->path) != 0)
        status = fail_system(error, "replace", writer->path);
    if (status != MW_OK)
        unlink(writer->temporary);
    else
        status = mw_file_sync_name(writer->path, error);
    writer_free(writer);
    return status;
}

void mw_writer_abandon(mw_writer *writer) {
    if (writer->stream) {
        fclose(writer->stream);
        unlink(writer->temporary);
    }
    writer_free(writer);
}

mw_status mw_file_write(const char *path, const void *data, size_t size, mw_error *error) {
    MW_NEED(path);
    mw_writer writer;
    MW_TRY(mw_writer_open(&writer, path, error));
    mw_status status = mw_writer_put(&writer, data, size, error);
    if (status == MW_OK) return mw_writer_commit(&writer, error);
    mw_writer_abandon(&writer);
    return status;
}

mw_status mw_dir_make(const char *path, mw_error *error) {
    MW_NEED(path);
    struct stat info;
    if (!path[0]) return mw_fail(error, MW_ERR_ARGUMENT, "cannot make a directory with an empty name");
    char *prefix = strdup(path);
    if (!prefix) return mw_fail(error, MW_ERR_MEMORY, "cannot make '%s': out of memory", path);
    mw_status status = MW_OK;
    for (char *end = prefix; status == MW_OK && *end;) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        char kept = *end;
        *end = 0;
        /* Some file systems answer EROFS or EACCES for what already exists, so look before believing them. */
        if (mkdir(prefix, 0777) != 0) {
            int reason = errno;
            if (stat(prefix, &info) != 0) {
                errno = reason;
                status = fail_system(error, "make the directory", prefix);
            } else if (!S_ISDIR(info.st_mode)) {
                status = mw_fail(error, MW_ERR_IO, "cannot make the directory '%s': '%s' is %s", path, prefix,
                                 kind_name(info.st_mode));
            }
        }
        *end = kept;
    }
    free(prefix);
    return status;
}
