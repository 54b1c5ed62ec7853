/* Libraries that are loaded when something asks for them (MAWAM_LOAD), so that a program runs where they are
 * missing. Whoever calls one lists the names it uses in a file NAME.names; the build turns the list into a
 * header (cmake/ loaded.cmake) that sends every use through a table, which this fills. */
#ifndef MW_CORE_MACHINE_LOADED_H
#define MW_CORE_MACHINE_LOADED_H

#include "core/error.h"

typedef struct mw_loaded {
    const char *what;         /* "MuJoCo 2.2" in messages */
    const char *variable;     /* of the environment: a file to load instead of those below */
    const char *package;      /* Debian's */
    const char *const *files; /* as the system's loader knows them; NULL at the end */
    const char *const *names; /* NULL at the end */
    void **table;             /* [names], filled all together or not at all */
    bool there;
} mw_loaded;

/* MW_ERR_UNSUPPORTED if it is found nowhere, MW_ERR_MISMATCH if it lacks a name. Safe in any thread; once it
 * is loaded it stays. */
mw_status mw_loaded_need(mw_loaded *object, mw_error *error);

#endif
