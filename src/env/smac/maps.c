/* The tables of unit types and maps, and what follows from a map row: sizes, reaches, damages, spawn places.
 * A new battle on the same field is one more row here. */
#include "env/smac/battle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const mw_unit_type mw_unit_types[MW_BATTLE_TYPES] = {
    {"stalker", 80, 80, 1, 13, 5, 1, 1.34, 4.13, 6.0, 0.625, true},
    {"zealot", 100, 50, 1, 8, 0, 2, 0.86, 3.15, 0.1, 0.5, false},
    {"marine", 45, 0, 0, 6, 0, 1, 0.61, 3.15, 5.0, 0.375, false},
};

const mw_battle_map mw_battle_maps[] = {
    {"3m", "3 marines against 3 marines", "mmm", "mmm", 60, false},
    {"8m", "8 marines against 8 marines", "mmmmmmmm", "mmmmmmmm", 120, false},
    {"5m_vs_6m", "5 marines against 6 marines", "mmmmm", "mmmmmm", 70, false},
    {"2s3z", "2 stalkers and 3 zealots against the same", "sszzz", "sszzz", 120, true},
    {NULL, NULL, NULL, NULL, 0, false},
};

const mw_battle_map *mw_battle_map_find(const char *name) {
    const mw_battle_map *map = mw_battle_maps;
    while (map->name && strcmp(map->name, name)) map++;
    return map->name ? map : NULL;
}

/* A row of mw_unit_types; -1: no type has this letter. */
static int find_type(char letter) {
    int kind = MW_BATTLE_TYPES - 1;
    while (kind >= 0 && mw_unit_types[kind].name[0] != letter) kind--;
    return kind;
}

/* ---- rows that can be fought ---- */

static mw_status check_side(const mw_battle_map *map, const char *side, const char *units, mw_error *error) {
    const size_t count = strlen(units);
    if (count < 1 || count > MW_BATTLE_SIDE)
        return mw_fail(error, MW_ERR_ARGUMENT, "battle map '%.64s': there are %zu %s; it must be 1 to %d",
                       map->name, count, side, MW_BATTLE_SIDE);
    for (const char *letter = units; *letter; letter++) {
        const int kind = find_type(*letter);
        if (kind < 0)
            return mw_fail(error, MW_ERR_ARGUMENT,
                           "battle map '%.64s': no unit is written as '%c' in %s '%s'", map->name, *letter,
                           side, units);
        if (!map->mixed && mw_unit_types[kind].shield > 0)
            return mw_fail(error, MW_ERR_ARGUMENT,
                           "battle map '%.64s': a %s has a shield, and only on mixed maps are shields kept",
                           map->name, mw_unit_types[kind].name);
    }
    return MW_OK;
}

static mw_status check_map(const mw_battle_map *map, mw_error *error) {
    MW_TRY(check_side(map, "allies", map->allies, error));
    MW_TRY(check_side(map, "enemies", map->enemies, error));
    if (map->limit >= 1) return MW_OK;
    return mw_fail(error, MW_ERR_ARGUMENT, "battle map '%.64s': the limit is %d steps; it must be at least 1",
                   map->name, map->limit);
}

/* ---- what follows from a row ---- */

/* Units fill a square grid row by row in list order; the enemies' grid (sign -1) is turned by half a circle.
 */
static void place_group(mw_battle_model *model, int first, int count, double centre_x, double centre_y,
                        double sign) {
    const double gap = 0.05;
    int side = (int)ceil(sqrt(count));
    double tallest[MW_BATTLE_SIDE] = {0}, height = (side - 1) * gap, width = 0;
    for (int row = 0; row < side; row++) {
        double sum = 0;
        for (int i = row * side; i < (row + 1) * side && i < count; i++) {
            double radius = model->radius[first + i];
            tallest[row] = fmax(tallest[row], radius);
            sum += 2 * radius;
        }
        height += 2 * tallest[row];
        width = fmax(width, sum);
    }
    double y = centre_y - sign * height / 2;
    for (int row = 0; row < side; row++) {
        double x = centre_x - sign * width / 2, previous = 0;
        y += sign * ((row ? tallest[row - 1] : 0) + tallest[row]);
        for (int i = row * side; i < (row + 1) * side && i < count; i++) {
            double radius = model->radius[first + i];
            x += sign * (previous + radius);
            model->x[first + i] = x;
            model->y[first + i] = y;
            x += sign * gap;
            previous = radius;
        }
        y += sign * gap;
    }
}

static void set_units(mw_battle_model *model) {
    const mw_battle_map *map = model->map;
    for (int i = 0; i < model->units; i++) {
        char letter = i < model->allies ? map->allies[i] : map->enemies[i - model->allies];
        const int kind = find_type(letter);
        const mw_unit_type *type = &mw_unit_types[kind];
        model->kind[i] = (uint8_t)kind;
        model->type[i] = type;
        model->speed[i] = type->speed;
        model->radius[i] = type->radius;
        model->max_health[i] = type->health;
        model->max_shield[i] = type->shield;
        model->period[i] = (uint8_t)ceil(type->cooldown * 16);
        model->largest_radius = fmax(model->largest_radius, type->radius);
    }
    double scan = MW_BATTLE_SCAN + model->largest_radius;
    model->scan = (float)(scan * scan * 1.00001);
    for (int i = 0; i < model->units; i++) {
        double contact = model->largest_radius + model->radius[i];
        model->contact[i] = (float)(contact * contact * 1.00001);
    }
    for (int i = 0; i < MW_BATTLE_TYPES; i++)
        for (int j = 0; j < MW_BATTLE_TYPES; j++) {
            const mw_unit_type *attacker = &mw_unit_types[i], *target = &mw_unit_types[j];
            double reach = attacker->range + attacker->radius + target->radius;
            model->reach[i][j] = reach * reach;
            model->damage[i][j] = attacker->damage + (target->armored ? attacker->bonus : 0);
        }
}

/* A perfect battle is worth 20: every enemy's health and shield, 10 per kill and 200 for the win. */
static double reward_scale(const mw_battle_model *model) {
    double most = 200;
    for (int i = model->allies; i < model->units; i++)
        most += 10 + model->max_health[i] + model->max_shield[i];
    return most / 20;
}

mw_status mw_battle_model_init(mw_battle_model *model, const mw_battle_map *map, double jitter,
                               mw_error *error) {
    const double most = 4;
    MW_TRY(check_map(map, error));
    if (jitter < 0) jitter = 0.5;
    if (!(jitter <= most))
        return mw_fail(error, MW_ERR_ARGUMENT, "%s: spawn jitter is %g; it must be in [0, %g]", map->name,
                       jitter, most);

    memset(model, 0, sizeof *model);
    model->map = map;
    model->jitter = jitter;
    model->allies = (int)strlen(map->allies);
    model->enemies = (int)strlen(map->enemies);
    model->units = model->allies + model->enemies;
    model->lanes = (model->units + 7) / 8 * 8;
    model->actions = MW_BATTLE_MOVES + model->enemies;
    model->block = map->mixed ? 8 : 5;
    int own = model->block - 4;
    model->obs_size = model->allies + 4 + (model->units - 1) * model->block + own;
    model->state_size = model->allies * (model->block - 1) + model->enemies * (model->block - 2) +
                        model->allies * model->actions;
    set_units(model);
    model->reward_scale = reward_scale(model);
    place_group(model, 0, model->allies, MW_BATTLE_GOAL_X, MW_BATTLE_GOAL_Y, +1);
    place_group(model, model->allies, model->enemies, 23, 16, -1);
    if (jitter > 0)
        snprintf(model->rules, sizeof model->rules, "battle-smaclite-1+jitter%.10g", jitter);
    else
        snprintf(model->rules, sizeof model->rules, "battle-smaclite-1");
    return MW_OK;
}
