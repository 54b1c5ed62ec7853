/* Counting and formatting of checks; see verify.h. */
#include "verify/verify.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

void mw_verify_check(mw_verify *report, double error, double tolerance, const char *format, ...) {
    char check[160];
    va_list args;
    va_start(args, format);
    vsnprintf(check, sizeof check, format, args);
    va_end(args);
    bool ok = error <= tolerance;
    report->checks++;
    report->failed += !ok;
    if (report->line) report->line(report->context, check, error, tolerance, ok);
}

double mw_verify_worst(double worst, double seen, double expected) {
    double error = fabs(seen - expected);
    if (!(error == error)) return INFINITY;
    return error > worst ? error : worst;
}
