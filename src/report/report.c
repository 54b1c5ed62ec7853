/* The study's files for programs and the short summary; see report.h. Pages are in page.c and the chapters.
 */
#include "report/report.h"
#include "report/page.h"
#include "report/protocol.h"

#include "core/json.h"
#include "core/file.h"
#include "core/numbers.h"
#include "eval/eval.h"
#include "eval/statistics.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *const mw_report_families[3] = {"mpe", "battle", "ant"};

const char *mw_report_family_title(const char *family) {
    if (!family) return "all";
    return !strcmp(family, "mpe") ? "MPE" : !strcmp(family, "battle") ? "SMAC" : "Ant";
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

/* Wins with how many are clear, then the median, which no setting with a small denominator rules, then the
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
    append(line, "%d of %d", ours.wins, ours.count);
    if (ours.intervals)
        append(line, " (%d clearly, %d clearly worse; Holm: %d, %d)", ours.clear_wins, ours.clear_losses,
               ours.firm_wins, ours.firm_losses);
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
    if (c.count) snprintf(line->ours, sizeof line->ours, "%d of %d", c.wins, c.count);
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
        const mw_paper_gains *p = mw_paper_gains_of(f < 0 ? NULL : mw_report_families[f]);
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
    const mw_comparison won = mw_table_compare(t, "battle", MW_COL_OF(MW_ARM_PLAN, MW_FIELD_WON),
                                               MW_COL_OF(MW_ARM_REACTIVE, MW_FIELD_WON)),
                        theirs = mw_table_compare(t, "battle", MW_COL_PUBLISHED_PLAN_WON,
                                                  MW_COL_PUBLISHED_REACTIVE_WON);
    mw_report_line *line = add(lines, n, "SMAC win rate improved");
    count_line(line, won);
    snprintf(line->goal, sizeof line->goal, "%d of %d", theirs.wins, theirs.count);
    if (won.count == theirs.count) line->met = won.wins >= theirs.wins;
    count_line(add(lines, n, "Planning above the dataset's mean return"),
               mw_table_compare(t, NULL, MW_COL_PLAN, MW_COL_DATA));
}

static double family_share(const mw_study_table *t, const char *family) {
    return mw_table_median(t, family, MW_COL_SHARE);
}

/* A family's share, with how many settings it is of. */
static void share_numbers(mw_report_line *line, const mw_study_table *t) {
    for (int f = 0; f < 3; f++) {
        double x[MW_TABLE_ROWS];
        const double value = family_share(t, mw_report_families[f]);
        const int settings = mw_table_collect(t, mw_report_families[f], MW_COL_SHARE, x);
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
        const double value = mw_table_median(t, mw_report_families[f], MW_COL_SNIPPET_SPEARMAN);
        const size_t used = strlen(paper);
        append(line, isnan(value) ? "%s-" : "%s%.2f", f ? ", " : "", value);
        snprintf(paper + used, sizeof paper - used, "%s%.2f", f ? ", " : "",
                 mw_paper_gains_of(mw_report_families[f])->spearman);
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

/* ---- CSV ---- */

static void write_csv(const mw_sources *sources, FILE *out) {
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
        json_object_set_new(
            root, key,
            comparison_json(mw_table_compare(t, family, MW_COL_OF(against_data[i], 0), MW_COL_DATA),
                            one_unit));
    }
    json_object_set_new(root, "win_rate",
                        comparison_json(mw_table_compare(t, family, MW_COL_OF(MW_ARM_PLAN, MW_FIELD_WON),
                                                         MW_COL_OF(MW_ARM_REACTIVE, MW_FIELD_WON)),
                                        true));
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

static json_t *summary_json(const mw_sources *sources) {
    const mw_study_table *t = &sources->table;
    json_t *root = json_pack("{s:s, s:s, s:i, s:i}", "mawam", mw_version(), "revision", sources->revision,
                             "settings", MW_TABLE_ROWS, "present", t->present);
    json_t *missing = json_array(), *families = json_object(), *origin = json_object(),
           *seconds = json_object();
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &t->rows[i];
        if (!row->summary)
            json_array_append_new(missing, json_string(row->name));
        else
            json_object_set(origin, row->name, json_object_get(row->summary, "provenance"));
    }
    for (int f = 0; f < 3; f++)
        json_object_set_new(families, mw_report_families[f], family_json(t, mw_report_families[f]));
    set_number(seconds, "data", mw_table_sum(t, NULL, MW_COL_SECONDS_DATA));
    set_number(seconds, "train", mw_table_sum(t, NULL, MW_COL_SECONDS_TRAIN));
    set_number(seconds, "eval", mw_table_sum(t, NULL, MW_COL_SECONDS_EVAL));
    set_number(seconds, "diagnose", mw_table_sum(t, NULL, MW_COL_SECONDS_DIAGNOSE));
    json_object_set_new(root, "missing", missing);
    json_object_set_new(root, "all", family_json(t, NULL));
    json_object_set_new(root, "families", families);
    json_object_set_new(root, "uncertainty", uncertainty_json(t));
    const mw_selector_counts selectors = mw_selectors_count(sources);
    json_object_set_new(root, "selectors",
                        json_pack("{s:i, s:i, s:i, s:i}", "settings", selectors.settings, "rwm_best",
                                  selectors.best, "clear_wins", selectors.clear_wins, "clear_losses",
                                  selectors.clear_losses));
    json_object_set_new(root, "seconds", seconds);
    json_object_set_new(root, "provenance", origin);
    return root;
}

/* ---- Markdown ---- */

static void cell(FILE *out, const char *format, double value) {
    fputs(" ", out);
    if (isnan(value))
        fputs("-", out);
    else
        fprintf(out, format, value); // NOLINT: formats are this file's own
    fputs(" |", out);
}

/* Words of a file, in which nothing is Markdown or HTML. */
static void write_plain(FILE *out, const char *words) {
    for (; *words; words++) {
        if (*words == '<')
            fputs("&lt;", out);
        else
            fprintf(out, strchr("|*_`[]\\", *words) ? "\\%c" : "%c", *words);
    }
}

static void write_differences(const mw_study_table *t, FILE *out) {
    char text[MW_PROTOCOL_TEXT];
    int count = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        if (!mw_protocol_difference(text, t, i)) continue;
        fprintf(out, "%s- %s: ", count++ ? "" : "Not made like the others of their family:\n\n",
                t->rows[i].name);
        write_plain(out, text);
        fputc('\n', out);
    }
    if (count) fputc('\n', out);
}

/* A text of one line, broken for readers of the source. */
static void write_wrapped(FILE *out, const char *text) {
    for (size_t column = 0, word; *text; text += word + (text[word] == ' ')) {
        word = strcspn(text, " ");
        const bool fits = column + 1 + word <= 100;
        if (column) fputc(fits ? ' ' : '\n', out);
        fprintf(out, "%.*s", (int)word, text);
        column = column && fits ? column + 1 + word : word;
    }
}

/* What was to be reached, decided before the seeds were played. */
static void write_goals(const mw_study_table *t, FILE *out) {
    static const char *const marks[] = {"", "not reached", "reached"};
    mw_report_line lines[MW_REPORT_LINES];
    const int count = mw_report_goals(t, lines);
    fputs("\n| set before the seeds were played | goal | mawam | |\n|---|---|---|---|\n", out);
    for (int i = 0; i < count; i++)
        fprintf(out, "| %s | %s | %s | %s |\n", lines[i].what, lines[i].goal, lines[i].ours,
                marks[1 + lines[i].met]);
}

static void write_markdown(const mw_sources *sources, FILE *out) {
    const mw_study_table *t = &sources->table;
    mw_report_line lines[MW_REPORT_LINES];
    char relative[480];
    const int count = mw_report_lines(t, lines);
    fprintf(
        out,
        "# Results\n\n%d of %d settings, written by `mawam study report`. The whole report, with figures, "
        "is\n[index.html](index.html); the numbers of settings are in [settings.csv](settings.csv), over "
        "settings in\n"
        "[summary.json](summary.json), of single tables and figures behind their links. How they are made:\n"
        "[docs/study.md](../docs/study.md).\n\n"
        "All of one revision, ",
        t->present, MW_TABLE_ROWS);
    write_plain(out, sources->revision);
    fputs(".\n\n", out);
    write_differences(t, out);
    fputs("| | paper | mawam |\n|---|---|---|\n", out);
    for (int i = 0; i < count; i++)
        fprintf(out, "| %s | %s | %s |\n", lines[i].what, lines[i].goal, lines[i].ours);
    write_goals(t, out);
    fputs("\nMPE in normalised score, SMAC and Ant in return; SMAC stands for mawam's own battles\n"
          "([docs/battles.md](../docs/battles.md)). Gains are (planning - other) / |other| over settings; a\n"
          "score near zero rules their mean, not their median. Clearly: the 95% interval of the difference\n"
          "does not hold zero. Share: of the gain of the true simulator as a scorer, where that gain is "
          "clear.\n"
          "As drawn: candidates as the policy draws them, as in the paper\n"
          "([docs/evaluation.md](../docs/evaluation.md)).\n",
          out);
    write_wrapped(out, mw_relative_words(relative, t));
    fputs("\n\n"
          "| setting | data | Reactive | Random | Planning | gain | interval | share | as drawn | paper: "
          "Reactive | "
          "Planning | gain |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n",
          out);
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &t->rows[i];
        const double *v = row->value;
        const char *format = strcmp(row->family, "ant") ? "%.1f" : "%.0f";
        fprintf(out, "| %s |", row->name);
        cell(out, format, v[MW_COL_DATA]);
        cell(out, format, v[MW_COL_REACTIVE]);
        cell(out, format, v[MW_COL_RANDOM]);
        cell(out, format, v[MW_COL_PLAN]);
        cell(out, "%+.1f%%", 100 * v[MW_COL_RELATIVE]);
        if (isnan(v[MW_COL_RELATIVE_LOW]))
            fputs(" - |", out);
        else
            fprintf(out, " %+.1f to %+.1f%% |", 100 * v[MW_COL_RELATIVE_LOW], 100 * v[MW_COL_RELATIVE_HIGH]);
        cell(out, "%.2f", v[MW_COL_SHARE]);
        cell(out, format, v[MW_COL_PAPER]);
        cell(out, format, v[MW_COL_PUBLISHED_REACTIVE]);
        cell(out, format, v[MW_COL_PUBLISHED_PLAN]);
        cell(out, "%+.1f%%", 100 * v[MW_COL_PUBLISHED_RELATIVE]);
        fputc('\n', out);
    }
}

/* ---- all files ---- */

static mw_status write_text(const mw_sources *sources, const char *folder, const char *name,
                            void (*put)(const mw_sources *, FILE *), mw_error *error) {
    char path[1024], *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream) return mw_fail(error, MW_ERR_MEMORY, "cannot write %s", name);
    put(sources, stream);
    if (fclose(stream) != 0) {
        free(text);
        return mw_fail(error, MW_ERR_MEMORY, "cannot write %s", name);
    }
    snprintf(path, sizeof path, "%.900s/%s", folder, name);
    const mw_status status = mw_file_write(path, text, size, error);
    free(text);
    return status;
}

static mw_status write_page(const mw_sources *sources, const mw_chapter *chapter, int *shown,
                            const char *folder, mw_error *error) {
    char path[1024], *text = NULL;
    const char *name = chapter ? chapter->id : "index";
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream) return mw_fail(error, MW_ERR_MEMORY, "cannot write the page '%s'", name);
    mw_status status =
        chapter ? mw_page_chapter(sources, chapter, shown, stream) : mw_page_index(sources, shown, stream);
    if (fclose(stream) != 0 || status != MW_OK)
        status = mw_fail(error, MW_ERR_MEMORY, "cannot write the page '%s'", name);
    snprintf(path, sizeof path, "%.900s/%s.html", folder, name);
    if (status == MW_OK) status = mw_file_write(path, text, size, error);
    free(text);
    return status;
}

/* What is not of an earlier report under the names that this one writes. */
static mw_status refuse_strangers(const char *folder, mw_error *error) {
    static const char *const files[] = {"README.md", "index.html", "settings.csv", "summary.json"};
    char path[1024];
    json_t *earlier = NULL;
    mw_error ignored;
    snprintf(path, sizeof path, "%.900s/summary.json", folder);
    const bool own = mw_file_exists(path) && mw_json_read(&earlier, path, &ignored) == MW_OK &&
                     json_object_get(earlier, "mawam");
    json_decref(earlier);
    for (int i = 0; i < 4 && !own; i++) {
        char other[1024];
        snprintf(other, sizeof other, "%.900s/%s", folder, files[i]);
        if (mw_file_exists(other))
            return mw_fail(error, MW_ERR_ARGUMENT,
                           "'%.900s' is there already and not of a report; --overwrite replaces it", other);
    }
    return MW_OK;
}

static mw_status write_all(const mw_sources *sources, const char *folder, bool overwrite, mw_error *error) {
    const mw_chapter *chapter;
    char path[1024];
    int shown[MW_ITEMS] = {0};
    if (strlen(folder) > 900) return mw_fail(error, MW_ERR_ARGUMENT, "'%.40s...' is too long", folder);
    if (!overwrite) MW_TRY(refuse_strangers(folder, error));
    MW_TRY(mw_dir_make(folder, error));
    MW_TRY(mw_sources_write(sources, folder, overwrite, error));
    json_t *summary = summary_json(sources);
    snprintf(path, sizeof path, "%.900s/summary.json", folder);
    const mw_status status = mw_json_write(summary, path, error);
    json_decref(summary);
    MW_TRY(status);
    MW_TRY(write_text(sources, folder, "settings.csv", write_csv, error));
    MW_TRY(write_text(sources, folder, "README.md", write_markdown, error));
    for (int i = 0; (chapter = mw_chapter_at(i)); i++)
        MW_TRY(write_page(sources, chapter, shown, folder, error));
    return write_page(sources, NULL, shown, folder, error);
}

mw_status mw_report_write(const mw_sources *sources, const char *folder, bool overwrite, mw_error *error) {
    MW_PLAIN_NUMBERS;
    return write_all(sources, folder, overwrite, error);
}
