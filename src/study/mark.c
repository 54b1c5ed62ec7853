/* Locks and stamps of tasks; see mark.h. */
#include "study/mark.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Somebody who only looks holds a lock for a moment: several tries tell him from one who works. */
enum { TRIES = 8, MOMENT = 20, PAUSE = 250 /* ms */ };

static void name_of(char path[800], const char *folder, const char *task, const char *ending) {
    snprintf(path, 800, "%.400s/tasks/%.200s%s", folder, task, ending);
}

/* Whether a process holds the lock; what it has written there goes to text. */
static bool is_held(const char *path, char *text, size_t size) {
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return false;
    const bool held = flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    const ssize_t got = held && size ? read(file, text, size - 1) : 0;
    if (size) text[got > 0 ? got : 0] = 0;
    close(file);
    return held;
}

static void pause_for(long milliseconds) {
    nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000}, NULL);
}

static mw_status make_folder_of(const char *path, mw_error *error) {
    char folder[800];
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    return mw_dir_make(folder, error);
}

/* For people and mw_mark_look; whoever cannot write it works all the same. */
static void sign(int file) {
    char text[160], host[65] = "unknown";
    (void)gethostname(host, sizeof host - 1);
    const int length =
        snprintf(text, sizeof text, "%s %ld %lld\n", host, (long)getpid(), (long long)time(NULL));
    if (ftruncate(file, 0) == 0) (void)!write(file, text, (size_t)length);
}

mw_status mw_mark_take(mw_mark *m, const char *folder, const char *task, const mw_stop_flag *stop,
                       mw_error *error) {
    char path[800], lock[800];
    *m = (mw_mark){0};
    name_of(m->done, folder, task, ".done");
    name_of(path, folder, task, "");
    name_of(lock, folder, task, ".lock");
    MW_TRY(make_folder_of(path, error));
    for (int tries = 0;;) {
        const mw_status status = mw_lock_take(&m->lock, path, error);
        if (status == MW_OK) break;
        if (mw_stopped(stop)) return mw_fail(error, MW_ERR_INTERRUPTED, "stopped");
        if (status != MW_ERR_IO) return status;
        const bool held = is_held(lock, NULL, 0);
        tries = held ? 0 : tries + 1;
        if (tries == TRIES) return status;
        pause_for(held ? PAUSE : MOMENT);
    }
    sign(m->lock.descriptor);
    return MW_OK;
}

void mw_mark_release(mw_mark *m) {
    mw_lock_release(&m->lock);
}

mw_status mw_mark_begin(mw_mark *m, mw_error *error) {
    if (unlink(m->done) == 0 || errno == ENOENT) return MW_OK;
    return mw_fail(error, MW_ERR_IO, "cannot remove '%s': %s", m->done, strerror(errno));
}

mw_status mw_mark_done(mw_mark *m, mw_error *error) {
    return mw_file_write(m->done, "done\n", 5, error);
}

void mw_mark_look(mw_marked *m, const char *folder, const char *task) {
    char path[800], text[160];
    long long since = 0;
    *m = (mw_marked){.seconds = NAN};
    name_of(path, folder, task, ".done");
    struct stat info;
    m->done = stat(path, &info) == 0;
    if (m->done) m->finished = info.st_mtim.tv_sec;
    name_of(path, folder, task, ".lock");
    m->running = is_held(path, text, sizeof text);
    if (!m->running || sscanf(text, "%71s %ld %lld", m->host, &m->process, &since) != 3) return;
    struct tm parts;
    const time_t began = (time_t)since;
    gmtime_r(&began, &parts);
    strftime(m->since, sizeof m->since, "%Y-%m-%dT%H:%M:%SZ", &parts);
    m->seconds = fmax(0, difftime(time(NULL), began));
}
