/* The recording behind a replay page: hostile strings stay data, imagined paths arrive as given. */
#include "check.h"
#include "core/file.h"
#include "core/json.h"
#include "env/replay.h"

#include <stdlib.h>
#include <unistd.h>

static void records(void **state) {
    (void)state;
    static const char subtitle[] = "</script><script>alert(\"x\\y\")</script>\n\t& caf\xc3\xa9";
    char path[] = "/tmp/mawam-page-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    mw_env *env;
    mw_replay *replay;
    mw_error error;
    const float points[3][2] = {{0, 0}, {0.25f, -1}, {1e-3f, 2}};
    CHECK_OK(mw_env_create(&env, "world", NULL, &error), error);
    CHECK_OK(mw_replay_create(&replay, env, subtitle, &error), error);
    CHECK_FAILS(mw_replay_path(replay, points, 3, 0, &error), MW_ERR_ARGUMENT, error, "frame");
    CHECK_OK(mw_replay_frame(replay, env, NULL, &error), error);
    CHECK_OK(mw_replay_candidates(replay, (const float[]){-1.5f, NAN}, (const float[]){1, 0}, 2, 0,
                                  (const char *const[]){"attack <0>", "stop"}, &error),
             error);
    CHECK_OK(mw_replay_path(replay, points, 3, 0, &error), error);
    CHECK_FAILS(mw_replay_candidates(replay, points[0], NULL, 2, 0, NULL, &error), MW_ERR_ARGUMENT, error,
                "before");
    CHECK_OK(mw_replay_path(replay, points, 1, 1, &error), error);
    CHECK_OK(mw_replay_frame(replay, env, (const float[]){1, 2, INFINITY}, &error), error);
    mw_env *other;
    CHECK_OK(mw_env_create(&other, "tag", NULL, &error), error);
    CHECK_FAILS(mw_replay_frame(replay, other, NULL, &error), MW_ERR_MISMATCH, error, "is tag");
    mw_env_free(other);
    CHECK_OK(mw_replay_write(replay, path, &error), error);
    char *page, *printed;
    size_t size, printed_size;
    FILE *stream = open_memstream(&printed, &printed_size);
    CHECK_OK(mw_replay_print(replay, stream, &error), error);
    assert_int_equal(fclose(stream), 0);
    mw_replay_free(replay);
    CHECK_OK(mw_file_read_text(path, &page, &size, &error), error);
    assert_int_equal(printed_size, size);
    assert_memory_equal(printed, page, size);
    free(printed);
    char *begin = strstr(page, "id='data'>") + strlen("id='data'>"), *end = strstr(begin, "</script>");
    json_t *data, *frame, *first;
    CHECK_OK(mw_json_parse(&data, begin, (size_t)(end - begin), "page", &error), error);
    assert_string_equal(json_string_value(json_object_get(data, "subtitle")), subtitle);
    assert_int_equal(json_array_size(json_object_get(data, "frames")), 2);
    frame = json_array_get(json_object_get(data, "frames"), 0);
    assert_int_equal(json_array_size(json_object_get(frame, "shapes")), 9);
    assert_int_equal(json_array_size(json_object_get(frame, "paths")), 2);
    assert_int_equal(json_integer_value(json_object_get(frame, "chosen")), 0);
    CHECK_NEAR(json_number_value(json_array_get(json_object_get(frame, "scores"), 0)), -1.5, 0);
    assert_true(json_is_null(json_array_get(json_object_get(frame, "scores"), 1)));
    assert_string_equal(json_string_value(json_array_get(json_object_get(frame, "labels"), 0)), "attack <0>");
    first = json_array_get(json_object_get(frame, "paths"), 0);
    assert_int_equal(json_integer_value(json_object_get(first, "of")), 0);
    CHECK_NEAR(json_number_value(json_array_get(json_object_get(frame, "weights"), 0)), 1, 0);
    for (size_t i = 0; i < 6; i++)
        CHECK_NEAR(json_number_value(json_array_get(json_object_get(first, "points"), i)),
                   points[i / 2][i % 2], 1e-5);
    frame = json_array_get(json_object_get(data, "frames"), 1);
    assert_null(json_object_get(frame, "paths"));
    assert_true(json_is_null(json_array_get(json_array_get(json_object_get(data, "rewards"), 0), 2)));
    json_decref(data);
    free(page);
    mw_env_free(env);
    unlink(path);
}

static char *read_back(mw_replay *replay, const char *path) {
    mw_error error;
    char *text;
    size_t size;
    CHECK_OK(mw_replay_write(replay, path, &error), error);
    CHECK_OK(mw_file_read_text(path, &text, &size, &error), error);
    unlink(path);
    return text;
}

static int count(const char *text, const char *part) {
    int found = 0;
    for (; (text = strstr(text, part)); text++) found++;
    return found;
}

/* An episode beside, and the film strip of both: five moments each, paths where there are candidates. */
static void strip(void **state) {
    (void)state;
    mw_env *env;
    mw_replay *replay, *other;
    mw_error error;
    const float points[2][2] = {{0, 0}, {0.5f, 0.5f}}, zero[6] = {0}, rewards[3] = {1, 2, 3};
    mw_outcome outcome;
    float earned[3];
    CHECK_OK(mw_env_create(&env, "spread", NULL, &error), error);
    CHECK_OK(mw_replay_create(&replay, env, "", &error), error);
    CHECK_OK(mw_replay_create(&other, env, "", &error), error);
    for (int t = 0; t < 6; t++) {
        CHECK_OK(mw_replay_frame(replay, env, t ? rewards : NULL, &error), error);
        CHECK_OK(mw_replay_frame(other, env, t ? earned : NULL, &error), error);
        CHECK_FAILS(mw_replay_path(replay, points, 2, 0, &error), MW_ERR_ARGUMENT, error, "0 candidates");
        CHECK_OK(mw_replay_candidates(replay, (const float[]){1, 2, 3}, NULL, 3, 2, NULL, &error), error);
        for (int m = 0; m < 3; m++) CHECK_OK(mw_replay_path(replay, points, 2, m, &error), error);
        CHECK_FAILS(mw_replay_path(replay, points, 2, 3, &error), MW_ERR_ARGUMENT, error, "candidate 3");
        CHECK_OK(mw_env_step(env, (mw_action){.real = zero}, earned, &outcome, &error), error);
    }
    char *alone = read_back(other, "strip-alone.svg");
    CHECK_FAILS(mw_replay_horizon(replay, -1, &error), MW_ERR_ARGUMENT, error, "horizon");
    CHECK_OK(mw_replay_horizon(replay, 8, &error), error);
    CHECK_OK(mw_replay_beside(replay, other, "beside", &error), error);
    char *both = read_back(replay, "strip.svg"), *page = read_back(replay, "strip.html");
    assert_int_equal(count(alone, ">step "), 5);
    assert_int_equal(count(alone, "<polyline"), 0);
    assert_non_null(strstr(alone, "played: return"));
    assert_int_equal(count(both, ">step "), 10);
    assert_int_equal(count(both, "<polyline"), 5 * (3 + 1)); /* the chosen one has an edge */
    assert_non_null(strstr(both, "planned: return 10.0"));
    assert_non_null(strstr(both, "the policy alone: return"));
    assert_non_null(strstr(page, "\"beside\":{\"label\":\"beside\""));
    assert_non_null(strstr(page, "\"horizon\":8"));
    free(alone);
    free(both);
    free(page);
    mw_replay_free(other);
    mw_replay_free(replay);
    mw_env_free(env);
}

/* What a page could not show is refused when it is recorded or written. */
static void unshowable(void **state) {
    (void)state;
    mw_env *env;
    mw_replay *replay, *empty;
    mw_error error;
    const char *const labels[2] = {"one", NULL};
    const float scores[2] = {1, 2}, point[1][2] = {{0, 0}};
    CHECK_OK(mw_env_create(&env, "spread", NULL, &error), error);
    CHECK_OK(mw_replay_create(&replay, env, "", &error), error);
    CHECK_OK(mw_replay_create(&empty, env, "", &error), error);
    unlink("empty.html"), unlink("empty.svg");
    CHECK_FAILS(mw_replay_write(empty, "empty.html", &error), MW_ERR_ARGUMENT, error,
                "empty.html: the replay");
    CHECK_FAILS(mw_replay_write(empty, "empty.svg", &error), MW_ERR_ARGUMENT, error, "has no frame");
    assert_int_equal(access("empty.html", F_OK) && access("empty.svg", F_OK), 1);
    CHECK_FAILS(mw_replay_print(empty, stdout, &error), MW_ERR_ARGUMENT, error, "has no frame");
    CHECK_OK(mw_replay_frame(replay, env, NULL, &error), error);
    CHECK_FAILS(mw_replay_beside(replay, empty, "beside", &error), MW_ERR_ARGUMENT, error, "has no frame");
    CHECK_FAILS(mw_replay_candidates(replay, scores, NULL, 2, 0, labels, &error), MW_ERR_ARGUMENT, error,
                "candidate 1 has no label");
    CHECK_FAILS(mw_replay_candidates(replay, scores, NULL, 2, 2, NULL, &error), MW_ERR_ARGUMENT, error,
                "candidate 2 is chosen of 2");
    CHECK_FAILS(mw_replay_candidates(replay, scores, NULL, 2, -1, NULL, &error), MW_ERR_ARGUMENT, error,
                "candidate -1 is chosen of 2");
    CHECK_OK(mw_replay_candidates(replay, scores, NULL, 2, 0, NULL, &error), error);
    CHECK_FAILS(mw_replay_candidates(replay, scores, NULL, 2, 0, NULL, &error), MW_ERR_ARGUMENT, error,
                "once");
    CHECK_FAILS(mw_replay_path(replay, point, 0, 0, &error), MW_ERR_ARGUMENT, error, "a path of 0 points");
    char *page = read_back(replay, "refused.html"); /* without effect */
    assert_int_equal(count(page, "\"labels\""), 0);
    assert_int_equal(count(page, "\"paths\""), 0);
    assert_int_equal(count(page, "\"beside\""), 0);
    free(page);
    mw_replay_free(empty);
    mw_replay_free(replay);
    mw_env_free(env);
}

/* Words that are not UTF-8 are shown as far as they are ASCII, by page and strip alike. */
static void other_words(void **state) {
    (void)state;
    mw_env *env;
    mw_replay *replay, *other;
    mw_error error;
    CHECK_OK(mw_env_create(&env, "spread", NULL, &error), error);
    CHECK_OK(mw_replay_create(&replay, env, "caf\xe9 <1>", &error), error);
    CHECK_OK(mw_replay_create(&other, env, "", &error), error);
    CHECK_OK(mw_replay_frame(replay, env, NULL, &error), error);
    CHECK_OK(mw_replay_frame(other, env, NULL, &error), error);
    CHECK_OK(mw_replay_beside(replay, other, "\xff alone", &error), error);
    char *page = read_back(replay, "words.html"), *picture = read_back(replay, "words.svg");
    assert_non_null(strstr(page, "caf? \\u003c1\\u003e"));
    assert_non_null(strstr(page, "? alone"));
    assert_non_null(strstr(picture, "<svg"));
    free(page);
    free(picture);
    mw_replay_free(other);
    mw_replay_free(replay);
    mw_env_free(env);
}

/* A long subtitle is cut between two characters, and the page stays UTF-8. */
static void long_subtitle(void **state) {
    (void)state;
    mw_env *env;
    mw_replay *replay;
    mw_error error;
    char subtitle[242] = "";
    for (int i = 0; i < 120; i++) strcat(subtitle, "\xc3\xa9");
    CHECK_OK(mw_env_create(&env, "spread", NULL, &error), error);
    for (int shift = 0; shift < 2; shift++) { /* one of the two lengths is odd */
        if (shift) memmove(subtitle + 1, subtitle, 240);
        subtitle[0] = shift ? 'a' : subtitle[0];
        CHECK_OK(mw_replay_create(&replay, env, subtitle, &error), error);
        CHECK_OK(mw_replay_frame(replay, env, NULL, &error), error);
        char *page;
        size_t size;
        FILE *stream = open_memstream(&page, &size);
        CHECK_OK(mw_replay_print(replay, stream, &error), error);
        assert_int_equal(fclose(stream), 0);
        const char *begin = strstr(page, "id='data'>") + strlen("id='data'>");
        json_t *data;
        CHECK_OK(mw_json_parse(&data, begin, (size_t)(strstr(begin, "</script>") - begin), "page", &error),
                 error);
        json_decref(data);
        free(page);
        mw_replay_free(replay);
    }
    mw_env_free(env);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(records), cmocka_unit_test(strip),
                                       cmocka_unit_test(unshowable), cmocka_unit_test(other_words),
                                       cmocka_unit_test(long_subtitle)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
