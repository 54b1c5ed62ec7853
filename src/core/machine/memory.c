/* Counted memory; see memory.h. */
#include "core/machine/memory.h"

#include <stdatomic.h>
#include <stdio.h>

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
    return mw_fail(
        error, MW_ERR_MEMORY,
        "this needs more than %.1f GB, and no more than %.1f GB are free; smaller settings need less, "
        "--force tries all the same",
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

/* A container's own limit counts where it is below what the machine has. */
size_t mw_memory_free(void) {
    const size_t machine = available(), most = number_in("/sys/fs/cgroup/memory.max"),
                 now = number_in("/sys/fs/cgroup/memory.current");
    const size_t group = most == SIZE_MAX || now == SIZE_MAX ? SIZE_MAX : most > now ? most - now : 0;
    return machine < group ? machine : group;
}
