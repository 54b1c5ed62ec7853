/* The course of a battle: targets, preferred velocities, movement, shots, rewards, one tick after the other,
 * and the class that puts it behind env.h. Loops run over `lanes` entries where plain arithmetic vectorises;
 * entries past the last unit stay zero. */
#include "env/smac/battle.h"

#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

/* ---- spawn ---- */

static bool overlap(const mw_battle_model *model, const mw_battle_state *state, int a, int b) {
    double dx = (double)state->x[a] - state->x[b], dy = (double)state->y[a] - state->y[b];
    double apart = model->radius[a] + model->radius[b];
    return dx * dx + dy * dy < apart * apart;
}

static void place_all(const mw_battle_model *model, mw_battle_state *state) {
    for (int i = 0; i < model->units; i++) {
        state->x[i] = (float)model->x[i];
        state->y[i] = (float)model->y[i];
    }
}

static void displace(const mw_battle_model *model, mw_battle_state *state, int unit, mw_rng *rng) {
    state->x[unit] = (float)(model->x[unit] + model->jitter * (mw_rng_u32(rng) * 0x1p-31 - 1));
    state->y[unit] = (float)(model->y[unit] + model->jitter * (mw_rng_u32(rng) * 0x1p-31 - 1));
}

/* Displaces units first..end-1 uniformly, given that no two of them overlap. Halves are drawn until each is
 * free of overlaps, then both again while one overlaps the other: the same distribution as drawing all units
 * until it fits, in far fewer draws. False once `left` single draws are used up. */
static bool scatter(const mw_battle_model *model, mw_battle_state *state, int first, int end, int *left,
                    mw_rng *rng) {
    if (end - first == 1) {
        displace(model, state, first, rng);
        return --*left > 0;
    }
    int middle = (first + end) / 2;
    bool free;
    do {
        if (!scatter(model, state, first, middle, left, rng) ||
            !scatter(model, state, middle, end, left, rng))
            return false;
        free = true;
        for (int i = first; i < middle && free; i++)
            for (int j = middle; j < end && free; j++) free = !overlap(model, state, i, j);
    } while (!free);
    return true;
}

static bool overlaps_any(const mw_battle_model *model, const mw_battle_state *state, int unit) {
    for (int i = 0; i < model->units; i++)
        if (i != unit && overlap(model, state, i, unit)) return true;
    return false;
}

/* The same distribution where rejection would take too long, in a crowd: from the grid on every unit in turn
 * draws a new displacement and keeps it where that is free, a Markov chain that always ends and leaves the
 * uniform distribution over all free placements as it is. */
static void wander(const mw_battle_model *model, mw_battle_state *state, mw_rng *rng) {
    enum { SWEEPS = 64 };
    place_all(model, state);
    for (int turn = 0; turn < SWEEPS * model->units; turn++) {
        const int unit = turn % model->units;
        const float x = state->x[unit], y = state->y[unit];
        displace(model, state, unit, rng);
        if (!overlaps_any(model, state, unit)) continue;
        state->x[unit] = x;
        state->y[unit] = y;
    }
}

enum {
    FEW = 16,             /* units, for which rejection is fast */
    MOST_DRAWS = 1 << 20, /* of it; the official maps took 7002 at most in 300 000 resets */
};

void mw_battle_spawn(const mw_battle_model *model, mw_battle_state *state, mw_rng *rng) {
    memset(state, 0, sizeof *state);
    place_all(model, state);
    int left = MOST_DRAWS;
    if (model->jitter > 0 && (model->units > FEW || !scatter(model, state, 0, model->units, &left, rng)))
        wander(model, state, rng);
    memcpy(state->health, model->max_health, sizeof state->health);
    memcpy(state->shield, model->max_shield, sizeof state->shield);
    memset(state->target, -1, sizeof state->target);
    memset(state->shot, -1, sizeof state->shot);
    memset(state->action, -1, sizeof state->action);
    state->alive = state->single = mw_units_below(model->units);
}

/* ---- first half of a tick: what the units want ---- */

void mw_battle_command(const mw_battle_model *model, const mw_battle_state *state, const int32_t *actions,
                       mw_battle_orders *orders) {
    static const double dx[MW_BATTLE_MOVES] = {0, 0, 0, 0, 2, -2}, dy[MW_BATTLE_MOVES] = {0, 0, 2, -2, 0, 0};
    orders->march = mw_battle_living_enemies(model, state);
    for (int i = 0; i < model->lanes; i++) {
        orders->goal_x[i] = MW_BATTLE_GOAL_X;
        orders->goal_y[i] = MW_BATTLE_GOAL_Y;
    }
    for (int i = 0; i < model->allies; i++) {
        int action = actions[i];
        orders->attack[i] = -1;
        if (action >= MW_BATTLE_MOVES) {
            orders->attack[i] = (int8_t)(model->allies + action - MW_BATTLE_MOVES);
        } else if (action >= 2) {
            orders->goal_x[i] = state->x[i] + dx[action];
            orders->goal_y[i] = state->y[i] + dy[action];
            orders->march |= mw_units_of(i);
        }
    }
}

/* Full speed toward the goal, for all units at once; nothing exactly at the goal. */
static void aim(const mw_battle_model *model, const mw_battle_state *state, const mw_battle_orders *orders,
                mw_battle_plan *plan) {
    for (int first = 0; first < model->lanes; first += 8)
        for (int i = first; i < first + 8; i++) {
            double dx = orders->goal_x[i] - state->x[i], dy = orders->goal_y[i] - state->y[i];
            double distance = sqrt(dx * dx + dy * dy);
            double divisor = distance > 0 ? distance : 1;
            plan->vx[i] = dx * model->speed[i] / divisor;
            plan->vy[i] = dy * model->speed[i] / divisor;
        }
}

/* Attack: in reach stand and fire, otherwise full speed toward the target, computed in single precision. */
static void chase(const mw_battle_model *model, const mw_battle_state *state, int unit, int target,
                  mw_battle_plan *plan) {
    float dx = state->x[target] - state->x[unit], dy = state->y[target] - state->y[unit];
    float square = dx * dx + dy * dy;
    mw_units bit = mw_units_of(unit);
    if (square <= mw_battle_reach(model, unit, target)) {
        plan->attacking |= bit;
        plan->victim[unit] = (int8_t)target;
        plan->vx[unit] = plan->vy[unit] = 0;
        return;
    }
    float distance = sqrtf(square), speed = (float)model->speed[unit];
    plan->vx[unit] = dx * speed / distance;
    plan->vy[unit] = dy * speed / distance;
    plan->single |= bit;
    plan->moving |= bit;
}

static void march(int unit, mw_battle_plan *plan) {
    if (plan->vx[unit] != 0 || plan->vy[unit] != 0) plan->moving |= mw_units_of(unit);
}

/* An enemy sticks to a target that lives and either aims back or is in reach. */
static bool keeps_target(const mw_battle_model *model, const mw_battle_state *state, int unit) {
    int target = state->target[unit];
    if (target < 0 || !mw_units_hold(state->alive, target)) return false;
    return state->target[target] == unit ||
           mw_battle_square(state, unit, target) <= mw_battle_reach(model, unit, target);
}

/* The nearest ally in scan range; failing that, the first of those that aim at this enemy from wherever. An
 * aiming ally counts as in range up to the reach of the largest unit. */
static int choose_target(const mw_battle_model *model, const mw_battle_state *state, int unit,
                         mw_units aiming) {
    mw_units near = mw_battle_near(model, state, unit, model->scan) & mw_units_below(model->allies);
    double best = INFINITY;
    int choice = aiming ? mw_units_first(aiming) : -1;
    for (; near; near = mw_units_rest(near)) {
        int ally = mw_units_first(near);
        double dx = (double)state->x[ally] - state->x[unit], dy = (double)state->y[ally] - state->y[unit];
        double distance = sqrt(dx * dx + dy * dy);
        double range = MW_BATTLE_SCAN + model->radius[ally];
        bool seen = distance < range ||
                    (mw_units_hold(aiming, ally) && distance <= MW_BATTLE_SCAN + model->largest_radius);
        if (seen && distance < best) {
            best = distance;
            choice = ally;
        }
    }
    return choice;
}

void mw_battle_think(const mw_battle_model *model, mw_battle_state *state, const mw_battle_orders *orders,
                     mw_battle_plan *plan) {
    mw_units aiming[MW_BATTLE_UNITS]; /* [enemy]: allies that target it */
    memset(aiming, 0, sizeof *aiming * (size_t)model->units);
    plan->moving = plan->single = plan->attacking = plan->firing = 0;
    aim(model, state, orders, plan);
    for (int i = 0; i < model->allies; i++) {
        if (!mw_units_hold(state->alive, i)) continue;
        int target = orders->attack[i];
        state->target[i] = -1;
        if (target >= 0) {
            if (mw_units_hold(state->alive, target)) {
                state->target[i] = (int8_t)target;
                aiming[target] |= mw_units_of(i);
            }
            chase(model, state, i, target, plan); /* also a corpse, until the end of the step */
        } else if (mw_units_hold(orders->march, i)) {
            march(i, plan);
        }
    }
    for (int i = model->allies; i < model->units; i++) {
        if (!mw_units_hold(state->alive, i)) continue;
        if (!keeps_target(model, state, i))
            state->target[i] = (int8_t)choose_target(model, state, i, aiming[i]);
        if (state->target[i] >= 0)
            chase(model, state, i, state->target[i], plan);
        else
            march(i, plan);
    }
    for (mw_units left = plan->attacking; left; left = mw_units_rest(left)) {
        int i = mw_units_first(left);
        if (state->cooldown[i] <= 1) plan->firing |= mw_units_of(i);
    }

    mw_units single = 0;
    for (int i = 0; i < model->lanes; i++) {
        bool narrow = false;
        if (mw_units_hold(plan->moving, i))
            mw_orca(model, state, plan, i, &plan->vx[i], &plan->vy[i], &narrow);
        else
            plan->vx[i] = plan->vy[i] = 0;
        if (narrow) single |= mw_units_of(i);
    }
    plan->single = single;
}

/* ---- second half: what happens ---- */

enum { SHIELD_TICKS = 160 }; /* from a hit until the shield recharges */

static void remove_unit(mw_battle_state *state, int unit) {
    state->alive &= ~mw_units_of(unit);
    state->single &= ~mw_units_of(unit);
    state->vx[unit] = state->vy[unit] = 0;
    state->shield[unit] = 0;
    state->cooldown[unit] = state->shield_cooldown[unit] = 0;
    state->target[unit] = -1;
}

/* One hit. Shields take it first and without armor. Returns the points for hitting an enemy. */
static double hit(const mw_battle_model *model, mw_battle_state *state, int target, float amount) {
    if (!mw_units_hold(state->alive, target)) return 0;
    if (model->max_shield[target] > 0) state->shield_cooldown[target] = SHIELD_TICKS;
    float absorbed = fminf(amount, state->shield[target]);
    float wound = fmaxf(0, fminf(amount - absorbed - model->type[target]->armor, state->health[target]));
    state->shield[target] -= absorbed;
    state->health[target] -= wound;
    double points = (double)absorbed + wound;
    if (state->health[target] == 0) {
        points += 10;
        remove_unit(state, target);
    }
    return target >= model->allies ? points : 0;
}

static void recharge(const mw_battle_model *model, mw_battle_state *state, int i) {
    if (state->shield_cooldown[i] > 0) state->shield_cooldown[i]--;
    if (state->shield_cooldown[i] == 0)
        state->shield[i] = fminf(model->max_shield[i], state->shield[i] + 0.125f);
}

/* Nobody fires: the order of execution has no consequence and all units act at once. */
static void execute_quiet(const mw_battle_model *model, mw_battle_state *state, const mw_battle_plan *plan) {
    for (int first = 0; first < model->lanes; first += 8)
        for (int i = first; i < first + 8; i++) {
            state->x[i] = (float)(state->x[i] + plan->vx[i] / 16);
            state->y[i] = (float)(state->y[i] + plan->vy[i] / 16);
        }
    for (int i = 0; i < model->lanes; i++) state->cooldown[i] -= state->cooldown[i] > 0;
    memcpy(state->vx, plan->vx, sizeof *state->vx * (size_t)model->lanes);
    memcpy(state->vy, plan->vy, sizeof *state->vy * (size_t)model->lanes);
    if (model->map->mixed)
        for (mw_units left = state->alive; left; left = mw_units_rest(left))
            recharge(model, state, mw_units_first(left));
}

double mw_battle_execute(const mw_battle_model *model, mw_battle_state *state, const mw_battle_plan *plan,
                         const int *order, int count) {
    state->single = plan->single;
    if (!plan->firing) {
        execute_quiet(model, state, plan);
        return 0;
    }
    double points = 0;
    for (int turn = 0; turn < count; turn++) {
        int i = order[turn];
        if (!mw_units_hold(state->alive, i)) continue; /* killed earlier in this tick */
        state->vx[i] = plan->vx[i];
        state->vy[i] = plan->vy[i];
        state->x[i] = (float)(state->x[i] + plan->vx[i] / 16);
        state->y[i] = (float)(state->y[i] + plan->vy[i] / 16);
        state->cooldown[i] -= state->cooldown[i] > 0;
        if (model->map->mixed) recharge(model, state, i);
        if (!mw_units_hold(plan->firing, i)) continue;
        state->cooldown[i] = model->period[i];
        int target = plan->victim[i];
        state->shot[i] = (int8_t)target;
        for (int n = 0; n < model->type[i]->hits; n++)
            points += hit(model, state, target, model->damage[model->kind[i]][model->kind[target]]);
    }
    return points;
}

double mw_battle_score(const mw_battle_model *model, const mw_battle_state *state, double points) {
    return (points + (mw_battle_living_enemies(model, state) ? 0 : 200)) / model->reward_scale;
}

/* A whole step with orders drawn from rng; returns the scaled reward. */
static double play_step(const mw_battle_model *model, mw_battle_state *state, const int32_t *actions,
                        mw_rng *rng) {
    mw_battle_orders orders;
    double points = 0;
    mw_battle_command(model, state, actions, &orders);
    for (int i = 0; i < model->allies; i++) state->action[i] = (int8_t)actions[i];
    memset(state->shot, -1, sizeof state->shot);
    for (int tick = 0; tick < MW_BATTLE_TICKS; tick++) {
        mw_battle_plan plan;
        int order[MW_BATTLE_UNITS], count = 0;
        mw_battle_think(model, state, &orders, &plan);
        if (plan.firing) {
            for (mw_units left = state->alive; left; left = mw_units_rest(left))
                order[count++] = mw_units_first(left);
            mw_rng_shuffle(rng, order, count);
        }
        points += mw_battle_execute(model, state, &plan, order, count);
    }
    return mw_battle_score(model, state, points);
}

/* ---- the class ---- */

static mw_status fill(mw_env *env, const mw_battle_map *map, double jitter, mw_error *error) {
    mw_battle_model *model = malloc(sizeof *model);
    mw_battle_state *state = calloc(1, sizeof *state);
    mw_status status = model && state
                           ? mw_battle_model_init(model, map, jitter, error)
                           : mw_fail(error, MW_ERR_MEMORY, "%s: cannot allocate a battle", map->name);
    if (status != MW_OK) {
        free(model);
        free(state);
        return status;
    }
    env->model = model;
    env->state = state;
    env->info = (mw_env_info){.task = model->map->name,
                              .family = mw_families[MW_FAMILY_BATTLE].name,
                              .rules = model->rules,
                              .summary = model->map->summary,
                              .agents = model->allies,
                              .obs_size = model->obs_size,
                              .act_size = model->actions,
                              .discrete = true,
                              .episode_limit = model->map->limit};
    return MW_OK;
}

static mw_status create(mw_env *env, const char *task, const mw_env_options *options, mw_error *error) {
    if (options->prey_file)
        return mw_fail(error, MW_ERR_ARGUMENT, "%s has no prey; that option must not be given", task);
    return fill(env, mw_battle_map_find(task), options->spawn_jitter, error);
}

mw_status mw_battle_make(mw_env **out, const void *context, mw_error *error) {
    const mw_battle_spec *spec = context;
    mw_env *env = *out = calloc(1, sizeof *env);
    if (!env) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate an environment");
    env->kind = &mw_battle_class;
    const mw_status status = fill(env, spec->map, spec->jitter, error);
    if (status == MW_OK) {
        mw_env_reset(env, 0);
        return MW_OK;
    }
    free(env);
    *out = NULL;
    return status;
}

static void destroy(mw_env *env) {
    free(env->model);
    free(env->state);
}

static void feature(const mw_env *env, int index, mw_feature *out) {
    mw_battle_feature(env->model, index, out);
}

static void reset(mw_env *env) {
    mw_battle_spawn(env->model, env->state, &env->base.rng);
}

static void step(mw_env *env, mw_action action, float *rewards) {
    const mw_battle_model *model = env->model;
    mw_battle_state *state = env->state;
    float reward = (float)play_step(model, state, action.index, &env->base.rng);
    for (int i = 0; i < model->allies; i++) rewards[i] = reward;
    env->base.outcome.won = !mw_battle_living_enemies(model, state);
    env->base.outcome.terminated = env->base.outcome.won || !mw_battle_living_allies(model, state);
}

static void observe(const mw_env *env, float *obs) {
    mw_battle_observe(env->model, env->state, obs);
}

static void legal(const mw_env *env, uint8_t *mask) {
    mw_battle_legal(env->model, env->state, mask);
}

static size_t state_size(const mw_env *env) {
    (void)env;
    return sizeof(mw_battle_state);
}

static void save(const mw_env *env, void *buffer) {
    memcpy(buffer, env->state, sizeof(mw_battle_state));
}

/* Nobody, or a unit of the other side. */
static bool opposes(const mw_battle_model *model, int unit, int other) {
    if (unit >= model->units || other < 0) return other == -1;
    return other < model->units && (unit < model->allies) != (other < model->allies);
}

/* Unit ids, actions and the bits of the living lead into arrays. */
static mw_status check_ids(const mw_env *env, const mw_battle_state *state, mw_error *error) {
    const mw_battle_model *model = env->model;
    for (int i = 0; i < MW_BATTLE_UNITS; i++)
        if (!opposes(model, i, state->target[i]) || !opposes(model, i, state->shot[i]) ||
            state->action[i] < -1 || state->action[i] >= model->actions)
            return mw_fail(error, MW_ERR_FORMAT,
                           "%s: in the snapshot unit %d aims at %d, shot %d and took action %d; there are %d "
                           "allies, then %d enemies, and %d actions",
                           env->info.task, i, state->target[i], state->shot[i], state->action[i],
                           model->allies, model->enemies, model->actions);
    if (state->alive & ~mw_units_below(model->units))
        return mw_fail(error, MW_ERR_FORMAT, "%s: in the snapshot units live (%#llx) that there are not (%d)",
                       env->info.task, (unsigned long long)state->alive, model->units);
    return MW_OK;
}

/* The dead have nothing, the living health and no more of anything than their type. */
static mw_status check_unit(const mw_env *env, const mw_battle_state *state, int i, mw_error *error) {
    const mw_battle_model *model = env->model;
    const bool lives = mw_units_hold(state->alive, i);
    const float health = lives ? model->max_health[i] : 0, shield = lives ? model->max_shield[i] : 0;
    const int period = lives ? model->period[i] : 0, pause = shield > 0 ? SHIELD_TICKS : 0;
    if ((state->health[i] > 0) == lives && state->health[i] >= 0 && state->health[i] <= health &&
        state->shield[i] >= 0 && state->shield[i] <= shield && state->cooldown[i] <= period &&
        state->shield_cooldown[i] <= pause)
        return MW_OK;
    return mw_fail(
        error, MW_ERR_FORMAT,
        "%s: in the snapshot unit %d, %s, has health %.9g of %g, shield %.9g of %g and waits for %d "
        "of %d and %d of %d ticks",
        env->info.task, i, lives ? "alive" : "dead", (double)state->health[i], (double)health,
        (double)state->shield[i], (double)shield, state->cooldown[i], period, state->shield_cooldown[i],
        pause);
}

static mw_status check(const mw_env *env, const void *buffer, mw_error *error) {
    mw_battle_state state;
    memcpy(&state, buffer, sizeof state);
    MW_TRY(check_ids(env, &state, error));
    for (int i = 0; i < MW_BATTLE_UNITS; i++) {
        const double unit[] = {state.vx[i],
                               state.vy[i],
                               (double)state.x[i],
                               (double)state.y[i],
                               (double)state.health[i],
                               (double)state.shield[i]};
        MW_TRY(mw_env_check_numbers(env, "velocity, place, health or shield", unit, 6, error));
        MW_TRY(check_unit(env, &state, i, error));
    }
    return MW_OK;
}

static void load(mw_env *env, const void *buffer) {
    memcpy(env->state, buffer, sizeof(mw_battle_state));
}

static int draw(const mw_env *env, mw_shape *shapes, int capacity) {
    return mw_battle_draw(env->model, env->state, shapes, capacity);
}

static void action_name(const mw_env *env, int index, char *name, size_t size) {
    static const char *const words[] = {"no-op", "stop", "north", "south", "east", "west"};
    const int named = (int)(sizeof words / sizeof *words);
    (void)env;
    if (index < named)
        snprintf(name, size, "%s", words[index]);
    else
        snprintf(name, size, "attack %d", index - named);
}

const mw_env_class mw_battle_class = {.family = &mw_families[MW_FAMILY_BATTLE],
                                      .create = create,
                                      .destroy = destroy,
                                      .feature = feature,
                                      .action_name = action_name,
                                      .reset = reset,
                                      .step = step,
                                      .observe = observe,
                                      .legal = legal,
                                      .state_size = state_size,
                                      .save = save,
                                      .check = check,
                                      .load = load,
                                      .draw = draw,
                                      .scripts = mw_battle_scripts};
