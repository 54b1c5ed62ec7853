/* Sweeps: a bundle evaluated at several values of a plan setting, always on the same episodes, so that what a
 * setting earns can be held against what it costs. */
#ifndef MAWAM_SWEEP_H
#define MAWAM_SWEEP_H

#include "mawam/eval.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mw_sweep_options {
    size_t size;                 /* of this struct, set by init */
    const char *const *sweeps;   /* [count]: "M=1,2,4,8,16", "H=1..8": a plan setting and its values */
    int count;                   /* one after the other, each from the bundle's own plan */
    const mw_eval_options *eval; /* of every value; arms 0: reactive and plan, with H the oracle too. NULL:
                                    the defaults */
    const char *path;            /* where the result is written after every value; what it holds of the same
                                    bundle and options already is kept, any other file refused. NULL:
                                    nowhere */
    const char *command;         /* for the provenance; may be NULL */
    /* After every value: how many are done of all, and seconds that the rest will take. May be NULL. */
    void (*progress)(void *context, const char *setting, const char *value, int done, int total, double left);
    void *context;
    bool overwrite; /* replace what path holds of another bundle or other options */
} mw_sweep_options;
MW_API void mw_sweep_options_init(mw_sweep_options *options, size_t size);

/* *json: the result as text, to be freed; docs/evaluation.md says what is in it. */
MW_API mw_status mw_sweep_run(char **json, const mw_bundle *bundle, const mw_sweep_options *options,
                              mw_error *error);

#ifdef __cplusplus
}
#endif
#endif
