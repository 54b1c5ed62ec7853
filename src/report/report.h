/* The report of the study: tables for programs (CSV, JSON), a short one for people (Markdown), and a
 * self-contained page with our figures next to the paper's. Every number comes from the table. */
#ifndef MW_REPORT_REPORT_H
#define MW_REPORT_REPORT_H

#include "report/table.h"

#include <stdio.h>

/* Writes settings.csv, summary.json, settings/<setting>.json (without the single episodes), README.md and
 * index.html into the folder, which is made if need be. */
mw_status mw_report_write(const mw_study_table *table, const char *folder, mw_error *error);

void mw_report_page(const mw_study_table *table, FILE *out); /* index.html */

/* What the page and the short summary have in common. */
extern const char *const mw_report_families[3];         /* "mpe", "battle", "ant" */
const char *mw_report_family_title(const char *family); /* "MPE", "SMAC", "Ant"; NULL: "all" */

/* One line of "what, paper, ours": texts are for people, "-" where a number is missing. */
typedef struct mw_report_line {
    char what[96], paper[48], ours[80];
    int met; /* 1: at least as good as the paper (gains: by mean and median), 0: not, -1: cannot be said yet
              */
} mw_report_line;
enum { MW_REPORT_LINES = 17 };
int mw_report_lines(const mw_study_table *table, mw_report_line lines[MW_REPORT_LINES]); /* how many */

#endif
