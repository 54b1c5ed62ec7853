/* The program's env and verify commands, run as a user runs them: exit codes, help, JSON that parses, results
 * that do not depend on batch and threads, and a replay page whose data are complete. */
#include "program.h"

#include <jansson.h>

static json_t *run_json(const char *arguments) {
    json_error_t error;
    if (program_run(arguments)) fail_msg("%s: %s", arguments, program_output);
    json_t *value = json_loads(program_output, JSON_REJECT_DUPLICATES, &error);
    if (!value) fail_msg("%s: %s in %s", arguments, error.text, program_output);
    return value;
}

static void exit_codes(void **state) {
    (void)state;
    static const char *const fine[] = {"--help",
                                       "--version",
                                       "env --help",
                                       "env list --help",
                                       "env describe -h",
                                       "env play --help",
                                       "verify --help",
                                       "verify env --help",
                                       "env list",
                                       "env describe tag",
                                       "env play spread --episodes 3"};
    static const struct {
        const char *arguments, *text;
        int code;
    } wrong[] = {
        {"", "usage", 2},
        {"env", "usage", 2},
        {"dance", "unknown command 'dance'", 2},
        {"env dance", "unknown command 'dance'", 2},
        {"env describe", "name a task", 2},
        {"env play", "name a task", 2},
        {"env play spread tag", "unexpected argument", 2},
        {"env play spread --episodes 0", "must be a whole number from 1", 2},
        {"env play spread --speed 3", "unknown option", 2},
        {"env play spread --policy", "needs a value", 2},
        {"env play chess", "there is no task 'chess'; known: spread", 2},
        {"env describe chess", "there is no task 'chess'", 2},
        {"env play spread --policy genius", "no scripted policy 'genius'; known: random", 2},
        {"env play tag --prey /nonexistent/prey", "/nonexistent/prey", 1},
        {"env play spread --replay /nonexistent/folder/page.html", "/nonexistent/folder", 1},
        {"verify env", "name the folder", 2},
        {"verify env /nonexistent", "/nonexistent", 1},
    };
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) program_expect(0, fine[i], "");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        program_expect(wrong[i].code, wrong[i].arguments, wrong[i].text);
}

static void listing(void **state) {
    (void)state;
    json_t *list = run_json("env list --json"), *item;
    size_t i;
    assert_true(json_array_size(list) >= 3);
    json_array_foreach(list, i, item) {
        char command[128];
        const char *task = json_string_value(json_object_get(item, "task"));
        assert_string_equal(task, mw_env_task((int)i));
        snprintf(command, sizeof command, "env describe %s --json", task);
        json_t *description = run_json(command);
        assert_int_equal(json_array_size(json_object_get(description, "features")),
                         json_integer_value(json_object_get(item, "obs_size")));
        assert_true(json_array_size(json_object_get(description, "policies")) >= 2);
        json_decref(description);
    }
    json_decref(list);
}

static double number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value)) fail_msg("no number '%s'", key);
    return json_number_value(value);
}

static void playing(void **state) {
    (void)state;
    const char *task;
    for (int i = 0; (task = mw_env_task(i)); i++) {
        static const char *const ways[] = {"--envs 1", "--envs 3 --threads 2", "--envs 64 --threads 3"};
        double returns = 0, length = 0;
        for (int way = 0; way < 3; way++) {
            char command[160];
            snprintf(command, sizeof command, "env play %s --episodes 4 --seed 3 --json %s", task, ways[way]);
            json_t *result = run_json(command);
            if (way == 0) returns = number(result, "return"), length = number(result, "episode_length");
            CHECK_NEAR(number(result, "return"), returns, 0);
            CHECK_NEAR(number(result, "episode_length"), length, 0);
            assert_true(number(result, "return_standard_error") >= 0 &&
                        number(result, "steps_per_second") > 0);
            json_decref(result);
        }
    }
    json_t *result = run_json("env play spread --policy best --episodes 400 --json");
    CHECK_NEAR(number(result, "return"), 637.8, 11); /* five standard errors of 400 episodes */
    CHECK_NEAR(number(result, "normalised_score"), 100 * (number(result, "return") - 159.8) / 357, 1e-6);
    json_decref(result);
}

/* The data embedded in a page, parsed. */
static json_t *page_data(const char *path) {
    static char page[8 << 20];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    page[fread(page, 1, sizeof page - 1, file)] = 0;
    fclose(file);
    assert_null(strstr(page, "http:"));
    assert_null(strstr(page, "https:"));
    assert_null(strstr(page, "src="));
    char *begin = strstr(page, "id='data'>");
    assert_non_null(begin);
    begin += strlen("id='data'>");
    char *end = strstr(begin, "</script>");
    assert_non_null(end);
    json_error_t error;
    json_t *data = json_loadb(begin, (size_t)(end - begin), JSON_REJECT_DUPLICATES, &error);
    if (!data) fail_msg("%s: %s", path, error.text);
    return data;
}

static void replays(void **state) {
    (void)state;
    char command[256];
    const char *task;
    for (int i = 0; (task = mw_env_task(i)); i++) {
        snprintf(command, sizeof command, "env play %s --episodes 1 --json --replay %%/%s.html", task, task);
        json_t *result = run_json(command), *frame, *step;
        snprintf(command, sizeof command, "%s.html", task);
        json_t *data = page_data(scratch(command));
        const json_t *frames = json_object_get(data, "frames"), *rewards = json_object_get(data, "rewards");
        CHECK_NEAR((double)json_array_size(frames), number(result, "episode_length") + 1, 0);
        CHECK_NEAR((double)json_array_size(rewards), number(result, "episode_length"), 0);
        double sum = 0;
        size_t k, a;
        json_t *reward;
        json_array_foreach(rewards, k, step) json_array_foreach(step, a, reward) sum +=
            json_number_value(reward) / (double)json_array_size(step);
        CHECK_NEAR(sum, number(result, "return"), 1e-3 * (1 + fabs(sum)));
        json_array_foreach(frames, k, frame)
            assert_true(json_array_size(json_object_get(frame, "shapes")) > 0);
        json_decref(data);
        json_decref(result);
    }
}

static void verifying(void **state) {
    (void)state;
    program_expect(0, "verify env @/tests/data/mpe", "31 checks, 0 failed");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(exit_codes), cmocka_unit_test(listing),
                                       cmocka_unit_test(playing), cmocka_unit_test(replays),
                                       cmocka_unit_test(verifying)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
