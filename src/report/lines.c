/* The report in a few lines: what the paper found, and what was found here. */
#include "report/page.h"
#include "report/report.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *mw_report_family_title(const char *family) {
    return family ? mw_family_find(family)->title : "all";
}

const char *mw_relative_words(char out[480], const mw_study_table *t) {
    static const char ratio[] = "of the ratio itself, the episodes of both arms resampled together; none "
                                "where reactive's resampled mean crosses zero",
                      divided[] = "that of the paired difference over episodes, divided by the observed "
                                  "reactive score, whose own uncertainty is not in it; none where reactive's "
                                  "own interval over seeds holds zero";
    int ratios = 0, others = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        ratios += t->rows[i].ratio;
        others += !t->rows[i].ratio && !isnan(t->rows[i].value[MW_COL_RELATIVE]);
    }
    out[0] = 0;
    if (ratios && others)
        snprintf(out, 480, "Interval: 95%%, in %d setting%s %s; in the other %d %s.", ratios,
                 mw_plural(ratios), ratio, others, divided);
    else if (ratios || others)
        snprintf(out, 480, "Interval: 95%%, %s.", ratios ? ratio : divided);
    return out;
}

/* ---- the lines ---- */

static mw_report_line *add(mw_report_line *lines, int *count, const char *what) {
    mw_report_line *line = &lines[(*count)++];
    *line = (mw_report_line){.goal = "-", .ours = "-", .met = -1};
    snprintf(line->what, sizeof line->what, "%s", what);
    return line;
}

/* More of what is ours, cut where the line is full. */
__attribute__((format(printf, 2, 3))) static void append(mw_report_line *line, const char *format, ...) {
    const size_t used = strlen(line->ours);
    va_list list;
    va_start(list, format);
    vsnprintf(line->ours + used, sizeof line->ours - used, format, list);
    va_end(list);
}

/* Wins with how many are clear. */
static void append_count(mw_report_line *line, mw_comparison c) {
    append(line, "%d of %d", c.wins, c.count);
    if (c.intervals)
        append(line, " (%d clearly, %d clearly worse; Holm: %d, %d)", c.clear_wins, c.clear_losses,
               c.firm_wins, c.firm_losses);
}

/* These, then the median, which no setting with a small denominator rules, then the
 * mean that the paper has. */
static void comparison_line(mw_report_line *line, mw_comparison ours, int paper_count, int paper_wins,
                            double paper_relative, double paper_median) {
    if (paper_wins) {
        snprintf(line->goal, sizeof line->goal, "%d of %d; ", paper_wins, paper_count);
        const size_t used = strlen(line->goal);
        if (isnan(paper_median))
            snprintf(line->goal + used, sizeof line->goal - used, "mean %+.1f%%", 100 * paper_relative);
        else
            snprintf(line->goal + used, sizeof line->goal - used, "median %+.1f%%, mean %+.1f%%",
                     100 * paper_median, 100 * paper_relative);
    }
    if (!ours.count) return;
    line->ours[0] = 0;
    append_count(line, ours);
    if (!isnan(ours.median)) /* a reactive score of zero has no relative gain */
        append(line, "; median %+.1f%%, mean %+.1f%%", 100 * ours.median, 100 * ours.relative);
    if (paper_wins && ours.count == paper_count)
        line->met = ours.wins >= paper_wins && fmin(ours.relative, ours.median) >= paper_relative;
}

/* Compared as they are shown: the paper's figures are rounded. */
static void number_line(mw_report_line *line, double ours, double paper, const char *format, bool less,
                        bool complete) {
    if (!isnan(paper)) snprintf(line->goal, sizeof line->goal, format, paper);
    if (isnan(ours)) return;
    snprintf(line->ours, sizeof line->ours, format, ours);
    const double shown = strtod(line->ours, NULL);
    if (!isnan(paper) && complete) line->met = less ? shown <= paper : shown >= paper;
}

double mw_report_state_mean(const mw_study_table *t, mw_column_id column, int *missing) {
    double sum = 0;
    int count = 0;
    *missing = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &t->rows[i];
        if (!mw_paper_state_find(row->name)) continue;
        if (isnan(row->value[column])) {
            ++*missing;
            continue;
        }
        sum += row->value[column];
        count++;
    }
    return count ? sum / count : NAN;
}

static void count_line(mw_report_line *line, mw_comparison c) {
    if (!c.count) return;
    line->ours[0] = 0;
    append_count(line, c);
}

const char *mw_candidates_words(char out[48], const mw_study_table *t) {
    const double least = mw_table_quantile(t, NULL, MW_COL_EVAL_M, 0),
                 most = mw_table_quantile(t, NULL, MW_COL_EVAL_M, 1);
    out[0] = 0;
    if (least < most)
        snprintf(out, 48, ", M = %.0f to %.0f", least, most);
    else if (least == most)
        snprintf(out, 48, ", M = %.0f", most);
    return out;
}

static void gain_lines(const mw_study_table *t, mw_report_line *lines, int *n) {
    const mw_paper_gains *paper = mw_paper_gains_of(NULL);
    char what[96], candidates[48];
    for (int f = -1; f < 3; f++) {
        const mw_paper_gains *p = mw_paper_gains_of(f < 0 ? NULL : mw_family_at(f)->name);
        snprintf(what, sizeof what, "Planning beats Reactive: %s", mw_report_family_title(p->family));
        comparison_line(add(lines, n, what),
                        mw_table_compare_arms(t, p->family, MW_ARM_PLAN, MW_ARM_REACTIVE), p->count,
                        p->improved, p->relative, p->median);
    }
    comparison_line(add(lines, n, "Planning among candidates as drawn beats Reactive"),
                    mw_table_compare_arms(t, NULL, MW_ARM_PAPER, MW_ARM_REACTIVE), 0, 0, NAN, NAN);
    mw_candidates_words(candidates, t);
    snprintf(what, sizeof what, "The best as drawn beats a random one%s", candidates);
    comparison_line(add(lines, n, what), mw_table_compare_arms(t, NULL, MW_ARM_PAPER, MW_ARM_RANDOM),
                    paper->count, paper->random_improved, paper->random_relative, NAN);
    snprintf(what, sizeof what, "Planning beats a random choice%s", candidates);
    comparison_line(add(lines, n, what), mw_table_compare_arms(t, NULL, MW_ARM_PLAN, MW_ARM_RANDOM), 0, 0,
                    NAN, NAN);
    const mw_comparison won = mw_table_compare_won(t, NULL, MW_ARM_PLAN, MW_ARM_REACTIVE),
                        theirs = mw_table_compare(t, NULL, MW_COL_PUBLISHED_PLAN_WON,
                                                  MW_COL_PUBLISHED_REACTIVE_WON);
    mw_report_line *line = add(lines, n, "SMAC win rate improved");
    count_line(line, won);
    snprintf(line->goal, sizeof line->goal, "%d of %d", theirs.wins, theirs.count);
    if (won.count == theirs.count) line->met = won.wins >= theirs.wins;
    count_line(add(lines, n, "Planning above the dataset's mean return"),
               mw_table_compare_data(t, NULL, MW_ARM_PLAN));
}

static double family_share(const mw_study_table *t, const char *family) {
    return mw_table_median(t, family, MW_COL_SHARE);
}

/* A family's share, with how many settings it is of. */
static void share_numbers(mw_report_line *line, const mw_study_table *t) {
    for (int f = 0; f < 3; f++) {
        double x[MW_TABLE_ROWS];
        const double value = family_share(t, mw_family_at(f)->name);
        const int settings = mw_table_collect(t, mw_family_at(f)->name, MW_COL_SHARE, x);
        append(line, "%s", f ? ", " : "; ");
        if (isnan(value))
            append(line, "-");
        else
            append(line, "%.2f (of %d)", value, settings);
    }
}

/* Medians of families, as the paper has them. */
static void spearman_numbers(mw_report_line *line, const mw_study_table *t) {
    char paper[64] = "";
    line->ours[0] = 0;
    for (int f = 0; f < 3; f++) {
        const double value = mw_table_median(t, mw_family_at(f)->name, MW_COL_SNIPPET_SPEARMAN);
        const size_t used = strlen(paper);
        append(line, isnan(value) ? "%s-" : "%s%.2f", f ? ", " : "", value);
        snprintf(paper + used, sizeof paper - used, "%s%.2f", f ? ", " : "",
                 mw_paper_gains_of(mw_family_at(f)->name)->spearman);
    }
    snprintf(line->goal, sizeof line->goal, "%s", paper);
}

int mw_report_lines(const mw_study_table *t, mw_report_line lines[MW_REPORT_LINES]) {
    const mw_paper_gains *paper = mw_paper_gains_of(NULL);
    const mw_paper_state state = mw_paper_state_mean();
    double shares[MW_TABLE_ROWS];
    const bool all = mw_table_collect(t, NULL, MW_COL_SNIPPET_SPEARMAN, shares) == MW_TABLE_ROWS;
    int n = 0, missing;
    char what[96];
    gain_lines(t, lines, &n);
    snprintf(what, sizeof what, "Share of the oracle's gain, median of %d where it is clear; MPE, SMAC, Ant",
             mw_table_collect(t, NULL, MW_COL_SHARE, shares));
    mw_report_line *line = add(lines, &n, what);
    number_line(line, family_share(t, NULL), NAN, "%.2f", false, all);
    share_numbers(line, t);
    number_line(add(lines, &n, "Snippets at H=8: Spearman (mean)"),
                mw_table_mean(t, NULL, MW_COL_SNIPPET_SPEARMAN), paper->spearman, "%.2f", false, all);
    spearman_numbers(add(lines, &n, "Snippets at H=8: Spearman of MPE, SMAC, Ant (medians)"), t);
    number_line(add(lines, &n, "Snippets at H=8: Top-2 (mean)"), mw_table_mean(t, NULL, MW_COL_SNIPPET_TOP2),
                paper->top2, "%.2f", false, all);
    number_line(add(lines, &n, "Snippets at H=8: pairwise accuracy (mean)"),
                mw_table_mean(t, NULL, MW_COL_SNIPPET_PAIRS), paper->pairs, "%.2f", false, all);
    number_line(add(lines, &n, "Snippets at H=8: normalised regret (mean)"),
                mw_table_mean(t, NULL, MW_COL_SNIPPET_REGRET), paper->regret, "%.2f", true, all);
    double mean = mw_report_state_mean(t, MW_COL_STATE_SPEARMAN, &missing);
    number_line(add(lines, &n, "Same state, the paper's five settings: Spearman (mean)"),
                missing ? NAN : mean, state.spearman, "%.3f", false, !missing);
    mean = mw_report_state_mean(t, MW_COL_STATE_REGRET, &missing);
    number_line(add(lines, &n, "Same state, the paper's five settings: normalised regret (mean)"),
                missing ? NAN : mean, state.regret, "%.3f", true, !missing);
    char candidates[48];
    snprintf(what, sizeof what, "ms per decision%s, during the study (median; alone: docs/speed.md)",
             mw_candidates_words(candidates, t));
    number_line(add(lines, &n, what), mw_table_median(t, NULL, MW_COL_OF(MW_ARM_PLAN, MW_FIELD_MS)), NAN,
                "%.1f", true, all);
    return n;
}
