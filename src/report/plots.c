/* Curves, points, boxes and bars; see plots.h. */
#include "report/plots.h"

#include "report/analysis.h"

#include <math.h>

enum { WIDTH = 460, HEIGHT = 300, LEFT = 70, RIGHT = 14, TOP = 30, BELOW = 40 };

static mw_plot panel(FILE *out, mw_axis x, mw_axis y) {
    return (mw_plot){out, LEFT, TOP, WIDTH - LEFT - RIGHT, HEIGHT - TOP - BELOW, x, y};
}

/* ---- curves ---- */

static bool shown(const mw_plot *p, double x, double y) {
    return mw_axis_shows(&p->x, x) && mw_axis_shows(&p->y, y);
}

static void band(const mw_plot *p, const mw_curve *c, int series) {
    int points = 0;
    for (int i = 0; i < c->count; i++)
        points += shown(p, c->x[i], c->low[i]) && shown(p, c->x[i], c->high[i]);
    if (points < 2) return;
    fprintf(p->out, "<path class='band s%d' d='", series);
    for (int k = 0, begun = 0; k < 2 * c->count; k++) {
        const int i = k < c->count ? k : 2 * c->count - 1 - k;
        if (!shown(p, c->x[i], c->low[i]) || !shown(p, c->x[i], c->high[i])) continue;
        fprintf(p->out, "%c%.1f %.1f", begun++ ? 'L' : 'M', mw_plot_x(p, c->x[i]),
                mw_plot_y(p, k < c->count ? c->high[i] : c->low[i]));
    }
    fputs("Z'/>\n", p->out);
}

static void curve(const mw_plot *p, const mw_curve *c, int series) {
    fprintf(p->out, "<path class='curve l%d' d='", series);
    for (int i = 0, begun = 0; i < c->count; i++)
        if (shown(p, c->x[i], c->y[i]))
            fprintf(p->out, "%c%.1f %.1f", begun++ ? 'L' : 'M', mw_plot_x(p, c->x[i]), mw_plot_y(p, c->y[i]));
    fputs("'/>\n", p->out);
    for (int i = 0; i < c->count; i++) {
        if (!shown(p, c->x[i], c->y[i])) continue;
        fprintf(p->out, "<circle cx='%.1f' cy='%.1f' r='3' class='s%d'>", mw_plot_x(p, c->x[i]),
                mw_plot_y(p, c->y[i]), series);
        mw_svg_tip(p->out, "%s, %g: %.4g", c->name, c->x[i], c->y[i]);
        fputs("</circle>\n", p->out);
    }
}

void mw_plot_curves(FILE *out, const char *title, mw_axis x, mw_axis y, const mw_curve *curves, int count) {
    const mw_plot p = panel(out, x, y);
    const char *names[MW_SVG_SERIES];
    if (count > MW_SVG_SERIES) count = MW_SVG_SERIES;
    mw_svg_begin(out, WIDTH, HEIGHT, title);
    mw_plot_x_axis(&p);
    mw_plot_y_axis(&p);
    for (int k = 0; k < count; k++) {
        names[k] = curves[k].name;
        if (curves[k].low && curves[k].high) band(&p, &curves[k], k);
        curve(&p, &curves[k], k);
    }
    mw_svg_key(out, LEFT, 18, names, count);
    mw_svg_end(out);
}

/* ---- points ---- */

/* Shapes differ as colours do. */
static void mark(FILE *out, double x, double y, const mw_point *point) {
    static const char *const shapes[] = {"M-4 0A4 4 0 1 0 4 0A4 4 0 1 0 -4 0Z", "M-4 -4H4V4H-4Z",
                                         "M0 -5L5 4H-5Z", "M0 -5.5L5.5 0L0 5.5L-5.5 0Z"};
    fprintf(out, "<path class='s%d' opacity='0.8' transform='translate(%.1f %.1f)' d='%s'>",
            point->series % MW_SVG_SERIES, x, y, shapes[point->series & 3]);
    mw_svg_tip(out, "%s: %.4g, %.4g", point->name ? point->name : "", point->x, point->y);
    fputs("</path>\n", out);
}

void mw_plot_points(FILE *out, const mw_points *d) {
    const mw_plot p = panel(out, d->x, d->y);
    mw_svg_begin(out, WIDTH, HEIGHT, d->title);
    mw_plot_x_axis(&p);
    mw_plot_y_axis(&p);
    if (d->diagonal) {
        const double low = fmax(d->x.low, d->y.low), high = fmin(d->x.high, d->y.high);
        if (low < high)
            mw_svg_line(out, mw_plot_x(&p, low), mw_plot_y(&p, low), mw_plot_x(&p, high), mw_plot_y(&p, high),
                        "zero");
    }
    if (!isnan(d->x_mark))
        mw_svg_line(out, mw_plot_x(&p, d->x_mark), TOP, mw_plot_x(&p, d->x_mark), HEIGHT - BELOW, "zero");
    if (!isnan(d->y_mark))
        mw_svg_line(out, LEFT, mw_plot_y(&p, d->y_mark), WIDTH - RIGHT, mw_plot_y(&p, d->y_mark), "zero");
    for (int i = 0; i < d->count; i++) {
        const mw_point *point = &d->points[i];
        if (shown(&p, point->x, point->y)) mark(out, mw_plot_x(&p, point->x), mw_plot_y(&p, point->y), point);
    }
    mw_svg_key(out, LEFT, 18, d->series, d->series_count);
    mw_svg_end(out);
}

/* ---- boxes ---- */

static void box(const mw_plot *p, const mw_box *b, double middle, double half) {
    double y[5];
    static const double quantiles[] = {0, 0.25, 0.5, 0.75, 1};
    for (int k = 0; k < 5; k++) {
        const double value = mw_quantile_of(b->values, b->count, quantiles[k]);
        if (!mw_axis_shows(&p->y, value)) return;
        y[k] = mw_plot_y(p, value);
    }
    mw_svg_line(p->out, middle, y[0], middle, y[1], "whisker");
    mw_svg_line(p->out, middle, y[3], middle, y[4], "whisker");
    fprintf(p->out, "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' class='s%d' opacity='0.45'>",
            middle - half, y[3], 2 * half, fmax(y[1] - y[3], 0.5), b->series % MW_SVG_SERIES);
    mw_svg_tip(p->out, "%s: median %.3g, quartiles %.3g and %.3g", b->name, mw_median_of(b->values, b->count),
               mw_quantile_of(b->values, b->count, 0.25), mw_quantile_of(b->values, b->count, 0.75));
    fputs("</rect>\n", p->out);
    mw_svg_line(p->out, middle - half, y[2], middle + half, y[2], "whisker");
    for (int i = 0; i < b->count; i++)
        if (mw_axis_shows(&p->y, b->values[i]))
            fprintf(p->out, "<circle cx='%.1f' cy='%.1f' r='2' class='s%d'/>\n",
                    middle + half * 0.5 * ((i * 7 % 11) / 5.0 - 1), mw_plot_y(p, b->values[i]),
                    b->series % MW_SVG_SERIES);
}

void mw_plot_boxes(FILE *out, const char *title, const char *label, mw_axis y, const mw_box *boxes,
                   int count) {
    const char *names[16];
    if (count > 16) count = 16;
    const mw_plot p = panel(out, (mw_axis){.high = 1, .label = label}, y);
    mw_svg_begin(out, WIDTH, HEIGHT, title);
    mw_plot_y_axis(&p);
    for (int k = 0; k < count; k++) {
        const double part = p.width / count;
        names[k] = boxes[k].name;
        box(&p, &boxes[k], p.left + part * (k + 0.5), fmin(26, part * 0.3));
    }
    mw_plot_x_names(&p, names, count);
    mw_svg_text(out, LEFT, 18, "start", "label", "%s", title);
    mw_svg_end(out);
}

/* ---- bars ---- */

enum { BAR_WIDTH = 670, NAMES = 156, VALUES = 122, BAR = 12, GAP = 8 };

static void bar(const mw_plot *p, const mw_bars *b, int i, int series, double y) {
    const int at = i * b->series_count + series;
    const double value = b->values[at];
    if (!mw_axis_shows(&p->x, value)) return;
    const double zero = mw_plot_x(p, 0), end = mw_plot_x(p, value);
    double reach = fmax(zero, end);
    char text[64];
    snprintf(text, sizeof text, b->format, value); // NOLINT: formats are the reports' own
    fprintf(p->out, "<rect x='%.1f' y='%.1f' width='%.1f' height='%d' class='s%d'>", fmin(zero, end), y,
            fmax(fabs(end - zero), 0.8), BAR - 1, series % MW_SVG_SERIES);
    mw_svg_tip(p->out, "%s, %s: %s", b->names[i], b->series[series], text);
    fputs("</rect>\n", p->out);
    if (b->low && b->high && mw_axis_shows(&p->x, b->low[at]) && mw_axis_shows(&p->x, b->high[at])) {
        mw_svg_line(p->out, mw_plot_x(p, b->low[at]), y + BAR / 2.0, mw_plot_x(p, b->high[at]), y + BAR / 2.0,
                    "whisker");
        reach = fmax(reach, mw_plot_x(p, b->high[at]));
    }
    const bool cut = value > p->x.high || value < p->x.low;
    mw_svg_text(p->out, reach + 4, y + BAR - 2, "start", "value", "%s%s", text, cut ? " (beyond)" : "");
}

void mw_plot_bars(FILE *out, const mw_bars *b) {
    const double part = b->series_count * BAR + GAP;
    const mw_plot p = {
        out, NAMES, 28, BAR_WIDTH - NAMES - VALUES, b->count * part, b->x, {.high = 1, .label = ""}};
    mw_svg_begin(out, BAR_WIDTH, p.top + p.height + BELOW, b->title);
    mw_plot_x_axis(&p);
    for (int i = 0; i < b->count; i++) {
        const double y = p.top + i * part;
        mw_svg_text(out, NAMES - 8, y + part / 2 + 2, "end", "value", "%s", b->names[i]);
        for (int k = 0; k < b->series_count; k++) bar(&p, b, i, k, y + GAP / 2.0 + k * BAR);
    }
    mw_svg_text_up(out, 14, p.top + p.height / 2, "label", b->label);
    mw_svg_key(out, NAMES, 16, b->series, b->series_count);
    mw_svg_end(out);
}
