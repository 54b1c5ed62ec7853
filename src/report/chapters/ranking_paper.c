/* In the chapter on ranking: recorded snippets imagined by the world models that were trained by the paper's
 * method, beside mawam's on the same settings. */
#include "report/page.h"
#include "report/report.h"

#include <math.h>
#include <string.h>

/* What is shown of a model on a setting's snippets. */
enum { NEAR, FAR, REGRET, ERROR, FIGURES };
static const char *const titles[FIGURES] = {"Spearman, H of the plan", "Spearman, H = 8", "n-regret, H = 8",
                                            "rollout error, H = 8"};
static const char *const formats[FIGURES] = {"%.2f", "%.2f", "%.2f", "%.3f"};

static void figures_of(const mw_study_row *row, double out[FIGURES]) {
    const double plan = row->value[MW_COL_EVAL_H];
    const bool known = plan >= 1 && plan <= MW_TABLE_HORIZONS;
    out[NEAR] = known ? row->snippets[MW_SNIPPET_SPEARMAN][(int)plan - 1] : (double)NAN;
    out[FAR] = row->snippets[MW_SNIPPET_SPEARMAN][7];
    out[REGRET] = row->snippets[MW_SNIPPET_REGRET][7];
    out[ERROR] = row->snippets[MW_SNIPPET_ERROR][7];
}

/* Of the settings that were diagnosed by both methods. */
typedef struct {
    double theirs[FIGURES][MW_TABLE_ROWS], ours[FIGURES][MW_TABLE_ROWS];
    int count;
} pairs;

static bool add_pair(pairs *p, const mw_study_row *theirs, const mw_study_row *ours) {
    double a[FIGURES], b[FIGURES];
    figures_of(theirs, a);
    figures_of(ours, b);
    if (isnan(a[FAR]) || isnan(b[FAR])) return false;
    for (int k = 0; k < FIGURES; k++) {
        p->theirs[k][p->count] = a[k];
        p->ours[k][p->count] = b[k];
    }
    p->count++;
    return true;
}

static pairs pairs_of(const mw_page *page, const char *family) {
    const mw_study_table *other = &page->sources->branches[MW_BRANCH_PAPER];
    pairs p = {.count = 0};
    for (int i = 0; i < MW_TABLE_ROWS; i++)
        if (!strcmp(page->table->rows[i].family, family))
            add_pair(&p, &other->rows[i], &page->table->rows[i]);
    return p;
}

static void family_rows(const mw_page *page, mw_sheet *sheet) {
    mw_sheet_section(sheet, "Medians");
    for (int f = 0; f < 3; f++) {
        const pairs p = pairs_of(page, mw_family_at(f)->name);
        const mw_paper_horizon *published = mw_paper_horizon_find(mw_family_at(f)->name, 8);
        char name[64];
        if (!p.count) continue;
        snprintf(name, sizeof name, "%s, %d setting%s", mw_family_at(f)->title, p.count, mw_plural(p.count));
        mw_sheet_row(sheet, name, NULL);
        for (int k = 0; k < FIGURES; k++)
            mw_sheet_number(sheet, formats[k], mw_median_of(p.theirs[k], p.count));
        for (int k = 0; k < FIGURES; k++)
            mw_sheet_number(sheet, formats[k], mw_median_of(p.ours[k], p.count));
        mw_sheet_number(sheet, "%.2f", published->spearman);
        mw_sheet_number(sheet, "%.3f", published->rollout_mse);
    }
}

void mw_item_snippets_paper(mw_page *page) {
    const mw_study_table *other = &page->sources->branches[MW_BRANCH_PAPER];
    mw_sheet *sheet = mw_page_settings_sheet();
    pairs all = {.count = 0};
    for (int k = 0; k < FIGURES; k++) mw_sheet_column(sheet, "paper's method, here", titles[k], NULL);
    for (int k = 0; k < FIGURES; k++) mw_sheet_column(sheet, "mawam", titles[k], NULL);
    mw_sheet_column(sheet, "published", titles[FAR], "median over all settings of the family");
    mw_sheet_column(sheet, "published", titles[ERROR], "median over all settings of the family");
    family_rows(page, sheet);
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &page->table->rows[i];
        if (!add_pair(&all, &other->rows[i], row)) continue;
        mw_page_setting(page, sheet, row);
        for (int k = 0; k < FIGURES; k++) mw_sheet_number(sheet, formats[k], all.theirs[k][all.count - 1]);
        for (int k = 0; k < FIGURES; k++) mw_sheet_number(sheet, formats[k], all.ours[k][all.count - 1]);
    }
    if (!all.count) {
        mw_sheet_free(sheet);
        mw_page_missing(page, "no setting has snippets by both methods",
                        "mawam study run --parts main,paper --resume");
        return;
    }
    int below = 0;
    for (int i = 0; i < all.count; i++) below += all.theirs[FAR][i] < all.ours[FAR][i];
    mw_page_say(page,
                "At H = 8 the paper's world model orders snippets worse than mawam's in %d of %d setting%s "
                "(Spearman); a negative one orders them the wrong way round.",
                below, all.count, mw_plural(all.count));
    mw_page_table(page, sheet, NULL);
}
