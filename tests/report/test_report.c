/* The report: aggregates against brute force on made-up summaries, files
 * with missing settings, and hostile words. */
#include "core/file.h"
#include "core/json.h"
#include "scratch.h"
#include "report/report.h"

#include <ftw.h>
#include <sys/stat.h>

/* The table of the paper gives what its text says, up to the rounding of the table. */
static void test_paper(void **state) {
    (void)state;
    static mw_study_table t;
    mw_error error;
    CHECK_OK(mw_study_table_read(&t, NULL, 0, &error), error);
    assert_int_equal(t.present, 0);
    const mw_comparison c = mw_table_compare(&t, NULL, MW_COL_PUBLISHED_PLAN, MW_COL_PUBLISHED_REACTIVE);
    assert_int_equal(c.wins, mw_paper_gains_of(NULL)->improved);
    CHECK_NEAR(c.relative, mw_paper_gains_of(NULL)->relative, 0.002);
    const mw_comparison r = mw_table_compare(&t, NULL, MW_COL_PUBLISHED_PLAN, MW_COL_PUBLISHED_RANDOM);
    assert_int_equal(r.wins + r.ties, mw_paper_gains_of(NULL)->random_improved);
    CHECK_NEAR(r.relative, mw_paper_gains_of(NULL)->random_relative, 0.01);
    for (int f = 0; f < 3; f++) {
        const char *family = mw_report_families[f];
        const mw_comparison one =
            mw_table_compare(&t, family, MW_COL_PUBLISHED_PLAN, MW_COL_PUBLISHED_REACTIVE);
        assert_int_equal(one.count, mw_paper_gains_of(family)->count);
        CHECK_NEAR(one.relative, mw_paper_gains_of(family)->relative, 0.002);
    }
    CHECK_NEAR(mw_paper_state_mean().regret, 0.374, 0.0005);
    CHECK_NEAR(mw_paper_state_mean().random_regret, 0.521, 0.0005);
    assert_string_equal(mw_study_family("4ant"), "ant");
    mw_study_table_free(&t);
}

/* ---- made-up summaries ---- */

static const char hostile[] = "<script>alert('x & \"y\"')</script>";

/* Numbers that follow from the setting's place, so that the expected ones can be formed again. */
static double made_reactive(int place) {
    return 20 + 3 * place - (place % 4) * 11;
}
static double made_plan(int place) {
    return made_reactive(place) + (place % 3 == 0 ? -2 : 5);
}

static json_t *made_arm(double value, bool scaled, double low, double high) {
    json_t *arm =
        json_pack("{s:f, s:f, s:[[f]]}", "return", scaled ? low + value / 100 * (high - low) : value,
                  "return_deviation", 1.0, "episode_returns", value);
    if (scaled) json_object_set_new(arm, "score", json_real(value));
    return arm;
}

static void make_summary(const char *folder, int place) {
    const mw_setting *s = mw_setting_at(place);
    const mw_scale *scale = mw_scale_of(s->task);
    char name[64], path[300];
    mw_error error;
    mw_setting_name(s, name, sizeof name);
    json_t *arms = json_object(), *horizons = json_array();
    const double low = scale ? scale->random : 0, high = scale ? scale->expert : 1;
    json_object_set_new(arms, "reactive", made_arm(made_reactive(place), scale, low, high));
    json_object_set_new(arms, "random", made_arm(made_reactive(place) - 1, scale, low, high));
    json_object_set_new(arms, "plan", made_arm(made_plan(place), scale, low, high));
    json_object_set_new(arms, "oracle", made_arm(made_reactive(place) + 10, scale, low, high));
    for (int h = 1; h <= 16; h++)
        json_array_append_new(horizons, json_pack("{s:i, s:f, s:f}", "horizon", h, "spearman",
                                                  0.5 + 0.01 * place - 0.01 * h, "rollout_mse", 0.01 * h));
    json_t *root = json_pack("{s:s, s:{s:{s:f}, s:s}, s:{s:o}, s:{s:o}, s:{s:s, s:s}, s:{s:[f]}}", "setting",
                             name, "data", "return", "mean", 3.0, "checksum", hostile, "eval", "arms", arms,
                             "snippets", "horizons", horizons, "provenance", "command", hostile, "cpu",
                             hostile, "training", "curve", 1.0);
    snprintf(path, sizeof path, "%s/results/%s.json", scratch(folder), name);
    CHECK_OK(mw_json_write(root, path, &error), error);
    json_decref(root);
}

static void make_study(const char *folder, const int *skipped, int count) {
    mw_error error;
    char path[300];
    snprintf(path, sizeof path, "%s/results", scratch(folder));
    CHECK_OK(mw_dir_make(path, &error), error);
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        bool skip = false;
        for (int k = 0; k < count; k++) skip |= skipped[k] == i;
        if (!skip) make_summary(folder, i);
    }
}

static const int skipped[] = {2, 17, 29};

static void test_table(void **state) {
    (void)state;
    static mw_study_table t;
    mw_error error;
    make_study("study", skipped, 3);
    const char *folders[] = {scratch("study")};
    CHECK_OK(mw_study_table_read(&t, folders, 1, &error), error);
    assert_int_equal(t.present, 27);
    int wins = 0, count = 0, shares = 0;
    double relative = 0, sum = 0, size = 0, share = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const double *v = t.rows[i].value, a = made_plan(i), b = made_reactive(i);
        if (i == 2 || i == 17 || i == 29) {
            assert_null(t.rows[i].summary);
            assert_true(isnan(v[MW_COL_PLAN]) && isnan(v[MW_COL_RELATIVE]) && isnan(t.rows[i].spearman[7]));
            assert_false(isnan(v[MW_COL_PUBLISHED_PLAN]));
            continue;
        }
        CHECK_NEAR(v[MW_COL_PLAN], a, 1e-9);
        CHECK_NEAR(v[MW_COL_SHARE], (a - b) / 10, 1e-9);
        CHECK_NEAR(v[MW_COL_SNIPPET_SPEARMAN], 0.5 + 0.01 * i - 0.08, 1e-12);
        CHECK_NEAR(t.rows[i].error[15], 0.16, 1e-12);
        if (strcmp(t.rows[i].family, "battle")) continue;
        count++;
        wins += a > b;
        relative += (a - b) / fabs(b);
        sum += a - b;
        size += fabs(b);
        if (10 <= 0.01 * fabs(b)) continue;
        share += (a - b) / 10;
        shares++;
    }
    const mw_comparison c = mw_table_compare(&t, "battle", MW_COL_PLAN, MW_COL_REACTIVE);
    int shared;
    assert_int_equal(c.count, count);
    assert_int_equal(c.wins, wins);
    CHECK_NEAR(c.relative, relative / count, 1e-12);
    CHECK_NEAR(c.aggregate, sum / size, 1e-12);
    CHECK_NEAR(mw_table_share(&t, "battle", &shared), share / shares, 1e-12);
    assert_int_equal(shared, shares);
    /* the median of an odd number of equally spaced values is the middle one: places 24..28 */
    CHECK_NEAR(mw_table_median(&t, "ant", MW_COL_SNIPPET_SPEARMAN), 0.5 + 0.26 - 0.08, 1e-12);
    CHECK_NEAR(mw_table_mean(&t, "ant", MW_COL_SNIPPET_SPEARMAN), 0.5 + 0.26 - 0.08, 1e-12);
    mw_study_table_free(&t);
}

static char text[1 << 20];

static void read_report(const char *name) {
    char path[300];
    snprintf(path, sizeof path, "report/%s", name);
    text[scratch_read(scratch(path), text, sizeof text - 1)] = 0;
}

static int occurrences(const char *part) {
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part)) count++;
    return count;
}

static void test_files(void **state) {
    (void)state;
    static mw_study_table t;
    mw_error error;
    char name[64];
    const char *folders[] = {scratch("study")};
    CHECK_OK(mw_study_table_read(&t, folders, 1, &error), error);
    CHECK_OK(mw_report_write(&t, scratch("report"), &error), error);
    mw_study_table_free(&t);
    read_report("index.html");
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        mw_setting_name(mw_setting_at(i), name, sizeof name);
        assert_non_null(strstr(text, name));
    }
    assert_int_equal(occurrences("<script"), 0);
    assert_int_equal(occurrences("&lt;script&gt;alert(&#39;x &amp; &quot;y&quot;&#39;)&lt;/script&gt;"),
                     3 * 27); /* command, processor, checksum */
    assert_int_equal(occurrences("<table"), occurrences("</table>"));
    assert_int_equal(occurrences("<svg"), 5);
    assert_int_equal(occurrences("</svg>"), 5);
    assert_int_equal(occurrences("nan"), 0);
    assert_int_equal(occurrences("http"), 0); /* needs no network */
    assert_non_null(strstr(text, "Missing so far: spread-medium-replay"));
    read_report("README.md");
    assert_non_null(strstr(text, "| spread-expert | "));
    assert_int_equal(occurrences("nan"), 0);
    read_report("settings.csv");
    assert_int_equal(occurrences("\n"), 31);
    const long columns = occurrences(",") / 31;
    int others = 0; /* arms that are played on request */
    while (mw_arm_name(MW_ARM_STANDARD + others)) others++;
    assert_int_equal(columns, MW_TABLE_WIDTH + 4 + others);
    assert_int_equal(occurrences("nan"), 0);
}

static void test_json(void **state) {
    (void)state;
    json_t *root;
    mw_error error;
    char path[300];
    CHECK_OK(mw_json_read(&root, scratch("report/summary.json"), &error), error);
    assert_int_equal(json_integer_value(json_object_get(root, "present")), 27);
    assert_int_equal(json_array_size(json_object_get(root, "missing")), 3);
    const json_t *gain = json_object_get(json_object_get(root, "all"), "plan_vs_reactive");
    assert_int_equal(json_integer_value(json_object_get(gain, "settings")), 27);
    json_decref(root);
    snprintf(path, sizeof path, "report/settings/%s.json", "tag-expert");
    CHECK_OK(mw_json_read(&root, scratch(path), &error), error);
    const json_t *plan = json_object_get(json_object_get(json_object_get(root, "eval"), "arms"), "plan");
    assert_true(json_is_real(json_object_get(plan, "return")));
    assert_null(json_object_get(plan, "episode_returns"));
    assert_null(json_object_get(json_object_get(root, "training"), "curve"));
    json_decref(root);
    assert_false(mw_file_exists(scratch("report/settings/spread-medium-replay.json")));
}

/* A second folder fills gaps and wins where both have a setting; files that lie are refused. */
static void test_folders(void **state) {
    (void)state;
    static mw_study_table t;
    mw_error error;
    const char *folders[] = {scratch("study"), scratch("more")};
    CHECK_OK(mw_dir_make(scratch("more/results"), &error), error);
    make_summary("more", 2);
    CHECK_OK(mw_study_table_read(&t, folders, 2, &error), error);
    assert_int_equal(t.present, 28);
    mw_study_table_free(&t);
    mw_study_table_free(&t);
    scratch_write(scratch("more/results/tag-expert.json"), "{\"setting\": \"3m-good\"}", 22);
    CHECK_FAILS(mw_study_table_read(&t, folders, 2, &error), MW_ERR_MISMATCH, error,
                "expected the setting 'tag-expert', found '3m-good'");
    scratch_write(scratch("more/results/tag-expert.json"), "{\"sett", 6);
    CHECK_FAILS(mw_study_table_read(&t, folders, 2, &error), MW_ERR_FORMAT, error, "tag-expert.json");
    /* members of the wrong kind are missing numbers */
    const char odd[] = "{\"setting\": \"tag-expert\", \"eval\": 3, \"snippets\": {\"horizons\": [1, {}]}}";
    scratch_write(scratch("more/results/tag-expert.json"), odd, sizeof odd - 1);
    CHECK_OK(mw_study_table_read(&t, folders, 2, &error), error);
    assert_true(isnan(t.rows[4].value[MW_COL_PLAN]));
    CHECK_OK(mw_report_write(&t, scratch("report2"), &error), error);
    mw_study_table_free(&t);
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

static int teardown(void **state) {
    (void)state;
    return nftw(scratch_folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paper), cmocka_unit_test(test_table),   cmocka_unit_test(test_files),
        cmocka_unit_test(test_json),  cmocka_unit_test(test_folders),
    };
    return cmocka_run_group_tests(tests, scratch_setup, teardown);
}
