/* The families' parts of mw_verify_env: each checks its own layout of recorded trajectories, and verify.c
 * finds out which of them a folder holds. */
#ifndef MW_ENV_VERIFY_H
#define MW_ENV_VERIFY_H

#include "core/verify.h"

mw_status mw_verify_mpe(const char *dir, mw_verify *report, mw_error *error);    /* simple_spread/... */
mw_status mw_verify_battle(const char *dir, mw_verify *report, mw_error *error); /* 3m/... */
#ifdef MAWAM_HAVE_MUJOCO
mw_status mw_verify_ant(const char *dir, mw_verify *report, mw_error *error); /* qpos.npy, ... */
#endif

#endif
