/* How much memory training on a dataset larger than memory takes: makes a sparse dataset of the given size
 * (it takes no disk), reads all of it for checks, statistics and the normalisers, then draws batches from all
 * over it and trains both networks for some steps. Anonymous memory is what counts; mapped file pages are
 * cache that the system takes back when it wants.
 *
 *   data_memory FOLDER [GIGABYTES=20]      FOLDER must not exist; it is removed afterwards */
#include "core/clock.h"
#include "data/stats.h"
#include "data/transition.h"
#include "data/window.h"
#include "dataset/sparse.h"
#include "model/flow/flow.h"
#include "model/flow/trainer.h"
#include "model/rwm/trainer.h"
#include "train/preset.h"

#include <dirent.h>

#define MB 1048576.0

static double started;

static void say(const char *what) {
    printf("%-46s %7.1f s   anonymous %7.1f MB   mapped %8.1f MB   peak of both %8.1f MB\n", what,
           mw_clock_seconds() - started, sparse_memory("RssAnon") / MB, sparse_memory("RssFile") / MB,
           sparse_memory("VmHWM") / MB);
    fflush(stdout);
}

static void remove_folder(const char *folder) {
    DIR *stream = opendir(folder);
    for (struct dirent *entry; stream && (entry = readdir(stream));) {
        char *path = mw_path_join(folder, entry->d_name);
        if (entry->d_name[0] != '.' && path) unlink(path);
        free(path);
    }
    if (stream) closedir(stream);
    rmdir(folder);
}

static mw_status train_policy(const mw_dataset *d, const mw_split *split, const mw_data_stats *stats,
                              mw_error *error) {
    enum { BATCH = 64, STEPS = 5 };
    const mw_model_shape shape = {d->spec.agents, d->spec.obs_size, d->spec.act_size, d->spec.discrete};
    mw_preset preset = mw_preset_of("spread", MW_BUDGET_FULL);
    mw_model *model;
    MW_TRY(mw_preset_set(&preset, "flow.forecast=0", error)); /* its batches are not fed here */
    MW_TRY(
        mw_model_make(&model, &mw_flow_class, &preset.config[mw_model_class_index("flow")], &shape, error));
    const mw_flow_config config = mw_flow_net_of(model)->config;
    mw_window_config window = {config.context,         config.time - config.context, 0.99, 1,
                               &stats->obs_normalizer, &stats->act_normalizer};
    mw_window_rows rows;
    mw_flow_trainer *trainer;
    mw_adam adam = {.rate = 2e-4f, .beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-8f};
    MW_TRY(mw_window_rows_create(&rows, &d->spec, &window, BATCH, error));
    MW_TRY(mw_flow_trainer_create(&trainer, mw_flow_net_of(model), &adam, 0.995f, BATCH, 0, 4, NULL, error));
    size_t count = (size_t)BATCH * (size_t)config.time * (size_t)d->spec.agents * (size_t)d->spec.obs_size;
    float *noise = calloc(count, sizeof *noise), level[BATCH] = {0};
    for (uint64_t step = 0; noise && step < STEPS; step++) {
        mw_window_fill(&rows, BATCH, d, &window, &split->train, 1, step, MW_BATCH_POLICY);
        mw_flow_batch batch = {BATCH,       rows.trajectory, noise, level, level,
                               rows.target, level,           0,     NULL,  NULL};
        mw_flow_trainer_step(trainer, &batch, MW_STEP_UPDATE);
    }
    free(noise);
    mw_flow_trainer_free(trainer);
    mw_model_free(model);
    mw_window_rows_free(&rows);
    return MW_OK;
}

static mw_status train_world(const mw_dataset *d, const mw_split *split, mw_error *error) {
    enum { BATCH = 256, STEPS = 5 };
    mw_world_config config = mw_world_config_default();
    config.agents = d->spec.agents;
    config.obs = d->spec.obs_size;
    config.act = d->spec.act_size;
    mw_transition_rows rows;
    mw_world_net net;
    mw_world_trainer *trainer;
    mw_adam adam = {.rate = 3e-4f, .beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-8f, .clip = 10};
    MW_TRY(mw_transition_rows_create(&rows, &d->spec, BATCH, error));
    MW_TRY(mw_world_net_make(&net, &config, error));
    MW_TRY(mw_world_trainer_create(&trainer, &net, &adam, 0, BATCH, NULL, error));
    for (uint64_t step = 0; step < STEPS; step++) {
        mw_transition_fill(&rows, BATCH, d, &split->train, 1, step, MW_BATCH_WORLD);
        mw_transition_batch batch = {.count = BATCH,
                                     .obs = rows.obs,
                                     .act = rows.act,
                                     .next_obs = rows.next_obs,
                                     .reward = rows.reward};
        mw_world_trainer_step(trainer, &batch, true);
    }
    mw_world_trainer_free(trainer);
    mw_world_net_free(&net);
    mw_transition_rows_free(&rows);
    return MW_OK;
}

static mw_status measure(const char *folder, mw_error *error) {
    mw_dataset d;
    mw_split split;
    mw_data_stats stats;
    MW_TRY(mw_dataset_open(&d, folder, error));
    printf("%.2f GB in %ld episodes, %ld steps\n", mw_dataset_bytes(&d) / 1e9, d.episodes, d.steps);
    say("opened");
    MW_TRY(mw_dataset_check(&d, error));
    say("all values and checksums checked");
    MW_TRY(mw_split_make(&split, &d, MW_HELD_OUT, 1, error));
    MW_TRY(mw_data_stats_make(&stats, &d, &split.train, 0.99, true, error));
    say("statistics and normalisers");
    mw_dataset_expect_random(&d);
    MW_TRY(train_policy(&d, &split, &stats, error));
    say("5 steps of the proposer (64 segments each)");
    MW_TRY(train_world(&d, &split, error));
    say("5 steps of the world model (256 transitions)");
    mw_data_stats_free(&stats);
    mw_split_free(&split);
    mw_dataset_close(&d);
    return MW_OK;
}

int main(int argc, char **argv) {
    enum { AGENTS = 3, OBS = 18, ACT = 2, LENGTH = 25 }; /* as spread */
    if (argc < 2) return fprintf(stderr, "usage: data_memory FOLDER [GIGABYTES]\n"), 2;
    double gigabytes = argc > 2 ? atof(argv[2]) : 20;
    double episode = 4.0 * AGENTS * ((OBS + ACT + 1) * LENGTH + OBS) + 9;
    mw_error error;
    started = mw_clock_seconds();
    if (!sparse_make(argv[1], AGENTS, OBS, ACT, (long)(gigabytes * 1e9 / episode), LENGTH))
        return fprintf(stderr, "data_memory: cannot make '%s'\n", argv[1]), 1;
    mw_status status = measure(argv[1], &error);
    remove_folder(argv[1]);
    if (status != MW_OK) fprintf(stderr, "data_memory: %s\n", error.message);
    return status != MW_OK;
}
