/* Evaluation: every arm of a bundle plays the same episodes, so that differences between arms are paired; and
 * diagnosis: how well predicted returns agree with true ones. Both are pure functions of the bundle, the
 * options and the seeds, whatever the threads. */
#ifndef MAWAM_EVAL_H
#define MAWAM_EVAL_H

#include "mawam/data.h"
#include "mawam/plan.h"
#include "mawam/replay.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- arms: who plays, and how -------------------------------------------------------------------------- */

typedef enum mw_arm_id { /* the first ones of the table */
                         MW_ARM_REACTIVE,
                         MW_ARM_RANDOM,
                         MW_ARM_PLAN,
                         MW_ARM_PAPER,
                         MW_ARM_ORACLE,
                         MW_ARM_CEILING,
} mw_arm_id;

enum { MW_ARM_STANDARD = 5, MW_ARMS = 32 }; /* the first so many unless others are named; at most */

typedef struct mw_arm {
    const char *name, *help, *controller;
    char settings[160]; /* of the plan, where they differ from the bundle's */
    bool plans;         /* the controller draws candidates, which the settings are for */
} mw_arm;

/* The table goes on with an arm for every model that only judges candidates, and then for every one that
 * plays by itself; false past the end. */
MW_API bool mw_arm_at(int index, mw_arm *arm);
MW_API const char *mw_arm_name(int index); /* NULL past the end */
/* Can the bundle's parts serve it? */
MW_API bool mw_arm_available(int index, const mw_bundle *bundle);
/* "plan,reactive" -> the set of arms as bits 1 << index. */
MW_API mw_status mw_arms_parse(const char *text, unsigned *arms, mw_error *error);

/* ---- evaluation ---------------------------------------------------------------------------------------- */

/* For experiments. The study has seeds of its own, on which nothing is chosen: MW_STUDY_FIRST_SEED. */
#define MW_EVAL_FIRST_SEED 1000

typedef struct mw_eval_options {
    size_t size;   /* of this struct, set by init */
    unsigned arms; /* 1 << index; 0: the standard ones that the bundle can serve, or without a policy to plan
                      with its models that play by themselves */
    uint64_t first_seed;            /* MW_EVAL_FIRST_SEED */
    int seeds, episodes;            /* 5; episodes of each seed, 0: those of the mw_family */
    const char *const *assignments; /* [assignment_count] of plan settings, "candidates=16" */
    int assignment_count;
    int envs;                    /* playing together; 0: as many as is good */
    int threads;                 /* 1 to MW_MAX_THREADS; 0: one per core */
    int timed;                   /* decisions timed in one environment alone (60); 0: none */
    const mw_env_options *world; /* may be NULL */
    const char *behaviors;       /* folder of behaviour files; NULL: see mw_behavior_path */
    const mw_stop_flag *stop;    /* may be NULL; not 0: return MW_ERR_INTERRUPTED */
    void (*progress)(void *context, int arm, long done, long total); /* may be NULL */
    void *context;
    bool accept_rules; /* play although the bundle was trained under other rules; results then say so */
} mw_eval_options;
MW_API void mw_eval_options_init(mw_eval_options *options, size_t size);

typedef struct mw_eval_episode {
    uint64_t world; /* seed of the environment */
    double total;   /* return: sum over steps of the agents' mean reward */
    int length;
    bool won;
} mw_eval_episode;

/* Milliseconds of a decision for a single environment. */
typedef struct mw_latency {
    double p50, p95;
} mw_latency;

enum { MW_INTERVAL_LEAST = 8 }; /* values; fewer say nothing of how sure their mean is */

/* A mean with its 95% interval: NaN where it is not known, of fewer values than that, or where all are the
 * same. */
typedef struct mw_interval {
    double mean, low, high;
} mw_interval;

/* One arm. Means are over all episodes, standard deviations over the seeds' means. What does not apply is
 * NaN. */
typedef struct mw_eval_report {
    bool played;
    mw_eval_episode *episodes;                /* [seeds][episodes] */
    double total, total_std;                  /* return */
    double score, score_std;                  /* normalised, where the task has a scale */
    double won, won_std;                      /* battles: share of episodes */
    double length;                            /* steps of an episode */
    mw_interval gain;                         /* paired difference of returns to reactive */
    double relative_gain;                     /* over |reactive|, both as reported: normalised if there
                                                 is a scale */
    double relative_low, relative_high;       /* its 95% interval, in which both means are uncertain; NaN
                                                 where reactive's own interval holds zero, or none is known */
    double oracle_share;                      /* of the oracle's gain over reactive, where that
                                                 has an interval above zero */
    mw_latency decision, generation, scoring; /* ms */
    double seconds;                           /* all episodes, wall clock */
    long decisions;
    double distinct; /* discrete actions: different joint first actions among a decision's candidates, mean */
} mw_eval_report;

typedef struct mw_eval_result mw_eval_result;

/* Refuses a bundle whose sizes or rules (unless accepted) are not the environment's. *result is NULL after a
 * failure. */
MW_API mw_status mw_bundle_evaluate(mw_eval_result **result, const mw_bundle *bundle,
                                    const mw_eval_options *options, mw_error *error);
MW_API void mw_eval_result_free(mw_eval_result *result);

/* What was played: options with what they left open filled in. Strings live as long as the result. */
typedef struct mw_eval_summary {
    const char *task, *rules, *quality, *family; /* rules: of the world that was played in */
    const char *accepted_rules;                  /* of the training, where they were others; NULL: the same */
    const char *packed_of;                       /* of mw_bundle_summary; NULL: it is not packed */
    unsigned arms;
    uint64_t first_seed;
    int seeds, episodes;
    mw_plan_settings plan; /* of the plan arm */
} mw_eval_summary;
MW_API mw_eval_summary mw_eval_describe(const mw_eval_result *result);

/* Lives as long as the result; NULL past MW_ARMS. */
MW_API const mw_eval_report *mw_eval_arm(const mw_eval_result *result, int arm);

/* All of it as JSON, every episode included, with the CPU and the command (as typed, to know it by): printed
 * with ten digits, or written to a file with all of them, atomically. */
MW_API mw_status mw_eval_result_print(const mw_eval_result *result, const char *command, FILE *out,
                                      mw_error *error);
MW_API mw_status mw_eval_result_save(const mw_eval_result *result, const char *command, const char *path,
                                     mw_error *error);

/* One planned episode with the candidates of every decision: their scores and first actions, and what they
 * imagine where the task's observations hold places; beside it the policy alone in the same world. To be
 * written by mw_replay_write. *replay is NULL after a failure. */
MW_API mw_status mw_eval_replay(mw_replay **replay, const mw_bundle *bundle, const mw_eval_options *options,
                                mw_error *error);

/* ---- diagnosis: candidates of the same state ----------------------------------------------------------- */

/* How well predicted returns order realised ones, in groups. */
typedef struct mw_ranking {
    double pearson, spearman; /* over all pairs at once; Spearman with average ranks */
    double top1, top2;        /* share of groups whose best is predicted first, among the first two */
    double pair_accuracy;     /* of all pairs within groups whose realised values differ */
    double spearman_within, pair_accuracy_within; /* means over the groups that have one of their own */
    double regret, normalized_regret; /* of taking the predicted best; by the group's range, or 1e-8 */
} mw_ranking;

typedef struct mw_same_state_options {
    size_t size;                    /* of this struct, set by init */
    int anchors;                    /* 64 */
    bool planned;                   /* states and candidates of the planner's own play, with offsets and warm
                                       starts; otherwise reactive play, and candidates as the policy draws
                                       them */
    const char *const *assignments; /* [assignment_count] of plan settings; one that names a scorer leaves
                                       the judgement to it alone */
    int assignment_count;
    uint64_t seed;               /* 2000 */
    int threads;                 /* 1 to MW_MAX_THREADS; 0: one per core */
    const mw_env_options *world; /* may be NULL */
    const mw_stop_flag *stop;    /* may be NULL; not 0: return MW_ERR_INTERRUPTED */
    bool accept_rules;           /* as in mw_eval_options */
} mw_same_state_options;
MW_API void mw_same_state_options_init(mw_same_state_options *options, size_t size);

/* One scorer's judgement of all candidates. */
typedef struct mw_judge {
    char scorer[MW_NAME];
    mw_ranking ranking; /* groups are states; what is over all pairs at once sees differences between them */
    double chosen;      /* mean true H-step team return of its best candidate */
    float *predicted;   /* [anchors][M] */
} mw_judge;

typedef struct mw_same_state {
    int anchors, candidates, horizon;
    bool planned;                                   /* as the options say */
    char rules[MW_NAME];                            /* of the world that was played in */
    long episodes;                                  /* that the anchors come from */
    double random_regret, random_normalized_regret; /* of a uniform choice: the mean over all candidates */
    double best, average;                           /* mean true H-step team return of the truly best
                                                       candidate, of all */
    bool exact;                                     /* all second executions gave the same bits */
    float *realized;                                /* [anchors][M] */
    int judges;
    mw_judge *judge; /* [judges]: every scorer that the bundle can serve, the world model first */
} mw_same_state;

/* Anchors are states at steps drawn uniformly so that H steps are left (and, in long episodes, among the
 * first 200). From each the M candidates are scored and executed in the simulator, twice. */
MW_API mw_status mw_same_state_run(mw_same_state *result, const mw_bundle *bundle,
                                   const mw_same_state_options *options, mw_error *error);
MW_API void mw_same_state_free(mw_same_state *result); /* its arrays; safe to call twice */

/* ---- diagnosis: recorded snippets ---------------------------------------------------------------------- */

enum { MW_SNIPPET_HORIZON = 16, MW_SNIPPET_GROUP = 8, MW_SNIPPET_POINTS = 120 };

typedef struct mw_snippet_options {
    size_t size;              /* of this struct, set by init */
    int count;                /* 2000 */
    uint64_t seed;            /* of the choice and the order of snippets (2000) */
    uint64_t split_seed;      /* of the training's split into trained and held-out episodes */
    double held_out;          /* the share it held out */
    int threads;              /* 1 to MW_MAX_THREADS; 0: one per core */
    const mw_stop_flag *stop; /* may be NULL; not 0: return MW_ERR_INTERRUPTED */
} mw_snippet_options;

/* With the split that the bundle's own provenance tells, so that its world model has not seen the snippets;
 * bundle may be NULL. */
MW_API void mw_snippet_options_init(mw_snippet_options *options, size_t size, const mw_bundle *bundle);

typedef struct mw_snippets {
    int count;    /* a multiple of MW_SNIPPET_GROUP */
    int horizons; /* 16, or less where fewer than a quarter of the held-out steps have as many ahead */
    mw_ranking ranking[MW_SNIPPET_HORIZON]; /* [h - 1]: of the returns of h steps, in groups of 8 */
    double error[MW_SNIPPET_HORIZON];       /* mean square of the observation after h imagined steps */
    int aligned;                            /* the horizon of the points: 8, or the last there is */
    int points;                             /* MW_SNIPPET_POINTS, or all where there are fewer */
    double realized[MW_SNIPPET_POINTS], predicted[MW_SNIPPET_POINTS]; /* returns of some snippets, both
                                                                         standardised over all */
    const char *scorer; /* whose imagination it is: "rwm", or another world model in a bundle without one */
    bool held_out;      /* of the very data that the world model was trained on, episodes that were held out;
                           false: of other data, or none was held out, so that they may have been trained
                           on */
} mw_snippets;

/* The world model rolled from the first observation of held-out snippets under their recorded actions. The
 * dataset has passed mw_dataset_check; options NULL: as the bundle's init fills them. */
MW_API mw_status mw_snippets_run(mw_snippets *result, const mw_bundle *bundle, const mw_dataset *dataset,
                                 const mw_snippet_options *options, mw_error *error);

/* All of it; what was not made is NULL. */
typedef struct mw_diagnosis {
    const mw_bundle *bundle;
    const mw_same_state *drawn, *planned;
    const mw_snippets *snippets;
} mw_diagnosis;

/* As JSON, like mw_eval_result_print and mw_eval_result_save. */
MW_API mw_status mw_diagnosis_print(const mw_diagnosis *diagnosis, const char *command, FILE *out,
                                    mw_error *error);
MW_API mw_status mw_diagnosis_save(const mw_diagnosis *diagnosis, const char *command, const char *path,
                                   mw_error *error);

#ifdef __cplusplus
}
#endif
#endif
