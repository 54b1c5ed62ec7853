/* The program around the library may write one half as 0,5: what mawam reads and writes stays the same. */
#include "mawam/mawam.h"
#include "scratch.h"

#include <locale.h>
#include <stdlib.h>

/* A compiled locale of the C library with nothing but a decimal comma. */
static const unsigned char comma[] = "\x14\x11\x03\x20\6\0\0\0\x20\0\0\0\x22\0\0\0\x23\0\0\0\x24\0\0\0\x28\0"
                                     "\0\0\x2c\0\0\0\x2c\0\0\0\x2c\0\0\0\0\0\0\0"
                                     "ANSI_X3.4-1968";

static int choose_comma(void **state) {
    mw_error error;
    if (scratch_setup(state) != 0 || mw_dir_make(scratch("comma"), &error) != MW_OK) return -1;
    scratch_write(scratch("comma/LC_NUMERIC"), (const char *)comma, sizeof comma);
    setenv("LOCPATH", scratch_folder, 1);
    return setlocale(LC_NUMERIC, "comma") ? 0 : -1;
}

/* Who asks sees the comma, before and after. */
static void check_comma(void) {
    char text[16];
    snprintf(text, sizeof text, "%.1f", 0.5);
    assert_string_equal(text, "0,5");
}

static void test_settings(void **state) {
    (void)state;
    mw_plan_settings plan = {0};
    mw_error error;
    CHECK_OK(mw_plan_settings_set(&plan, "temperature", "0.5", &error), error);
    CHECK_NEAR(plan.temperature, 0.5, 0);
    assert_int_not_equal(mw_plan_settings_set(&plan, "temperature", "0,5", &error), MW_OK);
    check_comma();
}

/* Rules have a number in their name; a bundle knows its world by it. */
static void test_bundle(void **state) {
    (void)state;
    mw_env *env;
    mw_bundle *bundle;
    mw_error error;
    CHECK_OK(mw_env_create(&env, "3m", NULL, &error), error);
    CHECK_OK(mw_bundle_load(&bundle, SOURCE_DIR "/bundles/3m-medium.safetensors", &error), error);
    assert_string_equal(mw_env_describe(env)->rules, mw_bundle_describe(bundle).rules);
    assert_non_null(strstr(mw_env_describe(env)->rules, "0.5"));
    mw_bundle_free(bundle);
    mw_env_free(env);
    check_comma();
}

static void test_behavior(void **state) {
    (void)state;
    mw_behavior_summary summary;
    mw_error error;
    CHECK_OK(mw_behavior_describe(&summary, SOURCE_DIR "/behaviors/3m-medium.safetensors", &error), error);
    check_comma();
}

/* The page of a replay holds numbers as JSON. */
static size_t draw(char *text, size_t size) {
    mw_env *env;
    mw_replay *replay;
    mw_error error;
    CHECK_OK(mw_env_create(&env, "spread", NULL, &error), error);
    const float rewards[] = {0.25f, 0.5f, 0.75f}, scores[] = {1.5f, 2.5f},
                path[][2] = {{0.125f, 0.375f}, {0.5f, 0.75f}};
    mw_env_reset(env, 0);
    CHECK_OK(mw_replay_create(&replay, env, "0.5", &error), error);
    CHECK_OK(mw_replay_frame(replay, env, NULL, &error), error);
    CHECK_OK(mw_replay_candidates(replay, scores, NULL, 2, 1, NULL, &error), error);
    CHECK_OK(mw_replay_path(replay, path, 2, 0, &error), error);
    CHECK_OK(mw_replay_frame(replay, env, rewards, &error), error);
    CHECK_OK(mw_replay_write(replay, scratch("one.html"), &error), error);
    mw_replay_free(replay);
    mw_env_free(env);
    return (size_t)scratch_read(scratch("one.html"), text, size);
}

static void test_replay(void **state) {
    (void)state;
    static char with[1 << 20], without[1 << 20];
    const size_t size = draw(with, sizeof with);
    check_comma();
    setlocale(LC_NUMERIC, "C");
    assert_int_equal(draw(without, sizeof without), size);
    assert_memory_equal(with, without, size);
    assert_non_null(setlocale(LC_NUMERIC, "comma"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_settings), cmocka_unit_test(test_bundle),
                                       cmocka_unit_test(test_behavior), cmocka_unit_test(test_replay)};
    return cmocka_run_group_tests(tests, choose_comma, scratch_teardown);
}
