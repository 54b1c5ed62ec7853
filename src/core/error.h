/* Errors are values: a function that can fail returns mw_fail(...) with a message that names the file, the
 * field, what was expected and what was found. */
#ifndef MW_CORE_ERROR_H
#define MW_CORE_ERROR_H

#include "mawam/mawam.h"

/* Replaces control characters by '?', so that a text from a file cannot command the terminal. Messages of
 * errors and of the log are clean. Returns its argument. */
char *mw_text_clean(char *text);

/* Fills error (may be NULL) and returns status, so that callers can write `return mw_fail(error, MW_ERR_IO,
 * ...)`. */
mw_status mw_fail(mw_error *error, mw_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "prefix: " in front of the message that error already holds and returns its status. */
mw_status mw_fail_within(mw_error *error, mw_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Evaluates an expression of type mw_status and returns it from the enclosing function when it is not MW_OK.
 */
#define MW_TRY(expression)                                                                                   \
    do {                                                                                                     \
        mw_status mw_try_status_ = (expression);                                                             \
        if (mw_try_status_ != MW_OK) return mw_try_status_;                                                  \
    } while (0)

#endif
