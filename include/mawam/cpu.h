/* What the library runs on: the level of instructions in use, the processor, and threads. */
#ifndef MAWAM_CPU_H
#define MAWAM_CPU_H

#include "mawam/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The level of instructions in use: "v2", "v3" or "v4" of x86-64, "neon" of 64-bit ARM, or the one that the
 * build was told (MAWAM_ARCH). The library takes the best that the CPU has; MAWAM_CPU in the environment
 * chooses a lower one. Every level gives the same bits. */
MW_API const char *mw_cpu_name(void);
/* Fails if MAWAM_CPU names a level that this CPU or this build lacks, or if the CPU has none at all. */
MW_API mw_status mw_cpu_check(mw_error *error);
/* The processor's own name, "unknown" if the system does not tell. */
MW_API void mw_cpu_model(char *name, size_t size);

/* Wherever a number of threads is asked for it is 1 to this, or 0 for one per core that the process may use.
 * No result depends on it. */
#define MW_MAX_THREADS 1024

#ifdef __cplusplus
}
#endif
#endif
