/* Battles larger than the official maps, up to 32 units a side: rows that cannot be fought are refused, and
 * spawn, play, snapshots, batches and scripts hold what they hold for small ones. */
#include "check.h"
#include "env/smac/battle.h"

#define M10 "mmmmmmmmmm"
#define Z10 "zzzzzzzzzz"

static const mw_battle_map marines = {
    "27m_vs_30m", "27 marines against 30 marines", M10 M10 "mmmmmmm", M10 M10 M10, 180, false};
static const mw_battle_map most = {
    "32m", "32 marines against 32 marines", M10 M10 M10 "mm", M10 M10 M10 "mm", 180, false};
static const mw_battle_map crowd = {"16s16z",
                                    "16 stalkers and 16 zealots against the same",
                                    "ssssssssssssssss" Z10 "zzzzzz",
                                    "ssssssssssssssss" Z10 "zzzzzz",
                                    200,
                                    true};
static const mw_battle_map *const rows[] = {&marines, &most, &crowd};
enum { ROWS = 3, SPECS = 6 };

static mw_env *make(const mw_battle_map *map, double jitter) {
    mw_env *env;
    mw_error error;
    CHECK_OK(mw_battle_make(&env, &(mw_battle_spec){map, jitter}, &error), error);
    return env;
}

static void bad_rows(void **state) {
    (void)state;
    const struct {
        mw_battle_map map;
        const char *text;
    } bad[SPECS] = {
        {{"none", "", "", "m", 60, false}, "there are 0 allies; it must be 1 to 32"},
        {{"33m", "", M10 M10 M10 "mmm", "m", 60, false}, "there are 33 allies"},
        {{"33e", "", "m", M10 M10 M10 "mmm", 60, false}, "there are 33 enemies"},
        {{"letter", "", "m", "mq", 60, false}, "no unit is written as 'q' in enemies 'mq'"},
        {{"plain", "", "m", "mz", 60, false}, "a zealot has a shield"},
        {{"short", "", "m", "m", 0, false}, "the limit is 0 steps"},
    };
    mw_env *env;
    mw_error error;
    for (int i = 0; i < SPECS; i++) {
        CHECK_FAILS(mw_battle_make(&env, &(mw_battle_spec){&bad[i].map, -1}, &error), MW_ERR_ARGUMENT, error,
                    bad[i].text);
        assert_null(env);
    }
    CHECK_FAILS(mw_battle_make(&env, &(mw_battle_spec){&marines, 5}, &error), MW_ERR_ARGUMENT, error,
                "jitter is 5");
}

/* The sizes that SMAC's own 27m_vs_30m has, the agent id in front of the observation. */
static void sizes(void **state) {
    (void)state;
    mw_env *env = make(&marines, -1);
    const mw_env_info *info = mw_env_describe(env);
    const mw_battle_model *model = env->model;
    assert_int_equal(info->agents, 27);
    assert_int_equal(info->act_size, 36);
    assert_int_equal(info->obs_size, 27 + 285);
    assert_int_equal(model->state_size, 1170);
    mw_env_free(env);
    mw_error error; /* and it is no task */
    assert_null(mw_battle_map_find("27m_vs_30m"));
    CHECK_FAILS(mw_env_create(&env, "27m_vs_30m", NULL, &error), MW_ERR_ARGUMENT, error, "27m_vs_30m");
}

static double gap(const mw_battle_model *model, const mw_battle_state *now, int i, int j) {
    return hypot((double)now->x[i] - now->x[j], (double)now->y[i] - now->y[j]) - model->radius[i] -
           model->radius[j];
}

/* In a crowd every unit is displaced, to all sides, and no two overlap. */
static void spawn(void **state) {
    (void)state;
    enum { RESETS = 200 };
    const double jitters[] = {0, 0.5, 4};
    for (int r = 0; r < ROWS * 3; r++) {
        const double jitter = jitters[r / ROWS];
        mw_env *env = make(rows[r % ROWS], jitter);
        const mw_battle_model *model = env->model;
        const mw_battle_state *now = env->state;
        double spread = 0, mean = 0, most_off = 0, closest = INFINITY;
        const int resets = jitter > 0 ? RESETS : 1, n = resets * model->units;
        for (int seed = 0; seed < resets; seed++) {
            mw_env_reset(env, (uint64_t)seed);
            assert_true(now->alive == mw_units_below(model->units));
            for (int i = 0; i < model->units; i++) {
                const double dx = now->x[i] - model->x[i], dy = now->y[i] - model->y[i];
                most_off = fmax(most_off, fmax(fabs(dx), fabs(dy)));
                spread += (dx * dx + dy * dy) / (2.0 * n);
                mean += (i < model->allies ? dx : -dx) / n;
                for (int j = 0; j < i; j++) closest = fmin(closest, gap(model, now, i, j));
            }
        }
        print_message("%s, jitter %g: variance %.4f, mean %.4f, farthest %.3f, smallest gap %.2g\n",
                      rows[r % ROWS]->name, jitter, spread, mean, most_off, closest);
        assert_true(closest >= 0 && most_off <= jitter + 1e-5);
        assert_true(jitter == 0 || most_off > 0.98 * jitter);
        CHECK_NEAR(spread, jitter * jitter / 3, 0.15 * jitter * jitter / 3 + 1e-9);
        CHECK_NEAR(mean, 0, 0.05 * jitter + 1e-6);
        mw_env_free(env);
    }
}

/* What the reward must have told of: the enemies' losses since full health, 10 for each that fell, 200 for
 * the win; where shields come back this is the least. */
static double points(const mw_battle_model *model, const mw_battle_state *now) {
    double sum = mw_battle_living_enemies(model, now) ? 0 : 200;
    for (int i = model->allies; i < model->units; i++)
        sum += model->max_health[i] - now->health[i] + model->max_shield[i] - now->shield[i] +
               (mw_units_hold(now->alive, i) ? 0 : 10);
    return sum;
}

/* Every mask entry from the distance itself. */
static void check_legal(const mw_env *env) {
    const mw_battle_model *model = env->model;
    const mw_battle_state *now = env->state;
    uint8_t legal[MW_BATTLE_LEGAL];
    mw_env_legal(env, legal);
    for (int i = 0; i < model->allies; i++)
        for (int j = 0; j < model->enemies; j++) {
            const int e = model->allies + j;
            const bool both = now->health[i] > 0 && now->health[e] > 0;
            const double away = hypot((double)now->x[i] - now->x[e], (double)now->y[i] - now->y[e]);
            if (fabs(away - 6) > 1e-5)
                assert_int_equal(legal[i * model->actions + MW_BATTLE_MOVES + j], both && away <= 6);
        }
}

static mw_outcome step(mw_env *env, const char *name, uint64_t seed, float *reward) {
    int32_t index[MW_BATTLE_SIDE];
    float rewards[MW_BATTLE_SIDE];
    mw_outcome outcome;
    mw_error error;
    CHECK_OK(mw_script_act(env, name, seed, NULL, index, &error), error);
    CHECK_OK(mw_env_step(env, (mw_action){.index = index}, rewards, &outcome, &error), error);
    assert_true(rewards[0] == rewards[env->info.agents - 1]);
    *reward = rewards[0];
    return outcome;
}

/* One episode, restored into another environment before every step; returns what both earned. */
static double play(mw_env *env, mw_env *other, const char *name, uint64_t seed, mw_units *fired) {
    const mw_battle_model *model = env->model;
    const mw_battle_state *now = env->state;
    const size_t size = mw_env_snapshot_size(env);
    unsigned char *bytes = malloc(size), *again = malloc(size);
    float *obs = malloc(sizeof *obs * (size_t)(env->info.agents * env->info.obs_size));
    double sum = 0;
    mw_outcome outcome = {0};
    mw_error error;
    mw_env_reset(env, seed);
    while (!outcome.terminated && !outcome.truncated) {
        float reward, copy;
        mw_env_snapshot(env, bytes);
        CHECK_OK(mw_env_restore(other, bytes, size, &error), error);
        outcome = step(env, name, seed, &reward);
        step(other, name, seed, &copy);
        mw_env_snapshot(env, bytes);
        mw_env_snapshot(other, again);
        assert_memory_equal(bytes, again, size);
        sum += reward;
        if (!model->map->mixed) CHECK_NEAR(sum * model->reward_scale, points(model, now), 1e-3);
        check_legal(env);
        mw_env_observe(env, obs);
        for (int k = 0; k < env->info.agents * env->info.obs_size; k++) assert_true(fabsf(obs[k]) <= 1);
        for (int i = 0; i < model->units; i++)
            if (now->shot[i] >= 0) *fired |= mw_units_of(i);
    }
    assert_true(outcome.won == !mw_battle_living_enemies(model, now));
    assert_true(outcome.terminated == (outcome.won || !mw_battle_living_allies(model, now)));
    assert_true(outcome.truncated == (!outcome.terminated && outcome.step == model->map->limit));
    if (outcome.won && !model->map->mixed) CHECK_NEAR(sum, 20, 1e-4);
    free(bytes), free(again), free(obs);
    return sum;
}

/* Whole episodes by all scripts. Everybody on the map takes part, also the last id. */
static void episodes(void **state) {
    (void)state;
    const char *name;
    for (int r = 0; r < ROWS; r++) {
        mw_env *env = make(rows[r], -1), *other = make(rows[r], -1);
        const mw_battle_model *model = env->model;
        mw_units fired = 0;
        for (int s = 0; (name = mw_script_name("3m", s)); s++) {
            double sum = 0;
            for (uint64_t seed = 0; seed < 3; seed++) sum += play(env, other, name, seed, &fired) / 3;
            print_message("%s %s: return %.3f\n", rows[r]->name, name, sum);
            assert_true(strcmp(name, "still") ? sum > 0 : sum == 0);
        }
        assert_true(fired == mw_units_below(model->units));
        mw_env_free(env), mw_env_free(other);
    }
}

/* A battle of three against three, fought by the last units of the largest: the same bits in every tick. */
static void same_at_any_id(void **state) {
    (void)state;
    enum { STEPS = 60, EACH = 3 };
    const int place[2 * EACH] = {29, 30, 31, 61, 62, 63};
    mw_battle_model *small = malloc(sizeof *small), *large = malloc(sizeof *large);
    mw_battle_state a, b;
    mw_error error;
    CHECK_OK(mw_battle_model_init(small, mw_battle_map_find("3m"), 0.5, &error), error);
    CHECK_OK(mw_battle_model_init(large, &most, 0.5, &error), error);
    for (uint64_t seed = 0; seed < 20; seed++) {
        mw_rng rng = mw_rng_make(seed, MW_RNG_TEST, 0, 0, 0);
        mw_battle_spawn(small, &a, &rng);
        mw_battle_spawn(large, &b, &rng);
        b.alive = b.single = 0;
        memset(b.health, 0, sizeof b.health);
        for (int i = 0; i < 2 * EACH; i++) {
            b.alive |= mw_units_of(place[i]), b.single |= mw_units_of(place[i]);
            b.x[place[i]] = a.x[i], b.y[place[i]] = a.y[i], b.health[place[i]] = a.health[i];
        }
        for (int t = 0; t < STEPS * MW_BATTLE_TICKS; t++) {
            mw_battle_orders one, two;
            mw_battle_plan think_one, think_two;
            int order[2][2 * EACH], count = 0;
            int32_t act[MW_BATTLE_SIDE] = {0}, far[MW_BATTLE_SIDE] = {0};
            uint8_t legal[MW_BATTLE_LEGAL];
            mw_battle_legal(small, &a, legal);
            for (int i = 0; i < EACH; i++) { /* some legal action, attacks more often than not */
                do act[i] = (int32_t)mw_rng_below(&rng, (uint32_t)small->actions);
                while (!legal[i * small->actions + act[i]]);
                far[place[i]] = act[i] < MW_BATTLE_MOVES ? act[i] : act[i] + place[EACH] - large->allies;
            }
            mw_battle_command(small, &a, act, &one);
            mw_battle_command(large, &b, far, &two);
            mw_battle_think(small, &a, &one, &think_one);
            mw_battle_think(large, &b, &two, &think_two);
            for (int i = 0; i < 2 * EACH; i++)
                if (mw_units_hold(a.alive, i)) order[0][count] = i, order[1][count++] = place[i];
            assert_true(mw_battle_execute(small, &a, &think_one, order[0], count) ==
                        mw_battle_execute(large, &b, &think_two, order[1], count));
            for (int i = 0; i < 2 * EACH; i++) {
                const int p = place[i], target = a.target[i] < 0 ? -1 : place[a.target[i]];
                assert_true(a.x[i] == b.x[p] && a.y[i] == b.y[p] && a.vx[i] == b.vx[p] && a.vy[i] == b.vy[p]);
                assert_true(a.health[i] == b.health[p] && a.cooldown[i] == b.cooldown[p]);
                assert_true(mw_units_hold(a.alive, i) == mw_units_hold(b.alive, p));
                assert_int_equal(target, b.target[p]);
            }
        }
        assert_true(a.alive != mw_units_below(2 * EACH)); /* somebody fell */
    }
    free(small), free(large);
}

/* What a battle cannot be in is refused, up to the last entries. */
static void impossible_snapshots(void **state) {
    (void)state;
    mw_env *env = make(&marines, -1);
    const size_t size = mw_env_snapshot_size(env), base = size - sizeof(mw_battle_state);
    unsigned char *bytes = malloc(size);
    mw_error error;
    mw_battle_state *now = malloc(sizeof *now);
    mw_env_snapshot(env, bytes);
    memcpy(now, bytes + base, sizeof *now);
    now->alive |= mw_units_of(57);
    memcpy(bytes + base, now, sizeof *now);
    CHECK_FAILS(mw_env_restore(env, bytes, size, &error), MW_ERR_FORMAT, error, "units live");
    now->alive &= ~mw_units_of(57);
    now->target[56] = 57;
    memcpy(bytes + base, now, sizeof *now);
    CHECK_FAILS(mw_env_restore(env, bytes, size, &error), MW_ERR_FORMAT, error, "unit 56 aims at 57");
    free(bytes), free(now);
    mw_env_free(env);
}

/* The last of 972 mask entries is looked at as well. */
static void illegal_actions(void **state) {
    (void)state;
    mw_env *env = make(&marines, -1);
    int32_t index[27];
    float rewards[27];
    mw_error error;
    for (int i = 0; i < 27; i++) index[i] = 1;
    index[26] = 35;
    CHECK_FAILS(mw_env_step(env, (mw_action){.index = index}, rewards, NULL, &error), MW_ERR_ARGUMENT, error,
                "action 35 of agent 26 is not legal now");
    mw_env_free(env);
}

/* A batch plays what single environments play, on any number of threads. */
static void batches(void **state) {
    (void)state;
    enum { COUNT = 5, STEPS = 60, N = 27, D = 36 };
    const mw_battle_spec spec = {&marines, -1};
    float rewards[COUNT * N], alone[N], *obs = malloc(sizeof *obs * COUNT * N * 312),
                                        *own = malloc(sizeof *own * N * 312);
    uint8_t *legal = malloc(COUNT * N * D), *mask = malloc(N * D);
    for (int threads = 1; threads <= 3; threads++) {
        mw_env_batch *batch;
        mw_pool *pool;
        mw_env *env[COUNT];
        mw_outcome outcomes[COUNT], outcome;
        mw_error error;
        const uint64_t seeds[COUNT] = {3, 1, 4, 1, 5};
        CHECK_OK(mw_pool_create(&pool, threads, &error), error);
        CHECK_OK(mw_env_batch_create_by(&batch, mw_battle_make, &spec, COUNT, pool, &error), error);
        mw_env_batch_reset(batch, seeds, NULL, obs, legal);
        for (int e = 0; e < COUNT; e++) env[e] = make(&marines, -1), mw_env_reset(env[e], seeds[e]);
        for (int t = 0; t < STEPS; t++) {
            int32_t index[COUNT * N];
            CHECK_OK(mw_env_batch_script(batch, t % 3 ? "nearest" : "random", seeds, NULL, index, &error),
                     error);
            CHECK_OK(
                mw_env_batch_step(batch, (mw_action){.index = index}, rewards, outcomes, obs, legal, &error),
                error);
            for (int e = 0; e < COUNT; e++) {
                CHECK_OK(mw_env_step(env[e], (mw_action){.index = index + e * N}, alone, &outcome, &error),
                         error);
                mw_env_observe(env[e], own);
                mw_env_legal(env[e], mask);
                assert_memory_equal(alone, rewards + e * N, sizeof alone);
                assert_memory_equal(own, obs + e * N * 312, sizeof *own * N * 312);
                assert_memory_equal(mask, legal + e * N * D, N * D);
                assert_int_equal(outcome.terminated, outcomes[e].terminated);
                if (!outcome.terminated) continue;
                uint8_t again[COUNT] = {0};
                again[e] = 1;
                mw_env_batch_reset(batch, seeds, again, obs, legal);
                mw_env_reset(env[e], seeds[e]);
            }
        }
        for (int e = 0; e < COUNT; e++) mw_env_free(env[e]);
        mw_env_batch_free(batch);
        mw_pool_free(pool);
    }
    free(obs), free(own), free(legal), free(mask);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_rows),        cmocka_unit_test(sizes),
        cmocka_unit_test(spawn),           cmocka_unit_test(episodes),
        cmocka_unit_test(same_at_any_id),  cmocka_unit_test(impossible_snapshots),
        cmocka_unit_test(illegal_actions), cmocka_unit_test(batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
