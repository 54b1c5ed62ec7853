/* The whole interface of libmawam-study, the laboratory on libmawam: the study and its report here,
 * measurements of speed, routing and comparisons with recorded numbers in the headers that this one includes.
 *
 * The study: for every setting make data -> train -> evaluate the arms -> diagnose, on stated ones
 * further analyses, and a report over all of them. Every stage leaves a file that says what it was made from,
 * so that a run can be continued after any interruption and does again only what does not belong to the
 * present settings. */
#ifndef MAWAM_STUDY_H
#define MAWAM_STUDY_H

#include "mawam/behavior.h"
#include "mawam/bench.h"
#include "mawam/eval.h"
#include "mawam/routing.h"
#include "mawam/train.h"
#include "mawam/verify.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- run ----------------------------------------------------------------------------------------------- */

typedef enum mw_study_stage {
    MW_STUDY_DATA,
    MW_STUDY_TRAIN,
    MW_STUDY_EVAL,
    MW_STUDY_DIAGNOSE,
    MW_STUDY_ROUTING,
    MW_STUDY_SELECTORS, /* trained for as many steps as the world model, and evaluated */
    MW_STUDY_BASELINES, /* models that play by themselves, each trained and evaluated for itself */
    MW_STUDY_SWEEPS,
    MW_STUDY_COST,    /* once, after all settings */
    MW_STUDY_SUMMARY, /* of data, training, evaluation and diagnosis: a file; a task of its own in a plan */
    MW_STUDY_STAGES
} mw_study_stage;

MW_API const char *mw_study_stage_name(mw_study_stage stage); /* "data", "train", ... */

/* What a study consists of; docs/study.md says on which settings. */
typedef enum mw_study_part {
    MW_STUDY_PART_MAIN,  /* data, training, evaluation, diagnosis of every setting; routing, selectors, sweeps
                            and cost need it */
    MW_STUDY_PART_PAPER, /* the same by the paper's method */
    MW_STUDY_PART_LONGER, /* that with the published steps of its world model, where the paper ranks a state
                           */
    MW_STUDY_PART_SEEDS,  /* further training seeds of the nine middle settings */
    MW_STUDY_PART_ROUTING,
    MW_STUDY_PART_SELECTORS,
    MW_STUDY_PART_BASELINES, /* needs nothing but the data */
    MW_STUDY_PART_SWEEPS,
    MW_STUDY_PART_COST,
    MW_STUDY_PARTS
} mw_study_part;
MW_API const char *mw_study_part_name(int part); /* "main", "paper", "seeds", ...; NULL past the end */

/* Evaluation seeds of the study: nothing is chosen on them. */
#define MW_STUDY_FIRST_SEED 21000
enum { MW_STUDY_SEEDS = 10 }; /* training seeds at most */

typedef enum mw_study_what {
    MW_STUDY_STARTS, /* a stage */
    MW_STUDY_RUNS,
    MW_STUDY_DONE,
    MW_STUDY_KEPT,   /* a stage was finished before */
    MW_STUDY_FAILED, /* a setting: the rest of its stages is left out; of a baseline: the others go on */
} mw_study_what;

typedef struct mw_study_event {
    mw_study_what what;
    const char *setting; /* "spread-medium", "paper/spread-medium", "seeds/1/spread-medium", "all" */
    int index, count;    /* which of how many of them */
    mw_study_stage stage;
    const char *baseline; /* of the stage baselines: the model that plays; otherwise NULL */
    double done;          /* share of the stage */
    double seconds;       /* of the stage */
    double left;          /* seconds until everything is done, judged by the stages so far; NaN: unknown */
    const char *note;     /* for people: losses, returns, the message of a failure */
} mw_study_event;

typedef struct mw_study_options {
    size_t size;                       /* of this struct, set by init */
    const char *folder;                /* "study" */
    const mw_setting *const *settings; /* [count] of mw_setting_at; they run in the order of their table:
                                          particles first */
    int count;                         /* 0: all */
    bool resume;                       /* without it a folder with results is refused */
    bool drop_data;                    /* remove a setting's dataset after its last stage */
    const char *method;                /* of mw_method_name; NULL: mawam */
    mw_budget budget;                  /* full */
    const char *const *assignments;    /* [assignment_count] of training settings, "flow.dim=64" */
    int assignment_count;
    const char *behaviors; /* folder of behaviour files; NULL: see mw_behavior_path */
    uint64_t seed;         /* of data and training */
    int threads;           /* 1 to MW_MAX_THREADS; 0: one per core */
    long transitions;      /* of a dataset; 0: the setting's */
    unsigned arms;         /* 1 << index of an arm; 0: the standard ones */
    int seeds, episodes;   /* of the evaluation; 0: five, and 40 on MPE, 160 in battles, 16 on Ant */
    int timed; /* decisions timed for each arm, and steps of the cost; 0: what these time by themselves */
    int anchors, snippets;    /* of the diagnosis (64, 2000); 0: none */
    const char *command;      /* for the provenance; may be NULL */
    const mw_stop_flag *stop; /* may be NULL; not 0: return MW_ERR_INTERRUPTED, what is finished is kept */
    void (*progress)(void *context, const mw_study_event *event); /* may be NULL */
    void *context;
    unsigned parts;             /* 1 << mw_study_part; 0: all */
    uint64_t first_seed;        /* of the evaluation: MW_STUDY_FIRST_SEED */
    const int *family_episodes; /* [family_count] in the order of mw_family_at, where families differ; 0: as
                                   above. NULL: they do not */
    int family_count;
    int training_seeds; /* of the middle settings, 1 to MW_STUDY_SEEDS (3) */
    bool play_again;    /* evaluation seeds that another bundle of the same setting has
                           played in this folder; refused otherwise */
    unsigned baselines; /* of the part baselines: 1 << index of a model that plays by itself; 0: all */
    const char *task; /* this one alone of those that mw_study_plan prints, "spread-medium/train"; it resumes
                         whatever is there, and others may run in the folder meanwhile. NULL: all */
} mw_study_options;
MW_API void mw_study_options_init(mw_study_options *options, size_t size);

/* Refuses settings that no training accepts before anything starts. A failure within a setting is recorded in
 * FOLDER/stages.jsonl, counted in *failed, and the run goes on with the next; one of the baselines
 * fails for itself, and the setting goes on with the next. What is returned concerns the run as a
 * whole: MW_ERR_INTERRUPTED, a folder that is refused or cannot be written. An evaluation is played
 * once: with other weights or another plan on the same seeds it fails, unless told to play again. */
MW_API mw_status mw_study_run(const mw_study_options *options, int *failed, mw_error *error);

/* ---- plan ---------------------------------------------------------------------------------------------- */

/* What these options ask for as a graph of commands, each of which makes one task with `task` set; *text is
 * to be freed. Formats: "lines" (tab-separated, a line per task), "make", "ninja", "slurm" (a script that
 * submits arrays). program: how a command names mawam, NULL: "mawam". costs: a folder of a study or a report
 * whose recorded seconds and memory tell what is expected; NULL: the study's own. threads 0: one for each
 * task, and one per core for the cost, which runs when all else is done. Fails where the options have no
 * words on a command line: drop_data, several lines in a text; and but for lines where the folder's name has
 * other characters than letters, digits and _@+=,./- */
MW_API mw_status mw_study_plan(char **text, const mw_study_options *options, const char *format,
                               const char *program, const char *costs, mw_error *error);

/* What is done, running, failed and still to do of these options' tasks, from the files alone, and how long
 * the rest will take with `jobs` of them at a time (0: as many as are running, at least one); *text is to be
 * freed. json: the same as JSON, docs/study.md says what is in it. costs: as of the plan. */
MW_API mw_status mw_study_status(char **text, const mw_study_options *options, int jobs, bool json,
                                 const char *costs, mw_error *error);

/* ---- report -------------------------------------------------------------------------------------------- */

/* Reads what there is in studies' folders[count] (of a file in several the last one counts): the summaries of
 * settings in results/ or settings/, and beside them paper/, longer/, seeds/, selectors/, baselines/NAME/,
 * routing/, sweeps/ and cost.json (see docs/study.md). Names the revisions that made them, and refuses what
 * cannot be compared: a baseline of other data, rules, seeds or episodes than the setting's own arms. Writes
 * output/index.html and a page per chapter, README.md, settings.csv, summary.json and the files it was made
 * of, without single episodes. Such files of an earlier report in the output that are not among what was read
 * are removed with overwrite, and files of others under a report's names are replaced; without it they make
 * the report fail. Where a study ran its files stay and no copies are made. *present (may be NULL): how many
 * settings there were; none is a failure. */
MW_API mw_status mw_study_report(const char *const *folders, int count, const char *output, bool overwrite,
                                 int *present, mw_error *error);

#ifdef __cplusplus
}
#endif
#endif
