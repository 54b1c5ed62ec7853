/* Training: from a dataset to a bundle. The models that planning needs are trained one after the other; every
 * bit of the weights follows from data, settings and seed, whatever the threads and interruptions. */
#ifndef MAWAM_TRAIN_H
#define MAWAM_TRAIN_H

#include "mawam/data.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MW_PART_LOSSES = 6 }; /* at most, of one model */
enum { MW_REMARK = 512 };    /* bytes of a text that people should read */

/* "flow,rwm" -> the set of models as bits 1 << index; mw_preset_list names them. */
MW_API mw_status mw_model_classes_parse(const char *text, unsigned *set, mw_error *error);

/* All settings, what differs by task, and the models, as Markdown. */
MW_API void mw_preset_list(FILE *out);
/* Every method as a row of Markdown: its idea, actions, what an agent sees, source, how sure it is. */
MW_API void mw_method_list(FILE *out);

/* How bundles are trained, as whole sets of settings: "mawam", which is the default, "paper"; NULL past the
 * end. */
MW_API const char *mw_method_name(int index);

/* Training steps of the task's preset. */
typedef enum mw_budget { MW_BUDGET_QUICK, MW_BUDGET_FULL } mw_budget;

/* After every step. Arrays are valid during the call only. */
typedef struct mw_training_progress {
    const char *part; /* the model in training */
    long step, steps;
    int losses;                    /* that are minimised */
    const char *const *loss_names; /* [losses] */
    const double *means;           /* [losses] of the last line of the log; NULL: this run has none yet */
    const double *held;            /* [losses] on held-out episodes; NULL: not yet known */
    double seconds;                /* of this training, earlier runs included */
    double cost;                   /* of one step, in the unit of the next two */
    double done, total;            /* floating-point operations of all parts of this run, roughly */
} mw_training_progress;

/* Before the first step. */
typedef struct mw_training_estimate {
    double bytes;      /* of memory for weights, optimiser and work areas, at most at one time */
    double free_bytes; /* that the system could give when training began */
    double operations; /* floating-point, of all steps that are left */
    double seconds;    /* they take at half the rate that this machine multiplies matrices with now */
} mw_training_estimate;

typedef struct mw_train_options {
    size_t size;                    /* of this struct, set by init */
    const char *method;             /* of mw_method_name; NULL: mawam */
    mw_budget budget;               /* full */
    const char *const *assignments; /* [assignment_count] of settings, "flow.dim=64"; see mw_preset_list */
    int assignment_count;
    unsigned only;    /* models that are trained now, 1 << index; 0: all of the preset's */
    const char *with; /* with `only`: a bundle that provides the others as they are; NULL: a checkpoint can */
    uint64_t seed;
    int threads;              /* 1 to MW_MAX_THREADS; 0: one per core */
    bool resume;              /* continue where the checkpoint stands; start if there is none */
    bool wide;                /* keep weights in single precision instead of half */
    const char *command;      /* for the provenance; may be NULL */
    const mw_stop_flag *stop; /* may be NULL; not 0: save and return MW_ERR_INTERRUPTED */
    void (*progress)(void *context, const mw_training_progress *progress); /* may be NULL */
    void *context;
    const mw_env_options *world; /* of a built-in task: whose rules the data must have; may be NULL */
    bool accept_rules;           /* train on data of other rules too; the provenance then says so */
    bool force;                  /* also where memory does not suffice; refused otherwise */
    bool overwrite;              /* replace a finished bundle, or a log or picture without one */
    void (*begin)(void *context, const mw_training_estimate *estimate); /* may be NULL */
} mw_train_options;
MW_API void mw_train_options_init(mw_train_options *options, size_t size);

/* Are the options' assignments settings of a task's training? The message of a failure lists what there is.
 * Training asks this first. */
MW_API mw_status mw_train_options_check(const mw_train_options *options, const char *task, mw_error *error);

/* How one part came out. */
typedef struct mw_part_report {
    const char *name;
    bool trained; /* to its last step, in this run or one that it continues; false: not finished */
    int losses;
    const char *loss_names[MW_PART_LOSSES];
    double held[MW_PART_LOSSES]; /* on held-out episodes: at the best step where that was kept, else the last;
                                    NaN: there has been no validation */
    long best_step;              /* 0: nothing was held out, or the last weights were kept */
} mw_part_report;

typedef struct mw_training_report {
    bool complete; /* the bundle is written; otherwise a part is missing and the checkpoint keeps the rest */
    bool finished_before; /* nothing was left to do */
    double seconds, target;
    char remark[MW_REMARK]; /* on how the plan's return_error was measured, or why it is not known; "" */
    int count;
    mw_part_report *part; /* [count] */
} mw_training_report;
MW_API void mw_training_report_free(mw_training_report *report); /* its parts; safe to call twice */

/* Checks the values of the dataset and, for a built-in task, its rules, trains and writes the bundle. Next to
 * output, FILE.safetensors, lie FILE.jsonl (the losses), FILE.svg (their curves) and, until it is finished,
 * FILE.train.safetensors (a checkpoint every two minutes). After a
 * failure the report has no parts. */
MW_API mw_status mw_bundle_train(const mw_dataset *dataset, const char *output,
                                 const mw_train_options *options, mw_training_report *report,
                                 mw_error *error);

#ifdef __cplusplus
}
#endif
#endif
