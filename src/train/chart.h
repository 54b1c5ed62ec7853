/* Line charts as small self-contained SVG files: learning curves and the like. */
#ifndef MW_TRAIN_CHART_H
#define MW_TRAIN_CHART_H

#include "core/error.h"

typedef struct mw_chart_line {
    const char *name;
    const double *x, *y; /* [count], x ascending; points beyond 1e100 or not finite are left out */
    long count;
} mw_chart_line;

/* One panel. Lines longer than the picture has room for are drawn as means over equal stretches. */
typedef struct mw_chart {
    const char *title, *x_label;
    bool log_y; /* values that are not positive are left out */
    const mw_chart_line *lines;
    int line_count;
} mw_chart;

/* The panels one below the other; atomic. */
mw_status mw_chart_write(const char *path, const mw_chart *panels, int count, mw_error *error);

#endif
