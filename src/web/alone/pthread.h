/* Threads where there is one: what of <pthread.h> files need that are compiled for browsers too. Locks are
 * always free; no thread can be started. */
#ifndef MW_WEB_PTHREAD_H
#define MW_WEB_PTHREAD_H

typedef int mw_alone_once, mw_alone_lock;
#define pthread_once_t            mw_alone_once
#define pthread_mutex_t           mw_alone_lock
#define PTHREAD_ONCE_INIT         0
#define PTHREAD_MUTEX_INITIALIZER 0

static inline int pthread_once(pthread_once_t *once, void (*run)(void)) {
    if (!*once) run();
    *once = 1;
    return 0;
}
static inline int pthread_mutex_lock(pthread_mutex_t *lock) {
    (void)lock;
    return 0;
}
static inline int pthread_mutex_unlock(pthread_mutex_t *lock) {
    (void)lock;
    return 0;
}

#endif
