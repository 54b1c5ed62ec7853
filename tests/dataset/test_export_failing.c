/* Every single write of an HDF5 export fails in turn: an error, and nothing left, never a file with holes.
 * The HDF5 library writes small arrays when they are closed, so the closing counts. */
#include "fixture.h"

#include <errno.h>
#include <sys/syscall.h>

static long write_to_fail, writes_seen;

/* Stands in front of the C library's, in the exporter's child process too. */
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    if (++writes_seen == write_to_fail) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_pwrite64, fd, data, size, at);
}

static void every_write(void **state) {
    (void)state;
#ifndef MAWAM_HAVE_HDF5
    skip();
#endif
    static char whole[1 << 20], found[1 << 20];
    mw_error error;
    mw_dataset d;
    fixture_make(scratch("data"), true, true, 3);
    CHECK_OK(mw_dataset_open(&d, scratch("data"), &error), error);
    CHECK_OK(mw_export_hdf5(&d, scratch("whole.h5"), NULL, &error), error);
    const size_t size = scratch_read(scratch("whole.h5"), whole, sizeof whole);
    int failed = 0;
    bool done = false;
    for (write_to_fail = 1; !done && write_to_fail < 2000; write_to_fail++) {
        done = mw_export_hdf5(&d, scratch("x.h5"), replacing(), &error) == MW_OK;
        failed += !done;
        if (!done) assert_false(mw_file_exists(scratch("x.h5")));
    }
    print_message("%d writes\n", failed);
    assert_true(done && failed > 20);
    assert_int_equal(scratch_read(scratch("x.h5"), found, sizeof found), size);
    assert_memory_equal(found, whole, size);
    mw_dataset_close(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_write)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
