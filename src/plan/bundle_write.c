/* Writing bundles: weights in single or half precision, or packed into a few bits; see bundle.h. */
#include "plan/bundle_file.h"

#include "core/numbers.h"
#include "core/tensor/safetensors.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* How weights are stored. */
typedef struct {
    bool half;
    const mw_packing *packing; /* of the larger matrices; NULL: none */
    bool exact;                /* half only where it loses nothing */
} storage;

/* The tensors of a file under construction; data are copies that are freed at the end. */
typedef struct {
    mw_tensor *list;
    mw_name *names;
    int count, capacity;
} tensor_list;

static void *add_tensor(tensor_list *t, mw_name name, mw_dtype type, int dims, const int *shape) {
    if (t->count == t->capacity) return NULL;
    mw_tensor *tensor = &t->list[t->count];
    t->names[t->count] = name;
    *tensor = (mw_tensor){.name = t->names[t->count].text, .type = type, .dims = dims, .count = 1};
    for (int i = 0; i < dims; i++) {
        tensor->shape[i] = (size_t)shape[i];
        tensor->count *= (size_t)shape[i];
    }
    void *data = calloc(tensor->count + 1, mw_dtype_size(type));
    if (!data) return NULL;
    tensor->data = data;
    t->count++;
    return data;
}

/* Half precision loses what is too large for it, and all of a tensor whose largest value is below its normal
 * range. */
static bool fits_half(const float *values, size_t count) {
    float most = 0;
    for (size_t i = 0; i < count; i++) most = fmaxf(most, fabsf(values[i]));
    return most == 0 || (most >= 0x1p-14f && most < 65504);
}

static bool is_half(const float *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (mw_half_to_float(mw_float_to_half(values[i])) != values[i]) return false;
    return true;
}

/* Units of inputs and outputs: what everything else is multiplied by, or what is subtracted from. */
static bool is_unit(const mw_param *param) {
    return !strncmp(param->name, "scale.", 6) || !strncmp(param->name, "input.", 6);
}

static bool is_narrow(const mw_param *param, const float *values) {
    return !is_unit(param) && fits_half(values, param->count);
}

bool mw_bundle_half_changes(const mw_param *param, const float *values) {
    return is_narrow(param, values) && !is_half(values, param->count);
}

void mw_bundle_narrow(mw_model *model) {
    for (int i = 0; i < model->params->count; i++) {
        const mw_param *param = &model->params->list[i];
        float *values = model->values + param->offset;
        if (!is_narrow(param, values)) continue;
        for (size_t k = 0; k < param->count; k++) values[k] = mw_half_to_float(mw_float_to_half(values[k]));
    }
}

static bool add_floats(tensor_list *t, mw_name name, const mw_param *param, const float *values,
                       const storage *store) {
    const bool narrow =
        store->half && is_narrow(param, values) && (!store->exact || is_half(values, param->count));
    void *data = add_tensor(t, name, narrow ? MW_F16 : MW_F32, param->dims, param->shape);
    for (size_t k = 0; data && narrow && k < param->count; k++) {
        const uint16_t bits = mw_float_to_half(values[k]);
        memcpy((char *)data + 2 * k, &bits, 2);
    }
    if (data && !narrow) memcpy(data, values, param->count * sizeof *values);
    return data;
}

static bool add_packed(tensor_list *t, mw_name name, const mw_param *param, const float *values, int bits) {
    int shape[3];
    const int dims = mw_packing_shape(bits, param, shape);
    unsigned char *packed = add_tensor(t, name, mw_packing_type(bits), dims, shape);
    float *scale = add_tensor(t, mw_packing_scale_name(name.text), MW_F32, 1, param->shape);
    if (!packed || !scale) return false;
    mw_packing_pack(bits, param, values, packed, scale);
    return true;
}

static mw_status add_params(tensor_list *t, const char *prefix, const mw_params *params, const float *values,
                            const storage *store, mw_error *error) {
    for (int i = 0; i < params->count; i++) {
        const mw_param *param = &params->list[i];
        float *wide = malloc(param->count * sizeof *wide);
        if (!wide) return mw_fail(error, MW_ERR_MEMORY, "cannot collect the weights");
        mw_param_to_file(param, values, wide);
        bool finite = true;
        for (size_t k = 0; k < param->count; k++) finite &= isfinite(wide[k]) != 0;
        const mw_name name = mw_name_of("%s%s", prefix, param->name);
        const bool added = !finite ? false
                           : store->packing && mw_packing_takes(param)
                               ? add_packed(t, name, param, wide, store->packing->bits)
                               : add_floats(t, name, param, wide, store);
        free(wide);
        if (!finite)
            return mw_fail(error, MW_ERR_NUMERIC, "weight '%s%s' is not finite", prefix, param->name);
        if (!added) return mw_fail(error, MW_ERR_MEMORY, "cannot collect the weights");
    }
    return MW_OK;
}

static mw_status add_normalizer(tensor_list *t, const char *name, const mw_normalizer *n, mw_error *error) {
    if (n->features == 0) return MW_OK;
    const int shape[2] = {n->features, n->max_knots};
    const size_t all = (size_t)n->features * (size_t)n->max_knots;
    int32_t *count = add_tensor(t, mw_name_of("normalizer.%s.count", name), MW_I32, 1, shape);
    float *value = add_tensor(t, mw_name_of("normalizer.%s.value", name), MW_F32, 2, shape);
    float *fraction = add_tensor(t, mw_name_of("normalizer.%s.fraction", name), MW_F32, 2, shape);
    if (!count || !value || !fraction) return mw_fail(error, MW_ERR_MEMORY, "cannot collect the normaliser");
    for (int f = 0; f < n->features; f++) count[f] = n->count[f];
    memcpy(value, n->value, all * sizeof *value);
    memcpy(fraction, n->fraction, all * sizeof *fraction);
    return MW_OK;
}

static json_t *describe(const mw_bundle *b, const mw_packing *packing) {
    json_t *root = mw_fields_json(mw_bundle_info_fields, &b->info), *parts = json_array();
    json_object_set_new(root, "version", json_integer(MW_BUNDLE_VERSION));
    if (packing) json_object_set_new(root, "packed", mw_packing_json(packing));
    json_object_set_new(root, "plan", mw_fields_json(mw_plan_fields, &b->plan));
    for (int i = 0; i < b->count; i++) json_array_append_new(parts, mw_bundle_part_json(&b->parts[i]));
    json_object_set_new(root, "parts", parts);
    return root;
}

/* Larger elements first, so that each lies at a multiple of its size, as readers that map a file want it. */
static int by_size(const void *left, const void *right) {
    const mw_tensor *a = left, *b = right;
    const size_t x = mw_dtype_size(a->type), y = mw_dtype_size(b->type);
    return x != y ? (x > y ? -1 : 1) : (a->name > b->name) - (a->name < b->name); /* names lie in order */
}

static mw_status save(const mw_bundle *b, const char *path, const storage *store, mw_error *error) {
    tensor_list t = {.capacity = 6};
    for (int i = 0; i < b->count; i++)
        t.capacity += (store->packing ? 2 : 1) * b->parts[i].model->params->count;
    t.list = calloc((size_t)t.capacity, sizeof *t.list);
    t.names = calloc((size_t)t.capacity, sizeof *t.names);
    json_t *root = describe(b, store->packing);
    char *text = json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(17));
    mw_status status =
        t.list && t.names && text ? MW_OK : mw_fail(error, MW_ERR_MEMORY, "cannot collect the bundle");
    for (int i = 0; i < b->count && status == MW_OK; i++) {
        const mw_model *model = b->parts[i].model;
        const storage own = {store->half, store->packing, b->exact & 1u << i};
        status = add_params(&t, mw_name_of("%s.", model->kind->name).text, model->params, model->values, &own,
                            error);
    }
    if (status == MW_OK) status = add_normalizer(&t, "obs", &b->obs_normalizer, error);
    if (status == MW_OK) status = add_normalizer(&t, "act", &b->act_normalizer, error);
    if (status == MW_OK && store->packing) qsort(t.list, (size_t)t.count, sizeof *t.list, by_size);
    if (status == MW_OK) {
        mw_meta metadata[4] = {{"format", "mawam-bundle"}, {"bundle", text}};
        size_t count = 2;
        if (b->return_error_from != MW_MEASURED_NEVER)
            metadata[count++] = (mw_meta){"return_error", mw_measured_word(b->return_error_from)};
        if (b->target_given) metadata[count++] = (mw_meta){"target", "given"};
        status = mw_safetensors_write(path, t.list, (size_t)t.count, metadata, count, error);
    }
    for (int i = 0; t.list && i < t.count; i++) free((void *)(uintptr_t)t.list[i].data);
    free(t.list);
    free(t.names);
    free(text);
    json_decref(root);
    return status;
}

mw_status mw_bundle_save(const mw_bundle *b, const char *path, bool half, mw_error *error) {
    return save(b, path, &(storage){.half = half}, error);
}

/* ---- packing ---- */

/* Every part remembers it, also where it goes on in another bundle. */
static mw_status note_packing(mw_bundle *b, const mw_packing *packing, const char *path, mw_error *error) {
    for (int i = 0; i < b->count; i++) {
        json_t *details = b->parts[i].provenance.details;
        if (b->info.packing.bits || json_object_get(details, "packed"))
            return mw_fail(error, MW_ERR_ARGUMENT, "%s: its %s was packed before; pack what it was made from",
                           path, b->parts[i].model->kind->name);
        json_object_set_new(details, "packed", mw_packing_json(packing));
    }
    return MW_OK;
}

mw_status mw_bundle_pack(const char *from, const char *to, int bits, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED(from);
    MW_NEED(to);
    if (bits < MW_PACKING_LEAST || bits > MW_PACKING_MOST)
        return mw_fail(error, MW_ERR_ARGUMENT, "weights take %d to %d bits, not %d", MW_PACKING_LEAST,
                       MW_PACKING_MOST, bits);
    mw_bundle *bundle;
    MW_TRY(mw_bundle_load(&bundle, from, error));
    mw_packing packing = {.bits = bits};
    snprintf(packing.of, sizeof packing.of, "%s", bundle->checksum);
    mw_status status = note_packing(bundle, &packing, from, error);
    if (status == MW_OK) status = save(bundle, to, &(storage){.half = true, .packing = &packing}, error);
    mw_bundle_free(bundle);
    return status;
}
