/* Workers that take turns on one thread, each on a stack of its own: what a pool falls back to where threads
 * cannot be started. Everybody goes as far as the next barrier, then the one after him; so who counts workers
 * and barriers sees no difference. */
#ifndef MW_CORE_TURNS_H
#define MW_CORE_TURNS_H

#include "core/pool.h"

typedef struct mw_turns mw_turns;

mw_turns *mw_turns_create(int workers); /* NULL: no memory for their stacks */
void mw_turns_free(mw_turns *turns);
void mw_turns_run(mw_turns *turns, mw_pool_body *body, void *context);
void mw_turns_barrier(mw_turns *turns); /* inside a run */

#endif
