/* The chapter on when planning helps: headroom and reliability, and the quality of the data. */
#include "report/page.h"
#include "report/report.h"

#include <math.h>
#include <string.h>

/* A column of all settings. */
static void column_of(const mw_study_table *t, mw_column_id column, double out[MW_TABLE_ROWS]) {
    for (int i = 0; i < MW_TABLE_ROWS; i++) out[i] = t->rows[i].value[column];
}

/* Percent to [-1, 1] by its signed root, as the paper colours its cells. */
static double root_of(double percent, double most) {
    return copysign(sqrt(fmin(fabs(percent), most) / most), percent);
}

/* ---- two factors ---- */

static mw_two_factor factors(const mw_study_table *t) {
    double headroom[MW_TABLE_ROWS], reliability[MW_TABLE_ROWS], gain[MW_TABLE_ROWS];
    column_of(t, MW_COL_HEADROOM, headroom);
    column_of(t, MW_COL_SNIPPET_TOP2, reliability);
    column_of(t, MW_COL_RELATIVE, gain);
    return mw_two_factors(headroom, reliability, gain, MW_TABLE_ROWS);
}

static void factor_cell(FILE *out, const mw_cell *cell, double x, double y) {
    char colour[8];
    mw_colour_sign(colour, cell->count ? root_of(100 * cell->mean, 100) : 0);
    fprintf(out, "<rect x='%.0f' y='%.0f' width='150' height='90' fill='%s'/>\n", x, y, colour);
    fprintf(out, "<text x='%.0f' y='%.0f' text-anchor='middle' style='fill:%s;font-size:17px'>", x + 75,
            y + 44, mw_colour_text(colour));
    if (cell->count)
        fprintf(out, "%+.1f%%</text>\n", 100 * cell->mean);
    else
        fputs("none</text>\n", out);
    fprintf(out, "<text x='%.0f' y='%.0f' text-anchor='middle' style='fill:%s'>%d setting%s</text>\n", x + 75,
            y + 64, mw_colour_text(colour), cell->count, mw_plural(cell->count));
    if (cell->count)
        fprintf(out, "<text x='%.0f' y='%.0f' text-anchor='middle' style='fill:%s'>median %+.1f%%</text>\n",
                x + 75, y + 80, mw_colour_text(colour), 100 * cell->median);
}

void mw_item_two_factor_cells(mw_page *page) {
    static const char *const levels[] = {"low", "high"};
    const mw_two_factor t = factors(page->table);
    mw_sheet *sheet = mw_sheet_create();
    int most = -1, most_median = -1;
    mw_sheet_column(sheet, NULL, "cell", NULL);
    mw_sheet_column(sheet, NULL, "settings", NULL);
    mw_sheet_column(sheet, NULL, "mean relative gain, %", NULL);
    mw_sheet_column(sheet, NULL, "median relative gain, %", NULL);
    mw_page_figure_begin(page, "Mean relative gain of planning over reactive");
    mw_svg_begin(page->out, 420, 260, "mean relative gain by headroom and reliability");
    for (int k = 0; k < 4; k++) {
        char name[64];
        const mw_cell *cell = &t.cells[k / 2][k % 2];
        factor_cell(page->out, cell, 90 + 154 * (k % 2), 14 + 94 * (1 - k / 2));
        snprintf(name, sizeof name, "reliability %s, headroom %s", levels[k / 2], levels[k % 2]);
        mw_sheet_row(sheet, name, NULL);
        mw_sheet_number(sheet, "%.0f", cell->count);
        mw_sheet_gain(sheet, "%+.1f", 100 * cell->mean, NAN, NAN);
        mw_sheet_gain(sheet, "%+.1f", 100 * cell->median, NAN, NAN);
        if (!cell->count) continue;
        if (most < 0 || cell->mean > t.cells[most / 2][most % 2].mean) most = k;
        if (most_median < 0 || cell->median > t.cells[most_median / 2][most_median % 2].median)
            most_median = k;
    }
    for (int k = 0; k < 2; k++) {
        mw_svg_text(page->out, 165 + 154 * k, 218, "middle", "tick", "%s", levels[k]);
        mw_svg_text(page->out, 84, 62 + 94 * (1 - k), "end", "tick", "%s", levels[k]);
    }
    mw_svg_text(page->out, 242, 238, "middle", "label", "headroom");
    mw_svg_text_up(page->out, 34, 108, "label", "reliability: Top-2 of snippets");
    mw_svg_end(page->out);
    mw_page_figure_end(page, sheet);
    if (most < 0) {
        mw_page_missing(page, "no family of which two settings have headroom, snippets and a gain",
                        "mawam study run --dir study --resume");
        return;
    }
    mw_page_say(page, "Medians: headroom %.2f, reliability %.2f.", t.headroom, t.reliability);
    mw_page_say(page,
                "The largest mean gain is where reliability is %s and headroom %s; the paper's: high and "
                "high, its values are in its figure only. The largest median, which no reactive score near "
                "zero rules: reliability %s, headroom %s. Colours end at 100%%.",
                levels[most / 2], levels[most % 2], levels[most_median / 2], levels[most_median % 2]);
}

static void family_points(mw_page *page, const char *family, const mw_two_factor *medians) {
    static const char *const series[] = {"gain below 0", "0 to 10%", "10 to 50%", "above 50%"};
    mw_point points[MW_TABLE_ROWS];
    double ys[MW_TABLE_ROWS + 1];
    int n = 0;
    char title[64];
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &page->table->rows[i];
        const double *v = row->value, g = v[MW_COL_RELATIVE];
        if (strcmp(row->family, family) || isnan(v[MW_COL_SNIPPET_TOP2]) || isnan(g)) continue;
        ys[n] = v[MW_COL_SNIPPET_TOP2];
        points[n++] = (mw_point){v[MW_COL_HEADROOM], v[MW_COL_SNIPPET_TOP2],
                                 g < 0      ? 0
                                 : g < 0.1  ? 1
                                 : g <= 0.5 ? 2
                                            : 3,
                                 row->name};
    }
    ys[n] = medians->reliability;
    snprintf(title, sizeof title, "%s: headroom and reliability", mw_report_family_title(family));
    char label[64];
    snprintf(label, sizeof label, "%s: headroom, share of the family's range",
             mw_report_family_title(family));
    mw_plot_points(page->out, &(mw_points){title,
                                           {.high = 1, .label = label},
                                           mw_axis_fit(ys, n + 1, false, "Top-2 of snippets, share"),
                                           points,
                                           n,
                                           series,
                                           4,
                                           false,
                                           medians->headroom,
                                           medians->reliability});
}

static mw_sheet *factor_sheet(mw_page *page) {
    mw_sheet *sheet = mw_page_settings_sheet();
    mw_sheet_column(sheet, "mawam", "headroom", NULL);
    mw_sheet_column(sheet, "mawam", "Top-2", "of snippets in groups of 8 at H = 8");
    mw_sheet_column(sheet, "mawam", "relative gain, %", NULL);
    mw_sheet_column(sheet, "paper", "headroom", "from its rounded table");
    mw_sheet_column(sheet, "paper", "relative gain, %", NULL);
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &page->table->rows[i];
        mw_page_setting(page, sheet, row);
        mw_sheet_number(sheet, "%.2f", row->value[MW_COL_HEADROOM]);
        mw_sheet_number(sheet, "%.2f", row->value[MW_COL_SNIPPET_TOP2]);
        mw_sheet_gain(sheet, "%+.1f", 100 * row->value[MW_COL_RELATIVE], NAN, NAN);
        mw_sheet_number(sheet, "%.2f", row->value[MW_COL_PUBLISHED_HEADROOM]);
        mw_sheet_gain(sheet, "%+.1f", 100 * row->value[MW_COL_PUBLISHED_RELATIVE], NAN, NAN);
    }
    return sheet;
}

void mw_item_two_factor_points(mw_page *page) {
    const mw_two_factor medians = factors(page->table);
    mw_page_figure_begin(page, NULL);
    for (int f = 0; f < 3; f++) family_points(page, mw_family_at(f)->name, &medians);
    mw_page_figure_end(page, factor_sheet(page));
    mw_page_table(page, factor_sheet(page), NULL); /* names the points, on paper too */
}

/* ---- data quality ---- */

enum { CELL = 92, LABEL = 84, MOST_PLACES = 8 };

/* Settings in their task's order of data, by our data's returns; in the table's order, best first, where one
 * of the task's is not known. */
static mw_quality tiers_of(const mw_study_table *t, mw_column_id gain_column, int place[MW_TABLE_ROWS]) {
    double data[MW_TABLE_ROWS], gain[MW_TABLE_ROWS];
    int task[MW_TABLE_ROWS];
    bool known[MW_TABLE_ROWS];
    for (int i = 0, k = 0; i < MW_TABLE_ROWS; i++) {
        if (i && strcmp(t->rows[i].setting->task, t->rows[i - 1].setting->task)) k++;
        task[i] = k;
        known[k] = (i && task[i - 1] == k ? known[k] : true) && !isnan(t->rows[i].value[MW_COL_DATA_RETURN]);
    }
    for (int i = 0; i < MW_TABLE_ROWS; i++)
        data[i] = known[task[i]] ? t->rows[i].value[MW_COL_DATA_RETURN] : -i;
    column_of(t, gain_column, gain);
    return mw_quality_tiers(data, gain, task, MW_TABLE_ROWS, place);
}

static void quality_map(mw_page *page, mw_column_id column, const int *place, const char *whose) {
    const mw_study_table *t = page->table;
    int line = -1, most = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        line += i == 0 || strcmp(t->rows[i].setting->task, t->rows[i - 1].setting->task) != 0;
        if (place[i] < MOST_PLACES && place[i] > most) most = place[i];
    }
    enum { WORDS = 350 }; /* that they need however few cells there are */
    const double width = fmax(LABEL + CELL * (most + 1) + 8, WORDS), height = 26 * (line + 1) + 44;
    mw_svg_begin(page->out, width, height, whose);
    line = -1;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &t->rows[i];
        char colour[8];
        if (i == 0 || strcmp(row->setting->task, t->rows[i - 1].setting->task))
            mw_svg_text(page->out, LABEL - 8, 26 * ++line + 36, "end", "value", "%s", row->setting->task);
        const double gain = row->value[column];
        if (isnan(gain) || place[i] < 0 || place[i] > most) continue;
        mw_colour_sign(colour, fmin(fmax(gain / 0.6, -1), 1));
        fprintf(page->out, "<g><rect x='%d' y='%d' width='%d' height='24' fill='%s'/>",
                LABEL + CELL * place[i], 26 * line + 20, CELL - 2, colour);
        mw_svg_tip(page->out, "%s: %+.1f%%", row->name, 100 * gain);
        fprintf(
            page->out,
            "<text x='%d' y='%d' text-anchor='middle' style='fill:%s;font-size:11px'>%+.1f%%</text></g>\n",
            LABEL + CELL * place[i] + CELL / 2, 26 * line + 36, mw_colour_text(colour), 100 * gain);
    }
    mw_svg_text(page->out, LABEL, 13, "start", "label", "%s: relative gain; colour ends at 60%%", whose);
    mw_svg_text(page->out, LABEL, height - 6, "start", "label", "best data to worst data of the task");
    mw_svg_end(page->out);
}

void mw_item_quality(mw_page *page) {
    static const char *const names[MW_DATA_TIERS] = {"best", "middle", "worst"};
    int place[MW_TABLE_ROWS], published[MW_TABLE_ROWS];
    const mw_quality ours = tiers_of(page->table, MW_COL_RELATIVE, place),
                     theirs = tiers_of(page->table, MW_COL_PUBLISHED_RELATIVE, published);
    if (ours.groups)
        mw_page_say(page,
                    "The gain is larger on a task's worst data than on its best in %d of %d task%s (p = "
                    "%.3g).",
                    ours.rises, ours.groups, mw_plural(ours.groups), ours.p);
    else
        mw_page_missing(page, "no task has been played with two kinds of data",
                        "mawam study run --dir study --resume");
    mw_page_say(page, "Paper: in %d of %d (p = %.3g).", theirs.rises, theirs.groups, theirs.p);
    mw_sheet *sheet = mw_page_settings_sheet();
    mw_sheet_column(sheet, "mawam", "data's return", NULL);
    mw_sheet_column(sheet, "mawam", "place", "in the order of the task's data, best first");
    mw_sheet_column(sheet, "mawam", "relative gain, %", NULL);
    mw_sheet_column(sheet, "paper", "place", "in the order of the task's data, best first");
    mw_sheet_column(sheet, "paper", "relative gain, %", NULL);
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &page->table->rows[i];
        mw_page_setting(page, sheet, row);
        mw_sheet_number(sheet, mw_row_format(row), row->value[MW_COL_DATA_RETURN]);
        mw_sheet_number(sheet, "%.0f", place[i] < 0 ? (double)NAN : place[i] + 1);
        mw_sheet_gain(sheet, "%+.1f", 100 * row->value[MW_COL_RELATIVE], NAN, NAN);
        mw_sheet_number(sheet, "%.0f", published[i] < 0 ? (double)NAN : published[i] + 1);
        mw_sheet_gain(sheet, "%+.1f", 100 * row->value[MW_COL_PUBLISHED_RELATIVE], NAN, NAN);
    }
    mw_page_figure_begin(page, NULL);
    quality_map(page, MW_COL_RELATIVE, place, "mawam");
    quality_map(page, MW_COL_PUBLISHED_RELATIVE, published, "paper");
    mw_page_figure_end(page, sheet);
    mw_sheet *tiers = mw_sheet_create();
    mw_sheet_column(tiers, NULL, "data", NULL);
    mw_sheet_column(tiers, "mawam", "settings", NULL);
    mw_sheet_column(tiers, "mawam", "median gain, %", NULL);
    mw_sheet_column(tiers, "mawam", "mean gain, %", NULL);
    mw_sheet_column(tiers, "paper", "mean gain, as printed, %", NULL);
    mw_sheet_column(tiers, "paper", "from its rounded table, %", NULL);
    mw_sheet_column(tiers, "paper", "median from it, %", NULL);
    for (int k = 0; k < MW_DATA_TIERS; k++) {
        mw_sheet_row(tiers, names[k], NULL);
        mw_sheet_number(tiers, "%.0f", ours.tiers[k].count);
        mw_sheet_gain(tiers, "%+.1f", 100 * ours.tiers[k].median, NAN, NAN);
        mw_sheet_gain(tiers, "%+.1f", 100 * ours.tiers[k].mean, NAN, NAN);
        mw_sheet_gain(tiers, "%+.1f", 100 * mw_paper_tier(k), NAN, NAN);
        mw_sheet_gain(tiers, "%+.1f", 100 * theirs.tiers[k].mean, NAN, NAN);
        mw_sheet_gain(tiers, "%+.1f", 100 * theirs.tiers[k].median, NAN, NAN);
    }
    mw_page_table(page, tiers, "Tiers pooled over tasks");
}

/* ---- against the data ---- */

void mw_item_data(mw_page *page) {
    static const struct {
        int arm;
        const char *name;
    } against[] = {{MW_ARM_PLAN, "Planning"}, {MW_ARM_REACTIVE, "Reactive"}};
    for (int k = 0; k < 2; k++) {
        char text[160];
        const mw_comparison c = mw_table_compare_data(page->table, NULL, against[k].arm);
        if (c.count)
            mw_page_say(page, "%s lies above the mean of its data in %s; sign test p = %.3g.",
                        against[k].name, mw_comparison_text(text, &c), c.p);
    }
    mw_sheet *sheet = mw_page_settings_sheet();
    mw_sheet_column(sheet, "data", "episodes", NULL);
    mw_sheet_column(sheet, "data", "steps", NULL);
    mw_sheet_column(sheet, "data", "return", "mean and std of its episodes");
    mw_sheet_column(sheet, "as reported", "data", NULL);
    mw_sheet_column(sheet, "as reported", "reactive", NULL);
    mw_sheet_column(sheet, "as reported", "planning", NULL);
    mw_sheet_column(sheet, "as reported", "planning - data",
                    "with its 95% interval, Student's over seeds with the data's own error");
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &page->table->rows[i];
        const double *v = row->value;
        mw_page_setting(page, sheet, row);
        mw_sheet_number(sheet, "%.0f", v[MW_COL_DATA_EPISODES]);
        mw_sheet_number(sheet, "%.0f", v[MW_COL_DATA_STEPS]);
        mw_sheet_spread(sheet, mw_row_format(row), v[MW_COL_DATA_RETURN], v[MW_COL_DATA_RETURN_STD]);
        mw_sheet_number(sheet, mw_row_format(row), v[MW_COL_DATA]);
        mw_sheet_number(sheet, mw_row_format(row), v[MW_COL_REACTIVE]);
        mw_sheet_number(sheet, mw_row_format(row), v[MW_COL_PLAN]);
        const mw_interval d = mw_row_above_data(row, MW_ARM_PLAN);
        mw_sheet_gain(sheet, mw_row_signed_format(row), d.mean, d.low, d.high);
    }
    mw_page_table(page, sheet, NULL);
}
