/* A file of recorded numbers and comparisons with it: what the checks of the networks share. Tolerances are
 * those of single precision summed in another order. */
#ifndef MW_VERIFY_RECORD_H
#define MW_VERIFY_RECORD_H

#include "core/tensor/safetensors.h"
#include "verify/verify.h"
#include "model/rwm/network.h"

#define MW_OUTPUT_TOLERANCE   2e-5
#define MW_LOSS_TOLERANCE     1e-5
#define MW_GRADIENT_TOLERANCE 1e-4
#define MW_ADAM_TOLERANCE     1e-4

/* Steps of the optimiser before weights are compared. */
#define MW_RECORDED_STEPS 3

enum { MW_RECORD_FLOATS = 256 }; /* tensors of a file that are read, at most */

/* A recorded file with its tensors as floats; everything read is freed together. */
typedef struct mw_record {
    mw_safetensors file;
    float *owned[MW_RECORD_FLOATS];
    int owned_count;
    float rate; /* of these steps */
    const char *what;
} mw_record;

void mw_record_close(mw_record *r);

/* The tensor's values, whatever its shape, or NULL with error filled. */
float *mw_record_floats(mw_record *r, const char *name, size_t count, mw_error *error);

mw_status mw_record_int(const mw_record *r, const char *key, int low, int high, int *out, mw_error *error);

/* A number of the metadata; *there false: the file has none of this name. */
mw_status mw_record_number(const mw_record *r, const char *key, bool *there, double *out, mw_error *error);

/* The same, or what is usual if the file has none. */
mw_status mw_record_setting(const mw_record *r, const char *key, float usual, float *out, mw_error *error);

/* Fail unless the file has the tensor, or all parameters, in the sizes that it claims: to be asked before
 * memory is taken for these. */
mw_status mw_record_has(const mw_record *r, const char *name, size_t count, mw_error *error);
mw_status mw_record_holds(const mw_record *r, const mw_params *params, const char *prefix, mw_error *error);

/* Sets the parameters that the file has from tensors prefix + name; constants ("scale.") have other names
 * there. values NULL: fails unless all others are there in their sizes, before memory is taken for them. */
mw_status mw_record_weights(const mw_record *r, const mw_params *params, const char *prefix, float *values,
                            mw_error *error);

/* The largest difference between a parameter and tensor prefix + name; NaN: the file has none. */
mw_status mw_record_difference(const mw_record *r, const mw_param *param, const float *values,
                               const char *prefix, double *off, mw_error *error);

/* The largest error over all parameters between values (memory layout) and tensors prefix + name, in this
 * unit; 0: relative to each tensor's largest value. A tensor that is zero but for rounding (a key's bias does
 * not change a softmax, so it has no gradient) is measured against the largest of all instead of against its
 * own noise, and vectors and single values against a share of it at least. Weights after steps of Adam count
 * as the same within these steps where the recorded gradient is nothing but rounding. Infinite where the
 * record is not finite. */
mw_status mw_record_compare(mw_record *r, const mw_params *params, const float *values, const char *prefix,
                            double unit, double *worst, char *where, size_t where_size, mw_error *error);

/* The larger of worst and the error relative to what is recorded; absolute where that is 0 but for rounding.
 */
double mw_verify_ratio(double worst, double seen, double recorded);

/* Largest |seen - expected| over the largest |expected|. */
double mw_relative_error(const float *seen, const float *expected, size_t count);

/* The structure of a recorded world model, from its metadata, with the batch and the horizon of its inputs.
 */
mw_status mw_record_world(const mw_record *r, mw_world_config *config, int *batch, int *horizon,
                          mw_error *error);

mw_status mw_verify_world(mw_record *r, mw_verify *report, mw_error *error);
mw_status mw_verify_policy(mw_record *r, mw_verify *report, mw_error *error);
/* `kind` is the model's name. */
mw_status mw_verify_selector(mw_record *r, const char *kind, mw_verify *report, mw_error *error);
mw_status mw_verify_windows(const char *path, mw_verify *report, mw_error *error);

#endif
