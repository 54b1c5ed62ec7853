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

void mw_stop_set(mw_stop_flag *flag, bool stop) {
    if (flag) __atomic_store_n(flag, stop, __ATOMIC_RELEASE);
}

/* Also the second set of them, U+0080 to U+009F, which some terminals obey. */
char *mw_text_clean(char *text) {
    for (unsigned char *c = (unsigned char *)text; *c; c++) {
        if (c[0] == 0xC2 && c[1] >= 0x80 && c[1] < 0xA0)
            c[0] = c[1] = '?';
        else if (c[0] < 0x20 || c[0] == 0x7F)
            c[0] = '?';
    }
    return text;
}

mw_status mw_fail(mw_error *error, mw_status status, const char *format, ...) {
    if (error) {
        va_list args;
        va_start(args, format);
        error->status = status;
        vsnprintf(error->message, sizeof error->message, format, args);
        va_end(args);
        mw_text_clean(error->message);
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
        mw_text_clean(error->message);
    }
    return status;
}
