/* Reading recorded numbers and comparing with them; see record.h. */
#include "verify/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Infinite where one is not finite: fmax alone would pass over a NaN. */
static double largest_of(const float *x, size_t count) {
    double largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = isfinite(x[i]) ? fmax(largest, fabs((double)x[i])) : (double)INFINITY;
    return largest;
}

static double worst_of(const float *seen, const float *expected, size_t count) {
    double worst = 0;
    for (size_t i = 0; i < count; i++) worst = mw_verify_worst(worst, seen[i], expected[i]);
    return worst;
}

double mw_relative_error(const float *seen, const float *expected, size_t count) {
    const double worst = worst_of(seen, expected, count), largest = largest_of(expected, count);
    return largest > 0 ? worst / largest : worst;
}

void mw_record_close(mw_record *r) {
    for (int i = 0; i < r->owned_count; i++) free(r->owned[i]);
    mw_safetensors_close(&r->file);
}

mw_status mw_record_has(const mw_record *r, const char *name, size_t count, mw_error *error) {
    const mw_tensor *tensor = mw_safetensors_find(&r->file, name);
    if (tensor && tensor->count == count) return MW_OK;
    return mw_fail(error, MW_ERR_FORMAT, "%s: tensor '%s' is %s; expected %zu values", r->file.path, name,
                   tensor ? "of another size" : "missing", count);
}

float *mw_record_floats(mw_record *r, const char *name, size_t count, mw_error *error) {
    if (mw_record_has(r, name, count, error) != MW_OK) return NULL;
    if (r->owned_count == MW_RECORD_FLOATS) {
        mw_fail(error, MW_ERR_FORMAT, "%s: more tensors than can be compared", r->file.path);
        return NULL;
    }
    const mw_tensor *tensor = mw_safetensors_find(&r->file, name);
    float *values = malloc((count ? count : 1) * sizeof *values);
    if (!values) {
        mw_fail(error, MW_ERR_MEMORY, "%s: cannot allocate '%s'", r->file.path, name);
        return NULL;
    }
    mw_dtype_to_floats(tensor->type, tensor->data, count, values);
    return r->owned[r->owned_count++] = values;
}

mw_status mw_record_int(const mw_record *r, const char *key, int low, int high, int *out, mw_error *error) {
    long value;
    MW_TRY(mw_safetensors_meta_int(&r->file, key, low, high, &value, error));
    *out = (int)value;
    return MW_OK;
}

mw_status mw_record_number(const mw_record *r, const char *key, bool *there, double *out, mw_error *error) {
    const char *recorded = mw_safetensors_meta(&r->file, key);
    char *end;
    *there = recorded != NULL;
    if (!recorded) return MW_OK;
    *out = strtod(recorded, &end);
    if (end != recorded && !*end) return MW_OK;
    return mw_fail(error, MW_ERR_FORMAT, "%s: metadata '%s' is '%.40s'; expected a number", r->file.path, key,
                   recorded);
}

mw_status mw_record_setting(const mw_record *r, const char *key, float usual, float *out, mw_error *error) {
    bool there;
    double value = 0;
    MW_TRY(mw_record_number(r, key, &there, &value, error));
    *out = there ? (float)value : usual;
    return MW_OK;
}

mw_status mw_record_holds(const mw_record *r, const mw_params *params, const char *prefix, mw_error *error) {
    for (int i = 0; i < params->count; i++) {
        const mw_param *param = &params->list[i];
        char name[160];
        snprintf(name, sizeof name, "%s%s", prefix, param->name);
        MW_TRY(mw_record_has(r, name, param->count, error));
    }
    return MW_OK;
}

mw_status mw_record_weights(const mw_record *r, const mw_params *params, const char *prefix, float *values,
                            mw_error *error) {
    for (int i = 0; i < params->count; i++) {
        const mw_param *param = &params->list[i];
        const mw_name name = mw_name_of("%s%.40s", prefix, param->name);
        const mw_tensor *tensor = mw_safetensors_find(&r->file, name.text);
        if (!strncmp(param->name, "scale.", 6) || (values && !tensor)) continue;
        MW_TRY(mw_record_has(r, name.text, param->count, error));
        if (!values) continue;
        float *read = malloc(param->count * sizeof *read);
        if (!read) return mw_fail(error, MW_ERR_MEMORY, "%s: cannot allocate '%s'", r->file.path, name.text);
        mw_dtype_to_floats(tensor->type, tensor->data, param->count, read);
        mw_param_from_file(param, read, values);
        free(read);
    }
    return MW_OK;
}

mw_status mw_record_difference(const mw_record *r, const mw_param *param, const float *values,
                               const char *prefix, double *off, mw_error *error) {
    const mw_name name = mw_name_of("%s%.40s", prefix, param->name);
    const mw_tensor *tensor = mw_safetensors_find(&r->file, name.text);
    *off = NAN;
    if (!tensor) return MW_OK;
    MW_TRY(mw_record_has(r, name.text, param->count, error));
    float *expected = malloc(2 * param->count * sizeof *expected), *seen = expected + param->count;
    if (!expected) return mw_fail(error, MW_ERR_MEMORY, "cannot compare '%s'", name.text);
    mw_dtype_to_floats(tensor->type, tensor->data, param->count, expected);
    mw_param_to_file(param, values, seen);
    *off = worst_of(seen, expected, param->count);
    if (isnan(*off)) *off = INFINITY;
    free(expected);
    return MW_OK;
}

/* What is recorded as 0, or as what rounding leaves of it squared, is compared as it is. */
#define NOTHING 1e-12

double mw_verify_ratio(double worst, double seen, double recorded) {
    const double size = fabs(recorded);
    return mw_verify_worst(worst, seen / (size > NOTHING ? size : 1), recorded / (size > NOTHING ? size : 1));
}

/* What is left of a sum of large terms is as wrong as these, and no other value of the tensor need tell of
 * their size: a gate's gradient is one such sum, and those of biases share their rows' sum. They count by
 * this share of the largest of all tensors if that is more. */
static double least_share(const mw_param *param) {
    return param->count == 1 ? 0.02 : param->dims == 1 ? 0.005 : 0;
}

/* Adam takes whole steps along gradients of any size. Where the recorded one is not zero but below the
 * rounding of its tensor, or of all (a key's bias has no gradient), every step may as well go the other way:
 * weights no farther apart than that count as the same. */
static mw_status forgive(float *seen, const float *expected, const mw_record *r, const mw_param *param,
                         mw_error *error) {
    const mw_tensor *tensor = mw_safetensors_find(&r->file, mw_name_of("grad.%.50s", param->name).text);
    if (!tensor || tensor->count != param->count) return MW_OK;
    float *gradient = malloc(param->count * sizeof *gradient);
    if (!gradient) return mw_fail(error, MW_ERR_MEMORY, "cannot compare '%s'", param->name);
    mw_dtype_to_floats(tensor->type, tensor->data, param->count, gradient);
    const double rounding = fmax(1e-7 * largest_of(gradient, param->count), NOTHING),
                 apart = 2.01 * MW_RECORDED_STEPS * r->rate;
    for (size_t i = 0; i < param->count; i++)
        if (gradient[i] != 0 && fabs((double)gradient[i]) < rounding &&
            fabs((double)seen[i] - expected[i]) <= apart)
            seen[i] = expected[i];
    free(gradient);
    return MW_OK;
}

mw_status mw_record_compare(mw_record *r, const mw_params *params, const float *values, const char *prefix,
                            double unit, double *worst, char *where, size_t where_size, mw_error *error) {
    double overall = 0;
    *worst = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < params->count; i++) {
            const mw_param *param = &params->list[i];
            char name[160];
            snprintf(name, sizeof name, "%s%s", prefix, param->name);
            const mw_tensor *tensor = mw_safetensors_find(&r->file, name);
            if (!tensor && !strncmp(param->name, "scale.", 6)) continue; /* constants are not trained */
            if (!tensor || tensor->count != param->count)
                return mw_fail(error, MW_ERR_FORMAT, "%s: tensor '%s' is %s; expected %zu values",
                               r->file.path, name, tensor ? "of another size" : "missing", param->count);
            float *expected = malloc(2 * param->count * sizeof *expected);
            if (!expected) return mw_fail(error, MW_ERR_MEMORY, "cannot compare '%s'", param->name);
            float *seen = expected + param->count;
            mw_dtype_to_floats(tensor->type, tensor->data, param->count, expected);
            mw_param_to_file(param, values, seen);
            const mw_status status =
                strcmp(prefix, "grad.") ? forgive(seen, expected, r, param, error) : MW_OK;
            const double largest = largest_of(expected, param->count);
            double scale = unit > 0 ? unit : largest > 1e-7 * overall ? largest : overall;
            if (!(unit > 0)) scale = fmax(scale, least_share(param) * overall);
            double off = worst_of(seen, expected, param->count) / (scale > NOTHING ? scale : 1);
            free(expected);
            MW_TRY(status);
            if (!isfinite(largest) || !isfinite(off)) off = INFINITY; /* such a record proves nothing */
            if (pass == 0) {
                if (isfinite(largest)) overall = fmax(overall, largest);
            } else if (off > *worst) {
                *worst = off;
                snprintf(where, where_size, "%s", param->name);
            }
        }
    return MW_OK;
}
