/* Battles in the style of SMAC, fought under the rules of SMAClite (see docs/battles.md). A map and a unit
 * type are table rows (maps.c); the model is what follows from a row, the state is plain bytes. This header
 * is also the inner interface that the parity check uses: set a state, run one tick in a given order of
 * execution. */
#ifndef MW_ENV_SMAC_BATTLE_H
#define MW_ENV_SMAC_BATTLE_H

#include "env/env.h"

enum {
    MW_BATTLE_SIDE = 32,  /* most units on one side */
    MW_BATTLE_UNITS = 64, /* most units on a map; the width of all per-unit arrays */
    MW_BATTLE_TICKS = 8,  /* ticks per environment step, each 1/16 s */
    MW_BATTLE_TYPES = 3,
    MW_BATTLE_MOVES = 6, /* actions before the attacks: no-op, stop, north, south, east, west */
    MW_BATTLE_LEGAL = MW_BATTLE_SIDE * (MW_BATTLE_MOVES + MW_BATTLE_SIDE), /* entries of a joint mask */
};

typedef uint64_t mw_units; /* a set of units: bit per unit id */

_Static_assert(MW_BATTLE_UNITS == 2 * MW_BATTLE_SIDE && MW_BATTLE_UNITS <= 8 * (int)sizeof(mw_units),
               "a set holds the units of both sides");
_Static_assert((int)MW_BATTLE_LEGAL <= (int)MW_ENV_LEGAL, "actions of the largest battle can be checked");

/* Sight and shooting of the observation layer, the same for every unit type. */
#define MW_BATTLE_SIGHT  9.0
#define MW_BATTLE_SHOOT  6.0
#define MW_BATTLE_SCAN   5.0
#define MW_BATTLE_WIDTH  32.0 /* the field; walkable are rows 8 to 24 of it */
#define MW_BATTLE_SOUTH  8.0
#define MW_BATTLE_NORTH  24.0
#define MW_BATTLE_GOAL_X 9.0 /* where the enemies march */
#define MW_BATTLE_GOAL_Y 16.0

typedef struct mw_unit_type {
    const char *name;
    float health, shield, armor;
    float damage, bonus; /* per hit; the bonus is added against armored targets */
    int hits;            /* per attack */
    double cooldown;     /* seconds between attacks */
    double speed;        /* cells per second */
    double range, radius;
    bool armored;
} mw_unit_type;

/* A side is written as one letter per unit: m marine, s stalker, z zealot. */
typedef struct mw_battle_map {
    const char *name, *summary;
    const char *allies, *enemies;
    int limit;  /* steps */
    bool mixed; /* observations carry shields and unit types */
} mw_battle_map;

/* Unit ids: allies 0..allies-1 in the order of the map row, then the enemies. Entries past the last unit are
 * zero. */
typedef struct mw_battle_model {
    const mw_battle_map *map;
    const mw_unit_type *type[MW_BATTLE_UNITS];
    uint8_t kind[MW_BATTLE_UNITS]; /* the type's row in mw_unit_types */
    int allies, enemies, units;
    int lanes;      /* units rounded up to a multiple of 8: the width of vector loops */
    int actions;    /* MW_BATTLE_MOVES + enemies */
    int block;      /* features of one unit in an observation: 5, or 8 on mixed maps */
    int obs_size;   /* with the agent id in front */
    int state_size; /* of mw_battle_global */
    double jitter;
    double reward_scale;                           /* points that make one unit of reward */
    double largest_radius;                         /* of any type on the map */
    double x[MW_BATTLE_UNITS], y[MW_BATTLE_UNITS]; /* spawn */
    double speed[MW_BATTLE_UNITS];
    double radius[MW_BATTLE_UNITS];
    float contact[MW_BATTLE_UNITS]; /* squared distance within which others are neighbours, a little more */
    float scan;                     /* the same of the range in which enemies look for targets */
    double reach[MW_BATTLE_TYPES][MW_BATTLE_TYPES]; /* squared attack reach of [attacker's kind][target's] */
    float damage[MW_BATTLE_TYPES][MW_BATTLE_TYPES]; /* of one hit, likewise */
    float max_health[MW_BATTLE_UNITS], max_shield[MW_BATTLE_UNITS];
    uint8_t period[MW_BATTLE_UNITS]; /* ticks between attacks */
    char rules[48];
} mw_battle_model;

/* Everything that changes, free of padding: a snapshot is a copy. Cooldowns count ticks, which is exact: the
 * seconds are full - (period - ticks)/16, and 0 at 0. */
typedef struct mw_battle_state {
    double vx[MW_BATTLE_UNITS], vy[MW_BATTLE_UNITS]; /* of the last tick; 0 when dead */
    float x[MW_BATTLE_UNITS], y[MW_BATTLE_UNITS];    /* the dead keep their last place */
    float health[MW_BATTLE_UNITS], shield[MW_BATTLE_UNITS];
    uint8_t cooldown[MW_BATTLE_UNITS], shield_cooldown[MW_BATTLE_UNITS];
    int8_t target[MW_BATTLE_UNITS]; /* unit id, -1: none */
    int8_t shot[MW_BATTLE_UNITS];   /* whom the unit fired at in the last step, -1: nobody; for pictures */
    int8_t action[MW_BATTLE_UNITS]; /* last action, -1 before the first step */
    mw_units alive;
    mw_units single; /* whose velocity the reference holds in single precision */
} mw_battle_state;

/* What a step's actions mean for its ticks. */
typedef struct mw_battle_orders {
    double goal_x[MW_BATTLE_UNITS], goal_y[MW_BATTLE_UNITS];
    int8_t attack[MW_BATTLE_SIDE]; /* commanded enemy's unit id, -1: none */
    mw_units march;                /* who goes to its goal when it has nothing to attack */
} mw_battle_orders;

/* What the units are about to do in a tick. */
typedef struct mw_battle_plan {
    double vx[MW_BATTLE_UNITS], vy[MW_BATTLE_UNITS]; /* first preferred, then collision-free velocities */
    mw_units moving;                                 /* preferred velocity is not zero */
    mw_units single;
    mw_units attacking;
    mw_units firing;                /* attacking and loaded in this tick */
    int8_t victim[MW_BATTLE_UNITS]; /* of those attacking; an ally may be shooting at a corpse, which is no
                                       target */
} mw_battle_plan;

extern const mw_unit_type mw_unit_types[MW_BATTLE_TYPES];
extern const mw_battle_map mw_battle_maps[]; /* ends with a NULL name */
extern const mw_script mw_battle_scripts[];

/* Fails on a row that cannot be fought. The row must outlive the model. A negative jitter is the default. */
mw_status mw_battle_model_init(mw_battle_model *model, const mw_battle_map *map, double jitter,
                               mw_error *error);
const mw_battle_map *mw_battle_map_find(const char *name); /* NULL: no task */

/* An environment of any row, also of one that is no task: an mw_env_make. */
typedef struct mw_battle_spec {
    const mw_battle_map *map; /* which must outlive the environment */
    double jitter;
} mw_battle_spec;
mw_status mw_battle_make(mw_env **env, const void *spec, mw_error *error);

/* Full health at the spawn places, displaced as the model's jitter says. */
void mw_battle_spawn(const mw_battle_model *model, mw_battle_state *state, mw_rng *rng);

void mw_battle_command(const mw_battle_model *model, const mw_battle_state *state, const int32_t *actions,
                       mw_battle_orders *orders);
/* The first half of a tick: targets, preferred velocities, collision avoidance, all from the old positions.
 */
void mw_battle_think(const mw_battle_model *model, mw_battle_state *state, const mw_battle_orders *orders,
                     mw_battle_plan *plan);
/* The second half: the living units move and fire in this order. Returns the unscaled reward. An order is
 * needed only if somebody fires. */
double mw_battle_execute(const mw_battle_model *model, mw_battle_state *state, const mw_battle_plan *plan,
                         const int *order, int count);
/* The scaled reward of a step that collected these points and ended in this state. */
double mw_battle_score(const mw_battle_model *model, const mw_battle_state *state, double points);

/* Collision avoidance: replaces the preferred velocity of a unit in the plan by (vx, vy). */
void mw_orca(const mw_battle_model *model, const mw_battle_state *state, const mw_battle_plan *plan, int unit,
             double *vx, double *vy, bool *single);

void mw_battle_observe(const mw_battle_model *model, const mw_battle_state *state, float *obs);
void mw_battle_legal(const mw_battle_model *model, const mw_battle_state *state, uint8_t *legal);
void mw_battle_global(const mw_battle_model *model, const mw_battle_state *state, float *out);
void mw_battle_feature(const mw_battle_model *model, int index, mw_feature *feature);
int mw_battle_draw(const mw_battle_model *model, const mw_battle_state *state, mw_shape *shapes,
                   int capacity);

/* ---- sets of units ---- */

static inline mw_units mw_units_of(int unit) {
    return (mw_units)1 << unit;
}

static inline mw_units mw_units_below(int count) { /* ids 0..count-1 */
    return count < MW_BATTLE_UNITS ? mw_units_of(count) - 1 : ~(mw_units)0;
}

static inline bool mw_units_hold(mw_units units, int unit) {
    return units >> unit & 1;
}

static inline int mw_units_first(mw_units units) { /* the lowest id; the set must not be empty */
    return __builtin_ctzll(units);
}

static inline mw_units mw_units_rest(mw_units units) { /* without the lowest id */
    return units & (units - 1);
}

/* One side. */
static inline mw_units mw_battle_living_allies(const mw_battle_model *model, const mw_battle_state *state) {
    return state->alive & mw_units_below(model->allies);
}

static inline mw_units mw_battle_living_enemies(const mw_battle_model *model, const mw_battle_state *state) {
    return state->alive & ~mw_units_below(model->allies);
}

/* Living units, the unit itself included, whose squared distance is at most `limit` as single precision
 * computes it: a first sieve. The table instead of a shift lets compilers vectorise the loop. */
static inline mw_units mw_battle_near(const mw_battle_model *model, const mw_battle_state *state, int unit,
                                      float limit) {
    static const uint32_t bit[8] = {0x1, 0x2, 0x4, 0x8, 0x10, 0x20, 0x40, 0x80};
    mw_units near = 0;
    float x = state->x[unit], y = state->y[unit];
    for (int first = 0; first < model->lanes; first += 8) {
        uint32_t eight = 0;
        for (int i = 0; i < 8; i++) {
            float dx = state->x[first + i] - x, dy = state->y[first + i] - y;
            eight |= dx * dx + dy * dy <= limit ? bit[i] : 0;
        }
        near |= (mw_units)eight << first;
    }
    return near & state->alive;
}

static inline double mw_battle_reach(const mw_battle_model *model, int attacker, int target) {
    return model->reach[model->kind[attacker]][model->kind[target]];
}

/* Weapon cooldown in seconds. */
static inline double mw_battle_cooldown(const mw_battle_model *model, const mw_battle_state *state,
                                        int unit) {
    int left = state->cooldown[unit], full = model->period[unit];
    return left ? model->type[unit]->cooldown - (full - left) / 16.0 : 0.0;
}

/* Attack reach and the attack mask compare single-precision squares, as the reference does. */
static inline float mw_battle_square(const mw_battle_state *state, int a, int b) {
    float dx = state->x[b] - state->x[a], dy = state->y[b] - state->y[a];
    return dx * dx + dy * dy;
}

#endif
