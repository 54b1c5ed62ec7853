/* Recording one's own episodes by the public interface alone: what is written is read back, of a task with a
 * name and sizes that the library does not know; what is refused changes nothing. */
#include "data/dataset.h"
#include "scratch.h"

#include <mawam/mawam.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AGENTS = 3, OBS = 2, ACT = 4, STEPS = 5 };

static float obs[STEPS + 1][AGENTS][OBS], real[STEPS][AGENTS][ACT], rewards[STEPS][AGENTS];
static int32_t chosen[STEPS][AGENTS];
static uint8_t legal[STEPS][AGENTS][ACT];

static mw_dataset_spec spec_of(bool discrete) {
    return (mw_dataset_spec){.task = "my-game",
                             .rules = "my-game-7",
                             .agents = AGENTS,
                             .obs_size = OBS,
                             .act_size = ACT,
                             .discrete = discrete,
                             .episode_limit = STEPS};
}

static mw_episode episode_of(bool discrete, int number) {
    for (int t = 0; t <= STEPS; t++)
        for (int i = 0; i < AGENTS; i++)
            for (int k = 0; k < OBS; k++) obs[t][i][k] = (float)(1000 * number + 100 * t + 10 * i + k);
    for (int t = 0; t < STEPS; t++)
        for (int i = 0; i < AGENTS; i++) {
            for (int k = 0; k < ACT; k++) real[t][i][k] = 0.1f * (float)(number + t - i + k);
            chosen[t][i] = (number + t + i) % ACT;
            rewards[t][i] = (float)(t * i + number);
        }
    memset(legal, 1, sizeof legal);
    return (mw_episode){.length = STEPS - number % 2,
                        .obs = &obs[0][0][0],
                        .last_obs = &obs[STEPS - number % 2][0][0],
                        .real = discrete ? NULL : &real[0][0][0],
                        .index = discrete ? &chosen[0][0] : NULL,
                        .legal = discrete && number ? &legal[0][0][0] : NULL, /* the first: not given */
                        .rewards = &rewards[0][0],
                        .outcome = number % 2 ? MW_ENDED_BY_WORLD : MW_ENDED_BY_LIMIT};
}

static void compare(bool discrete, int count) {
    mw_error error;
    mw_dataset *dataset;
    CHECK_OK(mw_dataset_load(&dataset, scratch("own"), &error), error);
    CHECK_OK(mw_dataset_check(dataset, &error), error);
    const mw_dataset_summary about = mw_dataset_describe(dataset);
    const mw_dataset_columns columns = mw_dataset_view(dataset);
    assert_string_equal(about.spec.task, "my-game");
    assert_string_equal(about.spec.rules, "my-game-7");
    assert_int_equal(about.episodes, count);
    for (int e = 0; e < count; e++) {
        const mw_episode wrote = episode_of(discrete, e);
        const size_t first = (size_t)columns.offsets[e], cells = (size_t)wrote.length * AGENTS;
        assert_int_equal(columns.lengths[e], wrote.length);
        assert_int_equal(columns.outcomes[e], wrote.outcome);
        assert_memory_equal(columns.obs + first * AGENTS * OBS, obs, cells * OBS * sizeof(float));
        assert_memory_equal(columns.last_obs + e * AGENTS * OBS, wrote.last_obs, sizeof obs[0]);
        assert_memory_equal(columns.rewards + first * AGENTS, rewards, cells * sizeof(float));
        if (discrete) {
            assert_memory_equal(columns.index + first * AGENTS, chosen, cells * sizeof(int32_t));
            assert_memory_equal(columns.legal + first * AGENTS * ACT, legal, cells * ACT);
        } else {
            assert_memory_equal(columns.real + first * AGENTS * ACT, real, cells * ACT * sizeof(float));
        }
    }
    mw_dataset_free(dataset);
}

static void read_back(void **state) {
    (void)state;
    mw_error error;
    for (int discrete = 0; discrete < 2; discrete++) {
        mw_dataset_writer *writer;
        const mw_dataset_spec spec = spec_of(discrete);
        CHECK_OK(mw_dataset_writer_open(&writer, scratch("own"), &spec, discrete, &error), error);
        for (int e = 0; e < 3; e++) {
            const mw_episode episode = episode_of(discrete, e);
            CHECK_OK(mw_dataset_writer_add(writer, &episode, &error), error);
        }
        assert_int_equal(mw_dataset_writer_steps(writer), 3 * STEPS - 1);
        CHECK_OK(mw_dataset_writer_commit(writer, &error), error);
        compare(discrete, 3);
    }
    mw_dataset_remove(scratch("own"));
}

/* A refused episode leaves the writer as it was: what follows it is recorded. */
static void refused_changes_nothing(void **state) {
    (void)state;
    mw_error error;
    mw_dataset_writer *writer;
    const mw_dataset_spec spec = spec_of(true);
    CHECK_OK(mw_dataset_writer_open(&writer, scratch("own"), &spec, false, &error), error);
    mw_episode episode = episode_of(true, 0);
    episode.length = STEPS + 1;
    CHECK_FAILS(mw_dataset_writer_add(writer, &episode, &error), MW_ERR_FORMAT, error, "expected 1 to 5");
    for (int e = 0; e < 2; e++) {
        episode = episode_of(true, e);
        chosen[2][1] = ACT;
        CHECK_FAILS(mw_dataset_writer_add(writer, &episode, &error), MW_ERR_FORMAT, error,
                    "step 2, agent 1: action 4, expected 0 to 3");
        episode = episode_of(true, e);
        episode.rewards = NULL;
        CHECK_FAILS(mw_dataset_writer_add(writer, &episode, &error), MW_ERR_ARGUMENT, error, "rewards");
        episode = episode_of(true, e);
        CHECK_OK(mw_dataset_writer_add(writer, &episode, &error), error);
    }
    episode.last_obs = NULL;
    CHECK_FAILS(mw_dataset_writer_add(writer, &episode, &error), MW_ERR_ARGUMENT, error, "lacks its last");
    CHECK_OK(mw_dataset_writer_commit(writer, &error), error);
    compare(true, 2);
    mw_dataset_remove(scratch("own"));
}

/* A process that a writer's own one has forked leaves, and with it its copy: the recording goes on. */
static void forks_leave_it(void **state) {
    (void)state;
    mw_error error;
    mw_dataset_writer *writer;
    const mw_dataset_spec spec = spec_of(false);
    CHECK_OK(mw_dataset_writer_open(&writer, scratch("own"), &spec, false, &error), error);
    mw_episode episode = episode_of(false, 0);
    CHECK_OK(mw_dataset_writer_add(writer, &episode, &error), error);
    const pid_t child = fork();
    if (child == 0) {
        mw_dataset_writer_abandon(writer);
        exit(0); /* with all that it has buffered */
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    episode = episode_of(false, 1);
    CHECK_OK(mw_dataset_writer_add(writer, &episode, &error), error);
    CHECK_OK(mw_dataset_writer_commit(writer, &error), error);
    compare(false, 2);
    mw_dataset_remove(scratch("own"));
}

/* Texts that are not UTF-8 cost no episode, neither at the end of a recording nor afterwards. */
static void any_text(void **state) {
    (void)state;
    mw_error error;
    mw_dataset_writer *writer;
    mw_dataset *dataset;
    const mw_data_source who = {.name = "Andr\xe9", .episodes = 1};
    mw_dataset_spec spec = spec_of(false);
    spec.command = "./record caf\xe9";
    spec.note = "na\xc3\xafve";
    spec.sources = &who;
    spec.source_count = 1;
    CHECK_OK(mw_dataset_writer_open(&writer, scratch("own"), &spec, false, &error), error);
    const mw_episode episode = episode_of(false, 0);
    CHECK_OK(mw_dataset_writer_add(writer, &episode, &error), error);
    CHECK_OK(mw_dataset_writer_commit(writer, &error), error);
    CHECK_OK(mw_dataset_declare(scratch("own"), "my-game-7", "caf\xe9", &error), error);
    CHECK_OK(mw_dataset_load(&dataset, scratch("own"), &error), error);
    const mw_dataset_summary about = mw_dataset_describe(dataset);
    assert_string_equal(about.spec.command, "./record caf?");
    assert_string_equal(about.spec.note, "caf?");
    assert_string_equal(about.spec.sources[0].name, "Andr?");
    mw_dataset_free(dataset);
    mw_dataset_remove(scratch("own"));
}

static void nothing_given(void **state) {
    (void)state;
    mw_error error;
    mw_dataset_writer *writer;
    const mw_dataset_spec spec = spec_of(true);
    const mw_episode episode = episode_of(true, 0);
    CHECK_FAILS(mw_dataset_writer_open(NULL, "x", &spec, false, &error), MW_ERR_ARGUMENT, error, "NULL");
    CHECK_FAILS(mw_dataset_writer_open(&writer, NULL, &spec, false, &error), MW_ERR_ARGUMENT, error, "NULL");
    CHECK_FAILS(mw_dataset_writer_open(&writer, "x", NULL, false, &error), MW_ERR_ARGUMENT, error, "NULL");
    CHECK_FAILS(mw_dataset_writer_open(&writer, scratch("own"), &(mw_dataset_spec){0}, false, &error),
                MW_ERR_ARGUMENT, error, "task is missing");
    static const char *const nameless[] = {"", "/", ".", "..", "new/.", "new/..", "new/./"};
    for (size_t i = 0; i < sizeof nameless / sizeof *nameless; i++)
        CHECK_FAILS(mw_dataset_writer_open(&writer, nameless[i], &spec, false, &error), MW_ERR_ARGUMENT,
                    error, "not a folder's name");
    CHECK_FAILS(mw_dataset_writer_add(NULL, &episode, &error), MW_ERR_ARGUMENT, error, "NULL");
    CHECK_FAILS(mw_dataset_writer_commit(NULL, &error), MW_ERR_ARGUMENT, error, "NULL");
    mw_dataset_writer_abandon(NULL);
    CHECK_OK(mw_dataset_writer_open(&writer, scratch("own"), &spec, false, &error), error);
    CHECK_FAILS(mw_dataset_writer_add(writer, NULL, &error), MW_ERR_ARGUMENT, error, "NULL");
    CHECK_FAILS(mw_dataset_writer_sources(writer, NULL, 2, &error), MW_ERR_ARGUMENT, error, "2 behaviours");
    CHECK_FAILS(mw_dataset_writer_sources(writer, &(mw_data_source){.episodes = -1}, 1, &error),
                MW_ERR_ARGUMENT, error, "in -1 episodes");
    mw_dataset_writer_abandon(writer);
    assert_int_equal(scratch_count(false), 0);
}

/* examples/record_data.c, an outside program: its dataset is whole. */
static void example(void **state) {
    (void)state;
    char line[1000];
    mw_error error;
    mw_dataset *dataset;
    snprintf(line, sizeof line, "%.*s/examples/record_data %s",
             (int)(strrchr(MAWAM_PROGRAM, '/') - MAWAM_PROGRAM), MAWAM_PROGRAM, scratch("carts"));
    assert_int_equal(system(line), 0);
    CHECK_OK(mw_dataset_load(&dataset, scratch("carts"), &error), error);
    CHECK_OK(mw_dataset_check(dataset, &error), error);
    assert_int_equal(mw_dataset_describe(dataset).episodes, 200);
    mw_dataset_free(dataset);
    assert_int_not_equal(system(strcat(line, " 2> /dev/null")), 0); /* nothing is overwritten */
    mw_dataset_remove(scratch("carts"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_back),      cmocka_unit_test(refused_changes_nothing),
        cmocka_unit_test(forks_leave_it), cmocka_unit_test(any_text),
        cmocka_unit_test(nothing_given),  cmocka_unit_test(example),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
