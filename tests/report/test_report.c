/* The report: aggregates against brute force on made-up summaries, files
 * with missing settings, and hostile words. */
#include "core/file.h"
#include "core/json.h"
#include "scratch.h"
#include "report/page.h"
#include "report/report.h"

#include <sys/stat.h>

/* The paper's numbers and the settings name the same things: every setting has a row, every row a setting. */
static void test_paper_settings(void **state) {
    (void)state;
    const mw_setting *setting;
    mw_error error;
    char name[64];
    int rows = 0;
    for (; mw_paper_at(rows); rows++)
        CHECK_OK(mw_setting_find(&setting, mw_paper_at(rows)->setting, &error), error);
    assert_int_equal(rows, MW_SETTINGS);
    for (int i = 0; (setting = mw_setting_at(i)); i++) {
        mw_setting_name(setting, name, sizeof name);
        assert_non_null(mw_paper_find(name));
        assert_true(isfinite(mw_paper_result(name, 0).mean));
    }
    for (int k = 0; mw_paper_graph_at(k); k++)
        CHECK_OK(mw_setting_find(&setting, mw_paper_graph_at(k)->setting, &error), error);
}

/* The table of the paper gives what its text says, up to the rounding of the table. */
static void test_paper(void **state) {
    (void)state;
    static mw_study_table t;
    mw_error error;
    CHECK_OK(mw_study_table_read(&t, NULL, 0, mw_study_places, &error), error);
    assert_int_equal(t.present, 0);
    const mw_comparison c = mw_table_compare(&t, NULL, MW_COL_PUBLISHED_PLAN, MW_COL_PUBLISHED_REACTIVE);
    assert_int_equal(c.wins, mw_paper_gains_of(NULL)->improved);
    CHECK_NEAR(c.relative, mw_paper_gains_of(NULL)->relative, 0.002);
    const mw_comparison r = mw_table_compare(&t, NULL, MW_COL_PUBLISHED_PLAN, MW_COL_PUBLISHED_RANDOM);
    assert_int_equal(r.wins + r.ties, mw_paper_gains_of(NULL)->random_improved);
    CHECK_NEAR(r.relative, mw_paper_gains_of(NULL)->random_relative, 0.01);
    for (int f = 0; f < 3; f++) {
        const char *family = mw_family_at(f)->name;
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

/* Returns for a value of the report, with an interval of the gain of +-3 (+-30 in every fifth place). */
static json_t *made_arm(int place, double value, bool scaled, double low, double high) {
    const double unit = scaled ? (high - low) / 100 : 1, gain = value - made_reactive(place),
                 half = place % 5 == 4 ? 30 : 3;
    json_t *arm = json_pack("{s:f, s:f, s:[[f]], s:{s:f, s:f, s:f}, s:[f, f, f]}", "return",
                            scaled ? low + value * unit : value, "return_std", 1.0, "episode_returns", value,
                            "gain", "mean", gain * unit, "low", (gain - half) * unit, "high",
                            (gain + half) * unit, "seed_returns", (scaled ? low : 0) + (value - 1) * unit,
                            (scaled ? low : 0) + value * unit, (scaled ? low : 0) + (value + 1) * unit);
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
    json_object_set_new(arms, "reactive", made_arm(place, made_reactive(place), scale, low, high));
    json_object_set_new(arms, "random", made_arm(place, made_reactive(place) - 1, scale, low, high));
    json_object_set_new(arms, "plan", made_arm(place, made_plan(place), scale, low, high));
    json_object_set_new(arms, "paper", made_arm(place, made_reactive(place) + 2, scale, low, high));
    json_object_set_new(arms, "oracle", made_arm(place, made_reactive(place) + 10, scale, low, high));
    for (int h = 1; h <= 16; h++)
        json_array_append_new(horizons, json_pack("{s:i, s:f, s:f}", "horizon", h, "spearman",
                                                  0.5 + 0.01 * place - 0.01 * h, "rollout_mse", 0.01 * h));
    json_t *root = json_pack("{s:s, s:{s:{s:f}, s:s}, s:{s:o}, s:{s:o}, s:{s:s, s:s}, s:{s:{s:{s:[f]}}}}",
                             "setting", name, "data", "return", "mean", 3.0, "checksum", hostile, "eval",
                             "arms", arms, "snippets", "horizons", horizons, "provenance", "command", hostile,
                             "cpu", hostile, "training", "flow", "details", "curve", 1.0);
    snprintf(path, sizeof path, "%s/results/%s.json", scratch(folder), name);
    CHECK_OK(mw_json_write(root, path, &error), error);
    json_decref(root);
}

static void make_file(const char *name, const char *words) {
    scratch_write(scratch(name), words, strlen(words));
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
    CHECK_OK(mw_study_table_read(&t, folders, 1, mw_study_places, &error), error);
    assert_int_equal(t.present, 27);
    int wins = 0, count = 0, clear = 0, worse = 0;
    double relative = 0, sum = 0, size = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const double *v = t.rows[i].value, a = made_plan(i), b = made_reactive(i);
        if (i == 2 || i == 17 || i == 29) {
            assert_null(t.rows[i].summary);
            assert_true(isnan(v[MW_COL_PLAN]) && isnan(v[MW_COL_RELATIVE]) &&
                        isnan(t.rows[i].snippets[MW_SNIPPET_SPEARMAN][7]));
            assert_false(isnan(v[MW_COL_PUBLISHED_PLAN]));
            continue;
        }
        CHECK_NEAR(v[MW_COL_PLAN], a, 1e-9);
        if (i % 5 == 4) /* the oracle's own gain may be none */
            assert_true(isnan(v[MW_COL_SHARE]));
        else
            CHECK_NEAR(v[MW_COL_SHARE], (a - b) / 10, 1e-9);
        CHECK_NEAR(v[MW_COL_RELATIVE_HIGH], (a - b + (i % 5 == 4 ? 30 : 3)) / fabs(b), 1e-9);
        CHECK_NEAR(v[MW_COL_SNIPPET_SPEARMAN], 0.5 + 0.01 * i - 0.08, 1e-12);
        CHECK_NEAR(t.rows[i].snippets[MW_SNIPPET_ERROR][15], 0.16, 1e-12);
        if (strcmp(t.rows[i].family, "battle")) continue;
        count++;
        wins += a > b;
        relative += (a - b) / fabs(b);
        sum += a - b;
        size += fabs(b);
        clear += i % 5 != 4 && a - b > 3;
        worse += i % 5 != 4 && a - b < -3;
    }
    const mw_comparison c = mw_table_compare_arms(&t, "battle", MW_ARM_PLAN, MW_ARM_REACTIVE);
    assert_int_equal(c.count, count);
    assert_int_equal(c.wins, wins);
    CHECK_NEAR(c.relative, relative / count, 1e-12);
    CHECK_NEAR(c.aggregate, sum / size, 1e-12);
    assert_int_equal(c.intervals, count);
    assert_int_equal(c.clear_wins, clear);
    assert_int_equal(c.clear_losses, worse);
    /* corrected for all settings at once: a family's counts are its share of them */
    static const char *const families[] = {"mpe", "battle", "ant"};
    double p[MW_TABLE_ROWS];
    bool firm[MW_TABLE_ROWS];
    for (int i = 0; i < MW_TABLE_ROWS; i++) { /* firm among a family's, not among all */
        double *v = &t.rows[i].value[MW_COL_OF(MW_ARM_PLAN, 0)];
        v[MW_FIELD_GAIN_HIGH] += 0.14 * (v[MW_FIELD_GAIN_HIGH] - v[MW_FIELD_GAIN_LOW]);
    }
    for (int i = 0; i < MW_TABLE_ROWS; i++) p[i] = mw_row_p(&t.rows[i], MW_ARM_PLAN, MW_ARM_REACTIVE);
    mw_holm(firm, p, MW_TABLE_ROWS);
    for (int f = 0; f < 3; f++) {
        int firm_wins = 0;
        for (int i = 0; i < MW_TABLE_ROWS; i++)
            firm_wins += firm[i] && !strcmp(t.rows[i].family, families[f]) && made_plan(i) > made_reactive(i);
        assert_int_equal(mw_table_compare_arms(&t, families[f], MW_ARM_PLAN, MW_ARM_REACTIVE).firm_wins,
                         firm_wins);
    }
    /* between arms the seeds decide: theirs are equal but for a constant, so the interval is the number */
    const mw_interval d = mw_row_difference(&t.rows[0], MW_ARM_PLAN, MW_ARM_RANDOM);
    CHECK_NEAR(d.mean, made_plan(0) - made_reactive(0) + 1, 1e-9);
    CHECK_NEAR(d.low, d.mean, 1e-9);
    /* the median of an odd number of equally spaced values is the middle one: places 24..28 */
    CHECK_NEAR(mw_table_median(&t, "ant", MW_COL_SNIPPET_SPEARMAN), 0.5 + 0.26 - 0.08, 1e-12);
    CHECK_NEAR(mw_table_mean(&t, "ant", MW_COL_SNIPPET_SPEARMAN), 0.5 + 0.26 - 0.08, 1e-12);
    mw_study_table_free(&t);
}

/* A reactive mean that may be zero, by its seeds: the gain relative to it has no interval. */
static void test_near_zero(void **state) {
    (void)state;
    static mw_study_table t;
    mw_error error;
    for (int far = 0; far < 2; far++) {
        const double mean = far ? 9 : 2; /* +- 2.5 or so: Student's of three seeds with a std of 1 */
        json_t *root = json_pack("{s:s, s:{s:{s:{s:f, s:f, s:[f, f, f]}, s:{s:f, s:{s:f, s:f, s:f}}}}}",
                                 "setting", "3m-good", "eval", "arms", "reactive", "return", mean,
                                 "return_std", 1.0, "seed_returns", mean - 1, mean, mean + 1, "plan",
                                 "return", mean + 5, "gain", "mean", 5.0, "low", 4.0, "high", 6.0);
        CHECK_OK(mw_dir_make(scratch("near/results"), &error), error);
        CHECK_OK(mw_json_write(root, scratch("near/results/3m-good.json"), &error), error);
        json_decref(root);
        const char *folders[] = {scratch("near")};
        CHECK_OK(mw_study_table_read(&t, folders, 1, mw_study_places, &error), error);
        for (int i = 0; i < MW_TABLE_ROWS; i++) {
            if (!t.rows[i].summary) continue;
            CHECK_NEAR(t.rows[i].value[MW_COL_RELATIVE], 5 / mean, 1e-12);
            assert_int_equal(!isnan(t.rows[i].value[MW_COL_RELATIVE_LOW]), far);
        }
        mw_study_table_free(&t);
    }
}

/* The interval of the ratio itself counts where a file has one, also where it says that there is none. */
static void test_ratios(void **state) {
    (void)state;
    static mw_study_table t;
    mw_error error;
    char words[480];
    for (int k = 0; k < 3; k++) {
        json_t *root = json_pack("{s:s, s:{s:{s:{s:f, s:[f, f]}, s:{s:f, s:{s:f, s:f, s:f}}}}}", "setting",
                                 "3m-good", "eval", "arms", "reactive", "return", 10.0, "seed_returns", 9.9,
                                 10.1, "plan", "return", 15.0, "gain", "mean", 5.0, "low", 4.0, "high", 6.0),
               *plan = json_object_get(json_object_get(json_object_get(root, "eval"), "arms"), "plan");
        if (k == 1)
            json_object_set_new(plan, "relative_gain_interval",
                                json_pack("{s:f, s:f}", "low", 0.35, "high", 0.7));
        if (k == 2)
            json_object_set_new(plan, "relative_gain_interval", json_pack("{s:n, s:n}", "low", "high"));
        CHECK_OK(mw_dir_make(scratch("ratio/results"), &error), error);
        CHECK_OK(mw_json_write(root, scratch("ratio/results/3m-good.json"), &error), error);
        json_decref(root);
        const char *folders[] = {scratch("ratio")};
        CHECK_OK(mw_study_table_read(&t, folders, 1, mw_study_places, &error), error);
        for (int i = 0; i < MW_TABLE_ROWS; i++) {
            const double low = t.rows[i].value[MW_COL_RELATIVE_LOW];
            if (!t.rows[i].summary) continue;
            assert_int_equal(t.rows[i].ratio, k > 0);
            assert_true(k == 2 ? isnan(low) : fabs(low - (k ? 0.35 : 0.4)) < 1e-12);
        }
        assert_non_null(strstr(mw_relative_words(words, &t), k ? "of the ratio itself" : "is not in it"));
        mw_study_table_free(&t);
    }
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

static mw_sources sources;

/* No page shows a word of a file as markup, a number that is none, or asks the network for anything. */
static void check_page(const char *name) {
    read_report(name);
    assert_true(strlen(text) > 1000);
    assert_int_equal(occurrences("<script"), 1); /* the page's own */
    assert_int_equal(occurrences("</script>"), 1);
    assert_int_equal(occurrences("<table"), occurrences("</table>"));
    assert_int_equal(occurrences("<svg"), occurrences("</svg>"));
    assert_int_equal(occurrences("<section"), occurrences("</section>"));
    assert_int_equal(occurrences("<figure"), occurrences("</figure>"));
    static const char *const none[] = {">nan", "'nan", " nan", "-nan", ",nan", ">inf", "'inf", ",inf"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) assert_int_equal(occurrences(none[i]), 0);
    assert_int_equal(occurrences("http"), 0);
    assert_int_equal(occurrences("<table class='sheet'") > 0 || occurrences("<svg") > 0,
                     occurrences("data:text/csv") > 0); /* numbers behind a link */
}

static void test_files(void **state) {
    (void)state;
    mw_error error;
    char name[64];
    const mw_chapter *chapter;
    const mw_item *item;
    const char *folders[] = {scratch("study")};
    CHECK_OK(mw_sources_read(&sources, folders, 1, scratch("report"), &error), error);
    CHECK_OK(mw_report_write(&sources, scratch("report"), true, &error), error);
    mw_sources_free(&sources);
    check_page("index.html");
    assert_non_null(strstr(text, "Missing so far: spread-medium-replay"));
    for (int i = 0; (item = mw_item_at(i)); i++) assert_non_null(strstr(text, item->label));
    for (int i = 0; (chapter = mw_chapter_at(i)); i++) {
        snprintf(name, sizeof name, "%s.html", chapter->id);
        check_page(name);
        for (int k = 0; (item = mw_item_at(k)); k++)
            if (!strcmp(item->chapter, chapter->id)) assert_non_null(strstr(text, item->label));
    }
    read_report("gain.html");
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        mw_setting_name(mw_setting_at(i), name, sizeof name);
        assert_non_null(strstr(text, name));
    }
    read_report("quality.html"); /* the paper's tiers, although three of our settings are missing */
    assert_non_null(strstr(text, "+14.8"));
    read_report("origin.html");
    assert_int_equal(occurrences("&lt;script&gt;alert(&#39;x &amp; &quot;y&quot;&#39;)&lt;/script&gt;"),
                     3 * 27); /* command, processor, checksum */
    read_report("README.md");
    assert_non_null(strstr(text, "| spread-expert | "));
    assert_int_equal(occurrences("nan"), 0);
    read_report("settings.csv");
    assert_int_equal(occurrences("\n"), 31);
    assert_int_equal(occurrences(",") / 31, mw_table_width() + 4);
    assert_int_equal(occurrences("nan"), 0);
}

/* A report of a report is the same again: what is committed can be made from what is committed. */
static void test_again(void **state) {
    (void)state;
    static char first[1 << 20];
    static const char *const names[] = {"index.html", "gain.html", "summary.json", "settings.csv",
                                        "README.md"};
    mw_error error;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *folders[] = {scratch("report")};
        read_report(names[i]);
        memcpy(first, text, sizeof first);
        CHECK_OK(mw_sources_read(&sources, folders, 1, scratch("report"), &error), error);
        CHECK_OK(mw_report_write(&sources, scratch("report"), true, &error), error);
        mw_sources_free(&sources);
        read_report(names[i]);
        assert_string_equal(text, first);
    }
}

/* Replays that lie beside the pages are linked from the settings' names. */
static void test_replays(void **state) {
    (void)state;
    mw_error error;
    const char *folders[] = {scratch("report")};
    CHECK_OK(mw_dir_make(scratch("report/replays"), &error), error);
    scratch_write(scratch("report/replays/tag-expert.html"), "<p>", 3);
    CHECK_OK(mw_sources_read(&sources, folders, 1, scratch("report"), &error), error);
    CHECK_OK(mw_report_write(&sources, scratch("report"), true, &error), error);
    mw_sources_free(&sources);
    read_report("gain.html");
    assert_non_null(strstr(text, "<a href='replays/tag-expert.html'>tag-expert</a>"));
    assert_null(strstr(text, "replays/tag-medium.html"));
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
    assert_true(json_is_real(json_object_get(gain, "median_relative_gain")));
    assert_true(json_is_null(json_object_get(gain, "aggregate_relative_gain"))); /* of several units */
    gain = mw_json_at(root, "families.mpe.plan_vs_reactive");
    assert_true(json_is_real(json_object_get(gain, "aggregate_relative_gain")));
    json_decref(root);
    snprintf(path, sizeof path, "report/settings/%s.json", "tag-expert");
    CHECK_OK(mw_json_read(&root, scratch(path), &error), error);
    const json_t *plan = json_object_get(json_object_get(json_object_get(root, "eval"), "arms"), "plan");
    assert_true(json_is_real(json_object_get(plan, "return")));
    assert_null(json_object_get(plan, "episode_returns"));
    assert_true(json_is_object(mw_json_at(root, "training.flow.details")));
    assert_null(mw_json_at(root, "training.flow.details.curve"));
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
    CHECK_OK(mw_study_table_read(&t, folders, 2, mw_study_places, &error), error);
    assert_int_equal(t.present, 28);
    mw_study_table_free(&t);
    mw_study_table_free(&t);
    scratch_write(scratch("more/results/tag-expert.json"), "{\"setting\": \"3m-good\"}", 22);
    CHECK_FAILS(mw_study_table_read(&t, folders, 2, mw_study_places, &error), MW_ERR_MISMATCH, error,
                "expected the setting 'tag-expert', found '3m-good'");
    scratch_write(scratch("more/results/tag-expert.json"), "{\"sett", 6);
    CHECK_FAILS(mw_study_table_read(&t, folders, 2, mw_study_places, &error), MW_ERR_FORMAT, error,
                "tag-expert.json");
    /* members of the wrong kind are missing numbers */
    const char odd[] = "{\"setting\": \"tag-expert\", \"eval\": 3, \"snippets\": {\"horizons\": [1, {}]}}";
    scratch_write(scratch("more/results/tag-expert.json"), odd, sizeof odd - 1);
    CHECK_OK(mw_study_table_read(&t, folders, 2, mw_study_places, &error), error);
    assert_true(isnan(t.rows[4].value[MW_COL_PLAN]));
    mw_study_table_free(&t);
    CHECK_OK(mw_sources_read(&sources, folders, 2, scratch("report2"), &error), error);
    CHECK_OK(mw_report_write(&sources, scratch("report2"), true, &error), error);
    mw_sources_free(&sources);
}

/* Of an earlier report nothing stays that is not of this one; a study's own files do. */
static void test_leftovers(void **state) {
    (void)state;
    static const char *const left[] = {"settings/3m-poor.json",         "selectors/3m-poor.json",
                                       "baselines/bc/3m-poor.json",     "sweeps/3m-poor.json",
                                       "paper/routing/3m-poor.json",    "longer/settings/3m-poor.json",
                                       "seeds/2/settings/3m-poor.json", "cost.json"};
    static const char *const folders[] = {"settings",      "selectors",       "baselines/bc",    "sweeps",
                                          "paper/routing", "longer/settings", "seeds/2/settings"};
    mw_error error;
    char path[128];
    CHECK_OK(mw_dir_make(scratch("single/results"), &error), error);
    make_summary("single", 0);
    for (int studied = 1; studied >= 0; studied--) {
        for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
            snprintf(path, sizeof path, "report5/%s", folders[i]);
            CHECK_OK(mw_dir_make(scratch(path), &error), error);
        }
        for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
            snprintf(path, sizeof path, "report5/%s", left[i]);
            make_file(path, "{}");
        }
        make_file("report5/settings/mine.json", "{}");
        if (studied)
            make_file("report5/stages.jsonl", "");
        else
            assert_int_equal(remove(scratch("report5/stages.jsonl")), 0);
        const char *from[] = {scratch("single")};
        CHECK_OK(mw_sources_read(&sources, from, 1, scratch("report5"), &error), error);
        if (!studied)
            CHECK_FAILS(mw_report_write(&sources, scratch("report5"), false, &error), MW_ERR_MISMATCH, error,
                        "3m-poor.json' and 7 more would be lost");
        if (studied) /* what it has read goes to no file there either: that would be thinner */
            make_file("report5/settings/spread-expert.json", "{}");
        CHECK_OK(mw_report_write(&sources, scratch("report5"), !studied, &error), error);
        mw_sources_free(&sources);
        char kept[8];
        assert_int_equal(scratch_read(scratch("report5/settings/spread-expert.json"), kept, sizeof kept),
                         studied ? 2 : sizeof kept);
        for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
            snprintf(path, sizeof path, "report5/%s", left[i]);
            assert_int_equal(mw_file_exists(scratch(path)), studied);
        }
        assert_true(mw_file_exists(scratch("report5/settings/mine.json")));
    }
}

/* A project's own README is not eaten. */
static void test_strangers(void **state) {
    (void)state;
    mw_error error;
    const char *from[] = {scratch("single")};
    CHECK_OK(mw_dir_make(scratch("report7"), &error), error);
    make_file("report7/README.md", "mine");
    CHECK_OK(mw_sources_read(&sources, from, 1, scratch("report7"), &error), error);
    CHECK_FAILS(mw_report_write(&sources, scratch("report7"), false, &error), MW_ERR_ARGUMENT, error,
                "README.md' is there already and not of a report");
    CHECK_OK(mw_report_write(&sources, scratch("report7"), true, &error), error);
    CHECK_OK(mw_report_write(&sources, scratch("report7"), false, &error), error); /* its own now */
    mw_sources_free(&sources);
}

/* Settings of other effort than most of their family are named, where it is written and where it is read. */
static void test_protocols(void **state) {
    (void)state;
    mw_error error;
    CHECK_OK(mw_dir_make(scratch("mixed/results"), &error), error);
    for (int i = 0; i < 30; i++) {
        char name[64], path[128];
        mw_setting_name(mw_setting_at(i), name, sizeof name);
        const bool battle = !strcmp(mw_study_family(mw_setting_at(i)->task), "battle");
        const bool odd = !strcmp(name, "3m-good"), odder = !strcmp(name, "8m-poor");
        json_t *root = json_pack("{s:s, s:{s:i, s:i}, s:{s:s}, s:{s:{s:i}}}", "setting", name, "eval",
                                 "seeds", 5, "episodes",
                                 odd      ? 20
                                 : battle ? 160
                                          : 40,
                                 "provenance", "budget",
                                 odd     ? "quick"
                                 : odder ? "<b>"
                                         : "full",
                                 "inputs", "data", "transitions", 250000);
        snprintf(path, sizeof path, "mixed/results/%s.json", name);
        CHECK_OK(mw_json_write(root, scratch(path), &error), error);
        json_decref(root);
    }
    const char *from[] = {scratch("mixed")};
    CHECK_OK(mw_sources_read(&sources, from, 1, scratch("report4"), &error), error);
    CHECK_OK(mw_report_write(&sources, scratch("report4"), true, &error), error);
    mw_sources_free(&sources);
    text[scratch_read(scratch("report4/README.md"), text, sizeof text - 1)] = 0;
    assert_non_null(strstr(text, "- 3m-good: budget quick, most full; episodes 20, most 160\n- 8m-poor: "));
    assert_non_null(strstr(text, "budget &lt;b>, most full"));
    text[scratch_read(scratch("report4/index.html"), text, sizeof text - 1)] = 0;
    assert_non_null(strstr(text, "8m-poor: budget &lt;b&gt;, most full</p>"));
}

/* Of two that differ neither is like most; a reactive score of zero has no relative gain. */
static void test_two(void **state) {
    (void)state;
    mw_error error;
    CHECK_OK(mw_dir_make(scratch("two/results"), &error), error);
    for (int i = 0; i < 2; i++) {
        char name[64], path[128];
        mw_setting_name(mw_setting_at(i), name, sizeof name);
        json_t *root = json_pack("{s:s, s:{s:i, s:{s:{s:f, s:f}, s:{s:f, s:f}}}}", "setting", name, "eval",
                                 "seeds", 5 - i, "arms", "reactive", "return", 0.0, "score", 0.0, "plan",
                                 "return", 5.0, "score", 5.0);
        snprintf(path, sizeof path, "two/results/%s.json", name);
        CHECK_OK(mw_json_write(root, scratch(path), &error), error);
        json_decref(root);
    }
    const char *from[] = {scratch("two")};
    CHECK_OK(mw_sources_read(&sources, from, 1, scratch("report8"), &error), error);
    CHECK_OK(mw_report_write(&sources, scratch("report8"), true, &error), error);
    mw_sources_free(&sources);
    for (int page = 0; page < 2; page++) {
        text[scratch_read(scratch(page ? "report8/index.html" : "report8/README.md"), text,
                          sizeof text - 1)] = 0;
        assert_non_null(strstr(text, "seeds 4, others 5"));
        assert_non_null(strstr(text, "2 of 2"));
        assert_null(strstr(text, "nan"));
    }
}

/* A study of a single setting, or of a single arm, says nothing of what it has not played. */
static void test_sparse(void **state) {
    (void)state;
    static const char *const empty[] = {" in -",  " 0 of 0",   " -%",     "- ms",
                                        "[-, -]", "median -,", ">0 of 0", " 1 settings"};
    mw_error error;
    const mw_chapter *chapter;
    char name[64];
    for (int alone = 0; alone < 2; alone++) {
        json_t *root =
            json_pack("{s:s, s:{s:s, s:{s:{s:f, s:[f]}}}}", "setting", "2ant-good", "eval", "task", "2ant",
                      "arms", alone ? "plan" : "reactive", "return", 10.0, "seed_returns", 10.0);
        CHECK_OK(mw_dir_make(scratch("sparse/results"), &error), error);
        CHECK_OK(mw_json_write(root, scratch("sparse/results/2ant-good.json"), &error), error);
        json_decref(root);
        const char *from[] = {scratch("sparse")};
        CHECK_OK(mw_sources_read(&sources, from, 1, scratch("report8"), &error), error);
        CHECK_OK(mw_report_write(&sources, scratch("report8"), true, &error), error);
        mw_sources_free(&sources);
        for (int i = -1; i < 0 || (chapter = mw_chapter_at(i)); i++) {
            snprintf(name, sizeof name, "report8/%s.html", i < 0 ? "index" : chapter->id);
            text[scratch_read(scratch(name), text, sizeof text - 1)] = 0;
            for (size_t k = 0; k < sizeof empty / sizeof *empty; k++)
                if (occurrences(empty[k])) fail_msg("%s says '%s'", name, empty[k]);
        }
    }
}

/* The planner's own candidates: of settings that have none only those that the paper has. */
static void test_planned(void **state) {
    (void)state;
    mw_error error;
    json_t *root;
    make_study("own", NULL, 0);
    CHECK_OK(mw_json_read(&root, scratch("own/results/4ant-poor.json"), &error), error);
    json_object_set_new(root, "same_state_planned", json_pack("{s:f}", "top1", 0.4375));
    CHECK_OK(mw_json_write(root, scratch("own/results/4ant-poor.json"), &error), error);
    json_decref(root);
    const char *from[] = {scratch("own")};
    CHECK_OK(mw_sources_read(&sources, from, 1, scratch("report9"), &error), error);
    CHECK_OK(mw_report_write(&sources, scratch("report9"), true, &error), error);
    mw_sources_free(&sources);
    text[scratch_read(scratch("report9/ranking.html"), text, sizeof text - 1)] = 0;
    char *table = strstr(text, "The planner&#39;s own candidates, with"), *end = strstr(table, "</table>");
    assert_true(table && end);
    *end = 0;
    assert_non_null(strstr(table, ">4ant-poor<"));
    assert_non_null(strstr(table, ">0.438<"));
    assert_non_null(strstr(table, ">2ant-medium<"));
    assert_null(strstr(table, ">2ant-poor<"));
    assert_null(strstr(table, ">3m-poor<"));
    assert_non_null(strstr(table, ">Ant<")); /* although the first of them is left out */
}

/* ---- results of single commands ---- */

#define ALIKE                                                                                                \
    "{\"revision\": \"unknown\", \"data\": \"1\", \"seed\": \"0\", \"held_out\": 0.1, \"details\": "         \
    "{\"held\": {\"reward\": 2}}}"

/* Sweeps, cost, routes, selectors and the paper's method appear once their files are there, and only then. */
static void test_beside(void **state) {
    (void)state;
    static const char *const folders_made[] = {
        "beside/results",   "beside/sweeps",        "beside/routing",        "beside/paper/routing",
        "beside/selectors", "beside/paper/results", "beside/longer/results", "beside/baselines/bc"};
    mw_error error;
    for (size_t i = 0; i < sizeof folders_made / sizeof *folders_made; i++)
        CHECK_OK(mw_dir_make(scratch(folders_made[i]), &error), error);
    for (int i = 0; i < 4; i++) make_summary("beside", i);
    make_file(
        "beside/sweeps/tag-medium.json",
        "{\"bundle\": \"00cc\", \"sweeps\": {\"horizon\": {\"symbol\": \"H\", \"points\": ["
        "{\"value\": \"8\", \"arms\": {\"oracle\": {\"return\": 4.25, \"gain\": {\"mean\": -0.75, "
        "\"low\": -1.5, \"high\": 0.25}}}}, "
        "{\"value\": \"<b>\", \"arms\": 3}, "
        "{\"value\": \"1\", \"arms\": {\"oracle\": {\"return\": 7.5, \"return_low\": 7, \"return_high\": 8, "
        "\"gain\": {\"mean\": 2.5, \"low\": 2, \"high\": 3}}}}]}}, " /* later, and first in the report */
        "\"front\": [{\"ms\": 2, \"return\": 5}]}");
    make_file("beside/cost.json",
              "{\"cpu\": \"<i>fast\", \"threads\": 2, \"cost\": {\"envs\": 4, \"K\": 3, \"settings\": "
              "[{\"setting\": "
              "\"3m-medium\", \"batching\": {\"sequential\": 77.5, \"batched\": 31}, \"points\": [{\"M\": 8, "
              "\"generate\": 61.5, \"score\": 7.25}]}, {\"setting\": \"8m-medium\", \"points\": [{\"M\": 8, "
              "\"generate\": 1000, \"score\": 1000}]}]}}"); /* the paper's mean is without 8m */
    make_file("beside/sweeps/tag-expert.json",
              "{\"inputs\": {\"bundle\": \"other\", \"plan\": {\"candidates\": 8, \"horizon\": 4}}, "
              "\"sweeps\": {\"scorer\": {\"points\": [{\"value\": \"rwm\", \"arms\": {\"plan\": {\"return\": "
              "5}}}]}, "
              "\"candidates\": {\"symbol\": \"M\", \"points\": [{\"value\": \"8\", \"arms\": "
              "{\"plan\": {\"return\": 5, \"ms\": {\"decision\": {\"p50\": 2}}}}}]}, "
              "\"horizon\": {\"symbol\": \"H\", \"points\": [{\"value\": \"4\", \"arms\": {\"plan\": "
              "{\"return\": 5, \"ms\": {\"decision\": {\"p50\": 3}}}}}]}}, "
              "\"front\": [{\"ms\": 2, \"return\": 5}]}");
    make_file(
        "beside/routing/tag-medium.json",
        "{\"study\": {\"bundle\": \"00bb\"}, \"routing\": {\"influence\": {\"rwm\": {\"pearson\": 0.5, "
        "\"normalized_error\": 0.25}, \"untrained\": {\"pearson\": 0.75, \"normalized_error\": 2}}, "
        "\"trained\": {\"experts\": 8, \"affinity\": "
        "[[0.25, 0.75], [\"x\"]], \"increase\": "
        "[0.5, 1, 2], "
        "\"graphs\": {\"influence\": [[1, 2], [3, 4]], \"routing_flow\": [[0.5, 0.5], [0.125, 0.875]]}, "
        "\"statistics\": {\"nmi_agent\": {\"corrected\": "
        "0.125}, "
        "\"nmi_context\": {\"corrected\": 0.375}, \"effective_experts\": 6.5}}, \"untrained\": "
        "{\"statistics\": "
        "{\"nmi_agent\": {\"corrected\": 0.5}, \"nmi_context\": {\"corrected\": 0.375}}}}}");
    make_file("beside/paper/routing/tag-medium.json",
              "{\"routing\": {\"trained\": {\"statistics\": {\"nmi_agent\": {\"corrected\": 0.25}, "
              "\"nmi_context\": {\"corrected\": 0.75}}}}}");
    make_file(
        "beside/selectors/tag-medium.json",
        "{\"eval\": {\"task\": \"tag\", \"quality\": \"medium\", \"arms\": {\"paper\": {\"score\": 61.5}, "
        "\"direct\": {\"score\": 63.5}}}, \"training\": {\"rwm\": {\"seconds\": 654, \"configuration\": "
        "{\"steps\": 321}}, \"direct\": {\"data\": \"dada\", \"seed\": \"7\", \"cpu\": \"chip\", "
        "\"details\": {\"command\": \"mawam chose\"}}, \"state_value\": {\"data\": \"other\"}}, "
        "\"same_state\": {\"scorers\": {\"direct\": {\"normalized_regret\": 0.28125}}}}");
    make_file("beside/selectors/tag-expert.json", /* as mawam eval writes it */
              "{\"task\": \"tag\", \"quality\": \"expert\", \"arms\": {\"paper\": {\"score\": 61.5}, "
              "\"direct\": {\"score\": 63.5}}}");
    make_file(
        "beside/baselines/bc/spread-expert.json", /* what else it has played is no baseline's */
        "{\"eval\": {\"task\": \"spread\", \"quality\": \"expert\", \"arms\": {\"uniform\": {\"score\": 99}, "
        "\"bc\": {\"score\": 1.75}}}, \"study\": {\"revision\": \"later\"}}");
    make_file(
        "beside/paper/results/tag-medium.json",
        "{\"setting\": \"tag-medium\", \"bundle\": \"00dd\", \"eval\": {\"first_seed\": 1, \"seeds\": 2, "
        "\"episodes\": 3, \"arms\": {\"reactive\": {\"score\": 31.5, \"seed_returns\": [5, 6]}, \"plan\": "
        "{\"score\": 44.5, \"seed_returns\": [7, 9], \"gain\": {\"mean\": 9, \"low\": 8, \"high\": 10}}}}, "
        "\"same_state\": "
        "{\"normalized_regret\": 0.5}}");
    make_file("beside/paper/results/spread-medium.json",
              "{\"setting\": \"spread-medium\", \"snippets\": {\"horizons\": [{\"horizon\": 8, "
              "\"spearman\": -0.25, \"rollout_mse\": 2.5}]}}");
    make_file(
        "beside/longer/results/tag-medium.json",
        "{\"setting\": \"tag-medium\", \"training\": {\"rwm\": {\"configuration\": {\"steps\": "
        "70000}, \"details\": {\"held\": {\"reward\": 5.125}}}}, \"eval\": {\"first_seed\": 1, \"seeds\": 2, "
        "\"episodes\": 3, \"arms\": {\"reactive\": "
        "{\"score\": 31.5, \"seed_returns\": [5, 6]}, \"plan\": {\"score\": 46.5, \"seed_returns\": [8, "
        "12]}}}, "
        "\"same_state\": {\"normalized_regret\": 0.375, \"random_normalized_regret\": 0.625}}");
    make_file(
        "beside/results/tag-medium.json",
        "{\"setting\": \"tag-medium\", \"bundle\": \"00aa\", \"same_state\": {\"normalized_regret\": 0.25}, "
        "\"training\": {\"rwm\": {\"details\": {\"held\": {\"reward\": 0.03125}}}}, " /* standardised */
        "\"eval\": {\"arms\": {\"bc\": {\"score\": 38.75, \"seed_returns\": [5, 6]}}}}");
    make_file("beside/results/tag-expert.json",
              "{\"setting\": \"tag-expert\", \"bundle\": \"00ee\", \"snippets\": {\"held_out\": false, "
              "\"count\": 8}, \"training\": {\"rwm\": " ALIKE "}}");
    make_file("beside/routing/tag-expert.json", /* trained again to the same bits */
              "{\"bundle\": \"00ff\", \"routing\": {}, \"provenance\": " ALIKE "}");
    for (int again = 0; again < 2; again++) { /* the second time from what the first one wrote */
        const char *from[] = {scratch(again ? "report3" : "beside")};
        CHECK_OK(mw_sources_read(&sources, from, 1, scratch("report3"), &error), error);
        CHECK_OK(mw_report_write(&sources, scratch("report3"), true, &error), error);
        mw_sources_free(&sources);
    }
    static const struct {
        const char *page, *words;
    } expected[] = {
        {"gain",
         "tag-medium: oracle - reactive, of the same episodes: +2.5 [2.0, 3.0] at H = 1, -0.8 [-1.5, 0.2] at "
         "H "
         "= 8; most +2.5 [2.0, 3.0] at H = 1. Its interval lies above zero at 1 of 2 horizons, below at 0."},
        {"cost", "tag-medium: swept without the arm plan; see the oracle by horizon."},
        {"cost", "Ours: &lt;i&gt;fast, 2 threads, 4 environments, K = 3, the bundles&#39; own guidance; mean "
                 "of those"},
        {"cost", "settings that were measured: 3m-medium."},
        {"cost", "tag-expert: the same plan, measured 2 times, took 2.0 to 3.0 ms"},
        {"cost", ">132.9</td>"},  /* as printed, though 120.5 + 12.5 */
        {"gain", "data-v='1.1'"}, /* tag-expert's difference as printed, though 132.0 - 130.8 */
        {"controls", "Among the same candidates, as drawn"},
        {"cost", ">68.8</td>"},
        {"cost", ">2.5</td>"},
        {"gain", "tag-medium: of the bundle 00cc, another one than the study&#39;s 00aa."},
        {"cost", "tag-expert: whether the bundle was the study&#39;s is not known."}, /* of another kind */
        {"routing", "Routing of other bundles than the study&#39;s: tag-medium."},
        {"routing", "perhaps not the study&#39;s, by the paper&#39;s method: tag-medium."},
        {"routing", "in 1 of 1 setting; mean difference 0.25, p = 1."},
        {"routing", "Before training: 0 of 1 setting; mean difference -0.12, p = 1."},
        {"routing", "in 1 of 1 setting; mean difference 0.5, p = 1."},
        {"routing",
         "The correlation (Pearson) is better than before training in 0 of 1 setting; not on tag-medium."},
        {"routing", "The error is better than before training in 1 of 1 setting."},
        {"ranking", "orders snippets worse than mawam&#39;s in 1 of 1 setting (Spearman)"},
        {"selectors", "largest mean in 0 of 2 settings"},
        {"ranking", "Snippets that the model may have been trained on: tag-expert."},
        {"ranking", "Trained longer: 1 of the 5 settings"},
        {"ranking", "Longer training closes 50% of the distance to ours."},
        {"ranking",
         "planning returns more after the published steps than after the study&#39;s budget in 1 of 1 "
         "setting: clearly more in 0, clearly less in 0."},
        {"ranking", "0.375 after the published steps (a random choice 0.625); ours 0.250, published 0.506."},
        {"selectors", ">0.281</td>"},
        {"selectors", ">321</td>"},
        {"origin", ">dada</td>"}, /* of selectors, by a part that was trained for them */
        {"origin", ">mawam chose</td>"},
        {"selectors", "largest mean in 0 of 2 settings"},
        {"ranking", "Longer training closes 50% of the distance to ours."},
        {"ranking", ">70000</td>"},
        {"ranking", ">5.125</td>"},
        {"rollout", "Snippets of 16 steps exist in 4 of 4 settings with snippets of 8"},
        {"main", ">bc</th>"}, /* who plays without candidates has a column where it has played, */
        {"main", ">38.8<"},
        {"main", ">1.8<"}, /* among the baselines too */
        {"main", "above every baseline that was trained here in 1 of 1 setting."},
        {"main", "Revision later of mawam trained and played bc."},
        {"index", "Of several revisions, <code>unknown ("},
        {"index", "; later (baselines/bc)</code>."},
        {"controls", "better than its reactive policy in 1 of 1 (1 with an interval above zero)"}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        char path[300];
        snprintf(path, sizeof path, "report3/%s.html", expected[i].page);
        text[scratch_read(scratch(path), text, sizeof text - 1)] = 0;
        if (!strstr(text, expected[i].words)) fail_msg("%s: no '%s'", expected[i].page, expected[i].words);
        assert_null(strstr(text, "<i>fast"));
        assert_null(strstr(text, "tag-expert: scorer"));
        assert_null(strstr(text, "0.03125"));
        if (!strcmp(expected[i].page, "selectors")) assert_null(strstr(text, "(beyond)"));
        assert_null(strstr(text, "<b></"));
        assert_null(strstr(text, ">uniform</th>")); /* and only there */
    }
}

/* Above the data by seeds and the data's own error, win rates by both arms' seeds. */
static void test_intervals(void **state) {
    (void)state;
    static mw_study_table t;
    mw_error error;
    CHECK_OK(mw_dir_make(scratch("won/results"), &error), error);
    make_file(
        "won/results/3m-good.json",
        "{\"setting\": \"3m-good\", \"data\": {\"episodes\": 9, \"return\": {\"mean\": 10, \"std\": 6}}, "
        "\"eval\": {\"arms\": {\"reactive\": {\"win_rate\": 0.6, \"win_rate_std\": 0.2}, \"plan\": "
        "{\"return\": 15, \"return_std\": 1, \"seed_returns\": [14, 15, 16], \"win_rate\": 0.9, "
        "\"win_rate_std\": 0.1}}}}");
    const char *from[] = {scratch("won")};
    CHECK_OK(mw_study_table_read(&t, from, 1, mw_study_places, &error), error);
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        if (!t.rows[i].summary) continue;
        const mw_interval data = mw_row_above_data(&t.rows[i], MW_ARM_PLAN),
                          won = mw_row_won(&t.rows[i], MW_ARM_PLAN, MW_ARM_REACTIVE);
        CHECK_NEAR(data.mean, 5, 1e-12);
        CHECK_NEAR(data.high - 5, 4.3026527 * hypot(2, 1 / sqrt(3)), 1e-3);
        CHECK_NEAR(0.3 - won.low, 2.7764451 * hypot(0.1, 0.2) / sqrt(3), 1e-4);
    }
    const mw_comparison above = mw_table_compare_data(&t, NULL, MW_ARM_PLAN),
                        more = mw_table_compare_won(&t, "battle", MW_ARM_PLAN, MW_ARM_REACTIVE);
    assert_true(above.wins == 1 && above.intervals == 1 && above.clear_wins == 0);
    assert_true(more.wins == 1 && more.intervals == 1 && more.clear_wins == 0);
    mw_study_table_free(&t);
}

/* Goals have a mark once all settings are there. */
static void test_goals(void **state) {
    (void)state;
    static const struct {
        const char *what, *goal, *ours;
        int met;
    } expected[] = {
        {"Planning above the policy alone", "at least 28", "20 of 30", 0},
        {"Planning clearly above the policy alone", "at least 22", "16 of 30", 0},
        {"Planning clearly below the policy alone", "none", "0 of 30", 1},
        {"Planning above a random choice as drawn", "at least 27", "20 of 30", 0},
        {"The world model takes part in the decision", "all 30", "-", -1},
        {"Same-state regret as drawn, mean of the paper's five settings", "at most 0.25", "-", -1}};
    mw_report_line lines[MW_REPORT_LINES];
    mw_error error;
    make_study("every", NULL, 0);
    for (int part = 0; part < 2; part++) { /* all settings; all but some */
        const char *folders[] = {scratch(part ? "study" : "every")};
        CHECK_OK(mw_sources_read(&sources, folders, 1, scratch("none"), &error), error);
        const int count = mw_report_goals(&sources.table, lines);
        int found = 0;
        for (int i = 0; i < count; i++)
            for (size_t k = 0; k < sizeof expected / sizeof *expected; k++) {
                if (strcmp(lines[i].what, expected[k].what) != 0) continue;
                found++;
                assert_int_equal(lines[i].met, part ? -1 : expected[k].met);
                assert_string_equal(lines[i].goal, expected[k].goal); /* of how many there are, not of these
                                                                       */
                if (!part) assert_string_equal(lines[i].ours, expected[k].ours);
            }
        assert_int_equal(found, sizeof expected / sizeof *expected);
        mw_sources_free(&sources);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paper_settings),
        cmocka_unit_test(test_paper),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_goals),
        cmocka_unit_test(test_again),
        cmocka_unit_test(test_intervals),
        cmocka_unit_test(test_replays),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_folders),
        cmocka_unit_test(test_beside),
        cmocka_unit_test(test_near_zero),
        cmocka_unit_test(test_ratios),
        cmocka_unit_test(test_sparse),
        cmocka_unit_test(test_protocols),
        cmocka_unit_test(test_leftovers),
        cmocka_unit_test(test_strangers),
        cmocka_unit_test(test_planned),
        cmocka_unit_test(test_two),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
