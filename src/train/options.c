/* The public face of training: options, which name settings, become a request, which holds the preset. */
#include "core/file.h"
#include "core/numbers.h"
#include "core/options.h"
#include "train/train.h"

static const mw_train_options defaults = {.size = sizeof defaults, .budget = MW_BUDGET_FULL};

void mw_train_options_init(mw_train_options *options, size_t size) {
    mw_options_fill(options, size, &defaults, sizeof defaults);
}

static mw_status take(mw_train_options *options, const mw_train_options *given, mw_error *error) {
    *options = defaults;
    return mw_options_take(options, sizeof *options, MW_FIELD_END(mw_train_options, context), given,
                           "mw_train_options_init", error);
}

static mw_status choose_preset(mw_preset *preset, const mw_train_options *o, const char *task,
                               mw_error *error) {
    MW_TRY(mw_preset_choose(preset, o->method, task, o->budget, error));
    preset->parts |= o->only;
    for (int i = 0; i < o->assignment_count; i++) MW_TRY(mw_preset_set(preset, o->assignments[i], error));
    return MW_OK;
}

mw_status mw_train_options_check(const mw_train_options *given, const char *task, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED(task);
    mw_train_options options;
    mw_preset preset;
    MW_TRY(take(&options, given, error));
    return choose_preset(&preset, &options, task, error);
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
    MW_TRY(choose_preset(&preset, &o, dataset->spec.task, error));
    if (!o.resume && !o.overwrite && mw_file_exists(output))
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "'%.300s' is finished; --overwrite replaces it, -o names another file", output);
    return mw_training_run(&(mw_training_request){.dataset = dataset,
                                                  .preset = &preset,
                                                  .output = output,
                                                  .only = o.only,
                                                  .with = o.with,
                                                  .seed = o.seed,
                                                  .threads = o.threads,
                                                  .resume = o.resume,
                                                  .wide = o.wide,
                                                  .command = o.command,
                                                  .world = o.world,
                                                  .accept_rules = o.accept_rules,
                                                  .force = o.force,
                                                  .begin = o.begin,
                                                  .stop = o.stop,
                                                  .progress = o.progress,
                                                  .context = o.context},
                           report, error);
}
