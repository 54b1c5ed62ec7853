/* Reading JSON texts where there is no Jansson; see json.c. What the grammar of RFC 8259 does not have is
 * refused with its line. The caller has bounded the depth (src/core/json.c). */
#include "web/json_value.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 64 };

typedef struct {
    const char *text, *at, *end; /* *end is 0 or belongs to somebody else */
    json_error_t *error;
    int depth;
    bool failed;
} reader;

static json_t *read_value(reader *r);

static json_t *refuse(reader *r, const char *why) {
    if (r->failed) return NULL;
    r->failed = true;
    if (!r->error) return NULL;
    int line = 1, column = 0;
    for (const char *c = r->text; c < r->at; c++) {
        column = *c == '\n' ? 0 : column + 1;
        line += *c == '\n';
    }
    *r->error = (json_error_t){.line = line, .column = column, .position = (int)(r->at - r->text)};
    snprintf(r->error->text, sizeof r->error->text, "%s", why);
    return NULL;
}

static int peek(const reader *r) {
    return r->at < r->end ? (unsigned char)*r->at : 0;
}

static int skip_space(reader *r) {
    while (peek(r) && strchr(" \t\r\n", peek(r))) r->at++;
    return peek(r);
}

static bool take_word(reader *r, const char *word) {
    const size_t size = strlen(word);
    if ((size_t)(r->end - r->at) < size || memcmp(r->at, word, size)) return false;
    r->at += size;
    return true;
}

/* ---- texts ---- */

/* Bytes of the character at `text`, of which `size` are there; 0: it is none. */
static size_t character(const unsigned char *text, size_t size) {
    const unsigned lead = text[0];
    const size_t count = lead < 0x80 ? 1 : lead >= 0xC2 && lead < 0xE0 ? 2 : lead >> 4 == 14 ? 3 : 4;
    if (lead == 0 || (count == 4 && (lead < 0xF0 || lead > 0xF4)) || count > size) return 0;
    for (size_t i = 1; i < count; i++)
        if (text[i] >> 6 != 2) return 0;
    if ((lead == 0xE0 && text[1] < 0xA0) || (lead == 0xED && text[1] > 0x9F)) return 0;
    if ((lead == 0xF0 && text[1] < 0x90) || (lead == 0xF4 && text[1] > 0x8F)) return 0;
    return count;
}

bool json_utf8(const char *text, size_t size) {
    for (size_t i = 0, count; i < size; i += count)
        if (!(count = character((const unsigned char *)text + i, size - i))) return false;
    return true;
}

/* Four hexadecimal digits; negative: they are not there. */
static int read_code(reader *r) {
    int code = 0;
    if (r->end - r->at < 4) return -1;
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        const char *digit = r->at[i] ? strchr(digits, r->at[i]) : NULL;
        if (!digit) return -1;
        code = code * 16 + (int)(digit - digits) % 16;
    }
    r->at += 4;
    return code;
}

/* A character by its number, which may stand there in two halves. */
static char *put_code(reader *r, char *out) {
    int code = read_code(r);
    if (code >= 0xD800 && code < 0xDC00) {
        const int low = take_word(r, "\\u") ? read_code(r) : -1;
        code = low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00) : -1;
    } else if (code >= 0xDC00 && code < 0xE000) {
        code = -1;
    }
    if (code <= 0) return NULL;
    const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    *out++ = (char)(more ? (0xF80 >> more & 0xFF) | code >> (6 * more) : code);
    for (int i = more - 1; i >= 0; i--) *out++ = (char)(0x80 | (code >> (6 * i) & 63));
    return out;
}

static char *put_escaped(reader *r, char *out) {
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char *letter = peek(r) ? strchr(letters, peek(r)) : NULL;
    if (take_word(r, "u")) return put_code(r, out);
    if (!letter) return NULL;
    r->at++;
    *out++ = meant[letter - letters];
    return out;
}

/* The text behind a quote, to be freed; NULL after a refusal. */
static char *read_text(reader *r) {
    const char *close = ++r->at;
    while (close < r->end && *close != '"') close += *close == '\\' && close + 1 < r->end ? 2 : 1;
    char *text = malloc((size_t)(close - r->at) + 1), *out = text; /* no escape is longer than it was */
    if (!text) refuse(r, "out of memory");
    while (out && r->at < close) {
        const unsigned char *at = (const unsigned char *)r->at;
        const size_t count = *at < 32 ? 0 : character(at, (size_t)(close - r->at));
        if (*at == '\\') {
            r->at++;
            out = put_escaped(r, out);
        } else if (count) {
            memcpy(out, r->at, count);
            out += count;
            r->at += count;
        } else {
            out = NULL;
        }
    }
    if (out && take_word(r, "\"")) {
        *out = 0;
        return text;
    }
    free(text);
    refuse(r, out ? "premature end of input" : "invalid character or escape in a text");
    return NULL;
}

/* ---- numbers ---- */

static int skip_digits(reader *r) {
    const char *from = r->at;
    while (peek(r) >= '0' && peek(r) <= '9') r->at++;
    return (int)(r->at - from);
}

static json_t *read_number(reader *r) {
    char text[512];
    const char *from = r->at;
    bool real = false, good;
    take_word(r, "-");
    const bool zero = peek(r) == '0';
    const int whole = skip_digits(r);
    good = whole && !(zero && whole > 1);
    if (good && take_word(r, ".")) good = real = skip_digits(r) > 0;
    if (good && (peek(r) == 'e' || peek(r) == 'E')) {
        r->at++;
        if (!take_word(r, "+")) take_word(r, "-");
        good = real = skip_digits(r) > 0;
    }
    const size_t size = (size_t)(r->at - from);
    if (!good || size >= sizeof text) return refuse(r, "invalid number");
    memcpy(text, from, size);
    text[size] = 0;
    errno = 0;
    const long long integer = real ? 0 : strtoll(text, NULL, 10);
    if (errno) return refuse(r, "too big integer");
    json_t *number = real ? (json_real)(strtod(text, NULL)) : (json_integer)(integer);
    return number ? number : refuse(r, "real number overflow");
}

/* ---- objects and arrays ---- */

static bool read_member(reader *r, json_t *object) {
    if (skip_space(r) != '"') return refuse(r, "a member's name is missing"), false;
    char *name = read_text(r);
    if (!name) return false;
    json_t *item = NULL;
    if (json_object_get(object, name))
        refuse(r, "duplicate object key");
    else if (skip_space(r) != ':')
        refuse(r, "':' expected");
    else
        r->at++, item = read_value(r);
    const bool kept = item && (json_object_set_new)(object, name, item) == 0;
    if (!kept) refuse(r, "out of memory");
    free(name);
    return kept;
}

static bool read_item(reader *r, json_t *array) {
    json_t *item = read_value(r);
    return item && ((json_array_append_new)(array, item) == 0 || refuse(r, "out of memory"));
}

static json_t *read_inside(reader *r, json_t *whole, bool (*read_one)(reader *, json_t *), char close) {
    bool good = whole && ++r->depth <= DEPTH;
    if (!good) refuse(r, whole ? "nested too deep" : "out of memory");
    r->at++;
    if (good && skip_space(r) == close) {
        r->at++;
        r->depth--;
        return whole;
    }
    while (good && (good = read_one(r, whole)) && skip_space(r) == ',') r->at++;
    if (good && peek(r) == close) {
        r->at++;
        r->depth--;
        return whole;
    }
    json_decref(whole);
    return refuse(r, "',' or the end of an object or array expected");
}

static json_t *read_value(reader *r) {
    const int first = skip_space(r);
    if (first == '{') return read_inside(r, (json_object)(), read_member, '}');
    if (first == '[') return read_inside(r, (json_array)(), read_item, ']');
    if (take_word(r, "true")) return json_true();
    if (take_word(r, "false")) return json_false();
    if (take_word(r, "null")) return json_null();
    if (first == '-' || (first >= '0' && first <= '9')) return read_number(r);
    if (first != '"') return refuse(r, "a value is missing");
    char *text = read_text(r);
    json_t *value = text ? (json_string)(text) : NULL;
    free(text);
    return value ? value : refuse(r, "out of memory");
}

json_t *json_loadb(const char *text, size_t size, size_t flags, json_error_t *error) {
    reader r = {.text = text, .at = text, .end = text + size, .error = error};
    (void)flags; /* duplicates are refused always */
    const int first = skip_space(&r);
    json_t *value = first == '{' || first == '[' ? read_value(&r) : refuse(&r, "'[' or '{' expected");
    if (value && r.at < r.end && (skip_space(&r) || r.at < r.end)) {
        json_decref(value);
        return refuse(&r, "end of file expected");
    }
    return value;
}

json_t *json_loads(const char *text, size_t flags, json_error_t *error) {
    return json_loadb(text, strlen(text), flags, error);
}
