/* Training of everything that planning needs from a dataset, into one bundle: one loop over its parts. Every
 * bit of the weights follows from data, preset and seed, whatever the threads and interruptions. */
#ifndef MW_TRAIN_TRAIN_H
#define MW_TRAIN_TRAIN_H

#include "data/dataset.h"
#include "plan/bundle.h"
#include "train/preset.h"

typedef struct mw_training_progress {
    const mw_training_part *part;
    const double *means; /* losses of the last line of the log */
    double seconds;      /* of this training, earlier runs included */
    double done, total;  /* floating-point operations of all parts of this run, roughly */
} mw_training_progress;

typedef struct mw_training_request {
    const mw_dataset *dataset; /* opened; its values are checked here */
    const mw_preset *preset;
    const char *output; /* FILE.safetensors; FILE.train.safetensors, .jsonl and .svg lie next to it */
    unsigned only;      /* parts that are trained now, 1 << index; 0: all of the preset's */
    bool nothing;       /* train none at all: everything comes from the other bundle */
    const char *with;   /* a bundle that provides the others, as they are; NULL: only the checkpoint can */
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

/* How one part came out. */
typedef struct mw_part_report {
    const char *name;
    bool trained; /* in this run or one that it continues; false: taken from elsewhere */
    int losses;
    const char *loss_names[MW_PART_LOSSES];
    double held[MW_PART_LOSSES]; /* on held-out episodes: at the best step where that was kept, else the last
                                  */
    long best_step;              /* 0: nothing was held out, or the last weights were kept */
} mw_part_report;

typedef struct mw_training_report {
    bool complete; /* the bundle is written; otherwise a part is missing and the checkpoint keeps the rest */
    bool finished_before; /* nothing was left to do */
    double seconds, target;
    int count;
    mw_part_report part[MW_MODELS];
} mw_training_report;

mw_status mw_training_run(const mw_training_request *request, mw_training_report *report, mw_error *error);

/* Settles what a preset leaves to the data, as training does. */
mw_status mw_training_settle(mw_preset *preset, const mw_dataset *dataset, uint64_t seed, mw_error *error);

/* Is this part what training with a settled preset would arrive at? `like` tells data, split and seed. */
bool mw_training_same(const mw_preset *preset, const mw_bundle_part *part, const mw_provenance *like);

#endif
