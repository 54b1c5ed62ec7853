/* The routed world model as a scorer: rollouts by all workers of a pool together. */
#include "model/rwm/rwm.h"

#include "model/rollout.h"

#include <stdlib.h>

typedef struct {
    const mw_world_net *net;
    const float *values, *packed;
    mw_world_work *work;
} routed;

static void step(void *work, const float *obs, const float *act, float *next, float *reward, int count,
                 int worker) {
    const routed *r = work;
    mw_world_forward(r->net, r->work, r->values, r->packed, obs, act, next, reward, count, worker);
}

static void discard(void *work) {
    mw_world_work_free(((routed *)work)->work);
    free(work);
}

mw_status mw_world_scorer_create(mw_scorer **out, const mw_world_net *net, const float *values,
                                 const float *packed, int max_batch, mw_pool *pool, mw_error *error) {
    const mw_world_config *c = &net->config;
    routed *r = calloc(1, sizeof *r);
    *out = NULL;
    if (!r) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a scorer");
    *r = (routed){net, values, packed, NULL};
    const mw_status status = mw_world_work_create(&r->work, net, max_batch, false, pool, error);
    if (status != MW_OK) {
        free(r);
        return status;
    }
    const mw_rollout_world world = {.shape = {c->agents, c->obs, c->act, false},
                                    .work = r,
                                    .bytes = mw_world_work_bytes(r->work),
                                    .step = step,
                                    .free = discard};
    return mw_rollout_scorer_create(out, &mw_rwm_scorer_class, &world, max_batch, pool, error);
}

static mw_status create(mw_scorer **scorer, const mw_scorer_context *context, mw_error *error) {
    const mw_model *model = context->model;
    return mw_world_scorer_create(scorer, model->net, model->values, model->packed,
                                  context->max_rows < 128 ? context->max_rows : 128, context->pool, error);
}

const mw_scorer_class mw_rwm_scorer_class = {
    .name = "rwm",
    .help = "return imagined by the routed world model",
    .imagines = true,
    .create = create,
    .score = mw_rollout_score,
    .bytes = mw_rollout_bytes,
    .destroy = mw_rollout_destroy,
};
