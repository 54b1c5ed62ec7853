/* A whole decision, within its deadline if there is one: candidates, scores, choice; see mawam/plan.h. */
#include "plan/planner_state.h"

#include "core/clock.h"

#include <math.h>
#include <stdlib.h>

static double now(const mw_planner *p) {
    return p->options.clock ? p->options.clock(p->options.clock_context) : mw_clock_seconds();
}

/* Without scores the first candidate is executed: what the policy alone would do. */
static void prefer_first(mw_planner *p) {
    for (int q = 0; q < p->slot_count * p->drawn; q++) p->scores[q] = q % p->drawn ? -INFINITY : 0;
}

/* A decision with the candidates of one level and so many sampling steps. */
static mw_status act_within(mw_planner *p, int level, int steps, double started, const float *obs,
                            const uint8_t *legal, const uint8_t *active, float *real, int32_t *index,
                            mw_error *error) {
    mw_deadline *d = &p->deadline;
    const int before = p->drawn;
    p->drawn = d->level[level].candidates;
    p->sampling.steps = steps;
    const mw_status status = mw_planner_propose(p, obs, legal, active, error);
    if (status != MW_OK) p->drawn = before; /* of the last decision, which can still be asked for */
    MW_TRY(status);
    const double drawn = now(p);
    const bool scored =
        p->scorer && p->drawn > 1 && mw_deadline_allows(d, level, p->slot_count, drawn - started);
    if (scored)
        MW_TRY(mw_planner_score(p, error));
    else
        prefer_first(p);
    mw_planner_choose(p, real, index);
    const double ended = now(p);
    if (p->slot_count > 0)
        mw_deadline_learn(d, level, p->slot_count, steps, drawn - started, scored ? ended - drawn : -1);
    p->effort = (mw_effort){p->drawn, steps, scored, 1e3 * (ended - started)};
    return MW_OK;
}

enum { TRIES = 4 }; /* that count: one alone may meet a stall of the system */

/* Every level once without counting it, because it meets cold caches, and then a few times. */
mw_status mw_planner_measure(mw_planner *p, mw_error *error) {
    const mw_bundle_info *i = &p->bundle->info;
    const size_t envs = (size_t)p->options.envs, n = (size_t)i->agents;
    float *obs = calloc(envs * n * (size_t)i->obs, sizeof *obs);
    float *real = calloc(envs * n * (size_t)i->act, sizeof *real);
    int32_t *index = calloc(envs * n, sizeof *index);
    mw_status status =
        obs && real && index ? MW_OK : mw_fail(error, MW_ERR_MEMORY, "cannot measure a decision");
    for (int round = 0; round <= TRIES; round++) {
        if (round < 2) mw_deadline_init(&p->deadline, INFINITY, mw_planner_room(p), p->plan->sampling_steps);
        for (int level = 0; level < p->deadline.count && status == MW_OK; level++)
            status = act_within(p, level, p->deadline.steps, now(p), obs, NULL, NULL, real, index, error);
    }
    mw_deadline_settle(&p->deadline);
    p->deadline.limit = 1e-3 * p->options.deadline;
    for (int env = 0; env < p->options.envs; env++) mw_planner_begin(p, env, (uint64_t)env, NULL);
    free(obs);
    free(real);
    free(index);
    return status;
}

mw_status mw_planner_act(mw_planner *p, const float *obs, const uint8_t *legal, const uint8_t *active,
                         float *real, int32_t *index, mw_error *error) {
    MW_NEED_AS(p, "planner");
    MW_NEED(obs);
    if (p->bundle->info.discrete ? !index : !real)
        return mw_fail(error, MW_ERR_ARGUMENT, "%s takes %s actions, and no room for them was given",
                       p->bundle->info.task, p->bundle->info.discrete ? "discrete" : "real");
    const double started = now(p);
    if (p->deadline.limit > 0) {
        int envs = 0, steps;
        for (int env = 0; env < p->options.envs; env++) envs += !active || active[env];
        const int level = mw_deadline_choose(&p->deadline, envs > 0 ? envs : 1, &steps);
        return act_within(p, level, steps, started, obs, legal, active, real, index, error);
    }
    MW_TRY(mw_planner_propose(p, obs, legal, active, error));
    MW_TRY(mw_planner_score(p, error));
    mw_planner_choose(p, real, index);
    p->effort = (mw_effort){p->drawn, p->sampling.steps, p->scorer && p->drawn > 1, 1e3 * (now(p) - started)};
    return MW_OK;
}

mw_effort mw_planner_effort(const mw_planner *p) {
    return p->effort;
}
