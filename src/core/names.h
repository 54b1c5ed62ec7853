/* Tables whose rows have names (arms, models, scorers, methods), as text: lists of names in both directions,
 * and the error that tells which there are. */
#ifndef MW_CORE_NAMES_H
#define MW_CORE_NAMES_H

#include "core/error.h"

#include <stddef.h>

/* The name of a row; NULL past the last. */
typedef const char *mw_name_at(int index);

enum { MW_NAMES_WORD = 64, MW_NAMES_TEXT = 1024 }; /* of a name; of a list: what does not fit is left out */

/* The row that has the name; -1: none. */
int mw_names_find(mw_name_at *at, const char *name);

/* The names of a set (1 << index) of rows, with the text between them. */
void mw_names_text(char out[MW_NAMES_TEXT], mw_name_at *at, unsigned set, const char *between);

/* "a,b" -> the set of rows; what: an arm, a model. */
mw_status mw_names_parse(unsigned *set, mw_name_at *at, const char *what, const char *text, mw_error *error);

/* There is no such row: fails with the names of all. */
mw_status mw_names_unknown(mw_name_at *at, const char *what, const char *name, mw_error *error);

#endif
