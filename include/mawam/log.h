/* What the library may say while it works: a log callback, and a progress line for programs that want one.
 * Silent unless the program asks. */
#ifndef MAWAM_LOG_H
#define MAWAM_LOG_H

#include "mawam/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum mw_log_level { MW_LOG_INFO, MW_LOG_WARNING } mw_log_level;
typedef void mw_log_fn(void *context, mw_log_level level, const char *message);

/* NULL: silence (the default). For the whole process; set it before threads start. Messages may come from any
 * thread, one at a time; the function must not log itself. */
MW_API void mw_log_set(mw_log_fn *function, void *context);

/* A progress bar on stderr with rate and time left: only on a terminal, colour only without NO_COLOR, at most
 * ten repaints a second. One at a time, driven by one thread; a log message erases the bar, and the next
 * update brings it back. */
typedef struct mw_progress {
    char label[48];
    double total, done;
    double started, painted; /* clock */
    bool visible;            /* as a bar */
    bool lines;              /* as plain lines */
    char note[64];           /* shown after the numbers */
} mw_progress;

/* Where there is no terminal: a plain line on stderr after the first seconds and then every so many; 0, the
 * default: none. Negative: nothing is shown on a terminal either. For the whole process. */
MW_API void mw_progress_every(double seconds);

/* total <= 0: unknown */
MW_API void mw_progress_start(mw_progress *progress, const char *label, double total);
/* The text may be "%s", "" for none; it is formatted only when painted. */
MW_API void mw_progress_update(mw_progress *progress, double done, const char *format, ...) MW_PRINTF(3, 4);
MW_API void mw_progress_finish(mw_progress *progress); /* leaves a last line with the time taken */

#ifdef __cplusplus
}
#endif
#endif
