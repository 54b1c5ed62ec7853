/* One table of a report as data: columns with their groups and explanations, rows in sections, numbers with
 * std or intervals. It is written as HTML that can be sorted and as CSV, so that nothing is shown
 * without its numbers behind a link. */
#ifndef MW_REPORT_SHEET_H
#define MW_REPORT_SHEET_H

#include "core/error.h"

#include <stdio.h>

typedef struct mw_sheet mw_sheet;

/* NULL when there is no memory; all other functions accept that and do nothing. */
mw_sheet *mw_sheet_create(void);
void mw_sheet_free(mw_sheet *sheet);

/* Columns come first; the first one holds the rows' names. group may be NULL: none; neighbours of one group
 * share a heading. tip may be NULL; it explains. Texts live as long as the sheet. */
void mw_sheet_column(mw_sheet *sheet, const char *group, const char *title, const char *tip);

/* Begins a row; link may be NULL. Names and links are copied. */
void mw_sheet_row(mw_sheet *sheet, const char *name, const char *link);
/* Rows from here on stand under this heading, and are sorted among themselves; nothing new if they do. */
void mw_sheet_section(mw_sheet *sheet, const char *title);

/* The row's next cell. Formats are for HTML and take one double; CSV has ten digits. NaN is shown as a dash.
 */
void mw_sheet_number(mw_sheet *sheet, const char *format, double value);
void mw_sheet_spread(mw_sheet *sheet, const char *format, double value, double std);
void mw_sheet_interval(mw_sheet *sheet, const char *format, double value, double low, double high);
/* A difference: coloured by its sign, strong where its interval (NaN: none) does not hold zero. */
void mw_sheet_gain(mw_sheet *sheet, const char *format, double value, double low, double high);
void mw_sheet_text(mw_sheet *sheet, const char *format, ...) MW_PRINTF(2, 3);
void mw_sheet_strong(mw_sheet *sheet); /* the last cell */

void mw_sheet_html(const mw_sheet *sheet, FILE *out); /* <table> */
void mw_sheet_csv(const mw_sheet *sheet, FILE *out);
bool mw_sheet_complete(const mw_sheet *sheet); /* false: there was no memory for all of it */

#endif
