/* Comparison of the worlds with recorded trajectories. Each family checks its own layout; verify.c finds out
 * which families a folder holds. The functions fail only when files are missing or malformed: numbers out of
 * tolerance are counted in the report. */
#ifndef MW_ENV_VERIFY_H
#define MW_ENV_VERIFY_H

#include "core/verify.h"

/* dir is the family's own folder, or the parent of folders named mpe, smac and ant. */
mw_status mw_verify_env(const char *dir, mw_verify *report, mw_error *error);

mw_status mw_verify_mpe(const char *dir, mw_verify *report, mw_error *error);    /* simple_spread/... */
mw_status mw_verify_battle(const char *dir, mw_verify *report, mw_error *error); /* 3m/... */
#ifdef MAWAM_HAVE_MUJOCO
mw_status mw_verify_ant(const char *dir, mw_verify *report, mw_error *error); /* qpos.npy, ... */
#endif

#endif
