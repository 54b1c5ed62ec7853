/* A study's graph of commands as text: what all formats share; see mw_study_plan. */
#ifndef MW_STUDY_PLAN_H
#define MW_STUDY_PLAN_H

#include "study/expected.h"

#include <stdio.h>

typedef struct mw_graph_text {
    const mw_study_options *options;
    const mw_graph *graph;
    const mw_expected *expected;
    const char *program;
    FILE *out;
} mw_graph_text;

int mw_task_threads(const mw_graph_text *plan, const mw_task *task); /* 0: one per core */
/* "mawam study run --dir study ..." without task and threads. */
void mw_graph_command(const mw_graph_text *plan, FILE *out);
/* "mawam study status ...", "mawam study plan ..." of the same options. */
void mw_graph_same(const mw_graph_text *plan, const char *command, FILE *out);

/* plan_slurm.c: a script that submits an array for every stage of every branch. */
mw_status mw_graph_slurm(const mw_graph_text *plan, mw_error *error);

#endif
