/* JSON values where there is no Jansson: the part of its interface (<jansson.h>) that bundles, settings and
 * commands need, for the module of browsers. The same grammar, the same refusals; texts are always compact.
 * Members of an object are a list in the order of insertion. */
#include "web/json_value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

static json_malloc_t take = malloc;
static json_free_t give = free;

void json_set_alloc_funcs(json_malloc_t taking, json_free_t giving) {
    take = taking;
    give = giving;
}

void json_get_alloc_funcs(json_malloc_t *taking, json_free_t *giving) {
    *taking = take;
    *giving = give;
}

static node *create(json_type type) {
    node *v = take(sizeof *v);
    if (v) *v = (node){.json = {.type = type, .refcount = 1}};
    return v;
}

static json_t *shown(node *v) {
    return v ? &v->json : NULL;
}

static node *of_type(const json_t *json, json_type type) {
    return json && json->type == type ? (node *)(uintptr_t)json : NULL;
}

void json_delete(json_t *json) {
    node *v = (node *)json;
    if (!v) return;
    for (member *m = v->first, *next; m; m = next) {
        next = m->next;
        json_decref(m->value);
        give(m);
    }
    for (size_t i = 0; i < v->count; i++) json_decref(v->items[i]);
    give(v->items);
    give(v->text);
    give(v);
}

/* ---- scalars ---- */

static node constants[] = {{.json = {JSON_TRUE, (size_t)-1}},
                           {.json = {JSON_FALSE, (size_t)-1}},
                           {.json = {JSON_NULL, (size_t)-1}}}; /* (size_t)-1: never counted, never freed */

json_t *json_true(void) {
    return &constants[0].json;
}

json_t *json_false(void) {
    return &constants[1].json;
}

json_t *json_null(void) {
    return &constants[2].json;
}

json_t *(json_integer)(json_int_t integer) {
    node *v = create(JSON_INTEGER);
    if (v) v->integer = integer;
    return shown(v);
}

json_t *(json_real)(double real) {
    node *v = isfinite(real) ? create(JSON_REAL) : NULL;
    if (v) v->real = real;
    return shown(v);
}

json_t *(json_string)(const char *text) {
    const size_t size = text ? strlen(text) : 0;
    node *v = text && json_utf8(text, size) ? create(JSON_STRING) : NULL;
    if (v) v->text = take(size + 1);
    if (v && !v->text) {
        give(v);
        return NULL;
    }
    if (v) memcpy(v->text, text, size + 1);
    return shown(v);
}

const char *json_string_value(const json_t *json) {
    const node *v = of_type(json, JSON_STRING);
    return v ? v->text : NULL;
}

json_int_t json_integer_value(const json_t *json) {
    const node *v = of_type(json, JSON_INTEGER);
    return v ? v->integer : 0;
}

double json_real_value(const json_t *json) {
    const node *v = of_type(json, JSON_REAL);
    return v ? v->real : 0;
}

double json_number_value(const json_t *json) {
    return json_is_integer(json) ? (double)json_integer_value(json) : json_real_value(json);
}

/* ---- arrays ---- */

json_t *(json_array)(void) {
    return shown(create(JSON_ARRAY));
}

size_t json_array_size(const json_t *json) {
    const node *v = of_type(json, JSON_ARRAY);
    return v ? v->count : 0;
}

json_t *json_array_get(const json_t *json, size_t index) {
    const node *v = of_type(json, JSON_ARRAY);
    return v && index < v->count ? v->items[index] : NULL;
}

int(json_array_append_new)(json_t *json, json_t *item) {
    node *v = of_type(json, JSON_ARRAY);
    if (v && item && v->count == v->room) {
        const size_t room = v->room ? 2 * v->room : 8;
        json_t **items = take(room * sizeof(json_t *));
        if (items && v->count) memcpy(items, v->items, v->count * sizeof(json_t *));
        if (items) {
            give(v->items);
            v->items = items;
            v->room = room;
        }
    }
    if (!v || !item || v->count == v->room) {
        json_decref(item);
        return -1;
    }
    v->items[v->count++] = item;
    return 0;
}

/* ---- objects ---- */

json_t *(json_object)(void) {
    return shown(create(JSON_OBJECT));
}

/* Where the link to the member of that name is, or would be. */
static member **link_of(node *v, const char *name) {
    member **at = &v->first;
    while (*at && strcmp((*at)->name, name)) at = &(*at)->next;
    return at;
}

json_t *json_object_get(const json_t *json, const char *name) {
    node *v = of_type(json, JSON_OBJECT);
    const member *m = v && name ? *link_of(v, name) : NULL;
    return m ? m->value : NULL;
}

size_t json_object_size(const json_t *json) {
    const node *v = of_type(json, JSON_OBJECT);
    size_t size = 0;
    for (const member *m = v ? v->first : NULL; m; m = m->next) size++;
    return size;
}

int(json_object_set_new)(json_t *json, const char *name, json_t *item) {
    node *v = of_type(json, JSON_OBJECT);
    member **at = v && name && item ? link_of(v, name) : NULL;
    if (at && !*at) {
        const size_t size = strlen(name) + 1;
        member *m = take(sizeof *m + size);
        if (m) *m = (member){0};
        if (m) memcpy(m->name, name, size);
        *at = m;
    }
    if (!at || !*at) {
        json_decref(item);
        return -1;
    }
    json_decref((*at)->value);
    (*at)->value = item;
    return 0;
}

int json_object_del(json_t *json, const char *name) {
    node *v = of_type(json, JSON_OBJECT);
    member **at = v && name ? link_of(v, name) : NULL;
    if (!at || !*at) return -1;
    member *m = *at;
    *at = m->next;
    json_decref(m->value);
    give(m);
    return 0;
}

json_t *json_copy(json_t *json) {
    const node *v = of_type(json, JSON_OBJECT);
    json_t *copy = v ? (json_object)() : NULL; /* objects only: nobody copies others */
    for (const member *m = copy ? v->first : NULL; m; m = m->next)
        if ((json_object_set_new)(copy, m->name, json_incref(m->value)) != 0) {
            json_decref(copy);
            return NULL;
        }
    return copy;
}

/* ---- members one after another ---- */

void *json_object_iter(json_t *json) {
    const node *v = of_type(json, JSON_OBJECT);
    return v ? v->first : NULL;
}

void *json_object_iter_next(json_t *json, void *at) {
    (void)json;
    return at ? ((member *)at)->next : NULL;
}

const char *json_object_iter_key(void *at) {
    return at ? ((member *)at)->name : NULL;
}

json_t *json_object_iter_value(void *at) {
    return at ? ((member *)at)->value : NULL;
}

void *json_object_key_to_iter(const char *name) {
    return name ? (void *)(uintptr_t)(name - offsetof(member, name)) : NULL;
}

/* ---- texts ---- */

/* What is written so far; of a text that has no room left only the size. */
typedef struct {
    char *text;
    size_t room, size;
} sink;

static void put(sink *out, const char *piece, size_t size) {
    if (out->size + size <= out->room) memcpy(out->text + out->size, piece, size);
    out->size += size;
}

static void put_word(sink *out, const char *word) {
    put(out, word, strlen(word));
}

static void put_text(sink *out, const char *text) {
    static const char letters[] = "\"\\bfnrt", meant[] = "\"\\\b\f\n\r\t";
    put_word(out, "\"");
    for (; *text; text++) {
        const char *letter = strchr(meant, *text);
        char code[8] = {*text};
        if (letter)
            snprintf(code, sizeof code, "\\%c", letters[letter - meant]);
        else if ((unsigned char)*text < 32)
            snprintf(code, sizeof code, "\\u%04X", (unsigned char)*text);
        put_word(out, code);
    }
    put_word(out, "\"");
}

/* With a point or an exponent, so that it stays real; the exponent without a plus sign and zeros in front. */
static void put_real(sink *out, double real, int digits) {
    char number[48];
    snprintf(number, sizeof number, "%.*g", digits, real);
    char *exponent = strchr(number, 'e');
    put(out, number, exponent ? (size_t)(exponent - number) : strlen(number));
    if (!exponent) return put_word(out, strchr(number, '.') ? "" : ".0");
    put_word(out, exponent[1] == '-' ? "e-" : "e");
    put_word(out, exponent + 2 + strspn(exponent + 2, "0"));
}

static void put_value(sink *out, const json_t *json, int digits);

static void put_inside(sink *out, const node *v, int digits) {
    for (size_t i = 0; i < v->count; i++) {
        if (i) put_word(out, ",");
        put_value(out, v->items[i], digits);
    }
    for (const member *m = v->first; m; m = m->next) {
        if (m != v->first) put_word(out, ",");
        put_text(out, m->name);
        put_word(out, ":");
        put_value(out, m->value, digits);
    }
}

static void put_value(sink *out, const json_t *json, int digits) {
    static const char *const words[] = {[JSON_TRUE] = "true", [JSON_FALSE] = "false", [JSON_NULL] = "null"};
    const node *v = (const node *)json;
    char number[24];
    switch (json_typeof(json)) {
    case JSON_OBJECT:
    case JSON_ARRAY:
        put_word(out, json_is_object(json) ? "{" : "[");
        put_inside(out, v, digits);
        put_word(out, json_is_object(json) ? "}" : "]");
        return;
    case JSON_STRING:
        put_text(out, v->text);
        return;
    case JSON_INTEGER:
        snprintf(number, sizeof number, "%lld", v->integer);
        put_word(out, number);
        return;
    case JSON_REAL:
        put_real(out, v->real, digits);
        return;
    default:
        put_word(out, words[json_typeof(json)]);
    }
}

size_t json_dumpb(const json_t *json, char *text, size_t room, size_t flags) {
    const int precision = (int)(flags >> 11 & 31); /* JSON_REAL_PRECISION */
    sink out = {text, room, 0};
    if (json) put_value(&out, json, precision ? precision : 17);
    return out.size;
}
