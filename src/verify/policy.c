/* The flow policy against recorded numbers: velocities, samples in a few numbers of steps, loss and
 * gradients.
 */
#include "verify/record.h"

#include "model/flow/sampler.h"
#include "model/flow/trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    mw_flow_net net;
    mw_pool *pool;
    mw_flow_trainer *trainer;
    mw_sampler *sampler;
    mw_arena arena;
    float *packed, *out;
} policy_check;

static mw_status policy_config(const mw_record *r, mw_flow_config *c, int *batch, mw_error *error) {
    *c = (mw_flow_config){.project = true};
    MW_TRY(mw_record_int(r, "agents", 1, 32, &c->agents, error));
    MW_TRY(mw_record_int(r, "obs", 1, 4096, &c->obs, error));
    MW_TRY(mw_record_int(r, "dim", 16, 1024, &c->dim, error));
    MW_TRY(mw_record_int(r, "T", 4, 256, &c->time, error));
    MW_TRY(mw_record_int(r, "context", 1, 255, &c->context, error));
    MW_TRY(mw_record_int(r, "bins", 1, 1000, &c->bins, error));
    int heads = MW_HEADS;
    if (mw_safetensors_meta(&r->file, "heads"))
        MW_TRY(mw_record_int(r, "heads", MW_HEADS, MW_HEADS, &heads, error));
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
    return mw_record_has(r, "in.trajectory", (size_t)*batch * (size_t)(c->time * c->agents * c->obs), error);
}

/* The network itself on batch-major trajectories, at given bins. */
static mw_status policy_velocity(policy_check *k, mw_record *r, const mw_flow_batch *in, const float *values,
                                 mw_verify *report, mw_error *error) {
    const mw_flow_config *c = &k->net.config;
    const size_t joint = (size_t)(c->agents * c->obs), batch = (size_t)in->count,
                 all = batch * (size_t)c->time * joint;
    const float *bins = mw_record_floats(r, "in.bins", batch, error),
                *recorded = mw_record_floats(r, "out.velocity", all, error);
    if (!bins || !recorded) return MW_ERR_FORMAT;
    mw_arena measure = {0};
    mw_flow_acts_take(&k->net, &measure, in->count, false);
    MW_TRY(mw_arena_create(&k->arena, measure.used, error));
    mw_flow_acts *acts = mw_flow_acts_take(&k->net, &k->arena, in->count, false);
    float *input = mw_flow_input(acts);
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
        mw_flow_forward(&k->net, acts, values, k->packed, bin, NULL, in->target, in->keep, in->count);
    for (size_t b = 0; b < batch; b++)
        for (size_t t = 0; t < (size_t)c->time; t++)
            memcpy(k->out + (b * (size_t)c->time + t) * joint, u + (t * batch + b) * joint,
                   joint * sizeof *u);
    mw_verify_check(report, mw_relative_error(k->out, recorded, all), MW_OUTPUT_TOLERANCE, "%s: velocity",
                    r->what);
    return MW_OK;
}

static mw_status policy_samples(policy_check *k, mw_record *r, const mw_flow_batch *in, mw_verify *report,
                                mw_error *error) {
    const mw_flow_config *c = &k->net.config;
    const size_t joint = (size_t)(c->agents * c->obs), batch = (size_t)in->count,
                 all = batch * (size_t)c->time * joint;
    float guidance;
    MW_TRY(mw_record_setting(r, "omega", 1.2f, &guidance, error));
    float *context = k->out + all;
    for (size_t b = 0; b < batch; b++)
        memcpy(context + b * (size_t)c->context * joint, in->trajectory + b * (size_t)c->time * joint,
               (size_t)c->context * joint * sizeof *context);
    for (int steps = 1; steps <= c->bins; steps++) {
        const mw_name name = mw_name_of("out.sample_k%d", steps);
        if (!mw_safetensors_find(&r->file, name.text)) continue;
        const float *recorded = mw_record_floats(r, name.text, all, error);
        if (!recorded) return MW_ERR_FORMAT;
        mw_sampler_options options = {.steps = steps, .guidance = guidance};
        MW_TRY(
            mw_sampler_run(k->sampler, &options, k->out, in->noise, context, in->target, in->count, error));
        mw_verify_check(report, mw_relative_error(k->out, recorded, all), MW_OUTPUT_TOLERANCE,
                        "%s: samples in %d steps", r->what, steps);
    }
    return MW_OK;
}

static mw_status verify_policy_record(policy_check *k, mw_record *r, mw_verify *report, mw_error *error) {
    mw_flow_config c;
    int batch = 0;
    MW_TRY(policy_config(r, &c, &batch, error));
    mw_adam adam = {2e-4f, 0.9f, 0.999f, 1e-8f, 0, 0, 0};
    const size_t b = (size_t)batch, all = b * (size_t)(c.time * c.agents * c.obs);
    MW_TRY(mw_pool_create(&k->pool, 2, error));
    MW_TRY(mw_flow_net_make(&k->net, &c, error));
    MW_TRY(mw_record_holds(r, &k->net.params, "weight.", error));
    MW_TRY(mw_flow_trainer_create(&k->trainer, &k->net, &adam, 0, batch, 0, 2, k->pool, error));
    mw_optimizer *optimizer = mw_flow_trainer_optimizer(k->trainer);
    MW_TRY(mw_params_load(&k->net.params, optimizer->values, &r->file, "weight.", error));
    k->packed = aligned_alloc(MW_ALIGN, k->net.params.packed * sizeof *k->packed);
    k->out = calloc(2 * all, sizeof *k->out);
    if (!k->packed || !k->out) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate the checks' buffers");
    mw_flow_net_pack(&k->net, optimizer->values, k->packed, false, 0, 1);
    MW_TRY(mw_sampler_create(&k->sampler, &k->net, optimizer->values, k->packed, k->pool, error));
    mw_flow_batch in = {batch,
                        mw_record_floats(r, "in.trajectory", all, error),
                        mw_record_floats(r, "in.noise", all, error),
                        mw_record_floats(r, "in.rho", b, error),
                        mw_record_floats(r, "in.lambda", b, error),
                        mw_record_floats(r, "in.return", b, error),
                        mw_record_floats(r, "in.keep", b, error),
                        0,
                        NULL,
                        NULL};
    const float *recorded = mw_record_floats(r, "out.loss", 1, error);
    if (!in.trajectory || !in.noise || !in.rho || !in.lambda || !in.target || !in.keep || !recorded)
        return MW_ERR_FORMAT;
    MW_TRY(policy_velocity(k, r, &in, optimizer->values, report, error));
    MW_TRY(policy_samples(k, r, &in, report, error));
    double loss = mw_flow_trainer_step(k->trainer, &in, MW_STEP_GRADIENT), worst;
    mw_verify_check(report, mw_verify_ratio(0, loss, recorded[0]), MW_LOSS_TOLERANCE, "%s: loss", r->what);
    char where[64] = "";
    MW_TRY(mw_record_compare(r, &k->net.params, optimizer->grads, "grad.", 0, &worst, where, sizeof where,
                             error));
    mw_verify_check(report, worst, MW_GRADIENT_TOLERANCE, "%s: gradients (%s)", r->what, where);
    return MW_OK;
}

mw_status mw_verify_policy(mw_record *r, mw_verify *report, mw_error *error) {
    policy_check k = {0};
    mw_status status = verify_policy_record(&k, r, report, error);
    mw_sampler_free(k.sampler);
    mw_flow_trainer_free(k.trainer);
    mw_flow_net_free(&k.net);
    mw_arena_free(&k.arena);
    mw_pool_free(k.pool);
    free(k.packed);
    free(k.out);
    return status;
}
