/* Training of everything that planning needs from a dataset: proposer, inverse dynamics and world model, into
 * one bundle. Every bit of the weights follows from data, preset and seed, whatever the threads and
 * interruptions. */
#ifndef MW_TRAIN_TRAIN_H
#define MW_TRAIN_TRAIN_H

#include "data/dataset.h"
#include "train/advantage_fit.h"
#include "train/part.h"

#include <signal.h>

typedef struct mw_training_progress {
    const mw_training_part *part;
    const double *means; /* losses of the last line of the log */
    double seconds;      /* of this training, earlier runs included */
    double done, total;  /* floating-point operations of all parts of this run, roughly */
} mw_training_progress;

typedef struct mw_training_request {
    const mw_dataset *dataset; /* opened; its values are checked here */
    const mw_training_preset *preset;
    const char *output;  /* FILE.safetensors; FILE.train.safetensors, .jsonl and .svg lie next to it */
    bool skip[MW_PARTS]; /* policy, world: leave this one alone */
    const char *with;    /* a bundle that provides what is skipped; NULL: only the checkpoint can */
    uint64_t seed;
    int threads;                       /* 0: one per core */
    bool resume;                       /* continue where the checkpoint stands; start if there is none */
    bool replace;                      /* start anew where the checkpoint is of another training or damaged */
    bool wide;                         /* keep weights in single precision instead of half */
    const char *command;               /* for the provenance */
    double checkpoint_seconds;         /* between checkpoints; 0: 120 */
    const volatile sig_atomic_t *stop; /* may be NULL; once it is not 0 the state is saved and the call fails
                                          with MW_ERR_INTERRUPTED */
    void (*progress)(void *context, const mw_training_progress *progress); /* may be NULL */
    void *context;
} mw_training_request;

typedef struct mw_training_report {
    bool complete; /* the bundle is written; otherwise a part is missing and the checkpoint keeps the rest */
    bool finished_before; /* nothing was left to do */
    double seconds;
    double return_scale, target;
    double policy_held[MW_PART_LOSSES]; /* losses on held-out episodes: flow, inverse; after the last step */
    double world_held[MW_PART_LOSSES];  /* dynamics, reward, balance; at the best step, which was kept */
    long best_step;                     /* 0: nothing was held out */
    mw_advantage_report advantage;      /* rows 0: there is none */
    double reward_unexplained;          /* share of the rewards' variance left unexplained there */
} mw_training_report;

mw_status mw_training_run(const mw_training_request *request, mw_training_report *report, mw_error *error);

#endif
