/* The study's options as words of a command line, so that a plan's tasks run with the same ones. */
#ifndef MW_STUDY_COMMAND_H
#define MW_STUDY_COMMAND_H

#include "mawam/study.h"

#include <stdio.h>

/* " --dir study --seeds 2 ...": what differs from the defaults, quoted for a shell; `task`, `settings` and
 * `threads` are left to the caller. */
void mw_command_options(FILE *out, const mw_study_options *options);
/* " spread-medium 3m-poor", and nothing for all. */
void mw_command_settings(FILE *out, const mw_study_options *options);
void mw_command_word(FILE *out, const char *word); /* one word, quoted where it must be */

/* Fails where options cannot be said on a command line. */
mw_status mw_command_check(const mw_study_options *options, mw_error *error);

#endif
