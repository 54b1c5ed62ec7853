/* Files of scalars for TensorBoard: whole records whatever happened to the file before, each step of a scalar
 * once, and nothing of somebody else's. Records are read here by other means than they are written. */
#include "cli/events.h"
#include "scratch.h"

#include "core/rng.h"

#include <errno.h>
#include <sys/syscall.h>

static unsigned char bytes[1 << 16];

/* Stand in front of the C library's: while faults are on, some transfers fail, are interrupted or come by
 * halves. */
static mw_rng faults;
static bool faulty;

static bool strikes(int one_in) {
    return faulty && mw_rng_below(&faults, (uint32_t)one_in) == 0;
}

static size_t transferred(size_t size) {
    return faulty && size > 1 ? 1 + mw_rng_below(&faults, (uint32_t)size) : size;
}

ssize_t write(int file, const void *data, size_t size) {
    if (strikes(12)) return errno = mw_rng_below(&faults, 2) ? ENOSPC : EINTR, -1;
    return syscall(SYS_write, file, data, transferred(size));
}

ssize_t read(int file, void *data, size_t size) {
    if (strikes(40)) return errno = mw_rng_below(&faults, 2) ? EIO : EINTR, -1;
    return syscall(SYS_read, file, data, transferred(size));
}

int ftruncate(int file, off_t size) {
    if (strikes(12)) return errno = EIO, -1;
    return (int)syscall(SYS_ftruncate, file, size);
}

static uint32_t masked(const unsigned char *data, size_t size) {
    uint32_t table[256], crc = 0xffffffffu;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int k = 0; k < 8; k++) table[i] = table[i] & 1 ? 0x82f63b78u ^ table[i] >> 1 : table[i] >> 1;
    }
    for (size_t i = 0; i < size; i++) crc = table[(crc ^ data[i]) & 255] ^ crc >> 8;
    crc ^= 0xffffffffu;
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/* Reads all of the file; the steps of the scalar "a/loss" must be 1 to the number returned. */
static int steps_of(const char *path) {
    const size_t size = scratch_read(path, bytes, sizeof bytes);
    int records = 0, steps = 0;
    for (size_t at = 0; at < size; records++) {
        uint64_t length;
        uint32_t crc;
        assert_true(size - at >= 16);
        memcpy(&length, bytes + at, 8);
        memcpy(&crc, bytes + at + 8, 4);
        assert_int_equal(crc, masked(bytes + at, 8));
        assert_true(length <= size - at - 16);
        memcpy(&crc, bytes + at + 12 + length, 4);
        assert_int_equal(crc, masked(bytes + at + 12, length));
        const char *event = (const char *)bytes + at + 12;
        if (records == 0)
            assert_memory_equal(event + 9,
                                "\x1a\x0d"
                                "brain.Event:2",
                                15);
        if (records > 0 && memmem(event, length, "a/loss", 6)) assert_int_equal(event[10], ++steps);
        at += length + 16;
    }
    return steps;
}

static void add(mw_events *e, int from, int to) {
    for (int step = from; step <= to; step++) {
        mw_events_add(e, "a/loss", step, 1.0 / step);
        mw_events_add(e, "a/held-out loss", step, 2.0 / step);
    }
}

static size_t make(const char *path, int steps) {
    mw_events e;
    mw_error error;
    CHECK_OK(mw_events_open(&e, path, false, &error), error);
    mw_events_begin(&e);
    add(&e, 1, steps);
    CHECK_OK(mw_events_close(&e, &error), error);
    assert_int_equal(steps_of(path), steps);
    return scratch_read(path, bytes, sizeof bytes);
}

/* A crash may have cut the file anywhere. */
static void any_tail(void **state) {
    (void)state;
    mw_events e;
    mw_error error;
    const char *path = scratch("tail");
    const size_t size = make(path, 4);
    unsigned char *whole = malloc(size);
    memcpy(whole, bytes, size);
    for (size_t left = 0; left <= size; left++)
        for (int damaged = 0; damaged < 2; damaged++) { /* or a block of it was never written */
            if (damaged) memset(whole + (left > 10 ? left - 10 : 0), 0, left > 10 ? 10 : left);
            scratch_write(path, whole, left);
            memcpy(bytes, whole, size);
            if (mw_events_open(&e, path, true, &error) != MW_OK) {
                assert_true(damaged && left < 12); /* of zeros nobody knows what they were */
                make(path, 4);
            } else {
                mw_events_begin(&e);
                CHECK_OK(mw_events_close(&e, &error), error);
                const int steps = steps_of(path);
                CHECK_OK(mw_events_open(&e, path, true, &error), error);
                mw_events_begin(&e);
                add(&e, steps + 1, 6);
                CHECK_OK(mw_events_close(&e, &error), error);
                assert_int_equal(steps_of(path), 6);
                make(path, 4);
            }
            scratch_read(path, whole, size);
        }
    free(whole);
}

/* What was logged after the last checkpoint is logged once more. */
static void logged_again(void **state) {
    (void)state;
    mw_events e;
    mw_error error;
    const char *path = scratch("again");
    for (int from = 1; from <= 9; from++) {
        make(path, 8);
        CHECK_OK(mw_events_open(&e, path, true, &error), error);
        mw_events_begin(&e);
        assert_int_equal(steps_of(path), 8);
        add(&e, from, 12);
        CHECK_OK(mw_events_close(&e, &error), error);
        assert_int_equal(steps_of(path), 12);
    }
}

/* A disk that is full for a while: an error at the end, and whole records before and after. */
static void full_disk(void **state) {
    (void)state;
    mw_events e;
    mw_error error;
    const char *path = scratch("full");
    const size_t size = make(path, 6);
    for (size_t limit = 1; limit < size; limit += 7) {
        CHECK_OK(mw_events_open(&e, path, false, &error), error);
        mw_events_begin(&e);
        scratch_full_disk_begin(limit);
        add(&e, 1, 6);
        scratch_full_disk_end();
        steps_of(path);
        mw_events_add(&e, "b/loss", 1, 3);
        steps_of(path);
        assert_non_null(memmem(bytes, sizeof bytes, "b/loss", 6));
        CHECK_FAILS(mw_events_close(&e, &error), MW_ERR_IO, error, "full': File too large");
        CHECK_OK(mw_events_open(&e, path, true, &error), error);
        mw_events_begin(&e);
        add(&e, 1, 6);
        CHECK_OK(mw_events_close(&e, &error), error);
        assert_int_equal(steps_of(path), 6);
    }
}

/* Trainings that are begun, log, stop and go on, in a disorder of the seed's, with faults in all of it. After
 * each the file holds no step twice, and what is told as written is there; without faults it goes on. */
static void goes_on_after_faults(void **state) {
    (void)state;
    const char *path = scratch("faults");
    int refused = 0, lost = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        mw_events e;
        mw_error error;
        int done = 0;
        faults = mw_rng_make(seed, MW_RNG_TEST, 0, 0, 0);
        make(path, 3);
        for (int run = 0; run < 6; run++) {
            faulty = true;
            const mw_status opened = mw_events_open(&e, path, run > 0, &error);
            mw_status status = opened;
            const int from = run == 0 ? 1 : 1 + (int)mw_rng_below(&faults, (uint32_t)done + 1);
            if (opened == MW_OK) {
                mw_events_begin(&e);
                add(&e, from, from + 2);
                status = mw_events_close(&e, &error);
            }
            faulty = false;
            refused += opened != MW_OK;
            lost += opened == MW_OK && status != MW_OK;
            if (status != MW_OK) assert_int_equal(status, MW_ERR_IO);
            if (status != MW_OK) { /* the same once more, undisturbed */
                CHECK_OK(mw_events_open(&e, path, run > 0, &error), error);
                mw_events_begin(&e);
                add(&e, run ? 1 : from, from + 2);
                CHECK_OK(mw_events_close(&e, &error), error);
            }
            done = from + 2;
            assert_int_equal(steps_of(path), done);
        }
    }
    print_message("%d openings refused, %d logs incomplete and told so\n", refused, lost);
    assert_true(refused > 10 && lost > 100);
}

static void others_files(void **state) {
    (void)state;
    mw_events e;
    mw_error error;
    char kept[8];
    const char *path = scratch("mine");
    scratch_write(path, "mine", 4);
    CHECK_FAILS(mw_events_open(&e, path, true, &error), MW_ERR_FORMAT, error, "holds no events");
    assert_int_equal(scratch_read(path, kept, sizeof kept), 4);
    assert_memory_equal(kept, "mine", 4);
    CHECK_FAILS(mw_events_open(&e, scratch("nowhere/x"), false, &error), MW_ERR_IO, error, "cannot write");
    CHECK_OK(mw_events_close(&e, &error), error); /* closed already */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_tail), cmocka_unit_test(logged_again),
                                       cmocka_unit_test(full_disk), cmocka_unit_test(goes_on_after_faults),
                                       cmocka_unit_test(others_files)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
