/* What must hold for every task of the build, whatever its family: snapshots continue with the same bits, bad
 * input is refused with a message and without effect, batches equal single environments on any number of
 * threads, descriptions are true of what is observed. */
#include "check.h"
#include "env/env.h"

enum { MAX_AGENTS = 32, MAX_VALUES = 1024, MAX_OBS = 8192 };
enum { LONG = 150 }; /* steps of an episode that are enough to see */

/* One joint action in either form. */
typedef struct {
    float real[MAX_VALUES];
    int32_t index[MAX_AGENTS];
} joint;

static mw_action as_action(const mw_env *env, const joint *a) {
    return env->info.discrete ? (mw_action){.index = a->index} : (mw_action){.real = a->real};
}

static void random_joint(const mw_env *env, uint64_t seed, joint *a) {
    mw_error error;
    CHECK_OK(mw_script_act(env, "random", seed, env->info.discrete ? NULL : a->real,
                           env->info.discrete ? a->index : NULL, &error),
             error);
}

static mw_env *create(const char *task) {
    mw_env *env;
    mw_error error;
    CHECK_OK(mw_env_create(&env, task, NULL, &error), error);
    assert_true(env->info.agents <= MAX_AGENTS && env->info.agents * env->info.act_size <= MAX_VALUES &&
                env->info.agents * env->info.obs_size <= MAX_OBS);
    assert_string_equal(env->info.task, task);
    return env;
}

/* Everything a step shows. */
typedef struct {
    float rewards[MAX_AGENTS], obs[MAX_OBS];
    uint8_t legal[MAX_VALUES];
    mw_outcome outcome;
} sight;

/* Plays on with random actions; a finished episode is followed by a reset, so any number of steps can be
 * played. */
static void play(mw_env *env, int steps, uint64_t seed, sight *seen) {
    mw_error error;
    joint action;
    for (int t = 0; t < steps; t++) {
        sight now;
        memset(&now, 0, sizeof now);
        random_joint(env, seed + (uint64_t)t, &action);
        CHECK_OK(mw_env_step(env, as_action(env, &action), now.rewards, &now.outcome, &error), error);
        mw_env_observe(env, now.obs);
        mw_env_legal(env, now.legal);
        if (seen) seen[t] = now;
        if (now.outcome.terminated || now.outcome.truncated) mw_env_reset(env, seed + 1000 + (uint64_t)t);
    }
}

#define FOR_EACH_TASK(task) for (int task##_ = 0; (task = mw_env_task(task##_)); task##_++)

static void snapshots(void **state) {
    (void)state;
    enum { STEPS = 50 };
    sight *first = calloc(STEPS, sizeof *first), *second = calloc(STEPS, sizeof *second);
    const char *task;
    mw_error error;
    FOR_EACH_TASK(task) {
        mw_env *env = create(task), *other = create(task);
        size_t size = mw_env_snapshot_size(env);
        void *snapshot = malloc(size), *again = malloc(size);
        for (int begin = 0; begin < 20; begin += 3) {
            mw_env_reset(env, 77 + (uint64_t)begin);
            play(env, begin, 5, NULL);
            mw_env_snapshot(env, snapshot);
            play(env, STEPS, 11, first);
            CHECK_OK(mw_env_restore(env, snapshot, size, &error), error);
            play(env, STEPS, 11, second);
            if (memcmp(first, second, STEPS * sizeof *first)) fail_msg("%s: differs after restore", task);
            play(other, begin + 7, 99, NULL); /* an environment with another past continues alike */
            CHECK_OK(mw_env_restore(other, snapshot, size, &error), error);
            mw_env_snapshot(other, again);
            if (memcmp(snapshot, again, size)) fail_msg("%s: a restored snapshot is another one", task);
            memset(second, 0, STEPS * sizeof *second);
            play(other, STEPS, 11, second);
            if (memcmp(first, second, STEPS * sizeof *first)) fail_msg("%s: differs in another one", task);
        }
        CHECK_FAILS(mw_env_restore(env, snapshot, size - 1, &error), MW_ERR_MISMATCH, error, "bytes");
        memset(snapshot, 0, 8);
        CHECK_FAILS(mw_env_restore(env, snapshot, size, &error), MW_ERR_FORMAT, error, "not an environment");
        free(snapshot);
        free(again);
        mw_env_free(env);
        mw_env_free(other);
    }
    free(first);
    free(second);
}

enum { BASE = 80 }; /* where the shared state begins in a snapshot: after magic, task and rules */

/* Everything that looks at a state. */
static void use_world(mw_env *env) {
    sight now;
    mw_shape shapes[64];
    mw_error error;
    joint action;
    const char *name;
    mw_env_observe(env, now.obs);
    mw_env_legal(env, now.legal);
    mw_env_draw(env, shapes, 64);
    for (int i = 0; (name = mw_script_name(env->info.task, i)); i++) {
        CHECK_OK(mw_script_act(env, name, 3, env->info.discrete ? NULL : action.real,
                               env->info.discrete ? action.index : NULL, &error),
                 error);
        if (mw_env_step(env, as_action(env, &action), now.rewards, &now.outcome, &error) != MW_OK) return;
    }
}

static void refuse(const char *task, size_t at, const void *value, size_t count, const char *text) {
    mw_env *env = create(task);
    mw_error error;
    size_t size = mw_env_snapshot_size(env);
    unsigned char *bytes = malloc(size), *before = malloc(size), *after = malloc(size);
    mw_env_snapshot(env, before);
    memcpy(bytes, before, size);
    memcpy(bytes + at, value, count);
    CHECK_FAILS(mw_env_restore(env, bytes, size, &error), MW_ERR_FORMAT, error, text);
    mw_env_snapshot(env, after);
    assert_memory_equal(before, after, size); /* refused without effect */
    free(bytes), free(before), free(after);
    mw_env_free(env);
}

/* A snapshot is bytes from outside: what no world of the task can be in is refused. */
static void hostile_snapshots(void **state) {
    (void)state;
    const char *task;
    FOR_EACH_TASK(task) {
        for (uint32_t left = 5; left; left <<= 3) /* overflows to 0 at the end */
            refuse(task, BASE + offsetof(mw_env_base, rng.left), &left, sizeof left, "random stream");
        refuse(task, BASE + offsetof(mw_env_base, outcome.terminated), "\x02", 1, "flag");
        refuse(task, BASE + offsetof(mw_env_base, outcome.truncated), "\xff", 1, "flag");
        refuse(task, BASE + offsetof(mw_env_base, outcome.won), "\x80", 1, "flag");
        refuse(task, BASE + offsetof(mw_env_base, outcome.step), &(int){-1}, sizeof(int), "step -1");
        refuse(task, BASE + offsetof(mw_env_base, outcome.step), &(int){1 << 30}, sizeof(int), "step 10");
        mw_env *env = create(task);
        const int limit = env->info.episode_limit;
        mw_env_free(env);
        refuse(task, BASE + offsetof(mw_env_base, outcome.step), &limit, sizeof(int), "is not cut off at");
        refuse(task, BASE + offsetof(mw_env_base, outcome.truncated), "\x01", 1, "is cut off at step 0");
        refuse(task, BASE + sizeof(mw_env_base), &(double){NAN}, sizeof(double), "nan");
        refuse(task, BASE + sizeof(mw_env_base), &(double){-1e300}, sizeof(double), "-1e+300");
    }
}

/* And whatever is accepted leads nowhere outside of any array. */
static void damaged_snapshots(void **state) {
    (void)state;
    const char *task;
    mw_error error;
    mw_rng rng = mw_rng_make(5, MW_RNG_TEST, 0, 0, 0);
    FOR_EACH_TASK(task) {
        mw_env *env = create(task);
        size_t size = mw_env_snapshot_size(env);
        unsigned char *bytes = malloc(size);
        for (int trial = 0, trials = 400; trial < trials; trial++) {
            mw_env_reset(env, (uint64_t)trial);
            play(env, trial % 3, 5, NULL);
            mw_env_snapshot(env, bytes);
            for (uint32_t n = 1 + mw_rng_below(&rng, 4); n > 0; n--)
                bytes[BASE + mw_rng_below(&rng, (uint32_t)size - BASE)] = (unsigned char)mw_rng_u32(&rng);
            if (mw_env_restore(env, bytes, size, &error) == MW_OK) use_world(env);
        }
        free(bytes);
        mw_env_free(env);
    }
}

/* The step is refused, the message says why, and not one byte of the state has changed. */
static void refused(mw_env *env, mw_action action, const char *text) {
    mw_error error;
    size_t size = mw_env_snapshot_size(env);
    unsigned char *before = malloc(size), *after = malloc(size);
    float rewards[MAX_AGENTS];
    mw_outcome outcome;
    mw_env_snapshot(env, before);
    CHECK_FAILS(mw_env_step(env, action, rewards, &outcome, &error), MW_ERR_ARGUMENT, error, text);
    mw_env_snapshot(env, after);
    assert_memory_equal(before, after, size);
    free(before);
    free(after);
}

static void bad_actions(void **state) {
    (void)state;
    static const float reals[] = {NAN, INFINITY, -INFINITY, 1.0001f, -3e38f};
    static const int32_t indices[] = {-1, INT32_MAX, INT32_MIN};
    const char *task;
    FOR_EACH_TASK(task) {
        mw_env *env = create(task);
        joint good, bad;
        int n = env->info.agents, d = env->info.act_size;
        random_joint(env, 1, &good);
        refused(env, (mw_action){NULL, NULL}, env->info.discrete ? "action.index only" : "action.real only");
        refused(env, (mw_action){good.real, good.index}, "only");
        if (!env->info.discrete)
            for (int k = 0; k < 5; k++) {
                bad = good;
                bad.real[(n * d - 1) / (k + 1)] = reals[k];
                refused(env, as_action(env, &bad), "must be in [-1, 1]");
            }
        if (!env->info.discrete) {
            bad = good;
            bad.real[0] = nextafterf(1, 2);
            refused(env, as_action(env, &bad), "is 1.00000012; it must");
        }
        for (int k = 0; env->info.discrete && k < 3 + d; k++) {
            uint8_t legal[MAX_VALUES];
            bad = good;
            bad.index[n - 1] = k < 3 ? indices[k] : k - 3;
            mw_env_legal(env, legal);
            if (k >= 3 && legal[(n - 1) * d + k - 3]) continue;
            refused(env, as_action(env, &bad), "not legal now; legal:");
        }
        while (!env->base.outcome.terminated && !env->base.outcome.truncated) {
            mw_error error;
            float rewards[MAX_AGENTS];
            random_joint(env, 3, &good);
            CHECK_OK(mw_env_step(env, as_action(env, &good), rewards, NULL, &error), error);
        }
        refused(env, as_action(env, &good), "episode is over");
        mw_env_free(env);
    }
}

static void bad_names(void **state) {
    (void)state;
    mw_error error;
    mw_env *env;
    mw_env_batch *batch;
    float real[MAX_VALUES];
    int32_t index[MAX_AGENTS];
    CHECK_FAILS(mw_env_create(&env, "chess", NULL, &error), MW_ERR_ARGUMENT, error,
                "there is no task 'chess'; known: spread");
    CHECK_FAILS(mw_env_create(&env, NULL, NULL, &error), MW_ERR_ARGUMENT, error, "task is NULL");
    CHECK_FAILS(mw_env_batch_create(&batch, "chess", NULL, 2, 1, &error), MW_ERR_ARGUMENT, error, "chess");
    CHECK_FAILS(mw_env_batch_create(&batch, "spread", NULL, 0, 1, &error), MW_ERR_ARGUMENT, error, "got 0");
    CHECK_FAILS(mw_env_batch_create(&batch, "spread", NULL, 2, -1, &error), MW_ERR_ARGUMENT, error,
                "threads");
    assert_null(mw_script_name("chess", 0));
    const char *task;
    FOR_EACH_TASK(task) {
        env = create(task);
        CHECK_FAILS(mw_script_act(env, "genius", 0, real, index, &error), MW_ERR_ARGUMENT, error,
                    "known: random");
        CHECK_FAILS(mw_script_act(env, "random", 0, NULL, NULL, &error), MW_ERR_ARGUMENT, error, "no room");
        mw_env_free(env);
    }
}

static void scripts_play(void **state) {
    (void)state;
    const char *task, *name;
    FOR_EACH_TASK(task) {
        mw_env *env = create(task);
        for (int i = 0; (name = mw_script_name(task, i)); i++)
            for (uint64_t seed = 0; seed < 3; seed++) {
                joint a;
                float rewards[MAX_AGENTS];
                mw_error error;
                mw_env_reset(env, seed);
                for (int t = 0; t < 60 && !env->base.outcome.terminated && !env->base.outcome.truncated;
                     t++) {
                    CHECK_OK(mw_script_act(env, name, seed, a.real, a.index, &error), error);
                    CHECK_OK(mw_env_step(env, as_action(env, &a), rewards, NULL, &error), error);
                }
            }
        mw_env_free(env);
    }
}

/* Streams that a policy would hardly produce: always one corner, alternating corners, lowest and highest
 * legal action, from many seeds. Everything stays finite and ends within the limit. */
static void extreme_joint(const mw_env *env, int stream, int t, joint *a) {
    int n = env->info.agents, d = env->info.act_size;
    uint8_t legal[MAX_VALUES];
    mw_env_legal(env, legal);
    for (int i = 0; i < n * d; i++) a->real[i] = stream == 0 ? 1 : stream == 1 ? -1 : (t + i) % 2 ? 1 : -1;
    for (int agent = 0; agent < n && env->info.discrete; agent++) {
        int low = 0, high = d - 1;
        while (!legal[agent * d + low]) low++;
        while (!legal[agent * d + high]) high--;
        a->index[agent] = stream == 0 ? low : stream == 1 ? high : (t + agent) % 2 ? low : high;
    }
}

static void adversarial(void **state) {
    (void)state;
    static float obs[MAX_OBS];
    const char *task;
    FOR_EACH_TASK(task) {
        mw_env *env = create(task);
        for (int stream = 0; stream < 3; stream++)
            for (uint64_t seed = 0; seed < 5; seed++) {
                mw_outcome outcome = {0};
                mw_error error;
                mw_env_reset(env, seed);
                for (int t = 0; t < LONG && !outcome.terminated && !outcome.truncated; t++) {
                    joint a;
                    float rewards[MAX_AGENTS];
                    assert_true(t < env->info.episode_limit);
                    extreme_joint(env, stream, t, &a);
                    CHECK_OK(mw_env_step(env, as_action(env, &a), rewards, &outcome, &error), error);
                    mw_env_observe(env, obs);
                    for (int i = 0; i < env->info.agents; i++) assert_true(isfinite(rewards[i]));
                    for (int i = 0; i < env->info.agents * env->info.obs_size; i++)
                        assert_true(isfinite(obs[i]));
                    assert_int_equal(outcome.step, t + 1);
                }
            }
        mw_env_free(env);
    }
}

/* Features have distinct names, and ranges that hold in play. */
static void descriptions(void **state) {
    (void)state;
    static float obs[MAX_OBS];
    const char *task;
    FOR_EACH_TASK(task) {
        mw_env *env = create(task);
        int o = env->info.obs_size;
        mw_feature *features = calloc((size_t)o, sizeof *features);
        for (int i = 0; i < o; i++) {
            mw_env_feature(env, i, &features[i]);
            assert_true(features[i].name[0] && features[i].unit && features[i].low <= features[i].high);
            for (int j = 0; j < i; j++)
                if (!strcmp(features[i].name, features[j].name))
                    fail_msg("%s: features %d and %d are both '%s'", task, j, i, features[i].name);
        }
        for (uint64_t t = 0; t < 300; t++) {
            play(env, 1, t, NULL);
            mw_env_observe(env, obs);
            for (int i = 0; i < env->info.agents * o; i++) {
                const mw_feature *f = &features[i % o];
                if (!(obs[i] >= f->low - 1e-5 && obs[i] <= f->high + 1e-5))
                    fail_msg("%s: %s is %g, outside [%g, %g]", task, f->name, (double)obs[i], f->low,
                             f->high);
            }
        }
        mw_shape shapes[256];
        int count = mw_env_draw(env, shapes, 256);
        assert_true(count > 0 && count <= 256 && mw_env_draw(env, NULL, 0) == count);
        for (int i = 0; i < count; i++)
            assert_true(shapes[i].role && isfinite(shapes[i].a[0] + shapes[i].a[1] + shapes[i].a[2]));
        free(features);
        mw_env_free(env);
    }
}

/* ---- batches ---- */

enum { COUNT = 7, ROUNDS = 40 };

typedef struct {
    float rewards[COUNT * MAX_AGENTS], obs[COUNT * 1024];
    uint8_t legal[COUNT * 300];
    mw_outcome outcomes[COUNT];
} batch_sight;

/* Plays a batch and returns all it showed; finished environments are reset by mask. */
static void play_batch(const char *task, int threads, batch_sight *seen) {
    mw_env_batch *batch;
    mw_error error;
    uint64_t seeds[COUNT];
    uint8_t mask[COUNT];
    CHECK_OK(mw_env_batch_create(&batch, task, NULL, COUNT, threads, &error), error);
    const mw_env_info *info = mw_env_describe(mw_env_batch_get(batch, 0));
    float *real = calloc((size_t)(COUNT * info->agents * info->act_size), sizeof *real);
    int32_t *index = calloc((size_t)(COUNT * info->agents), sizeof *index);
    assert_true(info->agents * info->obs_size <= 1024 && info->agents * info->act_size <= 300);
    for (int i = 0; i < COUNT; i++) seeds[i] = (uint64_t)(100 + i);
    mw_env_batch_reset(batch, seeds, NULL, NULL, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        batch_sight *now = &seen[round];
        CHECK_OK(mw_env_batch_script(batch, "random", seeds, info->discrete ? NULL : real,
                                     info->discrete ? index : NULL, &error),
                 error);
        mw_action action = {info->discrete ? NULL : real, info->discrete ? index : NULL};
        CHECK_OK(mw_env_batch_step(batch, action, now->rewards, now->outcomes, now->obs, now->legal, &error),
                 error);
        for (int i = 0; i < COUNT; i++) mask[i] = now->outcomes[i].terminated || now->outcomes[i].truncated;
        mw_env_batch_reset(batch, round % 2 ? seeds : NULL, mask, now->obs, now->legal); /* the same seeds */
    }
    free(real);
    free(index);
    mw_env_batch_free(batch);
}

static void batch_equals_single(const char *task, int which, const batch_sight *seen) {
    mw_env *env = create(task);
    int n = env->info.agents, o = n * env->info.obs_size, d = n * env->info.act_size;
    uint64_t seed = (uint64_t)(100 + which);
    mw_env_reset(env, seed);
    for (int round = 0; round < ROUNDS; round++) {
        joint a;
        sight now;
        mw_error error;
        random_joint(env, seed, &a);
        CHECK_OK(mw_env_step(env, as_action(env, &a), now.rewards, &now.outcome, &error), error);
        if (now.outcome.terminated || now.outcome.truncated) mw_env_reset(env, seed);
        mw_env_observe(env, now.obs);
        mw_env_legal(env, now.legal);
        assert_memory_equal(now.rewards, seen[round].rewards + which * n, (size_t)n * sizeof(float));
        assert_memory_equal(now.obs, seen[round].obs + which * o, (size_t)o * sizeof(float));
        assert_memory_equal(now.legal, seen[round].legal + which * d, (size_t)d);
        assert_int_equal(now.outcome.step, seen[round].outcomes[which].step);
    }
    mw_env_free(env);
}

static void batches(void **state) {
    (void)state;
    const char *task;
    batch_sight *one = calloc(ROUNDS, sizeof *one), *many = calloc(ROUNDS, sizeof *many);
    FOR_EACH_TASK(task) {
        memset(one, 0, ROUNDS * sizeof *one);
        play_batch(task, 1, one);
        FOR_THREADS(threads) {
            memset(many, 0, ROUNDS * sizeof *many);
            play_batch(task, threads, many);
            if (memcmp(one, many, ROUNDS * sizeof *one))
                fail_msg("%s: %d threads give other bits", task, threads);
        }
        batch_equals_single(task, 0, one);
        batch_equals_single(task, COUNT - 1, one);
    }
    free(one);
    free(many);
}

static void batch_errors(void **state) {
    (void)state;
    mw_env_batch *batch;
    mw_error error;
    float real[6 * 6] = {0}, rewards[6 * 3];
    mw_outcome outcomes[6];
    for (int threads = 1; threads <= 3; threads++) {
        CHECK_OK(mw_env_batch_create(&batch, "spread", NULL, 6, threads, &error), error);
        real[6 * 5] = NAN;
        real[6 * 4 + 2] = 7;
        CHECK_FAILS(
            mw_env_batch_step(batch, (mw_action){.real = real}, rewards, outcomes, NULL, NULL, &error),
            MW_ERR_ARGUMENT, error, "environment 4: spread: action value 0 of agent 1 is 7");
        assert_null(mw_env_batch_get(batch, 6));
        mw_env_batch_free(batch);
    }
}

/* Every task belongs to one family, found by either name; only battles are won. */
static void families(void **state) {
    (void)state;
    const char *task;
    for (int i = 0; (task = mw_env_task(i)); i++) {
        mw_env *env;
        mw_error error;
        CHECK_OK(mw_env_create(&env, task, NULL, &error), error);
        const mw_family *family = mw_family_of(task);
        assert_non_null(family);
        assert_string_equal(mw_env_describe(env)->family, family->name);
        assert_ptr_equal(mw_family_find(family->name), family);
        assert_int_equal(family->counts_wins, !strcmp(family->name, "battle"));
        mw_env_free(env);
    }
    for (int f = 0; f < MW_FAMILIES; f++) {
        const mw_family *family = mw_family_at(f);
        assert_true(family->episodes > 0 && family->study_episodes >= family->episodes);
        assert_true(family->format[0] == '%' && family->signed_format[1] == '+');
    }
    assert_null(mw_family_at(-1));
    assert_null(mw_family_at(MW_FAMILIES));
    assert_null(mw_family_find("3m"));
    assert_null(mw_family_find(NULL));
    assert_null(mw_family_of("battle"));
    assert_string_equal(mw_family_of("4ant")->name, "ant"); /* also without the engine */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(families),          cmocka_unit_test(snapshots),
        cmocka_unit_test(hostile_snapshots), cmocka_unit_test(damaged_snapshots),
        cmocka_unit_test(bad_actions),       cmocka_unit_test(bad_names),
        cmocka_unit_test(scripts_play),      cmocka_unit_test(adversarial),
        cmocka_unit_test(descriptions),      cmocka_unit_test(batches),
        cmocka_unit_test(batch_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
