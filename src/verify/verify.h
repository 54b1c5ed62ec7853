/* What the comparisons with recorded numbers share: a checker calls mw_verify_check once per quantity with
 * the largest error it saw, and whoever started it (mawam/verify.h) decides how to show the lines and what a
 * failure means. */
#ifndef MW_VERIFY_VERIFY_H
#define MW_VERIFY_VERIFY_H

#include "mawam/verify.h"
#include "core/error.h"

/* One line: passes when error <= tolerance (NaN fails). The format names the check, for example
 * "spread: position after one step". */
void mw_verify_check(mw_verify *report, double error, double tolerance, const char *format, ...)
    MW_PRINTF(4, 5);

/* The larger of `worst` and |seen - expected|, where NaN counts as infinite: the accumulator of a check. */
double mw_verify_worst(double worst, double seen, double expected);

#endif
