/* MADT at play against recorded numbers: its own history, which slides, and the return that is left; see
 * baselines.h. */
#include "model/madt/madt.h"
#include "verify/baselines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What was recorded of a play, and what is done in it. */
typedef struct {
    const mw_tensor *steps;            /* in.act_reward */
    const float *obs, *reward, *legal; /* [T][n][o], [T], [T][n][d] or NULL */
    float *outputs, *acts;             /* [T][n][d], and [T][n] if discrete */
    uint8_t *allowed;                  /* [n][d] */
    int32_t *index;                    /* [n] */
} play;

static mw_status read_play(const mw_baseline_check *k, play *p, mw_error *error) {
    const mw_model_shape *s = &k->model->shape;
    const size_t n = (size_t)s->agents, o = (size_t)s->obs, d = (size_t)s->act;
    mw_record *r = k->record;
    p->steps = mw_safetensors_find(&r->file, "in.act_reward");
    if (!p->steps)
        return mw_fail(error, MW_ERR_FORMAT, "%s: tensor 'in.act_reward' is missing", r->file.path);
    const size_t steps = p->steps->count;
    if (!(p->obs = mw_record_floats(r, "in.act_obs", steps * n * o, error))) return MW_ERR_FORMAT;
    if (!(p->reward = mw_record_floats(r, "in.act_reward", steps, error))) return MW_ERR_FORMAT;
    if (s->discrete && !(p->legal = mw_record_floats(r, "in.act_legal", steps * n * d, error)))
        return MW_ERR_FORMAT;
    p->outputs = calloc(steps * n * d + 1, sizeof *p->outputs);
    p->acts = calloc(steps * n * d + 1, sizeof *p->acts);
    p->allowed = calloc(n * d, sizeof *p->allowed);
    p->index = calloc(n, sizeof *p->index);
    if (!p->outputs || !p->acts || !p->allowed || !p->index)
        return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a play");
    return MW_OK;
}

/* One step of the one environment. */
static mw_status decide(const mw_baseline_check *k, play *p, mw_policy *policy, size_t step,
                        mw_error *error) {
    const mw_model_shape *s = &k->model->shape;
    const size_t n = (size_t)s->agents, acts = n * (size_t)s->act;
    const uint64_t episode = 0, now = step;
    for (size_t i = 0; p->legal && i < acts; i++) p->allowed[i] = p->legal[step * acts + i] != 0;
    const mw_policy_call call = {.obs = p->obs + step * n * (size_t)s->obs,
                                 .legal = p->legal ? p->allowed : NULL,
                                 .episode = &episode,
                                 .step = &now,
                                 .real = s->discrete ? NULL : p->acts + step * acts,
                                 .index = s->discrete ? p->index : NULL};
    MW_TRY(policy->kind->act(policy, &call, error));
    for (size_t i = 0; s->discrete && i < n; i++) p->acts[step * n + i] = (float)p->index[i];
    memcpy(p->outputs + step * acts, mw_madt_outputs(policy, 0), acts * sizeof *p->outputs);
    policy->kind->reward(policy, 0, p->reward[step]);
    return MW_OK;
}

static mw_status play_all(mw_baseline_check *k, play *p, mw_error *error) {
    const mw_model_shape *s = &k->model->shape;
    const size_t steps = p->steps->count, n = (size_t)s->agents, acts = n * (size_t)s->act;
    mw_policy *policy = NULL;
    const mw_policy_context context = {.model = k->model, .envs = 1, .pool = k->pool};
    MW_TRY(k->model->kind->policy->create(&policy, &context, error));
    mw_status status = MW_OK;
    for (size_t step = 0; step < steps && status == MW_OK; step++) status = decide(k, p, policy, step, error);
    mw_policy_free(policy);
    MW_TRY(status);
    MW_TRY(mw_baseline_compare(k, "act_outputs", p->outputs, steps * acts, error));
    return mw_baseline_compare(k, "act", p->acts, steps * (s->discrete ? n : acts), error);
}

mw_status mw_baseline_madt(mw_baseline_check *k, mw_error *error) {
    play p = {0};
    char target[64];
    const float *wanted = mw_record_floats(k->record, "in.act_return", 1, error);
    if (!wanted) return MW_ERR_FORMAT;
    snprintf(target, sizeof target, "target=%.9g", (double)*wanted);
    MW_TRY(mw_fields_assign(k->model->kind->fields, &k->model->config, target, "", error));
    if (!k->model->values) MW_TRY(mw_model_allocate(k->model, error));
    memcpy(k->model->values, k->part->optimizer->values, k->part->total * sizeof *k->model->values);
    mw_model_pack(k->model);
    mw_status status = read_play(k, &p, error);
    if (status == MW_OK) status = play_all(k, &p, error);
    void *owned[] = {p.outputs, p.acts, p.allowed, p.index};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    return status;
}
