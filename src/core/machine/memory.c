/* Counted memory; see memory.h. */
#include "core/machine/memory.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static _Atomic size_t used, limit;

size_t mw_memory_used(void) {
    return atomic_load(&used);
}

void mw_memory_limit(size_t bytes) {
    atomic_store(&limit, bytes);
}

mw_status mw_memory_take(size_t bytes, mw_error *error) {
    const size_t most = atomic_load(&limit), before = atomic_fetch_add(&used, bytes);
    if (!most || (before <= most && bytes <= most - before)) return MW_OK;
    atomic_fetch_sub(&used, bytes);
    return mw_fail(error, MW_ERR_MEMORY,
                   "this needs more than %.1f GB, and no more than %.1f GB may be taken of what is free; "
                   "smaller settings need less, 'force' tries all the same",
                   (double)(before + bytes) * 1e-9, (double)most * 1e-9);
}

void mw_memory_give(size_t bytes) {
    atomic_fetch_sub(&used, bytes);
}

/* ---- what there is ---- */

/* The number in a file of the system's; SIZE_MAX if it is not there or says "max". */
static size_t number_in(const char *path) {
    unsigned long long value;
    FILE *file = fopen(path, "r");
    if (!file) return SIZE_MAX;
    const bool found = fscanf(file, "%llu", &value) == 1;
    fclose(file);
    return found ? (size_t)value : SIZE_MAX;
}

static size_t available(void) {
    char line[128];
    unsigned long long kilobytes;
    size_t bytes = SIZE_MAX;
    FILE *file = fopen("/proc/meminfo", "r");
    if (!file) return bytes;
    while (bytes == SIZE_MAX && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu kB", &kilobytes) == 1) bytes = (size_t)kilobytes << 10;
    fclose(file);
    return bytes;
}

/* What the process's own limit of address space (ulimit -v) leaves. */
static size_t own_limit(void) {
    struct rlimit own;
    if (getrlimit(RLIMIT_AS, &own) != 0 || own.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
    const size_t pages = number_in("/proc/self/statm"), most = (size_t)own.rlim_cur,
                 now = pages == SIZE_MAX ? 0 : pages * (size_t)sysconf(_SC_PAGESIZE);
    return most > now ? most - now : 0;
}

/* Of a group's memory, files that the system keeps and would drop for somebody who needs the room. */
static size_t cached(void) {
    char line[128];
    unsigned long long bytes;
    size_t sum = 0;
    FILE *file = fopen("/sys/fs/cgroup/memory.stat", "r");
    if (!file) return 0;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "inactive_file %llu", &bytes) == 1 || sscanf(line, "active_file %llu", &bytes) == 1)
            sum += (size_t)bytes;
    fclose(file);
    return sum;
}

/* What the limit of the container leaves. */
static size_t group_limit(void) {
    const size_t most = number_in("/sys/fs/cgroup/memory.max"),
                 now = number_in("/sys/fs/cgroup/memory.current"), files = cached();
    if (most == SIZE_MAX || now == SIZE_MAX) return SIZE_MAX;
    const size_t held = now > files ? now - files : 0;
    return most > held ? most - held : 0;
}

/* A container's or the process's own limit counts where it is below what the machine has. */
size_t mw_memory_free(void) {
    const size_t machine = available(), own = own_limit(), group = group_limit();
    const size_t least = machine < group ? machine : group;
    return own < least ? own : least;
}
