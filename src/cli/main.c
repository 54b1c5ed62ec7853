/* The program: picks a subcommand. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static const mw_command commands[] = {
    {"behavior", "policies that collect datasets: list, train, pick, eval", mw_cli_behavior},
    {"bench", "how fast this machine scores, generates and trains", mw_cli_bench},
    {"bundle", "what a bundle holds: parts, sizes, provenance; packing it", mw_cli_bundle},
    {"data", "datasets: make, info, check, import, export", mw_cli_data},
    {"demo", "shipped bundles at work: a table and replays", mw_cli_demo},
    {"diagnose", "how well a bundle's world model ranks futures", mw_cli_diagnose},
    {"env", "worlds: list, describe, play", mw_cli_env},
    {"eval", "play a bundle's arms on the same episodes", mw_cli_eval},
    {"live", "a bundle at work in the browser, next to its policy alone", mw_cli_live},
    {"study", "all 30 settings: run the chain, report next to the paper", mw_cli_study},
    {"train", "from data: proposer, inverse dynamics, world model; by task advantage or value", mw_cli_train},
    {"verify", "compare with recorded numbers", mw_cli_verify},
    {"zoo", "the bundles that come with mawam, and how well they play", mw_cli_zoo},
    {NULL, NULL, NULL},
};

static const char help[] =
    "mawam: test-time planning with frozen multi-agent policies\n"
    "\n"
    "usage: mawam COMMAND [...]          mawam COMMAND --help, or mawam help COMMAND, for each\n"
    "       mawam --version             version and CPU level; MAWAM_CPU=v2|v3|v4 chooses a lower one\n"
    "       mawam COMMAND --quiet       no progress and no remarks\n"
    "\n"
    "examples: mawam demo\n"
    "          mawam zoo\n"
    "          mawam eval spread-medium\n"
    "\n"
    "commands:\n";

/* Every command knows --quiet, so it is taken out here. */
static int take_quiet(int argc, char **argv) {
    int kept = 0;
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--quiet"))
            argv[kept++] = argv[i];
        else
            mw_cli_quiet = true;
    }
    argv[kept] = NULL;
    mw_progress_every(mw_cli_quiet ? -1 : 10);
    return kept;
}

int main(int argc, char **argv) {
    mw_error error;
    mw_cli_open_standard();
    mw_cli_listen();
    mw_log_set(mw_cli_message, NULL);
    argc = take_quiet(argc, argv);
    if (mw_cpu_check(&error) != MW_OK) return mw_cli_fail(&error);
    if (argc == 2 && (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-v"))) {
        printf("mawam %s, CPU level %s\n", mw_version(), mw_cpu_name());
        return mw_cli_finish(0);
    }
    return mw_cli_finish(mw_cli_dispatch(commands, help, argc, argv));
}
