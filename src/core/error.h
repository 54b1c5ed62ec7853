/* Errors are values: a function that can fail returns mw_fail(...) with a message that names the file, the
 * field, what was expected and what was found. mw_fail and MW_TRY are in the public header. */
#ifndef MW_CORE_ERROR_H
#define MW_CORE_ERROR_H

#include "mawam/mawam.h"

/* Replaces control characters by '?', so that a text from a file cannot command the terminal. Messages of
 * errors and of the log are clean. Returns its argument. */
char *mw_text_clean(char *text);

#endif
