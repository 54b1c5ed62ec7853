/* What the study does with which setting: its own data, training, evaluation and diagnosis everywhere,
 * branches by other methods beside it, further training seeds, and analyses on stated settings. Tables,
 * so that nothing of it is decided elsewhere. */
#ifndef MW_STUDY_SCOPE_H
#define MW_STUDY_SCOPE_H

#include "model/model.h"
#include "report/sources.h"

#include "mawam/study.h"

enum { MW_STUDY_JOBS = MW_TABLE_ROWS * (MW_STUDY_SEEDS + MW_BRANCHES) };

/* One way through the stages: a setting by one method with one training seed. */
typedef struct mw_study_job {
    int place;       /* of the setting in its table */
    char folder[24]; /* within the study's: "", "paper", "seeds/1" */
    char label[96];  /* "paper/spread-medium" */
    const char *method;
    const char *assignment; /* of a training setting beyond the method's; NULL: none */
    const char *base;       /* folder of the job that it shares all other settings with; NULL: none */
    uint64_t seed;          /* of the training; data have the study's */
    unsigned stages;        /* 1 << mw_study_stage */
    unsigned baselines;     /* of the baselines: 1 << index of a model */
} mw_study_job;

/* Jobs of what the options ask for: first everything by the study's own method in the order of the settings'
 * table, then the branches, then further seeds. */
int mw_study_jobs(mw_study_job jobs[MW_STUDY_JOBS], const mw_study_options *options);

bool mw_study_wants(const mw_study_options *options, mw_study_part part);

/* Fails where baselines are asked for that do not play by themselves, or without the part that plays them. */
mw_status mw_study_baselines_check(const mw_study_options *options, mw_error *error);

/* One thing to do for a job: a stage, and in the stage baselines the one that plays. */
typedef struct mw_step {
    mw_study_stage stage;
    int baseline; /* index of a model; -1: the stage has none */
} mw_step;
enum { MW_STUDY_STEPS = MW_STUDY_STAGES + MW_KINDS }; /* at most */
int mw_study_step_index(mw_step step);                /* below MW_STUDY_STEPS, each its own */

/* The steps of a job in their order, and how many; the cost is no job's. */
int mw_study_steps(mw_step steps[MW_STUDY_STEPS], const mw_study_job *job);

/* Of the nine middle settings, a task each: they get several training seeds, and the cost profile. */
bool mw_study_middle(const mw_setting *setting);

/* Evaluation as the options say, or as the protocol does. */
int mw_study_episodes(const mw_study_options *options, const char *family);

#endif
