/* The pages of a report and what their chapters are written with. A chapter is a list of items, each a table,
 * figure or algorithm of the paper or one of ours; an item's function writes sentences, tables and figures
 * with the calls below. Pages need nothing else: no network, style and script within. */
#ifndef MW_REPORT_PAGE_H
#define MW_REPORT_PAGE_H

#include "report/plots.h"
#include "report/sheet.h"
#include "report/sources.h"

typedef struct mw_page {
    FILE *out;
    const mw_sources *sources;
    const mw_study_table *table; /* of the sources */
    const char *label;           /* of the item that is being written */
    int files;                   /* of the item: tables and figures so far, for names of downloads */
    int shown;                   /* of the item: how many of ours */
    mw_status status;
} mw_page;

typedef struct mw_chapter {
    const char *id, *title, *words; /* file name without ".html"; what it is about */
} mw_chapter;

typedef struct mw_item {
    const char *label;   /* the paper's own, or ours: "own:..." */
    const char *chapter; /* its id */
    const char *title;
    const char *words; /* how to read it */
    void (*write)(mw_page *page);
} mw_item;

const mw_chapter *mw_chapter_at(int index); /* NULL past the end */
enum { MW_ITEMS = 64 };                     /* at most */
const mw_item *mw_item_at(int index);       /* NULL past the end; in the order of the paper */

/* ---- what items are written with ---- */

void mw_page_say(mw_page *page, const char *format, ...) MW_PRINTF(2, 3); /* a paragraph, escaped */
/* "Snippets a setting: 2000.", or "1200 to 2000"; nothing where none of values[n] is a number. */
void mw_page_sizes(mw_page *page, const char *what, const double *values, int n);
/* Ours is not there yet, and the command that makes it. */
void mw_page_missing(mw_page *page, const char *what, const char *command);
/* Takes the sheet. */
void mw_page_table(mw_page *page, mw_sheet *sheet, const char *caption);
/* <svg> elements go to page->out between the two; the sheet (taken) has the numbers. */
void mw_page_figure_begin(mw_page *page, const char *caption);
void mw_page_figure_end(mw_page *page, mw_sheet *sheet);

/* A sheet whose first column names settings. */
mw_sheet *mw_page_settings_sheet(void);
/* Begins the row of a setting, with a link to its replay if there is one, under its family's heading. */
void mw_page_setting(mw_page *page, mw_sheet *sheet, const mw_study_row *row);

/* A family's settings (those that take part; NULL: all) with a bar for each arm, and the std over its seeds.
 */
void mw_page_arm_bars(mw_page *page, const mw_study_table *table, const char *family, const bool *taking,
                      const int *arms, const char *const *titles, int count);

const char *mw_row_format(const mw_study_row *row);        /* digits that suit its unit */
const char *mw_row_signed_format(const mw_study_row *row); /* the same for differences */

static inline const char *mw_plural(int n) { /* of "setting" and the like */
    return n == 1 ? "" : "s";
}

/* "21 of 30 (18 with an interval above zero); worse in 9 (2 below zero)": for sentences and cells. */
const char *mw_comparison_text(char out[160], const mw_comparison *comparison);

/* ---- whole pages ---- */

extern const char mw_page_style[], mw_page_script[]; /* the files of page/ (cmake/texts.cmake) */

/* The chapter's page; *shown[item] receives how many of ours every item of it shows. */
mw_status mw_page_chapter(const mw_sources *sources, const mw_chapter *chapter, int *shown, FILE *out);
/* index.html; shown[] by item. */
mw_status mw_page_index(const mw_sources *sources, const int *shown, FILE *out);
void mw_page_begin(FILE *out, const char *title, const char *chapter);
void mw_page_finish(FILE *out);

/* ---- items, by the file that has them ---- */

void mw_item_main_results(mw_page *page);
void mw_item_gain_bars(mw_page *page);
void mw_item_gain_table(mw_page *page);
void mw_item_family_table(mw_page *page);
void mw_item_win_rates(mw_page *page);
void mw_item_oracle(mw_page *page);
void mw_item_oracle_horizon(mw_page *page);
void mw_item_random(mw_page *page);
void mw_item_as_drawn(mw_page *page);
void mw_item_uncertainty(mw_page *page);
void mw_item_method_paper(mw_page *page);
void mw_item_two_factor_cells(mw_page *page);
void mw_item_two_factor_points(mw_page *page);
void mw_item_quality(mw_page *page);
void mw_item_data(mw_page *page);
void mw_item_horizons(mw_page *page);
void mw_item_alignment(mw_page *page);
void mw_item_calibration(mw_page *page);
void mw_item_boxgrid(mw_page *page);
void mw_item_same_state(mw_page *page);
void mw_item_snippets_paper(mw_page *page);
void mw_item_longer(mw_page *page);
void mw_item_rollout(mw_page *page);
void mw_item_experts(mw_page *page);
void mw_item_context(mw_page *page);
void mw_item_context_paper(mw_page *page);
void mw_item_routing_examples(mw_page *page);
void mw_item_influence(mw_page *page);
void mw_item_selectors(mw_page *page);
void mw_item_cost(mw_page *page);
void mw_item_cost_batched(mw_page *page);
void mw_item_decisions(mw_page *page);
void mw_item_sweeps(mw_page *page);
void mw_item_drawing(mw_page *page);
void mw_item_algorithm(mw_page *page);
void mw_item_origin(mw_page *page);

#endif
