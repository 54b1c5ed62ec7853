/* What the files tell of a task: FOLDER/tasks/TASK.lock is held while it runs and says who runs it,
 * TASK.done is there when it is done. Make and ninja go by the latter, and mawam study status by both. */
#ifndef MW_STUDY_MARK_H
#define MW_STUDY_MARK_H

#include "core/file.h"

#include "core/error.h"

typedef struct mw_mark {
    mw_lock lock;
    char done[800];
} mw_mark;

/* Waits for another process that runs the same task; *stop ends that with MW_ERR_INTERRUPTED. */
mw_status mw_mark_take(mw_mark *mark, const char *folder, const char *task, const mw_stop_flag *stop,
                       mw_error *error);
void mw_mark_release(mw_mark *mark);

mw_status mw_mark_begin(mw_mark *mark, mw_error *error); /* it is not done any more */
mw_status mw_mark_done(mw_mark *mark, mw_error *error);  /* from now on: newer than what it was made from */

typedef struct mw_marked {
    bool done, running;
    char host[72], since[24]; /* of who runs it: 2026-01-31T12:00:00Z */
    long process;
    double seconds;     /* that it has been running */
    long long finished; /* when it was last found done, in seconds of the clock */
} mw_marked;
void mw_mark_look(mw_marked *marked, const char *folder, const char *task);

#endif
