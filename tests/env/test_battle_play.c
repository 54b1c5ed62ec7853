/* The battles as environments: description, spawn jitter, ends, snapshots, pictures, and the statistics of
 * fixed policies. */
#include "check.h"
#include "env/smac/battle.h"

enum { STOP = 1, NORTH = 2 };

static mw_env *make(const char *map, double jitter) {
    mw_env *env;
    mw_error error;
    mw_env_options options;
    mw_env_options_init(&options, sizeof options);
    options.spawn_jitter = jitter;
    CHECK_OK(mw_env_create(&env, map, &options, &error), error);
    return env;
}

static mw_outcome step(mw_env *env, const int32_t *index, float *rewards) {
    mw_outcome outcome;
    mw_error error;
    CHECK_OK(mw_env_step(env, (mw_action){.index = index}, rewards, &outcome, &error), error);
    return outcome;
}

static void script(const mw_env *env, const char *name, uint64_t seed, int32_t *index) {
    mw_error error;
    CHECK_OK(mw_script_act(env, name, seed, NULL, index, &error), error);
}

static const char *const maps[4] = {"3m", "8m", "5m_vs_6m", "2s3z"};

static void description(void **state) {
    (void)state;
    const int agents[4] = {3, 8, 5, 5}, obs_size[4] = {33, 88, 60, 85}, actions[4] = {9, 14, 12, 11};
    const int limit[4] = {60, 120, 70, 120};
    mw_error error;
    mw_env *env;
    for (int m = 0; m < 4; m++) {
        env = make(maps[m], -1);
        const mw_env_info *info = mw_env_describe(env);
        assert_int_equal(info->agents, agents[m]);
        assert_int_equal(info->obs_size, obs_size[m]);
        assert_int_equal(info->act_size, actions[m]);
        assert_int_equal(info->episode_limit, limit[m]);
        assert_string_equal(info->rules, "battle-smaclite-1+jitter0.5");
        for (int i = 0; i < info->obs_size; i++) { /* every feature has a name of its own */
            mw_feature a, b;
            mw_env_feature(env, i, &a);
            assert_true(a.name[0] && a.unit[0] && a.low < a.high);
            for (int j = 0; j < i; j++) {
                mw_env_feature(env, j, &b);
                assert_string_not_equal(a.name, b.name);
            }
        }
        mw_env_free(env);
    }
    env = make("3m", 0);
    assert_string_equal(mw_env_describe(env)->rules, "battle-smaclite-1");
    mw_env_free(env);
    mw_env_options options;
    mw_env_options_init(&options, sizeof options);
    options.spawn_jitter = 100;
    CHECK_FAILS(mw_env_create(&env, "3m", &options, &error), MW_ERR_ARGUMENT, error, "jitter");
    options.spawn_jitter = NAN;
    CHECK_FAILS(mw_env_create(&env, "3m", &options, &error), MW_ERR_ARGUMENT, error, "jitter");
}

static void jitter(void **state) {
    (void)state;
    enum { RESETS = 1000 };
    for (int m = 0; m < 4; m++) {
        mw_env *env = make(maps[m], -1);
        const mw_battle_model *model = env->model;
        const mw_battle_state *now = env->state;
        double spread = 0, most = 0;
        float first_x = 0;
        int repeated = 0;
        for (int seed = 0; seed < RESETS; seed++) {
            mw_env_reset(env, (uint64_t)seed);
            for (int i = 0; i < model->units; i++) {
                double dx = now->x[i] - model->x[i], dy = now->y[i] - model->y[i];
                most = fmax(most, fmax(fabs(dx), fabs(dy)));
                spread += (dx * dx + dy * dy) / (2.0 * RESETS * model->units);
                for (int j = 0; j < i; j++) {
                    double apart = hypot((double)now->x[i] - now->x[j], (double)now->y[i] - now->y[j]);
                    if (apart < model->radius[i] + model->radius[j]) fail_msg("%s: units overlap", maps[m]);
                }
            }
            repeated += seed > 0 && now->x[0] == first_x;
            if (seed == 0) first_x = now->x[0];
        }
        assert_true(most <= 0.5 + 1e-6 && most > 0.49);
        assert_true(spread > 0.07 && spread < 0.15); /* 1/12 if free; keeping apart pushes outward */
        assert_true(repeated <= 1);
        mw_env_free(env);
    }
}

/* The recursive draw against plain rejection of the whole group, in the second moments of the outer units. */
static void jitter_distribution(void **state) {
    (void)state;
    enum { DRAWS = 4000 };
    mw_env *env = make("5m_vs_6m", 0.5);
    const mw_battle_model *model = env->model;
    const mw_battle_state *now = env->state;
    double mean[2][5] = {{0}}, square[2][5] = {{0}};
    mw_rng rng = mw_rng_make(3, MW_RNG_TEST, 0, 0, 0);
    for (int draw = 0; draw < DRAWS; draw++) {
        double x[5], y[5];
        bool overlap;
        do {
            overlap = false;
            for (int i = 0; i < 5; i++) {
                x[i] = mw_rng_range(&rng, -0.5, 0.5);
                y[i] = mw_rng_range(&rng, -0.5, 0.5);
                for (int j = 0; j < i && !overlap; j++)
                    overlap = hypot(model->x[i] + x[i] - model->x[j] - x[j],
                                    model->y[i] + y[i] - model->y[j] - y[j]) < 0.75;
            }
        } while (overlap);
        mw_env_reset(env, (uint64_t)draw);
        for (int i = 0; i < 5; i++) {
            double other = now->x[i] - model->x[i];
            mean[0][i] += x[i] / DRAWS, mean[1][i] += other / DRAWS;
            square[0][i] += x[i] * x[i] / DRAWS, square[1][i] += other * other / DRAWS;
        }
    }
    for (int i = 0; i < 5; i++) { /* std 0.3 and 0.08 at most: five standard errors of a difference */
        CHECK_NEAR(mean[1][i], mean[0][i], 5 * 0.3 * sqrt(2.0 / DRAWS));
        CHECK_NEAR(square[1][i], square[0][i], 5 * 0.08 * sqrt(2.0 / DRAWS));
    }
    mw_env_free(env);
}

/* Out of the enemies' way nothing happens until the limit cuts the episode. */
static void episode_limit(void **state) {
    (void)state;
    mw_env *env = make("3m", -1);
    mw_outcome outcome;
    float rewards[3], total = 0;
    do {
        uint8_t legal[27];
        int32_t index[3];
        mw_env_legal(env, legal);
        for (int i = 0; i < 3; i++) index[i] = legal[9 * i + NORTH] ? NORTH : STOP;
        outcome = step(env, index, rewards);
        total += rewards[0];
    } while (!outcome.terminated && !outcome.truncated);
    assert_true(outcome.truncated && !outcome.terminated && !outcome.won && total == 0);
    assert_int_equal(outcome.step, 60);
    mw_env_free(env);
}

/* Illegal orders are refused and change nothing. */
static void refused(void **state) {
    (void)state;
    mw_env *env = make("3m", -1);
    mw_error error;
    float rewards[3];
    const int32_t bad[4][3] = {{0, 1, 1}, {1, 6, 1}, {1, 1, 9}, {1, -1, 1}};
    mw_battle_state before = *(const mw_battle_state *)env->state;
    for (int i = 0; i < 4; i++)
        CHECK_FAILS(mw_env_step(env, (mw_action){.index = bad[i]}, rewards, NULL, &error), MW_ERR_ARGUMENT,
                    error, "not legal now; legal: 1, 2, 3, 4, 5");
    assert_memory_equal(&before, env->state, sizeof before);
    mw_env_free(env);
}

/* Snapshot in mid-episode, play on, restore, play again: the same bits. Observations stay in their ranges. */
static void snapshots(void **state) {
    (void)state;
    for (int m = 0; m < 4; m++) {
        mw_env *env = make(maps[m], -1), *other = make(maps[m], -1);
        const mw_env_info *info = mw_env_describe(env);
        size_t size = mw_env_snapshot_size(env);
        unsigned char *start = malloc(size), *end = malloc(size), *again = malloc(size);
        int32_t index[MW_BATTLE_SIDE];
        float rewards[MW_BATTLE_SIDE], obs[MW_BATTLE_SIDE * 88];
        mw_error error;
        for (uint64_t seed = 0; seed < 10; seed++) {
            mw_env_reset(env, seed);
            for (int t = 0; t < 12; t++) script(env, "random", seed, index), step(env, index, rewards);
            mw_env_snapshot(env, start);
            CHECK_OK(mw_env_restore(other, start, size, &error), error);
            for (int pass = 0; pass < 2; pass++) {
                mw_env *player = pass ? other : env;
                mw_outcome outcome = {0};
                for (int t = 0; t < 50 && !outcome.terminated && !outcome.truncated; t++) {
                    script(player, "random", seed, index);
                    outcome = step(player, index, rewards);
                    mw_env_observe(player, obs);
                    for (int i = 0; i < info->agents * info->obs_size; i++) {
                        mw_feature feature;
                        if (t % 8) continue;
                        mw_env_feature(player, i % info->obs_size, &feature);
                        assert_true(obs[i] >= feature.low && obs[i] <= feature.high);
                    }
                }
                mw_env_snapshot(player, pass ? again : end);
            }
            assert_memory_equal(end, again, size);
        }
        free(start), free(end), free(again);
        mw_env_free(env), mw_env_free(other);
    }
}

/* Whatever any script meets on any map, from spawn to end, is a state that a snapshot may hold. */
static void played_snapshots(void **state) {
    (void)state;
    enum { EPISODES = 20 };
    const char *name;
    for (int m = 0; m < 4; m++) {
        mw_env *env = make(maps[m], -1), *other = make(maps[m], -1);
        const size_t size = mw_env_snapshot_size(env);
        unsigned char *bytes = malloc(size), *again = malloc(size);
        mw_error error;
        for (int s = 0; (name = mw_script_name(maps[m], s)); s++)
            for (uint64_t seed = 0; seed < EPISODES; seed++) {
                mw_outcome outcome = {0};
                mw_env_reset(env, seed);
                for (;;) {
                    int32_t index[MW_BATTLE_SIDE];
                    float rewards[MW_BATTLE_SIDE];
                    mw_env_snapshot(env, bytes);
                    CHECK_OK(mw_env_restore(other, bytes, size, &error), error);
                    mw_env_snapshot(other, again);
                    assert_memory_equal(bytes, again, size);
                    if (outcome.terminated || outcome.truncated) break;
                    script(env, name, seed, index);
                    outcome = step(env, index, rewards);
                }
            }
        free(bytes), free(again);
        mw_env_free(env), mw_env_free(other);
    }
}

/* A battle in which all still live, with one value changed. */
static void refuse(size_t at, const void *value, size_t count, const char *text) {
    mw_env *env = make("2s3z", -1);
    const size_t size = mw_env_snapshot_size(env), base = size - sizeof(mw_battle_state);
    unsigned char *bytes = malloc(size), *before = malloc(size), *after = malloc(size);
    int32_t index[5];
    float rewards[5];
    mw_error error;
    for (int t = 0; t < 5; t++) script(env, "nearest", 0, index), step(env, index, rewards);
    mw_env_snapshot(env, before);
    memcpy(bytes, before, size);
    memcpy(bytes + base + at, value, count);
    CHECK_FAILS(mw_env_restore(env, bytes, size, &error), MW_ERR_FORMAT, error, text);
    mw_env_snapshot(env, after);
    assert_memory_equal(before, after, size);
    free(bytes), free(before), free(after);
    mw_env_free(env);
}

static void impossible_snapshots(void **state) {
    (void)state;
    enum { ENEMY = 5, NOBODY = 10 };
    const size_t health = offsetof(mw_battle_state, health), shield = offsetof(mw_battle_state, shield);
    refuse(offsetof(mw_battle_state, target), &(int8_t){1}, 1, "unit 0 aims at 1");
    refuse(offsetof(mw_battle_state, target) + ENEMY, &(int8_t){ENEMY}, 1, "unit 5 aims at 5");
    refuse(offsetof(mw_battle_state, target) + NOBODY, &(int8_t){0}, 1, "unit 10 aims at 0");
    refuse(offsetof(mw_battle_state, shot) + ENEMY, &(int8_t){ENEMY + 1}, 1, "shot 6");
    refuse(health, &(float){0}, sizeof(float), "unit 0, alive, has health 0 of 80");
    refuse(health, &(float){81}, sizeof(float), "health 81 of 80");
    refuse(health, &(float){-1}, sizeof(float), "health -1 of 80");
    refuse(health + NOBODY * sizeof(float), &(float){1}, sizeof(float), "unit 10, dead, has health 1 of 0");
    refuse(offsetof(mw_battle_state, alive), &(mw_units){0x3fe}, sizeof(mw_units), "unit 0, dead, has health");
    refuse(shield, &(float){-1}, sizeof(float), "shield -1 of 80");
    refuse(shield + 2 * sizeof(float), &(float){51}, sizeof(float), "shield 51 of 50");
    refuse(offsetof(mw_battle_state, cooldown), &(uint8_t){23}, 1, "waits for 23 of 22");
    refuse(offsetof(mw_battle_state, shield_cooldown), &(uint8_t){161}, 1, "and 161 of 160 ticks");
}

static void pictures(void **state) {
    (void)state;
    mw_env *env = make("2s3z", -1);
    mw_shape shapes[64];
    int32_t index[5], attacks = 0;
    float rewards[5];
    assert_int_equal(mw_env_draw(env, shapes, 64), 2 + 10);
    assert_string_equal(shapes[0].role, "wall");
    assert_string_equal(shapes[2].role, "agent");
    assert_true(shapes[2].health == 1 && shapes[2].shield == 1 && shapes[2].radius == 0.625f);
    assert_int_equal(mw_env_draw(env, shapes, 3), 2 + 10);
    for (int t = 0; t < 15; t++) {
        script(env, "nearest", 0, index);
        step(env, index, rewards);
        int count = mw_env_draw(env, shapes, 64);
        for (int i = 0; i < count; i++) attacks += !strcmp(shapes[i].role, "attack");
    }
    assert_true(attacks > 0);
    mw_env_free(env);
}

/* ---- statistics ---- */

typedef struct {
    double win, mean, std, steps, steps_std;
} summary;

static summary play(const char *map, double spawn_jitter, const char *name, int episodes) {
    mw_env *env = make(map, spawn_jitter);
    double sum = 0, squares = 0, steps = 0, step_squares = 0, wins = 0;
    for (int e = 0; e < episodes; e++) {
        mw_outcome outcome;
        double total = 0;
        mw_env_reset(env, (uint64_t)e);
        do {
            int32_t index[MW_BATTLE_SIDE];
            float rewards[MW_BATTLE_SIDE];
            script(env, name, (uint64_t)e, index);
            outcome = step(env, index, rewards);
            assert_true(rewards[0] == rewards[env->info.agents - 1]);
            total += rewards[0];
        } while (!outcome.terminated && !outcome.truncated);
        sum += total, squares += total * total, wins += outcome.won;
        steps += outcome.step, step_squares += (double)outcome.step * outcome.step;
    }
    mw_env_free(env);
    sum /= episodes, steps /= episodes;
    return (summary){wins / episodes, sum, sqrt(fmax(0, squares / episodes - sum * sum)), steps,
                     sqrt(fmax(0, step_squares / episodes - steps * steps))};
}

/* Means over 20 000 episodes of an independent simulation of the same rules. */
static void anchors(void **state) {
    (void)state;
    const struct {
        const char *map, *script;
        double win, mean, std, steps;
    } rows[] = {
        {"3m", "random", 0, 1.447, 0.605, 25.07},
        {"3m", "nearest", 1, 20, 0, 17},
        {"3m", "focus", 1, 20, 0, 19},
        {"8m", "random", 0, 2.106, 0.556, 35.64},
        {"8m", "nearest", 0, 10.644, 0.391, 21.01},
        {"8m", "focus", 0, 6.875, 0, 16},
        {"5m_vs_6m", "random", 0, 1.547, 0.508, 27.84},
        {"5m_vs_6m", "nearest", 0, 6.265, 0.107, 15},
        {"5m_vs_6m", "focus", 0, 4.377, 0, 13},
        {"2s3z", "random", 0, 3.917, 0.921, 44.98},
        {"2s3z", "nearest", 1, 20, 0, 54.96},
        {"2s3z", "focus", 0, 9.853, 0.293, 41.00},
    };
    for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++) {
        int episodes = strcmp(rows[i].script, "random") ? 300 : 2000;
        summary seen = play(rows[i].map, 0, rows[i].script, episodes);
        double error = 4 * sqrt(1.0 / episodes + 1.0 / 20000);
        print_message("%s %s: win %.3f return %.3f (%.3f) std %.3f steps %.2f (%.2f)\n", rows[i].map,
                      rows[i].script, seen.win, seen.mean, rows[i].mean, seen.std, seen.steps, rows[i].steps);
        CHECK_NEAR(seen.win, rows[i].win, 0);
        CHECK_NEAR(seen.mean, rows[i].mean, error * rows[i].std + 0.0006);
        CHECK_NEAR(seen.steps, rows[i].steps, error * seen.steps_std + 0.006);
        CHECK_NEAR(seen.std, rows[i].std, 0.1 * rows[i].std + 0.0006);
    }
}

/* The ambush wins the marine maps that the plain policies lose, also under jitter. */
static void ambush(void **state) {
    (void)state;
    for (int m = 0; m < 3; m++) {
        assert_true(play(maps[m], 0, "ambush", 50).win == 1);
        assert_true(play(maps[m], -1, "ambush", 200).win > 0.85);
    }
    assert_true(play("2s3z", -1, "ambush", 200).win > 0.5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(description),
        cmocka_unit_test(jitter),
        cmocka_unit_test(jitter_distribution),
        cmocka_unit_test(episode_limit),
        cmocka_unit_test(refused),
        cmocka_unit_test(snapshots),
        cmocka_unit_test(played_snapshots),
        cmocka_unit_test(impossible_snapshots),
        cmocka_unit_test(pictures),
        cmocka_unit_test(anchors),
        cmocka_unit_test(ambush),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
