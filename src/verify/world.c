/* The routed world model against recorded numbers: outputs, scores of rollouts, losses, gradients and steps
 * of Adam. */
#include "verify/record.h"

#include "model/rwm/rwm.h"
#include "model/rwm/trainer.h"

#include <stdlib.h>

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

mw_status mw_record_world(const mw_record *r, mw_world_config *c, int *batch, int *horizon, mw_error *error) {
    int joint = 0;
    *c = mw_world_config_paper();
    MW_TRY(mw_record_int(r, "agents", 1, 64, &c->agents, error));
    MW_TRY(mw_record_int(r, "obs", 1, 4096, &c->obs, error));
    MW_TRY(mw_record_int(r, "act", 1, 4096, &c->act, error));
    MW_TRY(mw_record_int(r, "hidden", 1, 4096, &c->hidden, error));
    MW_TRY(mw_record_int(r, "experts_dyn", 1, MW_MAX_EXPERTS, &c->experts, error));
    MW_TRY(mw_record_int(r, "slots", 1, 64, &c->slots, error));
    MW_TRY(mw_record_int(r, "experts_rew", 1, MW_MAX_EXPERTS, &c->reward_experts, error));
    MW_TRY(mw_record_int(r, "top_k", 1, c->reward_experts, &c->top_k, error));
    MW_TRY(mw_record_int(r, "H", 1, 1000, horizon, error));
    if (mw_safetensors_meta(&r->file, "reward_features")) {
        c->standardise = true;
        MW_TRY(mw_record_int(r, "reward_features", 0, 1024, &c->reward_features, error));
        MW_TRY(mw_record_int(r, "dynamics_features", 0, 1024, &c->dynamics_features, error));
        MW_TRY(mw_record_int(r, "shared", 0, 4096, &c->shared, error));
        MW_TRY(mw_record_int(r, "joint", 0, 1, &joint, error));
        c->mean_agents = joint;
    }
    const mw_tensor *obs = mw_safetensors_find(&r->file, "in.obs");
    if (!obs || obs->dims != 3 || obs->shape[0] < 1 || obs->shape[0] > 4096)
        return mw_fail(error, MW_ERR_FORMAT, "%s: tensor 'in.obs' is missing or not [batch][agents][obs]",
                       r->file.path);
    *batch = (int)obs->shape[0];
    return mw_record_has(r, "in.obs", (size_t)*batch * (size_t)(c->agents * c->obs), error);
}

static mw_status world_outputs(world_check *k, mw_record *r, const mw_transition_batch *in,
                               const float *values, int horizon, mw_verify *report, mw_error *error) {
    const mw_world_config *c = &k->net.config;
    const size_t rows = (size_t)(in->count * c->agents), all = rows * (size_t)c->obs;
    const float *next = mw_record_floats(r, "out.next_obs", all, error),
                *reward = mw_record_floats(r, "out.reward", rows, error);
    const float *acts = mw_record_floats(r, "in.rollout_acts", rows * (size_t)(horizon * c->act), error);
    const float *scores = mw_record_floats(r, "out.rollout_score", (size_t)in->count, error);
    if (!next || !reward || !acts || !scores) return MW_ERR_FORMAT;
    world_pass pass = {k, in->obs, in->act, values, k->out, k->out + all, in->count};
    mw_pool_run(k->pool, world_body, &pass);
    mw_verify_check(report, mw_relative_error(pass.next, next, all), MW_OUTPUT_TOLERANCE,
                    "%s: next observation", r->what);
    mw_verify_check(report, mw_relative_error(pass.reward, reward, rows), MW_OUTPUT_TOLERANCE, "%s: reward",
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
    mw_verify_check(report, mw_relative_error(k->out, scores, (size_t)in->count), MW_OUTPUT_TOLERANCE,
                    "%s: score of %d-step rollouts", r->what, horizon);
    return MW_OK;
}

static mw_status world_training(world_check *k, mw_record *r, const mw_transition_batch *in,
                                mw_verify *report, mw_error *error) {
    const float *recorded = mw_record_floats(r, "out.loss_total_dyn_rew_bal", 4, error);
    if (!recorded) return MW_ERR_FORMAT;
    mw_world_loss loss = mw_world_trainer_step(k->trainer, in, false);
    const double seen[4] = {loss.total, loss.dynamics, loss.reward, loss.balance};
    double worst = 0;
    for (int i = 0; i < 4; i++) worst = mw_verify_ratio(worst, seen[i], recorded[i]);
    mw_verify_check(report, worst, MW_LOSS_TOLERANCE, "%s: losses", r->what);
    char where[64] = "";
    mw_optimizer *optimizer = mw_world_trainer_optimizer(k->trainer);
    MW_TRY(mw_record_compare(r, &k->net.params, optimizer->grads, "grad.", 0, &worst, where, sizeof where,
                             error));
    mw_verify_check(report, worst, MW_GRADIENT_TOLERANCE, "%s: gradients (%s)", r->what, where);
    for (int step = 0; step < MW_RECORDED_STEPS; step++) mw_world_trainer_step(k->trainer, in, true);
    MW_TRY(mw_record_compare(r, &k->net.params, optimizer->values, "adam3.", 0, &worst, where, sizeof where,
                             error));
    mw_verify_check(report, worst, MW_ADAM_TOLERANCE, "%s: three Adam steps (%s)", r->what, where);
    return MW_OK;
}

static mw_status verify_world_record(world_check *k, mw_record *r, mw_verify *report, mw_error *error) {
    mw_world_config c;
    int batch = 0, horizon = 0;
    MW_TRY(mw_record_world(r, &c, &batch, &horizon, error));
    float clip;
    MW_TRY(mw_record_setting(r, "lr", 3e-4f, &r->rate, error));
    MW_TRY(mw_record_setting(r, "clip", 10, &clip, error));
    mw_adam adam = {r->rate, 0.9f, 0.999f, 1e-8f, clip, 0, 0};
    const size_t rows = (size_t)(batch * c.agents), all = rows * (size_t)c.obs;
    MW_TRY(mw_pool_create(&k->pool, 2, error));
    MW_TRY(mw_world_net_make(&k->net, &c, error));
    MW_TRY(mw_record_holds(r, &k->net.params, "weight.", error));
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
                              .obs = mw_record_floats(r, "in.obs", all, error),
                              .act = mw_record_floats(r, "in.act", rows * (size_t)c.act, error),
                              .next_obs = mw_record_floats(r, "in.next_obs", all, error),
                              .reward = mw_record_floats(r, "in.reward", rows, error)};
    if (!in.obs || !in.act || !in.next_obs || !in.reward) return MW_ERR_FORMAT;
    MW_TRY(world_outputs(k, r, &in, values, horizon, report, error));
    return world_training(k, r, &in, report, error);
}

mw_status mw_verify_world(mw_record *r, mw_verify *report, mw_error *error) {
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
