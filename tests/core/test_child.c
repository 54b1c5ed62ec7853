/* Children that fail in every way: each becomes an error, none disturbs the process that started it. */
#include "check.h"

#include "core/machine/child.h"

#include <signal.h>
#include <sys/time.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct answer {
    long number;
    char text[32];
} answer;

static const mw_child_limits none = {0};
static const mw_child_limits tight = {.memory = 64 << 20, .seconds = 0.2};

static mw_status answers(void *context, void *result, mw_error *error) {
    answer *a = result;
    a->number = *(const long *)context + 1;
    strcpy(a->text, "done");
    return a->number > 5 ? mw_fail(error, MW_ERR_MISMATCH, "%ld is too much", a->number) : MW_OK;
}

static void results(void **state) {
    (void)state;
    mw_error error;
    answer a = {0};
    CHECK_OK(mw_child_run("sum", answers, &(long){4}, &a, sizeof a, &tight, &error), error);
    assert_int_equal(a.number, 5);
    assert_string_equal(a.text, "done");
    CHECK_FAILS(mw_child_run("sum", answers, &(long){5}, &a, sizeof a, &none, &error), MW_ERR_MISMATCH, error,
                "6 is too much");
    assert_int_equal(a.number, 6);
    assert_int_equal(mw_child_run("sum", answers, &(long){5}, &a, sizeof a, &none, NULL), MW_ERR_MISMATCH);
}

static mw_status gets_signal(void *context, void *result, mw_error *error) {
    (void)result, (void)error;
    raise(*(const int *)context);
    return MW_OK;
}

static mw_status leaves(void *context, void *result, mw_error *error) {
    (void)context, (void)result, (void)error;
    _exit(0);
}

static void deaths(void **state) {
    (void)state;
    static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGKILL, SIGTERM};
    mw_error error;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        CHECK_FAILS(mw_child_run("x.h5", gets_signal, (void *)&signals[i], NULL, 0, &none, &error),
                    MW_ERR_FORMAT, error, "x.h5: the process that worked on it died (");
    CHECK_FAILS(mw_child_run("x.h5", leaves, NULL, NULL, 0, &none, &error), MW_ERR_FORMAT, error,
                "ended without a result");
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* none is left */
}

static volatile long sink;

static mw_status spins(void *context, void *result, mw_error *error) {
    (void)context, (void)result, (void)error;
    while (sink >= 0) sink = (sink + 1) & 0xffff;
    return MW_OK;
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* which map more than any limit */
#define LIMITED_MEMORY
static mw_status grows(void *context, void *result, mw_error *error) {
    (void)context, (void)result;
    for (int i = 0; i < 1000; i++) {
        char *block = malloc(1 << 20);
        if (!block) return mw_fail(error, MW_ERR_MEMORY, "no more after %d MB", i);
        memset(block, i, 1 << 20);
    }
    return MW_OK;
}
#endif

static void limits(void **state) {
    (void)state;
    mw_error error;
    CHECK_FAILS(mw_child_run("x.h5", spins, NULL, NULL, 0, &tight, &error), MW_ERR_FORMAT, error,
                "x.h5: not done after 0.2 seconds of processor time");
#ifdef LIMITED_MEMORY
    CHECK_FAILS(mw_child_run("x.h5", grows, NULL, NULL, 0, &tight, &error), MW_ERR_MEMORY, error,
                "no more after ");
#endif
}

/* A host program that has its children reaped by the system, or takes no interest in signals. */
static void inattentive_host(void **state) {
    (void)state;
    mw_error error;
    answer a = {0};
    signal(SIGCHLD, SIG_IGN);
    signal(SIGPROF, SIG_IGN);
    CHECK_OK(mw_child_run("sum", answers, &(long){4}, &a, sizeof a, &none, &error), error);
    assert_int_equal(a.number, 5);
    CHECK_FAILS(mw_child_run("x.h5", spins, NULL, NULL, 0, &tight, &error), MW_ERR_FORMAT, error, "x.h5: ");
    signal(SIGCHLD, SIG_DFL);
    signal(SIGPROF, SIG_DFL);
    sigset_t profiling;
    sigemptyset(&profiling);
    sigaddset(&profiling, SIGPROF);
    sigprocmask(SIG_BLOCK, &profiling, NULL);
    CHECK_FAILS(mw_child_run("x.h5", spins, NULL, NULL, 0, &tight, &error), MW_ERR_FORMAT, error,
                "0.2 seconds");
    sigprocmask(SIG_UNBLOCK, &profiling, NULL);
}

static volatile int asked_to_stop;

static void ask_to_stop(int signal_number) {
    (void)signal_number;
    asked_to_stop = 1;
}

/* It is ended, not waited for; asked before it began too. */
static void is_stopped(void **state) {
    (void)state;
    mw_error error;
    const mw_child_limits limits = {.stop = &asked_to_stop};
    const struct itimerval soon = {.it_value = {.tv_usec = 50000}};
    signal(SIGALRM, ask_to_stop);
    setitimer(ITIMER_REAL, &soon, NULL);
    for (int i = 0; i < 2; i++)
        CHECK_FAILS(mw_child_run("x.h5", spins, NULL, NULL, 0, &limits, &error), MW_ERR_INTERRUPTED, error,
                    "x.h5: stopped");
    signal(SIGALRM, SIG_DFL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(results), cmocka_unit_test(deaths),
                                       cmocka_unit_test(limits), cmocka_unit_test(inattentive_host),
                                       cmocka_unit_test(is_stopped)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
