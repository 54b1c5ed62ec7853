/* By how much effort settings were made: a report may join studies of different budgets, and then says which
 * settings are not of the same kind as most. */
#ifndef MW_REPORT_PROTOCOL_H
#define MW_REPORT_PROTOCOL_H

#include "report/table.h"

enum { MW_PROTOCOL_TEXT = 320 };

/* "budget quick, most full; episodes 20, most 160": in what a setting differs from most of its family. False:
 * in nothing. Words may be a file's own. */
bool mw_protocol_difference(char out[MW_PROTOCOL_TEXT], const mw_study_table *table, int row);

#endif
