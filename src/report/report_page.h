/* Pieces of the report's page: text and numbers as HTML, and charts as inline SVG. */
#ifndef MW_REPORT_REPORT_PAGE_H
#define MW_REPORT_REPORT_PAGE_H

#include "report/report.h"

extern const char mw_page_head[]; /* up to the first word */

void mw_page_escape(FILE *out, const char *text); /* for elements and quoted attributes */

/* Bars of relative gain with intervals, ours next to the paper's, for the settings of a family. */
void mw_page_gain_bars(FILE *out, const mw_study_table *table, const char *family);

/* Medians of a family's settings over horizons, a line per family. error: rollout errors on a logarithmic
 * scale, otherwise Spearman. */
void mw_page_horizon_curves(FILE *out, const mw_study_table *table, bool error);

#endif
