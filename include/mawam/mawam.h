/* mawam: test-time planning with frozen multi-agent policies.
 *
 * The whole interface of libmawam; that of libmawam-study is mawam/study.h. The libraries never print, exit
 * or abort on bad input. Array shapes stand in brackets next to every pointer; all arrays are row-major.
 * Options are filled by their _init function, which is told the size of the struct the caller was compiled
 * with, so that fields can be added at its end; NULL in their place means the defaults.
 *
 * What a function creates is the caller's, to be freed by the type's own _free, for which NULL is fine; after
 * a failure it is NULL. What it was given must outlive it only where that is said. A pointer that a function
 * returns lives as long as what it was asked of. An object is for one thread at a time, different ones for
 * any; only a bundle may be shared. `error` may be NULL everywhere. */
#ifndef MAWAM_MAWAM_H
#define MAWAM_MAWAM_H

#include "mawam/behavior.h"
#include "mawam/cpu.h"
#include "mawam/data.h"
#include "mawam/env.h"
#include "mawam/error.h"
#include "mawam/eval.h"
#include "mawam/file.h"
#include "mawam/log.h"
#include "mawam/plan.h"
#include "mawam/replay.h"
#include "mawam/sweep.h"
#include "mawam/train.h"

#endif
