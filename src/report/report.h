/* The report of the study: tables for programs (CSV, JSON), a short one for people (Markdown), and
 * self-contained pages with our figures next to the paper's. Every number comes from the sources. */
#ifndef MW_REPORT_REPORT_H
#define MW_REPORT_REPORT_H

#include "report/sources.h"

/* Writes settings.csv, summary.json, README.md, what it was made of (mw_sources_write), index.html and a page
 * per chapter into the folder, which is made if need be. */
mw_status mw_report_write(const mw_sources *sources, const char *folder, bool overwrite, mw_error *error);

/* Single files of it. */
void mw_report_csv(const mw_sources *sources, FILE *out); /* programs.c */
json_t *mw_report_summary(const mw_sources *sources);
void mw_report_markdown(const mw_sources *sources, FILE *out); /* markdown.c */

/* What pages and those files have in common: lines.c. */
const char *mw_report_family_title(const char *family); /* "MPE", "SMAC", "Ant"; NULL: "all" */

/* What the intervals of relative gains are, which depends on what the files hold; "" where there are none. */
const char *mw_relative_words(char out[480], const mw_study_table *table);

/* ", M = 8": of the settings that were played; "" of none. */
const char *mw_candidates_words(char out[48], const mw_study_table *table);

/* The world model against the strongest other selector, which chooses among the same candidates. */
typedef struct mw_selector_counts {
    int settings, best; /* compared; of them those in which its mean is the largest */
    int clear_wins, clear_losses;
} mw_selector_counts;
mw_selector_counts mw_selectors_count(const mw_sources *sources);

/* One line of "what, what it is held against, ours": texts are for people, "-" where a number is missing. */
typedef struct mw_report_line {
    char what[96], goal[64], ours[112];
    int met; /* 1: ours is at least as good, 0: not, -1: cannot be said yet */
} mw_report_line;
enum { MW_REPORT_LINES = 24 };
/* Both return how many. Against the paper's figures; gains are reached by mean and median. */
int mw_report_lines(const mw_study_table *table, mw_report_line lines[MW_REPORT_LINES]);
int mw_report_goals(const mw_study_table *table, mw_report_line lines[MW_REPORT_LINES]); /* goals.c */

/* Mean of a column over the settings of which the paper has same-state figures; how many of them lack it. */
double mw_report_state_mean(const mw_study_table *table, mw_column_id column, int *missing);

#endif
