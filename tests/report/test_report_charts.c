/* The report's charts from results that cannot be: pictures end and stay small. */
#include "check.h"

#include "report/report_page.h"

static void impossible_numbers(void **state) {
    (void)state;
    static mw_study_table table;
    const double nasty[] = {-1e10, 1e10, -1e308, 1e308, INFINITY, -INFINITY, NAN, 1e-320, 0};
    for (size_t k = 0; k < sizeof nasty / sizeof *nasty; k++) {
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        assert_non_null(out);
        for (int i = 0; i < MW_TABLE_ROWS; i++) {
            mw_study_row *row = &table.rows[i];
            row->family = mw_report_families[i % 3];
            for (int c = 0; c < MW_TABLE_WIDTH; c++) row->value[c] = nasty[(k + (size_t)c) % 9];
            for (int h = 0; h < MW_TABLE_HORIZONS; h++)
                row->spearman[h] = row->error[h] = h % 2 ? 0.5 : nasty[k];
        }
        mw_page_horizon_curves(out, &table, false);
        mw_page_horizon_curves(out, &table, true);
        for (int f = 0; f < 3; f++) mw_page_gain_bars(out, &table, mw_report_families[f]);
        assert_int_equal(fclose(out), 0);
        assert_true(size < 1 << 20);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(impossible_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
