/* What a newcomer sees first: the list of bundles that come with mawam, and the demo, which says in words who
 * plays, what was found and how sure that is. */
#include "cli/program.h"

#include "core/json.h"

static void test_zoo(void **state) {
    (void)state;
    program_expect(0, "zoo", "spread-medium");
    program_expect(0, "zoo", "3 bundles, ");
    program_expect(2, "zoo --elephants", "elephants");
    assert_int_equal(program_run("zoo --json"), 0);
    json_t *root;
    mw_error error;
    CHECK_OK(mw_json_parse(&root, program_output, strlen(program_output), "the zoo", &error), error);
    const json_t *bundles = json_object_get(root, "bundles");
    double bytes = 0;
    assert_int_equal(json_array_size(bundles), 3);
    for (size_t i = 0; i < json_array_size(bundles); i++) {
        const json_t *one = json_array_get(bundles, i), *scores = json_object_get(one, "scores");
        bytes += json_number_value(json_object_get(one, "bytes"));
        assert_string_not_equal(json_string_value(json_object_get(one, "revision")), "unknown");
        assert_true(json_array_size(json_object_get(one, "parts")) >= 3);
        /* of what the study has published, with whether it is of this very bundle */
        assert_true(json_is_boolean(json_object_get(scores, "same_bundle")));
        const double low = json_number_value(json_object_get(scores, "low")),
                     gain = json_number_value(json_object_get(scores, "relative_gain")),
                     high = json_number_value(json_object_get(scores, "high"));
        assert_true(low < gain && gain < high);
    }
    assert_true(bytes < 25e6);
    json_decref(root);
}

static void test_demo(void **state) {
    (void)state;
    program_expect(0, "demo spread-medium --episodes 4 -o %/demo", "the policy alone");
    assert_non_null(strstr(program_output, "if the simulator itself judged"));
    assert_non_null(strstr(program_output, "spread-medium: planning gains, +")); /* by far the clearest world
                                                                                  */
    assert_non_null(strstr(program_output, "in 4 episodes."));
    assert_non_null(strstr(program_output, "95% interval +"));
    program_expect(0, "demo spread-medium --episodes 2 -o %/demo --candidates 1",
                   "cannot tell planning from");
    assert_non_null(strstr(program_output, "simulator as judge"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_zoo), cmocka_unit_test(test_demo)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown_tree);
}
