/* The report over what studies have left; see mawam/study.h. */
#include "core/numbers.h"
#include "report/report.h"

#include "mawam/study.h"

#include <stdlib.h>

_Static_assert((int)MW_STUDY_SEEDS == (int)MW_SOURCES_SEEDS + 1, "reports take all training seeds");

mw_status mw_study_report(const char *const *folders, int count, const char *output, bool overwrite,
                          int *present, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED(folders);
    MW_NEED(output);
    mw_sources *sources = malloc(sizeof *sources);
    if (!sources) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a report");
    mw_status status = mw_sources_read(sources, folders, count, output, error);
    if (status == MW_OK) {
        status =
            sources->table.present
                ? mw_report_write(sources, output, overwrite, error)
                : mw_fail(error, MW_ERR_IO, "no summaries in %.300s, neither in results/ nor in settings/",
                          count > 0 ? folders[0] : "no folder");
        if (present) *present = sources->table.present;
        mw_sources_free(sources);
    }
    free(sources);
    return status;
}
