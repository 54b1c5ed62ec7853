/* Data files that are cut short under the running program: training goes on with what it read, or ends with a
 * message where files are too large to be copied. Never a signal. */
#include "dataset/fixture.h"
#include "dataset/sparse.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>

/* Runs "mawam data check" on a sparse dataset whose observations are cut while it reads. */
static void large_file_cut(void **state) {
    (void)state;
    assert_true(sparse_make(scratch("large"), 3, 100, 2, 20000, 25)); /* 600 MB of holes */
    const pid_t child = fork();
    if (child == 0) {
        dup2(open(scratch("output"), O_WRONLY | O_CREAT | O_TRUNC, 0666), STDERR_FILENO);
        execl(MAWAM_PROGRAM, "mawam", "data", "check", scratch("large"), (char *)NULL);
        _exit(99);
    }
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL); /* hashing takes most of a second */
    assert_int_equal(truncate(scratch("large/obs.npy"), 4096), 0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status)); /* it may have been too early or too late */
    char text[512] = "";
    scratch_read(scratch("output"), text, sizeof text - 1);
    print_message("exit code %d: %s\n", WEXITSTATUS(status), text);
    assert_true(WEXITSTATUS(status) == 0 || (WEXITSTATUS(status) == 1 && strstr(text, "mawam: ")));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(large_file_cut)};
    return cmocka_run_group_tests(tests, scratch_setup, fixture_teardown);
}
