/* Datasets: what is written comes back, nothing half-written looks whole, and every kind of damage is named
 * by file and place. */
#include "fixture.h"

#include "core/json.h"
#include "data/columns.h"

#include <limits.h>
#include <sys/wait.h>

enum { EPISODES = 9 };

static void test_round_trip(void **state) {
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        bool discrete = kind & 1, last = kind & 2;
        mw_error error;
        mw_dataset d;
        const char *folder = scratch("round");
        fixture_make(folder, discrete, last, EPISODES);
        CHECK_OK(mw_dataset_open(&d, folder, &error), error);
        CHECK_OK(mw_dataset_check(&d, &error), error);
        assert_int_equal(d.episodes, EPISODES);
        assert_string_equal(d.spec.task, "maze");
        assert_string_equal(d.spec.note, "noise 0.1");
        assert_true(d.spec.seed == 18446744073709551615u);
        assert_int_equal(d.spec.source_count, 1);
        assert_true(d.spec.sources[0].checksum == 0xABCDu);
        assert_true((d.last_obs != NULL) == last && (d.index != NULL) == discrete);
        long at = 0;
        for (long e = 0; e < EPISODES; e++) {
            mw_episode view = mw_dataset_episode(&d, e);
            double total = 0;
            assert_int_equal(view.length, fixture_length(e));
            for (long t = 0; t < view.length; t++, at++) {
                assert_int_equal(mw_dataset_episode_of(&d, at), e);
                for (int i = 0; i < FIXTURE_AGENTS; i++) {
                    long row = t * FIXTURE_AGENTS + i;
                    total += (double)fixture_reward(e, t, i) / FIXTURE_AGENTS;
                    assert_true(view.rewards[row] == fixture_reward(e, t, i));
                    assert_true(mw_dataset_obs(&d, e, t)[i * FIXTURE_OBS + 1] == fixture_obs(e, t, i, 1));
                    if (discrete)
                        assert_int_equal(view.index[row], fixture_index(e, t, i));
                    else
                        assert_true(view.real[row * FIXTURE_ACT + 3] == fixture_real(e, t, i, 3));
                }
            }
            CHECK_NEAR(mw_dataset_return(&d, e), total, 1e-5);
            if (last)
                assert_true(mw_dataset_obs(&d, e, view.length)[1] == fixture_obs(e, view.length, 0, 1));
            else
                assert_null(mw_dataset_obs(&d, e, view.length));
        }
        assert_int_equal(at, d.steps);
        mw_dataset_close(&d);
        mw_dataset_close(&d);
        scratch_remove(folder);
    }
}

/* Interpolated quartiles, as numpy.percentile gives them. */
static void test_return_stats(void **state) {
    (void)state;
    double values[] = {7, 1, 3, 10};
    mw_return_stats r = mw_return_stats_of(values, 4);
    CHECK_NEAR(r.mean, 5.25, 1e-12);
    CHECK_NEAR(r.std, 3.491060010942235, 1e-12);
    CHECK_NEAR(r.quartile[0], 2.5, 1e-12);
    CHECK_NEAR(r.quartile[1], 5, 1e-12);
    CHECK_NEAR(r.quartile[2], 7.75, 1e-12);
}

static void test_same_bits(void **state) {
    (void)state;
    static unsigned char one[1 << 20], two[1 << 20];
    static const char *const files[] = {"obs.npy", "actions.npy", "path_lengths.npy", "dataset.json"};
    fixture_make(scratch("one"), true, true, EPISODES);
    fixture_make(scratch("two"), true, true, EPISODES);
    for (size_t i = 0; i < 4; i++) {
        char a[64], b[64];
        snprintf(a, sizeof a, "one/%s", files[i]);
        snprintf(b, sizeof b, "two/%s", files[i]);
        size_t size = scratch_read(scratch(a), one, sizeof one);
        assert_int_equal(size, scratch_read(scratch(b), two, sizeof two));
        assert_memory_equal(one, two, size);
    }
    scratch_remove(scratch("one"));
    scratch_remove(scratch("two"));
}

/* ---- damage -------------------------------------------------------------------------------------------- */

static mw_status open_and_check(const char *folder, mw_error *error) {
    mw_dataset d;
    MW_TRY(mw_dataset_open(&d, folder, error));
    mw_status status = mw_dataset_check(&d, error);
    mw_dataset_close(&d);
    return status;
}

static void expect_bad(mw_status expected, const char *text) {
    mw_error error;
    CHECK_FAILS(open_and_check(scratch("bad"), &error), expected, error, text);
}

/* Copies a column's data, lets the caller spoil it, and puts it back under any type and shape. */
static void *load(const char *file, mw_npy *header) {
    char name[64];
    mw_error error;
    snprintf(name, sizeof name, "bad/%s", file);
    CHECK_OK(mw_npy_open(header, scratch(name), &error), error);
    size_t bytes = header->count * mw_dtype_size(header->type);
    void *copy = malloc(bytes + 64);
    assert_non_null(copy);
    memcpy(copy, header->data, bytes);
    mw_npy_close(&(mw_npy){.map = header->map});
    return copy;
}

static void store(const char *file, const mw_npy *header, void *data) {
    char name[64];
    mw_error error;
    snprintf(name, sizeof name, "bad/%s", file);
    CHECK_OK(mw_npy_write(scratch(name), header->type, header->dims, header->shape, data, &error), error);
    free(data);
}

static void fresh(bool discrete) {
    scratch_remove(scratch("bad"));
    fixture_make(scratch("bad"), discrete, true, EPISODES);
}

static void test_no_dataset(void **state) {
    (void)state;
    mw_error error;
    mw_dataset d;
    CHECK_FAILS(mw_dataset_open(&d, scratch("nowhere"), &error), MW_ERR_IO, error,
                "nowhere/dataset.json': a dataset is a folder");
}

static void test_missing_column(void **state) {
    (void)state;
    static const char *const files[] = {"obs",          "actions",  "rewards", "legals",
                                        "path_lengths", "last_obs", "outcomes"};
    for (size_t i = 0; i < 7; i++) {
        char name[64];
        fresh(true);
        snprintf(name, sizeof name, "bad/%s.npy", files[i]);
        unlink(scratch(name));
        expect_bad(MW_ERR_IO, name);
    }
    unlink(scratch("bad/dataset.json"));
    expect_bad(MW_ERR_IO, "bad/dataset.json");
}

static void test_lengths(void **state) {
    (void)state;
    mw_npy h;
    fresh(true);
    int64_t *lengths = load("path_lengths.npy", &h);
    lengths[2]++;
    store("path_lengths.npy", &h, lengths);
    expect_bad(MW_ERR_FORMAT, "path_lengths.npy: the lengths add up to 58 steps, but obs.npy has 57");
    lengths = load("path_lengths.npy", &h);
    lengths[3] = 0;
    store("path_lengths.npy", &h, lengths);
    expect_bad(MW_ERR_FORMAT, "path_lengths.npy: episode 3 has 0 steps, expected 1 to 12");
    lengths = load("path_lengths.npy", &h);
    lengths[3] = INT64_MIN;
    store("path_lengths.npy", &h, lengths);
    expect_bad(MW_ERR_FORMAT, "path_lengths.npy: episode 3 has -9223372036854775808 steps");
    lengths = load("path_lengths.npy", &h);
    h.shape[0]--;
    store("path_lengths.npy", &h, lengths);
    expect_bad(MW_ERR_MISMATCH, "path_lengths.npy");
}

static void test_types_and_shapes(void **state) {
    (void)state;
    mw_npy h;
    fresh(false);
    float *x = load("rewards.npy", &h);
    double *wide = calloc(h.count, sizeof *wide);
    h.type = MW_F64;
    store("rewards.npy", &h, wide);
    expect_bad(MW_ERR_MISMATCH, "rewards.npy has elements of type f64, expected f32");
    free(x);
    fresh(false);
    x = load("obs.npy", &h);
    h.shape[0] = 19; /* the same number of values in other rows */
    h.shape[1] = 6;
    store("obs.npy", &h, x);
    expect_bad(MW_ERR_MISMATCH, "obs.npy");
    fresh(true);
    x = load("actions.npy", &h);
    h.type = MW_F32;
    store("actions.npy", &h, x);
    expect_bad(MW_ERR_MISMATCH, "actions.npy has elements of type f32, expected i32");
}

static void test_values(void **state) {
    (void)state;
    mw_npy h;
    fresh(false);
    float *x = load("obs.npy", &h);
    x[(1 + 2) * FIXTURE_AGENTS * FIXTURE_OBS + FIXTURE_OBS + 2] = NAN; /* episode 0 has one step */
    store("obs.npy", &h, x);
    expect_bad(MW_ERR_NUMERIC, "bad/obs.npy: episode 1, step 2, agent 1, feature 2 is nan");
    fresh(false);
    x = load("rewards.npy", &h);
    x[1] = INFINITY;
    store("rewards.npy", &h, x);
    expect_bad(MW_ERR_NUMERIC, "bad/rewards.npy: episode 0, step 0, agent 1 is inf");
    fresh(false);
    x = load("actions.npy", &h);
    x[FIXTURE_AGENTS * FIXTURE_ACT] = -INFINITY;
    store("actions.npy", &h, x);
    expect_bad(MW_ERR_NUMERIC, "bad/actions.npy: episode 1, step 0, agent 0, value 0 is -inf");
    fresh(false);
    x = load("last_obs.npy", &h);
    x[4 * FIXTURE_AGENTS * FIXTURE_OBS] = NAN;
    store("last_obs.npy", &h, x);
    expect_bad(MW_ERR_NUMERIC, "bad/last_obs.npy: episode 4, agent 0, feature 0 is nan");
    uint8_t *outcomes = load("outcomes.npy", &h);
    outcomes[1] = 2;
    store("outcomes.npy", &h, outcomes);
    expect_bad(MW_ERR_FORMAT, "bad/outcomes.npy: episode 1 has 2, expected 0, 1 or 3");
}

static void test_discrete_actions(void **state) {
    (void)state;
    mw_npy h;
    fresh(true);
    int32_t *actions = load("actions.npy", &h);
    actions[FIXTURE_AGENTS + 1] = FIXTURE_ACT;
    store("actions.npy", &h, actions);
    expect_bad(MW_ERR_FORMAT, "bad/actions.npy: episode 1, step 0, agent 1: action 4, expected 0 to 3");
    fresh(true);
    actions = load("actions.npy", &h);
    actions[0] = -1;
    store("actions.npy", &h, actions);
    expect_bad(MW_ERR_FORMAT, "bad/actions.npy: episode 0, step 0, agent 0: action -1, expected 0 to 3");
    fresh(true);
    actions = load("actions.npy", &h);
    actions[0] = 3;
    store("actions.npy", &h, actions);
    expect_bad(MW_ERR_FORMAT, "bad/actions.npy: episode 0, step 0, agent 0: action 3 is not legal there");
    fresh(true);
    uint8_t *legal = load("legals.npy", &h);
    legal[5] = 2;
    store("legals.npy", &h, legal);
    expect_bad(MW_ERR_FORMAT, "legals.npy");
}

static void test_checksum(void **state) {
    (void)state;
    mw_npy h;
    fresh(false);
    float *x = load("rewards.npy", &h);
    x[5] += 1;
    store("rewards.npy", &h, x);
    expect_bad(MW_ERR_FORMAT, "bad/rewards.npy: checksum");
}

/* Replaces a piece of dataset.json. */
static void edit(const char *from, const char *to) {
    static char text[1 << 16], changed[1 << 16];
    fresh(false);
    size_t size = scratch_read(scratch("bad/dataset.json"), text, sizeof text - 1);
    text[size] = 0;
    char *place = strstr(text, from);
    if (!place) fail_msg("dataset.json lacks %s", from);
    int length =
        snprintf(changed, sizeof changed, "%.*s%s%s", (int)(place - text), text, to, place + strlen(from));
    scratch_write(scratch("bad/dataset.json"), changed, (size_t)length);
}

static void test_description(void **state) {
    (void)state;
    static const struct {
        const char *from, *to;
        mw_status status;
        const char *text;
    } cases[] = {
        {"\"episodes\": 9,\n  \"ret", "\"episodes\": 0,\n  \"ret", MW_ERR_FORMAT, "episodes"},
        {"\"version\": 1", "\"version\": 2", MW_ERR_UNSUPPORTED, "format version 2, this program knows 1"},
        {"\"mawam-dataset\"", "\"other\"", MW_ERR_FORMAT, "format is not 'mawam-dataset'"},
        {"\"agents\": 2", "\"agents\": 3", MW_ERR_MISMATCH, "obs.npy"},
        {"\"obs_size\": 3", "\"obs_size\": 0", MW_ERR_FORMAT, "obs_size"},
        {"\"obs_size\": 3", "\"obs_size\": 2147483647", MW_ERR_FORMAT, "obs_size"},
        {"\"discrete\": false", "\"discrete\": 0", MW_ERR_FORMAT, "'discrete' is integer"},
        {"\"discrete\": false", "\"discrete\": true", MW_ERR_MISMATCH, "actions.npy"},
        {"\"steps\": 57", "\"steps\": 56", MW_ERR_MISMATCH, "obs.npy"},
        {"\"maze\"", "\"ma ze\"", MW_ERR_FORMAT, "task must have"},
        {"\"maze\"", "\"\"", MW_ERR_FORMAT, "task is missing"},
        {"\"18446744073709551615\"", "\"-1\"", MW_ERR_FORMAT, "seed is not a whole number"},
        {"fnv1a64:", "sha256:", MW_ERR_FORMAT, "checksum"},
        {"\"rewards\"", "\"bonus\"", MW_ERR_FORMAT, "'columns' does not list 'rewards'"},
        {"\"std\"", "\"spread\"", MW_ERR_FORMAT, "'returns' needs"},
        {"\"behaviors\"", "\"actors\"", MW_ERR_FORMAT, "'behaviors' is nothing"},
        {"\"episode_limit\": 12", "\"episode_limit\": 11", MW_ERR_FORMAT,
         "path_lengths.npy: episode 7 has 12 steps, expected 1 to 11"},
        {"{", "", MW_ERR_FORMAT, "dataset.json"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        edit(cases[i].from, cases[i].to);
        expect_bad(cases[i].status, cases[i].text);
    }
    scratch_remove(scratch("bad"));
}

static void test_expect(void **state) {
    (void)state;
    mw_error error;
    mw_dataset d;
    mw_env_info info = {.task = "maze",
                        .rules = "maze-1",
                        .agents = FIXTURE_AGENTS,
                        .obs_size = FIXTURE_OBS,
                        .act_size = FIXTURE_ACT,
                        .episode_limit = FIXTURE_LIMIT};
    fixture_make(scratch("maze"), false, true, EPISODES);
    CHECK_OK(mw_dataset_open(&d, scratch("maze"), &error), error);
    CHECK_OK(mw_dataset_expect(&d, &info, &error), error);
    info.rules = "maze-2";
    CHECK_FAILS(mw_dataset_expect(&d, &info, &error), MW_ERR_MISMATCH, error,
                "made under rules 'maze-1' of task 'maze', but this program has 'maze-2'");
    d.spec.rules = "omar-import"; /* foreign data is not held to our rules, only to the sizes */
    CHECK_OK(mw_dataset_expect(&d, &info, &error), error);
    info.agents = 3;
    CHECK_FAILS(mw_dataset_expect(&d, &info, &error), MW_ERR_MISMATCH, error, "2 agents");
    info.task = "other";
    CHECK_FAILS(mw_dataset_expect(&d, &info, &error), MW_ERR_MISMATCH, error, "data of task 'maze'");
    mw_dataset_close(&d);
    scratch_remove(scratch("maze"));
}

/* ---- the writer ---------------------------------------------------------------------------------------- */

static void test_writer_refuses(void **state) {
    (void)state;
    mw_error error;
    mw_dataset_writer *w;
    mw_dataset_spec spec = fixture_spec(true);
    fixture_data data;
    mw_episode *e = fixture_episode(&data, 3, true, true);
    CHECK_OK(mw_dataset_writer_open(&w, scratch("new/deep/data/"), &spec, false, &error), error);
    data.obs[1][0][1] = NAN;
    CHECK_FAILS(mw_dataset_writer_add(w, e, &error), MW_ERR_NUMERIC, error,
                "obs.npy: episode 0, step 1, agent 0, feature 1 is nan");
    mw_dataset_writer_abandon(w);
    CHECK_OK(mw_dataset_writer_open(&w, scratch("new/deep/data"), &spec, false, &error), error);
    e = fixture_episode(&data, 3, true, true);
    CHECK_OK(mw_dataset_writer_add(w, e, &error), error);
    e->last_obs = NULL;
    CHECK_FAILS(mw_dataset_writer_add(w, e, &error), MW_ERR_ARGUMENT, error, "lacks its last observation");
    e = fixture_episode(&data, 3, false, true);
    CHECK_FAILS(mw_dataset_writer_add(w, e, &error), MW_ERR_ARGUMENT, error,
                "actions.npy: episode 1 has none");
    mw_dataset_writer_abandon(w);
    CHECK_OK(mw_dataset_writer_open(&w, scratch("new/deep/data"), &spec, false, &error), error);
    CHECK_FAILS(mw_dataset_writer_commit(w, &error), MW_ERR_ARGUMENT, error, "at least one episode");
    spec.agents = 0;
    CHECK_FAILS(mw_dataset_writer_open(&w, scratch("x"), &spec, false, &error), MW_ERR_ARGUMENT, error,
                "agents is 0, expected 1 to 1024");
    assert_int_equal(rmdir(scratch("new/deep")), 0); /* nothing is left in it */
    scratch_remove(scratch("new"));
}

static void test_overwrite(void **state) {
    (void)state;
    mw_error error;
    mw_dataset_writer *w;
    mw_dataset_spec spec = fixture_spec(false);
    fixture_make(scratch("kept"), false, true, EPISODES);
    CHECK_FAILS(mw_dataset_writer_open(&w, scratch("kept"), &spec, false, &error), MW_ERR_ARGUMENT, error,
                "is there already; 'overwrite' replaces it");
    fixture_make(scratch("kept"), true, false, 4); /* replaces */
    mw_dataset d;
    CHECK_OK(mw_dataset_open(&d, scratch("kept"), &error), error);
    assert_int_equal(d.episodes, 4);
    assert_false(mw_file_exists(scratch("kept/last_obs.npy")));
    mw_dataset_close(&d);
    scratch_write(scratch("kept/thesis.txt"), "precious", 8);
    CHECK_FAILS(mw_dataset_writer_open(&w, scratch("kept"), &spec, true, &error), MW_ERR_ARGUMENT, error,
                "it holds 'thesis.txt', which is not part of a dataset");
    scratch_remove(scratch("kept"));
    scratch_write(scratch("file"), "x", 1);
    CHECK_FAILS(mw_dataset_writer_open(&w, scratch("file"), &spec, true, &error), MW_ERR_ARGUMENT, error,
                "not a folder");
    unlink(scratch("file"));
    assert_int_equal(scratch_count(false), 0);
}

/* A link to a dataset leads to the new one. */
static void test_overwrite_link(void **state) {
    (void)state;
    mw_error error;
    mw_dataset d;
    mw_dataset_writer *w;
    mw_dataset_spec spec = fixture_spec(false);
    struct stat info;
    fixture_make(scratch("target"), false, true, EPISODES);
    assert_int_equal(symlink("target", scratch("link")), 0);
    fixture_make(scratch("link"), true, false, 4);
    assert_int_equal(lstat(scratch("link"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    CHECK_OK(mw_dataset_open(&d, scratch("target"), &error), error);
    assert_int_equal(d.episodes, 4);
    mw_dataset_close(&d);
    scratch_remove(scratch("target"));
    CHECK_FAILS(mw_dataset_writer_open(&w, scratch("link"), &spec, true, &error), MW_ERR_IO, error,
                "cannot follow the link");
    assert_int_equal(unlink(scratch("link")), 0);
    assert_int_equal(scratch_count(false), 0);
}

/* A process that dies in the middle leaves a hidden folder without a description; the next writer of the same
 * target clears it away. */
static void test_interrupted(void **state) {
    (void)state;
    mw_error error;
    mw_dataset_spec spec = fixture_spec(false);
    const char *folder = scratch("half");
    pid_t child = fork();
    if (child == 0) {
        mw_dataset_writer *w;
        fixture_data data;
        if (mw_dataset_writer_open(&w, folder, &spec, false, &error) != MW_OK) _exit(1);
        for (long e = 0; e < 5; e++)
            if (mw_dataset_writer_add(w, fixture_episode(&data, e, false, true), &error) != MW_OK) _exit(1);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_false(mw_file_exists(folder));
    assert_int_equal(scratch_count(false), 1); /* the hidden folder ... */
    mw_dataset d;
    char hidden[80];
    snprintf(hidden, sizeof hidden, ".half.mawam-%ld-0", (long)child);
    CHECK_FAILS(mw_dataset_open(&d, scratch(hidden), &error), MW_ERR_IO, error, "dataset.json");
    fixture_make(folder, false, true, 2);
    assert_int_equal(scratch_count(false), 1); /* ... which is gone now */
    scratch_remove(folder);
    /* through a link too it lies beside what the link leads to */
    char target[80];
    assert_int_equal(mkdir(scratch("elsewhere"), 0777) | mkdir(scratch("elsewhere/real"), 0777), 0);
    snprintf(target, sizeof target, "elsewhere/.real.mawam-%ld-0", (long)child);
    assert_int_equal(mkdir(scratch(target), 0777) | symlink("elsewhere/real", scratch("link")), 0);
    mw_dataset_sweep(scratch("link"));
    assert_false(mw_file_exists(scratch(target)));
    assert_int_equal(unlink(scratch("link")) | rmdir(scratch("elsewhere/real")) | rmdir(scratch("elsewhere")),
                     0);
}

/* What a killed process with this one's number left, as in containers, is stepped over. */
static void test_same_process_number(void **state) {
    (void)state;
    mw_error error;
    mw_dataset_writer *w;
    mw_dataset_spec spec = fixture_spec(false);
    long process = 0;
    unsigned number = 0;
    char hidden[80];
    CHECK_OK(mw_dataset_writer_open(&w, scratch("again"), &spec, false, &error), error);
    DIR *folder = opendir(scratch_folder);
    for (struct dirent *entry; (entry = readdir(folder));)
        sscanf(entry->d_name, ".again.mawam-%ld-%u", &process, &number);
    closedir(folder);
    assert_int_equal(process, getpid());
    mw_dataset_writer_abandon(w);
    snprintf(hidden, sizeof hidden, ".again.mawam-%ld-%u", process, number + 1);
    assert_int_equal(mkdir(scratch(hidden), 0777), 0);
    fixture_make(scratch("again"), false, true, 2);
    scratch_remove(scratch("again"));
    assert_int_equal(rmdir(scratch(hidden)), 0);
}

static void test_full_disk(void **state) {
    (void)state;
    mw_error error;
    mw_dataset_writer *w;
    mw_dataset_spec spec = fixture_spec(false);
    fixture_data data;
    CHECK_OK(mw_dataset_writer_open(&w, scratch("full"), &spec, false, &error), error);
    mw_status status = MW_OK;
    scratch_full_disk_begin(16384);
    for (long e = 0; e < 400 && status == MW_OK; e++)
        status = mw_dataset_writer_add(w, fixture_episode(&data, e, false, true), &error);
    if (status == MW_OK) {
        status = mw_dataset_writer_commit(w, &error);
    } else {
        mw_dataset_writer_abandon(w);
    }
    scratch_full_disk_end();
    assert_int_equal(status, MW_ERR_IO);
    assert_int_equal(scratch_count(false), 0);
}

/* Whatever happens to the files of an open dataset, what is read from it stays as it was checked. */
static void changes_under_way(void **state) {
    (void)state;
    mw_error error;
    mw_dataset d;
    static unsigned char ones[1 << 12];
    memset(ones, 0x7f, sizeof ones);
    fixture_make(scratch("changing"), true, true, 8);
    CHECK_OK(mw_dataset_open(&d, scratch("changing"), &error), error);
    CHECK_OK(mw_dataset_check(&d, &error), error);
    scratch_write(scratch("changing/actions.npy"), ones, sizeof ones); /* indices far out of range */
    assert_int_equal(truncate(scratch("changing/obs.npy"), 0), 0);
    assert_int_equal(truncate(scratch("changing/path_lengths.npy"), 130), 0);
    assert_int_equal(truncate(scratch("changing/legals.npy"), 128), 0);
    mw_dataset_release(&d, 0, d.steps);
    CHECK_OK(mw_dataset_check(&d, &error), error);
    for (size_t i = 0; i < (size_t)d.steps * FIXTURE_AGENTS; i++) assert_true(mw_dataset_index(&d, i) < 4);
    int32_t wild = 1 << 30;
    mw_dataset hostile = d;
    hostile.index = &wild;
    assert_int_equal(mw_dataset_index(&hostile, 0), 0);
    mw_dataset_close(&d);
    scratch_remove(scratch("changing"));
}

/* What the description tells of returns and victories is held against the columns. */
static void test_told_returns(void **state) {
    (void)state;
    static const char *const keys[] = {"mean", "std", "minimum", "maximum", "won", "0", "1", "2"};
    mw_error error;
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        mw_dataset d;
        json_t *root;
        fixture_make(scratch("told"), true, true, 4);
        CHECK_OK(mw_json_read(&root, scratch("told/dataset.json"), &error), error);
        json_t *returns = json_object_get(root, "returns"),
               *quartiles = json_object_get(returns, "quartiles");
        const size_t quartile = (size_t)(*keys[k] - '0');
        const double value = json_number_value(quartile < 3 ? json_array_get(quartiles, quartile)
                                                            : json_object_get(returns, keys[k]));
        json_t *other = json_real(value > 0.5 ? value - 0.01 : value + 0.01);
        if (quartile < 3)
            json_array_set_new(quartiles, quartile, other);
        else
            json_object_set_new(returns, keys[k], other);
        CHECK_OK(mw_json_write(root, scratch("told/dataset.json"), &error), error);
        json_decref(root);
        CHECK_OK(mw_dataset_open(&d, scratch("told"), &error), error);
        CHECK_FAILS(mw_dataset_check(&d, &error), MW_ERR_FORMAT, error, "tells of returns of");
        mw_dataset_close(&d);
        scratch_remove(scratch("told"));
    }
}

/* So is in how many episodes who acted; 0 is unknown, and several may act in one. */
static void test_told_behaviors(void **state) {
    (void)state;
    static const struct {
        long first, second; /* episodes of two behaviours, of the four that there are */
        const char *problem;
    } told[] = {{4, 0, NULL},
                {0, 0, NULL},
                {1, 3, NULL},
                {4, 4, NULL},
                {3, 0, NULL},
                {5, 0, "tells of 5 episodes of 'a', but there are 4"},
                {1, 2, "in 3 episodes, but there are 4"},
                {1, LONG_MAX, "episodes of 'b', but there are 4"}};
    mw_error error;
    for (size_t k = 0; k < sizeof told / sizeof *told; k++) {
        mw_dataset d;
        json_t *root;
        fixture_make(scratch("told"), true, true, 4);
        CHECK_OK(mw_json_read(&root, scratch("told/dataset.json"), &error), error);
        json_object_set_new(root, "behaviors",
                            json_pack("[{s:s, s:s, s:I}, {s:s, s:s, s:I}]", "name", "a", "checksum",
                                      "fnv1a64:0000000000000000", "episodes", (json_int_t)told[k].first,
                                      "name", "b", "checksum", "fnv1a64:0000000000000000", "episodes",
                                      (json_int_t)told[k].second));
        CHECK_OK(mw_json_write(root, scratch("told/dataset.json"), &error), error);
        json_decref(root);
        CHECK_OK(mw_dataset_open(&d, scratch("told"), &error), error);
        if (told[k].problem)
            CHECK_FAILS(mw_dataset_check(&d, &error), MW_ERR_FORMAT, error, told[k].problem);
        else
            CHECK_OK(mw_dataset_check(&d, &error), error);
        mw_dataset_close(&d);
        scratch_remove(scratch("told"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_under_way),   cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_return_stats),   cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_no_dataset),     cmocka_unit_test(test_missing_column),
        cmocka_unit_test(test_lengths),        cmocka_unit_test(test_types_and_shapes),
        cmocka_unit_test(test_values),         cmocka_unit_test(test_discrete_actions),
        cmocka_unit_test(test_checksum),       cmocka_unit_test(test_description),
        cmocka_unit_test(test_expect),         cmocka_unit_test(test_writer_refuses),
        cmocka_unit_test(test_overwrite),      cmocka_unit_test(test_overwrite_link),
        cmocka_unit_test(test_interrupted),    cmocka_unit_test(test_same_process_number),
        cmocka_unit_test(test_full_disk),      cmocka_unit_test(test_told_returns),
        cmocka_unit_test(test_told_behaviors),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
