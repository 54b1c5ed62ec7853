/* The arms of an evaluation, for help. */
#include "cli/cli.h"

#include <stdio.h>

void mw_cli_list_arms(void) {
    mw_arm arm;
    puts("\narms of an evaluation:");
    for (int i = 0; mw_arm_at(i, &arm); i++) mw_cli_explain(arm.name, 15, arm.help);
}
