/* Memory in one piece: an arena is a bump allocator over one block that is sized once. Work areas of the
 * networks are arenas, so that nothing allocates inside a planning step and the size of a workspace is known
 * exactly. */
#ifndef MW_CORE_ARENA_H
#define MW_CORE_ARENA_H

#include "core/error.h"

#define MW_ALIGN 64 /* every allocation starts on a cache line */

typedef struct mw_arena {
    unsigned char *base; /* NULL while measuring */
    size_t size, used;
} mw_arena;

/* An arena with base NULL only counts: run the same carving code on it once to learn the size, then create.
 */
mw_status mw_arena_create(mw_arena *arena, size_t size, mw_error *error);
void mw_arena_free(mw_arena *arena);

/* Returns count * size zeroed bytes (on creation) or NULL while measuring. Overrunning an arena is a
 * programmer's error and asserts. */
void *mw_arena_take(mw_arena *arena, size_t count, size_t size);

static inline float *mw_arena_floats(mw_arena *arena, size_t count) {
    return (float *)mw_arena_take(arena, count, sizeof(float));
}

#endif
