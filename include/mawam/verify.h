/* Comparisons of the running build with recorded numbers: what to run on a new CPU or with a new compiler.
 * They fail only when files are missing or malformed; numbers out of tolerance are counted in the report. */
#ifndef MAWAM_VERIFY_H
#define MAWAM_VERIFY_H

#include "mawam/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mw_verify {
    /* Called once for every quantity with the largest error seen. */
    void (*line)(void *context, const char *check, double error, double tolerance, bool ok);
    void *context;
    int checks, failed; /* counted on the way; 0 to begin with */
} mw_verify;

/* The worlds against recorded trajectories. dir is a family's own folder, or the parent of folders named mpe,
 * smac and ant. */
MW_API mw_status mw_verify_env(const char *dir, mw_verify *report, mw_error *error);

/* The networks. dir holds <task>/world, policy, mono, independent, q and direct.safetensors for any tasks,
 * normalizer.safetensors and metrics.safetensors, as far as present; sizes come from their metadata. Errors
 * are relative to a tensor's largest magnitude. */
MW_API mw_status mw_verify_net(const char *dir, mw_verify *report, mw_error *error);

/* Statistics and diagnostics. dir holds study.json and the tensors that belong to it, as far as present;
 * sizes come from the files. */
MW_API mw_status mw_verify_diagnostics(const char *dir, mw_verify *report, mw_error *error);

/* Other methods: losses, gradients, updates and samples. dir holds METHOD*.safetensors; sizes and constants
 * come from their metadata. A file of a method that this build does not have counts as failed. */
MW_API mw_status mw_verify_baselines(const char *dir, mw_verify *report, mw_error *error);

#ifdef __cplusplus
}
#endif
#endif
