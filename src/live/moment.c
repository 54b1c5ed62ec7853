/* One step of a duel as it is kept: snapshots to go back to, and the decision for pictures. */
#include "live/moment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Cuts the block in pieces; with block NULL it only counts. */
typedef struct {
    unsigned char *block;
    size_t used;
} cutter;

static void *cut(cutter *c, size_t count, size_t size) {
    void *piece = c->block && count ? c->block + c->used : NULL;
    c->used += (count * size + 15) & ~(size_t)15;
    return piece;
}

/* What every moment has, first; then the decision's arrays, whose sizes stand in the moment. */
static void divide(mw_duel_moment *m, cutter *c, const mw_duel *duel, bool decided) {
    const size_t n = (size_t)duel->world->agents, joint = n * (size_t)duel->world->obs_size;
    for (int s = 0; s < MW_DUEL_SIDES; s++) {
        m->world[s] = cut(c, mw_env_snapshot_size(duel->side[s].env), 1);
        m->memory[s] = cut(c, m->memory_size[s], 1);
        m->rewards[s] = cut(c, n, sizeof(float));
    }
    m->obs = cut(c, joint, sizeof(float));
    if (!decided) return;
    const size_t count = (size_t)m->candidates, h = (size_t)m->horizon, places = (size_t)m->places;
    m->scores = cut(c, count, sizeof(float));
    m->weights = cut(c, count, sizeof(float));
    m->imagined = cut(c, h * joint, sizeof(float));
    m->paths = cut(c, count * places * (h + 1) * 2, sizeof(float));
    m->labels = cut(c, duel->world->discrete ? count * MW_DUEL_LABEL : 0, 1);
    m->mass = cut(c, n * (size_t)duel->experts, sizeof(float));
}

mw_status mw_moment_create(mw_duel_moment **out, mw_duel *duel, mw_error *error) {
    mw_duel_moment sizes = {0};
    for (int s = 0; s < MW_DUEL_SIDES; s++)
        sizes.memory_size[s] = mw_planner_snapshot_size(duel->side[s].planner);
    cutter c = {NULL, (sizeof sizes + 15) & ~(size_t)15};
    divide(&sizes, &c, duel, false);
    mw_duel_moment *m = *out = calloc(1, c.used);
    if (!m) return mw_fail(error, MW_ERR_MEMORY, "cannot keep step %d", duel->step);
    *m = sizes;
    m->bytes = c.used;
    c = (cutter){(unsigned char *)m, (sizeof sizes + 15) & ~(size_t)15};
    divide(m, &c, duel, false);
    for (int s = 0; s < MW_DUEL_SIDES; s++) {
        mw_env_snapshot(duel->side[s].env, m->world[s]);
        mw_planner_snapshot(duel->side[s].planner, 0, m->memory[s]);
        memcpy(m->rewards[s], duel->side[s].rewards, (size_t)duel->world->agents * sizeof(float));
    }
    return MW_OK;
}

/* A joint action in words: "attack 2, stop, east". */
static void describe(char *label, const float *action, const mw_duel *duel) {
    const int n = duel->world->agents, d = duel->world->act_size;
    size_t used = 0;
    label[0] = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < d && used < MW_DUEL_LABEL; k++) {
            char name[64];
            if (!(action[i * d + k] > 0)) continue;
            mw_env_action_name(duel->side[0].env, k, name, sizeof name);
            used += (size_t)snprintf(label + used, MW_DUEL_LABEL - used, "%s%s", i ? ", " : "", name);
        }
}

/* The joint observation that a candidate expects h steps ahead: of the world model, or else of the policy
 * that drew it. */
static const float *ahead(const mw_candidates *seen, size_t joint, int candidate, int h) {
    const size_t row = (size_t)(candidate * seen->horizon + h);
    return seen->imagined && h > 0 ? seen->imagined + (row - 1) * joint
                                   : seen->proposed + (row + (size_t)candidate) * joint;
}

/* Where every candidate thinks that it leads. */
static void trace(mw_duel_moment *m, const mw_duel *duel, const mw_candidates *seen) {
    const mw_env *env = duel->side[MW_DUEL_PLANNED].env;
    const size_t joint = (size_t)(duel->world->agents * duel->world->obs_size),
                 length = (size_t)m->horizon + 1;
    for (int k = 0; k < m->candidates; k++)
        for (size_t h = 0; h < length; h++) {
            float places[MW_DUEL_PLACES][2];
            const float *obs = h ? ahead(seen, joint, k, (int)h) : m->obs;
            mw_env_places(env, obs, places, m->places);
            for (int i = 0; i < m->places; i++)
                memcpy(m->paths + ((size_t)(k * m->places + i) * length + h) * 2, places[i],
                       sizeof places[i]);
        }
}

mw_status mw_moment_fill(mw_duel_moment **moment, mw_duel *duel, bool decided, mw_error *error) {
    const mw_duel_side *side = &duel->side[MW_DUEL_PLANNED];
    const size_t joint = (size_t)(duel->world->agents * duel->world->obs_size),
                 act = (size_t)duel->world->act_size;
    mw_duel_moment *m = *moment;
    memcpy(m->obs, side->obs, joint * sizeof(float));
    if (!decided) return MW_OK;
    const mw_candidates seen = mw_planner_candidates(side->planner, 0);
    float places[MW_DUEL_PLACES][2];
    mw_duel_moment sizes = *m; /* the moment stays what it is until there is room */
    sizes.candidates = seen.count;
    sizes.horizon = seen.horizon;
    sizes.places = mw_env_places(side->env, side->obs, places, MW_DUEL_PLACES);
    cutter c = {NULL, (sizeof sizes + 15) & ~(size_t)15};
    divide(&sizes, &c, duel, true);
    mw_duel_moment *larger = realloc(m, c.used);
    if (!larger) return mw_fail(error, MW_ERR_MEMORY, "cannot keep %d candidates", seen.count);
    m = *moment = larger;
    m->bytes = c.used;
    m->candidates = sizes.candidates;
    m->horizon = sizes.horizon;
    m->places = sizes.places;
    c = (cutter){(unsigned char *)m, (sizeof sizes + 15) & ~(size_t)15};
    divide(m, &c, duel, true);
    memcpy(m->scores, seen.scores, (size_t)seen.count * sizeof(float));
    for (int k = 0; m->labels && k < seen.count; k++)
        describe(m->labels + k * MW_DUEL_LABEL,
                 seen.actions + (size_t)(k * seen.horizon * duel->world->agents) * act, duel);
    if (m->paths) trace(m, duel, &seen);
    mw_moment_choose(m, duel);
    return MW_OK;
}

void mw_moment_choose(mw_duel_moment *m, mw_duel *duel) {
    const mw_candidates seen = mw_planner_candidates(duel->side[MW_DUEL_PLANNED].planner, 0);
    const size_t joint = (size_t)(duel->world->agents * duel->world->obs_size),
                 first = (size_t)(seen.chosen * seen.horizon);
    m->chosen = seen.chosen;
    for (int k = 0; k < m->candidates; k++) m->weights[k] = seen.weights ? seen.weights[k] : 0;
    memcpy(m->imagined, ahead(&seen, joint, seen.chosen, 1), (size_t)seen.horizon * joint * sizeof(float));
    if (m->mass)
        mw_routes_look(duel->routes, m->obs,
                       seen.actions + first * (size_t)(duel->world->agents * duel->world->act_size), m->mass);
}
