/* How long a study will still take, judged by what its steps took so far. */
#ifndef MW_STUDY_SECONDS_H
#define MW_STUDY_SECONDS_H

#include "study/scope.h"

typedef struct mw_seconds {
    double of[MW_STUDY_LINES][MW_STUDY_STEPS]; /* by line and mw_study_step_index; NaN: not known */
} mw_seconds;

void mw_seconds_forget(mw_seconds *seconds);

/* From step `at` of lines[index] on, of which `done` (a share) took `spent` seconds; NaN: unknown. */
double mw_seconds_left(const mw_seconds *seconds, const mw_study_line *lines, int count, int index, int at,
                       double done, double spent);

#endif
