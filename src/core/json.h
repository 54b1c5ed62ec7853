/* JSON in: jansson values, with files treated as hostile. JSON out: a small writer for reports, so that
 * numbers have one stable spelling. */
#ifndef MW_CORE_JSON_H
#define MW_CORE_JSON_H

#include "core/error.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

#define MW_JSON_MAX_DEPTH  64
#define MW_JSON_MAX_VALUES (1 << 19) /* of a text from outside; jansson takes some 200 bytes for each */

/* ---- building -------------------------------------------------------------------------------------------
 */

/* A value is built by many calls, and one that fails would leave a member out. So jansson's own names stand
 * for calls that remember a failure (out of memory, or a text that is not UTF-8) in the thread, and what
 * would write or print the value fails instead. A real number that is not finite makes no value and is no
 * failure. Who looks at a result himself puts the name in parentheses: (json_object)(). */
extern _Thread_local bool mw_json_broken;

/* Whether a value could not be built since the last call; forgets it. */
static inline bool mw_json_failed(void) {
    const bool failed = mw_json_broken;
    mw_json_broken = false;
    return failed;
}

static inline json_t *mw_json_made(json_t *value) {
    if (!value) mw_json_broken = true;
    return value;
}
static inline json_t *mw_json_made_real(double number) {
    return isfinite(number) ? mw_json_made(json_real(number)) : NULL;
}
static inline json_t *mw_json_made_string(const char *text) {
    return text ? mw_json_made(json_string(text)) : NULL;
}
static inline int mw_json_set_new(json_t *object, const char *key, json_t *value) {
    const bool given = object && value;
    const int result = json_object_set_new(object, key, value);
    if (given && result != 0) mw_json_broken = true;
    return result;
}
static inline int mw_json_append_new(json_t *array, json_t *value) {
    const bool given = array && value;
    const int result = json_array_append_new(array, value);
    if (given && result != 0) mw_json_broken = true;
    return result;
}

/* A text from outside, such as a command line, for which nothing else is to fail: where it is not UTF-8, its
 * bytes beyond ASCII become question marks. NULL is "". */
json_t *mw_json_words(const char *text);

/* The text of a value, to be freed; NULL if there is not memory for all of it, or for a part that was to be
 * built. (Jansson's own leaves out what it has no room for.) */
char *mw_json_dumps(const json_t *value, size_t flags);

#define json_object()                           mw_json_made((json_object)())
#define json_array()                            mw_json_made((json_array)())
#define json_integer(value)                     mw_json_made((json_integer)(value))
#define json_real(value)                        mw_json_made_real(value)
#define json_string(text)                       mw_json_made_string(text)
#define json_pack(...)                          mw_json_made((json_pack)(__VA_ARGS__))
#define json_deep_copy(value)                   mw_json_made((json_deep_copy)(value))
#define json_object_set_new(object, key, value) mw_json_set_new(object, key, value)
#define json_object_set(object, key, value)     mw_json_set_new(object, key, json_incref(value))
#define json_array_append_new(array, value)     mw_json_append_new(array, value)
#define json_array_append(array, value)         mw_json_append_new(array, json_incref(value))
#define json_dumps(value, flags)                mw_json_dumps(value, flags)

/* ---- reading and writing --------------------------------------------------------------------------------
 */

/* Parses text[size], an object or array; rejects duplicate keys, trailing text, nesting deeper than
 * MW_JSON_MAX_DEPTH and more than MW_JSON_MAX_VALUES values. `what` names it in messages, which also give
 * line and column. Release with json_decref(). *value is NULL after a failure. */
mw_status mw_json_parse(json_t **value, const char *text, size_t size, const char *what, mw_error *error);
mw_status mw_json_read(json_t **value, const char *path, mw_error *error);
/* The same for a text of this program's own making, of any number of values. */
mw_status mw_json_parse_own(json_t **value, const char *text, size_t size, const char *what, mw_error *error);

/* Indented, members in the order of insertion, arrays of scalars on one line; atomic. Real numbers have the
 * fewest of 15, 16 or 17 significant digits that read back as the same value, and always a point or an
 * exponent, so that they stay real. */
mw_status mw_json_write(const json_t *value, const char *path, mw_error *error);

/* Prints a value for programs that read our output, indented, with so many digits; all of it or an error. */
mw_status mw_json_print(const json_t *value, FILE *out, int digits, mw_error *error);

/* Required members; the message names `what` and the key. */
mw_status mw_json_get_string(const json_t *object, const char *key, const char *what, const char **out,
                             mw_error *error);
mw_status mw_json_get_integer(const json_t *object, const char *key, const char *what, long long low,
                              long long high, long long *out, mw_error *error);

json_t *mw_number_json(double value);          /* null if not finite */
const char *mw_json_kind(const json_t *value); /* "object", "integer", ...; "nothing" for NULL */

#endif
