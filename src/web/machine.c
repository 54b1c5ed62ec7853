/* The machine as a browser has it, in place of src/core/machine, pool.c and file.c: one thread, no files,
 * memory that grows until it does not. */
#include "core/file.h"
#include "core/machine/memory.h"
#include "core/pool.h"
#include "eval/controller.h"

#include <string.h>

/* ---- the only worker ---- */

struct mw_pool {
    int threads;
};

static mw_pool only = {1};

mw_status mw_pool_create(mw_pool **pool, int threads, mw_error *error) {
    *pool = NULL;
    if (threads < 0 || threads > 1)
        return mw_fail(error, MW_ERR_ARGUMENT, "threads is %d; a browser's worker has 1", threads);
    *pool = &only;
    return MW_OK;
}

void mw_pool_free(mw_pool *pool) {
    (void)pool;
}

int mw_pool_threads(const mw_pool *pool) {
    return pool ? pool->threads : 1;
}

int mw_pool_cores(void) {
    return 1;
}

void mw_pool_run(mw_pool *pool, mw_pool_body *body, void *context) {
    (void)pool;
    body(context, 0);
}

void mw_pool_barrier(mw_pool *pool) {
    (void)pool;
}

void mw_pool_share(const mw_pool *pool, int worker, int count, int grain, int *begin, int *end) {
    (void)pool;
    (void)worker;
    (void)grain;
    *begin = 0;
    *end = count;
}

/* ---- memory ---- */

static size_t used;

mw_status mw_memory_take(size_t bytes, mw_error *error) {
    (void)error;
    used += bytes;
    return MW_OK;
}

void mw_memory_give(size_t bytes) {
    used -= bytes;
}

size_t mw_memory_used(void) {
    return used;
}

/* ---- files: what a page was given is in memory ---- */

mw_status mw_map_begin(mw_map *map, const char *path, mw_error *error) {
    *map = (mw_map){0};
    return mw_fail(error, MW_ERR_UNSUPPORTED, "'%s': a page reads no files", path);
}

mw_status mw_map_fill(mw_map *map, size_t size, const char *path, mw_error *error) {
    (void)map;
    (void)size;
    (void)path;
    (void)error;
    return MW_OK;
}

mw_map mw_map_over(const void *data, size_t size) {
    return (mw_map){.data = size ? data : NULL, .size = size, .borrowed = true};
}

void mw_map_close(mw_map *map) {
    *map = (mw_map){0};
}

uint64_t mw_hash(uint64_t hash, const void *data, size_t size) {
    for (const unsigned char *at = data, *end = at + size; at < end; at++)
        hash = (hash ^ *at) * 0x100000001B3u;
    return hash;
}

/* ---- who plays: of the controllers that evaluations know (src/eval/controllers.c) a page has one ---- */

bool mw_controller_plans(const char *name) {
    return !strcmp(name, "planner");
}
