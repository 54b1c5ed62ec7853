/* The Ant tasks against recorded steps, the model's derived numbers, the rules recomputed by hand, and the
 * reference returns of an independent implementation. */
#include "check.h"

#ifndef MAWAM_HAVE_MUJOCO

int main(void) {
    puts("skipped: built without MuJoCo (Debian package libmujoco-dev)");
    return 77;
}

#else

#include "env/ant/ant.h"
#include "verify/env.h"

#include <pthread.h>
#include <unistd.h>

static mw_env *make(const char *task) {
    mw_env *env;
    mw_error error;
    CHECK_OK(mw_env_create(&env, task, NULL, &error), error);
    return env;
}

static const mw_ant *world_of(const mw_env *env) {
    return env->model;
}
static mjData *data_of(const mw_env *env) {
    return ((mw_ant_state *)env->state)->data;
}

/* ---- records ---- */

static void show(void *context, const char *check, double error, double tolerance, bool ok) {
    (void)context;
    printf("    %-32s %.3g (tolerance %g)%s\n", check, error, tolerance, ok ? "" : " FAILED");
}

static void recorded_steps(void **state) {
    (void)state;
    mw_verify report = {.line = show};
    mw_error error;
    CHECK_OK(mw_verify_ant(TEST_DATA "/ant", &report, &error), error);
    assert_int_equal(report.checks, 8);
    assert_int_equal(report.failed, 0);
    CHECK_FAILS(mw_verify_ant(TEST_DATA "/nowhere", &report, &error), MW_ERR_IO, error, "qpos.npy");
}

/* ---- the model ---- */

static void derived_numbers(void **state) {
    (void)state;
    mw_env *env = make("2ant");
    const mjModel *m = world_of(env)->physics;
    assert_int_equal(m->nbody, 14);
    assert_int_equal(m->njnt, 9);
    assert_int_equal(m->ngeom, 14);
    /* torso, leg root, upper leg, foot: mass, inertia across (twice) and along, inverse weights */
    static const double expected[4][5] = {{0.32724923474893675, 0.008181230868723419, 0.008181230868723419,
                                           1.1014374991441787, 6.5360402265179038},
                                          {0.039157753728466707, 0.00056796608319280013,
                                           0.00011844189805957145, 1.1804717947906864, 6.5360402265179038},
                                          {0.039157753728466707, 0.00056796608319280013,
                                           0.00011844189805957145, 1.8087762335752948, 6.7621661473321097},
                                          {0.067592204532680264, 0.0026747906600381815,
                                           0.00020943214063305483, 3.9844133285769892, 6.9969784460095843}};
    double total = 0;
    for (int body = 1; body < m->nbody; body++) {
        const double *numbers = expected[body == 1 ? 0 : 1 + (body - 2) % 3];
        CHECK_NEAR(m->body_mass[body], numbers[0], 1e-15);
        CHECK_NEAR(m->body_inertia[3 * body], numbers[1], 1e-16);
        CHECK_NEAR(m->body_inertia[3 * body + 1], numbers[1], 1e-16);
        CHECK_NEAR(m->body_inertia[3 * body + 2], numbers[2], 1e-16);
        CHECK_NEAR(m->body_invweight0[2 * body], numbers[3], 1e-13);
        CHECK_NEAR(m->body_invweight0[2 * body + 1], numbers[4], 1e-13);
        total += m->body_mass[body];
    }
    CHECK_NEAR(total, 0.91088008270739151, 1e-15);
    CHECK_NEAR(m->stat.meaninertia, 0.81259920202315505, 1e-13);
    for (int i = 0; i < MW_ANT_QVEL; i++) {
        double weight = i < 3   ? 1.1014374991441787
                        : i < 6 ? 6.5360402265179038
                                : (i % 2 ? 0.99510243175288637 : 0.98263595597307851);
        CHECK_NEAR(m->dof_invweight0[i], weight, 1e-13);
    }
    mw_env_free(env);
}

/* Effective options, masks and ranges that the derived numbers do not see. */
static void options(void **state) {
    (void)state;
    mw_env *env = make("2ant");
    const mjModel *m = world_of(env)->physics;
    CHECK_NEAR(m->opt.timestep, 0.01, 0);
    assert_int_equal(m->opt.integrator, mjINT_RK4);
    assert_int_equal(m->opt.solver, mjSOL_NEWTON);
    assert_int_equal(m->opt.cone, mjCONE_PYRAMIDAL);
    assert_int_equal(m->opt.disableflags, 0);
    assert_int_equal(m->opt.enableflags, 0);
    for (int geom = 0; geom < m->ngeom; geom++) {
        assert_int_equal(m->geom_contype[geom], 1);
        assert_int_equal(m->geom_conaffinity[geom], geom == 0);
        assert_int_equal(m->geom_condim[geom], 3);
        CHECK_NEAR(m->geom_margin[geom], 0.01, 0);
        CHECK_NEAR(m->geom_friction[3 * geom], 1, 0);
    }
    static const double ankle_low[] = {30, -70, -70, 30};
    for (int leg = 1; leg <= 4; leg++) {
        const double *hip = m->jnt_range + 2 * MW_ANT_HIP(leg), *ankle = m->jnt_range + 2 * MW_ANT_ANKLE(leg);
        CHECK_NEAR(hip[0], -M_PI / 6, 1e-15);
        CHECK_NEAR(hip[1], M_PI / 6, 1e-15);
        CHECK_NEAR(ankle[0], ankle_low[leg - 1] * M_PI / 180, 1e-15);
        CHECK_NEAR(ankle[1], (ankle_low[leg - 1] + 40) * M_PI / 180, 1e-15);
    }
    mw_env_free(env);
}

static void describe(const char *task, int agents, int obs, int act, const int ctrl[4][4]) {
    mw_env *env = make(task);
    const mw_env_info *info = mw_env_describe(env);
    assert_string_equal(info->task, task);
    assert_string_equal(info->family, "ant");
    char rules[64];
    snprintf(rules, sizeof rules, "ant-mujoco-%.3s-1", mj_versionString());
    assert_string_equal(info->rules, rules);
    assert_int_equal(info->agents, agents);
    assert_int_equal(info->obs_size, obs);
    assert_int_equal(info->act_size, act);
    assert_int_equal(info->episode_limit, 1000);
    assert_false(info->discrete);
    for (int agent = 0; agent < agents; agent++)
        for (int i = 0; i < act; i++) assert_int_equal(world_of(env)->layout.ctrl[agent][i], ctrl[agent][i]);
    mw_feature first, second;
    for (int i = 0; i < obs; i++) {
        mw_env_feature(env, i, &first);
        assert_true(*first.name && first.low <= first.high);
        for (int k = 0; k < i; k++) {
            mw_env_feature(env, k, &second);
            assert_string_not_equal(first.name, second.name);
        }
    }
    mw_env_free(env);
}

static void descriptions(void **state) {
    (void)state;
    describe("2ant", 2, 56, 4, (const int[4][4]){{2, 3, 4, 5}, {6, 7, 0, 1}});
    describe("4ant", 4, 37, 2, (const int[4][4]){{2, 3}, {4, 5}, {6, 7}, {0, 1}});
}

/* ---- rules ---- */

static void reset_distribution(void **state) {
    (void)state;
    enum { N = 3000 };
    mw_env *env = make("4ant");
    const double *reference = world_of(env)->physics->qpos0;
    double sum[MW_ANT_QPOS] = {0}, square[MW_ANT_QPOS] = {0}, speed = 0, speed_square = 0, lowest = 0;
    for (int seed = 0; seed < N; seed++) {
        mw_env_reset(env, (uint64_t)seed);
        const mjData *data = data_of(env);
        CHECK_NEAR(mju_norm(data->qpos + 3, 4), 1, 1e-15);
        CHECK_NEAR(((mw_ant_state *)env->state)->torso_x, data->qpos[0], 0);
        for (int i = 0; i < MW_ANT_QPOS; i++) {
            double x = data->qpos[i] - reference[i];
            if (i < 3 || i > 6) assert_true(x >= -0.1 && x < 0.1);
            sum[i] += x;
            square[i] += x * x;
        }
        for (int i = 0; i < MW_ANT_QVEL; i++) {
            speed += data->qvel[i];
            speed_square += data->qvel[i] * data->qvel[i];
        }
        lowest = fmin(lowest, data->qpos[0]);
    }
    assert_true(lowest < -0.095);
    for (int i = 0; i < MW_ANT_QPOS; i++) {
        if (i == 3) continue; /* normalised */
        CHECK_NEAR(sum[i] / N, 0, 5 * 0.0577 / sqrt(N));
        CHECK_NEAR(square[i] / N, 0.01 / 3, 0.0003);
    }
    CHECK_NEAR(speed / (N * MW_ANT_QVEL), 0, 0.5 / sqrt(N * MW_ANT_QVEL));
    CHECK_NEAR(speed_square / (N * MW_ANT_QVEL), 0.01, 0.0004);
    mw_env_free(env);
}

static mw_ant_result from_height(mw_env *env, double z, double vz, const double *quaternion) {
    double qpos[MW_ANT_QPOS] = {0, 0, z}, qvel[MW_ANT_QVEL] = {0, 0, vz}, ctrl[MW_ANT_CTRL] = {0};
    memcpy(qpos + 3, quaternion, 4 * sizeof *quaternion);
    for (int leg = 1; leg <= 4; leg++) qpos[6 + MW_ANT_ANKLE(leg)] = leg == 1 || leg == 4 ? 1 : -1;
    mw_ant_set(env, qpos, qvel, 0);
    return mw_ant_advance(env, ctrl);
}

static void termination(void **state) {
    (void)state;
    static const double upright[] = {1, 0, 0, 0}, on_its_back[] = {0, 1, 0, 0};
    mw_env *env = make("2ant");
    const double *z = data_of(env)->qpos + 2;
    assert_true(from_height(env, 1.1, 0, upright).terminated);
    assert_true(*z > 1.0);
    assert_false(from_height(env, 1.01, -0.5, upright).terminated); /* the new height counts */
    assert_true(*z < 1.0);
    assert_true(from_height(env, 0.2, -20, on_its_back).terminated);
    assert_true(*z < 0.2);
    assert_false(from_height(env, 0.26, 0, on_its_back).terminated); /* orientation does not matter */
    CHECK_NEAR(from_height(env, 1.1, 0, upright).reward, 1, 0.01); /* survival counts on the last step, too */
    mw_env_free(env);
}

/* The torso x of the reward, from its formula: x + h v3 with v3 = v + h/2 a2 in the last sub-step. */
static double stage_four_x(const mjModel *m, mjData *data) {
    const double h = m->opt.timestep;
    for (int i = 0; i < 4; i++) mj_step(m, data);
    mj_forward(m, data);
    double x = data->qpos[0], v = data->qvel[0], half[MW_ANT_QVEL];
    mju_scl(half, data->qvel, 0.5, MW_ANT_QVEL);
    mju_addToScl(data->qvel, data->qacc, 0.5 * h, MW_ANT_QVEL);
    mj_integratePos(m, data->qpos, half, h);
    mj_forward(m, data);
    return x + h * (v + 0.5 * h * data->qacc[0]);
}

static void reward_by_hand(void **state) {
    (void)state;
    mw_env *env = make("4ant");
    mw_error error;
    mw_outcome outcome = {0};
    mw_env_reset(env, 3);
    const mjModel *m = world_of(env)->physics;
    mjData *other = mj_makeData(m);
    double x = data_of(env)->qpos[0], worst = 0, plain = 0;
    for (int t = 0; t < 60 && !outcome.terminated; t++) {
        float real[8], rewards[4];
        CHECK_OK(mw_script_act(env, "random", 5, real, NULL, &error), error);
        static const int ctrl[8] = {2, 3, 4, 5, 6, 7, 0, 1};
        double cost = 0, before = data_of(env)->qpos[0];
        mju_copy(other->qpos, data_of(env)->qpos, MW_ANT_QPOS);
        mju_copy(other->qvel, data_of(env)->qvel, MW_ANT_QVEL);
        mju_copy(other->qacc_warmstart, data_of(env)->qacc_warmstart, MW_ANT_QVEL);
        for (int i = 0; i < 8; i++) {
            other->ctrl[ctrl[i]] = (double)real[i];
            cost += 0.5 * (double)real[i] * (double)real[i];
        }
        double next = stage_four_x(m, other);
        CHECK_OK(mw_env_step(env, (mw_action){.real = real}, rewards, &outcome, &error), error);
        double expected = (next - x) / 0.05 - cost + 1;
        worst = fmax(worst, fabs((double)rewards[0] - expected));
        plain = fmax(plain, fabs((data_of(env)->qpos[0] - before) / 0.05 - cost + 1 - expected));
        for (int agent = 1; agent < 4; agent++) assert_true(rewards[agent] == rewards[0]);
        x = next;
    }
    printf("    reward off by %.2g; with qpos instead it would be %.2g\n", worst, plain);
    assert_true(worst < 2e-6); /* single precision */
    assert_true(plain > 1e-3); /* the test would notice */
    mj_deleteData(other);
    mw_env_free(env);
}

/* ---- returns ---- */

static double play_episodes(const char *task, const char *script, int count, double *length) {
    mw_env *env = make(task);
    mw_error error;
    float obs[MW_ANT_MOST_AGENTS * MW_ANT_MOST_OBS], real[8], rewards[4];
    mw_feature features[MW_ANT_MOST_OBS];
    for (int i = 0; i < env->info.obs_size; i++) mw_env_feature(env, i, &features[i]);
    double sum = 0;
    *length = 0;
    for (int episode = 0; episode < count; episode++) {
        mw_outcome outcome = {0};
        mw_env_reset(env, 100 + (uint64_t)episode);
        while (!outcome.terminated && !outcome.truncated) {
            CHECK_OK(mw_script_act(env, script, (uint64_t)episode, real, NULL, &error), error);
            CHECK_OK(mw_env_step(env, (mw_action){.real = real}, rewards, &outcome, &error), error);
            mw_env_observe(env, obs);
            for (int i = 0; i < env->info.agents * env->info.obs_size; i++) {
                const mw_feature *feature = &features[i % env->info.obs_size];
                if (!((double)obs[i] >= feature->low - 1e-6 && (double)obs[i] <= feature->high + 1e-6))
                    fail_msg("%s is %g, outside of %g .. %g", feature->name, (double)obs[i], feature->low,
                             feature->high);
            }
            sum += (double)rewards[0];
        }
        *length += outcome.step;
    }
    mw_env_free(env);
    *length /= count;
    printf("    %s %s: return %.1f, length %.1f over %d episodes\n", task, script, sum / count, *length,
           count);
    return sum / count;
}

/* An independent implementation on this engine: random -56.5 (std 96.5, 400 episodes), length 164; still
 * 999.6 (std 4.5). */
static void reference_returns(void **state) {
    (void)state;
    double length;
    CHECK_NEAR(play_episodes("2ant", "random", 60, &length), -56.5, 4 * 96.5 * sqrt(1 / 60.0 + 1 / 400.0));
    assert_true(length > 60 && length < 300);
    CHECK_NEAR(play_episodes("4ant", "still", 3, &length), 999.6, 4 * 4.5);
    assert_true(length == 1000);
    assert_true(play_episodes("2ant", "gait", 3, &length) > 2000);
}

/* ---- bits ---- */

typedef struct {
    const char *task;
    uint64_t seed;
    uint64_t hash; /* of all observations and rewards */
} run;

static void mix(uint64_t *hash, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) *hash = (*hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
}

static bool play_some(mw_env *env, uint64_t seed, int steps, uint64_t *hash) {
    double obs[MW_ANT_MOST_AGENTS * MW_ANT_MOST_OBS];
    for (int t = 0; t < steps; t++) {
        float real[8], rewards[4];
        mw_outcome outcome;
        if (mw_script_act(env, "random", seed, real, NULL, NULL) != MW_OK ||
            mw_env_step(env, (mw_action){.real = real}, rewards, &outcome, NULL) != MW_OK)
            return false;
        mw_ant_observe(env, obs);
        mix(hash, obs, (size_t)(env->info.agents * env->info.obs_size) * sizeof *obs);
        mix(hash, rewards, (size_t)env->info.agents * sizeof *rewards);
        if (outcome.terminated || outcome.truncated) mw_env_reset(env, seed++);
    }
    return true;
}

static void snapshots(void **state) {
    (void)state;
    static const char *const tasks[] = {"2ant", "4ant"};
    for (int task = 0; task < 2; task++)
        for (uint64_t seed = 0; seed < 4; seed++) {
            mw_env *env = make(tasks[task]), *twin = make(tasks[task]);
            uint64_t first = 0, second = 0, third = 0, ignored = 0;
            mw_env_reset(env, seed);
            assert_true(play_some(env, seed, 37, &ignored));
            size_t size = mw_env_snapshot_size(env);
            void *bytes = malloc(size);
            mw_env_snapshot(env, bytes);
            assert_true(play_some(env, 9, 80, &first));
            mw_error error;
            CHECK_OK(mw_env_restore(env, bytes, size, &error), error);
            assert_true(play_some(env, 9, 80, &second));
            CHECK_OK(mw_env_restore(twin, bytes, size, &error), error);
            assert_true(play_some(twin, 9, 80, &third));
            assert_true(first == second);
            assert_true(first == third);
            free(bytes);
            mw_env_free(env);
            mw_env_free(twin);
        }
}

static void *play_run(void *context) {
    run *one = context;
    mw_env *env;
    one->hash = 0;
    if (mw_env_create(&env, one->task, NULL, NULL) != MW_OK) return NULL;
    mw_env_reset(env, one->seed);
    if (!play_some(env, one->seed, 300, &one->hash)) one->hash = 0;
    mw_env_free(env);
    return NULL;
}

static void threads(void **state) {
    (void)state;
    run alone[2] = {{"2ant", 1, 0}, {"4ant", 2, 0}}, together[2] = {{"2ant", 1, 0}, {"4ant", 2, 0}};
    for (int i = 0; i < 2; i++) play_run(&alone[i]);
    pthread_t thread[2];
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&thread[i], NULL, play_run, &together[i]), 0);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < 2; i++) {
        assert_true(alone[i].hash != 0);
        assert_true(alone[i].hash == together[i].hash);
    }
    assert_true(alone[0].hash != alone[1].hash);
}

/* ---- trouble ---- */

static int host_warnings;
static void on_host_warning(const char *message) {
    (void)message;
    host_warnings++;
}
static void raise_error(void *context) {
    mju_warning("quiet please");
    mju_error(context);
}

static void engine_errors(void **state) {
    (void)state;
    mju_user_warning = on_host_warning;
    mw_env *env = make("2ant");
    char message[MW_ENGINE_MESSAGE];
    assert_false(mw_engine_run(raise_error, "stack overflow", message));
    assert_string_equal(message, "stack overflow");
    assert_int_equal(host_warnings, 0);
    mju_warning("from the program's own simulation");
    assert_int_equal(host_warnings, 1);

    mw_env_free(env);
}

/* Numbers that the engine cannot integrate end the episode with finite observations and no log file. */
static void breakdown(void **state) {
    (void)state;
    static const double bad[] = {1e11, 1e300, NAN, INFINITY};
    unlink("MUJOCO_LOG.TXT");
    mw_env *env = make("2ant");
    for (int i = 0; i < 4; i++) {
        double qpos[MW_ANT_QPOS] = {0, 0, 0.75, 1}, qvel[MW_ANT_QVEL] = {0}, ctrl[MW_ANT_CTRL] = {0};
        qvel[7] = bad[i];
        mw_ant_set(env, qpos, qvel, 0);
        mw_ant_result result = mw_ant_advance(env, ctrl);
        assert_true(result.terminated);
        CHECK_NEAR(result.reward, 1, 0);
        qvel[7] = 0;
        mw_ant_set(env, qpos, qvel, 0);
        assert_false(mw_ant_advance(env, ctrl).terminated); /* usable again */
    }
    assert_int_not_equal(access("MUJOCO_LOG.TXT", F_OK), 0);
    mw_env_free(env);
}

static void wrong_requests(void **state) {
    (void)state;
    mw_env *env = make("2ant");
    mw_error error;
    float real[8] = {0}, rewards[2], before[112], after[112];
    int32_t index[2] = {0};
    mw_env_observe(env, before);
    CHECK_FAILS(mw_env_step(env, (mw_action){.index = index}, rewards, NULL, &error), MW_ERR_ARGUMENT, error,
                "real");
    real[5] = NAN;
    CHECK_FAILS(mw_env_step(env, (mw_action){.real = real}, rewards, NULL, &error), MW_ERR_ARGUMENT, error,
                "value 1 of agent 1");
    real[5] = 1.5f;
    CHECK_FAILS(mw_env_step(env, (mw_action){.real = real}, rewards, NULL, &error), MW_ERR_ARGUMENT, error,
                "[-1, 1]");
    mw_env_observe(env, after);
    assert_memory_equal(before, after, sizeof before);
    mw_env *other;
    CHECK_FAILS(mw_env_create(&other, "3ant", NULL, &error), MW_ERR_ARGUMENT, error, "2ant");
    mw_env_free(env);
}

/* The hardest controls there are: full torque, reversed at random. */
static void bang_bang(void **state) {
    (void)state;
    mw_env *env = make("4ant");
    mw_error error;
    mw_rng rng = mw_rng_make(1, MW_RNG_TEST, 0, 0, 0);
    mw_outcome outcome;
    for (int t = 0; t < 1500; t++) {
        float real[8], rewards[4], obs[4 * 37];
        for (int i = 0; i < 8; i++) real[i] = mw_rng_below(&rng, 2) ? 1.0f : -1.0f;
        CHECK_OK(mw_env_step(env, (mw_action){.real = real}, rewards, &outcome, &error), error);
        mw_env_observe(env, obs);
        for (int i = 0; i < 4 * 37; i++) assert_true(isfinite(obs[i]));
        if (outcome.terminated || outcome.truncated) mw_env_reset(env, (uint64_t)t);
    }
    mw_env_free(env);
}

/* ---- picture ---- */

static void picture(void **state) {
    (void)state;
    mw_env *env = make("4ant");
    uint64_t ignored = 0;
    mw_env_reset(env, 4);
    assert_true(play_some(env, 4, 20, &ignored));
    mw_shape shapes[20];
    assert_int_equal(mw_env_draw(env, NULL, 0), 14);
    assert_int_equal(mw_env_draw(env, shapes, 20), 14);
    const mjModel *m = world_of(env)->physics;
    mjData *data = mj_makeData(m);
    mju_copy(data->qpos, data_of(env)->qpos, MW_ANT_QPOS);
    mj_kinematics(m, data);
    assert_string_equal(shapes[0].role, "floor");
    for (int geom = 1; geom < 14; geom++) {
        const mw_shape *shape = &shapes[geom];
        const double *centre = data->geom_xpos + 3 * geom, *matrix = data->geom_xmat + 9 * geom;
        assert_string_equal(shape->role, geom == 1 ? "torso" : "leg");
        assert_int_equal(shape->id, geom == 1 ? -1 : (geom - 2) / 3);
        double half = geom == 1 ? 0 : m->geom_size[3 * geom + 1];
        for (int i = 0; i < 3; i++) {
            CHECK_NEAR((double)shape->a[i], centre[i] - half * matrix[3 * i + 2], 1e-6);
            CHECK_NEAR((double)shape->b[i], centre[i] + half * matrix[3 * i + 2], 1e-6);
        }
    }
    mj_deleteData(data);
    mw_env_free(env);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_steps), cmocka_unit_test(derived_numbers),    cmocka_unit_test(options),
        cmocka_unit_test(descriptions),   cmocka_unit_test(reset_distribution), cmocka_unit_test(termination),
        cmocka_unit_test(reward_by_hand), cmocka_unit_test(reference_returns),  cmocka_unit_test(snapshots),
        cmocka_unit_test(threads),        cmocka_unit_test(engine_errors),      cmocka_unit_test(breakdown),
        cmocka_unit_test(wrong_requests), cmocka_unit_test(bang_bang),          cmocka_unit_test(picture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
