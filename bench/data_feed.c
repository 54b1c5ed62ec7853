/* Whether preparing batches slows the networks down: trains the proposer on a dataset with batches prepared
 * in line and with batches prepared ahead, and prints the time of a step, of preparing its batch, and the
 * share of the time spent waiting for it.
 *
 *   data_feed DATASET [STEPS=40] */
#include "core/clock.h"
#include "data/prefetch.h"
#include "data/stats.h"
#include "data/window.h"
#include "model/flow/flow.h"
#include "model/flow/trainer.h"
#include "train/preset.h"

#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 64, SHARDS = 4 };

typedef struct feed {
    mw_dataset data;
    mw_split split;
    mw_data_stats stats;
    mw_window_config window;
    mw_window_rows slots[2];
    mw_model *model;
    mw_flow_trainer *trainer;
    mw_pool *pool;
    float *noise, rho[BATCH], lambda[BATCH], keep[BATCH];
    double preparing; /* seconds, of all batches so far */
} feed;

static void fill(void *context, uint64_t step, void *batch) {
    feed *f = context;
    const double start = mw_clock_seconds();
    mw_window_fill(batch, BATCH, &f->data, &f->window, &f->split.train, 1, step, MW_BATCH_POLICY);
    f->preparing += mw_clock_seconds() - start;
}

static void train(feed *f, const mw_window_rows *rows) {
    mw_flow_batch batch = {BATCH,        rows->trajectory, f->noise, f->rho, f->lambda,
                           rows->target, f->keep,          0,        NULL,   NULL};
    mw_flow_trainer_step(f->trainer, &batch, MW_STEP_UPDATE);
}

static mw_status setup(feed *f, const char *folder, int threads, mw_error *error) {
    mw_adam adam = {.rate = 2e-4f, .beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-8f};
    double start = mw_clock_seconds();
    MW_TRY(mw_dataset_open(&f->data, folder, error));
    MW_TRY(mw_dataset_check(&f->data, error));
    double checked = mw_clock_seconds();
    MW_TRY(mw_split_make(&f->split, &f->data, MW_HELD_OUT, 1, error));
    MW_TRY(mw_data_stats_make(&f->stats, &f->data, &f->split.train, 0.99, true, error));
    printf("%s: %ld steps, %.0f MB; check %.2f s, statistics and normalisers %.2f s\n", folder, f->data.steps,
           mw_dataset_bytes(&f->data) / 1e6, checked - start, mw_clock_seconds() - checked);
    printf("normaliser: %ld of %ld rows, %d constant features, knots cost at most %.5f (feature %d)\n",
           f->stats.obs_report.sampled, f->stats.obs_report.rows, f->stats.obs_report.constant,
           f->stats.obs_report.knot_error, f->stats.obs_report.worst_feature);
    const mw_dataset_spec *spec = &f->data.spec;
    mw_preset preset = mw_preset_of(spec->task, MW_BUDGET_FULL);
    MW_TRY(mw_preset_set(&preset, "flow.forecast=0", error)); /* its batches are not fed here */
    MW_TRY(mw_model_make(&f->model, &mw_flow_class, &preset.config[mw_model_class_index("flow")],
                         &(mw_model_shape){spec->agents, spec->obs_size, spec->act_size, spec->discrete},
                         error));
    const mw_flow_config config = mw_flow_net_of(f->model)->config;
    f->window = (mw_window_config){config.context,
                                   config.time - config.context,
                                   0.99,
                                   1,
                                   &f->stats.obs_normalizer,
                                   f->data.real ? &f->stats.act_normalizer : NULL};
    for (int i = 0; i < 2; i++)
        MW_TRY(mw_window_rows_create(&f->slots[i], &f->data.spec, &f->window, BATCH, error));
    MW_TRY(mw_pool_create(&f->pool, threads, error));
    MW_TRY(mw_flow_trainer_create(&f->trainer, mw_flow_net_of(f->model), &adam, 0.995f, BATCH, 0, SHARDS,
                                  f->pool, error));
    size_t cells = (size_t)config.time * (size_t)config.agents * (size_t)config.obs;
    f->noise = calloc(BATCH * cells, sizeof *f->noise);
    for (int i = 0; i < BATCH; i++) f->lambda[i] = i % 2 ? 0.7f : 0.4f, f->rho[i] = 0.4f, f->keep[i] = 1;
    return f->noise ? MW_OK : mw_fail(error, MW_ERR_MEMORY, "out of memory");
}

static mw_status measure(feed *f, int steps, mw_error *error) {
    double alone = 0, waiting = 0;
    fill(f, 0, &f->slots[0]);
    train(f, &f->slots[0]); /* warm up */
    f->preparing = 0;
    for (int s = 0; s < steps; s++) {
        fill(f, (uint64_t)s, &f->slots[0]);
        double start = mw_clock_seconds();
        train(f, &f->slots[0]);
        alone += mw_clock_seconds() - start;
    }
    printf("in line:  step %7.2f ms, preparing %6.2f ms more (%.1f%% of the time)\n", 1e3 * alone / steps,
           1e3 * f->preparing / steps, 100 * f->preparing / (f->preparing + alone));
    mw_prefetch *p;
    f->preparing = 0;
    MW_TRY(mw_prefetch_create(&p, fill, f, &f->slots[0], &f->slots[1], 0, error));
    mw_prefetch_next(p); /* which nothing was ready for */
    double start = mw_clock_seconds();
    for (int s = 0; s < steps; s++) {
        double asked = mw_clock_seconds();
        mw_window_rows *rows = mw_prefetch_next(p);
        waiting += mw_clock_seconds() - asked;
        train(f, rows);
    }
    double total = mw_clock_seconds() - start;
    mw_prefetch_free(p); /* whose thread has ended now */
    printf("ahead:    step %7.2f ms in all, waiting for batches %.2f%% of the time; the thread works %.1f%% "
           "of it\n",
           1e3 * total / steps, 100 * waiting / total, 100 * f->preparing / total);
    return MW_OK;
}

int main(int argc, char **argv) {
    if (argc < 2) return fprintf(stderr, "usage: data_feed DATASET [STEPS]\n"), 2;
    int steps = argc > 2 ? atoi(argv[2]) : 40;
    for (int threads = 1; threads <= 2; threads++) {
        static feed f;
        mw_error error;
        f = (feed){0};
        printf("-- %d thread%s of the network\n", threads, threads > 1 ? "s" : "");
        mw_status status = setup(&f, argv[1], threads, &error);
        if (status == MW_OK) status = measure(&f, steps, &error);
        if (status != MW_OK) return fprintf(stderr, "data_feed: %s\n", error.message), 1;
        mw_flow_trainer_free(f.trainer);
        mw_model_free(f.model);
        mw_pool_free(f.pool);
        for (int i = 0; i < 2; i++) mw_window_rows_free(&f.slots[i]);
        mw_data_stats_free(&f.stats);
        mw_split_free(&f.split);
        mw_dataset_close(&f.data);
        free(f.noise);
    }
    return 0;
}
