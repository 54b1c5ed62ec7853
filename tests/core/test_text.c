/* Texts that are printed into memory: whole, or an error, whichever allocation fails on the way. */
#include "check.h"

#include "allocations.h"

static void print(FILE *out) {
    for (int i = 0; i < 3000; i++) fprintf(out, "line %d\n", i);
    for (int i = 0; i < 20000; i++) fputc('a' + i % 26, out);
}

static void whole_or_nothing(void **state) {
    (void)state;
    mw_error error;
    mw_text whole, text;
    CHECK_OK(mw_text_open(&whole, &error), error);
    print(whole.stream);
    CHECK_OK(mw_text_close(&whole, &error), error);
    assert_int_equal(strlen(whole.bytes), whole.size);
    assert_true(whole.size > 40000);
    bool done = false;
    int failed = 0;
    for (int at = 1; COUNTING && !done; at++) {
        allocations_fail_at(at);
        mw_status status = mw_text_open(&text, &error);
        if (status == MW_OK) {
            print(text.stream);
            status = mw_text_close(&text, &error);
        }
        done = allocations_fail_pending();
        allocations_fail_at(0);
        if (status == MW_OK) {
            assert_string_equal(text.bytes, whole.bytes); /* only a buffer of the stream was missing */
            free(text.bytes);
            continue;
        }
        failed++;
        CHECK_FAILS(status, MW_ERR_MEMORY, error, "out of memory for a text");
        assert_null(text.bytes);
    }
    assert_true(!COUNTING || failed > 3);
    free(whole.bytes);
}

static void nothing_printed(void **state) {
    (void)state;
    mw_error error;
    mw_text text;
    CHECK_OK(mw_text_open(&text, &error), error);
    CHECK_OK(mw_text_close(&text, &error), error);
    assert_string_equal(text.bytes, "");
    assert_int_equal(text.size, 0);
    free(text.bytes);
    CHECK_FAILS(mw_text_close(&text, &error), MW_ERR_ARGUMENT, error, "stream");
    CHECK_FAILS(mw_text_open(NULL, &error), MW_ERR_ARGUMENT, error, "text");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(whole_or_nothing), cmocka_unit_test(nothing_printed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
