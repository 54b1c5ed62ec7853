/* Errors are values: a function that can fail returns mw_fail(...) with a message that names the file, the
 * field, what was expected and what was found. mw_fail and MW_TRY are in the public header. */
#ifndef MW_CORE_ERROR_H
#define MW_CORE_ERROR_H

#include "mawam/mawam.h"

/* Public functions refuse NULL where something is needed. */
#define MW_NEED(pointer)                                                                                     \
    do {                                                                                                     \
        if (!(pointer)) return mw_fail(error, MW_ERR_ARGUMENT, "%s: %s is NULL", __func__, #pointer);        \
    } while (0)

#endif
