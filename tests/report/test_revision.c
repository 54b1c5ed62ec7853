/* A report names the revisions that made it and refuses what cannot be compared; what the repository shows in
 * results/ is of one. Further training seeds lie beside the first and are told apart. */
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

static json_t *summary_of(const char *name) {
    char path[160];
    json_t *root;
    mw_error error;
    snprintf(path, sizeof path, "%s-report/summary.json", name);
    CHECK_OK(mw_json_read(&root, scratch(path), &error), error);
    return root;
}

static void expect_files(const char *name, const char *path, int files) {
    json_t *root = summary_of(name);
    if (json_integer_value(mw_json_at(root, path)) != files) fail_msg("%s: not %d files", path, files);
    json_decref(root);
}

/* All that a file names, whoever wrote it or trained a part, stands in the report. */
static void test_mixture(void **state) {
    (void)state;
    mw_error error;
    make("one/results", "3m-good", "v1", "v1", 1);
    make("one/results", "3m-poor", "v1", "v1", 1);
    CHECK_OK(report("one", &error), error);
    char text[256];
    text[scratch_read(scratch("one-report/revision"), text, sizeof text - 1)] = 0;
    assert_string_equal(text, "v1\n");
    expect_files("one", "revisions.v1.settings", 2);
    make("one/results", "3m-poor", "v2", "v3", 1);
    make("one/results", "2ant-good", "v2", NULL, 1);
    make("one/results", "2ant-poor", NULL, NULL, 1);
    put("one/routing", "3m-poor",
        json_pack("{s:s, s:{s:s}}", "revision", "v4", "provenance", "revision", "v1"));
    CHECK_OK(report("one", &error), error);
    expect_files("one", "revisions.v1.settings", 1);
    expect_files("one", "revisions.v2.settings", 2);
    expect_files("one", "revisions.v3.settings", 1);
    expect_files("one", "revisions.unknown.settings", 1);
    expect_files("one", "revisions.v4.routing", 1);
    static char page[1 << 16];
    page[scratch_read(scratch("one-report/index.html"), page, sizeof page - 1)] = 0;
    assert_non_null(strstr(page, "Of several revisions, <code>v1 (settings, routing); "));
    page[scratch_read(scratch("one-report/README.md"), page, sizeof page - 1)] = 0;
    assert_non_null(strstr(page, "of several revisions, v1 \\(settings, routing\\); ") ||
                    strstr(page, "of several revisions, v1 (settings, routing); "));
    text[scratch_read(scratch("one-report/revision"), text, sizeof text - 1)] = 0;
    assert_string_equal(text, "v2\n"); /* of most settings */
}

/* A setting's own arms: the data, the rules and the episodes that others are compared on. */
static json_t *played(const char *arm, const char *data, const char *rules, int first, int seeds,
                      int episodes) {
    return json_pack("{s:s, s:{s:s*}, s:{s:{s:s}}, s:{s:s, s:s, s:s, s:i, s:i, s:i, s:{s:{s:f}}}}", "setting",
                     "3m-good", "provenance", "revision", "v1", "training", arm, "data", data, "eval", "task",
                     "3m", "quality", "good", "rules", rules, "first_seed", first, "seeds", seeds, "episodes",
                     episodes, "arms", arm, "return", 7.5);
}

static void expect_refused(json_t *file, const char *words) {
    mw_error error;
    put("apart/baselines/bc", "3m-good", file);
    CHECK_FAILS(report("apart", &error), MW_ERR_MISMATCH, error, words);
}

/* Results of any revision are compared, those on other episodes are not. */
static void test_baselines(void **state) {
    (void)state;
    mw_error error;
    put("apart/results", "3m-good", played("plan", "00aa", "r1", 5, 2, 3));
    put("apart/baselines/bc", "3m-good", played("bc", "00aa", "r1", 5, 2, 3));
    CHECK_OK(report("apart", &error), error);
    assert_true(mw_file_exists(scratch("apart-report/baselines/bc/3m-good.json")));
    expect_files("apart", "revisions.v1.baselines/bc", 1);
    expect_refused(
        played("bc", "00bb", "r1", 5, 2, 3),
        "baselines/bc/3m-good.json: the data's checksum is \"00bb\", that of the setting's own arms "
        "is \"00aa\"");
    expect_refused(played("bc", "00aa", "r2", 5, 2, 3), "rules is \"r2\"");
    expect_refused(played("bc", "00aa", "r1", 6, 2, 3), "eval.first_seed is 6");
    expect_refused(played("bc", "00aa", "r1", 5, 3, 3), "eval.seeds is 3");
    expect_refused(played("bc", "00aa", "r1", 5, 2, 4), "eval.episodes is 4");
    expect_refused(played("q", "00aa", "r1", 5, 2, 3), "expected the arm 'bc'");
    put("apart/baselines/bc", "3m-good", played("bc", "00aa", "r1", 5, 2, 3));
    /* other arms of a setting may have played fewer episodes, but on its data and by its rules */
    put("apart/selectors", "3m-good", played("direct", "00aa", "r1", 5, 2, 1));
    CHECK_OK(report("apart", &error), error);
    put("apart/selectors", "3m-good", played("direct", "00cc", "r1", 5, 2, 1));
    CHECK_FAILS(report("apart", &error), MW_ERR_MISMATCH, error,
                "selectors/3m-good.json: the data's checksum");
    put("apart/selectors", "3m-good", played("direct", "00aa", "r3", 5, 2, 1));
    CHECK_FAILS(report("apart", &error), MW_ERR_MISMATCH, error, "selectors/3m-good.json: rules");
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
    CHECK_OK(report("many", &error), error);
    expect_files("many", "revisions.v2.seeds", 1);
}

/* What is published, the baselines apart, is of the one revision that it names, files and the parts of all
 * bundles, and all of it was played by the protocol of docs/study.md. */
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
    const char *revision, *place;
    json_t *places, *files;
    json_object_foreach(sources.revisions, revision, places) json_object_foreach(places, place, files) {
        if (strcmp(revision, named) && strncmp(place, "baselines/", 10))
            fail_msg("%s in results/ is of revision %s, not of %s", place, revision, named);
    }
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mixture), cmocka_unit_test(test_baselines),
                                       cmocka_unit_test(test_training_seeds),
                                       cmocka_unit_test(test_published)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
