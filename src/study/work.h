/* A study at work: its jobs, its record, and one step of a job at a time, which is kept or done, marked, told
 * and recorded. study.c says which steps those are. */
#ifndef MW_STUDY_WORK_H
#define MW_STUDY_WORK_H

#include "study/graph.h"
#include "study/mark.h"
#include "study/played.h"
#include "study/journal.h"
#include "study/run.h"
#include "study/seconds.h"

typedef struct mw_work {
    const mw_study_options *options;
    mw_study_job jobs[MW_STUDY_JOBS];
    int count, index;
    mw_seconds known;                           /* by job and step */
    bool broken[MW_STUDY_JOBS][MW_STUDY_STEPS]; /* it failed when it was last tried */
    mw_played played;
    char other[64]; /* a revision that worked here before and is not this one; "": none */
    mw_journal journal;
    mw_mark mark; /* of the present step */
    mw_run run;
    mw_step steps[MW_STUDY_STEPS]; /* of the present job */
    int step_count, at;
    mw_step step;   /* that is being done */
    double started; /* clock at its start */
    int failed;     /* settings, and baselines of others */
} mw_work;

/* A line of the record, of this process or of another; context: the work. */
mw_journal_line mw_work_remember;
void mw_work_warn(const mw_work *work); /* of another revision that worked here before */

void mw_work_tell(const mw_work *work, mw_study_what what, double done, double seconds, const char *note);
void mw_work_within(void *work, double done, const char *note); /* a stage goes on */
/* A stage that has finished, or failed with a message. */
mw_status mw_work_record(mw_work *work, const char *message, double seconds, mw_error *error);
/* A stage that was asked to stop has not failed, whatever it says. */
bool mw_work_interrupted(const mw_work *work, mw_status status, mw_error *error);
/* A failure is told and recorded, and the study goes on. */
mw_status mw_work_failure(mw_work *work, const mw_error *failure, mw_error *error);

void mw_work_take(mw_work *work, int at); /* steps[at] is the present one */
/* Nobody else is at this step until the mark is released. job NULL: the cost. */
mw_status mw_work_mark(mw_work *work, const mw_study_job *job, mw_step step, mw_error *error);
/* The marked step is done. One that is kept gets a new mark where a task was asked for, because what asks for
 * tasks goes by the times of marks. */
mw_status mw_work_done(mw_work *work, bool kept, mw_error *error);
/* Keeps steps[at] if it is current, or else does it; sets *ran if it did. */
mw_status mw_work_step(mw_work *work, int at, bool *ran, mw_error *error);
mw_status mw_work_keep(mw_work *work, int at, mw_error *error); /* keeps it as it is */

/* What a caller gave, with the defaults, checked. study.c */
mw_status mw_study_options_check(mw_study_options *options, const mw_study_options *given, mw_error *error);

#endif
