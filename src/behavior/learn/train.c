/* Learning runs; see train.h. */
#include "behavior/learn/train.h"

#include "behavior/behavior.h"
#include "behavior/learn/curve.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/numbers.h"
#include "core/options.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CHECKPOINT_SECONDS 60

typedef struct {
    char state[512], curve[512], picture[512], snapshots[512];
} paths;

static mw_status make_paths(paths *p, const char *folder, mw_error *error) {
    if (strlen(folder) > 400) return mw_fail(error, MW_ERR_ARGUMENT, "the folder's name is too long");
    MW_TRY(mw_dir_make(folder, error)); /* "" is no folder: what goes below it would go to the root */
    snprintf(p->state, sizeof p->state, "%s/state.safetensors", folder);
    snprintf(p->curve, sizeof p->curve, "%s/curve.jsonl", folder);
    snprintf(p->picture, sizeof p->picture, "%s/curve.svg", folder);
    snprintf(p->snapshots, sizeof p->snapshots, "%s/snapshots", folder);
    return mw_dir_make(p->snapshots, error);
}

/* The policy of this moment as a behaviour of its own, noise as it explores now. */
static mw_status save_snapshot(const mw_learner *l, const paths *p, uint64_t seed,
                               const mw_learn_report *report, mw_error *error) {
    char path[640];
    mw_actor actor;
    mw_behavior behavior = {.noise = (float)report->action_std};
    const mw_env_info *info = mw_learner_world(l);
    snprintf(behavior.task, sizeof behavior.task, "%s", info->task);
    snprintf(behavior.rules, sizeof behavior.rules, "%s", info->rules);
    snprintf(behavior.quality, sizeof behavior.quality, "snapshot");
    snprintf(behavior.origin, sizeof behavior.origin, "mawam behavior train %s --seed %llu, step %.0f",
             mw_learner_preset(l)->task, (unsigned long long)seed, report->steps);
    snprintf(path, sizeof path, "%s/%012.0f.safetensors", p->snapshots, report->steps);
    MW_TRY(mw_learner_actor(l, &actor, error));
    mw_status status = mw_behavior_add(&behavior, &actor, report->steps, error);
    if (status == MW_OK) status = mw_behavior_save(&behavior, path, error);
    mw_behavior_free(&behavior);
    mw_actor_free(&actor);
    return status;
}

/* The k-th of K snapshots comes at the share (k/K)^2 of the run: dense at first, where policies change most.
 */
static bool snapshot_due(long iteration, long iterations, int snapshots) {
    double before = floor(snapshots * sqrt((double)(iteration - 1) / (double)iterations));
    return iteration == iterations ||
           floor(snapshots * sqrt((double)iteration / (double)iterations)) > before;
}

static mw_status checkpoint(const mw_learner *l, const paths *p, mw_error *error) {
    MW_TRY(mw_learner_save(l, p->state, error));
    return mw_file_exists(p->curve) ? mw_curve_draw(p->curve, p->picture, mw_learner_preset(l)->task, error)
                                    : MW_OK;
}

static mw_status run(mw_learner *l, const mw_learn_options *options, const paths *p, uint64_t seed,
                     double before, mw_error *error) {
    const long iterations = mw_learner_iterations(l);
    const double start = mw_clock_seconds();
    double saved = start;
    mw_learn_report report = {.action_std = mw_learner_std(l)};
    if (mw_learner_iteration(l) == 0) MW_TRY(save_snapshot(l, p, seed, &report, error));
    while (mw_learner_iteration(l) < iterations) {
        MW_TRY(mw_learner_iterate(l, &report, error));
        const double now = mw_clock_seconds(), seconds = before + now - start;
        MW_TRY(mw_curve_append(p->curve, &report, seconds, error));
        if (snapshot_due(report.iteration, iterations, mw_learner_preset(l)->snapshots))
            MW_TRY(save_snapshot(l, p, seed, &report, error));
        if (options->report) options->report(options->context, &report, seconds, iterations);
        if (mw_stopped(options->stop)) {
            MW_TRY(checkpoint(l, p, error));
            return mw_fail(error, MW_ERR_INTERRUPTED, "stopped after %.0f steps; 'resume' continues",
                           report.steps);
        }
        if (now - saved > CHECKPOINT_SECONDS) {
            MW_TRY(checkpoint(l, p, error));
            saved = now;
        }
    }
    return checkpoint(l, p, error);
}

/* What the run is learned with: the options' word, or the checkpoint's when resuming. */
static mw_status settle(const mw_learn_options *options, const char *folder, const paths *p, bool resume,
                        mw_learn_preset *preset, uint64_t *seed, mw_error *error) {
    *preset = *options->preset;
    *seed = options->seed;
    if (!resume) return MW_OK;
    MW_TRY(mw_learner_peek(p->state, preset, seed, error));
    if (options->prolong > 0) preset->steps = options->prolong;
    if (!strcmp(preset->task, options->preset->task)) return MW_OK;
    return mw_fail(error, MW_ERR_MISMATCH, "%s holds a run of %s, not of %s", folder, preset->task,
                   options->preset->task);
}

/* Snapshots without a state are those of a run that was killed before its first checkpoint. They must not mix
 * with another's: going on from the beginning makes them anew, anything else is refused. */
static mw_status clear_snapshots(const paths *p, bool remove_them, mw_error *error) {
    DIR *folder = opendir(p->snapshots);
    mw_status status = MW_OK;
    if (!folder) return MW_OK;
    for (struct dirent *entry; status == MW_OK && (entry = readdir(folder));) {
        char path[1024], *end;
        strtoll(entry->d_name, &end, 10);
        if (end == entry->d_name || strcmp(end, ".safetensors")) continue;
        snprintf(path, sizeof path, "%.700s/%.255s", p->snapshots, entry->d_name);
        if (remove_them)
            unlink(path);
        else
            status = mw_fail(error, MW_ERR_ARGUMENT,
                             "'%.400s' is of a run that was stopped before its first checkpoint; 'resume' "
                             "begins it again, another folder another one",
                             path);
    }
    closedir(folder);
    return status;
}

mw_status mw_train(const mw_game *game, const char *folder, const mw_learn_options *options,
                   mw_error *error) {
    paths p;
    mw_learner *learner;
    mw_learn_preset preset;
    uint64_t seed;
    double before = 0;
    MW_TRY(make_paths(&p, folder, error));
    const bool resume = options->resume && mw_file_exists(p.state);
    if (!resume && mw_file_exists(p.state))
        return mw_fail(error, MW_ERR_ARGUMENT, "%s already holds a run; 'resume' continues it", folder);
    if (!resume) MW_TRY(clear_snapshots(&p, options->resume, error));
    MW_TRY(settle(options, folder, &p, resume, &preset, &seed, error));
    MW_TRY(mw_learner_create(&learner, &preset, game, seed, options->threads, error));
    mw_status status = resume ? mw_learner_load(learner, p.state, error) : MW_OK;
    if (status == MW_OK) status = mw_curve_rewind(p.curve, mw_learner_iteration(learner), &before, error);
    if (status == MW_OK) status = run(learner, options, &p, seed, before, error);
    mw_learner_free(learner);
    return status;
}

/* ---- by name ---- */

static const mw_learn_options defaults = {.size = sizeof defaults};

void mw_learn_options_init(mw_learn_options *options, size_t size) {
    mw_options_fill(options, size, &defaults, sizeof defaults);
}

mw_status mw_behavior_learn(const char *task, const char *folder, const mw_learn_options *given,
                            mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED(task);
    MW_NEED(folder);
    mw_learn_options options = defaults;
    MW_TRY(mw_options_take(&options, sizeof options, MW_FIELD_END(mw_learn_options, context), given,
                           "mw_learn_options_init", error));
    if (!options.preset) options.preset = mw_learn_preset_find(task);
    if (!options.preset) return mw_fail(error, MW_ERR_ARGUMENT, "no preset for '%.64s'", task);
    if (strcmp(options.preset->task, task) != 0)
        return mw_fail(error, MW_ERR_MISMATCH, "the preset is of '%.20s', not of '%.64s'",
                       options.preset->task, task);
    const mw_task_game task_game = {task, options.world};
    const mw_game game = mw_game_of_task(&task_game);
    return mw_train(&game, folder, &options, error);
}
