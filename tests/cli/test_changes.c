/* Data files that are cut short under the running program or a host of the library: work goes on with what
 * was read, or ends with an error where files are too large to be copied. Never a signal. */
#include "dataset/fixture.h"
#include "dataset/sparse.h"
#include "train/train.h"

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

/* The zeros that are read instead have the checksum of the holes: only the loss itself can tell. */
static void cut_before_a_check(void **state) {
    (void)state;
    mw_error error;
    mw_dataset data;
    mw_map_most_copied = 1 << 20;
    assert_true(sparse_make(scratch("checked"), 3, 10, 2, 400, 25)); /* 1.2 MB */
    CHECK_OK(mw_dataset_open(&data, scratch("checked"), &error), error);
    assert_int_equal(truncate(scratch("checked/obs.npy"), 1 << 19), 0);
    CHECK_FAILS(mw_dataset_check(&data, &error), MW_ERR_IO, error, "checked/obs.npy': it was cut short");
    mw_dataset_close(&data);
}

static void cut_at_step_3(void *context, const mw_training_progress *progress) {
    (void)context;
    if (progress->step == 3) assert_int_equal(truncate(scratch("trained/obs.npy"), 4096), 0);
}

/* The training fails within the steps that were prepared ahead, and leaves neither bundle nor checkpoint. */
static void cut_under_training(void **state) {
    (void)state;
    mw_error error;
    mw_dataset data;
    mw_training_report report;
    mw_map_most_copied = 1 << 20;
    assert_true(sparse_make(scratch("trained"), 3, 10, 2, 400, 25));
    CHECK_OK(mw_dataset_open(&data, scratch("trained"), &error), error);
    mw_preset preset = mw_preset_of("spread", MW_BUDGET_QUICK);
    static const char *const tiny[] = {"flow.dim=16", "flow.mults=1,1,1", "flow.batch=6", "flow.steps=30"};
    for (int i = 0; i < 4; i++) CHECK_OK(mw_preset_set(&preset, tiny[i], &error), error);
    const mw_training_request request = {.dataset = &data,
                                         .preset = &preset,
                                         .output = scratch("cut.safetensors"),
                                         .options.threads = 1,
                                         .options.seed = 5,
                                         .options.command = "test",
                                         .options.progress = cut_at_step_3};
    CHECK_FAILS(mw_training_run(&request, &report, &error), MW_ERR_IO, error,
                "trained/obs.npy': it was cut short");
    mw_dataset_close(&data);
    assert_false(mw_file_exists(scratch("cut.safetensors")));
    assert_false(mw_file_exists(scratch("cut.train.safetensors")));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(large_file_cut), cmocka_unit_test(cut_before_a_check),
                                       cmocka_unit_test(cut_under_training)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
