/* Provenance of parts; see provenance.h. */
#include "plan/provenance.h"

#include "core/machine/cpu.h"

#include <string.h>

#define AT(member) offsetof(mw_provenance, member)

/* clang-format off */
static const mw_field fields[] = {
    {"data",     MW_FIELD_WORD, AT(data),     "unknown", 0, 0,     "checksum of the dataset's columns", {0}, NULL},
    {"seed",     MW_FIELD_WORD, AT(seed),     "0",       0, 0,     "of the training", {0}, NULL},
    {"held_out", MW_FIELD_REAL, AT(held_out), "0.1",     0, 0.9,   "share of the episodes that was held out", {0}, NULL},
    {"revision", MW_FIELD_WORD, AT(revision), "unknown", 0, 0,     "of the source", {0}, NULL},
    {"level",    MW_FIELD_WORD, AT(level),    "unknown", 0, 0,     "vector instructions", {0}, NULL},
    {"cpu",      MW_FIELD_WORD, AT(cpu),      "unknown", 0, 0,     "processor", {0}, NULL},
    {"threads",  MW_FIELD_INT,  AT(threads),  "1",       1, 65536, "", {0}, NULL},
    {"seconds",  MW_FIELD_REAL, AT(seconds),  "0",       0, 1e12,  "of the whole training", {0}, NULL},
};
/* clang-format on */

static const mw_fields table = MW_FIELDS(fields);

const char *mw_revision(void) {
    return MAWAM_REVISION;
}

void mw_provenance_init(mw_provenance *p, const char *data, uint64_t seed, double held_out, int threads) {
    char cpu[128];
    *p = (mw_provenance){.held_out = held_out, .threads = threads, .details = json_object()};
    mw_cpu_model(cpu, sizeof cpu);
    snprintf(p->data, sizeof p->data, "%s", data);
    snprintf(p->seed, sizeof p->seed, "%llu", (unsigned long long)seed);
    snprintf(p->revision, sizeof p->revision, "%s", mw_revision());
    snprintf(p->level, sizeof p->level, "%s", mw_cpu_name());
    snprintf(p->cpu, sizeof p->cpu, "%.63s", cpu);
}

void mw_provenance_free(mw_provenance *p) {
    json_decref(p->details);
    *p = (mw_provenance){0};
}

json_t *mw_provenance_json(const mw_provenance *p) {
    json_t *json = mw_fields_json(table, p);
    if (json) json_object_set(json, "details", p->details);
    return json;
}

mw_status mw_provenance_read(mw_provenance *p, const json_t *json, const char *what, mw_error *error) {
    *p = (mw_provenance){0};
    if (!json_is_object(json) || !json_is_object(json_object_get(json, "details")))
        return mw_fail(error, MW_ERR_FORMAT, "%s: expected an object with details", what);
    json_t *flat = json_copy((json_t *)(uintptr_t)json); /* shallow: the members are only read */
    json_object_del(flat, "details");
    const mw_status status = mw_fields_read(table, p, flat, what, error);
    json_decref(flat);
    if (status == MW_OK) p->details = json_incref(json_object_get(json, "details"));
    return status;
}

bool mw_provenance_same(const mw_provenance *a, const mw_provenance *b) {
    return !strcmp(a->data, b->data) && !strcmp(a->seed, b->seed) && a->held_out == b->held_out;
}
