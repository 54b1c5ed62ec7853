/* New candidates from scored ones: agents' parts of different futures put together. What is good for one
 * agent is rarely drawn together with what is good for the others, and a judge finds that cheaper than a
 * generator. */
#include "plan/planner_state.h"

#include "core/rng.h"
#include "plan/choice.h"

#include <string.h>

/* One agent's part of to[steps][n][size] from the same part of `from`. */
static void take_part(float *to, const float *from, int steps, int agents, int agent, size_t size) {
    for (int t = 0; t < steps; t++) {
        const size_t at = (size_t)(t * agents + agent) * size;
        memcpy(to + at, from + at, size * sizeof *to);
    }
}

/* The candidate at q becomes a mixture: every agent follows one of the parents[count] of its slot. */
static void mix(mw_planner *p, size_t first, size_t q, const int *parents, int count, mw_rng *rng) {
    const mw_bundle_info *i = &p->bundle->info;
    const int h = p->plan->horizon, n = i->agents;
    const size_t act = (size_t)i->act, obs = (size_t)i->obs, plan = (size_t)(h * n) * act,
                 path = (size_t)((h + 1) * n) * obs;
    for (int a = 0; a < n; a++) {
        const size_t parent = first + (size_t)parents[mw_rng_below(rng, (uint32_t)count)];
        take_part(p->actions + q * plan, p->actions + parent * plan, h, n, a, act);
        take_part(p->proposed + q * path, p->proposed + parent * path, h + 1, n, a, obs);
    }
}

void mw_planner_recombine(mw_planner *p, int round) {
    const int most = p->drawn;
    for (int s = 0; s < p->slot_count; s++) {
        const env_state *state = &p->states[p->slots[s]];
        const size_t first = (size_t)(s * most);
        const int parents = mw_choice_upper(p->upper, p->scores + first, most);
        if (parents < 2) continue;
        mw_rng rng =
            mw_rng_make(p->options.seed, MW_RNG_RECOMBINE, state->episode, state->step, (uint64_t)round);
        for (int m = 1, k = 0; m < most; m++) {
            while (k < parents && p->upper[k] < m) k++;
            if (k == parents || p->upper[k] != m) mix(p, first, first + (size_t)m, p->upper, parents, &rng);
        }
    }
}
