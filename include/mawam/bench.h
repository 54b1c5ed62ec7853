/* Measurements of speed: the machine's own sgemm rate, then scoring, generation and training steps, all in
 * one run, so that ratios mean something on a noisy machine. */
#ifndef MAWAM_BENCH_H
#define MAWAM_BENCH_H

#include "mawam/cpu.h"
#include "mawam/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    MW_BENCH_SCORE,
    MW_BENCH_GENERATE,
    MW_BENCH_SEQUENTIAL,
    MW_BENCH_TRAIN_WORLD,
    MW_BENCH_TRAIN_POLICY,
    MW_BENCH_ITEMS
};

typedef struct mw_bench_options {
    size_t size; /* of this struct, set by init */
    const char *task;
    bool paper;                           /* networks of the paper's sizes; else those of training */
    int envs, candidates, steps, horizon; /* E, M, K; horizon 0: the task's */
    int threads;                          /* 1 to MW_MAX_THREADS; 0: one per core */
    unsigned items;                       /* bits 1 << MW_BENCH_...: what to measure */
    double seconds;                       /* about how long to measure each item */
} mw_bench_options;

/* spread, networks of training, one environment with 8 candidates, 3 sampling steps; everything but training
 * steps, a second for each item. */
MW_API void mw_bench_options_init(mw_bench_options *options, size_t size);

typedef struct mw_bench_item {
    const char *name;
    bool measured;
    double ms;     /* median */
    double gflops; /* rate at the median */
    double share;  /* of the sgemm peak with the same number of threads */
    size_t bytes;  /* of workspace */
} mw_bench_item;

typedef struct mw_bench_report {
    double peak;     /* GFLOP/s of large single-precision products on all threads */
    double peak_one; /* on one */
    int threads, horizon;
    size_t world_parameters, policy_parameters;
    char sizes[1024]; /* JSON: what was measured, in enough detail to build the same networks elsewhere */
    mw_bench_item item[MW_BENCH_ITEMS];
} mw_bench_report;

MW_API mw_status mw_bench_run(const mw_bench_options *options, mw_bench_report *report, mw_error *error);

/* ---- the cost of planning, as the paper measures it ---------------------------------------------------- */

typedef struct mw_cost_options {
    size_t size;                 /* of this struct, set by init */
    int envs;                    /* playing together (4) */
    int sampling_steps, horizon; /* K (3) and H (8, or what the policy generates) */
    int repeats, warm_up, timed; /* 3 of 10 and 30 real steps */
    int threads;                 /* 1 to MW_MAX_THREADS; 0: one per core */
    const char *command;         /* for the provenance; may be NULL */
    /* After every bundle; left: seconds that the rest will take. May be NULL. */
    void (*progress)(void *context, const char *task, int done, int total, double left);
    void *context;
    const mw_stop_flag *stop; /* may be NULL; not 0: return MW_ERR_INTERRUPTED */
} mw_cost_options;
MW_API void mw_cost_options_init(mw_cost_options *options, size_t size);

/* Generation and scoring of M = 1, 2, 4, 8, 16 candidates, for every bundle and as a mean over them; at M = 8
 * also on one thread, and one candidate after the other. Fails if that changes a candidate. *json: the result
 * as text, to be freed; docs/evaluation.md says what is in it. */
MW_API mw_status mw_cost_run(char **json, const mw_bundle *const *bundles, int count,
                             const mw_cost_options *options, mw_error *error);

#ifdef __cplusplus
}
#endif
#endif
