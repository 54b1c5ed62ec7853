/* The data commands, run as a user runs them: exit codes, help, messages, and files that parse. */
#include "dataset/fixture.h"
#include "program.h"

#include <jansson.h>

static void test_help(void **state) {
    (void)state;
    program_expect(0, "data --help", "import");
    program_expect(0, "data info --help", "example");
    program_expect(0, "data check --help", "example");
    program_expect(0, "data import --help", "example");
    program_expect(0, "data export --help", "example");
    program_expect(2, "data", "usage");
    program_expect(2, "data dance", "unknown command 'dance'");
    program_expect(2, "data info", "name a dataset's folder");
    program_expect(2, "data check", "name a dataset's folder");
    program_expect(2, "data import", "name the source");
    program_expect(2, "data import @/tests/data/import/omar -o %/x --task t", "--from is missing");
    program_expect(2, "data import @/tests/data/import/omar --from omar --task t", "import: -o is missing");
    program_expect(2, "data import @/tests/data/import/omar --from omar -o %/x", "--task is missing");
    program_expect(2, "data import @/tests/data/import/omar --from xml -o %/x --task t",
                   "--from must be omar, madiff or hdf5, not 'xml'");
    program_expect(2, "data export %/real -o %/x.h5 --to csv", "--to must be hdf5");
    program_expect(1, "data info %/nothing", "nothing/dataset.json");
    program_expect(1, "data check %/nothing", "mawam: ");
}

static void test_info(void **state) {
    (void)state;
    fixture_make(scratch("real"), false, true, 30);
    fixture_make(scratch("discrete"), true, true, 30);
    program_expect(0, "data info %/real --svg %/returns.svg", "dead features: 1 of 3");
    assert_non_null(strstr(program_output, "maze-medium"));
    assert_non_null(strstr(program_output, "noise 0.1"));
    assert_non_null(strstr(program_output, "policy.safetensors  000000000000abcd  30 episodes"));
    assert_non_null(strstr(program_output, "5          5          5          0            0  dead"));
    static char svg[1 << 16];
    svg[scratch_read(scratch("returns.svg"), svg, sizeof svg - 1)] = 0;
    assert_non_null(strstr(svg, "returns of 30 episodes"));
    assert_non_null(strstr(svg, "</svg>"));
    program_expect(0, "data info %/discrete", "of 4 are legal");
    program_expect(0, "data info %/discrete --json", "quartiles");
    json_t *root = json_loads(program_output, JSON_REJECT_DUPLICATES, NULL), *bars;
    assert_non_null(root);
    bars = json_object_get(json_object_get(json_object_get(root, "returns"), "histogram"), "counts");
    json_int_t total = 0;
    for (size_t i = 0; i < json_array_size(bars); i++) total += json_integer_value(json_array_get(bars, i));
    assert_int_equal(total, 30);
    assert_int_equal(json_array_size(json_object_get(root, "features")), FIXTURE_OBS);
    const json_t *source = json_array_get(json_object_get(root, "behaviors"), 0); /* as much as the text */
    assert_string_equal(json_string_value(json_object_get(source, "checksum")), "fnv1a64:000000000000abcd");
    assert_non_null(strstr(json_string_value(json_object_get(root, "note")), "noise 0.1"));
    static const char *const also[] = {"mawam", "command", "seed", "episode_limit", "shortest", "longest"};
    for (size_t i = 0; i < sizeof also / sizeof *also; i++) assert_non_null(json_object_get(root, also[i]));
    json_decref(root);
    program_expect(1, "data info %/real --svg %/no/such/place.svg", "place.svg");
}

static void test_check(void **state) {
    (void)state;
    program_expect(0, "data check %/real %/discrete",
                   "rules maze-1 (not a built-in task: rules not compared)");
    mw_error error;
    static float zeros[1 << 12];
    mw_dataset d;
    CHECK_OK(mw_dataset_open(&d, scratch("real"), &error), error);
    size_t shape[] = {(size_t)d.steps, FIXTURE_AGENTS};
    mw_dataset_close(&d);
    CHECK_OK(mw_npy_write(scratch("real/rewards.npy"), MW_F32, 2, shape, zeros, &error), error);
    program_expect(1, "data info %/real", "real/rewards.npy: checksum");
    program_expect(1, "data check %/real %/discrete", "real/rewards.npy: checksum");
    assert_non_null(strstr(program_output, "discrete: ok")); /* the others are looked at all the same */
}

/* Data of a built-in task under other rules, or of another size. */
static void test_rules(void **state) {
    (void)state;
    mw_error error;
    mw_env *env;
    mw_dataset_writer *w;
    CHECK_OK(mw_env_create(&env, "spread", NULL, &error), error);
    mw_env_info info = *mw_env_describe(env);
    mw_feature feature;
    mw_env_feature(env, 0, &feature);
    static float zeros[4096];
    mw_episode episode = {
        .length = 3, .obs = zeros, .last_obs = zeros, .real = zeros, .rewards = zeros, .outcome = 0};
    for (int wrong = 0; wrong < 3; wrong++) {
        mw_dataset_spec spec = {.task = "spread",
                                .rules = wrong == 1 ? "mpe-0" : info.rules,
                                .agents = info.agents,
                                .obs_size = info.obs_size + (wrong == 2),
                                .act_size = info.act_size,
                                .episode_limit = info.episode_limit};
        CHECK_OK(mw_dataset_writer_open(&w, scratch("spread"), &spec, true, &error), error);
        CHECK_OK(mw_dataset_writer_add(w, &episode, &error), error);
        CHECK_OK(mw_dataset_writer_commit(w, &error), error);
        if (wrong == 0) {
            program_expect(0, "data check %/spread", "ok: 1 episodes, 3 steps");
            program_expect(0, "data info %/spread", feature.name);
            /* one bar */
            program_expect(0, "data info %/spread --svg %/same.svg", "0 .. 0                1 ####");
            assert_null(strstr(program_output, "1 .. 2"));
            static char svg[1 << 16];
            svg[scratch_read(scratch("same.svg"), svg, sizeof svg - 1)] = 0;
            assert_null(strstr(svg, "nan"));
        }
        if (wrong == 1) program_expect(1, "data check %/spread", "made under rules 'mpe-0' of task 'spread'");
        if (wrong == 2) program_expect(1, "data check %/spread", "but task 'spread' has 3, 18, 2 real");
    }
    mw_env_free(env);
}

/* What training would refuse after an import, or learn though nobody meant it, is said with the import. */
static void test_remarks(void **state) {
    (void)state;
    enum { STEPS = 6, ACTIONS = STEPS * FIXTURE_AGENTS };
    mw_error error;
    float values[ACTIONS][2], zeros[ACTIONS * FIXTURE_OBS] = {0};
    const int64_t length = STEPS;
    const size_t actions[] = {STEPS, FIXTURE_AGENTS, 2}, obs[] = {STEPS, FIXTURE_AGENTS, FIXTURE_OBS};
    static const char *const remarks[] = {
        "actions reach 4.98; training takes real ones within [-1, 1]: scale them",
        "every action is one-hot; discrete ones are given by index, whole numbers [steps][agents]",
        "warning"};
    mkdir(scratch("raw"), 0777);
    CHECK_OK(mw_npy_write(scratch("raw/obs.npy"), MW_F32, 3, obs, zeros, &error), error);
    CHECK_OK(mw_npy_write(scratch("raw/rewards.npy"), MW_F32, 2, obs, zeros, &error), error);
    CHECK_OK(mw_npy_write(scratch("raw/path_lengths.npy"), MW_I64, 1, (size_t[]){1}, &length, &error), error);
    for (int kind = 0; kind < 3; kind++) { /* too far, one-hot, as they should be */
        for (int i = 0; i < ACTIONS; i++) {
            values[i][0] = (float)(i % 2);
            values[i][1] = 1 - values[i][0];
        }
        if (kind != 1) values[5][0] = kind ? 0.5f : -4.98f;
        CHECK_OK(mw_npy_write(scratch("raw/actions.npy"), MW_F32, 3, actions, values, &error), error);
        static const char *const commands[] = {
            "data import --from madiff %/raw -o %/remarked --task toy --overwrite", "data check %/remarked",
            "data info %/remarked", "data info %/remarked --json"};
        for (size_t c = 0; c < sizeof commands / sizeof *commands; c++) {
            program_expect(0, commands[c], kind < 2 ? remarks[kind] : "");
            for (int other = 0; other < 3; other++)
                if (other != kind && (other < 2 || kind == 2))
                    assert_null(strstr(program_output, remarks[other]));
        }
    }
}

/* A shape that does not fit is told by what its extents should be. */
static void test_shapes(void **state) {
    (void)state;
    mw_error error;
    const float zeros[24] = {0};
    const int64_t length = 6;
    static const char command[] = "data import --from madiff %/shapes -o %/shaped --task toy";
    mkdir(scratch("shapes"), 0777);
    CHECK_OK(mw_npy_write(scratch("shapes/path_lengths.npy"), MW_I64, 1, (size_t[]){1}, &length, &error),
             error);
    CHECK_OK(mw_npy_write(scratch("shapes/actions.npy"), MW_F32, 3, (size_t[]){6, 2, 2}, zeros, &error),
             error);
    CHECK_OK(mw_npy_write(scratch("shapes/rewards.npy"), MW_F32, 1, (size_t[]){6}, zeros, &error), error);
    CHECK_OK(mw_npy_write(scratch("shapes/obs.npy"), MW_F32, 4, (size_t[]){2, 3, 2, 2}, zeros, &error),
             error);
    program_expect(1, command, "obs.npy has shape (2, 3, 2, 2), expected [steps][agents][features]");
    CHECK_OK(mw_npy_write(scratch("shapes/obs.npy"), MW_F32, 3, (size_t[]){6, 2, 2}, zeros, &error), error);
    program_expect(1, command, "rewards.npy has shape (6), expected [6 steps][2 agents]");
    mkdir(scratch("lines"), 0777);
    CHECK_OK(mw_npy_write(scratch("lines/obs_0.npy"), MW_F32, 3, (size_t[]){6, 2, 2}, zeros, &error), error);
    program_expect(1, "data import --from omar %/lines -o %/shaped --task toy --episode-limit 6",
                   "obs_0.npy has shape (6, 2, 2), expected [6 steps][features]");
}

/* A dataset that was made read-only is not replaced, asked or not. */
static void test_read_only(void **state) {
    (void)state;
    fixture_make(scratch("kept"), false, true, 3);
    assert_int_equal(chmod(scratch("kept/obs.npy"), 0444), 0);
    program_expect(
        1, "data import --from madiff @/tests/data/import/madiff/battle -o %/kept --task toy --overwrite",
        "kept/obs.npy': it is read-only");
    assert_int_equal(chmod(scratch("kept/obs.npy"), 0644), 0);
    assert_int_equal(chmod(scratch("kept"), 0555), 0);
    program_expect(
        1, "data import --from madiff @/tests/data/import/madiff/battle -o %/kept --task toy --overwrite",
        "kept': it is read-only");
    assert_int_equal(chmod(scratch("kept"), 0755), 0);
    program_expect(0, "data check %/kept", "task maze");
    program_expect(
        0, "data import --from madiff @/tests/data/import/madiff/battle -o %/kept --task toy --overwrite",
        "3 episodes");
}

static void test_import_export(void **state) {
    (void)state;
    program_expect(0,
                   "data import --from omar @/tests/data/import/omar -o %/omar --task toy --episode-limit 5 "
                   "--quality expert",
                   "4 episodes, 18 steps");
    assert_non_null(strstr(program_output, "left out: 2 steps"));
    assert_non_null(strstr(program_output, "filled up"));
    program_expect(0, "data check %/omar", "imported: no simulator is assumed");
    program_expect(1,
                   "data import --from omar @/tests/data/import/omar -o %/omar --task toy --episode-limit 5",
                   "is there already; --overwrite replaces it");
    program_expect(0, "data import --from madiff @/tests/data/import/madiff/battle -o %/battle --task toy",
                   "3 episodes, 10 steps");
    program_expect(1, "data import --from madiff @/tests/data/import/madiff/real -o %/bad --task spread",
                   "but task 'spread' has 3, 18, 2 real");
#ifdef MAWAM_HAVE_HDF5
    program_expect(
        0, "data import --from hdf5 @/tests/data/import/hdf5/battle.h5 -o %/h5 --task toy --overwrite",
        "2 episodes, 6 steps");
    program_expect(0, "data export --to hdf5 %/battle -o %/battle.h5", "3 episodes, 10 steps");
    program_expect(0, "data import --from hdf5 %/battle.h5 -o %/again --task toy", "3 episodes, 10 steps");
    program_expect(0, "data info %/again", "on average 3.50 of 6 are legal");
#else
    program_expect(1, "data import --from hdf5 @/tests/data/import/hdf5/battle.h5 -o %/h5 --task toy",
                   "HDF5 is not built in");
    program_expect(1, "data export --to hdf5 %/battle -o %/battle.h5", "HDF5 is not built in");
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_help),      cmocka_unit_test(test_info),
        cmocka_unit_test(test_check),     cmocka_unit_test(test_rules),
        cmocka_unit_test(test_read_only), cmocka_unit_test(test_import_export),
        cmocka_unit_test(test_remarks),   cmocka_unit_test(test_shapes),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
