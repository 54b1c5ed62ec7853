/* Errors are values: a function that can fail returns mw_fail(...) with a message that names the file, the
 * field, what was expected and what was found. mw_fail and MW_TRY are in the public header. */
#ifndef MW_CORE_ERROR_H
#define MW_CORE_ERROR_H

#include "mawam/mawam.h"

#endif
