/* How long a study will still take, judged by what its steps took so far. */
#ifndef MW_STUDY_SECONDS_H
#define MW_STUDY_SECONDS_H

#include "study/scope.h"

typedef struct mw_seconds {
    double of[MW_STUDY_JOBS][MW_STUDY_STEPS]; /* by job and mw_study_step_index; NaN: not known */
} mw_seconds;

void mw_seconds_forget(mw_seconds *seconds);

/* What a step of jobs[index] takes, by what is most like it among the known: itself, jobs made alike on its
 * task, on its family, any. NaN: nothing is known. */
double mw_seconds_expected(const mw_seconds *seconds, const mw_study_job *jobs, int count, int index,
                           int step);

/* From step `at` of jobs[index] on, of which `done` (a share) took `spent` seconds; NaN: unknown. */
double mw_seconds_left(const mw_seconds *seconds, const mw_study_job *jobs, int count, int index, int at,
                       double done, double spent);

#endif
