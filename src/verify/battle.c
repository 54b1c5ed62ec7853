/* Parity of the battles with recordings of the reference: every tick from its recorded state, every step's
 * observations, masks, rewards and ends, and whole episodes from the spawn. Arrays are [episode][time][...];
 * entry k of a tick array is the state before tick k, and the order of execution is the recorded one. */
#include "verify/env.h"

#include "core/json.h"
#include "core/tensor/npy.h"
#include "env/smac/battle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the recording ---- */

enum {
    LENGTH,
    ACTIONS,
    AVAIL,
    OBS,
    STATE,
    REWARD,
    DONE,
    WIN,
    TRUNC,
    ALIVE,
    POSITION,
    VELOCITY,
    VELOCITY_SINGLE,
    HEALTH,
    COOLDOWN,
    TARGET,
    ORDER,
    TICK_REWARD,
    SHIELD,
    SHIELD_COOLDOWN,
    FIELDS
};

/* Extents: E episodes, T steps, S steps + 1, K ticks, L ticks + 1, n agents, A actions, o observation without
 * the agent id, s global state, U units, 2 coordinates. */
static const struct {
    const char *file, *extents;
    mw_dtype type;
    bool mixed_only;
} fields[FIELDS] = {
    [LENGTH] = {"length", "E", MW_I16, false},
    [ACTIONS] = {"actions", "ETn", MW_I16, false},
    [AVAIL] = {"avail", "ESnA", MW_I8, false},
    [OBS] = {"obs", "ESno", MW_F32, false},
    [STATE] = {"state", "ESs", MW_F32, false},
    [REWARD] = {"reward", "ET", MW_F32, false},
    [DONE] = {"done", "ET", MW_I8, false},
    [WIN] = {"win", "ET", MW_I8, false},
    [TRUNC] = {"trunc", "ET", MW_I8, false},
    [ALIVE] = {"tick_alive", "ELU", MW_I8, false},
    [POSITION] = {"tick_pos", "ELU2", MW_F32, false},
    [VELOCITY] = {"tick_vel", "ELU2", MW_F64, false},
    [VELOCITY_SINGLE] = {"tick_vel32", "ELU", MW_I8, false},
    [HEALTH] = {"tick_hp", "ELU", MW_F32, false},
    [COOLDOWN] = {"tick_cooldown", "ELU", MW_F32, false},
    [TARGET] = {"tick_target", "ELU", MW_I16, false},
    [ORDER] = {"tick_order", "EKU", MW_I16, false},
    [TICK_REWARD] = {"tick_reward", "EK", MW_F32, false},
    [SHIELD] = {"tick_shield", "ELU", MW_F32, true},
    [SHIELD_COOLDOWN] = {"tick_shield_cooldown", "ELU", MW_F32, true},
};

typedef struct {
    mw_battle_model model;
    mw_npy array[FIELDS];
    int episodes, steps;
    const char *dir;
} recording;

static long extent(const recording *r, char letter) {
    const mw_battle_model *model = &r->model;
    switch (letter) {
    case 'E':
        return r->episodes;
    case 'T':
        return r->steps;
    case 'S':
        return r->steps + 1;
    case 'K':
        return (long)r->steps * MW_BATTLE_TICKS;
    case 'L':
        return (long)r->steps * MW_BATTLE_TICKS + 1;
    case 'n':
        return model->allies;
    case 'A':
        return model->actions;
    case 'o':
        return model->obs_size - model->allies;
    case 's':
        return model->state_size;
    case 'U':
        return model->units;
    default:
        return 2;
    }
}

static void close_recording(recording *r) {
    for (int i = 0; i < FIELDS; i++)
        if (r->array[i].map.data) mw_npy_close(&r->array[i]);
}

static mw_status open_field(recording *r, int field, mw_error *error) {
    char path[1024];
    mw_npy *array = &r->array[field];
    snprintf(path, sizeof path, "%s/%s/%s.npy", r->dir, r->model.map->name, fields[field].file);
    MW_TRY(mw_npy_open(array, path, error));
    long shape[MW_MAX_DIMS];
    int dims = (int)strlen(fields[field].extents);
    for (int i = 0; i < dims; i++) shape[i] = extent(r, fields[field].extents[i]);
    if (field == LENGTH) shape[0] = -1; /* the first two files define the extents */
    if (field == ACTIONS) shape[1] = -1;
    MW_TRY(mw_npy_expect(array, path, fields[field].type, dims, shape, error));
    if (field == LENGTH) r->episodes = (int)array->shape[0];
    if (field == ACTIONS) r->steps = (int)array->shape[1];
    if (r->episodes < 1 || r->episodes > 100000 || r->steps > 10000)
        return mw_fail(error, MW_ERR_FORMAT,
                       "%s: %d episodes of %d steps; expected 1 to 100000 of at most 10000", path,
                       r->episodes, r->steps);
    return MW_OK;
}

/* Elements of one [episode][time] entry. */
static const void *entry(const recording *r, int field, int episode, int time) {
    const mw_npy *array = &r->array[field];
    size_t row = array->count / array->shape[0] / array->shape[1];
    size_t at = ((size_t)episode * array->shape[1] + (size_t)time) * row;
    return (const unsigned char *)array->data + at * mw_dtype_size(array->type);
}

static int length_of(const recording *r, int episode) {
    return ((const int16_t *)r->array[LENGTH].data)[episode];
}

/* How many entries an episode of this length has in a field. */
static int times_of(int field, int length) {
    switch (fields[field].extents[1]) {
    case 'T':
        return length;
    case 'S':
        return length + 1;
    case 'K':
        return length * MW_BATTLE_TICKS;
    default:
        return length * MW_BATTLE_TICKS + 1;
    }
}

static mw_status check_integers(const recording *r, int field, int episode, int low, int high,
                                mw_error *error) {
    const mw_npy *array = &r->array[field];
    size_t row = array->count / array->shape[0] / array->shape[1];
    const void *values = entry(r, field, episode, 0);
    for (size_t i = 0; i < row * (size_t)times_of(field, length_of(r, episode)); i++) {
        int value = array->type == MW_I8 ? ((const int8_t *)values)[i] : ((const int16_t *)values)[i];
        if (value < low || value > high)
            return mw_fail(error, MW_ERR_FORMAT, "%s/%s/%s.npy: episode %d holds %d; expected %d to %d",
                           r->dir, r->model.map->name, fields[field].file, episode, value, low, high);
    }
    return MW_OK;
}

/* After its end an episode has -1 in whole numbers and NaN in others. */
static mw_status check_end(const recording *r, int field, int episode, mw_error *error) {
    const mw_npy *array = &r->array[field];
    size_t row = array->count / array->shape[0] / array->shape[1], size = mw_dtype_size(array->type);
    size_t used = (size_t)times_of(field, length_of(r, episode));
    const unsigned char *rest = (const unsigned char *)entry(r, field, episode, 0) + used * row * size;
    for (size_t i = 0; i < (array->shape[1] - used) * row; i++) {
        double value;
        mw_dtype_to_doubles(array->type, rest + i * size, 1, &value);
        if (array->type == MW_F32 || array->type == MW_F64 ? !isnan(value) : value != -1)
            return mw_fail(error, MW_ERR_FORMAT, "%s/%s/%s.npy: episode %d goes on after its %d steps",
                           r->dir, r->model.map->name, fields[field].file, episode, length_of(r, episode));
    }
    return MW_OK;
}

/* Everything that is later used as an index or a bit, and that episodes end where they are said to. */
static mw_status check_entries(const recording *r, mw_error *error) {
    for (int e = 0; e < r->episodes; e++) {
        int length = length_of(r, e);
        if (length < 1 || length > r->steps)
            return mw_fail(error, MW_ERR_FORMAT,
                           "%s/%s/length.npy: episode %d has %d steps; expected 1 to %d", r->dir,
                           r->model.map->name, e, length, r->steps);
        MW_TRY(check_integers(r, ACTIONS, e, 0, r->model.actions - 1, error));
        MW_TRY(check_integers(r, TARGET, e, -1, r->model.units - 1, error));
        MW_TRY(check_integers(r, ORDER, e, -1, r->model.units - 1, error));
        MW_TRY(check_integers(r, ALIVE, e, 0, 1, error));
        MW_TRY(check_integers(r, VELOCITY_SINGLE, e, 0, 1, error));
        for (int field = ACTIONS; field < FIELDS; field++)
            if (r->array[field].map.data) MW_TRY(check_end(r, field, e, error));
    }
    return MW_OK;
}

static mw_status open_recording(recording *r, const char *dir, const mw_battle_map *map, mw_error *error) {
    memset(r, 0, sizeof *r);
    r->dir = dir;
    MW_TRY(mw_battle_model_init(&r->model, map, 0, error));
    mw_status status = MW_OK;
    for (int i = 0; i < FIELDS && status == MW_OK; i++)
        if (!fields[i].mixed_only || r->model.map->mixed) status = open_field(r, i, error);
    if (status == MW_OK) status = check_entries(r, error);
    if (status != MW_OK) close_recording(r);
    return status;
}

/* ---- states and ticks of the recording ---- */

/* Ticks of a cooldown given in seconds. */
static uint8_t to_ticks(double seconds, double full, int period) {
    return seconds > 0 ? (uint8_t)fmin(255, fmax(0, period - rint((full - seconds) * 16))) : 0;
}

static void restore(const recording *r, int episode, int tick, mw_battle_state *state) {
    const int8_t *alive = entry(r, ALIVE, episode, tick), *single = entry(r, VELOCITY_SINGLE, episode, tick);
    const float *position = entry(r, POSITION, episode, tick), *health = entry(r, HEALTH, episode, tick);
    const float *cooldown = entry(r, COOLDOWN, episode, tick);
    const double *velocity = entry(r, VELOCITY, episode, tick);
    const int16_t *target = entry(r, TARGET, episode, tick);
    memset(state, 0, sizeof *state);
    for (int i = 0; i < r->model.units; i++) {
        state->x[i] = position[2 * i];
        state->y[i] = position[2 * i + 1];
        state->vx[i] = velocity[2 * i];
        state->vy[i] = velocity[2 * i + 1];
        state->health[i] = health[i];
        state->cooldown[i] = to_ticks(cooldown[i], r->model.type[i]->cooldown, r->model.period[i]);
        state->target[i] = (int8_t)target[i];
        if (alive[i] > 0) state->alive |= mw_units_of(i);
        if (single[i] > 0) state->single |= mw_units_of(i);
    }
    memset(state->action, -1, sizeof state->action);
    if (!r->model.map->mixed) return;
    const float *shield = entry(r, SHIELD, episode, tick), *wait = entry(r, SHIELD_COOLDOWN, episode, tick);
    for (int i = 0; i < r->model.units; i++) {
        state->shield[i] = shield[i];
        state->shield_cooldown[i] = to_ticks(wait[i], 10, 160);
    }
}

/* Orders of the step that starts in `state`. */
static void command(const recording *r, int episode, int step, mw_battle_state *state,
                    mw_battle_orders *orders) {
    const int16_t *recorded = entry(r, ACTIONS, episode, step);
    int32_t actions[MW_BATTLE_SIDE];
    for (int i = 0; i < r->model.allies; i++) actions[i] = recorded[i];
    mw_battle_command(&r->model, state, actions, orders);
}

/* Whether the units alive before a tick stand in its order, each of them once, and nothing else. */
static bool is_order(const recording *r, int episode, int tick) {
    const int16_t *order = entry(r, ORDER, episode, tick);
    const int8_t *alive = entry(r, ALIVE, episode, tick);
    mw_units left = 0;
    int count = 0;
    for (int i = 0; i < r->model.units; i++)
        if (alive[i] > 0) left |= mw_units_of(i);
    for (; count < r->model.units && order[count] >= 0; count++) {
        if (!mw_units_hold(left, order[count])) return false;
        left &= ~mw_units_of(order[count]);
    }
    while (count < r->model.units && order[count] < 0) count++;
    return !left && count == r->model.units;
}

static double run_tick(const recording *r, int episode, int tick, mw_battle_state *state,
                       const mw_battle_orders *orders) {
    const int16_t *recorded = entry(r, ORDER, episode, tick);
    mw_battle_plan plan;
    int order[MW_BATTLE_UNITS], count = 0;
    while (count < r->model.units && recorded[count] >= 0) {
        order[count] = recorded[count];
        count++;
    }
    mw_battle_think(&r->model, state, orders, &plan);
    return mw_battle_execute(&r->model, state, &plan, order, count);
}

/* ---- comparison ---- */

typedef struct {
    double position;      /* largest error */
    double velocity;      /* of living units */
    long unit_ticks, off; /* living units compared; of these with a position off by more than 1e-5 */
    long bits;            /* positions that are not the same bits */
    long single;          /* velocities that are of the other precision */
    long mismatches;      /* in alive, health, shield, cooldowns, target */
} difference;

/* Seconds of a cooldown, of which the reference subtracts ticks one by one and stores singles. */
static bool same_seconds(double seen, double recorded) {
    return fabs(seen - recorded) < 1e-6;
}

static bool same_counters(const recording *r, const mw_battle_state *a, const mw_battle_state *b, int i,
                          int episode, int tick) {
    const float *cooldown = entry(r, COOLDOWN, episode, tick),
                *shield = r->model.map->mixed ? entry(r, SHIELD_COOLDOWN, episode, tick) : NULL;
    return a->health[i] == b->health[i] && a->shield[i] == b->shield[i] && a->target[i] == b->target[i] &&
           same_seconds(mw_battle_cooldown(&r->model, a, i), (double)cooldown[i]) &&
           same_seconds(a->shield_cooldown[i] / 16.0, shield ? (double)shield[i] : 0);
}

/* Compares a state with the recorded one, of which velocities, targets and cooldowns of the dead are blank.
 */
static void compare(const recording *r, const mw_battle_state *state, int episode, int tick,
                    difference *total) {
    mw_battle_state recorded;
    restore(r, episode, tick, &recorded);
    for (int i = 0; i < r->model.units; i++) {
        bool alive = mw_units_hold(recorded.alive, i);
        double error =
            mw_verify_worst(mw_verify_worst(0, state->x[i], recorded.x[i]), state->y[i], recorded.y[i]);
        total->position = fmax(total->position, error);
        total->bits += error != 0;
        total->unit_ticks += alive;
        total->off += error > 1e-5;
        if (alive) {
            total->velocity = mw_verify_worst(mw_verify_worst(total->velocity, state->vx[i], recorded.vx[i]),
                                              state->vy[i], recorded.vy[i]);
            total->single += mw_units_hold(recorded.single ^ state->single, i);
        }
        total->mismatches += alive != mw_units_hold(state->alive, i) ||
                             (alive && !same_counters(r, state, &recorded, i, episode, tick)) ||
                             (!alive && recorded.health[i] > 0);
    }
}

static void check_ticks(const recording *r, mw_verify *report) {
    difference total = {0};
    double reward = 0;
    long strange = 0;
    for (int e = 0; e < r->episodes; e++)
        for (int tick = 0; tick < length_of(r, e) * MW_BATTLE_TICKS; tick++) {
            mw_battle_state state, start;
            mw_battle_orders orders;
            restore(r, e, tick / MW_BATTLE_TICKS * MW_BATTLE_TICKS, &start);
            command(r, e, tick / MW_BATTLE_TICKS, &start, &orders);
            restore(r, e, tick, &state);
            double points = run_tick(r, e, tick, &state, &orders);
            reward = mw_verify_worst(reward, points, *(const float *)entry(r, TICK_REWARD, e, tick));
            compare(r, &state, e, tick + 1, &total);
            strange += !is_order(r, e, tick);
        }
    const char *map = r->model.map->name;
    mw_verify_check(report, total.position, 1e-4, "%s: position after a tick", map);
    mw_verify_check(report, (double)total.off, 0, "%s: positions off by > 1e-5, of %ld unit-ticks", map,
                    total.unit_ticks);
    mw_verify_check(report, total.velocity, 1e-4, "%s: velocity after a tick", map);
    mw_verify_check(report, (double)total.mismatches, 0, "%s: unit-ticks with other health, target, ...",
                    map);
    mw_verify_check(report, (double)total.single, 0, "%s: velocities held in the other precision", map);
    mw_verify_check(report, reward, 0, "%s: reward of a tick", map);
    mw_verify_check(report, (double)strange, 0, "%s: ticks whose order is not that of the living", map);
}

/* Observations, masks and global states of the recorded states. */
static void check_views(const recording *r, mw_verify *report) {
    enum { MOST = MW_BATTLE_SIDE * 128 };
    const mw_battle_model *model = &r->model;
    int n = model->allies, o = model->obs_size;
    long masks = 0;
    double obs_error = 0, state_error = 0;
    for (int e = 0; e < r->episodes; e++)
        for (int t = 0; t <= length_of(r, e); t++) {
            float obs[MOST], global[MOST];
            uint8_t legal[MOST];
            mw_battle_state state;
            restore(r, e, t * MW_BATTLE_TICKS, &state);
            const int16_t *last = t ? entry(r, ACTIONS, e, t - 1) : NULL;
            for (int i = 0; i < n && last; i++) state.action[i] = (int8_t)last[i];
            const float *recorded_obs = entry(r, OBS, e, t), *recorded_state = entry(r, STATE, e, t);
            mw_battle_observe(model, &state, obs);
            mw_battle_legal(model, &state, legal);
            mw_battle_global(model, &state, global);
            masks += memcmp(legal, entry(r, AVAIL, e, t), (size_t)(n * model->actions)) != 0;
            for (int i = 0; i < n * o; i++) {
                int agent = i / o, column = i % o;
                double expected = column < n ? column == agent : recorded_obs[agent * (o - n) + column - n];
                obs_error = mw_verify_worst(obs_error, obs[i], expected);
            }
            for (int i = 0; i < model->state_size; i++)
                state_error = mw_verify_worst(state_error, global[i], recorded_state[i]);
        }
    mw_verify_check(report, obs_error, 0, "%s: observation", model->map->name);
    mw_verify_check(report, (double)masks, 0, "%s: steps whose legality mask differs", model->map->name);
    mw_verify_check(report, state_error, 1e-7, "%s: global state", model->map->name);
}

/* Every step from its recorded start: eight ticks, then reward and end. */
static void check_steps(const recording *r, mw_verify *report) {
    const mw_battle_model *model = &r->model;
    difference total = {0};
    long ends = 0;
    double reward = 0;
    for (int e = 0; e < r->episodes; e++)
        for (int t = 0; t < length_of(r, e); t++) {
            mw_battle_state state;
            mw_battle_orders orders;
            double points = 0;
            restore(r, e, t * MW_BATTLE_TICKS, &state);
            command(r, e, t, &state, &orders);
            for (int k = 0; k < MW_BATTLE_TICKS; k++)
                points += run_tick(r, e, t * MW_BATTLE_TICKS + k, &state, &orders);
            compare(r, &state, e, (t + 1) * MW_BATTLE_TICKS, &total);
            double scaled = mw_battle_score(model, &state, points);
            reward = mw_verify_worst(reward, (float)scaled, *(const float *)entry(r, REWARD, e, t));
            bool win = !mw_battle_living_enemies(model, &state);
            bool done = win || !mw_battle_living_allies(model, &state);
            bool cut = !done && t + 1 >= model->map->limit;
            ends += *(const int8_t *)entry(r, WIN, e, t) != win ||
                    *(const int8_t *)entry(r, DONE, e, t) != done ||
                    *(const int8_t *)entry(r, TRUNC, e, t) != cut;
        }
    mw_verify_check(report, total.position, 1e-4, "%s: position after a step", model->map->name);
    mw_verify_check(report, (double)total.mismatches, 0,
                    "%s: units with other health, target, ... after a step", model->map->name);
    mw_verify_check(report, reward, 1e-7, "%s: reward of a step", model->map->name);
    mw_verify_check(report, (double)ends, 0, "%s: steps that differ in done, win, truncated",
                    model->map->name);
}

/* Whole episodes from the spawn, compared at every tick. */
static void check_episodes(const recording *r, mw_verify *report) {
    const mw_battle_model *model = &r->model;
    int bits = 0, counters = 0;
    for (int e = 0; e < r->episodes; e++) {
        mw_battle_state state;
        mw_battle_orders orders;
        difference total = {0};
        mw_rng rng = mw_rng_make(0, MW_RNG_ENV, 0, 0, 0); /* without jitter nothing is drawn */
        mw_battle_spawn(model, &state, &rng);
        compare(r, &state, e, 0, &total);
        for (int tick = 0; tick < length_of(r, e) * MW_BATTLE_TICKS; tick++) {
            if (tick % MW_BATTLE_TICKS == 0) command(r, e, tick / MW_BATTLE_TICKS, &state, &orders);
            run_tick(r, e, tick, &state, &orders);
            compare(r, &state, e, tick + 1, &total);
        }
        bits += total.bits > 0;
        counters += total.mismatches > 0 || total.single > 0 || !(total.velocity <= 1e-4);
    }
    mw_verify_check(report, bits, 0, "%s: replays with other positions, of %d episodes", model->map->name,
                    r->episodes);
    mw_verify_check(report, counters, 0, "%s: replays with other health, velocity, ..., of %d episodes",
                    model->map->name, r->episodes);
}

/* How far an array of episodes.json is from what the recorded arrays say; infinite where it is none. */
static double worst_told(const recording *r, const json_t *list, double (*value)(const recording *r, int e)) {
    double worst = json_array_size(list) == (size_t)r->episodes ? 0 : (double)INFINITY;
    for (int e = 0; e < r->episodes; e++) {
        const json_t *told = json_array_get(list, (size_t)e);
        const double number = json_is_boolean(told)  ? json_is_true(told)
                              : json_is_number(told) ? json_number_value(told)
                                                     : (double)NAN;
        worst = mw_verify_worst(worst, value(r, e), number);
    }
    return worst;
}

static double told_length(const recording *r, int e) {
    return length_of(r, e);
}

static double told_return(const recording *r, int e) {
    double sum = 0;
    for (int t = 0; t < length_of(r, e); t++) sum += (double)*(const float *)entry(r, REWARD, e, t);
    return sum;
}

static double told_win(const recording *r, int e) {
    return *(const int8_t *)entry(r, WIN, e, length_of(r, e) - 1);
}

static double told_cut(const recording *r, int e) {
    const int last = length_of(r, e) - 1;
    return !*(const int8_t *)entry(r, DONE, e, last) && !*(const int8_t *)entry(r, TRUNC, e, last);
}

/* episodes.json, which not every recording has. Policies and seeds in it are notes. */
static mw_status check_summary(const recording *r, mw_verify *report, mw_error *error) {
    char path[1024];
    json_t *root;
    snprintf(path, sizeof path, "%s/%s/episodes.json", r->dir, r->model.map->name);
    if (!mw_file_exists(path)) return MW_OK;
    MW_TRY(mw_json_read(&root, path, error));
    const mw_battle_map *map = r->model.map;
    const char *name = json_string_value(json_object_get(root, "map"));
    double worst = name && !strcmp(name, map->name) ? 0 : (double)INFINITY;
    worst = mw_verify_worst(worst, map->limit, json_number_value(json_object_get(root, "limit")));
    worst = fmax(worst, worst_told(r, json_object_get(root, "length"), told_length));
    worst = fmax(worst, worst_told(r, json_object_get(root, "win"), told_win));
    worst = fmax(worst, worst_told(r, json_object_get(root, "cut"), told_cut));
    mw_verify_check(report, worst, 0, "%s: map, limit, lengths, wins and cuts as told", map->name);
    worst = worst_told(r, json_object_get(root, "episode_return"), told_return);
    mw_verify_check(report, worst, 1e-5, "%s: returns as told", map->name);
    json_decref(root);
    return MW_OK;
}

mw_status mw_verify_battle(const char *dir, mw_verify *report, mw_error *error) {
    int found = 0;
    for (const mw_battle_map *map = mw_battle_maps; map->name; map++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s/length.npy", dir, map->name);
        if (!mw_file_exists(path)) continue;
        recording r;
        MW_TRY(open_recording(&r, dir, map, error));
        check_ticks(&r, report);
        check_views(&r, report);
        check_steps(&r, report);
        check_episodes(&r, report);
        const mw_status status = check_summary(&r, report, error);
        close_recording(&r);
        if (status != MW_OK) return status;
        found++;
    }
    if (!found)
        return mw_fail(error, MW_ERR_IO,
                       "%s: no recorded battle here; expected folders such as 3m with length.npy", dir);
    return MW_OK;
}
