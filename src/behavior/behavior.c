/* Behaviour files; see behavior.h. */
#include "behavior/behavior.h"

#include "core/numbers.h"
#include "core/tensor/safetensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char kind_tag[] = "mawam behavior 1";
enum { TENSORS_PER_ACTOR = 6 };

void mw_behavior_free(mw_behavior *b) {
    for (int i = 0; i < b->count; i++) mw_actor_free(&b->actor[i]);
    b->count = 0;
}

mw_status mw_behavior_add(mw_behavior *b, const mw_actor *actor, double steps, mw_error *error) {
    if (b->count == MW_BEHAVIOR_MOST_ACTORS)
        return mw_fail(error, MW_ERR_ARGUMENT, "a behaviour has at most %d policies",
                       MW_BEHAVIOR_MOST_ACTORS);
    mw_actor *copy = &b->actor[b->count];
    MW_TRY(mw_actor_create(copy, &actor->shape, error));
    memcpy(copy->values, actor->values, actor->params.total * sizeof *copy->values);
    mw_actor_pack(copy);
    b->steps[b->count++] = steps;
    return MW_OK;
}

/* ---- writing ---- */

typedef struct {
    char name[64];
    uint16_t *halves;
} stored;

static mw_status store(stored *to, mw_tensor *tensor, const mw_actor *actor, int number,
                       const mw_param *param, mw_error *error) {
    float *floats = malloc(param->count * sizeof *floats);
    to->halves = malloc(param->count * sizeof *to->halves);
    if (!floats || !to->halves) {
        free(floats);
        return mw_fail(error, MW_ERR_MEMORY, "cannot store a policy");
    }
    mw_param_to_file(param, actor->values, floats);
    for (size_t i = 0; i < param->count; i++) to->halves[i] = mw_float_to_half(floats[i]);
    free(floats);
    snprintf(to->name, sizeof to->name, "%d.%.48s", number, param->name);
    *tensor = (mw_tensor){.name = to->name, .type = MW_F16, .dims = param->dims, .data = to->halves};
    for (int i = 0; i < param->dims; i++) tensor->shape[i] = (size_t)param->shape[i];
    return MW_OK;
}

static mw_status write_file(const mw_behavior *b, const char *path, const mw_tensor *tensors, size_t count,
                            mw_error *error) {
    const mw_actor_shape *s = &b->actor[0].shape;
    char numbers[9][24], steps[MW_BEHAVIOR_MOST_ACTORS * 16] = "";
    const int values[] = {b->count, s->agents, s->obs, s->act, s->discrete, s->ids, s->hidden};
    for (int i = 0; i < 7; i++) snprintf(numbers[i], sizeof numbers[i], "%d", values[i]);
    snprintf(numbers[7], sizeof numbers[7], "%.9g", (double)b->noise);
    for (int i = 0; i < b->count; i++)
        snprintf(steps + strlen(steps), sizeof steps - strlen(steps), "%s%.0f", i ? " " : "", b->steps[i]);
    const mw_meta meta[] = {
        {"kind", kind_tag},
        {"task", b->task},
        {"rules", b->rules},
        {"quality", b->quality},
        {"origin", b->origin},
        {"policies", numbers[0]},
        {"agents", numbers[1]},
        {"obs", numbers[2]},
        {"act", numbers[3]},
        {"discrete", numbers[4]},
        {"ids", numbers[5]},
        {"hidden", numbers[6]},
        {"noise", numbers[7]},
        {"learning_steps", steps},
        {"activation", s->activation == MW_RELU ? "relu" : "silu"},
    };
    return mw_safetensors_write(path, tensors, count, meta, sizeof meta / sizeof meta[0], error);
}

mw_status mw_behavior_save(const mw_behavior *b, const char *path, mw_error *error) {
    if (b->count < 1) return mw_fail(error, MW_ERR_ARGUMENT, "%s: a behaviour needs a policy", path);
    const size_t most = (size_t)b->count * TENSORS_PER_ACTOR;
    stored *parts = calloc(most, sizeof *parts);
    mw_tensor *tensors = calloc(most, sizeof *tensors);
    mw_status status =
        parts && tensors ? MW_OK : mw_fail(error, MW_ERR_MEMORY, "cannot store %d policies", b->count);
    size_t used = 0;
    for (int a = 0; a < b->count && status == MW_OK; a++)
        for (int p = 0; p < b->actor[a].params.count && status == MW_OK; p++, used++)
            status = store(&parts[used], &tensors[used], &b->actor[a], a, &b->actor[a].params.list[p], error);
    if (status == MW_OK) status = write_file(b, path, tensors, used, error);
    for (size_t i = 0; parts && i < most; i++) free(parts[i].halves);
    free(parts);
    free(tensors);
    return status;
}

/* ---- reading ---- */

static mw_status text_of(const mw_safetensors *file, const char *key, char *out, size_t size,
                         mw_error *error) {
    const char *value = mw_safetensors_meta(file, key);
    if (!value || strlen(value) >= size)
        return mw_fail(error, MW_ERR_FORMAT, "%s: the metadata '%s' must be there and shorter than %zu bytes",
                       file->path, key, size);
    memcpy(out, value, strlen(value) + 1);
    return MW_OK;
}

static mw_status read_shape(const mw_safetensors *file, mw_actor_shape *shape, long *policies,
                            mw_error *error) {
    long agents, obs, act, discrete, ids, hidden;
    char activation[8];
    MW_TRY(mw_safetensors_meta_int(file, "policies", 1, MW_BEHAVIOR_MOST_ACTORS, policies, error));
    MW_TRY(mw_safetensors_meta_int(file, "agents", 1, 64, &agents, error));
    MW_TRY(mw_safetensors_meta_int(file, "obs", 1, 4096, &obs, error));
    MW_TRY(mw_safetensors_meta_int(file, "act", 1, 64, &act, error));
    MW_TRY(mw_safetensors_meta_int(file, "discrete", 0, 1, &discrete, error));
    MW_TRY(mw_safetensors_meta_int(file, "ids", 0, 1, &ids, error));
    MW_TRY(mw_safetensors_meta_int(file, "hidden", 1, 1024, &hidden, error));
    MW_TRY(text_of(file, "activation", activation, sizeof activation, error));
    if (strcmp(activation, "relu") && strcmp(activation, "silu"))
        return mw_fail(error, MW_ERR_FORMAT, "%s: activation must be relu or silu, found %s", file->path,
                       activation);
    *shape = (mw_actor_shape){.agents = (int)agents,
                              .obs = (int)obs,
                              .act = (int)act,
                              .discrete = discrete,
                              .ids = ids,
                              .hidden = (int)hidden,
                              .activation = strcmp(activation, "relu") ? MW_SILU : MW_RELU};
    return MW_OK;
}

static mw_status read_steps(mw_behavior *b, long policies, const mw_safetensors *file, mw_error *error) {
    const char *text = mw_safetensors_meta(file, "learning_steps");
    char *end = NULL;
    for (int i = 0; i < policies; i++, text = end) {
        b->steps[i] = text ? strtod(text, &end) : NAN;
        if (!text || end == text || !(b->steps[i] >= 0))
            return mw_fail(error, MW_ERR_FORMAT, "%s: learning_steps must list %ld numbers", file->path,
                           policies);
    }
    return MW_OK;
}

static mw_status read_actors(mw_behavior *b, const mw_safetensors *file, mw_error *error) {
    mw_actor_shape shape;
    long policies;
    MW_TRY(read_shape(file, &shape, &policies, error));
    MW_TRY(read_steps(b, policies, file, error));
    while (b->count < policies) {
        mw_actor *actor = &b->actor[b->count];
        MW_TRY(mw_actor_create(actor, &shape, error));
        mw_name prefix = mw_name_of("%d.", b->count++);
        MW_TRY(mw_params_load(&actor->params, actor->values, file, prefix.text, error));
        for (size_t i = 0; i < actor->params.total; i++)
            if (!isfinite(actor->values[i]))
                return mw_fail(error, MW_ERR_NUMERIC, "%s: policy %d holds a value that is not finite",
                               file->path, b->count - 1);
        mw_actor_pack(actor);
    }
    return MW_OK;
}

static mw_status read_all(mw_behavior *b, const mw_safetensors *file, mw_error *error) {
    char kind[32], noise[32], *end;
    MW_TRY(text_of(file, "kind", kind, sizeof kind, error));
    if (strcmp(kind, kind_tag))
        return mw_fail(error, MW_ERR_FORMAT, "%s: kind is '%s', expected '%s'", file->path, kind, kind_tag);
    MW_TRY(text_of(file, "task", b->task, sizeof b->task, error));
    MW_TRY(text_of(file, "rules", b->rules, sizeof b->rules, error));
    MW_TRY(text_of(file, "quality", b->quality, sizeof b->quality, error));
    MW_TRY(text_of(file, "origin", b->origin, sizeof b->origin, error));
    MW_TRY(text_of(file, "noise", noise, sizeof noise, error));
    b->noise = strtof(noise, &end);
    if (end == noise || *end || !(b->noise >= 0 && b->noise <= 10))
        return mw_fail(error, MW_ERR_FORMAT, "%s: noise must be a number from 0 to 10, found '%s'",
                       file->path, noise);
    return read_actors(b, file, error);
}

mw_status mw_behavior_load(mw_behavior *b, const char *path, mw_error *error) {
    mw_safetensors file;
    memset(b, 0, sizeof *b);
    MW_TRY(mw_safetensors_open(&file, path, error));
    mw_status status = read_all(b, &file, error);
    if (status != MW_OK) mw_behavior_free(b);
    mw_safetensors_close(&file);
    return status;
}

mw_status mw_behavior_check(const mw_behavior *b, const mw_env_info *info, const char *path,
                            mw_error *error) {
    const mw_actor_shape *s = &b->actor[0].shape;
    if (strcmp(b->task, info->task) || s->agents != info->agents || s->obs != info->obs_size ||
        s->act != info->act_size || s->discrete != info->discrete)
        return mw_fail(error, MW_ERR_MISMATCH,
                       "%s: made for %s (%d agents, %d features, %d actions), the task is %s (%d, %d, %d)",
                       path, b->task, s->agents, s->obs, s->act, info->task, info->agents, info->obs_size,
                       info->act_size);
    if (strcmp(b->rules, info->rules))
        return mw_fail(error, MW_ERR_MISMATCH, "%s: made under rules %s, the world has %s", path, b->rules,
                       info->rules);
    return MW_OK;
}

mw_status mw_behavior_describe(mw_behavior_summary *summary, const char *path, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED(summary);
    MW_NEED(path);
    mw_behavior *b = malloc(sizeof *b);
    if (!b) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a behaviour");
    const mw_status status = mw_behavior_load(b, path, error);
    if (status == MW_OK) {
        *summary = (mw_behavior_summary){.noise = b->noise, .count = b->count};
        memcpy(summary->task, b->task, sizeof b->task);
        memcpy(summary->rules, b->rules, sizeof b->rules);
        memcpy(summary->quality, b->quality, sizeof b->quality);
        memcpy(summary->origin, b->origin, sizeof b->origin);
        memcpy(summary->steps, b->steps, sizeof b->steps);
        mw_behavior_free(b);
    }
    free(b);
    return status;
}
