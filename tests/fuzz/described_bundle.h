/* A bundle as its description alone: the tensors that a description asks for are put around it, packed if it
 * says so, so that one with changed numbers is still a consistent file, unless they would be too many. */
#ifndef MW_TESTS_FUZZ_DESCRIBED_BUNDLE_H
#define MW_TESTS_FUZZ_DESCRIBED_BUNDLE_H

#include "small_bundle.h"

enum { MOST_TENSORS = 600, MOST_FLOATS = 1 << 19 };

typedef struct {
    mw_tensor list[MOST_TENSORS];
    mw_name names[MOST_TENSORS];
    size_t count, floats, bytes, rows; /* bytes and rows: of packed ones */
} tensor_list;

/* Weights as training leaves them, or of sizes that overflow on the way through a network. */
static float weight(unsigned kind, size_t at) {
    static const float special[] = {0, 1e30f, -1e30f, 3e38f, 1e-40f, -1, 1, 65504};
    const uint32_t bits = (uint32_t)(at * 2654435761u) ^ kind * 40503u;
    if (kind >= 128 && bits % 61 == 0) return special[bits / 61 % 8];
    return ((float)(bits >> 8) * 0x1p-23f - 1) * (kind % 2 ? 0.3f : 3);
}

static void add(tensor_list *t, mw_name name, int dims, const size_t *shape, unsigned kind) {
    static float values[MOST_FLOATS];
    if (t->count == MOST_TENSORS) return;
    mw_tensor *tensor = &t->list[t->count];
    *tensor = (mw_tensor){.name = t->names[t->count].text, .type = MW_F32, .dims = dims, .count = 1};
    for (int i = 0; i < dims; i++) {
        if (shape[i] > MOST_FLOATS) return;
        tensor->shape[i] = shape[i];
        tensor->count *= shape[i];
        if (tensor->count > MOST_FLOATS - t->floats) return;
    }
    tensor->data = values + t->floats;
    for (size_t i = 0; i < tensor->count; i++) values[t->floats + i] = weight(kind, t->floats + i);
    t->names[t->count++] = name;
    t->floats += tensor->count;
}

/* The last tensor as a packed one, with its scales behind it; of some kinds both are damaged. */
static void pack_last(tensor_list *t, const mw_param *param, int bits, unsigned kind) {
    static unsigned char packed[MOST_FLOATS];
    static float scales[MOST_FLOATS];
    if (t->count == MOST_TENSORS) return;
    mw_tensor *tensor = &t->list[t->count - 1], *scale = &t->list[t->count];
    unsigned char *data = packed + t->bytes;
    float *factors = scales + t->rows;
    int shape[3];
    tensor->dims = mw_packing_shape(bits, param, shape);
    size_t size = 1; /* no more bytes than there are weights, for which there is room */
    for (int i = 0; i < tensor->dims; i++) size *= tensor->shape[i] = (size_t)shape[i];
    memset(data, 0, size);
    mw_packing_pack(bits, param, tensor->data, data, factors);
    if (kind >= 192) {
        data[kind % size] = (unsigned char)(kind % 2 ? 0 : 128);
        factors[kind % tensor->shape[0]] = weight(kind, t->bytes);
    }
    tensor->type = mw_packing_type(bits);
    tensor->data = data;
    t->names[t->count] = mw_packing_scale_name(tensor->name);
    *scale = (mw_tensor){.name = t->names[t->count++].text,
                         .type = MW_F32,
                         .dims = 1,
                         .shape = {tensor->shape[0]},
                         .data = factors};
    t->bytes += size;
    t->rows += tensor->shape[0];
}

/* What a part's configuration asks for; nothing if it cannot be read, as the loader will say. */
static void add_part(tensor_list *t, const json_t *part, const mw_model_shape *shape, int bits,
                     unsigned kind) {
    mw_error error;
    mw_model *model;
    mw_model_config config = {0};
    const char *name = json_string_value(json_object_get(part, "kind"));
    const mw_model_class *class = name ? mw_model_class_at(mw_model_class_index(name)) : NULL;
    if (!class) return;
    mw_fields_defaults(class->fields, &config); /* what an older version did not know, as the loader adds it
                                                 */
    json_t *whole = mw_fields_json(class->fields, &config), *given = json_object_get(part, "configuration");
    if (json_is_object(given)) json_object_update(whole, given);
    const mw_status read = mw_fields_read(class->fields, &config, whole, "", &error);
    json_decref(whole);
    if (read != MW_OK) return;
    if (mw_model_make(&model, class, &config, shape, &error) != MW_OK) return;
    for (int i = 0; i < model->params->count; i++) {
        const mw_param *p = &model->params->list[i];
        const size_t extents[] = {(size_t)p->shape[0], (size_t)p->shape[1], (size_t)p->shape[2]};
        const size_t before = t->count;
        add(t, mw_name_of("%s.%s", name, p->name), p->dims, extents, kind);
        if (bits && t->count > before && mw_packing_takes(p)) pack_last(t, p, bits, kind);
    }
    mw_model_free(model);
}

static void add_normalizer(tensor_list *t, const char *name, int features) {
    enum { KNOTS = 3 };
    static const float steps[KNOTS] = {0, 0.25f, 1};
    static float counts[4096], value[4096 * KNOTS], fraction[4096 * KNOTS];
    const struct {
        const char *what;
        int dims;
        const float *data;
    } rows[] = {{"count", 1, counts}, {"value", 2, value}, {"fraction", 2, fraction}};
    for (int f = 0; f < features; f++) counts[f] = KNOTS;
    for (int i = 0; i < features * KNOTS; i++) value[i] = 4 * (fraction[i] = steps[i % KNOTS]) - 2;
    for (int i = 0; i < 3 && t->count < MOST_TENSORS; i++) {
        t->names[t->count] = mw_name_of("normalizer.%s.%s", name, rows[i].what);
        t->list[t->count] = (mw_tensor){.name = t->names[t->count].text,
                                        .type = MW_F32,
                                        .dims = rows[i].dims,
                                        .shape = {(size_t)features, KNOTS},
                                        .data = rows[i].data};
        t->count++;
    }
}

static int size_of(const json_t *root, const char *key, int most) {
    const json_int_t value = json_integer_value(json_object_get(root, key));
    return value >= 1 && value <= most ? (int)value : 0;
}

/* Returns how many numbers it has. */
static size_t write_bundle(const char *path, const char *text, const json_t *root, unsigned kind) {
    static tensor_list t;
    mw_error error;
    size_t index;
    json_t *part;
    const mw_model_shape shape = {size_of(root, "agents", 64), size_of(root, "obs", 4096),
                                  size_of(root, "act", 4096),
                                  json_is_true(json_object_get(root, "discrete"))};
    const mw_meta metadata[] = {{"format", "mawam-bundle"}, {"bundle", text}};
    mw_packing packing;
    if (mw_packing_read(&packing, json_object_get(root, "packed"), "", &error) != MW_OK) packing.bits = 0;
    t.count = t.floats = t.bytes = t.rows = 0;
    if (shape.agents && shape.obs && shape.act) {
        json_array_foreach(json_object_get(root, "parts"), index, part) {
            if (index < MW_KINDS) add_part(&t, part, &shape, packing.bits, kind);
        }
        add_normalizer(&t, "obs", shape.obs);
        if (!shape.discrete) add_normalizer(&t, "act", shape.act);
    }
    if (mw_safetensors_write(path, t.list, t.count, metadata, 2, &error) != MW_OK) remove(path);
    return t.floats;
}

/* Makes one of a text that describes it; how many numbers it has and one, or 0 if the text is no JSON. `kind`
 * chooses weights. */
static inline size_t describe_bundle(const char *path, const uint8_t *data, size_t size, unsigned kind) {
    mw_error error;
    json_t *root;
    size_t floats = 0;
    char *text = malloc(size + 1);
    FUZZ_EXPECT(text);
    memcpy(text, data, size);
    text[size] = 0;
    if (mw_json_parse(&root, text, strlen(text), "input", &error) == MW_OK) {
        floats = 1 + write_bundle(path, text, root, kind);
        json_decref(root);
    }
    free(text);
    return floats;
}

/* The description of a file. */
static inline size_t description_of(const char *path, uint8_t *data, size_t most) {
    mw_error error;
    mw_safetensors file;
    FUZZ_EXPECT(mw_safetensors_open(&file, path, &error) == MW_OK);
    const char *text = mw_safetensors_meta(&file, "bundle");
    const size_t size = strlen(text);
    if (size <= most) memcpy(data, text, size);
    mw_safetensors_close(&file);
    return size <= most ? size : 0;
}

#endif
