/* Checks of the networks, the normaliser and the metrics against recorded numbers: what `mawam verify net`
 * runs. */
#include "core/verify.h"

#include "nn/normalizer.h"
#include "model/flow/sampler.h"
#include "model/flow/trainer.h"
#include "eval/metrics.h"
#include "model/rwm/rwm.h"
#include "model/rwm/trainer.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUTPUT_TOLERANCE   2e-5
#define LOSS_TOLERANCE     1e-5
#define GRADIENT_TOLERANCE 1e-4
#define ADAM_TOLERANCE     1e-5

static double largest_of(const float *x, size_t count) {
    double largest = 0;
    for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs((double)x[i]));
    return largest;
}

static double worst_of(const float *seen, const float *expected, size_t count) {
    double worst = 0;
    for (size_t i = 0; i < count; i++) worst = mw_verify_worst(worst, seen[i], expected[i]);
    return worst;
}

/* Largest |seen - expected| over the largest |expected|. */
static double relative_error(const float *seen, const float *expected, size_t count) {
    const double worst = worst_of(seen, expected, count), largest = largest_of(expected, count);
    return largest > 0 ? worst / largest : worst;
}

/* A recorded file with its tensors as floats; everything read is freed together. */
typedef struct {
    mw_safetensors file;
    float *owned[32];
    int owned_count;
    const char *what;
} record;

static void record_close(record *r) {
    for (int i = 0; i < r->owned_count; i++) free(r->owned[i]);
    mw_safetensors_close(&r->file);
}

/* The tensor's values, whatever its shape, or NULL with error filled. */
static float *record_floats(record *r, const char *name, size_t count, mw_error *error) {
    const mw_tensor *tensor = mw_safetensors_find(&r->file, name);
    if (!tensor || tensor->count != count || r->owned_count == 32) {
        mw_fail(error, MW_ERR_FORMAT, "%s: tensor '%s' is %s; expected %zu values", r->file.path, name,
                tensor ? "of another size" : "missing", count);
        return NULL;
    }
    float *values = malloc((count ? count : 1) * sizeof *values);
    if (!values) {
        mw_fail(error, MW_ERR_MEMORY, "%s: cannot allocate '%s'", r->file.path, name);
        return NULL;
    }
    mw_dtype_to_floats(tensor->type, tensor->data, count, values);
    return r->owned[r->owned_count++] = values;
}

static mw_status meta_int(const record *r, const char *key, int low, int high, int *out, mw_error *error) {
    long value;
    MW_TRY(mw_safetensors_meta_int(&r->file, key, low, high, &value, error));
    *out = (int)value;
    return MW_OK;
}

/* The largest relative error over all parameters between values (memory layout) and tensors prefix + name. A
 * tensor that is zero but for rounding (a key's bias does not change a softmax, so it has no gradient) is
 * measured against the largest of all instead of against its own noise. */
static mw_status compare_params(const mw_params *params, const float *values, record *r, const char *prefix,
                                double *worst, char *where, size_t where_size, mw_error *error) {
    double overall = 0;
    *worst = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < params->count; i++) {
            const mw_param *param = &params->list[i];
            char name[160];
            snprintf(name, sizeof name, "%s%s", prefix, param->name);
            const mw_tensor *tensor = mw_safetensors_find(&r->file, name);
            if (!tensor && !strncmp(param->name, "scale.", 6)) continue; /* constants are not trained */
            if (!tensor || tensor->count != param->count)
                return mw_fail(error, MW_ERR_FORMAT, "%s: tensor '%s' is %s; expected %zu values",
                               r->file.path, name, tensor ? "of another size" : "missing", param->count);
            float *expected = malloc(2 * param->count * sizeof *expected);
            if (!expected) return mw_fail(error, MW_ERR_MEMORY, "cannot compare '%s'", param->name);
            float *seen = expected + param->count;
            mw_dtype_to_floats(tensor->type, tensor->data, param->count, expected);
            mw_param_to_file(param, values, seen);
            const double largest = largest_of(expected, param->count);
            const double off =
                worst_of(seen, expected, param->count) / (largest > 1e-7 * overall ? largest : overall);
            free(expected);
            if (pass == 0) {
                overall = fmax(overall, largest);
            } else if (!(off <= *worst)) {
                *worst = off;
                snprintf(where, where_size, "%s", param->name);
            }
        }
    return MW_OK;
}

/* ---- world ---- */

typedef struct {
    mw_world_net net;
    mw_pool *pool;
    mw_world_trainer *trainer;
    mw_scorer *scorer;
    mw_world_work *work;
    float *packed, *out;
} world_check;

typedef struct {
    world_check *check;
    const float *obs, *act, *values;
    float *next, *reward;
    int batch;
} world_pass;

static void world_body(void *context, int worker) {
    const world_pass *p = context;
    mw_world_forward(&p->check->net, p->check->work, p->values, p->check->packed, p->obs, p->act, p->next,
                     p->reward, p->batch, worker);
}

static mw_status world_config(const record *r, mw_world_config *c, int *batch, int *horizon,
                              mw_error *error) {
    int joint = 0;
    *c = mw_world_config_paper();
    MW_TRY(meta_int(r, "agents", 1, 64, &c->agents, error));
    MW_TRY(meta_int(r, "obs", 1, 4096, &c->obs, error));
    MW_TRY(meta_int(r, "act", 1, 4096, &c->act, error));
    MW_TRY(meta_int(r, "hidden", 1, 4096, &c->hidden, error));
    MW_TRY(meta_int(r, "experts_dyn", 1, MW_MAX_EXPERTS, &c->experts, error));
    MW_TRY(meta_int(r, "slots", 1, 64, &c->slots, error));
    MW_TRY(meta_int(r, "experts_rew", 1, MW_MAX_EXPERTS, &c->reward_experts, error));
    MW_TRY(meta_int(r, "top_k", 1, c->reward_experts, &c->top_k, error));
    MW_TRY(meta_int(r, "H", 1, 1000, horizon, error));
    if (mw_safetensors_meta(&r->file, "reward_features")) {
        c->standardise = true;
        MW_TRY(meta_int(r, "reward_features", 0, 1024, &c->reward_features, error));
        MW_TRY(meta_int(r, "dynamics_features", 0, 1024, &c->dynamics_features, error));
        MW_TRY(meta_int(r, "shared", 0, 4096, &c->shared, error));
        MW_TRY(meta_int(r, "joint", 0, 1, &joint, error));
        c->mean_agents = joint;
    }
    const mw_tensor *obs = mw_safetensors_find(&r->file, "in.obs");
    if (!obs || obs->dims != 3 || obs->shape[0] < 1 || obs->shape[0] > 4096)
        return mw_fail(error, MW_ERR_FORMAT, "%s: tensor 'in.obs' is missing or not [batch][agents][obs]",
                       r->file.path);
    *batch = (int)obs->shape[0];
    return MW_OK;
}

static mw_status world_outputs(world_check *k, record *r, const mw_transition_batch *in, const float *values,
                               int horizon, mw_verify *report, mw_error *error) {
    const mw_world_config *c = &k->net.config;
    const size_t rows = (size_t)(in->count * c->agents), all = rows * (size_t)c->obs;
    const float *next = record_floats(r, "out.next_obs", all, error),
                *reward = record_floats(r, "out.reward", rows, error);
    const float *acts = record_floats(r, "in.rollout_acts", rows * (size_t)(horizon * c->act), error);
    const float *scores = record_floats(r, "out.rollout_score", (size_t)in->count, error);
    if (!next || !reward || !acts || !scores) return MW_ERR_FORMAT;
    world_pass pass = {k, in->obs, in->act, values, k->out, k->out + all, in->count};
    mw_pool_run(k->pool, world_body, &pass);
    mw_verify_check(report, relative_error(pass.next, next, all), OUTPUT_TOLERANCE, "%s: next observation",
                    r->what);
    mw_verify_check(report, relative_error(pass.reward, reward, rows), OUTPUT_TOLERANCE, "%s: reward",
                    r->what);
    mw_scorer_score(k->scorer,
                    &(mw_scoring){.scores = k->out,
                                  .paths = NULL,
                                  .obs = in->obs,
                                  .actions = acts,
                                  .count = in->count,
                                  .horizon = horizon,
                                  .group = 1},
                    NULL);
    mw_verify_check(report, relative_error(k->out, scores, (size_t)in->count), OUTPUT_TOLERANCE,
                    "%s: score of %d-step rollouts", r->what, horizon);
    return MW_OK;
}

static mw_status world_training(world_check *k, record *r, const mw_transition_batch *in, mw_verify *report,
                                mw_error *error) {
    const float *recorded = record_floats(r, "out.loss_total_dyn_rew_bal", 4, error);
    if (!recorded) return MW_ERR_FORMAT;
    mw_world_loss loss = mw_world_trainer_step(k->trainer, in, false);
    const double seen[4] = {loss.total, loss.dynamics, loss.reward, loss.balance};
    double worst = 0;
    for (int i = 0; i < 4; i++) worst = mw_verify_worst(worst, seen[i] / recorded[i], 1);
    mw_verify_check(report, worst, LOSS_TOLERANCE, "%s: losses", r->what);
    char where[64] = "";
    mw_optimizer *optimizer = mw_world_trainer_optimizer(k->trainer);
    MW_TRY(compare_params(&k->net.params, optimizer->grads, r, "grad.", &worst, where, sizeof where, error));
    mw_verify_check(report, worst, GRADIENT_TOLERANCE, "%s: gradients (%s)", r->what, where);
    for (int step = 0; step < 3; step++) mw_world_trainer_step(k->trainer, in, true);
    MW_TRY(
        compare_params(&k->net.params, optimizer->values, r, "adam3.", &worst, where, sizeof where, error));
    mw_verify_check(report, worst, ADAM_TOLERANCE, "%s: three Adam steps (%s)", r->what, where);
    return MW_OK;
}

static mw_status verify_world_record(world_check *k, record *r, mw_verify *report, mw_error *error) {
    mw_world_config c;
    int batch = 0, horizon = 0;
    MW_TRY(world_config(r, &c, &batch, &horizon, error));
    const char *rate = mw_safetensors_meta(&r->file, "lr"), *clip = mw_safetensors_meta(&r->file, "clip");
    mw_adam adam = {rate ? strtof(rate, NULL) : 3e-4f, 0.9f, 0.999f, 1e-8f,
                    clip ? strtof(clip, NULL) : 10,    0};
    const size_t rows = (size_t)(batch * c.agents), all = rows * (size_t)c.obs;
    MW_TRY(mw_pool_create(&k->pool, 2, error));
    MW_TRY(mw_world_net_make(&k->net, &c, error));
    MW_TRY(mw_world_trainer_create(&k->trainer, &k->net, &adam, 0, batch, k->pool, error));
    float *values = mw_world_trainer_optimizer(k->trainer)->values;
    MW_TRY(mw_params_load(&k->net.params, values, &r->file, "weight.", error));
    k->packed = aligned_alloc(MW_ALIGN, k->net.params.packed * sizeof *k->packed);
    k->out = calloc(all + rows, sizeof *k->out);
    if (!k->packed || !k->out) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate the checks' buffers");
    mw_world_net_pack(&k->net, values, k->packed, false, 0, 1);
    MW_TRY(mw_world_work_create(&k->work, &k->net, batch, false, k->pool, error));
    MW_TRY(mw_world_scorer_create(&k->scorer, &k->net, values, k->packed, batch, k->pool, error));
    mw_transition_batch in = {.count = batch,
                              .obs = record_floats(r, "in.obs", all, error),
                              .act = record_floats(r, "in.act", rows * (size_t)c.act, error),
                              .next_obs = record_floats(r, "in.next_obs", all, error),
                              .reward = record_floats(r, "in.reward", rows, error)};
    if (!in.obs || !in.act || !in.next_obs || !in.reward) return MW_ERR_FORMAT;
    MW_TRY(world_outputs(k, r, &in, values, horizon, report, error));
    return world_training(k, r, &in, report, error);
}

static mw_status verify_world(record *r, mw_verify *report, mw_error *error) {
    world_check k = {0};
    mw_status status = verify_world_record(&k, r, report, error);
    mw_scorer_free(k.scorer);
    mw_world_work_free(k.work);
    mw_world_trainer_free(k.trainer);
    mw_world_net_free(&k.net);
    mw_pool_free(k.pool);
    free(k.packed);
    free(k.out);
    return status;
}

/* ---- policy ---- */

typedef struct {
    mw_policy_net net;
    mw_pool *pool;
    mw_policy_trainer *trainer;
    mw_sampler *sampler;
    mw_arena arena;
    float *packed, *out;
} policy_check;

static mw_status policy_config(const record *r, mw_policy_config *c, int *batch, mw_error *error) {
    *c = (mw_policy_config){.project = true};
    MW_TRY(meta_int(r, "agents", 1, 32, &c->agents, error));
    MW_TRY(meta_int(r, "obs", 1, 4096, &c->obs, error));
    MW_TRY(meta_int(r, "dim", 16, 1024, &c->dim, error));
    MW_TRY(meta_int(r, "T", 4, 256, &c->time, error));
    MW_TRY(meta_int(r, "context", 1, 255, &c->context, error));
    MW_TRY(meta_int(r, "bins", 1, 1000, &c->bins, error));
    const char *mults = mw_safetensors_meta(&r->file, "mults");
    if (!mults || sscanf(mults, "(%d, %d, %d)", &c->mults[0], &c->mults[1], &c->mults[2]) != 3)
        return mw_fail(error, MW_ERR_FORMAT, "%s: metadata 'mults' is '%.40s'; expected '(a, b, c)'",
                       r->file.path, mults ? mults : "");
    c->project = mw_safetensors_find(&r->file, "weight.mid_attn.out.weight") != NULL;
    const mw_tensor *tau = mw_safetensors_find(&r->file, "in.trajectory");
    if (!tau || tau->dims != 4 || tau->shape[0] < 1 || tau->shape[0] > 1024)
        return mw_fail(error, MW_ERR_FORMAT,
                       "%s: tensor 'in.trajectory' is missing or not [batch][T][agents][obs]", r->file.path);
    *batch = (int)tau->shape[0];
    return MW_OK;
}

/* The network itself on batch-major trajectories, at given bins. */
static mw_status policy_velocity(policy_check *k, record *r, const mw_flow_batch *in, const float *values,
                                 mw_verify *report, mw_error *error) {
    const mw_policy_config *c = &k->net.config;
    const size_t joint = (size_t)(c->agents * c->obs), batch = (size_t)in->count,
                 all = batch * (size_t)c->time * joint;
    const float *bins = record_floats(r, "in.bins", batch, error),
                *recorded = record_floats(r, "out.velocity", all, error);
    if (!bins || !recorded) return MW_ERR_FORMAT;
    mw_arena measure = {0};
    mw_policy_acts_take(&k->net, &measure, in->count, false);
    MW_TRY(mw_arena_create(&k->arena, measure.used, error));
    mw_policy_acts *acts = mw_policy_acts_take(&k->net, &k->arena, in->count, false);
    float *input = mw_policy_input(acts);
    int bin[1024];
    for (size_t b = 0; b < batch; b++) {
        if (!(bins[b] >= 0 && bins[b] < (float)c->bins))
            return mw_fail(error, MW_ERR_FORMAT, "%s: tensor 'in.bins' holds %g; expected 0 to %d",
                           r->file.path, (double)bins[b], c->bins - 1);
        bin[b] = (int)bins[b];
        for (size_t t = 0; t < (size_t)c->time; t++)
            memcpy(input + (t * batch + b) * joint, in->trajectory + (b * (size_t)c->time + t) * joint,
                   joint * sizeof *input);
    }
    const float *u =
        mw_policy_forward(&k->net, acts, values, k->packed, bin, NULL, in->target, in->keep, in->count);
    for (size_t b = 0; b < batch; b++)
        for (size_t t = 0; t < (size_t)c->time; t++)
            memcpy(k->out + (b * (size_t)c->time + t) * joint, u + (t * batch + b) * joint,
                   joint * sizeof *u);
    mw_verify_check(report, relative_error(k->out, recorded, all), OUTPUT_TOLERANCE, "%s: velocity", r->what);
    return MW_OK;
}

static mw_status policy_samples(policy_check *k, record *r, const mw_flow_batch *in, mw_verify *report,
                                mw_error *error) {
    const mw_policy_config *c = &k->net.config;
    const size_t joint = (size_t)(c->agents * c->obs), batch = (size_t)in->count,
                 all = batch * (size_t)c->time * joint;
    const char *omega = mw_safetensors_meta(&r->file, "omega");
    float *context = k->out + all;
    for (size_t b = 0; b < batch; b++)
        memcpy(context + b * (size_t)c->context * joint, in->trajectory + b * (size_t)c->time * joint,
               (size_t)c->context * joint * sizeof *context);
    for (int steps = 1; steps <= c->bins; steps++) {
        const mw_name name = mw_name_of("out.sample_k%d", steps);
        if (!mw_safetensors_find(&r->file, name.text)) continue;
        const float *recorded = record_floats(r, name.text, all, error);
        if (!recorded) return MW_ERR_FORMAT;
        mw_sampler_options options = {.steps = steps, .guidance = omega ? strtof(omega, NULL) : 1.2f};
        MW_TRY(
            mw_sampler_run(k->sampler, &options, k->out, in->noise, context, in->target, in->count, error));
        mw_verify_check(report, relative_error(k->out, recorded, all), OUTPUT_TOLERANCE,
                        "%s: samples in %d steps", r->what, steps);
    }
    return MW_OK;
}

static mw_status verify_policy_record(policy_check *k, record *r, mw_verify *report, mw_error *error) {
    mw_policy_config c;
    int batch = 0;
    MW_TRY(policy_config(r, &c, &batch, error));
    mw_adam adam = {2e-4f, 0.9f, 0.999f, 1e-8f, 0, 0};
    const size_t b = (size_t)batch, all = b * (size_t)(c.time * c.agents * c.obs);
    MW_TRY(mw_pool_create(&k->pool, 2, error));
    MW_TRY(mw_policy_net_make(&k->net, &c, error));
    MW_TRY(mw_policy_trainer_create(&k->trainer, &k->net, &adam, 0, batch, 0, 2, k->pool, error));
    mw_optimizer *optimizer = mw_policy_trainer_optimizer(k->trainer);
    MW_TRY(mw_params_load(&k->net.params, optimizer->values, &r->file, "weight.", error));
    k->packed = aligned_alloc(MW_ALIGN, k->net.params.packed * sizeof *k->packed);
    k->out = calloc(2 * all, sizeof *k->out);
    if (!k->packed || !k->out) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate the checks' buffers");
    mw_policy_net_pack(&k->net, optimizer->values, k->packed, false, 0, 1);
    MW_TRY(mw_sampler_create(&k->sampler, &k->net, optimizer->values, k->packed, k->pool, error));
    mw_flow_batch in = {batch,
                        record_floats(r, "in.trajectory", all, error),
                        record_floats(r, "in.noise", all, error),
                        record_floats(r, "in.rho", b, error),
                        record_floats(r, "in.lambda", b, error),
                        record_floats(r, "in.return", b, error),
                        record_floats(r, "in.keep", b, error),
                        0,
                        NULL};
    const float *recorded = record_floats(r, "out.loss", 1, error);
    if (!in.trajectory || !in.noise || !in.rho || !in.lambda || !in.target || !in.keep || !recorded)
        return MW_ERR_FORMAT;
    MW_TRY(policy_velocity(k, r, &in, optimizer->values, report, error));
    MW_TRY(policy_samples(k, r, &in, report, error));
    double loss = mw_policy_trainer_step(k->trainer, &in, false), worst;
    mw_verify_check(report, fabs(loss / recorded[0] - 1), LOSS_TOLERANCE, "%s: loss", r->what);
    char where[64] = "";
    MW_TRY(compare_params(&k->net.params, optimizer->grads, r, "grad.", &worst, where, sizeof where, error));
    mw_verify_check(report, worst, GRADIENT_TOLERANCE, "%s: gradients (%s)", r->what, where);
    return MW_OK;
}

static mw_status verify_policy(record *r, mw_verify *report, mw_error *error) {
    policy_check k = {0};
    mw_status status = verify_policy_record(&k, r, report, error);
    mw_sampler_free(k.sampler);
    mw_policy_trainer_free(k.trainer);
    mw_policy_net_free(&k.net);
    mw_arena_free(&k.arena);
    mw_pool_free(k.pool);
    free(k.packed);
    free(k.out);
    return status;
}

/* ---- normaliser and metrics ---- */

static mw_status verify_normalizer(record *r, mw_verify *report, mw_error *error) {
    const mw_tensor *data = mw_safetensors_find(&r->file, "data"),
                    *query = mw_safetensors_find(&r->file, "query");
    if (!data || !query || data->dims != 2 || query->dims != 2 || data->shape[1] != query->shape[1] ||
        data->shape[0] < 2 || data->shape[0] > 1000000 || data->shape[1] > 1000)
        return mw_fail(error, MW_ERR_FORMAT, "%s: tensors 'data' and 'query' are not [rows][features]",
                       r->file.path);
    const size_t rows = data->shape[0], features = data->shape[1], count = query->count;
    const float *values = record_floats(r, "data", data->count, error),
                *unit = record_floats(r, "unit", count, error);
    float *seen = record_floats(r, "query", count, error);
    const float *normalized = record_floats(r, "normalized", count, error),
                *raw = record_floats(r, "unnormalized", count, error);
    if (!values || !unit || !seen || !normalized || !raw) return MW_ERR_FORMAT;
    mw_normalizer normalizer;
    MW_TRY(mw_normalizer_create(&normalizer, (int)features, (int)rows, error));
    float *column = malloc(rows * sizeof *column);
    for (size_t f = 0; column && f < features; f++) {
        for (size_t i = 0; i < rows; i++) column[i] = values[i * features + f];
        mw_normalizer_fit(&normalizer, (int)f, column, (long)rows, NULL);
    }
    mw_normalizer_forward(&normalizer, seen, (long)(count / features));
    mw_verify_check(report, relative_error(seen, normalized, count), OUTPUT_TOLERANCE, "normaliser: forward");
    memcpy(seen, unit, count * sizeof *seen);
    mw_normalizer_inverse(&normalizer, seen, (long)(count / features));
    mw_verify_check(report, relative_error(seen, raw, count), OUTPUT_TOLERANCE, "normaliser: inverse");
    mw_normalizer_free(&normalizer);
    free(column);
    return column ? MW_OK : mw_fail(error, MW_ERR_MEMORY, "cannot allocate the normaliser's check");
}

static mw_status verify_metrics(record *r, mw_verify *report, mw_error *error) {
    const mw_tensor *groups = mw_safetensors_find(&r->file, "realized");
    if (!groups || groups->dims != 2 || groups->shape[0] > 1000000 || groups->shape[1] > 1000)
        return mw_fail(error, MW_ERR_FORMAT, "%s: tensor 'realized' is not [groups][size]", r->file.path);
    const float *realized = record_floats(r, "realized", groups->count, error);
    const float *predicted = record_floats(r, "predicted", groups->count, error);
    if (!realized || !predicted) return MW_ERR_FORMAT;
    mw_ranking m;
    MW_TRY(mw_ranking_of(&m, realized, predicted, (int)groups->shape[0], (int)groups->shape[1], error));
    const struct {
        const char *name;
        double value;
    } metrics[] = {{"pearson", m.pearson},
                   {"spearman", m.spearman},
                   {"top1", m.top1},
                   {"top2", m.top2},
                   {"regret", m.regret},
                   {"pair_accuracy", m.pair_accuracy},
                   {"normalized_regret", m.normalized_regret}};
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        const char *recorded = mw_safetensors_meta(&r->file, metrics[i].name);
        if (recorded)
            mw_verify_check(report, fabs(metrics[i].value - strtod(recorded, NULL)), 1e-6, "metrics: %s",
                            metrics[i].name);
    }
    return MW_OK;
}

/* ---- the folder ---- */

typedef mw_status verify_fn(record *r, mw_verify *report, mw_error *error);

static mw_status verify_file(const char *path, const char *what, verify_fn *verify, int *found,
                             mw_verify *report, mw_error *error) {
    record r = {.what = what};
    if (!mw_file_exists(path)) return MW_OK;
    ++*found;
    MW_TRY(mw_safetensors_open(&r.file, path, error));
    mw_status status = verify(&r, report, error);
    record_close(&r);
    return status;
}

mw_status mw_verify_net(const char *dir, mw_verify *report, mw_error *error) {
    struct dirent **entries = NULL;
    const int count = scandir(dir, &entries, NULL, alphasort);
    if (count < 0) return mw_fail(error, MW_ERR_IO, "%s: cannot read this folder", dir);
    mw_status status = MW_OK;
    int found = 0;
    char path[4096], what[320];
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        if (name[0] != '.' && status == MW_OK) {
            snprintf(path, sizeof path, "%s/%s/world.safetensors", dir, name);
            snprintf(what, sizeof what, "%s world", name);
            status = verify_file(path, what, verify_world, &found, report, error);
            snprintf(path, sizeof path, "%s/%s/policy.safetensors", dir, name);
            snprintf(what, sizeof what, "%s policy", name);
            if (status == MW_OK) status = verify_file(path, what, verify_policy, &found, report, error);
        }
        free(entries[i]);
    }
    free(entries);
    snprintf(path, sizeof path, "%s/normalizer.safetensors", dir);
    if (status == MW_OK) status = verify_file(path, "normaliser", verify_normalizer, &found, report, error);
    snprintf(path, sizeof path, "%s/metrics.safetensors", dir);
    if (status == MW_OK) status = verify_file(path, "metrics", verify_metrics, &found, report, error);
    if (status == MW_OK && !found)
        status = mw_fail(error, MW_ERR_FORMAT,
                         "%s: found no */world.safetensors, */policy.safetensors, normalizer.safetensors "
                         "or metrics.safetensors to check",
                         dir);
    return status;
}
