/* What the program says on stderr while it works: a progress line with rate and time left, and messages of
 * the library, which erase it first. */
#ifndef MW_CLI_PROGRESS_H
#define MW_CLI_PROGRESS_H

#include <mawam/log.h>

double mw_cli_seconds(void); /* since an arbitrary start; never runs backwards */

/* What the library has to say, for mw_log_set. */
void mw_cli_message(void *context, mw_log_level level, const char *message);

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
void mw_progress_every(double seconds);

/* total <= 0: unknown */
void mw_progress_start(mw_progress *progress, const char *label, double total);
/* The text may be "%s", "" for none; it is formatted only when painted. */
void mw_progress_update(mw_progress *progress, double done, const char *format, ...) MW_PRINTF(3, 4);
void mw_progress_finish(mw_progress *progress); /* leaves a last line with the time taken */

#endif
