/* How sure the difference of planning to reactive is: what the episodes could have shown, what stands when
 * all settings are looked at, and how much another training seed changes. */
#include "report/page.h"

#include <math.h>

static void training_words(mw_page *page) {
    const mw_study_table *t = page->table;
    double ratios[MW_TABLE_ROWS];
    int settings = 0, turned = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const double *v = t->rows[i].value;
        ratios[i] = v[MW_COL_TRAINING_STD] / v[MW_COL_EVAL_SEED_STD];
        settings += !isnan(v[MW_COL_TRAINING_STD]);
        turned += v[MW_COL_TRAINING_DELTA] * v[MW_COL_DELTA] < 0;
    }
    if (!settings) {
        mw_page_missing(page, "no further training seeds", "mawam study run --parts main,seeds --resume");
        return;
    }
    const double ratio = mw_median_of(ratios, MW_TABLE_ROWS);
    char times[160] = "";
    if (!isnan(ratio))
        snprintf(times, sizeof times,
                 "the difference varies over them %.2g times as much as from one evaluation seed to another "
                 "(median; %.2g to %.2g); ",
                 ratio, mw_quantile_of(ratios, MW_TABLE_ROWS, 0), mw_quantile_of(ratios, MW_TABLE_ROWS, 1));
    mw_page_say(page,
                "Of %d setting%s there are several training seeds: %sin %d the mean of the difference over "
                "training seeds "
                "has the other sign than that of the first one.",
                settings, mw_plural(settings), times, turned);
}

void mw_item_uncertainty(mw_page *page) {
    const mw_study_table *t = page->table;
    const mw_comparison c = mw_table_compare_arms(t, NULL, MW_ARM_PLAN, MW_ARM_REACTIVE);
    double p[MW_TABLE_ROWS];
    bool firm[MW_TABLE_ROWS];
    const double smallest = mw_table_median(t, NULL, MW_COL_SMALLEST_RELATIVE);
    if (c.intervals)
        mw_page_say(page,
                    "With all settings looked at, planning is better in %d and worse in %d; single intervals "
                    "lie above zero in %d and below in %d.",
                    c.firm_wins, c.firm_losses, c.clear_wins, c.clear_losses);
    else
        mw_page_missing(page, "no difference to reactive has an interval",
                        "mawam study run --dir study --resume");
    if (!isnan(smallest))
        mw_page_say(page, "The episodes could have shown a relative gain of %.1f%% (median).",
                    100 * smallest);
    training_words(page);
    for (int i = 0; i < MW_TABLE_ROWS; i++) p[i] = mw_row_p(&t->rows[i], MW_ARM_PLAN, MW_ARM_REACTIVE);
    mw_holm(firm, p, MW_TABLE_ROWS);
    mw_sheet *sheet = mw_page_settings_sheet();
    mw_sheet_column(sheet, "planning - reactive", "difference", "95% interval over paired episodes");
    mw_sheet_column(sheet, "planning - reactive", "smallest visible", NULL);
    mw_sheet_column(sheet, "planning - reactive", "p", "two-sided, of this setting alone");
    mw_sheet_column(sheet, "planning - reactive", "Holm", "with all settings looked at");
    mw_sheet_column(sheet, "std", "evaluation seeds", NULL);
    mw_sheet_column(sheet, "std", "training seeds", NULL);
    mw_sheet_column(sheet, "training seeds", "number", NULL);
    mw_sheet_column(sheet, "training seeds", "mean", NULL);
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &t->rows[i];
        const char *format = mw_row_format(row), *with_sign = mw_row_signed_format(row);
        const mw_interval d = mw_row_difference(row, MW_ARM_PLAN, MW_ARM_REACTIVE);
        mw_page_setting(page, sheet, row);
        mw_sheet_gain(sheet, with_sign, d.mean, d.low, d.high);
        mw_sheet_number(sheet, format, row->value[MW_COL_SMALLEST]);
        mw_sheet_number(sheet, "%.2g", p[i]);
        mw_sheet_text(sheet, "%s", !firm[i] ? "" : d.mean > 0 ? "better" : "worse");
        mw_sheet_number(sheet, format, row->value[MW_COL_EVAL_SEED_STD]);
        mw_sheet_number(sheet, format, row->value[MW_COL_TRAINING_STD]);
        mw_sheet_number(sheet, "%.0f", row->value[MW_COL_TRAINING_SEEDS]);
        mw_sheet_number(sheet, with_sign, row->value[MW_COL_TRAINING_DELTA]);
    }
    mw_page_table(page, sheet, NULL);
}
