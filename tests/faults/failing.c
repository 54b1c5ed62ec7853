/* Preloaded into the program, it makes a system of limited means of the one it runs on. Of the allocations
 * the one numbered FAIL_AT fails, or all from it on with FAIL_FROM set. Of the calls to do with files the one
 * numbered FILE_AT fails, with FILE_DO=fail; with FILE_DO=short reads and writes from it on are done by
 * halves; with FILE_DO=kill the process dies there, as from kill -9; with FILE_DO=cut the file FILE_CUT loses
 * its second half there. FAIL_COUNT and FILE_COUNT name files to which the numbers of both are appended at
 * the end. FAKE_CORES pretends that many; FAST_CLOCK lets time pass that much faster, so that what is saved
 * every two minutes is saved all the time. What standard C streams write by themselves cannot be met here;
 * limits on the size of files do that. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static atomic_long allocations, calls;
static long allocation_at, call_at;
static int armed, lasting, cores, haste;
static enum { FAIL, SHORT, KILL, CUT } way;

static long number(const char *name) {
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

__attribute__((constructor)) static void start(void) {
    static const char *const names[] = {"fail", "short", "kill", "cut"};
    const char *what = getenv("FILE_DO");
    allocation_at = number("FAIL_AT");
    lasting = getenv("FAIL_FROM") != NULL;
    call_at = number("FILE_AT");
    way = FAIL;
    for (int i = SHORT; what && i <= CUT; i++)
        if (!strcmp(what, names[i])) way = i;
    cores = (int)number("FAKE_CORES");
    haste = (int)number("FAST_CLOCK");
    armed = 1;
}

static void report(const char *name, long count) {
    const char *path = getenv(name);
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) return;
    fprintf(file, "%ld\n", count);
    fclose(file);
}

__attribute__((destructor)) static void finish(void) {
    const long first = allocations, second = calls;
    armed = 0;
    report("FAIL_COUNT", first);
    report("FILE_COUNT", second);
}

/* ---- memory ---- */

static int starves(void) {
    if (!armed) return 0;
    const long now = atomic_fetch_add(&allocations, 1) + 1;
    const int fails = allocation_at > 0 && (lasting ? now >= allocation_at : now == allocation_at);
    if (fails) errno = ENOMEM;
    return fails;
}

void *malloc(size_t size) {
    return starves() ? NULL : __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
    return starves() ? NULL : __libc_calloc(count, size);
}
void *realloc(void *block, size_t size) {
    return starves() ? NULL : __libc_realloc(block, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
    return starves() ? NULL : __libc_memalign(alignment, size);
}
int posix_memalign(void **block, size_t alignment, size_t size) {
    *block = starves() ? NULL : __libc_memalign(alignment, size);
    return *block ? 0 : ENOMEM;
}

/* ---- files ---- */

static void cut(const char *path) {
    struct stat info;
    if (!path || stat(path, &info) != 0 || truncate(path, info.st_size / 2) != 0) _exit(126);
}

/* Counts a call; 1: it fails, for this reason. */
static int breaks(int reason) {
    if (!armed) return 0;
    const long now = atomic_fetch_add(&calls, 1) + 1;
    if (call_at == 0 || now != call_at || way == SHORT) return 0;
    if (way == KILL) kill(getpid(), SIGKILL);
    if (way == CUT) cut(getenv("FILE_CUT"));
    errno = reason;
    return way == FAIL;
}

/* How much of a transfer is done. */
static size_t part(size_t size) {
    return armed && way == SHORT && call_at && calls >= call_at && size > 1 ? size / 2 : size;
}

/* Counters by which threads wake each other have no type; nothing ever fails in them. */
static int is_counter(int fd) {
    struct stat info;
    return fstat(fd, &info) == 0 && (info.st_mode & S_IFMT) == 0;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
    va_end(more);
    return breaks(flags & O_CREAT ? ENOSPC : EIO) ? -1 : NEXT(open)(path, flags, mode);
}
FILE *fopen(const char *path, const char *mode) {
    return breaks(mode[0] == 'r' ? EIO : ENOSPC) ? NULL : NEXT(fopen)(path, mode);
}
ssize_t read(int fd, void *data, size_t size) {
    if (is_counter(fd)) return NEXT(read)(fd, data, size);
    return breaks(EIO) ? -1 : NEXT(read)(fd, data, part(size));
}
ssize_t pread(int fd, void *data, size_t size, off_t at) {
    return breaks(EIO) ? -1 : NEXT(pread)(fd, data, part(size), at);
}
ssize_t write(int fd, const void *data, size_t size) {
    if (fd <= 2 || is_counter(fd)) return NEXT(write)(fd, data, size);
    return breaks(ENOSPC) ? -1 : NEXT(write)(fd, data, part(size));
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    return breaks(ENOSPC) ? -1 : NEXT(pwrite)(fd, data, part(size), at);
}
int ftruncate(int fd, off_t size) {
    return breaks(ENOSPC) ? -1 : NEXT(ftruncate)(fd, size);
}
int fsync(int fd) {
    return breaks(EIO) ? -1 : NEXT(fsync)(fd);
}
int rename(const char *from, const char *to) {
    return breaks(ENOSPC) ? -1 : NEXT(rename)(from, to);
}
int mkdir(const char *path, mode_t mode) {
    return breaks(ENOSPC) ? -1 : NEXT(mkdir)(path, mode);
}
/* A name that cannot be removed stays: only death is of interest here. */
int unlink(const char *path) {
    if (way == KILL) breaks(0);
    return NEXT(unlink)(path);
}

/* A stream remembers that it failed, as if a write of its own had. */
static int stream_breaks(FILE *stream) {
    if (!stream || fileno(stream) <= 2 || !breaks(ENOSPC)) return 0;
    stream->_flags |= 0x20; /* glibc's error flag */
    return 1;
}

size_t fwrite(const void *data, size_t size, size_t count, FILE *stream) {
    return stream_breaks(stream) ? 0 : NEXT(fwrite)(data, size, count, stream);
}
int fflush(FILE *stream) {
    return stream_breaks(stream) ? EOF : NEXT(fflush)(stream);
}
int fclose(FILE *stream) {
    const int fails = stream_breaks(stream), result = NEXT(fclose)(stream);
    if (fails) errno = ENOSPC;
    return fails ? EOF : result;
}

/* ---- cores and clock ---- */

int clock_gettime(clockid_t clock, struct timespec *time) {
    const int result = NEXT(clock_gettime)(clock, time);
    if (haste && clock == CLOCK_MONOTONIC) {
        const unsigned long long fast =
            (time->tv_sec % 100000 * 1000000000ull + (unsigned long long)time->tv_nsec) * haste;
        *time = (struct timespec){(time_t)(fast / 1000000000ull), (long)(fast % 1000000000ull)};
    }
    return result;
}

int sched_getaffinity(pid_t process, size_t size, cpu_set_t *set) {
    if (!cores) return NEXT(sched_getaffinity)(process, size, set);
    CPU_ZERO_S(size, set);
    for (int i = 0; i < cores; i++) CPU_SET_S(i, size, set);
    return 0;
}
long sysconf(int name) {
    return cores && name == _SC_NPROCESSORS_ONLN ? cores : NEXT(sysconf)(name);
}
