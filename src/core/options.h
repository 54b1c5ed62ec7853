/* Options of the public interface: structs that carry their own size, so that fields can be added at the end
 * without breaking programs compiled before. */
#ifndef MW_CORE_OPTIONS_H
#define MW_CORE_OPTIONS_H

#include "core/error.h"

/* The body of an _init function: as much of the defaults as the caller's struct of `size` bytes has room for,
 * zeros beyond them, and its size in the first field. */
void mw_options_fill(void *options, size_t size, const void *defaults, size_t known);

/* Reads what a caller gave into *own, which holds the defaults and is of `known` bytes; given may be NULL.
 * Fails if its size is none that a version of this library had, as of a struct that was never filled. `init`
 * names the function that fills it. */
mw_status mw_options_take(void *own, size_t known, const void *given, const char *init, mw_error *error);

#endif
