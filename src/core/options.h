/* Options of the public interface: structs that carry their own size, so that fields can be added at the end
 * without breaking programs compiled before. One rule for all of them: a struct that its _init function
 * filled is taken, whether the program was compiled with an earlier or a later header; what it lacks gets
 * defaults. */
#ifndef MW_CORE_OPTIONS_H
#define MW_CORE_OPTIONS_H

#include "core/error.h"

/* Where a field ends. With the last field of a struct's first published version: the least size of it. */
#define MW_FIELD_END(type, field) (offsetof(type, field) + sizeof(((type *)NULL)->field))

/* The body of an _init function: as much of the defaults as the caller's struct of `size` bytes has room for,
 * zeros beyond them, and its size in the first field. */
void mw_options_fill(void *options, size_t size, const void *defaults, size_t known);

/* Reads what a caller gave into *own, which holds the defaults and is of `known` bytes; given may be NULL.
 * Fails if its size is less than `first` or none at all, as of a struct that was never filled, or if fields
 * beyond the known ones are set. `init` names the function that fills it. */
mw_status mw_options_take(void *own, size_t known, size_t first, const void *given, const char *init,
                          mw_error *error);

/* Fails unless a list among the options has as many texts as it is said to have, 0 or more. */
mw_status mw_options_texts(const char *const *texts, int count, const char *name, mw_error *error);

#endif
