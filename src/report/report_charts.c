/* Charts of the report's page; see report_page.h. Colours are classes, so that the page's style decides them
 * for light and dark. */
#include "report/report_page.h"

#include "eval/statistics.h"

#include <math.h>
#include <string.h>

static double clamp(double x, double low, double high) {
    return fmin(fmax(x, low), high);
}

/* ---- gain bars ---- */

enum { LABELS = 164, WIDTH = 840, ROW = 34, TOP = 26, VALUES = 76 };
#define MOST_GAIN 1.5 /* larger ones are cut and say so */

typedef struct {
    double low, high; /* of the axis */
} scale;

static double place(scale s, double value) {
    return LABELS + (clamp(value, s.low, s.high) - s.low) / (s.high - s.low) * (WIDTH - LABELS - VALUES);
}

/* The interval of the gain as a relative one: both are the same number in different units. */
static bool relative_interval(const double *v, double *low, double *high) {
    if (isnan(v[MW_COL_RELATIVE]) || !(v[MW_COL_REACTIVE] != 0)) return false;
    const double unit = v[MW_COL_GAIN_RETURN] != 0 ? v[MW_COL_RELATIVE] / v[MW_COL_GAIN_RETURN] : NAN;
    *low = unit * v[MW_COL_GAIN_LOW];
    *high = unit * v[MW_COL_GAIN_HIGH];
    return !isnan(*low) && !isnan(*high);
}

static scale gain_scale(const mw_study_table *t, const char *family) {
    scale s = {0, 0.05};
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const double *v = t->rows[i].value;
        double low, high;
        if (strcmp(t->rows[i].family, family)) continue;
        s.low = fmin(s.low, fmin(v[MW_COL_RELATIVE], v[MW_COL_PUBLISHED_RELATIVE])); /* fmin passes over NaN
                                                                                      */
        s.high = fmax(s.high, fmax(v[MW_COL_RELATIVE], v[MW_COL_PUBLISHED_RELATIVE]));
        if (!relative_interval(v, &low, &high)) continue;
        s.low = fmin(s.low, low);
        s.high = fmax(s.high, high);
    }
    s.low = clamp(1.08 * s.low, -1, 0);
    s.high = clamp(1.08 * s.high, 0, MOST_GAIN);
    return s;
}

/* A step of 1, 2 or 5 times a power of ten that gives four to ten lines. */
static double grid_step(double range) {
    const double power = pow(10, floor(log10(range / 4)));
    const double ratio = range / 4 / power;
    return power * (ratio >= 5 ? 5 : ratio >= 2 ? 2 : 1);
}

static void grid(FILE *out, scale s, int height) {
    const double step = grid_step(s.high - s.low);
    for (double x = ceil(s.low / step) * step; x <= s.high + 1e-9; x += step) {
        const double at = place(s, x);
        const bool zero = fabs(x) < step / 1000;
        fprintf(out, "<line x1='%.1f' x2='%.1f' y1='%d' y2='%d' class='%s'/>", at, at, TOP - 4, height - 4,
                zero ? "zero" : "grid");
        fprintf(out, "<text x='%.1f' y='%d' class='tick' text-anchor='middle'>%s%.0f%%</text>\n", at,
                TOP - 10, x > 0 && !zero ? "+" : "", zero ? 0.0 : 100 * x);
    }
}

/* The number stands right of the bar, and of `reach` where something else goes further. */
static void bar(FILE *out, scale s, double value, double reach, double y, double height, const char *kind) {
    if (isnan(value)) return;
    const double zero = place(s, 0), end = place(s, value);
    fprintf(out, "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' rx='2' class='%s'/>", fmin(zero, end), y,
            fmax(fabs(end - zero), 1), height, kind);
    fprintf(out, "<text x='%.1f' y='%.1f' class='value %s'>%s%+.1f%%</text>\n",
            fmax(fmax(zero, end), place(s, reach)) + 5, y + height - 2, kind,
            value > s.high || value < s.low ? "&#8594; " : "", 100 * value);
}

static void gain_row(FILE *out, const mw_study_row *row, scale s, double y) {
    const double *v = row->value;
    double low, high;
    fprintf(out, "<text x='%d' y='%.1f' class='label' text-anchor='end'>%s</text>", LABELS - 10, y + 19,
            row->name);
    bar(out, s, v[MW_COL_PUBLISHED_RELATIVE], 0, y + 17, 10, "paper");
    if (!row->summary) {
        fprintf(out, "<text x='%.1f' y='%.1f' class='tick'>missing</text>\n", place(s, 0) + 5, y + 13);
        return;
    }
    const bool interval = relative_interval(v, &low, &high);
    bar(out, s, v[MW_COL_RELATIVE], interval ? high : 0, y + 4, 12, "ours");
    if (interval)
        fprintf(out, "<path d='M%.1f %.1fH%.1f' class='whisker'/>\n", place(s, low), y + 10, place(s, high));
}

void mw_page_gain_bars(FILE *out, const mw_study_table *t, const char *family) {
    const scale s = gain_scale(t, family);
    int rows = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++) rows += !strcmp(t->rows[i].family, family);
    const int height = TOP + rows * ROW + 4;
    fprintf(out, "<svg viewBox='0 0 %d %d' role='img' aria-label='relative gain of planning, %s'>\n", WIDTH,
            height, mw_report_family_title(family));
    grid(out, s, height);
    for (int i = 0, k = 0; i < MW_TABLE_ROWS; i++)
        if (!strcmp(t->rows[i].family, family)) gain_row(out, &t->rows[i], s, TOP + ROW * k++);
    fputs("</svg>\n", out);
}

/* ---- curves over horizons ---- */

enum { CURVE_WIDTH = 400, CURVE_HEIGHT = 250, LEFT = 46, RIGHT = 52, ABOVE = 14, BELOW = 34 };

static double median_at(const mw_study_table *t, const char *family, int h, bool error) {
    double x[MW_TABLE_ROWS];
    int n = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &t->rows[i];
        const double value = error ? row->error[h] : row->spearman[h];
        const bool possible = error ? isfinite(value) && value > 0 : fabs(value) <= 1; /* results are files */
        if (!strcmp(row->family, family) && possible) x[n++] = value;
    }
    mw_sort(x, n);
    return n ? mw_quantile(x, n, 0.5) : NAN;
}

static double across(int h) {
    return LEFT + (double)h / (MW_TABLE_HORIZONS - 1) * (CURVE_WIDTH - LEFT - RIGHT);
}

static double down(scale s, double value) {
    return ABOVE + (s.high - value) / (s.high - s.low) * (CURVE_HEIGHT - ABOVE - BELOW);
}

static scale curve_scale(const mw_study_table *t, bool error) {
    scale s = {error ? INFINITY : 0, error ? -INFINITY : 1};
    for (int f = 0; f < 3; f++)
        for (int h = 0; h < MW_TABLE_HORIZONS; h++) {
            const double value = median_at(t, mw_report_families[f], h, error);
            if (isnan(value)) continue;
            s.low = fmin(s.low, error ? log10(value) : value);
            s.high = fmax(s.high, error ? log10(value) : value);
        }
    if (!(s.low <= s.high)) s = (scale){-1, 0};
    return error ? (scale){floor(s.low), fmax(ceil(s.high), floor(s.low) + 1)}
                 : (scale){floor(5 * s.low) / 5, s.high};
}

static void curve_axes(FILE *out, scale s, bool error) {
    const double step = error ? 1 : 0.2;
    for (double y = s.low; y <= s.high + 1e-9; y += step) {
        fprintf(out, "<line x1='%d' x2='%d' y1='%.1f' y2='%.1f' class='grid'/>", LEFT, CURVE_WIDTH - RIGHT,
                down(s, y), down(s, y));
        fprintf(out, "<text x='%d' y='%.1f' class='tick' text-anchor='end'>%.*g</text>\n", LEFT - 6,
                down(s, y) + 4, error ? 3 : 2,
                error            ? pow(10, y)
                : fabs(y) < 1e-9 ? 0
                                 : y);
    }
    for (int h = 1; h <= MW_TABLE_HORIZONS; h = h == 1 ? 4 : h + 4)
        fprintf(out, "<text x='%.1f' y='%d' class='tick' text-anchor='middle'>%d</text>\n", across(h - 1),
                CURVE_HEIGHT - 16, h);
    fprintf(out, "<text x='%.1f' y='%d' class='tick' text-anchor='middle'>horizon</text>\n",
            (across(0) + across(MW_TABLE_HORIZONS - 1)) / 2, CURVE_HEIGHT - 2);
}

/* Names at the ends of lines, pushed apart where they would touch. */
static void curve_names(FILE *out, const double ends[3], int horizon[3]) {
    double y[3];
    for (int f = 0; f < 3; f++) y[f] = ends[f];
    for (int pass = 0; pass < 6; pass++)
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                if (a != b && y[a] <= y[b] && y[b] - y[a] < 14 && (y[a] < y[b] || a < b)) {
                    const double push = (14 - (y[b] - y[a])) / 2;
                    y[a] -= push;
                    y[b] += push;
                }
    for (int f = 0; f < 3; f++)
        if (!isnan(y[f]))
            fprintf(out, "<text x='%.1f' y='%.1f' class='name %s'>%s</text>\n", across(horizon[f]) + 6,
                    y[f] + 4, mw_report_families[f], mw_report_family_title(mw_report_families[f]));
}

void mw_page_horizon_curves(FILE *out, const mw_study_table *t, bool error) {
    const scale s = curve_scale(t, error);
    double ends[3] = {NAN, NAN, NAN};
    int last[3] = {0};
    fprintf(out, "<svg viewBox='0 0 %d %d' role='img' aria-label='%s over horizons'>\n", CURVE_WIDTH,
            CURVE_HEIGHT, error ? "rollout error" : "Spearman correlation");
    curve_axes(out, s, error);
    for (int f = 0; f < 3; f++) {
        fprintf(out, "<path class='curve %s' d='", mw_report_families[f]);
        for (int h = 0, begun = 0; h < MW_TABLE_HORIZONS; h++) {
            const double value = median_at(t, mw_report_families[f], h, error);
            if (isnan(value)) continue;
            ends[f] = down(s, error ? log10(value) : value);
            last[f] = h;
            fprintf(out, "%c%.1f %.1f", begun++ ? 'L' : 'M', across(h), ends[f]);
        }
        fputs("'/>\n", out);
    }
    curve_names(out, ends, last);
    fputs("</svg>\n", out);
}
