/* mawam verify: compares the running build with recorded numbers and says by how much it is off. */
#include "cli/table.h"

#include <limits.h>
#include <mawam/study.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char env_help[] =
    "usage: mawam verify env DIR [--json | --csv]\n"
    "\n"
    "Replays recorded trajectories and prints the largest error of every quantity, one line per check.\n"
    "DIR holds the particle tasks (simple_spread/, ...), the battles (3m/, ...), Ant (qpos.npy, ...),\n"
    "or folders mpe, smac, ant with them. Exits 1 when an error exceeds its tolerance.\n"
    "\n"
    "example: mawam verify env tests/data/mpe\n";

static const char net_help[] =
    "usage: mawam verify net DIR [--json | --csv]\n"
    "\n"
    "Recomputes recorded network outputs, losses and gradients and prints the largest error of every\n"
    "quantity. DIR holds folders with world, policy, mono, independent, q or direct.safetensors. Exits\n"
    "1 when an error exceeds its tolerance.\n"
    "\n"
    "example: mawam verify net tests/data/net\n";

static const char diagnostics_help[] =
    "usage: mawam verify diagnostics DIR [--json | --csv]\n"
    "\n"
    "Recomputes recorded statistics of studies and diagnostics from their inputs and prints the largest\n"
    "error of every quantity. Exits 1 when an error exceeds its tolerance.\n"
    "\n"
    "example: mawam verify diagnostics tests/data/diagnostics\n";

static const char baselines_help[] =
    "usage: mawam verify baselines DIR [--json | --csv]\n"
    "\n"
    "Recomputes recorded losses, gradients, updates and samples of other methods and prints the largest\n"
    "error of every quantity, for each METHOD*.safetensors in DIR. Exits 1 when an error exceeds its\n"
    "tolerance.\n"
    "\n"
    "example: mawam verify baselines tests/data/baselines\n";

static const mw_column columns[] = {{"result", "", -4, NULL},
                                    {"check", "check", -60, NULL},
                                    {"error", "error", 9, "%.3g"},
                                    {"tolerance", "tolerance", 9, "%g"},
                                    {NULL, NULL, 0, NULL}};

static void print_line(void *context, const char *check, double error, double tolerance, bool ok) {
    mw_table_row(context, (mw_cell[]){MW_TEXT(ok ? "ok" : "FAIL"), MW_TEXT(check), MW_NUMBER(error),
                                      MW_NUMBER(tolerance)});
}

/* The end of the table: how many failed, as a line for people and as the exit code for all. */
static int finish(mw_table *table, const mw_verify *report) {
    if (table->show == MW_SHOW_TEXT) printf("%d checks, %d failed\n", report->checks, report->failed);
    const int code = mw_table_end(table);
    return report->failed ? 1 : code;
}

typedef mw_status verify_fn(const char *dir, mw_verify *report, mw_error *error);

static int compare(const char *dir, mw_show show, verify_fn *verify) {
    mw_table table;
    mw_verify report = {.line = print_line, .context = &table};
    mw_error error = {0};
    mw_table_begin(&table, show, columns);
    mw_status status = verify(dir, &report, &error);
    if (status == MW_OK && report.checks == 0)
        status = mw_fail(&error, MW_ERR_FORMAT, "verify: nothing to check in '%.300s'", dir);
    if (status == MW_OK) return finish(&table, &report);
    mw_table_drop(&table);
    return mw_cli_fail(&error);
}

static int run(int argc, char **argv, const char *help, verify_fn *verify) {
    mw_show show = MW_SHOW_TEXT;
    const mw_option options[] = {{"json", MW_OPT_SHOW, &show, 0, 0},
                                 {"csv", MW_OPT_SHOW, &show, 0, 0},
                                 {NULL, MW_OPT_FLAG, NULL, 0, 0}};
    const char *dir;
    int count;
    int code = mw_cli_parse(argc, argv, options, help, &dir, 1, &count);
    if (code >= 0) return code;
    if (count != 1) return mw_cli_usage("name the folder of recorded numbers");
    return compare(dir, show, verify);
}

static int verify_env(int argc, char **argv) {
    return run(argc, argv, env_help, mw_verify_env);
}

static int verify_net(int argc, char **argv) {
    return run(argc, argv, net_help, mw_verify_net);
}

static int verify_baselines(int argc, char **argv) {
    return run(argc, argv, baselines_help, mw_verify_baselines);
}

static int verify_diagnostics(int argc, char **argv) {
    return run(argc, argv, diagnostics_help, mw_verify_diagnostics);
}

/* Folders of recorded numbers by their names. */
static const struct {
    const char *name;
    verify_fn *verify;
} kinds[] = {{"mpe", mw_verify_env},
             {"smac", mw_verify_env},
             {"ant", mw_verify_env},
             {"net", mw_verify_net},
             {"selectors", mw_verify_net},
             {"diagnostics", mw_verify_diagnostics},
             {"baselines", mw_verify_baselines}};

enum { KINDS = sizeof kinds / sizeof *kinds };

static bool is_folder(const char *path) {
    struct stat info;
    return !stat(path, &info) && S_ISDIR(info.st_mode);
}

/* The folder's own kind, or whatever kinds of folders it holds. */
static mw_status verify_all(const char *given, mw_verify *report, mw_error *error) {
    char dir[PATH_MAX];
    const char *slash = strrchr(given, '/'), *last = slash ? slash + 1 : given;
    if (last[strspn(last, ".")] || !realpath(given, dir)) /* "." has a name too */
        snprintf(dir, sizeof dir, "%s", given);
    size_t length = strlen(dir);
    while (length > 1 && dir[length - 1] == '/') length--;
    int checked = 0;
    for (int i = 0; i < KINDS; i++) {
        char path[4096];
        const size_t name = strlen(kinds[i].name);
        const bool own = length >= name && !strncmp(dir + length - name, kinds[i].name, name) &&
                         (length == name || dir[length - name - 1] == '/');
        snprintf(path, sizeof path, own ? "%.*s" : "%.*s/%s", (int)length, dir, kinds[i].name);
        if (!is_folder(path)) continue;
        checked++;
        MW_TRY(kinds[i].verify(path, report, error));
    }
    if (checked) return MW_OK;
    if (!is_folder(dir)) return mw_fail(error, MW_ERR_IO, "verify: there is no folder '%s'", dir);
    return mw_fail(
        error, MW_ERR_ARGUMENT,
        "verify: '%s' is neither one of mpe, smac, ant, net, selectors, diagnostics and baselines nor holds "
        "one",
        dir);
}

int mw_cli_verify(int argc, char **argv) {
    static const mw_command commands[] = {
        {"env", "the worlds against recorded trajectories", verify_env},
        {"net", "the networks against recorded outputs and gradients", verify_net},
        {"baselines", "other methods against recorded losses, gradients and updates", verify_baselines},
        {"diagnostics", "statistics and diagnostics against recorded results", verify_diagnostics},
        {NULL, NULL, NULL},
    };
    static const char help[] =
        "usage: mawam verify DIR [--json | --csv]\n"
        "       mawam verify COMMAND DIR [--json | --csv]\n"
        "\n"
        "Without a command: every folder mpe, smac, ant, net, selectors, diagnostics and baselines in DIR,\n"
        "or DIR itself if it is one of them.\n"
        "\n"
        "example: mawam verify tests/data\n"
        "\n"
        "commands:\n";
    const char *first = argc > 1 ? argv[1] : "--help";
    bool command = mw_cli_asks_for_help(first);
    for (int i = 0; commands[i].name; i++) command |= !strcmp(first, commands[i].name);
    if (command) return mw_cli_dispatch(commands, help, argc, argv);
    if (first[0] == '-' || strchr(first, '/') || is_folder(first)) return run(argc, argv, help, verify_all);
    char meant[16] = "";
    int best = mw_cli_near(first);
    for (int i = 0; commands[i].name; i++) mw_cli_nearer(meant, sizeof meant, &best, first, commands[i].name);
    if (*meant) return mw_cli_dispatch(commands, help, argc, argv);
    return mw_cli_usage("there is neither a folder nor a command '%s'", first);
}
