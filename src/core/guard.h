/* Maps of files too large to be copied, made safe: the system answers a read beyond the end of a file that
 * was cut short meanwhile, or of a bad sector, with SIGBUS, which would end a host program. While a map is
 * guarded such a read gives zeros instead, and the map is known to be lost. */
#ifndef MW_CORE_GUARD_H
#define MW_CORE_GUARD_H

#include <stdbool.h>
#include <stddef.h>

typedef struct mw_guard mw_guard;

/* Of [data, data + size), page-aligned; NULL for want of memory. From the first guard to the last SIGBUS is
 * handled here; what does not concern a guarded map goes to the handler that was there before. */
mw_guard *mw_guard_open(const void *data, size_t size);
bool mw_guard_intact(const mw_guard *guard); /* no read of it has failed so far */
void mw_guard_close(mw_guard *guard);        /* before the memory is unmapped; NULL is fine */

#endif
