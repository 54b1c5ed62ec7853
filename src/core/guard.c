/* A list of guarded maps that a signal handler can read at any moment; see guard.h. */
#include "core/guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Never freed, since a handler may be looking at it: closed ones are used again. */
struct mw_guard {
    atomic_uintptr_t begin, end; /* both 0: not in use */
    atomic_bool lost;
    mw_guard *next;
};

static _Atomic(mw_guard *) guards;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows, and of changes to the list */
static int guards_open;
static bool installed;
static struct sigaction before; /* valid once installed */

static mw_guard *guard_of(uintptr_t address) {
    for (mw_guard *g = atomic_load(&guards); g; g = g->next)
        if (address >= atomic_load(&g->begin) && address < atomic_load(&g->end)) return g;
    return NULL;
}

/* Not ours: the handler before has it, or the default does when the instruction is tried again. */
static void pass_on(int number, siginfo_t *info, void *context) {
    if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(number, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(number);
    } else {
        signal(number, SIG_DFL);
        if (info->si_code <= 0) raise(number); /* somebody sent it; nothing will be tried again */
    }
}

/* All of a map becomes zeros at the first failure: page by page a large one could exceed the number of areas
 * that a process may have. Lost is set first, for other threads that meet the zeros. */
static bool give_zeros(mw_guard *g) {
    const uintptr_t begin = atomic_load(&g->begin);
    atomic_store(&g->lost, true);
    return mmap((void *)begin, atomic_load(&g->end) - begin, PROT_READ,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

static void handle(int number, siginfo_t *info, void *context) {
    const int saved = errno;
    mw_guard *g = info->si_code > 0 ? guard_of((uintptr_t)info->si_addr) : NULL;
    if (!g || !give_zeros(g)) pass_on(number, info, context);
    errno = saved;
}

static void install(void) {
    if (installed) return;
    struct sigaction ours = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&ours.sa_mask);
    sigaction(SIGBUS, NULL, &before); /* known before the first signal can come */
    installed = sigaction(SIGBUS, &ours, NULL) == 0;
}

/* Unless somebody put a handler on top of this one, which may pass on what it gets. */
static void uninstall(void) {
    struct sigaction now;
    if (sigaction(SIGBUS, NULL, &now) == 0 && now.sa_flags & SA_SIGINFO && now.sa_sigaction == handle)
        installed = sigaction(SIGBUS, &before, NULL) != 0;
}

mw_guard *mw_guard_open(const void *data, size_t size) {
    pthread_mutex_lock(&lock);
    mw_guard *g = atomic_load(&guards);
    while (g && atomic_load(&g->end)) g = g->next;
    if (!g && (g = calloc(1, sizeof *g))) {
        g->next = atomic_load(&guards);
        atomic_store(&guards, g);
    }
    if (g) {
        atomic_store(&g->lost, false);
        atomic_store(&g->begin, (uintptr_t)data);
        atomic_store(&g->end, (uintptr_t)data + size);
        if (guards_open++ == 0) install();
    }
    pthread_mutex_unlock(&lock);
    return g;
}

bool mw_guard_intact(const mw_guard *guard) {
    return !atomic_load(&guard->lost);
}

void mw_guard_close(mw_guard *guard) {
    if (!guard) return;
    pthread_mutex_lock(&lock);
    atomic_store(&guard->end, 0);
    atomic_store(&guard->begin, 0);
    if (--guards_open == 0) uninstall();
    pthread_mutex_unlock(&lock);
}
