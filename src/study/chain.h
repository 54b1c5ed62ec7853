/* The stages of one setting. Each is current when its file is there, can be read and was made from what the
 * present options and the stage before it give; otherwise it is run. */
#ifndef MW_STUDY_CHAIN_H
#define MW_STUDY_CHAIN_H

#include "core/json.h"
#include "train/preset.h"

typedef struct mw_chain {
    const mw_study_options *options;
    const mw_setting *setting;
    char name[64], rules[64];
    const char *family;
    char data[512], bundle[512], earlier_bundle[520], eval[512], diagnose[512], result[512];
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
mw_status mw_chain_start(mw_chain *chain, const mw_study_options *options, const mw_setting *setting,
                         mw_error *error);
void mw_chain_free(mw_chain *chain);

/* The preset of a task with the options' assignments. */
mw_status mw_chain_preset(mw_preset *preset, const char *task, const mw_study_options *options,
                          mw_error *error);

/* chain->checksum from the file that is there; "" if there is none. */
void mw_chain_find_checksum(mw_chain *chain);

/* The summary belongs to these inputs and to the bundle that is there: nothing is left to do. */
bool mw_chain_summarized(mw_chain *chain);
bool mw_chain_current(mw_chain *chain, mw_study_stage stage);
mw_status mw_chain_run(mw_chain *chain, mw_study_stage stage, mw_error *error);
mw_status mw_chain_summarize(mw_chain *chain, mw_error *error);

#endif
