/* A report is of one revision: a mixture is refused, and what the repository shows in results/ is of the
 * one that it names. Further training seeds lie beside the first and are told apart. */
#include "core/file.h"
#include "core/json.h"
#include "mawam/study.h"
#include "report/sources.h"
#include "scratch.h"

static void put(const char *folder, const char *name, json_t *root) {
    char path[200];
    mw_error error;
    CHECK_OK(mw_dir_make(scratch(folder), &error), error);
    snprintf(path, sizeof path, "%s/%s.json", folder, name);
    CHECK_OK(mw_json_write(root, scratch(path), &error), error);
    json_decref(root);
}

/* A summary with a difference of planning to reactive, made by one revision and trained by another. */
static void make(const char *folder, const char *name, const char *maker, const char *trainer, double delta) {
    put(folder, name,
        json_pack("{s:s, s:{s:{s:{s:f}, s:{s:f, s:{s:f, s:f, s:f}}}}, s:{s:{s:s*}}, s:{s:s*}}", "setting",
                  name, "eval", "arms", "reactive", "return", 10.0, "plan", "return", 10.0 + delta, "gain",
                  "mean", delta, "low", delta - 1.959964, "high", delta + 1.959964, "training", "flow",
                  "revision", trainer, "provenance", "revision", maker));
}

static mw_status report(const char *folder, mw_error *error) {
    char from[128], to[160];
    snprintf(from, sizeof from, "%s", scratch(folder));
    snprintf(to, sizeof to, "%s-report", from);
    const char *const folders[] = {from};
    return mw_study_report(folders, 1, to, false, NULL, error);
}

static void test_mixture(void **state) {
    (void)state;
    mw_error error;
    make("one/results", "3m-good", "v1", "v1", 1);
    make("one/results", "3m-poor", "v1", "v1", 1);
    CHECK_OK(report("one", &error), error);
    char text[256];
    text[scratch_read(scratch("one-report/revision"), text, sizeof text - 1)] = 0;
    assert_string_equal(text, "v1\n");
    make("one/results", "3m-poor", "v2", "v1", 1);
    CHECK_FAILS(report("one", &error), MW_ERR_MISMATCH, error, "results/3m-poor.json is of revision 'v2'");
    make("one/results", "3m-poor", "v1", "v2", 1);
    CHECK_FAILS(report("one", &error), MW_ERR_MISMATCH, error, "the flow of results/3m-poor.json");
    make("one/results", "3m-poor", NULL, NULL, 1);
    CHECK_FAILS(report("one", &error), MW_ERR_MISMATCH, error, "of revision 'unknown'");
    make("one/results", "3m-poor", "v1", "v1", 1);
    put("one/routing", "3m-poor",
        json_pack("{s:s, s:{s:s}}", "revision", "v1", "provenance", "revision", "v1"));
    CHECK_OK(report("one", &error), error);
    put("one/routing", "3m-poor",
        json_pack("{s:s, s:{s:s}}", "revision", "v2", "provenance", "revision", "v1"));
    CHECK_FAILS(report("one", &error), MW_ERR_MISMATCH, error, "routing/3m-poor.json is of revision 'v2'");
    put("one/results", "3m-good",
        json_pack("{s:s, s:{s:s}, s:{s:s, s:s}}", "setting", "3m-good", "provenance", "revision", "v1",
                  "revisions", "eval", "v1", "diagnose", "v2"));
    CHECK_FAILS(report("one", &error), MW_ERR_MISMATCH, error, "results/3m-good.json is of revision 'v2'");
}

static void test_training_seeds(void **state) {
    (void)state;
    mw_error error;
    make("many/results", "3m-medium", "v1", "v1", 1);
    make("many/seeds/1/results", "3m-medium", "v1", "v1", 4);
    make("many/seeds/2/results", "3m-medium", "v1", "v1", 7);
    CHECK_OK(report("many", &error), error);
    json_t *root;
    CHECK_OK(mw_json_read(&root, scratch("many-report/summary.json"), &error), error);
    const json_t *one = json_object_get(json_object_get(root, "uncertainty"), "3m-medium");
    CHECK_NEAR(json_number_value(json_object_get(one, "training_seeds")), 3, 0);
    CHECK_NEAR(json_number_value(json_object_get(one, "mean_training_seeds")), 4, 1e-12);
    CHECK_NEAR(json_number_value(json_object_get(one, "std_training_seeds")), 3, 1e-12);
    CHECK_NEAR(json_number_value(json_object_get(one, "smallest_visible_difference")), 2.801585, 1e-5);
    assert_string_equal(json_string_value(json_object_get(root, "revision")), "v1");
    json_decref(root);
    assert_true(mw_file_exists(scratch("many-report/seeds/2/settings/3m-medium.json")));
    make("many/seeds/2/results", "3m-medium", "v2", "v1", 7);
    CHECK_FAILS(report("many", &error), MW_ERR_MISMATCH, error, "seeds/3m-medium.json");
}

/* What is published is of the one revision that it names, files and the parts of all bundles, and all of it
 * was played by the protocol of docs/study.md. */
static void test_published(void **state) {
    (void)state;
    static mw_sources sources;
    const char *const published[] = {SOURCE_DIR "/results"};
    mw_error error;
    char named[64];
    CHECK_OK(mw_sources_read(&sources, published, 1, scratch("nowhere"), &error), error);
    named[scratch_read(SOURCE_DIR "/results/revision", named, sizeof named - 1)] = 0;
    named[strcspn(named, "\n")] = 0;
    assert_string_equal(named, sources.revision);
    assert_string_not_equal(named, "unknown");
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const json_t *eval = json_object_get(sources.table.rows[i].summary, "eval");
        if (!eval) continue; /* not yet there */
        if (json_integer_value(json_object_get(eval, "first_seed")) != 21000 ||
            json_integer_value(json_object_get(eval, "seeds")) != 5 ||
            json_object_size(json_object_get(eval, "arms")) < 5)
            fail_msg("%s was not evaluated by the study's protocol", sources.table.rows[i].name);
    }
    mw_sources_free(&sources);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mixture), cmocka_unit_test(test_training_seeds),
                                       cmocka_unit_test(test_published)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
