/* The stages that every setting goes through: data, training, evaluation, diagnosis; see run.h. */
#include "study/run.h"

#include "core/clock.h"
#include "core/file.h"
#include "eval/diagnosis.h"
#include "eval/eval.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- data ---- */

static json_t *data_inputs(const mw_run *c) {
    char behavior[17], seed[24];
    snprintf(behavior, sizeof behavior, "%016llx", (unsigned long long)c->behavior);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)c->options->seed);
    return json_pack("{s:s, s:s, s:s, s:s, s:I}", "setting", c->name, "rules", c->rules, "behavior", behavior,
                     "seed", seed, "transitions", (json_int_t)c->transitions);
}

/* The command pins seed and number of transitions; the behaviour and the rules are compared as well. Damaged
 * data are made again. */
static bool data_current(mw_run *c) {
    mw_dataset d;
    mw_error error;
    if (mw_dataset_open(&d, c->data, &error) != MW_OK) return false;
    const mw_dataset_spec *s = &d.spec;
    const bool same = !strcmp(s->task, c->setting->task) && !strcmp(s->quality, c->setting->quality) &&
                      !strcmp(s->rules, c->rules) && !strcmp(s->command, c->data_command) &&
                      s->source_count == 1 && s->sources[0].checksum == c->behavior &&
                      mw_dataset_check(&d, &error) == MW_OK;
    mw_dataset_close(&d);
    return same;
}

static void data_progress(void *context, long steps, long total) {
    mw_run *c = context;
    if (c->progress) c->progress(c->context, (double)steps / (double)total, "");
}

static mw_status data_run(mw_run *c, mw_error *error) {
    mw_make_result r;
    mw_make_options options;
    mw_make_options_init(&options, sizeof options);
    options.behaviors = c->options->behaviors;
    options.transitions = c->transitions;
    options.seed = c->options->seed;
    options.threads = c->options->threads;
    options.overwrite = true;
    options.command = c->data_command;
    options.stop = c->options->stop;
    options.progress = data_progress;
    options.context = c;
    MW_TRY(mw_dataset_make(c->name, c->data, &options, &r, error));
    snprintf(c->note, sizeof c->note, "%ld episodes, return %.4g +- %.3g, score %.4g", r.episodes, r.mean,
             r.std, mw_score(c->setting->task, r.mean));
    return MW_OK;
}

const mw_stage mw_stage_data = {
    .name = "data", .folder = "data", .inputs = data_inputs, .current = data_current, .run = data_run};

/* ---- training ---- */

static json_t *train_inputs(const mw_run *c) {
    char seed[24];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)c->job->seed);
    return json_pack("{s:s, s:o}", "seed", seed, "settings", mw_preset_json(&c->preset));
}

/* Data, split and seed that parts must be of, and the preset settled on the data; false: it cannot be read.
 */
static bool find_origin(const mw_run *c, const mw_preset *preset, mw_provenance *origin, mw_preset *settled) {
    mw_dataset d;
    mw_error error;
    char checksum[17];
    if (mw_dataset_open(&d, c->data, &error) != MW_OK) return false;
    *settled = *preset;
    const bool found = mw_dataset_checksum(checksum, &d, &error) == MW_OK &&
                       mw_training_settle(settled, &d, c->job->seed, &error) == MW_OK;
    mw_dataset_close(&d);
    if (found) mw_provenance_init(origin, checksum, c->job->seed, preset->held_out, 1);
    return found;
}

unsigned mw_run_kept_parts(const mw_run *c, const mw_preset *preset, const char *path, bool *plan) {
    mw_bundle *bundle;
    mw_error error;
    mw_provenance origin;
    mw_preset settled;
    unsigned kept = 0;
    *plan = false;
    if (!mw_file_exists(path) || mw_bundle_load(&bundle, path, &error) != MW_OK) return 0;
    if (find_origin(c, preset, &origin, &settled)) {
        for (int i = 0; mw_model_class_at(i); i++) {
            const mw_bundle_part *part = mw_bundle_find(bundle, mw_model_class_at(i)->name);
            if (settled.parts & 1u << i && part && mw_training_same(&settled, part, &origin)) kept |= 1u << i;
        }
        *plan = !mw_training_plan_difference(&settled.plan, bundle);
        mw_provenance_free(&origin);
    }
    mw_bundle_free(bundle);
    return kept;
}

/* All settings count here, those of planning too: the bundle holds them. */
static bool is_current(const mw_run *c, const char *path) {
    bool plan;
    return mw_run_kept_parts(c, &c->preset, path, &plan) == c->preset.parts && plan;
}

static bool train_current(mw_run *c) {
    if (!mw_file_exists(c->bundle) && is_current(c, c->earlier_bundle)) rename(c->earlier_bundle, c->bundle);
    if (!is_current(c, c->bundle)) return false;
    unlink(c->earlier_bundle);
    mw_run_find_checksum(c);
    return true;
}

static void train_progress(void *context, const mw_training_progress *p) {
    mw_run *c = context;
    char note[96];
    if (!c->progress) return;
    const int used = snprintf(note, sizeof note, "%.40s %ld/%ld", p->part, p->step, p->steps);
    if (p->means)
        snprintf(note + used, sizeof note - (size_t)used, ": %s %.3g", p->loss_names[0], p->means[0]);
    c->progress(c->context, p->total > 0 ? p->done / p->total : 0, note);
}

mw_status mw_run_train(mw_run *c, mw_training_request request, mw_training_report *report, mw_error *error) {
    mw_dataset d;
    const double started = mw_clock_seconds();
    MW_TRY(mw_dataset_open(&d, c->data, error));
    request.dataset = &d;
    request.replace = true;
    request.options.seed = c->job->seed;
    request.options.threads = c->options->threads;
    request.options.resume = true;
    request.options.command = c->options->command;
    request.options.stop = c->options->stop;
    request.options.context = c;
    const mw_status status = mw_training_run(&request, report, error);
    mw_dataset_close(&d);
    if (status == MW_OK) c->earlier = fmax(0, report->seconds - (mw_clock_seconds() - started));
    return status;
}

/* Keeps what would come out the same: from the bundle that does not belong here any more, or else from the
 * base's. */
static mw_status train_run(mw_run *c, mw_error *error) {
    mw_training_report r = {0};
    mw_training_request request = {
        .preset = &c->preset, .output = c->bundle, .options.progress = train_progress};
    bool plan;
    if (mw_file_exists(c->bundle) && rename(c->bundle, c->earlier_bundle) != 0)
        return mw_fail(error, MW_ERR_IO, "cannot rename '%s'", c->bundle);
    const char *with = mw_file_exists(c->earlier_bundle) ? c->earlier_bundle : c->base_bundle;
    const unsigned kept = mw_run_kept_parts(c, &c->preset, with, &plan);
    if (kept) {
        request.options.with = with;
        request.options.only = c->preset.parts & ~kept;
        request.nothing = !request.options.only;
    }
    const mw_status status = mw_run_train(c, request, &r, error);
    const bool complete = r.complete;
    if (status != MW_OK || !complete) mw_training_report_free(&r);
    MW_TRY(status);
    if (!complete)
        return mw_fail(error, MW_ERR_MISMATCH,
                       "'%s' is not complete: its checkpoint (.train.safetensors) holds parts that nobody "
                       "finishes now; remove it to start anew",
                       c->bundle);
    unlink(c->earlier_bundle);
    mw_run_find_checksum(c);
    size_t used = 0;
    for (int i = 0; i < r.count && used < sizeof c->note; i++)
        used += (size_t)snprintf(c->note + used, sizeof c->note - used, "%sheld-out %s %.3g",
                                 used ? ", " : "", r.part[i].loss_names[0], r.part[i].held[0]);
    mw_training_report_free(&r);
    for (int i = 0; mw_model_class_at(i) && used < sizeof c->note; i++)
        if (kept & 1u << i)
            used += (size_t)snprintf(c->note + used, sizeof c->note - used, "%s%s kept", used ? ", " : "",
                                     mw_model_class_at(i)->name);
    return MW_OK;
}

const mw_stage mw_stage_train = {
    .name = "train", .folder = "bundles", .inputs = train_inputs, .current = train_current, .run = train_run};

/* ---- evaluation and diagnosis ---- */

static json_t *eval_inputs(const mw_run *c) {
    const mw_eval_options e = mw_run_eval_options(c);
    return mw_run_eval_inputs(&e);
}

static json_t *diagnose_inputs(const mw_run *c) {
    mw_same_state_options same;
    mw_same_state_options_init(&same, sizeof same);
    return json_pack("{s:i, s:i, s:I}", "anchors", c->options->anchors, "snippets", c->options->snippets,
                     "seed", (json_int_t)same.seed);
}

static void eval_progress(void *context, int arm, long done, long total) {
    mw_run *c = context;
    const unsigned arms = mw_run_eval_options(c).arms, before = arms & ((1u << arm) - 1);
    const double all = __builtin_popcount(arms), share = (double)done / (double)total;
    if (c->progress)
        c->progress(c->context, ((double)__builtin_popcount(before) + share) / all, mw_arm_name(arm));
}

void mw_run_note_arms(mw_run *c, const mw_eval_result *r) {
    size_t used = 0;
    c->note[0] = 0;
    for (int a = 0; a < MW_ARMS; a++) {
        const mw_eval_report *arm = &r->arm[a];
        if (!arm->played || used >= sizeof c->note) continue;
        used += (size_t)snprintf(c->note + used, sizeof c->note - used, "%s%s %.4g", used ? ", " : "",
                                 mw_arm_name(a), isfinite(arm->score) ? arm->score : arm->total);
    }
}

static mw_status eval_run(mw_run *c, mw_error *error) {
    mw_bundle *bundle;
    mw_eval_result r = {0};
    mw_eval_options options = mw_run_eval_options(c);
    options.progress = eval_progress;
    options.context = c;
    MW_TRY(mw_bundle_load(&bundle, c->bundle, error));
    mw_status status = mw_eval_run(&r, bundle, &options, error);
    if (status == MW_OK) {
        json_t *root = json_object();
        json_object_set_new(root, "eval", mw_eval_json(&r));
        status = mw_run_write(c, MW_STUDY_EVAL, root, error);
        mw_run_note_arms(c, &r);
    }
    mw_eval_result_clear(&r);
    mw_bundle_free(bundle);
    return status;
}

mw_status mw_run_same_state(mw_run *c, const mw_bundle *bundle, bool planned, json_t *root, mw_error *error) {
    mw_same_state r = {0};
    mw_same_state_options options;
    mw_same_state_options_init(&options, sizeof options);
    options.anchors = c->options->anchors;
    options.threads = c->options->threads;
    options.planned = planned;
    options.stop = c->options->stop;
    MW_TRY(mw_same_state_run(&r, bundle, &options, error));
    json_object_set_new(root, planned ? "same_state_planned" : "same_state", mw_same_state_json(&r));
    if (!planned)
        snprintf(c->note, sizeof c->note, "same state: normalised regret %.3f (random %.3f)",
                 r.judge[0].ranking.normalized_regret, r.random_normalized_regret);
    mw_same_state_free(&r);
    return MW_OK;
}

static mw_status snippets(mw_run *c, const mw_bundle *bundle, json_t *root, mw_error *error) {
    mw_dataset d;
    mw_snippets r = {0};
    mw_snippet_options options;
    mw_snippet_options_init(&options, sizeof options, bundle);
    options.count = c->options->snippets;
    options.threads = c->options->threads;
    options.stop = c->options->stop;
    MW_TRY(mw_dataset_open(&d, c->data, error));
    mw_status status = mw_dataset_check(&d, error);
    if (status == MW_OK) status = mw_snippets_run(&r, bundle, &d, &options, error);
    mw_dataset_close(&d);
    MW_TRY(status);
    json_object_set_new(root, "snippets", mw_snippets_json(&r));
    const int h = r.horizons < 8 ? r.horizons : 8;
    const size_t used = strlen(c->note);
    if (h > 0)
        snprintf(c->note + used, sizeof c->note - used, "%ssnippets: Spearman %.3f at H=%d", used ? "; " : "",
                 r.ranking[h - 1].spearman, h);
    return MW_OK;
}

static mw_status diagnose_run(mw_run *c, mw_error *error) {
    mw_bundle *bundle;
    json_t *root = json_object();
    mw_status status = mw_bundle_load(&bundle, c->bundle, error);
    if (status == MW_OK) {
        if (c->options->anchors) status = mw_run_same_state(c, bundle, false, root, error);
        if (status == MW_OK && c->options->anchors && !mw_plan_as_drawn(&bundle->plan))
            status = mw_run_same_state(c, bundle, true, root, error);
        if (status == MW_OK && c->options->snippets) status = snippets(c, bundle, root, error);
        mw_bundle_free(bundle);
    }
    if (status == MW_OK) return mw_run_write(c, MW_STUDY_DIAGNOSE, root, error);
    json_decref(root);
    return status;
}

const mw_stage mw_stage_eval = {
    .name = "eval", .folder = "eval", .plays = mw_run_eval_options, .inputs = eval_inputs, .run = eval_run};

const mw_stage mw_stage_diagnose = {
    .name = "diagnose", .folder = "diagnose", .inputs = diagnose_inputs, .run = diagnose_run};
