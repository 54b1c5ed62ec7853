/* What a newcomer sees first: the list of bundles that come with mawam, and the demo, which says in words who
 * plays, what was found and how sure that is. */
#include "cli/program.h"

#include "core/file.h"
#include "core/json.h"
#include "mawam/env.h"
#include "mawam/file.h"
#include "plain_bundle.h"

#include <unistd.h>

static void test_zoo(void **state) {
    (void)state;
    program_expect(0, "zoo", "spread-medium");
    program_expect(2, "zoo --elephants", "elephants");
    assert_int_equal(program_run("zoo --json"), 0);
    json_t *root;
    mw_error error;
    CHECK_OK(mw_json_parse(&root, program_output, strlen(program_output), "the zoo", &error), error);
    const json_t *bundles = json_object_get(root, "bundles");
    double bytes = 0;
    size_t tasks = 0;
    while (mw_env_task((int)tasks)) tasks++;
    assert_int_equal(json_array_size(bundles), tasks); /* one of each, of the middle setting */
    for (size_t i = 0; i < json_array_size(bundles); i++) {
        const json_t *one = json_array_get(bundles, i), *scores = json_object_get(one, "scores");
        assert_string_equal(json_string_value(json_object_get(one, "quality")), "medium");
        bytes += json_number_value(json_object_get(one, "bytes"));
        assert_string_not_equal(json_string_value(json_object_get(one, "revision")), "unknown");
        assert_true(json_array_size(json_object_get(one, "parts")) >= 3);
        /* of what the study has published */
        assert_true(json_is_true(json_object_get(scores, "same_bundle")));
        const double low = json_number_value(json_object_get(scores, "low")),
                     gain = json_number_value(json_object_get(scores, "relative_gain")),
                     high = json_number_value(json_object_get(scores, "high"));
        assert_true(low < gain && gain < high);
    }
    assert_true(bytes < 25e6);
    json_decref(root);
}

/* Packed bundles are listed with the scores of those that they were packed from, and everything that is told
 * of them says so. */
static void test_packed(void **state) {
    (void)state;
    json_t *root;
    mw_error error;
    mw_map map;
    const char *plain = scratch("plain.safetensors");
    static const char result[] =
        "{\"bundle\": \"%016llx\", \"eval\": {\"arms\": {\"reactive\": {\"return\": 1}, "
        "\"plan\": {\"return\": 2, \"gain\": {\"low\": 0, \"high\": 3}}}}}";
    char text[512];
    write_plain_bundle(SOURCE_DIR "/bundles/spread-medium.safetensors", plain);
    program_expect(0, "bundle pack %/plain.safetensors --bits 6 -o %/small.safetensors",
                   "1.93 MB, packed from 4.78 MB");
    program_expect(1, "bundle pack %/plain.safetensors -o %/small.safetensors", "--overwrite");
    program_expect(1, "bundle pack %/small.safetensors -o %/twice", "packed before");
    program_expect(2, "bundle pack %/plain.safetensors -o %/x --bits 9", "bits");
    program_expect(2, "bundle pack %/plain.safetensors", "-o is missing");
    program_expect(0, "bundle info %/small.safetensors", "packed in 6 bits per weight, of the bundle ");
    program_expect(0, "eval %/small.safetensors --seeds 1 --episodes 1 --arms reactive",
                   "packed of the bundle ");
    CHECK_OK(mw_map_open(&map, plain, &error), error);
    const int length =
        snprintf(text, sizeof text, result, (unsigned long long)mw_hash(MW_HASH_START, map.data, map.size));
    mw_map_close(&map);
    CHECK_OK(mw_dir_make(scratch("data/bundles"), &error), error);
    CHECK_OK(mw_dir_make(scratch("data/results/settings"), &error), error);
    CHECK_OK(mw_file_write(scratch("data/results/settings/small.json"), text, (size_t)length, &error), error);
    assert_int_equal(rename(scratch("small.safetensors"), scratch("data/bundles/small.safetensors")), 0);
    char command[4096];
    snprintf(command, sizeof command, "MAWAM_DATA='%s/data' '%s' zoo --json", scratch_folder, MAWAM_PROGRAM);
    assert_int_equal(program_shell(command), 0);
    CHECK_OK(mw_json_parse(&root, program_output, strlen(program_output), "the zoo", &error), error);
    const json_t *one = json_array_get(json_object_get(root, "bundles"), 0),
                 *scores = json_object_get(one, "scores");
    assert_int_equal(json_integer_value(json_object_get(one, "packed_bits")), 6);
    assert_int_equal(strlen(json_string_value(json_object_get(one, "packed_of"))), 16);
    assert_true(json_is_true(json_object_get(scores, "same_bundle")));
    CHECK_NEAR(json_number_value(json_object_get(scores, "plan")), 2, 0);
    json_decref(root);
    /* results of another bundle say so */
    memset(strchr(text, ':') + 3, '0', 16);
    CHECK_OK(mw_file_write(scratch("data/results/settings/small.json"), text, (size_t)length, &error), error);
    assert_int_equal(program_shell(command), 0);
    assert_non_null(strstr(program_output, "\"same_bundle\": false"));
}

static void test_demo(void **state) {
    (void)state;
    program_expect(0, "demo spread-medium --episodes 8 -o %/demo", "the policy alone");
    assert_non_null(strstr(program_output, "if the simulator itself judged"));
    assert_non_null(strstr(program_output, "spread-medium: planning gains, +")); /* by far the clearest world
                                                                                  */
    assert_non_null(strstr(program_output, "in 8 episodes."));
    assert_non_null(strstr(program_output, "95% interval +"));
    program_expect(0, "demo spread-medium --episodes 7 -o %/demo --candidates 1",
                   "7 episodes cannot tell planning from");
    assert_non_null(strstr(program_output, "; an interval takes 8."));
    program_expect(0, "demo spread-medium --episodes 8 -o %/demo --candidates 1",
                   "8 episodes cannot tell planning from");
    assert_non_null(strstr(program_output, "simulator as judge"));
}

/* A page of somebody else's under the demo's name. */
static void test_stranger(void **state) {
    (void)state;
    mw_error error;
    CHECK_OK(mw_dir_make(scratch("web"), &error), error);
    scratch_write(scratch("web/index.html"), "mine", 4);
    program_expect(1, "demo spread-medium --episodes 1 -o %/web", "web/index.html' is no page of a demo");
}

/* Ant has the three quick arms, and says what so few episodes could have shown. (A test of a build without
 * MuJoCo passes over it.) */
static void test_demo_of_ant(void **state) {
    (void)state;
    if (program_run("env describe 2ant") != 0) skip();
    program_expect(0, "demo 2ant-medium --episodes 8 -o %/demo", "a candidate at random");
    assert_null(strstr(program_output, "the simulator"));
    assert_null(strstr(program_output, "as drawn"));
    assert_non_null(strstr(program_output, "8 episodes cannot tell planning from the policy alone"));
    assert_non_null(strstr(program_output, "a gain has to be about "));
}

/* How many worlds the demo of a folder with bundles of these names shows. All hold the same one, but for
 * those behind "!", which hold nothing and must not be chosen. */
static int worlds_shown(const char *folder, const char *const *names) {
    static const char words[] = "the policy alone  "; /* of the table, not of what was found */
    char path[512], command[4096];
    mw_error error;
    int shown = 0;
    snprintf(path, sizeof path, "%s/bundles", scratch(folder));
    CHECK_OK(mw_dir_make(path, &error), error);
    for (; *names; names++) {
        const bool broken = **names == '!';
        snprintf(path, sizeof path, "%s/bundles/%s.safetensors", scratch(folder), *names + broken);
        if (broken)
            scratch_write(path, "broken", 6);
        else
            assert_int_equal(symlink(SOURCE_DIR "/bundles/spread-medium.safetensors", path), 0);
    }
    snprintf(command, sizeof command, "MAWAM_DATA='%s' '%s' demo --episodes 1 --M 2 -o '%s'", scratch(folder),
             MAWAM_PROGRAM, scratch("rule"));
    if (program_shell(command) != 0) fail_msg("%s", program_output);
    for (const char *c = program_output; (c = strstr(c, words)); c++) shown++;
    return shown;
}

/* One bundle for each family, by the rule that the README states; a folder of others is shown whole. */
static void test_rule(void **state) {
    (void)state;
    assert_int_equal(worlds_shown("zoo", (const char *[]){"!spread-expert", "tag-medium", "!world-medium",
                                                          "!3m-medium", "8m-medium", "!5m_vs_6m-medium",
                                                          "!2ant-medium", "4ant-medium", NULL}),
                     3);
    assert_int_equal(worlds_shown("own", (const char *[]){"mine", "yours", "spread-expert", NULL}), 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_zoo),         cmocka_unit_test(test_packed),
                                       cmocka_unit_test(test_demo),        cmocka_unit_test(test_stranger),
                                       cmocka_unit_test(test_demo_of_ant), cmocka_unit_test(test_rule)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
