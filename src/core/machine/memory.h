/* How much memory work areas take, and how much there is: large work asks before it begins, because a system
 * that hands out more than it has ends the wrong process later. */
#ifndef MW_CORE_MACHINE_MEMORY_H
#define MW_CORE_MACHINE_MEMORY_H

#include "core/error.h"

size_t mw_memory_free(void); /* bytes that the system, or the group of processes, could give now */
size_t mw_memory_used(void); /* bytes of all work areas of this process */

/* From now on work areas may take this much in all; 0: as much as they ask for. For the whole process. */
void mw_memory_limit(size_t bytes);

/* What an arena says of itself. Taking fails beyond the limit. */
mw_status mw_memory_take(size_t bytes, mw_error *error);
void mw_memory_give(size_t bytes);

#endif
