/* The families' parts of mw_verify_env: each checks its own layout of recorded trajectories, and env.c
 * finds out which of them a folder holds. */
#ifndef MW_VERIFY_ENV_H
#define MW_VERIFY_ENV_H

#include "verify/verify.h"

mw_status mw_verify_mpe(const char *dir, mw_verify *report, mw_error *error);    /* simple_spread/... */
mw_status mw_verify_battle(const char *dir, mw_verify *report, mw_error *error); /* 3m/... */
#ifdef MAWAM_HAVE_MUJOCO
mw_status mw_verify_ant(const char *dir, mw_verify *report, mw_error *error); /* qpos.npy, ... */
#endif

#endif
