/* The number of settings and their scales; the settings are in mawam/behavior.h. */
#ifndef MW_BEHAVIOR_SETTINGS_H
#define MW_BEHAVIOR_SETTINGS_H

#include "mawam/behavior.h"
#include "core/error.h"

enum { MW_SETTINGS = 30 };

/* The returns that count as 0 and 100. Tasks without a row are scored by their plain return. */
typedef struct mw_scale {
    const char *task;
    double random, expert;
} mw_scale;

const mw_scale *mw_scale_of(const char *task); /* NULL: none */

#endif
