/* What a JSON value is inside, shared by its functions (json.c) and its reader (json_read.c). The outside is
 * Jansson's header. */
#ifndef MW_WEB_JSON_VALUE_H
#define MW_WEB_JSON_VALUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct member {
    struct member *next;
    json_t *value;
    char name[];
} member;

typedef struct node {
    json_t json; /* first: a json_t is a node */
    char *text;
    json_int_t integer;
    double real;
    json_t **items; /* [room], the first `count` in use */
    size_t count, room;
    member *first;
} node;

/* Whether the bytes are UTF-8 without a zero. */
bool json_utf8(const char *text, size_t size);

#endif
