/* Recorded routes, graphs and influence: all of them agree, a spoiled number is noticed. */
#include "core/json.h"
#include "dataset/fixture.h"

static mw_status verify(mw_verify *report, mw_error *error) {
    *report = (mw_verify){0};
    return mw_verify_diagnostics(scratch("diagnostics"), report, error);
}

static void copy(const char *from, const char *to) {
    static char bytes[1 << 20];
    scratch_write(to, bytes, scratch_read(from, bytes, sizeof bytes));
}

static void recorded_numbers(void **state) {
    (void)state;
    mw_verify report = {0};
    mw_error error = {0};
    CHECK_OK(mw_verify_diagnostics(TEST_DATA "/diagnostics", &report, &error), error);
    assert_int_equal(report.failed, 0);
    assert_true(report.checks >= 25); /* none was skipped */
}

/* One result of a copy raised by 0.01; key NULL: none. */
static void spoil(const char *name, const char *key) {
    mw_error error = {0};
    json_t *root;
    char from[400], to[400];
    for (int k = 0; k < 2; k++) {
        snprintf(from, sizeof from, "%s/diagnostics/%s%s", TEST_DATA, name, k ? ".json" : ".safetensors");
        snprintf(to, sizeof to, "%s/%s%s", scratch("diagnostics"), name, k ? ".json" : ".safetensors");
        copy(from, to);
    }
    CHECK_OK(mw_json_read(&root, to, &error), error);
    if (key) json_object_set_new(root, key, json_real(json_number_value(json_object_get(root, key)) + 0.01));
    CHECK_OK(mw_json_write(root, to, &error), error);
    json_decref(root);
}

static void spoiled_numbers_fail(void **state) {
    (void)state;
    static const char *const keys[] = {
        "js_agents",      "js_agent_pairs", "js_context", "effective_experts", "effective_dominant",
        "switching_rate", "contexts_seen",  "nmi_agent",  "affinity",          "cuts"};
    mw_verify report;
    mw_error error = {0};
    mkdir(scratch("diagnostics"), 0777);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        spoil("routing_discrete", keys[i]);
        CHECK_OK(verify(&report, &error), error);
        if (report.failed != 1) fail_msg("%s spoiled: %d checks fail", keys[i], report.failed);
    }
    spoil("routing_discrete", NULL);
    CHECK_OK(verify(&report, &error), error);
    assert_int_equal(report.failed, 0);
    spoil("model_3m", NULL); /* without its weights beside it */
    CHECK_FAILS(verify(&report, &error), MW_ERR_IO, error, "net/3m/world.safetensors");
    scratch_remove(scratch("diagnostics"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_numbers),
        cmocka_unit_test(spoiled_numbers_fail),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
