/* The rules of the battles: against recordings of the reference, and one by one on placed units. */
#include "check.h"
#include "core/tensor/npy.h"
#include "env/smac/battle.h"
#include "verify/env.h"
#include "recorded.h"
#include "scratch.h"

/* ---- the recordings ---- */

static void print_failure(void *context, const char *check, double error, double tolerance, bool ok) {
    (void)context;
    if (!ok) print_error("%s: error %g, tolerance %g\n", check, error, tolerance);
}

static void golden(void **state) {
    (void)state;
    mw_error error;
    mw_verify report = {.line = print_failure};
    CHECK_OK(mw_verify_battle(TEST_DATA "/smac", &report, &error), error);
    assert_int_equal(report.checks, 4 * 16 + 2); /* one of them has episodes.json */
    assert_int_equal(report.failed, 0);
    CHECK_FAILS(mw_verify_battle(TEST_DATA, &report, &error), MW_ERR_IO, error, "no recorded battle");
}

static const char *const recorded[] = {"length",      "actions",    "avail",      "obs",     "state",
                                       "reward",      "done",       "win",        "trunc",   "tick_alive",
                                       "tick_pos",    "tick_vel",   "tick_vel32", "tick_hp", "tick_cooldown",
                                       "tick_target", "tick_order", "tick_reward"};

/* Every array counts: one number that is off is noticed, also where only the recording's own order is
 * spoiled. What is recorded of the dead beyond their health is blank and does not count. */
static void tampered(void **state) {
    (void)state;
    static const struct {
        const char *name;
        long at;
        double by;
        const char *refused; /* NULL: a check fails */
    } cases[] = {
        {"length", 0, -1, "goes on after its 16 steps"},
        {"actions", 0, 1, NULL},
        {"avail", 1, -1, NULL},
        {"obs", 5, 0.01, NULL},
        {"state", 7, 0.01, NULL},
        {"reward", -1, 0.01, NULL},
        {"done", 0, 1, NULL},
        {"win", -1, -1, NULL},
        {"trunc", -1, 1, NULL},
        {"tick_alive", 0, 1, "tick_alive.npy: episode 0 holds 2"},
        {"tick_alive", 0, -1, NULL},
        {"tick_pos", 30, 1e-4, NULL},
        {"tick_vel", 0, 0.01, NULL},
        {"tick_vel", 30, 0.01, NULL},
        {"tick_vel", -7, 0.01, NULL},
        {"tick_vel32", 0, -1, NULL},
        {"tick_vel32", -4, 1, NULL},
        {"tick_hp", 6, 0.125, NULL},
        {"tick_cooldown", 6, 0.01, NULL},
        {"tick_cooldown", -4, 0.01, NULL},
        {"tick_target", -4, 1, NULL},
        {"tick_order", 0, 1, NULL},
        {"tick_order", -1, 1, NULL},
        {"tick_reward", -1, 1, NULL},
        {NULL, 0, 0, NULL},
    };
    mkdir(scratch("3m"), 0777);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        mw_error error = {0};
        mw_verify report = {0};
        for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++) {
            const bool spoiled = cases[k].name && !strcmp(recorded[i], cases[k].name);
            recorded_copy(TEST_DATA "/smac/3m", scratch("3m"), recorded[i], spoiled ? cases[k].at : 0,
                          spoiled ? cases[k].by : 0);
        }
        const mw_status status = mw_verify_battle(scratch_folder, &report, &error);
        if (cases[k].refused) {
            CHECK_FAILS(status, MW_ERR_FORMAT, error, cases[k].refused);
            continue;
        }
        CHECK_OK(status, error);
        if (!report.failed == !!cases[k].name)
            fail_msg("%s at %ld spoiled: %d of %d checks fail", cases[k].name ? cases[k].name : "nothing",
                     cases[k].at, report.failed, report.checks);
    }
}

/* What episodes.json tells is compared with the arrays beside it. */
static void told_otherwise(void **state) {
    (void)state;
    static const char good[] = "{\"map\":\"3m\",\"limit\":60,\"length\":[17],\"episode_return\":[20.0],"
                               "\"win\":[true],\"cut\":[false]}";
    static const char *const spoiled[][2] = {{"\"3m\"", "\"8m\""}, {"60", "61"},     {"[17]", "[16]"},
                                             {"[17]", "[17,17]"},  {"20.0", "20.1"}, {"true", "false"},
                                             {"[false]", "[]"},    {"", ""}};
    for (size_t i = 0; i < sizeof spoiled / sizeof *spoiled; i++) {
        char text[256];
        mw_verify report = {0};
        mw_error error = {0};
        const char *at = strstr(good, spoiled[i][0]);
        assert_non_null(at);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, spoiled[i][1],
                 at + strlen(spoiled[i][0]));
        scratch_write(scratch("3m/episodes.json"), text, strlen(text));
        CHECK_OK(mw_verify_battle(scratch_folder, &report, &error), error);
        assert_int_equal(report.failed, *spoiled[i][0] != '\0');
    }
}

/* ---- rules on placed units ---- */

/* A field with nobody on it; units are put where a test needs them. */
typedef struct {
    mw_battle_model model;
    mw_battle_state state;
    mw_battle_orders orders;
    int32_t action[MW_BATTLE_SIDE];
} field;

enum { NOTHING = 0, STOP = 1, NORTH = 2, SOUTH = 3, EAST = 4, WEST = 5, ATTACK = 6 };

static void clear_field(field *f, const char *map) {
    mw_error error;
    CHECK_OK(mw_battle_model_init(&f->model, mw_battle_map_find(map), 0, &error), error);
    mw_rng rng = mw_rng_make(0, MW_RNG_TEST, 0, 0, 0);
    mw_battle_spawn(&f->model, &f->state, &rng);
    f->state.alive = 0;
    f->state.single = 0;
    memset(f->state.health, 0, sizeof f->state.health);
    for (int i = 0; i < MW_BATTLE_SIDE; i++) f->action[i] = STOP;
}

static void put(field *f, int unit, double x, double y) {
    f->state.x[unit] = (float)x;
    f->state.y[unit] = (float)y;
    f->state.health[unit] = f->model.max_health[unit];
    f->state.alive |= mw_units_of(unit);
}

static void command(field *f) {
    mw_battle_command(&f->model, &f->state, f->action, &f->orders);
}

/* One tick in ascending or descending order of ids. */
static double tick(field *f, bool descending) {
    mw_battle_plan plan;
    int order[MW_BATTLE_UNITS], count = 0;
    for (int k = 0; k < f->model.units; k++) {
        int i = descending ? f->model.units - 1 - k : k;
        if (mw_units_hold(f->state.alive, i)) order[count++] = i;
    }
    mw_battle_think(&f->model, &f->state, &f->orders, &plan);
    return mw_battle_execute(&f->model, &f->state, &plan, order, count);
}

static bool alive(const field *f, int unit) {
    return mw_units_hold(f->state.alive, unit);
}

static void spawn_places(void **state) {
    (void)state;
    field f;
    clear_field(&f, "3m");
    assert_true(f.state.x[1] == 9.425f && f.state.y[1] == 15.6f);
    assert_true(f.state.x[5] == 23.375f && f.state.y[5] == 15.6f);
    clear_field(&f, "8m");
    assert_true(f.state.x[7] == 9.05f && f.state.y[7] == 16.8f);
    clear_field(&f, "5m_vs_6m");
    assert_true(f.state.x[4] == 9.05f && f.state.y[4] == 16.375f && f.state.y[5] == 16.425f);
    clear_field(&f, "2s3z");
    assert_true(f.state.x[2] == 10.35f && f.state.x[4] == 8.8f && f.state.y[4] == 16.625f);
    assert_true(f.state.x[5] == 24.125f && f.state.x[9] == 23.2f && f.state.y[9] == 15.375f);
}

/* Attacks come every 10, 22 and 14 ticks, the first in the first tick in reach. */
static void attack_periods(void **state) {
    (void)state;
    const struct {
        const char *map;
        int unit, enemy, period;
        double apart;
    } cases[] = {{"3m", 0, 3, 10, 5.7}, {"2s3z", 0, 7, 22, 5.9}, {"2s3z", 2, 7, 14, 1.05}};
    for (int c = 0; c < 3; c++) {
        field f;
        clear_field(&f, cases[c].map);
        put(&f, cases[c].unit, 12, 16);
        put(&f, cases[c].enemy, 12 + cases[c].apart, 16);
        f.state.health[cases[c].unit] = 1e6f;
        f.state.health[cases[c].enemy] = 1e6f;
        f.action[cases[c].unit] = ATTACK + cases[c].enemy - f.model.allies;
        command(&f);
        for (int k = 0; k < 60; k++) assert_int_equal(tick(&f, false) > 0, k % cases[c].period == 0);
    }
}

/* Shields take hits first and without armor; bonus, armor, two hits, overkill and kills. */
static void damage(void **state) {
    (void)state;
    field f;
    clear_field(&f, "2s3z");
    put(&f, 0, 12, 16);
    put(&f, 5, 17, 16);
    f.action[0] = ATTACK + 0;
    command(&f);
    assert_true(tick(&f, false) == 18 && f.state.shield[5] == 62 && f.state.health[5] == 80);
    f.state.cooldown[0] = 0;
    f.state.shield[5] = 10;
    assert_true(tick(&f, false) == 10 + 7 && f.state.shield[5] == 0 && f.state.health[5] == 73);
    f.state.cooldown[0] = 0;
    f.state.health[5] = 2;
    assert_true(tick(&f, false) == 2 + 10 && !alive(&f, 5));

    clear_field(&f, "2s3z");
    put(&f, 2, 12, 16);
    put(&f, 7, 13, 16);
    f.state.shield[7] = 3;
    f.action[2] = ATTACK + 2;
    command(&f);
    assert_true(tick(&f, false) == 3 + 4 + 7 && f.state.health[7] == 100 - 11); /* 8 + 8 on 3 shield, armor 1
                                                                                 */
    f.state.cooldown[2] = 0;
    f.state.health[7] = 5;
    assert_true(tick(&f, false) == 5 + 10 && !alive(&f, 7)); /* the second hit finds a corpse */

    clear_field(&f, "2s3z"); /* hits on allies pay nothing */
    put(&f, 0, 12, 16);
    put(&f, 6, 17, 16);
    command(&f);
    assert_true(tick(&f, false) == 0 && f.state.shield[0] == 80 - 18);
}

/* Shields wait 10 s after a hit and then gain 0.125 per tick; a unit hit before its turn has counted one
 * tick. */
static void shield_regeneration(void **state) {
    (void)state;
    for (int before = 0; before < 2; before++) {
        field f;
        clear_field(&f, "2s3z");
        put(&f, 0, 12, 16);
        put(&f, 5, 17, 16);
        f.action[0] = ATTACK;
        command(&f);
        tick(&f, !before);
        assert_int_equal(f.state.shield_cooldown[5], before ? 159 : 160);
        f.state.alive &= ~mw_units_of(0);
        for (int k = f.state.shield_cooldown[5]; k > 1; k--) tick(&f, false);
        assert_true(f.state.shield[5] == 62);
        tick(&f, false);
        assert_true(f.state.shield[5] == 62.125f);
        for (int k = 0; k < 200; k++) tick(&f, false);
        assert_true(f.state.shield[5] == 80);
    }
}

/* Enemies see 5 + radius of the ally far and answer who attacks them from farther away; others do not help.
 */
static void enemy_targets(void **state) {
    (void)state;
    field f;
    clear_field(&f, "3m");
    put(&f, 0, 12, 16);
    put(&f, 3, 12 + 5.37, 16);
    put(&f, 4, 12, 16 + 5.38);
    command(&f);
    tick(&f, false);
    assert_int_equal(f.state.target[3], 0);
    assert_int_equal(f.state.target[4], -1);

    clear_field(&f, "3m"); /* aggro */
    put(&f, 0, 12, 16);
    put(&f, 3, 12 + 5.7, 16);
    put(&f, 4, 12 + 5.7, 17);
    f.action[0] = ATTACK;
    command(&f);
    tick(&f, false);
    assert_int_equal(f.state.target[3], 0);
    assert_int_equal(f.state.target[4], -1);
    assert_true(f.state.health[0] == 39 && f.state.health[3] == 39); /* both are in reach */

    put(&f, 1, 12 + 5.7, 14); /* a nearer ally does not make it let go, ... */
    tick(&f, false);
    assert_int_equal(f.state.target[3], 0);
    clear_field(&f, "3m"); /* ... but without a target somebody in range is preferred to an attacker */
    put(&f, 0, 12, 16);
    put(&f, 1, 12 + 5.7, 11);
    put(&f, 3, 12 + 5.7, 16);
    f.action[0] = ATTACK;
    command(&f);
    tick(&f, false);
    assert_int_equal(f.state.target[3], 1);
}

static void enemy_keeps_target(void **state) {
    (void)state;
    for (int answers = 0; answers < 2; answers++) {
        field f;
        clear_field(&f, "3m");
        put(&f, 0, 12, 16);
        put(&f, 3, 17.9, 16); /* beyond reach 5.75, within the attack order's 6 */
        put(&f, 1, 17.9, 20);
        f.state.target[3] = 0;
        f.action[0] = answers ? ATTACK : STOP;
        command(&f);
        tick(&f, false);
        assert_int_equal(f.state.target[3], answers ? 0 : 1);
    }
}

/* Who is killed earlier in the tick neither fires nor moves. */
static void killed_before_turn(void **state) {
    (void)state;
    for (int second = 0; second < 2; second++) {
        field f;
        clear_field(&f, "3m");
        put(&f, 0, 12, 16);
        put(&f, 3, 17, 16);
        f.state.health[3] = 6;
        f.action[0] = ATTACK;
        command(&f);
        double reward = tick(&f, second);
        assert_true(reward == 16 && !alive(&f, 3));
        assert_true(f.state.health[0] == (second ? 39 : 45));
    }
}

/* The command on an enemy that has died lasts to the end of the step: the shot goes into the corpse. */
static void corpse(void **state) {
    (void)state;
    field f;
    clear_field(&f, "3m");
    put(&f, 0, 12, 16);
    put(&f, 1, 11, 16);
    put(&f, 3, 16, 16);
    f.state.health[3] = 6;
    f.state.cooldown[1] = 3;
    f.action[0] = f.action[1] = ATTACK;
    command(&f);
    assert_true(tick(&f, false) == 16);
    assert_int_equal(f.state.cooldown[1], 2);
    assert_true(tick(&f, false) == 0);
    assert_int_equal(f.state.target[1], -1);
    assert_true(tick(&f, false) == 0);
    assert_int_equal(f.state.cooldown[1], 10);
}

/* ---- collision avoidance ---- */

/* A moving unit yields all of the overlap to a standing neighbour and half of it to a moving one. */
static void reciprocity(void **state) {
    (void)state;
    for (int moving = 0; moving < 2; moving++) {
        field f;
        clear_field(&f, "3m");
        put(&f, 0, 10, 16);
        put(&f, 1, 10.75 - 0.0625, 16);
        f.action[0] = EAST;
        f.action[1] = moving ? WEST : STOP;
        command(&f);
        tick(&f, false);
        CHECK_NEAR(f.state.vx[0], moving ? -0.5 : -1, 1e-12); /* the overlap of 1/16 is to vanish in 1/16 s */
        CHECK_NEAR(f.state.vx[1], moving ? 0.5 : 0, 1e-12);
    }
}

/* Neighbours count from contact on: a gap of 0.01 does not slow down. */
static void no_look_ahead(void **state) {
    (void)state;
    field f;
    clear_field(&f, "3m");
    put(&f, 0, 10, 16);
    put(&f, 1, 10.76, 16);
    f.action[0] = EAST;
    command(&f);
    tick(&f, false);
    CHECK_NEAR(f.state.vx[0], 3.15, 1e-12);
    assert_true(f.state.x[0] == (float)(10 + f.state.vx[0] / 16));
}

/* Walls slow an approach to the gap per second, without the radius, and stop it in contact. */
static void walls(void **state) {
    (void)state;
    const struct {
        double y;
        int action;
        double speed;
    } cases[] = {{9.5, SOUTH, -1.5}, {8.5, SOUTH, -0.5}, {8.25, SOUTH, 0},   {22.5, NORTH, 1.5},
                 {23.75, NORTH, 0},  {12, SOUTH, -3.15}, {8.25, NORTH, 3.15}};
    for (int c = 0; c < 7; c++) {
        field f;
        clear_field(&f, "3m");
        put(&f, 0, 12, cases[c].y);
        f.action[0] = cases[c].action;
        command(&f);
        tick(&f, false);
        CHECK_NEAR(f.state.vy[0], cases[c].speed, 1e-12);
        CHECK_NEAR(f.state.vx[0], 0, 1e-12);
    }
}

/* Two units in the very same place and state have no direction to part in; nothing may become NaN. */
static void same_place(void **state) {
    (void)state;
    field f;
    clear_field(&f, "3m");
    for (int i = 0; i < 3; i++) put(&f, i, 10, 16);
    f.action[0] = f.action[1] = EAST;
    command(&f);
    for (int k = 0; k < 8; k++) tick(&f, false);
    for (int i = 0; i < 3; i++) assert_true(isfinite(f.state.x[i]) && isfinite(f.state.y[i]));
}

/* ---- legality ---- */

static void move_legality(void **state) {
    (void)state;
    const struct {
        double x, y;
        int legal[4]; /* north, south, east, west */
    } cases[] = {{16, 16, {1, 1, 1, 1}},    {16, 22.99, {1, 1, 1, 1}}, {16, 23, {0, 1, 1, 1}},
                 {16, 9, {1, 1, 1, 1}},     {16, 8.99, {1, 0, 1, 1}},  {1, 16, {1, 1, 1, 1}},
                 {0.99, 16, {1, 1, 1, 0}},  {31, 16, {1, 1, 0, 1}},    {-0.5, 16, {0, 0, 1, 0}},
                 {-1.01, 16, {0, 0, 0, 0}}, {32.5, 16, {0, 0, 0, 1}},  {33, 16, {0, 0, 0, 0}}};
    for (int c = 0; c < (int)(sizeof cases / sizeof *cases); c++) {
        field f;
        uint8_t legal[3 * 9];
        clear_field(&f, "3m");
        put(&f, 0, cases[c].x, cases[c].y);
        mw_battle_legal(&f.model, &f.state, legal);
        for (int m = 0; m < 4; m++) assert_int_equal(legal[NORTH + m], cases[c].legal[m]);
        assert_int_equal(legal[NOTHING], 0);
        assert_int_equal(legal[STOP], 1);
    }
}

/* Attack orders reach 6 for everybody; the dead may only do nothing and see nothing. */
static void attack_legality_and_the_dead(void **state) {
    (void)state;
    field f;
    uint8_t legal[5 * 11];
    float obs[5 * 85];
    clear_field(&f, "2s3z");
    put(&f, 2, 12, 16);
    put(&f, 5, 18, 16);
    put(&f, 6, 18.01, 16);
    mw_battle_legal(&f.model, &f.state, legal);
    const uint8_t *zealot = legal + 2 * 11;
    assert_int_equal(zealot[ATTACK], 1);
    assert_int_equal(zealot[ATTACK + 1], 0);
    assert_int_equal(zealot[ATTACK + 2], 0); /* not alive */
    mw_battle_observe(&f.model, &f.state, obs);
    for (int a = 0; a < 11; a++) assert_int_equal(legal[a], a == NOTHING);
    for (int i = 0; i < 85; i++) assert_true(obs[i] == (i == 0));
    const float *seen = obs + 2 * 85 + 5 + 4;
    assert_true(seen[0] == 1 && seen[8] == 0 && seen[8 + 1] > 0 && seen[16 + 1] == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden),
        cmocka_unit_test(tampered),
        cmocka_unit_test(told_otherwise),
        cmocka_unit_test(spawn_places),
        cmocka_unit_test(attack_periods),
        cmocka_unit_test(damage),
        cmocka_unit_test(shield_regeneration),
        cmocka_unit_test(enemy_targets),
        cmocka_unit_test(enemy_keeps_target),
        cmocka_unit_test(killed_before_turn),
        cmocka_unit_test(corpse),
        cmocka_unit_test(reciprocity),
        cmocka_unit_test(no_look_ahead),
        cmocka_unit_test(walls),
        cmocka_unit_test(same_place),
        cmocka_unit_test(move_legality),
        cmocka_unit_test(attack_legality_and_the_dead),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
