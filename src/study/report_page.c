#include "study/report.h"
void mw_report_page(const mw_study_table *table, FILE *out) { (void)table; fputs("stub", out); }
