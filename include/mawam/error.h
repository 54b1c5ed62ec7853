/* Versions and errors. Functions that can fail return an mw_status and, when given an mw_error, say in it
 * what was wrong, where, and what was expected. */
#ifndef MAWAM_ERROR_H
#define MAWAM_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MW_API                __attribute__((visibility("default")))
#define MW_PRINTF(text, list) __attribute__((format(printf, text, list)))
#else
#define MW_API
#define MW_PRINTF(text, list)
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define MW_VERSION_MAJOR 0
#define MW_VERSION_MINOR 1
#define MW_VERSION_PATCH 0

/* "0.1.0": of the library that is running, which may differ from the header compiled against. */
MW_API const char *mw_version(void);

typedef enum mw_status {
    MW_OK = 0,
    MW_ERR_ARGUMENT,    /* the caller's request is wrong: a size, a name, a value */
    MW_ERR_IO,          /* the operating system refused: open, read, write, map */
    MW_ERR_FORMAT,      /* a file's contents break its format */
    MW_ERR_MISMATCH,    /* well-formed things that do not belong together */
    MW_ERR_MEMORY,      /* out of memory */
    MW_ERR_UNSUPPORTED, /* valid, but not built in or not implemented */
    MW_ERR_NUMERIC,     /* not finite where it must be */
    MW_ERR_INTERRUPTED, /* stopped on request; what was finished is saved */
} mw_status;

/* Messages name options by their fields, 'overwrite'; the program shows them as they are typed. */
typedef struct mw_error {
    mw_status status;
    char message[512];
} mw_error;

/* A short name of the status: "ok", "format", ... */
MW_API const char *mw_status_name(mw_status status);

/* Long work looks at such a flag: not 0 asks it to save and to end with MW_ERR_INTERRUPTED. A sig_atomic_t,
 * spelled out so that <signal.h> is not needed here; 0 to begin with. */
typedef volatile int mw_stop_flag;

/* Sets the flag, atomically: from any thread, and from a signal handler. */
MW_API void mw_stop_set(mw_stop_flag *flag, bool stop);

/* ---- for functions that report errors in the same way -------------------------------------------------- */

/* Fills error (may be NULL) and returns status, so that callers can write `return mw_fail(error, MW_ERR_IO,
 * ...)`. */
MW_API mw_status mw_fail(mw_error *error, mw_status status, const char *format, ...) MW_PRINTF(3, 4);

/* Puts "prefix: " in front of the message that error (may be NULL) already holds and returns status. */
MW_API mw_status mw_fail_within(mw_error *error, mw_status status, const char *format, ...) MW_PRINTF(3, 4);

/* Replaces control characters by '?', so that a text from a file cannot command the terminal. Messages of
 * errors and of the log are clean. Returns its argument. */
MW_API char *mw_text_clean(char *text);

/* Evaluates an expression of type mw_status and returns it from the enclosing function when it is not MW_OK.
 */
#define MW_TRY(expression)                                                                                   \
    do {                                                                                                     \
        mw_status mw_try_status_ = (expression);                                                             \
        if (mw_try_status_ != MW_OK) return mw_try_status_;                                                  \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
