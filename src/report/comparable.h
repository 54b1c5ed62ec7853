/* What may stand in one report: files of different revisions do, and are named; of a setting's data, rules
 * and episodes there is one kind. */
#ifndef MW_REPORT_COMPARABLE_H
#define MW_REPORT_COMPARABLE_H

#include "report/sources.h"

/* Fills revisions and revision; fails where results cannot be compared, with the file, the field, what was
 * expected and what was found. */
mw_status mw_sources_check(mw_sources *sources, mw_error *error);

#endif
