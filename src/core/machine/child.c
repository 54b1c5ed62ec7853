/* A fork, limits, and a page shared with it; see child.h. */
#include "core/machine/child.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What the child tells: shared memory, so that nothing has to be sent when it dies. */
typedef struct message {
    bool done; /* set last */
    mw_status status;
    mw_error error;
    _Alignas(16) unsigned char result[];
} message;

/* Address space in use; limits count all of it, and a host program may have mapped much. */
static size_t mapped_now(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file) return 0;
    if (fscanf(file, "%lu", &pages) != 1) pages = 0;
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void lower(int resource, rlim_t value) {
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0) return;
    if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < value) value = limit.rlim_max;
    limit.rlim_cur = limit.rlim_max = value;
    setrlimit(resource, &limit);
}

/* Sanitizers map terabytes for themselves, under any limit nothing would start. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMIT_MEMORY false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define LIMIT_MEMORY false
#endif
#endif
#ifndef LIMIT_MEMORY
#define LIMIT_MEMORY true
#endif

static void confine(const mw_child_limits *limits, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1); /* it died in between */
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGPROF, SIGALRM, SIGTERM};
    sigset_t blocked; /* perhaps, by the thread that asks */
    sigemptyset(&blocked);
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) {
        signal(deadly[i], SIG_DFL);
        sigaddset(&blocked, deadly[i]);
    }
    sigprocmask(SIG_UNBLOCK, &blocked, NULL);
    lower(RLIMIT_CORE, 0);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) dup2(nowhere, STDERR_FILENO); /* where the C library says why it aborts */
    if (LIMIT_MEMORY && limits->memory) lower(RLIMIT_AS, mapped_now() + limits->memory);
    if (limits->seconds > 0) {
        const double whole = floor(limits->seconds);
        const struct itimerval timer = {
            .it_value = {.tv_sec = (time_t)whole, .tv_usec = (suseconds_t)((limits->seconds - whole) * 1e6)}};
        setitimer(ITIMER_PROF, &timer, NULL);
    }
}

/* Until the child has ended, and how it did. One that may be stopped is asked after every few milliseconds; a
 * host may have reaped it: 0. */
static int wait_for(pid_t child, const mw_stop_flag *stop) {
    int how = 0;
    for (;;) {
        const bool stopped = mw_stopped(stop);
        if (stopped) kill(child, SIGKILL);
        const pid_t ended = waitpid(child, &how, stop && !stopped ? WNOHANG : 0);
        if (ended == child || (ended < 0 && errno != EINTR)) return how;
        if (ended == 0) nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
}

static mw_status died(const char *what, int how, const mw_child_limits *limits, mw_error *error) {
    if (mw_stopped(limits->stop)) return mw_fail(error, MW_ERR_INTERRUPTED, "%s: stopped", what);
    if (WIFSIGNALED(how) && WTERMSIG(how) == SIGPROF)
        return mw_fail(error, MW_ERR_FORMAT, "%s: not done after %.3g seconds of processor time: given up",
                       what, limits->seconds);
    if (WIFSIGNALED(how))
        return mw_fail(error, MW_ERR_FORMAT, "%s: the process that worked on it died (%s)", what,
                       strsignal(WTERMSIG(how)));
    return mw_fail(error, MW_ERR_FORMAT, "%s: the process that worked on it ended without a result", what);
}

mw_status mw_child_run(const char *what, mw_child_work *work, void *context, void *result, size_t size,
                       const mw_child_limits *limits, mw_error *error) {
    const size_t bytes = sizeof(message) + size;
    message *m = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (m == MAP_FAILED) return mw_fail(error, MW_ERR_MEMORY, "%s: no memory to share with a process", what);
    const pid_t parent = getpid(), child = fork();
    if (child < 0) {
        const int reason = errno;
        munmap(m, bytes);
        return mw_fail(error, MW_ERR_MEMORY, "%s: cannot start a process: %s", what, strerror(reason));
    }
    if (child == 0) {
        confine(limits, parent);
        m->status = work(context, m->result, &m->error);
        m->done = true;
        _exit(0); /* no exit handlers: those of a library that failed may crash */
    }
    const int how = wait_for(child, limits->stop);
    mw_status status = m->status;
    if (!m->done)
        status = died(what, how, limits, error);
    else if (status != MW_OK && error)
        *error = m->error;
    if (m->done && size > 0) memcpy(result, m->result, size);
    munmap(m, bytes);
    return status;
}
