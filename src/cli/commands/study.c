/* mawam study: the whole study, from making data to the page of results. */
#include "cli/cli.h"

#include <math.h>
#include <mawam/study.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, MOST_FAMILIES = 8 }; /* settings, families: with room for more than there are */

static const char run_help[] =
    "usage: mawam study run [SETTING ...] [--dir DIR] [--resume] [--method mawam|paper]\n"
    "                       [--budget quick|full] [--set NAME=VALUE]...\n"
    "                       [--parts LIST] [--baselines LIST] [--seed S] [--threads N] [--arms LIST]\n"
    "                       [--seeds N] [--episodes N] [--task TASK] [...]\n"
    "\n"
    "For every setting (task-quality; all 30 without names): make data, train, evaluate the arms,\n"
    "diagnose, look at routing, train and play baselines; all but the baselines by the paper's method in\n"
    "DIR/paper; on stated settings (docs/study.md) compare selectors, sweep, train the paper's world\n"
    "model for its published steps in DIR/longer, and train with further seeds in DIR/seeds; last the\n"
    "cost of planning.\n"
    "DIR receives data/, bundles/, eval/, diagnose/, a summary per setting in results/, analyses beside\n"
    "it, and stages.jsonl with a line for every finished stage. Ctrl-C saves and exits with 130; --resume\n"
    "continues, and does again only what does not belong to the present settings. A setting that fails\n"
    "is recorded and the next one begins, and so is a baseline; the exit code is 1 then.\n"
    "Every baseline has a bundle and a result of its own in DIR/baselines/NAME: one that comes later\n"
    "leaves everything else as it is.\n"
    "\n"
    "  --dir DIR          where everything goes (study)\n"
    "  --parts LIST       of main,paper,longer,seeds,routing,selectors,baselines,sweeps,cost (all); main\n"
    "                     is left out where nothing but paper, longer, seeds and baselines is named\n"
    "  --baselines LIST   models that play by themselves, for instance bc (all)\n"
    "  --resume           continue in a folder that holds results\n"
    "  --method NAME      mawam, or paper: the paper's method at the size of a CPU (mawam);\n"
    "                     docs/training.md says what differs\n"
    "  --budget B         quick or full: training steps of the task's preset (full)\n"
    "  --set NAME=VALUE   override a training setting (mawam train --list-settings); may be given\n"
    "                     several times\n"
    "  --seed S           of data and training (0)\n"
    "  --training-seeds N of the nine middle settings: S to S+N-1 (3)\n"
    "  --threads N        threads; 0: one per core (0)\n"
    "  --behaviors DIR    behaviour files (those of $MAWAM_DATA, or that came with mawam)\n"
    "  --transitions N    joint steps of a dataset (250000; ant 200000)\n"
    "  --arms LIST        names of mawam eval --help (reactive, random, plan, paper, oracle)\n"
    "  --first-seed S     of the evaluation (21000)\n"
    "  --seeds N          evaluation seeds from there on (5)\n"
    "  --episodes N       of each seed, or by family (mpe=40,battle=160,ant=16)\n"
    "  --play-again       also play seeds that another bundle of the setting has played in DIR; otherwise\n"
    "                     each is used once\n"
    "  --anchors N        states of the same-state test; 0: none (64)\n"
    "  --snippets N       recorded snippets of the diagnosis; 0: none (2000)\n"
    "  --timed N          decisions timed for each arm; 0: as many as mawam eval and bench time (0)\n"
    "  --drop-data        remove a setting's dataset after its last stage\n"
    "  --task TASK        this one alone of those that mawam study plan prints, with the same options; it\n"
    "                     resumes what there is, and others may run in DIR meanwhile\n"
    "\n"
    "examples: mawam study run --dir study\n"
    "          mawam study run spread-medium tag-random --budget quick --parts main --dir try\n"
    "          mawam study run --dir study --resume\n"
    "          mawam study run --dir study --resume --parts baselines --baselines bc\n";

static const char plan_help[] =
    "usage: mawam study plan [SETTING ...] [--format make|ninja|slurm|lines] [--program PATH]\n"
    "                        [--costs DIR] [any option of mawam study run but --resume, --drop-data]\n"
    "\n"
    "Prints what mawam study run would do with these options as a graph of commands, one per task (data,\n"
    "train, eval, diagnose, summary, routing, selectors, each baseline, sweeps of a setting; the cost).\n"
    "Whatever runs commands runs them: make, ninja, Slurm, GNU parallel. Each can be killed and run again,\n"
    "and the results are, to the bit, those of mawam study run. docs/cluster.md shows how.\n"
    "\n"
    "  --format NAME   make, ninja: by FOLDER/tasks/TASK.done; slurm: a script that submits arrays;\n"
    "                  lines: tab-separated, task, level, threads, seconds, MiB, tasks that it needs, their\n"
    "                  files, its files, command; tasks of a level need only earlier levels (lines)\n"
    "  --program PATH  how the commands name mawam (mawam)\n"
    "  --costs DIR     a study or a report whose recorded seconds and memory tell what to expect (--dir)\n"
    "  --threads N     of each task (1; the cost, which runs when all else is done: one per core)\n"
    "\n"
    "examples: mawam study plan --dir study --format make > study.mk && make -k -j 16 -f study.mk\n"
    "          mawam study plan --dir study --format slurm --costs results > study.sh && sh study.sh\n";

static const char status_help[] =
    "usage: mawam study status [SETTING ...] [--dir DIR] [--jobs N] [--costs DIR] [--json]\n"
    "                          [any option of mawam study plan that chooses tasks]\n"
    "\n"
    "Shows of the tasks that mawam study plan prints with the same options what is done, running (where,\n"
    "and for how long), failed (and why) and still to do, and how long it will take: from the files in\n"
    "DIR alone, on any machine that sees them.\n"
    "\n"
    "  --dir DIR    the study's folder (study)\n"
    "  --jobs N     tasks at a time, for the time left; 0: as many as are running (0)\n"
    "  --costs DIR  as for mawam study plan\n"
    "  --json       everything about every task\n"
    "\n"
    "example: mawam study status --dir study --jobs 16\n";

static const char report_help[] =
    "usage: mawam study report [--dir DIR]... [-o FOLDER] [--overwrite]\n"
    "\n"
    "Reads what there is in one or several study folders (of a file in several the last one counts) and\n"
    "writes FOLDER/index.html with a page per chapter of the paper, our tables and figures next to its\n"
    "own, README.md, settings.csv, summary.json and the results it was made of, so that --dir FOLDER\n"
    "makes the same report again.\n"
    "\n"
    "  DIR/results/SETTING.json    of mawam study run (or settings/, of a report)\n"
    "  DIR/paper/results/          the same by the paper's method\n"
    "  DIR/longer/results/         that with the published steps of its world model\n"
    "  DIR/seeds/N/results/        the same with further training seeds\n"
    "  DIR/selectors/SETTING.json  the same, or of mawam eval --arms reactive,random,paper,ceiling,...\n"
    "                              --json\n"
    "  DIR/baselines/NAME/         the same, or of mawam eval --arms NAME --json\n"
    "  DIR/routing/SETTING.json    the same, or of mawam diagnose --routing --json\n"
    "  DIR/sweeps/SETTING.json     the same, or of mawam eval --sweep --json\n"
    "  DIR/cost.json               the same, or of mawam bench --cost --json\n"
    "\n"
    "The report names the revisions of mawam that made them, where there are several, and refuses a\n"
    "baseline of other data, rules, seeds or episodes than the setting's own arms.\n"
    "\n"
    "FOLDER/replays/SETTING.html, where it exists, is linked from the setting's name.\n"
    "\n"
    "  --dir DIR   a study's folder; may be given several times (study)\n"
    "  -o FOLDER   where the report goes (results)\n"
    "  --overwrite remove results of an earlier report in FOLDER that are not among those read, and\n"
    "              replace a README.md, index.html or settings.csv that is not of a report\n"
    "\n"
    "example: mawam study report --dir study -o results\n";

static int settings_known(void) {
    int count = 0;
    while (count < MOST && mw_setting_at(count)) count++;
    return count;
}

/* ---- what is shown while it runs ---- */

typedef struct {
    mw_progress bar;
    bool started;
} display;

static const char *duration(char *out, size_t size, double seconds) {
    if (isnan(seconds))
        snprintf(out, size, "?");
    else if (seconds < 100)
        snprintf(out, size, "%.0f s", seconds);
    else if (seconds < 5400)
        snprintf(out, size, "%.0f min", seconds / 60);
    else
        snprintf(out, size, "%.1f h", seconds / 3600);
    return out;
}

static void end_bar(display *d) {
    if (d->started && d->bar.visible) mw_progress_finish(&d->bar);
    d->started = false;
}

static void show(void *context, const mw_study_event *e) {
    display *d = context;
    char label[80], took[24], left[24], why[sizeof((mw_error *)NULL)->message];
    char stage[48];
    snprintf(stage, sizeof stage, "%s%s%.30s", mw_study_stage_name(e->stage), e->baseline ? " " : "",
             e->baseline ? e->baseline : "");
    snprintf(label, sizeof label, "%.30s %s", e->setting, stage);
    duration(took, sizeof took, e->seconds);
    duration(left, sizeof left, e->left);
    switch (e->what) {
    case MW_STUDY_STARTS:
        mw_progress_start(&d->bar, label, 1);
        d->started = true;
        return;
    case MW_STUDY_RUNS:
        mw_progress_update(&d->bar, e->done, "%s; all: %s", e->note, left);
        return;
    case MW_STUDY_DONE:
        end_bar(d);
        printf("[%2d/%d] %-28s %-13s %8s  %s; about %s left\n", e->index + 1, e->count, e->setting, stage,
               took, e->note, left);
        break;
    case MW_STUDY_KEPT:
        printf("[%2d/%d] %-28s %-13s %8s\n", e->index + 1, e->count, e->setting, stage, "kept");
        break;
    case MW_STUDY_FAILED:
        end_bar(d);
        mw_cli_typed(why, e->note);
        fprintf(stderr, "mawam: %s, %s: %s\n", e->setting, stage, why);
        break;
    }
    mw_cli_flush();
}

/* ---- run ---- */

static int run_study(mw_study_options *o) {
    mw_error error = {0};
    display d = {0};
    int failed;
    o->stop = mw_cli_stop();
    o->progress = show;
    o->context = &d;
    const mw_status status = mw_study_run(o, &failed, &error);
    end_bar(&d);
    if (status != MW_OK) {
        const int code = mw_cli_fail(&error);
        if (status == MW_ERR_INTERRUPTED)
            fprintf(stderr, "mawam: what is finished is in %s; continue with --resume\n", o->folder);
        return code;
    }
    if (failed && !o->task)
        fprintf(stderr, "mawam: %d failure%s in settings or baselines; see %s/stages.jsonl\n", failed,
                failed == 1 ? "" : "s", o->folder);
    return failed ? 1 : 0;
}

/* "40", or "mpe=40,battle=160,ant=16" with some of them; false: neither. */
static bool take_episodes(mw_study_options *o, const char *text) {
    static int each[MOST_FAMILIES];
    const mw_family *family;
    char *end;
    for (const char *at = text; *at;) {
        const size_t name = strcspn(at, "=,");
        int *into = &o->episodes, f = 0;
        if (at[name] == '=') {
            while ((family = mw_family_at(f)) &&
                   (strlen(family->name) != name || strncmp(family->name, at, name)))
                f++;
            if (!family || f >= MOST_FAMILIES) return false;
            o->family_episodes = each;
            o->family_count = MOST_FAMILIES;
            into = &each[f];
            at += name + 1;
        }
        const long value = strtol(at, &end, 10);
        if (end == at || (*end && *end != ',') || value < 1 || value > 100000) return false;
        *into = (int)value;
        at = end + (*end == ',');
    }
    return *text;
}

static bool take_parts(mw_study_options *o, const char *text) {
    for (const char *at = text; *(at += strspn(at, " "));) {
        const size_t length = strcspn(at, ",");
        int part = 0;
        while (mw_study_part_name(part) &&
               (strlen(mw_study_part_name(part)) != length || strncmp(mw_study_part_name(part), at, length)))
            part++;
        if (!mw_study_part_name(part)) return false;
        o->parts |= 1u << part;
        at += length + (at[length] == ',');
    }
    return o->parts != 0;
}

/* Do all settings know the method and every assignment? */
static bool training_known(const mw_study_options *o, mw_error *error) {
    mw_train_options training;
    mw_train_options_init(&training, sizeof training);
    training.method = o->method;
    training.budget = o->budget;
    training.assignments = o->assignments;
    training.assignment_count = o->assignment_count;
    for (int i = 0; i < (o->count ? o->count : settings_known()); i++) {
        const mw_setting *setting = o->count ? o->settings[i] : mw_setting_at(i);
        if (mw_train_options_check(&training, setting->task, error) != MW_OK) return false;
    }
    return true;
}

/* What run, plan and status are told alike; the texts live as long as this. */
typedef struct {
    mw_study_options options;
    const mw_setting *settings[MOST];
    mw_strings assignments;
} request;

enum { COMMON = 19, OWN = 6 }; /* options; those of one command, with the end of the table */

/* Parts by their names, with a message that knows them. */
static int refuse_parts(const char *parts) {
    char known[256] = "";
    for (int part = 0; mw_study_part_name(part); part++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", part ? "," : "",
                 mw_study_part_name(part));
    return mw_cli_usage("--parts are %s, not '%s'", known, parts);
}

/* Returns -1 to go on. `own` are the command's options, ended by one without a name. */
static int take_request(request *r, int argc, char **argv, const mw_option *own, const char *help) {
    const char *names[MOST], *budget = "full", *arms = NULL, *episodes = NULL, *parts = NULL,
                             *baselines = NULL;
    mw_study_options *o = &r->options;
    int transitions = 0, count, used = COMMON;
    mw_option options[COMMON + OWN] = {{"dir", MW_OPT_STRING, &o->folder, 0, 0},
                                       {"method", MW_OPT_STRING, &o->method, 0, 0},
                                       {"budget", MW_OPT_STRING, &budget, 0, 0},
                                       {"set", MW_OPT_SETTINGS, &r->assignments, 0, 0},
                                       {"seed", MW_OPT_U64, &o->seed, 0, 0},
                                       {"threads", MW_OPT_INT, &o->threads, 0, MW_MAX_THREADS},
                                       {"behaviors", MW_OPT_STRING, &o->behaviors, 0, 0},
                                       {"transitions", MW_OPT_INT, &transitions, 1, 1e9},
                                       {"arms", MW_OPT_STRING, &arms, 0, 0},
                                       {"seeds", MW_OPT_INT, &o->seeds, 1, 10000},
                                       {"first-seed", MW_OPT_U64, &o->first_seed, 0, 0},
                                       {"episodes", MW_OPT_STRING, &episodes, 0, 0},
                                       {"parts", MW_OPT_STRING, &parts, 0, 0},
                                       {"baselines", MW_OPT_STRING, &baselines, 0, 0},
                                       {"training-seeds", MW_OPT_INT, &o->training_seeds, 1, MW_STUDY_SEEDS},
                                       {"play-again", MW_OPT_FLAG, &o->play_again, 0, 0},
                                       {"anchors", MW_OPT_INT, &o->anchors, 0, 100000},
                                       {"snippets", MW_OPT_INT, &o->snippets, 0, 1000000},
                                       {"timed", MW_OPT_INT, &o->timed, 0, 100000}};
    while (own->name && used + 1 < COMMON + OWN) options[used++] = *own++;
    const int code = mw_cli_parse(argc, argv, options, help, names, settings_known(), &count);
    if (code >= 0) return code;
    mw_error error = {0};
    for (int i = 0; i < count; i++)
        if (mw_cli_setting(&r->settings[i], names[i], &error) != MW_OK) return mw_cli_refuse(&error);
    if (strcmp(budget, "quick") && strcmp(budget, "full"))
        return mw_cli_usage("--budget must be 'quick' or 'full', not '%s'", budget);
    if (arms && mw_arms_parse(arms, &o->arms, &error) != MW_OK) return mw_cli_refuse(&error);
    if (episodes && !take_episodes(o, episodes))
        return mw_cli_usage("--episodes is a number or mpe=N,battle=N,ant=N, not '%s'", episodes);
    if (parts && !take_parts(o, parts)) return refuse_parts(parts);
    if (baselines && mw_model_classes_parse(baselines, &o->baselines, &error) != MW_OK)
        return mw_cli_refuse(&error);
    o->settings = r->settings;
    o->count = count;
    o->budget = strcmp(budget, "quick") ? MW_BUDGET_FULL : MW_BUDGET_QUICK;
    o->assignments = r->assignments.items;
    o->assignment_count = r->assignments.count;
    o->transitions = transitions;
    return training_known(o, &error) ? -1 : mw_cli_refuse(&error);
}

static int study_run(int argc, char **argv) {
    request r = {0};
    mw_study_options *o = &r.options;
    mw_study_options_init(o, sizeof *o);
    const mw_option own[] = {{"resume", MW_OPT_FLAG, &o->resume, 0, 0},
                             {"drop-data", MW_OPT_FLAG, &o->drop_data, 0, 0},
                             {"task", MW_OPT_STRING, &o->task, 0, 0},
                             {NULL, MW_OPT_FLAG, NULL, 0, 0}};
    int code = take_request(&r, argc, argv, own, run_help);
    if (code >= 0) return code;
    char *command = mw_cli_command("study", argc, argv);
    if (!command) return mw_cli_fail(&(mw_error){MW_ERR_MEMORY, "out of memory for the command"});
    o->command = command;
    code = run_study(o);
    free(command);
    return code;
}

/* ---- plan and status ---- */

static int put_text(char *text) {
    fputs(text, stdout);
    free(text);
    return mw_cli_flush() ? 0 : 1; /* mw_cli_finish says what failed */
}

static int study_plan(int argc, char **argv) {
    request r = {0};
    const char *format = "lines", *program = NULL, *costs = NULL;
    char *text;
    mw_error error = {0};
    mw_study_options_init(&r.options, sizeof r.options);
    const mw_option own[] = {{"format", MW_OPT_STRING, &format, 0, 0},
                             {"program", MW_OPT_STRING, &program, 0, 0},
                             {"costs", MW_OPT_STRING, &costs, 0, 0},
                             {NULL, MW_OPT_FLAG, NULL, 0, 0}};
    const int code = take_request(&r, argc, argv, own, plan_help);
    if (code >= 0) return code;
    if (mw_study_plan(&text, &r.options, format, program, costs, &error) != MW_OK)
        return mw_cli_refuse(&error);
    return put_text(text);
}

static int study_status(int argc, char **argv) {
    request r = {0};
    const char *costs = NULL;
    bool json = false;
    int jobs = 0;
    char *text;
    mw_error error = {0};
    mw_study_options_init(&r.options, sizeof r.options);
    const mw_option own[] = {{"jobs", MW_OPT_INT, &jobs, 0, 1000000},
                             {"json", MW_OPT_FLAG, &json, 0, 0},
                             {"costs", MW_OPT_STRING, &costs, 0, 0},
                             {NULL, MW_OPT_FLAG, NULL, 0, 0}};
    const int code = take_request(&r, argc, argv, own, status_help);
    if (code >= 0) return code;
    if (mw_study_status(&text, &r.options, jobs, json, costs, &error) != MW_OK) return mw_cli_refuse(&error);
    return put_text(text);
}

/* ---- report ---- */

static int study_report(int argc, char **argv) {
    mw_strings folders = {0};
    const char *output = "results", *none[1];
    bool overwrite = false;
    const mw_option options[] = {{"dir", MW_OPT_STRINGS, &folders, 0, 0},
                                 {"o", MW_OPT_STRING, &output, 0, 0},
                                 {"overwrite", MW_OPT_FLAG, &overwrite, 0, 0},
                                 {NULL, MW_OPT_FLAG, NULL, 0, 0}};
    int count, code = mw_cli_parse(argc, argv, options, report_help, none, 0, &count);
    if (code >= 0) return code;
    if (!folders.count) folders.items[folders.count++] = "study";
    mw_error error = {0};
    int present;
    mw_cli_stop(); /* what takes a moment is written whole */
    if (mw_study_report(folders.items, folders.count, output, overwrite, &present, &error) != MW_OK)
        return mw_cli_fail(&error);
    printf("%d of %d settings: %s/index.html, README.md, settings.csv, summary.json\n", present,
           settings_known(), output);
    return 0;
}

int mw_cli_study(int argc, char **argv) {
    static const mw_command commands[] = {
        {"run", "make data, train, evaluate and diagnose, for all 30 settings or some", study_run},
        {"plan", "the same as a graph of commands, for make, ninja, Slurm or a list", study_plan},
        {"status", "what of it is done, running, failed, and how long the rest will take", study_status},
        {"report", "tables, figures and a page from what has been run", study_report},
        {NULL, NULL, NULL}};
    return mw_cli_dispatch(commands,
                           "mawam study: all settings of the paper, next to its figures\n"
                           "\n"
                           "usage: mawam study COMMAND [...]      mawam study COMMAND --help for each\n"
                           "\n"
                           "examples: mawam study run spread-medium\n"
                           "          mawam study report\n"
                           "\n"
                           "commands:\n",
                           argc, argv);
}
