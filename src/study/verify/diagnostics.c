/* Recorded statistics and diagnostics: the list of what `mawam verify diagnostics` checks in a folder. */
#include "study/verify/diagnostics.h"

#include "core/numbers.h"

static mw_verify_part *const parts[] = {
    mw_verify_study,
    mw_verify_ranking,
    mw_verify_cost,
    mw_verify_routing,
};

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
