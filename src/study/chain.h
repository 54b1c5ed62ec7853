/* The stages of one setting. Each is current when its file is there, can be read and was made from what the
 * present options and the stage before it give; otherwise it is run. */
#ifndef MW_STUDY_CHAIN_H
#define MW_STUDY_CHAIN_H

#include "core/json.h"
#include "study/scope.h"
#include "train/preset.h"

typedef struct mw_chain {
    const mw_study_options *options;
    const mw_study_line *line;
    const mw_setting *setting;
    char name[64], rules[64];
    const char *family;
    char data[512], bundle[640], earlier_bundle[640], eval[640], diagnose[640], result[640];
    char routing[640], selectors[640], selectors_bundle[640], sweeps[640];
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
} mw_chain;

/* Finds out what the stages depend on. Free it also after a failure. */
mw_status mw_chain_start(mw_chain *chain, const mw_study_options *options, const mw_study_line *line,
                         mw_error *error);
void mw_chain_free(mw_chain *chain);

/* The preset of a task by a method, with the options' assignments. */
mw_status mw_chain_preset(mw_preset *preset, const char *method, const char *task,
                          const mw_study_options *options, mw_error *error);

/* chain->checksum from the file that is there; "" if there is none. */
void mw_chain_find_checksum(mw_chain *chain);

/* The summary belongs to these inputs and to the bundle that is there: nothing is left to do. */
bool mw_chain_summarized(mw_chain *chain);
bool mw_chain_current(mw_chain *chain, mw_study_stage stage);
mw_status mw_chain_run(mw_chain *chain, mw_study_stage stage, mw_error *error);
mw_status mw_chain_summarize(mw_chain *chain, mw_error *error);

/* Of what plays: the weights and the plan, whatever else the bundle tells of its making. "": no bundle. */
void mw_chain_player(const mw_chain *chain, char out[17]);

/* ---- inside ---- */

mw_eval_options mw_chain_eval_options(const mw_chain *chain);
json_t *mw_chain_eval_inputs(const mw_eval_options *options);
mw_status mw_chain_same_state(mw_chain *chain, const mw_bundle *bundle, bool planned, json_t *root,
                              mw_error *error);
/* The wanted parts that a bundle has, as training would make them; *plan: it plans as wanted too. */
unsigned mw_chain_kept_parts(const mw_chain *chain, const mw_preset *preset, const char *path, bool *plan);

/* Files of stages that name the setting, the bundle, the inputs and the revision: those of evaluation and
 * diagnosis at the top, those of analyses, which other commands write too, under "study". */
bool mw_chain_file_current(const mw_chain *chain, const char *path, mw_study_stage stage);
mw_status mw_chain_file_write(const mw_chain *chain, const char *path, mw_study_stage stage, json_t *root,
                              mw_error *error); /* takes root over */

/* The analyses: what they depend on, and their runs. */
json_t *mw_analysis_inputs(const mw_chain *chain, mw_study_stage stage);
const char *mw_analysis_path(const mw_chain *chain, mw_study_stage stage);
mw_status mw_analysis_run(mw_chain *chain, mw_study_stage stage, mw_error *error);

#endif
