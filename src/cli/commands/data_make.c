/* mawam data make: plays the shipped behaviours and records datasets. */
#include "cli/table.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: mawam data make SETTING|all -o DIR [--transitions N] [--seed S] [--threads N]\n"
    "                       [--behaviors DIR] [--overwrite] [--json | --csv]\n"
    "\n"
    "Plays the behaviour of a setting (task-quality) and records a dataset in DIR/SETTING. The same\n"
    "seed gives the same bits on any number of threads. Ctrl-C leaves no half dataset and exits with\n"
    "130.\n"
    "\n"
    "  -o DIR           folder that receives the datasets\n"
    "  --transitions N  joint steps, at least; the last episode is kept whole (250000; ant 200000)\n"
    "  --seed S         seed of the episodes (0)\n"
    "  --threads N      threads (0: one per core)\n"
    "  --behaviors DIR  behaviour files (those of $MAWAM_DATA, or that came with mawam)\n"
    "  --overwrite      replace datasets that are there\n"
    "  --json, --csv    what was made as JSON, or as comma-separated values\n"
    "\n"
    "examples: mawam data make spread-medium-replay -o data\n"
    "          mawam data make all -o data --seed 1\n";

static void show(void *context, long steps, long total) {
    (void)total;
    mw_progress_update(context, (double)steps, "%s", "");
}

/* What to type to get the same data again, without the options that do not matter. */
static void write_command(char *out, size_t size, const char *name, const mw_make_options *o) {
    const int used = snprintf(out, size, "mawam data make %s -o DIR --transitions %ld --seed %llu", name,
                              (long)o->transitions, (unsigned long long)o->seed);
    if (o->behaviors && 4 * strlen(o->behaviors) + 64 < size - (size_t)used)
        mw_cli_quote(stpcpy(out + used, " --behaviors"), o->behaviors);
}

static mw_status make_one(const mw_setting *setting, const mw_make_options *options, const char *root,
                          mw_table *table, mw_error *error) {
    char name[64], folder[512], command[8400];
    mw_progress progress;
    mw_make_result r;
    mw_make_options one = *options;
    if (one.transitions == 0) one.transitions = setting->transitions;
    mw_setting_name(setting, name, sizeof name);
    snprintf(folder, sizeof folder, "%.400s/%s", root, name);
    write_command(command, sizeof command, name, &one);
    one.command = command;
    one.progress = show;
    one.context = &progress;
    const double start = mw_cli_seconds();
    mw_progress_start(&progress, name, (double)one.transitions);
    mw_status status = mw_dataset_make(name, folder, &one, &r, error);
    mw_progress_finish(&progress);
    if (status != MW_OK) return mw_fail_within(error, status, "%s", name);
    mw_table_row(table, (mw_cell[]){MW_TEXT(name), MW_NUMBER(r.steps), MW_NUMBER(r.episodes),
                                    MW_NUMBER(r.mean), MW_NUMBER(r.std), MW_NUMBER(r.least),
                                    MW_NUMBER(r.most), MW_NUMBER(mw_score(setting->task, r.mean)),
                                    MW_NUMBER(r.win_rate), MW_NUMBER(mw_cli_seconds() - start)});
    return MW_OK;
}

int mw_cli_data_make(int argc, char **argv) {
    static const mw_column columns[] = {
        {"setting", "setting", -20, NULL}, {"steps", "steps", 8, "%.0f"}, {"episodes", "episodes", 8, "%.0f"},
        {"return", "return", 9, "%.3f"},   {"std", "std", 8, "%.3f"},     {"least", "least", 9, "%.3f"},
        {"most", "most", 9, "%.3f"},       {"score", "score", 6, "%.1f"}, {"wins", "wins", 5, "%.3f"},
        {"seconds", "seconds", 7, "%.1f"}, {NULL, NULL, 0, NULL}};
    const char *name = NULL, *root = NULL;
    mw_show show = MW_SHOW_TEXT;
    mw_table table;
    int transitions = 0, count;
    mw_make_options request;
    mw_make_options_init(&request, sizeof request);
    const mw_option options[] = {{"o", MW_OPT_STRING, &root, 0, 0},
                                 {"transitions", MW_OPT_INT, &transitions, 1, 1e9},
                                 {"seed", MW_OPT_U64, &request.seed, 0, 0},
                                 {"threads", MW_OPT_INT, &request.threads, 0, MW_MAX_THREADS},
                                 {"behaviors", MW_OPT_STRING, &request.behaviors, 0, 0},
                                 {"overwrite", MW_OPT_FLAG, &request.overwrite, 0, 0},
                                 {"json", MW_OPT_SHOW, &show, 0, 0},
                                 {"csv", MW_OPT_SHOW, &show, 0, 0},
                                 {NULL, MW_OPT_FLAG, NULL, 0, 0}};
    int code = mw_cli_parse(argc, argv, options, help, &name, 1, &count);
    if (code >= 0) return code;
    if (count != 1) return mw_cli_usage("name a setting, or all");
    if (root && strlen(root) > 400) return mw_cli_usage("-o '%.40s...' is too long a path", root);
    if (!root || !*root) return mw_cli_usage("-o DIR says where the datasets go");
    request.transitions = transitions;
    mw_error error = {0};
    const mw_setting *setting = NULL;
    const bool all = !strcmp(name, "all");
    mw_status status = all ? MW_OK : mw_cli_setting(&setting, name, &error);
    if (status != MW_OK) return mw_cli_refuse(&error);
    request.stop = mw_cli_stop();
    mw_table_begin(&table, show, columns);
    for (int i = 0; status == MW_OK && (all ? mw_setting_at(i) != NULL : i < 1); i++)
        status = make_one(all ? mw_setting_at(i) : setting, &request, root, &table, &error);
    if (status == MW_OK) return mw_table_end(&table);
    mw_table_drop(&table);
    return mw_cli_fail(&error);
}
