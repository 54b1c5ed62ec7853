/* Errors are values: a function that can fail returns mw_fail(...) with a message that names the file, the
 * field, what was expected and what was found. mw_fail and MW_TRY are in the public header. */
#ifndef MW_CORE_ERROR_H
#define MW_CORE_ERROR_H

#include "mawam/error.h"

/* Public functions refuse NULL where something is needed, by the name that the header gives it. */
#define MW_NEED_AS(pointer, name)                                                                            \
    do {                                                                                                     \
        if (!(pointer)) return mw_fail(error, MW_ERR_ARGUMENT, "%s: %s is NULL", __func__, name);            \
    } while (0)
#define MW_NEED(pointer) MW_NEED_AS(pointer, #pointer)

/* Is long work asked to end? The flag may be NULL. */
static inline bool mw_stopped(const mw_stop_flag *flag) {
    return flag && __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

#endif
