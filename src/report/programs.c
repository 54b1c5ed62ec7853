/* The study's numbers for programs: settings.csv and summary.json. */
#include "report/report.h"

#include "core/json.h"
#include "eval/eval.h"

#include <math.h>
#include <string.h>

/* ---- CSV ---- */

void mw_report_csv(const mw_sources *sources, FILE *out) {
    const mw_study_table *t = &sources->table;
    char name[64];
    fputs("setting,task,quality,family,present", out);
    for (int c = 0; c < mw_table_width(); c++) fprintf(out, ",%s", mw_table_column_name(c, name));
    fputc('\n', out);
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &t->rows[i];
        fprintf(out, "%s,%s,%s,%s,%d", row->name, row->setting->task, row->setting->quality, row->family,
                row->summary != NULL);
        for (int c = 0; c < mw_table_width(); c++) {
            fputc(',', out);
            if (isfinite(row->value[c])) fprintf(out, "%.10g", row->value[c]);
        }
        fputc('\n', out);
    }
}

/* ---- JSON ---- */

/* Over families of different units neither differences nor sums of returns mean anything. */
static json_t *comparison_json(mw_comparison c, bool one_unit) {
    if (!one_unit) c.difference = c.aggregate = NAN;
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o}", "settings",
                     c.count, "wins", c.wins, "losses", c.losses, "ties", c.ties, "intervals", c.intervals,
                     "clear_wins", c.clear_wins, "clear_losses", c.clear_losses, "holm_wins", c.firm_wins,
                     "holm_losses", c.firm_losses, "mean_difference", mw_number_json(c.difference),
                     "mean_relative_gain", mw_number_json(c.relative), "median_relative_gain",
                     mw_number_json(c.median), "aggregate_relative_gain", mw_number_json(c.aggregate),
                     "sign_test_p", mw_number_json(c.p));
}

static void set_number(json_t *object, const char *key, double value) {
    json_object_set_new(object, key, mw_number_json(value));
}

static json_t *family_json(const mw_study_table *t, const char *family) {
    static const struct {
        const char *key;
        int ours, other; /* arms */
    } pairs[] = {{"plan_vs_reactive", MW_ARM_PLAN, MW_ARM_REACTIVE},
                 {"paper_vs_reactive", MW_ARM_PAPER, MW_ARM_REACTIVE},
                 {"oracle_vs_reactive", MW_ARM_ORACLE, MW_ARM_REACTIVE},
                 {"paper_vs_plan", MW_ARM_PAPER, MW_ARM_PLAN},
                 {"paper_vs_random", MW_ARM_PAPER, MW_ARM_RANDOM},
                 {"plan_vs_random", MW_ARM_PLAN, MW_ARM_RANDOM}};
    static const int against_data[] = {MW_ARM_PLAN, MW_ARM_PAPER, MW_ARM_REACTIVE};
    json_t *root = json_object(), *paper = json_object(), *snippets = json_object(), *state = json_object();
    double shares[MW_TABLE_ROWS];
    const mw_paper_gains *p = mw_paper_gains_of(family);
    const bool one_unit = family != NULL;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        json_object_set_new(
            root, pairs[i].key,
            comparison_json(mw_table_compare_arms(t, family, pairs[i].ours, pairs[i].other), one_unit));
    for (size_t i = 0; i < sizeof against_data / sizeof *against_data; i++) {
        char key[64];
        snprintf(key, sizeof key, "%s_vs_data", mw_arm_name(against_data[i]));
        json_object_set_new(root, key,
                            comparison_json(mw_table_compare_data(t, family, against_data[i]), one_unit));
    }
    json_object_set_new(root, "win_rate",
                        comparison_json(mw_table_compare_won(t, family, MW_ARM_PLAN, MW_ARM_REACTIVE), true));
    set_number(root, "smallest_visible_relative_gain_median",
               mw_table_median(t, family, MW_COL_SMALLEST_RELATIVE));
    set_number(root, "oracle_share_median", mw_table_median(t, family, MW_COL_SHARE));
    json_object_set_new(root, "oracle_share_settings",
                        json_integer(mw_table_collect(t, family, MW_COL_SHARE, shares)));
    set_number(snippets, "spearman", mw_table_median(t, family, MW_COL_SNIPPET_SPEARMAN));
    set_number(snippets, "pearson", mw_table_median(t, family, MW_COL_SNIPPET_PEARSON));
    set_number(snippets, "top2", mw_table_median(t, family, MW_COL_SNIPPET_TOP2));
    set_number(snippets, "pair_accuracy", mw_table_median(t, family, MW_COL_SNIPPET_PAIRS));
    set_number(snippets, "normalized_regret", mw_table_median(t, family, MW_COL_SNIPPET_REGRET));
    set_number(snippets, "rollout_mse", mw_table_median(t, family, MW_COL_SNIPPET_ERROR));
    json_object_set_new(root, "snippets_h8_medians", snippets);
    set_number(state, "top1", mw_table_mean(t, family, MW_COL_STATE_TOP1));
    set_number(state, "top2", mw_table_mean(t, family, MW_COL_STATE_TOP2));
    set_number(state, "spearman", mw_table_mean(t, family, MW_COL_STATE_SPEARMAN));
    set_number(state, "pair_accuracy", mw_table_mean(t, family, MW_COL_STATE_PAIRS));
    set_number(state, "normalized_regret", mw_table_mean(t, family, MW_COL_STATE_REGRET));
    set_number(state, "random_normalized_regret", mw_table_mean(t, family, MW_COL_STATE_RANDOM_REGRET));
    json_object_set_new(root, "same_state_means", state);
    set_number(root, "ms_per_decision_median",
               mw_table_median(t, family, MW_COL_OF(MW_ARM_PLAN, MW_FIELD_MS)));
    set_number(paper, "mean_relative_gain", p->relative);
    set_number(paper, "median_relative_gain", p->median);
    set_number(paper, "aggregate_relative_gain", p->aggregate);
    set_number(paper, "mean_relative_gain_random", p->random_relative);
    set_number(paper, "spearman", p->spearman);
    set_number(paper, "rollout_mse", p->rollout_mse);
    json_object_set_new(root, "paper", paper);
    return root;
}

/* How sure the difference of planning to reactive is, by setting. */
static json_t *uncertainty_json(const mw_study_table *t) {
    static const struct {
        const char *key;
        mw_column_id column;
    } keys[] = {{"difference", MW_COL_DELTA},
                {"smallest_visible_difference", MW_COL_SMALLEST},
                {"std_evaluation_seeds", MW_COL_EVAL_SEED_STD},
                {"training_seeds", MW_COL_TRAINING_SEEDS},
                {"mean_training_seeds", MW_COL_TRAINING_DELTA},
                {"std_training_seeds", MW_COL_TRAINING_STD}};
    json_t *root = json_object();
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &t->rows[i];
        if (!row->summary) continue;
        json_t *one = json_object();
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            set_number(one, keys[k].key, row->value[keys[k].column]);
        set_number(one, "p", mw_row_p(row, MW_ARM_PLAN, MW_ARM_REACTIVE));
        json_object_set_new(root, row->name, one);
    }
    return root;
}

/* Of each what it was, what came of it in words, and whether it was reached: null where that cannot be said
 * yet. */
static json_t *goals_json(const mw_study_table *t) {
    mw_report_line lines[MW_REPORT_LINES];
    const int count = mw_report_goals(t, lines);
    json_t *goals = json_array();
    for (int i = 0; i < count; i++) {
        json_t *reached = lines[i].met < 0 ? json_null() : json_boolean(lines[i].met);
        json_array_append_new(goals, json_pack("{s:s, s:s, s:s, s:o}", "what", lines[i].what, "goal",
                                               lines[i].goal, "ours", lines[i].ours, "reached", reached));
    }
    return goals;
}

json_t *mw_report_summary(const mw_sources *sources) {
    const mw_study_table *t = &sources->table;
    json_t *root = json_pack("{s:s, s:s, s:i, s:i}", "mawam", mw_version(), "revision", sources->revision,
                             "settings", MW_TABLE_ROWS, "present", t->present);
    json_t *missing = json_array(), *families = json_object(), *origin = json_object(),
           *seconds = json_object(), *branches = json_object();
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &t->rows[i];
        if (!row->summary)
            json_array_append_new(missing, json_string(row->name));
        else
            json_object_set(origin, row->name, json_object_get(row->summary, "provenance"));
    }
    for (int f = 0; f < 3; f++)
        json_object_set_new(families, mw_family_at(f)->name, family_json(t, mw_family_at(f)->name));
    set_number(seconds, "data", mw_table_sum(t, NULL, MW_COL_SECONDS_DATA));
    set_number(seconds, "train", mw_table_sum(t, NULL, MW_COL_SECONDS_TRAIN));
    set_number(seconds, "eval", mw_table_sum(t, NULL, MW_COL_SECONDS_EVAL));
    set_number(seconds, "diagnose", mw_table_sum(t, NULL, MW_COL_SECONDS_DIAGNOSE));
    json_object_set_new(root, "missing", missing);
    json_object_set_new(root, "all", family_json(t, NULL));
    json_object_set_new(root, "families", families);
    for (int k = 0; k < MW_BRANCHES; k++)
        if (sources->branches[k].present)
            json_object_set_new(branches, mw_branch_folders[k], family_json(&sources->branches[k], NULL));
    json_object_set_new(root, "branches", branches);
    json_object_set_new(root, "goals", goals_json(t));
    json_object_set_new(root, "uncertainty", uncertainty_json(t));
    const mw_selector_counts selectors = mw_selectors_count(sources);
    json_object_set_new(root, "selectors",
                        json_pack("{s:i, s:i, s:i, s:i}", "settings", selectors.settings, "rwm_best",
                                  selectors.best, "clear_wins", selectors.clear_wins, "clear_losses",
                                  selectors.clear_losses));
    json_object_set_new(root, "seconds", seconds);
    json_object_set(root, "revisions", sources->revisions);
    json_object_set_new(root, "provenance", origin);
    return root;
}
