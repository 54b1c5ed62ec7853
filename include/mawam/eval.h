/* Evaluation: every arm of a bundle plays the same episodes, so that differences between arms are paired; and
 * diagnosis: how well predicted returns agree with true ones. Both are pure functions of the bundle, the
 * options and the seeds, whatever the threads. */
#ifndef MAWAM_EVAL_H
#define MAWAM_EVAL_H

#include "mawam/data.h"
#include "mawam/plan.h"

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
                         MW_ARM_STANDARD, /* how many are played unless others are named */
} mw_arm_id;

enum { MW_ARMS = 24 }; /* at most */

typedef struct mw_arm {
    const char *name, *help, *controller;
    char settings[128]; /* of the plan, where they differ from the bundle's */
} mw_arm;

/* The table goes on with an arm for every model that judges candidates; false past the end. */
MW_API bool mw_arm_at(int index, mw_arm *arm);
MW_API const char *mw_arm_name(int index); /* NULL past the end */
/* Can the bundle's parts serve it? */
MW_API bool mw_arm_available(int index, const mw_bundle *bundle);
/* "plan,reactive" -> the set of arms as bits 1 << index. */
MW_API mw_status mw_arms_parse(const char *text, unsigned *arms, mw_error *error);

/* ---- evaluation ---------------------------------------------------------------------------------------- */

/* Reported results use these seeds. Whatever is chosen by experiment must be chosen on others. */
#define MW_EVAL_FIRST_SEED 1000

typedef struct mw_eval_options {
    size_t size;                    /* of this struct, set by init */
    unsigned arms;                  /* 1 << index; 0: the standard ones that the bundle can serve */
    uint64_t first_seed;            /* MW_EVAL_FIRST_SEED */
    int seeds, episodes;            /* 5; episodes of each seed, 0: mw_eval_episodes_of the family */
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

/* Episodes of a seed that the protocol asks for: 40, battles 20, Ant 4. */
MW_API int mw_eval_episodes_of(const char *family);

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

/* A mean with its 95% bootstrap interval. */
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
    double oracle_share;                      /* of the oracle's gain over reactive, if it gains */
    mw_latency decision, generation, scoring; /* ms */
    double seconds;                           /* all episodes, wall clock */
    long decisions;
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

/* One planned episode as a page with the candidates of every decision: their scores and first actions, and
 * what they imagine where the task's observations hold places. */
MW_API mw_status mw_eval_replay(const mw_bundle *bundle, const mw_eval_options *options, const char *path,
                                mw_error *error);

/* ---- diagnosis: candidates of the same state ----------------------------------------------------------- */

/* How well predicted returns order realised ones, in groups. */
typedef struct mw_ranking {
    double pearson, spearman;         /* over all pairs at once; Spearman with average ranks */
    double top1, top2;                /* share of groups whose best is predicted first, among the first two */
    double pair_accuracy;             /* of pairs within a group whose realised values differ */
    double regret, normalized_regret; /* of taking the predicted best; normalised by the group's range */
} mw_ranking;

typedef struct mw_same_state_options {
    size_t size;                    /* of this struct, set by init */
    int anchors;                    /* 64 */
    const char *const *assignments; /* [assignment_count] of plan settings; candidates are judged by the
                                       world model and drawn without a warm start unless these say so */
    int assignment_count;
    uint64_t seed;               /* 2000 */
    int threads;                 /* 1 to MW_MAX_THREADS; 0: one per core */
    const mw_env_options *world; /* may be NULL */
    bool accept_rules;           /* as in mw_eval_options */
} mw_same_state_options;
MW_API void mw_same_state_options_init(mw_same_state_options *options, size_t size);

typedef struct mw_same_state {
    int anchors, candidates, horizon;
    char scorer[MW_NAME];
    char rules[MW_NAME];    /* of the world that was played in */
    long episodes;          /* that the anchors come from */
    mw_ranking ranking;     /* over all; its correlations see differences between states too */
    double spearman_within; /* mean over anchors of the correlation within each; NaN: none had two values */
    double random_regret, random_normalized_regret; /* of a uniform choice: the mean over all candidates */
    double best, chosen, average;                   /* mean true H-step team return of the truly best
                                                       candidate, of the predicted best, of all */
    bool exact;                                     /* all second executions gave the same bits */
    float *realized, *predicted;                    /* [anchors][M] */
} mw_same_state;

/* Anchors are states of reactive play, at steps drawn uniformly so that H steps are left (and, in long
 * episodes, among the first 200). From each the M candidates are scored and executed in the simulator, twice.
 */
MW_API mw_status mw_same_state_run(mw_same_state *result, const mw_bundle *bundle,
                                   const mw_same_state_options *options, mw_error *error);
MW_API void mw_same_state_free(mw_same_state *result); /* its arrays; safe to call twice */

/* ---- diagnosis: recorded snippets ---------------------------------------------------------------------- */

enum { MW_SNIPPET_HORIZON = 16, MW_SNIPPET_GROUP = 8 };

typedef struct mw_snippet_options {
    size_t size;         /* of this struct, set by init */
    int count;           /* 2000 */
    uint64_t seed;       /* of the choice and the order of snippets (2000) */
    uint64_t split_seed; /* of the training's split into trained and held-out episodes */
    double held_out;     /* the share it held out */
    int threads;         /* 1 to MW_MAX_THREADS; 0: one per core */
} mw_snippet_options;

/* With the split that the bundle's own provenance tells, so that its world model has not seen the snippets;
 * bundle may be NULL. */
MW_API void mw_snippet_options_init(mw_snippet_options *options, size_t size, const mw_bundle *bundle);

typedef struct mw_snippets {
    int count;    /* a multiple of MW_SNIPPET_GROUP */
    int horizons; /* 16, or less where fewer than a quarter of the held-out steps have as many ahead */
    mw_ranking ranking[MW_SNIPPET_HORIZON]; /* [h - 1]: of the returns of h steps, in groups of 8 */
    double error[MW_SNIPPET_HORIZON];       /* mean square of the observation after h imagined steps */
} mw_snippets;

/* The world model rolled from the first observation of held-out snippets under their recorded actions. The
 * dataset has passed mw_dataset_check; options NULL: as the bundle's init fills them. */
MW_API mw_status mw_snippets_run(mw_snippets *result, const mw_bundle *bundle, const mw_dataset *dataset,
                                 const mw_snippet_options *options, mw_error *error);

/* Both as JSON, like mw_eval_result_print and mw_eval_result_save; either may be NULL: not made. */
MW_API mw_status mw_diagnosis_print(const mw_bundle *bundle, const mw_same_state *same_state,
                                    const mw_snippets *snippets, const char *command, FILE *out,
                                    mw_error *error);
MW_API mw_status mw_diagnosis_save(const mw_bundle *bundle, const mw_same_state *same_state,
                                   const mw_snippets *snippets, const char *command, const char *path,
                                   mw_error *error);

#ifdef __cplusplus
}
#endif
#endif
