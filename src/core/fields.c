/* Settings declared once; see fields.h. */
#include "core/fields.h"

#include "core/numbers.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const mw_field *mw_fields_find(mw_fields fields, const char *name, size_t length) {
    for (int i = 0; i < fields.count; i++) {
        const mw_field *f = &fields.list[i];
        if (strlen(f->name) == length && !strncmp(f->name, name, length)) return f;
        if (f->symbol && strlen(f->symbol) == length && !strncmp(f->symbol, name, length)) return f;
    }
    return NULL;
}

/* ---- from text ---- */

static bool may_be_open(const mw_field *f) {
    return f->kind == MW_FIELD_REAL && f->words[0];
}

static bool whole(const char *text, const mw_field *f, int *out) {
    char *end;
    errno = 0;
    const double value = strtod(text, &end); /* people write large ones as 1e6 */
    if (end == text || *end || errno || !(value >= INT_MIN && value <= INT_MAX) || value != floor(value))
        return false;
    *out = (int)value;
    return value >= f->low && value <= f->high;
}

static bool real(const char *text, const mw_field *f, double *out) {
    char *end;
    if (may_be_open(f) && !strcmp(text, f->words[0])) {
        *out = NAN;
        return true;
    }
    *out = strtod(text, &end);
    return end != text && !*end && *out >= f->low && *out <= f->high;
}

static bool triple(const char *text, const mw_field *f, int *out) {
    char copy[64], *rest = copy;
    if (strlen(text) >= sizeof copy) return false;
    strcpy(copy, text);
    for (int i = 0; i < 3; i++) {
        const char *item = strsep(&rest, ",");
        if (!item || !whole(item, f, &out[i])) return false;
    }
    return !rest;
}

static bool choice(const char *text, const mw_field *f, int *out) {
    for (int i = 0; i < MW_FIELD_WORDS && f->words[i]; i++)
        if (!strcmp(text, f->words[i])) {
            *out = i;
            return true;
        }
    return false;
}

static bool store(const mw_field *f, void *at, const char *text) {
    int number, numbers[3];
    double value;
    switch (f->kind) {
    case MW_FIELD_INT:
    case MW_FIELD_CHOICE:
        if (!(f->kind == MW_FIELD_INT ? whole(text, f, &number) : choice(text, f, &number))) return false;
        *(int *)at = number;
        return true;
    case MW_FIELD_REAL:
        if (!real(text, f, &value)) return false;
        *(double *)at = value;
        return true;
    case MW_FIELD_SWITCH:
        if (strcmp(text, "on") && strcmp(text, "off")) return false;
        *(bool *)at = !strcmp(text, "on");
        return true;
    case MW_FIELD_TRIPLE:
        if (!triple(text, f, numbers)) return false;
        memcpy(at, numbers, sizeof numbers);
        return true;
    default:
        if (!*text || strlen(text) >= MW_WORD) return false;
        mw_text_clean(strcpy(at, text)); /* words of files are printed in many places */
        return true;
    }
}

void mw_field_range(char *out, size_t size, const mw_field *f) {
    MW_PLAIN_NUMBERS;
    switch (f->kind) {
    case MW_FIELD_SWITCH:
        snprintf(out, size, "on or off");
        return;
    case MW_FIELD_WORD:
        snprintf(out, size, "a name of at most %d characters", MW_WORD - 1);
        return;
    case MW_FIELD_CHOICE:
        snprintf(out, size, "%s or %s%s%s", f->words[0], f->words[1], f->words[2] ? " or " : "",
                 f->words[2] ? f->words[2] : "");
        return;
    default:
        snprintf(out, size, "%s%g to %g%s%s",
                 f->kind == MW_FIELD_TRIPLE ? "three whole numbers with commas, each "
                 : f->kind == MW_FIELD_INT  ? "a whole number "
                                            : "a number ",
                 f->low, f->high, may_be_open(f) ? " or " : "", may_be_open(f) ? f->words[0] : "");
    }
}

mw_status mw_field_set(const mw_field *f, void *object, const char *text, const char *prefix,
                       mw_error *error) {
    MW_PLAIN_NUMBERS;
    char range[128];
    if (store(f, (char *)object + f->offset, text)) return MW_OK;
    mw_field_range(range, sizeof range, f);
    return mw_fail(error, MW_ERR_ARGUMENT, "%s%s must be %s, not '%.64s'", prefix, f->name, range, text);
}

void mw_fields_defaults(mw_fields fields, void *object) {
    MW_PLAIN_NUMBERS;
    for (int i = 0; i < fields.count; i++)
        store(&fields.list[i], (char *)object + fields.list[i].offset, fields.list[i].initial);
}

static mw_status unknown(mw_fields fields, const char *text, const char *prefix, mw_error *error) {
    char known[400] = "";
    for (int i = 0; i < fields.count; i++) {
        const size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, " %s", fields.list[i].name);
    }
    return mw_fail(error, MW_ERR_ARGUMENT, "'%s%.40s' sets nothing; name=value with %s:%s", prefix, text,
                   *prefix ? prefix : "names", known);
}

mw_status mw_fields_assign(mw_fields fields, void *object, const char *text, const char *prefix,
                           mw_error *error) {
    while (*text) {
        const size_t name = strcspn(text, "= "), all = strcspn(text, " ");
        const mw_field *f = text[name] == '=' ? mw_fields_find(fields, text, name) : NULL;
        char value[96];
        if (!f) return unknown(fields, text, prefix, error);
        if (all - name > sizeof value) /* what is left of a number that is cut off is another number */
            return mw_fail(error, MW_ERR_ARGUMENT, "%s%s has %zu characters; a value has at most %zu", prefix,
                           f->name, all - name - 1, sizeof value - 1);
        snprintf(value, sizeof value, "%.*s", (int)(all - name - 1), text + name + 1);
        MW_TRY(mw_field_set(f, object, value, prefix, error));
        text += all;
        text += strspn(text, " ");
    }
    return MW_OK;
}

/* ---- JSON ---- */

json_t *mw_field_json(const mw_field *f, const void *object) {
    const void *at = (const char *)object + f->offset;
    const int *number = at;
    json_t *triple;
    switch (f->kind) {
    case MW_FIELD_INT:
        return json_integer(*number);
    case MW_FIELD_CHOICE:
        return json_string(f->words[*number]);
    case MW_FIELD_REAL:
        return isnan(*(const double *)at) && may_be_open(f) ? json_string(f->words[0])
                                                            : json_real(*(const double *)at);
    case MW_FIELD_SWITCH:
        return json_boolean(*(const bool *)at);
    case MW_FIELD_TRIPLE:
        triple = json_array();
        for (int i = 0; i < 3; i++) json_array_append_new(triple, json_integer(number[i]));
        return triple;
    default:
        return json_string(at);
    }
}

json_t *mw_fields_json(mw_fields fields, const void *object) {
    json_t *json = json_object();
    for (int i = 0; i < fields.count; i++)
        if (json_object_set_new(json, fields.list[i].name, mw_field_json(&fields.list[i], object)) != 0) {
            json_decref(json);
            return NULL;
        }
    return json;
}

static bool whole_json(const mw_field *f, const json_t *json, int *out) {
    const json_int_t value = json_integer_value(json);
    if (!json_is_integer(json) || (double)value < f->low || (double)value > f->high) return false;
    *out = (int)value;
    return true;
}

static bool read(const mw_field *f, void *at, const json_t *json) {
    int numbers[3];
    switch (f->kind) {
    case MW_FIELD_INT:
        return whole_json(f, json, at);
    case MW_FIELD_REAL:
        if (json_is_string(json)) return may_be_open(f) && store(f, at, json_string_value(json));
        if (!json_is_number(json)) return false;
        *(double *)at = json_number_value(json);
        return *(double *)at >= f->low && *(double *)at <= f->high;
    case MW_FIELD_SWITCH:
        *(bool *)at = json_is_true(json);
        return json_is_boolean(json);
    case MW_FIELD_TRIPLE:
        if (!json_is_array(json) || json_array_size(json) != 3) return false;
        for (size_t i = 0; i < 3; i++)
            if (!whole_json(f, json_array_get(json, i), &numbers[i])) return false;
        memcpy(at, numbers, sizeof numbers);
        return true;
    default:
        return json_is_string(json) && store(f, at, json_string_value(json));
    }
}

mw_status mw_fields_read(mw_fields fields, void *object, const json_t *json, const char *what,
                         mw_error *error) {
    const char *key;
    json_t *value;
    if (!json_is_object(json))
        return mw_fail(error, MW_ERR_FORMAT, "%s: expected an object, found %s", what, mw_json_kind(json));
    for (int i = 0; i < fields.count; i++) {
        const mw_field *f = &fields.list[i];
        char range[128], *found = NULL;
        const json_t *member = json_object_get(json, f->name);
        if (member && read(f, (char *)object + f->offset, member)) continue;
        mw_field_range(range, sizeof range, f);
        found = member ? json_dumps(member, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
        mw_fail(error, MW_ERR_FORMAT, "%s: '%s' must be %s, found %.64s", what, f->name, range,
                found ? found : "nothing");
        free(found);
        return MW_ERR_FORMAT;
    }
    json_object_foreach(
        (json_t *)(uintptr_t)json, key,
        value) if (!mw_fields_find(fields, key, strlen(key))) return mw_fail(error, MW_ERR_FORMAT,
                                                                             "%s: unknown setting '%.64s'",
                                                                             what, key);
    return MW_OK;
}

/* ---- comparing and listing ---- */

static bool same(const mw_field *f, const void *wanted, const void *found) {
    if (f->kind == MW_FIELD_REAL) {
        const double a = *(const double *)wanted, b = *(const double *)found;
        return (isnan(a) && may_be_open(f)) || a == b;
    }
    if (f->kind == MW_FIELD_SWITCH) return *(const bool *)wanted == *(const bool *)found;
    if (f->kind == MW_FIELD_WORD) return !strcmp(wanted, found);
    return !memcmp(wanted, found, sizeof(int) * (f->kind == MW_FIELD_TRIPLE ? 3 : 1));
}

/* Also of a struct whose bytes are anything at all. */
static bool is_within(const mw_field *f, const void *at) {
    const int *number = at;
    unsigned char byte;
    switch (f->kind) {
    case MW_FIELD_INT:
    case MW_FIELD_TRIPLE:
        for (int i = 0; i < (f->kind == MW_FIELD_TRIPLE ? 3 : 1); i++)
            if (!(number[i] >= f->low && number[i] <= f->high)) return false;
        return true;
    case MW_FIELD_REAL:
        return (isnan(*(const double *)at) && may_be_open(f)) ||
               (*(const double *)at >= f->low && *(const double *)at <= f->high);
    case MW_FIELD_CHOICE:
        return *number >= 0 && *number < MW_FIELD_WORDS && f->words[*number];
    case MW_FIELD_SWITCH:
        memcpy(&byte, at, 1);
        return byte <= 1;
    default:
        return *(const char *)at && memchr(at, 0, MW_WORD);
    }
}

mw_status mw_fields_check(mw_fields fields, const void *object, const char *prefix, mw_status code,
                          mw_error *error) {
    for (int i = 0; i < fields.count; i++) {
        const mw_field *f = &fields.list[i];
        const void *at = (const char *)object + f->offset;
        char range[128], found[MW_WORD + 2];
        if (is_within(f, at)) continue;
        mw_field_range(range, sizeof range, f);
        switch (f->kind) {
        case MW_FIELD_CHOICE:
            snprintf(found, sizeof found, "%d", *(const int *)at);
            break;
        case MW_FIELD_SWITCH:
            snprintf(found, sizeof found, "%d", *(const unsigned char *)at);
            break;
        case MW_FIELD_WORD:
            snprintf(found, sizeof found, "'%.*s'", MW_WORD - 1, (const char *)at);
            break;
        default:
            mw_field_text(found, sizeof found, f, object);
        }
        return mw_fail(error, code, "%s%s %s %s, and must be %s", prefix, f->name,
                       code == MW_ERR_NUMERIC ? "comes to" : "is", found, range);
    }
    return MW_OK;
}

const mw_field *mw_fields_difference(mw_fields fields, const void *wanted, const void *found) {
    for (int i = 0; i < fields.count; i++) {
        const size_t at = fields.list[i].offset;
        if (!same(&fields.list[i], (const char *)wanted + at, (const char *)found + at))
            return &fields.list[i];
    }
    return NULL;
}

const mw_field *mw_fields_open(mw_fields fields, const void *object) {
    for (int i = 0; i < fields.count; i++) {
        const mw_field *f = &fields.list[i];
        if (f->kind == MW_FIELD_REAL && isnan(*(const double *)((const char *)object + f->offset))) return f;
    }
    return NULL;
}

void mw_field_text(char *out, size_t size, const mw_field *f, const void *object) {
    MW_PLAIN_NUMBERS;
    const void *at = (const char *)object + f->offset;
    const int *number = at;
    switch (f->kind) {
    case MW_FIELD_INT:
        snprintf(out, size, "%d", *number);
        return;
    case MW_FIELD_CHOICE:
        snprintf(out, size, "%s", f->words[*number]);
        return;
    case MW_FIELD_REAL:
        if (isnan(*(const double *)at) && may_be_open(f))
            snprintf(out, size, "%s", f->words[0]);
        else
            snprintf(out, size, "%.6g", *(const double *)at);
        return;
    case MW_FIELD_SWITCH:
        snprintf(out, size, "%s", *(const bool *)at ? "on" : "off");
        return;
    case MW_FIELD_TRIPLE:
        snprintf(out, size, "%d,%d,%d", number[0], number[1], number[2]);
        return;
    default:
        snprintf(out, size, "%s", (const char *)at);
    }
}
