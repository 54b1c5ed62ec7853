/* What a planner remembers of an episode, as bytes and back: so that play can go on from an earlier step, or
 * with other settings. Bytes come from outside and are checked like files. */
#include "plan/planner_state.h"

#include <math.h>
#include <string.h>

typedef struct {
    char magic[8];
    uint64_t episode, step;
    float target;
    int32_t context, joint, rest; /* sizes of what follows: history[context][joint], rest[rest] */
    int32_t warm;
} head;

static size_t joint_of(const mw_planner *p) {
    return (size_t)(p->bundle->info.agents * p->bundle->info.obs);
}

static size_t rest_of(const mw_planner *p) {
    return p->plan->warm_start
               ? (size_t)((p->plan->horizon - 1) * p->bundle->info.agents * p->bundle->info.act)
               : 0;
}

static size_t history_of(const mw_planner *p) {
    return (size_t)p->flow_net->config.context * joint_of(p);
}

size_t mw_planner_snapshot_size(const mw_planner *p) {
    return sizeof(head) + (history_of(p) + rest_of(p)) * sizeof(float);
}

void mw_planner_snapshot(const mw_planner *p, int env, void *buffer) {
    if (env < 0 || env >= p->options.envs) return;
    const env_state *state = &p->states[env];
    const size_t history = history_of(p), rest = rest_of(p);
    unsigned char *out = buffer;
    head h;
    memset(&h, 0, sizeof h);
    memcpy(h.magic, "mawampln", sizeof h.magic);
    h.episode = state->episode;
    h.step = state->step;
    h.target = state->target;
    h.context = p->flow_net->config.context;
    h.joint = (int32_t)joint_of(p);
    h.rest = (int32_t)rest;
    h.warm = state->warm;
    memcpy(out, &h, sizeof h);
    memcpy(out + sizeof h, p->history + (size_t)env * history, history * sizeof *p->history);
    unsigned char *left = out + sizeof h + history * sizeof *p->history;
    if (rest && state->warm)
        memcpy(left, p->rest + (size_t)env * rest, rest * sizeof *p->rest);
    else
        memset(left, 0, rest * sizeof *p->rest); /* same memory, same bytes */
}

static mw_status check(const mw_planner *p, const head *h, const unsigned char *values, size_t size,
                       mw_error *error) {
    if (memcmp(h->magic, "mawampln", sizeof h->magic))
        return mw_fail(error, MW_ERR_FORMAT, "this is not a planner's snapshot");
    if (h->context != p->flow_net->config.context || h->joint != (int32_t)joint_of(p))
        return mw_fail(error, MW_ERR_MISMATCH,
                       "the snapshot remembers %d joint observations of %d values, this planner %d of %zu",
                       (int)h->context, (int)h->joint, p->flow_net->config.context, joint_of(p));
    const size_t expected = history_of(p) + (size_t)(h->rest > 0 ? h->rest : 0);
    if (h->rest < 0 || size != sizeof *h + expected * sizeof(float))
        return mw_fail(error, MW_ERR_FORMAT, "the snapshot has %zu bytes, its sizes ask for %zu", size,
                       sizeof *h + expected * sizeof(float));
    if (!(fabsf(h->target) <= MW_PLAN_TARGET) || (h->warm != 0 && h->warm != 1))
        return mw_fail(error, MW_ERR_FORMAT, "the snapshot's target or flag is out of range");
    for (size_t i = 0; i < expected; i++) {
        float value;
        memcpy(&value, values + i * sizeof value, sizeof value);
        const bool action = i >= history_of(p); /* of what is left of a plan */
        if (!isfinite(value) || (action && fabsf(value) > 1))
            return mw_fail(error, MW_ERR_FORMAT, "the snapshot's value %zu is out of range", i);
    }
    return MW_OK;
}

mw_status mw_planner_restore(mw_planner *p, int env, const void *buffer, size_t size, mw_error *error) {
    MW_NEED(p);
    MW_NEED(buffer);
    head h;
    const unsigned char *values = (const unsigned char *)buffer + sizeof h;
    const size_t history = history_of(p), rest = rest_of(p);
    if (env < 0 || env >= p->options.envs)
        return mw_fail(error, MW_ERR_ARGUMENT, "env is %d; it must be 0 to %d", env, p->options.envs - 1);
    if (size < sizeof h)
        return mw_fail(error, MW_ERR_FORMAT, "the snapshot has %zu bytes, expected at least %zu", size,
                       sizeof h);
    memcpy(&h, buffer, sizeof h);
    MW_TRY(check(p, &h, values, size, error));
    const bool warm = h.warm && rest && (size_t)h.rest == rest;
    p->states[env] = (env_state){.episode = h.episode, .step = h.step, .target = h.target, .warm = warm};
    p->slot_of[env] = -1;
    memcpy(p->history + (size_t)env * history, values, history * sizeof *p->history);
    if (warm)
        memcpy(p->rest + (size_t)env * rest, values + history * sizeof *p->history, rest * sizeof *p->rest);
    return MW_OK;
}
