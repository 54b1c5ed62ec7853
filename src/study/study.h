/* The study: for every setting the chain make data -> train -> evaluate the arms -> diagnose, and a summary
 * of all of it. Every stage leaves a file that says what it was made from, so that a run can be continued
 * after any interruption and does again only what does not belong to the present settings. */
#ifndef MW_STUDY_STUDY_H
#define MW_STUDY_STUDY_H

#include "behavior/settings.h"
#include "train/preset.h"

#include <signal.h>

typedef enum mw_study_stage {
    MW_STUDY_DATA,
    MW_STUDY_TRAIN,
    MW_STUDY_EVAL,
    MW_STUDY_DIAGNOSE,
    MW_STUDY_STAGES
} mw_study_stage;

const char *mw_study_stage_name(mw_study_stage stage); /* "data", "train", "eval", "diagnose" */

typedef enum mw_study_what {
    MW_STUDY_STARTS, /* a stage */
    MW_STUDY_RUNS,
    MW_STUDY_DONE,
    MW_STUDY_KEPT,   /* a stage was finished before */
    MW_STUDY_FAILED, /* a setting: the rest of its stages is left out */
} mw_study_what;

typedef struct mw_study_event {
    mw_study_what what;
    const char *setting;
    int index, count; /* which of how many settings */
    mw_study_stage stage;
    double done;      /* share of the stage */
    double seconds;   /* of the stage */
    double left;      /* seconds until everything is done, judged by the stages so far; NaN: unknown */
    const char *note; /* for people: losses, returns, the message of a failure */
} mw_study_event;

typedef struct mw_study_options {
    const char *folder;
    const mw_setting *const *settings; /* [count]; they run in the order of their table: particles first */
    int count;                         /* 0: all */
    bool resume;                       /* without it a folder with results is refused */
    bool drop_data;                    /* remove a setting's dataset after its last stage */
    mw_budget budget;
    const char *const *assignments; /* [assignment_count] of training settings, "flow.dim=64" */
    int assignment_count;
    const char *behaviors; /* folder of behaviour files; NULL: see mw_behavior_path */
    uint64_t seed;         /* of data and training */
    int threads;           /* 0: one per core */
    long transitions;      /* of a dataset; 0: the setting's */
    unsigned arms;         /* 1 << index of an arm; 0: the standard ones */
    int seeds, episodes;   /* of the evaluation; 0: five, and what the protocol says for the family */
    int timed;             /* decisions timed for each arm; 0: what an evaluation times by itself */
    int anchors, snippets; /* of the diagnosis; 0: none */
    const char *command;   /* for the provenance */
    const volatile sig_atomic_t *stop;                            /* may be NULL */
    void (*progress)(void *context, const mw_study_event *event); /* may be NULL */
    void *context;
} mw_study_options;

mw_study_options mw_study_options_default(void); /* the whole study, in "study" */

/* Refuses settings that no training accepts before anything starts. A failure within a setting is recorded in
 * FOLDER/stages.jsonl, counted in *failed, and the run goes on with the next; what is returned concerns the
 * run as a whole: MW_ERR_INTERRUPTED, a folder that is refused or cannot be written. */
mw_status mw_study_run(const mw_study_options *options, int *failed, mw_error *error);

#endif
