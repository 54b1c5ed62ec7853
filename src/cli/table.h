/* Tables of the command line: described once by their columns, shown for people, for programs or for
 * documents. Every command that prints one takes --csv and --json (MW_OPT_SHOW in its options). */
#ifndef MW_CLI_TABLE_H
#define MW_CLI_TABLE_H

#include "cli/cli.h"

typedef struct mw_column {
    const char *key;    /* in CSV and JSON; NULL ends the list */
    const char *head;   /* over the column; NULL: no room for it but in CSV and JSON */
    int width;          /* negative: to the left */
    const char *format; /* of its numbers for people, "%.0f" for whole ones, MW_TRUTH; NULL: texts */
} mw_column;
#define MW_TRUTH "truth" /* numbers that say yes or no */

/* One value, by the column's kind. No text, or a number that is not finite, is a dash, an empty field or
 * null. */
typedef struct mw_cell {
    const char *text;
    double number;
} mw_cell;
#define MW_TEXT(value)                                                                                       \
    { .text = (value) }
#define MW_NUMBER(value)                                                                                     \
    { .number = (double)(value) }

typedef struct mw_table {
    mw_show show;
    const mw_column *columns;
    bool headed;  /* the columns' names are printed */
    json_t *rows; /* JSON: those so far; NULL for want of memory */
} mw_table;

/* A number for people: a dash where there is none, and no sign before a zero where signs are not shown. */
const char *mw_cli_number(char *out, size_t size, const char *format, double value);

void mw_table_begin(mw_table *table, mw_show show, const mw_column *columns);
void mw_table_row(mw_table *table, const mw_cell *cells); /* as many as there are columns */
int mw_table_end(mw_table *table);   /* prints JSON, or a head without rows; the exit code */
void mw_table_drop(mw_table *table); /* in place of the end, after a failure */

#endif
