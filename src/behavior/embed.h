/* Frozen preys as C source: what src/env/mpe/prey_weights.c is made with, so that an installed library needs
 * no file to know its default worlds. */
#ifndef MW_BEHAVIOR_EMBED_H
#define MW_BEHAVIOR_EMBED_H

#include "core/error.h"

/* Writes the preys of `count` files, in this order, to a C file. */
mw_status mw_prey_embed(const char *const *files, int count, const char *path, mw_error *error);

#endif
