/* The log callback; see log.h. */
#include "core/log.h"

#include "core/error.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

static struct {
    mw_log_fn *function;
    void *context;
    pthread_mutex_t lock; /* one message at a time */
} output = {.lock = PTHREAD_MUTEX_INITIALIZER};

void mw_log_set(mw_log_fn *function, void *context) {
    pthread_mutex_lock(&output.lock);
    output.function = function;
    output.context = context;
    pthread_mutex_unlock(&output.lock);
}

void mw_log(mw_log_level level, const char *format, ...) {
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    mw_text_clean(message);
    pthread_mutex_lock(&output.lock);
    if (output.function) output.function(output.context, level, message);
    pthread_mutex_unlock(&output.lock);
}
