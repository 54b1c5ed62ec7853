/* Stands for the subcommands that still reach into the library (not_yet in tests/test_architecture.c), so
 * that the others can be linked with the shared library as any client is. */
#include "cli/cli.h"

#define NOT_YET(name)                                                                                        \
    int mw_cli_##name(int argc, char **argv) {                                                               \
        (void)argc;                                                                                          \
        return mw_cli_usage("%s: not in this build", argv[0]);                                               \
    }

NOT_YET(study)
