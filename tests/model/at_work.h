/* A selector at work: trained by its name alone next to the others, stopped and resumed to the same bits, as
 * an arm, in a diagnosis and in help. */
#ifndef MW_TESTS_AT_WORK_H
#define MW_TESTS_AT_WORK_H

#include "cli/program.h"
#include "eval/scripted.h"
#include "model/model.h"
#include "train/train.h"

/* The part's weights in two bundles. */
static inline void same_weights(const char *one, const char *other, const char *name) {
    mw_error error;
    mw_bundle *a, *b;
    CHECK_OK(mw_bundle_load(&a, scratch(one), &error), error);
    CHECK_OK(mw_bundle_load(&b, scratch(other), &error), error);
    const mw_model *x = mw_bundle_model(a, name), *y = mw_bundle_model(b, name);
    assert_memory_equal(x->values, y->values, x->params->total * sizeof *x->values);
    mw_bundle_free(a);
    mw_bundle_free(b);
}

typedef struct {
    volatile sig_atomic_t stop;
    long steps, stop_at;
} at_work_observer;

static inline void at_work_step(void *context, const mw_training_progress *progress) {
    at_work_observer *o = context;
    (void)progress;
    if (++o->steps == o->stop_at) o->stop = 1;
}

/* Trains one part for so many steps, stopping at one of them (0: never). */
static inline mw_status at_work_train(const char *name, const char *const *settings, const char *output,
                                      long stop_at, int threads, bool resume, mw_error *error) {
    mw_dataset data;
    mw_training_report report;
    at_work_observer observer = {.stop_at = stop_at};
    CHECK_OK(mw_dataset_open(&data, scratch("spread"), error), *error);
    mw_preset preset = mw_preset_of("spread", MW_BUDGET_QUICK);
    for (int i = 0; settings[i]; i++) CHECK_OK(mw_preset_set(&preset, settings[i], error), *error);
    char with[512], out[512];
    snprintf(with, sizeof with, "%s", scratch("a.safetensors"));
    snprintf(out, sizeof out, "%s", scratch(output));
    const mw_training_request request = {.dataset = &data,
                                         .preset = &preset,
                                         .output = out,
                                         .options.only = 1u << mw_model_class_index(name),
                                         .options.with = with,
                                         .options.seed = 5,
                                         .options.threads = threads,
                                         .options.resume = resume,
                                         .options.overwrite = true,
                                         .options.wide = true,
                                         .options.command = "test",
                                         .options.stop = &observer.stop,
                                         .options.progress = at_work_step,
                                         .options.context = &observer};
    const mw_status status = mw_training_run(&request, &report, error);
    mw_training_report_free(&report);
    mw_dataset_close(&data);
    return status;
}

/* Stopped in the middle and continued on another number of threads. */
static inline void at_work_resume(const char *name, const char *const *settings) {
    mw_error error;
    CHECK_OK(at_work_train(name, settings, "whole.safetensors", 0, 1, false, &error), error);
    CHECK_FAILS(at_work_train(name, settings, "pieces.safetensors", 7, 2, false, &error), MW_ERR_INTERRUPTED,
                error, "'resume'");
    CHECK_OK(at_work_train(name, settings, "pieces.safetensors", 0, 1, true, &error), error);
    same_weights("whole.safetensors", "pieces.safetensors", name);
}

/* a.safetensors: a tiny bundle without selectors. */
static inline void at_work_bundle(void) {
    scripted_make(scratch("spread"), "spread", "greedy", 1.5, 40, 1);
    program_expect(0,
                   "train %/spread -o %/a.safetensors --set flow.dim=16 --set flow.mults=1,1,1 --set "
                   "flow.steps=4 --set flow.batch=4 --set inverse.steps=4 --set inverse.hidden=8 --set "
                   "rwm.steps=4 --set rwm.hidden=8",
                   "written after");
}

/* Trains `name` with these settings into b.safetensors, and judges with it. */
static inline void at_work_run(const char *name, const char *settings, const char *help) {
    char line[1500], row[40], quoted[40];
    snprintf(row, sizeof row, "\n%s ", name);
    snprintf(quoted, sizeof quoted, "'%s'", name);
    snprintf(line, sizeof line,
             "train %%/spread -o %%/b.safetensors --overwrite --only %s --with %%/a.safetensors %s", name,
             settings);
    program_expect(0, line, "written after");
    snprintf(line, sizeof line, "eval %%/b.safetensors --arms reactive,%s --seeds 1 --episodes 2 --timed 0",
             name);
    program_expect(0, line, row);
    snprintf(line, sizeof line, "eval %%/a.safetensors --arms %s --seeds 1 --episodes 1 --timed 0", name);
    program_expect(1, line, quoted);
    snprintf(line, sizeof line, "diagnose %%/b.safetensors --anchors 4 --scorer %s", name);
    program_expect(0, line, row);
    program_expect(0, "eval --help", help);
}

#endif
