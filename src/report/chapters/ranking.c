/* The chapters on ranking, calibration and rollout error: what the diagnosis of every setting says about the
 * world model, by horizon, by family and in one state. */
#include "report/page.h"
#include "report/report.h"

#include <math.h>
#include <string.h>

static const struct {
    mw_snippet_metric metric;
    const char *name, *label;
} metrics[] = {
    {MW_SNIPPET_SPEARMAN, "Spearman", "Spearman correlation"},
    {MW_SNIPPET_TOP2, "Top-2", "Top-2, share of groups"},
    {MW_SNIPPET_PAIRS, "pair accuracy", "pair accuracy, share of pairs"},
    {MW_SNIPPET_REGRET, "n-regret", "normalised regret, share of the range"},
};

enum { METRICS = sizeof metrics / sizeof *metrics, FAMILIES = 3 };

/* A family's numbers at a horizon. */
static int family_values(const mw_study_table *t, const char *family, mw_snippet_metric metric, int h,
                         double out[MW_TABLE_ROWS]) {
    int n = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++)
        if (!family || !strcmp(t->rows[i].family, family)) out[n++] = t->rows[i].snippets[metric][h];
    return n;
}

/* Medians and quartiles over the settings of every family, at every horizon. */
typedef struct {
    double x[MW_TABLE_HORIZONS], middle[FAMILIES][MW_TABLE_HORIZONS], low[FAMILIES][MW_TABLE_HORIZONS],
        high[FAMILIES][MW_TABLE_HORIZONS];
} bands;

static bands bands_of(const mw_study_table *t, mw_snippet_metric metric) {
    bands b;
    for (int h = 0; h < MW_TABLE_HORIZONS; h++) {
        b.x[h] = h + 1;
        for (int f = 0; f < FAMILIES; f++) {
            double x[MW_TABLE_ROWS];
            const int n = family_values(t, mw_family_at(f)->name, metric, h, x);
            b.middle[f][h] = mw_median_of(x, n);
            b.low[f][h] = mw_quantile_of(x, n, 0.25);
            b.high[f][h] = mw_quantile_of(x, n, 0.75);
        }
    }
    return b;
}

static void plot_bands(mw_page *page, const bands *b, const char *label, bool logarithmic) {
    mw_curve curves[FAMILIES];
    double ends[2 * FAMILIES * MW_TABLE_HORIZONS];
    int n = 0;
    for (int f = 0; f < FAMILIES; f++) {
        curves[f] =
            (mw_curve){mw_family_at(f)->title, b->x, b->middle[f], b->low[f], b->high[f], MW_TABLE_HORIZONS};
        for (int h = 0; h < MW_TABLE_HORIZONS; h++) {
            ends[n++] = b->low[f][h];
            ends[n++] = b->high[f][h];
        }
    }
    mw_plot_curves(page->out, label, (mw_axis){.high = MW_TABLE_HORIZONS, .label = "horizon, steps"},
                   mw_axis_fit(ends, n, logarithmic, label), curves, FAMILIES);
}

static void band_rows(mw_sheet *sheet, const bands *b, const char *name, const char *format) {
    for (int f = 0; f < FAMILIES; f++)
        for (int h = 0; h < MW_TABLE_HORIZONS; h++) {
            char row[96];
            if (isnan(b->middle[f][h])) continue;
            snprintf(row, sizeof row, "%s, %s", name, mw_family_at(f)->title);
            mw_sheet_row(sheet, row, NULL);
            mw_sheet_number(sheet, "%.0f", h + 1);
            mw_sheet_number(sheet, format, b->middle[f][h]);
            mw_sheet_number(sheet, format, b->low[f][h]);
            mw_sheet_number(sheet, format, b->high[f][h]);
        }
}

static mw_sheet *band_sheet(void) {
    mw_sheet *sheet = mw_sheet_create();
    mw_sheet_column(sheet, NULL, "what", NULL);
    mw_sheet_column(sheet, NULL, "horizon", NULL);
    mw_sheet_column(sheet, NULL, "value", "of a setting, or the median over a family's");
    mw_sheet_column(sheet, NULL, "lower quartile", NULL);
    mw_sheet_column(sheet, NULL, "upper quartile", NULL);
    return sheet;
}

/* How many a setting has; the files say it. */
static void say_sizes(mw_page *page, const char *what, const char *path) {
    double sizes[MW_TABLE_ROWS];
    for (int i = 0; i < MW_TABLE_ROWS; i++) sizes[i] = mw_json_number(page->table->rows[i].summary, path);
    mw_page_sizes(page, what, sizes, MW_TABLE_ROWS);
}

static bool diagnosed(mw_page *page) {
    double x[MW_TABLE_ROWS];
    if (mw_table_collect(page->table, NULL, MW_COL_SNIPPETS, x) > 0) return true;
    for (int i = 0; i < MW_TABLE_ROWS; i++)
        for (int h = 0; h < MW_TABLE_HORIZONS; h++)
            if (!isnan(page->table->rows[i].snippets[MW_SNIPPET_SPEARMAN][h])) return true;
    mw_page_missing(page, "no summary has snippets", "mawam study run --dir study --resume");
    return false;
}

/* Mean over settings, as the paper has it. */
static double mean_at(const mw_study_table *t, mw_snippet_metric metric, int horizon) {
    double x[MW_TABLE_ROWS];
    return mw_mean_of(x, family_values(t, NULL, metric, horizon - 1, x));
}

/* The numbers at H = 8 of the settings that have H = 16 too. */
static int values_of_far(const mw_study_table *t, const char *family, mw_snippet_metric metric,
                         double out[MW_TABLE_ROWS]) {
    double far[MW_TABLE_ROWS], near[MW_TABLE_ROWS];
    const int count = family_values(t, family, metric, 15, far);
    int n = 0;
    family_values(t, family, metric, 7, near);
    for (int i = 0; i < count; i++)
        if (!isnan(far[i])) out[n++] = near[i];
    return n;
}

/* Battles may be over before 16 steps: numbers of longer horizons are of fewer settings. */
static void say_far(mw_page *page, const char *paper) {
    double x[MW_TABLE_ROWS];
    const int near = mw_table_collect(page->table, NULL, MW_COL_SNIPPET_SPEARMAN, x);
    mw_page_say(page,
                "Snippets of 16 steps exist in %d of %d setting%s with snippets of 8; the paper's %s are of "
                "29 settings with all horizons.",
                values_of_far(page->table, NULL, MW_SNIPPET_SPEARMAN, x), near, mw_plural(near), paper);
}

/* Data that are not the training's own, or too few episodes to hold one out; earlier files do not tell. */
static void say_seen(mw_page *page) {
    char names[512] = "";
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &page->table->rows[i];
        const size_t used = strlen(names);
        if (json_is_false(mw_json_at(row->summary, "snippets.held_out")))
            snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", row->name);
    }
    if (names[0]) mw_page_say(page, "Snippets that the model may have been trained on: %s.", names);
}

void mw_item_horizons(mw_page *page) {
    if (!diagnosed(page)) return;
    say_sizes(page, "Snippets", "snippets.count");
    say_seen(page);
    const mw_paper_gains *p = mw_paper_gains_of(NULL);
    const mw_paper_horizon *far = mw_paper_horizon_find(NULL, 16);
    mw_sheet *sheet = band_sheet(), *means = mw_sheet_create();
    mw_page_figure_begin(page, NULL);
    for (int m = 0; m < METRICS; m++) {
        const bands b = bands_of(page->table, metrics[m].metric);
        plot_bands(page, &b, metrics[m].label, false);
        band_rows(sheet, &b, metrics[m].name, "%.3f");
    }
    mw_page_figure_end(page, sheet);
    const double near_paper[METRICS] = {p->spearman, p->top2, p->pairs, p->regret},
                 far_paper[METRICS] = {far->spearman, NAN, NAN, far->regret};
    mw_sheet_column(means, NULL, "mean over settings", NULL);
    mw_sheet_column(means, "H = 8", "mawam", NULL);
    mw_sheet_column(means, "H = 8", "paper", NULL);
    mw_sheet_column(means, "H = 16", "mawam", "of the settings whose episodes are long enough");
    mw_sheet_column(means, "H = 16", "paper", NULL);
    mw_sheet_column(means, "the same settings", "H = 8", "of those that have H = 16 too");
    for (int m = 0; m < METRICS; m++) {
        double x[MW_TABLE_ROWS];
        const int far_ones = values_of_far(page->table, NULL, metrics[m].metric, x);
        mw_sheet_row(means, metrics[m].name, NULL);
        mw_sheet_number(means, "%.2f", mean_at(page->table, metrics[m].metric, 8));
        mw_sheet_number(means, "%.2f", near_paper[m]);
        mw_sheet_number(means, "%.2f", mean_at(page->table, metrics[m].metric, 16));
        mw_sheet_number(means, "%.2f", far_paper[m]);
        mw_sheet_number(means, "%.2f", mw_mean_of(x, far_ones));
    }
    say_far(page, "means");
    mw_page_table(page, means, NULL);
}

/* What the paper says of its boxes, beside ours: medians of families. */
static void box_medians(mw_page *page) {
    static const struct {
        const char *family;
        int horizon;
    } said[] = {{"ant", 1}, {"mpe", 4}, {"battle", 4}, {"mpe", 8}, {"battle", 8}, {"ant", 8}};
    mw_sheet *sheet = mw_sheet_create();
    mw_sheet_column(sheet, NULL, "medians", NULL);
    mw_sheet_column(sheet, NULL, "H", NULL);
    mw_sheet_column(sheet, "mawam", "Spearman", NULL);
    mw_sheet_column(sheet, "mawam", "n-regret", NULL);
    mw_sheet_column(sheet, "paper", "Spearman", "at H = 8 those of its section on calibration");
    mw_sheet_column(sheet, "paper", "n-regret", NULL);
    for (size_t k = 0; k < sizeof said / sizeof *said; k++) {
        const mw_paper_horizon *p = mw_paper_horizon_find(said[k].family, said[k].horizon);
        double x[MW_TABLE_ROWS];
        const int h = said[k].horizon - 1;
        mw_sheet_row(sheet, mw_report_family_title(said[k].family), NULL);
        mw_sheet_number(sheet, "%.0f", said[k].horizon);
        int n = family_values(page->table, said[k].family, MW_SNIPPET_SPEARMAN, h, x);
        mw_sheet_number(sheet, "%.2f", mw_median_of(x, n));
        n = family_values(page->table, said[k].family, MW_SNIPPET_REGRET, h, x);
        mw_sheet_number(sheet, "%.2f", mw_median_of(x, n));
        mw_sheet_number(sheet, "%.2f", p->spearman);
        mw_sheet_number(sheet, "%.2f", p->regret);
    }
    mw_page_say(page, "Of its boxes at H = 8 the paper says that the medians of families lie at 0.80 to 0.84 "
                      "(Spearman), 0.81 to 0.82 (pair accuracy) and 0.10 to 0.16 (n-regret).");
    mw_page_table(page, sheet, NULL);
}

void mw_item_boxgrid(mw_page *page) {
    static const int horizons[] = {1, 4, 8};
    static const int shown[] = {0, 2, 3}; /* of metrics */
    if (!diagnosed(page)) return;
    mw_sheet *sheet = mw_page_settings_sheet();
    for (int m = 0; m < 3; m++) {
        static const char *const groups[] = {"H = 1", "H = 4", "H = 8"};
        for (int k = 0; k < 3; k++) mw_sheet_column(sheet, groups[m], metrics[shown[k]].name, NULL);
    }
    mw_page_figure_begin(page, NULL);
    for (int h = 0; h < 3; h++)
        for (int k = 0; k < 3; k++) {
            double values[FAMILIES][MW_TABLE_ROWS], all[FAMILIES * MW_TABLE_ROWS];
            mw_box boxes[FAMILIES];
            int n = 0;
            char title[64];
            for (int f = 0; f < FAMILIES; f++) {
                const int count = family_values(page->table, mw_family_at(f)->name, metrics[shown[k]].metric,
                                                horizons[h] - 1, values[f]);
                boxes[f] = (mw_box){mw_family_at(f)->title, values[f], count, f};
                for (int i = 0; i < count; i++) all[n++] = values[f][i];
            }
            snprintf(title, sizeof title, "%s at H = %d", metrics[shown[k]].name, horizons[h]);
            mw_plot_boxes(page->out, title, "family", mw_axis_fit(all, n, false, metrics[shown[k]].label),
                          boxes, FAMILIES);
        }
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &page->table->rows[i];
        mw_page_setting(page, sheet, row);
        for (int h = 0; h < 3; h++)
            for (int k = 0; k < 3; k++)
                mw_sheet_number(sheet, "%.2f", row->snippets[metrics[shown[k]].metric][horizons[h] - 1]);
    }
    mw_page_figure_end(page, sheet);
    box_medians(page);
}

/* ---- one state ---- */

enum { STATE_FIGURES = 6 };
static const mw_column_id state_drawn[STATE_FIGURES] = {MW_COL_STATE_TOP1,     MW_COL_STATE_TOP2,
                                                        MW_COL_STATE_SPEARMAN, MW_COL_STATE_PAIRS,
                                                        MW_COL_STATE_REGRET,   MW_COL_STATE_RANDOM_REGRET};
static const mw_column_id state_planned[STATE_FIGURES] = {
    MW_COL_PLANNED_TOP1,  MW_COL_PLANNED_TOP2,   MW_COL_PLANNED_SPEARMAN,
    MW_COL_PLANNED_PAIRS, MW_COL_PLANNED_REGRET, MW_COL_PLANNED_RANDOM_REGRET};

static void state_published(const mw_study_row *row, double out[STATE_FIGURES]) {
    const mw_paper_state *p = mw_paper_state_find(row->name);
    const double numbers[STATE_FIGURES] = {p ? p->top1 : NAN,     p ? p->top2 : NAN,
                                           p ? p->spearman : NAN, p ? p->pairs : NAN,
                                           p ? p->regret : NAN,   p ? p->random_regret : NAN};
    memcpy(out, numbers, sizeof numbers);
}

/* A row of means over the settings that the paper has. */
static void state_means(mw_page *page, mw_sheet *sheet, const mw_column_id *ids) {
    double ours[STATE_FIGURES][MW_TABLE_ROWS], theirs[STATE_FIGURES][MW_TABLE_ROWS];
    int n = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &page->table->rows[i];
        double published[STATE_FIGURES];
        state_published(row, published);
        if (isnan(published[0]) || isnan(row->value[ids[0]])) continue;
        for (int k = 0; k < STATE_FIGURES; k++) {
            ours[k][n] = row->value[ids[k]];
            theirs[k][n] = published[k];
        }
        n++;
    }
    mw_sheet_section(sheet, "Mean of the paper's settings that both have");
    mw_sheet_row(sheet, "mean", NULL);
    for (int k = 0; k < STATE_FIGURES; k++) mw_sheet_number(sheet, "%.3f", mw_mean_of(ours[k], n));
    for (int k = 0; k < STATE_FIGURES; k++) mw_sheet_number(sheet, "%.3f", mw_mean_of(theirs[k], n));
}

/* A setting that was diagnosed, but not so, has nothing to say unless the paper has. */
static bool state_known(const mw_study_row *row, const mw_column_id *ids, const double *published) {
    bool known = !row->summary;
    for (int k = 0; k < STATE_FIGURES; k++) known |= !isnan(row->value[ids[k]]) || !isnan(published[k]);
    return known;
}

static void state_table(mw_page *page, const mw_column_id *ids, const char *caption) {
    static const char *const names[] = {"Top-1", "Top-2", "Spearman", "pairs", "n-regret", "random n-regret"};
    mw_sheet *sheet = mw_page_settings_sheet();
    for (int k = 0; k < STATE_FIGURES; k++) mw_sheet_column(sheet, "mawam", names[k], NULL);
    for (int k = 0; k < STATE_FIGURES; k++) mw_sheet_column(sheet, "paper", names[k], NULL);
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &page->table->rows[i];
        double published[STATE_FIGURES];
        state_published(row, published);
        if (!state_known(row, ids, published)) continue;
        mw_page_setting(page, sheet, row);
        for (int k = 0; k < STATE_FIGURES; k++) mw_sheet_number(sheet, "%.3f", row->value[ids[k]]);
        for (int k = 0; k < STATE_FIGURES; k++) mw_sheet_number(sheet, "%.3f", published[k]);
    }
    state_means(page, sheet, ids);
    mw_page_table(page, sheet, caption);
}

void mw_item_same_state(mw_page *page) {
    double planned[MW_TABLE_ROWS];
    say_sizes(page, "States", "same_state.anchors");
    say_sizes(page, "Candidates (M)", "same_state.M");
    state_table(page, state_drawn, "Candidates as the policy draws them");
    const int own = mw_table_collect(page->table, NULL, MW_COL_PLANNED_TOP1, planned);
    int shifted = 0; /* settings that plan among others than they draw */
    for (int i = 0; i < MW_TABLE_ROWS; i++)
        shifted += page->table->rows[i].value[MW_COL_EVAL_OFFSET] > 0 ||
                   page->table->rows[i].value[MW_COL_EVAL_WARM_START] > 0;
    if (own)
        mw_page_say(
            page,
            "The planner's own candidates, which offsets and warm starts make others than those that "
            "are drawn, "
            "were ranked in %d of %d setting%s%s. The ranks are the world model's there too, whatever "
            "judges in planning.",
            own, page->table->present, mw_plural(page->table->present),
            own < page->table->present ? "; the others have no numbers of ours below" : "");
    if (own)
        state_table(page, state_planned, "The planner's own candidates, with offsets and warm starts");
    else if (!shifted)
        mw_page_say(page,
                    "Planning chooses among candidates as they are drawn, so there are no others to rank.");
    else
        mw_page_missing(page, "no summary has the planner's own candidates",
                        "mawam study run --dir study --resume");
}

/* ---- rollout error ---- */

void mw_item_rollout(mw_page *page) {
    if (!diagnosed(page)) return;
    const bands b = bands_of(page->table, MW_SNIPPET_ERROR);
    double values[FAMILIES][MW_TABLE_ROWS], all[FAMILIES * MW_TABLE_ROWS];
    mw_box boxes[FAMILIES];
    int n = 0;
    mw_sheet *sheet = band_sheet(), *medians = mw_sheet_create();
    for (int f = 0; f < FAMILIES; f++) {
        const int count = family_values(page->table, mw_family_at(f)->name, MW_SNIPPET_ERROR, 7, values[f]);
        boxes[f] = (mw_box){mw_family_at(f)->title, values[f], count, f};
        for (int i = 0; i < count; i++) all[n++] = values[f][i];
    }
    mw_page_figure_begin(page, NULL);
    plot_bands(page, &b, "(a) mean squared error", true);
    mw_plot_boxes(page->out, "(b) distribution over settings at H = 8", "family",
                  mw_axis_fit(all, n, true, "mean squared error"), boxes, FAMILIES);
    band_rows(sheet, &b, "rollout error", "%.3g");
    for (int i = 0; i < MW_TABLE_ROWS; i++) { /* the points of (b) */
        const mw_study_row *row = &page->table->rows[i];
        if (isnan(row->snippets[MW_SNIPPET_ERROR][7])) continue;
        mw_sheet_row(sheet, row->name, NULL);
        mw_sheet_number(sheet, "%.0f", 8);
        mw_sheet_number(sheet, "%.3g", row->snippets[MW_SNIPPET_ERROR][7]);
        for (int k = 0; k < 2; k++) mw_sheet_number(sheet, "%.3g", (double)NAN);
    }
    mw_page_figure_end(page, sheet);
    mw_sheet_column(medians, NULL, "median over settings", NULL);
    mw_sheet_column(medians, "H = 8", "mawam", NULL);
    mw_sheet_column(medians, "H = 8", "paper", NULL);
    mw_sheet_column(medians, "H = 16", "mawam", "of the settings whose episodes are long enough");
    mw_sheet_column(medians, "H = 16", "paper", NULL);
    mw_sheet_column(medians, "the same settings", "number", "that have H = 16");
    mw_sheet_column(medians, "the same settings", "H = 8", "of those that have H = 16 too");
    say_far(page, "medians");
    for (int f = 0; f < FAMILIES; f++) {
        double x[MW_TABLE_ROWS];
        const int far_ones = values_of_far(page->table, mw_family_at(f)->name, MW_SNIPPET_ERROR, x);
        mw_sheet_row(medians, mw_family_at(f)->title, NULL);
        mw_sheet_number(medians, "%.3f", b.middle[f][7]);
        mw_sheet_number(medians, "%.3f", mw_paper_horizon_find(mw_family_at(f)->name, 8)->rollout_mse);
        mw_sheet_number(medians, "%.3f", b.middle[f][15]);
        mw_sheet_number(medians, "%.3f", mw_paper_horizon_find(mw_family_at(f)->name, 16)->rollout_mse);
        mw_sheet_number(medians, "%.0f", far_ones);
        mw_sheet_number(medians, "%.3f", mw_median_of(x, far_ones));
    }
    mw_page_table(page, medians, NULL);
}

/* ---- predicted against realised ---- */

enum { MOST_POINTS = 4096, MOST_CLOUDS = 4 };

/* The points of a panel, by what they are told apart by: families, or the qualities of a task. */
typedef struct {
    mw_point points[MOST_POINTS];
    int count, series_count;
    char names[MOST_CLOUDS][64];
} cloud;

static void add_points(cloud *c, const mw_study_row *row, int series, mw_sheet *sheet) {
    const json_t *points = mw_json_at(row->summary, "snippets.alignment.points");
    for (size_t i = 0; i < json_array_size(points) && c->count < MOST_POINTS; i++) {
        const json_t *pair = json_array_get(points, i);
        const json_t *first = json_array_get(pair, 0), *second = json_array_get(pair, 1);
        const double x = json_number_value(first), y = json_number_value(second);
        if (!json_is_number(first) || !json_is_number(second)) continue;
        c->points[c->count++] = (mw_point){x, y, series, row->name};
        if (!sheet) continue;
        mw_sheet_row(sheet, row->name, NULL);
        mw_sheet_number(sheet, "%.3f", x);
        mw_sheet_number(sheet, "%.3f", y);
    }
}

static void plot_cloud(mw_page *page, const cloud *c, const char *title) {
    static const mw_axis predicted = {.low = -4, .high = 4, .label = "predicted return, standard deviations"};
    char label[96];
    const char *names[MOST_CLOUDS];
    snprintf(label, sizeof label, "%s: realised return, standard deviations", title);
    for (int k = 0; k < c->series_count; k++) names[k] = c->names[k];
    if (c->count)
        mw_plot_points(page->out, &(mw_points){title,
                                               {.low = -4, .high = 4, .label = label},
                                               predicted,
                                               c->points,
                                               c->count,
                                               names,
                                               c->series_count,
                                               true,
                                               NAN,
                                               NAN});
}

static mw_sheet *cloud_sheet(void) {
    mw_sheet *sheet = mw_sheet_create();
    mw_sheet_column(sheet, NULL, "setting", NULL);
    mw_sheet_column(sheet, NULL, "realised", "standardised over the setting's snippets");
    mw_sheet_column(sheet, NULL, "predicted", "standardised over the setting's snippets");
    return sheet;
}

/* Whether there are points; how many, and where they are of another horizon than the correlations. */
static bool aligned(mw_page *page) {
    double counts[MW_TABLE_ROWS];
    int settings = 0;
    if (!diagnosed(page)) return false;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const json_t *alignment = mw_json_at(page->table->rows[i].summary, "snippets.alignment");
        const size_t count = json_array_size(json_object_get(alignment, "points"));
        const double horizon = mw_json_number(alignment, "horizon");
        counts[i] = count ? (double)count : NAN;
        settings += count > 0;
        if (count && !isnan(horizon) && horizon != 8)
            mw_page_say(page, "%s: points of H = %.0f, for want of longer snippets.",
                        page->table->rows[i].name, horizon);
    }
    mw_page_sizes(page, "Points", counts, MW_TABLE_ROWS);
    if (settings) return true;
    mw_page_missing(page, "the summaries that are there hold correlations, but no points",
                    "mawam study run --dir study --resume");
    return false;
}

static void correlations(mw_page *page) {
    mw_sheet *sheet = mw_sheet_create();
    mw_sheet_column(sheet, NULL, "medians at H = 8", NULL);
    mw_sheet_column(sheet, "mawam", "Pearson", NULL);
    mw_sheet_column(sheet, "mawam", "Spearman", NULL);
    mw_sheet_column(sheet, "mawam", "least", "smallest Spearman of a setting");
    mw_sheet_column(sheet, "mawam", "most", "largest Spearman of a setting");
    mw_sheet_column(sheet, "paper", "Pearson", NULL);
    mw_sheet_column(sheet, "paper", "Spearman", NULL);
    mw_sheet_column(sheet, "paper", "least", NULL);
    mw_sheet_column(sheet, "paper", "most", NULL);
    for (int f = 0; f < 3; f++) {
        const char *family = mw_family_at(f)->name;
        const mw_paper_gains *p = mw_paper_gains_of(family);
        const mw_paper_horizon *range = mw_paper_horizon_find(family, 8);
        mw_sheet_row(sheet, mw_report_family_title(family), NULL);
        mw_sheet_number(sheet, "%.2f", mw_table_median(page->table, family, MW_COL_SNIPPET_PEARSON));
        mw_sheet_number(sheet, "%.2f", mw_table_median(page->table, family, MW_COL_SNIPPET_SPEARMAN));
        mw_sheet_number(sheet, "%.2f", mw_table_quantile(page->table, family, MW_COL_SNIPPET_SPEARMAN, 0));
        mw_sheet_number(sheet, "%.2f", mw_table_quantile(page->table, family, MW_COL_SNIPPET_SPEARMAN, 1));
        mw_sheet_number(sheet, "%.2f", p->pearson);
        mw_sheet_number(sheet, "%.2f", p->spearman);
        mw_sheet_number(sheet, "%.2f", range->least);
        mw_sheet_number(sheet, "%.2f", range->most);
    }
    mw_page_table(page, sheet, NULL);
}

static void name_cloud(cloud *c, int series, const char *name) {
    for (; c->series_count <= series; c->series_count++) c->names[c->series_count][0] = 0;
    snprintf(c->names[series], sizeof c->names[series], "%s", name);
}

static int points_beyond(const cloud *c) {
    int beyond = 0;
    for (int k = 0; k < c->count; k++) beyond += fabs(c->points[k].x) > 4 || fabs(c->points[k].y) > 4;
    return beyond;
}

static void say_beyond(mw_page *page, int beyond) {
    if (beyond == 1) mw_page_say(page, "One point lies beyond the axes and is drawn at their end.");
    if (beyond > 1) mw_page_say(page, "%d points lie beyond the axes and are drawn at their ends.", beyond);
}

/* All families together, then each for itself. */
static void family_clouds(mw_page *page) {
    static _Thread_local cloud c;
    int beyond = 0;
    mw_sheet *sheet = cloud_sheet();
    mw_page_figure_begin(page, NULL);
    for (int panel = 0; panel <= FAMILIES; panel++) {
        c.count = c.series_count = 0;
        for (int f = 0; f < FAMILIES; f++) {
            if (panel && f != panel - 1) continue;
            name_cloud(&c, panel ? 0 : f, mw_family_at(f)->title);
            for (int i = 0; i < MW_TABLE_ROWS; i++)
                if (!strcmp(page->table->rows[i].family, mw_family_at(f)->name))
                    add_points(&c, &page->table->rows[i], panel ? 0 : f, panel ? NULL : sheet);
        }
        plot_cloud(page, &c, panel ? mw_family_at(panel - 1)->title : "all settings");
        if (!panel) beyond = points_beyond(&c);
    }
    mw_page_figure_end(page, sheet);
    say_beyond(page, beyond);
}

/* A panel for each task, in which its qualities are told apart. */
static void task_clouds(mw_page *page) {
    static _Thread_local cloud c;
    int beyond = 0;
    mw_sheet *sheet = cloud_sheet();
    mw_page_figure_begin(page, NULL);
    for (int i = 0, next; i < MW_TABLE_ROWS; i = next) {
        const char *task = page->table->rows[i].setting->task;
        c.count = c.series_count = 0;
        for (next = i; next < MW_TABLE_ROWS && !strcmp(page->table->rows[next].setting->task, task); next++) {
            const mw_study_row *row = &page->table->rows[next];
            const int series = next - i;
            if (series >= MOST_CLOUDS || !row->summary) continue;
            name_cloud(&c, series, row->setting->quality);
            add_points(&c, row, series, sheet);
        }
        plot_cloud(page, &c, task);
        beyond += points_beyond(&c);
    }
    mw_page_figure_end(page, sheet);
    say_beyond(page, beyond);
}

void mw_item_alignment(mw_page *page) {
    correlations(page);
    if (aligned(page)) family_clouds(page);
}

void mw_item_calibration(mw_page *page) {
    if (!aligned(page)) return;
    task_clouds(page);
    mw_sheet *sheet = mw_page_settings_sheet();
    mw_sheet_column(sheet, "H = 8", "Pearson", "of all snippets");
    mw_sheet_column(sheet, "H = 8", "Spearman", NULL);
    mw_sheet_column(sheet, NULL, "snippets", NULL);
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &page->table->rows[i];
        mw_page_setting(page, sheet, row);
        mw_sheet_number(sheet, "%.2f", row->value[MW_COL_SNIPPET_PEARSON]);
        mw_sheet_number(sheet, "%.2f", row->value[MW_COL_SNIPPET_SPEARMAN]);
        mw_sheet_number(sheet, "%.0f", row->value[MW_COL_SNIPPETS]);
    }
    mw_page_table(page, sheet, NULL);
}
