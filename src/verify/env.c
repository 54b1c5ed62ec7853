/* Finds out which families' recorded trajectories a folder holds and has each checked by its family; see
 * env.h. */
#include "verify/env.h"

#include "core/file.h"
#include "core/numbers.h"

#include <stdio.h>

typedef mw_status checker(const char *dir, mw_verify *report, mw_error *error);

static const struct {
    const char *folder;   /* in a parent of several families */
    const char *marks[4]; /* files that tell the family's own folder */
    checker *check;
} families[] = {
    {"mpe",
     {"simple_spread/actions.npy", "simple_tag/actions.npy", "simple_world/actions.npy"},
     mw_verify_mpe},
    {"smac",
     {"3m/actions.npy", "8m/actions.npy", "5m_vs_6m/actions.npy", "2s3z/actions.npy"},
     mw_verify_battle},
#ifdef MAWAM_HAVE_MUJOCO
    {"ant", {"qpos.npy"}, mw_verify_ant},
#endif
};

enum { FAMILIES = sizeof families / sizeof *families };

static bool holds(const char *dir, int family) {
    char path[1024];
    for (int i = 0; i < 4 && families[family].marks[i]; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, families[family].marks[i]);
        if (mw_file_exists(path)) return true;
    }
    return false;
}

mw_status mw_verify_env(const char *dir, mw_verify *report, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED(dir);
    MW_NEED(report);
    int found = 0;
    for (int family = 0; family < FAMILIES; family++) {
        char below[1000];
        snprintf(below, sizeof below, "%s/%s", dir, families[family].folder);
        const char *place = holds(dir, family) ? dir : holds(below, family) ? below : NULL;
        if (!place) continue;
        MW_TRY(families[family].check(place, report, error));
        found++;
    }
    if (!found)
        return mw_fail(
            error, MW_ERR_IO,
            "%s: no recorded trajectories here; expected simple_spread/, 3m/ or qpos.npy, or folders mpe, "
            "smac, ant that hold them",
            dir);
    return MW_OK;
}
