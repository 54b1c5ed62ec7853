/* The thread pool: every worker runs, barriers hold, shares cover everything once. */
#include "check.h"
#include "core/pool.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 50 };

/* Stands in front of the C library's. */
static int threads_left = 1 << 20;
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *context) {
    if (threads_left <= 0) return EAGAIN;
    threads_left--;
    return ((__typeof__(&pthread_create))dlsym(RTLD_NEXT, "pthread_create"))(thread, attributes, start,
                                                                             context);
}

typedef struct {
    mw_pool *pool;
    atomic_int inside;
    int seen[64];
    pid_t child;
} shared;

static void body(void *context, int worker) {
    shared *s = context;
    for (int round = 0; round < ROUNDS; round++) {
        atomic_fetch_add(&s->inside, 1);
        mw_pool_barrier(s->pool);
        s->seen[worker] += atomic_load(&s->inside) == mw_pool_threads(s->pool) * (round + 1);
        mw_pool_barrier(s->pool);
    }
}

static void runs_and_barriers(void **state) {
    (void)state;
    FOR_THREADS(threads) {
        mw_error error;
        shared s = {0};
        CHECK_OK(mw_pool_create(&s.pool, threads, &error), error);
        for (int run = 1; run <= 10; run++) {
            atomic_store(&s.inside, 0);
            mw_pool_run(s.pool, body, &s);
            for (int worker = 0; worker < threads; worker++) assert_int_equal(s.seen[worker], ROUNDS * run);
        }
        mw_pool_free(s.pool);
    }
}

/* A child can use, or just free, what it has of its parent's pool. */
static void after_fork(void **state) {
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* it allows no threads after a fork */
#endif
    mw_error error;
    shared s = {0};
    CHECK_OK(mw_pool_create(&s.pool, 3, &error), error);
    mw_pool_run(s.pool, body, &s);
    for (int used = 0; used < 2; used++) {
        int status;
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            for (int run = 0; run < 5 * used; run++) {
                atomic_store(&s.inside, 0);
                mw_pool_run(s.pool, body, &s);
            }
            mw_pool_free(s.pool);
            _exit(s.seen[0] + s.seen[1] + s.seen[2] == 3 * ROUNDS * (5 * used + 1) ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    atomic_store(&s.inside, 0);
    mw_pool_run(s.pool, body, &s);
    for (int worker = 0; worker < 3; worker++) assert_int_equal(s.seen[worker], 2 * ROUNDS);
    mw_pool_free(s.pool);
}

/* One worker forks while the others wait at a barrier. */
static void fork_inside(void *context, int worker) {
    shared *s = context;
    if (worker == 0) {
        usleep(50000);
        s->child = fork();
        if (s->child == 0) {
            alarm(20);
            shared own = {.pool = s->pool};
            mw_pool_run(own.pool, body, &own);
            _exit(own.seen[0] + own.seen[1] + own.seen[2] == 3 * ROUNDS ? 0 : 1);
        }
    }
    mw_pool_barrier(s->pool);
}

static void after_fork_at_a_barrier(void **state) {
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip();
#endif
    mw_error error;
    shared s = {0};
    int status;
    CHECK_OK(mw_pool_create(&s.pool, 3, &error), error);
    mw_pool_run(s.pool, fork_inside, &s);
    assert_int_equal(waitpid(s.child, &status, 0), s.child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    mw_pool_free(s.pool);
}

/* Where the system gives a fork no threads, or not all of them, it plays on alone: in turns. */
static void after_fork_without_threads(void **state) {
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* a fork of several threads is beyond it */
#endif
    mw_error error;
    for (int given = 0; given < 2; given++) {
        shared s = {0};
        int status;
        CHECK_OK(mw_pool_create(&s.pool, 3, &error), error);
        mw_pool_run(s.pool, body, &s);
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            threads_left = given;
            for (int run = 0; run < 5; run++) {
                atomic_store(&s.inside, 0);
                mw_pool_run(s.pool, body, &s);
            }
            mw_pool_free(s.pool);
            _exit(s.seen[0] == 6 * ROUNDS && s.seen[1] == s.seen[0] && s.seen[2] == s.seen[0] ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        mw_pool_free(s.pool);
    }
}

static void shares(void **state) {
    (void)state;
    mw_error error;
    mw_pool *pool;
    CHECK_OK(mw_pool_create(&pool, 3, &error), error);
    for (int count = 0; count < 40; count++)
        for (int grain = 1; grain < 9; grain++) {
            int next = 0;
            for (int worker = 0; worker < 3; worker++) {
                int begin, end;
                mw_pool_share(pool, worker, count, grain, &begin, &end);
                assert_int_equal(begin, next);
                assert_true(end >= begin && (end % grain == 0 || end == count));
                next = end;
            }
            assert_int_equal(next, count);
        }
    mw_pool_free(pool);
    CHECK_FAILS(mw_pool_create(&pool, -1, &error), MW_ERR_ARGUMENT, error, "got -1");
    CHECK_FAILS(mw_pool_create(&pool, MW_MAX_THREADS + 1, &error), MW_ERR_ARGUMENT, error, "1 to 1024");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(runs_and_barriers), cmocka_unit_test(after_fork),
                                       cmocka_unit_test(after_fork_at_a_barrier),
                                       cmocka_unit_test(after_fork_without_threads),
                                       cmocka_unit_test(shares)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
