/* JSON in: jansson values, with files treated as hostile. JSON out: a small writer for reports, so that
 * numbers have one stable spelling. */
#ifndef MW_CORE_JSON_H
#define MW_CORE_JSON_H

#include "core/error.h"

#include <jansson.h>

#define MW_JSON_MAX_DEPTH 64

/* Parses text[size], an object or array; rejects duplicate keys, trailing text and nesting deeper than
 * MW_JSON_MAX_DEPTH. `what` names it in messages, which also give line and column. Release with
 * json_decref(). *value is NULL after a failure. */
mw_status mw_json_parse(json_t **value, const char *text, size_t size, const char *what, mw_error *error);
mw_status mw_json_read(json_t **value, const char *path, mw_error *error);

/* Indented, members in the order of insertion, arrays of scalars on one line; atomic. Real numbers have the
 * fewest of 15, 16 or 17 significant digits that read back as the same value, and always a point or an
 * exponent, so that they stay real. */
mw_status mw_json_write(const json_t *value, const char *path, mw_error *error);

/* Required members; the message names `what` and the key. */
mw_status mw_json_get_string(const json_t *object, const char *key, const char *what, const char **out,
                             mw_error *error);
mw_status mw_json_get_integer(const json_t *object, const char *key, const char *what, long long low,
                              long long high, long long *out, mw_error *error);

json_t *mw_number_json(double value);          /* null if not finite */
const char *mw_json_kind(const json_t *value); /* "object", "integer", ...; "nothing" for NULL */

#endif
