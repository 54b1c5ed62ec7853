/* The study as a graph: every step of every job is a task with a name, with files that it writes, and with
 * tasks that come before it. Whole runs, plans and single tasks all go by it. */
#ifndef MW_STUDY_GRAPH_H
#define MW_STUDY_GRAPH_H

#include "core/json.h"
#include "study/scope.h"

enum { MW_TASK_NEEDS = 3 }; /* at most; the cost needs all */

typedef struct mw_task {
    char name[160]; /* "paper/spread-medium/eval", "spread-medium/baselines/bc", "cost" */
    int job;        /* in the graph; -1: the cost, which is no job's */
    mw_step step;
    int needs[MW_TASK_NEEDS], need_count; /* tasks that come before it */
    bool needed;                          /* by another one; the cost needs all that are not */
    int level;                            /* tasks of one level need only those of earlier ones */
} mw_task;

typedef struct mw_graph {
    mw_study_job jobs[MW_STUDY_JOBS];
    int job_count;
    mw_task *tasks; /* each behind what it needs; the cost last */
    int count;
} mw_graph;

/* All that the options ask for, and a setting's data once. Free it also after a failure. */
mw_status mw_graph_make(mw_graph **graph, const mw_study_options *options, mw_error *error);
void mw_graph_free(mw_graph *graph);

int mw_graph_find(const mw_graph *graph, const char *name); /* -1: none */

/* job NULL: of the cost. */
void mw_task_name(char name[160], const mw_study_job *job, mw_step step);
/* The task that a line of the study's record is about; false: of none. */
bool mw_task_of_line(char name[160], const json_t *line);

/* Calls tell with every file that a task writes and others read, the one that is last first. */
void mw_task_outputs(const mw_graph *graph, const mw_task *task, const char *folder,
                     void (*tell)(void *context, const char *path), void *context);

#endif
