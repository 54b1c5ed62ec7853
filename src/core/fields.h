/* Settings declared once: a table of fields says where each value of a struct lies, its range, default and
 * meaning. Defaults, "name=value", JSON in both directions, comparison and the lists that help prints are
 * loops over such a table. */
#ifndef MW_CORE_FIELDS_H
#define MW_CORE_FIELDS_H

#include "core/json.h"

#include <stdio.h>

typedef enum mw_field_kind {
    MW_FIELD_INT,    /* int */
    MW_FIELD_REAL,   /* double; NaN is "auto" where the range allows it */
    MW_FIELD_SWITCH, /* bool: off, on */
    MW_FIELD_CHOICE, /* int: the place of a word in the list */
    MW_FIELD_TRIPLE, /* int[3] */
    MW_FIELD_WORD,   /* char[MW_WORD]: a name that whoever uses it checks */
} mw_field_kind;

enum { MW_WORD = 64, MW_FIELD_WORDS = 4 };

typedef struct mw_field {
    const char *name;
    mw_field_kind kind;
    size_t offset;
    const char *initial; /* the default, as typed */
    double low, high;    /* of numbers */
    const char *help;
    const char *words[MW_FIELD_WORDS]; /* of a choice; of a real number: {"auto"} if it may be left open */
    const char *symbol;                /* the paper's: another name for it; or NULL */
} mw_field;

typedef struct mw_fields {
    const mw_field *list;
    int count;
} mw_fields;

#define MW_FIELDS(table)                                                                                     \
    { table, sizeof table / sizeof *table }

const mw_field *mw_fields_find(mw_fields fields, const char *name, size_t length); /* or by symbol; or NULL */
void mw_fields_defaults(mw_fields fields, void *object);

/* Sets one field from text; messages begin with prefix and name. */
mw_status mw_field_set(const mw_field *field, void *object, const char *text, const char *prefix,
                       mw_error *error);
/* "name=value name=value": all of them, or the first failure. prefix: as above. */
mw_status mw_fields_assign(mw_fields fields, void *object, const char *text, const char *prefix,
                           mw_error *error);

json_t *mw_field_json(const mw_field *field, const void *object);
json_t *mw_fields_json(mw_fields fields, const void *object); /* NULL: out of memory */
/* Every field must be there and in its range; anything else in the object is refused. `what` names it. */
mw_status mw_fields_read(mw_fields fields, void *object, const json_t *json, const char *what,
                         mw_error *error);

/* What was not read lies in its range too: fails with MW_ERR_NUMERIC for what was computed, and with
 * MW_ERR_ARGUMENT for a struct that a caller has filled; messages begin with prefix and name. */
mw_status mw_fields_check(mw_fields fields, const void *object, const char *prefix, mw_status code,
                          mw_error *error);

/* The first field in which two objects differ, or NULL. What the first leaves open ("auto") differs from
 * nothing. */
const mw_field *mw_fields_difference(mw_fields fields, const void *wanted, const void *found);
/* The first field that an object leaves open, or NULL. */
const mw_field *mw_fields_open(mw_fields fields, const void *object);

void mw_field_text(char *out, size_t size, const mw_field *field, const void *object); /* as typed */
void mw_field_range(char *out, size_t size, const mw_field *field);                    /* for people */

#endif
