/* Errors as values; see error.h. Also the library's version. */
#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define STRINGIFY_(x) #x
#define STRINGIFY(x)  STRINGIFY_(x)

const char *mw_version(void) {
    return STRINGIFY(MW_VERSION_MAJOR) "." STRINGIFY(MW_VERSION_MINOR) "." STRINGIFY(MW_VERSION_PATCH);
}

const char *mw_status_name(mw_status status) {
    static const char *const names[] = {"ok",     "argument",    "io",      "format",     "mismatch",
                                        "memory", "unsupported", "numeric", "interrupted"};
    return (unsigned)status < sizeof names / sizeof *names ? names[status] : "unknown";
}

mw_status mw_fail(mw_error *error, mw_status status, const char *format, ...) {
    if (error) {
        va_list args;
        va_start(args, format);
        error->status = status;
        vsnprintf(error->message, sizeof error->message, format, args);
        va_end(args);
    }
    return status;
}

mw_status mw_fail_within(mw_error *error, mw_status status, const char *format, ...) {
    if (error) {
        char inner[sizeof error->message];
        memcpy(inner, error->message, sizeof inner);
        va_list args;
        va_start(args, format);
        int used = vsnprintf(error->message, sizeof error->message, format, args);
        va_end(args);
        if (used >= 0 && (size_t)used < sizeof error->message)
            snprintf(error->message + used, sizeof error->message - (size_t)used, ": %.*s",
                     (int)sizeof inner - 2 - used, inner);
        error->status = status;
    }
    return status;
}
