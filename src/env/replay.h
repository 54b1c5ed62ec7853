/* What replays (mawam/replay.h) are made of. */
#ifndef MW_ENV_REPLAY_H
#define MW_ENV_REPLAY_H

#include "env/env.h"

/* The page around the data, split where the data go. */
extern const char mw_replay_page_head[], mw_replay_page_tail[];

#endif
