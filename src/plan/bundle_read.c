/* Reading bundles, from files that may hold anything: everything is checked before it is used; see bundle.h.
 */
#include "plan/bundle_file.h"

#include "core/numbers.h"
#include "core/tensor/safetensors.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { OLDEST_VERSION = 8 }; /* that is read: the shipped bundles are of it */

/* Settings that are younger. A bundle that does not know them was made by their defaults. */
static const struct {
    int since;
    const char *of, *name; /* of NULL: of every model that has it */
} younger[] = {{9, NULL, "shards"}, {10, "plan", "distinct"}};

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
        else if (mw_bundle_half_changes(param, values))
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
        if (younger[i].since > version && (!younger[i].of || !strcmp(younger[i].of, of)) &&
            json_object_get(defaults, younger[i].name) && json_is_object(settings) &&
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
    mw_status status = mw_fields_read(mw_bundle_info_fields, &b->info, flat, path, error);
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

static bool is_bundle(const mw_safetensors *file) {
    const char *format = mw_safetensors_meta(file, "format");
    return format && !strcmp(format, "mawam-bundle");
}

mw_status mw_bundle_recognise(bool *bundle, const char *path, mw_error *error) {
    mw_safetensors file;
    mw_error refusal;
    *bundle = false;
    const mw_status status = mw_safetensors_open(&file, path, &refusal);
    if (status == MW_ERR_IO || status == MW_ERR_MEMORY) return mw_fail(error, status, "%s", refusal.message);
    if (status == MW_OK) *bundle = is_bundle(&file);
    mw_safetensors_close(&file);
    return MW_OK;
}

/* What else of ours it may be, as training and behaviours call their files. */
static mw_status refuse(const mw_safetensors *file, mw_error *error) {
    const char *kind = mw_safetensors_meta(file, "kind");
    if (kind && !strncmp(kind, "mawam training", strlen("mawam training")))
        return mw_fail(error, MW_ERR_FORMAT,
                       "%s: this is the checkpoint of an unfinished training, not yet a bundle: mawam train "
                       "with 'resume' finishes it",
                       file->path);
    return mw_fail(error, MW_ERR_FORMAT, "%s: this is not a mawam bundle", file->path);
}

/* Files up to 2243da9 tell only of what was given; there 0 meant that nothing was measured. */
static void read_measured(mw_bundle *b, const char *word) {
    const bool known = !isnan(b->plan.return_error) && (word || b->plan.return_error != 0);
    b->return_error_from = known ? MW_MEASURED_HELD_OUT : MW_MEASURED_NEVER;
    for (int from = MW_MEASURED_ALL; known && word && from <= MW_MEASURED_GIVEN; from++)
        if (!strcmp(word, mw_measured_word((mw_measured)from))) b->return_error_from = (mw_measured)from;
    if (!known) b->plan.return_error = NAN;
}

static mw_status load(mw_bundle *b, const mw_safetensors *file, mw_error *error) {
    const char *text = mw_safetensors_meta(file, "bundle");
    json_t *root;
    if (!is_bundle(file) || !text) return refuse(file, error);
    MW_TRY(mw_json_parse(&root, text, strlen(text), file->path, error));
    b->target_given = mw_safetensors_meta(file, "target");
    mw_status status = read_info(b, root, file->path, error);
    if (status == MW_OK) read_measured(b, mw_safetensors_meta(file, "return_error"));
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
    char found[PATH_MAX];
    MW_TRY(mw_data_path(found, sizeof found, "bundles", path, error));
    MW_TRY(mw_safetensors_open(&file, found, error));
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
