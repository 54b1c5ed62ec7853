/* JSON of the command line's own, read and spelled so that nothing is left out in silence for want of memory;
 * see cli.h. The library's reader is not public, as nobody else has need of it. */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Jansson's reader drops a letter that its buffer had no room for, and goes on: allocations are watched while
 * it reads. Commands read only while nothing else runs. */
static json_malloc_t given_malloc;
static bool starved;

static void *noting_malloc(size_t size) {
    void *block = given_malloc(size);
    if (!block) starved = true;
    return block;
}

/* From the file, or from the text if there is no file. */
static json_t *load(FILE *file, const char *text, json_error_t *problem) {
    json_free_t release;
    json_get_alloc_funcs(&given_malloc, &release);
    json_set_alloc_funcs(noting_malloc, release);
    starved = false;
    json_t *value = file ? json_loadf(file, 0, problem) : json_loads(text, 0, problem);
    json_set_alloc_funcs(given_malloc, release);
    if (!starved) return value;
    json_decref(value);
    return NULL;
}

mw_status mw_cli_json(json_t **value, const char *text, const char *what, mw_error *error) {
    json_error_t problem;
    *value = load(NULL, text, &problem);
    if (*value) return MW_OK;
    if (starved) return mw_fail(error, MW_ERR_MEMORY, "out of memory for %s", what);
    return mw_fail(error, MW_ERR_FORMAT, "%s: line %d: %s", what, problem.line, problem.text);
}

mw_status mw_cli_json_file(json_t **value, const char *path, mw_error *error) {
    json_error_t problem;
    *value = NULL;
    FILE *file = fopen(path, "rb");
    if (!file && (errno == ENOENT || errno == ENOTDIR)) return MW_OK;
    if (!file) return mw_fail(error, MW_ERR_IO, "cannot open '%s': %s", path, strerror(errno));
    *value = load(file, NULL, &problem);
    fclose(file);
    if (*value) return MW_OK;
    if (starved) return mw_fail(error, MW_ERR_MEMORY, "out of memory for '%s'", path);
    return mw_fail(error, MW_ERR_FORMAT, "%s: line %d: %s", path, problem.line, problem.text);
}

/* In two passes: json_dumps goes on after a key that there was no memory for. */
char *mw_cli_json_text(const json_t *value, size_t flags) {
    const size_t size = json_dumpb(value, NULL, 0, flags);
    char *text = size ? calloc(size + 1, 1) : NULL;
    if (text && json_dumpb(value, text, size, flags) == size) return text;
    free(text);
    return NULL;
}
