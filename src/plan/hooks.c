/* A judge and a proposer of the caller's own in place of the bundle's; see mw_planner_options. A decision
 * without them passes none of this. */
#include "plan/planner_state.h"

#include "core/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static mw_plan_call call_of(const mw_planner *p) {
    const mw_bundle_info *i = &p->bundle->info;
    return (mw_plan_call){.count = p->slot_count * p->drawn,
                          .horizon = p->plan->horizon,
                          .group = p->drawn,
                          .agents = i->agents,
                          .obs_size = i->obs,
                          .act_size = i->act,
                          .envs = p->slots,
                          .obs = p->start,
                          .actions = p->actions};
}

/* A hook that says why it failed has filled the error; one that does not is still told apart. */
static mw_status failed(mw_status status, const char *who, mw_error *error) {
    if (error && !error->message[0]) return mw_fail(error, status, "the %s that was given has failed", who);
    return status;
}

/* ---- the proposer ---- */

mw_status mw_planner_ask(mw_planner *p, mw_error *error) {
    mw_plan_call call = call_of(p);
    const size_t joint = (size_t)(call.agents * call.act_size);
    if (!call.count) return MW_OK;
    for (int q = 0; q < call.count; q++) {
        const env_state *state = &p->states[p->slots[q / call.group]];
        mw_rng rng = mw_rng_make(p->options.seed, MW_RNG_POLICY, state->episode, state->step,
                                 (uint64_t)(q % call.group));
        p->keys[q] = mw_rng_u64(&rng);
    }
    for (int s = 0; p->legal && s < p->slot_count; s++)
        memcpy(p->slot_legal + (size_t)s * joint, p->legal + (size_t)p->slots[s] * joint, joint);
    call.keys = p->keys;
    call.legal = p->legal ? p->slot_legal : NULL;
    if (p->bundle->info.discrete) call.actions = p->preferences;
    memset(call.actions, 0, (size_t)(call.count * call.horizon) * joint * sizeof *call.actions);
    if (error) error->message[0] = 0;
    const mw_status status = p->options.propose(p->options.propose_context, &call, error);
    return status == MW_OK ? MW_OK : failed(status, "proposer", error);
}

/* ---- the judge ---- */

typedef struct {
    mw_scorer base;
    const mw_planner *planner;
} own_scorer;

static mw_status own_score(mw_scorer *base, const mw_scoring *asked, mw_error *error) {
    const mw_planner *p = ((own_scorer *)base)->planner;
    const mw_plan_call call = call_of(p);
    if (!asked->count) return MW_OK;
    if (error) error->message[0] = 0;
    const mw_status status = p->options.score(p->options.score_context, &call, asked->scores, error);
    if (status != MW_OK) return failed(status, "judge", error);
    for (int q = 0; q < asked->count; q++)
        if (!isfinite(asked->scores[q]))
            return mw_fail(error, MW_ERR_NUMERIC,
                           "the judge's score of candidate %d in environment %d is not finite",
                           q % call.group, call.envs[q / call.group]);
    return MW_OK;
}

static size_t own_bytes(const mw_scorer *base) {
    (void)base;
    return sizeof(own_scorer);
}

static void own_destroy(mw_scorer *base) {
    free(base);
}

static const mw_scorer_class own_class = {
    .name = "own",
    .help = "a judge of the caller's own",
    .score = own_score,
    .bytes = own_bytes,
    .destroy = own_destroy,
};

mw_status mw_own_scorer_create(mw_scorer **scorer, const mw_planner *planner, mw_error *error) {
    own_scorer *own = malloc(sizeof *own);
    *scorer = NULL;
    if (!own) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a scorer");
    *own = (own_scorer){.base = {&own_class}, .planner = planner};
    *scorer = &own->base;
    return MW_OK;
}
