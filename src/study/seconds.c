/* How long a study will still take; see seconds.h. */
#include "study/seconds.h"

#include <math.h>
#include <string.h>

void mw_seconds_forget(mw_seconds *s) {
    for (int i = 0; i < MW_STUDY_JOBS; i++)
        for (int k = 0; k < MW_STUDY_STEPS; k++) s->of[i][k] = NAN;
}

static bool alike(const mw_study_job *a, const mw_study_job *b) {
    return a->method == b->method && a->assignment == b->assignment;
}

/* What a step is judged by: jobs that are made like this one, on this task, in this family; NULL: any. */
typedef struct {
    const mw_study_job *like;
    const char *task, *family;
} kind;

static double mean_of(const mw_seconds *s, const mw_study_job *jobs, int count, int step, kind k) {
    double sum = 0;
    int known = 0;
    for (int i = 0; i < count; i++) {
        const char *task = mw_setting_at(jobs[i].place)->task;
        if (isnan(s->of[i][step]) || (k.like && !alike(k.like, &jobs[i])) ||
            (k.task && strcmp(task, k.task)) || (k.family && strcmp(mw_study_family(task), k.family)))
            continue;
        sum += s->of[i][step];
        known++;
    }
    return known ? sum / known : NAN;
}

double mw_seconds_expected(const mw_seconds *s, const mw_study_job *jobs, int count, int index, int step) {
    const mw_study_job *job = &jobs[index];
    const char *task = mw_setting_at(job->place)->task, *family = mw_study_family(task);
    const kind kinds[] = {{job, task, NULL}, {job, NULL, family}, {NULL, NULL, family}, {NULL, NULL, NULL}};
    double seconds = s->of[index][step];
    for (size_t k = 0; isnan(seconds) && k < sizeof kinds / sizeof *kinds; k++)
        seconds = mean_of(s, jobs, count, step, kinds[k]);
    return seconds;
}

/* Steps that are recorded count as done; whether they are still current is looked at when their turn comes.
 * A step of which nothing is known counts for nothing, unless that is true of most. */
double mw_seconds_left(const mw_seconds *s, const mw_study_job *jobs, int count, int index, int at,
                       double done, double spent) {
    double left = 0;
    int unknown = 0, judged = 0;
    for (int i = index; i < count; i++) {
        mw_step steps[MW_STUDY_STEPS];
        const int n = mw_study_steps(steps, &jobs[i]);
        for (int k = i == index ? at : 0; k < n; k++) {
            const bool now = i == index && k == at;
            const int step = mw_study_step_index(steps[k]);
            if ((!now && !isnan(s->of[i][step])) || (steps[k].stage == MW_STUDY_DATA && *jobs[i].folder))
                continue;
            const double whole =
                now && done > 0.02 ? spent / done : mw_seconds_expected(s, jobs, count, i, step);
            unknown += isnan(whole);
            judged += !isnan(whole);
            if (!isnan(whole)) left += now ? fmax(0, whole - spent) : whole;
        }
    }
    return unknown > judged ? NAN : left;
}
