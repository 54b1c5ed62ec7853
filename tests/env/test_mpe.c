/* The particle tasks: recorded trajectories, single rules with numbers worked out by hand, the published
 * anchors of scripted play, and prey networks against a plain evaluation. */
#include "check.h"
#include "core/tensor/npy.h"
#include "env/mpe/mpe.h"
#include "verify/env.h"
#include "recorded.h"
#include "scratch.h"

/* ---- recorded trajectories ---- */

static void print_line(void *context, const char *check, double error, double tolerance, bool ok) {
    (void)context;
    (void)tolerance;
    if (!ok || error > 0) print_message("%s: error %.3g\n", check, error);
}

static void recorded(void **state) {
    (void)state;
    mw_error error;
    mw_verify report = {.line = print_line};
    CHECK_OK(mw_verify_env(TEST_DATA "/mpe", &report, &error), error);
    assert_int_equal(report.checks, 31);
    assert_int_equal(report.failed, 0);
    CHECK_FAILS(mw_verify_env(TEST_DATA "/nothing", &report, &error), MW_ERR_IO, error, "no recorded");
}

/* Copies the record of spread; the value at `at` of the array `spoiled` is raised by so much. */
static void copy_spread(const char *spoiled, long at, double by) {
    static const char *const names[] = {"actions", "pos", "vel", "obs", "rewards", "init_pos", "init_vel"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        recorded_copy(TEST_DATA "/mpe/simple_spread", scratch("simple_spread"), names[i], at,
                      strcmp(names[i], spoiled) ? 0 : by);
}

/* The checker itself must notice a number that is off, and a file of the wrong shape. */
static void tampered(void **state) {
    (void)state;
    static const struct {
        const char *array;
        int failed;
    } cases[] = {{"rewards", 2}, /* in both ways of playing */ {"init_pos", 1}, {"init_vel", 1}};
    mw_error error;
    mkdir(scratch("simple_spread"), 0777);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mw_verify report = {0};
        copy_spread(cases[i].array, 17, 1e-8);
        CHECK_OK(mw_verify_mpe(scratch_folder, &report, &error), error);
        assert_int_equal(report.checks, 9);
        assert_int_equal(report.failed, cases[i].failed);
    }
    mw_verify report = {0};
    double one = 0;
    CHECK_OK(mw_npy_write(scratch("simple_spread/rewards.npy"), MW_F64, 1, (size_t[]){1}, &one, &error),
             error);
    CHECK_FAILS(mw_verify_mpe(scratch_folder, &report, &error), MW_ERR_MISMATCH, error, "rewards.npy");
}

/* ---- single rules ---- */

/* Everything far apart and at rest. */
static mw_mpe_state apart(const mw_mpe_task *task) {
    mw_mpe_state state = {0};
    for (int e = 0; e < task->entities; e++) state.pos[e][0] = 10 * e;
    return state;
}

static void motion(void **context) {
    (void)context;
    const mw_mpe_task *spread = mw_mpe_find("spread"), *tag = mw_mpe_find("tag");
    mw_mpe_state s = apart(spread);
    s.vel[1][1] = 2;
    mw_mpe_advance(spread, &s, (const double[3][2]){{1, -0.5}});
    CHECK_NEAR(s.vel[0][0], 0.5, 1e-15); /* force 5 per unit, 0.1 of it a step */
    CHECK_NEAR(s.vel[0][1], -0.25, 1e-15);
    CHECK_NEAR(s.pos[0][0], 0.05, 1e-15);
    CHECK_NEAR(s.vel[1][1], 1.5, 1e-15);
    CHECK_NEAR(s.pos[1][1], 0.15, 1e-15);

    s = apart(tag);
    mw_mpe_advance(tag, &s, (const double[4][2]){{1, 0}, {1, 1}, {0, 0}, {-0.5, 0}});
    CHECK_NEAR(s.vel[0][0], 0.9, 1e-15);
    CHECK_NEAR(s.vel[1][0], sqrt(0.5), 1e-15); /* capped at 1 */
    CHECK_NEAR(s.vel[3][0], -0.8, 1e-15);
}

static void contact(void **context) {
    (void)context;
    const mw_mpe_task *spread = mw_mpe_find("spread"), *tag = mw_mpe_find("tag");
    mw_mpe_state s = apart(spread);
    s.pos[1][0] = s.pos[0][0] + 0.3; /* just touching: k log 2 of penetration */
    mw_mpe_advance(spread, &s, (const double[3][2]){{0}});
    CHECK_NEAR(s.vel[0][0], -0.1 * 100 * 0.001 * log(2), 1e-12);
    CHECK_NEAR(s.vel[1][0], 0.1 * 100 * 0.001 * log(2), 1e-12);

    s = apart(spread); /* coincident agents part and stay finite */
    s.pos[1][0] = s.pos[0][0];
    mw_mpe_advance(spread, &s, (const double[3][2]){{0}});
    CHECK_NEAR(s.vel[0][0], 3, 1e-9);
    CHECK_NEAR(s.vel[1][0], -3, 1e-9);

    s = apart(tag); /* an obstacle pushes and is not moved; only positions at the start count */
    s.pos[0][0] = s.pos[4][0];
    s.pos[0][1] = s.pos[4][1] + 0.2;
    mw_mpe_advance(tag, &s, (const double[4][2]){{0}});
    CHECK_NEAR(s.vel[0][1], 0.75, 1e-12); /* 0.1 * 100 * (0.275 - 0.2) */
    CHECK_NEAR(s.pos[4][0], 40, 0);
}

static void rewards(void **context) {
    (void)context;
    const mw_mpe_task *spread = mw_mpe_find("spread"), *tag = mw_mpe_find("tag"),
                      *world = mw_mpe_find("world");
    double r[MW_MPE_MAX_AGENTS];
    mw_mpe_state s = apart(spread); /* agents at 0, 10, 20; landmarks at 30, 40, 50 */
    spread->rewards(spread, &s, r);
    CHECK_NEAR(r[0], 1 / 10. + 1 / 20. + 1 / 30., 1e-15);
    memcpy(s.pos[3], s.pos[2], sizeof s.pos[3]); /* on a landmark: the term is capped at 10 */
    s.pos[1][0] = 0.29;
    spread->rewards(spread, &s, r);
    CHECK_NEAR(r[2], 10 + 1 / 20. + 1 / 30., 1e-14);
    CHECK_NEAR(r[0], r[2] - 5, 1e-14);
    CHECK_NEAR(r[1], r[2] - 5, 1e-14);

    s = apart(tag);
    s.pos[3][0] = 20.1; /* prey within 0.125 of predator 2, far outside the square: penalty 10 */
    tag->rewards(tag, &s, r);
    CHECK_NEAR(r[0], 10 - 0.1 * (20.1 + 10.1 + 0.1), 1e-12);
    CHECK_NEAR(r[1], r[0], 0);
    CHECK_NEAR(r[3], -r[0] - 10, 1e-12);

    s = apart(world); /* foods at 50, 60 */
    for (int i = 0; i < 3; i++) s.pos[i][0] = -1;
    s.pos[3][0] = 0.95;
    s.pos[3][1] = -1.1;
    s.pos[5][0] = 0.95;
    s.pos[5][1] = -1.05;
    world->rewards(world, &s, r);
    double away = 3 * hypot(1.95, 1.1);
    CHECK_NEAR(r[0], -0.1 * away, 1e-12);
    CHECK_NEAR(r[3], 0.1 * away - 2 * (0.5 + exp(0.2)) + 2 + 0.05 * 0.05, 1e-12);
}

static void forest_flags(void **context) {
    (void)context;
    const mw_mpe_task *world = mw_mpe_find("world");
    double obs[MW_MPE_MAX_OBS];
    mw_mpe_state s = apart(world);
    memcpy(s.pos[0], s.pos[7], sizeof s.pos[0]);
    memcpy(s.pos[3], s.pos[8], sizeof s.pos[3]);
    s.pos[0][1] += 0.374;
    s.pos[3][1] += 0.346;
    assert_int_equal(mw_mpe_observe(world, &s, 0, obs), 24);
    CHECK_NEAR(obs[22], 1, 0);
    CHECK_NEAR(obs[23], -1, 0);
    assert_int_equal(mw_mpe_observe(world, &s, 3, obs), 22);
    CHECK_NEAR(obs[20], -1, 0);
    CHECK_NEAR(obs[21], -1, 0);
}

/* ---- anchors: mean returns of scripted play over 20000 episodes of a second implementation ---- */

enum { EPISODES = 4000 };

typedef struct {
    double sum, square;
} tally;

static void add(tally *t, double value) {
    t->sum += value;
    t->square += value * value;
}

/* Within 4.5 standard errors of the difference; prints what was seen. */
static void check_anchor(const char *what, const tally *t, double expected, double expected_error) {
    double mean = t->sum / EPISODES, error = sqrt((t->square / EPISODES - mean * mean) / EPISODES);
    print_message("%-30s %8.2f +- %.2f, expected %8.2f +- %.2f\n", what, mean, error, expected,
                  expected_error);
    CHECK_NEAR(mean, expected, 4.5 * hypot(error, expected_error));
}

static void spread_anchors(void **context) {
    (void)context;
    static const struct {
        const char *script;
        double mean, error;
    } anchors[] = {
        {"random", 160.1, 0.4}, {"still", 176.7, 0.6}, {"greedy", 623.3, 0.4}, {"best", 637.8, 0.3}};
    mw_env *env;
    mw_error error;
    CHECK_OK(mw_env_create(&env, "spread", NULL, &error), error);
    for (int k = 0; k < 4; k++) {
        tally returns = {0};
        for (uint64_t episode = 0; episode < EPISODES; episode++) {
            float action[6], reward[3];
            double sum = 0;
            mw_outcome outcome = {0};
            mw_env_reset(env, episode);
            while (!outcome.truncated) {
                CHECK_OK(mw_script_act(env, anchors[k].script, episode, action, NULL, &error), error);
                CHECK_OK(mw_env_step(env, (mw_action){.real = action}, reward, &outcome, &error), error);
                sum += (reward[0] + reward[1] + reward[2]) / 3;
            }
            add(&returns, sum);
        }
        check_anchor(anchors[k].script, &returns, anchors[k].mean, anchors[k].error);
    }
    mw_env_free(env);
}

typedef enum { UNIFORM, STILL, CHASE } mover;

static void move(mover how, const mw_mpe_state *s, int agent, mw_rng *rng, double action[2]) {
    double dx = s->pos[3][0] - s->pos[agent][0], dy = s->pos[3][1] - s->pos[agent][1];
    double largest = fmax(fabs(dx), fabs(dy));
    action[0] = how == UNIFORM ? mw_rng_range(rng, -1, 1) : how == CHASE ? dx / largest : 0;
    action[1] = how == UNIFORM ? mw_rng_range(rng, -1, 1) : how == CHASE ? dy / largest : 0;
}

/* The prey of these anchors is not the default one, so they are played below the environment. */
static void play_pursuit(mw_env *env, mover pack, mover prey, tally *predators, tally *preys) {
    const mw_mpe_task *task = mw_mpe_find(mw_env_describe(env)->task);
    for (uint64_t episode = 0; episode < EPISODES; episode++) {
        mw_rng rng = mw_rng_make(episode, MW_RNG_TEST, 1, 0, 0);
        double pack_return = 0, prey_return = 0;
        mw_env_reset(env, episode);
        for (int step = 0; step < 25; step++) {
            double action[4][2], reward[4];
            for (int i = 0; i < 4; i++) move(i < 3 ? pack : prey, env->state, i, &rng, action[i]);
            mw_mpe_advance(task, env->state, (const double(*)[2])action);
            task->rewards(task, env->state, reward);
            pack_return += reward[0];
            prey_return += reward[3];
        }
        add(predators, pack_return);
        add(preys, prey_return);
    }
}

static void pursuit_anchors(void **context) {
    (void)context;
    static const struct {
        const char *what, *task;
        mover pack, prey;
        double mean, error, prey_mean, prey_error; /* prey_error 0: not published */
    } anchors[] = {
        {"tag uniform uniform", "tag", UNIFORM, UNIFORM, -5.25, 0.08, -16.9, 0.2},
        {"tag uniform still", "tag", UNIFORM, STILL, -5.06, 0.07, 1.5, 0.1},
        {"tag still still", "tag", STILL, STILL, -7.77, 0.02, 0, 0},
        {"tag chase uniform", "tag", CHASE, UNIFORM, 96.9, 0.4, 0, 0},
        {"tag chase still", "tag", CHASE, STILL, 227.4, 0.5, 0, 0},
        {"world uniform uniform", "world", UNIFORM, UNIFORM, -7.62, 0.04, -34.4, 0.4},
        {"world uniform still", "world", UNIFORM, STILL, -6.93, 0.04, 1.9, 0.1},
        {"world still still", "world", STILL, STILL, -7.87, 0.02, 0, 0},
        {"world chase uniform", "world", CHASE, UNIFORM, 43.9, 0.2, 0, 0},
        {"world chase still", "world", CHASE, STILL, 112.0, 0.2, 0, 0},
    };
    for (size_t k = 0; k < sizeof anchors / sizeof *anchors; k++) {
        mw_env *env;
        mw_error error;
        tally predators = {0}, preys = {0};
        CHECK_OK(mw_env_create(&env, anchors[k].task, NULL, &error), error);
        play_pursuit(env, anchors[k].pack, anchors[k].prey, &predators, &preys);
        check_anchor(anchors[k].what, &predators, anchors[k].mean, anchors[k].error);
        if (anchors[k].prey_error > 0)
            check_anchor("  its prey", &preys, anchors[k].prey_mean, anchors[k].prey_error);
        mw_env_free(env);
    }
}

/* The scripted prey runs: chased, it stays inside the square and is caught less than one that stands still.
 */
static void scripted_prey(void **context) {
    (void)context;
    mw_env *env;
    mw_error error;
    mw_env_options options;
    mw_env_options_init(&options, sizeof options);
    options.prey_file = MW_PREY_SCRIPTED;
    CHECK_OK(mw_env_create(&env, "tag", &options, &error), error);
    assert_string_equal(env->info.rules, "mpe-omar-1+prey-script");
    const mw_mpe_state *s = env->state;
    double sum = 0;
    int outside = 0;
    for (uint64_t episode = 0; episode < 1000; episode++) {
        float action[6], reward[3];
        mw_outcome outcome = {0};
        mw_env_reset(env, episode);
        while (!outcome.truncated) {
            CHECK_OK(mw_script_act(env, "chase", 0, action, NULL, &error), error);
            CHECK_OK(mw_env_step(env, (mw_action){.real = action}, reward, &outcome, &error), error);
            sum += reward[0];
            outside += fmax(fabs(s->pos[3][0]), fabs(s->pos[3][1])) > 1.05;
        }
    }
    print_message("chase against the scripted prey: %.1f, outside in %d of 25000 states\n", sum / 1000,
                  outside);
    assert_true(sum / 1000 < 90 && sum / 1000 > 40);
    assert_true(outside < 250);
    mw_env_free(env);
}

/* ---- prey networks ---- */

enum { WIDTH = 5, INPUTS = 14 };

typedef struct {
    float w0[WIDTH * INPUTS], b0[WIDTH], w1[2 * WIDTH], b1[2];
} weights;

static void fill(weights *w) {
    mw_rng rng = mw_rng_make(4, MW_RNG_TEST, 9, 0, 0);
    float *values = (float *)w;
    for (size_t i = 0; i < sizeof *w / sizeof(float); i++) values[i] = (float)mw_rng_range(&rng, -0.6, 0.6);
}

static mw_status save_prey(const char *path, const weights *w, const char *task, const char *version,
                           size_t inputs, mw_error *error) {
    const mw_tensor tensors[] = {
        {"prey.0.weight", MW_F32, 2, {WIDTH, inputs}, WIDTH * inputs, w->w0},
        {"prey.0.bias", MW_F32, 1, {WIDTH}, WIDTH, w->b0},
        {"prey.1.weight", MW_F32, 2, {2, WIDTH}, 2 * WIDTH, w->w1},
        {"prey.1.bias", MW_F32, 1, {2}, 2, w->b1},
    };
    const mw_meta metadata[] = {{"task", task}, {"rules", MW_MPE_RULES}, {"version", version}};
    return mw_safetensors_write(path, tensors, 4, metadata, version ? 3 : 2, error);
}

static void prey_network(void **context) {
    (void)context;
    char path[] = "/tmp/mawam-prey-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    weights w;
    fill(&w);
    mw_error error;
    mw_env *env, *plain;
    mw_env_options options;
    mw_env_options_init(&options, sizeof options);
    options.prey_file = path;
    CHECK_OK(save_prey(path, &w, "tag", "v1.2", INPUTS, &error), error);
    CHECK_OK(mw_env_create(&env, "tag", &options, &error), error);
    CHECK_OK(mw_env_create(&plain, "tag", NULL, &error), error);
    assert_non_null(strstr(env->info.rules, "mpe-omar-1+prey-v1.2-"));
    assert_non_null(strstr(plain->info.rules, "mpe-omar-1+prey-v1-"));

    double obs[MW_MPE_MAX_OBS], seen[2];
    for (uint64_t seed = 0; seed < 20; seed++) {
        mw_env_reset(env, seed);
        const mw_mpe_model *model = env->model;
        mw_mpe_observe(model->task, env->state, 3, obs);
        mw_prey_act(model->prey, model->task, env->state, seen);
        double hidden[WIDTH];
        for (int o = 0; o < WIDTH; o++) {
            hidden[o] = w.b0[o];
            for (int i = 0; i < INPUTS; i++) hidden[o] += w.w0[o * INPUTS + i] * obs[i];
            hidden[o] = fmax(hidden[o], 0);
        }
        for (int o = 0; o < 2; o++) {
            double sum = w.b1[o];
            for (int i = 0; i < WIDTH; i++) sum += w.w1[o * WIDTH + i] * hidden[i];
            CHECK_NEAR(seen[o], tanh(sum), 2e-6);
        }
    }
    /* Snapshots do not cross between preys. */
    void *snapshot = malloc(mw_env_snapshot_size(env));
    mw_env_snapshot(env, snapshot);
    CHECK_FAILS(mw_env_restore(plain, snapshot, mw_env_snapshot_size(env), &error), MW_ERR_MISMATCH, error,
                "prey-v1.2");
    free(snapshot);
    mw_env_free(env);
    mw_env_free(plain);

    CHECK_FAILS(mw_env_create(&env, "world", &options, &error), MW_ERR_MISMATCH, error, "is for tag");
    CHECK_FAILS(mw_env_create(&env, "spread", &options, &error), MW_ERR_ARGUMENT, error, "no prey");
    CHECK_OK(save_prey(path, &w, "tag", "v1", INPUTS - 1, &error), error);
    CHECK_FAILS(mw_env_create(&env, "tag", &options, &error), MW_ERR_MISMATCH, error, "[1..512, 14]");
    CHECK_OK(save_prey(path, &w, "tag", "<bad>", INPUTS, &error), error);
    CHECK_FAILS(mw_env_create(&env, "tag", &options, &error), MW_ERR_FORMAT, error, "version");
    CHECK_OK(save_prey(path, &w, "tag", NULL, INPUTS, &error), error);
    CHECK_FAILS(mw_env_create(&env, "tag", &options, &error), MW_ERR_FORMAT, error, "version");
    w.b0[2] = NAN;
    CHECK_OK(save_prey(path, &w, "tag", "v1", INPUTS, &error), error);
    CHECK_FAILS(mw_env_create(&env, "tag", &options, &error), MW_ERR_NUMERIC, error, "not finite");
    options.prey_file = "/nonexistent/prey.safetensors";
    CHECK_FAILS(mw_env_create(&env, "tag", &options, &error), MW_ERR_IO, error, "/nonexistent");
    unlink(path);
}

/* The frozen preys of the library are the files that are shipped, weight for weight. */
static void frozen_prey(void **context) {
    (void)context;
    static const char *const tasks[] = {"tag", "world"};
    for (int k = 0; k < 2; k++) {
        char path[512];
        mw_env *frozen, *file;
        mw_error error;
        mw_env_options options;
        mw_env_options_init(&options, sizeof options);
        snprintf(path, sizeof path, SOURCE_DIR "/behaviors/prey-%s.safetensors", tasks[k]);
        options.prey_file = path;
        CHECK_OK(mw_env_create(&frozen, tasks[k], NULL, &error), error);
        CHECK_OK(mw_env_create(&file, tasks[k], &options, &error), error);
        assert_string_equal(frozen->info.rules, file->info.rules);
        for (uint64_t seed = 0; seed < 20; seed++) {
            double a[2], b[2];
            mw_env_reset(frozen, seed);
            const mw_mpe_model *x = frozen->model, *y = file->model;
            mw_prey_act(x->prey, x->task, frozen->state, a);
            mw_prey_act(y->prey, y->task, frozen->state, b);
            assert_memory_equal(a, b, sizeof a);
        }
        mw_env_free(frozen);
        mw_env_free(file);
    }
}

/* Things can be put elsewhere by hand, by the names they are drawn with. */
static void placed(void **state) {
    (void)state;
    mw_error error;
    mw_env *env;
    mw_shape shapes[16];
    float obs[4 * MW_MPE_MAX_OBS];
    CHECK_OK(mw_env_create(&env, "world", NULL, &error), error);
    const int count = mw_env_draw(env, shapes, 16);
    for (int i = 0; i < count; i++) {
        const float to[2] = {0.1f * (float)i, -0.05f * (float)i};
        mw_shape moved[16];
        CHECK_OK(mw_env_place(env, shapes[i].role, shapes[i].id, to, &error), error);
        mw_env_draw(env, moved, 16);
        for (int k = 0; k < count; k++)
            for (int c = 0; c < 2; c++) assert_true(moved[k].a[c] == (k == i ? to[c] : shapes[k].a[c]));
        memcpy(shapes, moved, sizeof moved);
    }
    mw_env_observe(env, obs);
    assert_true(obs[0] == 0 && obs[1] == 0); /* and stand still */
    const float far[2] = {0, NAN};
    CHECK_FAILS(mw_env_place(env, "agent", 9, far, &error), MW_ERR_ARGUMENT, error, "coordinate 1");
    CHECK_FAILS(mw_env_place(env, "agent", 9, obs, &error), MW_ERR_ARGUMENT, error, "no agent 9");
    CHECK_FAILS(mw_env_place(env, "", 0, obs, &error), MW_ERR_ARGUMENT, error, "there is no");
    mw_env_free(env);
    CHECK_OK(mw_env_create(&env, "3m", NULL, &error), error);
    CHECK_FAILS(mw_env_place(env, "agent", 0, obs, &error), MW_ERR_UNSUPPORTED, error, "by hand");
    mw_env_free(env);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded),       cmocka_unit_test(tampered),        cmocka_unit_test(motion),
        cmocka_unit_test(contact),        cmocka_unit_test(rewards),         cmocka_unit_test(forest_flags),
        cmocka_unit_test(spread_anchors), cmocka_unit_test(pursuit_anchors), cmocka_unit_test(scripted_prey),
        cmocka_unit_test(placed),         cmocka_unit_test(prey_network),    cmocka_unit_test(frozen_prey),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
