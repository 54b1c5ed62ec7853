/* Counts every allocation of the program by standing in front of the C library's allocator, and lets one of
 * them fail. To be included by one source file of a test program. Sanitizers bring an allocator of their own:
 * under them nothing is counted, nothing fails and COUNTING is 0. */
#ifndef MW_TESTS_ALLOCATIONS_H
#define MW_TESTS_ALLOCATIONS_H

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define COUNTING 0
static inline long allocations(void) {
    return 0;
}
static inline void allocations_fail_at(long number) {
    (void)number;
}
#else
#define COUNTING 1

static atomic_long allocations_seen, allocation_to_fail;

static inline long allocations(void) {
    return atomic_load(&allocations_seen);
}
/* From now on counted from 1; 0: none fails. */
static inline void allocations_fail_at(long number) {
    atomic_store(&allocation_to_fail, number ? allocations() + number : 0);
}
static inline int allocation_fails(void) {
    const int fails = atomic_fetch_add(&allocations_seen, 1) + 1 == atomic_load(&allocation_to_fail);
    if (fails) errno = ENOMEM;
    return fails;
}

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) {
    return allocation_fails() ? NULL : __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
    return allocation_fails() ? NULL : __libc_calloc(count, size);
}
void *realloc(void *block, size_t size) {
    return allocation_fails() ? NULL : __libc_realloc(block, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
    return allocation_fails() ? NULL : __libc_memalign(alignment, size);
}
int posix_memalign(void **block, size_t alignment, size_t size) {
    *block = allocation_fails() ? NULL : __libc_memalign(alignment, size);
    return *block ? 0 : ENOMEM;
}
#endif

#endif
