/* Evaluation: every arm plays the same episodes, so that differences between arms are paired. An episode is a
 * pure function of the bundle, the arm, the plan's settings and (seed, episode); how many environments play
 * together and on how many threads changes nothing but the time it takes. */
#ifndef MW_EVAL_EVAL_H
#define MW_EVAL_EVAL_H

#include "core/json.h"
#include "eval/controller.h"
#include "eval/statistics.h"

#include <signal.h>

/* Reported results use these seeds. Whatever is chosen by experiment must be chosen on others. */
#define MW_EVAL_FIRST_SEED 1000

typedef struct mw_eval_options {
    unsigned arms; /* 1 << index; 0: the standard ones that the bundle can serve */
    uint64_t first_seed;
    int seeds, episodes;            /* episodes of each seed */
    const char *const *assignments; /* [assignment_count] of plan settings, "candidates=16" */
    int assignment_count;
    int envs;    /* playing together; 0: as many as is good */
    int threads; /* 0: one per core */
    int timed;   /* decisions timed in one environment alone; 0: none */
    mw_env_options world;
    const char *behaviors;             /* folder of behaviour files; NULL: see mw_behavior_path */
    const volatile sig_atomic_t *stop; /* may be NULL; once it is not 0 the call fails with
                                          MW_ERR_INTERRUPTED */
    void (*progress)(void *context, int arm, long done, long total); /* may be NULL */
    void *context;
} mw_eval_options;

mw_eval_options mw_eval_options_default(void);
/* Episodes of a seed that the protocol asks for: 40, battles 20, Ant 4. */
int mw_eval_episodes_of(const char *family);

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

/* Means are over all episodes, standard deviations over the seeds' means. What does not apply is NaN. */
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

typedef struct mw_eval_result {
    mw_eval_options options; /* arms, episodes and envs filled in */
    mw_plan_settings plan;   /* of the plan arm */
    mw_env_info info;        /* of the task; task and rules are the bundle's strings */
    mw_eval_report arm[MW_ARMS];
} mw_eval_result;

/* Refuses a bundle whose sizes or rules are not the environment's. *result is empty after a failure. */
mw_status mw_eval_run(mw_eval_result *result, const mw_bundle *bundle, const mw_eval_options *options,
                      mw_error *error);
void mw_eval_result_free(mw_eval_result *result); /* safe to call twice */

/* All of it as JSON, to be released with json_decref; NULL: out of memory. */
json_t *mw_eval_json(const mw_eval_result *result, const mw_bundle *bundle);

/* One planned episode as a page with the candidates of every decision: their scores and first actions, and
 * what they imagine where the task's observations hold places. */
mw_status mw_eval_replay(const mw_bundle *bundle, const mw_eval_options *options, const char *path,
                         mw_error *error);

#endif
