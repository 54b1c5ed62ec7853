/* One step of a duel as it is kept; see duel.h. */
#ifndef MW_LIVE_MOMENT_H
#define MW_LIVE_MOMENT_H

#include "live/duel.h"

/* With snapshots of both sides as they are before their decisions. One block: free() it. */
mw_status mw_moment_create(mw_duel_moment **moment, mw_duel *duel, mw_error *error);
/* Adds what was seen and, unless the planned world is at its end, decided. The block may move. */
mw_status mw_moment_fill(mw_duel_moment **moment, mw_duel *duel, bool decided, mw_error *error);
/* What belongs to the chosen candidate, after another one was taken. */
void mw_moment_choose(mw_duel_moment *moment, mw_duel *duel);

#endif
