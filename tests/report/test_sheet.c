/* Tables as data: both forms hold the same numbers, words of files stay words, gaps are gaps. */
#include "check.h"

#include "report/sheet.h"

#include <math.h>
#include <string.h>

static char *written(const mw_sheet *sheet, void (*put)(const mw_sheet *, FILE *)) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    put(sheet, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static mw_sheet *example(void) {
    mw_sheet *sheet = mw_sheet_create();
    mw_sheet_column(sheet, NULL, "name", NULL);
    mw_sheet_column(sheet, "ours", "value", "a 'tip'");
    mw_sheet_column(sheet, "ours", "gain", NULL);
    mw_sheet_column(sheet, NULL, "word", NULL);
    mw_sheet_section(sheet, "first <part>");
    mw_sheet_row(sheet, "a", "replays/a.html");
    mw_sheet_spread(sheet, "%.1f", 1.25, 0.5);
    mw_sheet_gain(sheet, "%+.1f", 2, 1, 3);
    mw_sheet_text(sheet, "%s", "<script>, \"x\"");
    mw_sheet_row(sheet, "b", NULL);
    mw_sheet_number(sheet, "%.1f", -0.001);
    mw_sheet_gain(sheet, "%+.1f", NAN, NAN, NAN); /* the last cell is left open */
    return sheet;
}

static void as_csv(void **state) {
    (void)state;
    mw_sheet *sheet = example();
    char *text = written(sheet, mw_sheet_csv);
    assert_true(mw_sheet_complete(sheet));
    assert_string_equal(text, "name,ours value,ours value std,ours gain,ours gain low,ours gain high,word\n"
                              "a,1.25,0.5,2,1,3,\"<script>, \"\"x\"\"\"\n"
                              "b,-0.001,,,,\n");
    free(text);
    mw_sheet_free(sheet);
}

static void as_html(void **state) {
    (void)state;
    mw_sheet *sheet = example();
    char *text = written(sheet, mw_sheet_html);
    assert_null(strstr(text, "<script"));
    assert_null(strstr(text, "<part>"));
    assert_null(strstr(text, "nan"));
    assert_non_null(strstr(text, "<a href='replays/a.html'>a</a>"));
    assert_non_null(strstr(text, "up strong"));
    assert_non_null(strstr(text, "colspan='2'>ours"));
    assert_non_null(strstr(text, ">-0.0</td>")); /* below zero, and counted so */
    assert_non_null(strstr(text, "title='a &#39;tip&#39;'"));
    free(text);
    mw_sheet_free(sheet);
}

/* More cells than columns, cells before rows, no columns, no sheet. */
static void odd_uses(void **state) {
    (void)state;
    mw_sheet *sheet = mw_sheet_create();
    mw_sheet_row(sheet, "none", NULL);
    mw_sheet_number(sheet, "%.1f", 1);
    mw_sheet_column(sheet, NULL, "name", NULL);
    mw_sheet_column(sheet, NULL, "x", NULL);
    mw_sheet_number(sheet, "%.1f", 1);
    for (int i = 0; i < 100; i++) {
        mw_sheet_row(sheet, "row", NULL);
        for (int k = 0; k < 5; k++) mw_sheet_number(sheet, "%.1f", k);
    }
    char *text = written(sheet, mw_sheet_csv);
    int lines = 0;
    for (const char *c = text; *c; c++) lines += *c == '\n';
    assert_int_equal(lines, 101);
    free(text);
    mw_sheet_free(sheet);
    mw_sheet_column(NULL, NULL, "x", NULL);
    mw_sheet_row(NULL, "x", NULL);
    mw_sheet_strong(NULL);
    mw_sheet_free(NULL);
    assert_false(mw_sheet_complete(NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_csv),
        cmocka_unit_test(as_html),
        cmocka_unit_test(odd_uses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
