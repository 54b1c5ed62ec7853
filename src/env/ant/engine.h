/* MuJoCo behind a guard: one compiled model of the ant for the whole process, and calls into the engine that
 * cannot print, write a log file, wait for a key or end the process, as the engine would do by itself. */
#ifndef MW_ENV_ANT_ENGINE_H
#define MW_ENV_ANT_ENGINE_H

#include "core/error.h"

#ifdef MAWAM_LOAD
#include <loaded/mujoco.h>
#else
#include <mujoco/mujoco.h>
#endif

/* Loads the engine if that has to be done, and says whether it is the one that mawam was built for.
 * "2.2": the running engine's version without the patch number, which is the part that rules depend on. */
#define MW_ENGINE_SERIES 16
mw_status mw_engine_series(char series[MW_ENGINE_SERIES], mw_error *error);

extern const char mw_ant_mjcf[]; /* the model as text */

/* The ant, compiled on first use, shared read-only by all environments and threads, and freed when the last
 * holder releases it. */
mw_status mw_engine_acquire(const mjModel **model, mw_error *error);
void mw_engine_release(const mjModel *model);

/* Runs body(context) so that an engine error comes back as false with the engine's words in message (may be
 * NULL), and engine warnings are silent. After an error mjData must be reset before its next use. */
#define MW_ENGINE_MESSAGE 256
bool mw_engine_run(void (*body)(void *context), void *context, char message[MW_ENGINE_MESSAGE]);

#endif
