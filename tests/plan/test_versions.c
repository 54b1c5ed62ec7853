/* Bundles of older versions: what they cannot know counts as its default, and only that. */
#include "core/json.h"
#include "core/tensor/safetensors.h"
#include "model/flow/flow.h"
#include "random_bundle.h"
#include "scratch.h"

/* The bundle with another version in its description, and without two settings. */
static void write_version(const char *path, int version, const char *of_plan, const char *of_flow) {
    mw_error error;
    mw_safetensors file;
    json_t *root;
    CHECK_OK(mw_safetensors_open(&file, scratch("present.safetensors"), &error), error);
    const char *text = mw_safetensors_meta(&file, "bundle");
    CHECK_OK(mw_json_parse(&root, text, strlen(text), "the bundle", &error), error);
    json_object_set_new(root, "version", json_integer(version));
    json_object_del(json_object_get(root, "plan"), of_plan);
    json_object_del(json_object_get(json_array_get(json_object_get(root, "parts"), 0), "configuration"),
                    of_flow);
    char *described = json_dumps(root, 0);
    const mw_meta metadata[] = {{"format", "mawam-bundle"}, {"bundle", described}};
    CHECK_OK(mw_safetensors_write(path, file.tensors, file.tensor_count, metadata, 2, &error), error);
    free(described);
    json_decref(root);
    mw_safetensors_close(&file);
}

static void test_versions(void **state) {
    (void)state;
    static const struct {
        int version;
        const char *of_plan, *of_flow, *message; /* NULL: it is read */
    } cases[] = {
        {MW_BUNDLE_VERSION, "", "", NULL},
        {MW_BUNDLE_VERSION, "recombine", "", "'recombine' must be"},
        {MW_BUNDLE_VERSION, "", "forecast_return", "'forecast_return' must be on or off, found nothing"},
        {MW_BUNDLE_VERSION, "distinct", "", "'distinct' must be on or off, found nothing"},
        {9, "distinct", "", NULL},
        {9, "", "shards", "'shards' must be"},
        {8, "distinct", "shards", NULL},
        {8, "caution", "", "'caution' must be"},
        {8, "", "scale", "'scale' must be"},
        {7, "", "", "bundle version 7; this build reads 8 to"},
        {MW_BUNDLE_VERSION + 1, "", "", "this build reads 8 to"},
    };
    mw_error error;
    mw_bundle_info info = {
        .task = "own", .rules = "own", .agents = 2, .obs = 5, .act = 3, .episode_limit = 9};
    mw_bundle *bundle = random_bundle(info, 1), *loaded;
    CHECK_OK(mw_bundle_save(bundle, scratch("present.safetensors"), true, &error), error);
    mw_bundle_free(bundle);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = scratch("other.safetensors"); /* which holds for a few more of them */
        write_version(path, cases[i].version, cases[i].of_plan, cases[i].of_flow);
        const mw_status status = mw_bundle_load(&loaded, path, &error);
        if (cases[i].message) {
            assert_int_not_equal(status, MW_OK);
            CHECK_FAILS(status, error.status, error, cases[i].message);
            continue;
        }
        CHECK_OK(status, error);
        assert_int_equal(loaded->plan.recombine, 0);
        assert_false(loaded->plan.distinct);
        assert_false(mw_flow_settings_of(mw_bundle_find(loaded, "flow")->model)->forecast_return);
        mw_bundle_free(loaded);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_versions)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
