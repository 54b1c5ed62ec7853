/* Replays of planned episodes: labels tell candidates apart, weights say what a mean executes, and the policy
 * alone plays beside. */
#include "core/file.h"
#include "core/json.h"
#include "eval/eval.h"
#include "scratch.h"
#include "train/tiny.h"

#include <stdlib.h>
#include <string.h>

/* The data of the page of one planned episode; the caller's. */
static json_t *recorded(const char *task, const char *const *assignments, int count) {
    mw_error error;
    mw_replay *replay;
    mw_eval_options options;
    char *page;
    json_t *data;
    mw_bundle *bundle = tiny_bundle(task, NULL);
    mw_eval_options_init(&options, sizeof options);
    options.threads = 1;
    options.assignments = assignments;
    options.assignment_count = count;
    CHECK_OK(mw_eval_replay(&replay, bundle, &options, &error), error);
    CHECK_OK(mw_replay_write(replay, scratch("episode.html"), &error), error);
    CHECK_OK(mw_file_read_text(scratch("episode.html"), &page, NULL, &error), error);
    char *begin = strstr(page, "id='data'>") + strlen("id='data'>"), *end = strstr(begin, "</script>");
    CHECK_OK(mw_json_parse(&data, begin, (size_t)(end - begin), "page", &error), error);
    free(page);
    mw_replay_free(replay);
    mw_bundle_free(bundle);
    return data;
}

/* Few actions and many candidates: some begin alike. Equal labels are candidates that are equal throughout,
 * and their labels say so. */
static void told_apart(void **state) {
    (void)state;
    json_t *data = recorded("3m", (const char *const[]){"candidates=32", "horizon=2"}, 2), *frame;
    size_t i;
    int alike = 0;
    json_array_foreach(json_object_get(data, "frames"), i, frame) {
        const json_t *labels = json_object_get(frame, "labels");
        for (size_t m = 0; m < json_array_size(labels); m++)
            for (size_t k = m + 1; k < json_array_size(labels); k++) {
                const char *one = json_string_value(json_array_get(labels, m)),
                           *other = json_string_value(json_array_get(labels, k));
                alike += !strncmp(one, other, strcspn(one, ";(")) && strstr(one, "; step 2: ");
                if (!strcmp(one, other)) assert_non_null(strstr(one, "the same as"));
            }
        if (labels) assert_null(json_object_get(frame, "weights"));
    }
    assert_true(alike > 0);
    assert_true(json_array_size(json_object_get(json_object_get(data, "beside"), "frames")) > 1);
    json_decref(data);
}

/* Weights add up to one and are largest at the highest score, also where caution asks for nothing because no
 * error is known; at temperature 0 there are none. */
static void weighed(void **state) {
    (void)state;
    static const char *const settings[] = {"temperature=0.5", "candidates=3", "caution=1", "return_error=0"};
    json_t *data = recorded("spread", settings, 4), *frame, *weight;
    size_t i, k, decided = 0;
    json_array_foreach(json_object_get(data, "frames"), i, frame) {
        const json_t *weights = json_object_get(frame, "weights");
        const size_t chosen = (size_t)json_integer_value(json_object_get(frame, "chosen"));
        double sum = 0;
        if (!json_object_get(frame, "scores")) continue;
        assert_int_equal(json_array_size(weights), 3);
        json_array_foreach(weights, k, weight) {
            assert_true(json_number_value(weight) <= json_number_value(json_array_get(weights, chosen)));
            sum += json_number_value(weight);
        }
        CHECK_NEAR(sum, 1, 1e-5);
        assert_int_equal(json_array_size(json_object_get(frame, "paths")), 3 * 3);
        decided++;
    }
    assert_int_equal(decided, 25);
    frame = json_array_get(json_object_get(json_object_get(data, "beside"), "frames"), 0);
    assert_non_null(frame);
    assert_null(json_object_get(frame, "scores")); /* the policy alone decides nothing */
    json_decref(data);
    data = recorded("spread", (const char *const[]){"temperature=0"}, 1);
    assert_null(json_object_get(json_array_get(json_object_get(data, "frames"), 0), "weights"));
    json_decref(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(told_apart), cmocka_unit_test(weighed)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
