/* Guarded parsing and stable writing of JSON; see json.h. Jansson does the grammar and the character checks;
 * this file adds the limits and the spelling of numbers. */
#include "core/json.h"

#include "core/file.h"
#include "core/numbers.h"

#include <errno.h>
#include <stdlib.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

_Thread_local bool mw_json_broken;

/* ---- memory --------------------------------------------------------------------------------------------
 */

/* Jansson's reader drops a character of a text or a number for which its buffer could not grow, and goes on:
 * to another value, or, where it was a quote or followed a backslash, to an assertion or beyond the buffer.
 * So every allocation that fails is noted (its allocator stays what it was, with a look at the result), the
 * text that is being read ends there, and the buffer gets a block that was kept for it. */
static json_malloc_t given_malloc;
static json_free_t given_free;

typedef struct {
    char *text; /* [size] */
    size_t size;
    void *spare; /* for the largest buffer that the text can need */
} reader;

enum { SPARE = 8192 };
static _Thread_local reader *reading; /* NULL: whoever uses jansson reads something short */
static _Atomic(void *) spare;         /* [SPARE], for them */

static size_t spare_of(size_t text) {
    return 2 * text + 64; /* buffers grow by doubling */
}

static void *noting_malloc(size_t size) {
    void *block = given_malloc(size);
    if (block && !spare) {
        void *kept = given_malloc(SPARE);
        given_free(atomic_exchange(&spare, kept));
    }
    if (!block && !reading && size <= SPARE) block = atomic_exchange(&spare, NULL);
    if (block) return block;
    if (!reading)
        return NULL; /* who builds sees it in the result; and a program may use jansson for its own */
    mw_json_broken = true;
    memset(reading->text, 0, reading->size);
    if (size > spare_of(reading->size)) return NULL;
    block = reading->spare;
    reading->spare = NULL;
    return block;
}

static void start_noting(void) {
    json_get_alloc_funcs(&given_malloc, &given_free);
    spare = given_malloc(SPARE);
    json_set_alloc_funcs(noting_malloc, given_free);
}

/* The process may unload this library and go on with jansson. */
__attribute__((destructor)) static void stop_noting(void) {
    json_malloc_t present;
    json_free_t release;
    json_get_alloc_funcs(&present, &release);
    if (present == noting_malloc) json_set_alloc_funcs(given_malloc, release);
    if (given_free) given_free(atomic_exchange(&spare, NULL));
}

const char *mw_json_kind(const json_t *value) {
    if (!value) return "nothing";
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "object";
    case JSON_ARRAY:
        return "array";
    case JSON_STRING:
        return "string";
    case JSON_INTEGER:
        return "integer";
    case JSON_REAL:
        return "real number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "boolean";
    case JSON_NULL:
        return "null";
    }
    return "nothing";
}

/* ---- reading ------------------------------------------------------------------------------------------- */

/* Jansson's parser recurses and makes a block of every value, so that depth and number are bounded before it
 * starts. Counting brackets and commas outside of strings is enough: on text that is not JSON the counts are
 * only upper bounds and the parser complains itself. */
static mw_status check_text(const char *text, size_t size, size_t most, const char *what, mw_error *error) {
    int depth = 0, line = 1;
    size_t line_start = 0, values = 0;
    bool quoted = false;
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (!quoted && (c == ',' || c == '[' || c == '{') && ++values > most)
            return mw_fail(error, MW_ERR_FORMAT, "%s: line %d, column %zu: more than %zu values", what, line,
                           i - line_start + 1, most);
        if (c == 0) { /* where jansson would see the end */
            return mw_fail(error, MW_ERR_FORMAT, "%s: line %d, column %zu: a byte is zero", what, line,
                           i - line_start + 1);
        } else if (c == '\n') {
            line++;
            line_start = i + 1;
            quoted = false; /* no string runs over a line */
        } else if (quoted) {
            if (c == '\\') i++;
            if (c == '"') quoted = false;
        } else if (c == '"') {
            quoted = true;
        } else if (c == '[' || c == '{') {
            if (++depth > MW_JSON_MAX_DEPTH)
                return mw_fail(error, MW_ERR_FORMAT, "%s: line %d, column %zu: nested deeper than %d", what,
                               line, i - line_start + 1, MW_JSON_MAX_DEPTH);
        } else if ((c == ']' || c == '}') && depth > 0) {
            depth--;
        }
    }
    return MW_OK;
}

static mw_status parse(json_t **value, const char *text, size_t size, size_t most, const char *what,
                       mw_error *error) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    json_error_t problem;
    *value = NULL;
    MW_TRY(check_text(text, size, most, what, error));
    pthread_once(&once, start_noting);
    const bool broken_before = mw_json_failed();
    reader r = {.text = malloc(size + 1), .size = size, .spare = given_malloc(spare_of(size))};
    const bool ready = r.text && r.spare;
    if (ready) {
        if (size) memcpy(r.text, text, size);
        r.text[size] = 0;
        reading = &r;
        *value = json_loads(r.text, JSON_REJECT_DUPLICATES, &problem);
        reading = NULL;
    }
    const bool starved = mw_json_failed() || !ready;
    free(r.text);
    given_free(r.spare);
    mw_json_broken = broken_before;
    if (*value && !starved) return MW_OK;
    json_decref(*value);
    *value = NULL;
    if (starved)
        return mw_fail(error, MW_ERR_MEMORY, "%s: not enough memory for %zu bytes of JSON", what, size);
    return mw_fail(error, MW_ERR_FORMAT, "%s: line %d, column %d: %s", what, problem.line, problem.column,
                   problem.text);
}

mw_status mw_json_parse(json_t **value, const char *text, size_t size, const char *what, mw_error *error) {
    return parse(value, text, size, MW_JSON_MAX_VALUES, what, error);
}

mw_status mw_json_parse_own(json_t **value, const char *text, size_t size, const char *what,
                            mw_error *error) {
    return parse(value, text, size, SIZE_MAX, what, error);
}

mw_status mw_json_read(json_t **value, const char *path, mw_error *error) {
    char *text;
    size_t size = 0;
    *value = NULL;
    MW_TRY(mw_file_read_text(path, &text, &size, error));
    mw_status status = mw_json_parse(value, text, size, path, error);
    free(text);
    return status;
}

static mw_status get_member(const json_t *object, const char *key, const char *what, const json_t **member,
                            mw_error *error) {
    if (!json_is_object(object))
        return mw_fail(error, MW_ERR_FORMAT, "%s: expected an object, found %s", what, mw_json_kind(object));
    *member = json_object_get(object, key);
    if (!*member) return mw_fail(error, MW_ERR_FORMAT, "%s: lacks '%s'", what, key);
    return MW_OK;
}

mw_status mw_json_get_string(const json_t *object, const char *key, const char *what, const char **out,
                             mw_error *error) {
    const json_t *member = NULL;
    MW_TRY(get_member(object, key, what, &member, error));
    if (!json_is_string(member))
        return mw_fail(error, MW_ERR_FORMAT, "%s: '%s' must be a string, found %s", what, key,
                       mw_json_kind(member));
    *out = json_string_value(member);
    return MW_OK;
}

mw_status mw_json_get_integer(const json_t *object, const char *key, const char *what, long long low,
                              long long high, long long *out, mw_error *error) {
    const json_t *member = NULL;
    MW_TRY(get_member(object, key, what, &member, error));
    if (!json_is_integer(member))
        return mw_fail(error, MW_ERR_FORMAT, "%s: '%s' must be an integer, found %s", what, key,
                       mw_json_kind(member));
    long long value = json_integer_value(member);
    if (value < low || value > high)
        return mw_fail(error, MW_ERR_FORMAT, "%s: '%s' is %lld, expected %lld to %lld", what, key, value, low,
                       high);
    *out = value;
    return MW_OK;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

typedef struct printer {
    mw_writer writer;
    mw_error *error;
    mw_status status; /* of the first failure inside jansson's callback */
} printer;

static mw_status put(printer *p, const char *text) {
    return mw_writer_put(&p->writer, text, strlen(text), p->error);
}

static mw_status put_line(printer *p, int depth) {
    char spaces[2 + 2 * MW_JSON_MAX_DEPTH];
    int used = snprintf(spaces, sizeof spaces, "\n%*s", 2 * depth, "");
    return mw_writer_put(&p->writer, spaces, (size_t)used, p->error);
}

/* The fewest of 15 to 17 digits that read back as the same double; 17 always do. */
static mw_status put_real(printer *p, double value) {
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text - 2, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    if (!strpbrk(text, ".e")) strcat(text, ".0");
    return put(p, text);
}

static int put_piece(const char *piece, size_t size, void *context) {
    printer *p = context;
    p->status = mw_writer_put(&p->writer, piece, size, p->error);
    return p->status == MW_OK ? 0 : -1;
}

static mw_status put_scalar(printer *p, const json_t *value) {
    if (json_is_real(value)) return put_real(p, json_real_value(value));
    if (json_dump_callback(value, put_piece, p, JSON_ENCODE_ANY) == 0) return MW_OK;
    if (p->status != MW_OK) return p->status;
    return mw_fail(p->error, MW_ERR_MEMORY, "cannot write '%s': a value cannot be encoded", p->writer.path);
}

static mw_status put_value(printer *p, const json_t *value, int depth);

static mw_status put_object(printer *p, const json_t *object, int depth) {
    const char *key, *separator = "";
    json_t *member;
    MW_TRY(put(p, "{"));
    json_object_foreach((json_t *)object, key, member) {
        MW_TRY(put(p, separator));
        MW_TRY(put_line(p, depth + 1));
        json_t *name = (json_string)(key);
        if (!name)
            return mw_fail(p->error, MW_ERR_MEMORY, "cannot write '%s': out of memory", p->writer.path);
        mw_status status = put_scalar(p, name);
        json_decref(name);
        MW_TRY(status);
        MW_TRY(put(p, ": "));
        MW_TRY(put_value(p, member, depth + 1));
        separator = ",";
    }
    if (json_object_size(object) > 0) MW_TRY(put_line(p, depth));
    return put(p, "}");
}

static mw_status put_array(printer *p, const json_t *array, int depth) {
    size_t count = json_array_size(array);
    bool flat = true;
    for (size_t i = 0; i < count && flat; i++) {
        const json_t *item = json_array_get(array, i);
        flat = !json_is_object(item) && !json_is_array(item);
    }
    MW_TRY(put(p, "["));
    for (size_t i = 0; i < count; i++) {
        if (i > 0) MW_TRY(put(p, flat ? ", " : ","));
        if (!flat) MW_TRY(put_line(p, depth + 1));
        MW_TRY(put_value(p, json_array_get(array, i), depth + 1));
    }
    if (!flat) MW_TRY(put_line(p, depth));
    return put(p, "]");
}

static mw_status put_value(printer *p, const json_t *value, int depth) {
    if (!json_is_object(value) && !json_is_array(value)) return put_scalar(p, value);
    if (depth == MW_JSON_MAX_DEPTH)
        return mw_fail(p->error, MW_ERR_ARGUMENT, "cannot write '%s': nested deeper than %d", p->writer.path,
                       MW_JSON_MAX_DEPTH);
    return json_is_object(value) ? put_object(p, value, depth) : put_array(p, value, depth);
}

json_t *mw_json_words(const char *text) {
    json_t *value = (json_string)(text ? text : "");
    char *copy = value ? NULL : strdup(text ? text : "");
    for (char *at = copy; at && *at; at++)
        if ((unsigned char)*at > 127) *at = '?';
    if (copy) value = (json_string)(copy);
    free(copy);
    return mw_json_made(value);
}

/* In two passes, of which neither can run out of room: jansson goes on after a key that found none. */
char *mw_json_dumps(const json_t *value, size_t flags) {
    const size_t size = !mw_json_failed() && value ? json_dumpb(value, NULL, 0, flags) : 0;
    char *text = size ? malloc(size + 1) : NULL;
    if (text && json_dumpb(value, text, size, flags) == size) {
        text[size] = 0;
        return text;
    }
    free(text);
    mw_json_failed(); /* told by the result */
    return NULL;
}

static mw_status unbuilt(const char *path, mw_error *error) {
    return mw_fail(error, MW_ERR_MEMORY, "cannot write '%s': out of memory, or a text is not UTF-8", path);
}

mw_status mw_json_print(const json_t *value, FILE *out, int digits, mw_error *error) {
    char *text = json_dumps(value, JSON_INDENT(2) | JSON_REAL_PRECISION(digits)); /* NULL if not all is there
                                                                                   */
    if (!text) return unbuilt("the report", error);
    errno = 0;
    const bool ok = fputs(text, out) != EOF && fputc('\n', out) != EOF && fflush(out) == 0;
    const int reason = errno;
    free(text);
    if (ok) return MW_OK;
    return mw_fail(error, MW_ERR_IO, "cannot print the report: %s", strerror(reason ? reason : EIO));
}

mw_status mw_json_write(const json_t *value, const char *path, mw_error *error) {
    MW_PLAIN_NUMBERS;
    printer p = {.error = error};
    if (mw_json_failed()) return unbuilt(path, error);
    if (!value) return mw_fail(error, MW_ERR_ARGUMENT, "cannot write '%s': there is no value", path);
    mw_status status = mw_writer_open(&p.writer, path, error);
    if (status == MW_OK) {
        status = put_value(&p, value, 0);
        if (status == MW_OK) status = put(&p, "\n");
        if (status == MW_OK)
            status = mw_writer_commit(&p.writer, error);
        else
            mw_writer_abandon(&p.writer);
    }
    if (status != MW_OK) mw_json_failed(); /* told by the status */
    return status;
}

json_t *mw_number_json(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}
