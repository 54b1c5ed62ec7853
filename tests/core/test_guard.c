/* Mapped files that are cut short under their readers: zeros and a lost map, in any thread; what is not of a
 * guarded map reaches the handler that was there before. */
#include "scratch.h"

#include "core/file.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { PAGE = 4096, SIZE = 256 * PAGE };

/* A hole that is too large to be copied. */
static void make_large(const char *path) {
    scratch_write(path, "begin", 5);
    assert_int_equal(truncate(path, (off_t)SIZE), 0);
}

static void *read_end(void *argument) {
    const mw_map *map = argument;
    long sum = 0;
    for (size_t at = map->size / 2; at < map->size; at += PAGE) sum += map->data[at];
    return (void *)sum;
}

static void cut_under_readers(void **state) {
    (void)state;
    enum { READERS = 4 };
    mw_error error;
    mw_map map, other;
    pthread_t readers[READERS];
    make_large(scratch("a"));
    make_large(scratch("b"));
    CHECK_OK(mw_map_open(&map, scratch("a"), &error), error);
    CHECK_OK(mw_map_open(&other, scratch("b"), &error), error);
    assert_int_equal(map.data[0], 'b');
    CHECK_OK(mw_map_intact(&map, "a", &error), error);
    assert_int_equal(truncate(scratch("a"), PAGE), 0);
    for (int i = 0; i < READERS; i++) assert_int_equal(pthread_create(&readers[i], NULL, read_end, &map), 0);
    for (int i = 0; i < READERS; i++) {
        void *sum;
        assert_int_equal(pthread_join(readers[i], &sum), 0);
        assert_null(sum);
    }
    CHECK_FAILS(mw_map_intact(&map, "a", &error), MW_ERR_IO, error, "cannot read all of 'a': it was cut");
    assert_null(read_end(&other));
    CHECK_OK(mw_map_intact(&other, "b", &error), error);
    assert_int_equal(other.data[0], 'b');
    mw_map_close(&map);
    mw_map_close(&other);
}

/* The place of a closed map is used again, and knows nothing of its past. */
static void opened_again(void **state) {
    (void)state;
    mw_error error;
    for (int i = 0; i < 3; i++) {
        mw_map map;
        make_large(scratch("a"));
        CHECK_OK(mw_map_open(&map, scratch("a"), &error), error);
        CHECK_OK(mw_map_intact(&map, "a", &error), error);
        assert_int_equal(truncate(scratch("a"), 0), 0);
        assert_int_equal(map.data[0], 0);
        assert_int_equal(mw_map_intact(&map, "a", &error), MW_ERR_IO);
        mw_map_close(&map);
    }
}

static void copied_at_any_size(void **state) {
    (void)state;
    mw_error error;
    mw_map map;
    make_large(scratch("a"));
    CHECK_OK(mw_map_copy(&map, scratch("a"), &error), error);
    assert_int_equal(truncate(scratch("a"), 0), 0);
    assert_int_equal(map.data[0], 'b');
    CHECK_OK(mw_map_intact(&map, "a", &error), error);
    mw_map_close(&map);
}

static sigjmp_buf escape;
static volatile sig_atomic_t caught;

static void host_handler(int number) {
    caught = number;
    siglongjmp(escape, 1);
}

/* Reads behind the end of a file that a host program mapped itself. */
static void read_of_the_host(void) {
    const int fd = open(scratch("host"), O_RDWR | O_CREAT | O_TRUNC, 0666);
    assert_true(fd >= 0);
    volatile char *bytes = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    assert_true(bytes != MAP_FAILED);
    caught = 0;
    if (sigsetjmp(escape, 1) == 0) caught = bytes[0] + 1;
    munmap((void *)bytes, 4096);
}

static void hosts_handler_is_kept(void **state) {
    (void)state;
    mw_error error;
    mw_map map;
    struct sigaction host = {.sa_handler = host_handler}, now, old;
    assert_int_equal(sigaction(SIGBUS, &host, &old), 0);
    CHECK_OK(mw_map_open(&map, scratch("b"), &error), error);
    read_of_the_host();
    assert_int_equal(caught, SIGBUS);
    CHECK_OK(mw_map_intact(&map, "b", &error), error);
    mw_map_close(&map);
    assert_int_equal(sigaction(SIGBUS, &old, &now), 0);
    assert_true(now.sa_handler == host_handler);
}

/* Without a handler before, a fault of somebody else, and a signal that is sent, end the process as ever. */
static void death_is_kept(void **state) {
    (void)state;
    for (int sent = 0; sent < 2; sent++) {
        const pid_t child = fork();
        if (child == 0) {
            mw_map map;
            signal(SIGBUS, SIG_DFL);
            setrlimit(RLIMIT_CORE, &(struct rlimit){0});
            if (mw_map_open(&map, scratch("b"), NULL) != MW_OK) _exit(1);
            if (sent)
                raise(SIGBUS);
            else
                read_of_the_host();
            _exit(2);
        }
        int how;
        assert_int_equal(waitpid(child, &how, 0), child);
        assert_true(WIFSIGNALED(how));
        assert_int_equal(WTERMSIG(how), SIGBUS);
    }
}

int main(void) {
    mw_map_most_copied = PAGE;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_under_readers),  cmocka_unit_test(opened_again),
        cmocka_unit_test(copied_at_any_size), cmocka_unit_test(hosts_handler_is_kept),
        cmocka_unit_test(death_is_kept),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
