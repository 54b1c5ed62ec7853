/* The log of a training as a file that anybody may have written. */
#include "scratch.h"

#include "train/training_log.h"

static mw_training_part policy = {.name = "policy", .losses = 1, .loss_names = {"flow"}};
static mw_training_part world = {.name = "world", .losses = 1, .loss_names = {"dynamics"}};
static const mw_training_state parts = {.count = 2, .part = {&policy, &world}};

static void put(const char *lines) {
    scratch_write(scratch("log.jsonl"), lines, strlen(lines));
}

static void refuse(const char *lines, const char *text) {
    mw_error error;
    json_t *summary;
    put(lines);
    CHECK_FAILS(mw_training_log_draw(scratch("log.jsonl"), &parts, "t", scratch("log.svg"), &error),
                MW_ERR_FORMAT, error, text);
    int failed = 0; /* of the part that the line is of, or of both */
    for (int i = 0; i < 2; i++) {
        if (mw_training_log_summary(&summary, scratch("log.jsonl"), &parts, parts.part[i], &error) == MW_OK) {
            json_decref(summary);
            continue;
        }
        assert_null(summary);
        assert_non_null(strstr(error.message, text));
        failed++;
    }
    assert_true(failed > 0);
}

/* The first part's table is complete when the line of the second fails, and the other way round. */
static void unreadable_lines(void **state) {
    (void)state;
    refuse("{\"part\": \"policy\", \"step\": 1, \"flow\": 2}\n{\"part\": oops}\n", "line 2");
    refuse("{\"part\": \"world\", \"step\": 1, \"dynamics\": 2}\n\n", "line 2");
    refuse("{\"part\": \"policy\", \"step\": 1}\n{\"part\": \"world\", \"step\": 1e308}\n", "line 2: 'step'");
    refuse("{\"part\": \"policy\", \"flow\": 1}\n", "line 1: 'step'");
    refuse("{\"part\": \"policy\", \"step\": -1}\n", "line 1: 'step'");
    refuse("{\"part\": \"policy\", \"step\": 9223372036854775807}\n", "line 1: 'step'");
}

static void large_numbers(void **state) {
    (void)state;
    mw_error error;
    json_t *summary;
    put("{\"part\": \"policy\", \"step\": 1000000000000, \"flow\": 1e308}\n"
        "{\"part\": \"policy\", \"step\": 0, \"flow\": -1e308}\n{\"part\": \"world\", \"step\": 3}\n");
    CHECK_OK(mw_training_log_draw(scratch("log.jsonl"), &parts, "t", scratch("log.svg"), &error), error);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(mw_training_log_summary(&summary, scratch("log.jsonl"), &parts, parts.part[i], &error),
                 error);
        json_decref(summary);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(unreadable_lines), cmocka_unit_test(large_numbers)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
