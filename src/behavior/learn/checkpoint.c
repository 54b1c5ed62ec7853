/* The learner's checkpoints: weights, moments, observation statistics and the running episodes. */
#include "behavior/learn/learner_state.h"
#include "core/tensor/safetensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIND "mawam learner 2"

enum { METADATA = 6 }; /* besides the checksum */

/* The running episodes as numbers: sum of rewards and number of the episode. */
typedef struct {
    double *sum;
    int64_t *episode;
    unsigned char *snapshots; /* [envs][snapshot size] */
    size_t snapshot;
} running;

static void running_free(running *r) {
    free(r->sum);
    free(r->episode);
    free(r->snapshots);
}

static mw_status running_take(running *r, const mw_learner *l, mw_error *error) {
    const size_t envs = (size_t)l->preset.envs;
    r->snapshot = mw_env_snapshot_size(l->envs[0].env);
    r->sum = malloc(envs * sizeof *r->sum);
    r->episode = malloc(envs * sizeof *r->episode);
    r->snapshots = malloc(envs * r->snapshot);
    if (r->sum && r->episode && r->snapshots) return MW_OK;
    running_free(r);
    return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a checkpoint");
}

static mw_tensor vector(const char *name, mw_dtype type, const void *data, size_t count) {
    return (mw_tensor){.name = name, .type = type, .dims = 1, .shape = {count}, .data = data};
}

/* Over the numbers and texts of a checkpoint: a flipped bit must not become a part of the weights. */
static mw_name checksum_of(const mw_tensor *tensors, size_t count, const mw_meta *meta, size_t metas) {
    uint64_t hash = MW_HASH_START;
    for (size_t i = 0; i < metas; i++) {
        if (!strcmp(meta[i].key, "checksum")) continue;
        hash = mw_hash(hash, meta[i].key, strlen(meta[i].key) + 1);
        hash = mw_hash(hash, meta[i].value, strlen(meta[i].value) + 1);
    }
    return mw_name_of("%016llx", (unsigned long long)mw_tensors_hash(hash, tensors, count));
}

static mw_status write_sealed(const char *path, const mw_tensor *tensors, size_t count,
                              const mw_meta meta[METADATA], mw_error *error) {
    mw_meta sealed[METADATA + 1];
    const mw_name checksum = checksum_of(tensors, count, meta, METADATA);
    memcpy(sealed, meta, METADATA * sizeof *meta);
    sealed[METADATA] = (mw_meta){"checksum", checksum.text};
    return mw_safetensors_write(path, tensors, count, sealed, METADATA + 1, error);
}

mw_status mw_learner_save(const mw_learner *l, const char *path, mw_error *error) {
    const size_t envs = (size_t)l->preset.envs, o = (size_t)l->shape.obs;
    const mw_optimizer *a = &l->actor_optimizer, *c = &l->critic_optimizer;
    running r;
    MW_TRY(running_take(&r, l, error));
    for (size_t e = 0; e < envs; e++) {
        r.sum[e] = l->envs[e].sum;
        r.episode[e] = (int64_t)l->envs[e].episode;
        mw_env_snapshot(l->envs[e].env, r.snapshots + e * r.snapshot);
    }
    const mw_tensor tensors[] = {
        vector("actor.values", MW_F32, a->values, a->total),
        vector("actor.m", MW_F32, a->m, a->total),
        vector("actor.v", MW_F32, a->v, a->total),
        vector("critic.values", MW_F32, c->values, c->total),
        vector("critic.m", MW_F32, c->m, c->total),
        vector("critic.v", MW_F32, c->v, c->total),
        vector("obs.mean", MW_F64, l->stats.mean, o),
        vector("obs.square", MW_F64, l->stats.square, o),
        vector("obs.count", MW_F64, &l->stats.count, 1),
        vector("rate.scale", MW_F64, &l->rate_scale, 1),
        vector("episode.sum", MW_F64, r.sum, envs),
        vector("episode.number", MW_I64, r.episode, envs),
        vector("worlds", MW_U8, r.snapshots, envs * r.snapshot),
    };
    json_t *preset = mw_learn_preset_json(&l->preset);
    char *text = json_dumps(preset, JSON_REAL_PRECISION(9)), iteration[24], step[24], seed[24];
    json_decref(preset);
    snprintf(iteration, sizeof iteration, "%ld", l->iteration);
    snprintf(step, sizeof step, "%ld", a->group[0].adam.step);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)l->seed);
    const mw_meta meta[METADATA] = {{"kind", KIND},           {"preset", text},         {"seed", seed},
                                    {"rules", l->info.rules}, {"iteration", iteration}, {"adam_step", step}};
    mw_status status = text ? write_sealed(path, tensors, sizeof tensors / sizeof tensors[0], meta, error)
                            : mw_fail(error, MW_ERR_MEMORY, "cannot write the preset");
    free(text);
    running_free(&r);
    return status;
}

/* ---- loading ---- */

/* The raw bytes of a vector that must have this type and length. */
static mw_status read_vector(const mw_safetensors *file, const char *name, mw_dtype type, void *out,
                             size_t count, mw_error *error) {
    const mw_tensor *tensor = mw_safetensors_find(file, name);
    if (!tensor || tensor->type != type || tensor->count != count)
        return mw_fail(error, MW_ERR_MISMATCH, "%s: %s must hold %zu values of type %s", file->path, name,
                       count, mw_dtype_name(type));
    memcpy(out, tensor->data, count * mw_dtype_size(type));
    for (size_t i = 0; i < count && (type == MW_F32 || type == MW_F64); i++)
        if (!isfinite(type == MW_F32 ? (double)((float *)out)[i] : ((double *)out)[i]))
            return mw_fail(error, MW_ERR_NUMERIC, "%s: value %zu of %s is not finite", file->path, i, name);
    return MW_OK;
}

static mw_status check_seal(const mw_safetensors *file, mw_error *error) {
    const char *kind = mw_safetensors_meta(file, "kind"), *checksum = mw_safetensors_meta(file, "checksum");
    if (!kind || strcmp(kind, KIND) || !checksum)
        return mw_fail(error, MW_ERR_FORMAT, "%s is not a checkpoint of '" KIND "'", file->path);
    const mw_name found =
        checksum_of(file->tensors, file->tensor_count, file->metadata, file->metadata_count);
    if (strcmp(checksum, found.text))
        return mw_fail(error, MW_ERR_FORMAT, "%s is damaged: its checksum is not %.16s", file->path,
                       checksum);
    return MW_OK;
}

static mw_status check_owner(const mw_learner *l, const mw_safetensors *file, mw_error *error) {
    const char *text = mw_safetensors_meta(file, "preset"), *seed = mw_safetensors_meta(file, "seed"),
               *rules = mw_safetensors_meta(file, "rules");
    if (!text || !seed || !rules)
        return mw_fail(error, MW_ERR_FORMAT, "%s: not a learner's checkpoint", file->path);
    mw_learn_preset learned;
    json_t *object = NULL;
    MW_TRY(mw_json_parse(&object, text, strlen(text), file->path, error));
    mw_status status = mw_learn_preset_parse(&learned, object, file->path, error);
    json_decref(object);
    MW_TRY(status);
    learned.steps = l->preset.steps; /* a run may be prolonged */
    if (memcmp(&learned, &l->preset, sizeof learned))
        return mw_fail(error, MW_ERR_MISMATCH, "%s: the checkpoint was learned with another preset: %.300s",
                       file->path, text);
    if (strcmp(rules, l->info.rules))
        return mw_fail(error, MW_ERR_MISMATCH, "%s: learned under rules %.64s, the world has %s", file->path,
                       rules, l->info.rules);
    if (strtoull(seed, NULL, 10) != l->seed)
        return mw_fail(error, MW_ERR_MISMATCH, "%s: learned with seed %.24s, not %llu", file->path, seed,
                       (unsigned long long)l->seed);
    return MW_OK;
}

mw_status mw_learner_peek(const char *path, mw_learn_preset *preset, uint64_t *seed, mw_error *error) {
    mw_safetensors file;
    MW_TRY(mw_safetensors_open(&file, path, error));
    const char *text = mw_safetensors_meta(&file, "preset"), *number = mw_safetensors_meta(&file, "seed");
    json_t *object = NULL;
    mw_status status = text && number ? mw_json_parse(&object, text, strlen(text), path, error)
                                      : mw_fail(error, MW_ERR_FORMAT, "%s: not a learner's checkpoint", path);
    if (status == MW_OK) status = mw_learn_preset_parse(preset, object, path, error);
    if (status == MW_OK) *seed = strtoull(number, NULL, 10);
    json_decref(object);
    mw_safetensors_close(&file);
    return status;
}

static mw_status read_networks(mw_learner *l, const mw_safetensors *file, mw_error *error) {
    mw_optimizer *a = &l->actor_optimizer, *c = &l->critic_optimizer;
    const size_t o = (size_t)l->shape.obs;
    MW_TRY(read_vector(file, "actor.values", MW_F32, a->values, a->total, error));
    MW_TRY(read_vector(file, "actor.m", MW_F32, a->m, a->total, error));
    MW_TRY(read_vector(file, "actor.v", MW_F32, a->v, a->total, error));
    MW_TRY(read_vector(file, "critic.values", MW_F32, c->values, c->total, error));
    MW_TRY(read_vector(file, "critic.m", MW_F32, c->m, c->total, error));
    MW_TRY(read_vector(file, "critic.v", MW_F32, c->v, c->total, error));
    MW_TRY(read_vector(file, "obs.mean", MW_F64, l->stats.mean, o, error));
    MW_TRY(read_vector(file, "obs.square", MW_F64, l->stats.square, o, error));
    MW_TRY(read_vector(file, "obs.count", MW_F64, &l->stats.count, 1, error));
    MW_TRY(read_vector(file, "rate.scale", MW_F64, &l->rate_scale, 1, error));
    long iteration, step;
    MW_TRY(mw_safetensors_meta_int(file, "iteration", 0, 1000000000, &iteration, error));
    MW_TRY(mw_safetensors_meta_int(file, "adam_step", 0, 1000000000000, &step, error));
    l->iteration = iteration;
    a->group[0].adam.step = c->group[0].adam.step = step;
    mw_obs_stats_refresh(&l->stats, l->shape.obs);
    return MW_OK;
}

static mw_status read_worlds(mw_learner *l, const mw_safetensors *file, mw_error *error) {
    const size_t envs = (size_t)l->preset.envs;
    running r;
    MW_TRY(running_take(&r, l, error));
    mw_status status = read_vector(file, "episode.sum", MW_F64, r.sum, envs, error);
    if (status == MW_OK) status = read_vector(file, "episode.number", MW_I64, r.episode, envs, error);
    if (status == MW_OK) status = read_vector(file, "worlds", MW_U8, r.snapshots, envs * r.snapshot, error);
    for (size_t e = 0; e < envs && status == MW_OK; e++) {
        l->envs[e].sum = r.sum[e];
        l->envs[e].episode = (uint64_t)r.episode[e];
        status = mw_env_restore(l->envs[e].env, r.snapshots + e * r.snapshot, r.snapshot, error);
        if (status != MW_OK) mw_fail_within(error, status, "%s: world %zu", file->path, e);
    }
    running_free(&r);
    return status;
}

mw_status mw_learner_load(mw_learner *l, const char *path, mw_error *error) {
    mw_safetensors file;
    MW_TRY(mw_safetensors_open(&file, path, error));
    mw_status status = check_seal(&file, error);
    if (status == MW_OK) status = check_owner(l, &file, error);
    if (status == MW_OK) status = read_networks(l, &file, error);
    if (status == MW_OK) status = read_worlds(l, &file, error);
    mw_safetensors_close(&file);
    return status;
}
