/* Counts every allocation of the program, and the bytes that are allocated, by standing in front of the C
 * library's allocator, and lets one of them fail, or all from one on. To be included by one source file of a
 * test program. Sanitizers bring an allocator of their own: under them nothing is counted, nothing fails and
 * COUNTING is 0.
 */
#ifndef MW_TESTS_ALLOCATIONS_H
#define MW_TESTS_ALLOCATIONS_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
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
static inline void allocations_fail_from(long number) {
    (void)number;
}
static inline bool allocations_fail_pending(void) {
    return false;
}
static inline long allocated_bytes(void) {
    return 0;
}
static inline long allocated_most(void) {
    return 0;
}
static inline void allocated_forget(void) {}
#else
#define COUNTING 1

#include <malloc.h>

static atomic_long allocations_seen, allocation_to_fail, bytes_now, bytes_most;
static atomic_bool allocations_lasting; /* and all after it */

static inline long allocations(void) {
    return atomic_load(&allocations_seen);
}
/* From now on counted from 1; 0: none fails. */
static inline void allocations_fail_at(long number) {
    atomic_store(&allocations_lasting, false);
    atomic_store(&allocation_to_fail, number ? allocations() + number : 0);
}
static inline void allocations_fail_from(long number) {
    allocations_fail_at(number);
    atomic_store(&allocations_lasting, number != 0);
}
static inline bool allocations_fail_pending(void) { /* the one that is to fail has not been asked for */
    return allocations() < atomic_load(&allocation_to_fail);
}
static inline int allocation_fails(void) {
    const long now = atomic_fetch_add(&allocations_seen, 1) + 1, first = atomic_load(&allocation_to_fail);
    const int fails = now == first || (now > first && atomic_load(&allocations_lasting));
    if (fails) errno = ENOMEM;
    return fails;
}

/* Now, and at most since the start or since that was forgotten. */
static inline long allocated_bytes(void) {
    return atomic_load(&bytes_now);
}
static inline long allocated_most(void) {
    return atomic_load(&bytes_most);
}
static inline void allocated_forget(void) {
    atomic_store(&bytes_most, allocated_bytes());
}
static inline void *allocated(void *block) {
    const long size = (long)malloc_usable_size(block), now = atomic_fetch_add(&bytes_now, size) + size;
    long most = allocated_most();
    while (now > most && !atomic_compare_exchange_weak(&bytes_most, &most, now)) {
    }
    return block;
}

void __libc_free(void *block);
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) {
    return allocation_fails() ? NULL : allocated(__libc_malloc(size));
}
void *calloc(size_t count, size_t size) {
    return allocation_fails() ? NULL : allocated(__libc_calloc(count, size));
}
void *realloc(void *block, size_t size) {
    if (allocation_fails()) return NULL;
    const long before = (long)malloc_usable_size(block);
    void *larger = __libc_realloc(block, size);
    if (larger || size == 0) atomic_fetch_sub(&bytes_now, before);
    return allocated(larger);
}
void *aligned_alloc(size_t alignment, size_t size) {
    return allocation_fails() ? NULL : allocated(__libc_memalign(alignment, size));
}
int posix_memalign(void **block, size_t alignment, size_t size) {
    *block = allocation_fails() ? NULL : allocated(__libc_memalign(alignment, size));
    return *block ? 0 : ENOMEM;
}
void free(void *block) {
    atomic_fetch_sub(&bytes_now, (long)malloc_usable_size(block));
    __libc_free(block);
}
#endif

#endif
