/* The thread pool; see pool.h. A run and a barrier are both a counter that waiters watch: first spinning,
 * then in a futex. */
#include "core/pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPINS 4000 /* about 40 us of pause instructions on a current core */

struct mw_pool {
    int threads;
    int started; /* threads that exist besides the caller */
    pthread_t *handles;
    mw_pool_body *body;
    void *context;
    _Alignas(64) atomic_uint epoch;   /* raised once per run */
    _Alignas(64) atomic_uint arrived; /* at the current barrier */
    _Alignas(64) atomic_uint phase;   /* raised when a barrier opens */
    _Alignas(64) atomic_bool stop;
};

typedef struct {
    mw_pool *pool;
    int worker;
} worker_start;

static inline void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

/* Waits until *word differs from seen. */
static void wait_change(atomic_uint *word, unsigned seen) {
    for (int spin = 0; spin < SPINS; spin++) {
        if (atomic_load_explicit(word, memory_order_acquire) != seen) return;
        pause_briefly();
    }
    while (atomic_load_explicit(word, memory_order_acquire) == seen)
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void change(atomic_uint *word) {
    atomic_fetch_add_explicit(word, 1, memory_order_acq_rel);
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1 << 30, NULL, NULL, 0);
}

void mw_pool_barrier(mw_pool *pool) {
    if (!pool || pool->threads == 1) return;
    unsigned phase = atomic_load_explicit(&pool->phase, memory_order_acquire);
    if (atomic_fetch_add_explicit(&pool->arrived, 1, memory_order_acq_rel) + 1 == (unsigned)pool->threads) {
        atomic_store_explicit(&pool->arrived, 0, memory_order_release);
        change(&pool->phase);
    } else {
        wait_change(&pool->phase, phase);
    }
}

static void *worker_main(void *argument) {
    worker_start start = *(worker_start *)argument;
    free(argument);
    for (unsigned epoch = 0;; epoch++) {
        wait_change(&start.pool->epoch, epoch);
        if (atomic_load(&start.pool->stop)) return NULL;
        start.pool->body(start.pool->context, start.worker);
        mw_pool_barrier(start.pool);
    }
}

mw_status mw_pool_create(mw_pool **out, int threads, mw_error *error) {
    *out = NULL;
    if (threads < 0 || threads > 1024)
        return mw_fail(error, MW_ERR_ARGUMENT, "threads must be 1 to 1024, or 0 for one per core; got %d",
                       threads);
    if (threads == 0) {
        cpu_set_t cores;
        threads = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
    }
    mw_pool *pool = aligned_alloc(64, sizeof *pool);
    if (!pool) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a thread pool");
    *pool = (mw_pool){.threads = threads};
    pool->handles = calloc((size_t)threads, sizeof *pool->handles);
    if (!pool->handles) goto fail;
    for (int worker = 1; worker < threads; worker++) {
        worker_start *start = malloc(sizeof *start);
        if (!start) goto fail;
        *start = (worker_start){pool, worker};
        if (pthread_create(&pool->handles[worker], NULL, worker_main, start) != 0) {
            free(start);
            goto fail;
        }
        pool->started++;
    }
    *out = pool;
    return MW_OK;
fail:
    mw_pool_free(pool);
    return mw_fail(error, MW_ERR_MEMORY, "cannot start %d threads", threads);
}

void mw_pool_free(mw_pool *pool) {
    if (!pool) return;
    atomic_store(&pool->stop, true);
    change(&pool->epoch);
    for (int worker = 1; worker <= pool->started; worker++) pthread_join(pool->handles[worker], NULL);
    free(pool->handles);
    free(pool);
}

int mw_pool_threads(const mw_pool *pool) {
    return pool ? pool->threads : 1;
}

void mw_pool_run(mw_pool *pool, mw_pool_body *body, void *context) {
    if (!pool || pool->threads == 1) {
        body(context, 0);
        return;
    }
    pool->body = body;
    pool->context = context;
    change(&pool->epoch);
    body(context, 0);
    mw_pool_barrier(pool);
}

void mw_pool_share(const mw_pool *pool, int worker, int count, int grain, int *begin, int *end) {
    int threads = mw_pool_threads(pool);
    int grains = (count + grain - 1) / grain;
    int first = (int)((long)grains * worker / threads) * grain,
        last = (int)((long)grains * (worker + 1) / threads) * grain;
    *begin = first < count ? first : count;
    *end = last < count ? last : count;
}
