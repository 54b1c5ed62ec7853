/* The public face of training: options, which name settings, become a request, which holds the preset. */
#include "core/file.h"
#include "core/numbers.h"
#include "core/options.h"
#include "plan/scorers.h"
#include "train/train.h"

#include <math.h>
#include <string.h>

static const mw_train_options defaults = {.size = sizeof defaults, .budget = MW_BUDGET_FULL};

void mw_train_options_init(mw_train_options *options, size_t size) {
    mw_options_fill(options, size, &defaults, sizeof defaults);
}

static mw_status take(mw_train_options *options, const mw_train_options *given, mw_error *error) {
    *options = defaults;
    MW_TRY(mw_options_take(options, sizeof *options, MW_FIELD_END(mw_train_options, context), given,
                           "mw_train_options_init", error));
    unsigned known = 0;
    for (int i = 0; mw_model_class_at(i); i++) known |= 1u << i;
    if (options->only & ~known)
        return mw_fail(error, MW_ERR_ARGUMENT, "only is 0x%x; it has bits of no model", options->only);
    return mw_options_texts(options->assignments, options->assignment_count, "assignments", error);
}

/* Is what the error of imagined returns was measured of, or would have been, among the trained? */
static bool judges_anew(const mw_plan_settings *plan, unsigned trained, unsigned models) {
    const char *judge = mw_scorer_imagining_for(plan->scorer, models);
    return (judge && trained & 1u << mw_model_class_index(judge)) ||
           (plan->value_after > 0 && trained & 1u << mw_model_class_for(MW_ROLE_VALUE));
}

/* What a bundle provides stays as it is: its models and, unless another method is named, its plan, but for
 * what the data, and nobody by hand, decided of models that are trained anew. */
static void keep_other(mw_preset *preset, const mw_bundle *other, const mw_train_options *o) {
    unsigned kept = 0;
    for (int i = 0; i < other->count; i++) {
        const int model = mw_model_class_index(other->parts[i].model->kind->name);
        if (o->only & 1u << model) continue;
        preset->config[model] = other->parts[i].model->config;
        kept |= 1u << model;
    }
    preset->parts = kept | o->only;
    if (o->method) return;
    preset->plan = other->plan;
    if (!other->target_given && o->only & 1u << mw_model_class_for(MW_ROLE_PROPOSER))
        preset->plan.target = NAN;
    if (other->return_error_from != MW_MEASURED_GIVEN && judges_anew(&other->plan, o->only, preset->parts))
        preset->plan.return_error = NAN;
}

/* Settings of a model that is not trained would be lost without a word. */
static mw_status check_kept(const mw_preset *preset, const mw_bundle *other, const mw_train_options *o,
                            mw_error *error) {
    for (int i = 0; i < other->count; i++) {
        const mw_model *model = other->parts[i].model;
        const int index = mw_model_class_index(model->kind->name);
        const mw_field *field =
            mw_fields_difference(model->kind->fields, &preset->config[index], &model->config);
        if (field && !(o->only & 1u << index))
            return mw_fail(error, MW_ERR_ARGUMENT, "%s.%s is set, but the %s comes from '%.200s' as it is",
                           model->kind->name, field->name, model->kind->name, o->with);
    }
    return MW_OK;
}

static bool is_set(const mw_train_options *o, const char *name) {
    for (int i = 0; i < o->assignment_count; i++)
        if (!strncmp(o->assignments[i], name, strlen(name))) return true;
    return false;
}

/* other: the bundle that provides what is not trained; NULL: none. */
static mw_status choose_preset(mw_preset *preset, const mw_train_options *o, const mw_bundle *other,
                               const char *task, const char *quality, mw_error *error) {
    const char *method = o->method || !other ? o->method : other->info.method;
    MW_TRY(mw_preset_choose(preset, method, task, quality, o->budget, error));
    preset->parts |= o->only;
    if (other) keep_other(preset, other, o);
    const mw_preset before = *preset;
    for (int i = 0; i < o->assignment_count; i++) MW_TRY(mw_preset_set(preset, o->assignments[i], error));
    if (!other) return MW_OK;
    if (preset->parts != before.parts)
        return mw_fail(error, MW_ERR_ARGUMENT, "parts is set, but they are those of '%.200s' and of 'only'",
                       o->with);
    if (preset->plan.quantile != before.plan.quantile && !is_set(o, "plan.target="))
        preset->plan.target = NAN; /* the quantile's */
    const mw_plan_settings *now = &preset->plan, *then = &before.plan;
    if (other->return_error_from != MW_MEASURED_GIVEN && !is_set(o, "plan.return_error=") &&
        (strcmp(now->scorer, then->scorer) || now->horizon != then->horizon ||
         now->value_after != then->value_after))
        preset->plan.return_error = NAN; /* it was measured of something else */
    return check_kept(preset, other, o, error);
}

mw_status mw_train_options_check(const mw_train_options *given, const char *task, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED(task);
    mw_train_options options;
    mw_preset preset;
    MW_TRY(take(&options, given, error));
    return choose_preset(&preset, &options, NULL, task, "", error);
}

mw_status mw_bundle_train(const mw_dataset *dataset, const char *output, const mw_train_options *given,
                          mw_training_report *report, mw_error *error) {
    MW_PLAIN_NUMBERS;
    mw_train_options o;
    mw_preset preset;
    MW_NEED(report);
    *report = (mw_training_report){0};
    MW_TRY(take(&o, given, error));
    MW_NEED(dataset);
    MW_NEED(output);
    mw_bundle *other = NULL;
    if (o.with && !o.only)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "'%.200s' is to provide models, and nothing says which are trained (only)", o.with);
    if (o.with) MW_TRY(mw_bundle_load(&other, o.with, error));
    const mw_status chosen =
        choose_preset(&preset, &o, other, dataset->spec.task, dataset->spec.quality, error);
    mw_bundle_free(other);
    MW_TRY(chosen);
    return mw_training_run(
        &(mw_training_request){.dataset = dataset, .preset = &preset, .output = output, .options = o}, report,
        error);
}
