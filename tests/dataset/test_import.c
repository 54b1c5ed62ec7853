/* The importers on files that NumPy and h5py wrote (tests/data/import/make.py), value by value; a round trip
 * through HDF5; and what happens to sources that are not right. */
#include "fixture.h"

#include "core/log.h"
#include "data/exchange/import.h"

#include <pthread.h>
#ifdef MAWAM_HAVE_HDF5
#include <hdf5.h>
#endif

enum { N = 3, O = 4, D = 2, ACTIONS = 6 };

/* The formulas of make.py. */
static double want_obs(long e, long t, int i, int f) {
    return 100.0 * (double)e + 10.0 * (double)t + i + f / 8.0;
}
static double want_act(long e, long t, int i, int v) {
    return v ? (double)(t - i) / 16 : (double)(e - t) / 8;
}
static double want_reward(long e, long t, int i) {
    return (double)e + (double)t / 4 - i;
}
static int want_discrete(long e, long t, int i) {
    return (int)((e + 2 * t + i) % ACTIONS);
}

static mw_import_request request_for(const char *source) {
    static char path[512], folder[400];
    snprintf(path, sizeof path, "%s/import/%s", TEST_DATA, source);
    snprintf(folder, sizeof folder, "%s", scratch("imported"));
    return (mw_import_request){.source = path,
                               .folder = folder,
                               .task = "toy",
                               .options = {.quality = "medium", .command = "test", .overwrite = true}};
}

/* The same for a file or folder of the test's own. */
static mw_import_request request_for_own(const char *name) {
    static char path[400];
    mw_import_request request = request_for("");
    snprintf(path, sizeof path, "%s", scratch(name));
    request.source = path;
    return request;
}

static mw_dataset import(mw_import_fn *importer, const mw_import_request *request, mw_import_report *report) {
    mw_error error;
    mw_dataset d;
    CHECK_OK(importer(request, report, &error), error);
    CHECK_OK(mw_dataset_open(&d, request->folder, &error), error);
    CHECK_OK(mw_dataset_check(&d, &error), error);
    assert_int_equal(d.episodes, report->episodes);
    assert_int_equal(d.steps, report->steps);
    assert_true(mw_dataset_imported(&d));
    assert_string_equal(d.spec.task, "toy");
    return d;
}

/* Episode `at` of the dataset is episode e of the formulas. narrow: agent 0 lacks its last feature. */
static void check_episode(const mw_dataset *d, long at, long e, long length, int outcome, bool narrow,
                          bool team_reward) {
    mw_episode view = mw_dataset_episode(d, at);
    assert_int_equal(view.length, length);
    assert_int_equal(view.outcome, outcome);
    for (long t = 0; t < length + (view.last_obs != NULL); t++)
        for (int i = 0; i < N; i++) {
            for (int f = 0; f < O; f++) {
                bool filled = narrow && i == 0 && f == O - 1;
                CHECK_NEAR(mw_dataset_obs(d, at, t)[i * O + f], filled ? 0 : want_obs(e, t, i, f), 1e-6);
            }
            if (t == length) continue;
            long row = t * N + i;
            CHECK_NEAR(view.rewards[row], want_reward(e, t, team_reward ? 0 : i), 1e-6);
            if (view.index) {
                assert_int_equal(view.index[row], want_discrete(e, t, i));
                for (int a = 0; a < ACTIONS; a++)
                    assert_int_equal(view.legal[row * ACTIONS + a],
                                     a % 2 == 0 || a == want_discrete(e, t, i));
            } else {
                for (int v = 0; v < D; v++) CHECK_NEAR(view.real[row * D + v], want_act(e, t, i, v), 1e-6);
            }
        }
}

static void test_omar(void **state) {
    (void)state;
    mw_import_report report;
    mw_import_request request = request_for("omar");
    request.options.episode_limit = 5;
    mw_dataset d = import(mw_import_omar, &request, &report);
    assert_string_equal(d.spec.rules, "omar-import");
    assert_int_equal(d.episodes, 4);
    assert_int_equal(report.dropped, 2);
    assert_int_equal(report.jumps, 0);
    assert_true(report.padded);
    assert_int_equal(d.spec.agents, N);
    assert_int_equal(d.spec.obs_size, O);
    assert_non_null(d.last_obs);
    check_episode(&d, 0, 0, 5, MW_ENDED_BY_LIMIT, true, false);
    check_episode(&d, 1, 1, 3, MW_ENDED_BY_WORLD, true, false);
    check_episode(&d, 2, 2, 5, MW_ENDED_BY_LIMIT, true, false);
    check_episode(&d, 3, 3, 5, MW_ENDED_BY_LIMIT, true, false); /* seed_10 after seed_0 */
    mw_dataset_close(&d);
    request.options.agents = 2; /* the others are left out */
    d = import(mw_import_omar, &request, &report);
    assert_int_equal(d.spec.agents, 2);
    mw_dataset_close(&d);
    request = request_for("omar/seed_10_data"); /* one seed's folder */
    request.options.episode_limit = 5;
    d = import(mw_import_omar, &request, &report);
    assert_int_equal(d.episodes, 1);
    mw_dataset_close(&d);
}

/* A limit that the files contradict: the next observations show where episodes really end. */
static void test_omar_jumps(void **state) {
    (void)state;
    mw_import_report report;
    mw_import_request request = request_for("omar/seed_0_data");
    request.options.episode_limit = 4;
    mw_dataset d = import(mw_import_omar, &request, &report); /* 4 + 1, 3, 4 + 1 */
    assert_int_equal(d.episodes, 5);
    assert_int_equal(d.lengths[0], 4);
    assert_int_equal(d.lengths[1], 1);
    mw_dataset_close(&d);
    /* The same steps without done flags: the jump between episodes 0 and 1 is seen, that at the limit is not
     * one. */
    mw_error error;
    char path[600];
    static unsigned char bytes[1 << 16];
    mkdir(scratch("nodones"), 0777);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 4; k++) {
            static const char *const kinds[] = {"obs", "acs", "rews", "next_obs"};
            char name[64];
            snprintf(name, sizeof name, "nodones/%s_%d.npy", kinds[k], i);
            snprintf(path, sizeof path, "%s/%s_%d.npy", request.source, kinds[k], i);
            size_t size = scratch_read(path, bytes, sizeof bytes);
            scratch_write(scratch(name), bytes, size);
        }
    request = request_for_own("nodones");
    request.options.episode_limit = 6;
    d = import(mw_import_omar, &request, &report);
    assert_int_equal(report.jumps, 2);
    assert_int_equal(report.dropped, 5); /* nothing ends the last one */
    assert_int_equal(d.episodes, 2);
    check_episode(&d, 0, 0, 5, MW_ENDED_BY_LIMIT, true, false);
    check_episode(&d, 1, 1, 3, MW_ENDED_BY_LIMIT, true, false);
    mw_dataset_close(&d);
    unlink(scratch("nodones/rews_1.npy"));
    CHECK_FAILS(mw_import_omar(&request, &report, &error), MW_ERR_IO, error, "rews_1.npy");
    scratch_remove(scratch("nodones"));
}

static void test_madiff(void **state) {
    (void)state;
    mw_import_report report;
    mw_import_request request = request_for("madiff/real");
    mw_dataset d = import(mw_import_madiff, &request, &report);
    assert_string_equal(d.spec.rules, "madiff-import");
    assert_int_equal(d.spec.episode_limit, 5); /* the longest */
    assert_null(d.last_obs);
    check_episode(&d, 0, 0, 2, MW_ENDED_BY_WORLD, false, false); /* shorter than the limit */
    check_episode(&d, 1, 1, 5, MW_ENDED_BY_LIMIT, false, false);
    check_episode(&d, 2, 2, 3, MW_ENDED_BY_WORLD, false, false);
    mw_dataset_close(&d);
    request = request_for("madiff/battle");
    request.options.episode_limit = 9;
    d = import(mw_import_madiff, &request, &report);
    assert_true(d.spec.discrete);
    assert_int_equal(d.spec.act_size, ACTIONS);
    assert_int_equal(d.spec.episode_limit, 9);
    check_episode(&d, 0, 0, 2, MW_ENDED_BY_WORLD, false, false); /* discounts say so */
    check_episode(&d, 2, 2, 3, MW_ENDED_BY_LIMIT, false, false);
    mw_dataset_close(&d);
}

/* Our own folder is one of theirs; imported again it is the same data, with the columns that theirs lacks. */
static void test_madiff_own(void **state) {
    (void)state;
    for (int discrete = 0; discrete < 2; discrete++) {
        mw_error error;
        mw_import_report report;
        mw_dataset ours;
        fixture_make(scratch("ours"), discrete, true, 7);
        mw_import_request request = request_for_own("ours");
        mw_dataset d = import(mw_import_madiff, &request, &report);
        CHECK_OK(mw_dataset_open(&ours, scratch("ours"), &error), error);
        assert_int_equal(d.steps, ours.steps);
        size_t cells = (size_t)d.steps * FIXTURE_AGENTS;
        assert_memory_equal(d.obs, ours.obs, cells * FIXTURE_OBS * sizeof(float));
        assert_memory_equal(d.last_obs, ours.last_obs, 7 * FIXTURE_AGENTS * FIXTURE_OBS * sizeof(float));
        assert_memory_equal(d.outcomes, ours.outcomes, 7);
        if (discrete)
            assert_memory_equal(d.legal, ours.legal, cells * FIXTURE_ACT);
        else
            assert_memory_equal(d.real, ours.real, cells * FIXTURE_ACT * sizeof(float));
        mw_dataset_close(&d);
        mw_dataset_close(&ours);
        scratch_remove(scratch("ours"));
    }
}

static void test_wrong_sources(void **state) {
    (void)state;
    mw_error error;
    mw_import_report report;
    mw_import_request request = request_for("omar");
    scratch_remove(scratch("imported"));
    CHECK_FAILS(mw_import_omar(&request, &report, &error), MW_ERR_ARGUMENT, error, "needs its episode limit");
    request = request_for("madiff/real");
    CHECK_FAILS(mw_import_omar(&request, &report, &error), MW_ERR_FORMAT, error,
                "neither obs_0.npy nor folders");
    request = request_for("nowhere");
    CHECK_FAILS(mw_import_omar(&request, &report, &error), MW_ERR_IO, error, "cannot read the folder");
    CHECK_FAILS(mw_import_madiff(&request, &report, &error), MW_ERR_IO, error, "obs.npy");
    request = request_for("madiff/real");
    request.options.agents = 5;
    CHECK_FAILS(mw_import_madiff(&request, &report, &error), MW_ERR_MISMATCH, error, "obs.npy");
    mw_env_info info = {.task = "spread", .agents = N, .obs_size = 18, .act_size = D, .episode_limit = 25};
    request.options.agents = 0;
    request.task = "spread";
    request.options.info = &info;
    CHECK_FAILS(mw_import_madiff(&request, &report, &error), MW_ERR_MISMATCH, error,
                "has 3 agents, 4 features, 2 real actions");
    request = request_for("madiff/battle");
    request.options.episode_limit = 3;
    CHECK_FAILS(mw_import_madiff(&request, &report, &error), MW_ERR_MISMATCH, error,
                "an episode has 5 steps, the limit is 3");
    request.options.episode_limit = 6;
    CHECK_OK(mw_import_madiff(&request, &report, &error), error);
    assert_true(mw_file_exists(scratch("imported/dataset.json")));
    request.options.overwrite = false;
    CHECK_FAILS(mw_import_madiff(&request, &report, &error), MW_ERR_ARGUMENT, error,
                "is there already; 'overwrite' replaces it");
    scratch_remove(scratch("imported"));
    assert_int_equal(scratch_count(false), 0); /* failures leave nothing */
}

/* How often a word stands in a text: once for a file that a message names. */
static int count_of(const char *text, const char *word) {
    int count = 0;
    for (const char *at = text; (at = strstr(at, word)); at++) count++;
    return count;
}

/* Malformed columns in a folder of theirs. */
static void test_madiff_damage(void **state) {
    (void)state;
    mw_error error;
    mw_import_report report;
    mw_import_request request = request_for_own("theirs");
    fixture_make(scratch("theirs"), true, true, 4); /* lengths 1, 6, 11, 4 */
    unlink(scratch("theirs/dataset.json"));
    const size_t rows = 22, lengths = 4;
    static float numbers[22 * FIXTURE_AGENTS];
    numbers[7] = 0.5f;
    CHECK_OK(mw_npy_write(scratch("theirs/actions.npy"), MW_F32, 2, (size_t[]){rows, FIXTURE_AGENTS}, numbers,
                          &error),
             error);
    CHECK_FAILS(mw_import_madiff(&request, &report, &error), MW_ERR_FORMAT, error,
                "actions.npy: row 3 holds 0.5, expected a whole number from 0 to 3");
    numbers[7] = 4;
    CHECK_OK(mw_npy_write(scratch("theirs/actions.npy"), MW_F32, 2, (size_t[]){rows, FIXTURE_AGENTS}, numbers,
                          &error),
             error);
    CHECK_FAILS(mw_import_madiff(&request, &report, &error), MW_ERR_FORMAT, error,
                "actions.npy: row 3 holds 4");
    assert_int_equal(count_of(error.message, "theirs"), 1);
    CHECK_OK(mw_npy_write(scratch("theirs/path_lengths.npy"), MW_I32, 1, &lengths, (int32_t[]){1, 6, 11, 5},
                          &error),
             error);
    CHECK_FAILS(mw_import_madiff(&request, &report, &error), MW_ERR_FORMAT, error,
                "path_lengths.npy: the lengths add up to 23 steps, but obs.npy has 22");
    CHECK_OK(mw_npy_write(scratch("theirs/path_lengths.npy"), MW_I32, 1, &lengths, (int32_t[]){1, 6, -1, 16},
                          &error),
             error);
    CHECK_FAILS(mw_import_madiff(&request, &report, &error), MW_ERR_FORMAT, error,
                "path_lengths.npy: row 2 holds -1");
    unlink(scratch("theirs/path_lengths.npy"));
    CHECK_FAILS(mw_import_madiff(&request, &report, &error), MW_ERR_IO, error,
                "path_lengths.npy', which must hold the number of steps of each episode");
    scratch_remove(scratch("theirs"));
    scratch_remove(scratch("imported"));
    assert_int_equal(scratch_count(false), 0);
}

static void hear_nothing(void *context, mw_log_level level, const char *message) {
    (void)level, (void)message;
    ++*(int *)context;
}

/* Numbers that are no masks and no endings; rules of data that were changed since. */
static void test_madiff_nonsense(void **state) {
    (void)state;
    mw_error error;
    mw_import_report report;
    mw_import_request request = request_for_own("theirs");
    fixture_make(scratch("theirs"), true, true, 4); /* lengths 1, 6, 11, 4 */
    const size_t rows = 22, episodes = 4;
    float endings[] = {1, 1, 1.5f, 1};
    static float legal[22 * FIXTURE_AGENTS * FIXTURE_ACT], discounts[22 * FIXTURE_AGENTS];
    int warnings = 0;
    mw_dataset d;
    request.options.overwrite = true;
    CHECK_OK(mw_dataset_open(&d, scratch("theirs"), &error), error);
    request.task = d.spec.task;
    char task[64], rules[64];
    snprintf(task, sizeof task, "%s", d.spec.task);
    snprintf(rules, sizeof rules, "%s", d.spec.rules);
    request.task = task;
    mw_dataset_close(&d);
    mw_log_set(hear_nothing, &warnings);
    for (int changed = 0; changed < 2; changed++) {
        if (changed) {
            static float rewards[22 * FIXTURE_AGENTS];
            CHECK_OK(mw_npy_write(scratch("theirs/rewards.npy"), MW_F32, 2, (size_t[]){rows, FIXTURE_AGENTS},
                                  rewards, &error),
                     error);
        }
        CHECK_OK(mw_import_madiff(&request, &report, &error), error);
        CHECK_OK(mw_dataset_open(&d, request.folder, &error), error);
        assert_string_equal(d.spec.rules, changed ? "madiff-import" : rules);
        assert_int_equal(report.changed, changed);
        mw_dataset_close(&d);
        assert_int_equal(warnings, changed);
    }
    mw_log_set(NULL, NULL);
    unlink(scratch("theirs/dataset.json"));
    CHECK_OK(mw_npy_write(scratch("theirs/outcomes.npy"), MW_F32, 1, &episodes, endings, &error), error);
    CHECK_FAILS(mw_import_madiff(&request, &report, &error), MW_ERR_FORMAT, error, "row 2 holds 1.5");
    unlink(scratch("theirs/outcomes.npy"));
    for (size_t i = 0; i < rows * FIXTURE_AGENTS; i++) discounts[i] = i / FIXTURE_AGENTS != 3;
    CHECK_OK(mw_npy_write(scratch("theirs/discounts.npy"), MW_F32, 2, (size_t[]){rows, FIXTURE_AGENTS},
                          discounts, &error),
             error);
    CHECK_FAILS(mw_import_madiff(&request, &report, &error), MW_ERR_FORMAT, error,
                "row 3 is 0 within an episode");
    unlink(scratch("theirs/discounts.npy"));
    for (size_t i = 0; i < sizeof legal / sizeof *legal; i++) legal[i] = i == 30 ? NAN : 1;
    CHECK_OK(mw_npy_write(scratch("theirs/legals.npy"), MW_F32, 3,
                          (size_t[]){rows, FIXTURE_AGENTS, FIXTURE_ACT}, legal, &error),
             error);
    CHECK_FAILS(mw_import_madiff(&request, &report, &error), MW_ERR_FORMAT, error,
                "expected a whole number from 0 to 1");
    scratch_remove(scratch("theirs"));
    scratch_remove(scratch("imported"));
}

/* Every seed has the observations of the first, agent by agent. */
static void test_omar_widths(void **state) {
    (void)state;
    mw_error error;
    mw_import_report report;
    mw_import_request request = request_for_own("seeds");
    static float numbers[8];
    CHECK_OK(mw_dir_make(scratch("seeds/seed_0_data"), &error), error);
    CHECK_OK(mw_dir_make(scratch("seeds/seed_1_data"), &error), error);
    for (size_t k = 0; k < 2; k++) {
        static const char *const files[] = {"obs_0", "acs_0", "rews_0"};
        for (int f = 0; f < 3; f++) {
            char path[64];
            const size_t shape[] = {2, f == 0 ? 3 - k : 2};
            snprintf(path, sizeof path, "seeds/seed_%zu_data/%s.npy", k, files[f]);
            CHECK_OK(mw_npy_write(scratch(path), MW_F32, f == 2 ? 1 : 2, shape, numbers, &error), error);
        }
    }
    request.options.episode_limit = 2;
    CHECK_FAILS(mw_import_omar(&request, &report, &error), MW_ERR_MISMATCH, error,
                "agent 0 has 2 features and 2 action values, expected 3 and 2");
}

/* ---- HDF5 ---------------------------------------------------------------------------------------------- */

static void test_hdf5(void **state) {
    (void)state;
    mw_error error;
    mw_import_report report;
    mw_import_request request = request_for("hdf5/minari"); /* the folder of a Minari dataset */
    if (!mw_hdf5_available()) {
        CHECK_FAILS(mw_import_hdf5(&request, &report, &error), MW_ERR_UNSUPPORTED, error, "not built in");
        return;
    }
    mw_dataset d = import(mw_import_hdf5, &request, &report);
    assert_string_equal(d.spec.rules, "hdf5-import");
    assert_int_equal(d.episodes, 11);
    assert_non_null(d.last_obs);
    for (long e = 0; e < 11; e++)
        check_episode(&d, e, e, 1 + e % 4, e == 0 ? MW_ENDED_BY_WORLD : MW_ENDED_BY_LIMIT, false, false);
    mw_dataset_close(&d);
    request = request_for("hdf5/battle.h5");
    d = import(mw_import_hdf5, &request, &report);
    assert_true(d.spec.discrete && !report.all_legal);
    assert_null(d.last_obs);
    for (long e = 0; e < 2; e++) check_episode(&d, e, e, 3, e == 0, false, false);
    mw_dataset_close(&d);
    request = request_for("hdf5/arrays.h5");
    d = import(mw_import_hdf5, &request, &report);
    check_episode(&d, 0, 0, 3, MW_ENDED_BY_LIMIT, false, true);
    mw_dataset_close(&d);
}

static void test_hdf5_wrong(void **state) {
    (void)state;
    mw_error error;
    mw_import_report report;
    mw_import_request request = request_for("hdf5/broken.h5");
    if (!mw_hdf5_available()) skip();
    scratch_remove(scratch("imported"));
    CHECK_FAILS(mw_import_hdf5(&request, &report, &error), MW_ERR_FORMAT, error,
                "episode_0/observations has 7 rows, expected 3 or 4");
    request = request_for("hdf5/empty.h5");
    CHECK_FAILS(mw_import_hdf5(&request, &report, &error), MW_ERR_FORMAT, error,
                "no group is named episode_");
    request = request_for("make.py");
    CHECK_FAILS(mw_import_hdf5(&request, &report, &error), MW_ERR_FORMAT, error, "not an HDF5 file");
    request = request_for("none.h5");
    CHECK_FAILS(mw_import_hdf5(&request, &report, &error), MW_ERR_IO, error, "cannot open");
    assert_int_equal(scratch_count(false), 0);
}

/* Files that crash the HDF5 library, and one that unpacks to gigabytes: errors, and nothing is left. */
static void test_hdf5_hostile(void **state) {
    (void)state;
    static const char *const files[] = {"bomb", "crash-segmentation-1", "crash-segmentation-2",
                                        "crash-abort"};
    mw_error error;
    mw_import_report report;
    if (!mw_hdf5_available()) skip();
    scratch_remove(scratch("imported"));
    for (int i = 0; i < 4; i++) {
        char name[64];
        snprintf(name, sizeof name, "../fuzz/hdf5/%s.h5", files[i]);
        mw_import_request request = request_for(name);
        mw_status status = mw_import_hdf5(&request, &report, &error);
        print_message("%s\n", status == MW_OK ? "imported" : error.message);
        assert_int_not_equal(status, MW_OK);
        assert_int_equal(scratch_count(false), 0);
    }
    mw_import_request request = request_for("../fuzz/hdf5/bomb.h5");
    CHECK_FAILS(mw_import_hdf5(&request, &report, &error), MW_ERR_FORMAT, error,
                "unpacks to more than 17074816 bytes");
    request = request_for_own("pipe"); /* without a writer, opening it would wait for ever */
    assert_int_equal(mkfifo(scratch("pipe"), 0666), 0);
    CHECK_FAILS(mw_import_hdf5(&request, &report, &error), MW_ERR_IO, error, "not a regular file");
    assert_int_equal(remove(scratch("pipe")), 0);
}

/* Files that remember the order in which their members were made, as Minari's do, are listed in the time that
 * a file of their size may take. */
static void test_hdf5_many_members(void **state) {
    (void)state;
#ifndef MAWAM_HAVE_HDF5
    skip();
#else
    mw_error error;
    mw_import_report report;
    hid_t ordered = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_link_creation_order(ordered, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    hid_t file = H5Fcreate(scratch("many.h5"), H5F_ACC_TRUNC, ordered, H5P_DEFAULT);
    assert_true(file >= 0);
    H5Gclose(H5Gcreate2(file, "episode_0", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    for (int i = 1; i < 8000; i++) {
        char name[32];
        snprintf(name, sizeof name, "episode_%d", i);
        assert_true(H5Lcreate_hard(file, "episode_0", file, name, H5P_DEFAULT, H5P_DEFAULT) >= 0);
    }
    H5Pclose(ordered);
    assert_true(H5Fclose(file) >= 0);
    mw_import_request request = request_for_own("many.h5");
    CHECK_FAILS(mw_import_hdf5(&request, &report, &error), MW_ERR_FORMAT, error,
                "episode_0/observations: there is no such array");
    assert_int_equal(remove(scratch("many.h5")), 0);
#endif
}

#ifdef MAWAM_HAVE_HDF5
/* An array of a file by this path instead of the one there, if any; columns 0: a vector. */
static void replace_array(hid_t file, const char *path, hid_t stored, hid_t given, hsize_t rows,
                          hsize_t columns, const void *values) {
    if (H5Lexists(file, path, H5P_DEFAULT) > 0) assert_true(H5Ldelete(file, path, H5P_DEFAULT) >= 0);
    hid_t space = H5Screate_simple(columns ? 2 : 1, (hsize_t[]){rows, columns}, NULL);
    hid_t array = H5Dcreate2(file, path, stored, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(array, given, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(array);
    H5Sclose(space);
}

/* Rewards 0, 1, 2, ... of the second episode. */
static void replace_rewards(const char *path, hsize_t rows, hsize_t columns) {
    float numbers[64];
    for (int i = 0; i < 64; i++) numbers[i] = (float)i;
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(file >= 0);
    replace_array(file, "episode_1/rewards", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, rows, columns, numbers);
    assert_true(H5Fclose(file) >= 0);
}

/* A file of two episodes, of 1 and 6 steps. */
static void export_two(const char *path) {
    mw_error error;
    mw_dataset d;
    fixture_make(scratch("ours"), false, true, 2);
    CHECK_OK(mw_dataset_open(&d, scratch("ours"), &error), error);
    CHECK_OK(mw_export_hdf5(&d, path, NULL, &error), error);
    mw_dataset_close(&d);
    scratch_remove(scratch("ours"));
}
#endif

/* Those of the team are everybody's; more of them than steps are no rewards of these steps. */
static void test_hdf5_rewards(void **state) {
    (void)state;
#ifndef MAWAM_HAVE_HDF5
    skip();
#else
    mw_error error;
    mw_import_report report;
    export_two(scratch("x.h5"));
    mw_import_request request = request_for_own("x.h5");
    for (hsize_t columns = 0; columns < 2; columns++) {
        replace_rewards(scratch("x.h5"), 6, columns);
        mw_dataset d = import(mw_import_hdf5, &request, &report);
        for (int t = 0; t < 6; t++)
            for (int i = 0; i < FIXTURE_AGENTS; i++)
                CHECK_NEAR(d.rewards[(1 + t) * FIXTURE_AGENTS + i], t, 0);
        mw_dataset_close(&d);
    }
    for (hsize_t columns = 0; columns < 3; columns++) {
        replace_rewards(scratch("x.h5"), 13, columns);
        CHECK_FAILS(mw_import_hdf5(&request, &report, &error), MW_ERR_FORMAT, error,
                    "does not fit 6 steps of 2 agents");
        assert_int_equal(count_of(error.message, "x.h5"), 1);
    }
    assert_int_equal(remove(scratch("x.h5")), 0);
    scratch_remove(scratch("imported"));
#endif
}

/* Numbers of actions that were saved as real ones, or single values: the steps are not their width. */
static void test_hdf5_flat_actions(void **state) {
    (void)state;
#ifndef MAWAM_HAVE_HDF5
    skip();
#else
    mw_error error;
    mw_import_report report;
    export_two(scratch("x.h5"));
    hid_t file = H5Fopen(scratch("x.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(file >= 0);
    replace_array(file, "episode_0/actions/agent_0", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, 1, 0, (float[]){1});
    assert_true(H5Fclose(file) >= 0);
    mw_import_request request = request_for_own("x.h5");
    CHECK_FAILS(mw_import_hdf5(&request, &report, &error), MW_ERR_FORMAT, error,
                "real actions need a dimension for their values");
    assert_int_equal(remove(scratch("x.h5")), 0);
#endif
}

/* Flags of the end stand at the end, for all agents. */
static void test_hdf5_flags(void **state) {
    (void)state;
#ifndef MAWAM_HAVE_HDF5
    skip();
#else
    mw_error error;
    mw_import_report report;
    export_two(scratch("x.h5"));
    mw_import_request request = request_for_own("x.h5");
    static const struct {
        int at, agents, code;
    } cases[] = {{5, 2, MW_ENDED_BY_WORLD}, {5, 1, MW_ENDED_BY_LIMIT}, {2, 2, -1}, {2, 1, MW_ENDED_BY_LIMIT}};
    for (size_t k = 0; k < 2 * sizeof cases / sizeof *cases; k++) {
        const bool grouped = k % 2; /* an array of each agent instead of one of all */
        int8_t flags[6][2] = {{0}};
        for (int i = 0; i < cases[k / 2].agents; i++) flags[cases[k / 2].at][i] = 1;
        hid_t file = H5Fopen(scratch("x.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
        if (!k) H5Adelete_by_name(file, "episode_1", "outcome", H5P_DEFAULT);
        replace_array(file, "episode_1/terminations", H5T_STD_I8LE, H5T_NATIVE_INT8, 6, 2, flags);
        if (grouped) {
            H5Ldelete(file, "episode_1/terminations", H5P_DEFAULT);
            H5Gclose(H5Gcreate2(file, "episode_1/terminations", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        }
        for (int i = 0; grouped && i < 2; i++) {
            int8_t own[6];
            char name[64];
            for (int t = 0; t < 6; t++) own[t] = flags[t][i];
            snprintf(name, sizeof name, "episode_1/terminations/agent_%d", i);
            replace_array(file, name, H5T_STD_I8LE, H5T_NATIVE_INT8, 6, 0, own);
        }
        assert_true(H5Fclose(file) >= 0);
        if (cases[k / 2].code < 0) {
            CHECK_FAILS(mw_import_hdf5(&request, &report, &error), MW_ERR_FORMAT, error,
                        "ends the episode at step 3 of 6");
            continue;
        }
        mw_dataset d = import(mw_import_hdf5, &request, &report);
        assert_int_equal(d.outcomes[1], cases[k / 2].code);
        mw_dataset_close(&d);
    }
    assert_int_equal(remove(scratch("x.h5")), 0);
    scratch_remove(scratch("imported"));
#endif
}

/* Full disks of many sizes: an error, no file, and a process that can still exit. */
static void test_hdf5_full_disk(void **state) {
    (void)state;
    mw_error error;
    mw_dataset d;
    if (!mw_hdf5_available()) skip();
    scratch_remove(scratch("imported"));
    fixture_make(scratch("ours"), true, true, 30);
    CHECK_OK(mw_dataset_open(&d, scratch("ours"), &error), error);
    for (size_t size = 0; size < 200000; size = 2 * size + 100) {
        scratch_full_disk_begin(size);
        mw_status status = mw_export_hdf5(&d, scratch("x.h5"), NULL, &error);
        scratch_full_disk_end();
        if (status != MW_ERR_IO || !strstr(error.message, "x.h5': File too large"))
            fail_msg("%zu bytes: %s", size, status ? error.message : "written");
        assert_int_equal(scratch_count(false), 1);
    }
    CHECK_OK(mw_export_hdf5(&d, scratch("x.h5"), NULL, &error), error);
    assert_int_equal(remove(scratch("x.h5")), 0);
    mw_dataset_close(&d);
    scratch_remove(scratch("ours"));
}

static void test_hdf5_round_trip(void **state) {
    (void)state;
    if (!mw_hdf5_available()) skip();
    for (int kind = 0; kind < 4; kind++) {
        bool discrete = kind & 1, last = kind & 2;
        mw_error error;
        mw_import_report report;
        mw_dataset ours;
        fixture_make(scratch("ours"), discrete, last, 14);
        CHECK_OK(mw_dataset_open(&ours, scratch("ours"), &error), error);
        CHECK_OK(mw_export_hdf5(&ours, scratch("ours.h5"), replacing(), &error), error);
        CHECK_FAILS(mw_export_hdf5(&ours, scratch("ours.h5"), NULL, &error), MW_ERR_ARGUMENT, error,
                    "is there already");
        mw_import_request request = request_for_own("ours.h5");
        mw_dataset d = import(mw_import_hdf5, &request, &report);
        size_t cells = (size_t)d.steps * FIXTURE_AGENTS;
        assert_int_equal(d.steps, ours.steps);
        assert_memory_equal(d.lengths, ours.lengths, 14 * sizeof(int64_t));
        assert_memory_equal(d.obs, ours.obs, cells * FIXTURE_OBS * sizeof(float));
        assert_memory_equal(d.rewards, ours.rewards, cells * sizeof(float));
        assert_memory_equal(d.outcomes, ours.outcomes, 14);
        assert_true((d.last_obs != NULL) == last);
        if (last)
            assert_memory_equal(d.last_obs, ours.last_obs, 14 * FIXTURE_AGENTS * FIXTURE_OBS * sizeof(float));
        if (discrete) {
            assert_memory_equal(d.index, ours.index, cells * sizeof(int32_t));
            assert_memory_equal(d.legal, ours.legal, cells * FIXTURE_ACT);
        } else {
            assert_memory_equal(d.real, ours.real, cells * FIXTURE_ACT * sizeof(float));
        }
        mw_dataset_close(&d);
        mw_dataset_close(&ours);
    }
    mw_error error;
    mw_dataset ours;
    CHECK_OK(mw_dataset_open(&ours, scratch("ours"), &error), error);
    CHECK_FAILS(mw_export_hdf5(&ours, scratch("no/folder/x.h5"), replacing(), &error), MW_ERR_IO, error,
                "cannot create");
    mw_dataset_close(&ours);
}

typedef struct export_job {
    const mw_dataset *data;
    const char *path;
    const mw_export_options *options;
    mw_status status;
    mw_error error;
} export_job;

static void *run_export(void *context) {
    export_job *job = context;
    for (int i = 0; i < 4 && job->status == MW_OK; i++)
        job->status = mw_export_hdf5(job->data, job->path, job->options, &job->error);
    return NULL;
}

/* Two at a time into one folder do not meet. */
static void test_hdf5_side_by_side(void **state) {
    (void)state;
    mw_error error;
    mw_dataset d;
    pthread_t threads[2];
    if (!mw_hdf5_available()) skip();
    fixture_make(scratch("ours"), true, true, 30);
    CHECK_OK(mw_dataset_open(&d, scratch("ours"), &error), error);
    export_job jobs[2] = {{&d, scratch("a.h5"), replacing(), MW_OK, {0}},
                          {&d, scratch("b.h5"), replacing(), MW_OK, {0}}};
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, run_export, &jobs[i]), 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++) CHECK_OK(jobs[i].status, jobs[i].error);
    for (int i = 0; i < 2; i++) assert_int_equal(remove(jobs[i].path), 0);
    mw_dataset_close(&d);
    scratch_remove(scratch("ours"));
}

/* Widths beyond the limit are refused, not cut: rows of the source would be written over the room's end. */
static void test_too_wide(void **state) {
    (void)state;
    enum { WIDE = 1 << 21 };
    mw_error error;
    mw_import_report report;
    mw_import_request request = request_for_own("wide");
    static uint16_t halves[2 * WIDE];
    static uint8_t bytes[2 * WIDE];
    const float numbers[2] = {0};
    memset(bytes, 1, sizeof bytes);
    CHECK_OK(mw_dir_make(scratch("wide"), &error), error);
    CHECK_OK(mw_npy_write(scratch("wide/obs.npy"), MW_F32, 3, (size_t[]){2, 1, 1}, numbers, &error), error);
    CHECK_OK(mw_npy_write(scratch("wide/rewards.npy"), MW_F32, 2, (size_t[]){2, 1}, numbers, &error), error);
    CHECK_OK(mw_npy_write(scratch("wide/path_lengths.npy"), MW_I64, 1, (size_t[]){1}, (int64_t[]){2}, &error),
             error);
    CHECK_OK(mw_npy_write(scratch("wide/actions.npy"), MW_F16, 3, (size_t[]){2, 1, WIDE}, halves, &error),
             error);
    CHECK_FAILS(mw_import_madiff(&request, &report, &error), MW_ERR_FORMAT, error,
                "actions.npy: rows of 2097152 values, expected 1 to 1048576");
    CHECK_OK(mw_npy_write(scratch("wide/actions.npy"), MW_I32, 2, (size_t[]){2, 1}, numbers, &error), error);
    CHECK_OK(mw_npy_write(scratch("wide/legals.npy"), MW_BOOL, 3, (size_t[]){2, 1, WIDE}, bytes, &error),
             error);
    CHECK_FAILS(mw_import_madiff(&request, &report, &error), MW_ERR_FORMAT, error,
                "legals.npy: rows of 2097152 values, expected 1 to 1048576");
    /* One action's number must not make a mask of gigabytes. */
    remove(scratch("wide/legals.npy"));
    CHECK_OK(
        mw_npy_write(scratch("wide/actions.npy"), MW_I32, 2, (size_t[]){2, 1}, (int32_t[]){0, 4096}, &error),
        error);
    CHECK_FAILS(mw_import_madiff(&request, &report, &error), MW_ERR_FORMAT, error,
                "expected a whole number from 0 to 4095");
    scratch_remove(scratch("wide"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_omar),
        cmocka_unit_test(test_omar_jumps),
        cmocka_unit_test(test_madiff),
        cmocka_unit_test(test_madiff_own),
        cmocka_unit_test(test_wrong_sources),
        cmocka_unit_test(test_madiff_damage),
        cmocka_unit_test(test_madiff_nonsense),
        cmocka_unit_test(test_too_wide),
        cmocka_unit_test(test_hdf5),
        cmocka_unit_test(test_hdf5_wrong),
        cmocka_unit_test(test_hdf5_hostile),
        cmocka_unit_test(test_hdf5_many_members),
        cmocka_unit_test(test_hdf5_rewards),
        cmocka_unit_test(test_hdf5_flat_actions),
        cmocka_unit_test(test_hdf5_flags),
        cmocka_unit_test(test_hdf5_full_disk),
        cmocka_unit_test(test_hdf5_round_trip),
        cmocka_unit_test(test_hdf5_side_by_side),
        cmocka_unit_test(test_omar_widths),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
