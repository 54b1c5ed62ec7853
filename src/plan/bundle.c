/* Bundles: what they are made of, and what they say of themselves; see bundle.h. bundle_read.c and
 * bundle_write.c know their files. */
#include "plan/bundle_file.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(mw_bundle_info, member)

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

const mw_fields mw_bundle_info_fields = MW_FIELDS(info_fields);

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
    return mw_fields_check(mw_bundle_info_fields, info, "a bundle's ", MW_ERR_NUMERIC, error);
}

json_t *mw_bundle_part_json(const mw_bundle_part *part) {
    const mw_model_class *kind = part->model->kind;
    json_t *json = json_object();
    json_object_set_new(json, "name", json_string(kind->name));
    json_object_set_new(json, "kind", json_string(kind->name));
    json_object_set_new(json, "configuration", mw_fields_json(kind->fields, &part->model->config));
    json_object_set_new(json, "provenance", mw_provenance_json(&part->provenance));
    return json;
}

mw_status mw_bundle_add(mw_bundle *b, mw_model *model, mw_provenance *provenance, mw_error *error) {
    mw_bundle_part part = {.model = model, .provenance = *provenance};
    *provenance = (mw_provenance){0};
    json_t *json = mw_bundle_part_json(&part);
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

const mw_model *mw_bundle_role(const mw_bundle *b, mw_role role) {
    return mw_bundle_model(b, mw_model_class_name(mw_model_class_for(role)));
}

unsigned mw_bundle_models(const mw_bundle *b) {
    unsigned models = 0;
    for (int i = 0; i < b->count; i++) models |= 1u << mw_model_class_index(b->parts[i].model->kind->name);
    return models;
}

bool mw_bundle_draws(const mw_bundle *b) {
    return mw_bundle_role(b, MW_ROLE_PROPOSER) && mw_bundle_role(b, MW_ROLE_INVERSE);
}

mw_plan_settings mw_bundle_plan(const mw_bundle *b) {
    return b->plan;
}

const char *mw_measured_word(mw_measured from) {
    static const char *const words[] = {"", "held-out episodes", "all episodes", "given"};
    return words[from];
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
                               .packed_of = b->info.packing.of,
                               .return_error_from = mw_measured_word(b->return_error_from)};
}

void mw_bundle_weights(const mw_bundle *b, char out[17]) {
    uint64_t hash = MW_HASH_START;
    for (int i = 0; i < b->count; i++) {
        const mw_model *model = b->parts[i].model;
        hash = mw_hash(hash, model->kind->name, strlen(model->kind->name));
        hash = mw_hash(hash, model->values, model->params->total * sizeof *model->values);
    }
    snprintf(out, 17, "%016llx", (unsigned long long)hash);
}

mw_bundle_part_summary mw_bundle_part_describe(const mw_bundle *b, int part) {
    if (part < 0 || part >= b->count) return (mw_bundle_part_summary){0};
    const mw_bundle_part *p = &b->parts[part];
    return (mw_bundle_part_summary){p->model->kind->name, mw_params_scalars(p->model->params), p->text};
}
