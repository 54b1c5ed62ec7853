/* From trained parts to a bundle; see assemble.h. */
#include "train/assemble.h"

#include "core/cpu.h"
#include "core/json.h"
#include "train/training_log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

mw_status mw_dataset_identity(json_t **identity, const mw_dataset *dataset, bool all, mw_error *error) {
    static const char *const keys[] = {"task",     "rules", "columns", "quality",   "steps",
                                       "episodes", "seed",  "returns", "behaviors", "command"};
    enum { ALWAYS = 3, ALL = sizeof keys / sizeof keys[0] };
    char path[1024];
    json_t *root;
    *identity = NULL;
    if (snprintf(path, sizeof path, "%s/dataset.json", dataset->folder) >= (int)sizeof path)
        return mw_fail(error, MW_ERR_ARGUMENT, "'%s' is too long a path", dataset->folder);
    MW_TRY(mw_json_read(&root, path, error));
    *identity = json_object();
    for (int i = 0; i < (all ? (int)ALL : (int)ALWAYS); i++)
        json_object_set(*identity, keys[i], json_object_get(root, keys[i]));
    json_decref(root);
    return MW_OK;
}

static mw_status check_name(const char *what, const char *name, size_t size, mw_error *error) {
    if (strlen(name) < size) return MW_OK;
    return mw_fail(error, MW_ERR_ARGUMENT, "the dataset's %s '%.80s...' is longer than a bundle's %zu bytes",
                   what, name, size - 1);
}

mw_status mw_assemble_check(const mw_training_data *data, const mw_bundle *other, mw_error *error) {
    const mw_dataset_spec *s = &data->dataset->spec;
    MW_TRY(check_name("task", s->task, sizeof((mw_bundle_info *)0)->task, error));
    MW_TRY(check_name("rules", s->rules, sizeof((mw_bundle_info *)0)->rules, error));
    MW_TRY(check_name("quality", s->quality, sizeof((mw_bundle_info *)0)->quality, error));
    if (s->discrete && data->preset->advantage.features > 0)
        return mw_fail(
            error, MW_ERR_ARGUMENT,
            "advantage.features is %d, but the advantage is for real actions; %s has discrete ones",
            data->preset->advantage.features, s->task);
    if (!other) return MW_OK;
    const mw_bundle_info *i = &other->info;
    if (strcmp(i->task, s->task) || strcmp(i->rules, s->rules) || i->agents != s->agents ||
        i->obs != s->obs_size || i->act != s->act_size || i->discrete != s->discrete)
        return mw_fail(
            error, MW_ERR_MISMATCH,
            "the bundle is for %s (%s), %d agents, %d observed values, %d actions; the data is for "
            "%s (%s), %d, %d, %d",
            i->task, i->rules, i->agents, i->obs, i->act, s->task, s->rules, s->agents, s->obs_size,
            s->act_size);
    return MW_OK;
}

/* ---- provenance ---- */

static json_t *fit_json(const mw_normalizer_fit_report *r) {
    return json_pack("{s:I, s:I, s:i, s:f, s:i}", "rows", (json_int_t)r->rows, "sampled",
                     (json_int_t)r->sampled, "constant", r->constant, "knot_error", r->knot_error,
                     "worst_feature", r->worst_feature);
}

/* Where a part comes from: the other bundle's training, or what that one says if it was kept there already.
 */
static json_t *other_json(const mw_bundle *other, const char *path, const char *from) {
    json_t *origin = json_loads(other->provenance, 0, NULL);
    json_t *earlier = json_incref(json_object_get(origin, from));
    if (earlier) {
        json_decref(origin);
        return earlier;
    }
    return json_pack("{s:s, s:o}", "file", path, "provenance", origin ? origin : json_object());
}

static mw_status provenance(json_t **out, const mw_training_request *request, const mw_training_data *data,
                            mw_training_part *const parts[MW_PARTS], const mw_training_identity *identity,
                            const mw_bundle *other, const char *log, double seconds, mw_error *error) {
    json_t *dataset = NULL, *curve = NULL;
    char cpu[128], seed[24];
    mw_cpu_model(cpu, sizeof cpu);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)data->seed);
    MW_TRY(mw_dataset_identity(&dataset, data->dataset, true, error));
    mw_status status = mw_training_log_summary(&curve, log, parts, error);
    if (status != MW_OK) {
        json_decref(dataset);
        return status;
    }
    json_t *normalizer = json_object(), *best = NULL;
    json_object_set_new(normalizer, "obs", fit_json(&data->stats.obs_report));
    if (!data->dataset->spec.discrete)
        json_object_set_new(normalizer, "act", fit_json(&data->stats.act_report));
    if (parts[1]->best_step > 0)
        best = json_pack("{s:I, s:f, s:f}", "step", (json_int_t)parts[1]->best_step, "held_dynamics",
                         parts[1]->best_held[0], "held_reward", parts[1]->best_held[1]);
    *out = json_pack("{s:s, s:s, s:s, s:i, s:s, s:s, s:f, s:O, s:o, s:{s:f, s:f}, s:{s:I, s:I}, s:o, s:o*, "
                     "s:o}",
                     "command", request->command ? request->command : "", "mawam", mw_version(), "seed", seed,
                     "threads", mw_pool_threads(data->pool), "cpu", cpu, "level", mw_cpu_name(),
                     "seconds", round(10 * seconds) / 10, "settings", identity->settings, "dataset", dataset,
                     "returns", "scale", data->return_scale, "target", data->target, "episodes", "trained",
                     (json_int_t)data->split.train.count, "held_out", (json_int_t)data->split.held.count,
                     "normalizer", normalizer, "world_best", best, "curve", curve);
    static const char *const from[MW_PARTS] = {"policy_from", "world_from"};
    for (int i = 0; i < MW_PARTS; i++)
        if (*out && other && request->skip[i])
            json_object_set_new(*out, from[i], other_json(other, request->with, from[i]));
    return *out ? MW_OK : mw_fail(error, MW_ERR_MEMORY, "cannot describe the training");
}

/* ---- the bundle ---- */

static mw_status copy_normalizer(mw_normalizer *to, const mw_normalizer *from, mw_error *error) {
    if (from->features == 0) return MW_OK;
    const size_t all = (size_t)from->features * (size_t)from->max_knots;
    MW_TRY(mw_normalizer_create(to, from->features, from->max_knots, error));
    memcpy(to->count, from->count, (size_t)from->features * sizeof *to->count);
    memcpy(to->value, from->value, all * sizeof *to->value);
    memcpy(to->fraction, from->fraction, all * sizeof *to->fraction);
    return MW_OK;
}

static mw_bundle_info info_of(const mw_training_data *data) {
    const mw_dataset_spec *s = &data->dataset->spec;
    const mw_training_preset *p = data->preset;
    mw_bundle_info info = {.agents = s->agents,
                           .obs = s->obs_size,
                           .act = s->act_size,
                           .discrete = s->discrete,
                           .episode_limit = s->episode_limit,
                           .horizon = p->plan.horizon,
                           .steps = p->plan.steps,
                           .guidance = (float)p->plan.guidance,
                           .target = (float)data->target,
                           .return_scale = (float)data->return_scale,
                           .discount = (float)p->policy.discount,
                           .explore = (float)p->plan.explore,
                           .blend = (float)p->plan.blend,
                           .features = p->advantage.features,
                           .advantage = (float)p->plan.advantage,
                           .carry = p->plan.carry,
                           .return_to_go = p->plan.return_to_go};
    snprintf(info.task, sizeof info.task, "%s", s->task);
    snprintf(info.rules, sizeof info.rules, "%s", s->rules);
    snprintf(info.quality, sizeof info.quality, "%s", s->quality);
    return info;
}

/* A policy from elsewhere keeps its name and the units of the returns it was trained on; how to plan with it
 * is a matter of the settings, as far as these units allow. */
static mw_bundle_info info_with(const mw_training_data *data, const mw_bundle *policy) {
    mw_bundle_info info = info_of(data);
    const mw_bundle_info *theirs = &policy->info;
    const bool same_units = theirs->return_scale == info.return_scale && theirs->discount == info.discount;
    if (!same_units && isnan(data->preset->plan.target)) info.target = theirs->target;
    info.return_scale = theirs->return_scale;
    info.discount = theirs->discount;
    memcpy(info.quality, theirs->quality, sizeof info.quality);
    return info;
}

static void put(float *to, const float *from, size_t count) {
    memcpy(to, from, count * sizeof *to);
}

/* Weights and normalisers: of the policy from one source, of the world model from another. */
static mw_status fill(mw_bundle *b, const mw_training_data *data, mw_training_part *const parts[MW_PARTS],
                      const mw_bundle *policy, const mw_bundle *world, mw_error *error) {
    put(b->policy_values, policy ? policy->policy_values : mw_training_part_weights(parts[0], 0),
        b->policy.params.total);
    put(b->inverse_values, policy ? policy->inverse_values : mw_training_part_weights(parts[0], 1),
        b->inverse.params.total);
    put(b->world_values, world ? world->world_values : mw_training_part_weights(parts[1], 0),
        b->world.params.total);
    MW_TRY(copy_normalizer(&b->obs_normalizer, policy ? &policy->obs_normalizer : &data->stats.obs_normalizer,
                           error));
    return copy_normalizer(&b->act_normalizer, policy ? &policy->act_normalizer : &data->stats.act_normalizer,
                           error);
}

/* A matter of seconds: there is nothing of it to keep in checkpoints. */
static mw_status fit_advantage(mw_bundle *b, const mw_training_request *request, const mw_training_data *data,
                               mw_advantage_report *r, json_t **out, mw_error *error) {
    const mw_training_preset *p = data->preset;
    if (b->info.features == 0) return MW_OK;
    const mw_advantage_options options = {.hidden = p->advantage.hidden,
                                          .steps = p->advantage.steps,
                                          .discount = p->advantage.discount,
                                          .trace = p->advantage.trace,
                                          .ridge = p->advantage.ridge,
                                          .seed = data->seed,
                                          .stop = request->stop};
    MW_TRY(mw_advantage_fit(&b->advantage, b->advantage_values, data->dataset, &data->split, &options, r,
                            error));
    *out = json_pack("{s:I, s:I, s:f, s:o, s:o}", "rows", (json_int_t)r->rows, "held_rows",
                     (json_int_t)r->held_rows, "deviations", r->action_left, "correlation",
                     mw_number_json(r->correlation), "held_correlation", mw_number_json(r->held));
    return *out ? MW_OK : mw_fail(error, MW_ERR_MEMORY, "cannot describe the advantage");
}

mw_status mw_assemble(const mw_training_request *request, const mw_training_data *data,
                      mw_training_part *const parts[MW_PARTS], const mw_training_identity *identity,
                      const mw_bundle *other, const char *log, double seconds, mw_advantage_report *report,
                      mw_error *error) {
    const mw_bundle *policy = request->skip[0] ? other : NULL, *world = request->skip[1] ? other : NULL;
    const mw_bundle_info info = policy ? info_with(data, policy) : info_of(data);
    const mw_policy_config p = policy ? policy->policy.config : mw_training_preset_policy(data->preset);
    const mw_inverse_config v = policy ? policy->inverse.config : mw_training_preset_inverse(data->preset);
    const mw_world_config w = world ? world->world.config : mw_training_preset_world(data->preset);
    mw_bundle *bundle;
    json_t *origin = NULL, *advantage = NULL;
    char *text = NULL;
    MW_TRY(mw_bundle_create(&bundle, &info, &p, &v, &w, error));
    mw_status status = fill(bundle, data, parts, policy, world, error);
    if (status == MW_OK) status = fit_advantage(bundle, request, data, report, &advantage, error);
    if (status == MW_OK)
        status = provenance(&origin, request, data, parts, identity, other, log, seconds, error);
    if (status == MW_OK) {
        if (advantage) json_object_set(origin, "advantage", advantage);
        text = json_dumps(origin, JSON_COMPACT | JSON_REAL_PRECISION(9));
        status = text ? mw_bundle_set_provenance(bundle, text, error)
                      : mw_fail(error, MW_ERR_MEMORY, "cannot describe the training");
    }
    if (status == MW_OK) status = mw_bundle_save(bundle, request->output, !request->wide, error);
    free(text);
    json_decref(origin);
    json_decref(advantage);
    mw_bundle_free(bundle);
    return status;
}
