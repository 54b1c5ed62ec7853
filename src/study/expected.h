/* What the tasks of a study will take, judged by what is recorded of those done: the record of a study's
 * folder, and the seconds that summaries name, a report's too. */
#ifndef MW_STUDY_EXPECTED_H
#define MW_STUDY_EXPECTED_H

#include "study/graph.h"
#include "study/seconds.h"

typedef struct mw_expected {
    mw_graph *all;                   /* tasks of every setting and part, so that every record counts */
    mw_seconds seconds, bytes;       /* by its jobs; bytes of tasks that had a process to themselves */
    double cost_seconds, cost_bytes; /* NaN: not known */
} mw_expected;

/* folder: of a study or of a report. Free it also after a failure. */
mw_status mw_expected_read(mw_expected **expected, const mw_study_options *options, const char *folder,
                           mw_error *error);
void mw_expected_free(mw_expected *expected);

/* A task's, of any graph of the same options; NaN: unknown. */
double mw_expected_seconds(const mw_expected *expected, const mw_task *task);
double mw_expected_bytes(const mw_expected *expected, const mw_task *task);

#endif
