/* Scripted policies of the battles, for a scale: stand, attack the nearest, focus fire, ambush. They read the
 * true state. */
#include "env/smac/battle.h"

#include "core/math.h"

#include <math.h>
#include <stdlib.h>

static void still(const mw_env *env, mw_rng *rng, float *real, int32_t *index) {
    const mw_battle_model *model = env->model;
    const mw_battle_state *state = env->state;
    (void)rng, (void)real;
    for (int i = 0; i < model->allies; i++) index[i] = mw_units_hold(state->alive, i);
}

/* Along the longer axis of the way if that is legal, else along the other, else stop. */
static int32_t toward(double dx, double dy, const uint8_t *legal) {
    int32_t across = dx > 0 ? 4 : 5, along = dy > 0 ? 2 : 3;
    int32_t first = fabs(dx) > fabs(dy) ? across : along, second = first == across ? along : across;
    return legal[first] ? first : legal[second] ? second : 1;
}

static double distance(const mw_battle_state *state, int a, int b) {
    return mw_length((double)state->x[b] - state->x[a], (double)state->y[b] - state->y[a]);
}

/* Ties go to the lower id. */
static int nearest_of(const mw_battle_state *state, int unit, mw_units others) {
    int nearest = -1;
    for (; others; others = mw_units_rest(others)) {
        int other = mw_units_first(others);
        if (nearest < 0 || distance(state, unit, other) < distance(state, unit, nearest)) nearest = other;
    }
    return nearest;
}

/* Attack this enemy (a unit id) if that is legal, else go there. */
static int32_t attack_or_approach(const mw_battle_model *model, const mw_battle_state *state, int unit,
                                  int enemy, const uint8_t *legal) {
    int32_t attack = MW_BATTLE_MOVES + enemy - model->allies;
    if (legal[attack]) return attack;
    return toward((double)state->x[enemy] - state->x[unit], (double)state->y[enemy] - state->y[unit], legal);
}

static void nearest(const mw_env *env, mw_rng *rng, float *real, int32_t *index) {
    const mw_battle_model *model = env->model;
    const mw_battle_state *state = env->state;
    uint8_t legal[MW_BATTLE_LEGAL];
    (void)rng, (void)real;
    mw_battle_legal(model, state, legal);
    for (int i = 0; i < model->allies; i++) {
        int enemy = nearest_of(state, i, mw_battle_living_enemies(model, state));
        const uint8_t *mask = legal + i * model->actions;
        index[i] = mask[0] ? 0 : enemy < 0 ? 1 : attack_or_approach(model, state, i, enemy, mask);
    }
}

static void focus(const mw_env *env, mw_rng *rng, float *real, int32_t *index) {
    const mw_battle_model *model = env->model;
    const mw_battle_state *state = env->state;
    uint8_t legal[MW_BATTLE_LEGAL];
    int weakest = -1;
    (void)rng, (void)real;
    mw_battle_legal(model, state, legal);
    for (int j = model->allies; j < model->units; j++)
        if (mw_units_hold(state->alive, j) &&
            (weakest < 0 ||
             state->health[j] + state->shield[j] < state->health[weakest] + state->shield[weakest]))
            weakest = j;
    for (int i = 0; i < model->allies; i++) {
        const uint8_t *mask = legal + i * model->actions;
        index[i] = mask[0] ? 0 : weakest < 0 ? 1 : attack_or_approach(model, state, i, weakest, mask);
    }
}

/* ---- ambush ----
 * An enemy answers only allies within 5 + radius of it or attacking it, while shots may be ordered from 6
 * away. So the team steps out of the enemies' way, waits until they stand at their goal, and picks them off
 * one by one from places that no other enemy sees. */

typedef struct {
    const mw_battle_model *model;
    const mw_battle_state *state;
    int victim;       /* unit id */
    mw_units engaged; /* enemies that have a target */
    mw_units quiet;   /* living enemies without one, except the victim */
} ambush_plan;

/* How deep a place is inside the view of quiet enemies, with a little margin; 0: unseen. */
static double exposure(const ambush_plan *plan, int unit, double x, double y) {
    double range = MW_BATTLE_SCAN + plan->model->radius[unit] + 0.1, sum = 0;
    for (mw_units left = plan->quiet; left; left = mw_units_rest(left)) {
        int enemy = mw_units_first(left);
        sum += fmax(0, range - mw_length(plan->state->x[enemy] - x, plan->state->y[enemy] - y));
    }
    return sum;
}

/* Engaged enemies first, those that are weak and near; otherwise the quiet one nearest to any ally. */
static int choose_victim(const mw_battle_model *model, const mw_battle_state *state, mw_units engaged) {
    int victim = -1;
    double best = INFINITY;
    mw_units enemies = engaged ? engaged : mw_battle_living_enemies(model, state);
    for (; enemies; enemies = mw_units_rest(enemies)) {
        int enemy = mw_units_first(enemies);
        double value = INFINITY;
        for (mw_units left = mw_battle_living_allies(model, state); left; left = mw_units_rest(left))
            value = fmin(value, distance(state, mw_units_first(left), enemy));
        if (engaged) value = state->health[enemy] + state->shield[enemy] + 20 * value;
        if (value < best) {
            best = value;
            victim = enemy;
        }
    }
    return victim;
}

static double away_from_victim(const ambush_plan *plan, double x, double y) {
    return mw_length(plan->state->x[plan->victim] - x, plan->state->y[plan->victim] - y);
}

/* Moves lead along a lattice of strides: looks for the nearest point of it that is in shooting distance of
 * the victim and unseen by the others, and makes the safer first move of the way there. */
static int32_t stalk(const ambush_plan *plan, int unit, const uint8_t *legal) {
    enum { FAR = 4 };
    double x = plan->state->x[unit], y = plan->state->y[unit], stride = plan->model->speed[unit] / 2;
    double best = INFINITY;
    int east = 0, north = 0;
    for (int i = -FAR; i <= FAR; i++)
        for (int j = -FAR; j <= FAR; j++) {
            double to_x = x + i * stride, to_y = y + j * stride;
            if (to_x < 0 || to_x > MW_BATTLE_WIDTH || to_y < MW_BATTLE_SOUTH || to_y > MW_BATTLE_NORTH)
                continue;
            double late = fmax(0, away_from_victim(plan, to_x, to_y) - (MW_BATTLE_SHOOT - 0.05));
            double cost = abs(i) + abs(j) + 10 * late + 100 * exposure(plan, unit, to_x, to_y);
            if (cost < best) {
                best = cost;
                east = i;
                north = j;
            }
        }
    int32_t along = north > 0 ? 2 : 3, across = east > 0 ? 4 : 5;
    double seen_along = exposure(plan, unit, x, y + (north > 0 ? stride : -stride));
    double seen_across = exposure(plan, unit, x + (east > 0 ? stride : -stride), y);
    bool can_along = north && legal[along], can_across = east && legal[across];
    if (can_along && (!can_across || seen_along <= seen_across)) return along;
    return can_across ? across : 1;
}

/* Melee units fall upon what the shooters have drawn out, and upon everybody once the team is superior or has
 * no shooters left. */
static int32_t ambush_melee(const ambush_plan *plan, int unit, const uint8_t *legal) {
    const mw_battle_model *model = plan->model;
    const mw_battle_state *state = plan->state;
    mw_units allies = mw_battle_living_allies(model, state), enemies = mw_battle_living_enemies(model, state);
    bool shooters = false;
    for (mw_units left = allies; left; left = mw_units_rest(left))
        shooters |= model->type[mw_units_first(left)]->range >= 1;
    bool storm = !shooters || __builtin_popcountll(allies) > __builtin_popcountll(enemies);
    int enemy = nearest_of(state, unit, storm ? enemies : plan->engaged);
    if (enemy >= 0 && (storm || legal[MW_BATTLE_MOVES + enemy - model->allies]))
        return attack_or_approach(model, state, unit, enemy, legal);
    return exposure(plan, unit, state->x[unit], state->y[unit]) > 0 ? stalk(plan, unit, legal) : 1;
}

static int32_t ambush_one(const ambush_plan *plan, int unit, const uint8_t *legal) {
    const mw_battle_state *state = plan->state;
    int32_t attack = MW_BATTLE_MOVES + plan->victim - plan->model->allies;
    if (plan->model->type[unit]->range < 1) return ambush_melee(plan, unit, legal);
    bool unseen = exposure(plan, unit, state->x[unit], state->y[unit]) == 0;
    return legal[attack] && unseen ? attack : stalk(plan, unit, legal);
}

static void ambush(const mw_env *env, mw_rng *rng, float *real, int32_t *index) {
    const mw_battle_model *model = env->model;
    const mw_battle_state *state = env->state;
    uint8_t legal[MW_BATTLE_LEGAL];
    mw_units engaged = 0;
    bool settled = true;
    (void)rng, (void)real;
    mw_battle_legal(model, state, legal);
    for (mw_units left = mw_battle_living_enemies(model, state); left; left = mw_units_rest(left)) {
        int enemy = mw_units_first(left);
        if (state->target[enemy] >= 0) engaged |= mw_units_of(enemy);
        settled &= mw_length(state->x[enemy] - MW_BATTLE_GOAL_X, state->y[enemy] - MW_BATTLE_GOAL_Y) < 2.5;
    }
    ambush_plan plan = {model, state, choose_victim(model, state, engaged), engaged, 0};
    plan.quiet =
        mw_battle_living_enemies(model, state) & ~engaged & ~mw_units_of(plan.victim < 0 ? 0 : plan.victim);
    for (int i = 0; i < model->allies; i++) {
        const uint8_t *mask = legal + i * model->actions;
        if (mask[0])
            index[i] = 0;
        else if (engaged || settled)
            index[i] = plan.victim < 0 ? 1 : ambush_one(&plan, i, mask);
        else
            index[i] = mask[2] ? 2 : 1;
    }
}

const mw_script mw_battle_scripts[] = {
    {"still", "stop", still},
    {"nearest", "attack the nearest enemy, or walk to it", nearest},
    {"focus", "all attack the weakest enemy, or walk to it", focus},
    {"ambush", "step aside, then attack one enemy at a time, unseen by the others", ambush},
    {NULL, NULL, NULL},
};
