/* Counts every allocation of the program by standing in front of the C library's allocator. To be included by
 * one source file of a test program. Sanitizers bring an allocator of their own: under them nothing is
 * counted and COUNTING is 0. */
#ifndef MW_TESTS_ALLOCATIONS_H
#define MW_TESTS_ALLOCATIONS_H

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define COUNTING 0
static long allocations(void) {
    return 0;
}
#else
#define COUNTING 1

static atomic_long allocations_seen;

static long allocations(void) {
    return atomic_load(&allocations_seen);
}

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) {
    atomic_fetch_add(&allocations_seen, 1);
    return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
    atomic_fetch_add(&allocations_seen, 1);
    return __libc_calloc(count, size);
}
void *realloc(void *block, size_t size) {
    atomic_fetch_add(&allocations_seen, 1);
    return __libc_realloc(block, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
    atomic_fetch_add(&allocations_seen, 1);
    return __libc_memalign(alignment, size);
}
int posix_memalign(void **block, size_t alignment, size_t size) {
    atomic_fetch_add(&allocations_seen, 1);
    *block = __libc_memalign(alignment, size);
    return *block ? 0 : ENOMEM;
}
#endif

#endif
