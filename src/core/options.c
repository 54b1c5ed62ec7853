/* Structs that carry their size; see options.h. */
#include "core/options.h"

#include <string.h>

enum { MOST_BEYOND = 4096 }; /* no later version will have grown by more; larger numbers are no sizes */

void mw_options_fill(void *options, size_t size, const void *defaults, size_t known) {
    if (!options) return;
    memset(options, 0, size);
    memcpy(options, defaults, size < known ? size : known);
    memcpy(options, &size, size < sizeof size ? size : sizeof size);
}

mw_status mw_options_take(void *own, size_t known, size_t first, const void *given, const char *init,
                          mw_error *error) {
    size_t size;
    if (!given) return MW_OK;
    memcpy(&size, given, sizeof size);
    if (size < first || size > known + MOST_BEYOND)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "options were not initialised; call %s (size %zu, expected %zu)", init, size, known);
    for (size_t i = known; i < size; i++)
        if (((const unsigned char *)given)[i])
            return mw_fail(error, MW_ERR_ARGUMENT,
                           "options of a later version set what mawam %s does not know; see %s (size %zu, "
                           "known %zu)",
                           mw_version(), init, size, known);
    memcpy(own, given, size < known ? size : known);
    memcpy(own, &known, sizeof known);
    return MW_OK;
}

mw_status mw_options_texts(const char *const *texts, int count, const char *name, mw_error *error) {
    if (count < 0 || (count > 0 && !texts))
        return mw_fail(error, MW_ERR_ARGUMENT, "%d %s without a list", count, name);
    for (int i = 0; i < count; i++)
        if (!texts[i]) return mw_fail(error, MW_ERR_ARGUMENT, "%s[%d] is NULL", name, i);
    return MW_OK;
}
