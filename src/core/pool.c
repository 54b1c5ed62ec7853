/* The thread pool; see pool.h. A run and a barrier are both a counter that waiters watch: first spinning,
 * then giving way to other threads, then in a futex. On a core that another program keeps busy, who gives way
 * is back only milliseconds later, while who sleeps is let in when woken: a pool that has noticed sleeps at
 * once for a while. Schedulers may leave two threads that wake each other on one core for hundreds of
 * milliseconds, where they take turns instead of working at the same time; a worker that finds itself there
 * moves to a core that no other worker of its pool is on. */
#include "core/pool.h"

#include "core/clock.h"
#include "core/turns.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SPINS          100  /* some microseconds of pause instructions */
#define YIELDS         500  /* about a hundred microseconds of offers to other threads */
#define CROWDED_YIELDS 1    /* the same with more threads than cores, where spinning is pointless */
#define TAKEN          1e-3 /* seconds after which a yield has let another program in */
#define TAKEN_FOR      0.05 /* seconds without yields after that */
#define APART          128  /* bytes: processors fetch cache lines in pairs */

/* A number that some threads wait on. Waking costs a system call, which is skipped while nobody sleeps. */
typedef struct {
    atomic_uint value, sleepers;
} gate;

/* Where a worker began its last run. Each has a cache line of its own. */
typedef struct {
    _Alignas(APART) atomic_int core;
} place;

struct mw_pool {
    int threads;
    int started;               /* threads that exist besides the caller */
    unsigned forks;            /* before they were started: those of another process are not ours */
    bool crowded;              /* more threads than cores: waiting only keeps the awaited from running */
    _Atomic double busy_until; /* cores are shared with other programs, as far as is known */
    mw_turns *turns;           /* instead of threads; NULL: there are threads */
    pthread_t *handles;
    place *places; /* [threads] */
    /* What a worker needs to begin a run shares one cache line. */
    _Alignas(APART) gate epoch; /* raised once per run */
    mw_pool_body *body;
    void *context;
    atomic_bool stop;
    _Alignas(APART) gate finished;       /* raised by every worker at the end of a run */
    _Alignas(APART) atomic_uint arrived; /* at the current barrier */
    _Alignas(APART) gate phase;          /* raised when a barrier opens */
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

static void note_core(const mw_pool *pool, int worker) {
    atomic_store_explicit(&pool->places[worker].core, sched_getcpu(), memory_order_relaxed);
}

/* Moves the calling worker if one before it in the pool is on the same core. Its affinity is as before
 * afterwards: where it runs stays the scheduler's decision. */
static void leave_shared_core(const mw_pool *pool, int worker) {
    const int here = sched_getcpu();
    bool shared = false;
    for (int other = 0; other < worker; other++)
        shared |= atomic_load_explicit(&pool->places[other].core, memory_order_relaxed) == here;
    cpu_set_t allowed, open;
    if (!shared || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    open = allowed;
    for (int other = 0; other < pool->threads; other++) {
        const int core = atomic_load_explicit(&pool->places[other].core, memory_order_relaxed);
        if (core >= 0 && core < CPU_SETSIZE) CPU_CLR(core, &open);
    }
    if (CPU_COUNT(&open) == 0 || sched_setaffinity(0, sizeof open, &open) != 0) return;
    sched_setaffinity(0, sizeof allowed, &allowed);
    note_core(pool, worker);
}

/* Spins until the value differs from seen; false: it did not for a while. */
static bool spin_change(const mw_pool *pool, gate *g, unsigned seen) {
    for (int spin = 0; spin < SPINS && !pool->crowded; spin++) {
        if (atomic_load_explicit(&g->value, memory_order_acquire) != seen) return true;
        pause_briefly();
    }
    return false;
}

/* Waits until the value differs from seen and returns it. A thread counts itself among the sleepers before it
 * looks a last time, and change() looks for sleepers after it has raised the value, so one of the two sees
 * the other. */
static unsigned wait_change(mw_pool *pool, gate *g, unsigned seen) {
    unsigned value;
    spin_change(pool, g, seen);
    double now = mw_clock_seconds();
    const int yields = pool->crowded ? CROWDED_YIELDS : now < atomic_load(&pool->busy_until) ? 0 : YIELDS;
    for (int yield = 0; yield < yields; yield++) { /* the one awaited may be queued behind us on this core */
        value = atomic_load_explicit(&g->value, memory_order_acquire);
        if (value != seen) return value;
        const double before = now;
        sched_yield();
        now = mw_clock_seconds();
        if (now - before < TAKEN) continue;
        atomic_store(&pool->busy_until, now + TAKEN_FOR);
        break;
    }
    atomic_fetch_add(&g->sleepers, 1);
    while ((value = atomic_load(&g->value)) == seen)
        syscall(SYS_futex, &g->value, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
    atomic_fetch_sub(&g->sleepers, 1);
    return value;
}

static void change(gate *g) {
    atomic_fetch_add(&g->value, 1);
    if (atomic_load(&g->sleepers)) syscall(SYS_futex, &g->value, FUTEX_WAKE_PRIVATE, 1 << 30, NULL, NULL, 0);
}

void mw_pool_barrier(mw_pool *pool) {
    if (!pool || pool->threads == 1) return;
    if (pool->turns) {
        mw_turns_barrier(pool->turns);
        return;
    }
    unsigned phase = atomic_load_explicit(&pool->phase.value, memory_order_acquire);
    if (atomic_fetch_add_explicit(&pool->arrived, 1, memory_order_acq_rel) + 1 == (unsigned)pool->threads) {
        atomic_store_explicit(&pool->arrived, 0, memory_order_release);
        change(&pool->phase);
    } else {
        wait_change(pool, &pool->phase, phase);
    }
}

static void *worker_main(void *argument) {
    worker_start start = *(worker_start *)argument;
    mw_pool *pool = start.pool;
    free(argument);
    for (unsigned epoch = 0;; epoch++) {
        if (!spin_change(pool, &pool->epoch, epoch) && !pool->crowded) leave_shared_core(pool, start.worker);
        wait_change(pool, &pool->epoch, epoch);
        if (atomic_load(&pool->stop)) return NULL;
        note_core(pool, start.worker);
        pool->body(pool->context, start.worker);
        change(&pool->finished);
    }
}

int mw_pool_cores(void) {
    cpu_set_t cores;
    return sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

/* How often this process is a copy of a copy: cheaper to ask for, at every step, than its number. */
static unsigned forks;

static void count_fork(void) {
    forks++;
}

static void watch_forks(void) {
    pthread_atfork(NULL, NULL, count_fork);
}

/* Those that do not exist yet; false: not all could be. */
static bool start_workers(mw_pool *pool) {
    for (; pool->started + 1 < pool->threads; pool->started++) {
        const int worker = pool->started + 1;
        worker_start *start = malloc(sizeof *start);
        if (!start) return false;
        *start = (worker_start){pool, worker};
        if (pthread_create(&pool->handles[worker], NULL, worker_main, start) != 0) {
            free(start);
            return false;
        }
    }
    return true;
}

static void stop_workers(mw_pool *pool) {
    atomic_store(&pool->stop, true);
    change(&pool->epoch);
    for (int worker = 1; worker <= pool->started; worker++) pthread_join(pool->handles[worker], NULL);
    pool->started = 0;
    atomic_store(&pool->stop, false);
}

static void forget_gates(mw_pool *pool) {
    pool->epoch = pool->finished = pool->phase = (gate){0};
    atomic_store(&pool->arrived, 0); /* who was at a barrier stayed in the parent */
}

/* A fork has a copy of the pool and none of its threads: they are started anew. How many there are is known
 * to everybody who uses the pool, so where the system gives no threads, as many workers take turns on the
 * calling one. Without memory for their stacks either there is only waiting for some. */
static void revive(mw_pool *pool) {
    pool->forks = forks;
    pool->started = 0;
    forget_gates(pool);
    while (!pool->turns && !start_workers(pool)) {
        stop_workers(pool);
        forget_gates(pool);
        pool->turns = mw_turns_create(pool->threads);
        if (!pool->turns) nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
}

mw_status mw_pool_create(mw_pool **out, int threads, mw_error *error) {
    *out = NULL;
    if (threads < 0 || threads > MW_MAX_THREADS)
        return mw_fail(error, MW_ERR_ARGUMENT, "threads must be 1 to %d, or 0 for one per core; got %d",
                       MW_MAX_THREADS, threads);
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    if (threads == 0) threads = mw_pool_cores();
    mw_pool *pool = aligned_alloc(APART, sizeof *pool);
    if (!pool) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a thread pool");
    *pool = (mw_pool){.threads = threads, .forks = forks, .crowded = threads > mw_pool_cores()};
    pool->handles = calloc((size_t)threads, sizeof *pool->handles);
    pool->places = aligned_alloc(APART, (size_t)threads * sizeof *pool->places);
    if (!pool->handles || !pool->places) goto fail;
    for (int worker = 0; worker < threads; worker++) atomic_init(&pool->places[worker].core, -1);
    if (!start_workers(pool)) goto fail;
    *out = pool;
    return MW_OK;
fail:
    mw_pool_free(pool);
    return mw_fail(error, MW_ERR_MEMORY, "cannot start %d threads", threads);
}

void mw_pool_free(mw_pool *pool) {
    if (!pool) return;
    if (pool->forks == forks) stop_workers(pool);
    mw_turns_free(pool->turns);
    free(pool->places);
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
    if (pool->forks != forks) revive(pool);
    if (pool->turns) {
        mw_turns_run(pool->turns, body, context);
        return;
    }
    pool->body = body;
    pool->context = context;
    note_core(pool, 0);
    unsigned finished = atomic_load(&pool->finished.value), all = finished + (unsigned)pool->threads - 1;
    change(&pool->epoch);
    body(context, 0);
    while (finished != all) finished = wait_change(pool, &pool->finished, finished);
}

void mw_pool_share(const mw_pool *pool, int worker, int count, int grain, int *begin, int *end) {
    int threads = mw_pool_threads(pool);
    int grains = (count + grain - 1) / grain;
    int first = (int)((long)grains * worker / threads) * grain,
        last = (int)((long)grains * (worker + 1) / threads) * grain;
    *begin = first < count ? first : count;
    *end = last < count ? last : count;
}
