/* The learner as a whole: independence of threads, resuming, what it hands out, and that it learns. */
#include "scratch.h"

#include "behavior/behavior.h"
#include "behavior/play.h"
#include "behavior/learn/prey_game.h"
#include "behavior/learn/train.h"
#include "core/tensor/safetensors.h"

static mw_learn_preset tiny(const char *task) {
    mw_learn_preset preset = *mw_learn_preset_find(task);
    preset.hidden = 16;
    preset.critic_hidden = 16;
    preset.envs = 12;
    preset.horizon = 30; /* more than an episode of the particle tasks, so that limits cut inside */
    preset.batches = 3;
    preset.epochs = 2;
    preset.snapshots = 4;
    preset.steps = 12 * 30 * 6;
    return preset;
}

static mw_learner *learner_of(const mw_learn_preset *preset, const mw_task_game *task, int threads) {
    mw_learner *learner;
    mw_error error;
    mw_game game = mw_game_of_task(task);
    CHECK_OK(mw_learner_create(&learner, preset, &game, 7, threads, &error), error);
    return learner;
}

static void iterate(mw_learner *learner, int count, mw_learn_report *report) {
    mw_error error;
    for (int i = 0; i < count; i++) CHECK_OK(mw_learner_iterate(learner, report, &error), error);
}

/* Checkpoints hold everything, so equal files mean equal learners. */
static bool same_files(const char *a, const char *b) {
    mw_map x, y;
    mw_error error;
    CHECK_OK(mw_map_open(&x, a, &error), error);
    CHECK_OK(mw_map_open(&y, b, &error), error);
    bool same = x.size == y.size && !memcmp(x.data, y.data, x.size);
    mw_map_close(&x);
    mw_map_close(&y);
    return same;
}

static void threads_and_resume(void **state) {
    (void)state;
    static const char *const tasks[] = {"spread", "3m"};
    for (int k = 0; k < 2; k++) {
        mw_learn_preset preset = tiny(tasks[k]);
        mw_task_game task = {tasks[k], NULL};
        mw_error error;
        mw_learn_report one_report, three_report;
        mw_learner *one = learner_of(&preset, &task, 1), *three = learner_of(&preset, &task, 3);
        iterate(one, 2, &one_report);
        CHECK_OK(mw_learner_save(one, scratch("half"), &error), error);
        iterate(one, 2, &one_report);
        iterate(three, 4, &three_report);
        CHECK_OK(mw_learner_save(one, scratch("one"), &error), error);
        CHECK_OK(mw_learner_save(three, scratch("three"), &error), error);
        assert_true(same_files(scratch("one"), scratch("three")));
        assert_memory_equal(&one_report, &three_report, sizeof one_report);
        assert_true(one_report.episodes > 0);
        mw_learner_free(three);

        mw_learner *resumed = learner_of(&preset, &task, 2);
        CHECK_OK(mw_learner_load(resumed, scratch("half"), &error), error);
        assert_int_equal(mw_learner_iteration(resumed), 2);
        assert_false(same_files(scratch("half"), scratch("one")));
        iterate(resumed, 2, &three_report);
        CHECK_OK(mw_learner_save(resumed, scratch("resumed"), &error), error);
        assert_true(same_files(scratch("one"), scratch("resumed")));
        mw_learner_free(resumed);
        mw_learner_free(one);
    }
}

static void wrong_checkpoints(void **state) {
    (void)state;
    mw_learn_preset preset = tiny("spread"), other = preset;
    mw_task_game task = {"spread", NULL};
    mw_error error;
    mw_learner *learner = learner_of(&preset, &task, 1), *second;
    CHECK_OK(mw_learner_save(learner, scratch("state"), &error), error);
    other.gamma = 0.5f;
    second = learner_of(&other, &task, 1);
    CHECK_FAILS(mw_learner_load(second, scratch("state"), &error), MW_ERR_MISMATCH, error, "another preset");
    mw_learner_free(second);
    mw_game game = mw_game_of_task(&task);
    CHECK_OK(mw_learner_create(&second, &preset, &game, 8, 1, &error), error);
    CHECK_FAILS(mw_learner_load(second, scratch("state"), &error), MW_ERR_MISMATCH, error, "seed 7");
    CHECK_FAILS(mw_learner_load(second, scratch("nothing"), &error), MW_ERR_IO, error, "nothing");
    mw_learner_free(second);
    mw_learner_free(learner);
    CHECK_FAILS(mw_learn_preset_set(&preset, "gama=1", &error), MW_ERR_ARGUMENT, error, "gamma");
    CHECK_FAILS(mw_learn_preset_set(&preset, "envs=0.5", &error), MW_ERR_ARGUMENT, error, "envs");
    CHECK_OK(mw_learn_preset_set(&preset, "rate=0.25", &error), error);
    assert_true(preset.rate == 0.25f);
}

/* Gives a checkpoint that was changed by hand the checksum that belongs to it. */
static void seal(unsigned char *bytes, size_t size) {
    mw_error error;
    mw_safetensors file;
    uint64_t hash = MW_HASH_START;
    char sum[17];
    CHECK_OK(mw_safetensors_read(&file, mw_map_over(bytes, size), "damaged", &error), error);
    for (size_t i = 0; i < file.metadata_count; i++) {
        const mw_meta *meta = &file.metadata[i];
        if (!strcmp(meta->key, "checksum")) continue;
        hash = mw_hash(hash, meta->key, strlen(meta->key) + 1);
        hash = mw_hash(hash, meta->value, strlen(meta->value) + 1);
    }
    hash = mw_tensors_hash(hash, file.tensors, file.tensor_count);
    unsigned char *at = memmem(bytes, size, mw_safetensors_meta(&file, "checksum"), 16);
    assert_non_null(at);
    snprintf(sum, sizeof sum, "%016llx", (unsigned long long)hash);
    mw_safetensors_close(&file);
    memcpy(at, sum, 16);
}

/* Writes a changed checkpoint and expects that the learner does not take it. */
static void refuse(const mw_learn_preset *preset, const unsigned char *file, size_t size, const char *text) {
    mw_task_game task = {preset->task, NULL};
    mw_error error;
    scratch_write(scratch("damaged"), file, size);
    mw_learner *learner = learner_of(preset, &task, 1);
    mw_status status = mw_learner_load(learner, scratch("damaged"), &error);
    if (status == MW_OK || !strstr(error.message, text))
        fail_msg("%s: '%s' lacks '%s'", preset->task, status ? error.message : "accepted", text);
    mw_learner_free(learner);
}

/* Replaces bytes of the first world and makes the checksum right again. */
static void refuse_world(const mw_learn_preset *preset, size_t offset, const void *bytes, size_t count,
                         const char *text) {
    static _Alignas(16) unsigned char file[1 << 20];
    size_t size = scratch_read(scratch("state"), file, sizeof file);
    unsigned char *at = memmem(file, size, "mawamenv", 8);
    assert_non_null(at);
    memcpy(at + offset, bytes, count);
    seal(file, size);
    refuse(preset, file, size, text);
}

/* One bit of the file's data, which leaves a number that could be one, or of the texts before them. */
static void refuse_flipped_bits(const mw_learn_preset *preset) {
    static unsigned char file[1 << 20];
    size_t size = scratch_read(scratch("state"), file, sizeof file);
    uint64_t header;
    memcpy(&header, file, sizeof header);
    unsigned char *places[] = {file + 8 + header, file + 8 + header + (size - 8 - header) / 2,
                               (unsigned char *)memmem(file, size, "adam_step", 9) + 12};
    for (int i = 0; i < 3; i++) {
        *places[i] ^= 1;
        refuse(preset, file, size, "is damaged: its checksum is not");
        *places[i] ^= 1;
    }
}

/* The worlds in a checkpoint are snapshots; their bytes are not to be trusted either. */
static void hostile_checkpoints(void **state) {
    (void)state;
    const size_t base = 80, left = base + 8 + 40, flags = base + 56; /* as env.c lays a snapshot out */
    for (int k = 0; k < 2; k++) {
        mw_learn_preset preset = tiny(k ? "3m" : "spread");
        mw_task_game task = {preset.task, NULL};
        mw_error error;
        mw_learner *learner = learner_of(&preset, &task, 1);
        CHECK_OK(mw_learner_save(learner, scratch("state"), &error), error);
        mw_learner_free(learner);
        refuse_flipped_bits(&preset);
        refuse_world(&preset, left, &(uint32_t){0x80000000u}, 4, "damaged: world 0: ");
        refuse_world(&preset, flags, "\x55", 1, "flag");
        refuse_world(&preset, base + 72, &(double){INFINITY}, 8, "inf");
    }
}

/* A behaviour file gives back the policy: normalisation folded in, weights rounded to halves once. */
static void behavior_files(void **state) {
    (void)state;
    mw_learn_preset preset = tiny("3m");
    mw_task_game task = {"3m", NULL};
    mw_error error;
    mw_learn_report report;
    mw_learner *learner = learner_of(&preset, &task, 1);
    iterate(learner, 3, &report);
    mw_actor actor;
    CHECK_OK(mw_learner_actor(learner, &actor, &error), error);
    static mw_behavior saved, loaded;
    saved = (mw_behavior){.task = "3m", .rules = "r", .quality = "good", .origin = "test", .noise = 0.125f};
    CHECK_OK(mw_behavior_add(&saved, &actor, 10, &error), error);
    CHECK_OK(mw_behavior_add(&saved, &actor, 20, &error), error);
    CHECK_OK(mw_behavior_save(&saved, scratch("b"), &error), error);
    CHECK_OK(mw_behavior_load(&loaded, scratch("b"), &error), error);
    assert_int_equal(loaded.count, 2);
    assert_true(loaded.steps[1] == 20 && loaded.noise == 0.125f);
    assert_string_equal(loaded.task, "3m");
    double largest = 0;
    for (size_t i = 0; i < actor.params.total; i++) {
        float a = actor.values[i], b = loaded.actor[1].values[i];
        largest = fmax(largest, fabs((double)(a - b)) / fmax(fabs((double)a), 1e-4));
    }
    print_message("largest relative change of a weight: %.2g\n", largest);
    assert_true(largest < 6e-4); /* half a unit in the last of 11 bits */
    CHECK_OK(mw_behavior_save(&loaded, scratch("c"), &error), error);
    assert_true(same_files(scratch("b"), scratch("c")));
    CHECK_FAILS(mw_behavior_check(&loaded, mw_learner_world(learner), "b", &error), MW_ERR_MISMATCH, error,
                "rules r");
    unsigned char junk[64] = {0};
    scratch_write(scratch("junk"), junk, sizeof junk);
    static mw_behavior none;
    assert_int_not_equal(mw_behavior_load(&none, scratch("junk"), &error), MW_OK);
    assert_int_equal(none.count, 0);
    mw_behavior_free(&saved);
    mw_behavior_free(&loaded);
    mw_actor_free(&actor);
    mw_learner_free(learner);
}

/* The prey's game: learns, and its file becomes a prey of the world. */
static void prey_game(void **state) {
    (void)state;
    mw_learn_preset hunt = tiny("tag"), flight = tiny("tag-prey");
    mw_task_game task = {"tag", NULL};
    mw_error error;
    mw_learn_report report;
    mw_actor actor;
    static mw_behavior pack;
    mw_learner *predators = learner_of(&hunt, &task, 1), *prey;
    iterate(predators, 1, &report);
    CHECK_OK(mw_learner_actor(predators, &actor, &error), error);
    pack = (mw_behavior){.noise = 0.1f};
    CHECK_OK(mw_behavior_add(&pack, &actor, 0, &error), error);
    mw_actor_free(&actor);
    mw_prey_game flight_game = {.task = mw_mpe_find("tag"), .opponents = {&pack}, .count = 1};
    mw_game game = mw_game_of_prey(&flight_game);
    CHECK_OK(mw_learner_create(&prey, &flight, &game, 1, 2, &error), error);
    iterate(prey, 2, &report);
    CHECK_OK(mw_learner_actor(prey, &actor, &error), error);
    CHECK_OK(mw_prey_export(&actor, "tag", "t1", scratch("prey"), &error), error);
    mw_env *env;
    mw_env_options options;
    mw_env_options_init(&options, sizeof options);
    options.prey_file = scratch("prey");
    CHECK_OK(mw_env_create(&env, "tag", &options, &error), error);
    const mw_mpe_model *model = env->model;
    mw_actor_work work;
    CHECK_OK(mw_actor_work_create(&work, &actor.shape, 1, &error), error);
    for (uint64_t seed = 0; seed < 5; seed++) {
        double features[MW_MPE_MAX_OBS], action[2];
        float obs[MW_MPE_MAX_OBS];
        mw_env_reset(env, seed);
        int count = mw_mpe_observe(model->task, env->state, 3, features);
        for (int f = 0; f < count; f++) obs[f] = (float)features[f];
        mw_prey_act(model->prey, model->task, env->state, action);
        const float *out = mw_actor_forward(&actor, &work, obs, 1);
        for (int c = 0; c < 2; c++) CHECK_NEAR(action[c], tanh((double)out[c]), 5e-3); /* halves */
    }
    mw_actor_work_free(&work);
    mw_env_free(env);
    mw_actor_free(&actor);
    mw_behavior_free(&pack);
    mw_learner_free(predators);
    mw_learner_free(prey);
}

/* The prey's game goes on from a snapshot, unless it names predators that are not there. */
static void prey_snapshots(void **state) {
    (void)state;
    unsigned char snapshot[4096];
    mw_error error;
    mw_env *env;
    mw_actor actor;
    static mw_behavior pack;
    mw_learn_preset hunt = tiny("tag");
    mw_task_game task = {"tag", NULL};
    mw_learner *predators = learner_of(&hunt, &task, 1);
    CHECK_OK(mw_learner_actor(predators, &actor, &error), error);
    mw_learner_free(predators);
    CHECK_OK(mw_behavior_add(&pack, &actor, 0, &error), error);
    mw_actor_free(&actor);
    mw_prey_game flight = {.task = mw_mpe_find("tag"), .opponents = {&pack}, .count = 1};
    mw_game game = mw_game_of_prey(&flight);
    CHECK_OK(game.create(&env, game.context, &error), error);
    const size_t size = mw_env_snapshot_size(env);
    assert_true(size <= sizeof snapshot);
    mw_env_reset(env, 1);
    mw_env_snapshot(env, snapshot);
    CHECK_OK(mw_env_restore(env, snapshot, size, &error), error);
    const int32_t others[] = {-1, 1};
    for (int i = 0; i < 2; i++) {
        memcpy(snapshot + size - 8, &others[i], 4); /* the opponent, at the end of the state */
        CHECK_FAILS(mw_env_restore(env, snapshot, size, &error), MW_ERR_FORMAT, error, "opponent");
    }
    mw_env_free(env);
    mw_behavior_free(&pack);
}

/* Some seconds of spread: far above random play (160) and above an untrained policy. Sanitizers make it
 * minutes, for nothing that the short runs above do not show. */
static void learns_spread(void **state) {
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip();
#endif
    mw_learn_preset preset = *mw_learn_preset_find("spread");
    preset.steps = 3e5f;
    mw_task_game task = {"spread", NULL};
    mw_learn_report report;
    mw_learner *learner = learner_of(&preset, &task, 0);
    iterate(learner, 1, &report);
    const double first = report.episode_return;
    iterate(learner, 46, &report);
    print_message("return %.1f -> %.1f after %.0f steps\n", first, report.episode_return, report.steps);
    assert_true(first < 200);
    assert_true(report.episode_return > 270);
    mw_learner_free(learner);
}

/* Imitating a script that covers the landmarks brings the policy near it without any reward. */
static void imitates(void **state) {
    (void)state;
    static mw_behavior student;
    mw_learn_preset preset = *mw_learn_preset_find("spread");
    snprintf(preset.teacher, sizeof preset.teacher, "greedy");
    preset.envs = 64;
    preset.batches = 8;
    preset.imitate_rate = 2e-3f;
    preset.steps = preset.imitate = 64 * 25 * 30;
    mw_task_game task = {"spread", NULL};
    mw_error error;
    mw_learn_report report;
    mw_actor actor;
    mw_measure m;
    mw_learner *learner = learner_of(&preset, &task, 2);
    iterate(learner, 30, &report);
    CHECK_OK(mw_learner_actor(learner, &actor, &error), error);
    student = (mw_behavior){.task = "spread", .rules = "mpe-omar-1"};
    CHECK_OK(mw_behavior_add(&student, &actor, 0, &error), error);
    CHECK_OK(mw_behavior_measure("spread", NULL, &student, 1, 200, 1, &m, &error), error);
    print_message("teacher with noise %.1f, student %.1f\n", report.episode_return, m.mean);
    assert_true(m.mean > 300);
    mw_behavior_free(&student);
    mw_actor_free(&actor);
    mw_learner_free(learner);
    mw_task_game battle = {"3m", NULL};
    mw_game game = mw_game_of_task(&battle);
    CHECK_FAILS(mw_learner_create(&learner, &preset, &game, 0, 1, &error), MW_ERR_UNSUPPORTED, error,
                "real actions");
}

/* A run in a folder: stopped and resumed it ends with the same files. */
static volatile sig_atomic_t stop_now;

static void stop_at_third(void *context, const mw_learn_report *report, double seconds, long iterations) {
    (void)context, (void)seconds, (void)iterations;
    if (report->iteration == 3) stop_now = 1;
}

static void stopped_run(void **state) {
    (void)state;
    mw_learn_preset preset = tiny("spread");
    mw_error error;
    const char *whole = scratch("whole"), *parts = scratch("parts");
    char command[1000];
    mw_learn_options options;
    mw_learn_options_init(&options, sizeof options);
    options.preset = &preset;
    options.threads = 1;
    CHECK_OK(mw_behavior_learn("spread", whole, &options, &error), error);
    options.stop = &stop_now;
    options.report = stop_at_third;
    CHECK_FAILS(mw_behavior_learn("spread", parts, &options, &error), MW_ERR_INTERRUPTED, error, "'resume'");
    stop_now = 0;
    CHECK_FAILS(mw_behavior_learn("spread", parts, &options, &error), MW_ERR_ARGUMENT, error,
                "already holds a run");
    mw_learn_preset other = preset; /* the checkpoint knows better */
    other.rate = 0.5f;
    options.preset = &other;
    options.seed = 99;
    options.resume = true;
    options.threads = 2;
    CHECK_OK(mw_behavior_learn("spread", parts, &options, &error), error);
    const char *const names[] = {"state.safetensors", "snapshots/000000000000.safetensors",
                                 "snapshots/000000002160.safetensors"};
    for (int i = 0; i < 3; i++) {
        char a[500], b[500];
        snprintf(a, sizeof a, "%s/%s", whole, names[i]);
        snprintf(b, sizeof b, "%s/%s", parts, names[i]);
        assert_true(same_files(a, b));
    }
    snprintf(command, sizeof command, "test $(wc -l < %s/curve.jsonl) = 6 && test -s %s/curve.svg", parts,
             parts);
    assert_int_equal(system(command), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_resume),
        cmocka_unit_test(wrong_checkpoints),
        cmocka_unit_test(hostile_checkpoints),
        cmocka_unit_test(behavior_files),
        cmocka_unit_test(prey_game),
        cmocka_unit_test(prey_snapshots),
        cmocka_unit_test(stopped_run),
        cmocka_unit_test(learns_spread),
        cmocka_unit_test(imitates),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
