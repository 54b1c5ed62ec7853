/* Two slots, one thread that fills, one caller that consumes; see prefetch.h. */
#include "data/prefetch.h"

#include <pthread.h>
#include <stdlib.h>

struct mw_prefetch {
    mw_prefetch_fill *fill;
    void *context, *slots[2];
    uint64_t first_step;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t filled, taken; /* batches ready so far; batches handed out. taken <= filled <= taken + 1 */
    bool stop;
};

/* Batch number k goes to slot k % 2. The slot of the batch in use is not touched: batch k may be filled only
 * once batch k-1 has been handed out, which ends the use of batch k-2. */
static void *work(void *argument) {
    mw_prefetch *p = argument;
    pthread_mutex_lock(&p->lock);
    while (!p->stop) {
        if (p->filled > p->taken) {
            pthread_cond_wait(&p->changed, &p->lock);
            continue;
        }
        uint64_t k = p->filled;
        pthread_mutex_unlock(&p->lock);
        p->fill(p->context, p->first_step + k, p->slots[k % 2]);
        pthread_mutex_lock(&p->lock);
        p->filled++;
        pthread_cond_broadcast(&p->changed);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

mw_status mw_prefetch_create(mw_prefetch **prefetch, mw_prefetch_fill *fill, void *context, void *slot0,
                             void *slot1, uint64_t first_step, mw_error *error) {
    *prefetch = NULL;
    mw_prefetch *p = calloc(1, sizeof *p);
    if (!p) return mw_fail(error, MW_ERR_MEMORY, "out of memory for a prefetcher");
    *p = (mw_prefetch){.fill = fill, .context = context, .slots = {slot0, slot1}, .first_step = first_step};
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    if (pthread_create(&p->thread, NULL, work, p) != 0) {
        pthread_cond_destroy(&p->changed);
        pthread_mutex_destroy(&p->lock);
        free(p);
        return mw_fail(error, MW_ERR_MEMORY, "cannot start the thread that prepares batches");
    }
    *prefetch = p;
    return MW_OK;
}

void mw_prefetch_free(mw_prefetch *p) {
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

void *mw_prefetch_next(mw_prefetch *p) {
    pthread_mutex_lock(&p->lock);
    while (p->filled == p->taken) pthread_cond_wait(&p->changed, &p->lock);
    void *slot = p->slots[p->taken++ % 2];
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    return slot;
}
