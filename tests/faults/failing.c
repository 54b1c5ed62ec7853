/* Preloaded into the program: the allocation numbered FAIL_AT fails, or all from it on with FAIL_FROM set.
 * With FAIL_COUNT the number of allocations is appended to that file at the end. */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static atomic_long calls;
static long at;
static int armed, lasting;

__attribute__((constructor)) static void start(void) {
    const char *text = getenv("FAIL_AT");
    at = text ? atol(text) : 0;
    lasting = getenv("FAIL_FROM") != NULL;
    armed = 1;
}

__attribute__((destructor)) static void finish(void) {
    const char *path = getenv("FAIL_COUNT");
    const long count = calls;
    armed = 0;
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) return;
    fprintf(file, "%ld\n", count);
    fclose(file);
}

static int fails(void) {
    if (!armed) return 0;
    const long call = atomic_fetch_add(&calls, 1) + 1;
    const int now = at > 0 && (lasting ? call >= at : call == at);
    if (now) errno = ENOMEM;
    return now;
}

void *malloc(size_t size) {
    return fails() ? NULL : __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
    return fails() ? NULL : __libc_calloc(count, size);
}
void *realloc(void *block, size_t size) {
    return fails() ? NULL : __libc_realloc(block, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
    return fails() ? NULL : __libc_memalign(alignment, size);
}
int posix_memalign(void **block, size_t alignment, size_t size) {
    *block = fails() ? NULL : __libc_memalign(alignment, size);
    return *block ? 0 : ENOMEM;
}
