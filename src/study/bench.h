/* Measurements of speed: the machine's own sgemm rate, then scoring, generation and training steps, all in
 * one run, so that ratios mean something on a noisy machine. */
#ifndef MW_STUDY_BENCH_H
#define MW_STUDY_BENCH_H

#include "model/flow/preset.h"
#include "model/rwm/network.h"

typedef struct mw_bench_options {
    const mw_task_shape *shape;
    bool paper;                           /* networks of the paper's sizes; else those of `mawam train` */
    int envs, candidates, steps, horizon; /* E, M, K; horizon 0: the task's */
    int threads;
    unsigned items; /* bits 1 << MW_BENCH_...: what to measure */
    double seconds; /* about how long to measure each item */
} mw_bench_options;

typedef struct mw_bench_item {
    bool measured;
    double ms;     /* median */
    double gflops; /* rate at the median */
    double share;  /* of the sgemm peak with the same number of threads */
    size_t bytes;  /* of workspace */
} mw_bench_item;

enum {
    MW_BENCH_SCORE,
    MW_BENCH_GENERATE,
    MW_BENCH_SEQUENTIAL,
    MW_BENCH_TRAIN_WORLD,
    MW_BENCH_TRAIN_POLICY,
    MW_BENCH_ITEMS
};

typedef struct mw_bench_report {
    double peak;     /* GFLOP/s of large single-precision products on all threads */
    double peak_one; /* on one */
    int threads, horizon;
    mw_policy_config policy;
    mw_world_config world;
    int policy_batch, world_batch, forecast_batch; /* rows of a training step */
    size_t world_parameters, policy_parameters;
    mw_bench_item item[MW_BENCH_ITEMS];
} mw_bench_report;

extern const char *const mw_bench_item_names[MW_BENCH_ITEMS];

mw_status mw_bench_run(const mw_bench_options *options, mw_bench_report *report, mw_error *error);

#endif
