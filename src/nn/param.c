/* The parameter table; see param.h. */
#include "nn/param.h"

#include "core/arena.h"
#include "core/rng.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

mw_name mw_name_of(const char *format, ...) {
    mw_name name;
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(name.text, sizeof name.text, format, args);
    va_end(args);
    assert(length < (int)sizeof name.text); /* names must stay different */
    (void)length;
    return name;
}

void mw_params_free(mw_params *params) {
    free(params->list);
    *params = (mw_params){0};
}

size_t mw_params_add(mw_params *params, const char *name, mw_param_kind kind, mw_init init, float spread,
                     int d0, int d1, int d2) {
    if (params->count == params->capacity) {
        int capacity = params->capacity ? 2 * params->capacity : 64;
        mw_param *grown = realloc(params->list, (size_t)capacity * sizeof *grown);
        if (!grown) {
            params->failed = true;
            return 0;
        }
        params->list = grown;
        params->capacity = capacity;
    }
    mw_param *param = &params->list[params->count++];
    *param = (mw_param){
        .kind = kind, .init = init, .spread = spread, .shape = {d0, d1, d2}, .offset = params->total};
    snprintf(param->name, sizeof param->name, "%s", name);
    param->dims = d2 ? 3 : d1 ? 2 : 1;
    param->count = (size_t)d0 * (size_t)(d1 ? d1 : 1) * (size_t)(d2 ? d2 : 1);
    const size_t step = MW_ALIGN / sizeof(float);
    params->total += (param->count + step - 1) / step * step;
    return param->offset;
}

const mw_param *mw_params_find(const mw_params *params, const char *name) {
    for (int i = 0; i < params->count; i++)
        if (!strcmp(params->list[i].name, name)) return &params->list[i];
    return NULL;
}

size_t mw_params_scalars(const mw_params *params) {
    size_t total = 0;
    for (int i = 0; i < params->count; i++) total += params->list[i].count;
    return total;
}

void mw_params_init(const mw_params *params, float *values, uint64_t seed) {
    for (int p = 0; p < params->count; p++) {
        const mw_param *param = &params->list[p];
        mw_rng rng = mw_rng_make(seed, MW_RNG_INIT, (uint64_t)p, 0, 0);
        float *at = values + param->offset;
        for (size_t i = 0; i < param->count; i++) {
            switch (param->init) {
            case MW_INIT_ZERO:
                at[i] = 0;
                break;
            case MW_INIT_ONE:
                at[i] = 1;
                break;
            case MW_INIT_UNIFORM:
                at[i] = param->spread * (2 * mw_rng_float(&rng) - 1);
                break;
            case MW_INIT_NORMAL:
                at[i] = param->spread * (float)mw_rng_normal(&rng);
                break;
            }
        }
    }
}

/* Strides of (tap, in, out) in the file's order. */
static void file_strides(const mw_param *p, size_t stride[3], int extent[3]) {
    size_t taps = p->dims == 3 ? (size_t)p->shape[2] : 1;
    bool out_first = p->kind != MW_PARAM_TRANSPOSED;
    extent[0] = (int)taps;
    extent[1] = out_first ? p->shape[1] : p->shape[0];
    extent[2] = out_first ? p->shape[0] : p->shape[1];
    stride[0] = 1;
    stride[1] = out_first ? taps : taps * (size_t)p->shape[1];
    stride[2] = out_first ? taps * (size_t)p->shape[1] : taps;
}

void mw_param_to_file(const mw_param *param, const float *values, float *out) {
    const float *at = values + param->offset;
    if (param->kind == MW_PARAM_PLAIN) {
        memcpy(out, at, param->count * sizeof *out);
        return;
    }
    size_t stride[3];
    int extent[3];
    file_strides(param, stride, extent);
    for (int tap = 0; tap < extent[0]; tap++)
        for (int i = 0; i < extent[1]; i++)
            for (int o = 0; o < extent[2]; o++)
                out[(size_t)tap * stride[0] + (size_t)i * stride[1] + (size_t)o * stride[2]] = *at++;
}

void mw_param_from_file(const mw_param *param, const float *in, float *values) {
    float *at = values + param->offset;
    if (param->kind == MW_PARAM_PLAIN) {
        memcpy(at, in, param->count * sizeof *in);
        return;
    }
    size_t stride[3];
    int extent[3];
    file_strides(param, stride, extent);
    for (int tap = 0; tap < extent[0]; tap++)
        for (int i = 0; i < extent[1]; i++)
            for (int o = 0; o < extent[2]; o++)
                *at++ = in[(size_t)tap * stride[0] + (size_t)i * stride[1] + (size_t)o * stride[2]];
}

mw_status mw_params_fill(const mw_params *params, float *values, mw_param_source source, void *context,
                         mw_error *error) {
    size_t most = 1;
    for (int i = 0; i < params->count; i++)
        if (params->list[i].count > most) most = params->list[i].count;
    float *buffer = malloc(most * sizeof *buffer);
    if (!buffer) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate %zu floats", most);
    mw_status status = MW_OK;
    for (int i = 0; i < params->count && status == MW_OK; i++) {
        status = source(context, &params->list[i], buffer, error);
        if (status == MW_OK) mw_param_from_file(&params->list[i], buffer, values);
    }
    free(buffer);
    return status;
}

typedef struct {
    const mw_safetensors *file;
    const char *prefix;
} named_tensors;

static mw_status read_named(void *context, const mw_param *param, float *out, mw_error *error) {
    const named_tensors *from = context;
    char name[160];
    snprintf(name, sizeof name, "%s%s", from->prefix, param->name);
    const long shape[3] = {param->shape[0], param->shape[1], param->shape[2]};
    return mw_safetensors_floats(from->file, name, param->dims, shape, out, error);
}

mw_status mw_params_load(const mw_params *params, float *values, const mw_safetensors *file,
                         const char *prefix, mw_error *error) {
    named_tensors from = {file, prefix};
    return mw_params_fill(params, values, read_named, &from, error);
}
