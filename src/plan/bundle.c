/* Bundles: creation, saving, and loading with everything checked; see bundle.h. */
#include "plan/bundle.h"

#include "core/numbers.h"
#include "core/tensor/safetensors.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(mw_bundle_info, member)

enum { OLDEST_VERSION = 6 }; /* that is read: the study's bundles are of it */

/* Settings that are younger. A bundle that does not know them was made by their defaults. */
static const struct {
    int since;
    const char *of, *name;
} younger[] = {{7, "plan", "recombine"}, {8, "flow", "forecast_return"}};

/* clang-format off */
static const mw_field info_fields[] = {
    {"task",          MW_FIELD_WORD,   AT(task),          "", 0, 0,    "", {0}, NULL},
    {"rules",         MW_FIELD_WORD,   AT(rules),         "", 0, 0,    "", {0}, NULL},
    {"quality",       MW_FIELD_WORD,   AT(quality),       "", 0, 0,    "", {0}, NULL},
    {"method",        MW_FIELD_WORD,   AT(method),        "", 0, 0,    "", {0}, NULL},
    {"agents",        MW_FIELD_INT,    AT(agents),        "", 1, 64,   "", {0}, NULL},
    {"obs",           MW_FIELD_INT,    AT(obs),           "", 1, 4096, "", {0}, NULL},
    {"act",           MW_FIELD_INT,    AT(act),           "", 1, 4096, "", {0}, NULL},
    {"discrete",      MW_FIELD_SWITCH, AT(discrete),      "", 0, 1,    "", {0}, NULL},
    {"episode_limit", MW_FIELD_INT,    AT(episode_limit), "", 1, 1e9,  "", {0}, NULL},
};
/* clang-format on */

static const mw_fields info_table = MW_FIELDS(info_fields);

/* ---- creation ---- */

mw_status mw_bundle_create(mw_bundle **out, const mw_bundle_info *info, const mw_plan_settings *plan,
                           mw_error *error) {
    mw_bundle *bundle = *out = calloc(1, sizeof *bundle);
    if (!bundle) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a bundle");
    bundle->info = *info;
    bundle->plan = *plan;
    return MW_OK;
}

static void part_free(mw_bundle_part *part) {
    mw_model_free(part->model);
    mw_provenance_free(&part->provenance);
    free(part->text);
}

void mw_bundle_free(mw_bundle *b) {
    if (!b) return;
    for (int i = 0; i < b->count; i++) part_free(&b->parts[i]);
    mw_normalizer_free(&b->obs_normalizer);
    mw_normalizer_free(&b->act_normalizer);
    free(b);
}

mw_model_shape mw_bundle_shape(const mw_bundle_info *info) {
    return (mw_model_shape){info->agents, info->obs, info->act, info->discrete};
}

mw_status mw_bundle_info_check(const mw_bundle_info *info, mw_error *error) {
    return mw_fields_check(info_table, info, "a bundle's ", MW_ERR_NUMERIC, error);
}

static json_t *part_json(const mw_bundle_part *part) {
    const mw_model_class *kind = part->model->kind;
    return json_pack("{s:s, s:s, s:o, s:o}", "name", kind->name, "kind", kind->name, "configuration",
                     mw_fields_json(kind->fields, &part->model->config), "provenance",
                     mw_provenance_json(&part->provenance));
}

mw_status mw_bundle_add(mw_bundle *b, mw_model *model, mw_provenance *provenance, mw_error *error) {
    mw_bundle_part part = {.model = model, .provenance = *provenance};
    *provenance = (mw_provenance){0};
    json_t *json = part_json(&part);
    part.text = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    json_decref(json);
    mw_status status = MW_OK;
    if (!part.text)
        status = mw_fail(error, MW_ERR_MEMORY, "cannot describe a part of the bundle");
    else if (b->count == MW_KINDS || mw_bundle_find(b, model->kind->name))
        status = mw_fail(error, MW_ERR_ARGUMENT, "the bundle has a %s already", model->kind->name);
    if (status != MW_OK) {
        part_free(&part);
        return status;
    }
    mw_model_pack(model);
    b->parts[b->count++] = part;
    return MW_OK;
}

mw_bundle_part *mw_bundle_find(mw_bundle *b, const char *name) {
    for (int i = 0; i < b->count; i++)
        if (!strcmp(b->parts[i].model->kind->name, name)) return &b->parts[i];
    return NULL;
}

const mw_model *mw_bundle_model(const mw_bundle *b, const char *name) {
    const mw_bundle_part *part = mw_bundle_find((mw_bundle *)(uintptr_t)b, name);
    return part ? part->model : NULL;
}

unsigned mw_bundle_models(const mw_bundle *b) {
    unsigned models = 0;
    for (int i = 0; i < b->count; i++) models |= 1u << mw_model_class_index(b->parts[i].model->kind->name);
    return models;
}

bool mw_bundle_draws(const mw_bundle *b) {
    return mw_bundle_model(b, "flow") && mw_bundle_model(b, "inverse");
}

mw_plan_settings mw_bundle_plan(const mw_bundle *b) {
    return b->plan;
}

mw_bundle_summary mw_bundle_describe(const mw_bundle *b) {
    return (mw_bundle_summary){.task = b->info.task,
                               .rules = b->info.rules,
                               .quality = b->info.quality,
                               .method = b->info.method,
                               .agents = b->info.agents,
                               .obs_size = b->info.obs,
                               .act_size = b->info.act,
                               .discrete = b->info.discrete,
                               .episode_limit = b->info.episode_limit,
                               .parts = b->count,
                               .packed_bits = b->info.packing.bits,
                               .packed_of = b->info.packing.of};
}

mw_bundle_part_summary mw_bundle_part_describe(const mw_bundle *b, int part) {
    if (part < 0 || part >= b->count) return (mw_bundle_part_summary){0};
    const mw_bundle_part *p = &b->parts[part];
    return (mw_bundle_part_summary){p->model->kind->name, mw_params_scalars(p->model->params), p->text};
}

/* ---- saving ---- */

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
    json_t *root = mw_fields_json(info_table, &b->info), *parts = json_array();
    json_object_set_new(root, "version", json_integer(MW_BUNDLE_VERSION));
    if (packing) json_object_set_new(root, "packed", mw_packing_json(packing));
    json_object_set_new(root, "plan", mw_fields_json(mw_plan_fields, &b->plan));
    for (int i = 0; i < b->count; i++) json_array_append_new(parts, part_json(&b->parts[i]));
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
        if (b->return_error_given) metadata[count++] = (mw_meta){"return_error", "given"};
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

/* ---- loading ---- */

static mw_status load_normalizer(const mw_safetensors *file, const char *name, int features, mw_normalizer *n,
                                 mw_error *error) {
    const mw_tensor *value = mw_safetensors_find(file, mw_name_of("normalizer.%s.value", name).text);
    if (!value || value->dims != 2 || value->shape[0] != (size_t)features || value->shape[1] < 2 ||
        value->shape[1] > 65536)
        return mw_fail(error, MW_ERR_FORMAT, "%s: tensor 'normalizer.%s.value' is missing or not [%d][knots]",
                       file->path, name, features);
    MW_TRY(mw_normalizer_create(n, features, (int)value->shape[1], error));
    const long shape[2] = {features, n->max_knots};
    float *count = malloc((size_t)features * sizeof *count);
    if (!count) return mw_fail(error, MW_ERR_MEMORY, "cannot read the normaliser");
    mw_status status = mw_safetensors_floats(file, value->name, 2, shape, n->value, error);
    if (status == MW_OK)
        status = mw_safetensors_floats(file, mw_name_of("normalizer.%s.fraction", name).text, 2, shape,
                                       n->fraction, error);
    if (status == MW_OK)
        status =
            mw_safetensors_floats(file, mw_name_of("normalizer.%s.count", name).text, 1, shape, count, error);
    for (int f = 0; f < features && status == MW_OK; f++) {
        const float *v = n->value + (size_t)f * (size_t)n->max_knots,
                    *p = n->fraction + (size_t)f * (size_t)n->max_knots;
        bool good = count[f] >= 1 && count[f] <= (float)n->max_knots;
        for (int k = 0; good && k < (int)count[f]; k++)
            good =
                isfinite(v[k]) && p[k] >= 0 && p[k] <= 1 && (k == 0 || (v[k] > v[k - 1] && p[k] >= p[k - 1]));
        if (!good)
            status = mw_fail(error, MW_ERR_FORMAT,
                             "%s: the normaliser of feature %d (%s) is not an ascending table", file->path, f,
                             name);
        else
            n->count[f] = (int)count[f];
    }
    free(count);
    return status;
}

/* Where a part's weights come from. */
typedef struct {
    const mw_safetensors *file;
    const char *part;
    int bits; /* of packed matrices; 0: none are */
} weight_source;

static mw_name weight_name(const weight_source *from, const mw_param *param) {
    return mw_name_of("%s.%s", from->part, param->name);
}

static bool is_packed(const weight_source *from, const mw_param *param) {
    return from->bits && mw_packing_takes(param);
}

/* The file must hold what the table says before memory is taken for it. */
static mw_status check_tensors(const mw_params *params, const weight_source *from, mw_error *error) {
    for (int i = 0; i < params->count; i++) {
        const mw_param *param = &params->list[i];
        const mw_name name = weight_name(from, param);
        if (is_packed(from, param)) {
            MW_TRY(mw_packing_check(from->bits, param, from->file, name.text, error));
            continue;
        }
        const mw_tensor *tensor = mw_safetensors_find(from->file, name.text);
        bool same = tensor && tensor->dims == param->dims;
        for (int k = 0; same && k < param->dims; k++) same = tensor->shape[k] == (size_t)param->shape[k];
        if (!same)
            return mw_fail(error, MW_ERR_FORMAT,
                           "%s: tensor '%s' is missing or not of the shape [%d][%d][%d] that the "
                           "configuration asks for (unused extents are 0)",
                           from->file->path, name.text, param->shape[0],
                           param->dims > 1 ? param->shape[1] : 0, param->dims > 2 ? param->shape[2] : 0);
        if (tensor->type > MW_F64) /* the types of floating point come first */
            return mw_fail(error, MW_ERR_FORMAT, "%s: tensor '%s' is %s, expected floating point",
                           from->file->path, name.text, mw_dtype_name(tensor->type));
    }
    return MW_OK;
}

static mw_status read_weights(void *context, const mw_param *param, float *out, mw_error *error) {
    const weight_source *from = context;
    const mw_name name = weight_name(from, param);
    const long shape[3] = {param->shape[0], param->shape[1], param->shape[2]};
    if (!is_packed(from, param))
        return mw_safetensors_floats(from->file, name.text, param->dims, shape, out, error);
    mw_packing_expand(from->bits, param, from->file, name.text, out);
    return MW_OK;
}

/* Of weights that are not packed. */
static void note_precision(mw_bundle_part *part, const weight_source *from) {
    const mw_model *model = part->model;
    for (int i = 0; i < model->params->count; i++) {
        const mw_param *param = &model->params->list[i];
        const float *values = model->values + param->offset;
        if (is_packed(from, param)) continue;
        if (mw_safetensors_find(from->file, weight_name(from, param).text)->type == MW_F16)
            part->narrow = true;
        else if (is_narrow(param, values) && !is_half(values, param->count))
            part->wide = true;
    }
}

static mw_status load_weights(mw_model *model, weight_source from, mw_error *error) {
    MW_TRY(check_tensors(model->params, &from, error));
    MW_TRY(mw_model_allocate(model, error));
    MW_TRY(mw_params_fill(model->params, model->values, read_weights, &from, error));
    for (size_t i = 0; i < model->params->total; i++)
        if (!isfinite(model->values[i]))
            return mw_fail(error, MW_ERR_NUMERIC, "%s: a weight of the %s is not finite", from.file->path,
                           model->kind->name);
    return MW_OK;
}

/* Adds what a bundle of this version cannot have; object is overwritten. */
static mw_status add_younger(json_t *settings, const char *of, long long version, mw_fields fields,
                             void *object, const char *what, mw_error *error) {
    mw_fields_defaults(fields, object);
    json_t *defaults = mw_fields_json(fields, object);
    bool whole = defaults != NULL;
    for (size_t i = 0; whole && i < sizeof younger / sizeof *younger; i++)
        if (younger[i].since > version && !strcmp(younger[i].of, of) && json_is_object(settings) &&
            !json_object_get(settings, younger[i].name))
            whole =
                json_object_set(settings, younger[i].name, json_object_get(defaults, younger[i].name)) == 0;
    json_decref(defaults);
    if (whole) return MW_OK;
    mw_json_failed(); /* told by the status */
    return mw_fail(error, MW_ERR_MEMORY, "%s: no memory for its settings", what);
}

static mw_status load_part(mw_bundle *b, const mw_safetensors *file, const json_t *json, long long version,
                           mw_error *error) {
    const char *kind;
    char what[512];
    snprintf(what, sizeof what, "%.400s: a part of the bundle", file->path);
    MW_TRY(mw_json_get_string(json, "kind", what, &kind, error));
    const mw_model_class *class = mw_model_class_at(mw_model_class_index(kind));
    if (!class)
        return mw_fail(error, MW_ERR_UNSUPPORTED, "%s: this build knows no model '%.64s'", file->path, kind);
    snprintf(what, sizeof what, "%.400s: %s", file->path, kind);
    mw_model_config config = {0};
    const mw_model_shape shape = mw_bundle_shape(&b->info);
    mw_provenance provenance = {0};
    mw_model *model = NULL;
    json_t *settings = json_object_get(json, "configuration");
    MW_TRY(add_younger(settings, kind, version, class->fields, &config, what, error));
    MW_TRY(mw_fields_read(class->fields, &config, settings, what, error));
    const mw_field *open = mw_fields_open(class->fields, &config);
    if (open)
        return mw_fail(error, MW_ERR_FORMAT, "%s: %s is left open, which only a preset may", what,
                       open->name);
    mw_status status = mw_model_make(&model, class, &config, &shape, error);
    if (status != MW_OK) return mw_fail_within(error, MW_ERR_FORMAT, "%s", file->path);
    status = mw_provenance_read(&provenance, json_object_get(json, "provenance"), what, error);
    const weight_source from = {file, class->name, b->info.packing.bits};
    if (status == MW_OK) status = load_weights(model, from, error);
    if (status == MW_OK) {
        MW_TRY(mw_bundle_add(b, model, &provenance, error));
        note_precision(&b->parts[b->count - 1], &from);
        return MW_OK;
    }
    mw_model_free(model);
    mw_provenance_free(&provenance);
    return status;
}

static mw_status read_info(mw_bundle *b, json_t *root, const char *path, mw_error *error) {
    long long version;
    MW_TRY(mw_json_get_integer(root, "version", path, 0, 1 << 30, &version, error));
    if (version > MW_BUNDLE_VERSION || version < OLDEST_VERSION)
        return mw_fail(error, MW_ERR_UNSUPPORTED, "%s: bundle version %lld; this build reads %d to %d", path,
                       version, OLDEST_VERSION, MW_BUNDLE_VERSION);
    json_t *plan = json_object_get(root, "plan");
    MW_TRY(add_younger(plan, "plan", version, mw_plan_fields, &b->plan, path, error));
    json_t *flat = json_copy(root);
    json_object_del(flat, "version");
    json_object_del(flat, "plan");
    json_object_del(flat, "parts");
    json_object_del(flat, "packed");
    mw_status status = mw_fields_read(info_table, &b->info, flat, path, error);
    json_decref(flat);
    MW_TRY(status);
    MW_TRY(mw_packing_read(&b->info.packing, json_object_get(root, "packed"), path, error));
    return mw_fields_read(mw_plan_fields, &b->plan, plan, path, error);
}

static mw_status read_parts(mw_bundle *b, json_t *root, const mw_safetensors *file, mw_error *error) {
    const json_t *parts = json_object_get(root, "parts");
    const long long version = json_integer_value(json_object_get(root, "version"));
    if (!json_is_array(parts)) return mw_fail(error, MW_ERR_FORMAT, "%s: it lists no parts", file->path);
    for (size_t i = 0; i < json_array_size(parts); i++)
        MW_TRY(load_part(b, file, json_array_get(parts, i), version, error));
    MW_TRY(load_normalizer(file, "obs", b->info.obs, &b->obs_normalizer, error));
    return b->info.discrete ? MW_OK : load_normalizer(file, "act", b->info.act, &b->act_normalizer, error);
}

static mw_status load(mw_bundle *b, const mw_safetensors *file, mw_error *error) {
    const char *format = mw_safetensors_meta(file, "format"), *text = mw_safetensors_meta(file, "bundle");
    json_t *root;
    if (!format || strcmp(format, "mawam-bundle") || !text)
        return mw_fail(error, MW_ERR_FORMAT, "%s: this is not a mawam bundle", file->path);
    MW_TRY(mw_json_parse(&root, text, strlen(text), file->path, error));
    b->return_error_given = mw_safetensors_meta(file, "return_error");
    b->target_given = mw_safetensors_meta(file, "target");
    mw_status status = read_info(b, root, file->path, error);
    if (status == MW_OK) status = read_parts(b, root, file, error);
    json_decref(root);
    return status;
}

/* Closes the file. */
static mw_status load_from(mw_bundle **bundle, mw_safetensors *file, mw_error *error) {
    mw_status status = mw_bundle_create(bundle, &(mw_bundle_info){0}, &(mw_plan_settings){0}, error);
    if (status == MW_OK) status = load(*bundle, file, error);
    if (status == MW_OK)
        snprintf((*bundle)->checksum, sizeof(*bundle)->checksum, "%016llx",
                 (unsigned long long)mw_hash(MW_HASH_START, file->map.data, file->map.size));
    mw_safetensors_close(file);
    if (status != MW_OK) {
        mw_bundle_free(*bundle);
        *bundle = NULL;
    }
    return status;
}

mw_status mw_bundle_load(mw_bundle **bundle, const char *path, mw_error *error) {
    MW_PLAIN_NUMBERS;
    mw_safetensors file;
    MW_NEED(bundle);
    *bundle = NULL;
    MW_NEED(path);
    MW_TRY(mw_safetensors_open(&file, path, error));
    return load_from(bundle, &file, error);
}

/* What a linker put into the program begins anywhere; numbers are read where they lie. */
mw_status mw_bundle_read(mw_bundle **bundle, const void *data, size_t size, mw_error *error) {
    MW_PLAIN_NUMBERS;
    mw_safetensors file;
    MW_NEED(bundle);
    *bundle = NULL;
    MW_NEED(data);
    void *copy = NULL;
    if ((uintptr_t)data % _Alignof(max_align_t)) {
        copy = malloc(size ? size : 1);
        if (!copy) return mw_fail(error, MW_ERR_MEMORY, "out of memory for a bundle of %zu bytes", size);
        data = memcpy(copy, data, size);
    }
    mw_status status = mw_safetensors_read(&file, mw_map_over(data, size), "the bundle in memory", error);
    if (status == MW_OK) status = load_from(bundle, &file, error);
    free(copy);
    return status;
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
