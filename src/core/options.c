/* Structs that carry their size; see options.h. */
#include "core/options.h"

#include <string.h>

void mw_options_fill(void *options, size_t size, const void *defaults, size_t known) {
    memset(options, 0, size);
    memcpy(options, defaults, size < known ? size : known);
    memcpy(options, &size, size < sizeof size ? size : sizeof size);
}

mw_status mw_options_take(void *own, size_t known, const void *given, const char *init, mw_error *error) {
    size_t size;
    if (!given) return MW_OK;
    memcpy(&size, given, sizeof size);
    if (size != known) /* there was no earlier version yet */
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "options were not initialised; call %s (size %zu, expected %zu)", init, size, known);
    memcpy(own, given, size);
    return MW_OK;
}
