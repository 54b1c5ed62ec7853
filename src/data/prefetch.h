/* Batches prepared ahead: while the network works on one, a background thread fills the other. What is in a
 * batch is a function of its step alone, so the thread changes when it is made, never what it holds. */
#ifndef MW_DATA_PREFETCH_H
#define MW_DATA_PREFETCH_H

#include "core/error.h"

/* Fills `batch` (one of the two slots) for a step. Runs on the background thread, one call at a time. */
typedef void mw_prefetch_fill(void *context, uint64_t step, void *batch);

typedef struct mw_prefetch mw_prefetch;

/* Starts with the batch of first_step. The slots and the context are the caller's and must outlive it. */
mw_status mw_prefetch_create(mw_prefetch **prefetch, mw_prefetch_fill *fill, void *context, void *slot0,
                             void *slot1, uint64_t first_step, mw_error *error);
void mw_prefetch_free(mw_prefetch *prefetch); /* waits for the fill in progress; NULL is fine */

/* The next step's batch, valid until the next call. */
void *mw_prefetch_next(mw_prefetch *prefetch);

#endif
