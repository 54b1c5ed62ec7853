/* Variants in place of candidates with equal joint first actions; see distinct.h. Variants are taken from an
 * order that is never written down: the next one is looked for among all, which needs no memory and is cheap
 * beside drawing a candidate. */
#include "plan/distinct.h"

#include "plan/planner_state.h"

#include <math.h>
#include <string.h>

/* One or two agents that take their second-best actions. */
typedef struct {
    int a, b; /* b -1: one alone */
    float cost;
} variant;

static bool precedes(const variant *x, const variant *y) {
    if ((x->b < 0) != (y->b < 0)) return x->b < 0;
    if (x->cost != y->cost) return x->cost < y->cost;
    return x->a != y->a ? x->a < y->a : x->b < y->b;
}

/* From a variant to the one that follows it; a -1: to the first. False: it was the last. */
static bool next(variant *at, const int *second, const float *gap, int agents) {
    variant best = {-1, -1, 0};
    for (int a = 0; a < agents; a++)
        for (int b = a; b < agents; b++) {
            if (second[a] < 0 || second[b] < 0) continue;
            const variant v = {a, b > a ? b : -1, b > a ? gap[a] + gap[b] : gap[a]};
            if ((at->a < 0 || precedes(at, &v)) && (best.a < 0 || precedes(&v, &best))) best = v;
        }
    *at = best;
    return best.a >= 0;
}

/* Does one of the first `count` candidates but m do what m does? */
static bool taken(const mw_first_actions *f, int m, int count) {
    const size_t n = (size_t)f->agents;
    for (int k = 0; k < count; k++)
        if (k != m && !memcmp(f->action + (size_t)k * n, f->action + (size_t)m * n, n * sizeof *f->action))
            return true;
    return false;
}

static void replace(const mw_first_actions *f, int m) {
    const size_t at = (size_t)m * (size_t)f->agents;
    int *action = f->action + at;
    const int *second = f->second + at;
    variant v = {-1, -1, 0};
    while (next(&v, second, f->gap + at, f->agents)) {
        const int a = action[v.a], b = v.b < 0 ? 0 : action[v.b];
        action[v.a] = second[v.a];
        if (v.b >= 0) action[v.b] = second[v.b];
        if (!taken(f, m, f->candidates)) return;
        action[v.a] = a;
        if (v.b >= 0) action[v.b] = b;
    }
}

void mw_distinct(const mw_first_actions *f) {
    for (int m = 1; m < f->candidates; m++)
        if (taken(f, m, m)) replace(f, m);
}

/* ---- in the planner ---- */

void mw_planner_note_first(mw_planner *p, size_t at, const float *logits, const uint8_t *legal, int best) {
    const int d = p->bundle->info.act;
    int second = -1;
    for (int k = 0; k < d; k++)
        if (k != best && (!legal || legal[k]) && (second < 0 || logits[k] > logits[second])) second = k;
    const float gap = second < 0 ? 0 : logits[best] - logits[second];
    p->first_action[at] = best;
    p->second_action[at] = isfinite(gap) ? second : -1;
    p->gap[at] = gap;
}

void mw_planner_distinguish(mw_planner *p, int slot) {
    const int n = p->bundle->info.agents, d = p->bundle->info.act, most = p->drawn;
    const size_t first = (size_t)(slot * most), plan = (size_t)(p->plan->horizon * n * d);
    int *action = p->first_action + first * (size_t)n;
    mw_distinct(&(mw_first_actions){most, n, action, p->second_action + first * (size_t)n,
                                    p->gap + first * (size_t)n});
    for (int m = 0; m < most; m++)
        for (int k = 0; k < n * d; k++)
            p->actions[(first + (size_t)m) * plan + (size_t)k] = action[m * n + k / d] == k % d;
}
