/* What the library may say while it works, to a callback. Silent unless the program asks; how far long work
 * is goes to the callbacks of its options. */
#ifndef MAWAM_LOG_H
#define MAWAM_LOG_H

#include "mawam/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum mw_log_level { MW_LOG_INFO, MW_LOG_WARNING } mw_log_level;
typedef void mw_log_fn(void *context, mw_log_level level, const char *message);

/* NULL: silence (the default). For the whole process; set it before threads start. Messages may come from any
 * thread, one at a time; the function must not log itself. */
MW_API void mw_log_set(mw_log_fn *function, void *context);

#ifdef __cplusplus
}
#endif
#endif
