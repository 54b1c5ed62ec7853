/* The families of worlds as table rows: what people call them, how their results are written and how much of
 * them is played. Every row is here, also of worlds that this build cannot play: results of others are read
 * as well. */
#include "env/env.h"

#include <string.h>

/* clang-format off */
const mw_family mw_families[MW_FAMILIES] = {
    [MW_FAMILY_MPE] =    {"mpe",    "MPE",  "normalised score", "%.1f", "%+.1f", false, 40, 40},
    [MW_FAMILY_BATTLE] = {"battle", "SMAC", "episode return",   "%.1f", "%+.1f", true,  20, 160},
    [MW_FAMILY_ANT] =    {"ant",    "Ant",  "episode return",   "%.0f", "%+.0f", false, 4,  16},
};

static const char *const tasks[MW_FAMILIES][8] = {
    [MW_FAMILY_MPE] =    {"spread", "tag", "world"},
    [MW_FAMILY_BATTLE] = {"3m", "8m", "5m_vs_6m", "2s3z"},
    [MW_FAMILY_ANT] =    {"2ant", "4ant"},
};
/* clang-format on */

const mw_family *mw_family_at(int index) {
    return index >= 0 && index < MW_FAMILIES ? &mw_families[index] : NULL;
}

const mw_family *mw_family_find(const char *name) {
    for (int f = 0; name && f < MW_FAMILIES; f++)
        if (!strcmp(mw_families[f].name, name)) return &mw_families[f];
    return NULL;
}

const char *const *mw_family_tasks(const mw_family *family) {
    return tasks[family - mw_families];
}

const mw_family *mw_family_of(const char *task) {
    for (int f = 0; task && f < MW_FAMILIES; f++)
        for (const char *const *name = tasks[f]; *name; name++)
            if (!strcmp(*name, task)) return &mw_families[f];
    return NULL;
}
