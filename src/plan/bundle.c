/* Bundles: creation, saving, and loading with everything checked; see bundle.h. */
#include "plan/bundle.h"

#include "core/json.h"
#include "core/safetensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- creation ---- */

static float *floats(size_t count) {
    const size_t bytes = (count * sizeof(float) + MW_ALIGN - 1) / MW_ALIGN * MW_ALIGN;
    float *at = aligned_alloc(MW_ALIGN, bytes ? bytes : MW_ALIGN);
    if (at) memset(at, 0, bytes);
    return at;
}

static mw_status check_info(const mw_bundle_info *i, const mw_policy_config *p, mw_error *error) {
    if (i->horizon < 1 || i->horizon > p->time - p->context)
        return mw_fail(error, MW_ERR_ARGUMENT, "the horizon is %d; it must be 1 to the generated length %d",
                       i->horizon, p->time - p->context);
    if (i->steps < 1 || i->steps > p->bins)
        return mw_fail(error, MW_ERR_ARGUMENT, "the sampling steps are %d; they must be 1 to %d", i->steps,
                       p->bins);
    if (i->episode_limit < 1)
        return mw_fail(error, MW_ERR_ARGUMENT, "the episode limit is %d; it must be positive",
                       i->episode_limit);
    if (!isfinite(i->guidance) || !isfinite(i->target) || !isfinite(i->return_scale) ||
        !(i->return_scale > 0) || !(i->discount > 0 && i->discount <= 1) || !(i->explore >= 0) ||
        !isfinite(i->explore) || !(i->blend >= 0) || !isfinite(i->blend) ||
        !(i->advantage >= 0 && i->advantage <= 1))
        return mw_fail(
            error, MW_ERR_ARGUMENT,
            "guidance %g, target %g, return scale %g, discount %g, exploration %g, blend %g or advantage %g "
            "is out of range",
            (double)i->guidance, (double)i->target, (double)i->return_scale, (double)i->discount,
            (double)i->explore, (double)i->blend, (double)i->advantage);
    if (i->advantage > 0 && (i->features == 0 || i->discrete))
        return mw_fail(error, MW_ERR_ARGUMENT, "the advantage's share is %g, but %s", (double)i->advantage,
                       i->discrete ? "actions are discrete" : "there is no advantage");
    return MW_OK;
}

static mw_status build(mw_bundle *b, const mw_policy_config *policy, const mw_inverse_config *inverse,
                       const mw_world_config *world, mw_error *error) {
    const mw_bundle_info *i = &b->info;
    mw_policy_config p = *policy;
    mw_inverse_config v = *inverse;
    mw_world_config w = *world;
    p.agents = w.agents = i->agents;
    p.obs = v.obs = w.obs = i->obs;
    v.act = w.act = i->act;
    v.ids = v.ids ? i->agents : 0;
    v.discrete = i->discrete;
    MW_TRY(check_info(i, &p, error));
    MW_TRY(mw_policy_net_make(&b->policy, &p, error));
    MW_TRY(mw_world_net_make(&b->world, &w, error));
    MW_TRY(mw_inverse_net_make(&b->inverse, &v, error));
    MW_TRY(mw_advantage_net_make(&b->advantage,
                                 &(mw_advantage_config){i->agents, i->obs, i->act, i->features}, error));
    b->policy_values = floats(b->policy.params.total);
    b->policy_packed = floats(b->policy.params.packed);
    b->inverse_values = floats(b->inverse.params.total);
    b->inverse_packed = floats(b->inverse.params.packed);
    b->world_values = floats(b->world.params.total);
    b->world_packed = floats(b->world.params.packed);
    b->advantage_values = floats(b->advantage.params.total);
    if (!b->policy_values || !b->policy_packed || !b->inverse_values || !b->inverse_packed ||
        !b->world_values || !b->world_packed || !b->advantage_values)
        return mw_fail(error, MW_ERR_MEMORY, "cannot allocate the networks of a bundle");
    return mw_bundle_set_provenance(b, "{}", error);
}

mw_status mw_bundle_create(mw_bundle **out, const mw_bundle_info *info, const mw_policy_config *policy,
                           const mw_inverse_config *inverse, const mw_world_config *world, mw_error *error) {
    *out = NULL;
    mw_bundle *bundle = calloc(1, sizeof *bundle);
    if (!bundle) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a bundle");
    bundle->info = *info;
    mw_status status = build(bundle, policy, inverse, world, error);
    if (status != MW_OK) {
        mw_bundle_free(bundle);
        return status;
    }
    *out = bundle;
    return MW_OK;
}

void mw_bundle_free(mw_bundle *b) {
    if (!b) return;
    mw_policy_net_free(&b->policy);
    mw_inverse_net_free(&b->inverse);
    mw_world_net_free(&b->world);
    mw_advantage_net_free(&b->advantage);
    mw_normalizer_free(&b->obs_normalizer);
    mw_normalizer_free(&b->act_normalizer);
    free(b->policy_values);
    free(b->policy_packed);
    free(b->inverse_values);
    free(b->inverse_packed);
    free(b->world_values);
    free(b->world_packed);
    free(b->advantage_values);
    free(b->provenance);
    free(b);
}

void mw_bundle_pack(mw_bundle *b) {
    mw_policy_net_pack(&b->policy, b->policy_values, b->policy_packed, false, 0, 1);
    mw_mlp_pack(&b->inverse.mlp, b->inverse_values, b->inverse_packed, false);
    mw_world_net_pack(&b->world, b->world_values, b->world_packed, false, 0, 1);
}

mw_status mw_bundle_set_provenance(mw_bundle *b, const char *json, mw_error *error) {
    char *copy = strdup(json);
    if (!copy) return mw_fail(error, MW_ERR_MEMORY, "cannot keep the provenance");
    free(b->provenance);
    b->provenance = copy;
    return MW_OK;
}

mw_bundle_summary mw_bundle_describe(const mw_bundle *b) {
    return (mw_bundle_summary){.task = b->info.task,
                               .rules = b->info.rules,
                               .quality = b->info.quality,
                               .agents = b->info.agents,
                               .obs_size = b->info.obs,
                               .act_size = b->info.act,
                               .discrete = b->info.discrete,
                               .episode_limit = b->info.episode_limit,
                               .horizon = b->info.horizon,
                               .policy_parameters = mw_params_scalars(&b->policy.params) +
                                                    mw_params_scalars(&b->inverse.params),
                               .world_parameters = mw_params_scalars(&b->world.params),
                               .provenance = b->provenance};
}

/* ---- the description: one JSON object in the file's metadata ---- */

static json_t *describe(const mw_bundle *b) {
    const mw_bundle_info *i = &b->info;
    const mw_policy_config *p = &b->policy.config;
    const mw_world_config *w = &b->world.config;
    return json_pack(
        "{s:i, s:s, s:s, s:s, s:i, s:i, s:i, s:b, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:i, s:f, "
        "s:b, s:b,"
        " s:{s:i, s:[iii], s:i, s:i, s:i, s:b, s:b, s:i, s:f}, s:{s:i, s:i, s:b}, s:{s:i, s:i, "
        "s:i, s:i, s:i, "
        "s:b, s:i, s:i, s:i, s:b, s:b}}",
        "version", MW_BUNDLE_VERSION, "task", i->task, "rules", i->rules, "quality", i->quality, "agents",
        i->agents, "obs", i->obs, "act", i->act, "discrete", i->discrete, "episode_limit", i->episode_limit,
        "horizon", i->horizon, "steps", i->steps, "guidance", (double)i->guidance, "target",
        (double)i->target, "return_scale", (double)i->return_scale, "discount", (double)i->discount,
        "explore", (double)i->explore, "blend", (double)i->blend, "features", i->features, "advantage",
        (double)i->advantage, "carry", i->carry, "return_to_go", i->return_to_go, "policy", "dim", p->dim,
        "mults", p->mults[0], p->mults[1], p->mults[2], "time", p->time, "context", p->context, "bins",
        p->bins, "project", p->project, "changes", p->changes, "forecast", p->forecast, "scale",
        (double)p->scale, "inverse", "hidden", b->inverse.config.hidden, "layers", b->inverse.config.layers,
        "ids", b->inverse.config.ids > 0, "world", "hidden", w->hidden, "experts", w->experts, "slots",
        w->slots, "reward_experts", w->reward_experts, "top_k", w->top_k, "standardise", w->standardise,
        "reward_features", w->reward_features, "dynamics_features", w->dynamics_features, "shared", w->shared,
        "joint", w->joint, "everyone", w->everyone);
}

/* Reads one description; the caller's strings are bounded copies. */
static mw_status parse(const char *text, const char *path, mw_bundle_info *i, mw_policy_config *p,
                       mw_inverse_config *v, mw_world_config *w, mw_error *error) {
    json_t *root = NULL;
    MW_TRY(mw_json_parse(&root, text, strlen(text), path, error));
    const char *task, *rules, *quality;
    int version = 0, discrete = 0, return_to_go = 0, carry = 0, project = 0, changes = 0, standardise = 0,
        joint = 0, everyone = 0;
    double guidance, target, return_scale, discount, explore = 0, blend = 0, advantage = 0, scale = 0;
    json_error_t why;
    const int failed = json_unpack_ex(
        root, &why, 0,
        "{s:i, s:s, s:s, s:s, s:i, s:i, s:i, s:b, s:i, s:i, s:i, s:F, s:F, s:F, s:F, s?F, s?F, s?i, s?F, "
        "s?b, s:b,"
        " s:{s:i, s:[iii], s:i, s:i, s:i, s:b, s?b, s?i, s?F}, s:{s:i, s?i, s?b}, s:{s:i, s:i, s:i, s:i, "
        "s:i, "
        "s:b, s:i, "
        "s:i, "
        "s?i, s?b, s?b}}",
        "version", &version, "task", &task, "rules", &rules, "quality", &quality, "agents", &i->agents, "obs",
        &i->obs, "act", &i->act, "discrete", &discrete, "episode_limit", &i->episode_limit, "horizon",
        &i->horizon, "steps", &i->steps, "guidance", &guidance, "target", &target, "return_scale",
        &return_scale, "discount", &discount, "explore", &explore, "blend", &blend, "features", &i->features,
        "advantage", &advantage, "carry", &carry, "return_to_go", &return_to_go, "policy", "dim", &p->dim,
        "mults", &p->mults[0], &p->mults[1], &p->mults[2], "time", &p->time, "context", &p->context, "bins",
        &p->bins, "project", &project, "changes", &changes, "forecast", &p->forecast, "scale", &scale,
        "inverse", "hidden", &v->hidden, "layers", &v->layers, "ids", &v->ids, "world", "hidden", &w->hidden,
        "experts", &w->experts, "slots", &w->slots, "reward_experts", &w->reward_experts, "top_k", &w->top_k,
        "standardise", &standardise, "reward_features", &w->reward_features, "dynamics_features",
        &w->dynamics_features, "shared", &w->shared, "joint", &joint, "everyone", &everyone);
    mw_status status = MW_OK;
    if (failed)
        status =
            mw_fail(error, MW_ERR_FORMAT, "%s: the bundle's description is incomplete: %s", path, why.text);
    else if (version != MW_BUNDLE_VERSION)
        status = mw_fail(error, MW_ERR_UNSUPPORTED, "%s: bundle version %d; this build reads version %d",
                         path, version, MW_BUNDLE_VERSION);
    else if (strlen(task) >= sizeof i->task || strlen(rules) >= sizeof i->rules ||
             strlen(quality) >= sizeof i->quality)
        status = mw_fail(error, MW_ERR_FORMAT, "%s: a name in the bundle's description is too long", path);
    if (status == MW_OK) {
        snprintf(i->task, sizeof i->task, "%s", task);
        snprintf(i->rules, sizeof i->rules, "%s", rules);
        snprintf(i->quality, sizeof i->quality, "%s", quality);
        i->guidance = (float)guidance;
        i->target = (float)target;
        i->return_scale = (float)return_scale;
        i->discount = (float)discount;
        i->explore = (float)explore;
        i->blend = (float)blend;
        i->advantage = (float)advantage;
        i->discrete = discrete;
        i->carry = carry;
        i->return_to_go = return_to_go;
        p->project = project;
        p->changes = changes;
        p->scale = (float)scale;
        w->standardise = standardise;
        w->joint = joint;
        w->everyone = everyone;
    }
    json_decref(root);
    return status;
}

/* ---- saving ---- */

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
    void *data = malloc(tensor->count * mw_dtype_size(type) + 1);
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

static mw_status add_params(tensor_list *t, const char *prefix, const mw_params *params, const float *values,
                            bool half, mw_error *error) {
    for (int i = 0; i < params->count; i++) {
        const mw_param *param = &params->list[i];
        float *wide = malloc(param->count * sizeof *wide);
        if (!wide) return mw_fail(error, MW_ERR_MEMORY, "cannot collect the weights");
        mw_param_to_file(param, values, wide);
        bool finite = true;
        for (size_t k = 0; k < param->count; k++) finite &= isfinite(wide[k]) != 0;
        const bool narrow = half && strncmp(param->name, "scale.", 6) && fits_half(wide, param->count);
        void *data = add_tensor(t, mw_name_of("%s%s", prefix, param->name), narrow ? MW_F16 : MW_F32,
                                param->dims, param->shape);
        for (size_t k = 0; data && narrow && k < param->count; k++) {
            const uint16_t bits = mw_float_to_half(wide[k]);
            memcpy((char *)data + 2 * k, &bits, 2);
        }
        if (data && !narrow) memcpy(data, wide, param->count * sizeof *wide);
        free(wide);
        if (!data) return mw_fail(error, MW_ERR_MEMORY, "cannot collect the weights");
        if (!finite)
            return mw_fail(error, MW_ERR_NUMERIC, "weight '%s%s' is not finite", prefix, param->name);
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

mw_status mw_bundle_save(const mw_bundle *b, const char *path, bool half, mw_error *error) {
    tensor_list t = {.capacity = b->policy.params.count + b->inverse.params.count + b->world.params.count +
                                 b->advantage.params.count + 6};
    t.list = calloc((size_t)t.capacity, sizeof *t.list);
    t.names = calloc((size_t)t.capacity, sizeof *t.names);
    json_t *root = describe(b);
    char *text = root ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    mw_status status =
        t.list && t.names && text ? MW_OK : mw_fail(error, MW_ERR_MEMORY, "cannot collect the bundle");
    if (status == MW_OK) status = add_params(&t, "policy.", &b->policy.params, b->policy_values, half, error);
    if (status == MW_OK) status = add_params(&t, "", &b->inverse.params, b->inverse_values, half, error);
    if (status == MW_OK) status = add_params(&t, "world.", &b->world.params, b->world_values, half, error);
    if (status == MW_OK)
        status = add_params(&t, "advantage.", &b->advantage.params, b->advantage_values, half, error);
    if (status == MW_OK) status = add_normalizer(&t, "obs", &b->obs_normalizer, error);
    if (status == MW_OK) status = add_normalizer(&t, "act", &b->act_normalizer, error);
    if (status == MW_OK) {
        const mw_meta metadata[] = {
            {"format", "mawam-bundle"}, {"bundle", text}, {"provenance", b->provenance}};
        status = mw_safetensors_write(path, t.list, (size_t)t.count, metadata, 3, error);
    }
    for (int i = 0; t.list && i < t.count; i++) free((void *)(uintptr_t)t.list[i].data);
    free(t.list);
    free(t.names);
    free(text);
    json_decref(root);
    return status;
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

static mw_status check_finite(const float *values, size_t count, const char *what, const char *path,
                              mw_error *error) {
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return mw_fail(error, MW_ERR_NUMERIC, "%s: a weight of the %s is not finite", path, what);
    return MW_OK;
}

static mw_status load(mw_bundle **out, const mw_safetensors *file, mw_error *error) {
    const char *format = mw_safetensors_meta(file, "format"), *text = mw_safetensors_meta(file, "bundle");
    const char *provenance = mw_safetensors_meta(file, "provenance");
    if (!format || strcmp(format, "mawam-bundle") || !text)
        return mw_fail(error, MW_ERR_FORMAT, "%s: this is not a mawam bundle", file->path);
    mw_bundle_info info = {.task = ""};
    mw_policy_config policy = {0};
    mw_world_config world = {0};
    mw_inverse_config inverse = {.layers = 2};
    MW_TRY(parse(text, file->path, &info, &policy, &inverse, &world, error));
    mw_status status = mw_bundle_create(out, &info, &policy, &inverse, &world, error);
    if (status != MW_OK) return mw_fail_within(error, MW_ERR_FORMAT, "%s", file->path);
    mw_bundle *b = *out;
    MW_TRY(mw_params_load(&b->policy.params, b->policy_values, file, "policy.", error));
    MW_TRY(mw_params_load(&b->inverse.params, b->inverse_values, file, "", error));
    MW_TRY(mw_params_load(&b->world.params, b->world_values, file, "world.", error));
    MW_TRY(mw_params_load(&b->advantage.params, b->advantage_values, file, "advantage.", error));
    MW_TRY(check_finite(b->policy_values, b->policy.params.total, "policy", file->path, error));
    MW_TRY(check_finite(b->inverse_values, b->inverse.params.total, "inverse dynamics", file->path, error));
    MW_TRY(check_finite(b->world_values, b->world.params.total, "world model", file->path, error));
    MW_TRY(check_finite(b->advantage_values, b->advantage.params.total, "advantage", file->path, error));
    MW_TRY(load_normalizer(file, "obs", info.obs, &b->obs_normalizer, error));
    if (!info.discrete) MW_TRY(load_normalizer(file, "act", info.act, &b->act_normalizer, error));
    mw_bundle_pack(b);
    return provenance ? mw_bundle_set_provenance(b, provenance, error) : MW_OK;
}

mw_status mw_bundle_load(mw_bundle **bundle, const char *path, mw_error *error) {
    mw_safetensors file;
    *bundle = NULL;
    MW_TRY(mw_safetensors_open(&file, path, error));
    mw_status status = load(bundle, &file, error);
    mw_safetensors_close(&file);
    if (status != MW_OK) {
        mw_bundle_free(*bundle);
        *bundle = NULL;
    }
    return status;
}
