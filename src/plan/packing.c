/* Packed matrices; see packing.h. */
#include "plan/packing.h"

#include <math.h>
#include <string.h>

enum { LEAST_WEIGHTS = 1024 }; /* below, scales and names would take what is saved */

/* ---- what a description says ---- */

#define AT(member) offsetof(mw_packing, member)

static const mw_field list[] = {
    {"bits", MW_FIELD_INT, AT(bits), "8", MW_PACKING_LEAST, MW_PACKING_MOST, "of a weight", {0}, NULL},
    {"of", MW_FIELD_WORD, AT(of), "", 0, 0, "checksum of the bundle before", {0}, NULL},
};
static const mw_fields fields = MW_FIELDS(list);

json_t *mw_packing_json(const mw_packing *packing) {
    return mw_fields_json(fields, packing);
}

mw_status mw_packing_read(mw_packing *packing, const json_t *json, const char *what, mw_error *error) {
    *packing = (mw_packing){0};
    if (!json) return MW_OK;
    MW_TRY(mw_fields_read(fields, packing, json, what, error));
    if (strlen(packing->of) == 16 && strspn(packing->of, "0123456789abcdef") == 16) return MW_OK;
    return mw_fail(error, MW_ERR_FORMAT, "%s: it is packed of '%s', which is no checksum", what, packing->of);
}

/* ---- sizes ---- */

bool mw_packing_takes(const mw_param *param) {
    return param->dims >= 2 && param->count >= LEAST_WEIGHTS && strncmp(param->name, "scale.", 6) != 0;
}

mw_dtype mw_packing_type(int bits) {
    return bits == 8 ? MW_I8 : MW_U8;
}

static size_t width_of(const mw_param *param) {
    return param->count / (size_t)param->shape[0];
}

static size_t row_bytes(int bits, size_t width) {
    return (width * (size_t)bits + 7) / 8;
}

int mw_packing_shape(int bits, const mw_param *param, int shape[3]) {
    memcpy(shape, param->shape, sizeof param->shape);
    if (bits == 8) return param->dims;
    shape[1] = (int)row_bytes(bits, width_of(param));
    return 2;
}

mw_name mw_packing_scale_name(const char *name) {
    return mw_name_of("%s.scale", name);
}

/* ---- one row ---- */

/* The largest whole number; the smallest is its negative. */
static int top_of(int bits) {
    return (1 << (bits - 1)) - 1;
}

static int get(const unsigned char *row, int bits, size_t column) {
    if (bits == 8) return (int8_t)row[column];
    const size_t at = column * (size_t)bits, shift = at % 8;
    unsigned value = (unsigned)row[at / 8] >> shift;
    if (shift + (size_t)bits > 8) value |= (unsigned)row[at / 8 + 1] << (8 - shift);
    return (int)(value & ((1u << bits) - 1)) - (1 << (bits - 1));
}

static void put(unsigned char *row, int bits, size_t column, int number) {
    if (bits == 8) {
        row[column] = (unsigned char)(int8_t)number;
        return;
    }
    const size_t at = column * (size_t)bits, shift = at % 8;
    const unsigned value = (unsigned)(number + (1 << (bits - 1))) << shift;
    row[at / 8] = (unsigned char)(row[at / 8] | value);
    if (shift + (size_t)bits > 8) row[at / 8 + 1] = (unsigned char)(row[at / 8 + 1] | value >> 8);
}

static int rounded(double value, int top) {
    if (value >= top) return top;
    if (value <= -top) return -top;
    return (int)(value < 0 ? value - 0.5 : value + 0.5);
}

/* Of whole numbers q the scale of least error is sum(qw) / sum(qq), and leaves sum(ww) - sum(qw)^2 / sum(qq):
 * so that range is best which makes the last term largest. Returns the steps per unit of that range. */
static double best_steps(const float *weights, size_t width, int top, float *scale) {
    double most = 0, best = -1, steps = 0;
    for (size_t i = 0; i < width; i++) most = fmax(most, fabs((double)weights[i]));
    *scale = 0;
    for (int percent = 100; percent >= 52 && most > 0; percent -= 4) {
        const double tried = 100 * top / (most * percent);
        double product = 0, square = 0;
        for (size_t i = 0; i < width; i++) {
            const double q = rounded(weights[i] * tried, top);
            product += q * (double)weights[i];
            square += q * q;
        }
        if (product * product / square <= best) continue; /* the largest weight is never rounded to zero */
        best = product * product / square;
        steps = tried;
        *scale = (float)(product / square);
    }
    if (!isfinite((float)top * *scale)) *scale *= 1 - 0x1p-20f; /* rounded up from the largest float */
    return steps;
}

/* ---- matrices ---- */

void mw_packing_pack(int bits, const mw_param *param, const float *weights, unsigned char *packed,
                     float *scale) {
    const size_t width = width_of(param);
    for (int r = 0; r < param->shape[0]; r++, weights += width, packed += row_bytes(bits, width)) {
        const double steps = best_steps(weights, width, top_of(bits), &scale[r]);
        for (size_t i = 0; i < width; i++) put(packed, bits, i, rounded(weights[i] * steps, top_of(bits)));
    }
}

static mw_status check_scales(int bits, const mw_param *param, const mw_safetensors *file, const char *name,
                              mw_error *error) {
    const mw_name scale_name = mw_packing_scale_name(name);
    const mw_tensor *scale = mw_safetensors_find(file, scale_name.text);
    if (!scale || scale->type != MW_F32 || scale->dims != 1 || scale->shape[0] != (size_t)param->shape[0])
        return mw_fail(error, MW_ERR_FORMAT, "%s: tensor '%s' is missing or not one f32 for each of %d rows",
                       file->path, scale_name.text, param->shape[0]);
    for (size_t r = 0; r < scale->count; r++) {
        float value;
        memcpy(&value, (const char *)scale->data + r * sizeof value, sizeof value);
        if (!(value >= 0) || !isfinite((float)top_of(bits) * value))
            return mw_fail(error, MW_ERR_NUMERIC, "%s: scale %zu of '%s' is %g", file->path, r, name,
                           (double)value);
    }
    return MW_OK;
}

mw_status mw_packing_check(int bits, const mw_param *param, const mw_safetensors *file, const char *name,
                           mw_error *error) {
    const size_t width = width_of(param), bytes = row_bytes(bits, width), used = width * (size_t)bits % 8;
    const mw_tensor *tensor = mw_safetensors_find(file, name);
    int shape[3];
    bool same = tensor && tensor->type == mw_packing_type(bits) &&
                tensor->dims == mw_packing_shape(bits, param, shape);
    for (int i = 0; same && i < tensor->dims; i++) same = tensor->shape[i] == (size_t)shape[i];
    if (!same)
        return mw_fail(error, MW_ERR_FORMAT,
                       "%s: tensor '%s' is missing or not %d rows of %zu numbers of %d bits (%s)", file->path,
                       name, param->shape[0], width, bits, mw_dtype_name(mw_packing_type(bits)));
    MW_TRY(check_scales(bits, param, file, name, error));
    const unsigned char *row = tensor->data;
    for (int r = 0; r < param->shape[0]; r++, row += bytes) {
        bool good = !used || row[bytes - 1] >> used == 0; /* nothing stands behind the last number */
        for (size_t i = 0; good && i < width; i++) good = get(row, bits, i) >= -top_of(bits);
        if (!good)
            return mw_fail(error, MW_ERR_FORMAT, "%s: row %d of '%s' is not numbers from -%d to %d",
                           file->path, r, name, top_of(bits), top_of(bits));
    }
    return MW_OK;
}

void mw_packing_expand(int bits, const mw_param *param, const mw_safetensors *file, const char *name,
                       float *weights) {
    const size_t width = width_of(param);
    const unsigned char *row = mw_safetensors_find(file, name)->data;
    const char *scales = mw_safetensors_find(file, mw_packing_scale_name(name).text)->data;
    for (int r = 0; r < param->shape[0]; r++, row += row_bytes(bits, width)) {
        float scale;
        memcpy(&scale, scales + (size_t)r * sizeof scale, sizeof scale); /* at any alignment */
        for (size_t i = 0; i < width; i++) *weights++ = (float)get(row, bits, i) * scale;
    }
}
