/* The live view's tally: it counts episodes that the present plan alone played to their end, each once.
 */
#include "fuzz/small_duel.h"

#include "live/stage.h"

#include "scratch.h"

static mw_stage stage;

static void command(const char *text) {
    mw_error error;
    CHECK_OK(mw_stage_command(&stage, text, strlen(text), &error), error);
}

static void play_out(void) {
    for (int i = 0; i < 1000 && !mw_duel_over(stage.duel); i++) command("{\"do\": \"step\"}");
    assert_true(mw_duel_over(stage.duel));
}

static const char *printed(void) {
    static char text[4096];
    FILE *out = fmemopen(text, sizeof text, "w");
    mw_tally_print(&stage.tally, out);
    fclose(out);
    return text;
}

static void expect_episodes(int count) {
    char begin[40];
    snprintf(begin, sizeof begin, "{\"episodes\":%d,", count);
    if (strncmp(printed(), begin, strlen(begin))) fail_msg("expected %d, printed %s", count, printed());
}

static int open_stage(void **state) {
    mw_error error;
    scratch_setup(state);
    mkdir(scratch("bundles"), 0700);
    save_task_bundle(scratch("bundles/a.safetensors"), "spread", 0);
    save_task_bundle(scratch("bundles/b.safetensors"), "3m", 0);
    return mw_stage_open(&stage, scratch("bundles"), "a.safetensors", 1, 1, &error) == MW_OK ? 0 : -1;
}

static int close_stage(void **state) {
    mw_stage_close(&stage);
    return scratch_teardown(state);
}

static void counts_what_was_played(void **state) {
    char expected[512];
    double total[3][2];
    int ahead = 0;
    (void)state;
    expect_episodes(0);
    for (int seed = 1; seed <= 3; seed++) {
        char begin[64];
        snprintf(begin, sizeof begin, "{\"do\": \"begin\", \"seed\": %d}", seed);
        command(begin);
        play_out();
        for (int s = 0; s < 2; s++) total[seed - 1][s] = mw_duel_now(stage.duel)->side[s].total;
        ahead += total[seed - 1][0] > total[seed - 1][1];
        assert_true(total[seed - 1][0] != total[seed - 1][1]);
    }
    snprintf(
        expected, sizeof expected,
        "{\"episodes\":3,\"ahead\":%d,\"level\":0,\"planned\":%.7g,\"alone\":%.7g,\"latest\":[[%.7g,%.7g],"
        "[%.7g,%.7g],[%.7g,%.7g]]}",
        ahead, (total[0][0] + total[1][0] + total[2][0]) / 3, (total[0][1] + total[1][1] + total[2][1]) / 3,
        total[0][0], total[0][1], total[1][0], total[1][1], total[2][0], total[2][1]);
    assert_string_equal(printed(), expected);
}

static void counts_an_episode_once(void **state) {
    (void)state;
    command("{\"do\": \"begin\", \"seed\": 2}");
    play_out();
    expect_episodes(3);
    command("{\"do\": \"seek\", \"step\": 4}");
    play_out();
    expect_episodes(3);
    for (int i = 0; i <= 25; i++)
        mw_stage_tick(&stage); /* the clock goes on to the next episode, and plays it */
    assert_true(mw_duel_over(stage.duel));
    expect_episodes(4);
}

static void leaves_out_what_was_handled(void **state) {
    static const char *const hands[] = {
        "{\"do\": \"force\", \"step\": 2, \"candidate\": 1}",
        "{\"do\": \"place\", \"step\": 0, \"role\": \"agent\", \"id\": 0, \"x\": 0.5, \"y\": 0.5}"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        char begin[64];
        snprintf(begin, sizeof begin, "{\"do\": \"begin\", \"seed\": %d}", 10 + i);
        command(begin);
        for (int t = 0; t < 3; t++) command("{\"do\": \"step\"}");
        command(hands[i]);
        play_out();
        expect_episodes(4);
    }
    command("{\"do\": \"begin\", \"seed\": 10}");
    play_out();
    expect_episodes(5);
}

/* Steps that another plan decided are not the present one's. */
static void another_plan_begins_anew(void **state) {
    (void)state;
    command("{\"do\": \"begin\", \"seed\": 20}");
    for (int t = 0; t < 3; t++) command("{\"do\": \"step\"}");
    command("{\"do\": \"set\", \"name\": \"candidates\", \"value\": \"3\"}");
    expect_episodes(0);
    play_out();
    expect_episodes(0);
    command("{\"do\": \"seek\", \"step\": 1}");
    play_out();
    expect_episodes(0);
    command("{\"do\": \"seek\", \"step\": 0}");
    play_out();
    expect_episodes(1);
    command("{\"do\": \"arm\", \"name\": \"plan\"}");
    expect_episodes(0);
    command("{\"do\": \"begin\", \"seed\": 20}");
    play_out();
    expect_episodes(1);
    command("{\"do\": \"bundle\", \"name\": \"b.safetensors\"}");
    expect_episodes(0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_what_was_played), cmocka_unit_test(counts_an_episode_once),
        cmocka_unit_test(leaves_out_what_was_handled), cmocka_unit_test(another_plan_begins_anew)};
    return cmocka_run_group_tests(tests, open_stage, close_stage);
}
