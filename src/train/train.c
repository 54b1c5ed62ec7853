/* The training loop: parts one after the other, with log, validation, checkpoints and interruption; see
 * train.h. */
#include "train/train.h"

#include "core/clock.h"
#include "core/file.h"
#include "core/log.h"
#include "core/math.h"
#include "train/assemble.h"
#include "train/checkpoint.h"
#include "train/condition.h"
#include "train/training_log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECKPOINT_SECONDS 120.0
#define DIVERGED           1e3 /* a loss this many times the first one is no training any more */

enum { LOG_LINES = 200, LINES_PER_VALIDATION = 5 };

typedef struct {
    const mw_training_request *request;
    char checkpoint[1024], log[1024], picture[1024];
    mw_training_data data;
    mw_training_identity identity;
    mw_training_part *parts[MW_PARTS];
    mw_bundle *other;
    double means[MW_PARTS][MW_PART_LOSSES]; /* of the last line */
    double started, before; /* clock at the start of this run; seconds that earlier runs took */
    double saved;           /* clock at the last checkpoint */
    double total;           /* work of all parts that this run trains */
} training;

static double seconds_of(const training *t) {
    return t->before + mw_clock_seconds() - t->started;
}

/* ---- files ---- */

static mw_status make_paths(training *t, mw_error *error) {
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

static mw_status save(training *t, mw_error *error) {
    MW_TRY(mw_checkpoint_save(t->checkpoint, t->parts, &t->identity, seconds_of(t), error));
    MW_TRY(mw_training_log_draw(t->log, t->parts, t->data.dataset->spec.task, t->picture, error));
    t->saved = mw_clock_seconds();
    return MW_OK;
}

/* ---- one part ---- */

/* The norms of the last gradients together. */
static double gradient_of(const mw_training_part *part) {
    return mw_length(part->optimizers[0]->norm, part->optimizers[1] ? part->optimizers[1]->norm : 0);
}

/* Loss and gradient must be numbers, and the loss not far above that of the first line. */
static mw_status check_loss(const training *t, const mw_training_part *part, double loss, mw_error *error) {
    if (isfinite(loss) && isfinite(gradient_of(part)) && (part->first <= 0 || loss < DIVERGED * part->first))
        return MW_OK;
    char kept[1200] = "no checkpoint was written before";
    if (mw_file_exists(t->checkpoint))
        snprintf(kept, sizeof kept, "the last good state is in '%.200s'", t->checkpoint);
    return mw_fail(
        error, MW_ERR_NUMERIC,
        "training of the %s diverged at step %ld of %ld: loss %g, gradient %g; a smaller %s.rate or "
        "%s.clip may help; %s",
        part->name, part->step, part->steps, loss, gradient_of(part), part->name, part->name, kept);
}

static void validate(mw_training_part *part) {
    part->validate(part, part->held);
    const double loss = part->held[0] + part->held[1];
    if (!isfinite(loss) || (part->best_step > 0 && !(loss < part->best_held[0] + part->best_held[1]))) return;
    memcpy(part->best_held, part->held, sizeof part->held);
    part->best_step = part->step;
    if (!part->best_values) return;
    const mw_optimizer *o = part->optimizers[0];
    memcpy(part->best_values, o->average ? o->average : o->values, o->total * sizeof *o->values);
}

/* The end of a stretch of steps: their means go to the log, at times with a validation. */
static mw_status close_line(training *t, int which, long every, mw_error *error) {
    mw_training_part *part = t->parts[which];
    double *means = t->means[which];
    for (int i = 0; i < part->losses; i++) means[i] = part->sums[i] / (double)part->summed;
    MW_TRY(check_loss(t, part, means[0] + means[1], error));
    if (part->first <= 0) part->first = means[0] + means[1];
    const bool held =
        part->validate && (part->step % (every * LINES_PER_VALIDATION) == 0 || part->step == part->steps);
    if (held) validate(part);
    memset(part->sums, 0, sizeof part->sums);
    part->summed = 0;
    return mw_training_log_append(t->log, part, means, held ? part->held : NULL, seconds_of(t), error);
}

static void report_progress(const training *t, int which) {
    const mw_training_request *r = t->request;
    if (!r->progress) return;
    double done = 0;
    for (int i = 0; i < MW_PARTS; i++) done += r->skip[i] ? 0 : t->parts[i]->cost * (double)t->parts[i]->step;
    r->progress(r->context, &(mw_training_progress){.part = t->parts[which],
                                                    .means = t->means[which],
                                                    .seconds = seconds_of(t),
                                                    .done = done,
                                                    .total = t->total});
}

static mw_status step(training *t, int which, long every, mw_error *error) {
    mw_training_part *part = t->parts[which];
    double losses[MW_PART_LOSSES] = {0};
    part->advance(part, losses);
    part->step++;
    part->summed++;
    for (int i = 0; i < part->losses; i++) part->sums[i] += losses[i];
    if (!isfinite(losses[0] + losses[1]) || !isfinite(gradient_of(part)))
        return check_loss(t, part, losses[0] + losses[1], error);
    if (part->step % every == 0 || part->step == part->steps) MW_TRY(close_line(t, which, every, error));
    report_progress(t, which);
    return MW_OK;
}

static mw_status train_part(training *t, int which, mw_error *error) {
    const mw_training_request *r = t->request;
    mw_training_part *part = t->parts[which];
    const double period = r->checkpoint_seconds > 0 ? r->checkpoint_seconds : CHECKPOINT_SECONDS;
    const long every = part->steps / LOG_LINES < 1     ? 1
                       : part->steps / LOG_LINES > 100 ? 100
                                                       : part->steps / LOG_LINES;
    while (part->step < part->steps) {
        MW_TRY(step(t, which, every, error));
        if (r->stop && *r->stop) {
            MW_TRY(save(t, error));
            return mw_fail(
                error, MW_ERR_INTERRUPTED,
                "stopped at step %ld of %ld of the %s; the state is in '%.200s', --resume continues",
                part->step, part->steps, part->name, t->checkpoint);
        }
        if (mw_clock_seconds() - t->saved > period) MW_TRY(save(t, error));
    }
    return save(t, error);
}

/* ---- the whole ---- */

static mw_status prepare_data(training *t, mw_error *error) {
    const mw_training_request *r = t->request;
    mw_training_data *d = &t->data;
    const mw_training_preset *p = r->preset;
    mw_condition condition;
    d->dataset = r->dataset;
    d->preset = p;
    d->seed = r->seed;
    MW_TRY(mw_training_preset_check(p, error));
    MW_TRY(mw_assemble_check(d, t->other, error));
    MW_TRY(mw_dataset_check(r->dataset, error));
    MW_TRY(mw_split_make(&d->split, r->dataset, p->data.held_out, r->seed, error));
    MW_TRY(mw_data_stats_make(&d->stats, r->dataset, &d->split.train, p->policy.discount, true, error));
    MW_TRY(mw_condition_of(&condition, r->dataset, &d->split.train, p->policy.discount,
                           p->policy.return_scale, p->plan.quantile, error));
    d->return_scale = condition.scale;
    d->target = isnan(p->plan.target) ? condition.target : p->plan.target;
    return mw_pool_create(&d->pool, r->threads, error);
}

static void destroy_parts(training *t) {
    for (int i = 0; i < MW_PARTS; i++) {
        mw_training_part_free(t->parts[i]);
        t->parts[i] = NULL;
    }
}

static mw_status create_parts(training *t, mw_error *error) {
    MW_TRY(mw_policy_part_create(&t->parts[0], &t->data, error));
    return mw_world_part_create(&t->parts[1], &t->data, error);
}

/* Where the checkpoint stands, or from the start with an empty log. */
static mw_status prepare_state(training *t, mw_error *error) {
    MW_TRY(create_parts(t, error));
    if (t->request->resume && mw_file_exists(t->checkpoint)) {
        mw_status status = mw_checkpoint_load(t->checkpoint, t->parts, &t->identity, &t->before, error);
        if (status == MW_OK) status = mw_training_log_rewind(t->log, t->parts, error);
        if (!t->request->replace || (status != MW_ERR_MISMATCH && status != MW_ERR_FORMAT)) return status;
        t->before = 0; /* what was loaded so far goes too */
        destroy_parts(t);
        MW_TRY(create_parts(t, error));
    } else if (mw_file_exists(t->checkpoint))
        return mw_fail(
            error, MW_ERR_ARGUMENT,
            "'%.200s' holds an unfinished training; --resume continues it, removing it starts anew",
            t->checkpoint);
    return mw_file_write(t->log, "", 0, error);
}

/* A bundle of the same data, settings and seed is what this training would arrive at. */
static mw_status finished_before(training *t, bool *finished, mw_error *error) {
    mw_bundle *bundle;
    json_t *root = NULL;
    *finished = false;
    if (!t->request->resume || t->request->with || mw_file_exists(t->checkpoint) ||
        !mw_file_exists(t->request->output))
        return MW_OK;
    MW_TRY(mw_bundle_load(&bundle, t->request->output, error));
    mw_status status =
        mw_json_parse(&root, bundle->provenance, strlen(bundle->provenance), t->request->output, error);
    if (status == MW_OK) {
        json_t *theirs = json_object_get(root, "dataset"), *identity = json_object();
        const char *key, *seed = json_string_value(json_object_get(root, "seed"));
        json_t *value;
        json_object_foreach(t->identity.dataset, key, value)
            json_object_set(identity, key, json_object_get(theirs, key));
        char what[300];
        snprintf(what, sizeof what, "'%.200s' is finished but", t->request->output);
        status = mw_training_identity_check(&t->identity, json_object_get(root, "settings"), identity,
                                            seed ? strtoull(seed, NULL, 10) : 0, what, error);
        json_decref(identity);
        *finished = status == MW_OK;
    }
    json_decref(root);
    mw_bundle_free(bundle);
    return status;
}

static mw_status finish(training *t, mw_training_report *report, mw_error *error) {
    bool *complete = &report->complete;
    *complete = true;
    for (int i = 0; i < MW_PARTS; i++)
        *complete &= t->parts[i]->step == t->parts[i]->steps || (t->request->skip[i] && t->other);
    if (!*complete) return MW_OK;
    MW_TRY(mw_assemble(t->request, &t->data, t->parts, &t->identity, t->other, t->log, seconds_of(t),
                       &report->advantage, error));
    unlink(t->checkpoint);
    return MW_OK;
}

static void fill_report(const training *t, mw_training_report *report) {
    const mw_moments *reward = &t->data.stats.reward;
    const double unit = t->data.preset->world.paper ? 1 : reward->scale;
    report->seconds = seconds_of(t);
    report->return_scale = t->data.return_scale;
    report->target = t->data.target;
    memcpy(report->policy_held, t->parts[0]->held, sizeof report->policy_held);
    memcpy(report->world_held, t->parts[1]->best_held, sizeof report->world_held);
    report->best_step = t->parts[1]->best_step;
    report->reward_unexplained = report->world_held[1] * unit * unit / (reward->scale * reward->scale);
}

static mw_status run(training *t, mw_training_report *report, mw_error *error) {
    const mw_training_request *r = t->request;
    MW_TRY(make_paths(t, error));
    if (r->with) MW_TRY(mw_bundle_load(&t->other, r->with, error));
    t->identity = (mw_training_identity){.settings = mw_training_preset_json(r->preset), .seed = r->seed};
    if (!t->identity.settings) return mw_fail(error, MW_ERR_MEMORY, "cannot describe the settings");
    MW_TRY(mw_dataset_identity(&t->identity.dataset, r->dataset, false, error));
    MW_TRY(finished_before(t, &report->finished_before, error));
    if (report->finished_before) {
        report->complete = true;
        return MW_OK;
    }
    MW_TRY(prepare_data(t, error));
    MW_TRY(prepare_state(t, error));
    mw_dataset_expect_random(r->dataset);
    for (int i = 0; i < MW_PARTS; i++)
        t->total += r->skip[i] ? 0 : t->parts[i]->cost * (double)t->parts[i]->steps;
    t->saved = mw_clock_seconds();
    for (int i = 0; i < MW_PARTS; i++) {
        mw_training_part *part = t->parts[i];
        if (r->skip[i] || part->step == part->steps) continue;
        MW_TRY(part->start(part, error));
        const mw_status status = train_part(t, i, error);
        part->stop(part);
        MW_TRY(status);
    }
    fill_report(t, report);
    return finish(t, report, error);
}

mw_status mw_training_run(const mw_training_request *request, mw_training_report *report, mw_error *error) {
    training *t = calloc(1, sizeof *t);
    *report = (mw_training_report){0};
    if (!t) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a training");
    t->request = request;
    t->started = mw_clock_seconds();
    const mw_status status = run(t, report, error);
    destroy_parts(t);
    mw_bundle_free(t->other);
    json_decref(t->identity.settings);
    json_decref(t->identity.dataset);
    mw_data_stats_free(&t->data.stats);
    mw_split_free(&t->data.split);
    mw_pool_free(t->data.pool);
    free(t);
    return status;
}
