/* Bump allocation; see arena.h. */
#include "core/arena.h"

#include "core/machine/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

mw_status mw_arena_create(mw_arena *arena, size_t size, mw_error *error) {
    size_t rounded = (size + MW_ALIGN - 1) / MW_ALIGN * MW_ALIGN;
    *arena = (mw_arena){0};
    if (rounded < size) return mw_fail(error, MW_ERR_MEMORY, "a work area of %zu bytes is too large", size);
    if (rounded == 0) rounded = MW_ALIGN;
    MW_TRY(mw_memory_take(rounded, error));
    arena->base = aligned_alloc(MW_ALIGN, rounded);
    if (!arena->base) {
        mw_memory_give(rounded);
        return mw_fail(error, MW_ERR_MEMORY, "cannot allocate %zu bytes", size);
    }
    memset(arena->base, 0, rounded);
    arena->size = rounded;
    return MW_OK;
}

void mw_arena_free(mw_arena *arena) {
    free(arena->base);
    mw_memory_give(arena->size);
    *arena = (mw_arena){0};
}

void *mw_arena_take(mw_arena *arena, size_t count, size_t size) {
    size_t bytes;
    bool overflow = __builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2;
    assert(!overflow);
    (void)overflow;
    bytes = (bytes + MW_ALIGN - 1) / MW_ALIGN * MW_ALIGN;
    size_t at = arena->used;
    arena->used += bytes;
    if (!arena->base) return NULL;
    assert(arena->used <= arena->size);
    return arena->base + at;
}
