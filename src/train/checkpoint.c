/* Checkpoints of a training; see checkpoint.h. */
#include "train/checkpoint.h"

#include "core/safetensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KIND "mawam training 1"

enum { MOST_TENSORS = 16, PROGRESS = 5 + 3 * MW_PART_LOSSES };

/* ---- identity ---- */

static void value_text(char *out, size_t size, const json_t *object, const char *key) {
    char *text = json_dumps(json_object_get(object, key), JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
    snprintf(out, size, "%s", text ? text : "nothing");
    free(text);
}

mw_status mw_training_identity_check(const mw_training_identity *ours, const json_t *settings,
                                     const json_t *dataset, uint64_t seed, const char *what,
                                     mw_error *error) {
    if (!json_equal(ours->dataset, dataset))
        return mw_fail(error, MW_ERR_MISMATCH,
                       "%s was trained on other data (task, rules or checksums of the columns differ)", what);
    if (ours->seed != seed)
        return mw_fail(error, MW_ERR_MISMATCH, "%s has seed %llu, not %llu", what, (unsigned long long)seed,
                       (unsigned long long)ours->seed);
    const char *field = mw_training_preset_difference(ours->settings, settings);
    if (!field) return MW_OK;
    char theirs[64], wanted[64];
    value_text(theirs, sizeof theirs, settings, field);
    value_text(wanted, sizeof wanted, ours->settings, field);
    return mw_fail(error, MW_ERR_MISMATCH, "%s was made with %s = %s, not %s", what, field, theirs, wanted);
}

/* ---- the tensors of a part: the same list for writing and reading ---- */

typedef struct {
    mw_name name;
    float *data;
    size_t count;
} state;

static int add_states(state *states, int count, const mw_training_part *part) {
    for (int i = 0; i < 2; i++) {
        const mw_optimizer *o = part->optimizers[i];
        if (!o) continue;
        const char *name = part->optimizer_names[i];
        states[count++] = (state){mw_name_of("%s.values", name), o->values, o->total};
        states[count++] = (state){mw_name_of("%s.m", name), o->m, o->total};
        states[count++] = (state){mw_name_of("%s.v", name), o->v, o->total};
        if (o->average) states[count++] = (state){mw_name_of("%s.average", name), o->average, o->total};
    }
    if (part->best_values)
        states[count++] =
            (state){mw_name_of("%s.best", part->name), part->best_values, part->optimizers[0]->total};
    return count;
}

/* Counters and sums, as numbers that a double holds exactly. */
static void get_progress(double *out, const mw_training_part *part) {
    out[0] = (double)part->step;
    out[1] = (double)part->summed;
    out[2] = part->first;
    out[3] = (double)part->best_step;
    out[4] = (double)part->optimizers[0]->adam.step;
    memcpy(out + 5, part->sums, sizeof part->sums);
    memcpy(out + 5 + MW_PART_LOSSES, part->held, sizeof part->held);
    memcpy(out + 5 + 2 * MW_PART_LOSSES, part->best_held, sizeof part->best_held);
}

static bool set_progress(mw_training_part *part, const double *in) {
    for (int i = 0; i < PROGRESS; i++)
        if (!isfinite(in[i])) return false;
    if (in[0] < 0 || in[0] > (double)part->steps || in[1] < 0 || in[1] > in[0] || in[3] < 0 ||
        in[3] > in[0] || in[4] != in[0])
        return false;
    part->step = (long)in[0];
    part->summed = (long)in[1];
    part->first = in[2];
    part->best_step = (long)in[3];
    for (int i = 0; i < 2; i++)
        if (part->optimizers[i]) part->optimizers[i]->adam.step = part->step;
    memcpy(part->sums, in + 5, sizeof part->sums);
    memcpy(part->held, in + 5 + MW_PART_LOSSES, sizeof part->held);
    memcpy(part->best_held, in + 5 + 2 * MW_PART_LOSSES, sizeof part->best_held);
    return true;
}

/* ---- saving ---- */

static mw_status write(const char *path, mw_training_part *const parts[MW_PARTS], const char *settings,
                       const char *dataset, uint64_t seed, double seconds, mw_error *error) {
    state states[MOST_TENSORS];
    mw_tensor tensors[MOST_TENSORS + MW_PARTS];
    mw_name names[MW_PARTS];
    double progress[MW_PARTS][PROGRESS];
    int count = 0;
    for (int i = 0; i < MW_PARTS; i++) count = add_states(states, count, parts[i]);
    for (int i = 0; i < count; i++)
        tensors[i] = (mw_tensor){.name = states[i].name.text,
                                 .type = MW_F32,
                                 .dims = 1,
                                 .shape = {states[i].count},
                                 .data = states[i].data};
    for (int i = 0; i < MW_PARTS; i++) {
        get_progress(progress[i], parts[i]);
        names[i] = mw_name_of("%s.progress", parts[i]->name);
        tensors[count++] = (mw_tensor){
            .name = names[i].text, .type = MW_F64, .dims = 1, .shape = {PROGRESS}, .data = progress[i]};
    }
    char seed_text[24], seconds_text[24];
    snprintf(seed_text, sizeof seed_text, "%llu", (unsigned long long)seed);
    snprintf(seconds_text, sizeof seconds_text, "%.1f", seconds);
    const mw_meta meta[] = {{"kind", KIND},
                            {"settings", settings},
                            {"dataset", dataset},
                            {"seed", seed_text},
                            {"seconds", seconds_text}};
    return mw_safetensors_write(path, tensors, (size_t)count, meta, sizeof meta / sizeof meta[0], error);
}

mw_status mw_checkpoint_save(const char *path, mw_training_part *const parts[MW_PARTS],
                             const mw_training_identity *identity, double seconds, mw_error *error) {
    char *settings = json_dumps(identity->settings, JSON_REAL_PRECISION(17)),
         *dataset = json_dumps(identity->dataset, 0);
    mw_status status = settings && dataset
                           ? write(path, parts, settings, dataset, identity->seed, seconds, error)
                           : mw_fail(error, MW_ERR_MEMORY, "cannot write '%s'", path);
    free(settings);
    free(dataset);
    return status;
}

/* ---- loading ---- */

static mw_status meta_json(json_t **value, const mw_safetensors *file, const char *key, mw_error *error) {
    const char *text = mw_safetensors_meta(file, key);
    *value = NULL;
    if (!text) return mw_fail(error, MW_ERR_FORMAT, "%s: lacks '%s'", file->path, key);
    return mw_json_parse(value, text, strlen(text), file->path, error);
}

static mw_status check_identity(const mw_safetensors *file, const mw_training_identity *ours,
                                mw_error *error) {
    const char *kind = mw_safetensors_meta(file, "kind"), *seed = mw_safetensors_meta(file, "seed");
    if (!kind || strcmp(kind, KIND) || !seed)
        return mw_fail(error, MW_ERR_FORMAT, "%s is not a checkpoint of '" KIND "'", file->path);
    json_t *settings = NULL, *dataset = NULL;
    mw_status status = meta_json(&settings, file, "settings", error);
    if (status == MW_OK) status = meta_json(&dataset, file, "dataset", error);
    if (status == MW_OK)
        status =
            mw_training_identity_check(ours, settings, dataset, strtoull(seed, NULL, 10), file->path, error);
    json_decref(settings);
    json_decref(dataset);
    return status;
}

static mw_status load_part(const mw_safetensors *file, mw_training_part *part, mw_error *error) {
    state states[MOST_TENSORS];
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

mw_status mw_checkpoint_load(const char *path, mw_training_part *const parts[MW_PARTS],
                             const mw_training_identity *identity, double *seconds, mw_error *error) {
    mw_safetensors file;
    MW_TRY(mw_safetensors_open(&file, path, error));
    mw_status status = check_identity(&file, identity, error);
    for (int i = 0; i < MW_PARTS && status == MW_OK; i++) status = load_part(&file, parts[i], error);
    const char *spent = mw_safetensors_meta(&file, "seconds");
    *seconds = spent ? strtod(spent, NULL) : 0;
    mw_safetensors_close(&file);
    return status;
}
