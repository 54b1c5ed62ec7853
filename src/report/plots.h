/* Figures of one panel each, made of arrays: curves with bands, points, boxes, bars. A page sets panels side
 * by side where there is room. */
#ifndef MW_REPORT_PLOTS_H
#define MW_REPORT_PLOTS_H

#include "report/svg.h"

/* A line; low and high (may be NULL) bound a band around it. Points that an axis cannot show are left out. */
typedef struct mw_curve {
    const char *name;
    const double *x, *y, *low, *high;
    int count;
} mw_curve;
void mw_plot_curves(FILE *out, const char *title, mw_axis x, mw_axis y, const mw_curve *curves, int count);

typedef struct mw_point {
    double x, y;
    int series;       /* colour and shape */
    const char *name; /* for the tooltip */
} mw_point;
/* diagonal: a line where both are equal. A line at a number that is not NaN: x_mark, y_mark. */
typedef struct mw_points {
    const char *title;
    mw_axis x, y;
    const mw_point *points;
    int count;
    const char *const *series;
    int series_count;
    bool diagonal;
    double x_mark, y_mark;
} mw_points;
void mw_plot_points(FILE *out, const mw_points *points);

/* Median, quartiles, whiskers to the ends, every value as a point. */
typedef struct mw_box {
    const char *name;
    const double *values; /* NaN: not there */
    int count, series;
} mw_box;
void mw_plot_boxes(FILE *out, const char *title, const char *label, mw_axis y, const mw_box *boxes,
                   int count); /* label: what the boxes' names are */

/* Lying bars: for each name one of every series, below each other, with an interval where there is one. */
typedef struct mw_bars {
    const char *title, *label; /* what the names are */
    mw_axis x;
    const char *const *names; /* [count] */
    int count;
    const char *const *series; /* [series_count] */
    int series_count;
    const double *values, *low, *high; /* [count][series_count]; NaN: none; low, high may be NULL */
    const char *format;                /* of the values' text */
} mw_bars;
void mw_plot_bars(FILE *out, const mw_bars *bars);

#endif
