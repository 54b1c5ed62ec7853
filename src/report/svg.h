/* What all figures of the reports share: the picture's frame, escaped text, tooltips, axes with ticks, labels
 * and units, and colours that the colour-blind can tell apart. Numbers may come from hostile files: whatever
 * is not finite is not drawn, whatever lies outside an axis is drawn at its end. */
#ifndef MW_REPORT_SVG_H
#define MW_REPORT_SVG_H

#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>

/* Rules for a page's <style>: classes of text (tick, label, value), lines (grid, zero, frame, whisker) and
 * the series' colours s0..s7 (fill) and l0..l7 (stroke), for light, dark and paper. Colours come from the
 * variables --ink, --soft, --line and --s0..--s7, which mw_svg_variables sets. */
extern const char mw_svg_variables[]; /* ":root" rules */
extern const char mw_svg_style[];
enum { MW_SVG_SERIES = 8 };

/* As vsnprintf, with a dash for numbers that are none. */
void mw_text_format(char *out, size_t size, const char *format, va_list list);
void mw_html_escape(FILE *out, const char *text); /* for elements and quoted attributes */

void mw_svg_begin(FILE *out, double width, double height, const char *title); /* what is seen, in words */
void mw_svg_end(FILE *out);

/* anchor: "start", "middle" or "end"; class may hold several names. Escaped. */
void mw_svg_text(FILE *out, double x, double y, const char *anchor, const char *class, const char *format,
                 ...) MW_PRINTF(6, 7);
/* The same, read from below upwards: labels of vertical axes. */
void mw_svg_text_up(FILE *out, double x, double y, const char *class, const char *text);
/* A tooltip: a child of the element that it explains. */
void mw_svg_tip(FILE *out, const char *format, ...) MW_PRINTF(2, 3);
void mw_svg_line(FILE *out, double x1, double y1, double x2, double y2, const char *class);

/* ---- axes ---- */

typedef struct mw_axis {
    double low, high; /* low < high; logarithmic: both above 0 */
    bool logarithmic;
    const char *label; /* with its unit */
    bool whole;        /* ticks at whole numbers only */
} mw_axis;

/* An axis that holds all finite values (logarithmic: positive ones) with a little room, ends at round
 * numbers. Without any it goes from 0 to 1. */
mw_axis mw_axis_fit(const double *values, long count, bool logarithmic, const char *label);

/* 0 at the axis' low end, 1 at its high end, never beyond. */
double mw_axis_share(const mw_axis *axis, double value);

/* Can the value be shown on the axis? */
bool mw_axis_shows(const mw_axis *axis, double value);

/* Ticks that fit `count` intervals or so; returns how many, at most `most`. */
int mw_axis_ticks(const mw_axis *axis, int count, double *ticks, int most);

/* A field with an axis below and one at its left. */
typedef struct mw_plot {
    FILE *out;
    double left, top, width, height; /* of the field; labels stand outside: 66 left, 36 below */
    mw_axis x, y;
} mw_plot;

double mw_plot_x(const mw_plot *plot, double value);
double mw_plot_y(const mw_plot *plot, double value);

void mw_plot_x_axis(const mw_plot *plot); /* grid, ticks, label */
void mw_plot_y_axis(const mw_plot *plot);
/* Names instead of ticks, in the middle of equal parts. */
void mw_plot_x_names(const mw_plot *plot, const char *const *names, int count);

/* A key: a coloured square and a name for each series, from x on. */
void mw_svg_key(FILE *out, double x, double y, const char *const *names, int count);

/* ---- colours of fields ---- */

/* "#rrggbb" of a share in [0,1]: from dark blue over grey to yellow, lightness rising evenly (cividis). */
const char *mw_colour_share(char out[8], double share);
/* Of a number in [-1,1]: orange below zero, white at zero, blue above. */
const char *mw_colour_sign(char out[8], double number);
/* "#000" or "#fff": which of them can be read on this colour. */
const char *mw_colour_text(const char *ground);

#endif
