/* What the agents see and may do: SMAC's observation, legality mask and global state, their names, and the
 * picture. As in the reference, distances are double and differences single precision. */
#include "env/smac/battle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- legality ---- */

static bool walkable(double x, double y) {
    return x >= 0 && x < MW_BATTLE_WIDTH && y >= MW_BATTLE_SOUTH && y < MW_BATTLE_NORTH;
}

/* north, south, east, west: the point one cell ahead must be walkable, whatever the unit's speed. */
static void legal_moves(const mw_battle_state *state, int unit, uint8_t move[4]) {
    double x = state->x[unit], y = state->y[unit];
    move[0] = walkable(x, y + 1);
    move[1] = walkable(x, y - 1);
    move[2] = walkable(x + 1, y);
    move[3] = walkable(x - 1, y);
}

void mw_battle_legal(const mw_battle_model *model, const mw_battle_state *state, uint8_t *legal) {
    int n = model->allies, actions = model->actions;
    for (int i = 0; i < n; i++) {
        uint8_t *mask = legal + i * actions;
        bool alive = mw_units_hold(state->alive, i);
        mask[0] = !alive;
        mask[1] = alive;
        if (!alive) {
            memset(mask + 2, 0, (size_t)(actions - 2));
            continue;
        }
        legal_moves(state, i, mask + 2);
        for (int j = 0; j < model->enemies; j++)
            mask[MW_BATTLE_MOVES + j] =
                mw_units_hold(state->alive, n + j) &&
                mw_battle_square(state, i, n + j) <= (float)(MW_BATTLE_SHOOT * MW_BATTLE_SHOOT);
    }
}

/* ---- observation ---- */

/* Of every unit, what others see of it besides the place: fractions and the type one-hot. */
typedef struct {
    float health[MW_BATTLE_UNITS], shield[MW_BATTLE_UNITS];
    float type[MW_BATTLE_UNITS][2];
} looks;

static float fraction(float part, float whole) {
    return whole > 0 ? (float)((double)part / whole) : 0;
}

static void look_at_all(const mw_battle_model *model, const mw_battle_state *state, looks *seen) {
    for (int i = 0; i < model->units; i++) seen->health[i] = fraction(state->health[i], model->max_health[i]);
    if (!model->map->mixed) return;
    for (int i = 0; i < model->units; i++) {
        seen->shield[i] = fraction(state->shield[i], model->max_shield[i]);
        seen->type[i][0] = model->type[i] == &mw_unit_types[0];
        seen->type[i][1] = model->type[i] == &mw_unit_types[1];
    }
}

static float *put_body(const mw_battle_model *model, const looks *seen, int unit, float *out) {
    *out++ = seen->health[unit];
    if (!model->map->mixed) return out;
    *out++ = seen->shield[unit];
    *out++ = seen->type[unit][0];
    *out++ = seen->type[unit][1];
    return out;
}

static void observe_one(const mw_battle_model *model, const mw_battle_state *state, const looks *seen,
                        int unit, float *out) {
    double distance[MW_BATTLE_UNITS];
    float away[MW_BATTLE_UNITS], east[MW_BATTLE_UNITS], north[MW_BATTLE_UNITS];
    uint8_t move[4];
    for (int first = 0; first < model->lanes; first += 8)
        for (int i = first; i < first + 8; i++) {
            double dx = (double)state->x[i] - state->x[unit], dy = (double)state->y[i] - state->y[unit];
            distance[i] = sqrt(dx * dx + dy * dy);
            away[i] = (float)(distance[i] / MW_BATTLE_SIGHT);
            east[i] = (float)dx / (float)MW_BATTLE_SIGHT;
            north[i] = (float)dy / (float)MW_BATTLE_SIGHT;
        }
    legal_moves(state, unit, move);
    for (int i = 0; i < 4; i++) *out++ = move[i];
    for (int turn = 0; turn < model->units; turn++) { /* enemies first, then the other allies */
        int other = turn < model->enemies ? model->allies + turn : turn - model->enemies;
        if (other == unit) continue;
        if (!mw_units_hold(state->alive, other) || distance[other] > MW_BATTLE_SIGHT) {
            for (int i = 0; i < model->block; i++) *out++ = 0;
            continue;
        }
        *out++ = other < model->allies || distance[other] <= MW_BATTLE_SHOOT;
        *out++ = away[other];
        *out++ = east[other];
        *out++ = north[other];
        out = put_body(model, seen, other, out);
    }
    put_body(model, seen, unit, out);
}

void mw_battle_observe(const mw_battle_model *model, const mw_battle_state *state, float *obs) {
    looks seen;
    look_at_all(model, state, &seen);
    for (int i = 0; i < model->allies; i++) {
        float *row = obs + i * model->obs_size;
        for (int j = 0; j < model->allies; j++) row[j] = j == i;
        if (mw_units_hold(state->alive, i))
            observe_one(model, state, &seen, i, row + model->allies);
        else
            memset(row + model->allies, 0, sizeof *row * (size_t)(model->obs_size - model->allies));
    }
}

/* ---- global state ---- */

void mw_battle_global(const mw_battle_model *model, const mw_battle_state *state, float *out) {
    looks seen;
    look_at_all(model, state, &seen);
    memset(out, 0, sizeof *out * (size_t)model->state_size);
    for (int i = 0; i < model->units; i++) {
        bool ally = i < model->allies;
        float *block = out;
        out += model->block - (ally ? 1 : 2);
        if (!mw_units_hold(state->alive, i)) continue;
        *block++ = seen.health[i];
        if (ally) *block++ = (float)(mw_battle_cooldown(model, state, i) / model->type[i]->cooldown);
        *block++ = (float)(((double)state->x[i] - MW_BATTLE_WIDTH / 2) / MW_BATTLE_WIDTH);
        *block++ = (float)(((double)state->y[i] - MW_BATTLE_WIDTH / 2) / MW_BATTLE_WIDTH);
        if (!model->map->mixed) continue;
        *block++ = seen.shield[i];
        *block++ = seen.type[i][0];
        *block++ = seen.type[i][1];
    }
    for (int i = 0; i < model->allies; i++, out += model->actions)
        if (state->action[i] >= 0) out[state->action[i]] = 1;
}

/* ---- names and picture ---- */

static void name_unit_feature(int part, const char *who, mw_feature *feature) {
    static const struct {
        const char *name, *unit;
        double low;
    } parts[8] = {{"", "", 0},
                  {"distance", "sight", 0},
                  {"dx", "sight", -1},
                  {"dy", "sight", -1},
                  {"health", "maximum", 0},
                  {"shield", "maximum", 0},
                  {"is stalker", "0 or 1", 0},
                  {"is zealot", "0 or 1", 0}};
    snprintf(feature->name, sizeof feature->name, "%s %s", who, parts[part].name);
    feature->unit = parts[part].unit;
    feature->low = parts[part].low;
    feature->high = 1;
}

void mw_battle_feature(const mw_battle_model *model, int index, mw_feature *feature) {
    static const char *const moves[4] = {"can move north", "can move south", "can move east",
                                         "can move west"};
    char who[32];
    int at = index - model->allies - 4, enemies = model->enemies * model->block;
    int others = (model->units - 1) * model->block;
    feature->unit = "0 or 1";
    feature->low = 0;
    feature->high = 1;
    if (index < model->allies) {
        snprintf(feature->name, sizeof feature->name, "is agent %d", index);
    } else if (at < 0) {
        snprintf(feature->name, sizeof feature->name, "%s", moves[at + 4]);
    } else if (at < others) {
        bool enemy = at < enemies;
        snprintf(who, sizeof who, enemy ? "enemy %d" : "ally slot %d",
                 (enemy ? at : at - enemies) / model->block);
        if (at % model->block) {
            name_unit_feature(at % model->block, who, feature);
        } else {
            snprintf(feature->name, sizeof feature->name, "%s %s", who, enemy ? "attackable" : "visible");
        }
    } else {
        name_unit_feature(4 + at - others, "own", feature);
    }
}

int mw_battle_draw(const mw_battle_model *model, const mw_battle_state *state, mw_shape *shapes,
                   int capacity) {
    const float width = (float)MW_BATTLE_WIDTH, south = (float)MW_BATTLE_SOUTH,
                north = (float)MW_BATTLE_NORTH;
    int count = 0;
    mw_shape wall = {.kind = MW_SHAPE_RECT, .role = "wall", .id = -1, .health = -1, .shield = -1};
    wall.b[0] = width;
    wall.b[1] = south;
    count = mw_shape_add(shapes, capacity, count, wall);
    wall.a[1] = north;
    wall.b[1] = width;
    count = mw_shape_add(shapes, capacity, count, wall);
    for (int i = 0; i < model->units; i++) {
        if (!mw_units_hold(state->alive, i)) continue;
        bool ally = i < model->allies;
        count = mw_shape_add(shapes, capacity, count,
                             (mw_shape){.kind = MW_SHAPE_CIRCLE,
                                        .role = ally ? "agent" : "enemy",
                                        .id = ally ? i : i - model->allies,
                                        .a = {state->x[i], state->y[i], 0},
                                        .radius = (float)model->radius[i],
                                        .health = fraction(state->health[i], model->max_health[i]),
                                        .shield = model->max_shield[i] > 0
                                                      ? fraction(state->shield[i], model->max_shield[i])
                                                      : -1});
    }
    for (int i = 0; i < model->units; i++) { /* the dead may have fired before they fell */
        int target = state->shot[i];
        if (target < 0) continue;
        count = mw_shape_add(shapes, capacity, count,
                             (mw_shape){.kind = MW_SHAPE_LINE,
                                        .role = "attack",
                                        .id = i,
                                        .a = {state->x[i], state->y[i], 0},
                                        .b = {state->x[target], state->y[target], 0},
                                        .health = -1,
                                        .shield = -1});
    }
    return count;
}
