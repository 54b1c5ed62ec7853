/* Learning curves: one JSON object per line while learning goes on, and a picture of them. */
#ifndef MW_BEHAVIOR_LEARN_CURVE_H
#define MW_BEHAVIOR_LEARN_CURVE_H

#include "behavior/learn/learner.h"

/* Appends one line; the file is complete after every call. */
mw_status mw_curve_append(const char *path, const mw_learn_report *report, double seconds, mw_error *error);
/* Drops the lines of iterations after `last`, which an interrupted run wrote after its last checkpoint, and
 * returns the seconds that the kept ones took. A missing file is an empty one. */
mw_status mw_curve_rewind(const char *path, long last, double *seconds, mw_error *error);
/* Return over environment steps, smoothed, as a small SVG. */
mw_status mw_curve_draw(const char *path, const char *svg, const char *title, mw_error *error);

#endif
