/* Checkpoints of a training; see checkpoint.h. */
#include "train/checkpoint.h"

#include "core/file.h"
#include "core/tensor/safetensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KIND "mawam training 4"

enum { STATES = 5, STEPS_AT = 4 + 3 * MW_LOSSES, PROGRESS = STEPS_AT + MW_LEARNING_GROUPS };

/* ---- the tensors of a part: the same list for writing and reading ---- */

typedef struct {
    mw_name name;
    float *data;
    size_t count;
} state;

static int add_states(state *states, int count, const mw_training_part *part) {
    const mw_optimizer *o = part->optimizer;
    const char *name = part->name;
    if (o) {
        states[count++] = (state){mw_name_of("%s.values", name), o->values, o->total};
        states[count++] = (state){mw_name_of("%s.m", name), o->m, o->total};
        states[count++] = (state){mw_name_of("%s.v", name), o->v, o->total};
        if (o->average) states[count++] = (state){mw_name_of("%s.average", name), o->average, o->total};
    }
    if (part->best_values)
        states[count++] = (state){mw_name_of("%s.best", name), part->best_values, part->total};
    return count;
}

/* Counters and sums, as numbers that a double holds exactly. */
static void get_progress(double *out, const mw_training_part *part) {
    out[0] = (double)part->step;
    out[1] = (double)part->summed;
    out[2] = part->first;
    out[3] = (double)part->best_step;
    memcpy(out + 4, part->sums, sizeof part->sums);
    memcpy(out + 4 + MW_LOSSES, part->held, sizeof part->held);
    memcpy(out + 4 + 2 * MW_LOSSES, part->best_held, sizeof part->best_held);
    for (int g = 0; g < MW_LEARNING_GROUPS; g++)
        out[STEPS_AT + g] =
            part->optimizer && g < part->optimizer->groups ? (double)part->optimizer->group[g].adam.step : 0;
}

static bool set_progress(mw_training_part *part, const double *in) {
    for (int i = 0; i < PROGRESS; i++)
        if (!isfinite(in[i])) return false;
    for (int g = 0; g < MW_LEARNING_GROUPS; g++)
        if (in[STEPS_AT + g] < 0 || in[STEPS_AT + g] > in[0]) return false;
    if (in[0] < 0 || in[0] > (double)part->steps || in[1] < 0 || in[1] > in[0] || in[3] < 0 || in[3] > in[0])
        return false;
    part->step = (long)in[0];
    part->summed = (long)in[1];
    part->first = in[2];
    part->best_step = (long)in[3];
    for (int g = 0; part->optimizer && g < part->optimizer->groups; g++)
        part->optimizer->group[g].adam.step = (long)in[STEPS_AT + g];
    memcpy(part->sums, in + 4, sizeof part->sums);
    memcpy(part->held, in + 4 + MW_LOSSES, sizeof part->held);
    memcpy(part->best_held, in + 4 + 2 * MW_LOSSES, sizeof part->best_held);
    return true;
}

/* Over the numbers and the text of a checkpoint: a flipped bit must not become a part of the weights. */
static mw_name checksum_of(const mw_tensor *tensors, size_t count, const char *text) {
    const uint64_t hash = mw_tensors_hash(mw_hash(MW_HASH_START, text, strlen(text)), tensors, count);
    return mw_name_of("%016llx", (unsigned long long)hash);
}

/* ---- saving ---- */

static json_t *describe(const mw_training_state *t, double seconds) {
    json_t *settings = json_object();
    for (int i = 0; i < t->count; i++)
        json_object_set_new(settings, t->part[i]->name,
                            mw_fields_json(t->model[i]->kind->fields, &t->model[i]->config));
    return json_pack("{s:o, s:o, s:s, s:f}", "settings", settings, "provenance",
                     mw_provenance_json(&t->identity), "units", t->units.text, "seconds", seconds);
}

mw_status mw_checkpoint_save(const char *path, const mw_training_state *t, double seconds, mw_error *error) {
    state states[STATES * MW_KINDS];
    mw_tensor tensors[(STATES + 1) * MW_KINDS];
    mw_name names[MW_KINDS];
    double progress[MW_KINDS][PROGRESS];
    int count = 0;
    for (int i = 0; i < t->count; i++) count = add_states(states, count, t->part[i]);
    for (int i = 0; i < count; i++)
        tensors[i] = (mw_tensor){.name = states[i].name.text,
                                 .type = MW_F32,
                                 .dims = 1,
                                 .shape = {states[i].count},
                                 .data = states[i].data};
    for (int i = 0; i < t->count; i++) {
        get_progress(progress[i], t->part[i]);
        names[i] = mw_name_of("%s.progress", t->part[i]->name);
        tensors[count++] = (mw_tensor){
            .name = names[i].text, .type = MW_F64, .dims = 1, .shape = {PROGRESS}, .data = progress[i]};
    }
    json_t *root = describe(t, seconds);
    char *text = json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(17));
    const mw_name checksum = checksum_of(tensors, (size_t)count, text ? text : "");
    const mw_meta meta[] = {{"kind", KIND}, {"checksum", checksum.text}, {"training", text}};
    const mw_status status = text ? mw_safetensors_write(path, tensors, (size_t)count, meta, 3, error)
                                  : mw_fail(error, MW_ERR_MEMORY, "cannot write '%s'", path);
    free(text);
    json_decref(root);
    return status;
}

/* ---- loading ---- */

static mw_status check_settings(const mw_training_state *t, const json_t *settings, const char *path,
                                mw_error *error) {
    for (int i = 0; i < t->count; i++) {
        const mw_model_class *class = t->model[i]->kind;
        mw_model_config theirs = {0};
        if (!json_object_get(settings, class->name)) continue; /* not begun yet */
        char found[MW_WORD], wanted[MW_WORD];
        MW_TRY(mw_fields_read(class->fields, &theirs, json_object_get(settings, class->name), path, error));
        const mw_field *field = mw_fields_difference(class->fields, &t->model[i]->config, &theirs);
        if (!field) continue;
        mw_field_text(found, sizeof found, field, &theirs);
        mw_field_text(wanted, sizeof wanted, field, &t->model[i]->config);
        return mw_fail(error, MW_ERR_MISMATCH, "%s was made with %s.%s = %s, not %s", path, class->name,
                       field->name, found, wanted);
    }
    return MW_OK;
}

static mw_status check_identity(const mw_training_state *t, const json_t *root, const char *path,
                                mw_error *error) {
    mw_provenance theirs;
    MW_TRY(mw_provenance_read(&theirs, json_object_get(root, "provenance"), path, error));
    mw_status status = MW_OK;
    if (strcmp(theirs.data, t->identity.data))
        status =
            mw_fail(error, MW_ERR_MISMATCH,
                    "%s was trained on other data (task, rules or checksums of the columns differ)", path);
    else if (strcmp(theirs.seed, t->identity.seed))
        status =
            mw_fail(error, MW_ERR_MISMATCH, "%s has seed %s, not %s", path, theirs.seed, t->identity.seed);
    else if (theirs.held_out != t->identity.held_out)
        status = mw_fail(error, MW_ERR_MISMATCH, "%s was made with data.held_out = %g, not %g", path,
                         theirs.held_out, t->identity.held_out);
    mw_provenance_free(&theirs);
    MW_TRY(status);
    const char *units = json_string_value(json_object_get(root, "units"));
    bool counts = false;
    for (int i = 0; i < t->count; i++) counts = counts || t->model[i]->kind->normalised;
    if (!units || (counts && strcmp(units, t->units.text)))
        return mw_fail(error, MW_ERR_MISMATCH,
                       "%s was made in the units of another bundle: the normalisers differ", path);
    return check_settings(t, json_object_get(root, "settings"), path, error);
}

/* How much of a text fits into so many bytes in whole words: half of a number would be another one. */
static size_t words_within(const char *text, size_t room) {
    size_t length = strlen(text);
    if (length <= room) return length;
    for (length = room; length > 0 && text[length] != ' ';) length--;
    return length;
}

/* A training goes on as it was begun; a command with words tells how. */
static mw_status check_belongs(const mw_training_state *t, const json_t *root, const char *path,
                               mw_error *error) {
    static const char advice[] = "; give what it was begun with", more[] = " ...";
    mw_error found;
    const mw_status status = check_identity(t, root, path, &found);
    if (status == MW_OK) return status;
    if (status != MW_ERR_MISMATCH) return mw_fail(error, status, "%s", found.message);
    const json_t *details = json_object_get(json_object_get(root, "provenance"), "details");
    const char *command = json_string_value(json_object_get(details, "command"));
    if (!command || !strchr(command, ' ')) command = "";
    const size_t used = strlen(found.message) + sizeof advice + strlen(": ") + strlen(more),
                 room = used < sizeof found.message ? sizeof found.message - used : 0,
                 length = words_within(command, room);
    return mw_fail(error, status, "%s%s%s%.*s%s", found.message, advice, length ? ": " : "", (int)length,
                   command, length && command[length] ? more : "");
}

static mw_status load_part(const mw_safetensors *file, mw_training_part *part, mw_error *error) {
    state states[STATES];
    const int count = add_states(states, 0, part);
    for (int i = 0; i < count; i++) {
        const long shape[1] = {(long)states[i].count};
        MW_TRY(mw_safetensors_floats(file, states[i].name.text, 1, shape, states[i].data, error));
        for (size_t k = 0; k < states[i].count; k++)
            if (!isfinite(states[i].data[k]))
                return mw_fail(error, MW_ERR_FORMAT, "%s: '%s' holds a number that is not finite", file->path,
                               states[i].name.text);
    }
    const mw_name name = mw_name_of("%s.progress", part->name);
    const mw_tensor *tensor = mw_safetensors_find(file, name.text);
    double progress[PROGRESS];
    if (!tensor || tensor->type != MW_F64 || tensor->count != PROGRESS)
        return mw_fail(error, MW_ERR_FORMAT, "%s: '%s' is missing or not of %d doubles", file->path,
                       name.text, PROGRESS);
    memcpy(progress, tensor->data, sizeof progress);
    if (!set_progress(part, progress))
        return mw_fail(error, MW_ERR_FORMAT, "%s: '%s' holds impossible counters", file->path, name.text);
    return MW_OK;
}

static mw_status load(const mw_safetensors *file, const mw_training_state *t, double *seconds,
                      mw_error *error) {
    const char *kind = mw_safetensors_meta(file, "kind"), *text = mw_safetensors_meta(file, "training"),
               *checksum = mw_safetensors_meta(file, "checksum");
    json_t *root;
    if (!kind || strcmp(kind, KIND) || !text || !checksum)
        return mw_fail(error, MW_ERR_FORMAT, "%s is not a checkpoint of '" KIND "'", file->path);
    if (strcmp(checksum, checksum_of(file->tensors, file->tensor_count, text).text))
        return mw_fail(error, MW_ERR_FORMAT, "%s is damaged: its checksum is not %.16s", file->path,
                       checksum);
    MW_TRY(mw_json_parse(&root, text, strlen(text), file->path, error));
    mw_status status = check_belongs(t, root, file->path, error);
    *seconds = json_number_value(json_object_get(root, "seconds"));
    if (status == MW_OK && !(*seconds >= 0 && *seconds <= 1e11)) /* and more will come; see provenance.c */
        status = mw_fail(error, MW_ERR_FORMAT, "%s: its seconds are %g", file->path, *seconds);
    for (int i = 0; status == MW_OK && i < t->count; i++)
        if (json_object_get(json_object_get(root, "settings"), t->part[i]->name))
            status = load_part(file, t->part[i], error);
    json_decref(root);
    return status;
}

/* Only what has taken a step counts: the rest is as it would be created. */
static bool is_begun(const mw_safetensors *file, const char *part) {
    const mw_tensor *progress = mw_safetensors_find(file, mw_name_of("%s.progress", part).text);
    double step;
    if (!progress || progress->type != MW_F64 || progress->count != PROGRESS) return false;
    memcpy(&step, progress->data, sizeof step);
    return step > 0;
}

unsigned mw_checkpoint_parts(const char *path) {
    mw_safetensors file;
    mw_error error;
    unsigned parts = 0;
    if (mw_safetensors_open(&file, path, &error) != MW_OK) return 0;
    const char *text = mw_safetensors_meta(&file, "training");
    json_t *root = NULL;
    if (text && mw_json_parse(&root, text, strlen(text), path, &error) == MW_OK)
        for (int i = 0; mw_model_class_at(i); i++)
            if (json_object_get(json_object_get(root, "settings"), mw_model_class_at(i)->name) &&
                is_begun(&file, mw_model_class_at(i)->name))
                parts |= 1u << i;
    json_decref(root);
    mw_safetensors_close(&file);
    return parts;
}

mw_status mw_checkpoint_load(const char *path, const mw_training_state *t, double *seconds, mw_error *error) {
    mw_safetensors file;
    MW_TRY(mw_safetensors_open(&file, path, error));
    const mw_status status = load(&file, t, seconds, error);
    mw_safetensors_close(&file);
    return status;
}
