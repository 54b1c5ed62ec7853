/* The log callback. */
#include "check.h"
#include "core/log.h"

static char last[2048];
static int calls;

static void remember(void *context, mw_log_level level, const char *message) {
    (void)level;
    snprintf(last, sizeof last, "%s%s", (const char *)context, message);
    calls++;
}

static void messages(void **state) {
    (void)state;
    char longest[3000];
    mw_log(MW_LOG_INFO, "nobody listens");
    mw_log_set(remember, "> ");
    mw_log(MW_LOG_WARNING, "%d of %s", 3, "these");
    assert_string_equal(last, "> 3 of these");
    memset(longest, 'x', sizeof longest);
    longest[2999] = 0;
    mw_log(MW_LOG_INFO, "%s", longest);
    assert_int_equal(strlen(last), 2 + 1023);
    mw_log_set(NULL, NULL);
    mw_log(MW_LOG_INFO, "nobody listens");
    assert_int_equal(calls, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(messages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
