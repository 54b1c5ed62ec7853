/* Threads: a small pool whose workers run one function together (single program, many workers). Waiting spins
 * for some microseconds, offers the core to others for some more and then sleeps, so that short regions are
 * cheap on idle cores and nothing burns when cores are shared. Work is divided by index only, never by
 * arrival, so that results do not depend on the number of workers. */
#ifndef MW_CORE_POOL_H
#define MW_CORE_POOL_H

#include "mawam/cpu.h"
#include "core/error.h"

typedef struct mw_pool mw_pool;

/* threads: 1 to MW_MAX_THREADS, the caller's own thread included; 0 means one per available core. */
mw_status mw_pool_create(mw_pool **pool, int threads, mw_error *error);
void mw_pool_free(mw_pool *pool);
int mw_pool_threads(const mw_pool *pool); /* 1 for NULL */
int mw_pool_cores(void);                  /* cores this process may use */

/* Runs body(context, worker) on every worker 0..threads-1 and returns when all are done. A NULL pool runs it
 * on the caller alone. Not reentrant: one run at a time per pool. After fork() the child's first run starts
 * its threads anew; where the system gives it none, its workers take turns on the calling thread. */
typedef void mw_pool_body(void *context, int worker);
void mw_pool_run(mw_pool *pool, mw_pool_body *body, void *context);

/* Inside a body: waits until all workers of this run have come here. */
void mw_pool_barrier(mw_pool *pool);

/* Worker's share of 0..count-1, in whole multiples of grain: contiguous, ordered, sizes as equal as the grain
 * allows. */
void mw_pool_share(const mw_pool *pool, int worker, int count, int grain, int *begin, int *end);

#endif
