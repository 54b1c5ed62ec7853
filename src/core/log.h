/* What the library says to the callback that the program has set; the callback and the progress line are in
 * the public header. */
#ifndef MW_CORE_LOG_H
#define MW_CORE_LOG_H

#include "mawam/log.h"

void mw_log(mw_log_level level, const char *format, ...) MW_PRINTF(2, 3);

#endif
