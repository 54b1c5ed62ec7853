/* mawam train: from a dataset to a bundle. */
#include "cli/cli.h"
#include "cli/events.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
    "usage: mawam train DATASET [-o FILE] [--only A,B] [--with BUNDLE] [--resume]\n"
    "                   [--method NAME] [--set NAME=VALUE]... [--budget quick|full] [--seed S]\n"
    "                   [--threads N] [--wide] [--accept-rules] [--prey FILE]\n"
    "                   [--overwrite] [--force] [--log tensorboard]\n"
    "       mawam train --list-settings | --list-methods\n"
    "\n"
    "Trains the models that planning needs on a dataset folder, one after the other, and writes them\n"
    "into one bundle, ready to plan with. Next to FILE.safetensors lie FILE.jsonl (the losses),\n"
    "FILE.svg (their curves) and, until it is finished, FILE.train.safetensors (a checkpoint every two\n"
    "minutes). Ctrl-C saves and exits with 130; --resume continues and arrives at the same bits as a\n"
    "training that was never interrupted. The weights depend on data, settings and seed only, not on\n"
    "the number of threads.\n"
    "\n"
    "  -o FILE            the bundle (TASK-QUALITY.safetensors)\n"
    "  --only A,B         train these models alone; the others come from the checkpoint (with --resume)\n"
    "                     or from --with\n"
    "  --with BUNDLE      a bundle for the same task that provides what --only leaves out, as it is\n"
    "  --resume           continue the training of FILE; start it if there is none\n"
    "  --method NAME      mawam, paper (the paper's method at the size of a CPU), or a method of others\n"
    "                     that --list-methods names (mawam); docs/training.md says what differs\n"
    "  --set NAME=VALUE   override a setting; may be given several times\n"
    "  --budget B         quick or full: training steps of the task's preset (full); quick gives models\n"
    "                     outside the preset a tenth of their steps\n"
    "  --seed S           seed (0)\n"
    "  --threads N        threads; 0: one per core (0)\n"
    "  --wide             store weights in single precision instead of half\n"
    "  --accept-rules     train on data whose rules are not those of the task's world; the bundle says so\n"
    "  --prey FILE        tag, world: the prey of the world that made the data\n"
    "  --overwrite        replace a finished bundle, or a log or picture that lies there without one\n"
    "  --force            train even if memory does not seem to suffice\n"
    "  --log FORMAT       tensorboard: losses also as scalars that TensorBoard reads, in FILE.tfevents\n"
    "  --list-settings    all settings and the presets of the tasks\n"
    "  --list-methods     all methods: idea, actions, what an agent sees, source, how sure it is\n"
    "\n"
    "examples: mawam train data/spread-medium -o mine.safetensors\n"
    "          mawam train data/3m-poor --budget quick --set flow.dim=64 --set rwm.steps=4000\n"
    "          mawam train data/spread-medium --only rwm --set rwm.variant=paper \\\n"
    "                --with spread-medium.safetensors -o spread-medium-paper.safetensors\n";

typedef struct {
    mw_progress bar;
    double first;       /* work that was done before this run */
    double begun, said; /* seconds of the training */
    bool started;
    mw_events events; /* not opened: not wanted */
    bool began;       /* the training, and what is written of it */
    double logged;    /* the mean that was logged last */
} display;

static void show_estimate(void *context, const mw_training_estimate *e) {
    display *d = context;
    d->began = true;
    if (d->events.opened) mw_events_begin(&d->events);
    if (mw_cli_quiet) return;
    fprintf(stderr, "mawam: training takes about %.2g GB of memory (%.1f GB are free) and %.0f %s\n",
            1e-9 * e->bytes, 1e-9 * e->free_bytes, ceil(e->seconds / (e->seconds < 120 ? 1 : 60)),
            e->seconds < 120 ? "s" : "min");
}

static void log_losses(display *d, const mw_training_progress *p) {
    if (!d->events.opened || p->losses < 1 || !p->means || p->means[0] == d->logged) return;
    d->logged = p->means[0];
    for (int i = 0; i < p->losses; i++) {
        char tag[160];
        snprintf(tag, sizeof tag, "%s/%s", p->part, p->loss_names[i]);
        mw_events_add(&d->events, tag, p->step, p->means[i]);
        snprintf(tag, sizeof tag, "%s/held-out %s", p->part, p->loss_names[i]);
        if (p->held) mw_events_add(&d->events, tag, p->step, p->held[i]);
    }
}

static void losses_text(char *out, size_t size, const mw_training_progress *p, const double *values,
                        const char *prefix) {
    size_t used = 0;
    out[0] = 0;
    for (int i = 0; values && i < p->losses && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s%s %.3g", i ? ", " : "", prefix,
                                 p->loss_names[i], values[i]);
}

/* A bar on a terminal; elsewhere a line after two seconds and then every ten. */
static void show_progress(void *context, const mw_training_progress *p) {
    display *d = context;
    char losses[80], held[80];
    if (!d->started) {
        d->first = p->done - p->cost;
        mw_progress_start(&d->bar, "training", p->total - d->first);
        d->bar.lines = false;
        d->started = true;
        d->begun = p->seconds;
        d->said = p->seconds - 8;
    }
    log_losses(d, p);
    losses_text(losses, sizeof losses, p, p->means, "");
    mw_progress_update(&d->bar, p->done - d->first, "%s%s%s %ld/%ld", losses, *losses ? ", " : "", p->part,
                       p->step, p->steps);
    const bool last = p->step == p->steps;
    if (mw_cli_quiet || d->bar.visible || (p->seconds - d->said < 10 && !last)) return;
    d->said = p->seconds;
    held[0] = 0;
    if (p->held) losses_text(held, sizeof held, p, p->held, "held-out ");
    const double left = (p->seconds - d->begun) * (p->total - p->done) / (p->done - d->first);
    printf("%7.0f s, %.0f s left  %-6s %7ld of %ld  %s  %s\n", p->seconds, left, p->part, p->step, p->steps,
           losses, held);
    mw_cli_flush();
}

static int print_report(const char *output, const mw_training_report *report) {
    if (report->finished_before) {
        printf("%s is finished already\n", output);
        return 0;
    }
    for (int i = 0; i < report->count; i++) {
        const mw_part_report *part = &report->part[i];
        printf("%s: %s", part->name, isnan(part->held[0]) ? "not validated" : "held-out");
        for (int k = 0; k < part->losses && !isnan(part->held[k]); k++)
            printf("%s %s %.4g", k ? "," : "", part->loss_names[k], part->held[k]);
        if (part->best_step > 0) printf(" at step %ld, which was kept", part->best_step);
        puts(part->trained ? "" : "; not finished");
    }
    if (report->complete && isnan(report->target)) /* nothing that it is a condition of */
        printf("%s written after %.0f s\n", output, report->seconds);
    else if (report->complete)
        printf("%s written after %.0f s; target return %.3f\n", output, report->seconds, report->target);
    else
        puts("no bundle yet, parts are missing: continue with --resume, or give a bundle with --with");
    if (*report->remark) mw_cli_wrap(printf("note: "), 6, report->remark);
    return 0;
}

static int run(const mw_dataset *dataset, const char *output, mw_train_options *o, bool events) {
    mw_error error = {0};
    mw_training_report report;
    display d = {.logged = NAN};
    char path[4096];
    if (mw_train_options_check(o, mw_dataset_describe(dataset).spec.task, &error) != MW_OK)
        return mw_cli_refuse(&error);
    o->stop = mw_cli_stop();
    o->progress = show_progress;
    o->begin = show_estimate;
    o->context = &d;
    const size_t length = strlen(output), suffix = strlen(".safetensors");
    const bool named = length > suffix && !strcmp(output + length - suffix, ".safetensors");
    snprintf(path, sizeof path, "%.*s.tfevents", (int)(named ? length - suffix : length), output);
    struct stat info;
    const bool made = events && stat(path, &info) != 0;
    if (events && !made && S_ISREG(info.st_mode) && info.st_size > 0 && !o->resume && !o->overwrite &&
        access(output, F_OK) != 0) { /* a finished bundle is refused by itself */
        mw_fail(&error, MW_ERR_ARGUMENT,
                "'%.300s' is there already; --overwrite replaces it, -o names another file", path);
        return mw_cli_fail(&error);
    }
    if (events && mw_events_open(&d.events, path, o->resume, &error) != MW_OK) return mw_cli_fail(&error);
    mw_status status = mw_bundle_train(dataset, output, o, &report, &error);
    if (d.started) mw_progress_finish(&d.bar);
    const mw_status logged = mw_events_close(&d.events, status == MW_OK ? &error : NULL);
    if (status == MW_OK) status = logged;
    if (made && !d.began) unlink(path); /* a training that was refused leaves nothing */
    const int code = status == MW_OK ? print_report(output, &report) : mw_cli_fail(&error);
    mw_training_report_free(&report);
    return code;
}

int mw_cli_train(int argc, char **argv) {
    const char *folder = NULL, *output = NULL, *only = NULL, *budget = "full", *log = NULL;
    mw_strings settings = {0};
    mw_train_options o;
    mw_env_options world;
    mw_env_options_init(&world, sizeof world);
    mw_train_options_init(&o, sizeof o);
    o.world = &world;
    bool list = false, methods = false;
    const mw_option options[] = {{"o", MW_OPT_STRING, &output, 0, 0},
                                 {"only", MW_OPT_STRING, &only, 0, 0},
                                 {"with", MW_OPT_STRING, &o.with, 0, 0},
                                 {"resume", MW_OPT_FLAG, &o.resume, 0, 0},
                                 {"set", MW_OPT_SETTINGS, &settings, 0, 0},
                                 {"budget", MW_OPT_STRING, &budget, 0, 0},
                                 {"seed", MW_OPT_U64, &o.seed, 0, 0},
                                 {"threads", MW_OPT_INT, &o.threads, 0, MW_MAX_THREADS},
                                 {"wide", MW_OPT_FLAG, &o.wide, 0, 0},
                                 {"method", MW_OPT_STRING, &o.method, 0, 0},
                                 {"list-settings", MW_OPT_FLAG, &list, 0, 0},
                                 {"list-methods", MW_OPT_FLAG, &methods, 0, 0},
                                 {"accept-rules", MW_OPT_FLAG, &o.accept_rules, 0, 0},
                                 {"prey", MW_OPT_STRING, &world.prey_file, 0, 0},
                                 {"overwrite", MW_OPT_FLAG, &o.overwrite, 0, 0},
                                 {"force", MW_OPT_FLAG, &o.force, 0, 0},
                                 {"log", MW_OPT_STRING, &log, 0, 0},
                                 {NULL, MW_OPT_FLAG, NULL, 0, 0}};
    int count, code = mw_cli_parse(argc, argv, options, help, &folder, 1, &count);
    if (code >= 0) return code;
    if (list) {
        mw_preset_list(stdout);
        return 0;
    }
    if (methods) {
        mw_method_list(stdout);
        return 0;
    }
    if (count != 1) return mw_cli_usage("name a dataset folder");
    mw_error error = {0};
    if (only && mw_model_classes_parse(only, &o.only, &error) != MW_OK)
        return mw_cli_usage("--only: %s", error.message);
    if (strcmp(budget, "quick") && strcmp(budget, "full"))
        return mw_cli_usage("--budget must be 'quick' or 'full', not '%s'", budget);
    if (log && strcmp(log, "tensorboard")) return mw_cli_usage("--log must be 'tensorboard', not '%s'", log);
    if (o.with && !only) return mw_cli_usage("--with needs --only");
    char with[4096];
    if (o.with) {
        if (mw_cli_bundle_path(with, sizeof with, o.with, &error) != MW_OK) return mw_cli_fail(&error);
        o.with = with;
    }
    mw_dataset *dataset;
    if (mw_dataset_load(&dataset, folder, &error) != MW_OK) return mw_cli_fail(&error);
    const mw_dataset_spec spec = mw_dataset_describe(dataset).spec;
    char name[128], *command = mw_cli_command("", argc, argv);
    snprintf(name, sizeof name, "%.40s-%.40s.safetensors", spec.task,
             spec.quality[0] ? spec.quality : "data");
    o.budget = strcmp(budget, "quick") ? MW_BUDGET_FULL : MW_BUDGET_QUICK;
    o.assignments = settings.items;
    o.assignment_count = settings.count;
    o.command = command;
    code = command ? run(dataset, output ? output : name, &o, log != NULL)
                   : mw_cli_fail(&(mw_error){MW_ERR_MEMORY, "out of memory for the command"});
    free(command);
    mw_dataset_free(dataset);
    return code;
}
