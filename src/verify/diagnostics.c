/* Recorded statistics and diagnostics: the list of what `mawam verify diagnostics` checks in a folder. */
#include "verify/diagnostics.h"

#include "core/numbers.h"

#include <math.h>

static mw_verify_part *const parts[] = {
    mw_verify_study,
    mw_verify_ranking,
    mw_verify_cost,
    mw_verify_routing,
};

double mw_verify_value(double worst, double seen, const json_t *value) {
    const double expected = json_is_number(value) ? json_number_value(value) : (double)NAN;
    if (isnan(seen) && isnan(expected)) return worst;
    const double size = fmax(1, fabs(expected));
    return mw_verify_worst(worst, seen / size, expected / size);
}

double mw_verify_recorded(double worst, double seen, const json_t *object, const char *key) {
    return mw_verify_value(worst, seen, json_object_get(object, key));
}

mw_status mw_verify_diagnostics(const char *dir, mw_verify *report, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED(dir);
    MW_NEED(report);
    int found = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) MW_TRY(parts[i](dir, &found, report, error));
    if (found) return MW_OK;
    return mw_fail(error, MW_ERR_FORMAT, "%s: found no recorded diagnostics (study.json and others) to check",
                   dir);
}
