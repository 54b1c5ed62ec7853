/* The chapter on planning gain: bars, tables by setting and family, win rates, and the oracle that bounds
 * what any scorer can reach. */
#include "report/page.h"
#include "report/report.h"

#include <math.h>
#include <string.h>

/* Ends of the bars' axis, percent; what lies beyond is drawn there and says so. */
static const double least_gain = -100, most_gain = 150;

/* Relative gains of a family's settings, percent: [setting][ours, paper's]. Returns how many settings. */
static int family_gains(const mw_study_table *t, const char *family, const char **names, double *values,
                        double *low, double *high) {
    int n = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &t->rows[i];
        if (strcmp(row->family, family)) continue;
        names[n] = row->name;
        values[2 * n] = 100 * row->value[MW_COL_RELATIVE];
        low[2 * n] = 100 * row->value[MW_COL_RELATIVE_LOW];
        high[2 * n] = 100 * row->value[MW_COL_RELATIVE_HIGH];
        values[2 * n + 1] = 100 * row->value[MW_COL_PUBLISHED_RELATIVE];
        low[2 * n + 1] = high[2 * n + 1] = NAN;
        n++;
    }
    return n;
}

static void family_bars(mw_page *page, const char *family) {
    static const char *const series[] = {"mawam", "paper"};
    enum { BARS = 2 * MW_TABLE_ROWS };
    const char *names[MW_TABLE_ROWS];
    double values[BARS], low[BARS], high[BARS], ends[3 * BARS + 1] = {0};
    char title[96], label[64];
    const int n = family_gains(page->table, family, names, values, low, high);
    for (int k = 0; k < 2 * n; k++) {
        const double three[] = {values[k], low[k], high[k]};
        for (int j = 0; j < 3; j++)
            ends[3 * k + j] = isnan(three[j]) ? 0 : fmin(fmax(three[j], least_gain), most_gain);
    }
    snprintf(label, sizeof label, "%s: relative gain over reactive, %%", mw_report_family_title(family));
    const mw_axis axis = mw_axis_fit(ends, 6 * n + 1, false, label);
    snprintf(title, sizeof title, "%s: relative gain of planning over reactive",
             mw_report_family_title(family));
    mw_plot_bars(page->out,
                 &(mw_bars){title, "setting", axis, names, n, series, 2, values, low, high, "%+.1f%%"});
}

static mw_sheet *gain_sheet(mw_page *page) {
    mw_sheet *sheet = mw_page_settings_sheet();
    static const int arms[] = {MW_ARM_REACTIVE, MW_ARM_PLAN};
    mw_sheet_column(sheet, "mawam", "reactive", "std over seeds");
    mw_sheet_column(sheet, "mawam", "planning", "std over seeds");
    mw_sheet_column(sheet, "mawam", "relative gain, %", "of planning over reactive, with its 95% interval");
    mw_sheet_column(sheet, "paper", "relative gain, %", NULL);
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &page->table->rows[i];
        const double *v = row->value;
        mw_page_setting(page, sheet, row);
        for (int k = 0; k < 2; k++)
            mw_sheet_spread(sheet, mw_row_format(row), v[MW_COL_OF(arms[k], MW_FIELD_REPORTED)],
                            v[MW_COL_OF(arms[k], MW_FIELD_REPORTED_STD)]);
        mw_sheet_gain(sheet, "%+.1f", 100 * v[MW_COL_RELATIVE], 100 * v[MW_COL_RELATIVE_LOW],
                      100 * v[MW_COL_RELATIVE_HIGH]);
        mw_sheet_gain(sheet, "%+.1f", 100 * v[MW_COL_PUBLISHED_RELATIVE], NAN, NAN);
    }
    return sheet;
}

/* How many settings of each family are better, and how many clearly so or clearly worse. */
static void count_bars(mw_page *page) {
    static const char *const series[] = {"better", "clearly better", "clearly worse"};
    const char *names[4];
    double counts[12], ends[13] = {0};
    for (int f = 0; f < 4; f++) {
        const char *family = f < 3 ? mw_family_at(f)->name : NULL;
        const mw_comparison c = mw_table_compare_arms(page->table, family, MW_ARM_PLAN, MW_ARM_REACTIVE);
        const int numbers[] = {c.wins, c.clear_wins, c.clear_losses};
        names[f] = mw_report_family_title(family);
        for (int k = 0; k < 3; k++) ends[3 * f + k + 1] = counts[3 * f + k] = numbers[k];
    }
    mw_axis axis = mw_axis_fit(ends, 13, false, "settings");
    axis.whole = true;
    mw_plot_bars(page->out, &(mw_bars){"planning against reactive: settings", "family", axis, names, 4,
                                       series, 3, counts, NULL, NULL, "%.0f"});
}

void mw_item_gain_bars(mw_page *page) {
    static const int arms[] = {MW_ARM_REACTIVE, MW_ARM_PLAN};
    static const char *const titles[] = {"reactive", "planning"};
    char text[160], words[480];
    const mw_comparison ours = mw_table_compare_arms(page->table, NULL, MW_ARM_PLAN, MW_ARM_REACTIVE),
                        theirs = mw_table_compare(page->table, NULL, MW_COL_PUBLISHED_PLAN,
                                                  MW_COL_PUBLISHED_REACTIVE);
    if (ours.count)
        mw_page_say(page, "Planning is better in %s; ties %d; sign test p = %.3g.",
                    mw_comparison_text(text, &ours), ours.ties, ours.p);
    else
        mw_page_missing(page, "no setting that both arms have played",
                        "mawam study run --dir study --resume");
    mw_page_say(page, "Paper: %d of %d, ties %d, worse in %d, p = %.3g.", theirs.wins, theirs.count,
                theirs.ties, theirs.losses, theirs.p);
    if (*mw_relative_words(words, page->table)) mw_page_say(page, "%s", words);
    mw_page_figure_begin(page, NULL);
    for (int f = 0; f < 3; f++)
        mw_page_arm_bars(page, page->table, mw_family_at(f)->name, NULL, arms, titles, 2);
    for (int f = 0; f < 3; f++) family_bars(page, mw_family_at(f)->name);
    count_bars(page);
    mw_page_figure_end(page, gain_sheet(page));
}

void mw_item_gain_table(mw_page *page) {
    mw_sheet *sheet = mw_page_settings_sheet();
    mw_sheet_column(sheet, "mawam", "reactive", "the policy's first candidate; std over seeds");
    mw_sheet_column(sheet, "mawam", "planning", "the choice among M candidates");
    mw_sheet_column(sheet, "mawam", "difference", "with the 95% interval over paired episodes");
    mw_sheet_column(sheet, "mawam", "relative, %", "difference over |reactive|");
    mw_sheet_column(sheet, "paper", "reactive", NULL);
    mw_sheet_column(sheet, "paper", "planning", NULL);
    mw_sheet_column(sheet, "paper", "difference", "as printed, from means that were not rounded");
    mw_sheet_column(sheet, "paper", "relative, %", NULL);
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &page->table->rows[i];
        const double *v = row->value;
        const char *format = mw_row_format(row), *with_sign = mw_row_signed_format(row);
        const mw_interval d = mw_row_difference(row, MW_ARM_PLAN, MW_ARM_REACTIVE);
        mw_page_setting(page, sheet, row);
        mw_sheet_spread(sheet, format, v[MW_COL_REACTIVE],
                        v[MW_COL_OF(MW_ARM_REACTIVE, MW_FIELD_REPORTED_STD)]);
        mw_sheet_spread(sheet, format, v[MW_COL_PLAN], v[MW_COL_OF(MW_ARM_PLAN, MW_FIELD_REPORTED_STD)]);
        mw_sheet_gain(sheet, with_sign, d.mean, d.low, d.high);
        mw_sheet_gain(sheet, "%+.1f", 100 * v[MW_COL_RELATIVE], NAN, NAN);
        mw_sheet_number(sheet, format, v[MW_COL_PUBLISHED_REACTIVE]);
        mw_sheet_number(sheet, format, v[MW_COL_PUBLISHED_PLAN]);
        mw_sheet_gain(sheet, with_sign, v[MW_COL_PUBLISHED_DELTA], NAN, NAN);
        mw_sheet_gain(sheet, "%+.1f", 100 * v[MW_COL_PUBLISHED_RELATIVE], NAN, NAN);
    }
    mw_page_table(page, sheet, NULL);
}

/* ---- families ---- */

static void comparison_cells(mw_sheet *sheet, mw_comparison c, bool one_unit) {
    mw_sheet_text(sheet, "%d / %d / %d", c.wins, c.ties, c.losses);
    if (c.intervals)
        mw_sheet_text(sheet, "%d / %d", c.clear_wins, c.clear_losses);
    else
        mw_sheet_text(sheet, "-");
    mw_sheet_gain(sheet, "%+.2f", one_unit ? c.difference : NAN, NAN, NAN);
    mw_sheet_gain(sheet, "%+.1f", one_unit ? 100 * c.aggregate : NAN, NAN, NAN);
    mw_sheet_gain(sheet, "%+.1f", 100 * c.median, NAN, NAN);
    mw_sheet_gain(sheet, "%+.1f", 100 * c.relative, NAN, NAN);
    mw_sheet_number(sheet, "%.3g", c.count ? c.p : NAN);
}

static void comparison_columns(mw_sheet *sheet, const char *group) {
    mw_sheet_column(sheet, group, "+ / 0 / -", "settings better, equal, worse");
    mw_sheet_column(sheet, group, "clear + / -", "of them with an interval above zero, and below");
    mw_sheet_column(sheet, group, "mean difference", "in the family's own unit");
    mw_sheet_column(sheet, group, "aggregate, %", "sum of differences over the sum of |other|");
    mw_sheet_column(sheet, group, "median, %", "of relative differences");
    mw_sheet_column(sheet, group, "mean, %", "of relative differences; values near zero rule it");
    mw_sheet_column(sheet, group, "p", "exact two-sided sign test");
}

void mw_item_family_table(mw_page *page) {
    mw_sheet *sheet = mw_sheet_create();
    mw_sheet_column(sheet, NULL, "family", NULL);
    mw_sheet_column(sheet, NULL, "whose", NULL);
    comparison_columns(sheet, NULL);
    for (int f = 0; f < 4; f++) {
        const char *family = f < 3 ? mw_family_at(f)->name : NULL;
        const mw_paper_gains *p = mw_paper_gains_of(family);
        mw_comparison published =
            mw_table_compare(page->table, family, MW_COL_PUBLISHED_PLAN, MW_COL_PUBLISHED_REACTIVE);
        mw_sheet_row(sheet, mw_report_family_title(family), NULL);
        mw_sheet_text(sheet, "mawam");
        comparison_cells(sheet, mw_table_compare_arms(page->table, family, MW_ARM_PLAN, MW_ARM_REACTIVE),
                         family != NULL);
        mw_sheet_row(sheet, mw_report_family_title(family), NULL);
        mw_sheet_text(sheet, "paper, as printed");
        published.difference = p->difference;
        published.aggregate = p->aggregate;
        published.median = p->median;
        published.relative = p->relative;
        comparison_cells(sheet, published, family != NULL);
        mw_sheet_row(sheet, mw_report_family_title(family), NULL);
        mw_sheet_text(sheet, "paper, from its rounded table");
        comparison_cells(
            sheet, mw_table_compare(page->table, family, MW_COL_PUBLISHED_PLAN, MW_COL_PUBLISHED_REACTIVE),
            family != NULL);
    }
    mw_page_table(page, sheet, NULL);
}

/* ---- win rates ---- */

void mw_item_win_rates(mw_page *page) {
    const mw_comparison ours = mw_table_compare_won(page->table, NULL, MW_ARM_PLAN, MW_ARM_REACTIVE),
                        theirs = mw_table_compare(page->table, NULL, MW_COL_PUBLISHED_PLAN_WON,
                                                  MW_COL_PUBLISHED_REACTIVE_WON);
    mw_sheet *sheet = mw_page_settings_sheet();
    char text[160];
    if (ours.count)
        mw_page_say(page, "Planning wins more often in %s; ties %d. Intervals: Student's over seeds.",
                    mw_comparison_text(text, &ours), ours.ties);
    else
        mw_page_missing(page, "no battle that both arms have played", "mawam study run --dir study --resume");
    mw_page_say(page, "Paper: more often in %d, equally in %d, less often in %d.", theirs.wins, theirs.ties,
                theirs.losses);
    mw_sheet_column(sheet, "mawam", "data", "of the dataset's episodes");
    for (int a = 0; a < MW_ARM_STANDARD; a++) mw_sheet_column(sheet, "mawam", mw_arm_name(a), NULL);
    mw_sheet_column(sheet, "mawam", "difference", "planning - reactive, with its 95% interval");
    mw_sheet_column(sheet, "paper", "reactive", NULL);
    mw_sheet_column(sheet, "paper", "planning", NULL);
    mw_sheet_column(sheet, "paper", "difference", NULL);
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &page->table->rows[i];
        const double *v = row->value;
        if (!mw_family_find(row->family)->counts_wins) continue;
        mw_page_setting(page, sheet, row);
        mw_sheet_number(sheet, "%.2f", v[MW_COL_DATA_WON]);
        for (int a = 0; a < MW_ARM_STANDARD; a++)
            mw_sheet_spread(sheet, "%.2f", v[MW_COL_OF(a, MW_FIELD_WON)], v[MW_COL_OF(a, MW_FIELD_WON_STD)]);
        const mw_interval d = mw_row_won(row, MW_ARM_PLAN, MW_ARM_REACTIVE);
        mw_sheet_gain(sheet, "%+.2f", d.mean, d.low, d.high);
        mw_sheet_number(sheet, "%.2f", v[MW_COL_PUBLISHED_REACTIVE_WON]);
        mw_sheet_number(sheet, "%.2f", v[MW_COL_PUBLISHED_PLAN_WON]);
        mw_sheet_gain(sheet, "%+.2f", v[MW_COL_PUBLISHED_PLAN_WON] - v[MW_COL_PUBLISHED_REACTIVE_WON], NAN,
                      NAN);
    }
    mw_page_table(page, sheet, NULL);
}

/* ---- the oracle ---- */

static void oracle_steps(mw_sheet *sheet, const mw_study_row *row) {
    const double after = row->value[MW_COL_EVAL_VALUE_AFTER], horizon = row->value[MW_COL_EVAL_H];
    if (after > 0)
        mw_sheet_text(sheet, "%.0f + v", after);
    else
        mw_sheet_number(sheet, "%.0f", horizon);
}

void mw_item_oracle(mw_page *page) {
    double x[MW_TABLE_ROWS];
    char text[160];
    const int shares = mw_table_collect(page->table, NULL, MW_COL_SHARE, x);
    const mw_comparison c = mw_table_compare_arms(page->table, NULL, MW_ARM_ORACLE, MW_ARM_REACTIVE);
    if (c.count)
        mw_page_say(page, "The oracle is better than reactive in %s.", mw_comparison_text(text, &c));
    else
        mw_page_missing(page, "no setting that the arms oracle and reactive have played",
                        "mawam study run --dir study --resume");
    if (shares)
        mw_page_say(page,
                    "In %d setting%s its gain has an interval above zero and planning has played too; "
                    "planning's share of it there: median %.2f, from %.2f to %.2f.",
                    shares, mw_plural(shares), mw_quantile_of(x, shares, 0.5), mw_quantile_of(x, shares, 0),
                    mw_quantile_of(x, shares, 1));
    char blind[512] = "";
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &page->table->rows[i];
        const size_t used = strlen(blind);
        if (row->scorer[0] && !mw_row_imagines(row))
            snprintf(blind + used, sizeof blind - used, "%s%s", used ? ", " : "", row->name);
    }
    if (*blind)
        mw_page_say(page,
                    "Planning's judge imagines no steps, and looks beyond those that the oracle executes, on "
                    "%s: there the oracle is another judge of the same candidates and no upper line.",
                    blind);
    mw_sheet *sheet = mw_page_settings_sheet();
    mw_sheet_column(sheet, NULL, "steps", "that are executed and counted; + v: then the value");
    mw_sheet_column(sheet, NULL, "reactive", NULL);
    mw_sheet_column(sheet, NULL, "planning", NULL);
    mw_sheet_column(sheet, NULL, "oracle", NULL);
    mw_sheet_column(sheet, NULL, "oracle - reactive", "with the 95% interval over paired episodes");
    mw_sheet_column(sheet, NULL, "share", "(planning - reactive) / (oracle - reactive)");
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &page->table->rows[i];
        const mw_interval d = mw_row_difference(row, MW_ARM_ORACLE, MW_ARM_REACTIVE);
        mw_page_setting(page, sheet, row);
        oracle_steps(sheet, row);
        mw_sheet_number(sheet, mw_row_format(row), row->value[MW_COL_REACTIVE]);
        mw_sheet_number(sheet, mw_row_format(row), row->value[MW_COL_PLAN]);
        mw_sheet_number(sheet, mw_row_format(row), row->value[MW_COL_ORACLE]);
        mw_sheet_gain(sheet, mw_row_signed_format(row), d.mean, d.low, d.high);
        mw_sheet_number(sheet, "%.2f", row->value[MW_COL_SHARE]);
    }
    mw_page_table(page, sheet, NULL);
}
