/* The stages of one setting. Each is current when its file is there, can be read and was made from what the
 * present options and the stage before it give; otherwise it is run. */
#ifndef MW_STUDY_RUN_H
#define MW_STUDY_RUN_H

#include "core/json.h"
#include "study/scope.h"
#include "train/preset.h"
#include "train/train.h"

typedef struct mw_run {
    const mw_study_options *options;
    const mw_study_job *job;
    const mw_setting *setting;
    char name[64], rules[64];
    const char *family;
    char data[512], bundle[640], earlier_bundle[640], result[640];
    char base_bundle[640];            /* of the job that this one shares most settings with; "": of none */
    int baseline;                     /* of the baselines, which mw_run_take is about to do; -1: none */
    char files[MW_STUDY_STAGES][700]; /* what stages write as JSON; the baselines', as the baseline does */
    mw_preset preset;
    uint64_t behavior;               /* checksum of the behaviour file; 0: random play */
    long transitions;                /* asked for */
    char data_command[160];          /* what makes the dataset */
    json_t *inputs;                  /* what each stage depends on: {"data": {...}, "train": ..., ...} */
    char checksum[17];               /* of the bundle's file, once there is one */
    double seconds[MW_STUDY_STAGES]; /* what the stages took; NaN: not known */
    double earlier;                  /* seconds that interrupted runs of the last stage took */
    char note[160];                  /* of the last stage, for people */
    void (*progress)(void *context, double done, const char *note); /* within a stage; may be NULL */
    void *context;
} mw_run;

/* Finds out what the stages depend on. Free it also after a failure. */
mw_status mw_run_start(mw_run *run, const mw_study_options *options, const mw_study_job *job,
                       mw_error *error);
void mw_run_free(mw_run *run);

/* The preset of a job's task by its method, with its own and the options' assignments. */
mw_status mw_run_preset(mw_preset *preset, const mw_study_job *job, const mw_study_options *options,
                        mw_error *error);

/* run->checksum from the file that is there; "" if there is none. */
void mw_run_find_checksum(mw_run *run);

/* The summary belongs to its stages' inputs and to the bundle that is there: nothing is left to do. */
bool mw_run_summarized(mw_run *run);

/* Before anything of a step is asked for: its file and its inputs are those of its baseline. */
void mw_run_take(mw_run *run, mw_step step);
bool mw_run_current(mw_run *run, mw_study_stage stage);
/* Whether what the stage trains for itself is there. */
typedef enum mw_trained {
    MW_TRAINED_NOT,    /* nothing, or by other settings: training would arrive at other weights */
    MW_TRAINED_BEFORE, /* by these settings, on an earlier bundle of the setting: perhaps the same weights */
    MW_TRAINED         /* or there is no such thing */
} mw_trained;
mw_trained mw_run_trained(mw_run *run, mw_study_stage stage);
mw_status mw_run_train_own(mw_run *run, mw_study_stage stage, mw_error *error);
mw_status mw_run_stage(mw_run *run, mw_study_stage stage, mw_error *error);

/* The bundle that plays in a stage: the setting's, or one that the stage trains for itself. */
void mw_run_bundle(const mw_run *run, mw_study_stage stage, char path[720]);
/* That bundle's weights, and its plan if it plans, whatever else it tells of its making. "": no bundle. */
void mw_run_player(const mw_run *run, mw_study_stage stage, char out[17]);

/* ---- the table of stages ---- */

typedef struct mw_stage {
    const char *name;
    const char *folder; /* of its files, within the job's; data are shared by all jobs of a setting */
    bool analysis;      /* comes after the summary; other commands write such a file too */
    bool alone;         /* needs the data, and not the setting's bundle */
    mw_eval_options (*plays)(const mw_run *run); /* on seeds that are for once; NULL: on none */
    json_t *(*inputs)(const mw_run *run);        /* NULL: it cannot be told, and the run will say why */
    bool (*current)(mw_run *run); /* NULL: its file names the bundle and the inputs that it is of */
    mw_status (*run)(mw_run *run, mw_error *error);
    /* A stage that trains a bundle of its own before it plays has it; else NULL. */
    void (*bundle)(const mw_run *run, char path[720]);
    mw_trained (*trained)(mw_run *run);
    mw_status (*train)(mw_run *run, mw_error *error);
} mw_stage;

const mw_stage *mw_stage_of(mw_study_stage stage);

extern const mw_stage mw_stage_data, mw_stage_train, mw_stage_eval, mw_stage_diagnose; /* main_stages.c */
extern const mw_stage mw_stage_routing, mw_stage_sweeps;                               /* analyses.c */
extern const mw_stage mw_stage_selectors, mw_stage_baselines;                          /* comparisons.c */
extern const mw_stage mw_stage_summary;                                                /* summary.c */

/* ---- inside ---- */

mw_eval_options mw_run_eval_options(const mw_run *run);
json_t *mw_run_eval_inputs(const mw_eval_options *options);
mw_status mw_run_same_state(mw_run *run, const mw_bundle *bundle, bool planned, json_t *root,
                            mw_error *error);
/* The value of one of the job's settings as text, by its name: "rwm.steps". */
mw_preset_field mw_run_setting(const mw_run *run, const char *name);
/* What the arms reached becomes the stage's note. */
void mw_run_note_arms(mw_run *run, const mw_eval_result *result);
/* The wanted parts that a bundle has, as training would make them; *plan: it plans as wanted too. */
unsigned mw_run_kept_parts(const mw_run *run, const mw_preset *preset, const char *path, bool *plan);

/* Trains on the job's data with its seed; a checkpoint of the same training is continued, anything else
 * started anew. The caller fills the other fields of the request; progress is called with the run. */
mw_status mw_run_train(mw_run *run, mw_training_request request, mw_training_report *report, mw_error *error);

/* What every part of a bundle says of its making; empty if it cannot be read. */
json_t *mw_run_training_json(const char *path);

/* Writes a stage's file, which names the setting, the bundle, the inputs and the revision: at the top, and in
 * an analysis under "study". Takes root over. */
mw_status mw_run_write(const mw_run *run, mw_study_stage stage, json_t *root, mw_error *error);

#endif
