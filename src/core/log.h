/* What the library may say while it works: a log callback and a progress line. Silent unless the program
 * asks. */
#ifndef MW_CORE_LOG_H
#define MW_CORE_LOG_H

#include <stdbool.h>

typedef enum mw_log_level { MW_LOG_INFO, MW_LOG_WARNING } mw_log_level;
typedef void mw_log_fn(void *context, mw_log_level level, const char *message);

void mw_log_set(mw_log_fn *function, void *context); /* NULL: silence (the default) */
void mw_log(mw_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A progress bar on stderr with rate and time left: only on a terminal, colour only without NO_COLOR. */
typedef struct mw_progress {
    char label[48];
    double total, done;
    double started, painted; /* clock */
    bool visible;
} mw_progress;

void mw_progress_start(mw_progress *progress, const char *label, double total);
void mw_progress_update(mw_progress *progress, double done, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void mw_progress_finish(mw_progress *progress);

#endif
