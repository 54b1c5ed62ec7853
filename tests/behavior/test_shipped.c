/* The shipped behaviours against the tiers they stand for, and the datasets made with them: same bits for a
 * seed on any number of threads, provenance, behaviours of other worlds refused. */
#include "scratch.h"

#include "behavior/play.h"
#include "core/file.h"

#define FOLDER SOURCE_DIR "/behaviors"

/* Short evaluations are noisy; a tier may be missed by three standard errors. */
static void check_tier(const mw_setting *s, int episodes) {
    static mw_behavior behavior;
    mw_error error;
    mw_measure m;
    char path[512], name[64];
    const bool has_file = s->kind != MW_TIER_RANDOM;
    mw_setting_name(s, name, sizeof name);
    if (has_file) {
        CHECK_OK(mw_behavior_path(path, sizeof path, FOLDER, s, &error), error);
        CHECK_OK(mw_behavior_load(&behavior, path, &error), error);
        assert_string_equal(behavior.task, s->task);
        assert_string_equal(behavior.quality, s->quality);
        assert_true(behavior.noise == s->noise);
        assert_int_equal(behavior.count > 1, s->kind == MW_TIER_LADDER);
    }
    CHECK_OK(mw_behavior_measure(s->task, NULL, has_file ? &behavior : NULL, 5, episodes, 0, &m, &error),
             error);
    const double slack = 3 * m.std / sqrt(episodes), score = mw_score(s->task, m.mean);
    const double allowed = fabs(mw_score(s->task, m.mean + slack) - score);
    print_message("%-22s return %9.2f +- %.2f, score %8.1f, wins %.2f\n", name, m.mean, slack / 3, score,
                  m.win_rate);
    if (!(score > s->low - allowed && score < s->high + allowed))
        fail_msg("%s: score %.1f, wanted %g to %g", name, score, s->low, s->high);
    const double win_error = 3 * sqrt(m.win_rate * (1 - m.win_rate) / episodes);
    assert_true(m.win_rate >= s->least_wins - win_error);
    if (has_file) mw_behavior_free(&behavior);
}

/* All policies of a ladder play equally often, however few episodes are asked for; behaviours of another
 * world are not measured in this one. */
static void ladders(void **state) {
    (void)state;
    static mw_behavior behavior;
    mw_error error;
    mw_measure m;
    const mw_setting *s;
    char path[512];
    CHECK_OK(mw_setting_find(&s, "spread-medium-replay", &error), error);
    CHECK_OK(mw_behavior_path(path, sizeof path, FOLDER, s, &error), error);
    CHECK_OK(mw_behavior_load(&behavior, path, &error), error);
    CHECK_OK(mw_behavior_measure("spread", NULL, &behavior, 5, 20, 1, &m, &error), error);
    assert_true(m.episodes >= 20 && m.episodes % behavior.count == 0);
    strcpy(behavior.rules, "mpe-omar-9");
    CHECK_FAILS(mw_behavior_measure("spread", NULL, &behavior, 5, 20, 1, &m, &error), MW_ERR_MISMATCH, error,
                "made under rules mpe-omar-9");
    mw_behavior_free(&behavior);
}

static void tiers_of(const char *family) {
    const mw_setting *s;
    for (int i = 0; (s = mw_setting_at(i)); i++) {
        mw_env *env;
        mw_error error;
        if (mw_env_create(&env, s->task, NULL, &error) != MW_OK) continue; /* a build without MuJoCo */
        const bool wanted = !strcmp(mw_env_describe(env)->family, family);
        mw_env_free(env);
        if (wanted) check_tier(s, !strcmp(family, "ant") ? 16 : 400);
    }
}

static void particle_tiers(void **state) {
    (void)state;
    tiers_of("mpe");
}
static void battle_tiers(void **state) {
    (void)state;
    tiers_of("battle");
}
static void ant_tiers(void **state) {
    (void)state;
    tiers_of("ant");
}

/* ---- datasets ---- */

static mw_status make(const char *setting, const char *folder, uint64_t seed, int threads, mw_error *error) {
    mw_make_result result;
    mw_make_options options;
    mw_make_options_init(&options, sizeof options);
    options.behaviors = FOLDER;
    options.transitions = 1200;
    options.seed = seed;
    options.threads = threads;
    options.command = "test";
    return mw_dataset_make(setting, folder, &options, &result, error);
}

static bool same_data(const mw_dataset *a, const mw_dataset *b) {
    const size_t rows = (size_t)(a->steps * a->spec.agents);
    return a->steps == b->steps && a->episodes == b->episodes &&
           !memcmp(a->obs, b->obs, rows * (size_t)a->spec.obs_size * sizeof(float)) &&
           !memcmp(a->rewards, b->rewards, rows * sizeof(float)) &&
           (a->real ? !memcmp(a->real, b->real, rows * (size_t)a->spec.act_size * sizeof(float))
                    : !memcmp(a->index, b->index, rows * sizeof(int32_t)));
}

static void datasets(void **state) {
    (void)state;
    static const char *const names[] = {"spread-medium-replay", "tag-random", "3m-medium"};
    char folder[3][500];
    for (int k = 0; k < 3; k++) {
        mw_error error;
        mw_dataset data[3];
        for (int i = 0; i < 3; i++) {
            snprintf(folder[i], sizeof folder[i], "%s/%d-%d", scratch_folder, k, i);
            CHECK_OK(make(names[k], folder[i], i < 2 ? 11 : 12, i == 1 ? 3 : 1, &error), error);
            CHECK_OK(mw_dataset_open(&data[i], folder[i], &error), error);
            CHECK_OK(mw_dataset_check(&data[i], &error), error);
        }
        assert_true(same_data(&data[0], &data[1]));
        assert_false(same_data(&data[0], &data[2]));
        assert_true(data[0].steps >= 1200);
        assert_int_equal(data[0].spec.source_count, 1);
        assert_int_equal(data[0].spec.sources[0].episodes, data[0].episodes);
        assert_int_equal(data[0].spec.sources[0].checksum != 0, k != 1);
        mw_env *env;
        CHECK_OK(mw_env_create(&env, data[0].spec.task, NULL, &error), error);
        CHECK_OK(mw_dataset_expect(&data[0], mw_env_describe(env), &error), error);
        mw_env_free(env);
        for (int i = 0; i < 3; i++) mw_dataset_close(&data[i]);
    }
}

/* Replaying the recorded actions in the world gives the recorded observations and rewards. */
static void replayed(void **state) {
    (void)state;
    static mw_behavior behavior;
    mw_error error;
    mw_player *player;
    const mw_played *played;
    CHECK_OK(mw_behavior_load(&behavior, FOLDER "/3m-good.safetensors", &error), error);
    CHECK_OK(mw_player_create(&player, "3m", NULL, &behavior, 3, 2, true, &error), error);
    CHECK_OK(mw_player_next(player, &played, &error), error);
    const mw_env_info *info = mw_player_world(player);
    mw_env *env;
    CHECK_OK(mw_env_create(&env, "3m", NULL, &error), error);
    for (int k = 0; k < 4; k++) {
        const mw_episode *e = &played[k].episode;
        const size_t joint = (size_t)(info->agents * info->obs_size);
        float obs[512], rewards[8];
        mw_outcome outcome = {0};
        mw_rng rng = mw_rng_make(3, MW_RNG_COLLECT, (uint64_t)k, 0, 0);
        mw_env_reset(env, mw_rng_u64(&rng));
        for (long t = 0; t < e->length; t++) {
            mw_env_observe(env, obs);
            assert_memory_equal(obs, e->obs + (size_t)t * joint, joint * sizeof *obs);
            mw_action action = {.index = e->index + t * info->agents};
            CHECK_OK(mw_env_step(env, action, rewards, &outcome, &error), error);
            assert_memory_equal(rewards, e->rewards + t * info->agents,
                                (size_t)info->agents * sizeof *rewards);
        }
        mw_env_observe(env, obs);
        assert_memory_equal(obs, e->last_obs, joint * sizeof *obs);
        assert_int_equal(outcome.won, e->outcome == MW_ENDED_BY_VICTORY);
        assert_true(outcome.terminated || outcome.truncated);
    }
    mw_env_free(env);
    mw_player_free(player);
    mw_behavior_free(&behavior);
}

static void refusals(void **state) {
    (void)state;
    mw_error error;
    const mw_setting *setting;
    char path[256];
    CHECK_FAILS(mw_setting_find(&setting, "spread-good", &error), MW_ERR_ARGUMENT, error, "spread-good");
    CHECK_OK(mw_setting_find(&setting, "tag-medium", &error), error);
    CHECK_FAILS(mw_behavior_path(path, sizeof path, "/nonexistent", setting, &error), MW_ERR_IO, error,
                "tag-medium.safetensors");
    /* The same task with another prey is another world. */
    mw_env_options world;
    mw_env_options_init(&world, sizeof world);
    world.prey_file = "script";
    mw_make_result result;
    mw_make_options options;
    mw_make_options_init(&options, sizeof options);
    options.behaviors = FOLDER;
    options.world = &world;
    options.transitions = 100;
    options.threads = 1;
    CHECK_FAILS(mw_dataset_make("tag-medium", scratch("other"), &options, &result, &error), MW_ERR_MISMATCH,
                error, "prey-script");
    assert_false(mw_file_exists(scratch("other")));
}

/* Small enough to live in the repository. */
static void sizes(void **state) {
    (void)state;
    double total = 0;
    DIR *folder = opendir(FOLDER);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[512];
        struct stat status;
        snprintf(path, sizeof path, FOLDER "/%.200s", entry->d_name);
        if (stat(path, &status) == 0 && S_ISREG(status.st_mode)) total += (double)status.st_size;
    }
    closedir(folder);
    print_message("%.2f MB of behaviours\n", total / 1e6);
    assert_true(total < 15e6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ladders),   cmocka_unit_test(particle_tiers), cmocka_unit_test(battle_tiers),
        cmocka_unit_test(ant_tiers), cmocka_unit_test(datasets),       cmocka_unit_test(replayed),
        cmocka_unit_test(refusals),  cmocka_unit_test(sizes),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
