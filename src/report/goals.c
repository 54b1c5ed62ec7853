/* What the study set out to reach, decided before its evaluation seeds were played, beside what it reached.
 * The paper's figures are the floor; these lie above them. */
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static mw_report_line *add(mw_report_line *lines, int *n, const char *what) {
    mw_report_line *line = &lines[(*n)++];
    *line = (mw_report_line){.ours = "-", .met = -1};
    snprintf(line->what, sizeof line->what, "%s", what);
    return line;
}

static void settle(mw_report_line *line, bool met, bool complete) {
    if (complete) line->met = met;
}

static void count_goal(mw_report_line *line, int ours, int all, int least, int total, bool complete) {
    snprintf(line->goal, sizeof line->goal, least < total ? "at least %d" : "all %d", least);
    if (all) snprintf(line->ours, sizeof line->ours, "%d of %d", ours, all);
    settle(line, ours >= least, complete && all == total);
}

/* Numbers are judged as they are shown. */
static void percent_goal(mw_report_line *line, double ours, double least, bool complete) {
    snprintf(line->goal, sizeof line->goal, "at least %+.0f%%", 100 * least);
    if (isnan(ours)) return;
    snprintf(line->ours, sizeof line->ours, "%+.1f%%", 100 * ours);
    settle(line, strtod(line->ours, NULL) >= 100 * least, complete);
}

static void number_goal(mw_report_line *line, const char *format, double ours, double bound, bool less,
                        bool complete) {
    char text[32];
    snprintf(text, sizeof text, format, bound);
    snprintf(line->goal, sizeof line->goal, "at %s %s", less ? "most" : "least", text);
    if (isnan(ours)) return;
    snprintf(line->ours, sizeof line->ours, format, ours);
    const double shown = strtod(line->ours, NULL);
    settle(line, less ? shown <= bound : shown >= bound, complete);
}

/* Data of one policy, whose return the policy that was learned from them should have too. */
static bool of_one_policy(const mw_study_row *row) {
    return strcmp(row->setting->quality, "medium-replay") != 0 &&
           strcmp(row->setting->quality, "random") != 0;
}

static void faithful_goal(mw_report_line *line, const mw_study_table *t, bool complete) {
    int reached = 0, all = 0, total = 0;
    char lowest[96] = "";
    double least = INFINITY;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &t->rows[i];
        const double share = row->value[MW_COL_REACTIVE] / row->value[MW_COL_DATA];
        total += of_one_policy(row);
        if (!of_one_policy(row) || isnan(share)) continue;
        all++;
        reached += share >= 0.9;
        if (share < least) snprintf(lowest, sizeof lowest, "%s %.0f%%", row->name, 100 * (least = share));
    }
    count_goal(line, reached, all, total, total, complete);
    if (reached < all) {
        const size_t used = strlen(line->ours);
        snprintf(line->ours + used, sizeof line->ours - used, "; lowest: %s", lowest);
    }
}

static void takes_part_goal(mw_report_line *line, const mw_study_table *t, bool complete) {
    int imagined = 0, all = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        all += t->rows[i].scorer[0] != 0;
        imagined += mw_row_imagines(&t->rows[i]);
    }
    count_goal(line, imagined, all, MW_TABLE_ROWS, MW_TABLE_ROWS, complete);
    if (imagined < all) {
        const size_t used = strlen(line->ours);
        snprintf(line->ours + used, sizeof line->ours - used, "; the others by what imagines no steps");
    }
}

int mw_report_goals(const mw_study_table *t, mw_report_line lines[MW_REPORT_LINES]) {
    static const double aggregates[3] = {0.50, 0.08, 0.12}; /* in the order of mw_family_at */
    const mw_comparison gain = mw_table_compare_arms(t, NULL, MW_ARM_PLAN, MW_ARM_REACTIVE),
                        random = mw_table_compare_arms(t, NULL, MW_ARM_PLAN, MW_ARM_RANDOM);
    const bool all = gain.count == MW_TABLE_ROWS;
    int n = 0, missing;
    char what[96];
    count_goal(add(lines, &n, "Planning above the policy alone"), gain.wins, gain.count, 28, MW_TABLE_ROWS,
               all);
    count_goal(add(lines, &n, "Planning clearly above the policy alone"), gain.clear_wins, gain.count, 22,
               MW_TABLE_ROWS, all);
    mw_report_line *line = add(lines, &n, "Planning clearly below the policy alone");
    snprintf(line->goal, sizeof line->goal, "none");
    if (gain.count) snprintf(line->ours, sizeof line->ours, "%d of %d", gain.clear_losses, gain.count);
    settle(line, gain.clear_losses == 0, all && gain.intervals == gain.count);
    percent_goal(add(lines, &n, "Median of relative gains"), gain.median, 0.15, all);
    for (int f = 0; f < 3; f++) {
        snprintf(what, sizeof what, "Gain in the aggregate: %s", mw_family_at(f)->title);
        percent_goal(add(lines, &n, what),
                     mw_table_compare_arms(t, mw_family_at(f)->name, MW_ARM_PLAN, MW_ARM_REACTIVE).aggregate,
                     aggregates[f], all);
    }
    count_goal(add(lines, &n, "Planning above a random choice as drawn"), random.wins, random.count, 27,
               MW_TABLE_ROWS, all);
    takes_part_goal(add(lines, &n, "The world model takes part in the decision"), t, all);
    number_goal(add(lines, &n, "Share of the oracle's gain, median where that is clear"), "%.2f",
                mw_table_median(t, NULL, MW_COL_SHARE), 0.65, false, all);
    const double regret = mw_report_state_mean(t, MW_COL_STATE_REGRET, &missing);
    number_goal(add(lines, &n, "Same-state regret as drawn, mean of the paper's five settings"), "%.2f",
                missing ? NAN : regret, 0.25, true, !missing);
    faithful_goal(add(lines, &n, "The policy alone at 90% of its data or more, data of one policy"), t, all);
    number_goal(add(lines, &n, "ms per decision, slowest setting, during the study (alone: docs/speed.md)"),
                "%.1f", mw_table_quantile(t, NULL, MW_COL_OF(MW_ARM_PLAN, MW_FIELD_MS), 1), 15, true, all);
    return n;
}
