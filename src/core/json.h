/* JSON in: jansson values, with files treated as hostile. JSON out: a small writer for reports, so that
 * numbers have one stable spelling. */
#ifndef MW_CORE_JSON_H
#define MW_CORE_JSON_H

#include "core/error.h"

#include <jansson.h>

/* Parses text[size]; rejects duplicate keys, trailing text and nesting deeper than 64. `what` names it in
 * messages. */
mw_status mw_json_parse(json_t **value, const char *text, size_t size, const char *what, mw_error *error);
mw_status mw_json_read(json_t **value, const char *path, mw_error *error);
mw_status mw_json_write(const json_t *value, const char *path, mw_error *error); /* indented, sorted as
                                                                                    inserted, atomic */

/* Required members; the message names `what` and the key. */
mw_status mw_json_get_string(const json_t *object, const char *key, const char *what, const char **out,
                             mw_error *error);
mw_status mw_json_get_integer(const json_t *object, const char *key, const char *what, long long low,
                              long long high, long long *out, mw_error *error);

#endif
