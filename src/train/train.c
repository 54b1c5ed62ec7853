/* The training loop: parts one after the other, with log, validation, checkpoints and interruption; see
 * train.h. */
#include "train/training.h"

#include "core/machine/memory.h"
#include "train/training_log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECKPOINT_SECONDS 120.0
#define DIVERGED           1e3 /* a loss this many times the first one is no training any more */

enum { LOG_LINES = 200, LINES_PER_VALIDATION = 5 };

_Static_assert((int)MW_PART_LOSSES == (int)MW_LOSSES, "reports have room for all losses of a model");

/* ---- files ---- */

static mw_status make_paths(mw_training *t, mw_error *error) {
    const char *output = t->request->output, suffix[] = ".safetensors";
    size_t stem = strlen(output);
    if (stem >= sizeof suffix && !strcmp(output + stem - (sizeof suffix - 1), suffix))
        stem -= sizeof suffix - 1;
    if (stem == 0 || stem > 900)
        return mw_fail(error, MW_ERR_ARGUMENT, "'%.64s' cannot be the name of a bundle", output);
    snprintf(t->checkpoint, sizeof t->checkpoint, "%.*s.train.safetensors", (int)stem, output);
    snprintf(t->log, sizeof t->log, "%.*s.jsonl", (int)stem, output);
    snprintf(t->picture, sizeof t->picture, "%.*s.svg", (int)stem, output);
    return MW_OK;
}

/* A finished bundle, and what may be another's under the names of the log and the picture. What is no bundle
 * is nothing that a training made. */
static mw_status refuse_replacing(const mw_training *t, mw_error *error) {
    const char *const files[] = {t->request->output, t->log, t->picture};
    bool bundle = true;
    if (!t->request->replace && mw_file_exists(files[0]))
        MW_TRY(mw_bundle_recognise(&bundle, files[0], error));
    if (!bundle)
        return mw_fail(error, MW_ERR_ARGUMENT, "'%.300s' is there and is no bundle: it is not replaced",
                       files[0]);
    if (t->request->options.resume || t->request->options.overwrite || mw_file_exists(t->checkpoint))
        return MW_OK;
    for (int i = 0; i < 3; i++)
        if (mw_file_exists(files[i]))
            return mw_fail(error, MW_ERR_ARGUMENT, "'%.300s' %s; 'overwrite' replaces it", files[i],
                           i ? "is there without its bundle, of a training that broke off or somebody else's"
                             : "is finished");
    return MW_OK;
}

static mw_status save(mw_training *t, mw_error *error) {
    MW_TRY(mw_dataset_intact(t->data.dataset, error)); /* the last validation may have met its loss */
    MW_TRY(mw_checkpoint_save(t->checkpoint, &t->state, mw_training_seconds(t), error));
    MW_TRY(mw_training_log_draw(t->log, &t->state, t->data.dataset->spec.task, t->picture, error));
    t->saved = mw_clock_seconds();
    return MW_OK;
}

/* ---- one part ---- */

static double gradient_of(const mw_training_part *part) {
    return part->optimizer ? mw_optimizer_norm(part->optimizer) : 0;
}

/* Loss and gradient must be numbers, and the loss not far above that of the first line. */
static mw_status check_loss(const mw_training *t, const mw_training_part *part, double loss,
                            mw_error *error) {
    if (isfinite(loss) && isfinite(gradient_of(part)) && (part->first <= 0 || loss < DIVERGED * part->first))
        return MW_OK;
    char kept[1200] = "no checkpoint was written before, 'overwrite' starts anew";
    if (mw_file_exists(t->checkpoint))
        snprintf(kept, sizeof kept, "the last good state is in '%.200s'", t->checkpoint);
    return mw_fail(
        error, MW_ERR_NUMERIC,
        "training of the %s diverged at step %ld of %ld: loss %g, gradient %g; a smaller %s.rate or "
        "%s.clip may help; %s",
        part->name, part->step, part->steps, loss, gradient_of(part), part->name, part->name, kept);
}

/* False: the losses are not finite, and not remembered. */
static bool validate(mw_training_part *part) {
    double held[MW_LOSSES] = {0};
    part->validate(part, held);
    for (int i = 0; i < part->losses; i++)
        if (!isfinite(held[i])) return false;
    memcpy(part->held, held, sizeof held);
    if (part->best_step > 0 &&
        !(mw_training_part_loss(part, held) < mw_training_part_loss(part, part->best_held)))
        return true;
    memcpy(part->best_held, held, sizeof held);
    part->best_step = part->step;
    const mw_optimizer *o = part->optimizer;
    if (part->best_values && o)
        memcpy(part->best_values, o->average ? o->average : o->values, o->total * sizeof *o->values);
    return true;
}

/* The end of a stretch of steps: their means go to the log, at times with a validation. */
static mw_status close_line(mw_training *t, int which, long every, mw_error *error) {
    mw_training_part *part = t->state.part[which];
    double *means = t->means[which];
    for (int i = 0; i < part->losses; i++) means[i] = part->sums[i] / (double)part->summed;
    const double loss = mw_training_part_loss(part, means);
    MW_TRY(check_loss(t, part, loss, error));
    if (part->first <= 0) part->first = loss;
    const bool due = part->step % (every * LINES_PER_VALIDATION) == 0 || part->step == part->steps,
               held = part->validate && due && validate(part);
    memset(part->sums, 0, sizeof part->sums);
    part->summed = 0;
    t->lines[which] = true;
    return mw_training_log_append(t->log, part, means, held ? part->held : NULL, mw_training_seconds(t),
                                  error);
}

static void report_progress(const mw_training *t, int which) {
    const mw_training_request *r = t->request;
    if (!r->options.progress) return;
    double done = 0;
    for (int i = 0; i < t->state.count; i++)
        done += t->trains[i] ? t->state.part[i]->cost * (double)t->state.part[i]->step : 0;
    const mw_training_part *part = t->state.part[which];
    r->options.progress(r->options.context,
                        &(mw_training_progress){.part = part->name,
                                                .step = part->step,
                                                .steps = part->steps,
                                                .losses = part->minimised ? part->minimised : part->losses,
                                                .loss_names = part->loss_names,
                                                .means = t->lines[which] ? t->means[which] : NULL,
                                                .held = part->best_step > 0 ? part->held : NULL,
                                                .seconds = mw_training_seconds(t),
                                                .cost = part->cost,
                                                .done = done,
                                                .total = t->total});
}

static mw_status step(mw_training *t, int which, long every, mw_error *error) {
    mw_training_part *part = t->state.part[which];
    double losses[MW_LOSSES] = {0};
    const mw_status status = part->advance(part, losses, error);
    MW_TRY(mw_dataset_intact(t->data.dataset, error));
    MW_TRY(status);
    part->step++;
    part->summed++;
    for (int i = 0; i < part->losses; i++) part->sums[i] += losses[i];
    const double loss = mw_training_part_loss(part, losses);
    if (!isfinite(loss) || !isfinite(gradient_of(part))) return check_loss(t, part, loss, error);
    if (part->step % every == 0 || part->step == part->steps) MW_TRY(close_line(t, which, every, error));
    report_progress(t, which);
    return MW_OK;
}

static mw_status train_part(mw_training *t, int which, mw_error *error) {
    const mw_training_request *r = t->request;
    mw_training_part *part = t->state.part[which];
    const double period = r->checkpoint_seconds > 0 ? r->checkpoint_seconds : CHECKPOINT_SECONDS;
    const long every = part->steps / LOG_LINES < 1     ? 1
                       : part->steps / LOG_LINES > 100 ? 100
                                                       : part->steps / LOG_LINES;
    while (part->step < part->steps) {
        const mw_status status = step(t, which, every, error);
        if (status != MW_OK && status != MW_ERR_INTERRUPTED) return status;
        if (mw_stopped(r->options.stop)) {
            MW_TRY(save(t, error));
            return mw_fail(
                error, MW_ERR_INTERRUPTED,
                "stopped at step %ld of %ld of the %s; the state is in '%.200s', 'resume' continues",
                part->step, part->steps, part->name, t->checkpoint);
        }
        if (mw_clock_seconds() - t->saved > period) MW_TRY(save(t, error));
    }
    return save(t, error);
}

/* ---- the whole ---- */

static mw_status run(mw_training *t, mw_training_report *report, mw_error *error) {
    const mw_training_request *r = t->request;
    MW_TRY(make_paths(t, error));
    MW_TRY(mw_file_writable(r->output, error));
    MW_TRY(mw_file_writable(t->checkpoint, error));
    MW_TRY(mw_file_writable(t->picture, error));
    MW_TRY(mw_lock_take(&t->lock, r->output, error));
    MW_TRY(refuse_replacing(t, error));
    if (r->options.with) MW_TRY(mw_bundle_load(&t->other, r->options.with, error));
    MW_TRY(mw_training_data_prepare(t, error));
    MW_TRY(mw_training_finished_before(t, &report->finished_before, error));
    report->complete = report->finished_before;
    if (report->finished_before) return MW_OK;
    mw_training_estimate estimate = {.free_bytes = (double)mw_memory_free()};
    t->used = mw_memory_used();
    if (!r->options.force)
        mw_memory_limit(t->used + (size_t)(0.75 * estimate.free_bytes)); /* others live here too */
    MW_TRY(mw_training_state_prepare(t, error));
    for (int i = 0; i < t->state.count; i++)
        t->total += t->trains[i] ? t->state.part[i]->cost * (double)t->state.part[i]->steps : 0;
    if (r->options.begin) {
        estimate.bytes = (double)t->bytes;
        mw_training_foresee(&estimate, &t->state, t->trains, t->data.pool);
        r->options.begin(r->options.context, &estimate);
    }
    mw_dataset_expect_random(r->dataset);
    t->saved = mw_clock_seconds();
    for (int i = 0; i < t->state.count; i++) {
        mw_training_part *part = t->state.part[i];
        if (!t->trains[i] || part->step == part->steps) continue;
        if (part->start) MW_TRY(part->start(part, error));
        const mw_status status = train_part(t, i, error);
        if (part->stop) part->stop(part);
        MW_TRY(status);
    }
    MW_TRY(mw_training_tell(t, report, error));
    if (!report->complete) return MW_OK;
    const mw_status status = mw_training_assemble(t, report, error);
    report->complete = status == MW_OK;
    if (status == MW_OK) unlink(t->checkpoint);
    return status;
}

mw_status mw_training_run(const mw_training_request *request, mw_training_report *report, mw_error *error) {
    mw_training *t = calloc(1, sizeof *t);
    *report = (mw_training_report){0};
    if (!t) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a training");
    t->request = request;
    t->started = mw_clock_seconds();
    const mw_status status = run(t, report, error);
    if (status != MW_OK) mw_training_report_free(report);
    mw_memory_limit(0);
    mw_lock_release(&t->lock);
    mw_training_parts_free(t);
    mw_bundle_free(t->other);
    mw_provenance_free(&t->state.identity);
    mw_data_stats_free(&t->data.stats);
    mw_split_free(&t->data.split);
    mw_pool_free(t->data.pool);
    free(t);
    return status;
}
