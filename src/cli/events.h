/* A file of scalars that TensorBoard reads. It is a row of whole records at any time, after a full disk and a
 * crash too, so that a training that goes on can append to it. */
#ifndef MW_CLI_EVENTS_H
#define MW_CLI_EVENTS_H

#include <mawam/mawam.h>

#include <sys/types.h>

typedef struct mw_events {
    const char *path; /* the caller's */
    int file;
    bool opened, regular; /* a pipe can be written too */
    bool append;          /* to what it holds */
    bool joined;          /* what comes once more is gone */
    off_t whole;          /* bytes of whole records */
    int reason;           /* errno of the first write that failed */
    bool torn;            /* and could not be taken back: nothing more is written */
} mw_events;

/* What the file holds stays until the work begins. To append to a file of something else is refused. */
mw_status mw_events_open(mw_events *events, const char *path, bool append, mw_error *error);
/* What the file held goes, unless this goes on. */
void mw_events_begin(mw_events *events);
void mw_events_add(mw_events *events, const char *tag, long step, double value);
/* Tells whether all of it was written. */
mw_status mw_events_close(mw_events *events, mw_error *error);

#endif
