/* Versions and errors. Functions that can fail return an mw_status and, when given an mw_error, say in it
 * what was wrong, where, and what was expected. */
#ifndef MAWAM_ERROR_H
#define MAWAM_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MW_API __attribute__((visibility("default")))
#else
#define MW_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define MW_VERSION_MAJOR 0
#define MW_VERSION_MINOR 1
#define MW_VERSION_PATCH 0

/* "0.1.0": of the library that is running, which may differ from the header compiled against. */
MW_API const char *mw_version(void);

typedef enum mw_status {
    MW_OK = 0,
    MW_ERR_ARGUMENT,    /* the caller's request is wrong: a size, a name, a value */
    MW_ERR_IO,          /* the operating system refused: open, read, write, map */
    MW_ERR_FORMAT,      /* a file's contents break its format */
    MW_ERR_MISMATCH,    /* well-formed things that do not belong together */
    MW_ERR_MEMORY,      /* out of memory */
    MW_ERR_UNSUPPORTED, /* valid, but not built in or not implemented */
    MW_ERR_NUMERIC,     /* not finite where it must be */
    MW_ERR_INTERRUPTED, /* stopped on request; what was finished is saved */
} mw_status;

typedef struct mw_error {
    mw_status status;
    char message[512];
} mw_error;

/* A short name of the status: "ok", "format", ... */
MW_API const char *mw_status_name(mw_status status);

/* ---- the CPU ------------------------------------------------------------------------------------------- */

/* The level of instructions in use: "v2", "v3" or "v4" of x86-64, "neon" of 64-bit ARM. The library takes the
 * best that the CPU has; MAWAM_CPU in the environment chooses a lower one. Every level gives the same bits.
 */
MW_API const char *mw_cpu_name(void);
/* Fails if MAWAM_CPU names a level that this CPU or this build lacks, or if the CPU has none at all. */
MW_API mw_status mw_cpu_check(mw_error *error);

/* ---- threads ------------------------------------------------------------------------------------------- */

/* Wherever a number of threads is asked for it is 1 to this, or 0 for one per core that the process may use.
 * No result depends on it. */
#define MW_MAX_THREADS 1024

#ifdef __cplusplus
}
#endif
#endif
