/* JSON of the command line's own, read and spelled so that nothing is left out in silence for want of memory;
 * see cli.h. The library's reader is not public, as nobody else has need of it. */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Jansson's reader drops a letter that its buffer had no room for, and goes on: to another value, or, where
 * it was a quote or followed a backslash, to an assertion or beyond the buffer. So allocations are watched
 * while it reads; with one that fails the text ends, and the buffer gets a block that was kept for it.
 * Commands read only while nothing else runs. */
static json_malloc_t given_malloc;
static struct {
    char *text; /* [size] */
    size_t size, spare_size;
    void *spare; /* for the largest buffer that the text can need */
    bool starved;
} reading;

static void *noting_malloc(size_t size) {
    void *block = given_malloc(size);
    if (block) return block;
    reading.starved = true;
    memset(reading.text, 0, reading.size);
    if (size > reading.spare_size) return NULL;
    block = reading.spare;
    reading.spare = NULL;
    return block;
}

/* Takes the text over; it may be NULL for want of memory. */
static mw_status load(json_t **value, char *text, const char *what, mw_error *error) {
    json_error_t problem;
    json_free_t release;
    const size_t size = text ? strlen(text) : 0, spare = 2 * size + 64; /* buffers grow by doubling */
    *value = NULL;
    json_get_alloc_funcs(&given_malloc, &release);
    reading.text = text;
    reading.size = size;
    reading.spare_size = spare;
    reading.spare = given_malloc(spare);
    reading.starved = !text || !reading.spare;
    if (!reading.starved) {
        json_set_alloc_funcs(noting_malloc, release);
        *value = json_loads(text, 0, &problem);
        json_set_alloc_funcs(given_malloc, release);
    }
    free(text);
    release(reading.spare);
    if (*value && !reading.starved) return MW_OK;
    json_decref(*value);
    *value = NULL;
    if (reading.starved) return mw_fail(error, MW_ERR_MEMORY, "out of memory for %s", what);
    return mw_fail(error, MW_ERR_FORMAT, "%s: line %d: %s", what, problem.line, problem.text);
}

mw_status mw_cli_json(json_t **value, const char *text, const char *what, mw_error *error) {
    return load(value, text ? strdup(text) : NULL, what, error);
}

mw_status mw_cli_json_file(json_t **value, const char *path, mw_error *error) {
    char *text = NULL;
    size_t room = 0;
    *value = NULL;
    FILE *file = fopen(path, "rb");
    if (!file && (errno == ENOENT || errno == ENOTDIR)) return MW_OK;
    if (!file) return mw_fail(error, MW_ERR_IO, "cannot open '%s': %s", path, strerror(errno));
    errno = 0;
    const ssize_t length = getdelim(&text, &room, 0, file); /* all of it, if no byte is zero */
    const bool whole = !ferror(file) && errno == 0;
    fclose(file);
    if (length > 0 && whole && text[length - 1]) return load(value, text, path, error);
    free(text);
    if (!whole) return mw_fail(error, MW_ERR_IO, "cannot read '%s': %s", path, strerror(errno ? errno : EIO));
    return mw_fail(error, MW_ERR_FORMAT, "%s: not JSON", path);
}

/* In two passes: json_dumps goes on after a key that there was no memory for. */
char *mw_cli_json_text(const json_t *value, size_t flags) {
    const size_t size = json_dumpb(value, NULL, 0, flags);
    char *text = size ? calloc(size + 1, 1) : NULL;
    if (text && json_dumpb(value, text, size, flags) == size) return text;
    free(text);
    return NULL;
}
