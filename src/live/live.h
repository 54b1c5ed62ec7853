/* The live view: serves one page on which two worlds move as they are planned. A client of the public headers
 * like any other; src/cli/commands/live.c is its command line. */
#ifndef MW_LIVE_LIVE_H
#define MW_LIVE_LIVE_H

#include <mawam/mawam.h>

#include <signal.h>

typedef struct mw_live_options {
    const char *folder, *bundle; /* where bundles are, and the file of the first one */
    const char *host;            /* address to listen on; NULL: the loopback address, and no token */
    int port;                    /* 0: any free one */
    uint64_t seed;
    int threads; /* of a planner; 0: one per core */
    const volatile sig_atomic_t *stop;
    void (*ready)(void *context, const char *url); /* called once, when it serves */
    void *context;
} mw_live_options;

/* What is wrong with them before anything is opened. */
mw_status mw_live_check(const mw_live_options *options, mw_error *error);
/* Serves until *stop is not 0. */
mw_status mw_live_run(const mw_live_options *options, mw_error *error);

/* Writes the page that plans with that bundle, a file, inside: it opens from the disk and needs no program.
 */
mw_status mw_live_export(const char *to, const char *bundle, uint64_t seed, mw_error *error);

#endif
